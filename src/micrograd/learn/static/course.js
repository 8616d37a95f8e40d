// The course: chapters on the left, the text of one step in the middle, the stage on the right. The text drives the stage,
// and the questions of a step open the next one.
import { button, contentsMenu, h, languageLinks, put } from "./dom.js";
import { slopeFigure } from "./slope.js";
import { readGraph } from "./graph.js";
import { helpDialog } from "./help.js";
import { drillScreen, otherNumbers, randomFrom } from "./drill.js";
import { leavesPanel } from "./leaves.js";
import { ideaFigure } from "./ideas.js";
import { createMoons, packed, sharedNetwork, unpacked } from "./moons.js";
import { chapterEnd } from "./milestones.js";
import { courseProgress, saveFile } from "./progress.js";
import { pickLayer } from "./picks.js";
import { createPython } from "./python.js";
import { createStage } from "./stage.js";
import { prose, taskCard } from "./tasks.js";
import { linkTerms } from "./terms.js";
import { createTheatre } from "./theatre.js";
import { t, text, useTexts } from "./texts.js";

/**
 * What Python sends. A part of a step is one of {html}, {task}, {curve}, {picture}, {code, output}, {train}, {moons}.
 * @typedef {{graph: string, values: Record<string, number>, place: any, lab: any, predict: boolean, leaves: string[]}} Scene
 * @typedef {{key: string, title: string, milestone: boolean, parts: any[], scene: Scene | null}} CourseStep
 * @typedef {{key: string, title: string, about: string, minutes: number, steps: CourseStep[], drill: any[], can: string[],
 *            plain: boolean, language: string, grown: string, fresh: string,
 *            newcomers: string[]}} Chapter   plain: gradients have not been explained
 *            yet; grown: the graph of the course as it is at the end of the chapter; fresh: what is new in it; newcomers: its
 *            new nodes; language: of its words, where it is not that of the page
 * @typedef {{name: string, title: string, chapters: Chapter[], graphs: any[], texts: any, ideas: any[],
 *            links: Record<string, string>, pieces: [string, string][], points: number[][],
 *            python?: {worker: string, wheel: string, seconds: number},
 *            languages?: {code: string, name: string, to: string}[]}} Course
 */

const DRILL = "*drill"; // no step of a lesson has such a name
const SHARED = "mine/"; // what the address of a shared network begins with
const GOOD = 0.95; // the share of points that a network of the learner's own gets right at the end
const SLIM_STAGE = 800, // px: the most that the stage takes on a phone,
  SLIM_END = 920, // at the end of a chapter too,
  SLIM_REST = 230, // and what its question, its controls and its sentence take of that;
  SLIM_TOP = 130, // what is above a drawing, beside a question in the text: the head of the page and buttons,
  SLIM_ASK = 330; // and the most that a question in the text takes
const OFTEN = 5; // seconds between two notes of the time
const AWAY = 120; // seconds without an action after which nobody learns any more

