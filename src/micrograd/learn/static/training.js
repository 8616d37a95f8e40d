// One training run, step by step, with everything kept that a step needs: one can go back to any of them, and on from
// there. Forward, backward and update are three calls, as they are three lines of a training loop.
import { OPS } from "./ops.js";
import { drawsFrom, inDrawnOrder } from "./draws.js";
import { Program } from "./program.js";
import { RULES } from "./rules.js";

/**
 * A point of the data: its inputs and its target.
 * @typedef {{x: number[], y: number}} Point
 * One step: the parameters p and what their gradients g hold on arrival, the loss and the accuracy at p (null: not
 * computed yet), the same for the points that were kept back, the points, what the optimizer keeps and for how many steps,
 * and how the step after it was taken.
 * @typedef {{p: Float64Array | null, g: Float64Array | null, loss: number | null, accuracy: number | null, points: Point[],
 *            kept: Float64Array[], age: number, rate: number | null, zeroed: boolean | null, tested?: number,
 *            testedRight?: number}} Step
 */

/** Numbers that are kept at most: 64 MB. Beyond, every second step forgets its parameters. */
const ROOM = 8e6;
const NOTHING = new Float64Array(0);

export class Training {
  /** @param {any} scene as scene() in theatre.py packs it */
  constructor(scene) {
    this.scene = scene;
    this.programs = scene.graphs.map((packed) => new Program(packed));
    this.penalty = scene.penalty ? new Program(scene.penalty) : null;
    this.eyes = new Program(scene.graphs[0]); // for the plane: another number of rows than the data
    this.senses = new Program(scene.graphs[0]);
    this.tests = (scene.tests ?? []).map(([x, y]) => ({ x, y }));
    this.judges = this.tests.length ? scene.graphs.map((packed) => new Program(packed)) : [];
    this.testParts = this.tests.length ? split(this.judges, this.tests) : null;
    const { optimizer } = scene;
    this.rule = RULES[optimizer.rule];
    this.rates = Array.isArray(scene.rate) ? scene.rate : [scene.rate];
    this.restart();
  }

  /** Begin again. @param {number[]} [start] other parameters to begin with */
  restart(start = this.scene.start) {
    const p = Float64Array.from(start),
      points = this.scene.points.map(([x, y]) => ({ x, y }));
    /** @type {Step[]} */
    this.steps = [
      {
        p,
        g: null,
        loss: null,
        accuracy: null,
        points,
        age: 0,
        rate: null,
        zeroed: null,
        kept: Array.from({ length: this.rule.kept }, () => new Float64Array(p.length)),
      },
    ];
    this.at = 0;
    this.rate = this.rates[0];
    this.ownRate = false; // whether the learner chose the rate, so that no schedule moves it
    this.zeroes = this.scene.zeroes !== false;
    this.phase = "start";
    this.grads = new Float64Array(p.length);
    this.forward();
    this.phase = "start";
  }

  get step() {
    return this.steps[this.at];
  }

  get parameters() {
    return /** @type {Float64Array} */ (this.step.p);
  }

  /** Predictions and the loss at the present parameters. */
  forward() {
    const { step } = this,
      { points } = step;
    this.phase = "forward";
    if (this.known === step) return step.loss;
    this.known = step;
    this.parts = this.parts?.points === points ? this.parts : split(this.programs, points);
    const found = this.measure(this.programs, this.parts);
    this.guesses = found.guesses;
    let { loss } = found;
    if (this.penalty) {
      const data = this.penalty.forward(this.parameters, [new Float64Array(1)], new Float64Array(1));
      loss += data[this.penalty.root][0];
    }
    step.loss ??= loss; // what Python measured stays
    if (!this.scene.regression) step.accuracy ??= points.length ? found.right / points.length : 0;
    if (this.testParts) {
      const kept = this.measure(this.judges, this.testParts);
      step.tested = kept.loss;
      if (!this.scene.regression) step.testedRight = kept.right / this.tests.length;
    }
    return step.loss;
  }

  /** The loss over some points, without the penalty, what the network says of each, and how often it is right.
   * @param {Program[]} programs @param {any} parts */
  measure(programs, { points, each }) {
    const losses = new Float64Array(points.length), guesses = new Array(points.length);
    let right = 0;
    each.forEach(({ rows, columns, targets }, k) => {
      if (!rows.length) return;
      const program = programs[k],
        data = program.forward(this.parameters, columns, targets);
      const read = (id, i) => data[id][data[id].length > 1 ? i : 0];
      rows.forEach((r, i) => {
        losses[r] = read(program.root, i);
        if (this.scene.regression) return;
        guesses[r] = this.decides(program.packed.outputs.map((id) => read(id, i)));
        if (guesses[r] === points[r].y) right += 1;
      });
    });
    const loss = points.length ? OPS[this.scene.reduction].value(/** @type {any} */ (losses)) : NaN;
    return { loss, right, guesses: this.scene.regression ? undefined : guesses };
  }

