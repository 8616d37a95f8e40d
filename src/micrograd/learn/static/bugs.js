// The bug lab without its buttons: backward passes with one mistake in them.
import { show } from "./numbers.js";
import { sweep, rightGradients, same, topological } from "./orders.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").Numbers} Numbers
 * @typedef {{grads: number[], right: number[], notes: Map<string, {kind: string, text: string}>, hits: number}} Outcome
 * A wrong rule for one kind of node; `partial` is what the mistaken coder would write.
 * @typedef {{key: string, title: string, op: string, right: string, wrong: string,
 *            partial: (args: number[], y: number, slot: number, good: number) => number}} Mistake
 */

/** @type {Mistake[]} */
export const MISTAKES = [
  { key: "own", op: "mul", title: "× with its own data", partial: (args, y, slot) => args[slot],
    right: "other.data * out.grad", wrong: "self.data * out.grad" },
  { key: "tanh", op: "tanh", title: "tanh′ from x", partial: ([x]) => 1 - x * x,
    right: "(1 - t**2) * out.grad", wrong: "(1 - x**2) * out.grad" },
  { key: "relu", op: "relu", title: "relu open at x ≤ 0", partial: () => 1,
    right: "(x > 0) * out.grad", wrong: "1.0 * out.grad" },
  { key: "minus", op: "sub", title: "the sign of −", partial: () => 1,
    right: "-1.0 * out.grad", wrong: "1.0 * out.grad" },
  { key: "exp", op: "exp", title: "exp′ from x", partial: ([x]) => x,
    right: "out.data * out.grad", wrong: "x * out.grad" },
  { key: "power", op: "pow", title: "the power kept", partial: ([, n], y, slot, good) => (slot === 0 ? n * y : good),
    right: "n * x**(n - 1) * out.grad", wrong: "n * x**n * out.grad" },
  { key: "log", op: "log", title: "log′ upside down", partial: ([x]) => x,
    right: "1 / x * out.grad", wrong: "x * out.grad" },
];

/** The mistakes that this graph gives room for. @param {Graph} graph */
export function mistakesFor(graph) {
  return MISTAKES.filter((mistake) => graph.nodes.some((node) => node.op === mistake.op));
}

/**
 * `=` in place of `+=`: a later contribution wipes out the ones before.
 * @param {Graph} graph @param {Numbers} numbers @returns {Outcome}
 */
export function assigned(graph, { partials }) {
  const right = rightGradients(graph, partials), grads = graph.nodes.map(() => 0), notes = new Map(), last = new Map();
  grads[graph.root] = 1;
  let hits = 0;
  for (const id of topological(graph).reverse()) {
    graph.nodes[id].inputs.forEach((input, slot) => {
      const local = partials[id][slot];
      if (local === null || local === undefined) return;
      if (last.has(input)) {
        notes.set(last.get(input), { kind: "fault early", text: "✕ erased" });
        hits++;
      }
      grads[input] = local * grads[id];
      last.set(input, `${id}:${slot}`);
    });
  }
  return { grads, right, notes, hits };
}

/**
 * No zero_grad between two passes: leaves keep what they had.
 * @param {Graph} graph @param {Numbers} numbers @param {number} passes @returns {Outcome}
 */
export function unzeroed(graph, { partials }, passes) {
  const right = rightGradients(graph, partials);
  const grads = right.map((g, id) => (graph.nodes[id].inputs.length ? g : g * passes));
  const notes = new Map(), hits = graph.nodes.filter((node) => !node.inputs.length && !node.constant).length;
  for (const node of graph.nodes) {
    node.inputs.forEach((input, slot) => {
      const counts = partials[node.id][slot] !== null && !graph.nodes[input].inputs.length;
      if (counts) notes.set(`${node.id}:${slot}`, { kind: "fault repeated", text: `×${passes}` });
    });
  }
  return { grads, right, notes, hits };
}

/**
 * A wrong local derivative in every node of one op.
 * @param {Graph} graph @param {Numbers} numbers @param {Mistake} mistake @returns {Outcome}
 */
export function mistaken(graph, { data, partials }, mistake) {
  const notes = new Map();
  let hits = 0;
  const wrong = graph.nodes.map((node) => {
    if (node.op !== mistake.op) return partials[node.id];
    const args = node.inputs.map((i) => data[i]);
    return partials[node.id].map((good, slot) => {
      if (good === null) return null;
      const bad = mistake.partial(args, data[node.id], slot, good);
      if (!same(bad, good)) {
        notes.set(`${node.id}:${slot}`, { kind: "fault never", text: `✗ × ${show(bad)}` });
        hits++;
      }
      return bad;
    });
  });
  const { grads } = sweep(graph, wrong, topological(graph).reverse());
  return { grads, right: rightGradients(graph, partials), notes, hits };
}

/**
 * The chain rule without its chain: each node passes on its local derivative alone.
 * @param {Graph} graph @param {Numbers} numbers @returns {Outcome}
 */
export function unchained(graph, { partials }) {
  const right = rightGradients(graph, partials), grads = graph.nodes.map(() => 0), notes = new Map();
  grads[graph.root] = 1;
  let hits = 0;
  for (const id of topological(graph).reverse()) {
    graph.nodes[id].inputs.forEach((input, slot) => {
      const local = partials[id][slot];
      if (local === null || local === undefined) return;
      grads[input] += local;
      if (!same(right[id], 1)) {
        notes.set(`${id}:${slot}`, { kind: "fault inherited", text: "✗ no upstream" });
        hits++;
      }
    });
  }
  return { grads, right, notes, hits };
}
