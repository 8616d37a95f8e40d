// A few lines of code that the learner writes in the flow of a chapter: an editor, and what is said to the code. The Python
// of the page runs it (pyrun.js); where the page has the whole of Python beside it, code that is outside of that goes there.
import { button, h, put } from "./dom.js";
import { createEditor } from "./editor.js";
import { pythonSpace } from "./pyrun.js";
import { Endless, Raised } from "./pyvalues.js";
import { SyntaxFault, hasDots } from "./pyparse.js";
import { t } from "./texts.js";

const ELSEWHERE = 100000; // the line from which code is counted that the learner did not write
const MOST_PRINTED = 2000; // characters

/**
 * What is said to a piece of code: whether it passed, and otherwise why, and in which of its lines.
 * @param {string[]} before the pieces before it @param {string} text @param {string} tests
 * @returns {{passed: boolean, message: string, line: number, printed: string, outside: boolean}} outside: this page does not
 * have that part of Python
 */
export function judgeCode(before, text, tests) {
  let printed = "", line = 0;
  const space = pythonSpace({ print: (more) => { printed += more.slice(0, Math.max(0, MOST_PRINTED - printed.length)); } });
  const told = (message, at = 0, outside = false) => (
    { passed: false, message, line: at >= ELSEWHERE ? 0 : at, printed, outside });
  try {
    for (const one of before) space.execute(one, undefined, ELSEWHERE);
    if (hasDots(text)) return told(t("course.write.dots"));
    space.execute(text);
    line = ELSEWHERE;
    space.execute(tests, undefined, ELSEWHERE);
    return { passed: true, message: "", line: 0, printed, outside: false };
  } catch (error) {
    if (error instanceof SyntaxFault) {
      const words = { line: String(error.line), text: error.message };
      return told(t(error.known ? "course.write.syntax" : "course.write.outside", words), error.line, !error.known);
    }
    if (error instanceof Endless) return told(t("course.write.endless"));
    if (!(error instanceof Raised)) throw error;
    if (error.kind === "AssertionError") return told(error.text, error.line);
    const named = { kind: error.kind, text: error.text, line: String(error.line) };
    const unknown = error.kind === "ModuleNotFoundError";
    if (error.line < ELSEWHERE) return told(t("course.write.raised", named), error.line, unknown);
    return told(t("course.write.raised_outside", named), line);
  }
}

/** The card of a piece of code. @param {any} card what tasks.js hands to a kind of question */
export function writing({ task, body, told, solve, miss, isDone, code }) {
  const first = code.draft(task.piece) ?? task.start, printed = h("pre", { class: "code output", hidden: true, tabindex: 0 });
  const editor = createEditor({ doc: first, label: t("course.write.editor"), onChange: () => editor.point(0), onRun: check });
  const run = button(t("course.write.check"), check, { class: "strong", "data-do": "check-code" });
  const reset = button(t("course.write.reset"), () => {
    editor.value = task.start;
    editor.focus();
  }, { class: "quiet", "data-do": "reset-code" });
  let asking = false;

  async function check() {
    if (asking) return;
    const text = editor.value, before = code.before(task.piece);
    let found = judgeCode(before, text, task.tests);
    if (found.outside && code.python) {
      asking = true;
      put(told, h("p", { class: "quiet" }, t("course.write.asks_python")));
      found = await code.python([...before], text, task.tests) ?? found;
      asking = false;
    }
    code.wrote(task.piece, text, found.passed);
    printed.textContent = found.printed;
    printed.hidden = !found.printed;
    editor.point(found.line, found.message);
    if (!found.passed) return miss(escapedText(found.message), "code");
    const again = isDone();
    if (!again) return solve(escapedText(t("course.write.passed")));
    put(told, h("div", { class: "verdict good" }, `✓ ${t("course.write.passed")}`));
  }
  put(body, h("div", { class: "editor small-editor" }, editor.el),
    h("div", { class: "row wrap" }, run, reset, h("span", { class: "quiet small" }, t("course.write.keys"))), printed);
  return {
    /** The solution is shown, and counts as the learner's version. */
    give() {
      editor.value = task.solution;
      code.wrote(task.piece, task.solution, true);
      solve(escapedText(t("course.write.given")));
    },
    close: () => editor.destroy(),
  };
}

/** @param {string} text */
function escapedText(text) {
  return h("p", {}, text).outerHTML;
}