  /** Which points the gradient of this step is taken from: null for all of them. Each epoch has an order of its own, which
   * follows from the seed, so that a step that is taken again is the same one. */
  get batch() {
    const size = this.scene.batch, n = this.step.points.length;
    if (!size || size >= n) return null;
    const each = Math.ceil(n / size), epoch = Math.floor(this.step.age / each), k = this.step.age % each;
    const order = inDrawnOrder(Array.from({ length: n }, (_, r) => r), drawsFrom(this.scene.seed * 1009 + epoch));
    const taken = new Uint8Array(n);
    for (const r of order.slice(k * size, (k + 1) * size)) taken[r] = 1;
    return taken;
  }

  /** The gradient of every parameter, added to what was there unless it is set to zero first. */
  backward() {
    if (this.phase === "start") this.forward();
    const { step, grads, batch } = this,
      n = step.points.length,
      count = grads.length;
    if (this.zeroes) grads.fill(0);
    else if (step.g) grads.set(step.g);
    if (this.penalty) {
      const found = this.penalty.backward(1);
      this.penalty.packed.parameters.forEach((id, k) => {
        if (id >= 0) grads[k] += found[id][0];
      });
    }
    const seed = this.scene.reduction === "mean" ? OPS.mean.partials[0](batch ? batch.reduce((sum, one) => sum + one,
      0) : n) : 1;
    const { each, place, which } = this.parts;
    const found = this.programs.map((program, k) => (each[k].rows.length ? program.backward(seed) : []));
    const tables = this.programs.map((program, i) => program.packed.parameters.map((id) => found[i][id] ?? NOTHING));
    for (let k = 0; k < count; k++) {
      let sum = grads[k];
      for (let r = n - 1; r >= 0; r--) {
        // the last row first, as the engine goes back
        if (batch && !batch[r]) continue;
        const column = tables[which[r]][k];
        if (column !== NOTHING) sum += column[place[r]];
      }
      grads[k] = sum;
    }
    this.phase = "backward";
    return grads;
  }

  /** Move the parameters: the next step begins. */
  update() {
    if (this.phase !== "backward") this.backward();
    const { step, grads } = this,
      rate = this.rate,
      p = Float64Array.from(this.parameters);
    const kept = step.kept.map((one) => Float64Array.from(one));
    this.rule.move(p, grads, kept, constantsOf(this.scene.optimizer, rate, step.age + 1));
    step.rate = rate;
    step.zeroed = this.zeroes;
    this.steps.length = this.at + 1;
    this.steps.push({
      p,
      g: Float64Array.from(grads),
      loss: null,
      accuracy: null,
      points: step.points,
      kept,
      age: step.age + 1,
      rate: null,
      zeroed: null,
    });
    this.arrive(this.at + 1);
    this.forget();
  }

  /** Go on by one step: to the one that is there already if it would come out the same, or by training. */
  next() {
    const { step } = this,
      after = this.steps[this.at + 1];
    const same =
      after &&
      this.phase === "start" &&
      step.rate === this.rate &&
      step.zeroed === this.zeroes &&
      after.points === step.points;
    if (after && (same || (step.rate === null && !this.ownRate && this.phase === "start"))) return this.arrive(this.at + 1);
    this.update();
  }

  /** Go to a step, or to the nearest one whose parameters are kept. @param {number} to */
  go(to) {
    let best = this.at;
    const wanted = Math.max(0, Math.min(this.steps.length - 1, Math.round(to)));
    for (let d = 0; d < this.steps.length; d++) {
      const found = [wanted - d, wanted + d].find((k) => this.steps[k]?.p);
      if (found === undefined) continue;
      best = found;
      break;
    }
    this.arrive(best);
  }

