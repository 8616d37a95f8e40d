// What happens in the present frame, in words: seen with its numbers in colour, and read aloud by a screen reader.
import { h, mark, put } from "./dom.js";
import { tell } from "./graph.js";
import { t } from "./texts.js";

/** The sentence of the frame, read aloud by a screen reader in words. @param {Session} session */
export function sentence(session) {
  const phase = h("span", { class: "phase" }), spoken = h("span", { class: "spoken" });
  const line = h("div", { class: "sentence", "aria-hidden": "true" }), rule = h("p", { class: "rule" });
  const origin = h("p", { class: "origin quiet small", dir: "ltr" });
  const el = h("section", { class: "said", "aria-label": t("page.present_frame") },
    h("div", { class: "head" }, phase, rule), line, origin,
    h("div", { role: "status", "aria-live": "polite", "aria-atomic": "true" }, spoken));

  /** @param {[string, string][]} parts */
  const inColour = (parts) => h("p", { dir: "ltr" }, parts.map(([role, text]) => (role ? mark(role, text) : text)));

  function update() {
    const { graph, lab, question } = session.state, frame = session.told, { at } = session;
    el.classList.toggle("waiting", Boolean(question));
    if (question) { // the answer must not be read out before the question
      put(phase, t("page.your_turn"));
      for (const part of [line, rule, origin, spoken]) put(part);
      delete el.dataset.phase;
      return;
    }
    if (lab) return tellLab(lab);
    const { frames } = session.state, past = session.seed + 1;
    el.dataset.phase = frame ? (frame.kind === "forward" ? "forward" : "backward") : "start";
    phase.textContent = !frame ? t("page.start")
      : frame.kind === "forward" ? t("page.phase_forward", { k: String(at), n: String(session.seed) })
      : frame.kind === "seed" ? t("page.phase_seed")
      : t("page.phase_backward", { k: String(at - past), n: String(frames.length - past) });
    const from = frame ? graph.source[frame.line] : null;
    put(origin, from ? `${from.file}:${from.line}   ${from.text}` : "");
    if (!frame) {
      const intro = t("page.intro", { n: graph.nodes.length.toLocaleString("en"), root: graph.nodes[graph.root].name });
      put(line, h("p", { class: "words" }, intro));
      put(rule, t("page.intro_keys"));
      put(spoken, intro);
      return;
    }
    put(line, inColour(frame.parts));
    put(rule, h("span", { dir: "ltr" }, frame.rule));
    put(spoken, frame.spoken);
  }

  /** @param {import("./session.js").Lab} lab */
  function tellLab(lab) {
    const { graph, numbers } = session.state, { first, reason } = lab.wrong, here = lab.at === Math.min(lab.total, first + 1);
    const say = (run) => {
      const push = run.pushes[lab.at - 1];
      return push ? tell(graph, numbers, { ...push, kind: "backward" }) : null;
    };
    const [right, wrong] = [say(lab.right), say(lab.wrong)];
    el.dataset.phase = first >= 0 && lab.at > first ? "wrong" : "backward";
    phase.textContent = t("page.phase_lab", { k: String(lab.at), n: String(lab.total), title: lab.title });
    const verdict = first < 0 ? t("page.lab_right") : here ? t("page.lab_first", { reason })
      : lab.at <= first ? t("page.lab_same") : t("page.lab_after", { reason });
    put(origin, "");
    put(rule, "");
    const row = (word, told) => h("div", { class: "pass" }, h("span", { class: "quiet" }, word),
      told ? inColour(told.parts) : h("p", {}, "—"));
    put(line, h("p", { class: `words ${first >= 0 && lab.at > first ? "bad" : ""}` }, verdict),
      lab.at ? [row(t("page.right_word"), right), row(t("page.wrong_word"), wrong)] : "");
    put(spoken, [verdict, right && `${t("page.right_word")}: ${right.spoken}`,
      wrong && `${t("page.wrong_word")}: ${wrong.spoken}`].filter(Boolean).join(". "));
  }
  return { el, update };
}
