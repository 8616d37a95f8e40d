// A graph of one data point as a program that runs over many points at once. Values and partials are the op table's;
// what is here is the order in which they are applied, which is that of the engine.
import { OPS, behindSteps, isStep, partialsOf } from "./ops.js";
import { readNumber } from "./numbers.js";

/**
 * A graph as Python packed it, and which of its leaves are inputs, target and parameters (-1: not in this graph).
 * @typedef {{timeline: any, target: number | null, x: number[], y: number, parameters: number[], outputs: number[],
 *            neurons: number[]}} Packed
 */

export class Program {
  /** @param {Packed} packed */
  constructor(packed) {
    this.packed = packed;
    this.nodes = packed.timeline.nodes.map((node) => ({
      op: node.op ?? "",
      inputs: node.inputs ?? [],
      constant: Boolean(node.constant),
      data: readNumber(node.data),
    }));
    this.root = this.nodes.length - 1;
    const varies = this.nodes.map(() => false);
    for (const id of [...packed.x, packed.y]) if (id >= 0) varies[id] = true;
    this.nodes.forEach((node, id) => {
      if (node.inputs.some((i) => varies[i])) varies[id] = true;
    });
    this.varies = varies;
    const first = new Set(); // the nodes that outputs and neurons are made from
    const wanted = [...packed.outputs, ...packed.neurons];
    while (wanted.length) {
      const id = /** @type {number} */ (wanted.pop());
      if (id < 0 || first.has(id)) continue;
      first.add(id);
      wanted.push(...this.nodes[id].inputs);
    }
    this.made = this.nodes.map((node, id) => id).filter((id) => this.nodes[id].inputs.length);
    this.seen = this.made.filter((id) => first.has(id));
    this.rows = 0;
    /** @type {Float64Array[]} */
    this.data = [];
    /** @type {Float64Array[]} */
    this.grads = [];
    /** @type {any[]} */
    this.plan = [];
    /** @type {any[]} */
    this.glance = [];
  }

  /** Room for so many rows, and which columns each op reads and writes. @param {number} rows */
  room(rows) {
    if (this.rows === rows && this.data.length) return;
    const { nodes, varies } = this;
    this.rows = rows;
    this.data = nodes.map((node, id) => new Float64Array(varies[id] ? rows : 1).fill(node.data));
    this.grads = [];
    const plan = (id) => {
      const { op, inputs } = nodes[id],
        columns = inputs.map((i) => this.data[i]);
      const strides = columns.map((column) => (column.length > 1 ? 1 : 0)),
        moving = [];
      strides.forEach((stride, i) => stride && moving.push(i));
      return {
        op,
        row: OPS[op],
        inputs,
        out: this.data[id],
        columns,
        strides,
        moving,
        up: NONE,
        into: [NONE],
        args: columns.map((column) => column[0]),
      };
    };
    const plans = new Map(this.made.map((id) => [id, plan(id)]));
    this.plan = [...plans.values()];
    this.glance = this.seen.map((id) => plans.get(id));
  }

  /**
   * Values of the nodes for every row: all of them, or without targets only what outputs and neurons need.
   * @param {Float64Array} parameters @param {Float64Array[]} columns one for each input @param {Float64Array | null} targets
   */
  forward(parameters, columns, targets) {
    const { packed } = this;
    this.room(columns[0].length);
    packed.parameters.forEach((id, k) => {
      if (id >= 0) this.data[id][0] = parameters[k];
    });
    packed.x.forEach((id, k) => {
      if (id >= 0) this.data[id].set(columns[k]);
    });
    if (targets && packed.y >= 0) this.data[packed.y].set(targets);
    for (const step of targets ? this.plan : this.glance) {
      const {
          row: { value, arity },
          out,
          columns: [a, b, c],
          strides: [ka, kb, kc],
        } = step,
        n = out.length;
      if (arity === 1) for (let r = 0; r < n; r++) out[r] = value(a[r * ka]);
      else if (arity === 2) for (let r = 0; r < n; r++) out[r] = value(a[r * ka], b[r * kb]);
      else if (arity === 3) for (let r = 0; r < n; r++) out[r] = value(a[r * ka], b[r * kb], c[r * kc]);
      else {
        const args = still(step);
        for (let r = 0; r < n; r++) {
          for (const i of step.moving) args[i] = step.columns[i][r];
          out[r] = value(args);
        }
      }
    }
    return this.data;
  }

