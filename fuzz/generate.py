"""Programs at random: a tree of statements, and the text of a Python function for it.

A program is plain data, so that it can be shrunk: an expression is a name, a number or (op, operands), a statement one of

    ("set", name, expression)                      name = expression
    ("if", comparison, a, b, then, otherwise)      if a < b: ... else: ...
    ("for", count, body)                           for _ in range(count): ...
    ("while", name, limit, count, body)            a loop that ends early where name exceeds limit
    ("return", expression)                         an early return
    ("push", name)                                 state.append(name): a list that the function mutates
    ("grad", name, expression, inner)              name = grad(lambda t: expression of t)(inner)
"""

from __future__ import annotations

import linecache
import random
import re
from typing import Any, NamedTuple

from micrograd.ops import OPS

RANDOM = {"philox", "normal"}  # what they return jumps with every bit of their operands
STEPS = {"floor", "ceil", "round", "trunc", "sign", "floordiv", "mod", "fmod", "remainder", "copysign"}
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
UNARY = [n for n, op in OPS.items() if op.arity == 1 and n not in STEPS | {"neg", "probit"}]
BINARY = [n for n, op in OPS.items() if op.arity == 2 and n not in STEPS | {"zeta"} | set(COMPARE)]
LISTS = [n for n, op in OPS.items() if op.arity < 0]
NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.5, 0.1, 0.3, -0.3, 3.0, 1 / 3, 1.5, -2.0]


class Program(NamedTuple):
    """Statements over `inputs` arguments x0, x1, … and `captured` Values P[0], P[1], …"""

    inputs: int
    captured: tuple[float, ...]
    body: tuple[Any, ...]
    tame: bool  # operands are kept inside the domains of their ops, so that derivatives of order 4 exist


class _Making:
    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.inputs = rng.randint(1, 3)
        self.captured = tuple(rng.choice(NUMBERS) for _ in range(rng.randint(0, 2)))
        self.names = [f"x{i}" for i in range(self.inputs)] + [f"P[{i}]" for i in range(len(self.captured))]
        self.tame = rng.random() < 0.6
        self.left = rng.randint(3, 14)  # statements

    def expression(self, depth: int = 2) -> Any:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return rng.choice(self.names) if rng.random() < 0.8 else rng.choice(NUMBERS)
        kind = rng.random()
        if kind < 0.45:
            name = rng.choice(("add", "sub", "mul", "mul", "div"))
            return (name, self.expression(depth - 1), self.expression(depth - 1))
        if kind < 0.75:
            return (rng.choice(UNARY), self.expression(depth - 1))
        if kind < 0.85:
            return (rng.choice(BINARY), self.expression(depth - 1), self.expression(depth - 1))
        if kind < 0.9:
            return (rng.choice(sorted(STEPS)), *(self.expression(depth - 1) for _ in range(2)))
        if kind < 0.95:
            condition = (rng.choice(sorted(COMPARE)), self.expression(depth - 1), self.expression(depth - 1))
            return ("where", condition, self.expression(depth - 1), self.expression(depth - 1))
        return (rng.choice(LISTS), *(self.expression(depth - 1) for _ in range(rng.choice((2, 4)))))

    def block(self, depth: int) -> tuple[Any, ...]:
        rng, found = self.rng, []
        before = len(self.names)
        for _ in range(rng.randint(1, 4)):
            if self.left <= 0:
                break
            self.left -= 1
            found.append(self.statement(depth))
        if depth < 3:
            del self.names[before:]  # what a block made is not there on every path
        return tuple(found) or (("set", rng.choice(self.assignable()), self.expression()),)

    def assignable(self) -> list[str]:
        return [n for n in self.names if n[0] in "xv"]

    def statement(self, depth: int) -> Any:
        rng, kind = self.rng, self.rng.random()
        if depth > 0 and kind < 0.2:
            comparison = rng.choice(sorted(COMPARE))
            a, b = self.expression(1), self.expression(1)
            return ("if", comparison, a, b, self.block(depth - 1), self.block(depth - 1) if rng.random() < 0.6 else ())
        if depth > 0 and kind < 0.32:
            return ("for", rng.randint(1, 4), self.block(depth - 1))
        if depth > 0 and kind < 0.4:
            return (
                "while",
                rng.choice(self.assignable()),
                rng.choice(NUMBERS),
                rng.randint(1, 4),
                self.block(depth - 1),
            )
        if depth < 3 and kind < 0.45:
            return ("return", self.expression())
        if kind < 0.5:
            return ("push", rng.choice(self.names))
        if kind < 0.54:
            return ("grad", self.fresh(), self.expression(), rng.choice(self.names))
        if kind < 0.75:
            return ("set", rng.choice(self.assignable()), self.expression())
        value = self.expression()
        return ("set", self.fresh(), value)

    def fresh(self) -> str:
        name = f"v{len(self.names)}"
        if name not in self.names:
            self.names.append(name)
        return name


