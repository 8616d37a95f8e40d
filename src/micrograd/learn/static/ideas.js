// The pictures of ideas: a machine with a knob, gears, streams that join and are copied, a landscape, bars, a heat map. Each
// shows numbers of the graph on the stage, and moves with them.
import { button, h, put, s } from "./dom.js";
import { evaluate, leavesOf } from "./graph.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const inscribed = (x, y, text, name = "words", anchor = "middle") =>
  s("text", { x, y, class: name, "text-anchor": anchor }, text);

/** @param {any} stage @param {{of: string, show: string[], target?: string, from?: number, to?: number}} what */
export function ideaFigure(stage, what) {
  const makers = { knob, gears, tap: streams, landscape, bars, heat };
  const { session } = stage, told = h("p", { role: "status" }), said = h("figcaption", { class: "quiet small" }, told);
  const svg = s("svg", { class: `idea ${what.of}`, role: what.of === "knob" ? "group" : "img",
    "aria-label": t(`course.pictures.${what.of}`) });
  const el = h("figure", { class: "figure" }, svg, said);
  const idOf = (name) => session.state.graph.nodes.findIndex((node) => node.name === name);
  const here = () => what.show.every((name) => idOf(name) >= 0);
  const tools = h("div", { class: "row wrap", hidden: true });
  el.insertBefore(tools, said);
  const live = makers[what.of]({ session, what, svg, told, idOf,
    tool: (...parts) => { tools.append(...parts); tools.hidden = false; } });
  const update = () => { if (here()) live.update(); };
  stage.listen(update);
  update();
  return { el, destroy: () => live.destroy?.() };
}

/** Move something from 0 to 1, or set it at once where motion is not wanted.
 * @param {number} ms @param {(part: number) => void} set */
function moved(ms, set) {
  if (calm()) {
    set(1);
    return () => {};
  }
  let frame = 0;
  const begin = performance.now();
  const next = (now) => {
    const part = Math.max(0, Math.min(1, (now - begin) / ms));
    set(part);
    if (part < 1) frame = requestAnimationFrame(next);
  };
  frame = requestAnimationFrame(next);
  return () => cancelAnimationFrame(frame);
}

// -- a machine with a knob

function knob({ session, what, svg, told, idOf }) {
  const [name, out] = what.show, [low, high] = [what.from ?? -5, what.to ?? 5];
  svg.setAttribute("viewBox", "0 0 460 190");
  const pointer = s("g", { class: "turns" }, s("circle", { r: 46, class: "knob-face" }),
    s("line", { x1: 0, y1: -16, x2: 0, y2: -40, class: "knob-mark" }));
  const dial = s("g", { class: "dial", transform: "translate(130 92)", tabindex: 0, role: "slider",
    "aria-valuemin": low, "aria-valuemax": high, "aria-label": t("course.ideas.knob", { name }), onkeydown: keys }, pointer);
  const meter = inscribed(332, 104, "", "meter");
  put(svg, s("rect", { x: 40, y: 24, width: 380, height: 136, rx: 18, class: "machine" }),
    s("rect", { x: 262, y: 62, width: 140, height: 66, rx: 8, class: "window" }),
    ...Array.from({ length: 11 }, (_, k) => s("line",
      { x1: 0, y1: -54, x2: 0, y2: -62, class: "tick-mark", transform: `translate(130 92) rotate(${-135 + 27 * k})` })),
    dial, inscribed(130, 182, name), inscribed(332, 182, out), meter);
  const leaf = () => leavesOf(session.state.graph).find((one) => one.name === name);
  const step = Math.max(0.01, Number(((high - low) / 90).toFixed(2)));
  /** @param {number} x */
  function turn(x) {
    const one = leaf();
    if (!one || session.state.question) return;
    session.setLeaves({ [one.id]: Number(Math.max(low, Math.min(high, x)).toFixed(2)) });
  }
  function keys(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    turn(session.state.numbers.data[idOf(name)] + way * step);
  }
  let held = null;
  dial.addEventListener("pointerdown", (event) => {
    held = { y: event.clientY, x: event.clientX, from: session.state.numbers.data[idOf(name)] };
    dial.setPointerCapture(event.pointerId);
    dial.focus();
    event.preventDefault();
  });
  dial.addEventListener("pointermove", (event) => {
    if (held) turn(held.from + ((event.clientX - held.x + held.y - event.clientY) / 160) * (high - low));
  });
  for (const end of ["pointerup", "pointercancel"]) dial.addEventListener(end, () => { held = null; });
  return {
    update() {
      const { data } = session.state.numbers, x = data[idOf(name)], asked = session.state.question?.kind === "data";
      pointer.setAttribute("transform", `rotate(${-135 + 270 * Math.max(0, Math.min(1, (x - low) / (high - low)))})`);
      meter.textContent = asked ? "?" : show(data[idOf(out)]);
      dial.setAttribute("aria-valuenow", String(x));
      dial.setAttribute("aria-valuetext", t("course.ideas.knob_now", { name, x, out, y: asked ? "?" : show(data[idOf(out)]) }));
      told.textContent = t("course.ideas.knob_told", { name });
    },
  };
}

