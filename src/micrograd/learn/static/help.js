// The keyboard: one table that both the keys and the help read.
import { h } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */

/**
 * What each key does. `page` has the actions that are not the session's.
 * @param {Session} session @param {Record<string, () => void>} page
 * @returns {{keys: string[], shown: string, does: string, action: () => void}[]}
 */
export function keyTable(session, page) {
  const tab = (key) => () => page.tab(key);
  return [
    { keys: ["ArrowRight", "n"], shown: "→  n", does: "step forward", action: () => session.forward() },
    { keys: ["ArrowLeft", "p"], shown: "←  p", does: "step back", action: () => session.back() },
    { keys: [" "], shown: "space", does: "play or pause", action: () => session.toggle() },
    { keys: ["r", "Home"], shown: "r  home", does: "reset", action: () => session.reset() },
    { keys: ["End"], shown: "end", does: "to the last frame", action: () => session.go(session.state.frames.length) },
    { keys: ["b"], shown: "b", does: "to the start of the backward pass", action: () => session.go(session.seed + 1) },
    { keys: ["q"], shown: "q", does: "predict first, on or off", action: () => session.ask(!session.state.predict) },
    { keys: ["1"], shown: "1", does: "leaves: change values, nudge", action: tab("leaves") },
    { keys: ["2"], shown: "2", does: "order lab", action: tab("order") },
    { keys: ["3"], shown: "3", does: "bug lab", action: tab("bugs") },
    { keys: ["4"], shown: "4", does: "lesson and quizzes", action: tab("lesson") },
    { keys: ["g"], shown: "g", does: "choose another graph", action: page.graphs },
    { keys: ["t"], shown: "t", does: "turn the graph: across or down", action: page.turn },
    { keys: ["+", "="], shown: "+", does: "zoom in", action: page.zoomIn },
    { keys: ["-"], shown: "−", does: "zoom out", action: page.zoomOut },
    { keys: ["0"], shown: "0", does: "fit the graph", action: page.fit },
    { keys: ["d"], shown: "d", does: "dark or light", action: page.theme },
    { keys: ["?"], shown: "?", does: "this help", action: page.help },
  ];
}

/**
 * Listen for the keys wherever the learner is not typing.
 * @param {any} el @param {ReturnType<typeof keyTable>} table
 */
export function listenToKeys(el, table) {
  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {HTMLElement} */ (event.composedPath()[0]);
    const tag = target.tagName, type = /** @type {any} */ (target).type;
    if (tag === "SELECT" || (tag === "INPUT" && ["text", "range"].includes(type))) return;
    if (tag === "INPUT" && type === "radio" && event.key.startsWith("Arrow")) return;
    if (event.key === " " && (tag === "BUTTON" || tag === "INPUT" || tag === "SUMMARY")) return;
    // A closed dialog keeps the focus until the page is drawn again: its keys are the page's.
    if (target.closest?.("dialog[open]") && event.key !== "?") return;
    const row = table.find((one) => one.keys.includes(event.key));
    if (!row) return;
    event.preventDefault();
    row.action();
  }
  el.addEventListener("keydown", pressed);
}

/** The help itself. @param {ReturnType<typeof keyTable>} table */
export function helpDialog(table) {
  const dialog = h("dialog", { class: "help", "aria-label": "keys and colours" });
  dialog.append(
    h("h2", { tabindex: "-1" }, "Keys and colours"),
    h("dl", {}, table.map((row) => h("div", {}, h("dt", {}, h("kbd", {}, row.shown)), h("dd", {}, row.does)))),
    h("p", {}, "Tab goes from control to control. In the order lab ← → moves a placed node, Delete takes it out. ",
      "When a sign is asked for, + − 0 answer."),
    h("ul", { class: "legend" },
      h("li", {}, h("span", { class: "data" }, "data"), ": the value of a node, filled in by the forward pass"),
      h("li", {}, h("span", { class: "grad" }, "grad"),
        ": how fast the output moves when this node does; — until the backward pass has come"),
      h("li", {}, h("span", { class: "local" }, "× local"),
        ": the local derivative on an edge; it scales what passes through"),
      h("li", {}, h("span", { class: "swatch" }, "▸"), ": the node that this frame changes"),
      h("li", {}, "✕ lost, ×2 counted twice, ✗ wrong: what the labs find")),
    h("button", { type: "button", class: "strong", onclick: () => dialog.close() }, "close"));
  return dialog;
}
