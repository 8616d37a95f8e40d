// The learner's own expression, in the local page: Python parses it and sends back a graph, or points at the character.
import { h, put } from "./dom.js";

/** @param {import("./session.js").Session} session @param {string} address */
export function expressionForm(session, address) {
  const input = (says, example) =>
    h("input", { type: "text", placeholder: example, spellcheck: "false", autocomplete: "off", "aria-label": says });
  const field = input("your own expression", "tanh(x1*w1 + x2*w2 + b)");
  const values = input("values, such as a=2 b=-3", "x1=2 x2=0");
  const told = h("pre", { class: "error", role: "alert", hidden: true });
  const el = h("form", { class: "own card", onsubmit: (event) => { event.preventDefault(); send(); } },
    h("label", { class: "grow" }, h("span", { class: "quiet" }, "your expression"), field),
    h("label", {}, h("span", { class: "quiet" }, "values"), values),
    h("button", { type: "submit", class: "strong" }, "explore"), told);

  /** @param {string} text */
  function fail(text) {
    told.hidden = !text;
    put(told, text);
    field.setAttribute("aria-invalid", String(Boolean(text)));
  }

  async function send() {
    fail("");
    let answer;
    try {
      const reply = await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ expression: field.value, values: values.value }),
      });
      answer = await reply.json();
    } catch {
      return fail("The server does not answer. Is `micrograd explore` still running?");
    }
    if (answer.error) {
      fail(answer.pointed ?? answer.error);
      if (typeof answer.position === "number") {
        field.focus();
        field.setSelectionRange(answer.position, answer.position + 1);
      }
      return;
    }
    session.add(answer);
  }
  return { el };
}
