// Predict, then reveal: the sign first, then the value; a wrong answer is met by the misconception that it comes from.
import { h, mark, put } from "./dom.js";
import { parseNumber, show } from "./numbers.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {{key: string, product: number, replaces?: boolean, text: string}} Misconception
 */

/**
 * What a learner with a wrong idea would say at this frame.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers
 * @param {import("./graph.js").Frame} frame @returns {Misconception[]}
 */
export function misconceptions(graph, { data }, frame) {
  const { input, local, upstream, product, before } = /** @type {any} */ (frame), node = graph.nodes[frame.node];
  const x = data[input], name = graph.nodes[input].name, out = node.name;
  const ideas = [];
  if (node.op === "mul") {
    ideas.push({ key: "own", product: x * upstream, text: `That uses ${name}'s own data, ${show(x)}. A product swaps: ${name} gets the other factor, ${show(local)}.` });
  }
  if (node.op === "tanh") {
    ideas.push({ key: "tanh", product: (1 - x * x) * upstream, text: `That is 1 − x² with the input ${show(x)}. The slope of tanh is 1 − t², with the output t = ${show(data[node.id])}.` });
  }
  if (node.op === "relu" && x <= 0) {
    ideas.push({ key: "relu", product: upstream, text: `At ${name} = ${show(x)} ≤ 0 relu is flat: it lets nothing through.` });
  }
  if (node.op === "sub" && frame.slot === 1) {
    ideas.push({ key: "minus", product: upstream, text: `${name} is subtracted, so its local derivative is −1.` });
  }
  if (node.op === "exp") ideas.push({ key: "exp", product: x * upstream, text: `The slope of exp is its output ${show(data[node.id])}, not its input.` });
  ideas.push({ key: "upstream", product: local, text: `That is the local derivative alone. Multiply it by what comes from above: ${out}.grad = ${show(upstream)}.` });
  ideas.push({ key: "local", product: upstream, text: `That passes ${out}.grad on unchanged, as a sum would. Here the local derivative is ${show(local)}.` });
  if (before !== 0) ideas.push({ key: "assign", product, replaces: true, text: `That is this contribution alone. ${name} held ${show(before)} already, and += keeps it.` });
  return ideas;
}

/** Near enough for a person: half a percent, or half of the second decimal. @param {number} a @param {number} b */
export function near(a, b) {
  return a === b || Math.abs(a - b) <= Math.max(0.005, 0.005 * Math.abs(b));
}

/**
 * Judge a value that the learner gave for grad after the frame.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers
 * @param {import("./graph.js").Frame} frame @param {number} said
 */
export function judge(graph, numbers, frame, said) {
  const after = /** @type {number} */ (frame.after), before = /** @type {number} */ (frame.before);
  if (near(said, after)) return { right: true, key: "", text: "" };
  const idea = misconceptions(graph, numbers, frame).find((one) => near(said, one.replaces ? one.product : before + one.product) || (!one.replaces && one.key !== "upstream" && near(said, one.product)));
  if (idea) return { right: false, key: idea.key, text: idea.text };
  if (near(-said, after)) return { right: false, key: "sign", text: "The size is right, the sign is not." };
  return { right: false, key: "other", text: "Take the local derivative of this edge, times the gradient that came from above, and add it to what was there." };
}

/** The card that asks. @param {Session} session */
export function questionCard(session) {
  const el = h("section", { class: "card ask", "aria-label": "predict", hidden: true });
  let open = false;

  function ask() {
    const { graph, frames, step } = session.state, frame = frames[step];
    const name = graph.nodes[/** @type {number} */ (frame.input)].name, out = graph.nodes[frame.node].name;
    const told = h("div", { role: "status", "aria-live": "polite" });
    const signs = [["negative", "−", -1], ["zero", "0", 0], ["positive", "+", 1]].map(([word, sign, want]) =>
      h("button", { type: "button", "data-sign": sign, "aria-label": word, onclick: () => answerSign(Number(want)) }, `${sign} ${word}`));
    const field = h("input", { type: "text", inputmode: "decimal", "aria-label": `${name}.grad after this step`, size: 10,
      onkeydown: (event) => { if (event.key === "Enter") answerValue(); } });
    const value = h("div", { class: "row", hidden: true }, h("label", {}, mark("grad", `${name}.grad`), " after it: ", field),
      h("button", { type: "button", class: "strong", onclick: answerValue }, "check"));
    const reveal = h("button", { type: "button", class: "quiet", onclick: () => session.go(session.state.step + 1) }, "show me");
    const facts = h("p", { class: "quiet" }, frame.before ? [mark("grad", `${name}.grad`), ` holds ${show(frame.before)} so far; `] : [], mark("grad", `${out}.grad`), ` is ${show(/** @type {number} */ (frame.upstream))}.`);
    put(el, h("h2", {}, "Predict"),
      h("p", {}, "Next, ", h("strong", {}, out), " passes its gradient on to ", h("strong", {}, name), ". Which sign has this contribution?"), facts,
      h("div", { class: "row wrap" }, signs), value, told, h("div", { class: "row" }, reveal));
    el.hidden = false;
    signs[1].focus({ preventScroll: true });
    el.scrollIntoView({ block: "nearest" });

    /** @param {number} said */
    function answerSign(said) {
      const product = /** @type {number} */ (frame.product), wanted = Math.sign(product), right = said === wanted;
      note("sign", said, wanted, right, right ? "" : "sign");
      if (right) {
        put(told, h("p", { class: "verdict good" }, "✓ Yes. And the value?"));
        value.hidden = false;
        for (const button of signs) button.disabled = true;
        field.focus();
        return;
      }
      const idea = misconceptions(graph, session.state.numbers, frame).find((one) => Math.sign(one.product) === said && Math.sign(one.product) !== wanted);
      put(told, h("p", { class: "verdict bad" }, "✗ ", idea ? idea.text : `The sign is that of local × upstream: ${show(/** @type {number} */ (frame.local))} times ${show(/** @type {number} */ (frame.upstream))}.`));
    }

    function answerValue() {
      const said = parseNumber(field.value);
      if (said === null) return put(told, h("p", { class: "verdict bad" }, "A number is needed, such as −6 or 0.5."));
      const verdict = judge(graph, session.state.numbers, frame, said);
      note("value", said, /** @type {number} */ (frame.after), verdict.right, verdict.key);
      if (verdict.right) return session.go(session.state.step + 1);
      put(told, h("p", { class: "verdict bad", "data-misconception": verdict.key }, "✗ ", verdict.text));
      field.select();
    }

    /** @param {string} asked @param {number} said @param {number} wanted @param {boolean} right @param {string} idea */
    function note(asked, said, wanted, right, idea) {
      session.record({ question: `${name}.grad from ${out}`, asked, answer: said, wanted, right, misconception: idea });
    }
  }

  return {
    el,
    update() {
      if (session.state.asking === open) return;
      open = session.state.asking;
      if (open) ask();
      else {
        const inside = el.contains(document.activeElement);
        el.hidden = true;
        if (inside) el.closest(".mg")?.querySelector("[aria-label='step forward']")?.focus({ preventScroll: true });
      }
    },
  };
}
