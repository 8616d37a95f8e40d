// What is said to a prediction: right, or which wrong idea it comes from. The same rules as lesson.py, from the same data.
import { parseNumber, show } from "./numbers.js";
import { OPS, partialsOf, pushed, valueOf } from "./ops.js";
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

/** A number as far as it is shown. @param {number} x */
function seen(x) {
  return parseNumber(show(x)) ?? x;
}

/** Whether a number is shown with fewer digits than it has. @param {number} x */
export function isCut(x) {
  return Number.isFinite(x) && seen(x) !== x;
}

/** The slope of an edge, from the numbers as they are shown; NaN where the table has no rule for it.
 * @param {Graph} graph @param {Numbers} numbers @param {any} node @param {number} slot */
function seenSlope(graph, { data, partials }, node, slot) {
  if (graph.frozen || !(OPS[node.op]?.arity >= 0) || (partials[node.id][slot] ?? null) === null) return NaN;
  const y = seen(data[node.id]), rule = OPS[node.op].rule[slot] ?? "";
  if (/^[\dy²·/()+ -]+$/.test(rule)) return byRule(rule, y); // written with the output, as learners compute it
  return partialsOf(node.op, node.inputs.map((i) => seen(data[i])), y)[slot];
}

/** The value of a rule in which y alone occurs, such as "1 - y²". @param {string} rule @param {number} y */
function byRule(rule, y) {
  const signs = rule.match(/[\d.]+|[y²·/()+-]/g) ?? [];
  const sum = () => {
    let x = product();
    while ("+-".includes(signs[0] ?? "·")) x += signs.shift() === "+" ? product() : -product();
    return x;
  };
  const product = () => {
    let x = power();
    while (signs.length && !"+-)".includes(signs[0])) {
      const over = signs[0] === "/";
      if (over || signs[0] === "·") signs.shift();
      x = over ? x / power() : x * power();
    }
    return x;
  };
  const power = () => {
    const sign = signs.shift(), x = sign === "(" ? sum() : sign === "y" ? y : Number(sign);
    if (sign === "(") signs.shift();
    if (signs[0] !== "²") return x;
    signs.shift();
    return x * x;
  };
  return sum();
}

/** The gradient or the data of a node, computed by one step from the numbers beside it as they are shown; NaN where that
 * cannot be. Where close numbers are subtracted, it differs from the exact answer in digits that a learner does see.
 * @param {Graph} graph @param {Numbers} numbers @param {"gradient" | "data"} kind @param {number} id
 * @param {number[]} grads of the whole pass */
export function fromShown(graph, numbers, kind, id, grads) {
  const node = graph.nodes[id], { data } = numbers;
  if (kind === "data") {
    if (!node.inputs.length || !(OPS[node.op]?.arity >= 0)) return NaN;
    return valueOf(node.op, node.inputs.map((i) => seen(data[i])));
  }
  let sum = id === graph.root ? 1 : 0;
  for (const user of graph.nodes) {
    user.inputs.forEach((input, slot) => {
      if (input === id && (numbers.partials[user.id][slot] ?? null) !== null) {
        sum += pushed(user, slot, seenSlope(graph, numbers, user, slot), seen(grads[user.id]));
      }
    });
  }
  return sum;
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
  const shown = seen(frame.before) + seenSlope(graph, numbers, node, frame.slot) * seen(frame.upstream);
  if (!idea && near(said, shown)) return { right: true, key: "", text: "" };
  const key = idea ? idea.key : near(-said, after) ? "sign" : "other";
  return { right: false, key, text: speakOf(graph, numbers, frame, key) };
}

/** What is said to an idea at this frame. @param {Graph} graph @param {Numbers} numbers @param {any} frame
 * @param {string} key */
export function speakOf(graph, numbers, frame, key) {
  const names = { name: graph.nodes[frame.input].name, out: graph.nodes[frame.node].name };
  return t(`ideas.${key}.text`, { ...factsOf(graph, numbers, frame), ...names });
}