  /** Be at a step, with the gradients that brought the run there. @param {number} at */
  arrive(at) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, at));
    this.phase = "start";
    const { step } = this;
    if (!step.g && this.steps[this.at - 1]?.p) step.g = this.gradientsAt(this.at - 1);
    if (step.g) this.grads.set(step.g);
    else this.grads.fill(0);
    if (!this.ownRate) this.rate = step.rate ?? this.rates[Math.min(this.at, this.rates.length - 1)];
    this.forward();
    this.phase = "start";
  }

  /** The gradients of a step that Python made, and sent without them. @param {number} at */
  gradientsAt(at) {
    const here = this.at,
      { zeroes } = this;
    [this.at, this.zeroes] = [at, true];
    this.forward();
    const found = Float64Array.from(this.backward());
    [this.at, this.zeroes] = [here, zeroes];
    return found;
  }

  /** Take the steps that Python made: losses from a step on, and the parameters of some steps.
   * @param {{from: number, loss: (number | null)[], accuracy: (number | null)[], rate: (number | null)[],
   *          parameters: [number, string][]}} message */
  feed({ from, loss, accuracy, rate, parameters }) {
    const [{ points, kept }] = this.steps;
    const at = (k) => {
      while (this.steps.length <= k)
        this.steps.push({ p: null, g: null, loss: null, accuracy: null, points, kept, age: 0, rate: null, zeroed: true });
      return this.steps[k];
    };
    loss.forEach((x, i) => {
      const step = at(from + i);
      Object.assign(step, { loss: x ?? NaN, accuracy: accuracy[i] ?? step.accuracy, rate: rate[i], zeroed: true });
    });
    for (const [k, packed] of parameters) at(k).p = unpack(packed);
    this.known = null;
  }

  /** Where the run diverged, it cannot go on. */
  get stuck() {
    return !this.parameters || this.parameters.some((x) => !Number.isFinite(x));
  }

  /** Take other points from here on. @param {Point[]} points */
  setPoints(points) {
    this.steps[this.at] = { ...this.step, points, loss: null, accuracy: null, rate: null, zeroed: null };
    this.steps.length = this.at + 1;
    this.phase = "start";
    this.forward();
    this.phase = "start";
  }

  /** @param {number} rate */
  setRate(rate) {
    this.rate = rate;
    this.ownRate = true;
  }

  /** The class that scores stand for: the target value, as the data have it. @param {number[]} scores */
  decides(scores) {
    const { classes } = this.scene;
    if (scores.some((x) => x !== x)) return NaN;
    if (scores.length > 1) return scores.indexOf(Math.max(...scores));
    return scores[0] > 0 ? classes[1] : classes[0];
  }

  /**
   * What the network makes of inputs: the values of its outputs and its neurons, one list for each.
   * @param {Float64Array[]} columns @param {Program} [eyes]
   */
  look(columns, eyes = this.eyes) {
    const n = columns[0].length,
      data = eyes.forward(this.parameters, columns, null);
    const column = (id) => (data[id].length === n ? data[id] : new Float64Array(n).fill(data[id][0]));
    return { outputs: eyes.packed.outputs.map(column), neurons: eyes.packed.neurons.map(column) };
  }

  /** The same for as many inputs as there are points. @param {Float64Array[]} columns */
  sense(columns) {
    return this.look(columns, this.senses);
  }

  /** Values of the leaves for the graph of one point, by name. @param {Point} point */
  leaves(point) {
    const k = this.programs.findIndex((program) => matches(program, point)),
      { packed } = this.programs[Math.max(0, k)];
    const names = packed.timeline.nodes.map((node) => node.name),
      values = {};
    packed.parameters.forEach((id, i) => {
      if (id >= 0) values[names[id]] = this.parameters[i];
    });
    packed.x.forEach((id, i) => {
      if (id >= 0) values[names[id]] = point.x[i];
    });
    if (packed.y >= 0) values[names[packed.y]] = point.y;
    return { packed, values };
  }

  /** Keep within the room: every second step of the older half forgets its parameters. */
  forget() {
    const each = this.parameters.length * (2 + this.rule.kept),
      most = Math.floor(ROOM / each);
    if (this.held === undefined || this.at <= 1) this.held = 0;
    if (++this.held < most) return;
    let k = 0;
    for (const step of this.steps.slice(1, -1)) if (step.p && ++k % 2) [step.p, step.g] = [null, null];
    this.held = Math.ceil(this.held / 2);
  }
}

/** @param {Program} program @param {Point} point */
function matches(program, point) {
  return program.packed.target === null || program.packed.target === point.y;
}

/** Which rows each program takes, and their columns; and of each row its program and its place there.
 * @param {Program[]} programs @param {Point[]} points */
function split(programs, points) {
  const place = new Int32Array(points.length),
    which = new Int32Array(points.length),
    taken = programs.map(() => []);
  points.forEach((point, r) => {
    const k = Math.max(
      0,
      programs.findIndex((program) => matches(program, point)),
    );
    [place[r], which[r]] = [taken[k].length, k];
    taken[k].push(r);
  });
  const each = taken.map((rows, k) => ({
    rows,
    targets: Float64Array.from(rows, (r) => points[r].y),
    columns: programs[k].packed.x.map((_, i) => Float64Array.from(rows, (r) => points[r].x[i])),
  }));
  return { points, each, place, which };
}

/** What the rule reads: the settings, and what follows from the rate and the number of the step.
 * @param {any} optimizer @param {number} lr @param {number} step */
function constantsOf({ settings }, lr, step) {
  const { beta1 = 0, beta2 = 0, dampening = 0, weight_decay = 0 } = settings;
  return {
    ...settings,
    lr,
    fresh: step > 1 ? 1 - dampening : 1,
    size: lr / (1 - beta1 ** step),
    lift: 1 / Math.sqrt(1 - beta2 ** step),
    shrink: 1 - lr * weight_decay,
  };
}

/** Doubles in base64. @param {string} packed */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}
