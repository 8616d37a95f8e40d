// What the Python of the page brings with it: types, functions, and the modules math and random.
import { Tuple, PyDict, PySet, Range, PyClass, PyObject, PyFunction, Method, Mark, Type, Module, NOT_IMPLEMENTED,
  fail, typeName, identity, floatText, pyRepr, pyStr, truth, over, lengthOf, isNumber, whole, binary, compared, call,
  attribute, attributeOf, setAttribute, itemOf, setItem, int, list, sorted, EXCEPTIONS } from "./pyvalues.js";

/** A number as a format spec has it. @param {any} x @param {string} spec */
export function shaped(x, spec) {
  const found = spec.match(/^(?:(.)?([<>^=]))?([+ -])?(0)?(\d+)?(,)?(?:\.(\d+))?([defgsx%])?$/);
  if (!found) fail("ValueError", `the format '${spec}' is not known here`);
  const [, fill, side, sign, zero, width, comma, digits, kind] = /** @type {RegExpMatchArray} */ (found);
  let text;
  if (isNumber(x) && kind !== "s") {
    const n = Number(x), size = Math.abs(n), left = kind === "%" ? size * 100 : size;
    const exponent = (one) => one.replace(/e([+-])(\d)$/, "e$10$2");
    if (!Number.isFinite(n)) text = Number.isNaN(n) ? "nan" : "inf";
    else if (kind === "f" || kind === "%") text = left.toFixed(Number(digits ?? 6)) + (kind === "%" ? "%" : "");
    else if (kind === "e") text = exponent(size.toExponential(Number(digits ?? 6)));
    else if (kind === "g" || (digits !== undefined && !kind)) {
      const figures = Math.max(1, Number(digits ?? 6)),
        power = size ? Number(size.toExponential(figures - 1).split("e")[1]) : 0;
      const short = (one) => (one.includes(".") ? one.replace(/\.?0+($|e)/, "$1") : one);
      text = power < -4 || power >= figures ? exponent(short(size.toExponential(figures - 1)))
        : short(size.toFixed(figures - 1 - power));
    } else text = pyStr(typeof x === "number" ? size : BigInt(x) < 0n ? -BigInt(x) : BigInt(x));
    if (comma) text = text.replace(/^\d+/, (whole_) => whole_.replace(/\B(?=(\d{3})+$)/g, ","));
    const minus = n < 0 || Object.is(n, -0) ? "-" : sign && sign !== "-" ? sign : "";
    if (zero && width) text = text.padStart(Number(width) - minus.length, "0");
    text = minus + text;
  } else text = digits === undefined ? pyStr(x) : pyStr(x).slice(0, Number(digits));
  const room = Number(width ?? 0) - text.length, by = side ?? (isNumber(x) ? ">" : "<"), sign_ = fill ?? " ";
  if (room <= 0) return text;
  if (by === "^") return sign_.repeat(Math.floor(room / 2)) + text + sign_.repeat(Math.ceil(room / 2));
  return by === "<" ? text + sign_.repeat(room) : sign_.repeat(room) + text;
}

