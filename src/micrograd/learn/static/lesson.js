// The lesson: short sections with a graph to open and a question to answer, asked on the stage.
import { button, h, put, verdict } from "./dom.js";
import { t, text } from "./texts.js";

/**
 * @param {ReturnType<typeof import("./stage.js").createStage>} stage @param {any[]} quizzes
 * @param {ReturnType<typeof import("./link.js").keepProgress>} progress
 */
export function lessonPanel(stage, quizzes, progress) {
  const { session } = stage;
  const count = h("p", { class: "quiet small", role: "status" });
  const rows = quizzes.map((quiz) => section(quiz));
  const save = button(t("page.export"), () => progress.save(), { class: "small", "data-do": "export" });
  const hint = h("p", { class: "quiet small" }, t("page.course_hint"));
  const el = h("div", { class: "panel lesson" }, hint, rows.map((row) => row.el), h("div", { class: "row wrap" }, count, save));
  let open = "";

  /** @param {any} quiz */
  function section(quiz) {
    const words = text(`quizzes.${quiz.key}`), tick = h("span", { class: "tick" });
    const title = session.presets.find((one) => one.key === quiz.preset)?.title ?? quiz.preset;
    const reply = h("div", {});
    const ask = () => {
      open = quiz.key;
      session.ask(false);
      stage.show({ graph: quiz.preset, values: {}, lab: null, step: 0, question: {
        kind: "gradient", node: quiz.asks, text: quiz.question, why: words.why, hint: words.hint,
        wrong: quiz.wrong.map(([value, key], k) => [value, key, words.wrong[k]]) } });
    };
    return {
      key: quiz.key, tick, reply, words,
      el: h("article", { class: "quiz", "data-quiz": quiz.key }, h("h2", {}, tick, words.title),
        words.text.map((paragraph) => h("p", {}, paragraph)), reply,
        button(t("page.ask_on", { title }), ask, { class: "small", "data-do": "ask" })),
    };
  }

  stage.on("answer", (answer) => {
    const row = rows.find((one) => one.key === open);
    if (!row || answer.asked !== "gradient") return;
    progress.note({ quiz: row.key, ...answer });
    put(row.reply, verdict(answer.right, answer.right ? row.words.why : row.words.hint));
    update();
  });

  function update() {
    const done = rows.filter((row) => progress.done(row.key));
    for (const row of rows) row.tick.textContent = progress.done(row.key) ? "✓ " : "";
    count.textContent = t("page.solved", { k: String(done.length), n: String(rows.length) });
  }
  update();
  return { el, update() {} };
}