/** @param {Course} course @param {any} place */
export function startCourse(course, place) {
  useTexts(course.texts, course.ideas);
  const single = course.chapters.length === 1, read = new Map();
  let chapter = course.chapters[0], at = 0, review = "";
  /** The graphs of a chapter, which are drawn in one direction. @param {Chapter} one */
  const family = (one) => {
    if (!read.has(one)) {
      const keys = new Set([...one.steps.map((step) => step.scene?.graph), one.grown]);
      read.set(one, course.graphs.filter((graph) => keys.has(graph.key)).map((graph) => readGraph(graph.timeline)));
    }
    return read.get(one);
  };
  const root = h("div", { class: "mg whole course", dir: text("direction"), lang: text("language") });
  let asking = 0; // px of the questions of this step that are answered in the text
  /** On a phone the drawing is as high as it needs, and if it can be read so, it leaves room for the question above it. */
  function tallest() {
    if (!root.classList.contains("slim")) return [0, 0];
    const high = document.documentElement.clientHeight, more = leaves.el.offsetHeight;
    const most = side.classList.contains("grown") ? SLIM_END : Math.min(0.96 * high, SLIM_STAGE);
    return [Math.min(high - SLIM_TOP - asking, most - SLIM_REST) - more, most - SLIM_REST - more];
  }
  /** See how high the questions are that are answered in the text. */
  function reckon() {
    const cards = [...article.querySelectorAll(".task:not(.done, .at-picture, :has(.cm-editor))")];
    asking = Math.min(SLIM_ASK, Math.max(0, ...cards.map((one) => one.offsetHeight)));
    stage.refit();
  }
  const stage = createStage({ presets: course.graphs, first: course.graphs[0]?.key, compact: true, picks: pickLayer(),
    family: () => family(chapter), most: tallest }), { session } = stage;

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
  /** The code of the learner's engine: all pieces before one, or all of them; what the learner wrote where it passed. */
  const engine = (piece = "") => {
    const end = course.pieces.findIndex(([key]) => key === piece);
    return course.pieces.slice(0, end < 0 ? undefined : end).map(([key, given]) => [key, progress.code(key) ?? given]);
  };
  const python = course.python && createPython(course.python);
  const code = { before: (piece) => engine(piece).map(([, words]) => words), draft: progress.draft, wrote: progress.wrote,
    python: python && (async (before, words, tests) =>
      (await python.ask({ written: { pieces: before, code: words, tests } })).verdict) };

  // -- the time that was spent in a chapter
  let seen = Date.now();
  const spend = (least = 0) => {
    const now = Date.now(), seconds = (now - seen) / 1000;
    if (seconds < least) return;
    seen = now;
    if (seconds < AWAY) progress.spent(chapter.key, seconds);
  };
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
    h("span", { class: "grow" }), status, languageLinks(course.languages), links({ class: "wordy" }),
    files({ class: "small wordy" }), file,
    button("?", () => help.showModal(), { class: "icon", "data-do": "help", "aria-label": t("page.help"),
      title: t("page.help") }),
    button("◐", theme, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") }));
  const list = h("ol", { class: "chapters" }), again = h("p", { class: "again small" });
  put(nav, list, again, h("div", { class: "files" }, files({ class: "small" }), links({}),
    languageLinks(course.languages)));
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
    session.forwardOnly = chapter.plain;
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
    spend();
    chapter = course.chapters.find((one) => one.key === key) ?? course.chapters[0];
    root.classList.toggle("plain", chapter.plain);
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
    const foreign = chapter.language && h("p", { class: "note small", lang: text("language") }, t("course.not_translated"));
    put(article, trail(), h("div", { class: "sheet-of-text", lang: chapter.language || null }, foreign, title, body));
    if (review) return renderReview(title, body);
    put(title, screen.milestone ? h("span", { class: "medal", "aria-hidden": "true" }, "★ ") : "", screen.title);
    asking = 0;
    if (screen.scene) show(screen.scene);
    const play = screen.parts.find((part) => part.train || part.moons);
    side.hidden = !screen.scene && !screen.drill && !play;
    side.classList.toggle("playhouse", Boolean(play));
    side.classList.remove("grown");
    const coded = (part) => part.code || part.output || part.task?.kind === "write"; // lines of code need room
    main.classList.toggle("coded", screen.parts.some(coded));
    put(side, play ? "" : stage.el);
    if (play?.train) perform(play.train);
    if (play?.moons) performOwn(play.moons);
    if (screen.drill) renderDrill(body);
    else renderParts(screen, body);
    placeFoot();
    settle();
    if (root.classList.contains("slim")) reckon();
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

  /** The learner's own engine trains in place of the stage. @param {number[][]} points */
  function performOwn(points) {
    const keep = (found) => {
      const kept = { version: 1, ...found, parameters: found.parameters.map((x) => Number(x.toPrecision(4))) };
      progress.trained(kept);
      return kept;
    };
    const own = createMoons({ points, random: randomFrom(progress.count + 5), code: () => engine().map(([, words]) => words),
      onStep: (run) => {
        for (const ear of trained) ear(run);
        if (run.accuracy >= GOOD && !(progress.network?.accuracy > run.accuracy)) keep(run.found()); // the course ends with it
      },
      link: (found) => shareLink(keep(found)) });
    put(side, own.el);
    waiting.push(() => own.destroy());
  }
  /** The address of a network: its parameters, and the code that trained it. @param {any} found */
  async function shareLink(found) {
    const text = await packed(JSON.stringify({ ...found, code: engine() }));
    return `${location.href.split("#")[0]}#${SHARED}${text}`;
  }
  /** A network that somebody shared. @param {string} text */
  async function renderShared(text) {
    const found = await unpacked(text);
    if (!found) {
      status.textContent = t("course.moons.no_link");
      location.hash = "";
      return follow();
    }
    for (const end of [...hooks, ...waiting]) end();
    [hooks, waiting, trained] = [[], [], []];
    side.hidden = true;
    main.classList.remove("coded");
    const way = button(t("course.moons.shared_way"),
      () => visit(course.chapters[0].key, progress.reached(course.chapters[0].key)),
      { class: "strong", "data-do": "own-course" });
    settle();
    put(article, h("div", { class: "sheet-of-text" }, sharedNetwork(found, course.points, way)));
    article.querySelector("h2").focus();
  }

  /** A chapter is over: what the learner can do now, how long it took, what comes next. */
  function renderEnd() {
    spend();
    for (const end of [...hooks, ...waiting]) end();
    [hooks, waiting, trained] = [[], [], []];
    session.pause();
    const k = course.chapters.indexOf(chapter), after = course.chapters[k + 1];
    const ids = (one) => screens(one).flatMap((screen, n) => tasksOf(screen).map((_, each) => idOf(one, n, each)));
    side.hidden = !chapter.grown;
    side.classList.remove("playhouse");
    side.classList.add("grown");
    foot.remove();
    main.classList.remove("coded");
    put(side, stage.el);
    if (chapter.grown) show({ graph: chapter.grown, values: {}, place: "forward",
      lab: null, predict: false, leaves: [] });
    const fresh = session.state.graph.nodes.filter((node) => chapter.grown && chapter.newcomers.includes(node.name));
    session.store.set({ badges: Object.fromEntries(fresh.map((node) => [node.id, t("course.ends.new")])) });
    waiting.push(() => session.store.set({ badges: {} }));
    const facts = (one) => ({ title: one.title, seconds: progress.seconds(one.key), asked: ids(one).length,
      clean: ids(one).filter(progress.clean).length, done: isDone(one) });
    const onward = after && { title: after.title, about: after.about, minutes: after.minutes,
      go: () => visit(after.key, progress.reached(after.key) && isDone(after) ? 0 : progress.reached(after.key)) };
    const kept = progress.network;
    const end = chapterEnd({ chapter, facts: facts(chapter), all: after ? null : course.chapters.map(facts), next: onward,
      network: kept && !after ? { kept, points: course.points, code: engine(), link: () => shareLink(kept) } : null,
      workshop: course.links.workshop ?? "", back: () => visit(chapter.key, at, false) });
    put(article, h("div", { class: "sheet-of-text" }, end));
    article.scrollTop = 0;
    article.querySelector("h2").focus({ preventScroll: true });
    if (root.classList.contains("slim")) scrollTo(0, 0);
  }

  function renderParts(screen, body) {
    const cards = [];
    for (const part of screen.parts) {
      if (part.html) body.append(prose(part.html));
      if (part.code) body.append(h("pre", { class: "code", dir: "ltr", tabindex: 0 }, h("code", {}, part.code)));
      if (part.output) body.append(h("pre", { class: "code output", dir: "ltr", tabindex: 0 }, part.output));
      if (part.curve) body.append(slopeFigure(scoped, part.curve).el);
      if (part.picture) {
        const figure = ideaFigure(scoped, part.picture);
        waiting.push(() => figure.destroy());
        body.append(figure.el);
      }
      if (part.task) {
        const id = idOf(chapter, at, cards.length);
        const card = taskCard({ stage: scoped, task: part.task, solved: progress.solved(id), code, onSolved: (clean) => {
          progress.answered(id, clean || part.task.kind === "write"); // code that took several runs need not come back
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
            const slim = root.classList.contains("slim"), calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
            if (slim && lost) card.el.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" }); // why it is right
          });
        } });
        cards.push(card);
        waiting.push(() => card.close?.());
        body.append(card.el);
      }
    }
    linkTerms(body);
    cards.find((one) => !one.done)?.open();
  }

  function renderDrill(body) {
    const seed = progress.count + 1 + chapter.key.length * 1000;
    const drill = drillScreen({ stage: scoped, shapes: chapter.drill, seed, show, plain: chapter.plain, onDone: () => {
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
    const said = { gradient: ["page.what_is", { what: `${task.node}.grad` }],
      data: ["page.what_is", { what: `${task.node}.data` }],
      contribution: ["course.what_arrives", { out: task.source, name: task.node }] }[task.kind];
    const other = said ? otherNumbers(session, randomFrom(progress.count + 7)) : null;
    if (said && other) {
      show({ ...screen.scene, values: other, place: task.kind === "gradient" ? "forward" : screen.scene.place, lab: null });
      asked = { ...task, wrong: [], question: `<p>${t(String(said[0]), said[1])}</p>`, why: "", hint: "" };
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
      if (single) finish();
      else remember(`#${chapter.key}/end`, renderEnd);
      return;
    }
    if (to < 0) return;
    if (by > 0) progress.reach(chapter.key, to);
    visit(chapter.key, to, by > 0);
  }
  function finish() {
    put(why, h("span", { class: "note finish", role: "status" }, t("course.lesson_over")));
  }

  /** What depends on progress: ticks, dots, the way forward. */
  function settle() {
    const done = isFinished(chapter, at), last = at === screens(chapter).length - 1;
    next.disabled = !done;
    next.textContent = t(!last ? "course.next" : single ? "course.finish" : "course.end_chapter");
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
    remember(`#${chapter.key}/${at + 1}`);
  }
  /** @param {string} hash @param {() => void} [then] */
  function remember(hash, then = () => {}) {
    if (location.hash !== hash) {
      try {
        history.pushState(null, "", hash);
      } catch {
        // a frame without an address of its own
      }
    }
    then();
  }
  function follow() {
    const hash = location.hash.slice(1);
    if (hash.startsWith(SHARED)) return renderShared(hash.slice(SHARED.length));
    const [key, step] = decodeURIComponent(hash).split("/");
    const open_one = course.chapters.find((one) => !isDone(one)) ?? course.chapters[0];
    const known = course.chapters.find((one) => one.key === key) ?? open_one;
    open(known.key, Number(step) ? Number(step) - 1 : progress.reached(known.key), false);
    if (step === "end" && isDone(known)) renderEnd();
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
    if (foot.isConnected) placeFoot();
  }
  session.store.listen(() => { if (leaves.el.isConnected) leaves.update(); });
  stage.on("step", () => stage.el.classList.toggle("asked", Boolean(session.state.question)));
  document.addEventListener("keydown", (event) => {
    const { tagName } = /** @type {any} */ (event.target);
    if (tagName === "INPUT" || tagName === "SELECT" || /** @type {any} */ (event.target).isContentEditable
      || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/** @type {any} */ (event.target).closest?.(".mg-scroll")) return;
    const keys = { ArrowRight: () => session.forward(), ArrowLeft: () => session.back(), End: () => session.go(session.total),
      b: () => session.go(session.seed + 1), 0: stage.api.fit, "?": () => (help.open ? help.close() : help.showModal()),
      Escape: () => openMenu(false) };
    if (help.open && event.key !== "?") return;
    if (event.key === "Escape" || event.key === "?" || (!side.hidden && stage.el.isConnected)) keys[event.key]?.();
  });
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, () => spend(OFTEN));
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
