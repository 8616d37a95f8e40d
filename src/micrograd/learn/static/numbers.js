// Numbers for people, and numbers that JSON cannot hold.

/** A number of the timeline: nan and the infinities come as words. @param {any} x @returns {number} */
export function readNumber(x) {
  if (typeof x === "number") return x;
  return { inf: Infinity, "-inf": -Infinity }[x] ?? NaN;
}

/** As a sentence has it: four places, none that say nothing; the text of `show` in sentences.py. @param {number} x */
export function show(x) {
  if (x !== x) return "nan";
  if (Math.abs(x) === Infinity) return x < 0 ? "−∞" : "∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 0.01 && size < 1000 ? fixed(size) : general(size, size >= 1000 && size < 1e6 ? 6 : 4);
  const short = text.includes("e") ? text.replace(/\.?0+e/, "e") : text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return (x < 0 ? "−" : "") + short.replace("e+", "e").replace("e-", "e−");
}

/** A number cut to so many digits, a tie to the even one, as Python rounds; toFixed and toPrecision round it up.
 * @param {number} size @param {number} digits */
function rounded(size, digits) {
  const [mantissa, exponent] = size.toExponential(60).split("e");
  const all = mantissa.replace(".", ""), tie = /^50*$/.test(all.slice(digits)) && Number(all[digits - 1]) % 2 === 0;
  return tie ? Number(`${all[0]}.${all.slice(1, digits)}e${exponent}`) : Number(size.toExponential(digits - 1));
}

/** Python's .4f. @param {number} size */
function fixed(size) {
  const digits = 5 + Number(size.toExponential(60).split("e")[1]);
  return (digits > 0 ? rounded(size, digits) : size).toFixed(4);
}

/** Python's .4g or .6g. @param {number} size @param {number} digits */
function general(size, digits) {
  const near = rounded(size, digits), cut = near < Infinity ? near : size; // 1.798e308 itself is no double
  const exponent = Number(cut.toExponential(digits - 1).split("e")[1]);
  return exponent < -4 || exponent >= digits ? cut.toExponential(digits - 1) : cut.toPrecision(digits);
}

/** As a node has it: four decimals always, so that columns stand still. @param {number} x */
export function showFixed(x) {
  if (!Number.isFinite(x) || Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3)) return show(x);
  return (x < 0 ? "−" : "") + fixed(Math.abs(x));
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

/** A float as Python writes it in code. @param {number} x */
export function literal(x) {
  if (!Number.isFinite(x)) return x !== x ? "nan" : x < 0 ? "-inf" : "inf";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return x.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(x) ? `${Object.is(x, -0) ? "-0" : x}.0` : String(x);
}
