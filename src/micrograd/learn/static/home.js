// The front door: a small graph that lives, "Start the course" beside it, the other pages as pictures, and the compiler.
import { button, h, languageLinks, put } from "./dom.js";
import { leavesOf } from "./graph.js";
import { show } from "./numbers.js";
import { colourOf } from "./plane.js";
import { createStage } from "./stage.js";
import { t, text, useTexts } from "./texts.js";
import { Training } from "./training.js";

const MAP_CELLS = 44, // of the small map
  RUN_STEPS = 240, // of the small run, which then begins again
  FILM_PAUSE = 2600, // ms at the end of the film
  CLASS_OF = { "-1": "data", 1: "grad" };

/**
 * @typedef {{texts: any, ideas: any[], graph: any, scene: any, links: Record<string, string>, alone: boolean, code: string,
 *            exercise: string, languages?: {code: string, name: string, to: string}[]}} Home
 * @param {Home} home @param {any} place
 */
export function startHome(home, place) {
  useTexts(home.texts, home.ideas);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches, word = (key) => t(`home.${key}`);
  const root = h("div", { class: home.alone ? "mg home alone" : "mg whole home", dir: text("direction"),
    lang: text("language") });
  const stage = createStage({ presets: [{ key: "home", title: "", about: "", timeline: home.graph }], first: "home" });
  const { session } = stage;

  // -- the graph: it plays by itself until somebody touches it
  const knobs = leavesOf(session.state.graph).map((leaf) => {
    const number = h("output", { class: "data", dir: "ltr" });
    const field = h("input", { type: "range", min: -5, max: 5, step: 0.1, value: leaf.data, "data-knob": leaf.name,
      "aria-label": t("page.value_of", { name: leaf.name }), oninput: () => {
        hold();
        session.setLeaves({ [leaf.id]: Number(field.value) });
        session.go(session.total);
      } });
    const update = () => {
      const x = session.state.numbers.data[leaf.id], grad = session.state.step === session.total;
      field.value = String(x);
      put(number, `${leaf.name} = ${show(x)}`, grad ? null : "");
    };
    return { update, el: h("label", { class: "inline knob-of" }, number, field) };
  });
  let held = calm, timer = 0;
  const hold = () => {
    held = true;
    clearTimeout(timer);
    session.pause();
  };
  stage.on("step", () => knobs.forEach((one) => one.update()));
  stage.on("values", () => knobs.forEach((one) => one.update()));
  stage.on("end", () => {
    if (held) return;
    session.pause();
    timer = Number(setTimeout(() => !held && session.play(), FILM_PAUSE));
  });
  stage.el.addEventListener("pointerdown", hold);
  stage.el.addEventListener("keydown", hold);
  const seen = new IntersectionObserver(([entry]) => {
    if (!held && entry.isIntersecting && !session.state.playing) session.play();
    if (!entry.isIntersecting) session.pause();
  });
  const live = h("div", { class: "alive" }, stage.el, h("div", { class: "knobs" }, knobs.map((one) => one.el)));
  const link = (key, props = {}) => (home.links[key] ? h("a", { href: home.links[key], ...props, "data-link": key },
    word(`to_${key}`)) : null);

  // -- the pages as pictures
  const map = h("canvas", { width: MAP_CELLS, height: MAP_CELLS, class: "map", role: "img", "aria-label": word("map") });
  const told = h("p", { class: "small quiet", dir: "ltr" });
  const card = (key, picture) =>
    home.links[key] ? h("a", { class: "card", href: home.links[key], "data-link": key }, h("div", { class: "picture-of",
      "aria-hidden": key === "watch" ? null : "true" }, picture),
      h("h3", {}, word(`${key}_title`)), h("p", {}, word(`${key}_about`))) : null;
  const steps = h("ol", { class: "rungs" }, text("home.rungs").map((one, k) => h("li", {}, h("span", { class: "tick" },
    String(k + 1)), one)));
  const snippet = (code, scrolls = false) => h("pre", { class: "snippet", dir: "ltr", tabindex: scrolls ? "0" : null },
    h("code", {}, code));
  const cards = h("section", { class: "cards", "aria-label": word("rooms") },
    card("course", steps), card("workshop", snippet(home.exercise)), card("watch", [map, told]), card("console",
      snippet(">>> loss.backward()\n>>> a.grad\n10.0\n>>> loss")),
    card("explore", snippet("L = -log(exp(z1)\n     / (exp(z1) + exp(z2)))")));
  const theme = button("◐", () => {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    draw();
  }, { class: "icon", "data-do": "theme", "aria-label": t("page.theme"), title: t("page.theme") });
  const door = h("section", { class: "door", "aria-label": word("door_title") },
    h("div", {}, h("h2", {}, word("door_title")), h("p", {}, word("door_about")), link("compile", { class: "go" }),
      link("compile") ? null : h("p", { class: "quiet small" }, word("door_install"))),
    snippet(home.code, true));
  const hero = h("section", { class: "hero" },
    h("div", { class: "words" }, h("h2", { class: "claim" }, word("claim")), h("p", {}, word("about")),
      h("p", { class: "ways" }, link("course", { class: "go" }), link("console", { class: "also" }))),
    live);
  if (home.alone) root.append(live);
  else root.append(h("header", { class: "top" }, h("h1", { class: "brand" }, "micrograd"), h("span", { class: "grow" }),
    languageLinks(home.languages), link("docs", { class: "to-docs" }), theme),
    h("main", { class: "entrance" }, hero, cards, door));
  place.append(root);

  // -- a small network that learns
  let training = new Training(home.scene);
  const palette = () => ["card", "data", "grad"].map((name) => colourOf(root, name));
  function draw() {
    const columns = [new Float64Array(MAP_CELLS * MAP_CELLS), new Float64Array(MAP_CELLS * MAP_CELLS)], wide = 3.6;
    for (let k = 0; k < MAP_CELLS * MAP_CELLS; k++) {
      columns[0][k] = 0.5 + wide * ((k % MAP_CELLS) / MAP_CELLS - 0.5);
      columns[1][k] = 0.25 - wide * (Math.floor(k / MAP_CELLS) / MAP_CELLS - 0.5);
    }
    const [scores] = training.look(columns).outputs, [paper, low, high] = palette(), image = new ImageData(MAP_CELLS,
      MAP_CELLS);
    scores.forEach((s, k) => {
      const colour = s > 0 ? high : low, f = 0.08 + 0.55 * Math.abs(Math.tanh(s));
      for (let i = 0; i < 3; i++) image.data[4 * k + i] = paper[i] + f * (colour[i] - paper[i]);
      image.data[4 * k + 3] = 255;
    });
    const pen = map.getContext("2d");
    pen.putImageData(image, 0, 0);
    for (const { x: [a, b], y } of training.step.points) {
      pen.fillStyle = `rgb(${colourOf(root, CLASS_OF[y] ?? "data").join(",")})`;
      pen.fillRect(((a - 0.5) / wide + 0.5) * MAP_CELLS - 0.6, ((0.25 - b) / wide + 0.5) * MAP_CELLS - 0.6, 1.2, 1.2);
    }
    put(told, t("home.map_told", { k: String(training.at), loss: Number((training.step.loss ?? NaN).toPrecision(2)) }));
  }
  if (home.links.watch && !home.alone) {
    if (calm) for (let k = 0; k < RUN_STEPS; k++) training.next();
    draw();
    let inSight = false;
    new IntersectionObserver(([entry]) => { inSight = entry.isIntersecting; }).observe(map);
    if (!calm) {
      setInterval(() => {
        if (!inSight || document.hidden) return;
        if (training.at >= RUN_STEPS + 40) training = new Training(home.scene);
        else training.next();
        draw();
      }, 60);
    }
  }
  if (calm) session.go(session.total);
  else seen.observe(stage.el);
  knobs.forEach((one) => one.update());
  return { stage };
}

export default { startHome };
