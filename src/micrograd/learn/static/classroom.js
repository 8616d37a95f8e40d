// The saved progress of a class on one page: learners in rows, exercises or chapters in columns. Nothing leaves the page.
import { isBench } from "./bench-file.js";
import { button, h, languageLinks, put } from "./dom.js";
import { t, text, useTexts } from "./texts.js";

/**
 * What one file says: of which kind it is, and for each column what share of it is done (0 to 1) and a message.
 * @typedef {{learner: string, kind: "workshop" | "course", done: Record<string, number>, told: Record<string, string>}} Row
 * @typedef {{key: string, title: string, tasks?: number}} Column
 */

/**
 * Read a file that a learner has saved, or that `micrograd workshop --json` has written; null where it is neither.
 * @param {string} name @param {string} content @param {{workshop: Column[], course: Column[]}} plan @returns {Row | null}
 */
export function readSaved(name, content, plan) {
  let found = null;
  try {
    found = JSON.parse(content);
  } catch {
    return null;
  }
  if (!found || typeof found !== "object") return null;
  if (found.kind === "micrograd workshop" && Array.isArray(found.exercises)) {
    const rows = found.exercises.filter((one) => one && typeof one.exercise === "string");
    return { learner: String(found.learner || name), kind: "workshop",
      done: Object.fromEntries(rows.map((one) => [one.exercise,
        one.state === "passed" ? 1 : one.state === "failed" ? 0.5 : 0])),
      told: Object.fromEntries(rows.map((one) => [one.exercise, String(one.message ?? "")])) };
  }
  if (isBench(found)) {
    const touched = Object.keys(found.files).map((key) => [key, 0.5]);
    return { learner: name, kind: "workshop", told: {},
      done: { ...Object.fromEntries(touched), ...Object.fromEntries(found.passed.map((key) => [key, 1])) } };
  }
  if (typeof found.course === "string" && found.solved && typeof found.solved === "object") {
    const done = plan.course.map(({ key, tasks }) => {
      const solved = Object.keys(found.solved).filter((id) => id.startsWith(`${key}/`)).length;
      return [key, tasks ? Math.min(1, solved / tasks) : 0];
    });
    return { learner: name, kind: "course", done: Object.fromEntries(done), told: {} };
  }
  return null;
}

/** @param {{texts: any, plan: {workshop: Column[], course: Column[]}, saved: [string, string][],
 *   languages?: {code: string, name: string, to: string}[]}} play @param {any} place */
