// One graph and its timeline: the nodes that Python sent, evaluated again when a leaf changes.
import { OPS, partialsOf, valueOf } from "./ops.js";
import { readNumber, show } from "./numbers.js";

/**
 * @typedef {{id: number, name: string, label: string, op: string, symbol: string, data: number, inputs: number[],
 *            partials: (number | null)[], constant: boolean, line: number | null}} Node
 * @typedef {{x: number, y: number, w: number, h: number}} Rectangle
 * @typedef {{card: Rectangle, op: Rectangle | null}} Box
 * @typedef {{rankdir: string, width: number, height: number, boxes: Box[],
 *            edges: {to: number, slot: number, path: string}[]}} Layout
 * `words` are Python's frames: the text of each step. `frozen` names an op that this page cannot run again.
 * @typedef {{nodes: Node[], root: number, code: string[], source: any[], layouts: Layout[], words: any[],
 *            frozen: string}} Graph
 * @typedef {{data: number[], partials: (number | null)[][]}} Numbers
 * @typedef {{kind: "forward" | "seed" | "backward", node: number, input?: number, slot?: number, local?: number,
 *            upstream?: number, product?: number, before?: number, after?: number, line: number | null, rule: string,
 *            parts: Part[], sentence: string}} Frame
 * A piece of a sentence; its role gives it a colour: data, grad, local or nothing.
 * @typedef {[role: string, text: string]} Part
 */

/** Take a timeline as Python wrote it. @param {any} timeline @returns {Graph} */
export function readGraph(timeline) {
  const nodes = timeline.nodes.map((node, id) => ({
    id, op: "", inputs: [], constant: false, line: null, label: node.name, symbol: OPS[node.op]?.symbol ?? "", ...node,
    data: readNumber(node.data),
    partials: (node.partials ?? []).map((p) => (p === null ? null : readNumber(p))),
  }));
  const { root, code, source, frozen, layouts } = timeline;
  const words = frozen ? timeline.words : wordsOf(nodes, timeline);
  return { nodes, root, code, source, frozen, layouts: layouts.map(readLayout), words };
}

/** @param {any} place @returns {Layout} */
function readLayout({ rankdir, width, height, boxes, edges }) {
  const rectangle = ([x, y, w, h]) => ({ x, y, w, h });
  return {
    rankdir, width, height,
    boxes: boxes.map(([card, op]) => ({ card: rectangle(card), op: op ? rectangle(op) : null })),
    edges: edges.map(([to, slot, path]) => ({ to, slot, path })),
  };
}

/** The words of every frame. @param {Node[]} nodes @param {any} timeline */
function wordsOf(nodes, { root, code, words }) {
  const top = nodes[root].name;
  return [
    ...nodes.filter((node) => !node.constant).map(({ id, line, name, inputs }) => (
      { kind: "forward", node: id, line, rule: inputs.length ? code[line] : `${name} is a leaf`, head: code[line] })),
    { kind: "seed", node: root, line: nodes[root].line, rule: `∂${top}/∂${top} = 1`,
      head: `${top}.grad = 1, for ${top} changes by exactly as much as ${top}` },
    ...words.map(([node, slot, rule, factor]) => {
      const input = nodes[node].inputs[slot];
      const target = `${nodes[input].name}.grad`, upstreamName = `${nodes[node].name}.grad`;
      return { kind: "backward", node, input, slot, line: nodes[node].line, rule, target, factor, upstreamName };
    }),
  ];
}

/** The leaves that a learner may change. @param {Graph} graph */
export function leavesOf(graph) {
  return graph.nodes.filter((node) => !node.inputs.length && !node.constant);
}

/**
 * Data and partials with some leaves changed; with none, the engine's own numbers.
 * @param {Graph} graph @param {Record<number, number>} values by id @returns {Numbers}
 */
export function evaluate(graph, values) {
  const changed = graph.nodes.map((node) => node.id in values && !Object.is(values[node.id], node.data));
  const data = graph.nodes.map((node) => node.data);
  const partials = graph.nodes.map((node) => node.partials);
  for (const node of graph.nodes) {
    if (!node.inputs.length) {
      if (changed[node.id]) data[node.id] = values[node.id];
      continue;
    }
    if (!node.inputs.some((i) => changed[i])) continue;
    changed[node.id] = true;
    const args = node.inputs.map((i) => data[i]);
    data[node.id] = valueOf(node.op, args);
    const slopes = partialsOf(node.op, args, data[node.id]);
    partials[node.id] = node.partials.map((p, slot) => (p === null ? null : slopes[slot]));
  }
  return { data, partials };
}

/**
 * The whole timeline in the present numbers: forward, the seed, backward. The words are Python's.
 * @param {Graph} graph @param {Numbers} numbers @returns {Frame[]}
 */
