// The bug lab: choose a mistake, see which gradients it spoils, and that a nudge would have found it.
import { assigned, mistaken, mistakesFor, unchained, unzeroed } from "./bugs.js";
import { h, mark, put, unique, verdict } from "./dom.js";
import { gradientTable } from "./orderlab.js";
import { nudge } from "./graph.js";
import { show } from "./numbers.js";
import { same } from "./orders.js";

/** @typedef {import("./session.js").Session} Session */

/** @param {import("./graph.js").Graph} graph */
function bugsFor(graph) {
  return [
    { key: "assign", title: "= in place of +=", run: assigned,
      right: "v.grad += partial * self.grad", wrong: "v.grad  = partial * self.grad",
      why: "A node that is used twice gets two contributions. With = the second wipes out the first.",
      none: "No node is used twice here, so = and += do the same. Try a·a or the diamond." },
    { key: "zero", title: "zero_grad forgotten", run: (g, n) => unzeroed(g, n, 2),
      right: "zero_grad(); L.backward()", wrong: "L.backward(); L.backward()",
      why: "Leaves add up over calls. Without zero_grad the second pass lands on top of the first: " +
        "every leaf doubles, and the next step of descent is twice as long.",
      none: "This graph has no leaves." },
    { key: "chain", title: "upstream left out", run: unchained,
      right: "v.grad += partial * self.grad", wrong: "v.grad += partial",
      why: "Each node passes on its local derivative alone: the chain rule without its chain.",
      none: "Every upstream gradient is 1 here, so nothing shows." },
    ...mistakesFor(graph).map((mistake) => ({
      ...mistake, run: (g, n) => mistaken(g, n, mistake),
      why: `A wrong local derivative in every ${mistake.op}: all that lies behind it is scaled by the wrong number.`,
      none: "At these values the wrong rule gives the right number. Move a leaf and it will show.",
    })),
  ];
}

/** @param {Session} session */
export function bugPanel(session) {
  const choices = h("div", { class: "choices", role: "radiogroup", "aria-label": "which bug" });
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const el = h("div", { class: "panel" },
    h("p", { class: "quiet small" }, "One mistake in the backward pass. Choose it and see what it does to the ",
      "gradients; a nudge of the leaf always tells the truth."),
    choices, result);
  let graph = null, picked = "", numbers = null;

  function build() {
    const group = unique("bug");
    put(choices, bugsFor(graph).map((bug) => h("label", { class: "choice" },
      h("input", { type: "radio", name: group, value: bug.key, onchange: () => { picked = bug.key; start(); } }),
      h("span", {}, bug.title))));
    put(result);
  }

  function start() {
    const bug = bugsFor(graph).find((one) => one.key === picked);
    if (!bug) return;
    const state = session.state, done = bug.run(state.graph, state.numbers);
    const nodeNotes = new Map();
    for (const node of state.graph.nodes) {
      if (!node.constant && !same(done.grads[node.id], done.right[node.id])) {
        nodeNotes.set(node.id, { kind: "wrong", text: `✗ should be ${show(done.right[node.id])}` });
      }
    }
    numbers = state.numbers;
    session.pause();
    const grads = state.graph.nodes.map((node) => (node.constant ? null : done.grads[node.id]));
    session.store.set({ lab: { grads, edgeNotes: done.notes, nodeNotes } });
    const truth = (node) => (node.inputs.length || state.graph.frozen ? ""
      : mark("local", show(nudge(state.graph, state.values, node.id, 1e-4).slope)));
    put(result,
      h("pre", { class: "diff" }, h("del", {}, `- ${bug.right}`), "\n", h("ins", {}, `+ ${bug.wrong}`)),
      verdict(!nodeNotes.size, nodeNotes.size ? bug.why : bug.none),
      gradientTable(state.graph, done, ["with the bug", "right", "nudge"], truth));
  }

  return {
    el,
    update(changed) {
      if (graph !== session.state.graph) {
        [graph, picked] = [session.state.graph, ""];
        build();
      } else if (picked && session.state.tab === "bugs") {
        if ("tab" in changed || numbers !== session.state.numbers) start(); // the leaves have moved: look again
      }
    },
  };
}
