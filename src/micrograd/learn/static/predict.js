// Predict, then reveal: the sign first, then the value; a wrong answer is met by the misconception that it comes from.
import { h, mark, put } from "./dom.js";
import { parseNumber, show } from "./numbers.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {{key: string, special: boolean, product: number, replaces: boolean, text: string}} Misconception
 */

/**
 * The wrong ideas of lesson.py: for which ops (none: any) and slot, what they would give, and what to say to them.
 * @type {{key: string, ops?: string[], slot?: number, when?: (f: any) => boolean, gives: (f: any) => number,
 *         replaces?: boolean, text: (f: any) => string}[]}
 */
const IDEAS = [
  { key: "own", ops: ["mul", "dot"], gives: (f) => f.x * f.upstream, text: (f) => `That uses ${f.name}'s own data, ${show(f.x)}. A product swaps: ${f.name} gets the other factor, ${show(f.local)}.` },
  { key: "tanh", ops: ["tanh"], gives: (f) => (1 - f.x * f.x) * f.upstream, text: (f) => `That is 1 − x² with the input ${show(f.x)}. The slope of tanh is 1 − t², with the output t = ${show(f.y)}.` },
  { key: "sigmoid", ops: ["sigmoid"], gives: (f) => f.x * (1 - f.x) * f.upstream, text: (f) => `That is x·(1 − x) with the input ${show(f.x)}. The slope of sigmoid is y·(1 − y), with the output y = ${show(f.y)}.` },
  { key: "relu", ops: ["relu"], when: (f) => f.x <= 0, gives: (f) => f.upstream, text: (f) => `At ${f.name} = ${show(f.x)} ≤ 0 relu is flat: it lets nothing through.` },
  { key: "minus", ops: ["sub"], slot: 1, gives: (f) => f.upstream, text: (f) => `${f.name} is subtracted, so its local derivative is −1.` },
  { key: "neg", ops: ["neg"], gives: (f) => f.upstream, text: () => "A minus turns the sign: its slope is −1." },
  { key: "exp", ops: ["exp"], gives: (f) => f.x * f.upstream, text: (f) => `The slope of exp is its output ${show(f.y)}, not its input.` },
  { key: "log", ops: ["log"], gives: (f) => f.y * f.upstream, text: (f) => `The slope of log is 1/x with the input ${show(f.x)}, not its output.` },
  { key: "quotient", ops: ["div"], slot: 0, gives: (f) => f.others[1] * f.upstream, text: (f) => `A quotient divides: the slope for ${f.name} is 1/${show(f.others[f.others.length - 1])}, which is ${show(f.local)}.` },
  { key: "power", ops: ["pow"], slot: 0, gives: (f) => f.others[1] * f.y * f.upstream, text: (f) => `The exponent comes down and is lowered by one: n·xⁿ⁻¹ is ${show(f.local)}, not n·xⁿ.` },
  { key: "upstream", gives: (f) => f.local, text: (f) => `That is the local derivative alone. Multiply it by what comes from above: ${f.out}.grad = ${show(f.upstream)}.` },
  { key: "local", gives: (f) => f.upstream, text: (f) => `That passes ${f.out}.grad on unchanged, as a sum would. Here the local derivative is ${show(f.local)}.` },
  { key: "assign", when: (f) => f.before !== 0, replaces: true, gives: (f) => f.product, text: (f) => `That is this contribution alone. ${f.name} held ${show(f.before)} already, and += keeps it.` },
];

/**
 * What a learner with a wrong idea would say at this frame.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers
 * @param {import("./graph.js").Frame} frame @returns {Misconception[]}
 */
export function misconceptions(graph, { data }, frame) {
  const node = graph.nodes[frame.node], input = /** @type {number} */ (frame.input);
  const facts = {
    ...frame, x: data[input], y: data[node.id], name: graph.nodes[input].name, out: node.name, others: node.inputs.map((i) => data[i]),
  };
  return IDEAS.filter((idea) => (!idea.ops || idea.ops.includes(node.op)) && (idea.slot ?? frame.slot) === frame.slot && (idea.when?.(facts) ?? true))
    .map((idea) => ({ key: idea.key, special: Boolean(idea.ops), product: idea.gives(facts), replaces: Boolean(idea.replaces), text: idea.text(facts) }));
}

/** Near enough for a person: half a percent, or half of the second decimal. @param {number} a @param {number} b */
export function near(a, b) {
  return a === b || (a !== a && b !== b) || Math.abs(a - b) <= Math.max(0.005, 0.005 * Math.abs(b));
}

/**
 * Judge a value that the learner gave for grad after the frame.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers
 * @param {import("./graph.js").Frame} frame @param {number} said
 */
export function judge(graph, numbers, frame, said) {
  const after = /** @type {number} */ (frame.after), before = /** @type {number} */ (frame.before);
  if (near(said, after)) return { right: true, key: "", text: "" };
  const idea = misconceptions(graph, numbers, frame).find((one) => {
    const whole = one.replaces ? one.product : before + one.product;
    return near(said, whole) || (one.special && near(said, one.product) && !near(whole, after));
  });
  if (idea) return { right: false, key: idea.key, text: idea.text };
  if (near(-said, after)) return { right: false, key: "sign", text: "The size is right, the sign is not." };
  return { right: false, key: "other", text: "Take the local derivative of this edge, times the gradient from above, and add it to what was there." };
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
      onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); answerValue(); } } });
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
