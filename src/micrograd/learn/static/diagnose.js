// Which wrong idea gives this number? A gradient that a learner states is compared with what each wrong idea of the
// lesson, and each wrong visit order, would give on this very graph.
import { runBug } from "./bugs.js";
import { near } from "./judge.js";
import { ORDERS, runOrder } from "./orders.js";
import { ideas, t } from "./texts.js";

/**
 * The idea behind a wrong gradient: its key, and what is said to it.
 * @param {import("./graph.js").Graph} graph @param {import("./graph.js").Numbers} numbers @param {number} id of the node
 * @param {number} wanted @param {number} said @returns {{key: string, text: string}}
 */
export function diagnose(graph, numbers, id, wanted, said) {
  const fits = (x) => near(said, x) && !near(x, wanted), { name } = graph.nodes[id];
  if (near(-said, wanted)) return { key: "sign", text: t("ideas.sign.text") };
  for (const idea of ideas()) {
    if (idea.ops && !graph.nodes.some((node) => idea.ops.includes(node.op))) continue;
    const { wrong } = runBug(graph, numbers, idea);
    if (wrong.reason && fits(wrong.grads[id])) return { key: idea.key, text: wrong.reason };
  }
  for (const order of ["naive", "preorder", "postorder"]) {
    const run = runOrder(graph, numbers.partials, ORDERS[order](graph));
    if (run.first >= 0 && fits(run.grads[id])) return { key: order, text: run.reason };
  }
  for (const [user, slot] of uses(graph, id)) {
    const local = numbers.partials[user][slot], out = graph.nodes[user].name;
    if (local !== null && fits(local)) return { key: "upstream", text: t("course.one_slope", { name, out }) };
  }
  const root = graph.nodes[graph.root].name;
  if (fits(numbers.data[id])) return { key: "data", text: t("course.its_value", { name }) };
  if (fits(numbers.data[graph.root])) return { key: "root", text: t("course.root_value", { root }) };
  if (fits(0)) return { key: "nothing", text: t("course.not_nothing", { name }) };
  return { key: "", text: t("course.try_nudge", { name, root }) };
}

/** Where a node is used: pairs of a node and a slot. @param {import("./graph.js").Graph} graph @param {number} id */
function uses(graph, id) {
  return graph.nodes.flatMap((node) => node.inputs.flatMap((input, slot) => (input === id ? [[node.id, slot]] : [])));
}
