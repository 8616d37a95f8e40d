// The loss and the accuracy of every step so far, and where in the run one is.
import { h, put, s } from "./dom.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

const W = 360,
  H = 200,
  SMALL = 120,
  LEFT = 50,
  BOTTOM = 22,
  TOP = 8,
  RIGHT = 10;
const MOST = 400; // points that a line is drawn with

/** The panel with both curves and the histogram. */
export function createCurve() {
  const loss = s("path", { class: "line loss" }),
    accuracy = s("path", { class: "line accuracy" });
  const tested = s("path", { class: "line tested" }),
    later = s("path", { class: "line loss later" }),
    here = s("path", { class: "here" }),
    spot = s("circle", { class: "spot", r: 4.5 });
  const labels = s("g", { class: "labels" }),
    frame = s("path", { class: "frame", d: `M${LEFT},${TOP}V${H - BOTTOM}H${W - RIGHT}` });
  const svg = s(
    "svg",
    { class: "graph", viewBox: `0 0 ${W} ${H}`, role: "img" },
    frame,
    later,
    accuracy,
    tested,
    loss,
    here,
    spot,
    labels,
  );
  const bars = s("svg", { class: "bars", viewBox: `0 0 ${W} 88`, role: "img" });
  const told = h("p", { class: "numbers" });
  const small = s("path", { class: "line loss" });
  const spark = s("svg", { class: "spark", viewBox: `0 0 ${SMALL} 30`, "aria-hidden": "true" }, small);
  const el = h(
    "div",
    { class: "curve" },
    told,
    h("div", { dir: "ltr" }, svg),
    h("h3", {}, t("theatre.histogram")),
    h("div", { dir: "ltr" }, bars),
  );

  /** @param {any} training */
  function update(training) {
    const { steps, at } = training,
      { loss: now, accuracy: share } = steps[at];
    const losses = steps.map((step) => step.loss),
      kept = steps.map((step) => step.tested ?? null),
      known = [...losses, ...kept].filter((x) => Number.isFinite(x) && x !== null);
    const scale = lossScale(known),
      last = Math.max(1, steps.length - 1);
    const x = (k) => LEFT + ((W - LEFT - RIGHT) * k) / last,
      y = (v) => H - BOTTOM - (H - BOTTOM - TOP) * scale.share(v);
    loss.setAttribute("d", path(losses, 0, at, x, y));
    tested.setAttribute("d", path(kept, 0, at, x, y));
    later.setAttribute("d", path(losses, at, steps.length - 1, x, y));
    accuracy.setAttribute(
      "d",
      path(
        steps.map((step) => step.accuracy),
        0,
        at,
        x,
        (v) => H - BOTTOM - (H - BOTTOM - TOP) * v,
      ),
    );
    small.setAttribute("d", path(losses, 0, at, (k) => 2 + ((SMALL - 4) * k) / last, (v) => 28 - 26 * scale.share(v)));
    here.setAttribute("d", `M${x(at)},${TOP}V${H - BOTTOM}`);
    const finite = Number.isFinite(now) && now !== null;
    spot.setAttribute("cx", String(x(at)));
    spot.setAttribute("cy", String(finite ? y(now) : TOP));
    put(
      labels,
      scale.marks.map((v) => letters(LEFT - 5, Math.max(TOP + 8, y(v) + (v === scale.marks[0] ? 0 : 4)), show(tidy(v)),
        "end")),
      letters(LEFT, H - 6, "0", "start"),
      letters(W - RIGHT, H - 6, String(steps.length - 1), "end"),
    );
    const facts = {
      k: String(at),
      loss: now === null ? "—" : show(tidy(now)),
      accuracy: share === null ? "—" : percent(share),
      tested: steps[at].tested === undefined ? "—" : show(tidy(steps[at].tested)),
      right: steps[at].testedRight === undefined ? "—" : percent(steps[at].testedRight),
    };
    const fact = (name, key, x_) =>
      h("span", { class: "fact" }, h("span", { class: "quiet" }, t(`theatre.${key}`)), h("b", { class: name }, x_));
    put(
      told,
      fact("loss", "loss", facts.loss),
      training.scene.regression ? null : fact("accuracy", "accuracy", facts.accuracy),
      training.tests.length ? fact("tested", "test_loss", facts.tested) : null,
      training.tests.length && !training.scene.regression ? fact("tested-right", "test_accuracy", facts.right) : null,
    );
    const read = training.scene.regression ? "curve_read_numbers" : "curve_read";
    svg.setAttribute("aria-label", [t(`theatre.${read}`, facts), training.tests.length ? t("theatre.curve_read_test",
      facts) : ""].join(" ").trim());
    histogram(training.grads);
  }

  /** How many gradients there are of each size, by powers of ten; zeros apart. @param {Float64Array} grads */
  function histogram(grads) {
    const counts = new Array(9).fill(0); // 0, <1e-6, 1e-6 … 1e-5, …, ≥ 1
    for (const g of grads) counts[g === 0 ? 0 : Math.max(1, Math.min(8, 8 + Math.floor(Math.log10(Math.abs(g)))))] += 1;
    const most = Math.max(...counts, 1),
      wide = (W - 8) / counts.length;
    const names = ["0", "<1e−6", "1e−6", "1e−5", "1e−4", "1e−3", "0.01", "0.1", "≥1"];
    put(
      bars,
      counts
        .map((count, k) => [
          s("rect", {
            class: k ? "bar" : "bar none",
            x: 4 + k * wide + 2,
            width: wide - 4,
            y: 68 - (56 * count) / most,
            height: (56 * count) / most + 0.5,
          }),
          letters(4 + (k + 0.5) * wide, 82, names[k], "middle"),
          count ? letters(4 + (k + 0.5) * wide, 64 - (56 * count) / most, String(count), "middle") : null,
        ])
        .flat(),
    );
    const zeros = { zeros: String(counts[0]), n: String(grads.length) };
    bars.setAttribute("aria-label", t("theatre.histogram_read", zeros));
  }
  return { el, spark, update };
}

