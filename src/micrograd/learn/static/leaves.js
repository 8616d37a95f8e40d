// Leaves: a slider and a number field each, and the nudge that checks a gradient by moving the leaf a little.
import { button, h, mark, onEnter, put } from "./dom.js";
import { leavesOf, nudge } from "./graph.js";
import { parseNumber, show } from "./numbers.js";
import { t } from "./texts.js";

/** @typedef {import("./session.js").Session} Session */

const STEP = 1e-4; // a central difference: its error is near 1e-8 for the presets, its rounding near 1e-12
const FITS = 8; // characters of a number in its field
const MOST_ROWS = 60; // rows; a network has thousands of leaves

/** @param {Session} session */
export function leavesPanel(session) {
  const list = h("div", { class: "leaves" });
  const restore = button(t("page.restore"), () => session.restoreLeaves(), { class: "quiet", "data-do": "restore" });
  const told = h("p", { class: "quiet small" });
  const el = h("div", { class: "panel" }, told, list, h("div", { class: "row" }, restore));
  /** @type {{update: () => void, el: any}[]} */
  let rows = [];
  let graph = null;

  function build() {
    graph = session.state.graph;
    const leaves = leavesOf(graph), more = leaves.length - MOST_ROWS;
    rows = leaves.slice(0, MOST_ROWS).map((leaf) => row(session, leaf));
    told.textContent = graph.frozen ? t("page.leaves_frozen", { op: graph.frozen }) : t("page.leaves_about");
    put(list, rows.map((one) => one.el), more > 0 && h("p", { class: "quiet small" }, t("page.more", { n: String(more) })));
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

/** A number that fits into its field. @param {number} x */
function brief(x) {
  const whole = String(x);
  return whole.length <= FITS ? whole : show(x).replace("−", "-");
}

/** @param {Session} session @param {any} leaf */
function row(session, leaf) {
  const reach = Math.max(5, Math.ceil(Math.abs(Number.isFinite(leaf.data) ? leaf.data : 0) * 2));
  const frozen = Boolean(session.state.graph.frozen), name = leaf.name;
  const slider = h("input", {
    type: "range", min: -reach, max: reach, step: reach / 100, value: leaf.data, disabled: frozen,
    "aria-label": t("page.value_of", { name }), oninput: () => session.setLeaves({ [leaf.id]: Number(slider.value) }),
  });
  const field = h("input", {
    type: "text", inputmode: "decimal", value: String(leaf.data), disabled: frozen,
    "aria-label": t("page.value_of_number", { name }), onchange: typed, onkeydown: onEnter(typed),
    onfocus: () => {
      if (field.value !== brief(value())) return;
      field.value = String(value());
      field.select();
    },
    onblur: () => { if (!field.classList.contains("bad")) update(); },
  });
  const grad = h("output", { class: "grad" });
  const ask = button(t("page.nudge"), () => { shown = !shown; update(); }, { class: "small", "data-do": "nudge" });
  const result = h("p", { class: "nudge small", hidden: true, "aria-live": "polite" });
  const el = h("div", { class: "leaf", "data-leaf": name },
    h("span", { class: "name", dir: "ltr" }, name), slider, field,
    h("span", { class: "slope", dir: "ltr" }, h("span", { class: "quiet" }, `${t("page.grad")} `), grad), ask, result);
  let shown = false;

  function value() {
    return session.state.numbers.data[leaf.id];
  }
  function typed() {
    const x = parseNumber(field.value);
    field.classList.toggle("bad", x === null);
    field.setAttribute("aria-invalid", String(x === null));
    if (x !== null) session.setLeaves({ [leaf.id]: x });
  }

  function update() {
    const now = session.state.numbers.data[leaf.id], { hides } = session, reached = session.sights()[0].grads[leaf.id];
    const typing = field.getRootNode().activeElement === field, shown_ = parseNumber(field.value);
    if (!typing) field.value = brief(now); // a long number does not fit, and is shown in full where it is typed
    else if (shown_ !== now) field.value = String(now);
    field.title = String(now);
    field.classList.remove("bad");
    if (Number(slider.value) !== now) slider.value = String(now);
    grad.textContent = hides ? "?" : reached === null ? "—" : show(reached); // what the pass has brought so far
    ask.disabled = frozen || hides;
    ask.setAttribute("aria-pressed", String(shown && !hides));
    result.hidden = !shown || hides || frozen;
    if (result.hidden) return;
    const { up, down, slope } = nudge(session.state.graph, session.state.values, leaf.id, STEP);
    const root = session.state.graph.nodes[session.state.graph.root].name;
    const right = session.right()[leaf.id], close = Math.abs(slope - right) <= 1e-4 * Math.max(1, Math.abs(right));
    const over = session.state.lab || session.at === session.total; // only then has the whole gradient arrived
    put(result, t("page.nudge_moved", { name, root, x: up - down }), " ", t("page.nudge_slope"), " ",
      mark("local", show(slope)), ". ", over ? [t("page.nudge_grad"), " ", mark("grad", show(right)),
        ` ${close ? "✓" : `✗ ${t("page.nudge_corner")}`}`] : "");
  }
  return { el, update };
}
