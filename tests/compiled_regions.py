"""Run a tape as machine code: one point, or rows in lanes."""

from __future__ import annotations

from typing import Any

from micrograd.compile import pipeline
from micrograd.compile.kernel import Kernel
from micrograd.compile.llvm import LLVM
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.tape.tape import Tape


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
    import numpy as np

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
