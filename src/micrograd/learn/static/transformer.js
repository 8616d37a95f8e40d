// A transformer that learns names, in the theatre: attention as heat maps, every matrix as a map, and names of its own.
import { button, h, put, s } from "./dom.js";
import { drawsFrom } from "./draws.js";
import { Gpt, encodeName, letterOf } from "./gpt.js";
import { show } from "./numbers.js";
import { colourOf } from "./plane.js";
import { t } from "./texts.js";

const SAMPLES = 8, EVERY = 10; // names of its own, and after how many steps they are drawn again
const WAVE_W = 360, WAVE_H = 120;

/** @param {string[]} names @param {{onChange: () => void}} ears */
export function createTransformer(names, ears) {
  const word = (key, more = {}) => t(`theatre.transformer.${key}`, more);
  const state = { seed: 1, rate: 0.01, temperature: 0.7, read: "emma", of: "w" };
  let gpt = new Gpt(names, state.seed), playing = false, frame = 0,
    goal = Infinity; // the step at which it stops by itself

  const count = h("b", {}), lossIs = h("b", { class: "loss" });
  const line = s("path", { class: "line loss" }), guess = s("path", { class: "here" });
  const curve = s("svg", { class: "graph", viewBox: `0 0 ${WAVE_W} ${WAVE_H}`, role: "img" }, guess, line);
  const slider = (key, low, high, step, to, from, shown) => {
    const number = h("output", { class: "count", dir: "ltr" });
    const field = h("input", { type: "range", min: low, max: high, step, value: from(state[key]),
      "data-do": `names-${key}`, "aria-label": word(key),
      oninput: () => { state[key] = to(Number(field.value)); update(); draw(); ears.onChange(); } });
    const update = () => {
      field.value = String(from(state[key]));
      number.textContent = shown(state[key]);
      field.setAttribute("aria-valuetext", number.textContent); };
    update();
    return { update, el: h("label", { class: "inline knob" }, word(key), field, number) };
  };
  const rate = slider("rate", -4, -1, 0.1, (x) => Number((10 ** x).toPrecision(2)), Math.log10, show);
  const warmth = slider("temperature", 0.1, 2, 0.1, (x) => x, (x) => x, (x) => x.toFixed(1));
  const play = button("", () => (playing ? pause() : begin()), { class: "strong", "data-do": "play-names" });
  const controls = h("div", { class: "bill" }, play,
    button(word("step"), () => { pause(); gpt.step(state.rate); draw(); ears.onChange(); }, { "data-do": "step-names" }),
    button(word("again"), () => { pause(); state.seed += 1; gpt = new Gpt(names, state.seed); draw(); ears.onChange(); },
      { class: "small", "data-do": "again-names" }), rate.el, warmth.el);
  const samples = h("ul", { class: "samples", dir: "ltr" });
  const read = h("input", { type: "text", value: state.read, maxlength: 15, size: 12, "aria-label": word("read"),
    "data-do": "read",
    autocomplete: "off", spellcheck: "false", oninput: () => { state.read = read.value; draw(); ears.onChange(); } });
  const heads = h("div", { class: "heads" }), bars = h("div", { class: "chances", dir: "ltr", role: "img" }),
    maps = h("div", { class: "matrices" });
  const of = h("select", { "aria-label": word("of"), "data-do": "of", onchange: () => { state.of = of.value; draw(); } },
    ["w", "g"].map((x) => h("option", { value: x }, word(`of_${x}`))));
  const act = (key, ...children) => h("section", { class: "act", "aria-label": word(key) }, h("div",
    { class: "act-head" }, h("h2", {}, word(key))), children);
  const el = h("div", { class: "theatre transformer" }, h("p", { class: "about" }, word("about")), controls,
    h("div", { class: "acts" },
      act("learning", h("p", { class: "numbers" }, h("span", { class: "fact" }, h("span", { class: "quiet" },
        word("steps")), count), h("span", { class: "fact" }, h("span", { class: "quiet" }, t("theatre.loss")), lossIs)),
        h("div", { class: "curve", dir: "ltr" }, curve), h("p", { class: "quiet small" }, word("guessing")), h("h3", {},
          word("own")), samples),
      act("attention", h("label", { class: "inline" }, word("read"), read), h("p", { class: "quiet small" },
        word("attention_about")), heads, h("h3", {}, word("next")), bars),
      act("matrices", h("label", { class: "inline" }, word("of"), of), maps)));

  function begin() {
    playing = true;
    frame = requestAnimationFrame(tick);
    label();
  }
  function pause() {
    cancelAnimationFrame(frame);
    playing = false;
    goal = Infinity;
    label();
    ears.onChange();
  }
  function tick() {
    if (!playing) return;
    const began = performance.now();
    while (performance.now() - began < 20 && gpt.at < goal) gpt.step(state.rate);
    if (gpt.at >= goal) pause();
    if (!Number.isFinite(gpt.losses[gpt.losses.length - 1])) pause();
    draw();
    if (playing) frame = requestAnimationFrame(tick);
  }
  function label() {
    put(play, word(playing ? "pause" : "play"));
  }

  /** A map of numbers, negative in one colour and positive in the other. @param {any} canvas @param {ArrayLike<number>} xs
   * @param {number} rows @param {number} cols @param {number} most */
  function paint(canvas, xs, rows, cols, most) {
    const [paper, low, high] = ["card", "data", "grad"].map((name) => colourOf(el, name)), image = new ImageData(cols, rows);
    for (let k = 0; k < rows * cols; k++) {
      const share = most ? Math.min(1, Math.abs(xs[k]) / most) : 0, colour = xs[k] > 0 ? high : low;
      for (let i = 0; i < 3; i++) image.data[4 * k + i] = paper[i] + share * (colour[i] - paper[i]);
      image.data[4 * k + 3] = 255;
    }
    [canvas.width, canvas.height] = [cols, rows];
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
  const pictures = new Map();
  function draw() {
    count.textContent = String(gpt.at);
    const smooth = averaged(gpt.losses), last = smooth[smooth.length - 1];
    lossIs.textContent = last === undefined ? "—" : show(Number(last.toPrecision(3)));
    const top = Math.max(3.6, ...smooth.slice(0, 1)), x = (k) => (WAVE_W * k) / Math.max(1, smooth.length - 1),
      y = (v) => WAVE_H - (WAVE_H * (v - 1)) / (top - 1);
    const every = Math.max(1, Math.ceil(smooth.length / 300));
    line.setAttribute("d", smooth.map((v,
      k) => (k % every ? "" : `${k ? "L" : "M"}${x(k).toFixed(1)},${y(v).toFixed(1)}`)).join(""));
    guess.setAttribute("d", `M0,${y(Math.log(27)).toFixed(1)}H${WAVE_W}`);
    curve.setAttribute("aria-label", word("curve", { k: String(gpt.at), loss: lossIs.textContent }));
    if (!playing || gpt.at % EVERY < 4) {
      const random = drawsFrom(gpt.at + 17);
      put(samples, Array.from({ length: SAMPLES }, () => h("li", {}, gpt.sample(state.temperature, random) || "·")));
    }
    const tokens = encodeName(state.read).slice(0, -1), made = gpt.forward(tokens), letters = tokens.map(letterOf);
    while (heads.childNodes.length < made.attention.length) heads.append(h("figure", { class: "head" }, h("div",
      { class: "axis", dir: "ltr", "aria-hidden": "true" }), h("canvas", { role: "img" }), h("figcaption",
        { class: "small" })));
    made.attention.forEach((p, k) => {
      const [axis, canvas, caption] = heads.childNodes[k].childNodes, row = [...p.slice((made.n - 1) * made.n)],
        best = row.indexOf(Math.max(...row));
      paint(canvas, p, made.n, made.n, 1);
      put(axis, letters.map((one) => h("span", {}, one)));
      caption.textContent = word("head", { k: String(k + 1) });
      canvas.setAttribute("aria-label", word("head_read", { k: String(k + 1), from: letters[made.n - 1],
        to: letters[best], place: String(best), share: `${Math.round(100 * row[best])} %` }));
      canvas.title = canvas.getAttribute("aria-label");
    });
    const p = gpt.next(state.read, state.temperature), order = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, 8);
    put(bars, order.map((token) => h("span", { class: "chance" }, h("span", { class: "fill",
      "data-share": Math.round(20 * p[token]) }), h("b", {}, letterOf(token)), h("span", { class: "small" },
        `${Math.round(100 * p[token])} %`))));
    bars.setAttribute("aria-label", order.map((token) => `${letterOf(token)} ${Math.round(100 * p[token])} %`).join(", "));
    for (const one of gpt.matrices) {
      if (!pictures.has(one.name)) {
        const canvas = h("canvas", { role: "img" }), says = h("figcaption", { class: "small" });
        pictures.set(one.name, { canvas, says });
        maps.append(h("figure", { class: "matrix" }, canvas, says));
      }
      const { canvas, says } = pictures.get(one.name), xs = one[state.of], most = xs.reduce((m, v) => Math.max(m,
        Math.abs(v)), 0);
      paint(canvas, xs, one.rows, one.cols, most);
      says.textContent = `${one.name}: ${one.rows} × ${one.cols}, ${word("most", { x: show(Number(most.toPrecision(2))) })}`;
      canvas.setAttribute("aria-label", `${word(`names.${one.name}`)}. ${says.textContent}`);
      canvas.title = word(`names.${one.name}`);
    }
  }
  label();
  return {
    el, draw, pause,
    get state() {
      return { ...state, step: gpt.at };
    },
    get gpt() {
      return gpt;
    },
    /** Begin with these settings, trained for as many steps. @param {any} what */
    load(what) {
      pause();
      Object.assign(state, what);
      gpt = new Gpt(names, state.seed);
      read.value = state.read;
      rate.update();
      warmth.update();
      draw();
      if (!(what.step > 0)) return;
      goal = what.step;
      begin();
    },
  };
}

/** A curve without its jitter: each step is a name or four. @param {number[]} losses */
function averaged(losses) {
  let mean = losses[0];
  return losses.map((x) => (mean = 0.95 * mean + 0.05 * x));
}
