// Large graphs as boxes that open in place: layer → neuron → scalar. A box holds at most MOST_IN_BOX things,
// so that a graph of 50,000 nodes can be walked; what no module made is put into boxes of neighbours in topological order.
import { t } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * A box or a node of the tree. `ids` are all nodes inside.
 * @typedef {{key: string, title: string, node: number, ids: number[], children: Item[], parent: Item | null,
 *            module?: boolean, plain?: boolean, ends: string[]}} Item
 */

const MOST_IN_BOX = 24;
const PILL = 32, LINK = 12, CARD = 62, PLAIN = 30, GAP = 26, COLUMN = 84, PAD = 18, HEAD = 34, MARGIN = 16;
/** The size of a closed box. */
export const BOX = { w: 186, h: 122 };

/** The tree of boxes over a graph. @param {Graph} graph @returns {Item} */
export function buildTree(graph) {
  const scope = graph.nodes.map((node) => node.scope);
  /** @type {(number | null)[]} */
  const user = graph.nodes.map(() => null);
  for (const node of graph.nodes) {
    for (const i of node.inputs) user[i] = user[i] === null || user[i] === scope[node.id] ? scope[node.id] : 0;
  }
  for (const node of graph.nodes) if (!node.inputs.length && !scope[node.id]) scope[node.id] = user[node.id] ?? 0;
  /** @type {Item} */
  const root = { key: "", title: "", node: -1, ids: [], children: [], parent: null, ends: ["", ""] };
  const known = new Map();
  for (const node of graph.nodes) {
    let at = root, path = "";
    root.ids.push(node.id);
    for (const part of graph.scopes[scope[node.id]] ?? []) {
      path += `/${part}`;
      if (!known.has(path)) {
        known.set(path, { key: path, title: part, node: -1, ids: [], children: [], parent: at, module: true,
          ends: [part, part] });
        at.children.push(known.get(path));
      }
      at = known.get(path);
      at.ids.push(node.id);
    }
    at.children.push({ key: `#${node.id}`, title: node.name, node: node.id, ids: [node.id], children: [], parent: at,
      ends: [node.name, node.name], plain: node.constant });
  }
  const split = (item) => {
    for (const child of item.children) split(child);
    gather(graph, item);
  };
  split(root);
  return root;
}

/** Put the loose nodes of a full box into boxes of their own: leaves together, the others by neighbours; modules too
 * where there are many of them. @param {Graph} graph @param {Item} item */
function gather(graph, item) {
  for (let round = 0; item.children.length > MOST_IN_BOX; round++) {
    const modules = item.children.filter((child) => child.module);
    const leaf = (child) => child.ids.every((id) => !graph.nodes[id].inputs.length && !graph.nodes[id].constant);
    const loose = item.children.filter((child) => !child.module);
    const leaves = loose.filter(leaf), made = loose.filter((child) => !leaf(child));
    const most = modules.length && loose.length ? MOST_IN_BOX / 3 : MOST_IN_BOX / 2;
    item.children = [...chunks(item, modules, loose.length ? most : MOST_IN_BOX, "values", round, true),
      ...chunks(item, leaves, most, "leaves", round), ...chunks(item, made, most, "values", round)]
      .sort((a, b) => age(graph, a) - age(graph, b));
  }
}

/** When the first op of an item ran; parameters are older than the ops that use them, and say nothing of the order.
 * @param {Graph} graph @param {Item} item */
function age(graph, item) {
  return item.ids.find((id) => graph.nodes[id].inputs.length) ?? item.ids[0];
}

/** @param {Item} parent @param {Item[]} items @param {number} most @param {string} word @param {number} round
 * @param {boolean} [module] */
function chunks(parent, items, most, word, round, module = false) {
  if (items.length <= Math.max(1, most)) return items;
  const size = Math.max(2, Math.min(MOST_IN_BOX, Math.ceil(items.length / Math.max(1, Math.floor(most)))));
  const found = [];
  for (let k = 0; k < items.length; k += size) {
    const children = items.slice(k, k + size), ids = children.flatMap((child) => child.ids);
    const spoken = children.filter((child) => !child.plain), named = spoken.length ? spoken : children;
    const [from, to] = [named[0].ends[0], /** @type {any} */ (named.at(-1)).ends[1]];
    const title = t(`page.${word}`, { from, to }), ends = [from, to];
    const box = { key: `${parent.key}/${word}${module ? "m" : ""}${round}.${k}`, title, node: -1, ids, children, parent, module,
      ends };
    for (const child of children) child.parent = box;
    found.push(box);
  }
  return found;
}

