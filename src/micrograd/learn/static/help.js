// The keyboard: one table that both the keys and the help read.
import { h } from "./dom.js";
import { t } from "./texts.js";

/**
 * What each key does.
 * @param {ReturnType<typeof import("./stage.js").createStage>} stage @param {Record<string, any>} page
 * @returns {{keys: string[], shown: string, does: string, action: () => void}[]}
 */
export function keyTable({ session, api }, page) {
  const row = (keys, shown, name, action) => ({ keys, shown, does: t(`keys.${name}`), action });
  return [
    row(["ArrowRight", "n"], "→  n", "next", () => session.forward()),
    row(["ArrowLeft", "p"], "←  p", "back", () => session.back()),
    row([" "], t("page.space"), "play", () => session.toggle()),
    row(["Home", "r"], `${t("page.home_key")}  r`, "reset", () => session.reset()),
    row(["End"], t("page.end_key"), "end", () => session.go(session.total)),
    row(["b"], "b", "backward", () => session.go(session.seed + 1)),
    row(["q"], "q", "predict", () => session.ask(!session.state.predict)),
    ...["leaves", "order", "bugs", "lesson", "code"].map((tab, k) =>
      row([String(k + 1)], String(k + 1), tab, () => page.tab(tab))),
    row(["g"], "g", "graph", page.graphs),
    row(["t"], "t", "turn", api.turn),
    row(["x"], "x", "boxes", api.boxes),
    row(["o"], "o", "open_here", api.openHere),
    row(["+", "="], "+", "zoom_in", () => api.zoom(1.2)),
    row(["-"], "−", "zoom_out", () => api.zoom(1 / 1.2)),
    row(["0"], "0", "fit", api.fit),
    row(["f"], "f", "seek", api.seekField),
    row(["c"], "c", "copy", page.copy),
    row(["d"], "d", "theme", page.theme),
    row(["?"], "?", "help", page.help),
  ];
}

/**
 * Listen for the keys wherever the learner is not typing.
 * @param {any} el @param {ReturnType<typeof keyTable>} table @param {() => boolean} letters whether single characters act
 */
export function listenToKeys(el, table, letters) {
  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {HTMLElement} */ (event.composedPath()[0]);
    const tag = target.tagName, type = /** @type {any} */ (target).type;
    if (tag === "SELECT" || (tag === "INPUT" && ["text", "range"].includes(type))) return;
    if (tag === "INPUT" && type === "radio" && event.key.startsWith("Arrow")) return;
    if (event.key === " " && (tag === "BUTTON" || tag === "INPUT" || tag === "SUMMARY")) return;
    if (event.key.length === 1 && event.key !== " " && !letters()) return;
    // A closed dialog keeps the focus until the page is drawn again: its keys are the page's.
    if (target.closest?.("dialog[open]") && event.key !== "?") return;
    const found = table.find((one) => one.keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found.action();
  }
  el.addEventListener("keydown", pressed);
  return () => el.removeEventListener("keydown", pressed);
}

/** The help itself. @param {{shown: string, does: string}[]} table @param {any} [letters] a checkbox */
export function helpDialog(table, letters) {
  const dialog = h("dialog", { class: "help", "aria-label": t("keys.title") });
  const legend = (look, sign, key) => h("li", {}, h("span", { class: look, dir: "ltr" }, sign), ` ${t(key)}`);
  dialog.append(
    h("h2", { tabindex: "-1" }, t("keys.title")),
    h("dl", {}, table.map((row) => h("div", {}, h("dt", {}, h("kbd", {}, row.shown)), h("dd", {}, row.does)))),
    letters ? h("p", {}, h("label", { class: "inline" }, letters, t("keys.letters"))) : "",
    h("p", {}, t(letters ? "keys.more" : "keys.more_course")),
    h("ul", { class: "legend" },
      legend("data", t("page.data"), "keys.about_data"), legend("grad", t("page.grad"), "keys.about_grad"),
      legend("local", "−3", "keys.about_local"), legend("grad", "+= 10 × 1 = 10", "keys.about_packet"),
      legend("bad", "✕ ×2 ✗", "keys.about_faults")),
    h("button", { type: "button", class: "strong", onclick: () => dialog.close() }, t("page.close")));
  return dialog;
}
