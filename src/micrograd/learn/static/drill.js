// Drills and reviews: the same kinds of questions on other graphs and with other numbers, drawn by a seed.
import { button, h, put } from "./dom.js";
import { leavesOf } from "./graph.js";
import { taskCard } from "./tasks.js";
import { t } from "./texts.js";

const QUESTIONS = 5; // right answers that finish a drill
const STREAK = 2; // right answers in a row at the beginning that finish it as well: who can do it need not go on
const ANY_NUMBER = new Set(["add", "sub", "mul", "neg", "tanh", "relu", "exp", "sigmoid"]); // ops that take any number
const SMALL_NUMBERS = new Set(["tanh", "exp", "sigmoid"]); // ops that say little about large ones

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
  const square = (node) => node.op === "pow" && graph.nodes[node.inputs[1]].constant
    && Number.isInteger(graph.nodes[node.inputs[1]].data)
    && graph.nodes[node.inputs[1]].data > 0;
  if (!graph.nodes.every((node) => !node.inputs.length || ANY_NUMBER.has(node.op) || square(node))) return null;
  const small = graph.nodes.some((node) => SMALL_NUMBERS.has(node.op)), values = {};
  const left = [-5, -4, -3, -2, 2, 3, 4, 5, 6, 7, -6, -7].map((x) => (small ? x / 5 : x));
  for (const leaf of leavesOf(graph)) {
    if (!left.length) return null;
    values[leaf.name] = left.splice(Math.floor(random() * left.length), 1)[0];
  }
  return values;
}

/**
 * A drill: questions on graphs of the chapter's skills until five are right; a wrong one comes again with other numbers.
 * @param {{stage: any, shapes: any[], seed: number, show: (scene: any) => void, onDone: () => void,
 *          plain?: boolean}} host   plain: it asks for slopes, because gradients have not been explained yet
 */
export function drillScreen({ stage, shapes, seed, show, onDone, plain = false }) {
  const random = randomFrom(seed), queue = shuffled(shapes, random).slice(0, QUESTIONS);
  while (queue.length < QUESTIONS) queue.push(pick(shapes, random));
  const count = h("p", { class: "quiet small", role: "status" }), place = h("div", {});
  const el = h("div", { class: "drill" }, count, place);
  let right = 0, asked = 0;
  const finished = () => right >= QUESTIONS || (right === STREAK && asked === STREAK);

  function ask() {
    count.textContent = t("course.drill_count", { k: String(right), n: String(QUESTIONS) });
    const shape = queue.shift();
    if (!shape || finished()) {
      const said = right < QUESTIONS ? t("course.drill_short") : t("course.drill_done");
      put(place, h("p", { class: "verdict good" }, `✓ ${said}`));
      return onDone();
    }
    const values = different(shape.pools, random);
    asked += 1;
    show({ graph: shape.graph, values, place: "forward" });
    const node = pick(shape.asks, random), what = `${node}.grad`;
    const said = { what: plain ? node : what, skill: t(`course.skills.${shape.skill}`) };
    const question = `<p>${t(plain ? "course.drill_ask_slope" : "course.drill_ask", said)}</p>`;
    const task = { kind: "gradient", node, question, why: "", hint: "", wrong: [] };
    const card = taskCard({ stage, task, solved: false, onSolved: (clean) => {
      if (clean) right += 1;
      else queue.push(pick(shapes.filter((one) => one.skill === shape.skill), random));
      count.textContent = t("course.drill_count", { k: String(right), n: String(QUESTIONS) });
      const go = button(t("course.next_question"), ask, { class: "strong", "data-do": "next-question" });
      place.append(go);
      if (finished()) ask();
    } });
    put(place, card.el);
    card.open();
  }
  return { el, start: ask };
}

/** A number for each leaf, all different as far as the pools allow: equal ones would hide a confusion of two nodes.
 * @param {Record<string, number[]>} pools @param {() => number} random */
export function different(pools, random) {
  const values = {}, taken = new Set();
  for (const [name, pool] of Object.entries(pools)) {
    const free = pool.filter((x) => !taken.has(x));
    values[name] = pick(free.length ? free : pool, random);
    taken.add(values[name]);
  }
  return values;
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
