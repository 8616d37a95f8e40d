// How far a learner has come, kept on this machine, saved to a file and read from one. A question that was answered wrong
// comes back after some others: after three, and when it is right then, once more after nine.

const GAPS = [3, 9];
const COURSE_KEY = "micrograd.course";

/**
 * Steps and questions are known by names, so that a step which is added to a chapter later moves nothing. `reached` has the
 * name of the last step that is open. Version 1 counted steps and questions from 0.
 * @typedef {{id: string, due: number, box: number}} Review
 * @typedef {{version: 2, course: string, solved: Record<string, number>, reached: Record<string, string>,
 *            drills: Record<string, number>, reviews: Review[], count: number, drafts: Record<string, string>,
 *            code: Record<string, string>, seconds: Record<string, number>, network?: any}} Known
 *            drafts: what the learner typed last; code: what passed; seconds: the time spent in each chapter
 * @typedef {Record<string, {key: string, tasks: string[]}[]>} Plan the screens of each chapter, with their questions
 */

/** @param {string} course @returns {Known} */
function nothing(course) {
  return { version: 2, course, solved: {}, reached: {}, drills: {}, reviews: [], count: 0, drafts: {}, code: {}, seconds: {} };
}

/** The names of what version 1 counted. @param {any} found @param {Plan} plan */
function upgrade(found, plan) {
  const named = (id) => {
    const [chapter, step, k] = id.split("/"), screen = plan[chapter]?.[step], task = screen?.tasks[k];
    return task === undefined ? "" : `${chapter}/${screen.key}/${task}`;
  };
  const solved = Object.entries(found.solved).map(([id, x]) => [named(id), x]).filter(([id]) => id);
  const reached = Object.entries(found.reached).filter(([chapter]) => plan[chapter]?.length)
    .map(([chapter, n]) => [chapter, plan[chapter][Math.max(0, Math.min(Math.floor(n), plan[chapter].length - 1))].key]);
  const reviews = found.reviews.map((one) => ({ ...one, id: named(one.id) })).filter((one) => one.id);
  return { ...found, version: 2, solved: Object.fromEntries(solved), reached: Object.fromEntries(reached), reviews };
}

/** What was saved, if it has the right form; null otherwise. @param {any} found @param {string} course @param {Plan} plan */
export function readProgress(found, course, plan) {
  const all = (x, right) => Boolean(x) && typeof x === "object" && !Array.isArray(x) && Object.values(x).every(right);
  const review = (one) => one && typeof one.id === "string" && Number.isFinite(one.due) && Number.isFinite(one.box);
  const places = { 1: Number.isFinite, 2: (one) => typeof one === "string" }[found?.version];
  const right = places && found.course === course && all(found.solved, Number.isFinite) && all(found.reached, places)
    && all(found.drills, Number.isFinite) && Array.isArray(found.reviews) && found.reviews.every(review)
    && Number.isFinite(found.count)
    && ["drafts", "code"].every((key) => all(found[key] ?? {}, (one) => typeof one === "string"))
    && all(found.seconds ?? {}, Number.isFinite);
  if (!right) return null;
  return /** @type {Known} */ ({ ...nothing(course), ...(found.version === 1 ? upgrade(found, plan) : found) });
}

/** How far a chapter is open, as the number of a screen. @param {Known} known @param {Plan} plan @param {string} chapter */
export function reachedIn(known, plan, chapter) {
  const screens = plan[chapter] ?? [], at = screens.findIndex((screen) => screen.key === known.reached[chapter]);
  if (at >= 0 || !(chapter in known.reached)) return Math.max(0, at);
  const solved = screens.map((screen) => screen.tasks.some((task) => `${chapter}/${screen.key}/${task}` in known.solved));
  return Math.max(0, solved.lastIndexOf(true)); // that step is no longer in the chapter
}

/**
 * What two tabs know together; of what changes to and fro, the later one counts.
 * @param {Known} a @param {Known} b @param {Plan} plan
 */
export function joinProgress(a, b, plan) {
  const [early, late] = a.count <= b.count ? [a, b] : [b, a], joined = { ...late, solved: { ...early.solved, ...late.solved } };
  const chapters = new Set([...Object.keys(a.reached), ...Object.keys(b.reached)]);
  const farther = (one) => (reachedIn(early, plan, one) > reachedIn(late, plan, one) ? early : late).reached[one];
  joined.reached = Object.fromEntries([...chapters].map((one) => [one, farther(one) ?? early.reached[one]]));
  for (const key of ["drills", "drafts", "code"]) joined[key] = { ...early[key], ...late[key] };
  joined.network = late.network ?? early.network;
  joined.seconds = { ...early.seconds };
  for (const [one, time] of Object.entries(late.seconds ?? {})) joined.seconds[one] = Math.max(time, joined.seconds[one] ?? 0);
  return joined;
}

