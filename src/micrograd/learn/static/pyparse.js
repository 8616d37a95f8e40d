// The part of Python that the course asks for, read into a tree: functions, classes, loops, comprehensions, f-strings.
// What is outside of it is told by name, never read as something else.

/** @typedef {{t: string, v: any, line: number}} Token */
/** @typedef {{k: string, line: number, [field: string]: any}} Tree */

/** Code that cannot be read: a mistake in Python (`known` is true), or Python that this reader does not have. */
export class SyntaxFault extends Error {
  /** @param {string} text @param {number} line @param {boolean} [known] */
  constructor(text, line, known = true) {
    super(text);
    this.line = line;
    this.known = known;
  }
}

const WORDS = new Set(("and or not if elif else for while in is def class return lambda pass break continue True False None "
  + "global nonlocal import from as assert raise try except finally del with yield async await").split(" "));
const OUTSIDE = new Set(["with", "yield", "async", "await", "finally"]);
const PY_SIGNS = ["**=", "//=", ">>=", "<<=", "...", "**", "//", "->", ":=", "==", "!=", "<=", ">=", "+=", "-=", "*=",
  "/=", "%=", "|=", "&=", "^=", "<<", ">>", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";",
  "=", "<", ">", "@", "|", "&", "^", "~"];
const ESCAPES = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"', 0: "\0" };

