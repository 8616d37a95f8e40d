// Every text of the page, by key, with slots to fill in; and numbers read aloud. The files are those that Python reads.
import { show } from "./numbers.js";

/** @type {any} */
let words = {};
/** @type {any[]} */
let known = [];

/** Take the texts of a language, and the wrong ideas of the lesson. @param {any} texts @param {any[]} ideas */
export function useTexts(texts, ideas) {
  words = texts;
  known = ideas;
}

/** The wrong ideas of the lesson: where each applies, and what it would give. */
export function ideas() {
  return known;
}

/** The entry for a dotted key. @param {string} key @returns {any} */
export function text(key) {
  return key.split(".").reduce((entry, part) => entry?.[part], words);
}

/** A template filled in, piece by piece: the name of the slot ("" for words in between) and its text.
 * @param {string} template @param {Record<string, any>} values @returns {[string, string][]} */
export function pieces(template, values) {
  const parts = template.split(/\{(\w+)\}/);
  return parts.map((part, k) => (k % 2 ? [part, String(values[part])] : ["", part])).filter(([, part]) => part);
}

/** The text for a key, with its slots filled in; numbers as a sentence has them.
 * @param {string} key @param {Record<string, any>} [values] */
export function t(key, values = {}) {
  const shown = Object.entries(values).map(([name, x]) => [name, typeof x === "number" ? show(x) : x]);
  return pieces(text(key), Object.fromEntries(shown)).map(([, part]) => part).join("");
}

/** A formula of the lesson: a number, the name of a fact, or a list of an operator and two formulas.
 * @param {any} formula @param {Record<string, number>} facts @returns {number} */
export function calculate(formula, facts) {
  if (typeof formula === "string") return facts[formula];
  if (!Array.isArray(formula)) return formula;
  const a = calculate(formula[1], facts), b = calculate(formula[2], facts);
  if (formula[0] === "*") return a * b;
  if (formula[0] === "-") return a - b;
  return Number(formula[0] === "<=" ? a <= b : a !== b);
}

/** A number as it is read aloud. @param {number} x @returns {string} */
export function speak(x) {
  const figures = show(x);
  if (figures.startsWith("−")) return t("spoken.minus", { x: speak(-x) });
  if (figures === "nan") return t("spoken.nan");
  if (figures === "∞") return t("spoken.infinity");
  if (!figures.includes("e")) return word(figures);
  const [mantissa, exponent] = figures.split("e");
  return t("spoken.power_of_ten", { x: word(mantissa), n: speak(Number(exponent.replace("−", "-"))) });
}

/** @param {string} figures */
function word(figures) {
  return (/^\d+$/.test(figures) && words.numbers[Number(figures)]) || figures;
}

/** An op over operands as it is read aloud. @param {string} symbol @param {string[]} operands */
export function speakCall(symbol, operands) {
  const named = words.spoken.ops[symbol] ?? (symbol || "op");
  if (operands.length === 2 && !/^[A-Za-z_]\w*$/.test(symbol)) {
    return t("spoken.infix", { a: operands[0], op: named, b: operands[1] });
  }
  if (symbol === "neg") return t("spoken.minus", { x: operands[0] });
  return t("spoken.call", { op: named, args: operands.join(words.spoken.and) });
}
