"""How long a function takes from its first call to its first result, and until its code is as good as it gets.

    python benchmarks/compile_time.py       about a minute

Two gradients of 100,000 instructions each: a loop (Lotka-Volterra), whose turns share their code, and a program without any
order, which shares nothing. Each time is that of a process of its own, without a cache on disk; the median of a few.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import works  # noqa: E402
from report import Row  # noqa: E402

STEPS = 725  # of Lotka-Volterra: 100,064 instructions
LINES = 21_000  # of the other program: about as many

LOOP, OTHER, TRACING = "a loop, 100,000 instructions", "a program without loops, 100,000 instructions", "tracing"


def without_loops(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
    """The same program each time, but no part of it like another."""
    from micrograd import math

    rng, values = random.Random(1), [a, b, c, d, x / 10.0, y / 10.0]
    for _ in range(LINES):
        p, q = (values[-rng.randint(1, min(50, len(values)))] for _ in range(2))
        kind = rng.randrange(5)
        new = p * q if kind == 0 else p + q if kind == 1 else p - 0.5 * q if kind == 2 else 0.9 * p + 0.1 * q
        values.append(math.tanh(new) if kind == 3 or rng.random() < 0.1 else new)
    return values[-1]


def one(what: str) -> float:
    """The seconds of one measurement, in this process; of tracing, seconds a node."""
    from micrograd import jit, value_and_grad
    from micrograd.tape.trace import trace
    from micrograd.tree import flatten

    works.STEPS = STEPS
    kind, _, wait = what.partition(" ")
    f = without_loops if kind == "other" else works.lotka
    if kind == "trace":
        leaves: list[Any] = []
        shape = flatten(works.RATES, leaves)
        trace(
            works.readme, ("tuple", (("*",), ("*",))), [-4.0, 2.0], frozen=True
        )  # what is imported first is not counted
        best = 1.0
        for _ in range(5):
            start = time.perf_counter()
            nodes = len(trace(f, shape, leaves, frozen=True).tape)
            best = min(best, (time.perf_counter() - start) / nodes)
        return best
    import llvmlite.binding  # noqa: F401  (what importing takes is not counted)

    g = jit(value_and_grad(f, tuple(range(6))), wait=wait == "wait")
    start = time.perf_counter()
    g(*works.RATES)
    seconds = time.perf_counter() - start
    if wait != "wait" and kind == "other":  # the other one is a loop in the tape, whose turns would be as many
        size = len(g.tape(*works.RATES))
        assert 95_000 < size < 110_000, f"{kind} has {size:,} instructions"
    return seconds


def measured(what: str, times: int) -> float:
    """The median over a few processes."""
    command = [sys.executable, __file__, "--one", what]
    environment = os.environ | {"MICROGRAD_CACHE": "0"}
    seen = []
    for _ in range(times):
        said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        seen.append(float(json.loads(said)))
    return median(seen)


def figures(times: int = 3) -> list[Row]:
    """Each time beside its target."""
    found = [Row(TRACING, "time a node", measured("trace", times) * 1e6, 0.5, " µs", False)]
    for kind, title in (("loop", LOOP), ("other", OTHER)):
        found.append(Row(title, "first result", measured(kind, times), 2.0, " s", False))
        found.append(Row(title, "first result with wait=True", measured(f"{kind} wait", times), 30.0, " s", False))
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(one(sys.argv[2]))
        sys.stdout.flush()
        os._exit(0)  # what is still compiled in the background is not waited for
    for row in figures():
        print(f"{row.task:50} {row.what:30} {row.measured_text:>12} {row.target_text:>12}  {row.verdict}")
