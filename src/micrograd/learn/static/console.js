// Python in a page: cells of code that run one after the other, with what they print, and the picture of a Value.
import { button, h, languageLinks, put } from "./dom.js";
import { createEditor } from "./editor.js";
import { createPython } from "./python.js";
import { t, text, useTexts } from "./texts.js";

/**
 * @param {{texts: any, ideas: any[], links: Record<string, string>, worker: string, wheel: string, seconds: number,
 *          cells: string[], languages?: {code: string, name: string, to: string}[]}} play
 * @param {any} place
 */
export function startConsole(play, place) {
  useTexts(play.texts, play.ideas);
  const word = (key, more = {}) => t(`console.${key}`, more);
  const python = createPython(play);
  const root = h("div", { class: "mg whole console", dir: text("direction"), lang: text("language") });
  const list = h("div", { class: "cells" }), status = h("span", { class: "small quiet", role: "status" });
  let busy = false, serial = 0;

  /** @param {string} code */
  function addCell(code) {
    const k = ++serial;
    const editor = createEditor({ doc: code, label: word("cell", { k: String(k) }), onRun: () => run() });
    const out = h("div", { class: "out", role: "status" });
    const go = button(word("run"), () => run(), { class: "strong", "data-do": "run", title: "Ctrl+Enter" });
    const el = h("section", { class: "cell", "aria-label": word("cell", { k: String(k) }) },
      h("div", { class: "cell-in" }, editor.el, go), out);
    async function run() {
      if (busy) return;
      busy = true;
      put(status, python.ready ? word("running") : word("loading"));
      put(out);
      for (const one of list.querySelectorAll("[data-do='run']")) one.disabled = true;
      const reply = await python.ask({ code: editor.value });
      busy = false;
      for (const one of list.querySelectorAll("[data-do='run']")) one.disabled = false;
      put(status, python.ready ? word("ready") : "");
      const found = reply.ran;
      if (!found) return put(out, h("p", { class: "bad" }, reply.stopped ? word("stopped",
        { n: String(play.seconds) }) : word("failed")));
      const { printed, shown, picture, error, line } = found;
      put(out, printed ? h("pre", { dir: "ltr" }, printed) : null,
        picture ? h("img", { src: `data:image/svg+xml;utf8,${encodeURIComponent(picture)}`, alt: word("picture",
          { shown }) }) : null,
        shown ? h("pre", { class: "shown", dir: "ltr" }, shown) : null,
        error ? h("pre", { class: "bad", dir: "ltr" }, error) : null,
        printed || shown || error ? null : h("p", { class: "quiet small" }, word("nothing")));
      editor.point(line, error);
      if (!error && el === list.lastElementChild) addCell("");
    }
    list.append(el);
    return editor;
  }
  for (const code of play.cells) addCell(code);
  const links = Object.entries(play.links).map(([key, to]) => h("a", { href: to, "data-link": key, class: "to-course" },
    t(`course.links.${key}`)));
  const theme = button("◐", () => {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") });
  root.append(h("header", { class: "top" }, h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" },
    word("brand"))), status,
    h("span", { class: "grow" }), languageLinks(play.languages), links, theme),
  h("main", { class: "sheets" }, h("p", {}, word("about")), list,
    h("p", {}, button(word("add"), () => addCell("").focus(), { "data-do": "add" }))));
  place.append(root);
  python.warm();
}

export default { startConsole };
