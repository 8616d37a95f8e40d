// Drills and reviews: the same kinds of questions on other graphs and with other numbers, drawn by a seed.
import { button, h, put } from "./dom.js";
import { leavesOf } from "./graph.js";
import { taskCard } from "./tasks.js";
import { t } from "./texts.js";

const QUESTIONS = 5; // right answers that finish a drill
const ANY_NUMBER = new Set(["add", "sub", "mul", "neg"]); // ops that take any number

/** Random numbers from a seed (mulberry32). @param {number} seed @returns {() => number} from 0 to 1 */
export function randomFrom(seed) {
  let state = (seed * 2654435761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/** @template T @param {T[]} list @param {() => number} random @returns {T} */
const pick = (list, random) => list[Math.floor(random() * list.length)];

/** Other whole numbers for the leaves of a graph of sums and products, all different; none for another graph.
 * @param {any} session @param {() => number} random */
export function otherNumbers(session, random) {
  const { graph } = session.state;
  if (!graph.nodes.every((node) => !node.inputs.length || ANY_NUMBER.has(node.op))) return null;
  const left = [-5, -4, -3, -2, 2, 3, 4, 5, 6, 7, -6, -7], values = {};
  for (const leaf of leavesOf(graph)) {
    if (!left.length) return null;
    values[leaf.name] = left.splice(Math.floor(random() * left.length), 1)[0];
  }
  return values;
}

/**
 * A drill: questions on graphs of the chapter's skills until five are right; a wrong one comes again with other numbers.
 * @param {{stage: any, shapes: any[], seed: number, show: (scene: any) => void, onDone: () => void}} host
 */
export function drillScreen({ stage, shapes, seed, show, onDone }) {
  const random = randomFrom(seed), queue = shuffled(shapes, random).slice(0, QUESTIONS);
  while (queue.length < QUESTIONS) queue.push(pick(shapes, random));
  const count = h("p", { class: "quiet small", role: "status" }), place = h("div", {});
  const el = h("div", { class: "drill" }, count, place);
  let right = 0;

  function ask() {
    count.textContent = t("course.drill_count", { k: String(right), n: String(QUESTIONS) });
    const shape = queue.shift();
    if (!shape || right >= QUESTIONS) {
      put(place, h("p", { class: "verdict good" }, `✓ ${t("course.drill_done")}`));
      return onDone();
    }
    const values = Object.fromEntries(Object.entries(shape.pools).map(([name, pool]) => [name, pick(pool, random)]));
    show({ graph: shape.graph, values, place: "forward" });
    const node = pick(shape.asks, random), what = `${node}.grad`;
    const question = `<p>${t("course.drill_ask", { what, skill: t(`course.skills.${shape.skill}`) })}</p>`;
    const task = { kind: "gradient", node, question, why: "", hint: "", wrong: [] };
    const card = taskCard({ stage, task, solved: false, onSolved: (clean) => {
      if (clean) right += 1;
      else queue.push(pick(shapes.filter((one) => one.skill === shape.skill), random));
      count.textContent = t("course.drill_count", { k: String(right), n: String(QUESTIONS) });
      const go = button(t("course.next_question"), ask, { class: "strong", "data-do": "next-question" });
      place.append(go);
      if (right >= QUESTIONS) ask();
    } });
    put(place, card.el);
    card.open();
  }
  return { el, start: ask };
}

/** @template T @param {T[]} list @param {() => number} random @returns {T[]} */
function shuffled(list, random) {
  const out = [...list];
  for (let k = out.length - 1; k > 0; k--) {
    const other = Math.floor(random() * (k + 1));
    [out[k], out[other]] = [out[other], out[k]];
  }
  return out;
}
