// The code beside the graph, and the row of tabs over the panels.
import { button, h, put, unique } from "./dom.js";
import { codeLine } from "./graph.js";
import { t } from "./texts.js";

/** @typedef {import("./session.js").Session} Session */

const MOST_LINES = 400; // lines; of a longer program those around the present one are shown

/** The lines of code, with the present one marked. @param {Session} session */
export function codePanel(session) {
  const list = h("ol", { class: "lines", dir: "ltr", tabindex: "0", "aria-label": t("page.code") });
  const el = h("section", { class: "code", "aria-label": t("page.code") }, list);
  let shown = "", first = 0;

  function update() {
    const { graph, numbers, frames, step } = session.state, frame = step ? frames[step - 1] : null;
    const made = graph.nodes.filter((node) => !node.constant), last = made.length;
    const at = frame ? (frame.kind === "seed" ? last : /** @type {number} */ (frame.line)) : -1;
    if (last <= MOST_LINES) first = 0;
    else if (at < first || at >= first + MOST_LINES || !shown) {
      first = Math.max(0, Math.min(at - MOST_LINES / 2, last - MOST_LINES));
    }
    const lines = made.slice(first, first + MOST_LINES).map((node) => codeLine(graph, numbers, node));
    if (first + MOST_LINES >= last) lines.push(`${graph.nodes[graph.root].name}.backward()`);
    if (lines.join("\n") !== shown) {
      shown = lines.join("\n");
      list.style.setProperty("counter-reset", `line ${first}`);
      put(list, lines.map((text) => h("li", {}, h("code", {}, text))));
    }
    [...list.children].forEach((row, k) => {
      const now = k + first === at;
      row.classList.toggle("now", now);
      row.classList.toggle("backward", now && frame?.kind !== "forward");
      if (now) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    const row = list.children[at - first];
    if (row) list.scrollTop = row.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
  return { el, update };
}

/**
 * A row of tabs over panels, as ARIA has it. Where room is short, the open tab can be closed again.
 * @param {{key: string, title: string, el: any}[]} panels @param {(key: string) => void} onPick
 */
export function tabs(panels, onPick) {
  const buttons = panels.map(({ key, title, el }) => {
    const id = unique("tab"), panel = unique("panel");
    el.id = panel;
    el.setAttribute("role", "tabpanel");
    el.setAttribute("aria-labelledby", id);
    return button(title, () => onPick(key),
      { role: "tab", id, "aria-controls": panel, "data-tab": key, onkeydown: (event) => move(event, key) });
  });
  /** @param {KeyboardEvent} event @param {string} key */
  function move(event, key) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const k = (panels.findIndex((panel) => panel.key === key) + way + panels.length) % panels.length;
    onPick(panels[k].key);
    buttons[k].focus();
  }
  const list = h("div", { role: "tablist", "aria-label": t("page.panels") }, buttons);
  return {
    el: h("section", { class: "tabs", "aria-label": t("page.panels") }, list,
      h("div", { class: "panels" }, panels.map((panel) => panel.el))),
    /** @param {string} tab */
    update(tab) {
      panels.forEach(({ key, el }, k) => {
        el.hidden = key !== tab;
        buttons[k].setAttribute("aria-selected", String(key === tab));
        buttons[k].tabIndex = key === tab || (!tab && k === 0) ? 0 : -1;
      });
    },
  };
}
