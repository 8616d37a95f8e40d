// Made by tools/gen_ops_js.py from ops.py: change the table there and run it again.
import { erf, erfc, floordiv, fma, gamma, lgamma, modulo, philox, power, remainder, rint } from "./special.js";

/**
 * One row of the table. An op over a list (arity -1) has one partial, a function of the `facts` about an input; `slopes`
 * computes it for all inputs.
 * @typedef {{symbol: string, arity: number, rule: string[], facts?: string[], value: (...xs: any[]) => number,
 *            partials: ((...xs: number[]) => number)[], slopes?: (x: number[], y: number) => number[]}} Op
 */

/** @type {Record<string, Op>} */
export const OPS = {
  add: { symbol: "+", arity: 2, rule: ["1", "1"], value: (a, b) => a + b, partials: [() => 1, () => 1] },
  sub: { symbol: "-", arity: 2, rule: ["1", "-1"], value: (a, b) => a - b, partials: [() => 1, () => -1] },
  mul: { symbol: "*", arity: 2, rule: ["b", "a"], value: (a, b) => a * b, partials: [(a, b) => b, (a) => a] },
  div: { symbol: "/", arity: 2, rule: ["1/b", "-a/b²"], value: (a, b) => a / b, partials: [(a, b) => 1 / b, (a, b, y) => { const t0 = y / b; return -t0; }] },
  floordiv: { symbol: "//", arity: 2, rule: ["0", "0"], value: (a, b) => floordiv(a, b), partials: [() => 0, () => 0] },
  mod: { symbol: "%", arity: 2, rule: ["1", "-(a // b)"], value: (a, b) => modulo(a, b), partials: [() => 1, (a, b) => { const t0 = floordiv(a, b); return -t0; }] },
  pow: { symbol: "**", arity: 2, rule: ["b·a^(b-1)", "y·log(a)"], value: (a, b) => power(a, b), partials: [(a, b) => { const t0 = Math.abs(a), t1 = t0 > 0 ? 1.0 : 0.0, t2 = b == 0 ? 1.0 : 0.0, t3 = t1 != 0.0 ? 0 : t2, t4 = t3 != 0.0 ? 1 : a, t5 = b - 1, t6 = power(t4, t5), t7 = b * t6; return t3 != 0.0 ? 0 : t7; }, (a, b, y) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = b >= 0 ? 1.0 : 0.0, t2 = a == Infinity ? 1.0 : 0.0, t3 = b < 0 ? 1.0 : 0.0, t4 = t2 * t3, t5 = t0 != 0.0 ? t1 : t4, t6 = t5 != 0.0 ? 1 : a, t7 = Math.log(t6), t8 = y * t7; return t5 != 0.0 ? 0 : t8; }] },
  fmod: { symbol: "fmod", arity: 2, rule: ["1", "-trunc(a/b)"], value: (a, b) => a % b, partials: [() => 1, (a, b, y) => { const t0 = a - y, t1 = t0 / b, t2 = rint(t1); return -t2; }] },
  remainder: { symbol: "remainder", arity: 2, rule: ["1", "-round(a/b)"], value: (a, b) => remainder(a, b), partials: [() => 1, (a, b, y) => { const t0 = a - y, t1 = t0 / b, t2 = rint(t1); return -t2; }] },
  fma: { symbol: "fma", arity: 3, rule: ["b", "a", "1"], value: (a, b, c) => fma(a, b, c), partials: [(a, b) => b, (a) => a, () => 1] },
  neg: { symbol: "neg", arity: 1, rule: ["-1"], value: (a) => -a, partials: [() => -1] },
  abs: { symbol: "abs", arity: 1, rule: ["sign(a)"], value: (a) => Math.abs(a), partials: [(a) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = a > 0 ? 1.0 : 0.0, t2 = a < 0 ? 1.0 : 0.0, t3 = t2 != 0.0 ? (-1) : a, t4 = t1 != 0.0 ? 1 : t3; return t0 != 0.0 ? 0 : t4; }] },
  copysign: { symbol: "copysign", arity: 2, rule: ["±1", "0"], value: (a, b) => { const t0 = b == 0 ? 1.0 : 0.0, t1 = 1 / b, t2 = t0 != 0.0 ? t1 : b, t3 = t2 < 0 ? 1.0 : 0.0, t4 = Math.abs(a), t5 = -t4; return t3 != 0.0 ? t5 : t4; }, partials: [(a, b) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = b == 0 ? 1.0 : 0.0, t2 = 1 / b, t3 = t1 != 0.0 ? t2 : b, t4 = t3 < 0 ? 1.0 : 0.0, t5 = t4 != 0.0 ? (-1) : 1, t6 = a > 0 ? 1.0 : 0.0, t7 = a < 0 ? 1.0 : 0.0, t8 = t7 != 0.0 ? (-1) : a, t9 = t6 != 0.0 ? 1 : t8, t10 = t5 * t9; return t0 != 0.0 ? 0 : t10; }, () => 0] },
  min: { symbol: "min", arity: 2, rule: ["1 if a < b else 0", "1 if b < a else 0"], value: (a, b) => { const t0 = a <= b ? 1.0 : 0.0, t1 = a > b ? 1.0 : 0.0, t2 = a + b, t3 = t1 != 0.0 ? b : t2; return t0 != 0.0 ? a : t3; }, partials: [(a, b) => { const t0 = a > b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }, (a, b) => { const t0 = a < b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }] },
  max: { symbol: "max", arity: 2, rule: ["1 if a > b else 0", "1 if b > a else 0"], value: (a, b) => { const t0 = a >= b ? 1.0 : 0.0, t1 = a < b ? 1.0 : 0.0, t2 = a + b, t3 = t1 != 0.0 ? b : t2; return t0 != 0.0 ? a : t3; }, partials: [(a, b) => { const t0 = a < b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }, (a, b) => { const t0 = a > b ? 1.0 : 0.0, t1 = a == b ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0.5 : 1; return t0 != 0.0 ? 0 : t2; }] },
  exp: { symbol: "exp", arity: 1, rule: ["y"], value: (a) => Math.exp(a), partials: [(a, y) => y] },
  exp2: { symbol: "exp2", arity: 1, rule: ["y·ln 2"], value: (a) => Math.pow(2, a), partials: [(a, y) => 0.6931471805599453 * y] },
  expm1: { symbol: "expm1", arity: 1, rule: ["exp(a)"], value: (a) => Math.expm1(a), partials: [(a) => Math.exp(a)] },
  log: { symbol: "log", arity: 1, rule: ["1/a"], value: (a) => Math.log(a), partials: [(a) => 1 / a] },
  log1p: { symbol: "log1p", arity: 1, rule: ["1/(1 + a)"], value: (a) => Math.log1p(a), partials: [(a) => { const t0 = 1 + a; return 1 / t0; }] },
  log2: { symbol: "log2", arity: 1, rule: ["1/(a·ln 2)"], value: (a) => Math.log2(a), partials: [(a) => 1.4426950408889634 / a] },
  log10: { symbol: "log10", arity: 1, rule: ["1/(a·ln 10)"], value: (a) => Math.log10(a), partials: [(a) => 0.4342944819032518 / a] },
  sqrt: { symbol: "sqrt", arity: 1, rule: ["1/(2y)"], value: (a) => Math.sqrt(a), partials: [(a, y) => 0.5 / y] },
  cbrt: { symbol: "cbrt", arity: 1, rule: ["1/(3y²)"], value: (a) => Math.cbrt(a), partials: [(a, y) => { const t0 = 0.3333333333333333 / y; return t0 / y; }] },
  sin: { symbol: "sin", arity: 1, rule: ["cos(a)"], value: (a) => Math.sin(a), partials: [(a) => Math.cos(a)] },
  cos: { symbol: "cos", arity: 1, rule: ["-sin(a)"], value: (a) => Math.cos(a), partials: [(a) => { const t0 = Math.sin(a); return -t0; }] },
  tan: { symbol: "tan", arity: 1, rule: ["1 + y²"], value: (a) => Math.tan(a), partials: [(a, y) => { const t0 = y * y; return 1 + t0; }] },
  asin: { symbol: "asin", arity: 1, rule: ["1/√(1 - a²)"], value: (a) => Math.asin(a), partials: [(a) => { const t0 = -a, t1 = fma(t0, a, 1), t2 = Math.sqrt(t1); return 1 / t2; }] },
  acos: { symbol: "acos", arity: 1, rule: ["-1/√(1 - a²)"], value: (a) => Math.acos(a), partials: [(a) => { const t0 = -a, t1 = fma(t0, a, 1), t2 = Math.sqrt(t1); return (-1) / t2; }] },
  atan: { symbol: "atan", arity: 1, rule: ["1/(1 + a²)"], value: (a) => Math.atan(a), partials: [(a) => { const t0 = Math.abs(a), t1 = t0 > 134217728 ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0 : a, t3 = t1 != 0.0 ? a : 1, t4 = 1 / t3, t5 = t4 / t3, t6 = t2 * t2, t7 = 1 + t6, t8 = 1 / t7; return t1 != 0.0 ? t5 : t8; }] },
  atan2: { symbol: "atan2", arity: 2, rule: ["b/(a² + b²)", "-a/(a² + b²)"], value: (a, b) => Math.atan2(a, b), partials: [(a, b) => { const t0 = Math.hypot(a, b), t1 = t0 == Infinity ? 1.0 : 0.0, t2 = t1 != 0.0 ? 1 : t0, t3 = t1 != 0.0 ? 0 : b, t4 = t3 / t2, t5 = t4 / t2; return t1 != 0.0 ? 0 : t5; }, (a, b) => { const t0 = Math.hypot(b, a), t1 = t0 == Infinity ? 1.0 : 0.0, t2 = t1 != 0.0 ? 1 : t0, t3 = t1 != 0.0 ? 0 : a, t4 = t3 / t2, t5 = t4 / t2, t6 = t1 != 0.0 ? 0 : t5; return -t6; }] },
  sinh: { symbol: "sinh", arity: 1, rule: ["cosh(a)"], value: (a) => Math.sinh(a), partials: [(a) => Math.cosh(a)] },
  cosh: { symbol: "cosh", arity: 1, rule: ["sinh(a)"], value: (a) => Math.cosh(a), partials: [(a) => Math.sinh(a)] },
  tanh: { symbol: "tanh", arity: 1, rule: ["1 - y²"], value: (a) => Math.tanh(a), partials: [(a) => { const t0 = 2 * a, t1 = Math.abs(t0), t2 = -t1, t3 = Math.exp(t2), t4 = 2 + t3, t5 = t3 * t4, t6 = 1 + t5, t7 = t3 / t6; return 4 * t7; }] },
  asinh: { symbol: "asinh", arity: 1, rule: ["1/√(1 + a²)"], value: (a) => Math.asinh(a), partials: [(a) => { const t0 = Math.abs(a), t1 = t0 == Infinity ? 1.0 : 0.0, t2 = t1 != 0.0 ? 0 : a, t3 = Math.hypot(1, t2), t4 = 1 / t3; return t1 != 0.0 ? 0 : t4; }] },
  acosh: { symbol: "acosh", arity: 1, rule: ["1/√(a² - 1)"], value: (a) => Math.acosh(a), partials: [(a) => { const t0 = a > 134217728 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 2 : a, t2 = t0 != 0.0 ? a : 1, t3 = 1 / t2, t4 = fma(t1, t1, (-1)), t5 = Math.sqrt(t4), t6 = 1 / t5; return t0 != 0.0 ? t3 : t6; }] },
  atanh: { symbol: "atanh", arity: 1, rule: ["1/(1 - a²)"], value: (a) => Math.atanh(a), partials: [(a) => { const t0 = -a, t1 = fma(t0, a, 1); return 1 / t1; }] },
  hypot: { symbol: "hypot", arity: 2, rule: ["a/y", "b/y"], value: (a, b) => Math.hypot(a, b), partials: [(a, b, y) => { const t0 = y == 0 ? 1.0 : 0.0, t1 = Math.abs(a), t2 = t1 == Infinity ? 1.0 : 0.0, t3 = t2 != 0.0 ? 0 : a, t4 = t0 != 0.0 ? 1 : y, t5 = t3 / t4, t6 = a < 0 ? 1.0 : 0.0, t7 = t6 != 0.0 ? (-1) : 1, t8 = 0 * b, t9 = t7 + t8, t10 = t2 != 0.0 ? t9 : t5; return t0 != 0.0 ? 0 : t10; }, (a, b, y) => { const t0 = y == 0 ? 1.0 : 0.0, t1 = Math.abs(b), t2 = t1 == Infinity ? 1.0 : 0.0, t3 = t2 != 0.0 ? 0 : b, t4 = t0 != 0.0 ? 1 : y, t5 = t3 / t4, t6 = b < 0 ? 1.0 : 0.0, t7 = t6 != 0.0 ? (-1) : 1, t8 = 0 * a, t9 = t7 + t8, t10 = t2 != 0.0 ? t9 : t5; return t0 != 0.0 ? 0 : t10; }] },
  erf: { symbol: "erf", arity: 1, rule: ["2/√π·exp(-a²)"], value: (a) => erf(a), partials: [(a) => { const t0 = a > 1e+30 ? 1.0 : 0.0, t1 = a < (-1e+30) ? 1.0 : 0.0, t2 = t1 != 0.0 ? (-1e+30) : a, t3 = t0 != 0.0 ? 1e+30 : t2, t4 = -t3, t5 = t4 * t3, t6 = Math.exp(t5); return 1.1283791670955126 * t6; }] },
  erfc: { symbol: "erfc", arity: 1, rule: ["-2/√π·exp(-a²)"], value: (a) => erfc(a), partials: [(a) => { const t0 = a > 1e+30 ? 1.0 : 0.0, t1 = a < (-1e+30) ? 1.0 : 0.0, t2 = t1 != 0.0 ? (-1e+30) : a, t3 = t0 != 0.0 ? 1e+30 : t2, t4 = -t3, t5 = t4 * t3, t6 = Math.exp(t5), t7 = 1.1283791670955126 * t6; return -t7; }] },
  sigmoid: { symbol: "sigmoid", arity: 1, rule: ["y·(1 - y)"], value: (a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = a < 0 ? 1.0 : 0.0, t4 = t3 != 0.0 ? t2 : 1, t5 = 1 + t2; return t4 / t5; }, partials: [(a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = 2 + t2, t4 = t2 * t3, t5 = 1 + t4; return t2 / t5; }] },
  sigmoid_slope: { symbol: "sigmoid_slope", arity: 1, rule: ["-y·tanh(a/2)"], value: (a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = 2 + t2, t4 = t2 * t3, t5 = 1 + t4; return t2 / t5; }, partials: [(a, y) => { const t0 = -y, t1 = 0.5 * a, t2 = Math.tanh(t1); return t0 * t2; }] },
  relu: { symbol: "relu", arity: 1, rule: ["1 if y > 0 else 0"], value: (a) => { const t0 = a <= 0 ? 1.0 : 0.0; return t0 != 0.0 ? 0 : a; }, partials: [(a, y) => { const t0 = y > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 1 : 0; }] },
  leaky_relu: { symbol: "leaky_relu", arity: 2, rule: ["1 if a > 0 else b", "0 if a > 0 else a"], value: (a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = b * a; return t0 != 0.0 ? a : t1; }, partials: [(a, b) => { const t0 = a > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 1 : b; }, (a) => { const t0 = a > 0 ? 1.0 : 0.0; return t0 != 0.0 ? 0 : a; }] },
  elu: { symbol: "elu", arity: 2, rule: ["1 if a > 0 else b·exp(a)", "0 if a > 0 else exp(a) - 1"], value: (a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = Math.expm1(a), t2 = b * t1; return t0 != 0.0 ? a : t2; }, partials: [(a, b) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 0 : b, t2 = t0 != 0.0 ? 0 : a, t3 = Math.exp(t2), t4 = t1 * t3; return t0 != 0.0 ? 1 : t4; }, (a) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 0 : a; return Math.expm1(t1); }] },
  softplus: { symbol: "softplus", arity: 1, rule: ["sigmoid(a)"], value: (a) => { const t0 = a < 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 0 : a, t2 = Math.abs(a), t3 = -t2, t4 = Math.exp(t3), t5 = Math.log1p(t4); return t1 + t5; }, partials: [(a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = a < 0 ? 1.0 : 0.0, t4 = t3 != 0.0 ? t2 : 1, t5 = 1 + t2; return t4 / t5; }] },
  silu: { symbol: "silu", arity: 1, rule: ["s·(1 + a·(1 - s)), s = sigmoid(a)"], value: (a) => { const t0 = a == (-Infinity) ? 1.0 : 0.0, t1 = Math.abs(a), t2 = -t1, t3 = Math.exp(t2), t4 = a < 0 ? 1.0 : 0.0, t5 = t4 != 0.0 ? t3 : 1, t6 = 1 + t3, t7 = t5 / t6, t8 = a * t7; return t0 != 0.0 ? (-0) : t8; }, partials: [(a) => { const t0 = Math.abs(a), t1 = -t0, t2 = Math.exp(t1), t3 = a < 0 ? 1.0 : 0.0, t4 = t3 != 0.0 ? t2 : 1, t5 = 1 + t2, t6 = t4 / t5, t7 = a > 1e+30 ? 1.0 : 0.0, t8 = a < (-1e+30) ? 1.0 : 0.0, t9 = t8 != 0.0 ? (-1e+30) : a, t10 = t7 != 0.0 ? 1e+30 : t9, t11 = -a, t12 = Math.abs(t11), t13 = -t12, t14 = Math.exp(t13), t15 = t11 < 0 ? 1.0 : 0.0, t16 = t15 != 0.0 ? t14 : 1, t17 = 1 + t14, t18 = t16 / t17, t19 = t10 * t18, t20 = 1 + t19; return t6 * t20; }] },
  gelu: { symbol: "gelu", arity: 1, rule: ["Φ(a) + a·φ(a)"], value: (a) => { const t0 = a == (-Infinity) ? 1.0 : 0.0, t1 = a * (-0.7071067811865476), t2 = erfc(t1), t3 = 0.5 * t2, t4 = a * t3; return t0 != 0.0 ? (-0) : t4; }, partials: [(a) => { const t0 = a > 1e+30 ? 1.0 : 0.0, t1 = a < (-1e+30) ? 1.0 : 0.0, t2 = t1 != 0.0 ? (-1e+30) : a, t3 = t0 != 0.0 ? 1e+30 : t2, t4 = a * (-0.7071067811865476), t5 = erfc(t4), t6 = 0.5 * t5, t7 = (-0.5) * t3, t8 = t7 * t3, t9 = Math.exp(t8), t10 = t9 * 0.3989422804014327, t11 = t3 * t10; return t6 + t11; }] },
  gamma: { symbol: "gamma", arity: 1, rule: ["y·ψ(a)"], value: (a) => gamma(a), partials: [(a, y) => { const t0 = a < 0.5 ? 1.0 : 0.0, t1 = 1 - a, t2 = t0 != 0.0 ? t1 : a, t3 = rint(a), t4 = a - t3, t5 = t0 != 0.0 ? t4 : 0.25, t6 = t2 < 10 ? 1.0 : 0.0, t7 = 1 / t2, t8 = t6 != 0.0 ? t7 : 0, t9 = 0 - t8, t10 = t2 + 1, t11 = t6 != 0.0 ? t10 : t2, t12 = t11 < 10 ? 1.0 : 0.0, t13 = 1 / t11, t14 = t12 != 0.0 ? t13 : 0, t15 = t9 - t14, t16 = t11 + 1, t17 = t12 != 0.0 ? t16 : t11, t18 = t17 < 10 ? 1.0 : 0.0, t19 = 1 / t17, t20 = t18 != 0.0 ? t19 : 0, t21 = t15 - t20, t22 = t17 + 1, t23 = t18 != 0.0 ? t22 : t17, t24 = t23 < 10 ? 1.0 : 0.0, t25 = 1 / t23, t26 = t24 != 0.0 ? t25 : 0, t27 = t21 - t26, t28 = t23 + 1, t29 = t24 != 0.0 ? t28 : t23, t30 = t29 < 10 ? 1.0 : 0.0, t31 = 1 / t29, t32 = t30 != 0.0 ? t31 : 0, t33 = t27 - t32, t34 = t29 + 1, t35 = t30 != 0.0 ? t34 : t29, t36 = t35 < 10 ? 1.0 : 0.0, t37 = 1 / t35, t38 = t36 != 0.0 ? t37 : 0, t39 = t33 - t38, t40 = t35 + 1, t41 = t36 != 0.0 ? t40 : t35, t42 = t41 < 10 ? 1.0 : 0.0, t43 = 1 / t41, t44 = t42 != 0.0 ? t43 : 0, t45 = t39 - t44, t46 = t41 + 1, t47 = t42 != 0.0 ? t46 : t41, t48 = t47 < 10 ? 1.0 : 0.0, t49 = 1 / t47, t50 = t48 != 0.0 ? t49 : 0, t51 = t45 - t50, t52 = t47 + 1, t53 = t48 != 0.0 ? t52 : t47, t54 = t53 < 10 ? 1.0 : 0.0, t55 = 1 / t53, t56 = t54 != 0.0 ? t55 : 0, t57 = t51 - t56, t58 = t53 + 1, t59 = t54 != 0.0 ? t58 : t53, t60 = t59 < 10 ? 1.0 : 0.0, t61 = 1 / t59, t62 = t60 != 0.0 ? t61 : 0, t63 = t57 - t62, t64 = t59 + 1, t65 = t60 != 0.0 ? t64 : t59, t66 = t65 * t65, t67 = 1 / t66, t68 = (-0.4432598039215686) * t67, t69 = t68 + 0.08333333333333333, t70 = t69 * t67, t71 = t70 + (-0.021092796092796094), t72 = t71 * t67, t73 = t72 + 0.007575757575757576, t74 = t73 * t67, t75 = t74 + (-0.004166666666666667), t76 = t75 * t67, t77 = t76 + 0.003968253968253968, t78 = t77 * t67, t79 = t78 + (-0.008333333333333333), t80 = t79 * t67, t81 = t80 + 0.08333333333333333, t82 = t81 * t67, t83 = Math.log(t65), t84 = 0.5 / t65, t85 = t83 - t84, t86 = t85 - t82, t87 = t63 + t86, t88 = 3.141592653589793 * t5, t89 = Math.tan(t88), t90 = 3.141592653589793 / t89, t91 = t87 - t90, t92 = t0 != 0.0 ? t91 : t87; return y * t92; }] },
  lgamma: { symbol: "lgamma", arity: 1, rule: ["ψ(a)"], value: (a) => lgamma(a), partials: [(a) => { const t0 = Math.abs(a), t1 = t0 < 8.673617379884035e-19 ? 1.0 : 0.0, t2 = t1 != 0.0 ? a : 1, t3 = 1 / t2, t4 = -t3, t5 = t1 != 0.0 ? 1 : a, t6 = t5 < 0.5 ? 1.0 : 0.0, t7 = 1 - t5, t8 = t6 != 0.0 ? t7 : t5, t9 = rint(t5), t10 = t5 - t9, t11 = t6 != 0.0 ? t10 : 0.25, t12 = t8 < 10 ? 1.0 : 0.0, t13 = 1 / t8, t14 = t12 != 0.0 ? t13 : 0, t15 = 0 - t14, t16 = t8 + 1, t17 = t12 != 0.0 ? t16 : t8, t18 = t17 < 10 ? 1.0 : 0.0, t19 = 1 / t17, t20 = t18 != 0.0 ? t19 : 0, t21 = t15 - t20, t22 = t17 + 1, t23 = t18 != 0.0 ? t22 : t17, t24 = t23 < 10 ? 1.0 : 0.0, t25 = 1 / t23, t26 = t24 != 0.0 ? t25 : 0, t27 = t21 - t26, t28 = t23 + 1, t29 = t24 != 0.0 ? t28 : t23, t30 = t29 < 10 ? 1.0 : 0.0, t31 = 1 / t29, t32 = t30 != 0.0 ? t31 : 0, t33 = t27 - t32, t34 = t29 + 1, t35 = t30 != 0.0 ? t34 : t29, t36 = t35 < 10 ? 1.0 : 0.0, t37 = 1 / t35, t38 = t36 != 0.0 ? t37 : 0, t39 = t33 - t38, t40 = t35 + 1, t41 = t36 != 0.0 ? t40 : t35, t42 = t41 < 10 ? 1.0 : 0.0, t43 = 1 / t41, t44 = t42 != 0.0 ? t43 : 0, t45 = t39 - t44, t46 = t41 + 1, t47 = t42 != 0.0 ? t46 : t41, t48 = t47 < 10 ? 1.0 : 0.0, t49 = 1 / t47, t50 = t48 != 0.0 ? t49 : 0, t51 = t45 - t50, t52 = t47 + 1, t53 = t48 != 0.0 ? t52 : t47, t54 = t53 < 10 ? 1.0 : 0.0, t55 = 1 / t53, t56 = t54 != 0.0 ? t55 : 0, t57 = t51 - t56, t58 = t53 + 1, t59 = t54 != 0.0 ? t58 : t53, t60 = t59 < 10 ? 1.0 : 0.0, t61 = 1 / t59, t62 = t60 != 0.0 ? t61 : 0, t63 = t57 - t62, t64 = t59 + 1, t65 = t60 != 0.0 ? t64 : t59, t66 = t65 < 10 ? 1.0 : 0.0, t67 = 1 / t65, t68 = t66 != 0.0 ? t67 : 0, t69 = t63 - t68, t70 = t65 + 1, t71 = t66 != 0.0 ? t70 : t65, t72 = t71 * t71, t73 = 1 / t72, t74 = (-0.4432598039215686) * t73, t75 = t74 + 0.08333333333333333, t76 = t75 * t73, t77 = t76 + (-0.021092796092796094), t78 = t77 * t73, t79 = t78 + 0.007575757575757576, t80 = t79 * t73, t81 = t80 + (-0.004166666666666667), t82 = t81 * t73, t83 = t82 + 0.003968253968253968, t84 = t83 * t73, t85 = t84 + (-0.008333333333333333), t86 = t85 * t73, t87 = t86 + 0.08333333333333333, t88 = t87 * t73, t89 = Math.log(t71), t90 = 0.5 / t71, t91 = t89 - t90, t92 = t91 - t88, t93 = t69 + t92, t94 = 3.141592653589793 * t11, t95 = Math.tan(t94), t96 = 3.141592653589793 / t95, t97 = t93 - t96, t98 = t6 != 0.0 ? t97 : t93; return t1 != 0.0 ? t4 : t98; }] },
  digamma: { symbol: "digamma", arity: 1, rule: ["ζ(2, a)"], value: (a) => { const t0 = a < 0.5 ? 1.0 : 0.0, t1 = 1 - a, t2 = t0 != 0.0 ? t1 : a, t3 = rint(a), t4 = a - t3, t5 = t0 != 0.0 ? t4 : 0.25, t6 = t2 < 10 ? 1.0 : 0.0, t7 = 1 / t2, t8 = t6 != 0.0 ? t7 : 0, t9 = 0 - t8, t10 = t2 + 1, t11 = t6 != 0.0 ? t10 : t2, t12 = t11 < 10 ? 1.0 : 0.0, t13 = 1 / t11, t14 = t12 != 0.0 ? t13 : 0, t15 = t9 - t14, t16 = t11 + 1, t17 = t12 != 0.0 ? t16 : t11, t18 = t17 < 10 ? 1.0 : 0.0, t19 = 1 / t17, t20 = t18 != 0.0 ? t19 : 0, t21 = t15 - t20, t22 = t17 + 1, t23 = t18 != 0.0 ? t22 : t17, t24 = t23 < 10 ? 1.0 : 0.0, t25 = 1 / t23, t26 = t24 != 0.0 ? t25 : 0, t27 = t21 - t26, t28 = t23 + 1, t29 = t24 != 0.0 ? t28 : t23, t30 = t29 < 10 ? 1.0 : 0.0, t31 = 1 / t29, t32 = t30 != 0.0 ? t31 : 0, t33 = t27 - t32, t34 = t29 + 1, t35 = t30 != 0.0 ? t34 : t29, t36 = t35 < 10 ? 1.0 : 0.0, t37 = 1 / t35, t38 = t36 != 0.0 ? t37 : 0, t39 = t33 - t38, t40 = t35 + 1, t41 = t36 != 0.0 ? t40 : t35, t42 = t41 < 10 ? 1.0 : 0.0, t43 = 1 / t41, t44 = t42 != 0.0 ? t43 : 0, t45 = t39 - t44, t46 = t41 + 1, t47 = t42 != 0.0 ? t46 : t41, t48 = t47 < 10 ? 1.0 : 0.0, t49 = 1 / t47, t50 = t48 != 0.0 ? t49 : 0, t51 = t45 - t50, t52 = t47 + 1, t53 = t48 != 0.0 ? t52 : t47, t54 = t53 < 10 ? 1.0 : 0.0, t55 = 1 / t53, t56 = t54 != 0.0 ? t55 : 0, t57 = t51 - t56, t58 = t53 + 1, t59 = t54 != 0.0 ? t58 : t53, t60 = t59 < 10 ? 1.0 : 0.0, t61 = 1 / t59, t62 = t60 != 0.0 ? t61 : 0, t63 = t57 - t62, t64 = t59 + 1, t65 = t60 != 0.0 ? t64 : t59, t66 = t65 * t65, t67 = 1 / t66, t68 = (-0.4432598039215686) * t67, t69 = t68 + 0.08333333333333333, t70 = t69 * t67, t71 = t70 + (-0.021092796092796094), t72 = t71 * t67, t73 = t72 + 0.007575757575757576, t74 = t73 * t67, t75 = t74 + (-0.004166666666666667), t76 = t75 * t67, t77 = t76 + 0.003968253968253968, t78 = t77 * t67, t79 = t78 + (-0.008333333333333333), t80 = t79 * t67, t81 = t80 + 0.08333333333333333, t82 = t81 * t67, t83 = Math.log(t65), t84 = 0.5 / t65, t85 = t83 - t84, t86 = t85 - t82, t87 = t63 + t86, t88 = 3.141592653589793 * t5, t89 = Math.tan(t88), t90 = 3.141592653589793 / t89, t91 = t87 - t90; return t0 != 0.0 ? t91 : t87; }, partials: [(a) => { const t0 = a < 0.5 ? 1.0 : 0.0, t1 = 1 - a, t2 = t0 != 0.0 ? t1 : a, t3 = rint(a), t4 = a - t3, t5 = t0 != 0.0 ? t4 : 0.25, t6 = t2 > 1.152921504606847e+18 ? 1.0 : 0.0, t7 = t6 != 0.0 ? 1 : t2, t8 = t7 + 0, t9 = power(t8, (-2)), t10 = 0 + t9, t11 = t7 + 1, t12 = power(t11, (-2)), t13 = t10 + t12, t14 = t7 + 2, t15 = power(t14, (-2)), t16 = t13 + t15, t17 = t7 + 3, t18 = power(t17, (-2)), t19 = t16 + t18, t20 = t7 + 4, t21 = power(t20, (-2)), t22 = t19 + t21, t23 = t7 + 5, t24 = power(t23, (-2)), t25 = t22 + t24, t26 = t7 + 6, t27 = power(t26, (-2)), t28 = t25 + t27, t29 = t7 + 7, t30 = power(t29, (-2)), t31 = t28 + t30, t32 = t7 + 8, t33 = power(t32, (-2)), t34 = t31 + t33, t35 = t7 + 9, t36 = power(t35, (-2)), t37 = t34 + t36, t38 = t7 + 10, t39 = power(t38, (-2)), t40 = t37 + t39, t41 = t7 + 11, t42 = power(t41, (-2)), t43 = t40 + t42, t44 = t7 + 12, t45 = power(t44, (-2)), t46 = t44 / 1, t47 = t46 + 0.5, t48 = 2 / t44, t49 = 0.08333333333333333 * t48, t50 = t47 + t49, t51 = t44 * t44, t52 = 12 / t51, t53 = t48 * t52, t54 = (-0.001388888888888889) * t53, t55 = t50 + t54, t56 = 30 / t51, t57 = t53 * t56, t58 = 3.306878306878307e-05 * t57, t59 = t55 + t58, t60 = 56 / t51, t61 = t57 * t60, t62 = (-8.267195767195768e-07) * t61, t63 = t59 + t62, t64 = 90 / t51, t65 = t61 * t64, t66 = 2.08767569878681e-08 * t65, t67 = t63 + t66, t68 = 132 / t51, t69 = t65 * t68, t70 = (-5.284190138687493e-10) * t69, t71 = t67 + t70, t72 = 182 / t51, t73 = t69 * t72, t74 = 1.3382536530684679e-11 * t73, t75 = t71 + t74, t76 = 240 / t51, t77 = t73 * t76, t78 = (-3.3896802963225827e-13) * t77, t79 = t75 + t78, t80 = 306 / t51, t81 = t77 * t80, t82 = 8.586062056277845e-15 * t81, t83 = t79 + t82, t84 = t45 * t83, t85 = t43 + t84, t86 = t7 > 0 ? 1.0 : 0.0, t87 = t86 * 1, t88 = t7 < Infinity ? 1.0 : 0.0, t89 = t88 != 0.0 ? t85 : 0, t90 = t87 != 0.0 ? t89 : NaN, t91 = 3.141592653589793 * t5, t92 = Math.sin(t91), t93 = t6 != 0.0 ? t2 : 1, t94 = 1 / t93, t95 = t6 != 0.0 ? t94 : t90, t96 = 9.869604401089358 / t92, t97 = t96 / t92, t98 = t97 - t95; return t0 != 0.0 ? t98 : t95; }] },
  zeta: { symbol: "zeta", arity: 2, rule: ["not known", "-a·ζ(a + 1, b)"], value: (a, b) => { const t0 = b + 0, t1 = -a, t2 = power(t0, t1), t3 = 0 + t2, t4 = b + 1, t5 = power(t4, t1), t6 = t3 + t5, t7 = b + 2, t8 = power(t7, t1), t9 = t6 + t8, t10 = b + 3, t11 = power(t10, t1), t12 = t9 + t11, t13 = b + 4, t14 = power(t13, t1), t15 = t12 + t14, t16 = b + 5, t17 = power(t16, t1), t18 = t15 + t17, t19 = b + 6, t20 = power(t19, t1), t21 = t18 + t20, t22 = b + 7, t23 = power(t22, t1), t24 = t21 + t23, t25 = b + 8, t26 = power(t25, t1), t27 = t24 + t26, t28 = b + 9, t29 = power(t28, t1), t30 = t27 + t29, t31 = b + 10, t32 = power(t31, t1), t33 = t30 + t32, t34 = b + 11, t35 = power(t34, t1), t36 = t33 + t35, t37 = b + 12, t38 = power(t37, t1), t39 = a - 1, t40 = t37 / t39, t41 = t40 + 0.5, t42 = a / t37, t43 = 0.08333333333333333 * t42, t44 = t41 + t43, t45 = a + 1, t46 = a + 2, t47 = t45 * t46, t48 = t37 * t37, t49 = t47 / t48, t50 = t42 * t49, t51 = (-0.001388888888888889) * t50, t52 = t44 + t51, t53 = a + 3, t54 = a + 4, t55 = t53 * t54, t56 = t55 / t48, t57 = t50 * t56, t58 = 3.306878306878307e-05 * t57, t59 = t52 + t58, t60 = a + 5, t61 = a + 6, t62 = t60 * t61, t63 = t62 / t48, t64 = t57 * t63, t65 = (-8.267195767195768e-07) * t64, t66 = t59 + t65, t67 = a + 7, t68 = a + 8, t69 = t67 * t68, t70 = t69 / t48, t71 = t64 * t70, t72 = 2.08767569878681e-08 * t71, t73 = t66 + t72, t74 = a + 9, t75 = a + 10, t76 = t74 * t75, t77 = t76 / t48, t78 = t71 * t77, t79 = (-5.284190138687493e-10) * t78, t80 = t73 + t79, t81 = a + 11, t82 = a + 12, t83 = t81 * t82, t84 = t83 / t48, t85 = t78 * t84, t86 = 1.3382536530684679e-11 * t85, t87 = t80 + t86, t88 = a + 13, t89 = a + 14, t90 = t88 * t89, t91 = t90 / t48, t92 = t85 * t91, t93 = (-3.3896802963225827e-13) * t92, t94 = t87 + t93, t95 = a + 15, t96 = a + 16, t97 = t95 * t96, t98 = t97 / t48, t99 = t92 * t98, t100 = 8.586062056277845e-15 * t99, t101 = t94 + t100, t102 = t38 * t101, t103 = t36 + t102, t104 = b > 0 ? 1.0 : 0.0, t105 = a > 1 ? 1.0 : 0.0, t106 = t104 * t105, t107 = b < Infinity ? 1.0 : 0.0, t108 = t107 != 0.0 ? t103 : 0; return t106 != 0.0 ? t108 : NaN; }, partials: [() => NaN, (a, b) => { const t0 = b > 1.152921504606847e+18 ? 1.0 : 0.0, t1 = t0 != 0.0 ? b : 1, t2 = -a, t3 = power(t1, t2), t4 = -t3, t5 = a + 1, t6 = t0 != 0.0 ? 1 : b, t7 = t6 + 0, t8 = -t5, t9 = power(t7, t8), t10 = 0 + t9, t11 = t6 + 1, t12 = power(t11, t8), t13 = t10 + t12, t14 = t6 + 2, t15 = power(t14, t8), t16 = t13 + t15, t17 = t6 + 3, t18 = power(t17, t8), t19 = t16 + t18, t20 = t6 + 4, t21 = power(t20, t8), t22 = t19 + t21, t23 = t6 + 5, t24 = power(t23, t8), t25 = t22 + t24, t26 = t6 + 6, t27 = power(t26, t8), t28 = t25 + t27, t29 = t6 + 7, t30 = power(t29, t8), t31 = t28 + t30, t32 = t6 + 8, t33 = power(t32, t8), t34 = t31 + t33, t35 = t6 + 9, t36 = power(t35, t8), t37 = t34 + t36, t38 = t6 + 10, t39 = power(t38, t8), t40 = t37 + t39, t41 = t6 + 11, t42 = power(t41, t8), t43 = t40 + t42, t44 = t6 + 12, t45 = power(t44, t8), t46 = t5 - 1, t47 = t44 / t46, t48 = t47 + 0.5, t49 = t5 / t44, t50 = 0.08333333333333333 * t49, t51 = t48 + t50, t52 = t5 + 1, t53 = t5 + 2, t54 = t52 * t53, t55 = t44 * t44, t56 = t54 / t55, t57 = t49 * t56, t58 = (-0.001388888888888889) * t57, t59 = t51 + t58, t60 = t5 + 3, t61 = t5 + 4, t62 = t60 * t61, t63 = t62 / t55, t64 = t57 * t63, t65 = 3.306878306878307e-05 * t64, t66 = t59 + t65, t67 = t5 + 5, t68 = t5 + 6, t69 = t67 * t68, t70 = t69 / t55, t71 = t64 * t70, t72 = (-8.267195767195768e-07) * t71, t73 = t66 + t72, t74 = t5 + 7, t75 = t5 + 8, t76 = t74 * t75, t77 = t76 / t55, t78 = t71 * t77, t79 = 2.08767569878681e-08 * t78, t80 = t73 + t79, t81 = t5 + 9, t82 = t5 + 10, t83 = t81 * t82, t84 = t83 / t55, t85 = t78 * t84, t86 = (-5.284190138687493e-10) * t85, t87 = t80 + t86, t88 = t5 + 11, t89 = t5 + 12, t90 = t88 * t89, t91 = t90 / t55, t92 = t85 * t91, t93 = 1.3382536530684679e-11 * t92, t94 = t87 + t93, t95 = t5 + 13, t96 = t5 + 14, t97 = t95 * t96, t98 = t97 / t55, t99 = t92 * t98, t100 = (-3.3896802963225827e-13) * t99, t101 = t94 + t100, t102 = t5 + 15, t103 = t5 + 16, t104 = t102 * t103, t105 = t104 / t55, t106 = t99 * t105, t107 = 8.586062056277845e-15 * t106, t108 = t101 + t107, t109 = t45 * t108, t110 = t43 + t109, t111 = t6 > 0 ? 1.0 : 0.0, t112 = t5 > 1 ? 1.0 : 0.0, t113 = t111 * t112, t114 = t6 < Infinity ? 1.0 : 0.0, t115 = t114 != 0.0 ? t110 : 0, t116 = t113 != 0.0 ? t115 : NaN, t117 = t2 * t116; return t0 != 0.0 ? t4 : t117; }] },
  relative: { symbol: "~", arity: 1, rule: ["1/a"], value: () => 0, partials: [(a) => 1 / a] },
  quotient: { symbol: "~/", arity: 3, rule: ["1/b", "0", "-y"], value: (a, b) => a / b, partials: [(a, b) => 1 / b, () => 0, (a, b, c, y) => -y] },
  relative_base: { symbol: "~b", arity: 2, rule: ["1/a where b < 0", "0"], value: () => 0, partials: [(a, b) => { const t0 = b < 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? a : 1, t2 = 1 / t1; return t0 != 0.0 ? t2 : 0; }, () => 0] },
  power: { symbol: "~**", arity: 3, rule: ["0 where b < 0, else b·a^(b-1)", "y·log(a)", "b·y where b < 0"], value: (a, b) => power(a, b), partials: [(a, b) => { const t0 = b < 0 ? 1.0 : 0.0, t1 = t0 != 0.0 ? 1 : a, t2 = Math.abs(t1), t3 = t2 > 0 ? 1.0 : 0.0, t4 = b == 0 ? 1.0 : 0.0, t5 = t3 != 0.0 ? 0 : t4, t6 = t5 != 0.0 ? 1 : t1, t7 = b - 1, t8 = power(t6, t7), t9 = b * t8, t10 = t5 != 0.0 ? 0 : t9; return t0 != 0.0 ? 0 : t10; }, (a, b, c, y) => { const t0 = a == 0 ? 1.0 : 0.0, t1 = b >= 0 ? 1.0 : 0.0, t2 = a == Infinity ? 1.0 : 0.0, t3 = b < 0 ? 1.0 : 0.0, t4 = t2 * t3, t5 = t0 != 0.0 ? t1 : t4, t6 = t5 != 0.0 ? 1 : a, t7 = Math.log(t6), t8 = y * t7; return t5 != 0.0 ? 0 : t8; }, (a, b, c, y) => { const t0 = b < 0 ? 1.0 : 0.0, t1 = b * y; return t0 != 0.0 ? t1 : 0; }] },
  hypot_slope: { symbol: "hypot_slope", arity: 3, rule: ["b²/c³", "-a·b/c³", "0"], value: (a, b, c) => { const t0 = c == 0 ? 1.0 : 0.0, t1 = Math.abs(a), t2 = t1 == Infinity ? 1.0 : 0.0, t3 = t2 != 0.0 ? 0 : a, t4 = t0 != 0.0 ? 1 : c, t5 = t3 / t4, t6 = a < 0 ? 1.0 : 0.0, t7 = t6 != 0.0 ? (-1) : 1, t8 = 0 * b, t9 = t7 + t8, t10 = t2 != 0.0 ? t9 : t5; return t0 != 0.0 ? 0 : t10; }, partials: [(a, b, c) => { const t0 = c == 0 ? 1.0 : 0.0, t1 = Math.abs(b), t2 = t1 == Infinity ? 1.0 : 0.0, t3 = t2 != 0.0 ? 0 : b, t4 = t0 != 0.0 ? 1 : c, t5 = t3 / t4, t6 = b < 0 ? 1.0 : 0.0, t7 = t6 != 0.0 ? (-1) : 1, t8 = 0 * a, t9 = t7 + t8, t10 = t2 != 0.0 ? t9 : t5, t11 = t0 != 0.0 ? 0 : t10, t12 = t11 * t11; return t12 / t4; }, (a, b, c, y) => { const t0 = c == 0 ? 1.0 : 0.0, t1 = Math.abs(b), t2 = t1 == Infinity ? 1.0 : 0.0, t3 = t2 != 0.0 ? 0 : b, t4 = t0 != 0.0 ? 1 : c, t5 = t3 / t4, t6 = b < 0 ? 1.0 : 0.0, t7 = t6 != 0.0 ? (-1) : 1, t8 = 0 * a, t9 = t7 + t8, t10 = t2 != 0.0 ? t9 : t5, t11 = t0 != 0.0 ? 0 : t10, t12 = y * t11, t13 = t12 / t4; return -t13; }, () => 0] },
  floor: { symbol: "floor", arity: 1, rule: ["0"], value: (a) => Math.floor(a), partials: [() => 0] },
  ceil: { symbol: "ceil", arity: 1, rule: ["0"], value: (a) => Math.ceil(a), partials: [() => 0] },
  round: { symbol: "round", arity: 1, rule: ["0"], value: (a) => rint(a), partials: [() => 0] },
  trunc: { symbol: "trunc", arity: 1, rule: ["0"], value: (a) => Math.trunc(a), partials: [() => 0] },
  sign: { symbol: "sign", arity: 1, rule: ["0"], value: (a) => { const t0 = a > 0 ? 1.0 : 0.0, t1 = a < 0 ? 1.0 : 0.0, t2 = t1 != 0.0 ? (-1) : a; return t0 != 0.0 ? 1 : t2; }, partials: [() => 0] },
  where: { symbol: "where", arity: 3, rule: ["0", "1 if a else 0", "0 if a else 1"], value: (a, b, c) => a != 0.0 ? b : c, partials: [() => 0, (a) => a != 0.0 ? 1 : 0, (a) => a != 0.0 ? 0 : 1] },
  lt: { symbol: "<", arity: 2, rule: ["0", "0"], value: (a, b) => a < b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  le: { symbol: "<=", arity: 2, rule: ["0", "0"], value: (a, b) => a <= b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  gt: { symbol: ">", arity: 2, rule: ["0", "0"], value: (a, b) => a > b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  ge: { symbol: ">=", arity: 2, rule: ["0", "0"], value: (a, b) => a >= b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  eq: { symbol: "==", arity: 2, rule: ["0", "0"], value: (a, b) => a == b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  ne: { symbol: "!=", arity: 2, rule: ["0", "0"], value: (a, b) => a != b ? 1.0 : 0.0, partials: [() => 0, () => 0] },
  philox: { symbol: "philox", arity: 3, rule: ["0", "0", "0"], value: (a, b, c) => philox(a, b, c), partials: [() => 0, () => 0, () => 0] },
  normal: { symbol: "normal", arity: 3, rule: ["0", "0", "0"], value: (a, b, c) => { const t0 = philox(a, b, c), t1 = t0 - 0.5, t2 = t1 + 5.551115123125783e-17, t3 = Math.abs(t2), t4 = 0.5 - t3, t5 = t4 < 3.2927225399135965e-10 ? 1.0 : 0.0, t6 = t4 * 4294967296, t7 = t5 != 0.0 ? t6 : t4, t8 = t5 != 0.0 ? 32 : 0, t9 = 0 + t8, t10 = t7 < 2.1579186437577746e-05 ? 1.0 : 0.0, t11 = t7 * 65536, t12 = t10 != 0.0 ? t11 : t7, t13 = t10 != 0.0 ? 16 : 0, t14 = t9 + t13, t15 = t12 < 0.005524271728019903 ? 1.0 : 0.0, t16 = t12 * 256, t17 = t15 != 0.0 ? t16 : t12, t18 = t15 != 0.0 ? 8 : 0, t19 = t14 + t18, t20 = t17 < 0.08838834764831845 ? 1.0 : 0.0, t21 = t17 * 16, t22 = t20 != 0.0 ? t21 : t17, t23 = t20 != 0.0 ? 4 : 0, t24 = t19 + t23, t25 = t22 < 0.3535533905932738 ? 1.0 : 0.0, t26 = t22 * 4, t27 = t25 != 0.0 ? t26 : t22, t28 = t25 != 0.0 ? 2 : 0, t29 = t24 + t28, t30 = t27 < 0.7071067811865476 ? 1.0 : 0.0, t31 = t27 * 2, t32 = t30 != 0.0 ? t31 : t27, t33 = t30 != 0.0 ? 1 : 0, t34 = t29 + t33, t35 = t3 <= 0.425 ? 1.0 : 0.0, t36 = t2 * t2, t37 = 0.180625 - t36, t38 = t32 - 1, t39 = t32 + 1, t40 = t38 / t39, t41 = t40 * t40, t42 = 2 * t40, t43 = fma(0.08695652173913043, t41, 0.09523809523809523), t44 = fma(t43, t41, 0.10526315789473684), t45 = fma(t44, t41, 0.11764705882352941), t46 = fma(t45, t41, 0.13333333333333333), t47 = fma(t46, t41, 0.15384615384615385), t48 = fma(t47, t41, 0.18181818181818182), t49 = fma(t48, t41, 0.2222222222222222), t50 = fma(t49, t41, 0.2857142857142857), t51 = fma(t50, t41, 0.4), t52 = fma(t51, t41, 0.6666666666666666), t53 = t41 * t52, t54 = t40 * t53, t55 = t42 + t54, t56 = t34 * 0.6931471805599453, t57 = t34 * 2.3190468138462996e-17, t58 = t55 - t57, t59 = t56 - t58, t60 = Math.sqrt(t59), t61 = t60 - 1.609375, t62 = t35 != 0.0 ? t37 : t61, t63 = t35 != 0.0 ? 4.874765941399952 : 0.001936484131555, t64 = t35 != 0.0 ? 210.31989537018475 : 0.20963087741421632, t65 = t35 != 0.0 ? 3525.5321280702633 : 0.32515651500002074, t66 = t35 != 0.0 ? 29112.39975270957 : 0.18772320550190655, t67 = t35 != 0.0 ? 124185.54730959915 : 0.047442190601387976, t68 = t35 != 0.0 ? 262872.99053463014 : 0.003123829097089151, t69 = t35 != 0.0 ? 241554.11234600906 : (-0.0009533751067216436), t70 = t35 != 0.0 ? 68589.41719068622 : (-0.00019848881439793402), t71 = t35 != 0.0 ? 625.0653257463343 : (-1.1869174058977503e-05), t72 = t35 != 0.0 ? 0 : (-1.9072372758089646e-07), t73 = t35 != 0.0 ? 1 : 1, t74 = t35 != 0.0 ? 49.1689319228536 : 2.155993648802981, t75 = t35 != 0.0 ? 967.9298360519299 : 1.9132013575255338, t76 = t35 != 0.0 ? 9787.108554703833 : 0.9111602052674423, t77 = t35 != 0.0 ? 54319.38891329771 : 0.25364165036933073, t78 = t35 != 0.0 ? 164325.09657993075 : 0.041581289138705665, t79 = t35 != 0.0 ? 253716.0996585381 : 0.0037606478790817447, t80 = t35 != 0.0 ? 171982.98098109593 : 0.00015994519723651622, t81 = t35 != 0.0 ? 35509.46431808934 : 2.2237433773483424e-06, t82 = fma(t72, t62, t71), t83 = fma(t82, t62, t70), t84 = fma(t83, t62, t69), t85 = fma(t84, t62, t68), t86 = fma(t85, t62, t67), t87 = fma(t86, t62, t66), t88 = fma(t87, t62, t65), t89 = fma(t88, t62, t64), t90 = fma(t89, t62, t63), t91 = fma(t81, t62, t80), t92 = fma(t91, t62, t79), t93 = fma(t92, t62, t78), t94 = fma(t93, t62, t77), t95 = fma(t94, t62, t76), t96 = fma(t95, t62, t75), t97 = fma(t96, t62, t74), t98 = fma(t97, t62, t73), t99 = t90 / t98, t100 = 1.5 * t62, t101 = 1.4375 + t100, t102 = t101 + t99, t103 = t36 * t99, t104 = 2.5066282746310002 + t103, t105 = t2 * t104, t106 = t2 < 0 ? 1.0 : 0.0, t107 = -t102, t108 = t106 != 0.0 ? t107 : t102, t109 = t35 != 0.0 ? t105 : t108, t110 = t3 < 0.5 ? 1.0 : 0.0, t111 = t3 == 0.5 ? 1.0 : 0.0, t112 = t2 / 0, t113 = t111 != 0.0 ? t112 : NaN; return t110 != 0.0 ? t109 : t113; }, partials: [() => 0, () => 0, () => 0] },
  probit: { symbol: "probit", arity: 1, rule: ["√2π·exp(y²/2)"], value: (a) => { const t0 = Math.abs(a), t1 = 0.5 - t0, t2 = t1 < 3.2927225399135965e-10 ? 1.0 : 0.0, t3 = t1 * 4294967296, t4 = t2 != 0.0 ? t3 : t1, t5 = t2 != 0.0 ? 32 : 0, t6 = 0 + t5, t7 = t4 < 2.1579186437577746e-05 ? 1.0 : 0.0, t8 = t4 * 65536, t9 = t7 != 0.0 ? t8 : t4, t10 = t7 != 0.0 ? 16 : 0, t11 = t6 + t10, t12 = t9 < 0.005524271728019903 ? 1.0 : 0.0, t13 = t9 * 256, t14 = t12 != 0.0 ? t13 : t9, t15 = t12 != 0.0 ? 8 : 0, t16 = t11 + t15, t17 = t14 < 0.08838834764831845 ? 1.0 : 0.0, t18 = t14 * 16, t19 = t17 != 0.0 ? t18 : t14, t20 = t17 != 0.0 ? 4 : 0, t21 = t16 + t20, t22 = t19 < 0.3535533905932738 ? 1.0 : 0.0, t23 = t19 * 4, t24 = t22 != 0.0 ? t23 : t19, t25 = t22 != 0.0 ? 2 : 0, t26 = t21 + t25, t27 = t24 < 0.7071067811865476 ? 1.0 : 0.0, t28 = t24 * 2, t29 = t27 != 0.0 ? t28 : t24, t30 = t27 != 0.0 ? 1 : 0, t31 = t26 + t30, t32 = t0 <= 0.425 ? 1.0 : 0.0, t33 = a * a, t34 = 0.180625 - t33, t35 = t29 - 1, t36 = t29 + 1, t37 = t35 / t36, t38 = t37 * t37, t39 = 2 * t37, t40 = fma(0.08695652173913043, t38, 0.09523809523809523), t41 = fma(t40, t38, 0.10526315789473684), t42 = fma(t41, t38, 0.11764705882352941), t43 = fma(t42, t38, 0.13333333333333333), t44 = fma(t43, t38, 0.15384615384615385), t45 = fma(t44, t38, 0.18181818181818182), t46 = fma(t45, t38, 0.2222222222222222), t47 = fma(t46, t38, 0.2857142857142857), t48 = fma(t47, t38, 0.4), t49 = fma(t48, t38, 0.6666666666666666), t50 = t38 * t49, t51 = t37 * t50, t52 = t39 + t51, t53 = t31 * 0.6931471805599453, t54 = t31 * 2.3190468138462996e-17, t55 = t52 - t54, t56 = t53 - t55, t57 = Math.sqrt(t56), t58 = t57 - 1.609375, t59 = t32 != 0.0 ? t34 : t58, t60 = t32 != 0.0 ? 4.874765941399952 : 0.001936484131555, t61 = t32 != 0.0 ? 210.31989537018475 : 0.20963087741421632, t62 = t32 != 0.0 ? 3525.5321280702633 : 0.32515651500002074, t63 = t32 != 0.0 ? 29112.39975270957 : 0.18772320550190655, t64 = t32 != 0.0 ? 124185.54730959915 : 0.047442190601387976, t65 = t32 != 0.0 ? 262872.99053463014 : 0.003123829097089151, t66 = t32 != 0.0 ? 241554.11234600906 : (-0.0009533751067216436), t67 = t32 != 0.0 ? 68589.41719068622 : (-0.00019848881439793402), t68 = t32 != 0.0 ? 625.0653257463343 : (-1.1869174058977503e-05), t69 = t32 != 0.0 ? 0 : (-1.9072372758089646e-07), t70 = t32 != 0.0 ? 1 : 1, t71 = t32 != 0.0 ? 49.1689319228536 : 2.155993648802981, t72 = t32 != 0.0 ? 967.9298360519299 : 1.9132013575255338, t73 = t32 != 0.0 ? 9787.108554703833 : 0.9111602052674423, t74 = t32 != 0.0 ? 54319.38891329771 : 0.25364165036933073, t75 = t32 != 0.0 ? 164325.09657993075 : 0.041581289138705665, t76 = t32 != 0.0 ? 253716.0996585381 : 0.0037606478790817447, t77 = t32 != 0.0 ? 171982.98098109593 : 0.00015994519723651622, t78 = t32 != 0.0 ? 35509.46431808934 : 2.2237433773483424e-06, t79 = fma(t69, t59, t68), t80 = fma(t79, t59, t67), t81 = fma(t80, t59, t66), t82 = fma(t81, t59, t65), t83 = fma(t82, t59, t64), t84 = fma(t83, t59, t63), t85 = fma(t84, t59, t62), t86 = fma(t85, t59, t61), t87 = fma(t86, t59, t60), t88 = fma(t78, t59, t77), t89 = fma(t88, t59, t76), t90 = fma(t89, t59, t75), t91 = fma(t90, t59, t74), t92 = fma(t91, t59, t73), t93 = fma(t92, t59, t72), t94 = fma(t93, t59, t71), t95 = fma(t94, t59, t70), t96 = t87 / t95, t97 = 1.5 * t59, t98 = 1.4375 + t97, t99 = t98 + t96, t100 = t33 * t96, t101 = 2.5066282746310002 + t100, t102 = a * t101, t103 = a < 0 ? 1.0 : 0.0, t104 = -t99, t105 = t103 != 0.0 ? t104 : t99, t106 = t32 != 0.0 ? t102 : t105, t107 = t0 < 0.5 ? 1.0 : 0.0, t108 = t0 == 0.5 ? 1.0 : 0.0, t109 = a / 0, t110 = t108 != 0.0 ? t109 : NaN; return t107 != 0.0 ? t106 : t110; }, partials: [(a, y) => { const t0 = y * y, t1 = 0.5 * t0, t2 = Math.exp(t1); return 2.5066282746310002 * t2; }] },
  sum: { symbol: "sum", arity: -1, rule: ["1"], facts: [], value: (x) => {
      const n = x.length;
      let v0 = 0;
      for (let i = 0; i < n; i++) {
          const t1 = v0 + x[i];
          v0 = t1;
      }
      return v0;
  }, slopes: (x) => {
      const n = x.length;
      const partial = new Array(n);
      for (let i = 0; i < n; i++) {
          partial[i] = 1;
      }
      return partial;
  }, partials: [() => 1] },
  prod: { symbol: "prod", arity: -1, rule: ["product of the others"], facts: ["rest"], value: (x) => {
      const n = x.length;
      let v0 = 1;
      for (let i = 0; i < n; i++) {
          const t1 = v0 * x[i];
          v0 = t1;
      }
      return v0;
  }, slopes: (x) => {
      const n = x.length;
      const partial = new Array(n);
      let v0 = 1;
      for (let i = 0; i < n; i++) {
          partial[i] = v0;
          const t1 = v0 * x[i];
          v0 = t1;
      }
      let v2 = 1;
      for (let i = n - 1; i >= 0; i--) {
          const t3 = partial[i] * v2;
          partial[i] = t3;
          const t4 = v2 * x[i];
          v2 = t4;
      }
      return partial;
  }, partials: [(rest) => rest] },
  mean: { symbol: "mean", arity: -1, rule: ["1/n"], facts: ["n"], value: (x) => {
      const n = x.length;
      let v0 = 0;
      for (let i = 0; i < n; i++) {
          const t1 = v0 + x[i];
          v0 = t1;
      }
      const t2 = v0 / n;
      return t2;
  }, slopes: (x) => {
      const n = x.length;
      const partial = new Array(n);
      const t0 = 1 / n;
      for (let i = 0; i < n; i++) {
          partial[i] = t0;
      }
      return partial;
  }, partials: [(n) => 1 / n] },
  dot: { symbol: "dot", arity: -1, rule: ["its partner"], facts: ["other"], value: (x) => {
      const n = x.length;
      let half = n / 2;
      let v0 = 0;
      for (let i = 0; i < half; i++) {
          const t1 = x[i] * x[half + i];
          const t2 = v0 + t1;
          v0 = t2;
      }
      return v0;
  }, slopes: (x) => {
      const n = x.length;
      const partial = new Array(n);
      let half = n / 2;
      for (let i = 0; i < half; i++) {
          partial[i] = x[half + i];
      }
      for (let i = half; i < n; i++) {
          partial[i] = x[i - half];
      }
      return partial;
  }, partials: [(other) => other] },
  logsumexp: { symbol: "logsumexp", arity: -1, rule: ["exp(x - y)"], facts: ["share"], value: (x) => {
      const n = x.length;
      let v0 = x[0];
      for (let i = 1; i < n; i++) {
          const t1 = v0 >= x[i] ? 1.0 : 0.0;
          const t2 = v0 < x[i] ? 1.0 : 0.0;
          const t3 = v0 + x[i];
          const t4 = t2 != 0.0 ? x[i] : t3;
          const t5 = t1 != 0.0 ? v0 : t4;
          v0 = t5;
      }
      const t6 = Math.abs(v0);
      const t7 = t6 < Infinity ? 1.0 : 0.0;
      const t8 = t7 != 0.0 ? v0 : 0;
      let v9 = 0;
      for (let i = 0; i < n; i++) {
          const t10 = x[i] == t8 ? 1.0 : 0.0;
          const t11 = x[i] - t8;
          const t12 = Math.exp(t11);
          const t13 = t10 != 0.0 ? 0 : t12;
          const t14 = v9 + t13;
          v9 = t14;
      }
      let v15 = 0;
      for (let i = 0; i < n; i++) {
          const t16 = x[i] == t8 ? 1.0 : 0.0;
          const t17 = v15 + t16;
          v15 = t17;
      }
      const t18 = v15 - 1;
      const t19 = v9 + t18;
      const t20 = Math.log1p(t19);
      const t21 = t8 + t20;
      return t21;
  }, slopes: (x, y) => {
      const n = x.length;
      const partial = new Array(n);
      for (let i = 0; i < n; i++) {
          const t0 = x[i] == y ? 1.0 : 0.0;
          const t1 = t0 != 0.0 ? 0 : x[i];
          const t2 = t0 != 0.0 ? 0 : y;
          const t3 = t1 - t2;
          const t4 = Math.exp(t3);
          partial[i] = t4;
      }
      let v5 = 0;
      for (let i = 0; i < n; i++) {
          const t6 = v5 + partial[i];
          v5 = t6;
      }
      for (let i = 0; i < n; i++) {
          const t7 = partial[i] / v5;
          partial[i] = t7;
      }
      return partial;
  }, partials: [(share) => share] },
};

/** @type {Record<string, number[]>} For each op that is a step in some of its inputs: these inputs. */
const STEPS = {"floordiv": [0, 1], "copysign": [1], "quotient": [1], "relative_base": [1], "hypot_slope": [2], "floor": [0], "ceil": [0], "round": [0], "trunc": [0], "sign": [0], "where": [0], "lt": [0, 1], "le": [0, 1], "gt": [0, 1], "ge": [0, 1], "eq": [0, 1], "ne": [0, 1], "philox": [0, 1, 2], "normal": [0, 1, 2]};

/**
 * Whether an op is a step in this input (floor, sign ...), so that no gradient passes.
 * @param {string} op @param {number} slot
 */
export function isStep(op, slot) {
  return STEPS[op]?.includes(slot) ?? false;
}

/**
 * For each node of a graph, whether it lies behind steps alone: no gradient of the last node reaches it.
 * @param {{op: string, inputs: number[]}[]} nodes
 */
export function behindSteps(nodes) {
  const hidden = nodes.map((_, id) => id < nodes.length - 1);
  for (let id = nodes.length - 1; id >= 0; id--) {
    if (!hidden[id]) nodes[id].inputs.forEach((input, slot) => (hidden[input] &&= isStep(nodes[id].op, slot)));
  }
  return hidden;
}

/**
 * What a node adds to the gradient of an input. Nothing passes a step or comes from behind one, not even 0 times infinity.
 * @param {{op: string, hidden: boolean}} node @param {number} slot @param {number} local @param {number} upstream
 */
export function pushed(node, slot, local, upstream) {
  const product = local * upstream;
  return Number.isNaN(product) && (node.hidden || isStep(node.op, slot)) ? 0 : product;
}

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
  const { slopes, partials } = OPS[name];
  return slopes ? slopes(args, y) : partials.map((partial) => partial(...args, y));
}
