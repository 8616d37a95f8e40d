// The graph as SVG: boxes and edges where Python's layout put them, numbers as far as the timeline has come.
import { h, s } from "./dom.js";
import { show, showFixed } from "./numbers.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").Layout} Layout
 * What to show: data and gradients (null: not yet), the active step, and notes on edges ("node:slot") or nodes.
 * @typedef {{data: (number | null)[], grads: (number | null)[], active: any, asking?: boolean, spent: Set<string>,
 *            partials: (number | null)[][], edgeNotes: Map<string, {kind: string, text: string}>,
 *            nodeNotes: Map<number, {kind: string, text: string}>}} Sight
 */

/**
 * Draw a graph once; the result has `el` and `update(sight)`.
 * @param {Graph} graph @param {Layout} layout @param {(id: number) => void} onNode
 */
export function drawGraph(graph, layout, onNode) {
  const svg = s("svg", {
    class: "mg-graph", role: "group", "aria-label": "the graph",
    viewBox: `0 0 ${layout.width} ${layout.height}`,
  });
  const edges = layout.edges.map((edge) => drawEdge(edge, layout.rankdir === "LR", lift(graph, edge)));
  const boxes = graph.nodes.map((node) => drawNode(node, layout.boxes[node.id], onNode));
  svg.append(...edges.map((edge) => edge.el), ...boxes.map((box) => box.el), ...edges.map((edge) => edge.label));
  const props = { class: "mg-scroll", tabindex: "0", role: "region", "aria-label": "the graph, scrolls when wide" };
  const el = h("div", props, svg);

  /** @param {number} zoom */
  function size(zoom) {
    svg.style.width = `${layout.width * zoom}px`;
    svg.style.height = `${layout.height * zoom}px`;
  }

  return {
    el,
    svg,
    size,
    /** The zoom at which all of the graph is seen in so much room. @param {number} width @param {number} height */
    fit(width, height) {
      return Math.min(width / layout.width, height / layout.height);
    },
    /** @param {Sight} sight */
    update(sight) {
      for (const edge of edges) edge.update(sight);
      for (const box of boxes) box.update(sight);
    },
    /** Bring a node into sight where the drawing is wider than the screen. @param {number} id */
    reveal(id) {
      const box = layout.boxes[id].card, zoom = svg.clientWidth / layout.width;
      if (el.scrollWidth <= el.clientWidth + 1 && el.scrollHeight <= el.clientHeight + 1) return;
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      el.scrollTo({
        left: (box.x + box.w / 2) * zoom - el.clientWidth / 2, top: (box.y + box.h / 2) * zoom - el.clientHeight / 2,
        behavior: calm ? "auto" : "smooth",
      });
    },
  };
}

/**
 * @param {import("./graph.js").Node} node @param {import("./graph.js").Box} box
 * @param {(id: number) => void} onNode
 */
function drawNode(node, box, onNode) {
  const { x, y, w, h: height } = box.card, left = x + 10, right = x + w - 10, mid = x + w / 2;
  const text = (role, tx, ty, anchor, words = "") =>
    s("text", { class: role, x: tx, y: ty, "text-anchor": anchor }, words);
  const data = text("data", right, y + 36, "end"), grad = text("grad", right, y + 53, "end");
  const note = text("note", mid, y - 6, "middle"), flag = text("flag", x + w - 10, y + 18, "end");
  const el = s("g", {
    class: `node ${node.inputs.length ? "made" : node.constant ? "constant" : "leaf"}`, "data-id": node.id, role: "img",
    onclick: () => onNode(node.id),
  });
  if (box.op) el.append(...pill(node, box));
  el.append(s("rect", { class: "box", x, y, width: w, height, rx: 10 }));
  if (node.constant) el.append(text("data", mid, y + height / 2 + 4.5, "middle", node.name));
  else {
    el.append(text("name", left, y + 18, "start", clip(node.label, w - 30)),
      text("tag", left, y + 36, "start", "data"), data, text("tag", left, y + 53, "start", "grad"), grad, note, flag);
  }
  return {
    el,
    /** @param {Sight} sight */
    update(sight) {
      const value = sight.data[node.id], slope = sight.grads[node.id], remark = sight.nodeNotes.get(node.id);
      const frame = sight.active, active = frame && (frame.node === node.id || frame.input === node.id);
      const target = frame && (frame.kind === "backward" ? frame.input : frame.node) === node.id;
      data.textContent = value === null ? "—" : showFixed(value);
      grad.textContent = slope === null ? "—" : showFixed(slope);
      note.textContent = remark ? remark.text : "";
      flag.textContent = target ? "▸" : "";
      el.classList.toggle("active", Boolean(target));
      el.classList.toggle("source", Boolean(active && !target));
      el.classList.toggle("blank", value === null);
      el.classList.toggle("wrong", remark?.kind === "wrong");
      const known = (x) => (x === null ? "not known yet" : show(x));
      const made = node.symbol ? `made by ${node.symbol}` : node.constant ? "a number" : "a leaf";
      const grown = node.constant ? "" : `gradient ${known(slope)}`;
      const says = [node.name, made, `data ${known(value)}`, grown, remark?.text];
      el.setAttribute("aria-label", says.filter(Boolean).join(", "));
    },
  };
}

