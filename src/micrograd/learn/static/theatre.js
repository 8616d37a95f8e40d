// The theatre: watch a network learn. Data and boundary, the network, the loss; forward, backward, update; any step again.
//
//   import { createTheatre } from "./theatre.js";
//   useTexts(texts, ideas);                                   // once per page, from texts.js
//   const theatre = createTheatre(element, { scenes });       // scenes: as scene() in scene.py packs them
//
// Options: scenes, first (the key of the one to open), choose (false: no list of scenes), live (Python is training),
// playground (createPlayground of playground.js, for a network of the learner's own; the key of that scene is "playground").
// In, by show(what), every field optional: scene (key), step, rate, zeroes, playing, speed, points ([[x, y], target] …),
// neuron (its own boundary; null: the network's), point (its graph opens on the stage; null closes it).
// feed(message) takes steps that Python has made, ended() says that there will be no more.
// Out, by on(event, f):
//   step     { scene, step, steps, phase, loss, accuracy, rate }     after every change that is drawn
//   scene    { scene }          points  { points }          neuron  { neuron }          answer  { scene, answer, right }
// Also: state() (what show() takes), training (the run itself, see training.js), el, destroy().
import { h, put } from "./dom.js";
import { createConductor } from "./conductor.js";
import { createCurve } from "./curve.js";
import { createNetwork } from "./network.js";
import { createOpened } from "./opened.js";
import { createPlane } from "./plane.js";
import { createRiddle } from "./riddle.js";
import { t, text } from "./texts.js";
import { Training } from "./training.js";

const OWN = "playground"; // the key of the learner's own scene
const PATIENCE = 12; // ms of one frame that go into steps, at least

/**
 * @param {any} element
 * @param {{scenes: any[], first?: string, choose?: boolean, live?: any, parameters?: (k: number) => void,
 *          playground?: (ears: any) => any}} options
 */