// -- gears: ratios along a chain multiply

/** The outline of a gear. @param {number} teeth @param {number} radius */
function gearPath(teeth, radius) {
  const points = [];
  for (let k = 0; k < teeth; k++) {
    for (const [part, r] of [[0, radius - 4], [0.25, radius + 4], [0.5, radius + 4], [0.75, radius - 4]]) {
      const angle = ((k + part) / teeth) * 2 * Math.PI;
      points.push(`${(r * Math.cos(angle)).toFixed(1)},${(r * Math.sin(angle)).toFixed(1)}`);
    }
  }
  return `M${points.join("L")}Z`;
}

function gears({ session, what, svg, tool, told, idOf }) {
  const TOOTH = 2.6; // px of radius for each tooth
  let stop = () => {}, turned = 0, wheels = [], ratios = [];
  const go = button(t("course.ideas.turn_once", { name: what.show[0] }), () => {
    stop();
    const from = turned;
    stop = moved(3600, (part) => { turned = from + part; paint(); });
  }, { class: "small", "data-do": "turn-gears" });
  tool(go);
  svg.setAttribute("viewBox", "0 0 460 210");

  function build() {
    const grads = session.right();
    ratios = what.show.slice(1).map((name, k) => Math.abs(grads[idOf(what.show[k])] / (grads[idOf(name)] || 1)) || 1);
    const small = 9, parts = [];
    wheels = [];
    let x = 0;
    what.show.forEach((name, k) => {
      const driven = k ? small : 0, drives = k < ratios.length ? Math.round(small * Math.min(ratios[k], 4)) : 0;
      const own = Math.max(driven, drives) * TOOTH;
      x = k ? x + wheels[k - 1].drives * TOOTH + driven * TOOTH + 1 : 20 + own;
      const bodies = [drives, driven].filter(Boolean).sort((a, b) => b - a).map((teeth, layer) => (
        s("path", { d: gearPath(teeth, teeth * TOOTH), class: layer ? "gear small-gear" : "gear" })));
      const wheel = s("g", {}, bodies, s("circle", { cx: own * 0.62, cy: 0, r: 4, class: "gear-dot" }),
        s("circle", { r: 4, class: "axle" }));
      wheels.push({ el: wheel, x, drives, way: k % 2 ? -1 : 1, rate: ratios.slice(0, k).reduce((a, b) => a * b, 1),
        label: inscribed(x, 204, ""), name });
      parts.push(s("g", { transform: `translate(${x} 96)` }, wheel), wheels[k].label);
    });
    put(svg, parts);
    svg.setAttribute("viewBox", `0 0 ${Math.max(320, x + 60)} 212`);
  }
  function paint() {
    const last = wheels.length - 1, hidden = Boolean(session.state.question);
    wheels.forEach(({ el: wheel, way, rate, label, name }, k) => {
      wheel.setAttribute("transform", `rotate(${way * rate * turned * 360})`);
      label.textContent = `${name} · ${k === last && hidden ? "?" : show(Number((rate * turned).toFixed(2)))}`;
    });
    told.textContent = t("course.ideas.gears_told", { ratios: ratios.map((one) => show(one)).join(" · ") });
  }
  return { update() { build(); paint(); }, destroy: () => stop() };
}

