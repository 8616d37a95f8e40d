// How far a learner has come, kept on this machine, saved to a file and read from one. A question that was answered wrong
// comes back after some others: after three, and when it is right then, once more after nine.

const GAPS = [3, 9];
const COURSE_KEY = "micrograd.course";

/**
 * @typedef {{id: string, due: number, box: number}} Review
 * @typedef {{version: 1, course: string, solved: Record<string, number>, reached: Record<string, number>,
 *            drills: Record<string, number>, reviews: Review[], count: number}} Known
 */

/** @param {string} course @returns {Known} */
function nothing(course) {
  return { version: 1, course, solved: {}, reached: {}, drills: {}, reviews: [], count: 0 };
}

/** What was saved, if it has the right form; null otherwise. @param {any} found @param {string} course */
export function readProgress(found, course) {
  const numbers = (x) => Boolean(x) && typeof x === "object" && !Array.isArray(x) && Object.values(x).every(Number.isFinite);
  const review = (one) => one && typeof one.id === "string" && Number.isFinite(one.due) && Number.isFinite(one.box);
  const right = found && found.version === 1 && found.course === course && numbers(found.solved) && numbers(found.reached)
    && numbers(found.drills) && Array.isArray(found.reviews) && found.reviews.every(review) && Number.isFinite(found.count);
  return right ? /** @type {Known} */ ({ ...nothing(course), ...found }) : null;
}

/** @param {string} course a name: progress of one course is not that of another */
export function courseProgress(course) {
  const place = `${COURSE_KEY}.${course}`;
  let known = nothing(course);
  try {
    known = readProgress(JSON.parse(localStorage.getItem(place) ?? "null"), course) ?? known;
  } catch {
    // no storage here, or what is there cannot be read: progress lasts as long as the page
  }
  function store() {
    try {
      localStorage.setItem(place, JSON.stringify(known));
    } catch {
      // full, or not allowed
    }
  }
  return {
    /** @param {string} id */
    solved: (id) => id in known.solved,
    /** @param {string} chapter */
    reached: (chapter) => known.reached[chapter] ?? 0,
    /** @param {string} chapter @param {number} step */
    reach(chapter, step) {
      if (step <= (known.reached[chapter] ?? -1)) return;
      known.reached[chapter] = step;
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
    text: () => JSON.stringify(known, null, 2),
    /** Take what a file holds; says whether it was one of this course. @param {string} text */
    take(text) {
      let found = null;
      try {
        found = readProgress(JSON.parse(text), course);
      } catch {
        return false;
      }
      if (!found) return false;
      known = found;
      store();
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
