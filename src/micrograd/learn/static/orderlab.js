// The order lab: place the visit order of a backward pass, run it, and see what was lost or counted twice.
import { button, h, mark, put, verdict } from "./dom.js";
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

/**
 * Gradients beside the right ones, wrong ones marked; of a large graph the leaves and what is wrong.
 * @param {import("./graph.js").Graph} graph @param {{grads: number[], right: number[]}} done @param {string[]} heads
 * @param {(node: any) => any} [more] what a last column has
 */
export function gradientTable(graph, done, heads, more) {
  const ok = (node) => same(done.grads[node.id], done.right[node.id]);
  const nodes = graph.nodes.filter((node) => !node.constant && node.id !== graph.root).reverse();
  const brief = nodes.length > 14 ? nodes.filter((node) => !node.inputs.length || !ok(node)).slice(0, 40) : nodes;
  const row = (node) => h("tr", { class: ok(node) ? "" : "bad", "data-node": node.name },
    h("th", { scope: "row" }, `${node.name}.grad`),
    h("td", { class: "got" }, ok(node) ? "" : "✗ ", mark("grad", show(done.grads[node.id]))),
    h("td", { class: "right" }, mark("grad", show(done.right[node.id]))),
    more && h("td", {}, more(node)));
  return h("table", {}, h("thead", {}, h("tr", {}, ["", ...heads].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, brief.map(row)));
}

/** @param {Session} session */
export function orderPanel(session) {
  /** @type {number[]} */
  let order = [];
  let graph = null, rule = "";
  const recipes = h("div", { class: "row wrap", role: "group", "aria-label": "orders to try" },
    Object.entries(ORDERS).map(([key, { title }]) =>
      button(title, () => follow(key), { class: "small", "data-order": key })));
  const chosen = h("ol", { class: "chips", "aria-label": "your order" });
  const pool = h("div", { class: "chips pool", role: "group", "aria-label": "nodes still to place" });
  const run = button("run", () => start(), { class: "strong" });
  const clear = button("clear", () => change(() => { order = []; }), { class: "quiet" });
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const el = h("div", { class: "panel" },
    h("p", { class: "quiet small" }, "In which order should the nodes pass their gradient on? Click nodes here or in ",
      "the graph, drag them, or move one with ← → and take it out with Delete. Leaves have nothing to pass on."),
    recipes, chosen, pool, h("div", { class: "row" }, run, clear), result);

  /** @param {string} key */
  function follow(key) {
    const all = ORDERS[key].order(session.state.graph), able = new Set(movable(session.state.graph));
    order = all.filter((id) => able.has(id));
    rule = ORDERS[key].title;
    if (all.length >= MOST_VISITS) rule += ` (stopped after ${MOST_VISITS} visits: they double with every reuse)`;
    start();
  }

  function start() {
    const { graph: now, numbers } = session.state;
    const done = runOrder(now, numbers.partials, order);
    const edgeNotes = new Map(), nodeNotes = new Map();
    for (const flow of done.flows) {
      const key = `${flow.to}:${flow.slot}`;
      if (flow.fault) edgeNotes.set(key, { kind: `fault ${flow.fault}`, text: SIGN[flow.fault](flow) });
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
    const { graph: now } = session.state;
    const nodes = now.nodes.filter((node) => !node.constant && node.id !== now.root);
    const wrong = nodes.filter((node) => !same(done.grads[node.id], done.right[node.id])).length;
    const faults = done.flows.filter((flow) => flow.fault);
    const causes = [...faults].sort((a, b) => Number(a.fault === "inherited") - Number(b.fault === "inherited"));
    put(result,
      verdict(!wrong, `${rule ? `${rule}: ` : ""}${wrong ? `${wrong} of ${nodes.length} gradients are wrong.`
        : "every gradient is right. Each node passed its gradient on once, after it was complete."}`),
      h("ul", { class: "reasons" }, causes.slice(0, 12).map((flow) => h("li", { class: flow.fault }, flow.reason))),
      faults.length > 12 && h("p", { class: "quiet small" }, `… and ${faults.length - 12} more edges.`),
      gradientTable(now, done, ["this order", "right"]));
  }

  /** Change the order by hand: what was run is no longer what stands there. @param {() => void} act */
  function change(act) {
    act();
    rule = "";
    session.store.set({ lab: null });
    render();
  }

  /** @param {number} id */
  function place(id) {
    if (!movable(session.state.graph).includes(id)) return;
    change(() => { order = [...order, id]; });
  }

  /** @param {number} from @param {number} to */
  function move(from, to) {
    if (to < 0 || to >= order.length) return;
    change(() => order.splice(to, 0, ...order.splice(from, 1)));
    chosen.children[to]?.querySelector("button")?.focus();
  }

  /** @param {number} k */
  function remove(k) {
    change(() => order.splice(k, 1));
    (chosen.children[Math.min(k, order.length - 1)]?.querySelector("button") ?? pool.querySelector("button"))?.focus();
  }

  function render() {
    const { nodes } = session.state.graph, left = movable(session.state.graph).filter((id) => !order.includes(id));
    const beyond = order.length > 60 && h("li", { class: "quiet" }, `… ${order.length - 60} more`);
    put(chosen, order.slice(0, 60).map((id, k) => chip(nodes[id], k)), beyond);
    if (!order.length) put(chosen, h("li", { class: "quiet small empty" }, "nothing placed yet"));
    put(pool, left.reverse().map((id) => button(`+ ${nodes[id].name}`, () => {
      place(id);
      pool.querySelector("button")?.focus();
    }, { class: "chip", "data-place": nodes[id].name })));
    pool.hidden = !left.length;
    run.disabled = !order.length;
    clear.disabled = !order.length;
    put(result);
  }

  /** @param {any} node @param {number} k */
  function chip(node, k) {
    const keys = { ArrowLeft: () => move(k, k - 1), ArrowRight: () => move(k, k + 1), Delete: () => remove(k) };
    const handle = button(`${k + 1}. ${node.name} ×`, () => remove(k), {
      class: "chip placed", draggable: "true", title: "drag, ← →, or Delete", "aria-label": `${k + 1}: ${node.name}`,
      onkeydown: (event) => {
        if (!keys[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
      },
      ondragstart: (event) => event.dataTransfer.setData("text/plain", `mg:${k}`),
    });
    return h("li", {
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => {
        event.preventDefault();
        const [, from] = /^mg:(\d+)$/.exec(event.dataTransfer.getData("text/plain")) ?? [];
        if (from !== undefined) move(Number(from), k);
      },
    }, handle);
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
