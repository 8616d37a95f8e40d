// The buttons and the slider of a timeline; the same for one pass and for two beside each other.
import { button, h, put, s } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./session.js").Session} Session */

const ICONS = {
  reset: "M4 4h2v12H4zM16 4v12L7 10z", back: "M14 4v12L5 10z", next: "M6 4v12l9-6z", end: "M14 4h2v12h-2zM4 4v12l9-6z",
  play: "M6 4v12l10-6z", pause: "M5 4h4v12H5zM11 4h4v12h-4z",
};

/** A sign that every machine has: fonts differ. @param {keyof typeof ICONS} name */
function icon(name) {
  return s("svg", { class: "sign", viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

/** @param {Session} session */
export function transport(session) {
  const control = (name, sign, action, key) => {
    const label = t(`page.${name}`);
    return button(sign, action, { class: "icon", "data-do": name, "aria-label": label, title: `${label} (${key})` });
  };
  const reset = control("reset", icon("reset"), () => session.reset(), "r");
  const back = control("back", icon("back"), () => session.back(), "←");
  const play = control("play", "", () => session.toggle(), t("page.space"));
  const next = control("next", [icon("next"), h("span", { class: "word" }, t("page.step"))], () => session.forward(), "→");
  const seed = control("to_backward", "∂", () => session.go(session.seed + 1), "b");
  const end = control("to_end", icon("end"), () => session.go(session.total), t("page.end_key"));
  next.classList.add("strong");
  const count = h("span", { class: "count", dir: "ltr" });
  const jump = () => {
    session.pause();
    session.go(Number(bar.value));
    bar.value = String(session.at);
  };
  const bar = h("input", { type: "range", min: 0, step: 1, "aria-label": t("page.frame"), oninput: jump });
  const track = h("div", { class: "track" }, h("div", { class: "phases", "aria-hidden": "true" }), bar);
  const paces = [["slow", 2200], ["steady", 1100], ["quick", 450]];
  const setPace = () => session.store.set({ pace: Number(pace.value) });
  const pace = h("select", { "aria-label": t("page.pace"), onchange: setPace },
    paces.map(([name, ms]) => h("option", { value: ms, selected: ms === session.state.pace }, t(`page.${name}`))));
  const predict = h("input", { type: "checkbox", "data-do": "predict", onchange: () => session.ask(predict.checked) });
  const el = h("div", { class: "transport" },
    h("div", { class: "buttons" }, reset, back, next, play, end, seed), track,
    h("div", { class: "options" }, count, pace,
      h("label", { class: "inline", title: `${t("page.predict_title")} (q)` }, predict, t("page.predict_first"))));

  function update() {
    const { frames, playing, lab } = session.state, { at, total } = session;
    const first = !lab ? 0 : lab.wrong.first < 0 ? total : lab.wrong.first + 1; // a right pass is green to its end
    bar.max = String(total);
    bar.value = String(at);
    const place = { k: String(at), n: String(total) };
    bar.setAttribute("aria-valuetext", at ? t("page.frame_of", place) : t("page.before_first"));
    track.classList.toggle("lab", Boolean(lab));
    track.style.setProperty("--mark", `${(100 * (lab ? Math.min(first, total) : session.seed)) / (total || 1)}%`);
    count.textContent = `${at} / ${total}`;
    back.disabled = reset.disabled = at === 0;
    end.disabled = next.disabled = at === total;
    seed.hidden = Boolean(lab) || session.forwardOnly;
    put(play, icon(playing ? "pause" : "play"));
    play.setAttribute("aria-label", t(playing ? "page.pause" : "page.play"));
    predict.checked = session.state.predict;
    predict.disabled = frames.length === 0;
  }
  return { el, update };
}