function toFloat([x = 0]) {
  if (isNumber(x)) return Number(x);
  if (typeof x === "string") {
    const word = x.trim().toLowerCase(), named = { inf: Infinity, "-inf": -Infinity, nan: NaN, infinity: Infinity }[word];
    if (named !== undefined) return named;
    if (word && !Number.isNaN(Number(word))) return Number(word);
    return fail("ValueError", `could not convert string to float: ${pyRepr(x)}`);
  }
  const own = x instanceof PyObject ? x.cls.find("__float__") : undefined;
  return own ? call(own, [x]) : fail("TypeError", `float() argument must be a string or a real number, not '${typeName(x)}'`);
}
function toInt([x = 0n]) {
  if (whole(x)) return BigInt(x);
  if (typeof x === "number") return Number.isFinite(x) ? BigInt(Math.trunc(x))
    : fail("ValueError", `cannot convert float ${floatText(x)} to integer`);
  if (typeof x === "string" && /^\s*[+-]?\d+\s*$/.test(x)) return BigInt(x.trim());
  if (typeof x === "string") return fail("ValueError", `invalid literal for int() with base 10: ${pyRepr(x)}`);
  return fail("TypeError", `int() does not take ${pyRepr(x)}`);
}
function toRounded([x, digits]) {
  if (x instanceof PyObject) return call(attributeOf(x, "__round__"), digits === undefined ? [] : [digits]);
  if (digits !== undefined && digits !== null && typeof x === "number") {
    if (!Number.isFinite(x)) return x;
    return Number(digits) >= 0 ? Number(x.toFixed(Math.min(100, Number(digits))))
      : Math.round(x / 10 ** -Number(digits)) * 10 ** -Number(digits);
  }
  if (whole(x)) return BigInt(x);
  const floor = Math.floor(Number(x)), rest = Number(x) - floor;
  return toInt([rest === 0.5 ? (floor % 2 ? floor + 1 : floor) : Math.round(Number(x))]);
}
function extreme(op) {
  return (args, named) => {
    const items = args.length === 1 ? list(args[0]) : args, key = named.get("key"), of = (x) => (key ? call(key, [x]) : x);
    if (!items.length) return named.has("default") ? named.get("default")
      : fail("ValueError", "an empty list has no largest and no smallest item");
    return items.reduce((best, one) => (truth(compared(op, of(one), of(best))) ? one : best));
  };
}
function kindOf(x) {
  if (x instanceof PyObject) return x.cls;
  return TYPES[typeName(x)] ?? new Type(typeName(x), () => null, () => false);
}
/** What isinstance says: a tuple of kinds asks each of them. @param {any} x @param {any} kind @returns {boolean} */
export function belongs(x, kind) {
  if (kind instanceof Tuple) return kind.items.some((one) => belongs(x, one));
  if (kind instanceof Type) return kind.has(x);
  return kind instanceof PyClass ? x instanceof PyObject && x.cls.under(kind)
    : fail("TypeError", "isinstance() arg 2 must be a type");
}
function* mapped(f, lists) {
  for (let k = 0; ; k++) {
    const args = lists.map((one) => one.next());
    if (args.some(({ done }) => done)) return;
    yield f ? call(f, args.map(({ value }) => value)) : new Tuple(args.map(({ value }) => value));
  }
}
const going = (x) => over(x)[Symbol.iterator]();
function* numbered(x, from) {
  for (const one of over(x)) yield new Tuple([from++, one]);
}
function* filtered(f, x) {
  for (const one of over(x)) if (truth(f === null ? one : call(f, [one]))) yield one;
}

/** @type {Record<string, any>} */
export const TYPES = {
  float: new Type("float", toFloat, (x) => typeof x === "number"), int: new Type("int", toInt, whole),
  bool: new Type("bool", ([x = false]) => truth(x), (x) => typeof x === "boolean"),
  str: new Type("str", ([x = ""]) => pyStr(x), (x) => typeof x === "string"),
  list: new Type("list", ([x = []]) => list(x), Array.isArray),
  tuple: new Type("tuple", ([x = []]) => new Tuple(list(x)), (x) => x instanceof Tuple),
  set: new Type("set", ([x = []]) => new PySet(over(x)), (x) => x instanceof PySet),
  dict: new Type("dict", ([x], named) => {
    const out = new PyDict();
    if (x instanceof PyDict) for (const [key, row] of x.rows) out.rows.set(key, [...row]);
    else if (x !== undefined) for (const one of over(x)) setItem(out, itemOf(one, 0n), itemOf(one, 1n));
    for (const [key, value] of named) setItem(out, key, value);
    return out;
  }, (x) => x instanceof PyDict),
  range: new Type("range", (args) => {
    for (const one of args) if (!whole(one)) fail("TypeError", `'${typeName(one)}' object is no whole number`);
    const [from, to, by] = args.length === 1 ? [0n, args[0], 1n] : [args[0], args[1], args[2] ?? 1n];
    return new Range(BigInt(from), BigInt(to), BigInt(by) || fail("ValueError", "the step of a range is not 0"));
  }, (x) => x instanceof Range),
};
TYPES.object = new Type("object", () => new PyObject(new PyClass("object", null, new Map())), () => true);