def generate(seed: int) -> Program:
    """The program of a seed, always the same one."""
    making = _Making(seed)
    body = making.block(3)
    while making.left > 0:
        body += making.block(3)
    result = making.expression(2)
    for name in making.names:  # whatever was made matters, and not only linearly
        result = ("add", result, ("mul", name, making.rng.choice([name, *making.names])))
    return Program(making.inputs, making.captured, (*body, ("return", result)), making.tame)


# ---- as text


def source(program: Program) -> str:
    """A function `f` of the program; m is the math module that it runs on, P the captured Values."""
    body: list[str] = []
    _block(program.body, body, 1, program.tame)
    made = sorted(set(re.findall(r"\bv\d+\b", "\n".join(body))), key=lambda name: int(name[1:]))
    head = [f"def f({', '.join(f'x{i}' for i in range(program.inputs))}):", "    state = []"]
    return "\n".join([*head, *(f"    {name} = 0.5" for name in made), *body]) + "\n"


def _block(body: Any, lines: list[str], depth: int, tame: bool) -> None:
    pad = "    " * depth
    for s in body:
        if s[0] == "set":
            lines.append(f"{pad}{s[1]} = {text(s[2], tame)}")
        elif s[0] == "return":
            lines.append(f"{pad}return {text(s[1], tame)} + 0.125 * m.sum(state)")
        elif s[0] == "push":
            lines.append(f"{pad}state.append(m.tanh({s[1]}))")
        elif s[0] == "grad":
            inner = text(_rename(s[2], s[3], "t"), tame)
            lines.append(f"{pad}{s[1]} = m.tanh(grad(lambda t: {inner})({s[3]}))")
        elif s[0] == "if":
            lines.append(f"{pad}if {text(s[2], tame)} {COMPARE[s[1]]} {text(s[3], tame)}:")
            _block(s[4], lines, depth + 1, tame)
            if s[5]:
                lines.append(f"{pad}else:")
                _block(s[5], lines, depth + 1, tame)
        elif s[0] == "for":
            lines.append(f"{pad}for _ in range({s[1]}):")
            _block(s[2], lines, depth + 1, tame)
        else:
            count = f"n{depth}"
            lines.append(f"{pad}{count} = 0")
            lines.append(f"{pad}while {count} < {s[3]} and {s[1]} <= {s[2]!r}:")
            lines.append(f"{pad}    {count} += 1")
            _block(s[4], lines, depth + 1, tame)
    if not body:
        lines.append(f"{pad}pass")


def _rename(e: Any, name: str, to: str) -> Any:
    if isinstance(e, tuple):
        return (e[0], *(_rename(a, name, to) for a in e[1:]))
    return to if e == name else e


POSITIVE = {
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "pow",
    "atan2",
    "hypot",
    "prod",
    "gamma",
    "lgamma",
    "digamma",
}
INSIDE_1 = {"asin", "acos", "atanh"}


def text(e: Any, tame: bool) -> str:
    """An expression in Python; of a tame program, each operand inside the domain of its op."""
    if not isinstance(e, tuple):
        return repr(e) if isinstance(e, float) else e
    name = e[0]
    args = [text(a, tame) for a in e[1:]]
    if name in COMPARE:
        return f"m.{name}({args[0]}, {args[1]})"
    if tame and name == "div":
        return f"({args[0]} / (1.5 + m.sin({args[1]})))"
    if tame and name == "mul":
        return f"({args[0]} * m.sin({args[1]}))"
    if name in OPERATORS and not (tame and name == "pow"):
        return f"({args[0]} {OPERATORS[name]} {args[1]})"
    if tame and name in POSITIVE:
        args = [f"(1.5 + 0.5 * m.sin({a}))" for a in args]
    elif tame and name in INSIDE_1:
        args = [f"(0.75 * m.sin({a}))" for a in args]
    elif tame and name == "acosh":
        args = [f"(2.5 + m.cos({a}))" for a in args]
    elif tame and name not in ("where", *STEPS, *LISTS):
        args = [f"(1.25 * m.sin({a}))" if not a.startswith("m.sin") else a for a in args]
    op = OPS[name]
    if op.arity < 0:
        half = len(args) // 2
        return (
            f"m.dot([{', '.join(args[:half])}], [{', '.join(args[half:])}])"
            if name == "dot"
            else f"m.{name}([{', '.join(args)}])"
        )
    if name in STEPS:  # of something that is no whole number, as a rule; by numbers that are not 0
        args = [f"(0.3 + 1.7 * {args[0]})", f"(1.25 + 0.5 * m.sin({args[1]}))"]
    return f"m.{'whole_' if name in ('floor', 'ceil', 'trunc') else ''}{name}({', '.join(args[: op.arity])})"


_COUNT = [0]


def build(program: Program, m: Any, captured: list[Any], grad: Any) -> Any:
    """The function of a program, in a file of its own as far as tracebacks and tracers of source code can see."""
    _COUNT[0] += 1
    name = f"<fuzz {_COUNT[0]}>"
    written = source(program)
    linecache.cache[name] = (len(written), None, written.splitlines(True), name)
    space: dict[str, Any] = {"m": m, "P": captured, "grad": grad}
    exec(compile(written, name, "exec"), space)
    return space["f"]
