// Numbers for people, and numbers that JSON cannot hold.

/** A number of the timeline: JSON has no nan and no infinity, so they come as words. @param {any} x @returns {number} */
export function readNumber(x) {
  if (typeof x === "number") return x;
  return { inf: Infinity, "-inf": -Infinity }[x] ?? NaN;
}

/** As a sentence has it: four places, none that say nothing; the same text as `show` in sentences.py. @param {number} x */
export function show(x) {
  if (x !== x) return "nan";
  if (Math.abs(x) === Infinity) return x < 0 ? "−∞" : "∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 0.01 && size < 1e6 ? fourDecimals(size) : fourDigits(size);
  const short = text.includes("e") ? text.replace(/\.?0+e/, "e") : text.replace(/\.?0+$/, "");
  return (x < 0 ? "−" : "") + short.replace("e+", "e").replace("e-", "e−");
}

/** Python rounds a tie to the even digit, toFixed does not; a tie at four decimals is an odd number of 32nds. @param {number} size */
function fourDecimals(size) {
  if ((size * 32) % 2 !== 1) return size.toFixed(4);
  const below = Math.floor(size * 10000);
  return ((below % 2 ? below + 1 : below) / 10000).toFixed(4);
}

/** Python's %.4g. @param {number} size */
function fourDigits(size) {
  const exponential = size.toExponential(3), exponent = Number(exponential.split("e")[1]);
  return exponent < -4 || exponent >= 4 ? exponential : size.toPrecision(4);
}

/** As a node has it: four decimals always, so that columns stand still. @param {number} x */
export function showFixed(x) {
  if (!Number.isFinite(x) || Math.abs(x) >= 1e6 || (x !== 0 && Math.abs(x) < 1e-3)) return show(x);
  return (x < 0 ? "−" : "") + fourDecimals(Math.abs(x));
}

/** What the learner typed; null where it is no number. @param {string} text @returns {number | null} */
export function parseNumber(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(",", ".");
  if (/^[+-]?\d+\s*\/\s*\d+$/.test(plain)) {
    const [over, under] = plain.split("/").map(Number);
    return over / under;
  }
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : null;
}
