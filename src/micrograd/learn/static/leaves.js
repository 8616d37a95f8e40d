// Leaves: a slider and a number field each, and the nudge that checks a gradient by moving the leaf a little.
import { button, h, mark, onEnter, put } from "./dom.js";
import { leavesOf, nudge } from "./graph.js";
import { parseNumber, show } from "./numbers.js";

/** @typedef {import("./session.js").Session} Session */

const STEP = 1e-4; // a central difference: its error is near 1e-8 for the presets, its rounding near 1e-12

/** @param {Session} session */
export function leavesPanel(session) {
  const list = h("div", { class: "leaves" });
  const restore = button("put values back", () => session.restoreLeaves(), { class: "quiet" });
  const told = h("p", { class: "quiet small" });
  const el = h("div", { class: "panel" }, told, list, h("div", { class: "row" }, restore));
  /** @type {{leaf: any, update: () => void}[]} */
  let rows = [];
  let graph = null;

  function build() {
    graph = session.state.graph;
    rows = leavesOf(graph).map((leaf) => row(session, leaf));
    told.textContent = graph.frozen
      ? `This graph has an op of its own (${graph.frozen}) that only Python can run again, so its leaves stand still.`
      : "Move a leaf: data and gradients follow at once. Nudge moves it by a ten-thousandth, and measures the output.";
    put(list, rows.map((one) => one.el));
  }
  return {
    el,
    update() {
      if (graph !== session.state.graph) build();
      for (const one of rows) one.update();
      restore.disabled = !Object.keys(session.state.values).length;
    },
  };
}

/** @param {Session} session @param {any} leaf */
function row(session, leaf) {
  const reach = Math.max(5, Math.ceil(Math.abs(Number.isFinite(leaf.data) ? leaf.data : 0) * 2));
  const frozen = Boolean(session.state.graph.frozen);
  const slider = h("input", {
    type: "range", min: -reach, max: reach, step: reach / 100, value: leaf.data, disabled: frozen,
    "aria-label": `value of ${leaf.name}`, oninput: () => session.setLeaves({ [leaf.id]: Number(slider.value) }),
  });
  const field = h("input", {
    type: "text", inputmode: "decimal", value: String(leaf.data), disabled: frozen,
    "aria-label": `value of ${leaf.name}, as a number`, onchange: typed, onkeydown: onEnter(typed),
  });
  const grad = h("output", { class: "grad" });
  const ask = button("nudge", () => { shown = !shown; update(); }, { class: "small", disabled: frozen });
  const result = h("p", { class: "nudge small", hidden: true, "aria-live": "polite" });
  const el = h("div", { class: "leaf", "data-leaf": leaf.name },
    h("span", { class: "name" }, leaf.name), slider, field,
    h("span", { class: "slope" }, h("span", { class: "quiet" }, "grad "), grad), ask, result);
  let shown = false;

  function typed() {
    const x = parseNumber(field.value);
    field.classList.toggle("bad", x === null);
    field.setAttribute("aria-invalid", String(x === null));
    if (x !== null) session.setLeaves({ [leaf.id]: x });
  }

  function update() {
    const now = session.state.numbers.data[leaf.id], right = session.right()[leaf.id];
    if (document.activeElement !== field || parseNumber(field.value) !== now) field.value = String(now);
    field.classList.remove("bad");
    if (Number(slider.value) !== now) slider.value = String(now);
    const { predict, step, frames } = session.state;
    grad.textContent = predict && step < frames.length ? "?" : show(right); // no looking at the answer
    ask.setAttribute("aria-pressed", String(shown));
    result.hidden = !shown;
    if (!shown || frozen) return;
    const { up, down, slope } = nudge(session.state.graph, session.state.values, leaf.id, STEP);
    const root = session.state.graph.nodes[session.state.graph.root].name;
    const close = Math.abs(slope - right) <= 1e-4 * Math.max(1, Math.abs(right));
    put(result, `${leaf.name} ± 0.0001 moves ${root} by `, mark("data", show(up - down)), `; over 0.0002 that is `,
      mark("local", show(slope)), ". The gradient says ", mark("grad", show(right)),
      close ? " ✓" : " ✗ (is there a corner near?)");
  }
  return { el, update, leaf };
}
