// Words of the glossary in a text: the first one of each kind on a screen is a button that says what it means.
import { button, h } from "./dom.js";
import { t, text } from "./texts.js";

const NO_TERMS = "code, strong, em, a, button, math, pre, .note"; // where a word is defined, or is none of a text

/** @param {any} root with paragraphs, lists and tables @param {Set<string>} [seen] terms that are explained already */
export function linkTerms(root, seen = new Set()) {
  const entries = Object.entries(text("glossary.words"));
  for (const block of root.querySelectorAll("p, li")) {
    if (block.closest(NO_TERMS)) continue;
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), pieces = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest(NO_TERMS)) pieces.push(walker.currentNode);
    for (const piece of pieces) linkIn(piece, block);
  }
  /** @param {any} piece a text node @param {any} block */
  function linkIn(piece, block) {
    for (const [key, { forms, says }] of entries) {
      if (seen.has(key)) continue;
      const words = forms.replaceAll(" ", "|").replaceAll("_", " ");
      const found = new RegExp(`(?<![\\p{L}-])(${words})(?![\\p{L}-])`, "u").exec(piece.data);
      if (!found) continue;
      seen.add(key);
      const after = piece.splitText(found.index);
      after.data = after.data.slice(found[0].length);
      after.before(term(found[0], says, block));
      linkIn(after, block);
    }
  }
}

/** @param {string} word @param {string} says @param {any} block in which it stands */
function term(word, says, block) {
  let told = null;
  const el = button(word, () => {
    el.setAttribute("aria-expanded", String(!told));
    if (told) {
      told.remove();
      told = null;
    } else {
      told = h("span", { class: "term-told", role: "note" }, says);
      block.append(told);
    }
  }, { class: "term", "aria-expanded": "false", title: t("glossary.title") });
  return el;
}
