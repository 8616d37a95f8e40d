// A drawing under the hand: the wheel and two fingers change its size about the pointer, dragging moves it.

/**
 * @param {any} view the element that scrolls @param {() => number} scale the present size
 * @param {(scale: number) => void} resize @param {boolean} wheel whether the wheel alone zooms; with Ctrl it always does, and a
 *   trackpad sends its pinch so
 */
export function panZoom(view, scale, resize, wheel) {
  /** The point under the pointer stays where it is. @param {number} by @param {number} x @param {number} y */
  function zoom(by, x, y) {
    const svg = view.firstElementChild, before = svg.getBoundingClientRect();
    const [fx, fy] = [(x - before.left) / before.width, (y - before.top) / before.height];
    resize(Math.max(0.05, Math.min(4, scale() * by)));
    const after = svg.getBoundingClientRect();
    view.scrollLeft += after.left + fx * after.width - x;
    view.scrollTop += after.top + fy * after.height - y;
  }

  view.addEventListener("wheel", (event) => {
    if (!wheel && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const rows = event.deltaMode === 1 ? 16 : 1; // Firefox counts lines
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY * rows)) / 240), event.clientX, event.clientY);
  }, { passive: false });

  const down = new Map();
  let apart = 0, moved = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = 0;
    if (down.size === 2) apart = spread();
  });
  view.addEventListener("pointermove", (event) => {
    const was = down.get(event.pointerId);
    if (!was) return;
    const now = { x: event.clientX, y: event.clientY };
    down.set(event.pointerId, now);
    if (down.size === 2) {
      const [a, b] = [...down.values()], wide = spread();
      zoom(wide / (apart || wide), (a.x + b.x) / 2, (a.y + b.y) / 2);
      apart = wide;
    } else if (event.pointerType === "mouse") { // a finger scrolls without help
      moved += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
      if (moved > 4 && !view.hasPointerCapture(event.pointerId)) view.setPointerCapture(event.pointerId);
      view.scrollLeft -= now.x - was.x;
      view.scrollTop -= now.y - was.y;
      view.classList.toggle("dragged", moved > 4);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    view.addEventListener(end, (event) => {
      down.delete(event.pointerId);
      view.classList.remove("dragged");
    });
  }
  view.addEventListener("click", (event) => { // the end of a drag is no click on a node
    if (moved > 4) event.stopPropagation();
    moved = 0;
  }, true);
}
