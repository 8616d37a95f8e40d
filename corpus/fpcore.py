"""The programs of FPBench and Herbie, translated from FPCore to plain Python.

`--fpcore DIR` names folders with .fpcore files, such as `benchmarks` of a checkout of FPBench. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import functools
import linecache
import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from corpus.run import Plan, Result, TooSlow, in_processes, limited, outcome
from micrograd import grad

try:
    import mpmath
except ImportError:  # the tests of this reader need none
    mpmath = None

Form = Any  # a string, or a list of forms
POINTS = 3  # of each program

INFIX = {"+": "+", "*": "*", "-": "-", "/": "/"}
COMPARISONS = {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "==": "==", "!=": "!="}
CONSTANTS = {
    "E": "math.e", "PI": "math.pi", "PI_2": "(math.pi / 2)", "PI_4": "(math.pi / 4)", "M_1_PI": "(1 / math.pi)",
    "M_2_PI": "(2 / math.pi)", "M_2_SQRTPI": "(2 / math.sqrt(math.pi))", "SQRT2": "math.sqrt(2)", "SQRT1_2": "math.sqrt(0.5)",
    "LOG2E": "math.log2(math.e)", "LOG10E": "math.log10(math.e)", "LN2": "math.log(2)", "LN10": "math.log(10)",
    "INFINITY": "math.inf", "NAN": "math.nan", "TRUE": "True", "FALSE": "False",
}  # fmt: skip
CALLS = {
    "fabs": "abs({})", "fmod": "math.fmod({}, {})", "fmin": "min({}, {})", "fmax": "max({}, {})", "fdim": "max({} - {}, 0.0)",
    "pow": "math.pow({}, {})", "ceil": "math.ceil({})", "floor": "math.floor({})", "trunc": "math.trunc({})",
    "round": "round({})", "not": "(not {})", "tgamma": "math.gamma({})", "lgamma": "math.lgamma({})",
    "fma": "({} * {} + {})", "isnan": "math.isnan({})", "isinf": "math.isinf({})", "isfinite": "math.isfinite({})",
    "signbit": "(math.copysign(1.0, {}) < 0)", "cast": "{}",
}  # fmt: skip
FUNCTIONS = {
    "sqrt", "cbrt", "hypot", "exp", "exp2", "expm1", "log", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "copysign",
}  # fmt: skip


class Unsupported(Exception):
    """A form that is not translated, such as a tensor."""


class Program(NamedTuple):
    """A translated program: the function, the names of its arguments, and what its arguments have to fulfil."""

    name: str
    source: str
    function: Callable[..., Any]
    arguments: list[str]
    holds: Callable[..., Any]
    bounds: dict[str, tuple[float, float]]


def parse(text: str) -> list[Form]:
    """Return the forms of a file as nested lists of strings."""
    stack: list[list[Form]] = [[]]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|;.*|[()\[\]]|[^\s()\[\];"]+', text):
        if token[0] == ";":
            continue
        if token in "([":
            stack.append([])
        elif token in ")]":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0]


class _Writer:
    """The body of one function, statement by statement."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self.used: dict[str, int] = {}

    def say(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self, name: str) -> str:
        """Return a Python variable for a variable of the program: inner ones may hide outer ones."""
        plain = "v_" + re.sub(r"\W", "_", name)
        self.used[plain] = self.used.get(plain, 0) + 1
        return plain if self.used[plain] == 1 else f"{plain}_{self.used[plain]}"

    def expression(self, form: Form, names: dict[str, str]) -> str:
        """Return a form as a Python expression; what needs statements is written in front."""
        if isinstance(form, str):
            return self.atom(form, names)
        head, *rest = form
        if head == "!":  # annotations such as a precision
            return self.expression(rest[-1], names)
        if head in ("let", "let*"):
            return self.let(head, rest, names)
        if head in ("while", "while*"):
            return self.loop(head, rest, names)
        if head == "if":
            return self.choice(rest, names)
        if not isinstance(head, str) or head in ("tensor", "tensor*", "array", "for", "for*", "ref"):
            raise Unsupported(f"the form {head!r}")
        args = [self.expression(part, names) for part in rest]
        if head in INFIX:
            return f"(-{args[0]})" if head == "-" and len(args) == 1 else "(" + f" {INFIX[head]} ".join(args) + ")"
        if head in COMPARISONS:
            return "(" + " and ".join(f"{a} {COMPARISONS[head]} {b}" for a, b in pairwise(args)) + ")"
        if head in ("and", "or"):
            return "(" + f" {head} ".join(args) + ")"
        if head in FUNCTIONS:
            return f"math.{head}({', '.join(args)})"
        if head in CALLS:
            return CALLS[head].format(*args)
        raise Unsupported(f"the form {head!r}")

    def atom(self, text: str, names: dict[str, str]) -> str:
        if text in names:
            return names[text]
        if text in CONSTANTS:
            return CONSTANTS[text]
        try:
            return repr(float.fromhex(text) if text.lower().lstrip("+-").startswith("0x") else float(text))
        except ValueError:
            if re.fullmatch(r"[+-]?\d+/\d+", text):
                return f"({text.replace('/', ' / ')})"
            raise Unsupported(f"the name {text!r}") from None

    def let(self, head: str, rest: list[Form], names: dict[str, str]) -> str:
        bindings, body = rest
        inner = dict(names)
        for name, value in bindings:
            text = self.expression(value, inner if head == "let*" else names)
            variable = self.fresh(name)
            self.say(f"{variable} = {text}")
            inner[name] = variable
        return self.expression(body, inner)

    def choice(self, rest: list[Form], names: dict[str, str]) -> str:
        condition, then, otherwise = rest
        test, result = self.expression(condition, names), self.fresh("chosen")
        self.say(f"if {test}:")
        self.indented(lambda: self.say(f"{result} = {self.expression(then, names)}"))
        self.say("else:")
        self.indented(lambda: self.say(f"{result} = {self.expression(otherwise, names)}"))
        return result

    def indented(self, write: Callable[[], None]) -> None:
        self.indent += 1
        write()
        self.indent -= 1

    def loop(self, head: str, rest: list[Form], names: dict[str, str]) -> str:
        condition, bindings, body = rest
        inner, sequential = dict(names), head == "while*"
        for name, first, _ in bindings:
            text = self.expression(first, inner if sequential else names)
            variable = self.fresh(name)
            self.say(f"{variable} = {text}")
            inner[name] = variable
        self.say("while True:")
        self.indent += 1
        self.say(f"if not {self.expression(condition, inner)}:")
        self.indented(lambda: self.say("break"))
        if sequential:
            for name, _, update in bindings:
                self.say(f"{inner[name]} = {self.expression(update, inner)}")
        else:
            updates = [self.expression(update, inner) for _, _, update in bindings]
            self.say(f"{', '.join(inner[name] for name, _, _ in bindings)} = {', '.join(updates)}")
        self.indent -= 1
        return self.expression(body, inner)


