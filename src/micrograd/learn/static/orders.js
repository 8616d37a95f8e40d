// The order lab without its buttons: visit orders of a backward pass, and what a wrong one does.

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {{visits: number[], grads: number[], flows: Flow[], right: number[]}} Run
 * One edge: what went through it, what should have, and the name of the failure where they differ.
 * @typedef {{from: number, to: number, slot: number, times: number, got: number, wanted: number,
 *            fault: "" | "never" | "early" | "repeated" | "inherited", reason: string}} Flow
 */
import { show } from "./numbers.js";

/** Inputs first, each node once. @param {Graph} graph */
export function topological(graph) {
  const order = [], seen = new Set(), stack = [[graph.root, false]];
  while (stack.length) {
    const [id, inputsDone] = /** @type {[number, boolean]} */ (stack.pop());
    if (inputsDone) order.push(id);
    else if (!seen.has(id)) {
      seen.add(id);
      stack.push([id, true], ...graph.nodes[id].inputs.map((i) => [i, false]).reverse());
    }
  }
  return order;
}

/** The most visits that naive recursion may make before the lab stops it: it doubles with every reuse. */
export const MOST_VISITS = 2000;

/** @type {Record<string, {title: string, order: (graph: Graph) => number[]}>} */
export const ORDERS = {
  reverse: { title: "reverse topological", order: (graph) => topological(graph).reverse() },
  naive: { title: "naive recursion", order: (graph) => depthFirst(graph, false) },
  preorder: { title: "pre-order, visit once", order: (graph) => depthFirst(graph, true) },
  postorder: { title: "post-order", order: (graph) => topological(graph) },
};

/** Fire a node, then go into its inputs one by one. @param {Graph} graph @param {boolean} once */
function depthFirst(graph, once) {
  const order = [], seen = new Set(), stack = [graph.root];
  while (stack.length && order.length < MOST_VISITS) {
    const id = /** @type {number} */ (stack.pop());
    if (once && seen.has(id)) continue;
    seen.add(id);
    order.push(id);
    stack.push(...[...graph.nodes[id].inputs].reverse());
  }
  return order;
}

/** The nodes that have something to pass on, so that their place in the order matters. @param {Graph} graph */
export function movable(graph) {
  return graph.nodes.filter((node) => node.partials.some((p) => p !== null)).map((node) => node.id);
}

/**
 * Run the backward pass in a given order. @param {Graph} graph @param {(number | null)[][]} partials
 * @param {number[]} visits
 */
export function sweep(graph, partials, visits) {
  const grads = graph.nodes.map(() => 0);
  grads[graph.root] = 1;
  /** @type {{node: number, input: number, slot: number, upstream: number, product: number, at: number}[]} */
  const pushes = [];
  visits.forEach((id, at) => {
    const upstream = grads[id];
    graph.nodes[id].inputs.forEach((input, slot) => {
      const local = partials[id][slot];
      if (local === null || local === undefined) return;
      const product = local * upstream;
      grads[input] += product;
      pushes.push({ node: id, input, slot, upstream, product, at });
    });
  });
  return { grads, pushes };
}

/** The gradients as they should be. @param {Graph} graph @param {(number | null)[][]} partials */
export function rightGradients(graph, partials) {
  return sweep(graph, partials, topological(graph).reverse()).grads;
}

/**
 * Run an order and say, edge by edge, what was lost or counted twice.
 * @param {Graph} graph @param {(number | null)[][]} partials @param {number[]} visits
 * @returns {Run}
 */
export function runOrder(graph, partials, visits) {
  const right = rightGradients(graph, partials);
  const { grads, pushes } = sweep(graph, partials, visits);
  const name = (id) => graph.nodes[id].name;
  const flows = [];
  for (const node of graph.nodes) {
    node.inputs.forEach((input, slot) => {
      const local = partials[node.id][slot];
      if (local === null || local === undefined) return;
      const through = pushes.filter((push) => push.node === node.id && push.slot === slot);
      const got = through.reduce((sum, push) => sum + push.product, 0), wanted = local * right[node.id];
      const flow = { from: input, to: node.id, slot, times: through.length, got, wanted, fault: "", reason: "" };
      if (!same(got, wanted)) explain(flow, through, pushes, visits);
      flows.push(flow);
    });
  }
  return { visits, grads, flows, right };

  /** @param {any} flow @param {any[]} through @param {any[]} all @param {number[]} order */
  function explain(flow, through, all, order) {
    const me = name(flow.to), child = name(flow.from);
    if (!through.length) {
      flow.fault = "never";
      flow.reason = `${me} never fired, so ${child} lost its ${show(flow.wanted)}.`;
      return;
    }
    const late = all.filter((push) => push.input === flow.to && push.at > through[0].at);
    if (through.length > 1) {
      flow.fault = "repeated";
      flow.reason = `${me} fired ${times(through.length)}: what it had passed on already went to ${child} again, ` +
        `${show(flow.got - flow.wanted)} too much.`;
    } else if (late.length) {
      const who = [...new Set(late.map((push) => name(push.node)))].join(" and ");
      const what = late.map((push) => show(push.product)).join(" and ");
      flow.fault = "early";
      flow.reason = `${me} fired before ${who} had delivered ${what}: ${child} lost ${show(flow.wanted - flow.got)}.`;
    } else {
      const silent = graph.nodes.filter((node) => node.inputs.includes(flow.to) && !order.includes(node.id));
      flow.fault = "inherited";
      flow.reason = silent.length && flow.to !== graph.root
        ? `${silent.map((node) => node.name).join(" and ")} never fired, so ${me} had a wrong gradient to pass on.`
        : `${me} fired in time, but its own gradient was wrong already.`;
    }
  }
}

/** @param {number} n */
function times(n) {
  return n === 2 ? "twice" : `${n} times`;
}

/** Equal, up to the order of a sum. @param {number} a @param {number} b */
export function same(a, b) {
  return a === b || (a !== a && b !== b) || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}