/**
 * @param {string} course a name: progress of one course is not that of another
 * @param {Plan} plan @param {() => void} [onOther] another tab has changed it
 */
export function courseProgress(course, plan, onOther = () => {}) {
  const place = `${COURSE_KEY}.${course}`;
  let known = nothing(course), unread = false;
  /** What is kept; null where there is nothing, or nothing that can be read. */
  function kept() {
    let text = null;
    try {
      text = localStorage.getItem(place);
      const found = text === null ? null : readProgress(JSON.parse(text), course, plan);
      if (found || text === null) return found;
    } catch {
      if (text === null) return null; // no storage here: progress lasts as long as the page
    }
    unread = true;
    try {
      localStorage.setItem(`${place}.unread`, text); // damaged, or of a later version: it is not lost
      localStorage.removeItem(place);
    } catch {
      // full, or not allowed
    }
    return null;
  }
  known = kept() ?? known;
  function store(alone = false) {
    try {
      const other = alone ? null : kept();
      if (other) known = joinProgress(other, known, plan);
      localStorage.setItem(place, JSON.stringify(known));
    } catch {
      // full, or not allowed
    }
  }
  globalThis.addEventListener?.("storage", (event) => {
    if (event.key !== place || event.newValue === null) return;
    const other = kept();
    if (other) known = joinProgress(known, other, plan);
    onOther();
  });
  return {
    /** Whether something was kept that cannot be read; it was set aside. */
    get unread() {
      return unread;
    },
    /** @param {string} id */
    solved: (id) => id in known.solved,
    /** @param {string} chapter */
    reached: (chapter) => reachedIn(known, plan, chapter),
    /** @param {string} chapter @param {number} step */
    reach(chapter, step) {
      if (chapter in known.reached && step <= reachedIn(known, plan, chapter)) return;
      known.reached[chapter] = plan[chapter][step].key;
      store();
    },
    /** A question was answered: with no wrong try before, or with some. @param {string} id @param {boolean} clean */
    answered(id, clean) {
      known.count += 1;
      if (!(id in known.solved)) known.solved[id] = clean ? 1 : 0;
      const review = known.reviews.find((one) => one.id === id);
      if (!clean) {
        known.reviews = [...known.reviews.filter((one) => one.id !== id), { id, due: known.count + GAPS[0], box: 0 }];
      } else if (review) {
        const box = review.box + 1;
        known.reviews = known.reviews.filter((one) => one.id !== id);
        if (box < GAPS.length) known.reviews.push({ id, due: known.count + GAPS[box], box });
      }
      store();
    },
    /** The question that is due, if there is one. */
    due: () => known.reviews.filter((one) => one.due <= known.count).sort((a, b) => a.due - b.due)[0]?.id ?? "",
    /** All questions that will come back. */
    waiting: () => known.reviews.map((one) => one.id),
    get count() {
      return known.count;
    },
    /** @param {string} chapter */
    drills: (chapter) => known.drills[chapter] ?? 0,
    /** @param {string} chapter */
    drilled(chapter) {
      known.drills[chapter] = (known.drills[chapter] ?? 0) + 1;
      store();
    },
    /** What the learner typed last for a piece of code. @param {string} piece */
    draft: (piece) => known.drafts[piece],
    /** The learner's own version of a piece that passed. @param {string} piece */
    code: (piece) => known.code[piece],
    /** @param {string} piece @param {string} text @param {boolean} passed */
    wrote(piece, text, passed) {
      known.drafts[piece] = text;
      if (passed) known.code[piece] = text;
      store();
    },
    /** The network that the learner shared last. @param {any} found */
    trained(found) {
      known.network = found;
      store();
    },
    get network() {
      return known.network;
    },
    /** Whether a question was answered with no wrong try. @param {string} id */
    clean: (id) => known.solved[id] === 1,
    /** @param {string} chapter */
    seconds: (chapter) => known.seconds[chapter] ?? 0,
    /** @param {string} chapter @param {number} more */
    spent(chapter, more) {
      known.seconds[chapter] = (known.seconds[chapter] ?? 0) + more;
      store();
    },
    text: () => JSON.stringify(known, null, 2),
    /** Take what a file holds; says whether it was one of this course. @param {string} text */
    take(text) {
      let found = null;
      try {
        found = readProgress(JSON.parse(text), course, plan);
      } catch {
        return false;
      }
      if (!found) return false;
      known = found;
      store(true);
      return true;
    },
  };
}

/** Save a text as a file. @param {string} text @param {string} name */
export function saveFile(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
