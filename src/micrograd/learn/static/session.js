// What a stage is doing: one graph, its numbers, a place in its timeline. Views listen to it and call it.
import { createStore } from "./dom.js";
import { evaluate, framesOf, leavesOf, readGraph, snapshots, tell } from "./graph.js";
import { rightGradients, same } from "./orders.js";
import { t } from "./texts.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {{key: string, title: string, about?: string, timeline: any}} Preset
 * Two backward passes beside each other, scrubbed together: `at` contributions of each are shown.
 * @typedef {{kind: "order" | "bug", key: string, title: string, order?: number[], right: import("./orders.js").Run,
 *            wrong: import("./orders.js").Run, at: number, total: number}} Lab
 * @typedef {{key: string, graph: Graph, values: Record<number, number>, numbers: import("./graph.js").Numbers,
 *            frames: import("./graph.js").Frame[], step: number, frontier: number, playing: boolean, pace: number,
 *            predict: boolean, question: any, tab: string, answers: any[], lab: Lab | null, open: string[],
 *            settled: {grad: Record<number, number>, data: Record<number, number>}, badges: Record<number, string>,
 *            boxes: boolean, turned: boolean | null, zoom: number, glided: boolean}} State
 */

/** From so many nodes on a graph opens as boxes: of modules where these made it (draw_dot does the same), otherwise of values
 * that were computed one after the other. */
const SHOWN = 60;

/** @param {Graph} graph */
function isLarge(graph) {
  return graph.nodes.filter((node) => !node.constant).length > SHOWN;
}

/** Whether there are boxes to see. @param {Graph} graph */
export function groupable(graph) {
  return graph.scopes.length > 1 || isLarge(graph);
}

export class Session {
  /** @param {Preset[]} presets @param {string} [first] */
  constructor(presets, first) {
    this.presets = presets;
    this.store = createStore(/** @type {State} */ ({
      playing: false, pace: 1100, predict: false, tab: "leaves", answers: [], turned: null, zoom: 0, glided: false,
      ...this.opened(presets.find((preset) => preset.key === first) ?? presets[0]),
    }));
    this.timer = 0;
    /** @type {{numbers: any, grads: number[]}} */
    this.known = { numbers: null, grads: [] };
    this.forwardOnly = false; // where gradients have not been explained yet, a pass ends with the forward part
    /** @type {{frames: any, at: any}} */
    this.past = { frames: null, at: null };
  }

  get state() {
    return this.store.state;
  }

  /** @param {Preset} preset */
  opened(preset) {
    const graph = readGraph(preset.timeline), numbers = evaluate(graph, {}), frames = framesOf(graph, numbers);
    const boxes = !graph.layouts.length || isLarge(graph);
    const frontier = frames.findIndex((frame) => frame.kind === "seed") + 1;
    return { key: preset.key, graph, values: {}, numbers, frames, step: 0, frontier, lab: null, question: null,
      open: [], boxes, turned: null, zoom: 0, settled: { grad: {}, data: {} }, badges: {} };
  }

  /** Open another graph. @param {string} key */
  open(key) {
    const preset = this.presets.find((one) => one.key === key);
    if (!preset || key === this.state.key) return;
    this.pause();
    this.store.set(this.opened(preset));
  }

  /** Open a graph that was not among the presets. @param {Preset} preset */
  add(preset) {
    this.presets = [...this.presets.filter((other) => other.key !== preset.key), preset];
    this.pause();
    this.store.set(this.opened(preset));
  }

  /** Change leaves: everything follows. @param {Record<number, number>} changed by id @param {boolean} [all] */
  setLeaves(changed, all = false) {
    const { graph } = this.state;
    if (graph.frozen) return;
    const values = all ? changed : { ...this.state.values, ...changed }, numbers = evaluate(graph, values);
    const frames = framesOf(graph, numbers), frontier = this.seed + 1;
    const step = this.state.predict ? Math.min(this.state.step, frontier) : this.state.step;
    this.store.set({ values, numbers, frames, frontier, step, lab: null, question: null, settled: { grad: {}, data: {} } });
  }

  /** Put every leaf back. */
  restoreLeaves() {
    this.setLeaves({}, true);
  }

  /** How many steps there are, and how many are shown: of the timeline, or of two passes beside each other. */
  get total() {
    return this.state.lab ? this.state.lab.total : this.forwardOnly ? this.seed : this.state.frames.length;
  }

  get at() {
    return this.state.lab ? this.state.lab.at : this.state.step;
  }

