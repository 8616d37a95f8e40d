// The order lab and the bug lab: choose what goes wrong; the stage then shows it beside the right pass.
import { button, h, mark, put, unique, verdict } from "./dom.js";
import { bugsFor, showsOn } from "./bugs.js";
import { evaluate, nudge, readGraph } from "./graph.js";
import { show } from "./numbers.js";
import { MOST_VISITS, ORDERS, movable, same } from "./orders.js";
import { compareBug, compareOrder } from "./stage.js";
import { t } from "./texts.js";

/** @typedef {import("./session.js").Session} Session */

/**
 * Gradients beside the right ones, wrong ones marked; of a large graph the leaves and what is wrong.
 * @param {Session} session @param {import("./session.js").Lab} lab
 */
function gradientTable(session, lab) {
  const { graph, values } = session.state, { grads } = lab.wrong, right = lab.right.grads;
  const ok = (node) => same(grads[node.id], right[node.id]);
  const nodes = graph.nodes.filter((node) => !node.constant && node.id !== graph.root).reverse();
  const brief = nodes.length > 14 ? nodes.filter((node) => !node.inputs.length || !ok(node)).slice(0, 40) : nodes;
  const truth = (node) => (node.inputs.length || graph.frozen || lab.kind !== "bug" || nodes.length > 200 ? ""
    : mark("local", show(nudge(graph, values, node.id, 1e-4).slope)));
  const heads = ["this_pass", "right_word", ...(lab.kind === "bug" ? ["nudge"] : [])];
  const row = (node) => h("tr", { class: ok(node) ? "" : "bad", "data-node": node.name },
    h("th", { scope: "row", dir: "ltr" }, `${node.name}.grad`),
    h("td", { class: "got" }, ok(node) ? "" : "✗ ", mark("grad", show(grads[node.id]))),
    h("td", { class: "right" }, mark("grad", show(right[node.id]))),
    lab.kind === "bug" && h("td", {}, truth(node)));
  return h("table", {}, h("thead", {}, h("tr", {}, h("td", {}),
    heads.map((head) => h("th", { scope: "col" }, t(`page.${head}`))))), h("tbody", {}, brief.map(row)));
}

/** What a lab says while answers are still to be given. @param {Session} session */
function closed(session) {
  return session.hides && h("p", { class: "quiet" }, t("page.answer_first"));
}

