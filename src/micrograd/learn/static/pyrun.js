// Runs what pyparse.js has read: a tree becomes functions of a frame, so that the page needs neither `eval` nor a server.
import { SyntaxFault, parsePython } from "./pyparse.js";
import { Raised, Tuple, PyDict, PySet, PyClass, PyObject, PyFunction, Super, run, tick, fail, typeName, keyOf,
  pyRepr, pyStr, truth, over, DUNDERS, isNumber, binary, compared, call, attribute, attributeOf, setAttribute, place,
  itemOf, Slice, setItem, list } from "./pyvalues.js";
import { shaped, belongs, TYPES, builtins } from "./pybuiltins.js";

// -- from a tree to functions

const BREAK = { way: "break" }, CONTINUE = { way: "continue" }; // how a block was left, beside { value } for a return

/** The names that a body makes its own. @param {any[]} body @param {Set<string>} own @param {Set<string>} others */
function assigned(body, own, others) {
  const target = (tree) => {
    if (tree.k === "name") own.add(tree.name);
    else if (tree.k === "starred") target(tree.value);
    else if (tree.items) tree.items.forEach(target);
  };
  for (const one of body) {
    if (one.k === "assign") one.targets.forEach(target);
    else if (one.k === "change" || one.k === "for") target(one.target);
    else if (one.k === "def" || one.k === "class") own.add(one.name);
    else if (one.k === "import") (one.names ?? [["", one.as]]).forEach(([, name]) => own.add(name));
    else if (one.k === "global" || one.k === "nonlocal") one.names.forEach((name) =>
      others.add(one.k === "global" ? `global ${name}` : name));
    for (const inner of [one.body, one.after]) if (inner && one.k !== "def" && one.k !== "class") assigned(inner, own, others);
    for (const handler of one.handlers ?? []) {
      if (handler.name) own.add(handler.name);
      assigned(handler.body, own, others);
    }
  }
}

/** A stack that is full is an exception of Python. */
function deepest() {
  try {
    return fail("RecursionError", "maximum recursion depth exceeded");
  } catch (error) {
    return error;
  }
}

class Scope {
  /** @param {string} kind "module", "class" or "function" @param {Scope | null} up */
  constructor(kind, up, names = /** @type {Iterable<string>} */ ([]), others = new Set()) {
    this.others = others; // "global x" for names of the module
    [this.kind, this.up, this.slots] = [kind, up, new Map()];
    for (const name of names) this.slots.set(name, this.slots.size);
    /** @type {any} */ this.owner = null; // of a method: where its class stands, for super()
  }
}

/** A space in which code runs: its names, what it prints, and how long it may take.
 * @param {{print?: (text: string) => void, random?: () => number}} [host] */
