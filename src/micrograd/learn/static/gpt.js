// A transformer of microgpt's size that reads names letter by letter: its forward pass, its backward pass written out
// matrix by
// matrix, and Adam. A test compares every gradient with the same model made of Values.
import { drawsFrom, inDrawnOrder } from "./draws.js";

/**
 * Weights, their gradient, and what Adam keeps.
 * @typedef {{name: string, rows: number, cols: number, w: Float64Array, g: Float64Array, m: Float64Array,
 *            v: Float64Array}} Matrix
 */

const END = 26, // the mark before and after each name
  EPS = 1e-5;
export const SIZES = { width: 16, heads: 4, block: 16, vocabulary: 27 };

/** Letters as numbers, with the mark on both sides. @param {string} name */
export function encodeName(name) {
  const letters = [...name.toLowerCase()].map((c) => c.charCodeAt(0) - 97).filter((k) => k >= 0 && k < 26);
  return [END, ...letters.slice(0, SIZES.block - 1), END];
}

/** @param {number} token */
export function letterOf(token) {
  return token === END ? "·" : String.fromCharCode(97 + token);
}

/** y = x Wᵀ, row by row. @param {Float64Array} x @param {number} n @param {Matrix} W */
function linear(x, n, { rows, cols, w }) {
  const y = new Float64Array(n * rows);
  for (let t = 0; t < n; t++)
    for (let r = 0; r < rows; r++) {
      let sum = 0;
      for (let c = 0; c < cols; c++) sum += w[r * cols + c] * x[t * cols + c];
      y[t * rows + r] = sum;
    }
  return y;
}

/** What linear hands back: adds to the gradient of W, and gives that of x. @param {Float64Array} dy @param {Float64Array} x
 * @param {number} n @param {Matrix} W */
function linearBack(dy, x, n, { rows, cols, w, g }) {
  const dx = new Float64Array(n * cols);
  for (let t = 0; t < n; t++)
    for (let r = 0; r < rows; r++) {
      const d = dy[t * rows + r];
      if (d === 0) continue;
      for (let c = 0; c < cols; c++) {
        g[r * cols + c] += d * x[t * cols + c];
        dx[t * cols + c] += d * w[r * cols + c];
      }
    }
  return dx;
}

/** Each row divided by the root of its mean square. @param {Float64Array} x @param {number} n @param {number} width */
function rms(x, n, width) {
  const y = new Float64Array(x.length), scale = new Float64Array(n);
  for (let t = 0; t < n; t++) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += x[t * width + i] ** 2;
    scale[t] = 1 / Math.sqrt(sum / width + EPS);
    for (let i = 0; i < width; i++) y[t * width + i] = x[t * width + i] * scale[t];
  }
  return { y, scale };
}

/** @param {Float64Array} dy @param {{y: Float64Array, scale: Float64Array}} made @param {number} n @param {number} width */
function rmsBack(dy, { y, scale }, n, width) {
  const dx = new Float64Array(dy.length);
  for (let t = 0; t < n; t++) {
    let dot = 0;
    for (let i = 0; i < width; i++) dot += dy[t * width + i] * y[t * width + i];
    for (let i = 0; i < width; i++) dx[t * width + i] = scale[t] * (dy[t * width + i] - (y[t * width + i] * dot) / width);
  }
  return dx;
}

