// Predict, then reveal: the sign first, then the value; a wrong answer is met by the misconception that it comes from.
import { button, h, mark, onEnter, put, verdict } from "./dom.js";
import { parseNumber, show } from "./numbers.js";

/**
 * @typedef {import("./session.js").Session} Session
 * @typedef {{key: string, special: boolean, product: number, replaces: boolean, text: string}} Misconception
 */

/**
 * The wrong ideas of lesson.py: for which ops (none: any) and slot, what they would give, and what to say to them.
 * @type {{key: string, ops?: string[], slot?: number, when?: (f: any) => boolean, gives: (f: any) => number,
 *         replaces?: boolean, text: string}[]}
 */
const IDEAS = [
  { key: "own", ops: ["mul", "dot"], gives: (f) => f.x * f.upstream,
    text: "That uses {name}'s own data, {x}. A product swaps: {name} gets the other factor, {local}." },
  { key: "tanh", ops: ["tanh"], gives: (f) => (1 - f.x * f.x) * f.upstream,
    text: "That is 1 − x² with the input {x}. The slope of tanh is 1 − t², with the output t = {y}." },
  { key: "sigmoid", ops: ["sigmoid"], gives: (f) => f.x * (1 - f.x) * f.upstream,
    text: "That is x·(1 − x) with the input {x}. The slope of sigmoid is y·(1 − y), with the output y = {y}." },
  { key: "relu", ops: ["relu"], when: (f) => f.x <= 0, gives: (f) => f.upstream,
    text: "At {name} = {x} ≤ 0 relu is flat: it lets nothing through." },
  { key: "minus", ops: ["sub"], slot: 1, gives: (f) => f.upstream,
    text: "{name} is subtracted, so its local derivative is −1." },
  { key: "neg", ops: ["neg"], gives: (f) => f.upstream,
    text: "A minus turns the sign: its slope is −1." },
  { key: "exp", ops: ["exp"], gives: (f) => f.x * f.upstream,
    text: "The slope of exp is its output {y}, not its input." },
  { key: "log", ops: ["log"], gives: (f) => f.y * f.upstream,
    text: "The slope of log is 1/x with the input {x}, not its output." },
  { key: "quotient", ops: ["div"], slot: 0, gives: (f) => f.others[1] * f.upstream,
    text: "A quotient divides: the slope for {name} is 1/{other}, which is {local}." },
  { key: "power", ops: ["pow"], slot: 0, gives: (f) => f.others[1] * f.y * f.upstream,
    text: "The exponent comes down and is lowered by one: n·xⁿ⁻¹ is {local}, not n·xⁿ." },
  { key: "upstream", gives: (f) => f.local,
    text: "That is the local derivative alone. Multiply it by what comes from above: {out}.grad = {upstream}." },
  { key: "local", gives: (f) => f.upstream,
    text: "That passes {out}.grad on unchanged, as a sum would. Here the local derivative is {local}." },
  { key: "assign", when: (f) => f.before !== 0, replaces: true, gives: (f) => f.product,
    text: "That is this contribution alone. {name} held {before} already, and += keeps it." },
];
const OTHER = "Take the local derivative of this edge, times the gradient from above, and add it to what was there.";

/** Put the figures of a frame into a text. @param {string} text @param {Record<string, any>} facts */
function filled(text, facts) {
  return text.replace(/\{(\w+)\}/g, (_, key) => (typeof facts[key] === "number" ? show(facts[key]) : facts[key]));
}

/**
 * What a learner with a wrong idea would say at this frame.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers
 * @param {import("./graph.js").Frame} frame @returns {Misconception[]}
 */
export function misconceptions(graph, { data }, frame) {
  const node = graph.nodes[frame.node], input = /** @type {number} */ (frame.input);
  const others = node.inputs.map((i) => data[i]);
  const facts = {
    ...frame, x: data[input], y: data[node.id], others, other: others[others.length - 1],
    name: graph.nodes[input].name, out: node.name,
  };
  const fits = (idea) => (!idea.ops || idea.ops.includes(node.op)) && (idea.slot ?? frame.slot) === frame.slot;
  return IDEAS.filter((idea) => fits(idea) && (idea.when?.(facts) ?? true)).map((idea) => ({
    key: idea.key, special: Boolean(idea.ops), replaces: Boolean(idea.replaces),
    product: idea.gives(facts), text: filled(idea.text, facts),
  }));
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
  return { right: false, key: "other", text: OTHER };
}

/** The card that asks. @param {Session} session */
export function questionCard(session) {
  const el = h("section", { class: "card ask", "aria-label": "predict", hidden: true, onkeydown: pressed });
  let open = false;

  /** The signs have keys of their own. @param {KeyboardEvent} event */
  function pressed(event) {
    const word = { "-": "negative", 0: "zero", "+": "positive" }[event.key];
    if (!word || /** @type {any} */ (event.target).tagName === "INPUT") return;
    event.preventDefault();
    event.stopPropagation();
    el.querySelector(`[aria-label="${word}"]`)?.click();
  }

  function ask() {
    const { graph, frames, step } = session.state, frame = /** @type {any} */ (frames[step]);
    const name = graph.nodes[frame.input].name, out = graph.nodes[frame.node].name;
    const told = h("div", { role: "status", "aria-live": "polite" });
    const signs = [["negative", "−", -1], ["zero", "0", 0], ["positive", "+", 1]].map(([word, sign, want]) =>
      button(`${sign} ${word}`, () => answerSign(Number(want)), { "aria-label": word }));
    const props = { type: "text", inputmode: "decimal", size: 10, "aria-label": `${name}.grad after this step` };
    const field = h("input", { ...props, onkeydown: onEnter(answerValue) });
    const value = h("div", { class: "row", hidden: true },
      h("label", {}, mark("grad", `${name}.grad`), " after it: ", field),
      button("check", answerValue, { class: "strong" }));
    const held = frame.before ? [mark("grad", `${name}.grad`), ` holds ${show(frame.before)} so far; `] : [];
    put(el, h("h2", {}, "Predict"),
      h("p", {}, "Next, ", h("strong", {}, out), " passes its gradient on to ", h("strong", {}, name),
        ". Which sign has this contribution?"),
      h("p", { class: "quiet" }, held, mark("grad", `${out}.grad`), ` is ${show(frame.upstream)}.`),
      h("div", { class: "row wrap" }, signs), value, told,
      h("div", { class: "row" }, button("show me", () => session.go(session.state.step + 1), { class: "quiet" })));
    el.hidden = false;
    signs[1].focus({ preventScroll: true });
    el.scrollIntoView({ block: "nearest" });

    /** @param {number} said */
    function answerSign(said) {
      const wanted = Math.sign(frame.product), right = said === wanted;
      note("sign", said, wanted, right, right ? "" : "sign");
      if (right) {
        put(told, verdict(true, "Yes. And the value?"));
        value.hidden = false;
        for (const sign of signs) sign.disabled = true;
        field.focus();
        return;
      }
      const ideas = misconceptions(graph, session.state.numbers, frame);
      const idea = ideas.find((one) => Math.sign(one.product) === said);
      put(told, verdict(false, idea ? idea.text
        : `The sign is that of local × upstream: ${show(frame.local)} times ${show(frame.upstream)}.`));
    }

    function answerValue() {
      const said = parseNumber(field.value);
      if (said === null) return put(told, verdict(false, "A number is needed, such as −6 or 0.5."));
      const found = judge(graph, session.state.numbers, frame, said);
      note("value", said, frame.after, found.right, found.key);
      if (found.right) return session.go(session.state.step + 1);
      put(told, verdict(false, found.text, { "data-misconception": found.key }));
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