  /** Whether answers are still to be given, so that nothing may show them. */
  get hides() {
    const { predict, frontier, frames, question } = this.state;
    return Boolean(question) || (predict && frontier < frames.length);
  }

  /** Jump: so many steps are shown. With predict first, never past what was answered. @param {number} step */
  go(step) {
    const { lab, frames, frontier, predict, question } = this.state, most = this.total;
    const to = Math.max(0, Math.min(most, Math.round(step))), glided = to === this.at + 1;
    if (lab) {
      this.store.set({ lab: { ...lab, at: to }, glided });
    } else if (question && to > this.state.step) {
      return;
    } else if (predict && to > frontier) {
      this.pause();
      this.store.set({ step: frontier, question: { kind: "contribution" }, glided: false });
    } else {
      this.store.set({ step: to, question: null, glided, frontier: Math.max(frontier, predict ? 0 : to) });
    }
    if (this.at === frames.length && !lab) this.pause();
  }

  /** One step on. A pass beside the right one stops where they first differ. */
  next() {
    if (this.at >= this.total) return this.pause();
    this.go(this.at + 1);
    const { lab } = this.state;
    if (lab && lab.at === Math.min(lab.total, lab.wrong.first + 1)) this.pause();
  }

  /** The answer was given or given up: show the frame in question. */
  reveal() {
    const { step, frontier, question } = this.state;
    this.store.set({ question: null });
    if (question?.kind !== "contribution") return;
    this.store.set({ frontier: Math.max(frontier, step + 1) });
    this.go(step + 1);
  }

  /** One step on, by the learner's own hand. */
  forward() {
    this.pause();
    this.next();
  }

  back() {
    this.pause();
    this.go(this.at - 1);
  }

  reset() {
    this.pause();
    this.go(0);
  }

  /** Ask for a prediction before each backward frame, or stop asking. @param {boolean} predict */
  ask(predict) {
    const frontier = Math.max(this.state.step, this.seed + 1);
    this.store.set({ predict, question: null, frontier, lab: predict ? null : this.state.lab });
  }

  play() {
    if (this.at >= this.total) this.go(0);
    this.store.set({ playing: true });
    this.next();
    this.tick();
  }

  tick() {
    clearTimeout(this.timer);
    if (!this.state.playing) return;
    this.timer = Number(setTimeout(() => {
      this.next();
      this.tick();
    }, this.state.pace));
  }

  pause() {
    clearTimeout(this.timer);
    if (this.state.playing) this.store.set({ playing: false });
  }

  toggle() {
    if (this.state.playing) this.pause();
    else this.play();
  }

  /** The step at which the backward pass begins. */
  get seed() {
    return this.state.graph.nodes.filter((node) => !node.constant).length;
  }

  /** The step that shows a contribution, by the names of its two nodes. @param {{into: string, from?: string}} what */
  find({ into, from }) {
    const { graph, frames } = this.state, name = (id) => graph.nodes[id]?.name;
    const wanted = (frame) => frame.kind === "backward" && name(frame.input) === into && (!from || name(frame.node) === from);
    const found = frames.findIndex(wanted);
    return found < 0 ? this.state.step : found + 1;
  }

  /** Put two passes beside each other, stopped where they first differ. @param {Omit<Lab, "at" | "total">} lab */
  compare(lab) {
    const total = Math.max(lab.right.pushes.length, lab.wrong.pushes.length), { first } = lab.wrong;
    this.pause();
    this.store.set({ lab: { ...lab, total, at: first < 0 ? total : Math.min(total, first + 1) }, question: null });
  }

  /** Back to the timeline. */
  leaveLab() {
    this.pause();
    this.store.set({ lab: null });
  }

  /** @param {any} answer */
  record(answer) {
    this.store.set({ answers: [...this.state.answers, answer] });
  }

  /** Leaves by name, for Python. */
  get named() {
    const { graph, numbers } = this.state;
    return Object.fromEntries(leavesOf(graph).map((leaf) => [leaf.name, numbers.data[leaf.id]]));
  }

  /** The frame that is shown, with its words. */
  get told() {
    const { graph, numbers, frames, step } = this.state;
    return step ? { ...frames[step - 1], ...tell(graph, numbers, frames[step - 1]) } : null;
  }

  /** What is known after so many of these frames. @param {import("./graph.js").Frame[]} frames */
  shown(frames) {
    if (this.past.frames !== frames) this.past = { frames, at: snapshots(this.state.graph, frames) };
    return this.past.at;
  }

