// One graph and its timeline: the nodes that Python sent, evaluated again when a leaf changes.
// Frames are those of frames.py, computed by the same steps and put into words by the same templates.
import { OPS, behindSteps, partialsOf, pushed, valueOf } from "./ops.js";
import { literal, readNumber, show } from "./numbers.js";
import { pieces, speak, speakCall, t, text } from "./texts.js";

/**
 * @typedef {{id: number, name: string, label: string, op: string, symbol: string, data: number, inputs: number[],
 *            partials: (number | null)[], constant: boolean, hidden: boolean, line: number | null, scope: number}} Node
 * @typedef {{x: number, y: number, w: number, h: number}} Rectangle
 * @typedef {{id: number, card: Rectangle, op: Rectangle | null}} Box
 * An edge: its path, where its label stands (null: nowhere), and how many edges it stands for.
 * @typedef {{from: number, to: number, slot: number, path: string, label: any, points?: number[], count?: number}} Edge
 * @typedef {{rankdir: string, width: number, height: number, boxes: Box[], edges: Edge[], groups?: any[],
 *            compact?: string}} Layout
 * `words` are Python's frames where this page cannot run the graph again; `frozen` names the op that it cannot run.
 * @typedef {{nodes: Node[], root: number, source: any[], scopes: string[][], layouts: Layout[], words: any[] | null,
 *            frozen: string}} Graph
 * @typedef {{data: number[], partials: (number | null)[][]}} Numbers
 * A frame in numbers; `tell` puts it into words.
 * @typedef {{kind: "forward" | "seed" | "backward", node: number, input?: number, slot?: number, local?: number,
 *            upstream?: number, product?: number, before?: number, after?: number, line: number | null,
 *            told?: any}} Frame
 * A piece of a sentence; its role gives it a colour: data, grad, local or nothing.
 * @typedef {[role: string, text: string]} Part
 */

/** Take a timeline as Python wrote it. @param {any} timeline @returns {Graph} */
export function readGraph(timeline) {
  let line = 0;
  const nodes = timeline.nodes.map((node, id) => {
    const read = {
      id, op: "", inputs: [], constant: false, label: node.name, symbol: OPS[node.op]?.symbol ?? "", scope: 0, ...node,
      data: readNumber(node.data), line: node.constant ? null : line++,
    };
    read.partials = (node.partials ?? []).map((p) => (p === null ? null : readNumber(p)));
    return read;
  });
  for (const node of nodes) { // of a large graph Python leaves out what the table gives again
    if (node.inputs.length && !node.partials.length) {
      const slopes = partialsOf(node.op, node.inputs.map((i) => nodes[i].data), node.data);
      node.partials = node.inputs.map((i, slot) => (nodes[i].constant ? null : slopes[slot]));
    }
  }
  behindSteps(nodes).forEach((hidden, id) => (nodes[id].hidden = hidden));
  const { source = [], lines = [], frozen = "", layouts = [], words = null, scopes = [[]] } = timeline;
  return { nodes, root: nodes.length - 1, source: lines.map((k) => source[k]), frozen, scopes, words,
    layouts: layouts.map((place) => readLayout(place, nodes)) };
}

/** @param {any} place @param {Node[]} nodes @returns {Layout} */
function readLayout({ rankdir, width, height, boxes, edges }, nodes) {
  const down = rankdir === "TB", pill = 32, link = 12;
  const before = (x, y, w, h, op) => ({ w: op, h: pill, x: down ? x + w / 2 - op / 2 : x - link - op,
    y: down ? y - link - pill : y + (h - pill) / 2 });
  return {
    rankdir, width, height,
    boxes: boxes.map(([x, y, w, op], id) => {
      const h = nodes[id].constant ? 30 : 62;
      return { id, card: { x, y, w, h }, op: op ? before(x, y, w, h, op) : null };
    }),
    edges: edges.map(([from, to, slot, points, label]) => (
      { from, to, slot, points, path: pathOf(points, down),
        label: label ? [label[0], label[1], label[2] ? "start" : "end"] : null })),
  };
}

/** The points of an edge as an SVG path, as layout.py makes it: a smooth turn between two layers.
 * @param {number[]} points x, y, x, y … @param {boolean} down */
