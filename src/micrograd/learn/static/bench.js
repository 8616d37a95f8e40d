// The workshop in the browser: the learner's files, a Python that checks them, and their own pass on a stage.
import { button, contentsMenu, h, put, verdict } from "./dom.js";
import { saveFile } from "./progress.js";
import { createStage } from "./stage.js";
import { t, text, useTexts } from "./texts.js";

/**
 * @typedef {{name: string, title: string, milestone: string, about: string, task: string, hints: string[],
 *            solution: string}} Exercise
 * @typedef {{exercises: Exercise[], texts: any, ideas: any[], links: Record<string, string>, worker: string, wheel: string,
 *            seconds: number}} Bench
 */

const BENCH_KEY = "micrograd.workshop";

/** Whether a file holds the state of a workshop. @param {any} found */
export function isBench(found) {
  const texts = (x) => Boolean(x) && typeof x === "object" && Object.values(x).every((one) => typeof one === "string");
  return Boolean(found) && found.version === 1 && texts(found.files) && Array.isArray(found.passed)
    && found.passed.every((one) => typeof one === "string");
}

/** @param {Bench} bench @param {any} place */
export function startBench(bench, place) {
  useTexts(bench.texts, bench.ideas);
  /** @type {{version: 1, files: Record<string, string>, passed: string[]}} */
  let known = { version: 1, files: {}, passed: [] };
  try {
    const found = JSON.parse(localStorage.getItem(BENCH_KEY) ?? "null");
    if (isBench(found)) known = found;
  } catch {
    // no storage here: the files last as long as the page
  }
  const keep = () => {
    try {
      localStorage.setItem(BENCH_KEY, JSON.stringify(known));
    } catch {
      // full, or not allowed
    }
  };
  let at = bench.exercises.find((one) => !known.passed.includes(one.name)) ?? bench.exercises[0];
  let hints = 0, tries = 0;

  // -- Python, in a thread that can be stopped
  /** @type {Worker | null} */
  let worker = null;
  let serial = 0;
  /** @param {string} name */
  function check(name) {
    const id = ++serial, waits = bench.seconds * 1000;
    worker ??= new Worker(bench.worker, { type: "module" });
    const mine = worker;
    return new Promise((done) => {
      let timer = 0;
      const end = (result) => {
        clearTimeout(timer);
        mine.removeEventListener("message", hear);
        done(result);
      };
      const stop = () => {
        mine.terminate();
        worker = null;
        end({ verdict: { passed: false, message: t("bench.stopped", { n: String(bench.seconds) }), timeline: [] } });
      };
      const hear = ({ data }) => {
        if (data.id !== id) return;
        if (data.ready) timer = Number(setTimeout(stop, waits)); // the time of the code, not of loading Python
        else end(data);
      };
      mine.addEventListener("message", hear);
      mine.addEventListener("error", () => end({ error: t("bench.no_python") }), { once: true });
      mine.postMessage({ id, name, files: known.files, wheel: bench.wheel });
    });
  }

  // -- the parts
  const root = h("div", { class: "mg whole course bench", dir: text("direction"), lang: text("language") });
  const list = h("ol", { class: "chapters" }), status = h("span", { class: "small quiet", role: "status" });
  const file = h("input", { type: "file", accept: ".json", hidden: true, "aria-label": t("bench.load"), onchange: load });
  const { nav, menu, openMenu, arrange } = contentsMenu(root, t("bench.exercises"));
  const files = (props) => [button(t("bench.save"), () => saveFile(JSON.stringify(known, null, 2), "my-micrograd.json"),
    { ...props, "data-do": "save" }), button(t("bench.load"), () => file.click(), { ...props, "data-do": "load" })];
  const links = (props) => Object.entries(bench.links).map(([key, to]) => (
    h("a", { ...props, href: to, "data-link": key }, t(`course.links.${key}`))));
  const brand = h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" }, t("bench.brand")));
  const heading = h("header", { class: "top" }, menu, brand,
    h("span", { class: "grow" }), status, links({ class: "wordy" }), files({ class: "small wordy" }), file);
  put(nav, list, h("div", { class: "files" }, files({ class: "small" }), links({})));
  const title = h("h2", { tabindex: -1 }), about = h("div", { class: "task-text" });
  const editor = h("textarea", { class: "editor", spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "ltr",
    wrap: "off", "aria-label": t("bench.editor"), oninput: typed, onkeydown: keyed });
  const run = button(t("bench.check"), judgeNow, { class: "strong", "data-do": "check" });
  const hint = button(t("bench.hint"), showHint, { "data-do": "hint" });
  const solution = button(t("bench.solution"), showSolution, { "data-do": "solution" });
  const reset = button(t("bench.reset"), () => {
    delete known.files[at.name];
    keep();
    open(at);
  }, { class: "quiet", "data-do": "reset" });
  const next = button(t("course.next"), () => open(bench.exercises[bench.exercises.indexOf(at) + 1]),
    { class: "strong", "data-do": "next-exercise" });
  const told = h("div", { class: "told", role: "status", "aria-live": "polite" }), stageBox = h("div", { class: "side-stage" });
  const article = h("article", { class: "text" }, title, about, editor,
    h("div", { class: "row wrap" }, run, hint, solution, reset, h("span", { class: "grow" }), next),
    h("p", { class: "quiet small" }, t("bench.keys")));
  const right = h("section", { class: "findings", "aria-label": t("bench.findings") }, told, stageBox);
  root.append(heading, h("div", { class: "columns" }, nav, h("main", {}, article, right)));
  /** @type {any} */
  let stage = null;

  function typed() {
    known.files[at.name] = editor.value;
    const before = bench.exercises.slice(0, bench.exercises.indexOf(at)).map((one) => one.name);
    known.passed = known.passed.filter((name) => before.includes(name)); // later exercises build on this one
    keep();
    settle();
  }
  /** Tab indents; after Escape it leaves the field. */
  let leaves = false;
  /** @param {KeyboardEvent} event */
  function keyed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return judgeNow();
    }
    if (event.key === "Tab" && !event.shiftKey && !leaves) {
      event.preventDefault();
      editor.setRangeText("    ", editor.selectionStart, editor.selectionEnd, "end");
      return typed();
    }
    leaves = event.key === "Escape";
  }

  async function judgeNow() {
    if (run.disabled) return;
    const asked = at;
    run.disabled = true;
    put(told, h("p", { class: "quiet" }, t(worker ? "bench.checking" : "bench.loading")));
    showStage(null);
    const result = /** @type {any} */ (await check(asked.name));
    run.disabled = false;
    if (asked !== at) return;
    if (result.error) return put(told, verdict(false, t("bench.failed", { error: result.error })));
    tries += 1;
    const found = result.verdict;
    if (found.passed) known.passed = [...known.passed.filter((name) => name !== asked.name), asked.name];
    keep();
    settle();
    const block = (key, words) => (words.trim() ? [h("p", { class: "quiet small" }, t(`bench.${key}`)), code(words)] : []);
    put(told, verdict(found.passed, found.message || t("bench.passed")), block("steps", found.timeline.join("\n")),
      block("printed", found.printed ?? ""));
    if (found.picture) showPicture(found.picture);
    showStage(found.replay);
  }

  /** @param {string} words */
  const code = (words) => h("pre", { class: "code", dir: "ltr", tabindex: 0 }, words);

  /** The learner's drawing, as an image: nothing in it can run. @param {string} svg */
  function showPicture(svg) {
    const src = `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`;
    told.append(h("img", { class: "drawn", src, alt: t("bench.picture") }));
  }

  /** The learner's own pass, at its first wrong contribution. @param {any} replay */
  function showStage(replay) {
    stage?.destroy();
    stage = null;
    stageBox.hidden = !replay;
    if (!replay) return put(stageBox);
    stage = createStage({ presets: [replay.graph], first: replay.graph.key, whole: 0.5 });
    put(stageBox, stage.el);
    stage.show(replay.open);
  }
  function showHint() {
    const which = { k: String(hints + 1), n: String(at.hints.length), text: at.hints[hints] };
    put(told, h("p", { class: "verdict" }, t("bench.hint_of", which)));
    hints = Math.min(hints + 1, at.hints.length - 1);
  }
  function showSolution() {
    put(told, h("p", { class: "quiet small" }, t("bench.one_solution")), code(at.solution));
  }

  /** @param {Exercise | undefined} exercise */
  function open(exercise) {
    if (!exercise) return;
    [at, hints, tries] = [exercise, 0, 0];
    put(title, exercise.title);
    const { milestone } = exercise;
    const paragraphs = milestone ? [t("bench.milestone", { what: milestone })] : exercise.about.split(/\n\s*\n/);
    put(about, paragraphs.map((words) => h("p", {}, words)));
    editor.hidden = reset.hidden = hint.hidden = solution.hidden = Boolean(exercise.milestone);
    editor.value = known.files[exercise.name] ?? exercise.task;
    put(told, h("p", { class: "quiet" }, t("bench.about")));
    showStage(null);
    openMenu(false);
    settle();
    title.focus({ preventScroll: true });
  }
  function settle() {
    put(list, bench.exercises.map((one) => {
      const done = known.passed.includes(one.name), number = one.milestone ? "★" : String(Number(one.name.slice(1, 3)));
      const tick = h("span", { class: done ? "tick done" : "tick", "aria-hidden": "true" }, done ? "✓" : number);
      const words = h("span", { class: "grow" }, one.title, done && h("span", { class: "spoken" }, t("bench.done")));
      return h("li", {}, button([tick, words], () => open(one), { class: one === at ? "chapter now" : "chapter",
        "data-exercise": one.name, "aria-current": one === at ? "true" : null }));
    }));
    solution.disabled = !(at.name in known.files) && tries === 0;
    next.disabled = !known.passed.includes(at.name) || at === bench.exercises[bench.exercises.length - 1];
    status.textContent = t("bench.count", { k: String(known.passed.length), n: String(bench.exercises.length) });
  }
  async function load() {
    const chosen = file.files[0];
    if (!chosen) return;
    let found = null;
    try {
      found = JSON.parse(await chosen.text());
    } catch {
      // no JSON: told below
    }
    file.value = "";
    if (!isBench(found)) return put(told, verdict(false, t("bench.not_loaded")));
    known = found;
    keep();
    open(at);
  }
  place.append(root);
  arrange();
  new ResizeObserver(arrange).observe(root);
  open(at);
}

export default { startBench };
