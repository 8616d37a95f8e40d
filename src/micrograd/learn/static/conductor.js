// The controls of a run: the three lines of a training loop as buttons, play, the way back, the learning rate.
import { button, h, put, s } from "./dom.js";
import { percent } from "./curve.js";
import { show } from "./numbers.js";
import { t } from "./texts.js";

const SIGNS_OF = {
  reset: "M4 4h2v12H4zM16 4v12L7 10z",
  back: "M14 4v12L5 10z",
  step: "M6 4v12l9-6z",
  play: "M6 4v12l10-6z",
  pause: "M5 4h4v12H5zM11 4h4v12h-4z",
  live: "M10 5a5 5 0 1 1 0 10a5 5 0 1 1 0-10z",
};
const SPEEDS = [1, 4, 15, 60, 1000]; // steps a second; the last one: as many as go
const LOWEST = -4,
  HIGHEST = 2; // powers of ten of the learning rate

/** @param {string} name */
function glyph(name) {
  return s("svg", { class: "sign", viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: SIGNS_OF[name] }));
}

/** @param {any} acts what can be done @param {any} spark the loss so far, small */
export function createConductor(acts, spark) {
  const control = (name, sign, key, look = "icon") => {
    const label = t(`theatre.${name}`);
    return button(sign, () => acts[name](), {
      class: look,
      "data-do": name,
      "aria-label": label,
      title: `${label} (${key})`,
    });
  };
  const word = (name, shown, key) => control(name, t(shown), key, "phase-button");
  const reset = control("reset", glyph("reset"), t("page.home_key")),
    back = control("back", glyph("back"), "←");
  const parts = {
    forward: word("forward", "theatre.forward_word", "f"),
    backward: word("backward", "theatre.backward_word", "b"),
    update: word("update", "theatre.update_word", "u"),
  };
  const step = control("step", [glyph("step"), h("span", { class: "word" }, t("page.step"))], "→", "strong");
  const play = control("play", "", t("page.space")),
    live = control("live", [glyph("live"), t("theatre.live_word")], "l", "live");
  const count = h("span", { class: "count", dir: "ltr" });
  const bar = h("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": t("theatre.which_step"),
    "data-do": "rewind",
    oninput: () => acts.go(Number(bar.value)),
  });
  const speed = h(
    "select",
    { "aria-label": t("theatre.speed"), "data-do": "speed", onchange: () => acts.speed(Number(speed.value)) },
    SPEEDS.map((n, k) =>
      h(
        "option",
        { value: n, selected: n === 15 },
        k === SPEEDS.length - 1 ? t("theatre.fastest") : t("theatre.a_second", { n: String(n) }),
      ),
    ),
  );
  const rate = h("input", {
    type: "range",
    min: LOWEST,
    max: HIGHEST,
    step: 0.05,
    "data-do": "rate",
    "aria-label": t("theatre.rate"),
    oninput: () => acts.rate(Number((10 ** Number(rate.value)).toPrecision(3))),
  });
  const rateIs = h("output", { class: "count", dir: "ltr" });
  const zero = h("input", { type: "checkbox", "data-do": "zero", onchange: () => acts.zero(zero.checked) });
  const line = h("div", { class: "sentence" }),
    phase = h("span", { class: "phase" });
  const said = h("section", { class: "said", "aria-label": t("theatre.now") }, h("div", { class: "head" }, phase), line);
  const heard = h("div", { class: "spoken", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  const options = h(
    "div",
    { class: "options" },
    h("label", { class: "inline" }, t("theatre.speed"), speed),
    h("label", { class: "inline rate" }, t("theatre.rate"), rate, rateIs),
    h("label", { class: "inline" }, zero, h("code", {}, "zero_grad()")),
  );
  const el = h(
    "div",
    { class: "sheet conductor" },
    said,
    heard,
    h(
      "div",
      { class: "transport" },
      h(
        "div",
        { class: "buttons" },
        reset,
        back,
        h("span", { class: "three", role: "group", "aria-label": t("theatre.one_by_one") }, Object.values(parts)),
        step,
        play,
        live,
      ),
      h("div", { class: "track plain" }, bar),
      spark,
      count,
    ),
  );
  let spoken = "";

  /** @param {any} training @param {{playing: boolean, following: boolean, isLive: boolean}} state */
  function update(training, { playing, following, isLive }) {
    const { at, steps } = training,
      last = steps.length - 1,
      stuck = training.stuck;
    bar.max = String(last);
    bar.value = String(at);
    bar.setAttribute("aria-valuetext", t("theatre.step_of", { k: String(at), n: String(last) }));
    count.textContent = `${at} / ${last}`;
    reset.disabled = back.disabled = at === 0 && training.phase === "start";
    for (const one of [parts.update, step]) one.disabled = stuck || (isLive && following);
    parts.forward.disabled = training.phase !== "start" || (isLive && following);
    parts.backward.disabled = training.phase === "backward" || (isLive && following);
    for (const [name, one] of Object.entries(parts)) one.classList.toggle("next", nextOf(training.phase) === name);
    play.disabled = stuck && at === last;
    live.hidden = !isLive;
    live.setAttribute("aria-pressed", String(following));
    put(play, glyph(playing ? "pause" : "play"));
    play.setAttribute("aria-label", t(playing ? "page.pause" : "theatre.play"));
    rate.value = String(Math.max(LOWEST, Math.min(HIGHEST, Math.log10(training.rate))));
    rateIs.textContent = show(training.rate);
    rate.setAttribute("aria-valuetext", show(training.rate));
    zero.checked = training.zeroes;
    tell(training, playing);
  }

  /** @param {any} training @param {boolean} playing */
  function tell(training, playing) {
    const { step: now, phase: at, grads, scene } = training,
      k = String(training.at),
      n = now.points.length;
    const facts = {
      k,
      n: String(n),
      loss: now.loss ?? NaN,
      accuracy: now.accuracy === null ? "" : percent(now.accuracy),
      m: String(grads.length),
      b: String(training.batch ? training.batch.reduce((sum, one) => sum + one, 0) : n),
    };
    const kind = scene.regression && at === "forward" ? "_numbers" : training.batch && at === "backward" ? "_batch" : "";
    const shown = at === "start" && training.at > 0 ? "update" : at;
    const lost = ["backward", "update"].includes(shown) ? grads.filter((g) => !Number.isFinite(g)).length : 0;
    said.dataset.phase = { forward: "forward", backward: "backward" }[shown] ?? "start";
    phase.textContent = t(`theatre.phase_${shown}`, { k });
    put(
      line,
      h(
        "p",
        { class: training.stuck || lost ? "words bad" : "words" },
        training.stuck
          ? t("theatre.stuck", facts)
          : lost
          ? t("theatre.tell_lost", { ...facts, lost: String(lost) })
          : t(`theatre.tell_${shown}${kind}`, { ...facts, ...largest(training), rule: scene.optimizer.name }),
      ),
    );
    const text = playing ? "" : `${phase.textContent}. ${line.textContent}`;
    if (text !== spoken) put(heard, text);
    spoken = text;
  }

  /** The parameter with the largest gradient, and how it moved. @param {any} training */
  function largest({ grads, steps, at, scene, parameters }) {
    let best = 0,
      zeros = 0;
    grads.forEach((g, i) => {
      if (Math.abs(g) > Math.abs(grads[best])) best = i;
      if (g === 0) zeros += 1;
    });
    const { timeline, parameters: ids } = scene.graphs[0],
      before = steps[at - 1]?.p;
    return {
      name: timeline.nodes[ids[best]]?.name ?? `p${best}`,
      g: grads[best],
      zeros: String(zeros),
      rate: steps[at - 1]?.rate ?? NaN,
      before: before ? before[best] : NaN,
      after: parameters ? parameters[best] : NaN,
    };
  }
  return { el, options, update };
}

/** Which of the three lines comes next. @param {string} phase */
function nextOf(phase) {
  return { start: "forward", forward: "backward", backward: "update" }[phase];
}