const SIGNS = { "*": "×", neg: "−" };

/** The op that made a node, before its card. @param {import("./graph.js").Node} node @param {any} box */
function pill(node, { card, op }) {
  const cx = op.x + op.w / 2, cy = op.y + op.h / 2, beside = op.x + op.w <= card.x;
  const to = beside ? [card.x, cy] : [cx, card.y], from = beside ? [op.x + op.w, cy] : [cx, op.y + op.h];
  return [
    s("path", { class: "link", d: `M${from}L${to}` }),
    s("rect", { class: "pill", x: op.x, y: op.y, width: op.w, height: op.h, rx: Math.min(op.w, op.h) / 2 }),
    s("text", { class: "op", x: cx, y: cy + 4.5, "text-anchor": "middle" }, SIGNS[node.symbol] ?? node.symbol),
  ];
}

/** How far the label of an edge stands off its line, so that the labels of a*a do not cover each other.
 * @param {Graph} graph @param {any} edge */
function lift(graph, edge) {
  const { inputs } = graph.nodes[edge.to];
  const slots = [...inputs.keys()].filter((slot) => inputs[slot] === inputs[edge.slot]);
  return (slots.indexOf(edge.slot) - (slots.length - 1) / 2) * 19;
}

/** @param {any} edge @param {boolean} flat @param {number} offset */
function drawEdge(edge, flat, offset) {
  const path = s("path", { class: "line", d: edge.path });
  const head = s("path", { class: "head", d: arrow(edge.path, flat) });
  const el = s("g", { class: "edge", "data-edge": `${edge.to}:${edge.slot}` }, path, head);
  const half = path.getPointAtLength(path.getTotalLength() / 2), mx = half.x, my = half.y + offset;
  const plate = s("rect", { class: "plate", rx: 6, height: 17 });
  const text = s("text", { x: mx, y: my + 4, "text-anchor": "middle" });
  const label = s("g", { class: "edge-label", "data-label": `${edge.to}:${edge.slot}` }, plate, text);
  return {
    el,
    label,
    /** @param {Sight} sight */
    update(sight) {
      const key = `${edge.to}:${edge.slot}`, note = sight.edgeNotes.get(key);
      const local = sight.partials[edge.to][edge.slot], frame = sight.active?.node === edge.to ? sight.active : null;
      const live = frame?.kind === "backward" && frame.slot === edge.slot, feeding = frame?.kind === "forward";
      let says = "", kind = "";
      if (note) [says, kind] = [note.text, note.kind];
      else if (live && sight.asking) [says, kind] = ["?", "local"];
      else if ((live || sight.spent.has(key)) && local !== null) [says, kind] = [`× ${show(local)}`, "local"];
      text.textContent = says;
      label.setAttribute("class", `edge-label ${kind} ${says ? "" : "empty"}`);
      const width = 12 + says.length * 6.6;
      plate.setAttribute("x", String(mx - width / 2));
      plate.setAttribute("y", String(my - 8.5));
      plate.setAttribute("width", String(width));
      el.setAttribute("class", `edge ${live ? "live" : ""} ${feeding ? "feeding" : ""} ${note ? note.kind : ""}`);
    },
  };
}

/** The head of an arrow, where a path ends. @param {string} path @param {boolean} flat */
function arrow(path, flat) {
  const [x, y] = (path.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).slice(-2).map(Number);
  return flat ? `M${x - 7} ${y - 4}L${x} ${y}L${x - 7} ${y + 4}Z` : `M${x - 4} ${y - 7}L${x} ${y}L${x + 4} ${y - 7}Z`;
}

/** As much of a name as a box holds. @param {string} text @param {number} room */
function clip(text, room) {
  const most = Math.max(3, Math.floor(room / 7.5));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
