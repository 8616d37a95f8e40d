// Backward passes with one mistake in them: each wrong idea of the lesson, written into the engine.
import { applies, factsOf, gives, speakOf } from "./judge.js";
import { pushed } from "./ops.js";
import { ORDERS, rightGradients, same } from "./orders.js";
import { calculate, ideas, t } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").Numbers} Numbers
 * @typedef {import("./orders.js").Run} Run
 */

/**
 * The right pass and the one with the mistake, contribution by contribution.
 * @param {Graph} graph @param {Numbers} numbers @param {any} idea @returns {{right: Run, wrong: Run}}
 */
export function runBug(graph, numbers, idea) {
  const visits = ORDERS.reverse(graph), grads = rightGradients(graph, numbers.partials);
  const passes = idea.passes ?? 1;
  const right = pass(graph, numbers, null, passes), wrong = pass(graph, numbers, idea, passes);
  const differs = (push, k) => !same(push.product, right.pushes[k].product) || !same(push.after, right.pushes[k].after);
  const first = wrong.pushes.findIndex(differs), at = wrong.pushes[first];
  const whole = { visits, flows: [], right: grads };
  return {
    right: { ...whole, ...right, first: -1, reason: "" },
    wrong: { ...whole, ...wrong, first, reason: at ? speakOf(graph, numbers, right.pushes[first], idea.key) : "" },
  };
}

/** @param {Graph} graph @param {Numbers} numbers @param {any} idea null for the right pass @param {number} passes */
function pass(graph, numbers, idea, passes) {
  const grads = graph.nodes.map(() => 0), pushes = [];
  for (let round = 0; round < passes; round++) {
    const start = pushes.length, all = !idea;
    for (const node of graph.nodes) if (round && (all || node.inputs.length)) grads[node.id] = 0;
    grads[graph.root] = 1;
    for (const [at, id] of ORDERS.reverse(graph).entries()) {
      graph.nodes[id].inputs.forEach((input, slot) => {
        const local = numbers.partials[id][slot];
        if (local === null || local === undefined) return;
        const upstream = grads[id], before = grads[input], product = pushed(graph.nodes[id], slot, local, upstream);
        const frame = { node: id, input, slot, local, upstream, product, before };
        const facts = factsOf(graph, numbers, frame), more = /** @type {any} */ ({ at });
        if (idea && !idea.passes && idea.replaces) more.form = "assign";
        else if (idea && applies(idea, graph.nodes[id], slot, facts)) {
          frame.product = gives(idea, facts);
          if (idea.local === undefined) more.form = "bare";
          else Object.assign(more, { mistaken: true, local: calculate(idea.local, facts) });
        }
        grads[input] = more.form === "assign" ? frame.product : before + frame.product;
        pushes.push({ ...frame, ...more, after: grads[input] });
      });
    }
    if (round && pushes[start]) pushes[start].clears = all ? "all" : "inner";
  }
  return { pushes, grads };
}

/** The bugs that can be chosen: those of an op only where some graph has it. @param {Graph[]} graphs */
export function bugsFor(graphs) {
  const has = (op) => graphs.some((graph) => graph.nodes.some((node) => node.op === op));
  return ideas().filter((idea) => !idea.ops || idea.ops.some(has));
}

/**
 * Whether a bug shows on a graph; where it does not, why.
 * @param {Graph} graph @param {Numbers} numbers @param {any} idea @returns {{shows: boolean, why: string}}
 */
export function showsOn(graph, numbers, idea) {
  if (idea.ops && !graph.nodes.some((node) => idea.ops.includes(node.op))) {
    return { shows: false, why: t("bugs.no_op", { op: idea.ops[0] }) };
  }
  const { right, wrong } = runBug(graph, numbers, idea);
  const shows = right.grads.some((g, id) => !same(g, wrong.grads[id]));
  return { shows, why: shows ? "" : t(`ideas.${idea.key}.none`) };
}