export function pathOf(points, down) {
  let path = `M${points[0]},${points[1]}`;
  for (let k = 2; k < points.length; k += 2) {
    const [x0, y0, x1, y1] = points.slice(k - 2, k + 2), [mx, my] = [(x0 + x1) / 2, (y0 + y1) / 2].map((x) => +x.toFixed(2));
    if (down ? x0 === x1 : y0 === y1) path += `L${x1},${y1}`;
    else path += down ? `C${x0},${my} ${x1},${my} ${x1},${y1}` : `C${mx},${y0} ${mx},${y1} ${x1},${y1}`;
  }
  return path;
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
 * The whole timeline in the present numbers: forward, the seed, backward.
 * @param {Graph} graph @param {Numbers} numbers @returns {Frame[]}
 */
export function framesOf(graph, numbers) {
  if (graph.words) return graph.words.map(frozen);
  /** @type {Frame[]} */
  const frames = [];
  for (const { id, line, constant } of graph.nodes) if (!constant) frames.push({ kind: "forward", node: id, line });
  const top = graph.nodes[graph.root], grads = graph.nodes.map(() => 0);
  frames.push({ kind: "seed", node: top.id, line: top.line, before: 0, after: 1 });
  grads[graph.root] = 1;
  for (let id = graph.nodes.length - 1; id >= 0; id--) {
    const node = graph.nodes[id], { line } = node;
    node.inputs.forEach((input, slot) => {
      const local = numbers.partials[id][slot];
      if (local === null || local === undefined) return;
      const before = grads[input], upstream = grads[id], product = pushed(node, slot, local, upstream);
      const after = before + product;
      grads[input] = after;
      frames.push({ kind: "backward", node: id, input, slot, line, local, upstream, product, before, after });
    });
  }
  return frames;
}

/** A frame with the numbers that Python gave it. @param {any} word */
function frozen(word) {
  const { rule, sentence, spoken } = word;
  const numbers = ["local", "upstream", "product", "before", "after"].filter((key) => (word[key] ?? null) !== null);
  const read = Object.fromEntries(numbers.map((key) => [key, readNumber(word[key])]));
  return { ...word, ...read, told: { rule, sentence, spoken, parts: [["", sentence]] } };
}

const ROLES = { y: "data", numbers: "data", factor: "local", local: "local" };
for (const slot of ["target", "source", "before", "upstream", "after", "product", "signed"]) ROLES[slot] = "grad";

/**
 * A frame in words: the sentence in numbers (and its parts, each with its colour), read aloud, and as a rule.
 * @param {Graph} graph @param {Numbers} numbers @param {Frame} frame
 * @returns {{parts: Part[], sentence: string, spoken: string, rule: string, factor?: string}}
 */
export function tell(graph, numbers, frame) {
  if (frame.told) return frame.told;
  const node = graph.nodes[frame.node], name = node.name, { data } = numbers;
  if (frame.kind === "seed") return wording("seed", { name, target: `${name}.grad` });
  if (frame.kind === "backward") return tellBackward(graph, numbers, frame);
  if (!node.inputs.length) return wording("leaf", { name, y: show(data[node.id]) }, { y: speak(data[node.id]) });
  const figures = node.inputs.map((i) => show(data[i])), names = node.inputs.map((i) => graph.nodes[i].name);
  const said = node.inputs.map((i) => (graph.nodes[i].constant ? speak(data[i]) : graph.nodes[i].name));
  return wording("forward", {
    name, code: spell(node, names),
    numbers: spell(node, isInfix(node) || node.op === "neg" ? figures.map(inBrackets) : figures),
    y: show(data[node.id]),
  }, {
    code: speakCall(node.symbol, said), y: speak(data[node.id]),
    numbers: speakCall(node.symbol, node.inputs.map((i) => speak(data[i]))),
  });
}

/** @param {Graph} graph @param {Numbers} numbers @param {any} frame */
function tellBackward(graph, numbers, frame) {
  const node = graph.nodes[frame.node], name = graph.nodes[frame.input].name, out = node.name;
  const displayed = (suffix) => node.inputs.map((i) => {
    const operand = graph.nodes[i];
    return operand.constant ? inBrackets(show(operand.data)) : operand.name + suffix;
  });
  const names = displayed(""), shared = (i) => node.inputs.filter((j) => j === i).length > 1;
  const side = (k) => (isInfix(node) ? ["left", "right"][k] : "operand");
  node.inputs.forEach((i, k) => {
    if (!graph.nodes[i].constant && shared(i)) names[k] = t(`frames.${side(k)}`, { name: names[k], k: String(k + 1) });
  });
  const slope = partialText(node, frame.slot, names, out) || show(frame.local);
  const rule = t("frames.backward_rule", { out, name: names[frame.slot], partial: slope });
  const factor = frame.mistaken ? inBrackets(show(frame.local))
    : bracketed(partialText(node, frame.slot, displayed(".data"), `${out}.data`) || `∂${out}/∂${name}`);
  const shown = { name, out, target: `${name}.grad`, source: `${out}.grad`, factor }, spoken = {};
  for (const key of ["before", "local", "upstream", "product", "after"]) {
    shown[key] = show(frame[key]);
    spoken[key] = speak(frame[key]);
  }
  const stopped = Number.isNaN(frame.local * frame.upstream) && !Number.isNaN(frame.product); // a step, or behind one
  const form = frame.form ?? (stopped ? "stopped" : "backward"), told = { ...wording(form, shown, spoken, rule), factor };
  if (shared(frame.input) && form === "backward") {
    const slot = t(`frames.${side(frame.slot)}_spoken`, { k: String(frame.slot + 1) });
    told.spoken = t("frames.backward_spoken_slot", { ...shown, ...spoken, slot });
  }
  return told;
}

/** @param {string} kind @param {any} shown @param {any} [spoken] @param {string} [rule] */
function wording(kind, shown, spoken = {}, rule = "") {
  const found = pieces(text(`frames.${kind}`), shown);
  return {
    parts: /** @type {Part[]} */ (found.map(([slot, part]) => [ROLES[slot] ?? "", part])),
    sentence: found.map(([, part]) => part).join(""),
    spoken: t(`frames.${kind}_spoken`, { ...shown, ...spoken }),
    rule: rule || t(`frames.${kind}_rule`, shown),
  };
}

/** The partial for one slot in the names of this node, or "" where the table has no rule for it.
 * @param {Node} node @param {number} slot @param {string[]} operands @param {string} result */
function partialText(node, slot, operands, result) {
  const row = OPS[node.op], facts = row?.facts ?? [], half = operands.length / 2;
  if (!row || !row.rule.length) return "";
  if (row.arity >= 0 && (slot >= row.rule.length || operands.length !== row.arity)) return "";
  if (facts.includes("other")) return operands[(slot + half) % operands.length];
  const rest = operands.filter((_, k) => k !== slot);
  if (facts.includes("rest")) return rest.length > 0 && rest.length <= 4 ? rest.join("·") : row.rule[0];
  const named = row.arity >= 0 ? { a: operands[0], b: operands[1], c: operands[2], y: result }
    : { x: operands[slot], y: result, n: String(operands.length) };
  const rule = row.rule[row.arity >= 0 ? slot : 0].replaceAll("-", "−");
  return rule.replace(/(?<![A-Za-z_])([abcxyn])(?![A-Za-z_0-9(])/g, (letter, _, at) => {
    const word = named[letter] ?? letter;
    return at > 0 && /\d/.test(rule[at - 1]) ? `·${word}` : word;
  });
}

/** A factor of a product: brackets where it is more than one word. @param {string} formula */
function bracketed(formula) {
  return /^([\p{L}\p{N}_.[\]′]+|\([^()]*\)|[\p{L}\p{N}_.]+\([^()]*\))$/u.test(formula) ? formula : `(${formula})`;
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

/** One line of code. @param {Graph} graph @param {Numbers} numbers @param {Node} node */
export function codeLine(graph, numbers, node) {
  if (!node.inputs.length) return `${node.name} = ${literal(numbers.data[node.id])}`;
  return `${node.name} = ${spell(node, node.inputs.map((i) => graph.nodes[i].name))}`;
}

/**
 * What is known after so many frames. It keeps the last answer, and goes on from there, forward or back.
 * @param {Graph} graph @param {Frame[]} frames
 * @returns {(step: number) => {known: boolean[], grads: (number | null)[], spent: {has: (key: string) => boolean},
 *                              active: Frame | null}}
 */
export function snapshots(graph, frames) {
  const known = graph.nodes.map((node) => node.constant), fresh = new Set();
  /** @type {(number | null)[]} */
  const grads = graph.nodes.map(() => null);
  const first = new Map(); // node → the step after which its first contribution has been made
  frames.forEach((frame, k) => {
    if (frame.kind !== "backward") return;
    if (!first.has(frame.node)) first.set(frame.node, k + 1);
    if (!first.has(-1 - Number(frame.input))) fresh.add(k); // nothing had reached this input before
    first.set(-1 - Number(frame.input), k);
  });
  const target = (frame) => (frame.kind === "backward" ? frame.input : frame.node);
  let at = 0;
  return (step) => {
    for (; at < step; at++) {
      const frame = frames[at];
      if (frame.kind === "forward") known[frame.node] = true;
      else grads[target(frame)] = /** @type {number} */ (frame.after);
    }
    for (; at > step; at--) {
      const frame = frames[at - 1];
      if (frame.kind === "forward") known[frame.node] = false;
      else grads[target(frame)] = frame.kind === "seed" || fresh.has(at - 1) ? null : /** @type {number} */ (frame.before);
    }
    const spent = {
      has(key) { // slots of a node that have a partial are passed on one after the other
        const [node, slot] = key.split(":").map(Number), start = first.get(node) ?? Infinity;
        const before = graph.nodes[node].partials.slice(0, Math.max(0, slot)).filter((p) => p !== null).length;
        return start + before <= step;
      },
    };
    return { known, grads, spent, active: step > 0 ? frames[step - 1] : null };
  };
}

/** The finite difference of the root by one leaf. @param {Graph} graph @param {Record<number, number>} values
 * @param {number} leaf @param {number} step */
export function nudge(graph, values, leaf, step) {
  const x = values[leaf] ?? graph.nodes[leaf].data;
  const up = evaluate(graph, { ...values, [leaf]: x + step }).data[graph.root];
  const down = evaluate(graph, { ...values, [leaf]: x - step }).data[graph.root];
  return { up, down, slope: (up - down) / (x + step - (x - step)) };
}
