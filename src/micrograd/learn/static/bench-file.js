// The file in which a learner's workshop is saved.

/** Whether a file holds the state of a workshop. @param {any} found */
export function isBench(found) {
  const texts = (x) => Boolean(x) && typeof x === "object" && Object.values(x).every((one) => typeof one === "string");
  return Boolean(found) && found.version === 1 && texts(found.files) && Array.isArray(found.passed)
    && found.passed.every((one) => typeof one === "string");
}
