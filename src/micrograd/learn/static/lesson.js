// The lesson: short sections with a graph to open and a question to answer. The text is data from Python.
import { button, h, onEnter, put, verdict } from "./dom.js";
import { parseNumber } from "./numbers.js";
import { near } from "./predict.js";

/** @param {import("./session.js").Session} session @param {any[]} quizzes */
export function lessonPanel(session, quizzes) {
  const el = h("div", { class: "panel lesson" }, quizzes.map((quiz, k) => section(session, quiz, k)));
  return { el, update() {} };
}

/** @param {import("./session.js").Session} session @param {any} quiz @param {number} k */
function section(session, quiz, k) {
  const told = h("div", { role: "status", "aria-live": "polite" });
  const props = { type: "text", inputmode: "decimal", size: 8, "aria-label": `answer ${k + 1}` };
  const field = h("input", { ...props, onkeydown: onEnter(check) });
  const title = session.presets.find((one) => one.key === quiz.preset)?.title ?? quiz.preset;
  const el = h("article", { class: "quiz", "data-quiz": quiz.key },
    h("h3", {}, quiz.title), quiz.text.map((text) => h("p", {}, text)),
    button(`open ${title}`, () => session.open(quiz.preset), { class: "small" }),
    h("p", { class: "question" }, quiz.question),
    h("div", { class: "row" }, field, button("check", check, { class: "strong" })), told);

  function check() {
    const said = parseNumber(field.value);
    if (said === null) return put(told, verdict(false, "A number is needed, such as −6 or 0.5."));
    const right = near(said, quiz.answer), idea = right ? null : quiz.wrong.find((one) => near(said, one.value));
    const answer = { question: quiz.key, asked: "quiz", answer: said, wanted: quiz.answer, right };
    session.record({ ...answer, misconception: idea?.key ?? "" });
    put(told, verdict(right, right ? quiz.why : idea?.text ?? quiz.hint));
  }
  return el;
}
