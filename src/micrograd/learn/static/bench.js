// The workshop in the browser: the learner's files in an editor, a Python that checks them, and their own pass on a stage.
import { isBench } from "./bench-file.js";
import { button, contentsMenu, h, languageLinks, put, verdict } from "./dom.js";
import { createEditor } from "./editor.js";
import { saveFile } from "./progress.js";
import { createPython } from "./python.js";
import { createStage } from "./stage.js";
import { t, text, useTexts } from "./texts.js";

/**
 * @typedef {{name: string, title: string, milestone: boolean, about: string, task: string, hints: string[],
 *            heads: string[], solution: string}} Exercise
 * @typedef {{exercises: Exercise[], texts: any, ideas: any[], links: Record<string, string>, worker: string, wheel: string,
 *            seconds: number, languages?: {code: string, name: string, to: string}[]}} Bench
 */

const BENCH_KEY = "micrograd.workshop";

/**
 * A file in two parts: its head, which says what the page says beside the editor, and the code. A file whose head was
 * changed has none.
 * @param {string} file @param {string[]} heads of the task, in every language
 */
export function splitFile(file, heads) {
  const head = heads.find((one) => file.startsWith(one));
  if (!head) return { head: "", code: file };
  const space = file.slice(head.length).match(/^\n*/)?.[0] ?? "";
  return { head: head + space, code: file.slice(head.length + space.length) };
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
  const python = createPython(bench);
  let at = bench.exercises.find((one) => !known.passed.includes(one.name)) ?? bench.exercises[0];
  let hints = 0, tries = 0, head = "";

  // -- the parts
  const root = h("div", { class: "mg whole course bench", dir: text("direction"), lang: text("language") });
  const list = h("ol", { class: "chapters" }), status = h("span", { class: "small quiet", role: "status" });
  const meter = h("progress", { class: "meter", max: bench.exercises.length, "aria-label": t("bench.progress") });
  const file = h("input", { type: "file", accept: ".json", hidden: true, "aria-label": t("bench.load"), onchange: load });
  const { nav, menu, openMenu, arrange } = contentsMenu(root, t("bench.exercises"));
  const files = (props) => [button(t("bench.save"), () => saveFile(JSON.stringify(known, null, 2), "my-micrograd.json"),
    { ...props, "data-do": "save" }), button(t("bench.load"), () => file.click(), { ...props, "data-do": "load" })];
  const links = (props) => Object.entries(bench.links).map(([key, to]) => (
    h("a", { ...props, href: to, "data-link": key }, t(`course.links.${key}`))));
  const brand = h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" }, t("bench.brand")));
  const heading = h("header", { class: "top" }, menu, brand, meter, status,
    h("span", { class: "grow" }), languageLinks(bench.languages), links({ class: "wordy" }), files({ class: "small wordy" }),
    button("◐", theme, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") }), file);
  put(nav, list, h("div", { class: "files" }, files({ class: "small" }), links({})));
  const title = h("h2", { tabindex: -1 }), about = h("div", { class: "task-text", tabindex: 0, role: "region" });
  const editor = createEditor({ doc: "", label: t("bench.editor"), onChange: typed, onRun: judgeNow });
  const field = h("div", { class: "editor" }, editor.el);
  const run = button(t("bench.check"), judgeNow, { "data-do": "check", title: t("bench.check_key") });
  const hint = button(t("bench.hint"), showHint, { "data-do": "hint" });
  const solution = button(t("bench.solution"), showSolution, { "data-do": "solution" });
  const reset = button(t("bench.reset"), () => {
    delete known.files[at.name];
    keep();
    open(at);
  }, { class: "quiet", "data-do": "reset" });
  const following = () => bench.exercises[bench.exercises.indexOf(at) + 1];
  const next = button(t("course.next"), () => open(following()), { "data-do": "next-exercise" });
  const keys = h("p", { class: "quiet small keys" }, t("bench.keys"));
  const told = h("div", { class: "told", role: "status", "aria-live": "polite" }), stageBox = h("div", { class: "side-stage" });
  const article = h("article", { class: "text" }, title, about, field,
    h("div", { class: "row wrap" }, run, hint, solution, reset, h("span", { class: "grow" }), next), keys);
  const right = h("section", { class: "findings", "aria-label": t("bench.findings") }, told, stageBox);
  root.append(heading, h("div", { class: "columns" }, nav, h("main", {}, article, right)));
  /** @type {any} */
  let stage = null;

  let loading = false;
  /** @param {string} code */
  function typed(code) {
    if (loading) return;
    python.warm();
    known.files[at.name] = head && code.startsWith(head.trimEnd()) ? code : head + code; // a whole file was pasted
    const before = bench.exercises.slice(0, bench.exercises.indexOf(at)).map((one) => one.name);
    known.passed = known.passed.filter((name) => before.includes(name)); // later exercises build on this one
    keep();
    settle();
  }

  async function judgeNow() {
    if (run.disabled) return;
    const asked = at;
    run.disabled = true;
    put(told, h("p", { class: "quiet" }, t(python.ready ? "bench.checking" : "bench.loading")));
    showStage(null);
    const reply = await python.ask({ name: asked.name, files: known.files, language: text("language") });
    run.disabled = false;
    if (asked !== at) return;
    const stopped = { passed: false, message: t("bench.stopped", { n: String(bench.seconds) }), timeline: [] };
    if (reply.error === "") return put(told, verdict(false, t("bench.no_python")));
    if (reply.error) return put(told, verdict(false, t("bench.failed", { error: reply.error })));
    tries += 1;
    const found = reply.stopped ? stopped : reply.verdict, fresh = found.passed && !known.passed.includes(asked.name);
    if (found.passed) known.passed = [...known.passed.filter((name) => name !== asked.name), asked.name];
    keep();
    settle();
    tell(asked, found, fresh);
    if (root.classList.contains("slim")) right.scrollIntoView({ block: "start" });
  }

  /** What the check found: the verdict, what it rests on, and the learner's own pass.
   * @param {Exercise} asked @param {any} found @param {boolean} fresh */
  function tell(asked, found, fresh) {
    const block = (key, words) => (words.trim() ? [h("p", { class: "quiet small" }, t(`bench.${key}`)), code(words)] : []);
    const all = known.passed.length === bench.exercises.length;
    const praise = found.passed && h("p", { class: fresh ? "cheer" : "" },
      t(all ? "bench.all_done" : found.replay ? "bench.yours_works" : asked.milestone ? "bench.reached" : "bench.go_on"));
    put(told, verdict(found.passed, found.message || t("bench.passed")), praise,
      found.passed ? "" : steps(found), block("printed", found.printed ?? ""));
    if (found.picture) showPicture(found.picture);
    const line = found.passed ? null : found.message.match(new RegExp(`\\b${asked.name}\\.py:(\\d+)`));
    editor.point(line ? Number(line[1]) - (head.split("\n").length - 1) : 0, line ? found.message : "");
    showStage(found.replay);
    if (found.passed && !next.disabled) next.focus({ preventScroll: true });
  }

  /** The steps that led to a fault, in words; folded where the stage shows them. @param {any} found */
  function steps(found) {
    const words = found.timeline.join("\n");
    if (!words.trim()) return "";
    if (!found.replay) return [h("p", { class: "quiet small" }, t("bench.steps")), code(words)];
    return h("details", {}, h("summary", { class: "quiet small" }, t("bench.steps")), code(words));
  }

  /** @param {string} words */
  const code = (words) => h("pre", { class: "code", dir: "ltr", tabindex: 0 }, words);

  /** The learner's drawing, as an image: nothing in it can run. @param {string} svg */
  function showPicture(svg) {
    const src = `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`;
    told.append(h("img", { class: "drawn", src, alt: t("bench.picture") }));
  }

  /** The learner's own pass: at its first wrong contribution, or all of it. @param {any} replay */
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
    const said = h("p", { class: "verdict hinted" }, t("bench.hint_of", which));
    const before = hints ? [...told.querySelectorAll(".hinted")].filter((one) => one.textContent !== said.textContent) : [];
    put(told, before, said);
    hints = Math.min(hints + 1, at.hints.length - 1);
  }
  function showSolution() {
    put(told, h("p", { class: "quiet small" }, t("bench.one_solution")), code(splitFile(at.solution, at.heads).code));
  }

  /** @param {Exercise | undefined} exercise */
  function open(exercise) {
    if (!exercise) return;
    [at, hints, tries] = [exercise, 0, 0];
    put(title, exercise.title);
    const { milestone } = exercise, parts = splitFile(known.files[exercise.name] ?? exercise.task, exercise.heads);
    const paragraphs = milestone ? [t("bench.milestone", { what: exercise.about })] : exercise.about.split(/\n\s*\n/);
    put(about, paragraphs.map((words) => h("p", {}, words.split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part)))));
    about.setAttribute("aria-label", exercise.title);
    field.hidden = reset.hidden = hint.hidden = solution.hidden = keys.hidden = Boolean(milestone);
    head = parts.head;
    loading = true;
    editor.value = parts.code;
    loading = false;
    put(told, h("p", { class: "quiet" }, t(milestone ? "bench.milestone_about" : "bench.about")));
    showStage(null);
    openMenu(false);
    settle();
    list.querySelector("[aria-current]")?.scrollIntoView?.({ block: "nearest" });
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
    const passed = known.passed.includes(at.name), last = at === bench.exercises[bench.exercises.length - 1];
    solution.disabled = !(at.name in known.files) && tries === 0;
    next.disabled = !passed || last;
    next.classList.toggle("strong", passed && !last);
    run.classList.toggle("strong", !passed || last);
    meter.value = known.passed.length;
    status.textContent = t("bench.count", { k: String(known.passed.length), n: String(bench.exercises.length) });
  }
  function theme() {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
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
  return { editor };
}

export default { startBench };