/** The boxes that a node is in, outermost first. @param {Item} root @param {number} id @returns {string[]} */
export function boxesOf(root, id) {
  const path = [];
  for (let at = root; ;) {
    const next = at.children.find((child) => child.node === id || (child.node < 0 && child.ids.includes(id)));
    if (!next || next.node >= 0) return path;
    path.push(next.key);
    at = next;
  }
}

/**
 * Where everything goes when some boxes are open.
 * @param {Graph} graph @param {Item} root @param {Set<string>} open @returns {import("./graph.js").Layout}
 */
export function placeGroups(graph, root, open) {
  const owner = new Array(graph.nodes.length), boxes = [], groups = [], size = new Map(), spots = new Map();
  const arrange = (item) => {
    const inside = arrangeChildren(graph, item, (child) => {
      if (child.node >= 0) return nodeSize(graph.nodes[child.node]);
      return open.has(child.key) ? arrange(child) : { w: BOX.w, h: BOX.h };
    });
    spots.set(item.key, inside.spots);
    size.set(item.key, { w: inside.w + 2 * PAD, h: inside.h + PAD + HEAD });
    return size.get(item.key);
  };
  const put = (item, x, y) => {
    for (const [child, spot] of spots.get(item.key)) {
      const cx = x + spot.x, cy = y + spot.y;
      if (child.node >= 0) {
        boxes.push(nodeBox(graph.nodes[child.node], cx, cy));
        owner[child.node] = { key: child.key, box: boxes.at(-1) };
      } else {
        const opened = open.has(child.key), { w, h } = opened ? size.get(child.key) : BOX;
        const group = { item: child, open: opened, x: cx, y: cy, w, h };
        groups.push(group);
        if (opened) put(child, cx + PAD, cy + HEAD);
        else for (const id of child.ids) owner[id] = { key: child.key, group };
      }
    }
  };
  const whole = arrange(root);
  put(root, MARGIN, MARGIN);
  return { rankdir: "LR", width: whole.w - 2 * PAD + 2 * MARGIN, height: whole.h - PAD - HEAD + 2 * MARGIN, boxes, groups,
    edges: placeEdges(graph, owner) };
}

/** Columns by the longest way from an input, rows by the average place of neighbours.
 * @param {Graph} graph @param {Item} item @param {(child: Item) => {w: number, h: number}} measure */
function arrangeChildren(graph, item, measure) {
  const { children } = item, at = new Map(), level = children.map(() => 0);
  children.forEach((child, k) => child.ids.forEach((id) => at.set(id, k)));
  const ages = children.map((child) => age(graph, child));
  const feeds = children.map(() => new Set()), users = children.map(() => new Set());
  for (const id of item.ids) {
    for (const i of graph.nodes[id].inputs) {
      const from = at.get(i), to = at.get(id);
      if (from === undefined || to === undefined || from === to || ages[from] > ages[to]) continue;
      feeds[to].add(from);
      users[from].add(to);
    }
  }
  const order = children.map((_, k) => k).sort((a, b) => ages[a] - ages[b]);
  for (const k of order) for (const from of feeds[k]) level[k] = Math.max(level[k], level[from] + 1);
  for (const k of [...order].reverse()) {
    if (!feeds[k].size && users[k].size) level[k] = Math.max(0, Math.min(...[...users[k]].map((to) => level[to])) - 1);
  }
  const columns = [];
  for (const k of order) (columns[level[k]] ??= []).push(k);
  const row = new Map();
  const settle = (near) => columns.forEach((column) => {
    const wish = (k) => (near[k].size ? [...near[k]].reduce((sum, j) => sum + (row.get(j) ?? 0), 0) / near[k].size
      : row.get(k) ?? 0);
    column.sort((a, b) => wish(a) - wish(b)).forEach((k, place) => row.set(k, place - column.length / 2));
  });
  columns.forEach((column) => column.forEach((k, place) => row.set(k, place - column.length / 2)));
  settle(feeds);
  settle(users);
  settle(feeds);
  const sizes = children.map(measure), spots = new Map();
  const tall = columns.map((column) => column.reduce((sum, k) => sum + sizes[k].h + GAP, -GAP));
  const h = Math.max(0, ...tall);
  let x = 0;
  columns.forEach((column, c) => {
    const w = Math.max(...column.map((k) => sizes[k].w));
    let y = (h - tall[c]) / 2;
    for (const k of column) {
      spots.set(children[k], { x: x + w - sizes[k].w, y });
      y += sizes[k].h + GAP;
    }
    x += w + COLUMN;
  });
  return { w: Math.max(0, x - COLUMN), h, spots };
}

