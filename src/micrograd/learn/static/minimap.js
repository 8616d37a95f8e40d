// A small map of a drawing that is larger than its window: where the window is, and a way to move it.
import { h, s } from "./dom.js";

const WIDTH = 150, HEIGHT = 90, LEAST = 180; // px; a lower window has no room for a map

/** @param {ReturnType<typeof import("./picture.js").drawGraph>} picture */
export function drawMinimap(picture) {
  const { layout, el: view } = picture, scale = Math.min(WIDTH / layout.width, HEIGHT / layout.height);
  const window_ = s("rect", { class: "window" });
  const rectangles = [...(layout.groups ?? []).filter((group) => !group.open), ...layout.boxes.map((box) => box.card)];
  const svg = s("svg", { width: layout.width * scale, height: layout.height * scale,
    viewBox: `0 0 ${layout.width} ${layout.height}` },
  rectangles.map(({ x, y, w, h: height }) => s("rect", { class: "spot", x, y, width: w, height })), window_);
  const el = h("div", { class: "minimap", "aria-hidden": "true", hidden: true, onpointerdown: grab, onpointermove: drag },
    svg);

  /** @param {PointerEvent} event */
  function grab(event) {
    el.setPointerCapture(event.pointerId);
    drag(event, true);
  }

  /** @param {any} event @param {boolean} [grabbed] */
  function drag(event, grabbed = false) {
    if (!grabbed && !event.buttons) return;
    const box = svg.getBoundingClientRect(), zoom = picture.svg.clientWidth / box.width;
    view.scrollTo((event.clientX - box.left) * zoom - view.clientWidth / 2,
      (event.clientY - box.top) * zoom - view.clientHeight / 2);
  }

  function update() {
    const zoom = picture.svg.clientWidth / layout.width || 1;
    const whole = view.scrollWidth <= view.clientWidth + 1 && view.scrollHeight <= view.clientHeight + 1;
    el.hidden = whole || view.clientHeight < LEAST;
    const [x, y] = [Math.abs(view.scrollLeft), view.scrollTop].map((v) => v / zoom);
    for (const [name, x_] of Object.entries({ x, y, width: view.clientWidth / zoom, height: view.clientHeight / zoom })) {
      window_.setAttribute(name, String(x_));
    }
  }
  view.addEventListener("scroll", update, { passive: true });
  return { el, update };
}
