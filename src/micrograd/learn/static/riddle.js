// The question of a scene that fails on purpose: say what goes wrong before, or after, it is seen; then try the cure.
import { button, h, put, unique, verdict } from "./dom.js";
import { t, text } from "./texts.js";

/** @param {{onAnswer: (answer: any) => void, onCure: (cure: any) => void}} ears */
export function createRiddle(ears) {
  const el = h("section", { class: "riddle" });

  /** @param {any} scene */
  function open(scene) {
    const words = scene.ask ? text(`theatre.scenes.${scene.key}`) : null;
    el.hidden = !words;
    el.setAttribute("aria-label", t("theatre.question"));
    if (!words) return;
    const name = unique("riddle"),
      told = h("div", { class: "told", role: "status" });
    /** @param {number} k */
    const answer = (k) => {
      const right = k === scene.ask.right;
      put(
        told,
        verdict(right, words.replies[k]),
        right && scene.ask.cure
          ? button(
              words.cure,
              () => {
                ears.onCure(scene.ask.cure);
                put(told, verdict(true, words.cured));
              },
              { "data-do": "cure", class: "strong" },
            )
          : null,
      );
      ears.onAnswer({ scene: scene.key, answer: k, right });
    };
    put(
      el,
      h("p", { class: "asks" }, h("b", {}, words.ask)),
      h(
        "div",
        { class: "choices", role: "radiogroup", "aria-label": words.ask },
        words.choices.map((choice, k) =>
          h(
            "label",
            { class: "choice" },
            h("input", { type: "radio", name, value: k, onchange: () => answer(k) }),
            h("span", {}, choice),
          ),
        ),
      ),
      told,
    );
  }
  return { el, open };
}
