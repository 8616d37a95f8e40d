"""Random expressions that run on any class of values, and the tools of a check: faults, differences, comparison."""

from __future__ import annotations

import contextlib
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from micrograd import Value
from micrograd.learn.workshop.messages import say

OPS: dict[str, Callable[[Any, Any], Any]] = {"+": lambda a, b: a + b, "*": lambda a, b: a * b}
Idea = tuple[float, str]


class Fault(Exception):
    """What is wrong with the learner's code, in words; `timeline` holds the steps that led there.

    `graph` holds the learner's nodes by name, root last, where their own graph can be stepped through on a page, and `node`
    names the one whose gradient is wrong; without a node, the value of the root is wrong. `order` holds a program and the
    order in which the learner visits it. `seed` is the gradient with which the pass starts.
    """

    def __init__(
        self,
        message: str,
        timeline: Sequence[str] = (),
        graph: dict[str, Any] | None = None,
        node: str = "",
        order: tuple[Program, list[str]] | None = None,
        seed: float = 1.0,
    ) -> None:
        super().__init__(message)
        self.timeline, self.graph, self.node, self.order, self.seed = list(timeline), graph, node, order, seed


def require(fact: bool, message: str, lines: Sequence[str] = ()) -> None:
    """Raise a Fault with this message unless the fact holds."""
    if not fact:
        raise Fault(message, lines)


@contextlib.contextmanager
def bounded_recursion(frames: int = 1000) -> Iterator[None]:
    """Let code recurse this many frames from here, whatever limit the process has, and restore the limit afterwards.

    1,000 frames raise RecursionError long before the C stack is full, also where each call passes through a C slot such as
    `__radd__`. A process that has raised its limit would let such a recursion go on until the interpreter crashes.
    """
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    kept = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(kept)


def close(a: Any, b: float, tolerance: float = 1e-6) -> bool:
    """Whether two numbers agree, relative to the larger one; anything that is not a number does not."""
    if isinstance(a, bool) or not isinstance(a, (int, float)) or math.isnan(a):
        return False
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-9)


def compare(
    what: str,
    got: Any,
    want: float,
    ideas: Iterable[Idea] = (),
    tolerance: float = 1e-6,
    graph: dict[str, Any] | None = None,
    node: str = "",
    lines: Sequence[str] = (),
    hint: str = "",
) -> None:
    """Raise a Fault unless got is want. `ideas` are the numbers that typical errors give, each with its explanation.

    `graph` is the learner's graph in which `node` got this gradient, or whose root has this value. `lines` are the steps of
    the learner's code that led there, `hint` is said where no idea gives this number.
    """
    if close(got, want, tolerance):
        return
    told = say("{what} is {got}, should be {want}", what=what, got=show(got), want=show(want))
    for number, idea in ideas:
        if close(got, number, tolerance) and not close(number, want, tolerance):
            raise Fault(f"{told}: {idea}", lines, graph, node)
    raise Fault(f"{told}: {hint}" if hint else f"{told}.", lines, graph, node)


def watched(f: Callable[..., float], calls: list[str]) -> Callable[..., float]:
    """The function, with a line for each call that the learner's code makes; the first twelve are kept."""

    def told(*xs: float) -> float:
        y = f(*xs)
        if len(calls) < 12:
            calls.append(f"f({', '.join(map(show, xs))}) = {show(y)}")
        return y

    return told


