// The course: chapters on the left, the text of one step in the middle, the stage on the right. The text drives the stage,
// and the questions of a step open the next one.
import { button, contentsMenu, h, put } from "./dom.js";
import { slopeFigure } from "./slope.js";
import { readGraph } from "./graph.js";
import { helpDialog } from "./help.js";
import { drillScreen, otherNumbers, randomFrom } from "./drill.js";
import { leavesPanel } from "./leaves.js";
import { courseProgress, saveFile } from "./progress.js";
import { createStage } from "./stage.js";
import { prose, taskCard } from "./tasks.js";
import { createTheatre } from "./theatre.js";
import { t, text, useTexts } from "./texts.js";

/**
 * What Python sends. A part of a step is one of {html}, {task}, {curve}, {code, output}, {train}.
 * @typedef {{graph: string, values: Record<string, number>, place: any, lab: any, predict: boolean, leaves: string[]}} Scene
 * @typedef {{key: string, title: string, milestone: boolean, parts: any[], scene: Scene | null}} CourseStep
 * @typedef {{key: string, title: string, about: string, minutes: number, steps: CourseStep[], drill: any[]}} Chapter
 * @typedef {{name: string, title: string, chapters: Chapter[], graphs: any[], texts: any, ideas: any[],
 *            links: Record<string, string>}} Course
 */

const DRILL = "*drill"; // no step of a lesson has such a name

