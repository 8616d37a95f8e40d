// The stage: a graph, its timeline and the sentence of the present frame. Everything that shows a graph uses it: the
// explorer, a chapter of the course, the theatre.
//
//   import { createStage } from "./stage.js";
//   useTexts(lesson.texts, lesson.ideas);              // once per page, from texts.js
//   const stage = createStage({ presets, first });     // presets: [{ key, title, about, timeline: page.pack(...) }]
//   place.append(stage.el);                            // it fills the width and the height of its container
//
// In, by show(what), where every field is optional and what is left out stays as it is:
//   graph      the key of a preset, or { key, title, timeline } for a graph that was not among them
//   values     numbers for leaves, by name: { a: 2, b: -3 }
//   step       how many frames are shown; or the frame at which a gradient arrives: { into: "a", from: "b" }
//   question   null, or { kind: "contribution" } or { kind: "gradient" | "data", node: "a", … } (see question.js);
//              while a question is open, nothing on the stage shows its answer
//   predict    whether each backward frame is asked for before it is shown
//   lab        null, { order: ["d", "b", "c"] | "naive" | … } or { bug: key of an idea }: two passes side by side
// Also: stage.session (all that can be done: go, next, back, play, setLeaves …), stage.slot (an element between the
// drawing and the sentence, for a host that has something to put there), stage.state() (what show() takes, as plain
// data), stage.destroy().
//
// Out, by on(event, f), which gives a function that stops it:
//   step       { step, total, frame, sentence, spoken }     after every step, also of a lab
//   answer     { question, asked, answer, wanted, right, misconception }
//   values     numbers of the leaves by name, after a change
//   graph      { key }                                      another graph was opened
//   node       { id, name }                                 a node was clicked, or Enter was pressed on it
//   end        {}                                           the last frame is shown
import { button, h, onEnter, put } from "./dom.js";
import { besideCard } from "./beside.js";
import { bugsFor, runBug } from "./bugs.js";
import { leavesOf } from "./graph.js";
import { READABLE, placeCompact } from "./compact.js";
import { boxesOf, buildTree, placeGroups } from "./groups.js";
import { drawMinimap } from "./minimap.js";
import { ORDERS, runOrder } from "./orders.js";
import { FLIGHT, drawGraph } from "./picture.js";
import { show } from "./numbers.js";
import { panZoom } from "./panzoom.js";
import { questionCard } from "./question.js";
import { sentence } from "./sentence.js";
import { Session, groupable } from "./session.js";
import { t } from "./texts.js";
import { transport } from "./transport.js";

const CROWDED = 2500; // px² that it may cover, where a bend of an edge counts as 400
const LARGEST = 1.4; // to which a compact drawing grows where there is room: its letters are small
const MODEST = 360; // px up to which it grows where the drawing takes the height that it needs
const LAB_HEAD = 26; // px of the head of a view in a lab
const ROOMY = 480; // px from which a question stands at its node

/**
 * @param {{presets: import("./session.js").Preset[], first?: string, whole?: number, compact?: boolean,
 *          family?: () => any[], wheel?: boolean, search?: boolean, picks?: any, most?: () => number[]}} host
 *   whole: the smallest scale at which a graph is still shown as a whole; compact: whether a graph that is larger than its
 *   window gets a smaller drawing; family: graphs that are drawn in one direction; wheel: whether the wheel zooms; search:
 *   whether there is a field that finds nodes; picks: the layer for choices in the picture (picks.js), where there are any;
 *   most: two heights where the drawing takes what it needs: the first if it can be read in that, else up to the second; zeros
 *   where it fills its window
 */