export class Gpt {
  /** @param {string[]} names @param {number} seed */
  constructor(names, seed) {
    const { width, block, vocabulary } = SIZES, random = drawsFrom(seed * 31 + 5);
    const bell = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const matrix = (name, rows, cols, size = 0.08) => ({ name, rows, cols, w: Float64Array.from({ length: rows * cols },
      () => size * bell()),
      g: new Float64Array(rows * cols), m: new Float64Array(rows * cols), v: new Float64Array(rows * cols) });
    this.wte = matrix("wte", vocabulary, width);
    this.wpe = matrix("wpe", block, width);
    this.wq = matrix("wq", width, width);
    this.wk = matrix("wk", width, width);
    this.wv = matrix("wv", width, width);
    this.wo = matrix("wo", width, width);
    this.fc1 = matrix("fc1", 4 * width, width);
    this.fc2 = matrix("fc2", width, 4 * width);
    this.head = matrix("head", vocabulary, width);
    /** @type {Matrix[]} */
    this.matrices = [this.wte, this.wpe, this.wq, this.wk, this.wv, this.wo, this.fc1, this.fc2, this.head];
    this.names = inDrawnOrder(names, drawsFrom(seed + 1)).map(encodeName);
    this.at = 0;
    /** @type {number[]} */
    this.losses = [];
  }

  /** Every number on the way, for one sequence of letters. @param {number[]} tokens what is read */
  forward(tokens) {
    const { width, heads, vocabulary } = SIZES, n = tokens.length, size = width / heads;
    const e = new Float64Array(n * width);
    tokens.forEach((token, t) => {
      for (let i = 0; i < width; i++) e[t * width + i] = this.wte.w[token * width + i] + this.wpe.w[t * width + i];
    });
    const x0 = rms(e, n, width), n1 = rms(x0.y, n, width);
    const [q, k, v] = [this.wq, this.wk, this.wv].map((W) => linear(n1.y, n, W));
    const attention = Array.from({ length: heads }, () => new Float64Array(n * n)), o = new Float64Array(n * width);
    attention.forEach((p, h) => {
      for (let i = 0; i < n; i++) {
        let most = -Infinity, sum = 0;
        for (let j = 0; j <= i; j++) {
          let score = 0;
          for (let d = h * size; d < (h + 1) * size; d++) score += q[i * width + d] * k[j * width + d];
          p[i * n + j] = score / Math.sqrt(size);
          most = Math.max(most, p[i * n + j]);
        }
        for (let j = 0; j <= i; j++) sum += p[i * n + j] = Math.exp(p[i * n + j] - most);
        for (let j = 0; j <= i; j++) {
          p[i * n + j] /= sum;
          for (let d = h * size; d < (h + 1) * size; d++) o[i * width + d] += p[i * n + j] * v[j * width + d];
        }
      }
    });
    const a = linear(o, n, this.wo), x1 = x0.y.map((x, i) => x + a[i]), n2 = rms(x1, n, width);
    const f = linear(n2.y, n, this.fc1), r = f.map((x) => Math.max(0, x)), m = linear(r, n, this.fc2), x2 = x1.map((x,
      i) => x + m[i]);
    const logits = linear(x2, n, this.head);
    return { n, tokens, e, x0, n1, q, k, v, attention, o, x1, n2, f, r, x2, logits, vocabulary };
  }

  /** The mean loss of predicting each next letter, and how it changes with the logits.
   * @param {any} made @param {number[]} targets */
  loss({ n, logits, vocabulary }, targets) {
    const d = new Float64Array(logits.length);
    let loss = 0;
    for (let t = 0; t < n; t++) {
      const row = logits.subarray(t * vocabulary, (t + 1) * vocabulary), p = chances(row, 1);
      loss -= Math.log(p[targets[t]]) / n;
      p.forEach((x, i) => { d[t * vocabulary + i] = (x - Number(i === targets[t])) / n; });
    }
    return { loss, d };
  }

