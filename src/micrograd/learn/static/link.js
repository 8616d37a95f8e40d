// Links and progress: the whole state stands in the fragment of the address, so that a link, and back and forward of the
// browser, come back to it. Answers are kept on this machine, and can be saved as a file.

const WORDS = ["graph", "tab", "bug", "expression", "given"];

/** A state as the fragment of an address. @param {any} state */
export function encode(state) {
  const pairs = new URLSearchParams();
  for (const key of WORDS) if (state[key]) pairs.set(key, state[key]);
  for (const [name, x] of Object.entries(state.values ?? {})) pairs.set(`v.${name}`, String(x));
  if (state.lab?.bug) pairs.set("bug", state.lab.bug);
  if (state.lab?.order) pairs.set("order", [state.lab.order].flat().join(","));
  if (state.step || state.lab) pairs.set("step", String(state.step));
  if (state.predict) pairs.set("predict", "1");
  if (state.boxes?.length) pairs.set("open", JSON.stringify(state.boxes));
  return `#${pairs}`;
}

/** The state of a fragment; what is not understood is left out. @param {string} hash @returns {any} */
export function decode(hash) {
  const pairs = new URLSearchParams(hash.replace(/^#/, ""));
  const state = /** @type {any} */ ({ values: {}, step: 0, lab: null, predict: false });
  for (const [key, x] of pairs) {
    if (WORDS.includes(key)) state[key] = x;
    if (key.startsWith("v.") && Number.isFinite(Number(x))) state.values[key.slice(2)] = Number(x);
  }
  if (pairs.get("bug")) state.lab = { bug: pairs.get("bug") };
  const order = pairs.get("order");
  if (order) state.lab = { order: ["reverse", "naive", "preorder", "postorder"].includes(order) ? order : order.split(",") };
  if (pairs.has("step")) state.step = Math.max(0, Math.min(1e9, Math.floor(Number(pairs.get("step")) || 0)));
  else if (state.lab) delete state.step; // a lab opens where the passes first differ
  state.predict = pairs.get("predict") === "1";
  try {
    state.boxes = JSON.parse(pairs.get("open") ?? "[]");
  } catch {
    state.boxes = [];
  }
  return state;
}

/**
 * Keep the address in step with the state: another graph, tab or lab is a place that "back" comes back to.
 * @param {() => any} read @param {(state: any) => void | Promise<void>} write
 */
export function keepAddress(read, write) {
  const able = /^(https?|file):$/.test(location.protocol);
  let last = location.hash, timer = 0, started = false;
  const place = (state) => JSON.stringify([state.graph, state.tab, state.lab, state.expression]);
  let at = place(decode(location.hash));

  function save() {
    clearTimeout(timer);
    if (!able) return;
    const state = read(), hash = encode(state), here = place(state), moved = here !== at;
    at = here;
    if (hash === last || (hash === "#" && !last)) return;
    last = hash;
    try {
      history[moved ? "pushState" : "replaceState"](null, "", hash);
    } catch {
      // a frame without an address of its own
    }
  }
  /** Go where the address says; on the way there nothing is written to it. */
  const follow = async () => {
    clearTimeout(timer);
    last = location.hash;
    started = false;
    await write(decode(location.hash));
    [at, started] = [place(read()), true];
  };
  if (able) addEventListener("popstate", follow);
  return {
    able,
    /** Save soon: a slider that is dragged writes once. */
    note() {
      if (!started) return;
      const state = read();
      if (place(state) !== at) return save();
      clearTimeout(timer);
      timer = Number(setTimeout(save, 150));
    },
    start() {
      if (able && location.hash.length > 1) follow();
      else [at, started] = [place(read()), true];
    },
    address() {
      return able ? location.href.split("#")[0] + encode(read()) : "";
    },
    stop() {
      removeEventListener("popstate", follow);
      clearTimeout(timer);
    },
  };
}

const KEY = "micrograd.progress";

/** What was answered so far, on this machine. @param {boolean} kept whether it outlives the page */
export function keepProgress(kept) {
  /** @type {{version: number, answers: any[], settings: any}} */
  let known = { version: 1, answers: [], settings: {} };
  try {
    const found = kept ? JSON.parse(localStorage.getItem(KEY) ?? "null") : null;
    if (found?.version === 1 && Array.isArray(found.answers)) known = { ...known, ...found };
  } catch {
    // no storage here: progress lasts as long as the page
  }
  const store = () => {
    try {
      if (kept) localStorage.setItem(KEY, JSON.stringify(known));
    } catch {
      // full, or not allowed
    }
  };
  return {
    /** @param {any} answer */
    note(answer) {
      known.answers.push({ ...answer, time: new Date().toISOString() });
      known.answers = known.answers.slice(-2000);
      store();
    },
    /** @param {string} quiz */
    done: (quiz) => known.answers.some((answer) => answer.quiz === quiz && answer.right),
    get settings() {
      return known.settings;
    },
    /** @param {string} name @param {any} x */
    set(name, x) {
      known.settings = { ...known.settings, [name]: x };
      store();
    },
    /** Save all of it as a file. */
    save() {
      const blob = new Blob([JSON.stringify(known, null, 2)], { type: "application/json" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "micrograd-progress.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    },
  };
}