export function createTheatre(element, options) {
  const { scenes } = options;
  let scene = scenes.find((one) => one.key === options.first) ?? scenes[0],
    training = new Training(scene);
  let playing = false,
    speed = 15,
    following = Boolean(options.live),
    isLive = Boolean(options.live),
    owed = 0,
    last = 0,
    frame = 0,
    patience = PATIENCE;
  /** @type {Record<string, ((what: any) => void)[]>} */
  const ears = {};
  const say = (event, what) => {
    for (const ear of ears[event] ?? []) ear(what);
  };

  // -- what can be done
  const acts = {
    reset: () => moveTo(0),
    back: () => moveTo(training.phase === "start" ? training.at - 1 : training.at),
    forward: () => act(() => training.forward()),
    backward: () => act(() => training.backward()),
    update: () => act(() => training.update()),
    step: () => act(() => training.next()),
    play: () => (playing ? pause() : start()),
    live: () => follow(!following),
    playground: () => rebuild(),
    go: (k) => moveTo(k),
    speed: (n) => {
      speed = n;
    },
    rate: (x) => act(() => {
      training.setRate(x);
      if (training.scene.key === OWN) playground.keepRate(x);
    }),
    zero: (on) =>
      act(() => {
        training.zeroes = on;
      }),
  };
  /** @param {() => void} does */
  function act(does) {
    pause();
    follow(false);
    if (!training.stuck) does();
    draw(false);
  }
  /** @param {number} k */
  function moveTo(k) {
    pause();
    if (following && k < training.steps.length - 1) follow(false);
    const wanted = Math.max(0, Math.min(training.steps.length - 1, k));
    if (!training.steps[wanted].p) options.parameters?.(wanted);
    training.go(wanted);
    draw(false);
  }
  function start() {
    follow(false);
    playing = true;
    owed = 1;
    last = performance.now();
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(tick);
  }
  function pause() {
    cancelAnimationFrame(frame);
    if (!playing) return;
    playing = false;
    draw(false);
  }
  /** @param {number} now */
  function tick(now) {
    if (!playing) return;
    owed = Math.min(owed + ((now - last) * speed) / 1000, speed);
    last = now;
    const began = performance.now(),
      before = training.at;
    while (owed >= 1 && performance.now() - began < patience && !training.stuck) {
      training.next();
      owed -= 1;
    }
    const between = performance.now();
    if (training.at !== before) draw(true);
    patience = Math.max(PATIENCE, Math.min(performance.now() - between, 100)); // at least half of the time goes into steps
    if (training.stuck) return pause();
    frame = requestAnimationFrame(tick);
  }
  /** @param {boolean} on */
  function follow(on) {
    if (following === on || !isLive) return;
    following = on;
    if (on) {
      pause();
      training.go(training.steps.length - 1);
    }
    draw(false);
  }

  // -- the parts
  const heading = (key, extra = null) => h("div", { class: "act-head" }, h("h2", {}, t(`theatre.${key}`)), extra);
  const plane = createPlane({
    onOpen: (k) => openPoint(k),
    onTell: (words) => put(whisper, words),
    onChange: (points) => {
      follow(false);
      training.setPoints(points);
      if (training.scene.key === OWN) playground.own(points);
      draw(true);
      settle();
      say("points", { points });
    },
  });
  const network = createNetwork({
    onNeuron: (neuron) => {
      draw(false);
      say("neuron", { neuron });
    },
  });
  const curve = createCurve(),
    conductor = createConductor(acts, curve.spark);
  const riddle = createRiddle({ onAnswer: (answer) => say("answer", answer), onCure: (cure) => heal(cure) });
  const choose = h(
    "select",
    { "aria-label": t("theatre.scene"), onchange: () => open(choose.value) },
    options.playground && h("option", { value: OWN }, t("theatre.playground.title")),
    scenes.map((one) => h("option", { value: one.key }, titleOf(one))),
  );
  const playground = options.playground?.({
    onChange: () => {
      const on = playing;
      rebuild();
      if (on) start();
    },
    onPlay: () => start(),
  });
  const about = h("p", { class: "about" }),
    whisper = h("div", { class: "spoken", role: "status" }),
    planeSays = h("span", { class: "quiet small" });
  const bill = h(
    "div",
    { class: "bill" },
    options.choose === false || scenes.length < 2
      ? null
      : h("label", { class: "inline scene" }, h("span", { class: "quiet" }, t("theatre.scene")), choose),
    conductor.options,
    about,
    riddle.el,
  );
  const planeAct = h(
    "section",
    { class: "act plane-act", "aria-label": t("theatre.data") },
    heading("data", planeSays),
    plane.el,
  );
  const curveAct = h("section", { class: "act curve-act", "aria-label": t("theatre.curve") }, heading("curve"), curve.el);
  const acts3 = h(
    "div",
    { class: "acts" },
    playground?.el,
    planeAct,
    h("section", { class: "act network-act", "aria-label": t("theatre.network") }, heading("network"),
      playground?.layers, network.el),
    curveAct,
  );
  const opened = createOpened();
  const el = h("div", { class: "theatre" }, bill, acts3, conductor.el, whisper, opened.el);

  /** The graph of one point opens on the stage, with the numbers of this step. @param {number} k */
  function openPoint(k) {
    pause();
    opened.show(training, k, element.clientWidth);
    say("point", { point: k });
  }

  /** What the cure of a scene changes. @param {any} cure */
  function heal(cure) {
    if (cure.scene) return open(cure.scene);
    training.restart(cure.start);
    if (cure.rate) training.setRate(cure.rate);
    if (cure.zeroes) training.zeroes = true;
    draw(false);
    start();
  }

  /** Open another scene. @param {string} key */
  function open(key) {
    if (key === OWN && playground) return rebuild();
    const found = scenes.find((one) => one.key === key);
    if (!found || (found === scene && training.scene === found && choose.value === key && training.opened)) return;
    pause();
    scene = found;
    training = new Training(found);
    begin();
    say("scene", { scene: key });
  }
  /** The network of the playground as it is set up now, from its first step. */
  function rebuild() {
    pause();
    const other = scene.key !== OWN;
    scene = playground.scene();
    training = new Training(scene);
    begin();
    if (other) say("scene", { scene: OWN });
  }
  function begin() {
    training.opened = true;
    if (playground) {
      playground.el.hidden = playground.layers.hidden = scene.key !== OWN;
      el.classList.toggle("playing", scene.key === OWN);
      if (scene.key === OWN) playground.settle();
    }
    choose.value = scene.key;
    const words = scene.key === OWN ? text("theatre.playground") : text(`theatre.scenes.${scene.key}`);
    put(about, scene.about || words?.about || "");
    riddle.open(scene);
    el.classList.toggle("flat-data", scene.graphs[0].x.length === 2);
    planeAct.hidden = scene.graphs[0].x.length !== 2;
    if (scene.record) {
      training.feed(scene.record);
      training.go(training.steps.length - 1);
    }
    if (!planeAct.hidden) plane.open(training);
    network.open(training);
    draw(false);
  }

  // -- draw
  let settling = 0;
  /** Once nothing moves any more, the map is drawn finely. */
  function settle() {
    clearTimeout(settling);
    settling = Number(
      setTimeout(() => {
        if (!playing) draw(false);
      }, 120),
    );
  }
  /** @param {boolean} fast */
  function draw(fast) {
    if (!training.parameters) return;
    const state = { playing, following, isLive },
      neuron = network.chosen;
    if (!planeAct.hidden) {
      const taken = plane.map(fast, neuron);
      network.maps(plane, taken);
      plane.dots();
    }
    put(planeSays, neuron === null ? t("theatre.boundary_of_all") : t("theatre.boundary_of_one"));
    network.update();
    curve.update(training);
    conductor.update(training, state);
    const { at, steps, phase, step, rate } = training;
    say("step", {
      scene: scene.key,
      step: at,
      steps: steps.length - 1,
      phase,
      loss: step.loss,
      accuracy: step.accuracy,
      rate,
      playing,
    });
  }

  /** One column on a narrow screen, two on a tablet. */
  const measure = new ResizeObserver(() => {
    const wide = element.clientWidth;
    el.classList.toggle("narrow", wide > 0 && wide < 640);
    el.classList.toggle("middling", wide >= 640 && wide < 1080);
    if (wide > 0) playground?.arrange(wide >= 1080);
  });
  measure.observe(element);
  // The controls stay at the lower edge of the window; while they cover the curve, they show it small.
  const looks = new IntersectionObserver(([seen]) => el.classList.toggle("curve-covered", seen.intersectionRatio < 0.6),
    { rootMargin: "0px 0px -150px 0px", threshold: [0, 0.3, 0.6, 0.9] });
  looks.observe(curve.el.querySelector(".graph"));
  element.append(el);
  begin();

  const api = {
    el,
    acts,
    playground,
    pause,
    get training() {
      return training;
    },
    /** @param {string} event @param {(what: any) => void} ear */
    on(event, ear) {
      (ears[event] ??= []).push(ear);
    },
    /** @param {any} what */
    show(what) {
      if (what.scene !== undefined && what.scene !== scene.key) open(what.scene);
      if (what.points) training.setPoints(what.points.map(([x, y]) => ({ x, y })));
      if (what.rate !== undefined && what.rate !== training.rate) training.setRate(what.rate);
      if (what.zeroes !== undefined) training.zeroes = what.zeroes;
      if (what.speed !== undefined) speed = what.speed;
      if (what.step !== undefined && what.step !== training.at) {
        pause();
        follow(false);
        if (what.step < training.steps.length) training.go(what.step);
        while (training.at < what.step && !training.stuck) training.next();
      }
      if (what.neuron !== undefined) network.choose(what.neuron);
      draw(false);
      if (what.point === null) opened.close();
      else if (what.point !== undefined) openPoint(what.point);
      if (what.playing !== undefined && what.playing !== playing) acts.play();
    },
    state() {
      return {
        scene: scene.key,
        step: training.at,
        rate: training.rate,
        zeroes: training.zeroes,
        playing,
        speed,
        points: training.step.points.map(({ x, y }) => [x, y]),
        neuron: network.chosen,
        live: isLive,
      };
    },
    /** Steps that Python has made. @param {any} message */
    feed(message) {
      training.feed(message);
      training.go(following ? training.steps.length - 1 : training.at);
      draw(true);
    },
    /** Python is done: the page may go on by itself. */
    ended() {
      isLive = following = false;
      draw(false);
    },
    redraw: () => draw(false),
    destroy() {
      pause();
      clearTimeout(settling);
      measure.disconnect();
      looks.disconnect();
      opened.close();
      el.remove();
    },
  };
  return api;
}

/** @param {any} scene */
function titleOf(scene) {
  return scene.title || text(`theatre.scenes.${scene.key}`)?.title || scene.key;
}
