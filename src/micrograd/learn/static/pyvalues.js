// The values of the Python that the page runs, their arithmetic, their attributes and calls. An int is a BigInt and a float a
// number, as their rules differ; None is null; a list is an array.

/** Something that the code raised: an exception of Python, with the line that was running. */
export class Raised extends Error {
  /** @param {any} value the exception object @param {number} line */
  constructor(value, line) {
    super(String(value.cls?.name));
    [this.value, this.line] = [value, line];
  }
  get kind() {
    return this.value.cls.name;
  }
  /** What it says. A `__str__` of the code's own may fail or never end: it is asked while the code may still run (keepText). */
  get text() {
    return this.said ?? this.kind;
  }
  keepText() {
    try {
      this.said ??= this.told();
    } catch {
      this.said = this.kind;
    }
  }
  told() {
    const args = this.value.d.get("args")?.items ?? [];
    return args.length === 1 ? pyStr(args[0]) : args.length ? `(${args.map(pyRepr).join(", ")})` : "";
  }
}
/** The code ran for longer than it may. */
export class Endless extends Error {}

export class Tuple {
  constructor(items) { this.items = items; }
}
export class PyDict {
  constructor() { this.rows = new Map(); }
}
export class PySet {
  constructor(items = []) {
    this.rows = new Map();
    for (const one of items) this.add(one);
  }
  /** The first of several equal items stays, as in Python. */
  add(one) {
    const key = keyOf(one);
    if (!this.rows.has(key)) this.rows.set(key, one);
  }
}
export class Range {
  constructor(from, to, by) { [this.from, this.to, this.by] = [from, to, by]; }
}
export class PyClass {
  constructor(name, base, dict) { [this.name, this.base, this.dict] = [name, base, dict]; }
  /** @param {string} name @returns {any} */
  find(name) {
    for (let one = /** @type {any} */ (this); one; one = one.base) if (one.dict.has(name)) return one.dict.get(name);
    return undefined;
  }
  under(other) {
    for (let one = /** @type {any} */ (this); one; one = one.base) if (one === other) return true;
    return false;
  }
}
export class PyObject {
  constructor(cls) { [this.cls, this.d] = [cls, new Map()]; }
}
export class PyFunction {
  constructor(code, defaults, up) { [this.code, this.defaults, this.up, this.d] = [code, defaults, up, new Map()]; }
}
export class Method {
  constructor(self, f) { [this.self, this.f] = [self, f]; }
}
export class Mark { // property, staticmethod, classmethod
  constructor(kind, f) { [this.kind, this.f] = [kind, f]; }
}
export class Super {
  constructor(cls, self) { [this.cls, this.self] = [cls, self]; }
}
export class Type { // a type of the language, such as float
  constructor(name, make, has) { [this.name, this.make, this.has] = [name, make, has]; }
}
export class Module {
  constructor(name, dict) { [this.name, this.dict] = [name, dict]; }
}

export const NOT_IMPLEMENTED = new PyObject(new PyClass("NotImplementedType", null, new Map()));
export const MOST_TIMES = 1e6; // items of a list, or copies of a text, that one product may make
const DEEPEST = 900; // calls in calls; the stack of a browser holds about twice as many

/** What runs now: the line, the steps that are left, the depth of the calls. */
export const run = { line: 0, left: 0, deep: 0 };

/** Count one step of the program; without steps left, it ends as one that does not come to an end. */
export function tick() {
  if (--run.left < 0) throw new Endless();
}

