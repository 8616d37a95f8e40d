// The learner's own expression, in the local page: Python parses it and sends back a graph, or points at the character.
import { h, put } from "./dom.js";
import { t } from "./texts.js";

/** @param {import("./session.js").Session} session @param {string} address */
export function expressionForm(session, address) {
  const plain = { type: "text", spellcheck: "false", autocomplete: "off", dir: "ltr" };
  const input = (says, example) => h("input", { ...plain, placeholder: example, "aria-label": says });
  const field = input(t("page.own_expression"), "tanh(x1*w1 + x2*w2 + b)");
  const values = input(t("page.own_values"), "x1=2 x2=0");
  const told = h("pre", { class: "error", role: "alert", dir: "ltr", hidden: true });
  const el = h("form", { class: "own", onsubmit: (event) => { event.preventDefault(); send(); } },
    field, values, h("button", { type: "submit", class: "strong", "data-do": "explore" }, t("page.explore")), told);
  const state = { expression: "", given: "" };

  /** @param {string} text */
  function fail(text) {
    told.hidden = !text;
    put(told, text);
    field.setAttribute("aria-invalid", String(Boolean(text)));
  }

  async function send() {
    fail("");
    const asked = { expression: field.value, values: values.value };
    let answer;
    try {
      const body = JSON.stringify(asked);
      const reply = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
      answer = await reply.json();
    } catch {
      return fail(t("page.no_server"));
    }
    if (answer.error) {
      fail(answer.pointed ?? answer.error);
      if (typeof answer.position === "number") {
        field.focus();
        field.setSelectionRange(answer.position, answer.position + 1);
      }
      return;
    }
    Object.assign(state, { expression: asked.expression, given: asked.values });
    session.add(answer);
  }
  return {
    el, state,
    /** Open what a link names. @param {string} expression @param {string} given */
    async open(expression, given) {
      if (!expression || (expression === state.expression && given === state.given)) return;
      [field.value, values.value] = [expression, given];
      await send();
    },
  };
}
