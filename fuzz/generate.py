"""Programs at random: a Python function with branches, loops, early returns, lists, objects, exceptions, helpers and all ops.

    def f(x0, x1):      the arguments; P[0], P[1] … are Values from outside, m is the math module, grad the transform
        ...

A seed gives the same program each time. The fuzzer runs it in every way that micrograd has (check.py), the tests of merged
branches stage it (tests/stage/programs.py).
"""

from __future__ import annotations

import linecache
import random
from importlib import import_module
from types import CodeType
from typing import Any, NamedTuple

from fuzz import loops, objects, results, tables, whole
from micrograd.ops import OF_RULES, OPS

RANDOM = {"philox", "normal"}  # what they return jumps with every bit of their operands
STEPS = ["ceil", "copysign", "floor", "floordiv", "fmod", "mod", "remainder", "round", "sign", "trunc"]
COMPARE = ["eq", "ge", "gt", "le", "lt", "ne"]
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = [n for n, op in OPS.items() if op.arity == 1 and n not in (*STEPS, "neg", "probit", *OF_RULES)]
BINARY = [n for n, op in OPS.items() if op.arity == 2 and n not in (*STEPS, *COMPARE, *OPERATORS, "zeta", *OF_RULES)]
LISTS = [n for n, op in OPS.items() if op.arity < 0]
POSITIVE = {"log", "log2", "log10", "sqrt", "pow", "lgamma", "gamma", "digamma", "trigamma", "cbrt", "log1p", "rsqrt",
            "reciprocal"}  # fmt: skip
INSIDE_1 = {"asin", "acos", "atanh", "erfinv"}
NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.5, 0.1, 0.3, -0.3, 3.0, 1 / 3, 1.5, -2.0]


LIBRARIES = {"itertools": "itertools", "logging": "logging", "np": "numpy", "re": "re", "warnings": "warnings"}


class Program(NamedTuple):
    """The text of a function f over so many arguments, and the numbers of the captured Values."""

    inputs: int
    captured: tuple[float, ...]
    text: str
    tame: bool  # operands are kept inside the domains of their ops, so that derivatives of order 4 exist
    results: bool = False  # it returns anything that a function may return, and not always a number


class Scope(NamedTuple):
    """The names that a block can use, by what they hold."""

    numbers: list[str]
    counters: list[str]
    lists: list[str]
    texts: list[str]
    iterators: list[str]
    helpers: list[str]
    tables: list[str]
    objects: list[str]

    def inner(self) -> Scope:
        return Scope(*[list(names) for names in self])