  /** The gradient of every matrix, added to what was there. @param {any} made of forward @param {Float64Array} dlogits */
  backward(made, dlogits) {
    const { width, heads } = SIZES, { n, tokens, x0, n1, q, k, v, attention, o, n2, f, r, x2 } = made, size = width / heads;
    const add = (into, more) => more.forEach((x, i) => { into[i] += x; });
    const dx2 = linearBack(dlogits, x2, n, this.head);
    const dr = linearBack(dx2, r, n, this.fc2);
    const df = dr.map((x, i) => (f[i] > 0 ? x : 0));
    const dx1 = Float64Array.from(dx2);
    add(dx1, rmsBack(linearBack(df, n2.y, n, this.fc1), n2, n, width));
    const dO = linearBack(dx1, o, n, this.wo);
    const [dq, dk, dv] = [0, 1, 2].map(() => new Float64Array(n * width));
    attention.forEach((p, h) => {
      for (let i = 0; i < n; i++) {
        const dp = new Float64Array(i + 1);
        let mean = 0;
        for (let j = 0; j <= i; j++) {
          for (let d = h * size; d < (h + 1) * size; d++) {
            dp[j] += dO[i * width + d] * v[j * width + d];
            dv[j * width + d] += p[i * n + j] * dO[i * width + d];
          }
          mean += dp[j] * p[i * n + j];
        }
        for (let j = 0; j <= i; j++) {
          const ds = (p[i * n + j] * (dp[j] - mean)) / Math.sqrt(size);
          for (let d = h * size; d < (h + 1) * size; d++) {
            dq[i * width + d] += ds * k[j * width + d];
            dk[j * width + d] += ds * q[i * width + d];
          }
        }
      }
    });
    const dn1 = new Float64Array(n * width);
    [[dq, this.wq], [dk, this.wk], [dv, this.wv]].forEach(([d, W]) => add(dn1, linearBack(/** @type {any} */ (d), n1.y,
      n, /** @type {any} */ (W))));
    const dx0 = Float64Array.from(dx1);
    add(dx0, rmsBack(dn1, n1, n, width));
    const de = rmsBack(dx0, x0, n, width);
    tokens.forEach((token, t) => {
      for (let i = 0; i < width; i++) {
        this.wte.g[token * width + i] += de[t * width + i];
        this.wpe.g[t * width + i] += de[t * width + i];
      }
    });
  }

  /** One step on some names: forward, backward, Adam. @param {number} rate @param {number} [batch] */
  step(rate, batch = 4) {
    for (const { g } of this.matrices) g.fill(0);
    let loss = 0;
    for (let b = 0; b < batch; b++) {
      const tokens = this.names[(this.at * batch + b) % this.names.length], made = this.forward(tokens.slice(0, -1));
      const found = this.loss(made, tokens.slice(1));
      loss += found.loss / batch;
      this.backward(made, found.d.map((x) => x / batch));
    }
    this.at += 1;
    const beta1 = 0.85, beta2 = 0.99, one = 1 - beta1 ** this.at, two = 1 - beta2 ** this.at;
    for (const { w, g, m, v } of this.matrices)
      for (let i = 0; i < w.length; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        w[i] -= (rate * (m[i] / one)) / (Math.sqrt(v[i] / two) + 1e-8);
      }
    this.losses.push(loss);
    return loss;
  }

  /** The chance of each letter after some letters. @param {string} begin @param {number} temperature */
  next(begin, temperature) {
    const tokens = encodeName(begin).slice(0, -1), { logits, n, vocabulary } = this.forward(tokens);
    return chances(logits.subarray((n - 1) * vocabulary, n * vocabulary), temperature);
  }

  /** A name of the network's own. @param {number} temperature @param {() => number} random */
  sample(temperature, random) {
    let name = "";
    while (name.length < SIZES.block - 1) {
      const p = this.next(name, temperature);
      let left = random(), token = 0;
      while (token < END && left >= p[token]) left -= p[token++];
      if (token === END) break;
      name += letterOf(token);
    }
    return name;
  }
}

/** Softmax of scores divided by a temperature. @param {Float64Array} scores @param {number} temperature */
function chances(scores, temperature) {
  const most = Math.max(...scores), p = scores.map((x) => Math.exp((x - most) / temperature)), sum = p.reduce((a,
    b) => a + b, 0);
  return p.map((x) => x / sum);
}