export const EXCEPTIONS = new Map();
for (const [name, base] of [["BaseException", ""], ["Exception", "BaseException"], ["ValueError", "Exception"],
  ["TypeError", "Exception"], ["ArithmeticError", "Exception"], ["ZeroDivisionError", "ArithmeticError"],
  ["OverflowError", "ArithmeticError"], ["LookupError", "Exception"], ["IndexError", "LookupError"],
  ["KeyError", "LookupError"], ["AttributeError", "Exception"], ["NameError", "Exception"],
  ["UnboundLocalError", "NameError"], ["RuntimeError", "Exception"], ["RecursionError", "RuntimeError"],
  ["NotImplementedError", "RuntimeError"], ["AssertionError", "Exception"], ["StopIteration", "Exception"],
  ["ImportError", "Exception"], ["ModuleNotFoundError", "ImportError"], ["MemoryError", "Exception"]]) {
  EXCEPTIONS.set(name, new PyClass(name, EXCEPTIONS.get(base) ?? null, new Map()));
}

/** @param {string} kind @param {string} text @returns {never} */
export function fail(kind, text) {
  const value = new PyObject(EXCEPTIONS.get(kind));
  value.d.set("args", new Tuple(text ? [text] : []));
  throw new Raised(value, run.line);
}

// -- what things are

/** @param {any} x @returns {string} */
export function typeName(x) {
  if (x === null) return "NoneType";
  if (typeof x === "boolean") return "bool";
  if (typeof x === "bigint") return "int";
  if (typeof x === "number") return "float";
  if (typeof x === "string") return "str";
  if (Array.isArray(x)) return "list";
  if (x instanceof Tuple) return "tuple";
  if (x instanceof PyDict) return "dict";
  if (x instanceof PySet) return "set";
  if (x instanceof Range) return "range";
  if (x instanceof PyObject) return x.cls.name;
  if (x instanceof PyClass || x instanceof Type) return "type";
  if (x instanceof Method) return "method";
  return x instanceof Module ? "module" : x?.next ? "generator" : "function";
}

