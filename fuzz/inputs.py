"""Where to run a program: plain numbers, special ones, numbers that tie, and inputs moved onto the edge of a branch."""

from __future__ import annotations

import math
import random

from fuzz.duals import Dual, Math, Run, grad_of
from fuzz.generate import Program, build

GRID = [0.0, -0.0, 0.1, 0.2, 0.3, -0.3, 0.5, 1.0, -1.0, 1 / 3, 2.0, 3.0, -2.0, 0.7]
SPECIAL = [1e-300, 5e-324, -5e-324, 1e300, -1e300, 709.5, -745.0, math.inf, -math.inf, math.nan, 1e16]


def points(program: Program, rng: random.Random, count: int) -> list[list[float]]:
    """So many inputs: a third each plain, from a grid on which ties are frequent, and at an edge."""
    found: list[list[float]] = []
    for k in range(count):
        plain = [rng.uniform(-2.5, 2.5) for _ in range(program.inputs)]
        if k % 3 == 1:
            plain = [rng.choice(GRID if rng.random() < 0.85 or program.tame else SPECIAL) for _ in plain]
        if k % 3 == 2:
            plain = at_an_edge(program, plain, rng)
        found.append(plain)
    return found


def at_an_edge(program: Program, xs: list[float], rng: random.Random) -> list[float]:
    """Inputs moved so that the operands of one comparison are equal, or one unit in the last place apart."""
    xs = list(xs)
    i = rng.randrange(len(xs))
    for _ in range(4):
        run = Run(0, 0.0)
        try:
            build(program, Math(), [Dual(x, 0.0, run) for x in program.captured], grad_of(run))(
                *(Dual(x, float(k == i), run) for k, x in enumerate(xs))
            )
        except (ArithmeticError, ValueError, TypeError, IndexError):
            return xs
        moves = [d / t for d, t in run.margins if math.isfinite(d) and math.isfinite(t) and t and d]
        if not moves:
            break
        step = min(moves, key=abs)
        if not math.isfinite(xs[i] - step) or abs(step) > 10:
            break
        xs[i] -= step
    side = rng.random()
    return [
        math.nextafter(x, math.inf if side < 0.3 else -math.inf) if k == i and side < 0.6 else x
        for k, x in enumerate(xs)
    ]
