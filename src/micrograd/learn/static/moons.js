// The learner's own engine trains a network on two half moons: every line that computes runs in the Python of this page.
import { button, h, put, s } from "./dom.js";
import { pythonSpace } from "./pyrun.js";
import { Endless, Raised } from "./pyvalues.js";
import { SyntaxFault } from "./pyparse.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

// cells of the map, its size in px, room around the points, steps
const MAP_CELLS = 22, MAP_SIZE = 320, ROOM_AROUND = 0.35, STEPS_A_MAP = 4;
const STEPS_OF_TRAINING = 5e7; // of the interpreter, in one step of training
const NEURONS = [2n, 8n, 1n];

/**
 * A network of the learner's engine.
 * @param {string[]} code @param {number[][]} points two numbers and the class @param {() => number} random
 * @param {number[] | null} [given] the parameters, where they are known
 */
export function ownNetwork(code, points, random, given = null) {
  const space = pythonSpace({ random });
  for (const one of code) space.execute(one);
  const model = space.call(space.get("MLP"), [NEURONS]), rows = points.map(([a, b, y]) => [[a, b], y]);
  const parameters = () => [...space.call(space.attribute(model, "parameters"), [])];
  given?.forEach((x, k) => { const one = parameters()[k]; if (one) space.setAttribute(one, "data", x); });
  /** @param {number[]} x @returns {number} */
  const output = (x) => space.attribute(space.call(model, [x]), "data");
  return {
    output,
    step: (rate) => Number(space.call(space.get("train_step"), [model, rows, rate], STEPS_OF_TRAINING)),
    accuracy: () => points.filter(([a, b, y]) => output([a, b]) > 0 === y > 0).length / points.length,
    parameters: () => parameters().map((one) => Number(space.attribute(one, "data"))),
  };
}

/** The plane: what the network says everywhere, and the points. @param {number[][]} points */
function ownPlane(points) {
  const canvas = h("canvas", { class: "heat", width: MAP_CELLS, height: MAP_CELLS, "aria-hidden": "true" });
  const xs = points.map(([a]) => a), ys = points.map(([, b]) => b), low = Math.min(...xs) - ROOM_AROUND,
    bottom = Math.min(...ys) - ROOM_AROUND;
  const wide = Math.max(...xs) + ROOM_AROUND - low, tall = Math.max(...ys) + ROOM_AROUND - bottom;
  const dots = points.map(([a, b, y]) => s("circle",
    { cx: ((a - low) / wide) * MAP_SIZE, cy: MAP_SIZE - ((b - bottom) / tall) * MAP_SIZE, r: 5,
    class: y > 0 ? "one" : "other" }));
  const svg = s("svg", { class: "dots", viewBox: `0 0 ${MAP_SIZE} ${MAP_SIZE}`, role: "img",
    "aria-label": t("course.moons.plane") }, dots);
  const el = h("div", { class: "own-plane", dir: "ltr" }, canvas, svg);
  return {
    el,
    /** @param {(x: number[]) => number} output */
    draw(output) {
      const pen = canvas.getContext("2d"), look = getComputedStyle(el);
      const rgb = (name) => [1, 3, 5].map((k) => parseInt(look.getPropertyValue(name).trim().slice(k, k + 2), 16) || 0);
      const [one, other, paper] = ["--data", "--grad", "--card"].map(rgb), image = pen.createImageData(MAP_CELLS, MAP_CELLS);
      for (let k = 0; k < MAP_CELLS * MAP_CELLS; k++) {
        const x = low + ((k % MAP_CELLS) + 0.5) / MAP_CELLS * wide,
          y = bottom + tall - (Math.floor(k / MAP_CELLS) + 0.5) / MAP_CELLS * tall;
        const said = Math.max(-1, Math.min(1, output([x, y]))), part = 0.12 + 0.5 * Math.abs(said);
        (said > 0 ? one : other).forEach((c, at) => { image.data[4 * k + at] = c * part + paper[at] * (1 - part); });
        image.data[4 * k + 3] = 255;
      }
      pen.putImageData(image, 0, 0);
    },
  };
}

/**
 * @param {{points: number[][], code: () => string[], random: () => number, onStep: (run: any) => void,
 *          link: (found: any) => Promise<string>}} host
 */
