// The data in the plane, and behind them the decision of the network, or of one of its neurons.
import { h, s, unique } from "./dom.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

const SIZE = 400; // units of the drawing, both ways
const COARSE = 36,
  FINE = 72; // cells of the map, while the run plays and when it stands
const APART = 16, // pixels between the points of a stroke
  MOST_POINTS = 1000;
const CLASS_COLOURS = ["data", "grad", "local", "bad", "good", "active"];
const SHAPES = [
  "M0,-7A7,7 0 1 1 0,7A7,7 0 1 1 0,-7Z",
  "M-6.2,-6.2H6.2V6.2H-6.2Z",
  "M0,-8L7.4,5.5H-7.4Z",
  "M0,-8.4L8.4,0L0,8.4L-8.4,0Z",
];

/** The colour variables of the page as numbers. @param {any} el @param {string} name */
export function colourOf(el, name) {
  const text = getComputedStyle(el).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) || 0);
}

/** The name of a class's colour. @param {number} k */
export function classColour(k) {
  return CLASS_COLOURS[k % CLASS_COLOURS.length];
}

/**
 * @param {{onOpen: (k: number) => void, onChange: (points: any[], k: number) => void, onTell: (text: string) => void}} ears
 */
export function createPlane(ears) {
  const canvas = h("canvas", { class: "heat", width: FINE, height: FINE, "aria-hidden": "true" });
  const marks = s("g", { class: "marks" }),
    axes = s("g", { class: "axes", "aria-hidden": "true" });
  const kept = s("g", { class: "kept", "aria-hidden": "true" });
  const svg = s("svg", { class: "dots", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group" }, axes, kept, marks);
  const picture = h("div", { class: "picture", dir: "ltr" }, canvas, svg);
  const name = unique("tool"),
    tools = h("div", { class: "tools brush", role: "radiogroup", "aria-label": t("theatre.click_does") });
  const el = h("div", { class: "plane" }, picture, tools);
  let bounds = { x: 0, y: 0, w: 1, h: 1 },
    tool = "open",
    focus = 0;
  /** @type {any} */
  let training = null;
  /** @type {any[]} */
  let drawn = [];

  const place = ({ x: [a, b] }) => [((a - bounds.x) / bounds.w) * SIZE, SIZE - ((b - bounds.y) / bounds.h) * SIZE];
  const spot = (event) => {
    const box = svg.getBoundingClientRect();
    const u = (event.clientX - box.left) / box.width,
      v = (event.clientY - box.top) / box.height;
    const inside = (f) => Math.max(0, Math.min(1, f));
    return [bounds.x + inside(u) * bounds.w, bounds.y + (1 - inside(v)) * bounds.h];
  };

  /** Take another run: its classes, and the room that its points need. @param {any} run */
  function open(run) {
    training = run;
    const { points } = run.step,
      columns = [0, 1].map((k) => [...points, ...run.tests].map((point) => point.x[k]));
    const [low, high] = [Math.min, Math.max].map((pick) => columns.map((xs) => pick(...xs)));
    const middle = low.map((x, k) => (x + high[k]) / 2),
      wide = Math.max(high[0] - low[0], high[1] - low[1], 1e-9) * 1.24;
    bounds = { x: middle[0] - wide / 2, y: middle[1] - wide / 2, w: wide, h: wide };
    tool = "open";
    focus = 0;
    const choice = (key, label, sign) =>
      h(
        "label",
        { class: "chip-choice" },
        h("input", {
          type: "radio",
          name,
          value: key,
          checked: key === tool,
          onchange: () => {
            tool = key;
          },
        }),
        sign,
        label,
      );
    const classes = run.scene.classes.map((y, k) => choice(`add ${y}`, t("theatre.add_class", { c: show(y) }), symbol(k)));
    kept.replaceChildren(...run.tests.map((point) => {
      const [x, y] = place(point), kind = kindOf(point.y);
      return s("path", { class: `shape hollow ${classColour(kind)}`, d: SHAPES[kind % SHAPES.length],
        transform: `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(0.8)`, ...toneOf(point.y) });
    }));
    tools.replaceChildren(
      choice("open", t("theatre.open_graph"), null),
      ...classes,
      choice("remove", t("theatre.remove_point"), null),
    );
    const [zx, zy] = place({ x: [0, 0] });
    axes.replaceChildren(s("path", { d: `M${zx},0V${SIZE}M0,${zy}H${SIZE}` }));
    points.length && dots();
  }

  /** @param {number} k */
  function symbol(k) {
    return s(
      "svg",
      { class: `symbol ${classColour(k)}`, viewBox: "-10 -10 20 20", "aria-hidden": "true" },
      s("path", { d: SHAPES[k % SHAPES.length] }),
    );
  }

  /** @param {number} y */
  const kindOf = (y) => (training.scene.regression ? Number(y > 0) : Math.max(0, training.scene.classes.indexOf(y)));
  /** A number as a target is paler the nearer it is to 0. @param {number} y */
  const toneOf = (y) => (training.scene.regression ? { "fill-opacity": (0.2 + 0.8 * Math.min(1,
    Math.abs(y))).toFixed(2) } : {});

  /** Points as elements that can be focused, dragged and removed. */
  function dots() {
    const { points } = training.step,
      before = drawn.length;
    while (drawn.length < points.length) drawn.push(dot(drawn.length));
    if (drawn.length > points.length) drawn.length = points.length;
    if (before !== drawn.length || !marks.childNodes.length) marks.replaceChildren(...drawn.map((one) => one.el));
    focus = Math.min(focus, Math.max(0, points.length - 1));
    drawn.forEach((one, k) => one.update(points[k], k));
    svg.setAttribute("aria-label", t("theatre.points", { n: String(points.length) }));
  }

  /** @param {number} index */
  function dot(index) {
    const shape = s("path", { class: "shape" }),
      wrong = s("path", { class: "wrong", d: "M-4,-4L4,4M-4,4L4,-4" });
    let k = index,
      dragging = false,
      moved = false;
    const one = s(
      "g",
      {
        class: "dot",
        role: "button",
        tabindex: "-1",
        onclick: act,
        onkeydown: press,
        onpointerdown: grab,
        onpointermove: drag,
        onpointerup: drop,
        onpointercancel: drop,
        onfocus: () => {
          focus = k;
          drawn.forEach((other) => other.tab());
        },
      },
      shape,
      wrong,
    );

    function act() {
      if (moved) return;
      if (tool === "remove") remove(k);
      else ears.onOpen(k);
    }
    /** @param {any} event */
    function grab(event) {
      if (event.button !== 0) return;
      dragging = true;
      moved = false;
      one.setPointerCapture(event.pointerId);
    }
    /** @param {any} event */
    function drag(event) {
      if (!dragging) return;
      const [a, b] = spot(event),
        [px, py] = place(training.step.points[k]),
        [qx, qy] = place({ x: [a, b] });
      if (!moved && Math.hypot(px - qx, py - qy) < 6) return;
      moved = true;
      move(k, [a, b]);
    }
    function drop() {
      dragging = false;
      setTimeout(() => {
        moved = false;
      });
    }
    /** @param {any} event */
    function press(event) {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      const { points } = training.step;
      if (step && event.shiftKey)
        move(
          k,
          points[k].x.map((x, i) => x + (step[i] * bounds.w) / 40),
        );
      else if (step) drawn[(k + (step[0] + -step[1] > 0 ? 1 : points.length - 1)) % points.length].el.focus();
      else if (event.key === "Enter" || event.key === " ") act();
      else if (event.key === "Delete" || event.key === "Backspace") remove(k);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }
    return {
      el: one,
      tab: () => one.setAttribute("tabindex", k === focus ? "0" : "-1"),
      /** @param {any} point @param {number} now */
      update(point, now) {
        k = now;
        const kind = kindOf(point.y),
          [x, y] = place(point);
        one.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
        one.dataset.point = String(k);
        shape.setAttribute("d", SHAPES[kind % SHAPES.length]);
        shape.setAttribute("class", `shape ${classColour(kind)}`);
        for (const [name, x_] of Object.entries(toneOf(point.y))) shape.setAttribute(name, x_);
        const says = training.guesses?.[k],
          off = says !== undefined && says !== point.y;
        one.classList.toggle("off", off);
        const told = { k: String(k), x: show(point.x[0]), y: show(point.x[1]), c: show(point.y) };
        one.setAttribute("aria-label", t(off ? "theatre.point_wrong" : "theatre.point", told));
        this.tab();
      },
    };
  }

  /** @param {number} k @param {number[]} x */
  function move(k, x) {
    ears.onChange(
      training.step.points.map((point, i) => (i === k ? { ...point, x } : point)),
      k,
    );
  }

  /** @param {number} k */
  function remove(k) {
    const { points } = training.step;
    if (points.length < 2) return;
    ears.onTell(t("theatre.removed", { k: String(k) }));
    ears.onChange(
      points.filter((_, i) => i !== k),
      k,
    );
    drawn[Math.min(k, drawn.length - 1)]?.el.focus();
  }

  /** @type {any} where the last point of a stroke was put */
  let stroke = null;
  svg.addEventListener("pointerdown", (event) => {
    if (!tool.startsWith("add ") || event.target.closest(".dot") || event.button !== 0) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    draw(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (stroke && Math.hypot(event.clientX - stroke.clientX, event.clientY - stroke.clientY) > APART) draw(event);
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { stroke = null; });
  /** One more point of the chosen class, here; more of them while the pointer is dragged. @param {any} event */
  function draw(event) {
    stroke = event;
    if (training.step.points.length >= MOST_POINTS) return;
    ears.onChange([...training.step.points, { x: spot(event), y: Number(tool.slice(4)) }], training.step.points.length);
  }

  /** A class's point in the middle, for those who add without a mouse. @param {number} y */
  function add(y) {
    const x = [bounds.x + bounds.w / 2, bounds.y + bounds.h / 2],
      n = training.step.points.length;
    ears.onChange([...training.step.points, { x, y }], n);
    drawn[n]?.el.focus();
  }
  tools.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && tool.startsWith("add ")) add(Number(tool.slice(4)));
  });

  /** The inputs at which the map is taken. @param {number} cells */
  function grid(cells) {
    const columns = [new Float64Array(cells * cells), new Float64Array(cells * cells)];
    for (let r = 0, k = 0; r < cells; r++) {
      for (let c = 0; c < cells; c++, k++) {
        columns[0][k] = bounds.x + ((c + 0.5) / cells) * bounds.w;
        columns[1][k] = bounds.y + (1 - (r + 0.5) / cells) * bounds.h;
      }
    }
    return columns;
  }

  /** Paint cells in the colours of their classes. @param {any} to @param {number} cells
   * @param {(k: number) => [number, number]} at the class and how sure, from 0 to 1 @param {number[][]} palette
   * @param {number} [strength] */
  function paint(to, cells, at, palette, strength = 0.5) {
    const image = new ImageData(cells, cells),
      [paper, ...colours] = palette;
    for (let k = 0; k < cells * cells; k++) {
      const [kind, sure] = at(k),
        colour = colours[kind % colours.length],
        f = sure === sure ? 0.1 + strength * sure : 0;
      for (let i = 0; i < 3; i++) image.data[4 * k + i] = paper[i] + f * (colour[i] - paper[i]);
      image.data[4 * k + 3] = 255;
    }
    to.width = to.height = cells;
    to.getContext("2d").putImageData(image, 0, 0);
  }

  return {
    el,
    open,
    paint,
    symbol,
    /** Draw the points again. */
    dots,
    /** The colours of the page as they are now, paper first. */
    palette: () => ["card", ...CLASS_COLOURS].map((one) => colourOf(el, one)),
    /**
     * Draw the map: of the whole network, or of one neuron.
     * @param {boolean} fast @param {number | null} neuron
     */
    map(fast, neuron) {
      const cells = fast ? COARSE : FINE,
        seen = training.look(grid(cells)),
        palette = this.palette();
      paint(canvas, cells, neuron === null ? sureOf(seen.outputs) : sayOf(seen.neurons[neuron]), palette);
      return { cells, seen, palette };
    },
  };
}

/** What the outputs decide, and how surely. @param {Float64Array[]} outputs @returns {(k: number) => [number, number]} */
export function sureOf(outputs) {
  if (outputs.length === 1) return (k) => [outputs[0][k] > 0 ? 1 : 0, Math.abs(Math.tanh(outputs[0][k]))];
  return (k) => {
    let best = 0,
      top = -Infinity,
      second = -Infinity;
    outputs.forEach((column, i) => {
      if (column[k] > top) [best, top, second] = [i, column[k], top];
      else if (column[k] > second) second = column[k];
    });
    return [best, Math.tanh((top - second) / 2)];
  };
}

/** What one neuron says: its sign and how strongly, beside the strongest. @param {Float64Array} values
 * @returns {(k: number) => [number, number]} */
export function sayOf(values) {
  let most = 0;
  for (const x of values) if (Math.abs(x) > most && Number.isFinite(x)) most = Math.abs(x);
  return (k) => [values[k] > 0 ? 1 : 0, most ? Math.abs(values[k]) / most : 0];
}