/** @param {string} text @returns {Token[]} */
function tokens(text, line = 1) {
  /** @type {Token[]} */
  const found = [], depths = [0];
  let at = 0, open = 0, begins = true;
  const add = (t, v) => found.push({ t, v, line });
  while (at < text.length) {
    if (begins && !open) {
      const [space] = /** @type {RegExpMatchArray} */ (text.slice(at).match(/^[ \t]*/));
      const rest = text[at + space.length];
      if (rest === undefined) break;
      if (rest === "\n" || rest === "#" || rest === "\r") {
        const end = text.indexOf("\n", at);
        if (end < 0) break;
        [at, line] = [end + 1, line + 1];
        continue;
      }
      if (space.includes("\t")) throw new SyntaxFault("this line begins with a tab: use four spaces for each level", line);
      const deep = space.length, last = depths[depths.length - 1];
      if (deep > last) {
        depths.push(deep);
        add("in", "");
      }
      while (deep < depths[depths.length - 1]) {
        depths.pop();
        add("de", "");
      }
      if (deep !== depths[depths.length - 1]) throw new SyntaxFault("this line is indented like no line around it", line);
      at += deep;
      begins = false;
    }
    const c = text[at];
    if (c === "\n") {
      if (!open) {
        add("nl", "");
        begins = true;
      }
      [at, line] = [at + 1, line + 1];
    } else if (c === " " || c === "\t" || c === "\r") at += 1;
    else if (c === "#") {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
    } else if (c === "\\" && text[at + 1] === "\n") [at, line] = [at + 2, line + 1];
    else if (/[0-9]/.test(c) || (c === "." && /[0-9]/.test(text[at + 1] ?? ""))) {
      const [word] = /** @type {RegExpMatchArray} */ (
        text.slice(at).match(/^(?:\d[\d_]*)?(?:\.\d[\d_]*|\.)?(?:[eE][+-]?\d+)?/));
      const plain = word.replaceAll("_", "");
      add("num", /[.eE]/.test(word) ? Number(plain) : BigInt(plain));
      at += word.length;
    } else {
      const quoted = text.slice(at).match(/^([fFrRbBuU]{0,2})('''|"""|'|")/),
        word = text.slice(at).match(/^[\p{L}_][\p{L}\p{N}_]*/u);
      if (quoted) at = string(quoted);
      else if (word) {
        add(WORDS.has(word[0]) ? "word" : "name", word[0]);
        at += word[0].length;
      } else {
        const sign = PY_SIGNS.find((one) => text.startsWith(one, at));
        if (!sign) throw new SyntaxFault(`${c} has no meaning here`, line);
        if ("([{".includes(sign)) open += 1;
        if (")]}".includes(sign)) open = Math.max(0, open - 1);
        add("op", sign);
        at += sign.length;
      }
    }
  }
  if (found.length && found[found.length - 1].t !== "nl") add("nl", "");
  for (let k = depths.length - 1; k > 0; k--) add("de", "");
  add("end", "");
  return found;

  /** @param {RegExpMatchArray} head */
  function string(head) {
    const how = head[1].toLowerCase(), quote = head[2], from = line, raw = how.includes("r");
    if (how.includes("b")) throw new SyntaxFault("bytes are not part of the Python of this page", line, false);
    let k = at + head[0].length, said = "";
    for (; !text.startsWith(quote, k); k++) {
      if (k >= text.length || (text[k] === "\n" && quote.length === 1))
        throw new SyntaxFault("this text has no closing quote", from);
      if (text[k] === "\n") line += 1;
      if (text[k] === "\\" && !raw) {
        k += 1;
        if (text[k] === "\n") line += 1;
        else said += ESCAPES[text[k]] ?? `\\${text[k]}`;
      } else said += text[k];
    }
    found.push({ t: how.includes("f") ? "fstr" : "str", v: said, line: from });
    return k + quote.length;
  }
}

/** Whether three dots still stand for something. @param {string} text */
export function hasDots(text) {
  return tokens(text).some(({ t, v }) => t === "op" && v === "...");
}

/** The tree of a program. @param {string} text @param {number} [from] the number of its first line @returns {Tree[]} */
export function parsePython(text, from = 1) {
  return new Reader(tokens(text, from)).program();
}

const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]]; // from loose to tight
const CLOSERS = { "(": ")", "[": "]", "{": "}" };

class Reader {
  /** @param {Token[]} list */
  constructor(list) {
    [this.list, this.at] = [list, 0];
  }
  get now() {
    return this.list[this.at];
  }
  /** @param {...string} signs */
  is(...signs) {
    return (this.now.t === "op" || this.now.t === "word") && signs.includes(this.now.v);
  }
  take() {
    return this.list[this.at++];
  }
  /** @param {...string} signs */
  eat(...signs) {
    return this.is(...signs) ? this.take() : null;
  }
  /** @param {string} sign @param {string} [why] */
  need(sign, why = "") {
    const token = this.eat(sign);
    if (!token) throw new SyntaxFault(why || `${sign} is missing before ${this.shown()}`, this.line());
    return token;
  }
  line() {
    return this.now.t === "nl" || this.now.t === "end" || this.at === 0 ? this.now.line : this.list[this.at].line;
  }
  shown() {
    return { nl: "the end of the line", end: "the end", in: "an indented line", de: "the end of the block" }[this.now.t]
      ?? this.now.v;
  }
  name() {
    if (this.now.t !== "name") throw new SyntaxFault(`a name is missing before ${this.shown()}`, this.line());
    return this.take().v;
  }
  program() {
    const out = [];
    while (this.now.t !== "end") out.push(...this.statement());
    return out;
  }
  /** The statements after a colon. */
  block() {
    this.need(":", `a colon is missing at the end of this line`);
    if (this.now.t !== "nl") return this.simple();
    this.take();
    if (this.now.t !== "in") throw new SyntaxFault("after the colon, an indented line is missing", this.list[this.at - 1].line);
    this.take();
    const out = [];
    while (this.now.t !== "de") out.push(...this.statement());
    this.take();
    return out;
  }
  /** @returns {Tree[]} */
  statement() {
    const { line, v } = this.now;
    if (this.now.t === "in") throw new SyntaxFault("this line is indented, and nothing before it asks for that", line);
    if (this.now.t === "word" && OUTSIDE.has(v))
      throw new SyntaxFault(`\`${v}\` is not part of the Python of this page`, line, false);
    if (this.eat("if")) return [this.branch(line)];
    if (this.eat("while")) return [{ k: "while", line, test: this.expression(), body: this.block(), after: this.otherwise() }];
    if (this.eat("for")) {
      const target = this.targets(), from = (this.need("in"), this.list1());
      return [{ k: "for", line, target, from, body: this.block(), after: this.otherwise() }];
    }
    if (this.is("def", "class", "@")) return [this.definition()];
    if (this.eat("try")) return [this.attempt(line)];
    return this.simple();
  }
  otherwise() {
    return this.eat("else") ? this.block() : [];
  }
  /** @param {number} line @returns {Tree} */
  branch(line) {
    const test = this.expression(), body = this.block(), { line: next } = this.now;
    return { k: "if", line, test, body, after: this.eat("elif") ? [this.branch(next)] : this.otherwise() };
  }
  /** @param {number} line @returns {Tree} */
  attempt(line) {
    const body = this.block(), handlers = [];
    while (this.eat("except")) {
      const kind = this.is(":") ? null : this.expression();
      handlers.push({ kind, name: this.eat("as") ? this.name() : "", body: this.block() });
    }
    if (this.is("finally")) throw new SyntaxFault("`finally` is not part of the Python of this page", this.now.line, false);
    if (!handlers.length) throw new SyntaxFault("`try` needs an `except`", line);
    return { k: "try", line, body, handlers, after: this.otherwise() };
  }
  /** @returns {Tree} */
  definition() {
    const marks = [];
    while (this.eat("@")) {
      marks.push(this.expression());
      this.take();
    }
    const { line } = this.now;
    if (this.eat("class")) {
      const name = this.name(), bases = this.eat("(") ? this.items(")") : [];
      return { k: "class", line, name, bases, body: this.block(), marks };
    }
    this.need("def");
    const name = this.name();
    this.need("(");
    const params = this.params(")");
    this.need(")");
    if (this.eat("->")) this.expression();
    return { k: "def", line, name, params, body: this.block(), marks };
  }
  /** @param {string} end */
  params(end) {
    const out = [];
    while (!this.is(end)) {
      const star = this.eat("*", "**")?.v ?? "", name = this.name();
      if (end === ")" && this.eat(":")) this.expression();
      out.push({ name, star, value: this.eat("=") ? this.expression() : null });
      if (!this.eat(",")) break;
    }
    return out;
  }
  /** One line of statements. @returns {Tree[]} */
  simple() {
    const out = [];
    do {
      if (this.now.t === "nl") break;
      out.push(this.small());
    } while (this.eat(";"));
    if (this.now.t !== "nl" && this.now.t !== "end")
      throw new SyntaxFault(`${this.shown()} does not belong here`, this.now.line);
    if (this.now.t === "nl") this.take();
    return out;
  }
  /** @returns {Tree} */
  small() {
    const { line } = this.now, ends = () => this.now.t === "nl" || this.is(";");
    if (this.eat("pass")) return { k: "pass", line };
    if (this.eat("...")) return { k: "pass", line };
    if (this.eat("break")) return { k: "break", line };
    if (this.eat("continue")) return { k: "continue", line };
    if (this.eat("return")) return { k: "return", line, value: ends() ? null : this.list1() };
    if (this.eat("assert")) return { k: "assert", line, test: this.expression(),
      text: this.eat(",") ? this.expression() : null };
    if (this.eat("raise")) {
      const value = ends() ? null : this.expression();
      if (this.eat("from")) this.expression();
      return { k: "raise", line, value };
    }
    const scope = this.eat("global", "nonlocal");
    if (scope) {
      const names = [this.name()];
      while (this.eat(",")) names.push(this.name());
      return { k: scope.v, line, names };
    }
    if (this.eat("del")) return { k: "del", line, targets: [this.targets()] };
    if (this.eat("import")) {
      const all = [];
      do {
        const name = this.name();
        all.push({ k: "import", line, module: name, names: null, as: this.eat("as") ? this.name() : name });
      } while (this.eat(","));
      return all.length === 1 ? all[0] : { k: "several", line, body: all };
    }
    if (this.eat("from")) {
      const module = this.name();
      this.need("import");
      const names = [];
      do {
        const name = this.name();
        names.push([name, this.eat("as") ? this.name() : name]);
      } while (this.eat(","));
      return { k: "import", line, module, names };
    }
    const first = this.list1();
    if (this.now.t === "op" && /^(\*\*|\/\/|>>|<<|[-+*/%|&^])=$/.test(this.now.v)) {
      const op = this.take().v.slice(0, -1);
      return { k: "change", line, target: this.assignable(first), op, value: this.list1() };
    }
    if (this.eat(":")) {
      this.expression();
      return this.eat("=") ? { k: "assign", line, targets: [this.assignable(first)], value: this.list1() }
        : { k: "pass", line };
    }
    if (!this.is("=")) return { k: "do", line, value: first };
    const targets = [first];
    while (this.eat("=")) targets.push(this.list1());
    const value = targets.pop();
    return { k: "assign", line, targets: targets.map((one) => this.assignable(one)), value };
  }
  /** @param {Tree} tree @returns {Tree} */
  assignable(tree) {
    if (["name", "attr", "index"].includes(tree.k)) return tree;
    if (tree.k === "starred") return { ...tree, value: this.assignable(tree.value) };
    if (tree.k === "tuple" || tree.k === "list") return { ...tree, items: tree.items.map((one) => this.assignable(one)) };
    throw new SyntaxFault("nothing can be assigned to what stands left of the =; a comparison is written ==", tree.line);
  }
  targets() {
    const { line } = this.now, items = [this.target()];
    let several = false;
    while (this.eat(",")) {
      several = true;
      if (this.is("in", "=")) break;
      items.push(this.target());
    }
    return several ? { k: "tuple", line, items } : items[0];
  }
  target() {
    return this.assignable(this.eat("*") ? { k: "starred", line: this.now.line, value: this.postfix() } : this.postfix());
  }
  /** Expressions with commas, which make a tuple. @returns {Tree} */
  list1() {
    const { line } = this.now, items = [this.item()];
    let several = false;
    while (this.eat(",")) {
      several = true;
      if (this.now.t === "nl" || this.is("=", ")", "]", "}", ":")) break;
      items.push(this.item());
    }
    return several || items[0].k === "starred" ? { k: "tuple", line, items } : items[0];
  }
  /** @returns {Tree} */
  item() {
    const { line } = this.now;
    return this.eat("*") ? { k: "starred", line, value: this.binary(0) } : this.expression();
  }
  /** @param {string} end */
  items(end) {
    const out = [];
    while (!this.is(end)) {
      out.push(this.item());
      if (!this.eat(",")) break;
    }
    this.need(end);
    return out;
  }
  /** @returns {Tree} */
  expression() {
    const { line } = this.now;
    if (this.eat("lambda")) {
      const params = this.params(":");
      this.need(":");
      return { k: "lambda", line, params, value: this.expression() };
    }
    const value = this.or();
    if (!this.eat("if")) return value;
    const test = this.or();
    this.need("else");
    return { k: "choose", line, test, yes: value, no: this.expression() };
  }
  or() {
    let a = this.and();
    for (let token; (token = this.eat("or"));) a = { k: "or", line: token.line, a, b: this.and() };
    return a;
  }
  and() {
    let a = this.not();
    for (let token; (token = this.eat("and"));) a = { k: "and", line: token.line, a, b: this.not() };
    return a;
  }
  /** @returns {Tree} */
  not() {
    const token = this.eat("not");
    return token ? { k: "not", line: token.line, value: this.not() } : this.compared();
  }
  compared() {
    const first = this.binary(0), ops = [], rest = [];
    while (this.is("<", ">", "<=", ">=", "==", "!=", "in", "is") || (this.is("not") && this.list[this.at + 1].v === "in")) {
      let op = this.take().v;
      if (op === "not") op = `not ${this.take().v}`;
      if (op === "is" && this.eat("not")) op = "is not";
      ops.push(op);
      rest.push(this.binary(0));
    }
    return ops.length ? { k: "compare", line: first.line, first, ops, rest } : first;
  }
  /** @param {number} level @returns {Tree} */
  binary(level) {
    if (level === LEVELS.length) return this.unary();
    let a = this.binary(level + 1);
    for (let token; (token = this.eat(...LEVELS[level]));)
      a = { k: "binary", op: token.v, line: token.line, a, b: this.binary(level + 1) };
    return a;
  }
  /** @returns {Tree} */
  unary() {
    const token = this.eat("-", "+", "~");
    return token ? { k: "unary", op: token.v, line: token.line, value: this.unary() } : this.power();
  }
  power() {
    const base = this.postfix(), token = this.eat("**");
    return token ? { k: "binary", op: "**", line: token.line, a: base, b: this.unary() } : base;
  }
  /** @returns {Tree} */
  postfix() {
    let tree = this.atom();
    for (;;) {
      const { line } = this.now;
      if (this.eat(".")) tree = { k: "attr", line, of: tree, name: this.name() };
      else if (this.eat("(")) tree = { k: "call", line, f: tree, ...this.given() };
      else if (this.eat("[")) {
        const at = this.place();
        this.need("]");
        tree = { k: "index", line, of: tree, at };
      } else return tree;
    }
  }
  place() {
    const { line } = this.now, part = () => (this.is(":", "]") ? null : this.expression());
    const from = part();
    if (!this.eat(":")) {
      if (!from) throw new SyntaxFault("an index is missing between the brackets", line);
      if (!this.is(",")) return from;
      const items = [from];
      while (this.eat(",")) if (!this.is("]")) items.push(this.expression());
      return { k: "tuple", line, items };
    }
    const to = part();
    return { k: "slice", line, from, to, by: this.eat(":") ? part() : null };
  }
  /** The arguments of a call. */
  given() {
    const args = [], named = [];
    while (!this.is(")")) {
      const { line } = this.now, next = this.list[this.at + 1];
      if (this.eat("*")) args.push({ k: "starred", line, value: this.expression() });
      else if (this.is("**")) throw new SyntaxFault("`**` in a call is not part of the Python of this page", line, false);
      else if (this.now.t === "name" && next.t === "op" && next.v === "=") {
        const name = this.name();
        this.take();
        named.push([name, this.expression()]);
      } else {
        const value = this.expression();
        args.push(this.is("for") ? this.comprehension("gen", value, line) : value);
      }
      if (!this.eat(",")) break;
    }
    this.need(")", `a closing bracket is missing before ${this.shown()}`);
    return { args, named };
  }
  /** @param {string} kind @param {any} value @param {number} line @returns {Tree} */
  comprehension(kind, value, line) {
    const loops = [];
    while (this.eat("for")) {
      const target = this.targets();
      this.need("in");
      const from = this.or(), tests = [];
      while (this.eat("if")) tests.push(this.or());
      loops.push({ target, from, tests });
    }
    return { k: "made", kind, line, value, loops };
  }
  /** @returns {Tree} */
  atom() {
    const { t, v, line } = this.now;
    if (t === "num" || t === "str" || t === "fstr") {
      let tree = this.text();
      while (this.now.t === "str" || this.now.t === "fstr") tree = { k: "binary", op: "+", line, a: tree, b: this.text() };
      return tree;
    }
    if (t === "name") {
      this.take();
      return { k: "name", line, name: v };
    }
    if (t === "word" && v in { True: 1, False: 1, None: 1 }) {
      this.take();
      return { k: "constant", line, value: { True: true, False: false, None: null }[v] };
    }
    if (this.eat("...")) return { k: "constant", line, value: null };
    const open = this.eat("(", "[", "{")?.v;
    if (!open) throw new SyntaxFault(`something is missing before ${this.shown()}`, line);
    return open === "{" ? this.braces(line) : this.brackets(open, line);
  }
  /** @returns {Tree} */
  text() {
    const { t, v, line } = this.take();
    return t === "fstr" ? formatted(v, line) : { k: "constant", line, value: v };
  }
  /** @param {string} open @param {number} line @returns {Tree} */
  brackets(open, line) {
    const close = CLOSERS[open], kind = open === "(" ? "tuple" : "list";
    if (this.eat(close)) return { k: kind, line, items: [] };
    const first = this.item();
    if (this.is("for")) {
      const tree = this.comprehension(open === "(" ? "gen" : "list", first, line);
      this.need(close);
      return tree;
    }
    if (open === "(" && !this.is(",") && first.k !== "starred") {
      this.need(")", `a closing bracket is missing before ${this.shown()}`);
      return first;
    }
    return { k: kind, line, items: this.eat(",") ? [first, ...this.items(close)] : (this.need(close), [first]) };
  }
  /** @param {number} line @returns {Tree} */
  braces(line) {
    if (this.eat("}")) return { k: "dict", line, pairs: [] };
    const first = this.item();
    if (!this.eat(":")) {
      if (this.is("for")) {
        const tree = this.comprehension("set", first, line);
        this.need("}");
        return tree;
      }
      return { k: "set", line, items: this.eat(",") ? [first, ...this.items("}")] : (this.need("}"), [first]) };
    }
    const value = this.expression(), pairs = [[first, value]];
    if (this.is("for")) {
      const tree = this.comprehension("dict", { k: "tuple", line, items: [first, value] }, line);
      this.need("}");
      return tree;
    }
    while (this.eat(",") && !this.is("}")) {
      const key = this.expression();
      this.need(":");
      pairs.push([key, this.expression()]);
    }
    this.need("}");
    return { k: "dict", line, pairs };
  }
}

/** The parts of an f-string. @param {string} text @param {number} line @returns {Tree} */
function formatted(text, line) {
  const parts = [];
  let plain = "", at = 0;
  while (at < text.length) {
    const c = text[at];
    if ((c === "{" || c === "}") && text[at + 1] === c) {
      plain += c;
      at += 2;
    } else if (c === "{") {
      let depth = 1, end = at + 1;
      for (; end < text.length && depth; end++) depth += text[end] === "{" ? 1 : text[end] === "}" ? -1 : 0;
      if (depth) throw new SyntaxFault("a } is missing in this text", line);
      const [, code, how, spec] = /** @type {RegExpMatchArray} */ (
        text.slice(at + 1, end - 1)
          .match(/^((?:[^:!()[\]]|!=|\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^[\]]*\])*)(?:!([rs]))?(?::(.*))?$/s)
        ?? [null, text.slice(at + 1, end - 1), "", ""]);
      const named = code.trimEnd().endsWith("=") && !/[=!<>]=\s*$/.test(code) ? code : "";
      const reader = new Reader(tokens(named ? code.trimEnd().slice(0, -1) : code, line));
      if (plain || named) parts.push(plain + named);
      plain = "";
      parts.push({ value: { ...reader.list1(), line }, how: how || (named && !spec ? "r" : ""), spec: spec ?? "" });
      at = end;
    } else {
      plain += c;
      at += 1;
    }
  }
  if (plain) parts.push(plain);
  return { k: "format", line, parts };
}