def translate(form: Form, number: int, file: str) -> Program:
    """Return the program of one `(FPCore (arguments) properties body)`."""
    parts = form[1:]
    name = f"program_{number}"
    if parts and isinstance(parts[0], str):
        parts = parts[1:]
    arguments, parts = parts[0], parts[1:]
    if not all(isinstance(a, str) or (a and a[0] == "!") for a in arguments):
        raise Unsupported("an argument that is a tensor")
    arguments = [a if isinstance(a, str) else a[-1] for a in arguments]
    properties: dict[str, Form] = {}
    while len(parts) > 1:
        properties[parts[0]], parts = parts[1], parts[2:]
    condition = properties.get(":pre", "TRUE")
    title = str(properties.get(":name", name)).strip('"')
    function, source = _function(name, arguments, parts[0], file)
    holds, _ = _function(f"{name}_holds", arguments, condition, file + " pre")
    return Program(title, source, function, arguments, holds, dict(_bounds(condition, arguments)))


def _function(name: str, arguments: list[str], body: Form, file: str) -> tuple[Callable[..., Any], str]:
    writer = _Writer()
    names = {a: writer.fresh(a) for a in arguments}
    result = writer.expression(body, names)
    writer.say(f"return {result}")
    text = "\n".join([f"def {name}({', '.join(names.values())}):", *writer.lines, ""])
    place = f"<{file} {name}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    space: dict[str, Any] = {"math": math}
    exec(compile(text, place, "exec"), space)
    return space[name], text