/** What a value is called as a key of a dict or a set: equal values, one key. @param {any} x */
export function keyOf(x) {
  if (typeof x === "boolean") return Number(x);
  if (typeof x === "bigint") return Number.isSafeInteger(Number(x)) ? Number(x) : x;
  if (x instanceof Tuple) return `\0(${x.items.map((one) => {
    const key = keyOf(one);
    return typeof key === "object" && key ? `#${identity(key)}` : `${typeof key} ${String(key)}`;
  }).join("\0")})`;
  if (Array.isArray(x) || x instanceof PyDict || x instanceof PySet) fail("TypeError", `unhashable type: '${typeName(x)}'`);
  return x;
}
const identities = new WeakMap();
let serialOfObjects = 0;
/** The number of an object, as id has it. @param {object} x */
export function identity(x) {
  if (!identities.has(x)) identities.set(x, ++serialOfObjects);
  return identities.get(x);
}

/** @param {number} x */
export function floatText(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (Object.is(x, -0)) return "-0.0";
  const size = Math.abs(x);
  if (x !== 0 && (size >= 1e16 || size < 1e-4)) {
    const [digits, power] = x.toExponential().split("e");
    return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  const text = String(x);
  return /[.]/.test(text) ? text : `${text}.0`;
}

/** @param {any} x @returns {string} */
export function pyRepr(x) {
  if (x === null) return "None";
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x === "bigint") return String(x);
  if (typeof x === "number") return floatText(x);
  if (typeof x === "string") {
    const quote = x.includes("'") && !x.includes('"') ? '"' : "'";
    return quote + x.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll(quote, `\\${quote}`) + quote;
  }
  if (Array.isArray(x)) return `[${x.map(pyRepr).join(", ")}]`;
  if (x instanceof Tuple) return x.items.length === 1 ? `(${pyRepr(x.items[0])},)` : `(${x.items.map(pyRepr).join(", ")})`;
  if (x instanceof PyDict)
    return `{${[...x.rows.values()].map(([key, value]) => `${pyRepr(key)}: ${pyRepr(value)}`).join(", ")}}`;
  if (x instanceof PySet) return x.rows.size ? `{${[...x.rows.values()].map(pyRepr).join(", ")}}` : "set()";
  if (x instanceof Range) return `range(${x.from}, ${x.to})`;
  if (x instanceof PyObject) {
    const own = x.cls.find("__repr__");
    if (own) return call(own, [x]);
    if (x.d.has("args") && x.cls.under(EXCEPTIONS.get("BaseException")))
      return `${x.cls.name}(${x.d.get("args").items.map(pyRepr).join(", ")})`;
    return `<${x.cls.name} object>`;
  }
  if (x instanceof PyClass || x instanceof Type) return `<class '${x.name}'>`;
  return `<${typeName(x)}>`;
}

/** @param {any} x @returns {string} */
export function pyStr(x) {
  if (typeof x === "string") return x;
  if (x instanceof PyObject) {
    const own = x.cls.find("__str__");
    if (own) return call(own, [x]);
    if (x.d.has("args") && x.cls.under(EXCEPTIONS.get("BaseException"))) return new Raised(x, 0).told();
  }
  return pyRepr(x);
}

/** @param {any} x @returns {boolean} */
export function truth(x) {
  if (typeof x === "boolean") return x;
  if (x === null || x === 0 || x === "" || x === 0n) return false;
  if (Array.isArray(x)) return x.length > 0;
  if (x instanceof Tuple) return x.items.length > 0;
  if (x instanceof PyDict || x instanceof PySet) return x.rows.size > 0;
  if (x instanceof Range) return lengthOf(x) > 0;
  if (x instanceof PyObject) {
    const own = x.cls.find("__bool__") ?? x.cls.find("__len__");
    if (own) return truth(call(own, [x]));
  }
  return true;
}

/** What a loop goes over. @param {any} x @returns {Iterable<any>} */
export function over(x) {
  if (Array.isArray(x)) return listed(x);
  if (x instanceof Tuple) return x.items;
  if (typeof x === "string") return x;
  if (x instanceof PyDict) return [...x.rows.values()].map(([key]) => key);
  if (x instanceof PySet) return [...x.rows.values()];
  if (x instanceof Range) return counted(x);
  if (x?.next) return x;
  if (x instanceof PyObject && x.cls.find("__iter__")) return over(call(x.cls.find("__iter__"), [x]));
  if (x instanceof PyObject && x.cls.find("__next__")) return asked(x);
  return fail("TypeError", `'${typeName(x)}' object is not iterable`);
}
/** A list may grow while a loop goes over it. */
function* listed(x) {
  for (let k = 0; k < x.length; k++) yield x[k];
}
function* counted({ from, to, by }) {
  for (let k = from; by > 0n ? k < to : k > to; k += by) {
    tick();
    yield k;
  }
}
function* asked(x) {
  for (;;) {
    try {
      yield call(x.cls.find("__next__"), [x]);
    } catch (error) {
      if (error instanceof Raised && error.kind === "StopIteration") return;
      throw error;
    }
  }
}

/** @param {any} x @returns {number} */
export function lengthOf(x) {
  if (Array.isArray(x) || typeof x === "string") return x.length;
  if (x instanceof Tuple) return x.items.length;
  if (x instanceof PyDict || x instanceof PySet) return x.rows.size;
  if (x instanceof Range) return Math.max(0, Math.ceil(Number(x.to - x.from) / Number(x.by)));
  if (x instanceof PyObject && x.cls.find("__len__")) return Number(call(x.cls.find("__len__"), [x]));
  return fail("TypeError", `object of type '${typeName(x)}' has no len()`);
}

// -- arithmetic

export const DUNDERS = { "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
  "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift" };
const COMPARED = { "<": ["__lt__", "__gt__"], ">": ["__gt__", "__lt__"], "<=": ["__le__", "__ge__"],
  ">=": ["__ge__", "__le__"] };
export const isNumber = (x) => typeof x === "number" || typeof x === "bigint" || typeof x === "boolean";
export const whole = (x) => typeof x === "bigint" || typeof x === "boolean";

/** @param {string} op @param {any} a @param {any} b */
export function binary(op, a, b) {
  if (typeof a === "number" && typeof b === "number") return floats(op, a, b);
  if (isNumber(a) && isNumber(b)) return whole(a) && whole(b) ? ints(op, BigInt(a), BigInt(b))
    : floats(op, Number(a), Number(b));
  if (a instanceof PyObject || b instanceof PyObject) {
    for (const [me, other, name] of [[a, b, `__${DUNDERS[op]}__`], [b, a, `__r${DUNDERS[op]}__`]]) {
      const own = me instanceof PyObject ? me.cls.find(name) : undefined;
      const found = own === undefined ? NOT_IMPLEMENTED : call(own, [me, other]);
      if (found !== NOT_IMPLEMENTED) return found;
    }
  } else if (op === "+" && typeof a === "string" && typeof b === "string") return a + b;
  else if (op === "+" && Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  else if (op === "+" && a instanceof Tuple && b instanceof Tuple) return new Tuple([...a.items, ...b.items]);
  else if (op === "*" && (whole(a) || whole(b))) {
    const [times, what] = whole(a) ? [Number(a), b] : [Number(b), a];
    if (times > MOST_TIMES) fail("MemoryError", "this is repeated too often for this page");
    if (typeof what === "string") return what.repeat(Math.max(0, times));
    const repeated = (items) => Array.from({ length: Math.max(0, times) }, () => items).flat(1);
    if (Array.isArray(what)) return repeated(what);
    if (what instanceof Tuple) return new Tuple(repeated(what.items));
  } else if (a instanceof PySet && b instanceof PySet) {
    const [left, right] = [[...a.rows.values()], [...b.rows.values()]], has = (rows, x) => rows.rows.has(keyOf(x));
    if (op === "|") return new PySet([...left, ...right]);
    if (op === "&") return new PySet(left.filter((x) => has(b, x)));
    if (op === "-") return new PySet(left.filter((x) => !has(b, x)));
  } else if (op === "%" && typeof a === "string")
    fail("TypeError", "write an f-string: formatting with % is not part of the Python of this page");
  return fail("TypeError", `unsupported operand type(s) for ${op}: '${typeName(a)}' and '${typeName(b)}'`);
}

/** @param {string} op @param {number} a @param {number} b */
function floats(op, a, b) {
  switch (op) {
    case "+": return a + b;
    case "-": return a - b;
    case "*": return a * b;
    case "/": return b === 0 ? fail("ZeroDivisionError", "float division by zero") : a / b;
    case "**": {
      if (a === 0 && b < 0) fail("ZeroDivisionError", "0.0 cannot be raised to a negative power");
      const found = a === 1 || (a === -1 && !Number.isFinite(b) && b === b) ? 1 : a ** b;
      if (found !== found && a === a && b === b)
        fail("ValueError", "a negative number has no such power among the real numbers");
      return found;
    }
    case "//": return b === 0 ? fail("ZeroDivisionError", "float floor division by zero") : Math.floor(a / b);
    case "%": return b === 0 ? fail("ZeroDivisionError", "float modulo") : a - b * Math.floor(a / b);
    default: return fail("TypeError", `unsupported operand type(s) for ${op}: 'float' and 'float'`);
  }
}

/** @param {string} op @param {bigint} a @param {bigint} b */
function ints(op, a, b) {
  const floor = () => {
    if (b === 0n) fail("ZeroDivisionError", "division of whole numbers by zero");
    return a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n);
  };
  switch (op) {
    case "+": return a + b;
    case "-": return a - b;
    case "*": return a * b;
    case "/": return b === 0n ? fail("ZeroDivisionError", "division by zero") : Number(a) / Number(b);
    case "//": return floor();
    case "%": return a - b * floor();
    case "**": return b < 0n ? floats("**", Number(a), Number(b))
      : b > 4096n ? fail("OverflowError", "this power is too large here") : a ** b;
    case "&": return a & b;
    case "|": return a | b;
    case "^": return a ^ b;
    case "<<": return a << b;
    case ">>": return a >> b;
    default: return fail("TypeError", `unsupported operand type(s) for ${op}: 'int' and 'int'`);
  }
}

/** @param {any} a @param {any} b @returns {boolean} */
function equal(a, b) {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, k) => equal(one, b[k]));
  if (a instanceof Tuple && b instanceof Tuple) return equal(a.items, b.items);
  if (a instanceof PySet && b instanceof PySet) return a.rows.size === b.rows.size
    && [...a.rows.keys()].every((key) => b.rows.has(key));
  if (a instanceof PyDict && b instanceof PyDict) {
    return a.rows.size === b.rows.size && [...a.rows].every(([key, [, x]]) => b.rows.has(key) && equal(x, b.rows.get(key)[1]));
  }
  for (const [me, other] of [[a, b], [b, a]]) {
    const own = me instanceof PyObject ? me.cls.find("__eq__") : undefined;
    const found = own ? call(own, [me, other]) : NOT_IMPLEMENTED;
    if (found !== NOT_IMPLEMENTED) return truth(found);
  }
  return false;
}

/** @param {string} op @param {any} a @param {any} b @returns {any} */
export function compared(op, a, b) {
  switch (op) {
    case "==": return equal(a, b);
    case "!=": return !equal(a, b);
    case "is": return a === b;
    case "is not": return a !== b;
    case "in": return within(a, b);
    case "not in": return !within(a, b);
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    const k = a.findIndex((one, at) => at >= b.length || !equal(one, b[at]));
    return k < 0 || k >= b.length ? compared(op, BigInt(a.length), BigInt(b.length)) : compared(op, a[k], b[k]);
  }
  if (a instanceof Tuple && b instanceof Tuple) return compared(op, a.items, b.items);
  if ((isNumber(a) && isNumber(b)) || (typeof a === "string" && typeof b === "string")) {
    return op === "<" ? a < b : op === ">" ? a > b : op === "<=" ? a <= b : a >= b;
  }
  const [mine, theirs] = COMPARED[op];
  for (const [me, other, name] of [[a, b, mine], [b, a, theirs]]) {
    const own = me instanceof PyObject ? me.cls.find(name) : undefined;
    const found = own ? call(own, [me, other]) : NOT_IMPLEMENTED;
    if (found !== NOT_IMPLEMENTED) return found;
  }
  return fail("TypeError", `'${typeName(a)}' and '${typeName(b)}' cannot be compared by '${op}'`);
}

function within(x, all) {
  if (typeof all === "string") return typeof x === "string" ? all.includes(x)
    : fail("TypeError", "'in <string>' requires a string");
  if (all instanceof PySet || all instanceof PyDict) return all.rows.has(keyOf(x));
  if (all instanceof PyObject && all.cls.find("__contains__")) return truth(call(all.cls.find("__contains__"), [all, x]));
  for (const one of over(all)) if (equal(one, x)) return true;
  return false;
}

// -- calls and attributes

/** @param {any} f @param {any[]} args @param {[string, any][]} [named] @returns {any} */
export function call(f, args, named = []) {
  if (f instanceof PyFunction) return enter(f, args, named);
  if (f instanceof Method) return call(f.f, [f.self, ...args], named);
  if (typeof f === "function") return f(args, new Map(named));
  if (f instanceof Type) return f.make(args, new Map(named));
  if (f instanceof PyClass) {
    const made = new PyObject(f), init = f.find("__init__");
    if (f.under(EXCEPTIONS.get("BaseException"))) made.d.set("args", new Tuple(args));
    else if (!init && args.length + named.length) fail("TypeError", `${f.name}() takes no arguments`);
    if (init && call(init, [made, ...args], named) !== null) fail("TypeError", "__init__() should return None");
    return made;
  }
  if (f instanceof PyObject && f.cls.find("__call__")) return call(f.cls.find("__call__"), [f, ...args], named);
  if (f instanceof Mark) return call(f.f, args, named);
  return fail("TypeError", `'${typeName(f)}' object is not callable`);
}

/** @param {PyFunction} f @param {any[]} args @param {[string, any][]} named */
function enter(f, args, named) {
  const { code } = f, { params } = code, slots = new Array(code.slots), frame = { v: slots, up: f.up };
  let at = 0;
  for (let k = 0; k < params.length; k++) {
    const { star } = params[k];
    if (star === "*") {
      slots[k] = new Tuple(args.slice(at));
      at = Math.max(at, args.length);
    } else if (star === "**") slots[k] = new PyDict();
    else if (at < args.length) slots[k] = args[at++];
  }
  const plain = () => params.filter((one) => !one.star).length;
  if (at < args.length) fail("TypeError", `${code.name}() takes ${plain()} arguments, and ${args.length} were given`);
  for (const [name, x] of named) {
    const k = params.findIndex((one) => one.name === name && !one.star), rest = params.findIndex((one) => one.star === "**");
    if (k < 0 && rest >= 0) slots[rest].rows.set(name, [name, x]);
    else if (k < 0) fail("TypeError", `${code.name}() has no argument named '${name}'`);
    else slots[k] = x;
  }
  for (let k = 0; k < params.length; k++) {
    if (slots[k] !== undefined) continue;
    if (f.defaults[k] === undefined) fail("TypeError", `${code.name}() is missing its argument '${params[k].name}'`);
    slots[k] = f.defaults[k];
  }
  if (run.deep >= DEEPEST) fail("RecursionError", "maximum recursion depth exceeded");
  tick();
  run.deep += 1;
  const { line } = run;
  try {
    const found = code.body(frame);
    return found === undefined ? null : found.value;
  } catch (error) {
    if (error instanceof RangeError) fail("RecursionError", "maximum recursion depth exceeded");
    throw error;
  } finally {
    run.deep -= 1;
    run.line = line;
  }
}

/** @param {any} x @param {string} name @returns {any} undefined where there is none */
export function attribute(x, name) {
  if (x instanceof PyObject) {
    const own = x.d.get(name);
    if (own !== undefined) return own;
    const found = x.cls.find(name);
    if (found instanceof PyFunction) return new Method(x, found);
    if (found instanceof Mark) return found.kind === "property" ? call(found.f, [x])
      : found.kind === "static" ? found.f : new Method(x.cls, found.f);
    if (found !== undefined) return found;
    if (name === "__class__") return x.cls;
    if (name === "__dict__") return dictOf(x.d);
  } else if (x instanceof PyClass) {
    if (name === "__name__") return x.name;
    const found = x.find(name);
    return found instanceof Mark ? (found.kind === "class" ? new Method(x, found.f) : found.f) : found;
  } else if (x instanceof Super) {
    const found = x.cls.base?.find(name);
    if (found instanceof PyFunction) return new Method(x.self, found);
    return found ?? (name === "__init__" ? () => null : undefined);
  } else if (x instanceof Module) return x.dict.get(name);
  else if (x instanceof PyFunction) return name === "__name__" ? x.code.name : x.d.get(name);
  else if (x instanceof Type && name === "__name__") return x.name;
  return METHODS[typeName(x)]?.[name]?.bind(null, x);
}

/** @param {any} x @param {string} name */
export function attributeOf(x, name) {
  const found = attribute(x, name);
  if (found !== undefined) return found;
  const who = x instanceof PyClass ? `type object '${x.name}'` : `'${typeName(x)}' object`;
  return fail("AttributeError", `${who} has no attribute '${name}'`);
}

/** x.name = value. @param {any} x @param {string} name @param {any} value */
export function setAttribute(x, name, value) {
  if (x instanceof PyObject || x instanceof PyFunction) x.d.set(name, value);
  else if (x instanceof PyClass) x.dict.set(name, value);
  else fail("AttributeError", `'${typeName(x)}' object has no attribute '${name}'`);
}

function dictOf(map) {
  const out = new PyDict();
  for (const [key, value] of map) out.rows.set(key, [key, value]);
  return out;
}

/** @param {any} at @param {number} n */
export function place(at, n, what = "list") {
  if (!whole(at)) fail("TypeError", `${what} indices must be integers, not ${typeName(at)}`);
  const k = Number(at) < 0 ? Number(at) + n : Number(at);
  return k >= 0 && k < n ? k : fail("IndexError", `${what} index out of range`);
}

/** x[at], with a slice too. @param {any} x @param {any} at */
export function itemOf(x, at) {
  if (at instanceof Slice) return sliced(x, at);
  if (Array.isArray(x)) return x[place(at, x.length)];
  if (x instanceof Tuple) return x.items[place(at, x.items.length, "tuple")];
  if (typeof x === "string") return x[place(at, x.length, "string")];
  if (x instanceof PyDict) {
    const row = x.rows.get(keyOf(at));
    return row ? row[1] : fail("KeyError", pyRepr(at));
  }
  if (x instanceof Range) return [...counted(x)][place(at, lengthOf(x), "range object")];
  if (x instanceof PyObject && x.cls.find("__getitem__")) return call(x.cls.find("__getitem__"), [x, at]);
  return fail("TypeError", `'${typeName(x)}' object is not subscriptable`);
}

export class Slice {
  constructor(from, to, by) { [this.from, this.to, this.by] = [from, to, by]; }
}
function sliced(x, { from, to, by }) {
  const all = Array.isArray(x) ? x : x instanceof Tuple ? x.items : typeof x === "string" ? [...x]
    : fail("TypeError", "this has no slices");
  const step = by === null ? 1 : Number(by), n = all.length, out = [];
  if (step === 0) fail("ValueError", "slice step cannot be zero");
  const clip = (k, low, high) => Math.max(low, Math.min(high, Number(k) < 0 ? Number(k) + n : Number(k)));
  const first = from === null ? (step > 0 ? 0 : n - 1) : clip(from, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  const last = to === null ? (step > 0 ? n : -1) : clip(to, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  for (let k = first; step > 0 ? k < last : k > last; k += step) out.push(all[k]);
  return Array.isArray(x) ? out : typeof x === "string" ? out.join("") : new Tuple(out);
}

/** x[at] = value, with a slice of a list too. @param {any} x @param {any} at @param {any} value */
export function setItem(x, at, value) {
  if (Array.isArray(x) && !(at instanceof Slice)) x[place(at, x.length, "list assignment")] = value;
  else if (Array.isArray(x)) {
    const n = x.length, edge = (k, none) => (k === null ? none
      : Math.max(0, Math.min(n, Number(k) < 0 ? Number(k) + n : Number(k))));
    x.splice(edge(at.from, 0), Math.max(0, edge(at.to, n) - edge(at.from, 0)), ...over(value));
  } else if (x instanceof PyDict) x.rows.set(keyOf(at), [x.rows.get(keyOf(at))?.[0] ?? at, value]);
  else if (x instanceof PyObject && x.cls.find("__setitem__")) call(x.cls.find("__setitem__"), [x, at, value]);
  else fail("TypeError", `'${typeName(x)}' object takes no items`);
}

// -- what the language brings

export const int = (x) => BigInt(x);
export const list = (x) => [...over(x)];
/** The items in order, by the key and the way round that were named. @param {any[]} items @param {Map<string, any>} named */
export function sorted(items, named) {
  const key = named.get("key"), rows = items.map((x) => [key ? call(key, [x]) : x, x]);
  rows.sort(([a], [b]) => (truth(compared("<", a, b)) ? -1 : truth(compared("<", b, a)) ? 1 : 0));
  if (named.has("reverse") && truth(named.get("reverse"))) rows.reverse();
  return rows.map(([, x]) => x);
}
function popped(rows, at) {
  if (!rows.length) fail("IndexError", "pop from empty list");
  return rows.splice(at === undefined ? rows.length - 1 : place(at, rows.length, "pop"), 1)[0];
}

const METHODS = {
  list: {
    append: (x, [one]) => (x.push(one), null), pop: (x, [at]) => popped(x, at),
    extend: (x, [more]) => (x.push(...list(more)), null),
    insert: (x, [at, one]) => (x.splice(Number(at), 0, one), null), reverse: (x) => (x.reverse(), null),
    clear: (x) => ((x.length = 0), null),
    copy: (x) => [...x], count: (x, [one]) => int(x.filter((each) => equal(each, one)).length),
    index: (x, [one]) => int(Math.max(x.findIndex((each) => equal(each, one)), -1) < 0
      ? fail("ValueError", `${pyRepr(one)} is not in list`) : x.findIndex((each) => equal(each, one))),
    remove: (x, [one]) => {
      const k = x.findIndex((each) => equal(each, one));
      return k < 0 ? fail("ValueError", "list.remove(x): x not in list") : (x.splice(k, 1), null);
    },
    sort: (x, _, named) => (x.splice(0, x.length, ...sorted([...x], named)), null),
  },
  set: {
    add: (x, [one]) => (x.add(one), null), discard: (x, [one]) => (x.rows.delete(keyOf(one)), null),
    remove: (x, [one]) => (x.rows.delete(keyOf(one)) ? null : fail("KeyError", pyRepr(one))),
    copy: (x) => new PySet([...x.rows.values()]),
    clear: (x) => (x.rows.clear(), null),
    update: (x, sets) => { for (const more of sets) for (const one of over(more)) x.add(one); return null; },
    union: (x, sets) => new PySet([...x.rows.values(), ...sets.flatMap(list)]),
  },
  dict: {
    get: (x, [key, other = null]) => x.rows.get(keyOf(key))?.[1] ?? other,
    keys: (x) => [...x.rows.values()].map(([key]) => key),
    values: (x) => [...x.rows.values()].map(([, value]) => value),
    items: (x) => [...x.rows.values()].map((row) => new Tuple([...row])),
    pop: (x, [key, other]) => {
      const row = x.rows.get(keyOf(key));
      x.rows.delete(keyOf(key));
      return row ? row[1] : other ?? fail("KeyError", pyRepr(key));
    },
    setdefault: (x, [key, other = null]) => {
      if (!x.rows.has(keyOf(key))) x.rows.set(keyOf(key), [key, other]);
      return x.rows.get(keyOf(key))[1];
    },
    update: (x, [more]) => { for (const [key, row] of more.rows) x.rows.set(key, [...row]); return null; },
  },
  str: {
    join: (x, [parts]) => list(parts).map((one) =>
      (typeof one === "string" ? one : fail("TypeError", "join needs texts"))).join(x),
    split: (x, [by]) => (by === undefined || by === null ? x.split(/\s+/).filter(Boolean) : x.split(by)),
    strip: (x) => x.trim(),
    upper: (x) => x.toUpperCase(), lower: (x) => x.toLowerCase(), startsWith: undefined,
    startswith: (x, [one]) => x.startsWith(one),
    endswith: (x, [one]) => x.endsWith(one), replace: (x, [a, b]) => x.replaceAll(a, b),
    format: () => fail("TypeError", "write an f-string here"),
  },
  tuple: {
    index: (x, [one]) => METHODS.list.index(x.items, [one]), count: (x, [one]) => METHODS.list.count(x.items, [one]),
  },
};

