// The theatre as a page of its own, as a live page that Python feeds, and as a notebook widget.
import { button, h, languageLinks } from "./dom.js";
import { listenToKeys } from "./help.js";
import { decodeSetting, encodeSetting } from "./blueprint.js";
import { createPlayground } from "./playground.js";
import { createTransformer } from "./transformer.js";
import { createTheatre } from "./theatre.js";
import { t, text, useTexts } from "./texts.js";

/** @param {any} root @param {any} play @param {boolean} whole */
function dress(root, play, whole) {
  useTexts(play.texts, play.ideas ?? []);
  root.dir = text("direction");
  root.lang = text("language");
  const told = h("span", { class: "small quiet", role: "status" });
  const body = h(whole ? "main" : "div", { class: "house" });
  const theme = () => {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    theatre.redraw();
  };
  const tool = (name, sign, key, act) =>
    button(sign, act, {
      class: "icon",
      "data-do": name,
      "aria-label": t(`page.${name}`),
      title: `${t(`page.${name}`)} (${key})`,
    });
  const help = () => (dialog.open ? dialog.close() : dialog.showModal());
  root.append(
    h(
      "header",
      { class: "top" },
      h("h1", { class: "brand" }, "micrograd ", h("span", { class: "quiet" }, t("theatre.brand"))),
      h("span", { class: "grow" }),
      told,
      languageLinks(play.languages),
      tool("theme", "◐", "d", theme),
      tool("help", "?", "?", help),
    ),
    body,
  );
  const playground = play.optimizers && ((ears) => createPlayground(play.optimizers, ears));
  const theatre = createTheatre(body, { ...play, playground, parameters: (k) => ask(k) });
  const letters_ = play.names && createTransformer(play.names, { onChange: () => theatre.redraw() });
  const rooms = letters_ && ["networks", "letters"].map((name) => button(t(`theatre.transformer.${name}`), () => enter(name),
    { class: "small", "data-room": name, "aria-pressed": String(name === "networks") }));
  /** The other half of the theatre. @param {string} name */
  function enter(name) {
    theatre.pause();
    letters_.pause();
    theatre.el.hidden = name !== "networks";
    letters_.el.hidden = name === "networks";
    rooms.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.room === name)));
    if (name === "networks") theatre.redraw();
    else letters_.draw();
  }
  if (letters_) {
    letters_.el.hidden = true;
    body.append(letters_.el);
    root.querySelector(".brand").after(h("span", { class: "rooms", role: "group",
      "aria-label": t("theatre.transformer.rooms") }, rooms));
  }
  let ask = (k) => {};
  const { acts } = theatre,
    row = (keys, shown, does, action) => ({ keys, shown, does, action });
  const table = [
    row(["ArrowRight", "n"], "→  n", t("theatre.step"), () => theatre.el.hidden || acts.step()),
    row(["ArrowLeft", "p"], "←  p", t("theatre.back"), acts.back),
    row([" "], t("page.space"), t("theatre.play"), () => theatre.el.hidden || acts.play()),
    row(["f"], "f", t("theatre.forward"), acts.forward),
    row(["b"], "b", t("theatre.backward"), acts.backward),
    row(["u"], "u", t("theatre.update"), acts.update),
    row(["Home", "r"], `${t("page.home_key")}  r`, t("theatre.reset"), acts.reset),
    row(["End"], t("page.end_key"), t("theatre.to_last"), () => acts.go(theatre.training.steps.length - 1)),
    row(["d"], "d", t("page.theme"), theme),
    row(["?"], "?", t("theatre.help_title"), help),
  ];
  const letters = h("input", { type: "checkbox", checked: true });
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": t("theatre.help_title") },
    h("h2", { tabindex: "-1" }, t("theatre.help_title")),
    h(
      "dl",
      {},
      table.map((one) => h("div", {}, h("dt", {}, h("kbd", {}, one.shown)), h("dd", {}, one.does))),
    ),
    h("p", {}, h("label", { class: "inline" }, letters, t("keys.letters"))),
    h("p", {}, t("theatre.help_more")),
    button(t("page.close"), () => dialog.close(), { class: "strong" }),
  );
  root.append(dialog);
  const deaf = listenToKeys(whole ? document : root, table, () => letters.checked);
  const scheme = matchMedia("(prefers-color-scheme: dark)"),
    redraw = () => theatre.redraw();
  scheme.addEventListener("change", redraw);
  return {
    theatre,
    letters: letters_,
    enter: letters_ && enter,
    told,
    onAsk: (f) => {
      ask = f;
    },
    stop: () => {
      theatre.destroy();
      deaf();
      scheme.removeEventListener("change", redraw);
    },
  };
}

/** Run as a page of its own. @param {any} play */
export function start(play) {
  const root = h("div", { class: "mg whole playhouse" });
  /** @type {any} */ (document.getElementById("micrograd")).append(root);
  const { theatre, told, onAsk, letters, enter } = dress(root, play, true);
  if (play.optimizers) keepInAddress(theatre, letters, enter);
  if (!play.live) return;
  told.textContent = t("theatre.live_from");
  const source = new EventSource(play.live);
  source.onmessage = (event) => theatre.feed(JSON.parse(event.data));
  const over = () => {
    source.close();
    told.textContent = "";
    theatre.ended();
  };
  source.addEventListener("ended", over);
  source.onerror = () => {
    over();
    told.textContent = t("theatre.live_gone");
  };
  onAsk(async (k) => {
    const answer = await fetch(`${play.live}/${k}`);
    if (!answer.ok) return;
    theatre.feed(await answer.json());
    theatre.acts.go(k);
  });
}

