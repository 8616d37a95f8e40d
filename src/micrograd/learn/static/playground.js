// The playground: data, network and training as the learner sets them up. Everything stands in the address of the page.
//
//   const playground = createPlayground(optimizers, { onChange: () => … });   // optimizers: rules as Python packs them
//
// playground.el holds the settings, playground.layers those of the layers; playground.scene() is the scene of the present
// setting, playground.setting the setting, playground.load(setting) takes another one.
import { ACTIVATIONS, FEATURES, KINDS, LOSSES, MOST_LAYERS, MOST_NEURONS, RECIPES, USUAL, sceneOf } from "./blueprint.js";
import { makeData, readRows } from "./datasets.js";
import { button, h, put } from "./dom.js";
import { readFormula } from "./formula.js";
import { classColour, colourOf } from "./plane.js";
import { t } from "./texts.js";

const THUMB = 40; // pixels of the small picture of a data set
const STRENGTHS = [0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1];

/**
 * @param {Record<string, any>} optimizers
 * @param {{onChange: () => void, onPlay: () => void}} ears
 */
export function createPlayground(optimizers, ears) {
  /** @type {import("./blueprint.js").Setting} */
  let setting = { ...USUAL };
  const word = (key) => t(`theatre.playground.${key}`);

  /** Change the setting. @param {Partial<import("./blueprint.js").Setting>} changed */
  function change(changed) {
    setting = { ...setting, ...changed };
    if (!("rate" in changed && Object.keys(changed).length === 1)) put(told);
    settle();
    ears.onChange();
  }
  const slider = (key, low, high, step, unit) => {
    const number = h("output", { class: "count", dir: "ltr" });
    const field = h("input", { type: "range", min: low, max: high, step, "data-do": key,
      "aria-label": word(key), oninput: () => change({ [key]: Number(field.value) }) });
    const el = h("label", { class: "inline knob" }, h("span", {}, word(key)), field, number);
    const update = () => {
      field.value = String(setting[key]);
      number.textContent = `${setting[key]}${unit}`;
      field.setAttribute("aria-valuetext", number.textContent);
    };
    return { el, update };
  };
  const choice = (key, values, named = (x) => word(`${key}s.${x}`)) => {
    const field = h("select", { "data-do": key, "aria-label": word(key),
      onchange: () => change({ [key]: readBack(field.value) }) },
      values.map((x) => h("option", { value: String(x) }, named(x))));
    const readBack = (x) => values.find((one) => String(one) === x);
    const update = () => { field.value = String(setting[key]); };
    return { el: h("label", { class: "inline" }, word(key), field), update, field };
  };

  // -- the data
  const thumbs = KINDS.map((kind) => {
    const canvas = h("canvas", { width: THUMB, height: THUMB, "aria-hidden": "true" });
    const el = button([canvas, h("span", {}, word(`datas.${kind}`))], () => pick(kind), { class: "thumb",
      "data-kind": kind });
    return { kind, canvas, el };
  });
  function pick(kind) {
    if (kind !== "own") return change({ data: kind });
    const { points, tests } = makeData(setting);
    if (setting.data !== "own") change({ data: "own", test: 0, own: [...points, ...tests].map(([[a, b], y]) => [a, b, y]) });
    pasted.focus();
  }
  const noise = slider("noise", 0, 100, 5, " %"), count = slider("n", 10, 500, 10, ""), kept = slider("test", 0, 80, 5, " %");
  const again = button(word("again"), () => change({ seed: setting.seed + 1 }), { class: "small", "data-do": "again" });
  const formula = h("input", { type: "text", class: "formula", size: 18, maxlength: 200, "data-do": "f",
    "aria-label": word("f"),
    autocomplete: "off", spellcheck: "false", onchange: () => tryFormula() });
  const formulaTold = h("span", { class: "small", role: "status" });
  const formulaRow = h("p", { class: "group-row" }, h("label", { class: "inline" }, word("f"), formula), formulaTold);
  function tryFormula() {
    const { problem } = readFormula(formula.value);
    put(formulaTold, problem ? h("span", { class: "bad" }, t("theatre.playground.f_wrong", { at: problem })) : null);
    if (!problem) change({ f: formula.value });
  }
  const pasted = h("textarea", { rows: 4, class: "pasted", "aria-label": word("csv"), spellcheck: "false",
    placeholder: "1.2, 0.5, red\n0.1, 0.9, blue" });
  const pastedTold = h("p", { class: "small", role: "status" });
  const pastedRow = h("div", { class: "group-row own-row" }, h("p", { class: "quiet small" }, word("own_about")), pasted,
    h("div", { class: "buttons" }, button(word("csv_take"), () => takeRows(), { class: "small", "data-do": "csv" }),
      button(word("own_clear"), () => change({ own: [[-0.5, 0, -1], [0.5, 0, 1]], test: 0 }), { class: "small",
        "data-do": "clear" })),
    pastedTold);
  function takeRows() {
    const { rows, problem, line } = readRows(pasted.value);
    put(pastedTold, problem ? h("span", { class: "bad" }, t(problem, { k: String(line) }))
      : t("theatre.playground.csv_taken", { n: String(rows.length) }));
    if (!problem) change({ own: rows, data: "own" });
  }

  // -- what the network reads, and how it learns
  const features = FEATURES.map((name) => {
    const box = h("input", { type: "checkbox", "data-feature": name, onchange: () => {
      const chosen = FEATURES.filter((one) => (one === name ? box.checked : setting.features.includes(one)));
      if (chosen.length) change({ features: chosen });
      else box.checked = true; // a network reads something
    } });
    return { name, box, el: h("label", { class: "chip-choice", dir: "ltr" }, box, word(`features.${name}`)) };
  });
  const loss = choice("loss", LOSSES), start = choice("start", ["usual", "equal", "zeros", "large"]);
  const optimizer = choice("optimizer", Object.keys(optimizers)), penalty = choice("penalty", ["none", "l1", "l2"]);
  const strength = choice("strength", STRENGTHS, String), batch = choice("batch", [0, 1, 5, 10, 30],
    (x) => (x ? String(x) : word("all")));
  const weights = button(word("weights"), () => change({ weights: setting.weights + 1 }), { class: "small",
    "data-do": "weights" });

  // -- the layers
  const layers = h("div", { class: "layer-bar", role: "group", "aria-label": word("layers") });
  function drawLayers() {
    const focused = document.activeElement?.getAttribute?.("data-do");
    const chips = setting.layers.map(([n, activation], l) => {
      const put_ = (row) => change({ layers: setting.layers.flatMap((one, k) => (k === l ? row : [one])) });
      const resize = (to) => put_([/** @type {[number, string]} */ ([to, activation])]);
      const names = { l: String(l), n: String(n) };
      const field = h("select", { "aria-label": t("theatre.playground.activation_of", names), "data-do": `activation ${l}`,
        onchange: () => put_([/** @type {[number, string]} */ ([n, field.value])]) }, ACTIVATIONS.map((x) => h("option",
          { value: x, selected: x === activation }, x)));
      return h("div", { class: "layer-chip", role: "group", "aria-label": t("theatre.playground.layer", names) },
        h("span", { class: "quiet small" }, t("theatre.playground.layer", names)),
        h("span", { class: "sizes" },
          button("−", () => (n > 1 ? resize(n - 1) : put_([])), { class: "icon small", "data-do": `fewer ${l}`,
            "aria-label": t(n > 1 ? "theatre.playground.fewer" : "theatre.playground.remove_layer", names) }),
          h("b", {}, String(n)),
          button("+", () => resize(Math.min(MOST_NEURONS, n + 1)), { class: "icon small", "data-do": `more ${l}`,
            disabled: n >= MOST_NEURONS, "aria-label": t("theatre.playground.more", names) })),
        field,
        button("×", () => put_([]), { class: "icon small", "data-do": `drop ${l}`,
          "aria-label": t("theatre.playground.remove_layer", names) }));
    });
    const more = button(word("add_layer"), () => change({ layers: [...setting.layers, [4,
      setting.layers.at(-1)?.[1] ?? "tanh"]] }),
      { class: "small", "data-do": "add layer", disabled: setting.layers.length >= MOST_LAYERS });
    put(layers, chips, more);
    if (focused) /** @type {any} */ (layers.querySelector(`[data-do="${focused}"]`) ?? more).focus?.({ preventScroll: true });
  }

  // -- settings that are known to work, and to fail
  const told = h("p", { class: "recipe-told", role: "status" });
  const recipe = (kind) => button(word(kind), () => follow(kind), { class: "small", "data-do": kind });
  const works = recipe("works"), fails = recipe("fails");
  /** @param {"works" | "fails"} kind */
  function follow(kind) {
    const { steps, ...chosen } = RECIPES[setting.data][kind], { data } = setting;
    change({ ...USUAL, data, ...chosen });
    put(told, h("b", {}, `${word(kind)}: `), t(`theatre.playground.recipes.${data}.${kind}`, { n: String(steps) }));
    ears.onPlay();
  }
  const group = (name, ...children) =>
    h("fieldset", { class: "group" }, h("legend", {}, word(name)), children);
  const inside = h("details", { open: true }, h("summary", {}, word("settings")),
    group("group_data", h("div", { class: "thumbs" }, thumbs.map((one) => one.el)), formulaRow, pastedRow,
      h("div", { class: "group-row" }, count.el, noise.el, kept.el, again)),
    h("div", { class: "group-row recipes" }, works, fails, told),
    group("group_features", h("div", { class: "group-row" }, features.map((one) => one.el))),
    group("group_training", h("div", { class: "group-row" }, loss.el, optimizer.el, batch.el, penalty.el, strength.el,
      start.el, weights)));
  const el = h("section", { class: "act playground", "aria-label": word("title") }, inside);

  function settle() {
    for (const one of [noise, count, kept, loss, start, optimizer, penalty, strength, batch]) one.update();
    for (const { name, box } of features) box.checked = setting.features.includes(name);
    for (const { kind, el: one } of thumbs) one.setAttribute("aria-pressed", String(kind === setting.data));
    if (document.activeElement !== formula) formula.value = setting.f;
    const own = setting.data === "own", { classes } = makeData(setting);
    formulaRow.hidden = setting.data !== "above";
    pastedRow.hidden = !own;
    count.el.hidden = noise.el.hidden = again.hidden = works.hidden = fails.hidden = own;
    loss.el.hidden = classes !== 2;
    strength.el.hidden = setting.penalty === "none";
    drawLayers();
    drawThumbs();
  }
  function drawThumbs() {
    for (const { kind, canvas } of thumbs) {
      const seen = makeData({ ...setting, data: kind, n: 60, noise: 10, test: 0, seed: 1 }), pen = canvas.getContext("2d");
      pen.clearRect(0, 0, THUMB, THUMB);
      for (const [[a, b], y] of seen.points) {
        const k = seen.classes > 2 ? y : Number(y > 0);
        pen.fillStyle = `rgb(${colourOf(layers.isConnected ? layers : canvas, classColour(k)).join(",")})`;
        pen.globalAlpha = seen.classes ? 1 : 0.25 + 0.75 * Math.min(1, Math.abs(y));
        pen.fillRect(THUMB * (0.5 + 0.38 * a) - 1, THUMB * (0.5 - 0.38 * b) - 1, 2.5, 2.5);
      }
    }
  }
  return {
    el,
    layers,
    /** Where there is room beside the picture, the settings stay open. @param {boolean} roomy */
    arrange(roomy) {
      if (el.classList.contains("folding") === !roomy && el.dataset.arranged) return;
      el.dataset.arranged = "yes";
      el.classList.toggle("folding", !roomy);
      inside.open = roomy;
    },
    get setting() {
      return setting;
    },
    scene: () => sceneOf(setting, optimizers),
    /** @param {any} other */
    load(other) {
      setting = { ...USUAL, ...other };
      put(told);
      settle();
    },
    /** The learner has changed points: they are the learner's own from now on. @param {any[]} points */
    own(points) {
      const known = setting.data;
      setting = { ...setting, data: "own", own: points.map(({ x: [a, b], y }) => [a, b, y]) };
      if (known !== "own") settle();
    },
    /** The rate is the conductor's. @param {number} rate */
    keepRate(rate) {
      setting = { ...setting, rate };
    },
    settle,
  };
}
