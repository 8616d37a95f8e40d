// The graph of one data point on the stage, with the numbers of a step, in a dialog over the theatre.
import { button, h, put } from "./dom.js";
import { show } from "./numbers.js";
import { createStage } from "./stage.js";
import { t, text } from "./texts.js";

/** A dialog that is empty until a point is shown in it. */
export function createOpened() {
  /** @type {any} */
  let stage = null;
  const dialog = h("dialog", { class: "mg opened" });
  dialog.addEventListener("close", () => shut());
  dialog.addEventListener("keydown", (event) => {
    const { session } = stage ?? {},
      target = /** @type {any} */ (event.target);
    const does =
      session &&
      {
        ArrowRight: () => session.forward(),
        ArrowLeft: () => session.back(),
        " ": () => session.toggle(),
        Home: () => session.reset(),
        End: () => session.go(session.total),
      }[event.key];
    const typing = ["INPUT", "SELECT"].includes(target.tagName) || (event.key === " " && target.tagName === "BUTTON");
    if (!does || typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  });
  function shut() {
    stage?.destroy();
    stage = null;
    put(dialog);
  }
  return {
    el: dialog,
    /** @param {any} training @param {number} k which point @param {number} width of the theatre */
    show(training, k, width) {
      const point = training.step.points[k],
        { packed, values } = training.leaves(point);
      const title = t("theatre.point_title", { k: String(k), step: String(training.at) });
      stage = createStage({ presets: [{ key: "point", title, about: "", timeline: packed.timeline }], first: "point" });
      stage.show({ values });
      const facts = { x: point.x.map(show).join(", "), y: show(point.y), n: String(training.step.points.length) };
      const close = button(t("page.close"), () => dialog.close(), { "data-do": "close", class: "strong" });
      const about = t(`theatre.point_about_${training.scene.reduction}`, facts);
      const words = h("div", { class: "grow" }, h("h2", { tabindex: "-1" }, title), h("p", { class: "quiet small" }, about));
      put(dialog, h("div", { class: "stage-head" }, words, close), stage.el);
      const themed = dialog.parentNode.closest("[data-theme]");
      if (themed) dialog.dataset.theme = themed.dataset.theme;
      dialog.dir = text("direction");
      dialog.classList.toggle("narrow", width < 900);
      dialog.setAttribute("aria-label", title);
      dialog.showModal();
      dialog.querySelector("h2").focus();
    },
    close: () => dialog.close(),
  };
}
