// A network as the learner has set it up in the playground, as a scene: what scene() in scene.py makes of a model in Python.
// The graph of one point has the ops, names and modules that nn.MLP and losses give it.
import { makeData } from "./datasets.js";
import { drawsFrom } from "./draws.js";

/** The inputs that a network may read: made from the coordinates, as part of the graph. */
export const FEATURES = ["x0", "x1", "x0_squared", "x1_squared", "product", "sin_x0", "sin_x1"];
export const ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "silu", "linear"];
export const LOSSES = ["logistic", "hinge", "square"];
export const MOST_LAYERS = 6, MOST_NEURONS = 8;

/**
 * What the learner has chosen.
 * @typedef {{data: string, n: number, noise: number, seed: number, test: number, f: string, own: number[][],
 *            features: string[], layers: [number, string][], start: string, weights: number, loss: string,
 *            optimizer: string, rate: number, batch: number, penalty: string, strength: number}} Setting
 */

/** @type {Setting} */
export const USUAL = {
  data: "moons", n: 100, noise: 20, seed: 1, test: 30, f: "sin(3*x)/2", own: [],
  features: ["x0", "x1"], layers: [[6, "tanh"], [4, "tanh"]], start: "usual", weights: 1, loss: "logistic",
  optimizer: "sgd", rate: 0.3, batch: 0, penalty: "none", strength: 0.001,
};

/** Nodes of a graph, one after the other. */
class Sheet {
  constructor() {
    /** @type {any[]} */
    this.nodes = [];
    /** @type {string[][]} */
    this.scopes = [[]];
    this.scope = 0;
    this.made = 0;
  }

  /** @param {string} name @param {number} x */
  leaf(name, x) {
    return this.nodes.push({ name, data: x }) - 1;
  }

  /** @param {number} x */
  number(x) {
    return this.nodes.push({ name: String(x), data: x, constant: true }) - 1;
  }

  /** @param {string} op @param {number[]} inputs @param {string} [name] */
  node(op, inputs, name = "") {
    const row = { name: name || `v${++this.made}`, data: 0, op, inputs };
    return this.nodes.push(this.scope ? { ...row, scope: this.scope } : row) - 1;
  }

  /** Nodes from now on belong to this module. @param {string[]} path */
  within(path) {
    this.scope = path.length ? this.scopes.push(path) - 1 : 0;
  }

  get timeline() {
    return { nodes: this.nodes, ...(this.scopes.length > 1 ? { scopes: this.scopes } : {}) };
  }
}

/** The scene of a setting. @param {Setting} setting @param {Record<string, any>} optimizers as Python packs them */
export function sceneOf(setting, optimizers) {
  const { points, tests, classes } = makeData(setting);
  const outputs = classes > 2 ? classes : 1, inputs = FEATURES.filter((name) => setting.features.includes(name));
  const layers = [...setting.layers, /** @type {[number, string]} */ ([outputs, "linear"])];
  const start = startOf(setting, inputs.length, layers);
  const targets = classes > 2 ? Array.from({ length: classes }, (_, c) => c) : [null];
  const shape = [inputs.length, ...layers.map(([n]) => n)];
  let k = 0;
  const network = layers.map(([n, activation], l) =>
    Array.from({ length: n }, () => {
      const weights = Array.from({ length: shape[l] }, () => k++);
      return { weights, bias: k++, activation };
    }),
  );
  return {
    key: "playground",
    title: "",
    graphs: targets.map((target) => graphOf(setting, classes, inputs, network, start, points, target)),
    network,
    shape,
    inputs,
    start,
    points,
    tests,
    classes: classes > 2 ? targets : [-1, 1],
    regression: classes === 0,
    reduction: "mean",
    penalty: penaltyOf(setting, network, start),
    optimizer: optimizers[setting.optimizer],
    rate: setting.rate,
    zeroes: true,
    batch: setting.batch,
    seed: setting.seed,
  };
}

/** The weights to begin with, biases 0. @param {Setting} setting @param {number} inputs @param {[number, string][]} layers */
function startOf({ start, weights }, inputs, layers) {
  const random = drawsFrom(7919 * weights + 13);
  let nin = inputs;
  return layers.flatMap(([n, activation]) => {
    const wide = Math.sqrt(["relu", "gelu",
      "silu"].includes(activation) ? 6 / nin : 6 / (nin + n)) * (start === "large" ? 20 : 1);
    const drawn = Array.from({ length: n }, () => [
      ...Array.from({ length: nin }, () => (start === "zeros" ? 0 : start === "equal" ? 0.5 : wide * (2 * random() - 1))),
      0,
    ]);
    nin = n;
    return drawn.flat();
  });
}