def _bounds(condition: Form, arguments: list[str]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield ranges of arguments that a condition states as `(<= low x high)` and the like."""
    found: dict[str, list[float]] = {}

    def number(text: Form) -> float | None:
        try:
            value = eval(_Writer().expression(text, {}), {"math": math})
        except (Unsupported, NameError, TypeError, ValueError, ArithmeticError):
            return None
        return float(value)

    def visit(form: Form) -> None:
        if not isinstance(form, list) or not form:
            return
        if form[0] == "and":
            for part in form[1:]:
                visit(part)
        elif form[0] in ("<", "<=", ">", ">="):
            items = form[1:] if form[0] in ("<", "<=") else form[:0:-1]
            for low, high in pairwise(items):
                for name, other, side in ((high, low, 0), (low, high, 1)):
                    value = number(other)
                    if isinstance(name, str) and name in arguments and value is not None:
                        bounds = found.setdefault(name, [-math.inf, math.inf])
                        bounds[side] = max(bounds[0], value) if side == 0 else min(bounds[1], value)

    visit(condition)
    yield from ((name, (low, high)) for name, (low, high) in found.items())


def inputs(program: Program, random: Random, wanted: int) -> list[tuple[float, ...]]:
    """Return some inputs that fulfil the condition, and at which the program gives a finite number."""
    found: list[tuple[float, ...]] = []
    for _ in range(400 * wanted):
        point = tuple(_drawn(program.bounds.get(a, (-math.inf, math.inf)), random) for a in program.arguments)
        try:
            with limited(1.0):
                if program.holds(*point) and math.isfinite(program.function(*point)):
                    found.append(point)
        except TooSlow:  # a loop that does not end for these numbers
            break
        except (ArithmeticError, ValueError, TypeError):
            continue
        if len(found) == wanted:
            break
    return found


def _drawn(bounds: tuple[float, float], random: Random) -> float:
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) * random.random()
    size = 10.0 ** random.uniform(-3.0, 2.0)
    if math.isfinite(low):
        return low + size
    return high - size if math.isfinite(high) else random.choice((-1.0, 1.0)) * size


def programs(folder: Path) -> Iterator[tuple[str, Program | str]]:
    """Yield the programs of all files in a folder with their titles, or why they were not translated."""
    for path in sorted(folder.rglob("*.fpcore")):
        for number, form in enumerate(parse(path.read_text(encoding="utf-8"))):
            if isinstance(form, list) and form and form[0] == "FPCore":
                title = f"{path.stem} {number}"
                try:
                    yield title, translate(form, number, title)
                except Unsupported as reason:
                    yield title, str(reason)


class _Digits:
    """The functions of math for numbers of mpmath's."""

    names = {"lgamma": "loggamma", "pow": "power"}
    own: dict[str, Callable[..., Any]] = {
        "exp2": lambda x: 2**x,
        "log2": lambda x: mpmath.log(x, 2),
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
        "copysign": lambda x, y: abs(x) * (-1 if math.copysign(1.0, y) < 0 else 1),
    }

    def __getattr__(self, name: str) -> Any:
        return self.own.get(name) or getattr(mpmath, self.names.get(name, name))


def _in_digits(program: Program, point: tuple[float, ...], result: Result) -> Result:
    """Return a result with the verdict of differences in 80 digits, where those of floats do not agree with the gradient."""
    if (result.kind, result.way) != ("wrong", "eager gradient"):
        return result
    space: dict[str, Any] = {"math": _Digits()}
    exec(program.source, space)
    function = space[program.function.__name__]
    with mpmath.workdps(80):
        x = [mpmath.mpf(v) for v in point]
        truth = []
        for k in range(len(x)):
            h = mpmath.mpf(10) ** -30 * (abs(x[k]) or 1)
            above, below = (function(*x[:k], x[k] + d, *x[k + 1 :]) for d in (h, -h))
            truth.append((above - below) / (2 * h))
        value = function(*x)
        size = max(map(abs, truth))
        far = max(abs(a - b) for a, b in zip(grad(program.function, tuple(range(len(x))))(*point), truth))
        lost = abs(program.function(*point) - value) > 1e-6 * abs(value)
    if far <= 1e-3 * size:
        return result._replace(kind="right", way="80 digits", detail="")
    if lost:
        return result._replace(kind="kink", way="80 digits", detail="floats lose all digits of the value itself")
    return result


def some(folder: str, first: int, step: int, plan: Plan) -> list[Result]:
    """Return the outcomes of every n-th program of a folder, at some points each: one job of a worker."""
    found: list[Result] = []
    for title, program in list(programs(Path(folder)))[first::step]:
        if isinstance(program, str):
            continue
        for number, point in enumerate(inputs(program, Random(title), POINTS) if program.arguments else []):
            if plan.over:
                return found
            work = functools.partial(_checked, f"{title}: {program.name}", program, point, plan)
            result = plan.result(f"{title} {number}", work)
            if result is not None:
                found.append(result)
    return found


def _checked(name: str, program: Program, point: tuple[float, ...], plan: Plan) -> Result | None:
    result = outcome(name, program.function, point, plan)
    return result and _in_digits(program, point, result)


def results(args: argparse.Namespace) -> list[tuple[str, list[Result]]]:
    """Return the outcomes of all programs, at some points each."""
    rows, step = [], args.every * 4
    for folder in map(Path, args.fpcore):
        jobs = [(str(folder), k, step, args.plan) for k in range(0, step, args.every)]
        found = in_processes(jobs, some, args.processes, args.until)
        rows.append((f"FPCore in {folder.name}", [r for part in found for r in part]))
    return rows