/** @param {import("./graph.js").Node} node */
function cardWidth(node) {
  return node.constant ? Math.max(36, 18 + 8.5 * node.name.length) : Math.max(136, 28 + 8.5 * Math.min(node.label.length, 28));
}

/** @param {import("./graph.js").Node} node */
function nodeSize(node) {
  const pill = node.inputs.length ? Math.max(PILL, 14 + 8.5 * node.symbol.length) + LINK : 0;
  return { w: cardWidth(node) + pill, h: node.constant ? PLAIN : CARD };
}

/** @param {import("./graph.js").Node} node @param {number} x @param {number} y @returns {import("./graph.js").Box} */
function nodeBox(node, x, y) {
  const { w, h } = nodeSize(node), card = cardWidth(node), pill = w - card - LINK;
  return { id: node.id, card: { x: x + w - card, y, w: card, h },
    op: node.inputs.length ? { x, y: y + (h - PILL) / 2, w: pill, h: PILL } : null };
}

/** One edge for each operand between two nodes in sight; between boxes one for all, with their number.
 * @param {Graph} graph @param {any[]} owner @returns {import("./graph.js").Edge[]} */
function placeEdges(graph, owner) {
  const found = new Map();
  for (const node of graph.nodes) {
    node.inputs.forEach((i, slot) => {
      const from = owner[i], to = owner[node.id];
      if (!from || !to || from.key === to.key) return;
      const key = from.box && to.box ? `${node.id}:${slot}` : `${from.key}>${to.key}`, old = found.get(key);
      if (old) old.count++;
      else found.set(key, { from, to, source: i, target: node.id, slot, count: 1 });
    });
  }
  return [...found.values()].map(({ from, to, source, target, slot, count }) => {
    const a = from.box ? from.box.card : from.group, b = to.box ? to.box.op ?? to.box.card : to.group;
    const n = to.box ? graph.nodes[target].inputs.length : 1, step = Math.min(13, 22 / Math.max(1, n - 1));
    const x0 = a.x + a.w, y0 = a.y + a.h / 2, x1 = b.x;
    const y1 = b.y + b.h / 2 + (to.box ? (slot - (n - 1) / 2) * step : 0), mid = (x0 + x1) / 2;
    const bend = x1 > x0 ? `C${mid},${y0} ${mid},${y1} ${x1},${y1}`
      : `C${x0 + 60},${y0} ${x1 - 60},${y1} ${x1},${y1}`;
    const upper = slot < n / 2;
    return { from: source, to: target, slot: from.box && to.box ? slot : -1, path: `M${x0},${y0}${bend}`, count,
      label: from.box && to.box && n <= 2 ? [x1 - 9, upper ? y1 - 6 : y1 + 13, "end"] : null };
  });
}

/**
 * What a closed box says of the gradients in it: how many are known, their mean size, the share of zeros, and bars.
 * @param {number[]} ids @param {(number | null)[]} grads @param {Graph} graph
 */
export function summary(ids, grads, graph) {
  const known = /** @type {number[]} */ (ids.filter((id) => !graph.nodes[id].constant && grads[id] !== null)
    .map((id) => grads[id]));
  const finite = known.filter(Number.isFinite), most = finite.reduce((m, g) => Math.max(m, Math.abs(g)), 0);
  const bars = new Array(13).fill(0);
  for (const g of finite) bars[most ? Math.min(12, Math.floor(((g / most + 1) / 2) * 13)) : 6]++;
  return {
    known: known.length, bars,
    mean: finite.length ? finite.reduce((sum, g) => sum + Math.abs(g), 0) / finite.length : 0,
    zeros: known.length ? known.filter((g) => g === 0).length / known.length : 0,
  };
}