/** The loss of one point as a graph. @param {Setting} setting @param {number} classes @param {string[]} inputs
 * @param {any[][]} network @param {number[]} start @param {any[]} points @param {number | null} target */
function graphOf(setting, classes, inputs, network, start, points, target) {
  const sheet = new Sheet(), ids = new Array(start.length).fill(-1);
  const [[a, b], y] = points.find((point) => target === null || point[1] === target) ?? points[0];
  const reads = (...names) => inputs.some((name) => names.includes(name));
  const x = [
    reads("x0", "x0_squared", "product", "sin_x0") ? sheet.leaf("x0", a) : -1,
    reads("x1", "x1_squared", "product", "sin_x1") ? sheet.leaf("x1", b) : -1,
  ];
  const made = {
    x0: () => x[0],
    x1: () => x[1],
    x0_squared: () => sheet.node("mul", [x[0], x[0]], "x0_squared"),
    x1_squared: () => sheet.node("mul", [x[1], x[1]], "x1_squared"),
    product: () => sheet.node("mul", [x[0], x[1]], "product"),
    sin_x0: () => sheet.node("sin", [sheet.node("mul", [sheet.number(3), x[0]])], "sin_x0"),
    sin_x1: () => sheet.node("sin", [sheet.node("mul", [sheet.number(3), x[1]])], "sin_x1"),
  };
  let row = inputs.map((name) => made[name]());
  /** @type {number[]} */
  const neurons = [];
  network.forEach((layer, l) => {
    const last = l === network.length - 1, before = row;
    row = layer.map(({ weights, bias, activation }, j) => {
      sheet.within([`layer ${l}`, `neuron ${j}`]);
      weights.forEach((p, i) => { ids[p] = sheet.leaf(`w${l}_${j}_${i}`, start[p]); });
      ids[bias] = sheet.leaf(`b${l}_${j}`, start[bias]);
      const output = layer.length > 1 ? `s${j}` : "s", plain = activation === "linear";
      const sum = sheet.node("dot", [...weights.map((p) => ids[p]), ...before]);
      const biased = sheet.node("add", [sum, ids[bias]], last ? output : "");
      neurons.push(plain ? biased : sheet.node(activation, [biased]));
      return neurons[neurons.length - 1];
    });
  });
  sheet.within([]);
  const yes = target === null ? sheet.leaf("y", y) : -1;
  lossOf(sheet, setting.loss, classes, row, yes, target);
  return { timeline: sheet.timeline, target, x, y: yes, parameters: ids, outputs: row, neurons };
}

/** @param {Sheet} sheet @param {string} loss @param {number} classes @param {number[]} outputs @param {number} y
 * @param {number | null} target */
function lossOf(sheet, loss, classes, outputs, y, target) {
  if (target !== null) return sheet.node("sub", [sheet.node("logsumexp", outputs), outputs[target]], "L");
  const [s] = outputs;
  if (classes === 0 || loss === "square") {
    const error = sheet.node("sub", [s, y]);
    return sheet.node("mul", [error, error], "L");
  }
  const margin = sheet.node("mul", [y, s]);
  if (loss === "hinge") return sheet.node("relu", [sheet.node("sub", [sheet.number(1), margin])], "L");
  return sheet.node("softplus", [sheet.node("neg", [margin])], "L");
}

/** What is added to the loss for large weights. @param {Setting} setting @param {any[][]} network @param {number[]} start */
function penaltyOf({ penalty, strength }, network, start) {
  if (penalty === "none" || !strength) return null;
  const sheet = new Sheet(), ids = new Array(start.length).fill(-1);
  const weights = network.flat().flatMap((neuron) => neuron.weights);
  for (const p of weights) ids[p] = sheet.leaf(`w${p}`, start[p]);
  const all = weights.map((p) => ids[p]);
  const size = penalty === "l2" ? sheet.node("dot", [...all, ...all]) : sheet.node("sum",
    all.map((id) => sheet.node("abs", [id])));
  sheet.node("mul", [sheet.number(strength), size]);
  return { timeline: sheet.timeline, target: null, x: [], y: -1, parameters: ids, outputs: [], neurons: [] };
}

/** A setting as the fragment of an address: what differs from the usual. @param {Setting} setting */
export function encodeSetting(setting) {
  const pairs = new URLSearchParams();
  for (const [key, x] of Object.entries(setting)) {
    const told = key === "layers" ? setting.layers.map(([n, f]) => `${n}-${f}`).join("_") || "none"
      : key === "own" ? setting.own.map((row) => row.map((v) => Number(v.toFixed(3))).join(",")).join(";")
      : Array.isArray(x) ? x.join(",") : String(x);
    const same = JSON.stringify(x) === JSON.stringify(USUAL[key]);
    if (key === "data" || !same) pairs.set(key, told);
  }
  return `playground&${pairs}`;
}

