// What the page is doing: one graph, its numbers, a place in its timeline. Views listen to it and call it.
import { createStore } from "./dom.js";
import { evaluate, framesOf, leavesOf, readGraph, snapshot } from "./graph.js";
import { rightGradients } from "./orders.js";

/**
 * @typedef {import("./graph.js").Graph} Graph
 * @typedef {{key: string, title: string, about?: string, timeline: any}} Preset
 * @typedef {{key: string, graph: Graph, values: Record<number, number>, numbers: import("./graph.js").Numbers,
 *            frames: import("./graph.js").Frame[], step: number, playing: boolean, pace: number, predict: boolean,
 *            asking: boolean, tab: string, answers: any[], lab: Lab | null, turned: boolean | null,
 *            zoom: number}} State
 * What a lab puts over the drawing: other gradients, and notes on edges and nodes.
 * @typedef {{grads: (number | null)[], edgeNotes: Map<string, any>, nodeNotes: Map<number, any>}} Lab
 */

export class Session {
  /** @param {Preset[]} presets @param {string} first */
  constructor(presets, first) {
    this.presets = presets;
    this.store = createStore(/** @type {State} */ ({
      playing: false, pace: 1100, predict: false, tab: "leaves", answers: [], turned: null, zoom: 0,
      ...this.opened(presets.find((preset) => preset.key === first) ?? presets[0]),
    }));
    this.timer = 0;
    /** @type {{numbers: any, grads: number[]}} */
    this.known = { numbers: null, grads: [] };
  }

  get state() {
    return this.store.state;
  }

  /** @param {Preset} preset */
  opened(preset) {
    const graph = readGraph(preset.timeline), numbers = evaluate(graph, {});
    const frames = framesOf(graph, numbers);
    return { key: preset.key, graph, values: {}, numbers, frames, step: 0, lab: null, asking: false };
  }

  /** Open another graph. @param {string} key */
  open(key) {
    const preset = this.presets.find((preset) => preset.key === key);
    if (!preset || key === this.state.key) return;
    this.pause();
    this.store.set({ ...this.opened(preset), turned: null, zoom: 0 });
  }

  /** Open a graph that was not among the presets. @param {Preset} preset */
  add(preset) {
    this.presets = [...this.presets.filter((other) => other.key !== preset.key), preset];
    this.pause();
    this.store.set({ ...this.opened(preset), turned: null, zoom: 0 });
  }

  /** Change leaves: everything follows. @param {Record<number, number>} changed by id */
  setLeaves(changed) {
    const { graph } = this.state;
    if (graph.frozen) return;
    const values = { ...this.state.values, ...changed }, numbers = evaluate(graph, values);
    this.store.set({ values, numbers, frames: framesOf(graph, numbers), lab: null, asking: false });
  }

  /** Put every leaf back. */
  restoreLeaves() {
    const { graph } = this.state, numbers = evaluate(graph, {});
    this.store.set({ values: {}, numbers, frames: framesOf(graph, numbers), lab: null, asking: false });
  }

  /** Jump: so many frames are shown. @param {number} step */
  go(step) {
    const { frames } = this.state;
    this.store.set({ step: Math.max(0, Math.min(frames.length, Math.round(step))), asking: false, lab: null });
    if (this.state.step === frames.length) this.pause();
  }

  /** One frame on; a backward frame waits for the learner's word when they want to predict. */
  next() {
    const { step, frames, predict, asking } = this.state;
    if (step >= frames.length) return this.pause();
    if (predict && frames[step].kind === "backward" && !asking) {
      this.pause();
      return this.store.set({ asking: true, lab: null });
    }
    this.go(step + 1);
  }

  /** One frame on, by the learner's own hand. */
  forward() {
    this.pause();
    this.next();
  }

  /** Ask for a prediction before each backward frame, or stop asking. @param {boolean} predict */
  ask(predict) {
    this.store.set({ predict, asking: false });
  }

  back() {
    this.pause();
    this.go(this.state.step - 1);
  }

  reset() {
    this.pause();
    this.go(0);
  }

  play() {
    if (this.state.step >= this.state.frames.length) this.go(0);
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
    return this.state.frames.findIndex((frame) => frame.kind === "seed");
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

  /** What the drawing has to show now. */
  sight() {
    const { graph, numbers, frames, step, lab } = this.state;
    const now = snapshot(graph, numbers, frames, step);
    const empty = { edgeNotes: new Map(), nodeNotes: new Map() };
    if (lab) return { data: numbers.data, partials: numbers.partials, active: null, spent: new Set(), ...lab };
    if (this.state.asking) now.active = frames[step]; // the edge in question; its number stays hidden
    const data = numbers.data.map((x, id) => (now.known[id] ? x : null));
    return { ...empty, ...now, asking: this.state.asking, data, partials: numbers.partials };
  }

  /** The gradients of a whole, right backward pass. */
  right() {
    const { graph, numbers, frames } = this.state;
    if (this.known.numbers !== numbers) {
      const grads = graph.frozen ? snapshot(graph, numbers, frames, frames.length).grads.map((g) => g ?? 0)
        : rightGradients(graph, numbers.partials);
      this.known = { numbers, grads };
    }
    return this.known.grads;
  }
}
