// The explorer: a stage, and beside it the code, the leaves, the labs and the lesson. In a notebook `model` is the
// widget's; in a file it is a plain object.
import { button, h, languageLinks, put } from "./dom.js";
import { codePanel, tabs } from "./code.js";
import { expressionForm } from "./expression.js";
import { leavesOf } from "./graph.js";
import { helpDialog, keyTable, listenToKeys } from "./help.js";
import { bugPanel, orderPanel } from "./labs.js";
import { leavesPanel } from "./leaves.js";
import { lessonPanel } from "./lesson.js";
import { keepAddress, keepProgress } from "./link.js";
import { createStage } from "./stage.js";
import { t, text, useTexts } from "./texts.js";

/**
 * What Python sends: graphs, the one to open, quizzes, texts, ideas, and where to post an expression (the local page).
 * @typedef {{presets: import("./session.js").Preset[], first: string, quizzes: any[], texts: any, ideas: any[],
 *            post?: string, open?: any, course?: string}} Lesson
 * open: what the stage shows first, as show() takes it; course: where the course is
 */

/** @param {{model: any, el: any}} host */
function render({ model, el }) {
  /** @type {Lesson} */
  const lesson = model.get("lesson"), whole = Boolean(model.get("whole"));
  useTexts(lesson.texts, lesson.ideas);
  const progress = keepProgress(whole);
  const stage = createStage({ presets: lesson.presets, first: lesson.first, wheel: whole, search: true }),
    { session } = stage;
  const root = h("div", { class: whole ? "mg whole" : "mg", dir: text("direction"), lang: text("language") });

  // -- the parts
  const choose = h("select", { "aria-label": t("page.graph"), onchange: () => session.open(choose.value) });
  const tool = (name, sign, key) => {
    const label = t(`page.${name}`);
    const props = { class: "icon", "data-do": name, "aria-label": label, title: `${label} (${key})` };
    return button(sign, () => page[name](), props);
  };
  const copy = tool("copy", t("page.link_word"), "c"), told = h("span", { class: "small quiet", role: "status" });
  const toCourse = lesson.course && h("a", { class: "to-course", href: lesson.course }, t("page.course"));
  const heading = h("header", { class: "top" },
    h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" }, t("page.brand"))),
    h("label", { class: "inline" }, h("span", { class: "quiet wordy" }, t("page.graph")), choose),
    h("span", { class: "grow" }), told, languageLinks(lesson.languages), toCourse, copy, tool("theme", "◐", "d"),
      tool("help", "?", "?"));
  const typed = lesson.post ? expressionForm(session, lesson.post) : null;
  const panels = {
    leaves: leavesPanel(session), order: orderPanel(session), bugs: bugPanel(session),
    lesson: lessonPanel(stage, lesson.quizzes, progress), code: codePanel(session),
  };
  panels.code.el.classList.add("panel");
  const side = tabs(Object.entries(panels).map(([key, { el: body }]) => ({ key, title: t(`tabs.${key}`), el: body })),
    (tab) => page.tab(tab));
  const aside = h("div", { class: "aside" }, side.el), main = h("main", {}, stage.el, aside);
  root.append(heading, typed ? typed.el : "", main);

  // -- what is the page's and not the stage's
  const page = {
    /** @param {string} tab */
    tab: (tab) => session.store.set({ tab: tab === session.state.tab && root.classList.contains("narrow") ? "" : tab }),
    graphs: () => choose.focus(),
    theme: () => {
      const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
    },
    copy: async () => {
      const link = address?.address() ?? "";
      let done = false;
      try {
        await navigator.clipboard.writeText(link);
        done = true;
      } catch {
        location.hash = link.split("#")[1] ?? ""; // where copying is not allowed, the address bar has it
      }
      told.textContent = t(done ? "page.copied" : "page.in_address");
      setTimeout(() => { told.textContent = ""; }, 4000);
    },
    help: () => {
      if (dialog.open) return dialog.close();
      dialog.showModal();
      dialog.querySelector("h2").focus(); // the button that closes it is far down on a small screen
    },
  };
  const letters = h("input", { type: "checkbox", checked: progress.settings.letters !== false,
    onchange: () => progress.set("letters", letters.checked) });
  const table = keyTable(stage, page), dialog = helpDialog(table, letters);
  root.append(dialog);
  const deaf = listenToKeys(whole ? document : root, table, () => letters.checked);
  stage.on("node", ({ id }) => { if (session.state.tab === "order") panels.order.place(id); });
  stage.on("answer", (answer) => { if (answer.asked !== "gradient") progress.note(answer); });

  // -- keep all of it in step
  function update(changed = session.state) {
    if ("graph" in changed) {
      put(choose, session.presets.map((preset) => h("option", { value: preset.key }, preset.title)));
      choose.value = session.state.key;
    }
    for (const panel of Object.values(panels)) panel.update(changed);
    side.update(session.state.tab);
    root.classList.toggle("placing", session.state.tab === "order");
    address?.note();
  }

  // -- the address
  const read = () => {
    const own = session.state.key === "own" && typed ? typed.state : {};
    return { ...stage.state(), tab: session.state.tab, boxes: session.state.open, ...own };
  };
  const write = async (state) => {
    if (typed && state.expression) await typed.open(state.expression, state.given ?? "");
    if (state.tab !== undefined || !root.classList.contains("narrow")) session.store.set({ tab: state.tab ?? "leaves" });
    session.store.set({ open: state.boxes ?? [] });
    stage.show({ ...state, graph: state.graph ?? lesson.first });
  };
  const address = whole ? keepAddress(read, write) : null;
  copy.hidden = !address?.able;

  // -- Python on the other side: it reads and drives the step, the leaves and the graph, and reads the answers
  let hearing = false;
  function tell() {
    if (hearing) return;
    const { step, key, answers } = session.state, sentence = session.told?.sentence ?? "";
    for (const [name, x] of Object.entries({ step, preset: key, values: session.named, answers, sentence })) {
      if (JSON.stringify(model.get(name)) !== JSON.stringify(x)) model.set(name, x);
    }
    model.save_changes();
  }
  /** @param {() => void} act */
  const hear = (act) => () => {
    hearing = true;
    try {
      act();
    } finally {
      hearing = false;
    }
    tell();
  };
  const ears = {
    "change:step": hear(() => model.get("step") !== session.state.step && session.go(model.get("step"))),
    "change:preset": hear(() => session.open(model.get("preset"))),
    "change:values": hear(() => {
      const given = model.get("values"), changed = {};
      for (const leaf of leavesOf(session.state.graph)) {
        const x = given[leaf.name];
        if (typeof x === "number" && x !== session.state.numbers.data[leaf.id]) changed[leaf.id] = x;
      }
      if (Object.keys(changed).length) session.setLeaves(changed);
    }),
  };
  session.store.listen((_, changed) => update(changed));
  session.store.listen(tell);
  for (const [event, ear] of Object.entries(ears)) model.on(event, ear);

  /** On a narrow screen the panels stand between the graph and the sentence, and open when their tab is chosen. */
  function arrange() {
    const narrow = root.clientWidth > 0 && root.clientWidth < 900;
    root.classList.toggle("slim", root.clientWidth > 0 && root.clientWidth < 480);
    if (root.classList.contains("narrow") === narrow && aside.parentNode) return;
    root.classList.toggle("narrow", narrow);
    (narrow ? stage.slot : main).append(aside);
    if (narrow) session.store.set({ tab: "" });
    else if (!session.state.tab) session.store.set({ tab: "leaves" });
  }
  el.append(root);
  arrange();
  const watch = new ResizeObserver(arrange);
  watch.observe(root);
  if (model.get("preset")) session.open(model.get("preset"));
  if (model.get("step")) session.go(model.get("step"));
  update();
  tell();
  address?.start();
  if (lesson.open && location.hash.length < 2) stage.show(lesson.open);
  return () => {
    stage.destroy();
    watch.disconnect();
    address?.stop();
    deaf();
    for (const [event, ear] of Object.entries(ears)) model.off(event, ear);
  };
}

/** Run as a page of its own. @param {any} lesson */
export function start(lesson) {
  const known = { lesson, step: 0, preset: "", values: {}, answers: [], whole: true };
  const model = {
    get: (name) => known[name],
    set: (name, x) => { known[name] = x; },
    on() {}, off() {}, save_changes() {}, // nobody is on the other side
  };
  render({ model, el: document.getElementById("micrograd") });
}

export default { render };
