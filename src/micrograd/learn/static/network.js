// The network: a neuron is a small map of what it says over the plane, an edge is as thick as its weight is large, and
// its colour is that of its gradient.
import { button, h, put, s } from "./dom.js";
import { show } from "./numbers.js";
import { sayOf, sureOf } from "./plane.js";
import { t } from "./texts.js";

const WIDE = 460,
  TALL = 400;
const MOST_WIRES = 1600; // edges that are drawn at most
const FACE = 24; // pixels of a neuron's map

/** @param {{onNeuron: (k: number | null) => void}} ears */
export function createNetwork(ears) {
  const svg = s("svg", { class: "wires", viewBox: `0 0 ${WIDE} ${TALL}`, role: "group", "aria-label": t("theatre.network") });
  const faces = h("div", { class: "faces" }),
    told = h("div", { class: "neuron-told small", role: "status" });
  const el = h("div", { class: "network" }, h("div", { class: "picture wide", dir: "ltr" }, svg, faces), told);
  /** @type {any[]} */
  let wires = [];
  /** @type {any[]} */
  let nodes = [];
  /** @type {any} */
  let training = null;
  /** @type {number | null} */
  let chosen = null;

  /** Take another run. @param {any} run */
  function open(run) {
    training = run;
    chosen = null;
    const { network, shape, inputs } = run.scene,
      nameOf = (i) => (inputs ? t(`theatre.playground.features.${inputs[i]}`) : `x${i}`);
    el.classList.toggle("empty", !network);
    put(faces);
    put(svg);
    put(told, network ? "" : t("theatre.no_network"));
    wires = [];
    nodes = [];
    if (!network) return;
    const columns = [shape[0], ...network.map((layer) => layer.length)];
    const x = (l) => 26 + ((WIDE - 52) * l) / (columns.length - 1),
      spread = (n) => Math.min(TALL / n, 78);
    const y = (l, j) => TALL / 2 + (j - (columns[l] - 1) / 2) * spread(columns[l]);
    const size = Math.max(10, Math.min(34, ...columns.map((n) => spread(n) * 0.82)));
    const drawn = network.reduce((sum, layer, l) => sum + layer.length * columns[l], 0) <= MOST_WIRES;
    let k = 0;
    network.forEach((layer, l) =>
      layer.forEach((neuron, j) => {
        neuron.weights.forEach((parameter, i) => {
          if (!drawn) return;
          const [x0, y0, x1, y1] = [x(l) + size / 2, y(l, i), x(l + 1) - size / 2, y(l + 1, j)],
            m = (x0 + x1) / 2;
          const path = s("path", {
            class: "wire",
            d: `M${x0},${y0}C${m},${y0} ${m},${y1} ${x1},${y1}`,
            "data-parameter": parameter,
          });
          wires.push({ path, parameter });
          svg.append(path);
        });
        nodes.push(face(k++, l, j, neuron, x(l + 1), y(l + 1, j), size));
      }),
    );
    for (let i = 0; i < columns[0]; i++) {
      svg.append(
        s("rect", { class: "source", x: x(0) - size / 2, y: y(0, i) - 10, width: size, height: 20, rx: 6 }),
        s("text", { class: "source-name", x: x(0), y: y(0, i) + 4.5, "text-anchor": "middle" }, nameOf(i)),
      );
    }
    put(
      faces,
      nodes.map((one) => one.el),
    );
    roving(0);
  }

  /** @param {number} k @param {number} l @param {number} j @param {any} neuron @param {number} cx @param {number} cy
   * @param {number} size */
  function face(k, l, j, neuron, cx, cy, size) {
    const canvas = h("canvas", { width: FACE, height: FACE, "aria-hidden": "true" }),
      last = l === training.scene.network.length - 1;
    const one = button(canvas, () => choose(chosen === k ? null : k), {
      class: "face",
      "data-neuron": k,
      "aria-pressed": "false",
      onkeydown: (event) => travel(event, k),
    });
    Object.assign(one.style, {
      left: `${(100 * (cx - size / 2)) / WIDE}%`,
      top: `${(100 * (cy - size / 2)) / TALL}%`,
      width: `${(100 * size) / WIDE}%`,
      height: `${(100 * size) / TALL}%`,
    });
    return {
      el: one,
      canvas,
      neuron,
      last,
      name: t(last ? "theatre.output_name" : "theatre.neuron_name", { l: String(l), j: String(j) }),
    };
  }

  /** Arrow keys go from neuron to neuron. @param {any} event @param {number} k */
  function travel(event, k) {
    const to = { ArrowDown: k + 1, ArrowRight: k + 1, ArrowUp: k - 1, ArrowLeft: k - 1 }[event.key];
    if (to === undefined || !nodes[to]) return;
    event.preventDefault();
    event.stopPropagation();
    roving(to);
    nodes[to].el.focus();
  }

  /** @param {number} to */
  function roving(to) {
    nodes.forEach((one, k) => one.el.setAttribute("tabindex", k === to ? "0" : "-1"));
  }

  /** @param {number | null} k */
  function choose(k) {
    chosen = k;
    if (k !== null) roving(k);
    ears.onNeuron(k);
  }

  /** Weights and gradients as they are now. */
  function update() {
    if (!nodes.length || !training.parameters) return;
    const { parameters, grads } = training;
    let thick = 1e-12,
      steep = 1e-300;
    for (const { parameter } of wires) {
      thick = Math.max(thick, Math.abs(parameters[parameter]) || 0);
      steep = Math.max(steep, Math.abs(grads[parameter]) || 0);
    }
    const most = Number.isFinite(thick) ? thick : 1;
    for (const { path, parameter } of wires) {
      const w = parameters[parameter],
        g = grads[parameter],
        way = g > 0 ? "up" : g < 0 ? "down" : g === 0 ? "still" : "lost";
      if (path.dataset.way !== way) {
        path.dataset.way = way;
        path.setAttribute("class", `wire ${way}`);
      }
      path.setAttribute("stroke-width", (0.5 + (5.5 * Math.min(Math.abs(w) || 0, most)) / most).toFixed(2));
      path.setAttribute(
        "stroke-opacity",
        way === "still" || way === "lost" ? "0.45" : (0.3 + 0.7 * Math.min(1, Math.sqrt(Math.abs(g) / steep))).toFixed(2),
      );
    }
    const states = health();
    nodes.forEach((one, k) => {
      one.el.setAttribute("aria-pressed", String(chosen === k));
      one.el.classList.toggle("dead", states[k].kind === "dead");
      one.el.classList.toggle("flat", states[k].kind === "flat");
      one.el.setAttribute("aria-label", [one.name, states[k].text].filter(Boolean).join(", "));
      one.el.setAttribute("title", one.el.getAttribute("aria-label"));
    });
    tell(states);
  }

  /** Of each neuron: at how many points its slope is (nearly) zero. */
  function health() {
    const { points } = training.step,
      columns = training.scene.graphs[0].x.map((_, i) => Float64Array.from(points, (point) => point.x[i]));
    if (!points.length) return nodes.map(() => ({ kind: "", text: "" }));
    const values = training.sense(columns).neurons,
      n = points.length;
    return nodes.map(({ neuron, last }, k) => {
      const column = values[k];
      if (last || !column) return { kind: "", text: "" };
      const off = column.reduce(
        (sum, y) =>
          sum +
          Number(
            neuron.activation === "relu"
              ? y <= 0
              : neuron.activation === "tanh"
                ? Math.abs(y) > 0.97
                : neuron.activation === "sigmoid"
                  ? y < 0.015 || y > 0.985
                  : false,
          ),
        0,
      );
      const key = neuron.activation === "relu" ? "off" : "saturated";
      const kind = off < n ? (off > 0.8 * n ? "flat" : "") : key === "off" ? "dead" : "flat";
      return {
        kind,
        text: kind || off ? t(kind === "dead" ? "theatre.dead" : `theatre.${key}`, { k: String(off), n: String(n) }) : "",
      };
    });
  }

  /** @param {{kind: string, text: string}[]} states */
  function tell(states) {
    const words = [];
    if (chosen === null) {
      const dead = states.filter((state) => state.kind === "dead").length,
        flat = states.filter((state) => state.kind === "flat").length;
      words.push(
        h(
          "p",
          { class: "legend-line" },
          ["up", "down", "still", ...(training.grads.some(Number.isNaN) ? ["lost"] : [])].map((way) =>
            h("span", { class: "entry" }, h("span", { class: `key ${way}` }), t(`theatre.key_${way}`), " "),
          ),
        ),
      );
      words.push(
        h(
          "p",
          { class: dead || flat ? "bad" : "quiet" },
          dead
            ? t("theatre.dead_count", { k: String(dead) })
            : flat
              ? t("theatre.flat_count", { k: String(flat) })
              : t("theatre.neuron_hint"),
        ),
      );
    } else {
      const { neuron, name } = nodes[chosen],
        { parameters, grads } = training;
      const rows = [...neuron.weights.map((p, i) => [`w[${i}]`, p]), ["b", neuron.bias]].filter(([, p]) => p >= 0);
      const shown = rows.length > 6 ? [...rows.slice(0, 5), rows[rows.length - 1]] : rows;
      words.push(
        h("p", {}, h("b", {}, name), states[chosen].text ? `: ${states[chosen].text}` : ""),
        h(
          "p",
          { class: "weights", dir: "ltr" },
          shown.map(([word, p]) =>
            h(
              "span",
              { class: "weight" },
              `${word} `,
              h("span", { class: "data" }, show(parameters[p])),
              " ",
              h("span", { class: "grad" }, `∂ ${show(grads[p])}`),
            ),
          ),
        ),
        button(t("theatre.whole"), () => choose(null), { class: "small", "data-do": "whole" }),
      );
    }
    const now = words.map((one) => one.textContent).join("");
    if (now !== told.dataset.now) put(told, words);
    told.dataset.now = now;
  }

  /** The maps of the neurons, from numbers that the plane has taken already. @param {any} plane @param {any} taken */
  function maps(plane, { cells, seen, palette }) {
    const last = nodes.filter((one) => one.last).length;
    nodes.forEach((one, k) => {
      const values = seen.neurons[k];
      if (!values) return;
      const at = one.last && last === 1 ? sureOf([values]) : sayOf(values);
      plane.paint(
        one.canvas,
        FACE,
        (i) => {
          const r = Math.floor(((Math.floor(i / FACE) + 0.5) * cells) / FACE),
            c = Math.floor((((i % FACE) + 0.5) * cells) / FACE);
          return at(r * cells + c);
        },
        palette,
        0.85,
      );
    });
  }
  return {
    el,
    open,
    update,
    maps,
    choose,
    get chosen() {
      return chosen;
    },
  };
}