/** @param {(text: string) => void} print @param {() => number} random */
export function builtins(print, random) {
  const out = new Map([...EXCEPTIONS, ...Object.entries(TYPES)]);
  const add = (table) => { for (const [name, f] of Object.entries(table)) out.set(name, f); };
  add({
    print: (args, named) => (print(args.map(pyStr).join(named.has("sep") ? named.get("sep") : " ")
      + (named.has("end") ? named.get("end") : "\n")), null),
    len: ([x]) => int(lengthOf(x)),
    abs: ([x]) => (x instanceof PyObject ? call(attributeOf(x, "__abs__"), [])
      : typeof x === "number" ? Math.abs(x) : BigInt(x) < 0n ? -BigInt(x) : BigInt(x)),
    sum: ([x, start], named) => {
      let total = start ?? named.get("start") ?? 0n;
      for (const one of over(x)) total = binary("+", total, one);
      return total;
    },
    min: extreme("<"), max: extreme(">"), round: toRounded, sorted: ([x], named) => sorted(list(x), named),
    reversed: ([x]) => list(x).reverse()[Symbol.iterator](),
    enumerate: ([x, from], named) => numbered(x, BigInt(from ?? named.get("start") ?? 0n)),
    zip: (lists) => mapped(null, lists.map(going)), map: ([f, ...lists]) => mapped(f, lists.map(going)),
    filter: ([f, x]) => filtered(f, x),
    any: ([x]) => { for (const one of over(x)) if (truth(one)) return true; return false; },
    all: ([x]) => { for (const one of over(x)) if (!truth(one)) return false; return true; },
    isinstance: ([x, kind]) => belongs(x, kind), type: ([x]) => kindOf(x), repr: ([x]) => pyRepr(x),
    id: ([x]) => int(identity(Object(x))),
    hash: ([x]) => (typeof x === "object" && x ? int(identity(x)) : 0n),
    callable: ([f]) => f instanceof PyFunction || f instanceof Method || typeof f === "function"
      || f instanceof PyClass || f instanceof Type || (f instanceof PyObject && f.cls.find("__call__") !== undefined),
    hasattr: ([x, name]) => attribute(x, name) !== undefined,
    setattr: ([x, name, value]) => (setAttribute(x, name, value), null),
    getattr: ([x, name, other]) => attribute(x, name) ?? (other === undefined ? attributeOf(x, name) : other),
    iter: ([x]) => going(x), next: ([x, other]) => {
      const { done, value } = x.next ? x.next() : fail("TypeError", `'${typeName(x)}' object is not an iterator`);
      return !done ? value : other === undefined ? fail("StopIteration", "") : other;
    },
    pow: ([a, b]) => binary("**", a, b), property: ([f]) => new Mark("property", f),
    staticmethod: ([f]) => new Mark("static", f),
    classmethod: ([f]) => new Mark("class", f), NotImplemented: NOT_IMPLEMENTED, __name__: "__main__",
    input: () => fail("RuntimeError", "nobody can answer input() here"),
  });
  const one = (f) => (args) => f(toFloat(args));
  const real = (name, f, bad) => one((x) => (bad(x) ? fail("ValueError", "math domain error") : f(x)));
  const math = new Map(Object.entries({ pi: Math.PI, e: Math.E, inf: Infinity, nan: NaN, tanh: one(Math.tanh),
    sin: one(Math.sin),
    cos: one(Math.cos), tan: one(Math.tan), sinh: one(Math.sinh), cosh: one(Math.cosh), fabs: one(Math.abs),
    exp: one((x) => {
      const y = Math.exp(x);
      return y === Infinity && x !== Infinity ? fail("OverflowError", "math range error") : y;
    }),
    sqrt: real("sqrt", Math.sqrt, (x) => x < 0),
    log: ([x, base]) => {
      const n = toFloat([x]);
      if (n <= 0) fail("ValueError", "math domain error");
      return Math.log(n) / (base === undefined ? 1 : Math.log(toFloat([base])));
    },
    log2: real("log2", Math.log2, (x) => x <= 0), log10: real("log10", Math.log10, (x) => x <= 0),
    floor: ([x]) => toInt([Math.floor(toFloat([x]))]), ceil: ([x]) => toInt([Math.ceil(toFloat([x]))]),
    isnan: one(Number.isNaN), isinf: one((x) => Math.abs(x) === Infinity),
    isfinite: one(Number.isFinite), pow: ([a, b]) => toFloat([a]) ** toFloat([b]),
    hypot: (args) => Math.hypot(...args.map((x) => toFloat([x]))),
    isclose: ([a, b], named) => Math.abs(toFloat([a]) - toFloat([b])) <= Math.max(
      toFloat([named.get("rel_tol") ?? 1e-9]) * Math.max(Math.abs(toFloat([a])), Math.abs(toFloat([b]))),
      toFloat([named.get("abs_tol") ?? 0])) }));
  const between = (a, b) => a + (b - a) * random(), pick = (n) => Math.floor(random() * n);
  const dice = new Map(Object.entries({ random: () => random(), uniform: ([a, b]) => between(toFloat([a]), toFloat([b])),
    seed: () => null,
    gauss: ([m = 0, s = 1]) => toFloat([m])
      + toFloat([s]) * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
    choice: ([x]) => { const all = list(x); return all[pick(all.length)]; },
    randint: ([a, b]) => BigInt(a) + BigInt(pick(Number(b) - Number(a) + 1)),
    shuffle: ([x]) => {
      for (let k = x.length - 1; k > 0; k--) { const j = pick(k + 1); [x[k], x[j]] = [x[j], x[k]]; }
      return null;
    } }));
  return { names: out, modules: new Map([["math", new Module("math", math)], ["random", new Module("random", dice)]]) };
}