export function createStage(host) {
  const session = new Session(host.presets, host.first);
  /** @type {Record<string, ((what: any) => void)[]>} */
  const ears = {};
  const say = (event, what) => { for (const ear of ears[event] ?? []) ear(what); };

  // -- the parts
  const tool = (name, sign, key, act) => {
    const label = t(`page.${name}`);
    return button(sign, act, { class: "icon small", "data-do": name, "aria-label": label, title: `${label} (${key})` });
  };
  const turn = tool("turn", t("page.turn_word"), "t", () => api.turn());
  const boxes = tool("boxes", t("page.boxes_word"), "x", () => api.boxes());
  const here = tool("open_here", t("page.open_here_word"), "o", () => api.openHere());
  const leave = button(t("page.leave_lab"), () => session.leaveLab(), { class: "small", "data-do": "leave" });
  const about = h("p", { class: "about quiet" });
  const seek = h("input", { type: "text", class: "seek", size: 9, hidden: !host.search, "aria-label": t("page.seek"),
    placeholder: t("page.seek_word"), onkeydown: onEnter(() => api.seek(seek.value)) });
  const tools = h("div", { class: "tools" }, about, seek, leave, boxes, here, turn,
    tool("zoom_out", "−", "−", () => api.zoom(1 / 1.2)), tool("fit", t("page.fit_word"), "0", () => api.fit()),
    tool("zoom_in", "+", "+", () => api.zoom(1.2)));
  const views = h("div", { class: "views" });
  const slot = h("div", { class: "slot" });
  const said = sentence(session), steps = transport(session);
  const question = questionCard(session, (id, right, said_, kind) => {
    for (const view of shown) view.picture.meet(id, right, show(said_), kind !== "data");
    anchor();
  });
  const { picks } = host;
  const pane = h("div", { class: "pane" }, views, picks?.el, picks?.reply, question.el);
  const sheet = h("div", { class: "sheet" }, said.el, steps.el);
  const el = h("section", { class: "stage", "aria-label": t("page.stage") }, tools, pane, slot, sheet);

  // -- the drawing: one view, or two beside each other
  /** @type {{picture: any, map: any, el: any}[]} */
  let shown = [];
  let crowded = null, placed = null, sought = -1;
  let drawn = "", tree = null, treeOf = null, layout = null;
  const size = () => `${views.clientWidth}x${views.clientHeight}`;

  /** The layout, and for a lab how its two views stand, that shows the graph largest. */
  function choose() {
    const [low, high] = host.most?.() ?? [0, 0], found = low ? chooseIn(low) : null;
    return found && found.scale >= READABLE ? found : chooseIn(high || views.clientHeight || 500);
  }

  /** The same in a room of this height. @param {number} tall */
  function chooseIn(tall) {
    const { graph, turned, boxes: grouped, open, lab } = session.state;
    if (grouped && treeOf !== graph) [tree, treeOf] = [buildTree(graph), graph];
    const usual = grouped ? [placeGroups(graph, tree, new Set(open))]
      : turned === null ? graph.layouts : [graph.layouts[Number(turned)]];
    const w = views.clientWidth || 800;
    const rooms = lab ? [["columns", w / 2, tall - LAB_HEAD], ["rows", w, tall / 2 - LAB_HEAD]] : [["one", w, tall]];
    if (!host.compact || grouped || !graph.layouts.length) return largest(usual, rooms);
    const way = turned === null ? direction(graph, rooms) : "", ways = usual.filter((one) => !way || one.rankdir === way);
    const plain = largest(ways, rooms);
    const best = plain.scale >= 1 ? plain : largest(ways.flatMap((one) => smaller(graph, one)), rooms);
    const [, wide, high] = rooms.find(([name]) => name === best.rooms) ?? rooms[0];
    const { layout: { width, height, compact } } = best, most = compact ? Math.min(LARGEST, Math.max(1, MODEST / height)) : 1;
    return { ...best, high: height * Math.min(most, Number(wide) / width, Number(high) / height) };
  }

  /** Of some layouts, the one that is shown largest, and in which room. @param {any[]} layouts @param {any[]} rooms */
  function largest(layouts, rooms) {
    let best = { layout: layouts[0], rooms: String(rooms[0][0]), scale: 0 };
    for (const one of layouts) {
      for (const [name, width, height] of rooms) {
        const scale = Math.min(1, Number(width) / one.width, Number(height) / one.height);
        if (scale > best.scale * 1.02) best = { layout: one, rooms: String(name), scale };
      }
    }
    return best;
  }

  /** @type {Map<any, any[]>} */
  const made = new Map();
  /** A layout in both compact forms. @param {any} graph @param {any} usual */
  function smaller(graph, usual) {
    if (!made.has(usual)) {
      made.set(usual, /** @type {const} */ (["wide", "tall"]).map((form) => placeCompact(graph, usual, form)));
    }
    return made.get(usual) ?? [];
  }

  /** The direction of a compact drawing: that of the chapter, where this graph can be read in it; otherwise its own.
   * @param {any} graph @param {any[]} rooms */
  function direction(graph, rooms) {
    const scale = (one, way) => {
      const ways = one.layouts.filter((each) => each.rankdir === way);
      return ways.length ? largest(ways.flatMap((each) => smaller(one, each)), rooms).scale : 0;
    };
    const own = ["TB", "LR"].map((way) => [way, scale(graph, way)]);
    const common = ["TB", "LR"].map((way) => (
      [way, Math.min(...(host.family?.() ?? []).map((one) => scale(one, way)))]));
    common.sort((a, b) => Number(b[1]) - Number(a[1]));
    own.sort((a, b) => Number(b[1]) - Number(a[1]));
    const fits = own.find(([way]) => way === common[0][0]);
    return String(fits && Number(fits[1]) >= READABLE ? fits[0] : own[0][0]);
  }

  function draw() {
    const { key, graph, turned, boxes: grouped, open, lab } = session.state;
    const [low, most] = host.most?.() ?? [0, 0]; // where the drawing takes the height that it needs
    const cut = shown.length > 0 && views.clientWidth > 0 && whole() < (host.whole ?? 0.6); // another direction may fit
    const tall = low + most || (host.compact || cut ? views.clientHeight : 0); // a smaller drawing is chosen by both sides
    const now = JSON.stringify([key, turned, grouped, grouped && open, Boolean(lab), `${views.clientWidth}x${tall}`]);
    if (drawn === now && shown.length && shown[0].picture.graph === graph) return false;
    const same = drawn.startsWith(now.slice(0, now.lastIndexOf(",")));
    drawn = now;
    const best = choose(), high = (best.high ?? best.layout.height * best.scale) + (lab ? LAB_HEAD : 0) + 4;
    views.style.height = most ? `${Math.ceil(best.rooms === "rows" ? 2 * high : high)}px` : "";
    if (same && best.layout === layout && shown[0]?.picture.graph === graph && views.dataset.rooms === best.rooms) return false;
    layout = best.layout;
    views.dataset.rooms = best.rooms;
    for (const view of shown) view.picture.destroy();
    const titles = lab ? [t("page.right_pass"), t("page.wrong_pass")] : [t("page.the_graph")];
    shown = titles.map((title) => {
      const onNode = (id) => say("node", { id, name: graph.nodes[id].name });
      const picture = drawGraph(graph, layout, { onNode, onBox: (box) => api.toggle(box) }, title);
      const map = drawMinimap(picture);
      const head = lab && h("h2", { class: "side" }, title);
      return { picture: Object.assign(picture, { graph }), map, el: h("div", { class: "view" }, head, picture.el, map.el) };
    });
    put(views, shown.map((view) => view.el));
    if (lab) link(shown.map((view) => view.picture.el));
    for (const { picture } of shown) {
      const size = () => picture.svg.getBoundingClientRect().width / layout.width;
      picture.el.addEventListener("scroll", anchor, { passive: true });
      panZoom(picture.el, size, (scale) => { session.store.set({ zoom: scale }); resize(); }, Boolean(host.wheel));
    }
    resize();
    return true;
  }

  /** The two views of a lab scroll together. @param {any[]} els */
  function link(els) {
    els.forEach((one, k) => one.addEventListener("scroll", () => {
      const other = els[1 - k];
      if (Math.abs(other.scrollLeft - one.scrollLeft) > 1) other.scrollLeft = one.scrollLeft;
      if (Math.abs(other.scrollTop - one.scrollTop) > 1) other.scrollTop = one.scrollTop;
    }, { passive: true }));
  }

  /** The zoom at which all of the graph is seen. */
  function whole() {
    const view = shown[0].picture.el;
    return Math.min((view.clientWidth - 2) / layout.width, (view.clientHeight - 2) / layout.height);
  }

  function resize() {
    if (!shown.length || !shown[0].picture.el.clientWidth) return;
    const best = whole(), { zoom } = session.state; // 0: as it reads well; -1: all of it
    const least = layout.compact ? READABLE : host.compact ? 1 : host.whole ?? 0.6;
    const [start, limit] = layout.compact ? [READABLE, LARGEST] : [0.72, 1.25];
    const scale = zoom > 0 ? zoom : zoom < 0 || best >= least ? Math.min(limit, best) : start;
    for (const view of shown) {
      view.picture.size(scale);
      view.map.update();
    }
    anchor();
  }

  /** Bring the present node into sight where the drawing is larger than its window. */
  function reveal() {
    session.sights().forEach(({ active: frame }, k) => {
      if (frame) scrollTo(k, frame.kind === "backward" ? frame.input : frame.node);
    });
  }

  /** @param {number} k which of the views @param {number} id of the node */
  function scrollTo(k, id) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches, view = shown[k]?.picture.el;
    const spot = shown[k]?.picture.spot(id);
    if (!spot || (view.scrollWidth <= view.clientWidth + 1 && view.scrollHeight <= view.clientHeight + 1)) return;
    const zoom = shown[k].picture.svg.clientWidth / layout.width;
    view.scrollTo({ left: (spot.x + spot.w / 2) * zoom - view.clientWidth / 2,
      top: (spot.y + spot.h / 2) * zoom - view.clientHeight / 2, behavior: calm ? "auto" : "smooth" });
  }

  /** The question stands at its node, where it covers least of the others; below the drawing where there is no room. */
  function anchor() {
    if (picks?.open) placePicks();
    const { asked } = session, ask = question.el, spot = asked && shown[0]?.picture.spot(asked.id);
    const { lab, question: open_ } = session.state;
    const able = Boolean(spot) && !ask.hidden && pane.clientWidth >= ROOMY && !lab && (!open_ || crowded !== open_);
    ask.classList.toggle("anchored", able);
    if (!able) return ask.removeAttribute("style");
    const { on, cards, bends, room } = inPane(shown[0].picture);
    const best = besideCard(on(spot), cards, bends, { w: ask.offsetWidth, h: ask.offsetHeight }, room);
    const typed = placed === open_ && ask.querySelector("input")?.value; // the drawing must not jump while one types
    if (!typed && best.cost > CROWDED) {
      crowded = open_;
      return anchor();
    }
    placed = open_;
    ask.style.left = `${best.x}px`;
    ask.style.top = `${best.y}px`;
  }

  /** Where the parts of a drawing are in the pane, in px. @param {any} picture */
  function inPane(picture) {
    const zoom = picture.svg.clientWidth / layout.width, room = pane.getBoundingClientRect();
    const origin = picture.svg.getBoundingClientRect(), [x0, y0] = [origin.x - room.x, origin.y - room.y];
    const on = ({ x, y, w, h: tall }) => ({ x: x0 + x * zoom, y: y0 + y * zoom, w: w * zoom, h: tall * zoom });
    const cards = layout.boxes.map((box) => on(box.card)), bends = layout.edges.flatMap(({ path }) => (
      [...path.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => on({ x: Number(x), y: Number(y), w: 0, h: 0 }))));
    return { on, cards, bends, room };
  }

  /** What is chosen in the picture stands in the last view: in a lab, in that of the wrong pass. */
  function placePicks() {
    const view = shown[shown.length - 1];
    if (!view) return;
    const { on, cards, bends, room } = inPane(view.picture);
    picks.place((name) => {
      const spot = view.picture.spot(session.state.graph.nodes.findIndex((node) => node.name === name));
      return spot && on(spot);
    }, cards, bends, room);
  }

  // -- what can be done to the drawing
  const api = {
    turn: () => session.store.set({ turned: layout.rankdir === "LR", zoom: 0 }),
    boxes: () => {
      const { graph, boxes: now } = session.state;
      if (graph.layouts.length && groupable(graph)) session.store.set({ boxes: !now, zoom: 0 });
    },
    toggle: (box) => {
      const { open } = session.state;
      session.store.set({ open: open.includes(box) ? open.filter((key) => key !== box) : [...open, box] });
      el.querySelector(`[data-box="${CSS.escape(box)}"]`)?.focus({ preventScroll: true });
    },
    openHere: () => {
      const { boxes: grouped, open, frames, step } = session.state, frame = frames[Math.max(0, step - 1)];
      if (!grouped) return;
      const ids = [frame.node, ...(frame.kind === "backward" ? [frame.input] : [])];
      const found = ids.flatMap((id) => boxesOf(tree, /** @type {number} */ (id)));
      session.store.set({ open: [...new Set([...open, ...found])] });
      reveal();
    },
    zoom: (by) => {
      const now = shown[0].picture.svg.getBoundingClientRect().width / layout.width;
      session.store.set({ zoom: Math.max(0.05, Math.min(3, now * by)) });
      resize();
    },
    fit: () => {
      session.store.set({ zoom: -1 });
      resize();
    },
    /** Go to the next node whose name begins with a text, or has it; say whether there is one. @param {string} text */
    seek: (text) => {
      const { graph, boxes: grouped, open } = session.state, wanted = text.trim().toLowerCase();
      const names = graph.nodes.map((node) => (node.constant ? "" : node.name.toLowerCase()));
      const fits = wanted ? [(name) => name === wanted, (name) => name.startsWith(wanted), (name) => name.includes(wanted)]
        .flatMap((fit) => names.flatMap((name, id) => (fit(name) ? [id] : []))) : [];
      const found = [...new Set(fits)], id = found[(found.indexOf(sought) + 1) % (found.length || 1)] ?? -1;
      seek.setAttribute("aria-invalid", String(Boolean(wanted) && id < 0));
      if (id < 0) return false;
      sought = id;
      if (grouped) session.store.set({ open: [...new Set([...open, ...boxesOf(tree, id)])] });
      api.look(graph.nodes[id].name);
      for (const one of el.querySelectorAll(".node.sought")) one.classList.remove("sought");
      el.querySelector(`.node[data-id="${id}"]`)?.classList.add("sought");
      return true;
    },
    seekField: () => seek.focus(),
    /** Offer a choice in the picture (see picks.js); null takes it away. @param {any} offered */
    offer: (offered) => {
      picks.set(offered);
      el.classList.toggle("picking", Boolean(offered));
      if (offered) placePicks();
    },
    /** Say something to such a choice. @param {...any} what */
    reply: (...what) => {
      picks.say(...what);
      placePicks();
    },
    focusPicks: () => picks.focus(),
    /** A wrong choice bounces off. @param {string} name of a node */
    bounce: (name) => {
      const id = session.state.graph.nodes.findIndex((node) => node.name === name);
      for (const view of shown) view.picture.meet(id, false, "", false);
    },
    /** Bring a node into sight. @param {string} name */
    look: (name) => {
      const id = session.state.graph.nodes.findIndex((node) => node.name === name);
      if (id >= 0) shown.forEach((_, k) => scrollTo(k, id));
    },
  };

  // -- keep all of it in step
  let before = { step: -1, at: -1, key: "", values: null, answers: session.state.answers };
  function update(changed = session.state) {
    const { graph, lab, key, values, answers, step, frames } = session.state;
    about.textContent = session.presets.find((preset) => preset.key === key)?.about ?? "";
    turn.hidden = session.state.boxes;
    boxes.hidden = !graph.layouts.length || !groupable(graph);
    boxes.setAttribute("aria-pressed", String(session.state.boxes));
    here.hidden = !session.state.boxes;
    leave.hidden = !lab;
    const fresh = draw(), moved = before.at !== session.at || fresh;
    const flight = Math.min(FLIGHT, 0.6 * session.state.pace); // in a quick film they travel faster
    const time = session.state.glided && moved && !fresh ? flight : 0;
    session.sights().forEach((sight, k) => shown[k].picture.update(sight, time));
    if (moved && session.at) reveal();
    if ("zoom" in changed || "turned" in changed) resize();
    for (const part of [said, question, steps]) part.update();
    anchor();
    const was = before;
    before = { step, at: session.at, key, values, answers };
    if (was.key !== key) say("graph", { key });
    if (was.values !== values) say("values", session.named);
    if (was.at !== session.at || was.step !== step) {
      const told = session.told;
      say("step", { step: session.at, total: session.total, frame: told, sentence: told?.sentence ?? "",
        spoken: told?.spoken ?? "" });
      if (step === frames.length && !lab) say("end", {});
    }
    for (const answer of answers.slice(was.answers.length)) say("answer", answer);
  }
  session.store.listen((_, changed) => update(changed));
  let seen = "";
  function refit() {
    if (draw()) session.sights().forEach((sight, k) => shown[k].picture.update(sight));
    resize();
  }
  const watch = new ResizeObserver(() => {
    if (size() === seen) return;
    seen = size();
    refit();
  });
  watch.observe(el);
  watch.observe(views);
  new ResizeObserver(anchor).observe(question.el);
  update();

  return {
    el, slot, session, api, refit,
    /** @param {string} event @param {(what: any) => void} ear */
    on(event, ear) {
      (ears[event] ??= []).push(ear);
      return () => { ears[event] = ears[event].filter((other) => other !== ear); };
    },
    /** @param {any} what */
    show(what) {
      if (typeof what.graph === "string") session.open(what.graph);
      else if (what.graph) session.add(what.graph);
      const { graph } = session.state;
      if (what.values) {
        const ids = leavesOf(graph).filter((leaf) => leaf.name in what.values);
        session.setLeaves(Object.fromEntries(ids.map((leaf) => [leaf.id, what.values[leaf.name]])), true);
      }
      if (what.predict !== undefined && what.predict !== session.state.predict) session.ask(what.predict);
      if (what.lab !== undefined) showLab(what.lab);
      if (what.step !== undefined) session.go(typeof what.step === "number" ? what.step : session.find(what.step));
      if (what.question !== undefined) session.store.set({ question: what.question });
    },
    /** The state as plain data: show(state()) comes back to it. */
    state() {
      const { key, values, step, predict, lab, graph } = session.state;
      const named = Object.fromEntries(Object.entries(values).map(([id, x]) => [graph.nodes[Number(id)].name, x]));
      const order = lab?.kind === "order" && (lab.key !== "own" ? lab.key : lab.order?.map((id) => graph.nodes[id].name));
      return { graph: key, values: named, step: lab ? lab.at : step, predict,
        lab: lab ? (lab.kind === "bug" ? { bug: lab.key } : { order }) : null };
    },
    destroy() {
      session.pause();
      watch.disconnect();
      for (const view of shown) view.picture.destroy();
    },
  };

  /** @param {any} lab */
  function showLab(lab) {
    if (!lab) return session.state.lab && session.leaveLab();
    if (lab.bug) compareBug(session, lab.bug);
    else compareOrder(session, lab.order);
  }
}

/** Put a backward pass with a bug beside the right one. @param {Session} session @param {string} key of an idea */
export function compareBug(session, key) {
  const { graph, numbers } = session.state, idea = bugsFor([graph]).find((one) => one.key === key);
  if (idea) session.compare({ kind: "bug", key, title: t(`ideas.${key}.title`), ...runBug(graph, numbers, idea) });
}

/** Put a visit order beside the right one. @param {Session} session @param {string | (string | number)[]} order */
export function compareOrder(session, order) {
  const { graph, numbers } = session.state, named = typeof order === "string" && order in ORDERS;
  const ids = (list) => list.map((one) => (typeof one === "number" ? one : graph.nodes.findIndex((n) => n.name === one)));
  const all = named ? ORDERS[/** @type {string} */ (order)](graph) : ids(order).filter((id) => id >= 0);
  const able = all.filter((id) => graph.nodes[id].partials.some((p) => p !== null));
  const run = (visits) => runOrder(graph, numbers.partials, visits);
  session.compare({ kind: "order", key: named ? String(order) : "own", title: t(`orders.${named ? order : "own"}`), order: able,
    right: run(ORDERS.reverse(graph)), wrong: run(able) });
}
