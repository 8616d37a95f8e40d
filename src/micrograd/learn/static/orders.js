// Backward passes in any order, contribution by contribution, and where they first go wrong (see orders.py).
import { show } from "./numbers.js";
import { pushed } from "./ops.js";
import { t, text } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * One contribution. `clears` at the start of a further pass: which gradients are set to zero first.
 * @typedef {{node: number, input: number, slot: number, local: number, upstream: number, product: number,
 *            before: number, after: number, at: number, clears?: "inner" | "all"}} Push
 * One edge: what went through it, what should have, and the name of the fault where they differ.
 * @typedef {{from: number, to: number, slot: number, times: number, got: number, wanted: number,
 *            fault: "" | "never" | "early" | "repeated" | "inherited", reason: string}} Flow
 * A whole pass. `first` is the first wrong contribution (the number of contributions where some are missing only, -1
 * where all is right), and `reason` says why.
 * @typedef {{visits: number[], pushes: Push[], grads: number[], right: number[], flows: Flow[], first: number,
 *            reason: string}} Run
 */

/** The most visits that naive recursion may make before the lab stops it: it doubles with every reuse. */
export const MOST_VISITS = 2000;

/** @type {Record<string, (graph: Graph) => number[]>} */
export const ORDERS = {
  reverse: (graph) => graph.nodes.map((node) => node.id).reverse(),
  naive: (graph) => depthFirst(graph, false),
  preorder: (graph) => depthFirst(graph, true),
  postorder: (graph) => graph.nodes.map((node) => node.id),
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
  /** @type {Push[]} */
  const pushes = [];
  visits.forEach((id, at) => {
    const upstream = grads[id];
    graph.nodes[id].inputs.forEach((input, slot) => {
      const local = partials[id][slot];
      if (local === null || local === undefined) return;
      const product = pushed(graph.nodes[id], slot, local, upstream), before = grads[input];
      grads[input] += product;
      pushes.push({ node: id, input, slot, local, upstream, product, before, after: grads[input], at });
    });
  });
  return { grads, pushes };
}

/** The gradients as they should be. @param {Graph} graph @param {(number | null)[][]} partials */
export function rightGradients(graph, partials) {
  return sweep(graph, partials, ORDERS.reverse(graph)).grads;
}

/**
 * Run an order and say, edge by edge, what was lost or counted twice.
 * @param {Graph} graph @param {(number | null)[][]} partials @param {number[]} visits
 * @returns {Run}
 */
export function runOrder(graph, partials, visits) {
  const right = rightGradients(graph, partials);
  const { grads, pushes } = sweep(graph, partials, visits);
  const through = new Map(), into = new Map(), flows = [];
  const add = (map, key, push) => map.set(key, [...(map.get(key) ?? []), push]);
  for (const push of pushes) {
    add(through, `${push.node}:${push.slot}`, push);
    add(into, push.input, push);
  }
  for (const node of graph.nodes) {
    node.inputs.forEach((input, slot) => {
      const local = partials[node.id][slot];
      if (local === null || local === undefined) return;
      const mine = through.get(`${node.id}:${slot}`) ?? [];
      const got = mine.reduce((sum, push) => sum + push.product, 0), wanted = pushed(node, slot, local, right[node.id]);
      const flow = { from: input, to: node.id, slot, times: mine.length, got, wanted, fault: "", reason: "" };
      if (!same(got, wanted)) explain(graph, flow, mine, into.get(node.id) ?? [], visits);
      flows.push(flow);
    });
  }
  return { visits, pushes, grads, flows, right, ...firstFault(pushes, flows) };
}

/** @param {Push[]} pushes @param {Flow[]} flows */
function firstFault(pushes, flows) {
  const edges = new Map(flows.map((flow) => [`${flow.to}:${flow.slot}`, flow])), seen = new Set();
  for (const [k, push] of pushes.entries()) {
    const key = `${push.node}:${push.slot}`, flow = /** @type {Flow} */ (edges.get(key));
    if (flow.fault && (seen.has(key) || !same(push.product, flow.wanted))) return { first: k, reason: flow.reason };
    seen.add(key);
  }
  const missing = flows.find((flow) => flow.fault);
  return missing ? { first: pushes.length, reason: missing.reason } : { first: -1, reason: "" };
}

/** @param {Graph} graph @param {any} flow @param {Push[]} mine @param {Push[]} into @param {number[]} visits */
function explain(graph, flow, mine, into, visits) {
  const name = (id) => graph.nodes[id].name, both = text("orders.and");
  const late = mine.length ? into.filter((push) => push.at > mine[0].at) : [];
  const silent = graph.nodes.filter((node) => node.inputs.includes(flow.to) && !visits.includes(node.id));
  flow.fault = !mine.length ? "never" : mine.length > 1 ? "repeated" : late.length ? "early" : "inherited";
  const key = flow.fault === "inherited" && silent.length ? "silent" : flow.fault;
  const who = key === "silent" ? silent.map((node) => node.name) : [...new Set(late.map((push) => name(push.node)))];
  flow.reason = t(`orders.${key}`, {
    out: name(flow.to), name: name(flow.from), wanted: flow.wanted, who: who.join(both),
    times: mine.length === 2 ? text("orders.twice") : t("orders.times", { n: String(mine.length) }),
    excess: flow.got - flow.wanted, missing: flow.wanted - flow.got,
    what: late.map((push) => show(push.product)).join(both),
  });
}

/** Equal, up to the order of a sum. @param {number} a @param {number} b */
export function same(a, b) {
  return a === b || (a !== a && b !== b) || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}
