// A formula of one variable, such as sin(3*x)/2, as a function. It is parsed, never run as code.

const FUNCTIONS = { sin: Math.sin, cos: Math.cos, tan: Math.tan, tanh: Math.tanh, exp: Math.exp, log: Math.log,
  sqrt: Math.sqrt,
  abs: Math.abs, sign: Math.sign, floor: Math.floor };
const NAMED = { pi: Math.PI, e: Math.E };

/**
 * Read a formula; `problem` is where it cannot be read ("" if it can), and then the function is 0 everywhere.
 * @param {string} source @returns {{f: (x: number) => number, problem: string}}
 */
export function readFormula(source) {
  const tokens = source.match(/\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|[a-zA-Z]+|\*\*|\S/gi) ?? [];
  let at = 0;
  const stop = () => {
    throw new SyntaxError(tokens[at] ?? "…");
  };
  const take = (...signs) => (signs.includes(tokens[at]) ? tokens[at++] : "");

  /** @returns {(x: number) => number} */
  function sum() {
    let left = product();
    for (let sign = take("+", "-"); sign; sign = take("+", "-")) {
      const a = left, b = product(), plus = sign === "+";
      left = plus ? (x) => a(x) + b(x) : (x) => a(x) - b(x);
    }
    return left;
  }
  function product() {
    let left = signed();
    for (let sign = take("*", "/"); sign; sign = take("*", "/")) {
      const a = left, b = signed(), times = sign === "*";
      left = times ? (x) => a(x) * b(x) : (x) => a(x) / b(x);
    }
    return left;
  }
  function signed() {
    if (take("-", "−")) {
      const a = signed();
      return (x) => -a(x);
    }
    return power();
  }
  function power() {
    const a = atom();
    if (!take("**", "^")) return a;
    const b = signed();
    return (x) => a(x) ** b(x);
  }
  function atom() {
    const token = tokens[at];
    if (take("(")) {
      const inside = sum();
      if (!take(")")) stop();
      return inside;
    }
    if (token !== undefined && /^[\d.]/.test(token)) {
      at += 1;
      const x = Number(token);
      return Number.isFinite(x) ? () => x : stop();
    }
    if (token === "x") {
      at += 1;
      return (x) => x;
    }
    if (token !== undefined && Object.hasOwn(NAMED, token)) {
      at += 1;
      return () => NAMED[token];
    }
    if (token === undefined || !Object.hasOwn(FUNCTIONS, token)) return stop();
    at += 1;
    if (!take("(")) stop();
    const inside = sum();
    if (!take(")")) stop();
    return (x) => FUNCTIONS[token](inside(x));
  }
  try {
    if (source.length > 200) stop();
    const f = sum();
    if (at < tokens.length) stop();
    return { f, problem: "" };
  } catch (error) {
    return { f: () => 0, problem: error instanceof SyntaxError ? error.message : "…" };
  }
}