/** @param {number} x @param {number} y @param {string} text @param {string} anchor */
function letters(x, y, text, anchor) {
  return s("text", { x, y, "text-anchor": anchor }, text);
}

/**
 * Where a loss stands between the bottom of the chart (0) and its top (1), and the losses that are marked. The scale is
 * logarithmic, so that one large loss at the beginning does not flatten the rest; with a negative loss it is linear.
 * @param {number[]} losses
 */
export function lossScale(losses) {
  let [low, high] = [Infinity, -Infinity];
  for (const x of losses) [low, high] = [Math.min(low, x), Math.max(high, x)];
  if (!(high > 0)) [low, high] = [Math.min(low, 0), Math.max(high, 1)];
  if (low < 0) {
    const linear = (v) => Math.min(1, (v - low) / (high - low));
    return { marks: [low, high], share: linear };
  }
  const top = Math.log10(high) + 0.04, bottom = Math.min(Math.log10(Math.max(low, high * 1e-8)), top - 1);
  const share = (v) => Math.min(1, Math.max(0, v > 0 ? (Math.log10(v) - bottom) / (top - bottom) : 0));
  const powers = Array.from({ length: 40 }, (_, k) => 10 ** (k - 30)).filter((x) => x > 10 ** bottom * 1.5 && x < high / 1.5);
  const every = Math.ceil(powers.length / 3);
  return { marks: [10 ** bottom, ...powers.filter((_, k) => k % every === 0), high], share };
}

/** Three figures are enough beside a curve. @param {number} x */
function tidy(x) {
  return Number.isFinite(x) && x !== 0 ? Number(x.toPrecision(3)) : x;
}

/** @param {number} share */
export function percent(share) {
  return t("page.percent", { x: String(Math.round(1000 * share) / 10) });
}

/** A line through the numbers of some steps, with gaps where there is none.
 * @param {(number | null)[]} values @param {number} from @param {number} to @param {(k: number) => number} x
 * @param {(v: number) => number} y */
function path(values, from, to, x, y) {
  const every = Math.max(1, Math.ceil((to - from) / MOST));
  let d = "",
    pen = false;
  for (let k = from; k <= to; k = k < to ? Math.min(to, k + every) : k + 1) {
    const v = values[k];
    if (v === null || !Number.isFinite(v)) pen = false;
    else {
      d += `${pen ? "L" : "M"}${x(k).toFixed(1)},${y(v).toFixed(1)}`;
      pen = true;
    }
  }
  return d;
}
