// The graph as SVG, in the look of draw_dot: cards, ops and edges where a layout put them, numbers as far as the
// timeline has come. In the backward pass edges point backward, and a packet carries each contribution to its node.
import { FORM } from "./compact.js";
import { h, s } from "./dom.js";
import { BOX, summary } from "./groups.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {import("./graph.js").Layout} Layout
 * What to show: data and gradients (null: not yet), the active frame, and notes on edges ("node:slot") or nodes.
 * @typedef {{data: (number | null)[], grads: (number | null)[], active: any, asking?: boolean, spent: Set<string>,
 *            backward: boolean, partials: (number | null)[][], edgeNotes: Map<string, {kind: string, text: string}>,
 *            nodeNotes: Map<number, {kind: string, text: string}>, asked?: {id: number, kind: string} | null,
 *            settled?: {grad: Record<number, number>, data: Record<number, number>}}} Sight
 * @typedef {{onNode: (id: number) => void, onBox: (key: string) => void}} Ears
 */

const SIGNS = { "*": "×", "-": "−", neg: "−", "/": "÷" };
const LETTER = 7.25; // px of a monospaced letter at 12 px
const CHARACTER = 8.5; // px of one at 14 px
const LONGEST = 9; // letters that a label has room for
/** The ms that a number is under way. */
export const FLIGHT = 650;

/**
 * Draw a graph once; the result has `el` and `update(sight)`.
 * @param {Graph} graph @param {Layout} layout @param {Ears} ears @param {string} name
 */