  /**
   * The gradient of every node for each row, of `seed` times the loss of that row. Call it after a forward pass.
   * @param {number} seed
   */
  backward(seed) {
    const { nodes, rows } = this;
    if (!this.grads.length) {
      const hidden = behindSteps(nodes);
      this.grads = nodes.map(() => new Float64Array(rows));
      this.plan.forEach((step, k) => {
        step.up = this.grads[this.made[k]];
        const stops = (i, slot) => nodes[i].constant || hidden[this.made[k]] || isStep(step.op, slot);
        step.into = step.inputs.map((i, slot) => (stops(i, slot) ? NONE : this.grads[i]));
      });
    }
    for (const grad of this.grads) grad.fill(0);
    this.grads[this.root].fill(seed);
    for (let k = this.plan.length - 1; k >= 0; k--) {
      const step = this.plan[k],
        { arity, facts = [] } = step.row;
      if (arity >= 0) passFixed(step, rows);
      else if (facts.length <= 1 && !["rest", "share"].includes(facts[0])) passEach(step, rows, facts[0]);
      else passAll(step, rows);
    }
    return this.grads;
  }
}

const NONE = new Float64Array(0);

/** The operands of an op with those filled in that are the same for every row. @param {any} step @returns {number[]} */
function still({ args, columns, strides }) {
  for (let i = 0; i < args.length; i++) if (!strides[i]) args[i] = columns[i][0];
  return args;
}

/** Pass gradients on through an op of one, two or three operands. @param {any} step @param {number} rows */
function passFixed({ row: { partials, arity }, columns: [a, b, c], strides: [ka, kb, kc], out: y, up, into }, rows) {
  const ky = y.length > 1 ? 1 : 0;
  partials.forEach((partial, slot) => {
    const g = into[slot];
    if (g === NONE) return;
    if (arity === 1) for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], y[r * ky]) * up[r];
    else if (arity === 2) for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], b[r * kb], y[r * ky]) * up[r];
    else for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], b[r * kb], c[r * kc], y[r * ky]) * up[r];
  });
}

/** Through an op of many operands whose partial reads one fact about an operand. @param {any} step @param {number} rows
 * @param {string | undefined} fact */
function passEach({ row: { partials }, columns, strides, out: y, up, into }, rows, fact) {
  const [partial] = partials,
    count = columns.length,
    half = count / 2,
    ky = y.length > 1 ? 1 : 0;
  for (let i = 0; i < count; i++) {
    const g = into[i],
      k = fact === "other" ? (i + half) % count : i,
      read = columns[k],
      kr = strides[k];
    if (g === NONE) continue;
    if (fact === "other" || fact === "x") for (let r = 0; r < rows; r++) g[r] += partial(read[r * kr]) * up[r];
    else if (fact === "y") for (let r = 0; r < rows; r++) g[r] += partial(y[r * ky]) * up[r];
    else for (let r = 0; r < rows; r++) g[r] += partial(count) * up[r];
  }
}

/** Through any other op of many operands. @param {any} step @param {number} rows */
function passAll(step, rows) {
  const { op, columns, moving, out: y, up, into } = step,
    args = still(step),
    ky = y.length > 1 ? 1 : 0;
  for (let r = 0; r < rows; r++) {
    for (const i of moving) args[i] = columns[i][r];
    const slopes = partialsOf(op, args, y[r * ky]);
    for (let i = 0; i < into.length; i++) if (into[i] !== NONE) into[i][r] += slopes[i] * up[r];
  }
}
