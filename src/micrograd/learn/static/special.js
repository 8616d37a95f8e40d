// Functions that ops.py needs and JavaScript's Math has not, or has with other rules.

/** The size of a with the sign of b, of zero too. @param {number} a @param {number} b */
export function copysign(a, b) {
  const negative = b < 0 || Object.is(b, -0);
  return negative ? -Math.abs(a) : Math.abs(a);
}

/** Python's %: the sign of the divisor. @param {number} a @param {number} b */
export function modulo(a, b) {
  if (b === 0) return NaN;
  const rest = a % b;
  if (rest === 0) return copysign(0, b);
  return b < 0 !== rest < 0 ? rest + b : rest;
}

/** Python's //, with IEEE results where Python raises. @param {number} a @param {number} b */
export function floordiv(a, b) {
  if (b === 0) return Math.floor(a / b);
  const rest = a % b;
  let quotient = (a - rest) / b;
  if (rest !== 0 && b < 0 !== rest < 0) quotient -= 1;
  if (quotient === 0) return copysign(0, a / b);
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

/** C's pow: 1 to any power is 1, and so is -1 to an infinite one. @param {number} a @param {number} b */
export function power(a, b) {
  if (a === 1 || (a === -1 && Math.abs(b) === Infinity)) return 1;
  return Math.pow(a, b);
}

/** The nearest whole number, halves to the even one. @param {number} x */
/** The uniform number of one draw, by Philox 4x32-10: see philox.py. @param {number} key @param {number} row
 * @param {number} draw */
export function philox(key, row, draw) {
  if (![key, row, draw].every((x, i) => x >= [0, 0, -1][i] && x < 2 ** 53 && Number.isInteger(x))) return NaN;
  const word = (x, at) => Number((BigInt(x) >> BigInt(at)) & 0xffffffffn);
  const product = (a, b) => BigInt(a) * BigInt(b);
  const pair = Math.floor(draw / 2);
  let [a, b, c, d] = [word(pair, 0), word(pair, 32), word(row, 0), word(row, 32)];
  let [k, m] = [word(key, 0), word(key, 32)];
  for (let round = 0; round < 10; round++) {
    const left = product(0xd2511f53, a), right = product(0xcd9e8d57, c);
    [a, b, c, d] = [(word(right, 32) ^ b ^ k) >>> 0, word(right, 0), (word(left, 32) ^ d ^ m) >>> 0, word(left, 0)];
    [k, m] = [(k + 0x9e3779b9) >>> 0, (m + 0xbb67ae85) >>> 0];
  }
  const [high, low] = pair * 2 === draw ? [a, b] : [c, d];
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}

/** The nearest whole number, a tie to the even one. @param {number} x */
export function rint(x) {
  if (!(Math.abs(x) < 4503599627370496)) return x; // 2^52: whole already
  return copysign(Math.abs(x) + 4503599627370496 - 4503599627370496, x);
}

// (1 + 2x)·exp(x²)·erfc(x) for x >= 0 as a Chebyshev series in t = (x - 3.75)/(x + 3.75): the coefficients come from
// 60-point quadrature at 40 digits, cut where they fall below 1e-16.
const ERFC = [
  2.3551578691348034, -0.004590054580646481, -0.08424913336651792, 0.05920993999819189, -0.02665866843530575,
  0.00907499767070527, -0.0024131635404176046, 0.0004907758365258095, -6.916973302501428e-5, 4.139027986068629e-6,
  7.740383066150959e-7, -2.1886401049554038e-7, 1.076499946531611e-8, 4.521959813826693e-9, -7.754400163950625e-10,
  -6.318087888033842e-11, 2.868795283790407e-11, 1.9455852229179905e-13, -9.654726341429542e-13, 3.2520960084227134e-14,
  3.3473894927345407e-14, -1.8667713561302455e-15, -1.2501089808220196e-15, 7.74495328645262e-17,
];

/** erfc for x >= 0. @param {number} x */
function upperTail(x) {
  if (x > 28) return 0;
  const t = (x - 3.75) / (x + 3.75);
  let b = 0, c = 0;
  for (let k = ERFC.length - 1; k > 0; k--) [b, c] = [2 * t * b - c + ERFC[k], b];
  const scaled = t * b - c + ERFC[0] / 2;
  const head = Math.fround(x); // its square is exact, so exp(-x²) keeps its digits
  return ((scaled / (1 + 2 * x)) * Math.exp(-head * head)) * Math.exp((head - x) * (head + x));
}

/** @param {number} x */
export function erf(x) {
  const size = Math.abs(x);
  if (size > 1) return x < 0 ? upperTail(-x) - 1 : 1 - upperTail(x);
  if (x === 0 || x !== x) return x;
  let term = x, total = x; // Σ x(-x²)^k / (k!(2k + 1)), which loses nothing below 1
  for (let k = 1; k < 30; k++) {
    term *= -(x * x) / k;
    total += term / (2 * k + 1);
  }
  return total * 1.1283791670955126;
}

/** @param {number} x */
export function erfc(x) {
  if (x !== x) return x;
  if (x < 0.25) return x < -1 ? 2 - upperTail(-x) : 1 - erf(x);
  return upperTail(x);
}

/** The IEEE remainder: a - b·n, n the whole number nearest to a/b, the even one of two. @param {number} a @param {number} b */
export function remainder(a, b) {
  if (Math.abs(b) === Infinity && Number.isFinite(a)) return a;
  const size = Math.abs(b), twice = 2 * size;
  let rest = Math.abs(a) % (twice <= Number.MAX_VALUE ? twice : size); // the even quotient stays even
  if (2 * rest > size) {
    rest -= size;
    if (2 * rest >= size) rest -= size;
  }
  if (rest === 0) return copysign(0, a);
  return a < 0 ? -rest : rest;
}

/** a·b as two numbers whose sum is exact (Dekker). @param {number} a @param {number} b @returns {[number, number]} */
function twoProduct(a, b) {
  const split = (x) => {
    const t = 134217729 * x, high = t - (t - x);
    return [high, x - high];
  };
  const [ah, al] = split(a), [bh, bl] = split(b), p = a * b;
  return [p, ((ah * bh - p) + ah * bl + al * bh) + al * bl];
}

/** a·b + c with the product not rounded, and the sum nearly so. @param {number} a @param {number} b @param {number} c */
export function fma(a, b, c) {
  const whole = a * b + c, large = Math.max(Math.abs(a), Math.abs(b), Math.abs(a * b), Math.abs(c));
  if (!(large < 1e290) || Math.abs(a * b) < 1e-290) return whole;
  const [p, e] = twoProduct(a, b);
  const s = p + c, t = s - p;
  return s + ((p - (s - t)) + (c - t) + e);
}

// Stirling's series: log Γ(x) less (x - 1/2)·log(x) - x + log(2π)/2, for x of 10 or more.
/** @param {number} x */
function stirling(x) {
  const w = 1 / (x * x);
  let series = 0;
  for (const c of [-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12]) {
    series = series * w + c;
  }
  return series / x;
}

/** sin(πx), with the whole part taken away exactly. @param {number} x */
function sinpi(x) {
  const whole = rint(x), sine = Math.sin(Math.PI * (x - whole));
  return whole % 2 === 0 ? sine : -sine;
}

/** @param {number} x */
export function gamma(x) {
  if (x !== x || x === Infinity) return x;
  if (x === 0) return 1 / x;
  if (x < 0 && x === Math.floor(x)) return NaN;
  if (x < 0.5) return x < -184 ? copysign(0, sinpi(x)) : Math.PI / (sinpi(x) * gamma(1 - x));
  if (x > 171.7) return Infinity;
  if (x === Math.floor(x) && x < 24) {
    let product = 1;
    for (let k = 2; k < x; k++) product *= k;
    return product;
  }
  let z = x, below = 1;
  for (; z < 13; z++) below *= z;
  const half = Math.pow(z, 0.5 * z - 0.25); // the whole power would overflow, or lose its digits in a logarithm
  return (half * Math.exp(-z) * half * Math.sqrt(2 * Math.PI) * Math.exp(stirling(z))) / below;
}

/** log |Γ(x)|. @param {number} x */
export function lgamma(x) {
  if (x !== x) return x;
  if (Math.abs(x) === Infinity) return Infinity;
  if (x <= 0 && x === Math.floor(x)) return Infinity;
  if (Math.abs(x) < 1e-20) return -Math.log(Math.abs(x));
  if (x < 0.5) return Math.log(Math.PI / Math.abs(sinpi(x))) - lgamma(1 - x);
  if (x < 20) return Math.log(gamma(x));
  return (x - 0.5) * (Math.log(x) - 1) + (Math.log(2 * Math.PI) - 1) / 2 + stirling(x);
}