export function pythonSpace({ print = () => {}, random = Math.random } = {}) {
  const { names: known, modules } = builtins(print, random), globals = new Map();

  /** @param {any} tree @param {Scope} scope @returns {(f: any) => any} */
  function expression(tree, scope) {
    const inner = (one) => expression(one, scope), { line } = tree;
    switch (tree.k) {
      case "constant": case "num": return () => tree.value;
      case "name": return read(tree.name, scope);
      case "format": {
        const parts = tree.parts.map((part) => (typeof part === "string" ? part : { f: inner(part.value), how: part.how,
          spec: part.spec.includes("{") ? inner(parsePython(`f${JSON.stringify(part.spec)}`)[0].value) : () => part.spec }));
        return (f) => parts.map((part) => {
          if (typeof part === "string") return part;
          const x = part.f(f), spec = part.spec(f);
          return spec ? shaped(part.how === "r" ? pyRepr(x) : x, spec) : part.how === "r" ? pyRepr(x) : pyStr(x);
        }).join("");
      }
      case "tuple": case "list": case "set": {
        const items = several(tree.items, scope);
        return tree.k === "list" ? items : tree.k === "set" ? (f) => new PySet(items(f)) : (f) => new Tuple(items(f));
      }
      case "dict": {
        const pairs = tree.pairs.map(([key, value]) => [inner(key), inner(value)]);
        return (f) => {
          const out = new PyDict();
          for (const [key, value] of pairs) setItem(out, key(f), value(f));
          return out;
        };
      }
      case "made": return made(tree, scope);
      case "lambda": return closure({ ...tree, name: "<lambda>", body: [{ k: "return", line, value: tree.value }] }, scope);
      case "choose": {
        const [test, yes, no] = [inner(tree.test), inner(tree.yes), inner(tree.no)];
        return (f) => (truth(test(f)) ? yes(f) : no(f));
      }
      case "or": case "and": {
        const [a, b] = [inner(tree.a), inner(tree.b)], or = tree.k === "or";
        return (f) => { const x = a(f); return truth(x) === or ? x : b(f); };
      }
      case "not": { const value = inner(tree.value); return (f) => !truth(value(f)); }
      case "compare": return comparison(tree, scope);
      case "binary": {
        const [a, b, { op }] = [inner(tree.a), inner(tree.b), tree];
        if (op === "*") return (f) => {
          const x = a(f), y = b(f);
          return typeof x === "number" && typeof y === "number" ? x * y : binary(op, x, y);
        };
        if (op === "+") return (f) => {
          const x = a(f), y = b(f);
          return typeof x === "number" && typeof y === "number" ? x + y : binary(op, x, y);
        };
        return (f) => binary(op, a(f), b(f));
      }
      case "unary": {
        const value = inner(tree.value), { op } = tree;
        return (f) => {
          const x = value(f);
          if (typeof x === "number" && op !== "~") return op === "-" ? -x : x;
          if (isNumber(x)) return op === "-" ? -BigInt(x) : op === "~" ? ~BigInt(x) : BigInt(x);
          const own = attribute(x, { "-": "__neg__", "+": "__pos__", "~": "__invert__" }[op]);
          return own === undefined ? fail("TypeError", `bad operand type for unary ${op}: '${typeName(x)}'`) : call(own, []);
        };
      }
      case "attr": {
        const of = inner(tree.of), { name } = tree;
        return (f) => {
          const x = of(f);
          if (x instanceof PyObject) {
            const own = x.d.get(name);
            if (own !== undefined) return own;
          }
          return attributeOf(x, name);
        };
      }
      case "index": { const [of, at] = [inner(tree.of), inner(tree.at)]; return (f) => itemOf(of(f), at(f)); }
      case "slice": {
        const [from, to, by] = [tree.from, tree.to, tree.by].map((one) => (one ? inner(one) : () => null));
        return (f) => new Slice(from(f), to(f), by(f));
      }
      case "call": return called(tree, scope);
      default: throw new SyntaxFault(`this cannot stand here`, line);
    }
  }

  /** @param {any[]} trees @param {Scope} scope @returns {(f: any) => any[]} */
  function several(trees, scope) {
    const parts = trees.map((one) => [one.k === "starred", expression(one.k === "starred" ? one.value : one, scope)]);
    if (parts.some(([star]) => star)) return (f) => parts.flatMap(([star, one]) => (star ? list(one(f)) : [one(f)]));
    const plain = parts.map(([, one]) => one), [a, b] = plain;
    if (plain.length === 1) return (f) => [a(f)];
    if (plain.length === 2) return (f) => [a(f), b(f)];
    return (f) => plain.map((one) => one(f));
  }

  function called(tree, scope) {
    const args = several(tree.args, scope), named = tree.named.map(([name, value]) => [name, expression(value, scope)]),
      { line } = tree;
    if (tree.f.k === "name" && tree.f.name === "super" && !tree.args.length) {
      let owner = scope;
      while (owner && !owner.owner) owner = /** @type {any} */ (owner.up);
      if (!owner) throw new SyntaxFault("super() stands in a method of a class", line);
      const cls = read(owner.owner, scope), self = read(/** @type {any} */ ([...owner.slots.keys()][0]), scope);
      return (f) => new Super(cls(f), self(f));
    }
    const of = expression(tree.f, scope);
    return (f) => {
      const found = of(f), given = args(f);
      run.line = line;
      return call(found, given, named.length ? named.map(([name, value]) => [name, value(f)]) : []);
    };
  }

  function comparison(tree, scope) {
    const first = expression(tree.first, scope), rest = tree.rest.map((one) => expression(one, scope)), { ops } = tree;
    if (ops.length === 1) return (f) => compared(ops[0], first(f), rest[0](f));
    return (f) => {
      let a = first(f), found = /** @type {any} */ (true);
      for (let k = 0; k < ops.length; k++) {
        const b = rest[k](f);
        found = compared(ops[k], a, b);
        if (!truth(found)) return found;
        a = b;
      }
      return found;
    };
  }

  /** A comprehension, with names of its own. */
  function made(tree, scope) {
    const own = new Set();
    assigned(tree.loops.map(({ target }) => ({ k: "assign", targets: [target] })), own, new Set());
    const mine = new Scope("function", scope, own), value = expression(tree.value, mine);
    const loops = tree.loops.map(({ target, from, tests }, k) =>
      ({ set: store(target, mine), from: expression(from, k ? mine : scope),
      tests: tests.map((one) => expression(one, mine)) }));
    function* each(f, k, first) {
      for (const one of over(k ? loops[k].from(f) : first)) {
        tick();
        loops[k].set(f, one);
        if (!loops[k].tests.every((test) => truth(test(f)))) continue;
        if (k + 1 < loops.length) yield* each(f, k + 1, null);
        else yield value(f);
      }
    }
    return (f) => {
      const items = each({ v: new Array(own.size), up: f }, 0, loops[0].from(f));
      if (tree.kind === "list") return [...items];
      if (tree.kind === "set") return new PySet(items);
      if (tree.kind === "gen") return items;
      const out = new PyDict();
      for (const pair of items) setItem(out, pair.items[0], pair.items[1]);
      return out;
    };
  }

  /** Where a name stands: how many frames up, and in which slot; null for a global.
   * @param {string} name @param {Scope} scope */
  function find(name, scope) {
    let up = 0;
    for (let one = /** @type {any} */ (scope); one.kind !== "module"; one = one.up, up++) {
      if (one.others.has(`global ${name}`)) return null;
      if (one.slots.has(name) && (one.kind === "function" || one === scope))
        return { up, slot: one.slots.get(name), kind: one.kind };
    }
    return null;
  }

  function read(name, scope) {
    const at = find(name, scope);
    const global = () => globals.get(name) ?? (globals.has(name) ? null : known.get(name))
      ?? fail("NameError", `name '${name}' is not defined`);
    if (!at) return () => { const x = globals.get(name); return x === undefined ? global() : x; };
    const { up, slot } = at, none = () => fail("UnboundLocalError", `'${name}' has no value yet in this function`);
    if (at.kind === "class") return (f) => f.v[slot] ?? (f.v[slot] === null ? null : global());
    if (up === 0) return (f) => { const x = f.v[slot]; return x === undefined ? none() : x; };
    if (up === 1) return (f) => { const x = f.up.v[slot]; return x === undefined ? none() : x; };
    return (f) => {
      let frame = f;
      for (let k = 0; k < up; k++) frame = frame.up;
      const x = frame.v[slot];
      return x === undefined ? none() : x;
    };
  }

  /** @param {any} tree @param {Scope} scope @returns {(f: any, x: any) => void} */
  function store(tree, scope) {
    if (tree.k === "name") {
      const at = find(tree.name, scope), { name } = tree;
      if (!at) return (_, x) => { globals.set(name, x); };
      const { up, slot } = at;
      if (up === 0) return (f, x) => { f.v[slot] = x; };
      return (f, x) => {
        let frame = f;
        for (let k = 0; k < up; k++) frame = frame.up;
        frame.v[slot] = x;
      };
    }
    if (tree.k === "attr") { const of = expression(tree.of, scope); return (f, x) => setAttribute(of(f), tree.name, x); }
    if (tree.k === "index") {
      const [of, at] = [expression(tree.of, scope), expression(tree.at, scope)];
      return (f, x) => setItem(of(f), at(f), x);
    }
    const star = tree.items.findIndex((one) => one.k === "starred"), n = tree.items.length;
    const parts = tree.items.map((one) => store(one.k === "starred" ? one.value : one, scope));
    return (f, x) => {
      const items = list(x), few = () => fail("ValueError", `${n} names stand for ${items.length} values`);
      if (star < 0 ? items.length !== n : items.length < n - 1) few();
      const extra = items.length - n + 1;
      const given = star < 0 ? items : [...items.slice(0, star), items.slice(star, star + extra), ...items.slice(star + extra)];
      parts.forEach((one, k) => one(f, given[k]));
    };
  }

  /** A function that makes the function. */
  function closure(tree, scope) {
    const own = new Set(tree.params.map(({ name }) => name)), others = new Set();
    assigned(tree.body, own, others);
    const names = [...own].filter((name) => !others.has(name) && !others.has(`global ${name}`));
    const mine = new Scope("function", scope, names, others),
      values = tree.params.map(({ value }) => value && expression(value, scope));
    if (scope.kind === "class") mine.owner = scope.owner;
    const code = { name: tree.name, params: tree.params, slots: names.length, body: block(tree.body, mine) };
    return (f) => new PyFunction(code, values.map((value) => (value ? value(f) : undefined)), f);
  }

  /** Statements in order; undefined, or how they were left: { value } for a return.
   * @param {any[]} trees @param {Scope} scope */
  function block(trees, scope) {
    const all = trees.filter(({ k }) => k !== "pass" && k !== "global" && k !== "nonlocal").map((one) =>
      [one.line, statement(one, scope)]);
    if (all.length === 1) {
      const [[line, only]] = all;
      return (f) => { run.line = line; return only(f); };
    }
    return (f) => {
      for (let k = 0; k < all.length; k++) {
        run.line = all[k][0];
        const left = all[k][1](f);
        if (left !== undefined) return left;
      }
      return undefined;
    };
  }

  /** @param {any} tree @param {Scope} scope @returns {(f: any) => any} */
  function statement(tree, scope) {
    const inner = (one) => expression(one, scope), { line } = tree;
    switch (tree.k) {
      case "do": { const value = inner(tree.value); return (f) => { value(f); }; }
      case "assign": {
        const value = inner(tree.value), targets = tree.targets.map((one) => store(one, scope));
        if (targets.length === 1) return (f) => { targets[0](f, value(f)); };
        return (f) => { const x = value(f); for (const one of targets) one(f, x); };
      }
      case "change": return change(tree, scope);
      case "return": { const value = tree.value ? inner(tree.value) : () => null; return (f) => ({ value: value(f) }); }
      case "if": {
        const [test, yes, no] = [inner(tree.test), block(tree.body, scope), block(tree.after, scope)];
        return (f) => (truth(test(f)) ? yes(f) : no(f));
      }
      case "while": return loop(tree, scope, () => inner(tree.test));
      case "for": return loop(tree, scope, null);
      case "break": return () => BREAK;
      case "continue": return () => CONTINUE;
      case "assert": {
        const test = inner(tree.test), text = tree.text ? inner(tree.text) : null;
        return (f) => {
          if (!truth(test(f))) fail("AssertionError", text ? pyStr(text(f)) : `line ${line}: this does not hold`);
        };
      }
      case "raise": {
        if (!tree.value) return () => fail("RuntimeError", "there is no exception to raise again");
        const value = inner(tree.value);
        return (f) => { const x = value(f); throw new Raised(x instanceof PyClass ? call(x, []) : x, line); };
      }
      case "try": return attempt(tree, scope);
      case "del": {
        const [one] = tree.targets;
        if (one.k === "name" && !find(one.name, scope)) return () => { globals.delete(one.name); };
        if (one.k !== "index") throw new SyntaxFault("`del` takes an item here, as in `del x[0]`", line, false);
        const [of, at] = [inner(one.of), inner(one.at)];
        return (f) => {
          const x = of(f), key = at(f);
          if (x instanceof PyDict) x.rows.delete(keyOf(key));
          else x.splice(place(key, x.length), 1);
        };
      }
      case "import": return imported(tree, scope);
      case "several": return block(tree.body, scope);
      case "def": {
        const make = closure(tree, scope), set = store({ k: "name", name: tree.name }, scope), marks = tree.marks.map(inner);
        return (f) => { set(f, marks.reduceRight((x, mark) => call(mark(f), [x]), make(f))); };
      }
      case "class": return classed(tree, scope);
      default: throw new SyntaxFault("this statement is not part of the Python of this page", line, false);
    }
  }

  function change(tree, scope) {
    const value = expression(tree.value, scope), { op, target } = tree, set = store(target, scope);
    const joined = (a, b) => {
      if (op === "+" && Array.isArray(a)) return (a.push(...over(b)), a);
      const own = a instanceof PyObject ? a.cls.find(`__i${DUNDERS[op]}__`) : undefined;
      return own ? call(own, [a, b]) : binary(op, a, b);
    };
    if (target.k === "attr") {
      const of = expression(target.of, scope);
      return (f) => {
        const x = of(f), old = attributeOf(x, target.name);
        setAttribute(x, target.name, joined(old, value(f)));
      };
    }
    if (target.k === "index") {
      const [of, at] = [expression(target.of, scope), expression(target.at, scope)];
      return (f) => { const x = of(f), key = at(f), old = itemOf(x, key); setItem(x, key, joined(old, value(f))); };
    }
    const old = expression(target, scope);
    return (f) => { const x = old(f); set(f, joined(x, value(f))); };
  }

  function loop(tree, scope, test) {
    const body = block(tree.body, scope), after = block(tree.after, scope);
    const turn = (f) => { tick(); return body(f); };
    if (test) {
      const holds = test();
      return (f) => {
        while (truth(holds(f))) {
          const left = turn(f);
          if (left === BREAK) return undefined;
          if (left !== undefined && left !== CONTINUE) return left;
        }
        return after(f);
      };
    }
    const from = expression(tree.from, scope), set = store(tree.target, scope);
    return (f) => {
      for (const one of over(from(f))) {
        set(f, one);
        const left = turn(f);
        if (left === BREAK) return undefined;
        if (left !== undefined && left !== CONTINUE) return left;
      }
      return after(f);
    };
  }

  function attempt(tree, scope) {
    const body = block(tree.body, scope), after = block(tree.after, scope);
    const handlers = tree.handlers.map(({ kind, name, body: inner }) => ({ kind: kind && expression(kind, scope),
      set: name ? store({ k: "name", name }, scope) : null, body: block(inner, scope) }));
    return (f) => {
      const { deep } = run;
      try {
        const left = body(f);
        if (left !== undefined) return left;
      } catch (error) {
        const raised = error instanceof RangeError ? null : error;
        if (!(raised instanceof Raised)) throw error;
        run.deep = deep;
        const mine = handlers.find(({ kind }) => !kind || belongs(raised.value, kind(f)));
        if (!mine) throw error;
        mine.set?.(f, raised.value);
        return mine.body(f);
      }
      return after(f);
    };
  }

  function imported(tree, scope) {
    const set = (tree.names ?? [["", tree.as]]).map(([name, as]) => [name, store({ k: "name", name: as }, scope)]);
    return (f) => {
      const found = modules.get(tree.module);
      if (!found) fail("ModuleNotFoundError",
        `there is no module '${tree.module}' on this page; it has: ${[...modules.keys()].join(", ")}`);
      for (const [name, to] of set) to(f, name ? attributeOf(found, name) : found);
    };
  }

  function classed(tree, scope) {
    const own = new Set();
    assigned(tree.body, own, new Set());
    const mine = new Scope("class", scope, own), names = [...own], base = tree.bases.map((one) => expression(one, scope));
    mine.owner = tree.name;
    const body = block(tree.body, mine), set = store({ k: "name", name: tree.name }, scope);
    return (f) => {
      const frame = { v: new Array(names.length), up: f }, found = base[0]?.(f);
      if (found !== undefined && found !== TYPES.object && !(found instanceof PyClass))
        fail("TypeError", "a class can only be made from a class here");
      body(frame);
      set(f, new PyClass(tree.name, found instanceof PyClass ? found : null,
        new Map(names.map((name, k) => [name, frame.v[k]]).filter(([, x]) => x !== undefined))));
    };
  }

  /** Run something that may take so many steps. @param {number} steps @param {() => any} what */
  function bounded(steps, what) {
    const before = { ...run };
    Object.assign(run, { left: steps, deep: 0, line: 0 });
    try {
      return what();
    } catch (error) {
      const raised = error instanceof RangeError ? deepest() : error;
      if (raised instanceof Raised) raised.keepText();
      throw raised;
    } finally {
      Object.assign(run, { left: before.left, deep: before.deep });
    }
  }
  return {
    /** Run a program in this space. @param {string} text @param {number} [steps] @param {number} [from] its first line */
    execute(text, steps = 3e6, from = 1) {
      const all = block(parsePython(text, from), new Scope("module", null));
      bounded(steps, () => {
        const left = all(null);
        if (left?.way) throw new SyntaxFault(`'${left.way}' stands in no loop`, run.line);
        if (left) throw new SyntaxFault("'return' stands in no function", run.line);
      });
    },
    /** What a name stands for; undefined if there is none. @param {string} name */
    get: (name) => globals.get(name),
    /** @param {string} name @param {any} x */
    set: (name, x) => { globals.set(name, x); },
    /** Call something of this space. @param {any} f @param {any[]} args @param {number} [steps] */
    call: (f, args, steps = 3e6) => bounded(steps, () => call(f, args)),
    /** @param {any} x @param {string} name */
    attribute: (x, name) => attribute(x, name),
    /** @param {any} x @param {string} name @param {any} value */
    setAttribute,
  };
}

