// A graph of one data point as a program that runs over many points at once. Values and partials are the op table's;
// what is here is the order in which they are applied, which is that of the engine.
import { OPS, partialsOf } from "./ops.js";
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
  }

  /** Room for so many rows. @param {number} rows */
  room(rows) {
    if (this.rows === rows && this.data.length) return;
    this.rows = rows;
    this.data = this.nodes.map((node, id) => new Float64Array(this.varies[id] ? rows : 1).fill(node.data));
    this.grads = [];
  }

  /**
   * Values of the nodes for every row: all of them, or only what outputs and neurons need.
   * @param {Float64Array} parameters @param {Float64Array[]} columns one for each input @param {Float64Array | null} targets
   */
  forward(parameters, columns, targets) {
    const { packed, nodes } = this;
    this.room(columns[0].length);
    packed.parameters.forEach((id, k) => {
      if (id >= 0) this.data[id][0] = parameters[k];
    });
    packed.x.forEach((id, k) => {
      if (id >= 0) this.data[id].set(columns[k]);
    });
    if (targets && packed.y >= 0) this.data[packed.y].set(targets);
    for (const id of targets ? this.made : this.seen) {
      const { op, inputs } = nodes[id],
        out = this.data[id],
        n = out.length,
        { value, arity } = OPS[op];
      const [a, b, c] = inputs.map((i) => this.data[i]);
      const [ka, kb, kc] = [a, b, c].map((x) => (x && x.length > 1 ? 1 : 0));
      if (arity === 1) for (let r = 0; r < n; r++) out[r] = value(a[r * ka]);
      else if (arity === 2) for (let r = 0; r < n; r++) out[r] = value(a[r * ka], b[r * kb]);
      else if (arity === 3) for (let r = 0; r < n; r++) out[r] = value(a[r * ka], b[r * kb], c[r * kc]);
      else
        this.each(id, n, (args, r) => {
          out[r] = value(args);
        });
    }
    return this.data;
  }

  /** Call with the operands of a node for each row, in a list that is used again. @param {number} id @param {number} n
   * @param {(args: number[], r: number) => void} act */
  each(id, n, act) {
    const columns = this.nodes[id].inputs.map((i) => this.data[i]),
      count = columns.length;
    const args = new Array(count).fill(0),
      moving = [];
    columns.forEach((column, i) => {
      if (column.length > 1) moving.push(i);
      else args[i] = column[0];
    });
    for (let r = 0; r < n; r++) {
      for (const i of moving) args[i] = columns[i][r];
      act(args, r);
    }
  }

  /**
   * The gradient of every node for each row, of `seed` times the loss of that row. Call it after a forward pass.
   * @param {number} seed
   */
  backward(seed) {
    const { nodes, data, rows } = this;
    if (!this.grads.length) this.grads = nodes.map(() => new Float64Array(rows));
    const { grads } = this;
    for (const grad of grads) grad.fill(0);
    grads[this.root].fill(seed);
    for (let k = this.made.length - 1; k >= 0; k--) {
      const id = this.made[k],
        { op, inputs } = nodes[id],
        { partials, arity, facts = [] } = OPS[op];
      const up = grads[id],
        y = data[id],
        ky = y.length > 1 ? 1 : 0;
      const into = inputs.map((i) => (nodes[i].constant ? null : grads[i]));
      if (arity >= 0) {
        const [a, b, c] = inputs.map((i) => data[i]),
          [ka, kb, kc] = [a, b, c].map((x) => (x && x.length > 1 ? 1 : 0));
        partials.forEach((partial, slot) => {
          const g = into[slot];
          if (!g) return;
          if (arity === 1) for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], y[r * ky]) * up[r];
          else if (arity === 2) for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], b[r * kb], y[r * ky]) * up[r];
          else for (let r = 0; r < rows; r++) g[r] += partial(a[r * ka], b[r * kb], c[r * kc], y[r * ky]) * up[r];
        });
      } else if (facts.length <= 1 && !["rest", "share"].includes(facts[0])) {
        const [partial] = partials,
          count = inputs.length,
          half = count / 2;
        for (let i = 0; i < count; i++) {
          const g = into[i],
            other = facts[0] === "other" ? data[inputs[(i + half) % count]] : facts[0] === "x" ? data[inputs[i]] : null;
          if (!g) continue;
          const ko = other && other.length > 1 ? 1 : 0;
          if (other) for (let r = 0; r < rows; r++) g[r] += partial(other[r * ko]) * up[r];
          else for (let r = 0; r < rows; r++) g[r] += partial(facts[0] === "y" ? y[r * ky] : count) * up[r];
        }
      } else {
        this.each(id, rows, (args, r) => {
          const slopes = partialsOf(op, args, y[r * ky]);
          for (let i = 0; i < into.length; i++) if (into[i]) into[i][r] += slopes[i] * up[r];
        });
      }
    }
    return grads;
  }
}
