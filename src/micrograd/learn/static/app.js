// The page: puts the parts together. In a notebook `model` is the widget's; in a file it is a plain object.
import { bugPanel } from "./buglab.js";
import { button, h, put } from "./dom.js";
import { expressionForm } from "./expression.js";
import { leavesOf } from "./graph.js";
import { helpDialog, keyTable, listenToKeys } from "./help.js";
import { leavesPanel } from "./leaves.js";
import { lessonPanel } from "./lesson.js";
import { orderPanel } from "./orderlab.js";
import { drawGraph } from "./picture.js";
import { questionCard } from "./predict.js";
import { Session } from "./session.js";
import { code, sentence, tabs, transport } from "./stepper.js";

/**
 * What Python sends: graphs, the one to open, quizzes, and where to post an expression (the local page only).
 * @typedef {{presets: import("./session.js").Preset[], first: string, quizzes: any[], post?: string}} Lesson
 */

/** @param {{model: any, el: any}} host */
function render({ model, el }) {
  /** @type {Lesson} */
  const lesson = model.get("lesson");
  const session = new Session(lesson.presets, lesson.first);
  const root = h("div", { class: "mg" });

  // -- the parts
  const heading = h("header", { class: "top" });
  const choose = h("select", { "aria-label": "graph", onchange: () => session.open(choose.value) });
  const about = h("p", { class: "about quiet" });
  const tool = (sign, says, key, act, more = "") =>
    button(sign, act, { class: `icon ${more}`, "aria-label": says, title: `${says} (${key})` });
  const help = tool("?", "help: keys and colours", "?", () => page.help());
  const theme = tool("◐", "dark or light", "d", () => page.theme());
  heading.append(
    h("div", { class: "brand" }, h("strong", {}, "micrograd"), h("span", { class: "quiet" }, " explore")),
    h("label", { class: "inline grow" }, h("span", { class: "quiet" }, "graph "), choose), theme, help);
  const tools = h("div", { class: "tools" },
    tool("turn", "turn the graph", "t", () => page.turn(), "small"),
    tool("−", "zoom out", "−", () => page.zoomOut(), "small"),
    tool("fit", "fit the graph", "0", () => page.fit(), "small"),
    tool("+", "zoom in", "+", () => page.zoomIn(), "small"));
  const stage = h("div", { class: "stage" });
  const steps = transport(session), said = sentence(session), lines = code(session), question = questionCard(session);
  const leaves = leavesPanel(session), orders = orderPanel(session), bugs = bugPanel(session);
  const course = lessonPanel(session, lesson.quizzes);
  const labs = tabs([
    { key: "leaves", title: "Leaves", el: leaves.el }, { key: "order", title: "Order lab", el: orders.el },
    { key: "bugs", title: "Bug lab", el: bugs.el }, { key: "lesson", title: "Lesson", el: course.el },
  ], (tab) => page.tab(tab));
  const typed = lesson.post ? expressionForm(session, lesson.post) : null;
  const drawing = h("section", { class: "card graph", "aria-label": "graph and timeline" },
    tools, stage, steps.el);
  const [across, left, right] = ["across", "left", "right"].map((place) => h("div", { class: place }));
  const main = h("main", {}, across, left, right);
  arrange(false);
  root.append(heading, typed ? typed.el : "", main);

  /** A wide graph gets the whole width, and the code moves under the sentence. @param {boolean} broad */
  function arrange(broad) {
    if (main.classList.contains("broad") === broad && left.children.length) return;
    main.classList.toggle("broad", broad);
    across.append(...(broad ? [about, drawing] : []));
    left.append(...(broad ? [said.el, question.el, lines.el] : [about, drawing, said.el, question.el]));
    right.append(...(broad ? [labs.el] : [lines.el, labs.el]));
  }

  // -- the drawing
  let picture = null, drawn = null, wide = true, seen = 0;
  function draw() {
    const { graph, turned } = session.state, layout = graph.layouts[turned ?? !wide ? graph.layouts.length - 1 : 0];
    if (drawn === layout) return;
    drawn = layout;
    const column = root.clientWidth - 480; // what the labs beside it would leave
    arrange(wide && root.clientWidth >= 900 && layout.width > column * 1.15);
    picture = drawGraph(graph, layout, (id) => { if (session.state.tab === "order") orders.place(id); });
    put(stage, picture.el);
    resize();
  }
  function resize() {
    if (!picture || !stage.clientWidth) return;
    const best = picture.fit(stage.clientWidth, wide ? 460 : 620);
    picture.size(session.state.zoom || (best < 0.62 ? 0.8 : Math.min(1.15, best))); // too small to read: scroll instead
    stage.classList.toggle("fits", picture.el.scrollWidth <= picture.el.clientWidth + 1);
  }
  /** @param {number} by */
  function zoom(by) {
    const now = picture.svg.getBoundingClientRect().width / drawn.width;
    session.store.set({ zoom: by ? Math.max(0.3, Math.min(3, now * by)) : 0 });
    resize();
  }

  // -- what is the page's and not the session's
  const page = {
    tab: (tab) => session.store.set({ tab, lab: null }),
    graphs: () => choose.focus(),
    turn: () => { session.store.set({ turned: !(session.state.turned ?? !wide), zoom: 0 }); },
    zoomIn: () => zoom(1.2),
    zoomOut: () => zoom(1 / 1.2),
    fit: () => zoom(0),
    theme: () => {
      const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
    },
    help: () => {
      if (dialog.open) return dialog.close();
      dialog.showModal();
      dialog.querySelector("h2").focus(); // the button that closes it is far down on a small screen
    },
  };
  const table = keyTable(session, page), dialog = helpDialog(table);
  root.append(dialog);
  listenToKeys(model.get("whole") ? document : root, table);

  // -- keep all of it in step
  function update(changed = session.state) {
    if ("graph" in changed) {
      put(choose, session.presets.map((preset) => h("option", { value: preset.key }, preset.title)));
      choose.value = session.state.key;
      about.textContent = session.presets.find((preset) => preset.key === session.state.key)?.about ?? "";
      about.hidden = !about.textContent;
    }
    draw();
    picture.update(session.sight());
    if ("step" in changed && session.state.step) {
      const frame = session.state.frames[session.state.step - 1];
      picture.reveal(frame.kind === "backward" ? frame.input : frame.node);
    }
    if (drawn && "turned" in changed) resize();
    for (const part of [steps, said, lines, question, leaves, orders, bugs, course]) part.update(changed);
    labs.update(session.state.tab);
    root.classList.toggle("placing", session.state.tab === "order");
  }
  session.store.listen((_, changed) => update(changed));

  // -- Python on the other side: it reads and drives the step, the leaves and the graph, and reads the answers
  let hearing = false;
  function tell() {
    if (hearing) return;
    const { step, key, answers } = session.state;
    const sentence = step ? session.state.frames[step - 1].sentence : "";
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
  session.store.listen(tell);
  for (const [event, ear] of Object.entries(ears)) model.on(event, ear);

  el.append(root);
  const watch = new ResizeObserver(() => {
    const now = root.clientWidth >= 760;
    if (now !== wide || root.clientWidth !== seen) {
      [wide, seen, drawn] = [now, root.clientWidth, null];
      draw();
      picture.update(session.sight());
    }
    resize();
  });
  [wide, seen] = [root.clientWidth === 0 || root.clientWidth >= 760, root.clientWidth];
  if (model.get("preset")) session.open(model.get("preset"));
  if (model.get("step")) session.go(model.get("step"));
  update();
  tell();
  watch.observe(root);
  return () => {
    session.pause();
    watch.disconnect();
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