export function createMoons({ points, code, random, onStep, link }) {
  const plane = ownPlane(points), facts = h("p", { class: "moon-facts", role: "status" }), told = h("div", { class: "told" });
  const line = s("polyline", { class: "loss-line", points: "" });
  const curve = s("svg", { class: "own-loss", viewBox: "0 0 320 70", role: "img", "aria-label": t("course.moons.curve"),
    preserveAspectRatio: "none" }, line);
  const rate = h("input", { type: "range", min: -1.5, max: 0.5, step: 0.05, value: "-0.2", "aria-label": t("course.moons.rate"),
    "data-do": "own-rate", oninput: () => shown() });
  const rateShown = h("output", {});
  const play = button(t("course.moons.train"), () => (timer ? pause() : start()), { class: "strong", "data-do": "own-train" });
  const once = button(t("course.moons.step"), () => { pause(); turn(); }, { "data-do": "own-step" });
  const fresh = button(t("course.moons.fresh"), () => { pause(); begin(); }, { class: "quiet", "data-do": "own-fresh" });
  const share = button(t("course.moons.share"), shareIt, { "data-do": "own-share" });
  const field = h("input", { type: "text", readonly: true, class: "link-field", "aria-label": t("course.moons.link"),
    hidden: true });
  const el = h("section", { class: "own-training", "aria-label": t("course.moons.title") }, plane.el,
    h("div", { class: "row wrap" }, play, once, fresh),
    h("label", { class: "inline rate-row" }, t("course.moons.rate"), rate, rateShown),
    facts, curve, h("div", { class: "row wrap" }, share, field), told);
  let network = null, timer = 0, steps = 0, losses = [], accuracy = 0;
  const figures = () => ({ steps, loss: losses[losses.length - 1], accuracy });
  const speed = () => Number((10 ** Number(rate.value)).toPrecision(2));

  function shown() {
    rateShown.textContent = show(speed());
    facts.textContent = t("course.moons.facts",
      { steps: String(steps), loss: losses.length ? show(losses[losses.length - 1]) : "–",
      accuracy: `${Math.round(100 * accuracy)}%` });
    const top = Math.max(...losses, 0.1), low = 1e-3,
      at = (x) => 66 - 62 * Math.max(0, Math.log(x / low) / Math.log(top / low));
    line.setAttribute("points", losses.map((x, k) =>
      `${(320 * k) / Math.max(losses.length - 1, 1)},${at(Math.max(x, low)).toFixed(1)}`).join(" "));
    share.disabled = !steps;
  }
  function begin() {
    try {
      network = ownNetwork(code(), points, random);
      [steps, losses, accuracy] = [0, [], network.accuracy()];
      plane.draw(network.output);
      put(told);
    } catch (error) {
      stop(error);
    }
    shown();
  }
  /** What the learner's code did wrong, in the middle of it. @param {any} error */
  function stop(error) {
    pause();
    network = null;
    if (!(error instanceof Raised || error instanceof Endless || error instanceof SyntaxFault)) throw error;
    const text = error instanceof Raised ? `${error.kind}: ${error.text}` : error.message || t("course.write.endless");
    put(told, h("p", { class: "verdict bad" }, `✗ ${t("course.moons.broke", { text })}`));
  }
  function turn() {
    if (!network) return;
    try {
      losses.push(network.step(speed()));
      steps += 1;
      accuracy = network.accuracy();
      if (!timer || steps % STEPS_A_MAP === 0) plane.draw(network.output);
    } catch (error) {
      return stop(error);
    }
    shown();
    const { parameters } = network;
    onStep({ loss: losses[losses.length - 1], accuracy, step: steps,
      found: () => ({ ...figures(), parameters: parameters() }) });
  }
  function start() {
    if (!network) begin();
    play.textContent = t("course.moons.pause");
    const next = () => {
      timer = requestAnimationFrame(next);
      turn();
    };
    timer = requestAnimationFrame(next);
  }
  function pause() {
    cancelAnimationFrame(timer);
    timer = 0;
    play.textContent = t("course.moons.train");
  }
  async function shareIt() {
    if (!network) return;
    pause();
    field.value = await link({ ...figures(), parameters: network.parameters() });
    field.hidden = false;
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      put(told, h("p", { class: "verdict good", role: "status" }, `✓ ${t("course.moons.copied")}`));
    } catch {
      put(told, h("p", { class: "quiet", role: "status" }, t("course.moons.copy")));
    }
  }
  requestAnimationFrame(begin); // its colours are known when it stands in the page
  return { el, destroy: pause };
}

/** What a network says, drawn, with its figures. @param {any} shared @param {number[][]} points */
export function sharedPicture(shared, points) {
  const plane = ownPlane(points), told = h("p", { class: "moon-facts" });
  try {
    const network = ownNetwork(shared.code.map(([, text]) => text), points, () => 0.5, shared.parameters);
    requestAnimationFrame(() => plane.draw(network.output)); // its colours are known when it stands in the page
    told.textContent = t("course.moons.shared_facts", { steps: String(shared.steps), loss: show(shared.loss),
      accuracy: `${Math.round(100 * network.accuracy())}%` });
  } catch (error) {
    if (!(error instanceof Raised || error instanceof Endless || error instanceof SyntaxFault
      || error instanceof TypeError)) throw error;
    told.textContent = t("course.moons.shared_broke");
  }
  return h("div", { class: "shared-body" }, plane.el, told);
}

/** A network that somebody shared. @param {any} shared @param {number[][]} points @param {any} way on */
export function sharedNetwork(shared, points, way) {
  const own = shared.code.filter(([key]) => !/\/line-\d+$/.test(key));
  return h("section", { class: "shared-network" }, h("h2", { tabindex: -1 }, t("course.moons.shared_title")),
    sharedPicture(shared, points),
    h("p", {}, t("course.moons.shared_about")), way, h("h3", {}, t("course.moons.shared_code")),
    own.map(([, text]) => h("pre", { class: "code", dir: "ltr", tabindex: 0 }, text)));
}

/** Text as a part of an address. @param {string} text */
export async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const MOST_UNPACKED = 200000; // characters that a link may hold

/** A network from a link; null where it is none. @param {string} text */
export async function unpacked(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const parts = [];
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > MOST_UNPACKED) return null;
      parts.push(value);
    }
    const found = JSON.parse(await new Blob(parts).text());
    const right = found.version === 1 && Number.isFinite(found.steps) && Number.isFinite(found.loss)
      && Array.isArray(found.parameters)
      && found.parameters.every(Number.isFinite) && Array.isArray(found.code) && found.code.every((one) => Array.isArray(one)
      && one.length === 2 && one.every((part) => typeof part === "string"));
    return right ? found : null;
  } catch {
    return null;
  }
}
