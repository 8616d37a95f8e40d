// Predict, then reveal: the question stands where the sentence will stand. A wrong answer meets the idea it comes from.
import { button, h, mark, onEnter, put, verdict } from "./dom.js";
import { fromShown, isCut, judge, near, speakOf } from "./judge.js";
import { parseNumber, show } from "./numbers.js";
import { t } from "./texts.js";

/**
 * A question of the stage:
 *   { kind: "contribution" }               the sign, then the value, of the next backward frame
 *   { kind: "gradient" | "data", node, text?, wrong?, why?, hint? }   the gradient or the data of a node by name;
 *     wrong is a list of [value, key of the idea, what is said to it]
 * A host may add: find(said, wanted), which gives [key of the idea, what is said]; task, its own mark of this question;
 * patience, the number of wrong tries after which the answer is offered.
 * @typedef {import("./session.js").Session} Session
 */

/** @param {Session} session @param {(id: number, right: boolean, said: number, kind: string) => void} [meet] what the picture
 * shows of an answer */
export function questionCard(session, meet = () => {}) {
  const el = h("section", { class: "ask", "aria-label": t("page.predict"), hidden: true, onkeydown: pressed });
  let asked = null;

  /** Keep an answer, with the mark of the host that asked. @param {any} answer */
  const record = (answer) => session.record(asked.task ? { ...answer, task: asked.task } : answer);

  /** The signs have keys of their own. @param {KeyboardEvent} event */
  function pressed(event) {
    const sign = { "-": "negative", 0: "zero", "+": "positive" }[event.key];
    if (!sign || /** @type {any} */ (event.target).tagName === "INPUT") return;
    event.preventDefault();
    event.stopPropagation();
    el.querySelector(`[data-sign="${sign}"]`)?.click();
  }

  function build() {
    if (asked.kind === "contribution") contribution();
    else quantity();
    el.hidden = false;
    (el.querySelector("[data-sign='zero']") ?? el.querySelector("input"))?.focus({ preventScroll: true });
  }

  /** A field for a number, and what is said to it. @param {string} label @param {(said: number) => any} check */
  function valueRow(label, check) {
    const told = h("div", { role: "status", "aria-live": "polite", class: "told" });
    const act = () => {
      const said = parseNumber(field.value);
      if (said === null) return put(told, verdict(false, t("page.number_needed")));
      check(said);
      told.scrollIntoView({ block: "nearest" });
      field.select();
    };
    const field = h("input", { type: "text", inputmode: "decimal", size: 9, "aria-label": label, onkeydown: onEnter(act) });
    const away = h("span", { class: "away", "aria-hidden": "true", dir: "ltr" }, `${label} =`); // where it is not at its node
    return { told, field, row: h("div", { class: "row" }, away, field, button(t("page.check"), act, { class: "strong" })) };
  }

  function contribution() {
    const { graph, frames, step, numbers } = session.state, frame = /** @type {any} */ (frames[step]);
    const name = graph.nodes[frame.input].name, out = graph.nodes[frame.node].name, question = `${name}.grad from ${out}`;
    const value = valueRow(t("page.grad_after", { target: `${name}.grad` }), (said) => {
      const found = judge(graph, numbers, frame, said);
      record({ question, asked: "value", answer: said, wanted: frame.after, right: found.right,
        misconception: found.key, told: found.text });
      if (found.right) return session.reveal();
      meet(frame.input, false, said, "gradient");
      put(value.told, verdict(false, found.text, { "data-misconception": found.key }));
    });
    value.row.hidden = true;
    const signs = [["negative", "−", -1], ["zero", "0", 0], ["positive", "+", 1]].map(([word, sign, want]) =>
      button(`${sign} ${t(`page.${word}`)}`, () => answer(Number(want)), { "data-sign": word }));

    /** @param {number} said */
    function answer(said) {
      const wanted = Math.sign(frame.product), right = said === wanted;
      const told = right ? "" : speakOf(graph, numbers, frame, "which_sign");
      record({ question, asked: "sign", answer: said, wanted, right, misconception: right ? "" : "sign", told });
      if (!right) {
        put(value.told, verdict(false, told));
        return value.told.scrollIntoView({ block: "nearest" });
      }
      put(value.told, verdict(true, t("page.and_value")));
      value.row.hidden = false;
      for (const sign of signs) sign.disabled = true;
      value.field.focus();
    }

    const held = frame.before ? [mark("grad", `${name}.grad`), ` = ${show(frame.before)}, `] : [];
    put(el, h("p", { class: "asks" }, t("page.which_sign", { out, name }), " ",
      h("span", { class: "quiet", dir: "ltr" }, held, mark("grad", `${out}.grad`), ` = ${show(frame.upstream)}`)),
    h("div", { class: "row wrap" }, signs, value.row,
      button(t("page.show_me"), () => give(question, frame.after), { class: "quiet", "data-do": "show" })), value.told);
  }

  /** The answer is given up: a host that asked is told so. @param {string} question @param {number} wanted */
  function give(question, wanted) {
    if (asked.task) record({ question, asked: "given", answer: null, wanted, right: false, misconception: "given" });
    session.reveal();
  }

  function quantity() {
    const { graph, numbers } = session.state, node = graph.nodes.find((one) => one.name === asked.node);
    if (!node) throw new Error(`there is no node ${asked.node} in this graph`);
    const wanted = asked.kind === "data" ? numbers.data[node.id] : session.right()[node.id];
    const what = `${asked.node}.${asked.kind === "data" ? "data" : "grad"}`;
    let tries = 0;
    const value = valueRow(what, (said) => {
      const exact = near(said, wanted), listed = exact ? null : (asked.wrong ?? []).find(([x]) => near(said, x));
      const right = exact || (!listed && near(said, fromShown(graph, numbers, asked.kind, node.id, session.right())));
      const idea = listed ?? (right || !asked.find ? null : [said, ...asked.find(said, wanted)]);
      const told = right ? "" : idea?.[2] ?? asked.hint ?? t("ideas.other.text"), mine = asked;
      tries += 1;
      if (right) session.settle(node.id, asked.kind === "data" ? "data" : "grad", wanted);
      meet(node.id, right, right ? wanted : said, asked.kind);
      record({ question: what, asked: asked.kind, answer: said, wanted, right, misconception: idea?.[1] ?? "", told });
      if (asked !== mine) return; // the host went on to another question
      if (right && mine.task) return session.reveal(); // the host says why, and what comes next
      if (right) {
        put(value.told, verdict(true, asked.why ?? ""), button(t("page.go_on"), () => session.reveal(), { class: "strong" }));
        return;
      }
      const enough = tries >= (asked.patience ?? Infinity);
      put(value.told, verdict(false, told, { "data-misconception": idea?.[1] }),
        enough && button(t("page.show_me"), () => give(what, wanted), { class: "quiet", "data-do": "show" }));
    });
    const digits = isCut(wanted) && h("span", { class: "quiet small" }, t("page.digits"));
    value.row.append(digits || "");
    put(el, h("p", { class: "asks" }, asked.text ?? t("page.what_is", { what })), value.row, value.told);
  }

  return {
    el,
    update() {
      const { question, step, graph } = session.state, now = question && { ...question, step, graph };
      const same = asked && now && asked.step === step && asked.graph === graph && asked.kind === now.kind
        && asked.node === now.node && asked.task === now.task;
      if (same || (!asked && !now)) return;
      const inside = el.contains(document.activeElement) && !asked?.task; // a host says itself what comes next
      asked = now;
      if (now) return build();
      el.hidden = true;
      if (inside) el.closest(".mg")?.querySelector("[data-do='next']")?.focus({ preventScroll: true });
    },
  };
}