/** The setting of a fragment; what is not understood is as usual. @param {string} hash @returns {Setting | null} */
export function decodeSetting(hash) {
  const found = hash.replace(/^#/, "");
  if (!/^playground(&|$)/.test(found)) return null;
  const pairs = new URLSearchParams(found.replace(/^playground&?/, "")), setting = { ...USUAL };
  const whole = (key, low, high) => {
    const x = Number(pairs.get(key) ?? NaN);
    if (Number.isFinite(x)) setting[key] = Math.round(Math.max(low, Math.min(high, x)));
  };
  const real = (key, low, high) => {
    const x = Number(pairs.get(key) ?? NaN);
    if (Number.isFinite(x)) setting[key] = Math.max(low, Math.min(high, x));
  };
  const among = (key, known) => {
    if (known.includes(pairs.get(key))) setting[key] = pairs.get(key);
  };
  whole("n", 10, 500);
  whole("noise", 0, 100);
  whole("seed", 0, 1e6);
  whole("test", 0, 80);
  whole("weights", 0, 1e6);
  whole("batch", 0, 500);
  real("rate", 1e-4, 100);
  real("strength", 0, 10);
  among("start", ["usual", "zeros", "equal", "large"]);
  among("loss", LOSSES);
  among("optimizer", ["sgd", "momentum", "adam"]);
  among("penalty", ["none", "l1", "l2"]);
  among("data", [...KINDS]);
  if (pairs.has("f")) setting.f = String(pairs.get("f")).slice(0, 200);
  const features = (pairs.get("features") ?? "").split(",").filter((name) => FEATURES.includes(name));
  if (features.length) setting.features = features;
  if (pairs.has("layers")) {
    setting.layers = String(pairs.get("layers")).split("_").map((one) => one.split("-"))
      .filter(([n, f]) => Number(n) >= 1 && ACTIVATIONS.includes(f)).slice(0, MOST_LAYERS)
      .map(([n, f]) => [Math.min(MOST_NEURONS, Math.floor(Number(n))), f]);
  }
  setting.own = (pairs.get("own") ?? "").split(";").map((row) => row.split(",").map(Number))
    .filter((row) => row.length === 3 && row.every(Number.isFinite)).slice(0, 1000);
  if (setting.data === "own" && setting.own.length < 2) setting.data = USUAL.data;
  return setting;
}

/** Every data set, in the order in which they stand. */
export const KINDS = ["moons", "circles", "xor", "spirals", "blobs", "above", "plane", "hills", "own"];

/**
 * For each data set a setting that is known to work and one that is known to fail; a test trains all of them. `steps` is
 * after how many steps that can be seen.
 * @type {Record<string, {works: any, fails: any}>}
 */
export const RECIPES = {
  moons: { works: { layers: [[8, "tanh"]], rate: 1, steps: 400 }, fails: { layers: [], rate: 1, steps: 400 } },
  circles: {
    works: { layers: [[6, "tanh"]], rate: 1, steps: 400 },
    fails: { layers: [[2, "relu"]], rate: 0.5, steps: 400 },
  },
  xor: {
    works: { layers: [[6, "tanh"]], rate: 1, steps: 400 },
    fails: { layers: [[6, "tanh"]], start: "zeros", rate: 1, steps: 400 },
  },
  spirals: {
    works: { layers: [[8, "tanh"], [8, "tanh"]], optimizer: "adam", rate: 0.03, n: 160, noise: 5, steps: 1000 },
    fails: { layers: [[8, "linear"], [8, "linear"]], optimizer: "adam", rate: 0.03, n: 160, noise: 5, steps: 1000 },
  },
  blobs: { works: { layers: [[4, "relu"]], rate: 0.5, steps: 300 }, fails: { layers: [[4, "relu"]], rate: 60, steps: 300 } },
  above: {
    works: { layers: [[8, "tanh"]], optimizer: "adam", rate: 0.05, noise: 0, n: 160, steps: 500 },
    fails: { layers: [[8, "tanh"]], start: "large", optimizer: "sgd", rate: 0.001, noise: 0, n: 160, steps: 500 },
  },
  plane: { works: { layers: [], rate: 0.2, steps: 200 }, fails: { layers: [], rate: 4, steps: 200 } },
  hills: {
    works: { layers: [[8, "tanh"], [6, "tanh"]], optimizer: "adam", rate: 0.03, noise: 0, n: 200, steps: 1200 },
    fails: { layers: [], features: ["x0", "x1"], rate: 0.2, noise: 0, n: 200, steps: 1200 },
  },
};