// -- streams: gradients that arrive are added, and what is passed on through a sum is copied

function streams({ session, what, svg, told, idOf }) {
  return {
    update() {
      const { graph, frames } = session.state, id = idOf(what.show[0]), hidden = Boolean(session.state.question);
      const backward = frames.filter((frame) => frame.kind === "backward");
      const into = backward.filter((frame) => frame.input === id), from = backward.filter((frame) => frame.node === id);
      svg.setAttribute("viewBox", `0 ${into.length ? 0 : 92} 460 ${(from.length ? 220 : 140) - (into.length ? 0 : 92)}`);
      const sizes = [...into, ...from].map((frame) => Math.abs(frame.product)), most = Math.max(...sizes, 1e-9);
      const wide = (x) => 3 + 19 * (Math.abs(x) / most), name = (k) => graph.nodes[k].name;
      const spread = (list, k) => 230 + (k - (list.length - 1) / 2) * Math.min(150, 360 / Math.max(list.length, 1));
      const figure = (frame, x, y) => inscribed(x, y, hidden ? "?" : show(frame.product), "words grad");
      const stream = (x0, y0, x1, y1, frame) =>
        [s("path", { d: `M${x0},${y0}C${x0},${(y0 + y1) / 2} ${x1},${(y0 + y1) / 2} ${x1},${y1}`, class: "pipe",
          "stroke-width": wide(frame.product) + 6 }),
        s("path", { d: `M${x0},${y0}C${x0},${(y0 + y1) / 2} ${x1},${(y0 + y1) / 2} ${x1},${y1}`, class: "flow",
          "stroke-width": wide(frame.product) })];
      const parts = [];
      into.forEach((frame, k) => {
        const x = spread(into, k);
        parts.push(stream(x, 30, 230, 104, frame), inscribed(x, 18, name(frame.node)),
          figure(frame, x + (x < 230 ? -30 : 30), 52));
      });
      from.forEach((frame, k) => {
        const x = spread(from, k);
        parts.push(stream(230, 124, x, 192, frame), inscribed(x, 212, name(Number(frame.input))),
          figure(frame, x + (x < 230 ? -30 : 30), 176));
      });
      const total = into.reduce((sum, frame) => sum + frame.product, 0);
      put(svg, parts, s("rect", { x: 168, y: 98, width: 124, height: 32, rx: 9, class: "basin" }),
        inscribed(230, 119, `${name(id)} · ${hidden ? "?" : into.length ? show(total) : "1"}`, "words strong-words"));
      told.textContent = t(into.length > 1 ? "course.ideas.joins" : "course.ideas.copies",
        { name: name(id), n: String(into.length || from.length) });
    },
  };
}

// -- a landscape: a ball on the surface of the loss over one or two leaves