/** @param {Course} course @param {any} place */
export function startCourse(course, place) {
  useTexts(course.texts, course.ideas);
  const single = course.chapters.length === 1, read = new Map();
  let chapter = course.chapters[0], at = 0, review = "";
  /** The graphs of a chapter, which are drawn in one direction. @param {Chapter} one */
  const family = (one) => {
    if (!read.has(one)) {
      const keys = new Set(one.steps.map((step) => step.scene?.graph));
      read.set(one, course.graphs.filter((graph) => keys.has(graph.key)).map((graph) => readGraph(graph.timeline)));
    }
    return read.get(one);
  };
  const stage = createStage({ presets: course.graphs, first: course.graphs[0]?.key, compact: true,
    family: () => family(chapter) }), { session } = stage;
  const root = h("div", { class: "mg whole course", dir: text("direction"), lang: text("language") });

  // -- listeners of one step end with it
  let hooks = [];
  let trained = [];
  const scoped = { ...stage, on: (event, ear) => (event === "trained" ? trained.push(ear) : hooks.push(stage.on(event, ear))),
    listen: (ear) => hooks.push(session.store.listen(ear)) };

  // -- a screen after the last step of every chapter: the drill; between any two: what has to come back
  const screens = (chapter) => {
    const plain = chapter.steps.filter((step) => !step.milestone), last = chapter.steps.filter((step) => step.milestone);
    const drill = chapter.drill.length ? [{ drill: true, key: DRILL, title: t("course.drill"), parts: [], scene: null }] : [];
    return [...plain, ...drill, ...last];
  };
  const tasksOf = (screen) => screen.parts.filter((part) => part.task);
  const idOf = (chapter, at, k) => {
    const screen = screens(chapter)[at];
    return `${chapter.key}/${screen.key}/${tasksOf(screen)[k].task.key}`;
  };
  const plan = (chapter) => screens(chapter).map((screen) => (
    { key: screen.key, tasks: tasksOf(screen).map((part) => part.task.key) }));
  const plans = Object.fromEntries(course.chapters.map((chapter) => [chapter.key, plan(chapter)]));
  const progress = courseProgress(course.name, plans, () => settle());
  const isOpen = (chapter, at) => at <= progress.reached(chapter.key);
  const isFinished = (chapter, at) => {
    const screen = screens(chapter)[at];
    if (screen.drill) return progress.drills(chapter.key) > 0;
    return tasksOf(screen).every((_, k) => progress.solved(idOf(chapter, at, k)));
  };
  const isDone = (chapter) => screens(chapter).every((_, at) => isOpen(chapter, at) && isFinished(chapter, at));

  // -- the frame
  const file = h("input", { type: "file", accept: ".json", hidden: true, "aria-label": t("course.load"), onchange: load });
  const status = h("span", { class: "small quiet", role: "status" });
  const { nav, menu, openMenu, arrange: arrangeMenu } = contentsMenu(root, t("course.chapters"));
  const files = (props) => [button(t("course.save"), save, { ...props, "data-do": "save" }),
    button(t("course.load"), () => file.click(), { ...props, "data-do": "load" })];
  const links = (props) => Object.entries(course.links).map(([key, to]) => (
    h("a", { ...props, href: to, "data-link": key }, t(`course.links.${key}`))));
  const keysOf = [["→", "next"], ["←", "back"], ["b", "backward"], [t("page.end_key"), "end"], ["0", "fit"], ["?", "help"]];
  const help = helpDialog(keysOf.map(([shown, does]) => ({ shown, does: t(`keys.${does}`) })));
  const heading = h("header", { class: "top" }, single ? "" : menu,
    h("h1", { class: "brand" }, single ? course.title : ["micrograd ", h("span", { class: "quiet" }, t("course.brand"))]),
    h("span", { class: "grow" }), status, links({ class: "wordy" }), files({ class: "small wordy" }), file,
    button("?", () => help.showModal(), { class: "icon", "data-do": "help", "aria-label": t("page.help"),
      title: t("page.help") }),
    button("◐", theme, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") }));
  const list = h("ol", { class: "chapters" }), again = h("p", { class: "again small" });
  put(nav, list, again, h("div", { class: "files" }, files({ class: "small" }), links({})));
  const article = h("article", { class: "text" }), side = h("div", { class: "side-stage" }, stage.el);
  const leaves = leavesPanel(session);
  leaves.el.classList.add("course-leaves");
  const main = h("main", {}, article, side);
  root.append(heading, h("div", { class: "columns" }, single ? "" : nav, main), help);

  // -- the stage follows the text
  /** @param {Scene} scene */
  function show(scene) {
    const first = { start: 0, forward: session.seed, backward: session.seed + 1, end: 1e9 };
    session.ask(false);
    stage.show({ graph: scene.graph, values: scene.values ?? {}, lab: null, question: null });
    stage.el.dataset.graph = scene.graph;
    Object.assign(first, { forward: session.seed, backward: session.seed + 1, end: session.total });
    stage.show({ step: typeof scene.place === "number" ? scene.place : first[scene.place] ?? 0 });
    if (scene.predict) session.ask(true);
    if (scene.lab) {
      stage.show({ lab: scene.lab });
      session.go(0); // the learner steps until the two passes part
    }
    if (scene.leaves?.length) stage.slot.append(leaves.el);
    else leaves.el.remove();
    leaves.update();
    for (const row of leaves.el.querySelectorAll(".leaf")) row.hidden = !scene.leaves?.includes(row.dataset.leaf);
  }

  // -- one step
  function open(key, to, again = true) {
    chapter = course.chapters.find((one) => one.key === key) ?? course.chapters[0];
    at = Math.max(0, Math.min(to, progress.reached(chapter.key), screens(chapter).length - 1));
    progress.reach(chapter.key, at);
    const due = again ? progress.due() : "";
    review = due && !due.startsWith(`${chapter.key}/${screens(chapter)[at].key}/`) && find(due) ? due : "";
    render();
  }
  function find(id) {
    const [key, step, name] = id.split("/"), found = course.chapters.find((one) => one.key === key);
    const screen = found && screens(found).find((one) => one.key === step);
    const part = screen && tasksOf(screen).find((one) => one.task.key === name);
    return part ? { chapter: found, screen, task: part.task } : null;
  }

  /** @type {(() => void)[]} */
  let waiting = [];
  function render() {
    for (const end of [...hooks, ...waiting]) end();
    [hooks, waiting, trained] = [[], [], []];
    session.pause();
    const screen = screens(chapter)[at], title = h("h2", { tabindex: -1, id: "step" });
    const body = h("div", { class: "body" });
    put(article, trail(), h("div", { class: "sheet-of-text" }, title, body));
    if (review) return renderReview(title, body);
    put(title, screen.milestone ? h("span", { class: "medal", "aria-hidden": "true" }, "★ ") : "", screen.title);
    if (screen.scene) show(screen.scene);
    const play = screen.parts.find((part) => part.train);
    side.hidden = !screen.scene && !screen.drill && !play;
    side.classList.toggle("playhouse", Boolean(play));
    main.classList.toggle("coded", screen.parts.some((part) => part.code || part.output)); // lines of code need room
    put(side, play ? "" : stage.el);
    if (play) perform(play.train);
    if (screen.drill) renderDrill(body);
    else renderParts(screen, body);
    placeFoot();
    settle();
    title.focus({ preventScroll: true });
    article.scrollTop = 0;
    if (root.classList.contains("slim")) scrollTo(0, 0);
  }

  /** A network that is trained takes the place of the stage. @param {any} scene */
  function perform(scene) {
    const theatre = createTheatre(side, { scenes: [scene], choose: false });
    if (!theatre.el.isConnected) side.append(theatre.el);
    theatre.on("step", (run) => { for (const ear of trained) ear(run); });
    waiting.push(() => theatre.destroy());
  }

  function renderParts(screen, body) {
    const cards = [];
    for (const part of screen.parts) {
      if (part.html) body.append(prose(part.html));
      if (part.code) body.append(h("pre", { class: "code", dir: "ltr", tabindex: 0 }, h("code", {}, part.code)));
      if (part.output) body.append(h("pre", { class: "code output", dir: "ltr", tabindex: 0 }, part.output));
      if (part.curve) body.append(slopeFigure(scoped, part.curve).el);
      if (part.task) {
        const id = idOf(chapter, at, cards.length);
        const card = taskCard({ stage: scoped, task: part.task, solved: progress.solved(id), onSolved: (clean) => {
          progress.answered(id, clean);
          settle();
          queueMicrotask(() => { // after the stage has shown this answer
            const after = cards.find((one) => !one.done);
            after?.open();
            // An input that is disabled keeps the focus until the page is drawn again.
            const here = document.activeElement, left = !here || here === document.body || here.disabled;
            const lost = left || here.closest(".ask");
            const asked = stage.el.querySelector(".ask :is(input, button):enabled");
            const to = after ? session.state.question && asked || after.el.querySelector("input, button") : next;
            if (lost) to?.focus({ preventScroll: true });
          });
        } });
        cards.push(card);
        waiting.push(() => card.close?.());
        body.append(card.el);
      }
    }
    cards.find((one) => !one.done)?.open();
  }

  function renderDrill(body) {
    const seed = progress.count + 1 + chapter.key.length * 1000;
    const drill = drillScreen({ stage: scoped, shapes: chapter.drill, seed, show, onDone: () => {
      progress.drilled(chapter.key);
      settle();
    } });
    body.append(prose(t("course.drill_about"), "p"), drill.el);
    drill.start();
  }

  /** A question that was answered wrong before, on its graph, with other numbers where any will do. */
  function renderReview(title, body) {
    const id = review, { chapter: from, screen, task } = /** @type {any} */ (find(id));
    put(title, t("course.again"));
    foot.remove();
    side.hidden = !screen.scene;
    side.classList.remove("playhouse");
    main.classList.remove("coded");
    put(side, stage.el);
    if (screen.scene) show(screen.scene);
    let asked = task;
    const other = task.kind === "gradient" ? otherNumbers(session, randomFrom(progress.count + 7)) : null;
    if (other) {
      show({ ...screen.scene, values: other, place: "forward", lab: null });
      asked = { ...task, wrong: [], question: `<p>${t("page.what_is", { what: `${task.node}.grad` })}</p>`, why: "" };
    }
    const card = taskCard({ stage: scoped, task: asked, solved: false, onSolved: (clean) => {
      progress.answered(id, clean);
      settle();
      const go = button(t("course.go_on"), () => open(chapter.key, at), { class: "strong", "data-do": "after-review" });
      body.append(go);
      go.focus();
    } });
    waiting.push(() => card.close?.());
    body.append(h("p", { class: "quiet" }, t("course.again_about", { title: from.title })), card.el);
    settle();
    card.open();
    title.focus({ preventScroll: true });
  }

  // -- forward and back
  const next = button(t("course.next"), () => go(1), { class: "strong next", "data-do": "next-step" });
  const back = button(t("course.back"), () => go(-1), { class: "quiet", "data-do": "back-step" });
  const why = h("p", { class: "quiet small gate", id: "gate" });
  const foot = h("footer", { class: "foot" }, h("div", { class: "row" }, back, h("span", { class: "grow" }), next), why);
  /** The way on stands under the text; where the stage stands below the text, under the stage. */
  const placeFoot = () => (root.classList.contains("slim") ? main : article.querySelector(".body"))?.append(foot);

  function go(by) {
    const all = screens(chapter), to = at + by, k = course.chapters.indexOf(chapter);
    if (by > 0 && !isFinished(chapter, at)) return;
    if (to >= all.length) {
      const after = course.chapters[k + 1];
      if (after) visit(after.key, progress.reached(after.key) && isDone(after) ? 0 : progress.reached(after.key));
      else finish();
      return;
    }
    if (to < 0) return;
    if (by > 0) progress.reach(chapter.key, to);
    visit(chapter.key, to, by > 0);
  }
  function finish() {
    const words = t(single ? "course.lesson_over" : "course.over").split("`")
      .map((part, k) => (k % 2 ? h("code", {}, part) : part));
    const to = !single && course.links.workshop;
    put(why, h("span", { class: "note finish", role: "status" }, words,
      to ? [" ", h("a", { href: to }, t("course.links.workshop"))] : ""));
  }

  /** What depends on progress: ticks, dots, the way forward. */
  function settle() {
    const done = isFinished(chapter, at), last = at === screens(chapter).length - 1, k = course.chapters.indexOf(chapter);
    next.disabled = !done;
    const after = course.chapters[k + 1];
    next.textContent = t(!last ? "course.next" : after ? "course.next_chapter" : "course.finish", { title: after?.title });
    back.disabled = at === 0;
    why.textContent = done ? "" : t(screens(chapter)[at].drill ? "course.gate_drill" : "course.gate");
    if (done && last) progress.reach(chapter.key, at);
    const begun = progress.count > 0 || course.chapters.some((one) => progress.reached(one.key) > 0);
    put(list, course.chapters.map((one, n) => {
      const ticked = isDone(one), now = one === chapter;
      const tick = h("span", { class: ticked ? "tick done" : "tick", "aria-hidden": "true" }, ticked ? "✓" : String(n + 1));
      const start = !begun && n === 0 && h("span", { class: "start" }, t("course.start_here"));
      const time = h("span", { class: "minutes quiet" }, t("course.minutes", { n: String(one.minutes) }));
      const words = h("span", { class: "grow" }, one.title, start || time,
        ticked && h("span", { class: "spoken" }, t("course.chapter_done")));
      return h("li", {}, button([tick, words], () => visit(one.key, ticked ? 0 : progress.reached(one.key)), {
        class: now ? "chapter now" : "chapter", "data-chapter": one.key, "aria-current": now ? "true" : null }));
    }));
    const back_to = progress.waiting().length;
    put(again, back_to ? t("course.waiting", { n: String(back_to) }) : "");
    const line = article.querySelector(".trail");
    if (line) line.replaceWith(trail());
  }

  function trail() {
    const all = screens(chapter), reached = progress.reached(chapter.key);
    const where = [single ? "" : `${chapter.title} · `, t("course.step_of", { k: String(at + 1), n: String(all.length) })];
    const sign = (k) => (k <= reached && isFinished(chapter, k) ? "●" : "○");
    const stop = (screen, k) => button(sign(k), () => visit(chapter.key, k, false), {
      class: k === at ? "stop now" : "stop", disabled: k > reached, title: screen.title,
      "aria-current": k === at ? "step" : null,
      "aria-label": t("course.step_named", { k: String(k + 1), title: screen.title }) });
    return h("div", { class: "trail" }, h("p", { class: "quiet small" }, where),
      h("div", { class: "line", role: "group", "aria-label": t("course.steps") }, all.map(stop)));
  }

  // -- the address, files, the theme, keys
  function visit(key, to, again = true) {
    openMenu(false);
    open(key, to, again);
    const hash = `#${chapter.key}/${at + 1}`;
    if (location.hash !== hash) {
      try {
        history.pushState(null, "", hash);
      } catch {
        // a frame without an address of its own
      }
    }
  }
  function follow() {
    const [key, step] = decodeURIComponent(location.hash.slice(1)).split("/");
    const open_one = course.chapters.find((one) => !isDone(one)) ?? course.chapters[0];
    const known = course.chapters.find((one) => one.key === key) ?? open_one;
    open(known.key, step ? Number(step) - 1 || 0 : progress.reached(known.key), false);
  }
  function save() {
    saveFile(progress.text(), `${course.name}-progress.json`);
  }
  async function load() {
    const chosen = file.files[0];
    if (!chosen) return;
    const taken = progress.take(await chosen.text());
    status.textContent = t(taken ? "course.loaded" : "course.not_loaded");
    file.value = "";
    if (taken) follow();
  }
  function theme() {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }
  function arrange() {
    arrangeMenu();
    placeFoot();
  }
  session.store.listen(() => { if (leaves.el.isConnected) leaves.update(); });
  stage.on("step", () => stage.el.classList.toggle("asked", Boolean(session.state.question)));
  document.addEventListener("keydown", (event) => {
    const { tagName } = /** @type {any} */ (event.target);
    if (tagName === "INPUT" || tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/** @type {any} */ (event.target).closest?.(".mg-scroll")) return;
    const keys = { ArrowRight: () => session.forward(), ArrowLeft: () => session.back(), End: () => session.go(session.total),
      b: () => session.go(session.seed + 1), 0: stage.api.fit, "?": () => (help.open ? help.close() : help.showModal()),
      Escape: () => openMenu(false) };
    if (help.open && event.key !== "?") return;
    if (event.key === "Escape" || event.key === "?" || (!side.hidden && stage.el.isConnected)) keys[event.key]?.();
  });
  addEventListener("popstate", follow);
  place.append(root);
  arrange();
  new ResizeObserver(() => {
    const was = root.className;
    const w = root.clientWidth;
    if ((w < 1000) !== was.includes("narrow") || (w < 820) !== was.includes("slim")) arrange();
  }).observe(root);
  follow();
  if (progress.unread) status.textContent = t("course.unread");
  return { stage, progress, visit };
}

export default { startCourse };
