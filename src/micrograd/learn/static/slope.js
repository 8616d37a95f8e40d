// The root of the stage's graph as a curve over one leaf, with the present point, the tangent, and a nudge. It moves with
// the leaves.
import { h, put, s } from "./dom.js";
import { evaluate, leavesOf } from "./graph.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

const FIGURE_WIDTH = 460, FIGURE_HEIGHT = 230, FIGURE_RIM = 34;

/**
 * @param {any} stage @param {{over: string, from: number, to: number, nudge?: number, tangent: boolean}} what
 */
export function slopeFigure(stage, what) {
  const { session } = stage, told = h("figcaption", { class: "quiet small" });
  const svg = s("svg", { class: "slopes", viewBox: `0 0 ${FIGURE_WIDTH} ${FIGURE_HEIGHT}`, role: "img" });
  const el = h("figure", { class: "figure" }, svg, told);
  let toX = (place) => place, grabbed = false;
  /** The point follows the pointer along the curve; the slider of the leaf does the same by keys. @param {any} event */
  function drag(event) {
    const leaf = leavesOf(session.state.graph).find((one) => one.name === what.over);
    if (!grabbed || !leaf || session.state.question) return;
    const box = svg.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * FIGURE_WIDTH;
    const x = Math.max(what.from, Math.min(what.to, toX(place))), fine = (what.to - what.from) / 200;
    session.setLeaves({ [leaf.id]: Number((Math.round(x / fine) * fine).toPrecision(6)) });
  }
  svg.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".dot")) return;
    grabbed = true;
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { grabbed = false; });

  function update() {
    const { graph, values, numbers } = session.state, leaf = leavesOf(graph).find((one) => one.name === what.over);
    if (!leaf) return put(svg);
    const at = (x) => evaluate(graph, { ...values, [leaf.id]: x }).data[graph.root];
    const x = numbers.data[leaf.id], y = numbers.data[graph.root], slope = session.right()[leaf.id];
    const from = Math.min(what.from, x), to = Math.max(what.to, x), root = graph.nodes[graph.root].name;
    const points = Array.from({ length: 121 }, (_, k) => from + ((to - from) * k) / 120).map((one) => [one, at(one)])
      .filter(([, value]) => Number.isFinite(value));
    const heights = points.map(([, value]) => value), low = Math.min(0, ...heights), high = Math.max(...heights, low + 1);
    const px = (one) => FIGURE_RIM + ((one - from) / (to - from || 1)) * (FIGURE_WIDTH - 1.4 * FIGURE_RIM);
    const py = (one) => FIGURE_HEIGHT - FIGURE_RIM + 8 - ((one - low) / (high - low || 1)) * (FIGURE_HEIGHT - 1.5 * FIGURE_RIM);
    toX = (place) => from + ((place - FIGURE_RIM) / (FIGURE_WIDTH - 1.4 * FIGURE_RIM)) * (to - from);
    const line = (x1, y1, x2, y2, name) => s("line", { x1: px(x1), y1: py(y1), x2: px(x2), y2: py(y2), class: name });
    const label = (one, other, words, name, anchor) => (
      s("text", { x: one, y: other, class: name, "text-anchor": anchor }, words));
    const path = points.map(([one, value], k) => `${k ? "L" : "M"}${px(one).toFixed(1)},${py(value).toFixed(1)}`).join("");
    const hides = session.hides, half = (to - from) * 0.16, step = what.nudge;
    const marks = [-half, half].map((d) => [x + d, y + d * slope]);
    const moved = step ? at(x + step) : 0;
    put(svg,
      line(from, low, to, low, "axis"), low < 0 ? line(from, 0, to, 0, "axis faint") : "",
      s("path", { d: path, class: "graph-line" }),
      what.tangent && !hides ? line(marks[0][0], marks[0][1], marks[1][0], marks[1][1], "tangent") : "",
      step && !hides ? [line(x, y, x + step, y, "run"), line(x + step, y, x + step, moved, "rise"),
        s("circle", { cx: px(x + step), cy: py(moved), r: 4, class: "second" })] : "",
      s("g", { class: "dot" }, s("circle", { cx: px(x), cy: py(y), r: 16, class: "grip" }),
        s("circle", { cx: px(x), cy: py(y), r: 5.5 })),
      label(FIGURE_WIDTH - 6, py(low) + 17, what.over, "words", "end"), label(FIGURE_RIM - 8, 14, root, "words", "end"),
      label(px(x), py(low) + 17, show(x), "words data", "middle"));
    const facts = { x, y, name: what.over, root, slope, step: step ?? 0, rise: moved - y };
    told.textContent = hides || (!what.tangent && !step) ? t("course.curve_closed", facts)
      : step ? t("course.curve_nudge", facts) : t("course.curve", facts);
    svg.setAttribute("aria-label", told.textContent);
  }
  stage.listen(() => update());
  update();
  return { el, update };
}