function landscape({ session, what, svg, tool, told, idOf }) {
  const [low, high] = [what.from ?? -5, what.to ?? 5], CELLS = 26, WIDTH = 460, HEIGHT = 300;
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const [a, b] = what.show, target = what.target ?? session.state.graph.nodes[session.state.graph.root].name;
  const back = s("g"), trail = s("polyline", { class: "trail-line", points: "" }), arrow = s("line", { class: "downhill" });
  const ball = s("circle", { r: 8, class: "ball" });
  put(svg, back, trail, arrow, ball, inscribed(WIDTH - 8, HEIGHT - 8, a, "words", "end"),
    inscribed(12, 16, b ?? target, "words", "start"));
  const px = (x) => ((x - low) / (high - low)) * WIDTH;
  let drawn = "", path = [], scale = [0, 1];
  const value = (changed) => evaluate(session.state.graph, { ...session.state.values, ...changed }).data[idOf(target)];
  const py = (y) => (b ? HEIGHT - ((y - low) / (high - low)) * HEIGHT
    : HEIGHT - 24 - ((y - scale[0]) / (scale[1] - scale[0] || 1)) * (HEIGHT - 50));
  const roll = button(t("course.ideas.downhill"), () => {
    const grads = session.right(), { data } = session.state.numbers, ids = what.show.map(idOf);
    const length = Math.hypot(...ids.map((id) => grads[id])) || 1, far = Math.min(0.1 * length, (high - low) / 12);
    if (session.state.question) return;
    session.setLeaves(Object.fromEntries(ids.map((id) =>
      [id, Number((data[id] - (far * grads[id]) / length).toPrecision(6))])));
  }, { class: "small", "data-do": "downhill" });
  tool(roll);

  /** The ground, which depends on the numbers that stand still. */
  function ground() {
    const { graph, numbers } = session.state, still = graph.nodes.filter((one) =>
      !one.inputs.length && !what.show.includes(one.name));
    const now = JSON.stringify([graph.root, ...still.map((one) => numbers.data[one.id])]);
    if (now === drawn) return;
    [drawn, path] = [now, []];
    const at = (k, n) => low + ((high - low) * k) / n;
    if (b) {
      const heights = Array.from({ length: CELLS * CELLS },
        (_, k) => value({ [idOf(a)]: at((k % CELLS) + 0.5, CELLS), [idOf(b)]: at(Math.floor(k / CELLS) + 0.5, CELLS) }));
      const depth = heights.map((y) => Math.log1p(Math.max(0, y - Math.min(...heights)))), top = Math.max(...depth, 1e-9);
      put(back, depth.map((y, k) => s("rect", { x: ((k % CELLS) * WIDTH) / CELLS,
        y: HEIGHT - ((Math.floor(k / CELLS) + 1) * HEIGHT) / CELLS, width: WIDTH / CELLS,
        height: HEIGHT / CELLS, class: "ground", "fill-opacity": (0.06 + 0.8 * Math.round((y / top) * 9) / 9).toFixed(2) })));
    } else {
      const points = Array.from({ length: 121 }, (_, k) => at(k, 120)).map((x) => [x, value({ [idOf(a)]: x })]);
      scale = [Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))];
      const edge = points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("L");
      put(back, s("path", { d: `M0,${HEIGHT}L${edge}L${WIDTH},${HEIGHT}Z`, class: "hill" }));
    }
  }
  return {
    update() {
      if (b && idOf(b) < 0) return;
      ground();
      const { data } = session.state.numbers, grads = session.right(), x = data[idOf(a)],
        y = b ? data[idOf(b)] : data[idOf(target)];
      const spot = [px(x), py(y) - (b ? 0 : 8)], down = [-grads[idOf(a)], b ? grads[idOf(b)] : 0],
        length = Math.hypot(...down) || 1;
      const far = b ? Math.min(60, 16 + 8 * Math.log1p(length)) : Math.min(60, 12 * Math.log1p(length));
      for (const [key, n] of Object.entries({ x1: spot[0], y1: spot[1], x2: spot[0] + (far * down[0]) / length,
        y2: spot[1] + (far * down[1]) / length })) arrow.setAttribute(key, n.toFixed(1));
      arrow.toggleAttribute("hidden", Math.hypot(...down) < 1e-3 || session.hides);
      ball.setAttribute("cx", spot[0].toFixed(1));
      ball.setAttribute("cy", spot[1].toFixed(1));
      path = [...path.slice(-80), spot];
      trail.setAttribute("points", path.map(([one, other]) => `${one.toFixed(1)},${other.toFixed(1)}`).join(" "));
      told.textContent = t("course.ideas.landscape", { name: what.show.join(", "), target, y: data[idOf(target)] });
    },
  };
}

// -- bars: scores become shares of one whole