/** The playground stands in the address: a link opens the same network on the same points, trained for as many steps.
 * @param {any} theatre @param {any} letters @param {(name: string) => void} enter */
function keepInAddress(theatre, letters, enter) {
  let timer = 0, written = "";
  const take = () => {
    if (location.hash === written) return;
    if (location.hash.startsWith("#transformer")) {
      const pairs = new URLSearchParams(location.hash.slice(12)), real = (key, low, high, usual) => {
        const x = Number(pairs.get(key) ?? NaN);
        return Number.isFinite(x) ? Math.max(low, Math.min(high, x)) : usual;
      };
      enter("letters");
      letters.load({ seed: Math.floor(real("seed", 0, 1e6, 1)), rate: real("rate", 1e-4, 0.1, 0.01),
        temperature: real("temperature", 0.1, 2, 0.7), read: (pairs.get("read") ?? "emma").slice(0, 15),
        step: Math.floor(real("step", 0, 1e5, 0)) });
      return;
    }
    const setting = decodeSetting(location.hash);
    if (!setting) return void (location.hash.length > 1 && theatre.show({ scene: location.hash.slice(1) }));
    const step = Number(new URLSearchParams(location.hash.slice(1)).get("step") ?? 0);
    theatre.playground.load(setting);
    theatre.acts.playground();
    if (step > 0) theatre.show({ step: Math.min(5000, Math.floor(step)) });
  };
  const write = () => {
    const { scene, step } = theatre.state();
    const { step: made, of, ...shown } = letters.state;
    const found = !letters.el.hidden ? `transformer&${new URLSearchParams({ ...shown, step: String(made) })}`
      : scene === "playground" ? `${encodeSetting(theatre.playground.setting)}${step ? `&step=${step}` : ""}` : scene;
    written = `#${found}`;
    try {
      history.replaceState(null, "", written);
    } catch {
      // a page inside of another one has no address of its own
    }
  };
  take();
  theatre.on("step", () => {
    clearTimeout(timer);
    timer = Number(setTimeout(write, 300));
  });
  addEventListener("hashchange", take);
}

/** As a widget: Python reads and drives what is in `names`, and sends the steps that it makes.
 * @param {{model: any, el: any}} host */
function render({ model, el }) {
  const root = h("div", { class: "mg playhouse" }),
    fed = Boolean(model.get("fed")), // the steps come from Python
    play = { ...model.get("play"), live: fed };
  el.append(root);
  const { theatre, told, stop } = dress(root, play, false);
  if (play.live) told.textContent = t("theatre.live_from");
  let hearing = false,
    asked = fed ? model.get("step") : 0; // where Python put it, until the steps are there
  const names = ["scene", "step", "rate", "zeroes", "playing", "points"];
  const tell = () => {
    if (hearing || theatre.state().live) return; // what Python trains it knows itself
    const { step, steps } = theatre.training,
      now = {
        ...theatre.state(),
        steps: steps.length - 1,
        loss: finite(step.loss),
        accuracy: step.accuracy ?? 0,
        parameters: [...(step.p ?? [])].map(finite),
      };
    const wanted = [...names, "steps", "loss", "accuracy", "parameters"].filter(
      (name) => JSON.stringify(model.get(name)) !== JSON.stringify(now[name]),
    );
    for (const name of wanted) model.set(name, now[name]);
    if (wanted.length) model.save_changes();
  };
  let pending = 0;
  const soon = () => {
    // while it plays, ten times a second is enough
    if (pending) return;
    pending = Number(
      setTimeout(
        () => {
          pending = 0;
          tell();
        },
        theatre.state().playing ? 100 : 0,
      ),
    );
  };
  for (const event of ["step", "points", "scene"]) theatre.on(event, soon);
  const ears = Object.fromEntries(
    names.map((name) => [
      `change:${name}`,
      () => {
        const x = model.get(name),
          now = theatre.state()[name];
        if (name === "step" && x >= theatre.training.steps.length && theatre.state().live) return void (asked = x);
        if (JSON.stringify(x) === JSON.stringify(now)) return;
        hearing = true;
        try {
          theatre.show({ [name]: x });
        } finally {
          hearing = false;
        }
        soon();
      },
    ]),
  );
  /** @param {any} message */
  const listen = (message) => {
    if (message.kind === "steps") theatre.feed(message);
    if (message.kind !== "ended") return;
    told.textContent = "";
    theatre.ended();
    if (asked) theatre.show({ step: asked });
    asked = 0;
  };
  for (const [event, ear] of Object.entries(ears)) model.on(event, ear);
  model.on("msg:custom", listen);
  if (fed)
    model.send({ kind: "ready" }); // steps that were sent before this view was open
  else if (model.get("step")) theatre.show({ step: model.get("step") });
  soon();
  return () => {
    clearTimeout(pending);
    for (const [event, ear] of Object.entries(ears)) model.off(event, ear);
    model.off("msg:custom", listen);
    stop();
  };
}

/** @param {number | null} x */
function finite(x) {
  return Number.isFinite(x) ? x : null;
}

export default { render };