export function drawGraph(graph, layout, ears, name) {
  const viewBox = `0 0 ${layout.width} ${layout.height}`;
  const look = layout.compact ? "mg-drawing compact" : "mg-drawing";
  const svg = s("svg", { class: look, role: "group", "aria-label": name, viewBox, "data-way": layout.rankdir });
  const flat = layout.rankdir === "LR";
  const edges = layout.edges.map((edge) => drawEdge(graph, edge, flat));
  const items = [...(layout.groups ?? []).map((group) => drawGroup(graph, group, ears)),
    ...layout.boxes.map((box) => drawNode(graph, box, ears, layout.compact))];
  const open = items.filter((item) => item.frame), rest = items.filter((item) => !item.frame);
  svg.append(...open.map((item) => item.el), ...edges.map((edge) => edge.el), ...rest.map((item) => item.el),
    ...edges.map((edge) => edge.label));
  const region = t("page.graph_region", { name });
  const el = h("div", { class: "mg-scroll", tabindex: "0", role: "region", "aria-label": region }, svg);
  roam(svg, items);
  let flight = 0;

  /** @type {any[]} */
  let flying = [], aloft = null; // the frame whose numbers are under way, and where they will land
  /** Nothing is under way any more. */
  function land() {
    cancelAnimationFrame(flight);
    for (const { plate } of flying) plate.el.remove();
    [flying, aloft] = [[], null];
  }

  /** Let numbers travel along edges, each on its plate. @param {{key: string, text: string, look: string}[]} ways
   * @param {boolean} back against the arrows of the forward pass @param {number} time in ms @param {() => void} [then] */
  function travel(ways, back, time, then = () => {}) {
    land();
    flying = ways.flatMap(({ key, text, look: kind }) => {
      const path = edges.find((one) => one.key === key)?.path;
      return path ? [{ path, text, length: path.getTotalLength(), plate: drawPlate(kind) }] : [];
    });
    svg.append(...flying.map((one) => one.plate.el));
    const start = performance.now();
    const move = (now) => {
      const f = Math.min(1, Math.max(0, now - start) / time), eased = f * f * (3 - 2 * f);
      for (const { path, length, plate, text } of flying) {
        const { x, y } = path.getPointAtLength(length * (back ? 1 - eased : eased));
        plate.show(x, y, text);
      }
      if (f < 1) flight = requestAnimationFrame(move);
      else {
        land();
        then();
      }
    };
    if (flying.length) flight = requestAnimationFrame(move);
    else then();
  }

  /** What happens in a frame, in motion: data travels to the node that it makes, a contribution back to its input.
   * @param {any} frame @param {Sight} sight @param {number} time */
  function fly(frame, sight, time) {
    const back = frame.kind === "backward", landing = items.find((item) => item.id === (back ? frame.input : frame.node));
    const node = graph.nodes[frame.node];
    const ways = back ? [{ key: `${node.id}:${frame.slot}`, text: arithmetic(frame), look: "packet" }]
      : node.inputs.map((input, slot) => (
        { key: `${node.id}:${slot}`, text: show(sight.data[input] ?? 0), look: "packet ahead" }));
    if (!landing || !ways.length) return;
    landing.land(false, back);
    travel(ways.slice(0, 8), back, time, () => landing.land(true, back));
    if (flying.length) aloft = { frame, landing, back };
  }

  return {
    el, svg, layout,
    /** @param {number} zoom */
    size(zoom) {
      svg.style.width = `${layout.width * zoom}px`;
      svg.style.height = `${layout.height * zoom}px`;
    },
    /** @param {Sight} sight @param {number} [time] in ms that the numbers of this frame are under way; 0: they do not move */
    update(sight, time = 0) {
      const still = aloft && aloft.frame === sight.active && !time; // drawn again while the numbers are under way
      if (!still) land();
      svg.classList.toggle("backward", sight.backward);
      for (const edge of edges) edge.update(sight);
      for (const item of items) item.update(sight);
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const moves = ["forward", "backward"].includes(sight.active?.kind) && !sight.asking;
      if (time && !calm && moves) fly(sight.active, sight, time);
      else if (still) aloft.landing.land(false, aloft.back);
    },
    /** The answer to a question about a node: a right one travels along the edges into it, a wrong one bounces off.
     * @param {number} id @param {boolean} right @param {string} text @param {boolean} back whether it is a gradient */
    meet(id, right, text, back) {
      const item = items.find((one) => one.id === id);
      if (!item) return;
      item.el.classList.remove("bounce", "landed");
      void item.el.getBoundingClientRect(); // so that a second answer starts the movement again
      item.el.classList.add(right ? "landed" : "bounce");
      if (!right || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      const ways = layout.edges.filter((edge) => edge.slot >= 0 && (back ? edge.from === id : edge.to === id));
      travel(ways.slice(0, 6).map((edge) => ({ key: `${edge.to}:${edge.slot}`, text, look: "packet" })), back, FLIGHT);
    },
    /** Where a node, or the box that it is in, is drawn. @param {number} id */
    spot(id) {
      const found = items.find((item) => item.id === id) ?? items.find((item) => !item.frame && item.holds(id));
      return found?.rectangle ?? null;
    },
    destroy() {
      cancelAnimationFrame(flight);
    },
  };
}

/** "10 × 1 = 10" @param {any} frame */
function arithmetic(frame) {
  if (frame.form === "bare") return show(frame.product);
  return `${show(frame.local)} × ${show(frame.upstream)} = ${show(frame.product)}`;
}

/** A text on a plate. @param {string} kind */
function drawPlate(kind) {
  const plate = s("rect", { rx: 8, height: 16 }), words = s("text", { "text-anchor": "middle" });
  const el = s("g", { class: kind, visibility: "hidden", "aria-hidden": "true" }, plate, words);
  return {
    el,
    /** @param {number} x @param {number} y @param {string} text */
    show(x, y, text) {
      const width = 12 + LETTER * text.length;
      words.textContent = text;
      words.setAttribute("x", String(x));
      words.setAttribute("y", String(y + 4));
      plate.setAttribute("x", String(x - width / 2));
      plate.setAttribute("y", String(y - 8));
      plate.setAttribute("width", String(width));
      el.setAttribute("visibility", "visible");
    },
    hide() {
      el.setAttribute("visibility", "hidden");
    },
  };
}

/** @param {Graph} graph @param {import("./graph.js").Box} box @param {Ears} ears
 * @param {string} [form] of a compact card */
function drawNode(graph, box, ears, form = "") {
  const node = graph.nodes[box.id], { x, y, w, h: height } = box.card, left = x + 10, right = x + w - 10;
  const text = (role, tx, ty, anchor, words = "") =>
    s("text", { class: role, x: tx, y: ty, "text-anchor": anchor }, words);
  const rows = { "": [17, 39, 55], tall: [15, 29, 43], wide: [15, 15, 29] }[form] ?? [];
  const edge = form ? x + w - 5 : right;
  const data = text("mg-data", edge, y + rows[1], "end"), grad = text("mg-grad", edge, y + rows[2], "end");
  const note = text("note", x + w / 2, y - 6, "middle"), landing = drawPlate("landing"), badge = drawPlate("badge");
  const el = s("g", {
    class: `node ${node.inputs.length ? "made" : node.constant ? "constant" : "leaf"}`, "data-id": node.id, role: "img",
    tabindex: "-1", onclick: () => ears.onNode(node.id), onkeydown: onPress(() => ears.onNode(node.id)),
  });
  const look = node.constant ? "mg-op" : ["mg-card", node.inputs.length ? "" : "mg-leaf",
    node.id === graph.root ? "mg-root" : ""].join(" ").trim();
  const card = s("rect", { class: `box ${look}`, x, y, width: w, height, rx: node.constant ? height / 2 : 8 });
  if (box.op) el.append(...pill(node, box));
  el.append(card);
  if (node.constant) el.append(text("mg-data", x + w / 2, y + height / 2 + 4.5, "middle", show(node.data)));
  else if (form) {
    const [ox, oy, anchor] = form === "tall" ? [x + w - 5, y + 15, "end"] : [x + 5, y + 29, "start"];
    el.append(text("mg-name", x + 5, y + rows[0], "start", clip(node.label, 8)), data, grad,
      node.inputs.length ? text("mg-word", ox, oy, anchor, SIGNS[node.symbol] ?? node.symbol) : "", note, landing.el, badge.el);
  } else {
    el.append(text("mg-name", left, y + 17, "start", clip(node.label, Math.floor((w - 16) / CHARACTER))),
      s("path", { class: "mg-rule", d: `M${x + 1},${y + 24}h${w - 2}` }),
      text("mg-word", left, y + 39, "start", t("page.data")), data,
      text("mg-word mg-word-grad", left, y + 55, "start", t("page.grad")), grad, note, landing.el, badge.el);
  }
  return {
    el, id: node.id, frame: false, rectangle: box.card, holds: (id) => id === node.id,
    /** The number has arrived, or is still under way. @param {boolean} arrived @param {boolean} back */
    land(arrived, back) {
      el.classList.toggle("waiting", !arrived && back);
      el.classList.toggle("coming", !arrived && !back);
    },
    /** @param {Sight} sight */
    update(sight) {
      const { grad: said = {}, data: told = {} } = sight.settled ?? {}, remark = sight.nodeNotes.get(node.id);
      const value = sight.data[node.id] ?? told[node.id] ?? null, slope = sight.grads[node.id] ?? said[node.id] ?? null;
      const here = sight.asked?.id === node.id && sight.asked.kind;
      const frame = sight.active, active = frame && (frame.node === node.id || frame.input === node.id);
      const target = frame && (frame.kind === "backward" ? frame.input : frame.node) === node.id;
      data.textContent = value !== null ? show(value) : here === "data" ? "?" : "—";
      grad.textContent = slope !== null ? show(slope) : here === "grad" ? "?" : "—";
      el.classList.toggle("asked", Boolean(here));
      el.classList.toggle("settled", node.id in said || node.id in told);
      if (form) for (const figure of [data, grad]) squeeze(figure);
      const placed = remark?.kind === "placed";
      note.textContent = remark && !placed ? remark.text : "";
      if (placed) badge.show(x + w - 6, remark.text.length > 2 ? y - 5 : y, remark.text); // a word may not hide the data
      else badge.hide();
      el.classList.remove("waiting", "coming");
      if (target && frame.kind === "backward") {
        const says = sight.asking ? "+= ?" : `${frame.form === "assign" ? "=" : "+="} ${arithmetic(frame)}`;
        const wide = 12 + LETTER * says.length;
        landing.show(Math.max(wide / 2 + 3, x + w - wide / 2 + 4), y + height + 7, says); // never past the edge
      } else landing.hide();
      el.classList.toggle("active", Boolean(target));
      el.classList.toggle("source", Boolean(active && !target));
      el.classList.toggle("blank", value === null);
      el.classList.toggle("wrong", remark?.kind === "wrong");
      const known = (x) => (x === null ? t("page.unknown") : show(x));
      const made = node.symbol ? t("page.made_by", { op: node.symbol }) : t(node.constant ? "page.a_number" : "page.a_leaf");
      const key = node.constant ? "page.read_number" : "page.read_node";
      const says = t(key, { name: node.name, made, data: known(value), grad: known(slope) });
      el.setAttribute("aria-label", remark ? `${says}, ${remark.text}` : says);
    },
  };
}

/** The op that made a node, before its card. @param {import("./graph.js").Node} node @param {any} box */
function pill(node, { card, op }) {
  const cx = op.x + op.w / 2, cy = op.y + op.h / 2, beside = op.x + op.w <= card.x;
  const link = beside ? `M${op.x + op.w},${cy}H${card.x}` : `M${cx},${op.y + op.h}V${card.y}`;
  return [
    s("path", { class: "mg-edge", d: link }),
    s("rect", { class: "mg-op", x: op.x, y: op.y, width: op.w, height: op.h, rx: Math.min(op.w, op.h) / 2 }),
    s("text", { class: "mg-sign", x: cx, y: cy + 4.5, "text-anchor": "middle" }, SIGNS[node.symbol] ?? node.symbol),
  ];
}

/** A box: closed it says what is in it, open it is a frame with its name. @param {Graph} graph @param {any} group
 * @param {Ears} ears */
function drawGroup(graph, group, ears) {
  const { item, open, x, y, w, h: height } = group, inside = new Set(item.ids);
  const toggle = () => ears.onBox(item.key);
  const el = s("g", { class: `group ${open ? "open" : "closed"}`, role: "button", tabindex: "-1", "data-box": item.key,
    "aria-expanded": String(open), onclick: toggle, onkeydown: onPress(toggle) });
  const count = item.ids.filter((id) => !graph.nodes[id].constant).length;
  const text = (role, tx, ty, anchor, words = "") => // the space keeps words apart where they are read one after another
    s("text", { class: role, x: tx, y: ty, "text-anchor": anchor }, `${words} `);
  const title = text("mg-name", x + 10, y + 17, "start",
    clip(`${open ? "▾" : "▸"} ${item.title}`, Math.floor((w - 16) / CHARACTER)));
  const [mean, zeros] = [55, 71].map((dy) => text("mg-grad", x + w - 16, y + dy, "end"));
  const bars = Array.from({ length: 13 }, (_, k) =>
    s("rect", { class: "bar", x: x + 12 + k * ((w - 30) / 13), width: (w - 30) / 13 - 2 }));
  if (open) el.append(s("rect", { class: "room", x, y, width: w, height, rx: 12 }), title);
  else {
    for (const shift of [6, 3]) {
      el.append(s("rect", { class: "mg-stack", x: x + shift, y: y + shift, width: w - 6, height: height - 6, rx: 8 }));
    }
    el.append(s("rect", { class: "box mg-card", x, y, width: w - 6, height: height - 6, rx: 8 }), title,
      s("path", { class: "mg-rule", d: `M${x + 1},${y + 24}h${w - 8}` }),
      text("mg-word", x + 10, y + 39, "start", t("page.holds")),
      text("mg-name", x + w - 16, y + 39, "end", t("page.count", { n: count.toLocaleString("en") })),
      text("mg-word", x + 10, y + 55, "start", t("page.mean_grad")), mean,
      text("mg-word", x + 10, y + 71, "start", t("page.zeros")), zeros, ...bars);
  }
  return {
    el, id: -1, frame: open, rectangle: { x, y, w, h: height }, holds: (id) => inside.has(id),
    land() {},
    /** @param {Sight} sight */
    update(sight) {
      const frame = sight.active, touched = frame && (frame.kind === "backward" ? frame.input : frame.node);
      el.classList.toggle("active", !open && inside.has(touched));
      el.classList.toggle("source", !open && inside.has(frame?.node) && !inside.has(touched));
      const told = summary(item.ids, sight.grads, graph), some = told.known > 0;
      const share = some ? t("page.percent", { x: String(Math.round(100 * told.zeros)) }) : "—";
      mean.textContent = `${some ? show(told.mean) : "—"} `;
      zeros.textContent = `${share} `;
      const most = Math.max(1, ...told.bars);
      bars.forEach((bar, k) => {
        const tall = (told.bars[k] / most) * 32;
        bar.setAttribute("y", String(y + BOX.h - 14 - tall));
        bar.setAttribute("height", String(tall));
      });
      el.setAttribute("aria-label", [...el.querySelectorAll("text")].map((one) => one.textContent.trim()).join(" "));
    },
  };
}

/** @param {Graph} graph @param {import("./graph.js").Edge} edge @param {boolean} flat */
function drawEdge(graph, edge, flat) {
  const key = `${edge.to}:${edge.slot}`, [x1, y1, x2, y2] = ends(edge.path);
  const path = s("path", { class: "mg-edge", d: edge.path });
  const forth = s("path", { class: "mg-tip forth", d: flat ? `M${x2},${y2}l-7,-4v8z` : `M${x2},${y2}l-4,-7h8z` });
  const back = s("path", { class: "mg-tip back", d: flat ? `M${x1},${y1}l7,-4v8z` : `M${x1},${y1}l-4,7h8z` });
  const told = (edge.count ?? 1) > 1 && s("title", {}, t("page.edges", { n: edge.count.toLocaleString("en") }));
  const el = s("g", { class: "edge", "data-edge": key }, told, path, forth, back);
  const beside = x2 < x1 ? [x2 + 8, y2 - 7, "start"] : [x2 - 8, y2 - 7, "end"];
  const [lx, ly, anchor] = edge.label ?? (flat ? [x2 - 9, y2 - 6, "end"] : beside);
  const place = { x: lx, y: ly, "text-anchor": anchor, lengthAdjust: "spacingAndGlyphs" };
  const halo = s("text", { class: "mg-halo", ...place }), words = s("text", { class: "mg-local", ...place });
  const label = s("g", { class: "edge-label", "data-label": key, "aria-hidden": "true" }, halo, words);
  return {
    el, label, key, path,
    /** @param {Sight} sight */
    update(sight) {
      const note = sight.edgeNotes.get(key), local = edge.slot < 0 ? null : sight.partials[edge.to][edge.slot] ?? null;
      const frame = sight.active?.node === edge.to ? sight.active : null;
      const live = frame?.kind === "backward" && frame.slot === edge.slot, feeding = frame?.kind === "forward";
      let says = "";
      if (note) says = note.text;
      else if (live && sight.asking) says = "?";
      else if ((live || (sight.spent.has(key) && edge.label)) && local !== null) says = show(local);
      for (const piece of [halo, words]) {
        piece.textContent = says;
        if (says.length > LONGEST) piece.setAttribute("textLength", String(LONGEST * LETTER)); // no wider than its room
        else piece.removeAttribute("textLength");
      }
      label.setAttribute("class", `edge-label ${note ? note.kind : ""} ${says ? "" : "empty"}`);
      const carries = local !== null || edge.slot < 0;
      const kinds = { plain: !carries, bundle: edge.slot < 0, live, feeding, spent: sight.spent.has(key) };
      const named = Object.keys(kinds).filter((kind) => kinds[kind]);
      el.setAttribute("class", ["edge", ...named, note ? note.kind : ""].join(" ").trim());
    },
  };
}

/** Where a path begins and ends. @param {string} path */
function ends(path) {
  const numbers = (path.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
  return [...numbers.slice(0, 2), ...numbers.slice(-2)];
}

/** Act on Enter or space, and let nothing else come of it. @param {() => void} act */
function onPress(act) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

/** One stop for Tab; from there arrow keys go to the nearest node in their direction. @param {any} svg
 * @param {any[]} items */
function roam(svg, items) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const middle = ({ x, y, w, h: tall }) => [x + w / 2, y + tall / 2];
  items[items.length - 1]?.el.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const way = ways[event.key], now = items.find((item) => item.el === event.target);
    if (!way || !now) return;
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = middle(now.rectangle);
    let best = null, least = Infinity;
    for (const item of items) {
      const [ix, iy] = middle(item.rectangle), along = (ix - x) * way[0] + (iy - y) * way[1];
      const aside = Math.abs((ix - x) * way[1]) + Math.abs((iy - y) * way[0]);
      if (item !== now && along > 1 && along + 2 * aside < least) [best, least] = [item, along + 2 * aside];
    }
    if (!best) return;
    now.el.setAttribute("tabindex", "-1");
    best.el.setAttribute("tabindex", "0");
    best.el.focus();
  });
}

/** Keep a number within a compact card. @param {any} words */
function squeeze(words) {
  if (words.textContent.length > FORM.digits) {
    words.setAttribute("textLength", String(FORM.digits * FORM.letter));
    words.setAttribute("lengthAdjust", "spacingAndGlyphs");
  } else words.removeAttribute("textLength");
}

/** As much of a name as a box holds. @param {string} text @param {number} most */
function clip(text, most) {
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}