class Writer:
    """Writes one program, line by line."""

    def __init__(self, seed: int, inputs: int | None = None, results: bool = False) -> None:
        self.r = r = random.Random(seed)
        self.results = results
        self.arranged: Any = None  # how all results of such a program are arranged, if they are arranged alike
        self.inputs = inputs or r.randint(1, 3)
        self.captured = tuple(r.choice(NUMBERS) for _ in range(r.choice((0, 0, 1, 2))))
        self.tame = r.random() < 0.5
        self.size = r.choice((3, 4, 6, 8) if results else (4, 8, 12, 18))  # statements
        arguments = [f"x{i}" for i in range(self.inputs)]
        self.scope = Scope([*arguments, *(f"P[{i}]" for i in range(len(self.captured)))], [], [], [], [], [], [], [])
        self.lines: list[str] = []
        self.depth = 1
        self.loops = self.made = 0
        self.sides: dict[str, tuple[int, int]] = {}  # rows and columns of each table
        self.kinds: dict[str, str] = {}  # the class of each object
        self.classes: set[str] = set()  # those that the program needs
        self.raised = ""  # the exception that a statement here may raise, as something around it catches it

    def program(self) -> Program:
        """The whole program; whatever it made matters for the result, and not only linearly."""
        for made in (tables, objects):
            if self.r.random() < 0.25:
                made.statement(self)
        while self.size > 0:
            self.statement(False)
        s = self.scope
        names = self.r.sample(s.numbers, min(6, len(s.numbers)))
        parts = [self.number(1), *(f"{a} * {self.r.choice(s.numbers)}" for a in names), *s.counters[:1]]
        parts += [f"0.125 * m.sum({name})" for name in s.lists[:2]]
        parts += [f"{name}[-1][0] * {name}[0][-1]" for name in s.tables[:2]] + [
            f"{name}.size" for name in s.objects[:2]
        ]
        self.write(f"return {results.result(self) if self.results else ' + '.join(parts)}")
        head = f"def f({', '.join(f'x{i}' for i in range(self.inputs))}):"
        classes = [objects.CLASSES[name] for name in sorted(self.classes)]
        text = "\n".join([*classes, head, *self.lines]) + "\n"
        return Program(self.inputs, self.captured, text, self.tame, self.results)

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def new(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def assignable(self) -> str:
        return self.r.choice([n for n in self.scope.numbers if n[0] in "xvabo"] or ["x0"])

    # ---- expressions

    def number(self, deep: int = 0) -> str:
        """An expression that is a number."""
        r, s = self.r, self.scope
        kind = r.random()
        if deep > 2 or kind < 0.27:
            return r.choice(s.numbers)
        if kind < 0.35:
            return repr(r.choice(NUMBERS))
        if kind < 0.56:
            return self._operator(
                r.choice(("add", "sub", "mul", "mul", "div")), self.number(deep + 1), self.number(deep + 1)
            )
        if kind < 0.72:
            return self._op(r.choice(UNARY), self.number(deep + 1))
        if kind < 0.77:
            return self._op(r.choice(BINARY), self.number(deep + 1), self.number(deep + 1))
        if kind < 0.785:
            return whole.number(self, deep)
        if kind < 0.80:
            return self._step(r.choice(STEPS), self.number(deep + 1), self.number(deep + 1))
        if kind < 0.84:
            name = r.choice(("abs", "min", "max"))
            return f"{name}({', '.join(self.number(deep + 1) for _ in range(1 if name == 'abs' else 2))})"
        if kind < 0.87:
            test = f"m.{r.choice(COMPARE)}({self.number(2)}, {self.number(2)})"
            return f"m.where({test}, {self.number(deep + 1)}, {self.number(deep + 1)})"
        if kind < 0.90:
            return f"({self.number(deep + 1)} if {self.test(deep + 1)} else {self.number(deep + 1)})"
        if kind < 0.92:
            return self._list_op(r.choice((*LISTS, "sum of Python")))
        if kind < 0.93 and deep < 2:
            return r.choice((loops.fold, tables.number, objects.number))(self)
        if kind < 0.9375 and s.tables:
            return tables.cell(self)
        if kind < 0.945 and s.lists:
            return f"{r.choice(s.lists)}[{r.choice(('0', '-1'))}]"
        if kind < 0.96 and s.counters:
            return f"({self.number(deep + 1)} * {r.choice(s.counters)})"
        if kind < 0.98 and s.helpers:
            return f"{r.choice(s.helpers)}({self.number(deep + 1)}, {self.number(deep + 1)})"
        if deep < 1:
            return self._chosen(f"[{self.number(2)}, {self.number(2)}, {self.number(2)}]")
        return r.choice(s.numbers)

    def _chosen(self, items: str) -> str:
        """One of a few numbers, by their order or that of a key."""
        r = self.r
        way = r.choice(("", "", ", key=abs", ", key=lambda v: -v * v", ", reverse=True"))
        if way and way != ", reverse=True" and r.random() < 0.6:
            return f"{r.choice(('min', 'max'))}({items}{way})"
        return f"sorted({items}{way})[{r.randint(0, 2)}]"

    def _operator(self, name: str, a: str, b: str) -> str:
        if self.tame and name == "div":
            return f"({a} / (1.5 + m.sin({b})))"
        if self.tame and name == "mul":
            return f"({a} * m.sin({b}))"
        return f"({a} {OPERATORS[name]} {b})"

    def _op(self, name: str, *args: str) -> str:
        """An op of the table; of a tame program, each operand inside the domain."""
        if self.tame and name in POSITIVE:
            args = tuple(f"(1.5 + 0.5 * m.sin({a}))" for a in args)
        elif self.tame and name in INSIDE_1:
            args = tuple(f"(0.75 * m.sin({a}))" for a in args)
        elif self.tame and name == "acosh":
            args = tuple(f"(2.5 + m.cos({a}))" for a in args)
        elif self.tame:
            args = tuple(a if a.startswith("m.sin") else f"(1.25 * m.sin({a}))" for a in args)
        return f"m.{name}({', '.join(args)})"

    def _step(self, name: str, a: str, b: str) -> str:
        """Of something that is no whole number, as a rule; by numbers that are not 0."""
        args = (f"(0.3 + 1.7 * {a})", f"(1.25 + 0.5 * m.sin({b}))")
        return f"m.{'whole_' if name in ('floor', 'ceil', 'trunc') else ''}{name}({', '.join(args[: OPS[name].arity])})"

    def _list_op(self, name: str) -> str:
        items = [self.number(2) for _ in range(self.r.choice((2, 4)))]
        if name == "dot":
            half = len(items) // 2
            return f"m.dot([{', '.join(items[:half])}], [{', '.join(items[half:])}])"
        return f"{'sum' if name == 'sum of Python' else 'm.' + name}([{', '.join(items)}])"

    def test(self, deep: int = 0) -> str:
        """An expression that is true or false."""
        r, s = self.r, self.scope
        kind = r.random()
        if kind < 0.5 or deep > 2:
            return f"{self.number(2)} {r.choice(('<', '<=', '>', '>=', '<', '>', '==', '!='))} {self.number(2)}"
        if kind < 0.6:
            return f"{self.number(2)} < {self.number(2)} <= {self.number(2)}"
        if kind < 0.7:
            return f"({self.test(deep + 1)} {r.choice(('and', 'or'))} {self.test(deep + 1)})"
        if kind < 0.75:
            return f"not {self.test(deep + 1)}"
        if kind < 0.8 and s.counters:
            return f"{r.choice(s.counters)} {r.choice(('<', '>', '=='))} {r.randint(0, 4)}"
        if kind < 0.83 and s.texts:
            return f"{r.choice(s.texts)} == {r.choice(('a', 'ab', 'b'))!r}"
        if kind < 0.86 and len(s.lists) > 1:
            return f"{r.choice(s.lists)} is {r.choice(s.lists)}"
        if kind < 0.868:
            return loops.truth(self)
        if kind < 0.9:
            return f"{r.choice(('any', 'all'))}(v > {self.number(2)} for v in [{self.number(2)}, {self.number(2)}])"
        if kind < 0.93:
            return f"{r.choice(s.numbers)} in ({self.number(2)}, {self.number(2)})"
        if kind < 0.96 and s.lists:
            return f"len({r.choice(s.lists)}) > {r.randint(1, 3)}"
        return f"{r.choice(s.numbers)} > 0"

    # ---- statements

    def block(self, count: int, in_loop: bool) -> None:
        """An indented block; what is first assigned in it is not used behind it."""
        outer, self.scope = self.scope, self.scope.inner()
        self.depth += 1
        for _ in range(max(count, 1)):
            self.statement(in_loop)
        self.depth -= 1
        self.scope = outer

    def statement(self, in_loop: bool) -> None:
        r = self.r
        self.size -= 1
        if self.results and r.random() < 0.25:
            results.statement(self)
            return
        if r.random() < 0.2:
            r.choice((tables, objects)).statement(self)
            return
        kind = r.random()
        if self.size <= 0 or self.depth > 4:
            kind *= 0.48
        if kind < 0.15:
            self.write(f"{self.assignable()} = {self.number()}")
        elif kind < 0.22:
            self._assign_new(self.number())
        elif kind < 0.27:
            self.write(f"{self.assignable()} {r.choice(('+=', '-=', '*='))} {self.number(2)}")
        elif kind < 0.30:
            self._counter()
        elif kind < 0.36:
            self._list()
        elif kind < 0.385:
            self._text()
        elif kind < 0.415:
            a, b = self.assignable(), self.assignable()
            self.write(f"{a}, {b} = {b}, {a}")
        elif kind < 0.44:
            self._iterator()
        elif kind < 0.48:
            self._derivative()
        elif kind < 0.72:
            self._if(in_loop)
        elif kind < 0.84 and self.loops < 2:
            loops.loop(self)
        elif kind < 0.88 and in_loop:
            self._guarded(r.choice(("break", "continue")))
        elif kind < 0.90 and self.raised:
            objects.raises(self)
        elif 0.9 < kind < 0.92:
            objects.caught(self, in_loop)
        elif kind < 0.95:
            self._guarded(f"return {results.result(self) if self.results else self.number()}")
        else:
            self._function()

    def _assign_new(self, value: str) -> None:
        name = self.new("v")
        self.write(f"{name} = {value}")
        self.scope.numbers.append(name)

    def _guarded(self, line: str) -> None:
        self.write(f"if {self.test()}:")
        self.write(f"    {line}")

    def _if(self, in_loop: bool) -> None:
        self.write(f"if {self.test()}:")
        self.block(self.r.randint(1, 3), in_loop)
        if self.r.random() < 0.3:
            self.write(f"elif {self.test()}:")
            self.block(self.r.randint(1, 2), in_loop)
        if self.r.random() < 0.5:
            self.write("else:")
            self.block(self.r.randint(1, 3), in_loop)

    def _counter(self) -> None:
        if self.scope.counters and self.r.random() < 0.7:
            self.write(f"{self.r.choice(self.scope.counters)} += {self.r.randint(1, 2)}")
        else:
            self.scope.counters.append(self.new("n"))
            self.write(f"{self.scope.counters[-1]} = {self.r.randint(0, 2)}")

    def _text(self) -> None:
        r, texts = self.r, self.scope.texts
        if texts and r.random() < 0.6:
            self.write(f"{r.choice(texts)} {r.choice(('=', '+='))} {r.choice(('a', 'b'))!r}")
        else:
            texts.append(self.new("t"))
            self.write(f"{texts[-1]} = 'a'")

    def _list(self) -> None:
        r, lists = self.r, self.scope.lists
        kind = r.random()
        if not lists or kind < 0.3:
            self.new_list()
            return
        name = r.choice(lists)
        if kind < 0.45:
            self.write(f"{name}.append({self.number(2)})")
        elif kind < 0.65:
            self.write(f"{name}[{r.choice(('0', '-1'))}] = {self.number(2)}")
        elif kind < 0.75:
            self.write(
                f"{self.assignable()} = {name}.pop({r.choice(('', '0'))}) if len({name}) > 1 else {self.number(2)}"
            )
        elif kind < 0.8:
            self.write(f"{r.choice((f'{name}.reverse()', f'{name}.insert(0, {self.number(2)})', f'{name} *= 2'))}")
        elif kind < 0.92:
            lists.append(self.new("L"))
            self.write(f"{lists[-1]} = {name}{r.choice(('', '', '[:]', '[::-1]'))}")
        else:
            self.write(f"{self.assignable()} = sum({name})")

    def new_list(self) -> None:
        name, items = self.new("L"), f"[{self.number(2)}, {self.number(2)}]"
        self.write(f"{name} = {items}")
        self.scope.lists.append(name)

    def _iterator(self) -> None:
        r, iterators = self.r, self.scope.iterators
        if iterators and r.random() < 0.7:
            self.write(f"{self.assignable()} = next({r.choice(iterators)}, {self.number(2)})")
        else:
            name, items = self.new("it"), f"[{self.number(2)}, {self.number(2)}, {self.number(2)}]"
            self.write(f"{name} = iter({items})")
            iterators.append(name)

    def _derivative(self) -> None:
        """A transform inside: of an expression, by a number of the program. Helpers, which might keep it, are not called."""
        at = self.r.choice(self.scope.numbers)
        outer, self.scope = self.scope, self.scope.inner()
        self.scope.numbers.extend(["t", "t"])
        self.scope.helpers.clear()
        inner = self.number(1)
        self.scope = outer
        self._assign_new(f"m.tanh(grad(lambda t: {inner} + t)({at}))")

    def _function(self) -> None:
        """A helper of two numbers; it may assign a variable of the function around it."""
        r = self.r
        name = self.new("h")
        self.write(f"def {name}(a, b):")
        owner = self.assignable()
        outer, self.scope = self.scope, Scope(["a", "b"], [], [], [], [], [], [], [])
        self.depth += 1
        if r.random() < 0.3 and owner[0] in "xv":
            self.write(f"nonlocal {owner}")
            self.write(f"{owner} = {r.choice((f'{owner} + a', 'b'))}")
        self._guarded(f"return {self.number(1)}")
        self.write(f"return {self.number(1)}")
        self.depth -= 1
        self.scope = outer
        self.scope.helpers.append(name)


def generate(seed: int, inputs: int | None = None, results: bool = False) -> Program:
    """The program of a seed, always the same one. With `results`, it returns anything that a function may return."""
    return Writer(seed, inputs, results).program()


# ---- a program as a function

_code: dict[str, CodeType] = {}
_count = 0


def build(program: Program, m: Any, captured: list[Any], grad: Any) -> Any:
    """The function of a program, in a file of its own as far as tracebacks and tracers of source code can see."""
    global _count
    code = _code.get(program.text)
    if code is None:
        for old in [c.co_filename for c in _code.values()] if len(_code) >= 50 else ():
            linecache.cache.pop(old, None)
        if len(_code) >= 50:
            _code.clear()
        _count += 1
        name, text = f"<fuzz {_count}>", program.text
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        code = _code[text] = compile(text, name, "exec", dont_inherit=True)
    space: dict[str, Any] = {"m": m, "P": captured, "grad": grad, "__name__": "fuzzed"}
    space |= {name: import_module(module) for name, module in LIBRARIES.items() if f"{name}." in program.text}
    exec(code, space)
    return space["f"]
