// Made by tools/gen_ops_js.py from ops.py: change the table there and run it again.
import {
  dot, erf, erfc, floordiv, logsumexp, mean, modulo, power, product, productsOfTheRest, rint, shares, total,
} from "./special.js";

/**
 * One row of the table. `facts` names what the one partial of an n-ary op (arity -1) is a function of.
 * @typedef {{symbol: string, arity: number, rule: string[], facts?: string[],
 *            value: (...xs: any[]) => number, partials: ((...xs: number[]) => number)[]}} Op
 */

/** @type {Record<string, Op>} */
export const OPS = {
  add: { symbol: "+", arity: 2, rule: ["1", "1"], value: (a, b) => a + b, partials: [() => 1, () => 1] },
  sub: { symbol: "-", arity: 2, rule: ["1", "-1"], value: (a, b) => a - b, partials: [() => 1, () => -1] },
  mul: { symbol: "*", arity: 2, rule: ["b", "a"], value: (a, b) => a * b, partials: [(a, b) => b, (a) => a] },
  div: { symbol: "/", arity: 2, rule: ["1/b", "-a/b²"], value: (a, b) => a / b, partials: [(a, b) => 1 / b, (a, b, y) => { const t0 = y / b; return -t0; }] },
  floordiv: { symbol: "//", arity: 2, rule: ["0", "0"], value: (a, b) => floordiv(a, b), partials: [() => 0, () => 0] },
  mod: { symbol: "%", arity: 2, rule: ["1", "-(a // b)"], value: (a, b) => modulo(a, b), partials: [() => 1, (a, b) => { const t0 = floordiv(a, b); return -t0; }] },
  pow: { symbol: "**", arity: 2, rule: ["b·a^(b-1)", "y·log(a)"], value: (a, b) => power(a, b), partials: [(a, b) => { const t0 = b == 0 ? 1.0 : 0.0, t1 = b - 1, t2 = power(a, t1), t3 = b * t2; return t0 != 0.0 ? 0 : t3; }, (a, b, y) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = b >= 0 ? 1.0 : 0.0, t2 = t0 * t1, t3 = Math.log(a), t4 = y * t3; return t2 != 0.0 ? 0 : t4; }] },
  neg: { symbol: "neg", arity: 1, rule: ["-1"], value: (a) => -a, partials: [() => -1] },
  abs: { symbol: "abs", arity: 1, rule: ["sign(a)"], value: (a) => Math.abs(a), partials: [(a) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = a > 0 ? 1.0 : 0.0, t2 = a < 0 ? 1.0 : 0.0, t3 = t2 != 0.0 ? (-1) : a, t4 = t1 != 0.0 ? 1 : t3; return t0 != 0.0 ? 0 : t4; }] },
  min: { symbol: "min", arity: 2, rule: ["1 if a < b else 0", "1 if b < a else 0"], value: (a, b) => { const t0 = a <= b ? 1.0 : 0.0, t1 = a > b ? 1.0 : 0.0, t2 = a + b, t3 = t1 != 0.0 ? b : t2; return t0 != 0.0 ? a : t3; }, partials: [(a, b) => { const t0 = a > b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }, (a, b) => { const t0 = a < b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }] },
  max: { symbol: "max", arity: 2, rule: ["1 if a > b else 0", "1 if b > a else 0"], value: (a, b) => { const t0 = a >= b ? 1.0 : 0.0, t1 = a < b ? 1.0 : 0.0, t2 = a + b, t3 = t1 != 0.0 ? b : t2; return t0 != 0.0 ? a : t3; }, partials: [(a, b) => { const t0 = a < b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }, (a, b) => { const t0 = a > b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }] },
  exp: { symbol: "exp", arity: 1, rule: ["y"], value: (a) => Math.exp(a), partials: [(a, y) => y] },
  expm1: { symbol: "expm1", arity: 1, rule: ["exp(a)"], value: (a) => Math.expm1(a), partials: [(a) => Math.exp(a)] },
  log: { symbol: "log", arity: 1, rule: ["1/a"], value: (a) => Math.log(a), partials: [(a) => 1 / a] },
  log1p: { symbol: "log1p", arity: 1, rule: ["1/(1 + a)"], value: (a) => Math.log1p(a), partials: [(a) => { const t0 = 1 + a; return 1 / t0; }] },
  log2: { symbol: "log2", arity: 1, rule: ["1/(a·ln 2)"], value: (a) => Math.log2(a), partials: [(a) => 1.4426950408889634 / a] },
  log10: { symbol: "log10", arity: 1, rule: ["1/(a·ln 10)"], value: (a) => Math.log10(a), partials: [(a) => 0.4342944819032518 / a] },
  sqrt: { symbol: "sqrt", arity: 1, rule: ["1/(2y)"], value: (a) => Math.sqrt(a), partials: [(a, y) => 0.5 / y] },
  cbrt: { symbol: "cbrt", arity: 1, rule: ["1/(3y²)"], value: (a) => Math.cbrt(a), partials: [(a, y) => { const t0 = y * y, t1 = 3 * t0; return 1 / t1; }] },
  sin: { symbol: "sin", arity: 1, rule: ["cos(a)"], value: (a) => Math.sin(a), partials: [(a) => Math.cos(a)] },
  cos: { symbol: "cos", arity: 1, rule: ["-sin(a)"], value: (a) => Math.cos(a), partials: [(a) => { const t0 = Math.sin(a); return -t0; }] },
  tan: { symbol: "tan", arity: 1, rule: ["1 + y²"], value: (a) => Math.tan(a), partials: [(a, y) => { const t0 = y * y; return 1 + t0; }] },
  asin: { symbol: "asin", arity: 1, rule: ["1/√(1 - a²)"], value: (a) => Math.asin(a), partials: [(a) => { const t0 = 1 - a, t1 = 1 + a, t2 = t0 * t1, t3 = Math.sqrt(t2); return 1 / t3; }] },
  acos: { symbol: "acos", arity: 1, rule: ["-1/√(1 - a²)"], value: (a) => Math.acos(a), partials: [(a) => { const t0 = 1 - a, t1 = 1 + a, t2 = t0 * t1, t3 = Math.sqrt(t2), t4 = 1 / t3; return -t4; }] },
  atan: { symbol: "atan", arity: 1, rule: ["1/(1 + a²)"], value: (a) => Math.atan(a), partials: [(a) => { const t0 = a * a, t1 = 1 + t0; return 1 / t1; }] },
  atan2: { symbol: "atan2", arity: 2, rule: ["b/(a² + b²)", "-a/(a² + b²)"], value: (a, b) => Math.atan2(a, b), partials: [(a, b) => { const t0 = Math.hypot(a, b), t1 = b / t0; return t1 / t0; }, (a, b) => { const t0 = Math.hypot(a, b), t1 = a / t0, t2 = t1 / t0; return -t2; }] },
  sinh: { symbol: "sinh", arity: 1, rule: ["cosh(a)"], value: (a) => Math.sinh(a), partials: [(a) => Math.cosh(a)] },
  cosh: { symbol: "cosh", arity: 1, rule: ["sinh(a)"], value: (a) => Math.cosh(a), partials: [(a) => Math.sinh(a)] },
  tanh: { symbol: "tanh", arity: 1, rule: ["1 - y²"], value: (a) => Math.tanh(a), partials: [(a) => { const t0 = Math.abs(a), t1 = (-2) * t0, t2 = Math.exp(t1), t3 = 4 * t2, t4 = 2 + t2, t5 = t2 * t4, t6 = 1 + t5; return t3 / t6; }] },
  asinh: { symbol: "asinh", arity: 1, rule: ["1/√(1 + a²)"], value: (a) => Math.asinh(a), partials: [(a) => { const t0 = Math.hypot(1, a); return 1 / t0; }] },
  acosh: { symbol: "acosh", arity: 1, rule: ["1/√(a² - 1)"], value: (a) => Math.acosh(a), partials: [(a) => { const t0 = a - 1, t1 = Math.sqrt(t0), t2 = a + 1, t3 = Math.sqrt(t2), t4 = t1 * t3; return 1 / t4; }] },
  atanh: { symbol: "atanh", arity: 1, rule: ["1/(1 - a²)"], value: (a) => Math.atanh(a), partials: [(a) => { const t0 = 1 - a, t1 = 1 + a, t2 = t0 * t1; return 1 / t2; }] },
  hypot: { symbol: "hypot", arity: 2, rule: ["a/y", "b/y"], value: (a, b) => Math.hypot(a, b), partials: [(a, b, y) => a / y, (a, b, y) => b / y] },
  erf: { symbol: "erf", arity: 1, rule: ["2/√π·exp(-a²)"], value: (a) => erf(a), partials: [(a) => { const t0 = -a, t1 = t0 * a, t2 = Math.exp(t1); return 1.1283791670955126 * t2; }] },
  erfc: { symbol: "erfc", arity: 1, rule: ["-2/√π·exp(-a²)"], value: (a) => erfc(a), partials: [(a) => { const t0 = -a, t1 = t0 * a, t2 = Math.exp(t1); return (-1.1283791670955126) * t2; }] },
  sigmoid: { symbol: "sigmoid", arity: 1, rule: ["y·(1 - y)"], value: (a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = a < 0 ? 1.0 : 0.0, t4 = t3 != 0.0 ? t2 : 1, t5 = 1 + t2; return t4 / t5; }, partials: [(a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = 2 + t2, t4 = t2 * t3, t5 = 1 + t4; return t2 / t5; }] },
  relu: { symbol: "relu", arity: 1, rule: ["1 if y > 0 else 0"], value: (a) => { const t0 = a <= 0 ? 1.0 : 0.0; return t0 != 0.0 ? 0 : a; }, partials: [(a, y) => { const t0 = y > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 1 : 0; }] },
  leaky_relu: { symbol: "leaky_relu", arity: 2, rule: ["1 if a > 0 else b", "0 if a > 0 else a"], value: (a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = b * a; return t0 != 0.0 ? a : t1; }, partials: [(a, b) => { const t0 = a > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 1 : b; }, (a) => { const t0 = a > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 0 : a; }] },
  elu: { symbol: "elu", arity: 2, rule: ["1 if a > 0 else b·exp(a)", "0 if a > 0 else exp(a) - 1"], value: (a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = Math.expm1(a), t2 = b * t1; return t0 != 0.0 ? a : t2; }, partials: [(a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = Math.exp(a), t2 = b * t1; return t0 != 0.0 ? 1 : t2; }, (a) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = Math.expm1(a); return t0 != 0.0 ? 0 : t1; }] },
  softplus: { symbol: "softplus", arity: 1, rule: ["sigmoid(a)"], value: (a) => { const t0 = a < 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 0 : a, t2 = Math.abs(a), t3 = -t2, t4 = Math.exp(t3), t5 = Math.log1p(t4); return t1 + t5; }, partials: [(a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = a < 0 ? 1.0 : 0.0, t4 = t3 != 0.0 ? t2 : 1, t5 = 1 + t2; return t4 / t5; }] },
  silu: { symbol: "silu", arity: 1, rule: ["s·(1 + a·(1 - s)), s = sigmoid(a)"], value: (a) => { const t0 = a == (-Infinity) ? 1.0 : 0.0, t1 = Math.abs(a), t2 = -t1, t3 = Math.exp(t2), t4 = a < 0 ? 1.0 : 0.0, t5 = t4 != 0.0 ? t3 : 1, t6 = 1 + t3, t7 = t5 / t6, t8 = a * t7; return t0 != 0.0 ? (-0) : t8; }, partials: [(a) => { const t0 = Math.abs(a), t1 = t0 < Infinity ? 1.0 : 0.0, t2 = -t0, t3 = Math.exp(t2), t4 = a < 0 ? 1.0 : 0.0, t5 = t4 != 0.0 ? t3 : 1, t6 = 1 + t3, t7 = t5 / t6, t8 = -a, t9 = Math.abs(t8), t10 = -t9, t11 = Math.exp(t10), t12 = t8 < 0 ? 1.0 : 0.0, t13 = t12 != 0.0 ? t11 : 1, t14 = 1 + t11, t15 = t13 / t14, t16 = a * t15, t17 = 1 + t16, t18 = t7 * t17; return t1 != 0.0 ? t18 : t7; }] },
  gelu: { symbol: "gelu", arity: 1, rule: ["Φ(a) + a·φ(a)"], value: (a) => { const t0 = a == (-Infinity) ? 1.0 : 0.0, t1 = a * (-0.7071067811865476), t2 = erfc(t1), t3 = 0.5 * t2, t4 = a * t3; return t0 != 0.0 ? (-0) : t4; }, partials: [(a) => { const t0 = Math.abs(a), t1 = t0 < Infinity ? 1.0 : 0.0, t2 = a * (-0.7071067811865476), t3 = erfc(t2), t4 = 0.5 * t3, t5 = (-0.5) * a, t6 = t5 * a, t7 = Math.exp(t6), t8 = t7 * 0.3989422804014327, t9 = a * t8, t10 = t4 + t9; return t1 != 0.0 ? t10 : t4; }] },
  floor: { symbol: "floor", arity: 1, rule: ["0"], value: (a) => Math.floor(a), partials: [() => 0] },
  ceil: { symbol: "ceil", arity: 1, rule: ["0"], value: (a) => Math.ceil(a), partials: [() => 0] },
  round: { symbol: "round", arity: 1, rule: ["0"], value: (a) => rint(a), partials: [() => 0] },
  sign: { symbol: "sign", arity: 1, rule: ["0"], value: (a) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = a < 0 ? 1.0 : 0.0, t2 = t1 != 0.0 ? (-1) : a; return t0 != 0.0 ? 1 : t2; }, partials: [() => 0] },
  where: { symbol: "where", arity: 3, rule: ["0", "1 if a else 0", "0 if a else 1"], value: (a, b, c) => a != 0.0 ? b : c, partials: [() => 0, (a) => a != 0.0 ? 1 : 0, (a) => a != 0.0 ? 0 : 1] },
  lt: { symbol: "<", arity: 2, rule: ["0", "0"], value: (a, b) => a < b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  le: { symbol: "<=", arity: 2, rule: ["0", "0"], value: (a, b) => a <= b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  gt: { symbol: ">", arity: 2, rule: ["0", "0"], value: (a, b) => a > b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  ge: { symbol: ">=", arity: 2, rule: ["0", "0"], value: (a, b) => a >= b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  eq: { symbol: "==", arity: 2, rule: ["0", "0"], value: (a, b) => a == b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  ne: { symbol: "!=", arity: 2, rule: ["0", "0"], value: (a, b) => a != b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  sum: { symbol: "sum", arity: -1, rule: ["1"], facts: [], value: (xs) => total(xs), partials: [() => 1] },
  prod: { symbol: "prod", arity: -1, rule: ["product of the others"], facts: ["rest"], value: (xs) => product(xs), partials: [(rest) => rest] },
  mean: { symbol: "mean", arity: -1, rule: ["1/n"], facts: ["n"], value: (xs) => mean(xs), partials: [(n) => 1 / n] },
  dot: { symbol: "dot", arity: -1, rule: ["its partner"], facts: ["other"], value: (xs) => dot(xs), partials: [(other) => other] },
  logsumexp: { symbol: "logsumexp", arity: -1, rule: ["exp(x - y)"], facts: ["share"], value: (xs) => logsumexp(xs), partials: [(share) => share] },
};

/**
 * The value of one application.
 * @param {string} name @param {number[]} args
 */
export function valueOf(name, args) {
  const op = OPS[name];
  return op.arity < 0 ? op.value(args) : op.value(...args);
}

/**
 * The partials of one application in operand order.
 * @param {string} name @param {number[]} args @param {number} y
 * @returns {number[]}
 */
export function partialsOf(name, args, y) {
  const op = OPS[name];
  if (op.arity >= 0) return op.partials.map((partial) => partial(...args, y));
  const names = op.facts ?? [], half = args.length / 2;
  const rest = names.includes("rest") ? productsOfTheRest(args) : [];
  const share = names.includes("share") ? shares(args, y) : [];
  const other = (i) => args[(i + half) % args.length];
  const fact = (name, i) => ({ x: args[i], y, n: args.length, rest: rest[i], share: share[i], other: other(i) })[name];
  return args.map((_, i) => op.partials[0](...names.map((name) => fact(name, i))));
}