export function framesOf(graph, numbers) {
  const grads = graph.nodes.map(() => 0);
  grads[graph.root] = 1;
  return graph.words.map((word) => {
    const node = graph.nodes[word.node];
    if (graph.frozen) return frozen(word);
    if (word.kind === "forward") return seal({ ...word, parts: forwardParts(graph, numbers, node, word.head) });
    if (word.kind === "seed") return seal({ ...word, before: 0, after: 1, parts: [["", word.head]] });
    const local = /** @type {number} */ (numbers.partials[node.id][word.slot]);
    const before = grads[word.input], upstream = grads[node.id], product = local * upstream, after = before + product;
    grads[word.input] = after;
    const push = { local, upstream, product, before, after };
    return seal({ ...word, ...push, parts: backwardParts(word, push) });
  });
}

/** A frame with the numbers that Python gave it. @param {any} word */
function frozen(word) {
  const numbers = ["local", "upstream", "product", "before", "after"].filter((key) => (word[key] ?? null) !== null);
  const read = Object.fromEntries(numbers.map((key) => [key, readNumber(word[key])]));
  return { ...word, ...read, parts: [["", word.sentence]] };
}

/** @param {any} frame @returns {Frame} */
function seal(frame) {
  return { ...frame, sentence: frame.parts.map(([, text]) => text).join("") };
}

/** @param {Graph} graph @param {Numbers} numbers @param {Node} node @param {string} head @returns {Part[]} */
function forwardParts(graph, { data }, node, head) {
  const y = show(data[node.id]);
  if (!node.inputs.length) return [["", `${node.name} = `], ["data", y]];
  const figures = node.inputs.map((i) => show(data[i]));
  const spelled = spell(node, isInfix(node) ? figures.map(inBrackets) : figures);
  return [["", `${head} → `], ["data", spelled], ["", " = "], ["data", y]];
}

/** @param {any} word @param {any} push @returns {Part[]} */
function backwardParts(word, push) {
  return [
    ["grad", word.target], ["", " += "], ["local", word.factor], ["", " * "], ["grad", word.upstreamName],
    ["", " → "], ["grad", show(push.before)], ["", " + "], ["local", `(${show(push.local)})`],
    ["grad", `(${show(push.upstream)})`], ["", " = "], ["grad", show(push.after)],
  ];
}

/** @param {string} figure */
function inBrackets(figure) {
  return figure.startsWith("−") ? `(${figure})` : figure;
}

/** @param {Node} node */
function isInfix(node) {
  return node.inputs.length === 2 && !/^[A-Za-z_]\w*$/.test(node.symbol);
}

/** An op over operands as code: `a * b`, `tanh(n)`, `dot([w1], [x1])`. @param {Node} node @param {string[]} operands */
export function spell(node, operands) {
  const row = OPS[node.op], half = operands.length / 2;
  if (node.op === "neg") return `-${operands[0]}`;
  if (row?.facts?.includes("other")) {
    return `${node.symbol}([${operands.slice(0, half).join(", ")}], [${operands.slice(half).join(", ")}])`;
  }
  if (row && row.arity < 0) return `${node.symbol}([${operands.join(", ")}])`;
  if (isInfix(node)) return `${operands[0]} ${node.symbol} ${operands[1]}`;
  return `${node.symbol || "op"}(${operands.join(", ")})`;
}

/** The code with the leaves as they are now. @param {Graph} graph @param {Numbers} numbers */
export function codeOf(graph, numbers) {
  const lines = [...graph.code];
  for (const node of leavesOf(graph)) {
    const now = numbers.data[node.id];
    if (node.line !== null && !Object.is(now, node.data)) lines[node.line] = `${node.name} = ${now}`;
  }
  return lines;
}

/**
 * What is known after so many frames.
 * @param {Graph} graph @param {Numbers} numbers @param {Frame[]} frames @param {number} step
 */
export function snapshot(graph, numbers, frames, step) {
  const known = graph.nodes.map((node) => node.constant);
  /** @type {(number | null)[]} */
  const grads = graph.nodes.map(() => null);
  const spent = new Set();
  for (const frame of frames.slice(0, step)) {
    if (frame.kind === "forward") known[frame.node] = true;
    else if (frame.kind === "seed") grads[frame.node] = /** @type {number} */ (frame.after);
    else {
      grads[/** @type {number} */ (frame.input)] = /** @type {number} */ (frame.after);
      spent.add(`${frame.node}:${frame.slot}`);
    }
  }
  return { known, grads, spent, active: step > 0 ? frames[step - 1] : null };
}

/** The finite difference of the root by one leaf. @param {Graph} graph @param {Record<number, number>} values
 * @param {number} leaf @param {number} step */
export function nudge(graph, values, leaf, step) {
  const x = values[leaf] ?? graph.nodes[leaf].data;
  const up = evaluate(graph, { ...values, [leaf]: x + step }).data[graph.root];
  const down = evaluate(graph, { ...values, [leaf]: x - step }).data[graph.root];
  return { up, down, slope: (up - down) / (x + step - (x - step)) };
}