  /** What the drawing has to show now; with a lab, one for each of the two passes. */
  sights() {
    const { graph, numbers, frames, step, lab, question } = this.state;
    if (lab) return [lab.right, lab.wrong].map((run) => labSight(graph, numbers, run, lab));
    const now = this.shown(frames)(step), asking = question?.kind === "contribution";
    const active = asking ? frames[step] : question ? null : now.active; // the edge in question; its number stays hidden
    const data = step >= this.seed ? numbers.data : numbers.data.map((x, id) => (now.known[id] ? x : null));
    const backward = step > this.seed;
    const nodeNotes = new Map(Object.entries(this.state.badges).map(([id, text]) => [Number(id), { kind: "placed", text }]));
    return [{ ...now, active, asking, data, partials: numbers.partials, backward, edgeNotes: new Map(), nodeNotes,
      settled: this.state.settled, asked: this.asked }];
  }

  /** The node that a question is about, and what of it; null where none is asked. */
  get asked() {
    const { question, graph, frames, step } = this.state;
    if (!question) return null;
    if (question.kind === "contribution") return { id: Number(frames[step]?.input ?? graph.root), kind: "contribution" };
    const id = graph.nodes.findIndex((node) => node.name === question.node);
    return id < 0 ? null : { id, kind: question.kind === "data" ? "data" : "grad" };
  }

  /** A right answer stays on its node. @param {number} id @param {"grad" | "data"} kind @param {number} x */
  settle(id, kind, x) {
    const { settled } = this.state;
    this.store.set({ settled: { ...settled, [kind]: { ...settled[kind], [id]: x } } });
  }

  /** The gradients of a whole, right backward pass. */
  right() {
    const { graph, numbers, frames } = this.state;
    if (this.known.numbers !== numbers) {
      const grads = graph.frozen ? snapshots(graph, frames)(frames.length).grads.map((g) => g ?? 0)
        : rightGradients(graph, numbers.partials);
      this.known = { numbers, grads };
    }
    return this.known.grads;
  }
}

/**
 * One of two passes after so many contributions.
 * @param {Graph} graph @param {import("./graph.js").Numbers} numbers @param {import("./orders.js").Run} run
 * @param {Lab} lab
 */
function labSight(graph, numbers, run, lab) {
  /** @type {(number | null)[]} */
  const grads = graph.nodes.map(() => null);
  const spent = new Set(), edgeNotes = new Map(), nodeNotes = new Map(), done = run.pushes.slice(0, lab.at);
  const wanted = new Map(lab.right.pushes.map((push) => [`${push.node}:${push.slot}`, push.product]));
  grads[graph.root] = 1;
  for (const push of done) {
    if (push.clears) for (const node of graph.nodes) if (push.clears === "all" || node.inputs.length) grads[node.id] = null;
    if (push.clears) grads[graph.root] = 1;
    grads[push.input] = push.after;
    const key = `${push.node}:${push.slot}`;
    if (run === lab.wrong && !same(push.product, /** @type {number} */ (wanted.get(key)))) {
      edgeNotes.set(key, { kind: "fault", text: `✗ ${t("labs.times", { x: push.local })}` });
    }
    spent.add(key);
  }
  for (const flow of run === lab.wrong ? run.flows : []) {
    const key = `${flow.to}:${flow.slot}`;
    if (!flow.fault || !(spent.has(key) || lab.at === lab.total)) continue;
    const key2 = flow.fault === "never" ? "early" : flow.fault;
    const shift = flow.fault === "repeated" ? flow.got - flow.wanted : flow.wanted - flow.got;
    edgeNotes.set(key, { kind: `fault ${flow.fault}`,
      text: t(`labs.${key2}`, { x: shift, times: String(flow.times), wanted: flow.wanted }) });
  }
  const over = lab.at >= run.pushes.length;
  for (const node of graph.nodes) {
    if (run === lab.right || !over || node.constant || same(run.grads[node.id], lab.right.grads[node.id])) continue;
    nodeNotes.set(node.id, { kind: "wrong", text: t("labs.should_be", { x: lab.right.grads[node.id] }) });
  }
  const last = lab.at <= run.pushes.length ? done[done.length - 1] : undefined;
  const active = last ? { kind: "backward", ...last } : null;
  return { data: numbers.data, grads, spent, partials: numbers.partials, active, edgeNotes, nodeNotes, backward: true,
    wrong: run === lab.wrong };
}
