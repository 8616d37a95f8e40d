// The stepper: the timeline's buttons, the sentence of the present frame, and the code beside it.
import { button, h, mark, put, s, unique } from "./dom.js";
import { codeOf } from "./graph.js";

/** @typedef {import("./session.js").Session} Session */

const ICONS = {
  reset: "M4 4h2v12H4zM16 4v12L7 10z", back: "M14 4v12L5 10z", next: "M6 4v12l9-6z", end: "M14 4h2v12h-2zM4 4v12l9-6z",
  play: "M6 4v12l10-6z", pause: "M5 4h4v12H5zM11 4h4v12h-4z",
};

/** A sign that every machine has: fonts differ. @param {keyof typeof ICONS} name */
function icon(name) {
  return s("svg", { class: "sign", viewBox: "0 0 20 20", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

/** Buttons and the timeline itself. @param {Session} session */
export function transport(session) {
  const control = (label, sign, action, key) =>
    button(sign, action, { class: "icon", "aria-label": label, title: `${label} (${key})` });
  const reset = control("reset", icon("reset"), () => session.reset(), "r");
  const back = control("step back", icon("back"), () => session.back(), "←");
  const play = control("play", "", () => session.toggle(), "space");
  const next = control("step forward", icon("next"), () => session.forward(), "→");
  const seed = control("to the backward pass", "∂", () => session.go(session.seed + 1), "b");
  const end = control("to the end", icon("end"), () => session.go(session.state.frames.length), "end");
  play.classList.add("play");
  const count = h("span", { class: "count" });
  const jump = () => {
    session.pause();
    session.go(Number(bar.value));
  };
  const bar = h("input", { type: "range", min: 0, step: 1, "aria-label": "frame", oninput: jump });
  const track = h("div", { class: "track" }, h("div", { class: "phases", "aria-hidden": "true" }), bar);
  const paces = [["slow", 2200], ["steady", 1100], ["quick", 450]];
  const setPace = () => session.store.set({ pace: Number(pace.value) });
  const pace = h("select", { "aria-label": "pace of play", onchange: setPace },
    paces.map(([name, ms]) => h("option", { value: ms, selected: ms === session.state.pace }, name)));
  const predict = h("input", { type: "checkbox", onchange: () => session.ask(predict.checked) });
  const el = h("div", { class: "transport" },
    h("div", { class: "buttons" }, reset, back, play, next, end, seed),
    track,
    h("div", { class: "options" }, count, h("label", { class: "inline" }, "pace ", pace),
      h("label", { class: "inline", title: "say what each gradient will be before you see it (q)" },
        predict, " predict first")));

  function update() {
    const { step, frames, playing } = session.state, forward = session.seed;
    bar.max = String(frames.length);
    bar.value = String(step);
    bar.setAttribute("aria-valuetext", step ? `frame ${step} of ${frames.length}` : "before the first frame");
    track.style.setProperty("--forward", `${(100 * forward) / frames.length}%`);
    count.textContent = `${step} / ${frames.length}`;
    back.disabled = reset.disabled = step === 0;
    end.disabled = step === frames.length;
    put(play, icon(playing ? "pause" : "play"), playing ? "pause" : "play");
    play.setAttribute("aria-label", playing ? "pause" : "play");
    predict.checked = session.state.predict;
  }
  return { el, update };
}

/** The sentence of the frame, read aloud by a screen reader. @param {Session} session */
export function sentence(session) {
  const phase = h("span", { class: "phase" });
  const line = h("p", { class: "sentence" });
  const rule = h("p", { class: "rule" }), origin = h("p", { class: "origin quiet small" });
  const el = h("section", { class: "card said", "aria-label": "the present frame" },
    h("div", { role: "status", "aria-live": "polite", "aria-atomic": "true" }, phase, line, rule), origin);

  function update() {
    const { step, frames, graph, asking, lab } = session.state, frame = step ? frames[step - 1] : null;
    if (asking) return; // the answer must not be read out before the question
    const root = graph.nodes[graph.root].name;
    el.dataset.phase = frame ? (frame.kind === "forward" ? "forward" : "backward") : "start";
    const past = session.seed + 1; // the frames before the first contribution
    phase.textContent = !frame ? "start"
      : frame.kind === "forward" ? `forward · ${step} of ${session.seed}`
      : frame.kind === "seed" ? "backward · the seed" : `backward · ${step - past} of ${frames.length - past}`;
    const from = frame && !lab ? graph.source[frame.line] : null;
    put(origin, from ? `${from.file}:${from.line}   ${from.text}` : "");
    if (lab) {
      el.dataset.phase = "start";
      phase.textContent = "lab";
      put(line, "The drawing shows what the lab found: its gradients, and on the edges what went wrong.");
      put(rule, "Step, or press r, to come back to the timeline.");
      return;
    }
    if (!frame) {
      put(line, `${graph.nodes.length} nodes, one output: ${root}. `,
        "Step forward to fill in every data, then backward for every grad.");
      put(rule, "Press → on the keyboard, or the buttons under the graph. ? shows all keys.");
      return;
    }
    put(line, frame.parts.map(([role, text]) => (role ? mark(role, text) : text)));
    const bare = frame.kind === "forward" && !graph.nodes[frame.node].inputs.length;
    put(rule, bare ? `${frame.rule}: you choose its value` : [h("span", { class: "quiet" }, "rule  "), frame.rule]);
  }
  return { el, update };
}

/** The lines of code, with the present one marked. @param {Session} session */
export function code(session) {
  const list = h("ol", { class: "lines" });
  const el = h("section", { class: "card code", "aria-label": "code" }, h("h2", {}, "Code"), list);
  let shown = "";

  function update() {
    const { graph, numbers, frames, step } = session.state, frame = step ? frames[step - 1] : null;
    const lines = [...codeOf(graph, numbers), `${graph.nodes[graph.root].name}.backward()`];
    if (lines.join("\n") !== shown) {
      shown = lines.join("\n");
      put(list, lines.map((text) => h("li", {}, h("code", {}, text))));
    }
    const at = frame ? (frame.kind === "seed" ? lines.length - 1 : frame.line) : -1;
    [...list.children].forEach((row, k) => {
      row.classList.toggle("now", k === at);
      row.classList.toggle("backward", k === at && frame?.kind !== "forward");
      if (k === at) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    const row = list.children[at];
    if (row) list.scrollTop = row.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
  return { el, update };
}

/**
 * A row of tabs over panels, as ARIA has it.
 * @param {{key: string, title: string, el: any}[]} panels @param {(key: string) => void} onPick
 */
export function tabs(panels, onPick) {
  const buttons = panels.map(({ key, title, el }) => {
    const id = unique("tab"), panel = unique("panel");
    el.id = panel;
    el.setAttribute("role", "tabpanel");
    el.setAttribute("aria-labelledby", id);
    return button(title, () => onPick(key),
      { role: "tab", id, "aria-controls": panel, "data-tab": key, onkeydown: (event) => move(event, key) });
  });
  /** @param {KeyboardEvent} event @param {string} key */
  function move(event, key) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const k = (panels.findIndex((panel) => panel.key === key) + way + panels.length) % panels.length;
    onPick(panels[k].key);
    buttons[k].focus();
  }
  return {
    el: h("section", { class: "card tabs" },
      h("div", { role: "tablist", "aria-label": "labs" }, buttons), panels.map((panel) => panel.el)),
    /** @param {string} tab */
    update(tab) {
      panels.forEach(({ key, el }, k) => {
        el.hidden = key !== tab;
        buttons[k].setAttribute("aria-selected", String(key === tab));
        buttons[k].tabIndex = key === tab ? 0 : -1;
      });
    },
  };
}
