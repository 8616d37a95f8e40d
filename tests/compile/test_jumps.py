"""Functions with jumps, where eager code is at the edge of one: a fused product and sum would be off by the whole jump."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from micrograd import jit, math, value_and_grad, vmap
from random_programs import needs_llvm

pytestmark = needs_llvm

PROGRAMS = {
    "floor": lambda a, b, c, d: math.floor(a * b + c) * a,
    "ceil": lambda a, b, c, d: math.ceil(a * b + c) * a,
    "trunc": lambda a, b, c, d: math.trunc(a * b + c) * a,
    "round": lambda a, b, c, d: math.round((a * b - c * d) * 10.0) * a,
    "sign": lambda a, b, c, d: math.sign(a * b - c * d) * a,
    "copysign": lambda a, b, c, d: math.copysign(a, a * b - c * d),
    "floordiv": lambda a, b, c, d: ((a * b + c) // d) * a,
    "mod": lambda a, b, c, d: (a * b + c) % d,
    "fmod": lambda a, b, c, d: math.fmod(a * b + c, d),
    "remainder": lambda a, b, c, d: math.remainder(a * b + c, 2.0 * d),
    "atan2": lambda a, b, c, d: math.atan2(a * b - c * d, -a),
    "beside an if": lambda a, b, c, d: math.floor(a * b + c) * a if d > 0.3 else a,
}
RARE = [(0.2, 5 / 7, 2 / 7, 3 / 7), (0.6, 5 / 7, 2 / 7, 1 / 7), (0.7, 5 / 7, 0.6, 0.1)]  # edges of remainder
TENTHS_AND_SEVENTHS = [k / 10 for k in range(1, 8)] + [k / 7 for k in (1, 2, 3, 5)]


def rows(count: int) -> list[tuple[float, ...]]:
    random = Random(1)
    return RARE + [tuple(random.choice(TENTHS_AND_SEVENTHS) for _ in range(4)) for _ in range(count)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_at_the_edge_of_a_jump_are_those_of_eager_code(name):
    f, given = value_and_grad(PROGRAMS[name], (0, 1, 2, 3)), rows(600)
    want = [f(*row) for row in given]
    values, slopes = vmap(f)(*map(np.array, zip(*given)))
    np.testing.assert_allclose(values, [y for y, _ in want], rtol=1e-9, atol=1e-12)
    alone = vmap(PROGRAMS[name])(
        *map(np.array, zip(*given))
    )  # slopes may have jumps of their own, which decide as well
    np.testing.assert_allclose(alone, [y for y, _ in want], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.stack(slopes, 1), [g for _, g in want], rtol=1e-9, atol=1e-12)


def test_the_sweep_back_over_a_loop_takes_the_floors_of_the_loop():
    """It computes each turn again, with the same roundings."""

    def f(a, b, c, d):
        s = 0.0
        for i in range(20):
            if (a * b + i * c) % d < 1e-9:
                s += b
            s += math.floor((a * b + i * c) / d) * a
        return s

    both = value_and_grad(f, (0, 1, 2, 3))
    at = 0.7, 0.14285714285714285, 0.7, 0.7142857142857143
    y, slopes = both(*at)
    assert slopes[0] == 177.0
    for got, found in (jit(both, wait=True)(*at), vmap(both)(*[np.array([x]) for x in at])):
        np.testing.assert_allclose(np.ravel([got, *found]), [y, *slopes], rtol=1e-12)
