// What is said to a prediction: right, or which wrong idea it comes from. The same rules as lesson.py, from the same data.
import { parseNumber, show } from "./numbers.js";
import { calculate, ideas, t } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").Numbers} Numbers
 */

/** Whether an answer counts as right: the same sign, and within half a percent, or equal as far as it is shown, or cut.
 * @param {number} said @param {number} wanted */
export function near(said, wanted) {
  if (said === wanted || (said !== said && wanted !== wanted)) return true;
  if (!Number.isFinite(said) || !Number.isFinite(wanted) || said === 0 || said > 0 !== wanted > 0) return false;
  return Math.abs(said - wanted) <= 0.005 * Math.abs(wanted) || show(said) === show(wanted) || cut(said, wanted);
}

/** Whether an answer has the first two or more significant figures of a number that is not shown in full.
 * @param {number} said @param {number} wanted */
export function cut(said, wanted) {
  if (parseNumber(show(wanted)) === wanted || said === 0) return false;
  const mantissa = String(Math.abs(said)).split("e")[0].replace(".", "").replace(/^0+|0+$/g, "");
  const figures = Math.max(2, mantissa.length), size = Math.abs(wanted);
  const [digits, exponent] = size.toExponential(20).split("e");
  return [Number(size.toExponential(figures - 1)), Number(`${digits.slice(0, figures + 1)}e${exponent}`)]
    .includes(Math.abs(said));
}

/** What a frame shows, and what a learner may mix up. @param {Graph} graph @param {Numbers} numbers @param {any} frame */
export function factsOf(graph, { data }, frame) {
  const node = graph.nodes[frame.node], { local, upstream, product, before } = frame;
  const n = data[node.inputs[node.inputs.length - 1]];
  return { x: data[frame.input], y: data[node.id], n, local, upstream, product, before };
}

/** Whether a learner can have an idea at one edge. @param {any} idea @param {any} node @param {number} slot
 * @param {any} facts */
export function applies(idea, node, slot, facts) {
  if (idea.passes || (idea.ops && !idea.ops.includes(node.op))) return false;
  return (idea.slot ?? slot) === slot && (!idea.when || calculate(idea.when, facts) !== 0);
}

/** The contribution of an edge according to an idea. @param {any} idea @param {any} facts */
export function gives(idea, facts) {
  return idea.local === undefined ? calculate(idea.product, facts) : calculate(idea.local, facts) * facts.upstream;
}

/**
 * Judge a value that the learner gave for grad after the frame.
 * @param {Graph} graph @param {Numbers} numbers @param {any} frame @param {number} said
 */
export function judge(graph, numbers, frame, said) {
  const { after } = frame, facts = factsOf(graph, numbers, frame), node = graph.nodes[frame.node];
  if (near(said, after)) return { right: true, key: "", text: "" };
  const idea = graph.frozen ? null : ideas().find((one) => {
    if (!applies(one, node, frame.slot, facts)) return false;
    const product = gives(one, facts), whole = one.replaces ? product : facts.before + product;
    return near(said, whole) || (one.ops && near(said, product) && !near(whole, after)); // at a*a "own" is right
  });
  const key = idea ? idea.key : near(-said, after) ? "sign" : "other";
  return { right: false, key, text: speakOf(graph, numbers, frame, key) };
}

/** What is said to an idea at this frame. @param {Graph} graph @param {Numbers} numbers @param {any} frame
 * @param {string} key */
export function speakOf(graph, numbers, frame, key) {
  const names = { name: graph.nodes[frame.input].name, out: graph.nodes[frame.node].name };
  return t(`ideas.${key}.text`, { ...factsOf(graph, numbers, frame), ...names });
}
