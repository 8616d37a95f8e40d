// The lesson: short sections with a graph to open and a question to answer. The text is data from Python.
import { h, put } from "./dom.js";
import { parseNumber } from "./numbers.js";
import { near } from "./predict.js";

/** @param {import("./session.js").Session} session @param {any[]} quizzes */
export function lessonPanel(session, quizzes) {
  const el = h("div", { class: "panel lesson" }, quizzes.map((quiz, k) => section(session, quiz, k)));
  if (!quizzes.length) put(el, h("p", { class: "quiet" }, "This page has no quizzes: it was made from your own graph."));
  return { el, update() {} };
}

/** @param {import("./session.js").Session} session @param {any} quiz @param {number} k */
function section(session, quiz, k) {
  const told = h("div", { role: "status", "aria-live": "polite" });
  const field = h("input", { type: "text", inputmode: "decimal", size: 8, "aria-label": `answer ${k + 1}`, onkeydown: (event) => { if (event.key === "Enter") check(); } });
  const el = h("article", { class: "quiz", "data-quiz": quiz.key },
    h("h3", {}, quiz.title), (quiz.text ?? []).map((text) => h("p", {}, text)),
    quiz.preset && h("button", { type: "button", class: "small", onclick: () => session.open(quiz.preset) }, `open ${session.presets.find((one) => one.key === quiz.preset)?.title ?? quiz.preset}`),
    h("p", { class: "question" }, quiz.question),
    h("div", { class: "row" }, field, h("button", { type: "button", class: "strong", onclick: check }, "check")), told);

  function check() {
    const said = parseNumber(field.value);
    if (said === null) return put(told, h("p", { class: "verdict bad" }, "A number is needed, such as −6 or 0.5."));
    const right = near(said, quiz.answer);
    const wrong = right ? null : (quiz.wrong ?? []).find((one) => near(said, one.value));
    session.record({ question: quiz.key, asked: "quiz", answer: said, wanted: quiz.answer, right, misconception: wrong?.key ?? "" });
    put(told, h("p", { class: right ? "verdict good" : "verdict bad" }, right ? `✓ ${quiz.why ?? "Yes."}` : `✗ ${wrong?.text ?? quiz.hint ?? "Not yet. Step the backward pass and watch."}`));
  }
  return el;
}