export function startClass(play, place) {
  useTexts(play.texts, []);
  const word = (key, more = {}) => t(`class.${key}`, more);
  const root = h("div", { class: "mg whole class-page", dir: text("direction"), lang: text("language") });
  /** @type {Row[]} */
  let rows = [];
  const told = h("p", { role: "status" }), tables = h("div", {});
  const file = h("input", { type: "file", multiple: true, accept: ".json", hidden: true, "aria-label": word("choose"),
    onchange: () => take([...file.files]) });

  /** @param {[string, string][]} files */
  function read(files) {
    const bad = [];
    for (const [name, content] of files) {
      const row = readSaved(name, content, play.plan);
      if (!row) bad.push(name);
      else rows = [...rows.filter((one) => one.learner !== row.learner || one.kind !== row.kind), row];
    }
    put(told, bad.length ? h("span", { class: "bad" }, word("bad", { names: bad.join(", ") }))
      : files.length ? word("taken", { n: String(files.length) }) : "");
    draw();
  }
  /** @param {any[]} files */
  async function take(files) {
    const found = await Promise.all(files.map(async (one) => [one.name.replace(/\.json$/, ""), await one.text()]));
    read(/** @type {[string, string][]} */ (found));
    file.value = "";
  }
  const percent = (x) => `${Math.round(100 * x)} %`;
  /** @param {"workshop" | "course"} kind */
  function table(kind) {
    const own = rows.filter((one) => one.kind === kind).sort((a, b) => a.learner.localeCompare(b.learner));
    if (!own.length) return null;
    const columns = play.plan[kind];
    const share = (row) => columns.reduce((sum,
      one) => sum + (row.done[one.key] >= 1 ? 1 : kind === "course" ? row.done[one.key] ?? 0 : 0), 0) / columns.length;
    const full = (key) => own.filter((row) => row.done[key] >= 1).length;
    const begun = columns.filter((one) => own.some((row) => (row.done[one.key] ?? 0) > 0 && row.done[one.key] < 1));
    const open = (one) => own.filter((row) => row.done[one.key] > 0 && row.done[one.key] < 1).length;
    const stuck = begun.sort((a, b) => open(b) - open(a)).slice(0, 3);
    const cell = (row, one) => {
      const x = row.done[one.key] ?? 0, state = x >= 1 ? "full" : x > 0 ? "part" : "none";
      const says = kind === "course" && x > 0 && x < 1 ? percent(x) : { full: "✓", part: "→", none: "·" }[state];
      return h("td", { class: state, title: row.told[one.key] || null }, h("span", { "aria-hidden": "true" }, says),
        h("span", { class: "spoken" }, word(state)));
    };
    return h("div", { class: "act", "data-kind": kind }, h("h2", {}, word(kind)),
      h("p", {}, word("summary", { n: String(own.length), share: percent(own.reduce((sum, row) => sum + share(row),
        0) / own.length) })),
      stuck.length ? h("p", {}, word("stuck"), " ", stuck.map((one, k) => [k ? ", " : "", h("b", {}, one.title),
        ` (${own.filter((row) => row.done[one.key] > 0 && row.done[one.key] < 1).length})`])) : null,
      h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": word(kind) },
        h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, word("learner")), columns.map((one,
          k) => h("th", { scope: "col", title: one.title }, String(k + 1), h("span", { class: "spoken" },
            ` ${one.title}`))), h("th", { scope: "col" }, word("all")))),
          h("tbody", {}, own.map((row) => h("tr", {}, h("th", { scope: "row" }, row.learner),
            columns.map((one) => cell(row, one)), h("td", { class: "sum" }, percent(share(row)))))),
          h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, word("done")), columns.map((one) => h("td",
            { class: "sum" }, String(full(one.key)))), h("td", {}))))),
      h("ol", { class: "legend" }, columns.map((one) => h("li", {}, one.title))),
      button(word("csv"), () => download(kind, columns, own, share), { class: "small", "data-do": `csv ${kind}` }));
  }
  function download(kind, columns, own, share) {
    const cell = (x) => { // a name is text, also for a program that takes = + - @ at its beginning for a formula
      const said = /^[=+\-@\t\r]/.test(x) ? `'${x}` : x;
      return /[",\n]/.test(said) ? `"${said.replaceAll('"', '""')}"` : said;
    };
    const lines = [["learner", ...columns.map((one) => one.key), "share"], ...own.map((row) => [row.learner,
      ...columns.map((one) => String(row.done[one.key] ?? 0)), share(row).toFixed(3)])];
    const link = h("a", { href: URL.createObjectURL(new Blob([lines.map((line) => line.map(cell).join(",")).join("\n")],
      { type: "text/csv" })), download: `${kind}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function draw() {
    put(tables, ["workshop", "course"].map((kind) => table(/** @type {"workshop" | "course"} */ (kind))));
  }
  const theme = button("◐", () => {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") });
  root.append(h("header", { class: "top" }, h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" },
    word("brand"))), h("span", { class: "grow" }), languageLinks(play.languages), theme),
    h("main", { class: "sheets" }, h("p", {}, word("about")),
      h("p", { class: "drop" }, button(word("choose"), () => file.click(), { class: "strong", "data-do": "choose" }),
        file), told, tables));
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
  place.append(root);
  read(play.saved);
}

export default { startClass };
