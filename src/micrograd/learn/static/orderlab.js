// The order lab: place the visit order of a backward pass, run it, and see what was lost or counted twice.
import { h, mark, put } from "./dom.js";
import { show } from "./numbers.js";
import { MOST_VISITS, ORDERS, movable, runOrder, same } from "./orders.js";

/** @typedef {import("./session.js").Session} Session */

/** The short words on an edge; the list below the drawing has the long ones. */
const SIGN = {
  never: (flow) => `✕ ${show(flow.wanted)} lost`,
  early: (flow) => `✕ ${show(flow.wanted - flow.got)} lost`,
  repeated: (flow) => `×${flow.times}: ${signed(flow.got - flow.wanted)}`,
  inherited: (flow) => `≠ ${show(flow.wanted)}`,
};

/** @param {number} x */
function signed(x) {
  return x > 0 ? `+${show(x)}` : show(x);
}

/** @param {Session} session */
export function orderPanel(session) {
  /** @type {number[]} */
  let order = [];
  let graph = null, rule = "";
  const recipes = h("div", { class: "row wrap", role: "group", "aria-label": "orders to try" },
    Object.entries(ORDERS).map(([key, { title }]) => h("button", { type: "button", class: "small", "data-order": key, onclick: () => follow(key) }, title)));
  const chosen = h("ol", { class: "chips", "aria-label": "your order" });
  const pool = h("div", { class: "chips pool", role: "group", "aria-label": "nodes still to place" });
  const run = h("button", { type: "button", class: "strong", onclick: () => start() }, "run");
  const clear = h("button", { type: "button", class: "quiet", onclick: () => { order = []; rule = ""; session.store.set({ lab: null }); render(); } }, "clear");
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const el = h("div", { class: "panel" },
    h("p", { class: "quiet small" }, "In which order should the nodes pass their gradient on? Click nodes here or in the graph, drag them, or move one with ← → and take it out with Delete. Leaves have nothing to pass on."),
    recipes, chosen, pool, h("div", { class: "row" }, run, clear), result);

  /** @param {string} key */
  function follow(key) {
    const all = ORDERS[key].order(session.state.graph), able = new Set(movable(session.state.graph));
    order = all.filter((id) => able.has(id));
    rule = ORDERS[key].title + (all.length >= MOST_VISITS ? ` (stopped after ${MOST_VISITS} visits: it doubles with every reuse)` : "");
    start();
  }

  function start() {
    const { graph: now, numbers } = session.state;
    const done = runOrder(now, numbers.partials, order);
    const edgeNotes = new Map(), nodeNotes = new Map();
    for (const flow of done.flows) {
      if (flow.fault) edgeNotes.set(`${flow.to}:${flow.slot}`, { kind: `fault ${flow.fault}`, text: SIGN[flow.fault](flow) });
    }
    for (const node of now.nodes) {
      if (!node.constant && !same(done.grads[node.id], done.right[node.id])) {
        nodeNotes.set(node.id, { kind: "wrong", text: `✗ should be ${show(done.right[node.id])}` });
      }
    }
    const grads = now.nodes.map((node) => (node.constant ? null : done.grads[node.id]));
    session.pause();
    session.store.set({ lab: { grads, edgeNotes, nodeNotes } });
    render();
    tell(done);
  }

  /** @param {import("./orders.js").Run} done */
  function tell(done) {
    const nodes = session.state.graph.nodes.filter((node) => !node.constant && node.id !== session.state.graph.root);
    const wrong = nodes.filter((node) => !same(done.grads[node.id], done.right[node.id]));
    const faults = done.flows.filter((flow) => flow.fault && flow.fault !== "inherited");
    const later = done.flows.filter((flow) => flow.fault === "inherited");
    const leaves = nodes.filter((node) => !node.inputs.length);
    const brief = nodes.length > 14 ? [...new Set([...leaves, ...wrong])] : [...nodes].reverse();
    put(result,
      h("p", { class: wrong.length ? "verdict bad" : "verdict good" },
        wrong.length ? `✗ ${rule ? `${rule}: ` : ""}${wrong.length} of ${nodes.length} gradients are wrong.`
          : `✓ ${rule ? `${rule}: ` : ""}every gradient is right. Each node fired once, after all that push into it.`),
      h("ul", { class: "reasons" }, [...faults, ...later].slice(0, 12).map((flow) => h("li", { class: flow.fault, "data-fault": flow.fault }, flow.reason))),
      faults.length + later.length > 12 && h("p", { class: "quiet small" }, `… and ${faults.length + later.length - 12} more edges.`),
      h("table", {}, h("thead", {}, h("tr", {}, ["", "this order", "right"].map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, brief.slice(0, 40).map((node) => {
          const ok = same(done.grads[node.id], done.right[node.id]);
          return h("tr", { class: ok ? "" : "bad", "data-node": node.name },
            h("th", { scope: "row" }, `${node.name}.grad`), h("td", { class: "got" }, ok ? "" : "✗ ", mark("grad", show(done.grads[node.id]))),
            h("td", { class: "right" }, mark("grad", show(done.right[node.id]))));
        }))));
  }

  /** @param {number} id */
  function place(id) {
    if (!movable(session.state.graph).includes(id)) return;
    order = [...order, id];
    rule = "";
    session.store.set({ lab: null });
    render();
  }

  /** @param {number} from @param {number} to */
  function move(from, to) {
    if (to < 0 || to >= order.length) return;
    const [id] = order.splice(from, 1);
    order.splice(to, 0, id);
    rule = "";
    session.store.set({ lab: null });
    render();
    chosen.children[to]?.querySelector("button")?.focus();
  }

  /** @param {number} k */
  function remove(k) {
    order.splice(k, 1);
    rule = "";
    session.store.set({ lab: null });
    render();
    (chosen.children[Math.min(k, order.length - 1)]?.querySelector("button") ?? pool.querySelector("button"))?.focus();
  }

  function render() {
    const { nodes } = session.state.graph, left = movable(session.state.graph).filter((id) => !order.includes(id));
    put(chosen, order.slice(0, 60).map((id, k) => chip(nodes[id], k)), order.length > 60 && h("li", { class: "quiet" }, `… ${order.length - 60} more`));
    if (!order.length) put(chosen, h("li", { class: "quiet small empty" }, "nothing placed yet"));
    put(pool, left.reverse().map((id) => h("button", { type: "button", class: "chip", "data-place": nodes[id].name, onclick: () => {
      place(id);
      pool.querySelector("button")?.focus();
    } }, `+ ${nodes[id].name}`)));
    pool.hidden = !left.length;
    run.disabled = !order.length;
    clear.disabled = !order.length;
    put(result);
  }

  /** @param {any} node @param {number} k */
  function chip(node, k) {
    const button = h("button", {
      type: "button", class: "chip placed", draggable: "true", title: "drag, ← →, or Delete", "aria-label": `${k + 1}: ${node.name}`,
      onkeydown: (event) => {
        const act = { ArrowLeft: () => move(k, k - 1), ArrowRight: () => move(k, k + 1), Delete: () => remove(k), Backspace: () => remove(k) }[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
      },
      ondragstart: (event) => event.dataTransfer.setData("text/plain", `mg:${k}`),
      onclick: () => remove(k),
    }, `${k + 1}. ${node.name} ×`);
    return h("li", {
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => {
        event.preventDefault();
        const [, from] = /^mg:(\d+)$/.exec(event.dataTransfer.getData("text/plain")) ?? [];
        if (from !== undefined) move(Number(from), k);
      },
    }, button);
  }

  return {
    el,
    place,
    update(changed) {
      if (graph !== session.state.graph) {
        [graph, order, rule] = [session.state.graph, [], ""];
        render();
      } else if ("numbers" in changed) put(result);
    },
  };
}
