"""Run a tape as machine code: one point, or rows in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd.compile import pipeline
from micrograd.compile.kernel import Kernel
from micrograd.compile.llvm import LLVM
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import Tape
from micrograd.tape.text import parse


def source(tape: Tape, **goal: Any) -> Any:
    """The text of a tape, and how many bytes of scratch it needs."""
    wanted = Goal(**goal)
    return LLVM().text(pipeline.lower(tape, wanted, LLVM()), wanted)


def point(tape: Tape, **options: Any) -> Any:
    """A function of one point that gives the outputs, or None where a guard fails."""
    code = Kernel(tape, Goal(Options(**options)), "a test", True).code
    return lambda xs, params=(): code.values(list(xs), list(params))


def rows(tape: Tape, reduced: bool = False, threads: int = 1, **options: Any) -> Any:
    """A function of columns that gives the columns of the outputs, or their sums; and the rows where a guard fails."""
    goal = Goal(Options(**options), rows=True, reduced=reduced)
    code = Kernel(tape, goal, "a test", True).code
    kind = np.float32 if goal.options.float32 else float

    def run(columns: list[Any], params: Any = ()) -> Any:
        arrays = tuple(np.ascontiguousarray(c, dtype=kind) for c in columns)
        n = len(arrays[0])
        outs = [] if reduced else [np.zeros(n, kind) for _ in tape.outputs]
        bad, sums = code.run(arrays, (0,) * len(arrays), list(params), n, outs, threads)
        return (sums if reduced else outs), ([] if bad is None else list(bad))

    return run


ROWS = [
    (0.5, -1.25),
    (3.0, 0.1),
    (-0.7, 0.7),
    (0.0, 2.0),
    (1e300, 1e300),
    (-0.0, 0.3),
    (2.0, -2.0),
    (0.3, 4.5),
    (7.0, 1.0),
]


def same(a: float, b: float) -> bool:
    """Whether two numbers have the same bits; every nan is the same nan."""
    return (a == b and (a != 0.0 or np.signbit(a) == np.signbit(b))) or (a != a and b != b)


def agrees(text: str, columns: Any = ROWS) -> None:
    """Machine code gives the bits of the interpreter, for a point and for rows of several widths."""
    tape = parse(text)
    check(tape)
    want = [run(tape, x) for x in columns]
    one = point(tape, exact=True)
    for x, wanted in zip(columns, want):
        assert all(map(same, one(x), wanted)), (x, one(x), wanted)
    for width in (1, 4, 8, 16):
        found, bad = rows(tape, exact=True, width=width)([np.array(c) for c in zip(*columns)])
        assert not bad
        for r, wanted in enumerate(want):
            assert all(same(float(column[r]), y) for column, y in zip(found, wanted)), (width, r)