class Nudges:
    """A function that remembers where it was called, so that a step which does not suit can be named."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.points = f, list[tuple[float, ...]]()

    def __call__(self, *xs: Any) -> Any:
        if len(self.points) < 12:
            self.points.append(tuple(float(getattr(x, "data", x)) for x in xs))
        return self.f(*xs)

    def fault(self) -> str:
        """What is wrong with the distance between the points; "" where it suits."""
        pairs = [(p, q) for p, q in pairwise(self.points) if len(p) == len(q)]
        apart = [abs(x - y) for p, q in pairs for x, y in zip(p, q) if x != y]
        if not pairs or not any(p != q for p, q in pairs):
            same = say("your h is too small: x + h equals x in floating point, so nothing moved. Try 1e-5.")
            return same if pairs else ""
        near = min(apart)
        size = max(abs(x) for p in self.points for x in p)
        if near < 1e-8:
            digits = max(0, int(math.log10(near / (2.3e-16 * size)))) if size else 15
            return say(
                "your points are only {near} apart. A float has 16 digits, and of this distance about {digits} are left "
                "in x + h, so the difference is mostly rounding. A smaller h is not always better: try 1e-5.",
                near=f"{near:.2g}",
                digits=digits,
            )
        if near > 1e-3:
            return say("your points are {near} apart, which is too far on a curve. Try h = 1e-5.", near=f"{near:.2g}")
        return ""


def show(x: Any) -> str:
    """A number for a message."""
    return f"{x:.6g}" if isinstance(x, (int, float)) else f"{x!r:.60}"


def difference(f: Callable[..., float], args: Sequence[float], i: int, h: float = 1e-5) -> float:
    """The slope of f in argument i by a central difference."""
    above, below = list(args), list(args)
    above[i] += h
    below[i] -= h
    return (f(*above) - f(*below)) / (2 * h)


@dataclass
class Program:
    """An expression as rows (op, operand, operand) over numbered values; the leaves come first, the last row is the root."""

    leaves: list[float]
    rows: list[tuple[str, int, int]]

    def names(self) -> list[str]:
        """a, b, c, ... for all values."""
        return [chr(97 + i) if i < 26 else f"v{i}" for i in range(len(self.leaves) + len(self.rows))]

    def run(self, make: Callable[[float], Any]) -> list[Any]:
        """All values, made by this class."""
        values = [make(x) for x in self.leaves]
        for op, i, j in self.rows:
            values.append(OPS[op](values[i], values[j]))
        return values

    def text(self) -> str:
        """The program as the learner would type it."""
        names = self.names()
        lines = [f"{name} = Value({x:g})" for name, x in zip(names, self.leaves)]
        n = len(self.leaves)
        lines += [f"{names[n + k]} = {names[i]} {op} {names[j]}" for k, (op, i, j) in enumerate(self.rows)]
        return "; ".join(lines)

    def gradients(self) -> list[float]:
        """The right gradient of every value, by the real engine; the leaves are checked by differences too."""
        values = self.run(Value)
        values[-1].backward()
        return [v.grad for v in values]


def number(rng: random.Random) -> float:
    """A number with one decimal, away from 0 and 1, so that typical errors give other numbers."""
    return rng.choice([-1, 1]) * rng.randint(12, 39) / 10


def tree(rng: random.Random) -> Program:
    """Four leaves, each used once."""
    op = [rng.choice("+*") for _ in range(3)]
    return Program([number(rng) for _ in range(4)], [(op[0], 0, 1), (op[1], 2, 3), (op[2], 4, 5)])


def shared(rng: random.Random) -> Program:
    """b is used twice, once through c: the order of the pass matters."""
    return Program([number(rng), number(rng)], [("*", 0, 1), ("+", 2, 1), ("*", 2, 3)])


def graph(rng: random.Random, size: int = 8) -> Program:
    """A random graph in which values are used again; every row leads to the root."""
    leaves = [number(rng) for _ in range(3)]
    rows, unused = [], [0, 1, 2]
    for k in range(size):
        i, j = unused.pop(rng.randrange(len(unused))), rng.randrange(3 + k)
        rows.append((rng.choice("+*"), i, j))
        unused = [u for u in unused if u != j] + [3 + k]
    while len(unused) > 1:
        rows.append(("+", unused.pop(), unused.pop()))
        unused.append(2 + len(rows))
    return Program(leaves, rows)
