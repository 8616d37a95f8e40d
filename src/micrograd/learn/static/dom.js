// The little of a framework that this page needs: elements, and a store that tells its listeners.

/**
 * Make an element: h("button", { class: "quiet", onclick: f, "aria-label": "next" }, "text", child, ...).
 * @param {string} tag @param {Record<string, any>} [props] @param {...any} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same in SVG. @param {string} tag @param {Record<string, any>} [props] @param {...any} children @returns {any} */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/** @param {any} el @param {Record<string, any>} props @param {any[]} children */
function fill(el, props, children) {
  for (const [key, x] of Object.entries(props)) {
    if (x === null || x === undefined || x === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), x);
    else if (key === "value" || key === "checked") el[key] = x;
    else el.setAttribute(key, x === true ? "" : String(x));
  }
  el.append(...children.flat(3).filter((x) => x !== null && x !== undefined && x !== false));
  return el;
}

/** Give an element other children. @param {any} el @param {...any} children */
export function put(el, ...children) {
  el.replaceChildren(...children.flat(3).filter((x) => x !== null && x !== undefined && x !== false));
}

/** A button. @param {any} label @param {() => void} action @param {Record<string, any>} [props] */
export function button(label, action, props = {}) {
  return h("button", { type: "button", onclick: action, ...props }, label);
}

/**
 * What is said to an answer, or found by a lab.
 * @param {boolean} good @param {string} text @param {Record<string, any>} [props]
 */
export function verdict(good, text, props = {}) {
  return h("p", { class: good ? "verdict good" : "verdict bad", ...props }, `${good ? "✓" : "✗"} ${text}`);
}

/** Act on Enter, and let nothing else come of it. @param {() => void} act */
export function onEnter(act) {
  return (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    act();
  };
}

/** A run of text with a role, which the style sheet colours. @param {string} role @param {string} text */
export function mark(role, text) {
  return h("span", { class: role }, text);
}

/**
 * A state and its listeners.
 * @template {object} T
 * @param {T} initial
 */
export function createStore(initial) {
  const state = { ...initial };
  /** @type {((state: T, changed: Partial<T>) => void)[]} */
  const listeners = [];
  return {
    state,
    /** @param {Partial<T>} changed */
    set(changed) {
      Object.assign(state, changed);
      for (const listener of [...listeners]) listener(state, changed);
    },
    /** @param {(state: T, changed: Partial<T>) => void} listener */
    listen(listener) {
      listeners.push(listener);
      return () => { listeners.splice(listeners.indexOf(listener), 1); };
    },
  };
}

/**
 * The contents at the side of a page, and the button that opens them where the page is narrow. `arrange` adapts both, and the
 * classes "narrow" and "slim", to the present width.
 * @param {any} root @param {string} label
 */
export function contentsMenu(root, label) {
  const nav = h("nav", { class: "contents", "aria-label": label });
  const menu = button("☰", () => openMenu(nav.hidden), { class: "icon menu", "data-do": "menu", "aria-expanded": "false",
    "aria-label": label });
  /** @param {boolean} shown */
  function openMenu(shown) {
    const narrow = root.classList.contains("narrow");
    nav.hidden = narrow && !shown;
    menu.setAttribute("aria-expanded", String(narrow && shown));
  }
  function arrange() {
    const w = root.clientWidth;
    root.classList.toggle("narrow", w < 1000);
    root.classList.toggle("slim", w < 820);
    menu.hidden = w >= 1000;
    openMenu(false);
  }
  return { nav, menu, openMenu, arrange };
}

/**
 * Links to the same page in other languages, which keep what stands in the address.
 * @param {{code: string, name: string, to: string}[] | undefined} languages
 */
export function languageLinks(languages) {
  return (languages ?? []).map(({ code, name, to }) => h("a", { class: "to-course", href: to, lang: code, hreflang: code,
    "data-language": code,
    onclick: (event) => { event.currentTarget.href = to + location.hash; } }, name));
}

let serial = 0;

/** An id that no other element has: several pages may share one notebook. @param {string} stem */
export function unique(stem) {
  return `mg-${stem}-${++serial}`;
}