/** @param {Session} session */
export function orderPanel(session) {
  /** @type {number[]} */
  let order = [];
  let graph = null, lab = null, hid = null;
  const recipes = h("div", { class: "row wrap", role: "group", "aria-label": t("page.orders_to_try") },
    Object.keys(ORDERS).map((key) => button(t(`orders.${key}`), () => compareOrder(session, key),
      { class: "small", "data-order": key })));
  const chosen = h("ol", { class: "chips", "aria-label": t("orders.own") });
  const pool = h("div", { class: "chips pool", role: "group", "aria-label": t("page.to_place") });
  const run = button(t("page.run"), () => compareOrder(session, order), { class: "strong", "data-do": "run" });
  const clear = button(t("page.clear"), () => change(() => { order = []; }), { class: "quiet", "data-do": "clear" });
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const body = h("div", {}, recipes, chosen, pool, h("div", { class: "row" }, run, clear), result);
  const shut = h("div", {});
  const el = h("div", { class: "panel" }, h("p", { class: "quiet small" }, t("page.orders_about")), shut, body);

  function tell() {
    const { graph: now } = session.state, done = lab.wrong;
    const nodes = now.nodes.filter((node) => !node.constant && node.id !== now.root);
    const wrong = nodes.filter((node) => !same(done.grads[node.id], done.right[node.id])).length;
    const faults = done.flows.filter((flow) => flow.fault);
    const causes = [...faults].sort((a, b) => Number(a.fault === "inherited") - Number(b.fault === "inherited"));
    const many = done.visits.length >= MOST_VISITS && t("page.stopped", { n: String(MOST_VISITS) });
    put(result, verdict(!wrong, wrong ? t("page.wrong_count", { title: lab.title, k: String(wrong), n: String(nodes.length) })
      : t("page.all_right", { title: lab.title })), many && h("p", { class: "quiet small" }, many),
    h("ul", { class: "reasons" }, causes.slice(0, 12).map((flow) => h("li", { class: flow.fault }, flow.reason))),
    faults.length > 12 && h("p", { class: "quiet small" }, t("page.more", { n: String(faults.length - 12) })),
    gradientTable(session, lab));
  }

  /** Change the order by hand: what was run is no longer what stands there. @param {() => void} act */
  function change(act) {
    act();
    if (session.state.lab) session.leaveLab();
    render();
  }

  /** @param {number} id */
  function place(id) {
    if (!movable(session.state.graph).includes(id) || session.hides) return;
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
    const beyond = order.length > 60 && h("li", { class: "quiet" }, t("page.more", { n: String(order.length - 60) }));
    put(chosen, order.slice(0, 60).map((id, k) => chip(nodes[id], k)), beyond);
    if (!order.length) put(chosen, h("li", { class: "quiet small empty" }, t("page.nothing_placed")));
    put(pool, left.reverse().slice(0, 60).map((id) => button(`+ ${nodes[id].name}`, () => {
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
      class: "chip placed", draggable: "true", title: t("page.chip"), "aria-label": `${k + 1}: ${node.name}`,
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
    update() {
      const now = session.state.lab?.kind === "order" ? session.state.lab : null;
      if (hid !== session.hides) {
        hid = session.hides;
        put(shut, closed(session));
        body.hidden = hid;
      }
      if (graph !== session.state.graph) {
        [graph, order] = [session.state.graph, []];
        render();
      }
      if (now?.wrong === lab?.wrong) return;
      lab = now;
      if (!lab) return put(result);
      order = lab.order ?? [];
      render();
      tell();
    },
  };
}

/** @param {Session} session */
export function bugPanel(session) {
  const choices = h("div", { class: "choices", role: "radiogroup", "aria-label": t("page.which_bug") });
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const body = h("div", {}, choices, result), shut = h("div", {});
  const el = h("div", { class: "panel" }, h("p", { class: "quiet small" }, t("page.bugs_about")), shut, body);
  let graph = null, picked = "", lab = null, hid = null, built = "";
  const group = unique("bug");
  /** @type {Map<string, import("./graph.js").Graph>} */
  const graphs = new Map();

  const presetGraph = (preset) => {
    if (!graphs.has(preset.key)) graphs.set(preset.key, readGraph(preset.timeline));
    return /** @type {import("./graph.js").Graph} */ (graphs.get(preset.key));
  };
  const bugs = () => bugsFor([session.state.graph, ...session.presets.map(presetGraph)]);

  function build() {
    const list = bugs(), now = list.map((bug) => bug.key).join();
    if (now === built) return;
    built = now;
    put(choices, list.map((bug) => h("label", { class: "choice" },
      h("input", { type: "radio", name: group, value: bug.key, onchange: () => start(bug.key) }),
      h("span", {}, t(`ideas.${bug.key}.title`)))));
  }

  /** @param {string} key */
  function start(key) {
    const bug = bugs().find((one) => one.key === key), { graph: now, numbers } = session.state;
    if (!bug) return;
    picked = key;
    const { shows, why } = showsOn(now, numbers, bug);
    if (shows) return compareBug(session, key);
    if (session.state.lab) session.leaveLab();
    picked = key;
    tick();
    const other = session.presets.find((preset) => preset.key !== session.state.key
      && showsOn(presetGraph(preset), evaluate(presetGraph(preset), {}), bug).shows);
    put(result, difference(bug), verdict(true, t("page.bug_silent", { why })),
      other && button(t("page.open_graph", { title: other.title }),
        () => { session.open(other.key); start(key); }, { "data-do": "elsewhere" }));
  }

  function tick() {
    for (const radio of choices.querySelectorAll("input")) radio.checked = radio.value === picked;
  }

  /** @param {any} bug */
  function difference(bug) {
    return h("pre", { class: "diff", dir: "ltr" }, h("del", {}, `- ${bug.code[0]}`), "\n", h("ins", {}, `+ ${bug.code[1]}`));
  }

  return {
    el,
    update(changed) {
      if (hid !== session.hides) {
        hid = session.hides;
        put(shut, closed(session));
        body.hidden = hid;
      }
      if (graph !== session.state.graph) {
        graph = session.state.graph;
        build();
        put(result);
        [picked, lab] = ["", null];
      }
      const now = session.state.lab?.kind === "bug" ? session.state.lab : null;
      if (now && now.wrong !== lab?.wrong) {
        [lab, picked] = [now, now.key];
        const bug = bugs().find((one) => one.key === picked);
        put(result, difference(bug), verdict(false, now.wrong.reason), gradientTable(session, now));
      } else if (!now && lab) {
        lab = null;
        if (!("numbers" in changed)) picked = "";
        put(result);
      }
      if (picked && !now && "numbers" in changed && session.state.tab === "bugs" && !session.hides) start(picked);
      tick();
    },
  };
}