function bars({ session, what, svg, told, idOf }) {
  svg.setAttribute("viewBox", "0 0 460 210");
  const rows = what.show.map((name, k) => {
    const x = 40 + (k + 0.5) * (380 / what.show.length), score = s("rect", { x: x - 44, width: 38, class: "score-bar", rx: 3 });
    const share = s("rect", { x: x + 6, width: 38, class: "share-bar", rx: 3 });
    return { name, score, share, shown: inscribed(x - 25, 0, ""), part: inscribed(x + 25, 0, "", "words grad"),
      label: inscribed(x, 204, name) };
  });
  put(svg, s("line", { x1: 20, y1: 150, x2: 440, y2: 150, class: "axis" }),
    rows.flatMap((row) => [row.score, row.share, row.shown, row.part, row.label]));
  return {
    update() {
      const { data } = session.state.numbers, scores = rows.map(({ name }) => data[idOf(name)]), top = Math.max(...scores);
      const powers = scores.map((one) => Math.exp(one - top)), total = powers.reduce((a, b) => a + b, 0),
        most = Math.max(2, ...scores.map(Math.abs));
      const asked = Boolean(session.state.question);
      rows.forEach((row, k) => {
        const tall = (Math.abs(scores[k]) / most) * (scores[k] < 0 ? 36 : 120), part = powers[k] / total;
        row.score.setAttribute("y", String(scores[k] < 0 ? 150 : 150 - tall));
        row.score.setAttribute("height", tall.toFixed(1));
        row.share.setAttribute("y", (150 - 120 * part).toFixed(1));
        row.share.setAttribute("height", (120 * part).toFixed(1));
        row.shown.setAttribute("y", String(scores[k] < 0 ? 164 + tall : 145 - tall));
        row.part.setAttribute("y", (145 - 120 * part).toFixed(1));
        row.shown.textContent = show(scores[k]);
        row.part.textContent = asked ? "?" : `${Math.round(100 * part)}%`;
      });
      told.textContent = t("course.ideas.bars");
    },
  };
}

// -- a heat map: which place looks at which

const LETTERS = ["e", "m", "m", "a"],
  SCORES = [[1.2, 0.1, 0.1, 0.6], [0.4, 1.5, 0.9, 0.2], [1.1, 1.6, 1.4, 0.3], [1.8, 0.5, 0.9, 1.3]];

function heat({ svg, tool, told }) {
  svg.setAttribute("viewBox", "0 0 300 270");
  let scale = 1, row = 2, mask = "before";
  const strong = h("input", { type: "range", min: 0, max: 4, step: 0.1, value: "1", "aria-label": t("course.ideas.sharpness"),
    oninput: () => { scale = Number(strong.value); update(); } });
  const which = h("select", { "aria-label": t("course.ideas.mask"), onchange: () => { mask = which.value; update(); } },
    [["before", t("course.ideas.mask_before")], ["after", t("course.ideas.mask_after")], ["none", t("course.ideas.mask_none")]]
      .map(([one, said]) => h("option", { value: one }, said)));
  const places = h("select", { "aria-label": t("course.ideas.place"),
    onchange: () => { row = Number(places.value); update(); } },
    LETTERS.map((one, k) => h("option", { value: k, selected: k === row }, `${k + 1}. ${one}`)));
  tool(places, which, h("label", { class: "inline" }, t("course.ideas.sharpness"), strong));
  const weightsOf = (k) => {
    const open = (j) => mask !== "before" || j <= k, powers = SCORES[k].map((one, j) => (open(j) ? Math.exp(one * scale) : 0));
    const total = powers.reduce((a, b) => a + b, 0), shares = powers.map((one) => one / total);
    return mask === "after" ? shares.map((one, j) => (j <= k ? one : 0)) : shares;
  };
  function update() {
    const cell = 50, left = 60, top = 30;
    const cells = SCORES.flatMap((_, k) => weightsOf(k).map((part, j) =>
      s("g", { class: k === row ? "heat-cell now" : "heat-cell",
        onclick: () => { row = k; places.value = String(k); update(); } },
      s("rect", { x: left + j * cell, y: top + k * cell, width: cell - 3, height: cell - 3, rx: 5,
        "fill-opacity": (0.08 + 0.85 * part).toFixed(3), class: "heat-rect" }),
      inscribed(left + j * cell + cell / 2 - 2, top + k * cell + cell / 2 + 4, `${Math.round(100 * part)}%`,
        part > 0.45 ? "words light" : "words"))));
    put(svg, LETTERS.map((one, k) => [inscribed(left + k * cell + cell / 2, 20, one, "words strong-words"),
      inscribed(40, top + k * cell + cell / 2 + 4, one, "words strong-words")]), cells,
      inscribed(150, 252, t("course.ideas.heat_axis")));
    const total = weightsOf(row).reduce((a, b) => a + b, 0);
    told.textContent = t("course.ideas.heat", { place: String(row + 1), letter: LETTERS[row],
      weights: weightsOf(row).map((one) => `${Math.round(100 * one)}%`).join(", "),
      total: `${Math.round(100 * total)}%` });
  }
  return { update };
}
