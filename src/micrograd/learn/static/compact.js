// A small drawing of a graph: narrow cards without words, so that all of it is readable where the usual layout is not.
// The layers, the order in each layer and the ways of long edges are those of layout.py; only distances are new.
import { pathOf } from "./graph.js";

/**
 * A card has its name and its op in the first line; "tall" has data and gradient in two lines below, "wide" at the right.
 * @typedef {"tall" | "wide"} Form
 */

/** In px: a monospaced letter at 12.5 px, and how many letters of a number a card has room for; a longer one is squeezed. */
export const FORM = { letter: 7.53, digits: 7, line: 14, pad: 5, side: 8, standIn: 6, margin: 6, flat: 28, down: 19 };
/** The smallest scale at which its letters have 12 px. */
export const READABLE = 0.96;

/** The size of a card. @param {import("./graph.js").Node} node @param {Form} form */
export function cardSize(node, form) {
  const letters = (n) => n * FORM.letter;
  if (node.constant) return { w: Math.max(26, 14 + letters(node.name.length)), h: 22 };
  const name = letters(Math.min(node.label.length, 8)), op = node.inputs.length ? 5 + letters(node.symbol.length) : 0;
  const figure = letters(FORM.digits), border = 2 * FORM.pad;
  if (form === "tall") return { w: border + Math.max(name + op, figure), h: border - 2 + 3 * FORM.line };
  return { w: border + Math.max(name, op) + 6 + figure, h: border - 2 + 2 * FORM.line };
}

/**
 * Place a graph as small as it can be read.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Layout} from the usual layout @param {Form} form
 * @returns {import("./graph.js").Layout}
 */
export function placeCompact(graph, from, form) {
  const down = from.rankdir === "TB", gap = down ? FORM.down : FORM.flat;
  const end = ({ card }) => Math.round(down ? card.y + card.h : card.x + card.w);
  const across = ({ card }) => (down ? card.x + card.w / 2 : card.y + card.h / 2);
  // -- the cells of each layer: nodes, and the ways of edges that pass by
  const layers = new Map(), cellOf = new Map(), ways = from.edges.map(() => /** @type {any[]} */ ([]));
  const add = (key, cell) => {
    if (!layers.has(key)) layers.set(key, []);
    layers.get(key).push(cell);
    return cell;
  };
  for (const box of from.boxes) {
    const { w, h } = cardSize(graph.nodes[box.id], form);
    cellOf.set(box.id, add(end(box), { at: across(box), size: down ? w : h, deep: down ? h : w, node: box.id }));
  }
  const lines = [...layers.keys()].sort((a, b) => a - b);
  from.edges.forEach((edge, k) => {
    const points = edge.points ?? [];
    for (let p = 4; p + 5 < points.length; p += 4) { // pairs of points: where it enters and leaves a layer
      const [x, y] = points.slice(p, p + 2), along = Math.round(down ? y : x);
      const line = lines.reduce((best, one) => (Math.abs(one - along) < Math.abs(best - along) ? one : best), lines[0]);
      ways[k].push(add(line, { at: down ? x : y, size: FORM.standIn, deep: 0, node: -1, line }));
    }
  });
  // -- across the layers: as near to the usual places as the sizes allow
  const usual = from.boxes.reduce((sum, { card }) => sum + (down ? card.w : card.h) + 26, 0);
  const small = [...cellOf.values()].reduce((sum, cell) => sum + cell.size + FORM.side, 0);
  for (const cells of layers.values()) {
    cells.sort((a, b) => a.at - b.at);
    settleCells(cells, small / usual);
  }
  const all = [...layers.values()].flat(), low = Math.min(...all.map((cell) => cell.at - cell.size / 2));
  for (const cell of all) cell.at += FORM.margin - low;
  const side = Math.max(...all.map((cell) => cell.at + cell.size / 2)) + FORM.margin;
  // -- along them
  const starts = new Map();
  let place = FORM.margin;
  for (const line of lines) {
    const deep = Math.max(...layers.get(line).map((cell) => cell.deep));
    starts.set(line, { from: place, to: place + deep });
    place += deep + gap;
  }
  const length = place - gap + FORM.margin, spot = (a, b) => (down ? [a, b] : [b, a]);
  const boxes = from.boxes.map((box) => {
    const cell = cellOf.get(box.id), { to } = starts.get(end(box)), [x, y] = spot(cell.at - cell.size / 2, to - cell.deep);
    return { id: box.id, card: { x, y, w: down ? cell.size : cell.deep, h: down ? cell.deep : cell.size }, op: null };
  });
  const boxOf = new Map(boxes.map((box) => [box.id, box]));
  const edges = from.edges.map((edge, k) => {
    const points = edge.points ?? [], [source, target] = [cellOf.get(edge.from), cellOf.get(edge.to)];
    const old = (id) => across(from.boxes[id]), cut = (x, cell) => Math.max(-cell.size * 0.38, Math.min(cell.size * 0.38, x));
    const leave = source.at + cut((down ? points[0] : points[1]) - old(edge.from), source);
    const arrive = target.at + cut((down ? points.at(-2) : points.at(-1)) - old(edge.to), target);
    const { card } = boxOf.get(edge.from), { card: goal } = boxOf.get(edge.to);
    const path = [...spot(leave, down ? card.y + card.h : card.x + card.w)];
    for (const way of ways[k]) {
      const { from: into, to } = starts.get(way.line);
      path.push(...spot(way.at, into), ...spot(way.at, to));
    }
    path.push(...spot(arrive, down ? goal.y : goal.x));
    return { from: edge.from, to: edge.to, slot: edge.slot, points: path, path: pathOf(path, down), label: null };
  });
  const [width, height] = spot(side, length);
  return { rankdir: from.rankdir, width, height, boxes, edges, compact: form };
}

/** Move the cells of a layer as near to their wishes as their order and sizes allow. @param {any[]} cells
 * @param {number} scale from the usual distances to these */
function settleCells(cells, scale) {
  let offset = 0;
  const offsets = cells.map((cell, k) => {
    if (k) offset += (cells[k - 1].size + cell.size) / 2 + (cell.node < 0 && cells[k - 1].node < 0 ? 2 : FORM.side);
    return offset;
  });
  const blocks = []; // runs of cells that touch
  cells.forEach((cell, k) => {
    blocks.push({ sum: cell.at * scale - offsets[k], count: 1 });
    while (blocks.length > 1 && blocks.at(-2).sum / blocks.at(-2).count >= blocks.at(-1).sum / blocks.at(-1).count) {
      const top = blocks.pop();
      blocks.at(-1).sum += top.sum;
      blocks.at(-1).count += top.count;
    }
  });
  let k = 0;
  for (const { sum, count } of blocks) for (let n = 0; n < count; n++, k++) cells[k].at = sum / count + offsets[k];
}
