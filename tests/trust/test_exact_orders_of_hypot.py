"""jit(exact=True) of mixed derivatives gives the bits of eager code on Values; plain numbers are as close as rounding is."""

from __future__ import annotations

import itertools

import pytest

from random_programs import needs_llvm

pytestmark = needs_llvm
POINTS = [(0.3, -1.7), (1.1, 0.4), (-2.5, 0.75)]


def mixed(f, argnums):
    from micrograd import grad

    for n in argnums:
        f = grad(f, n)
    return f


@pytest.mark.parametrize("argnums", [(0, 0, 1, 1), (0, 1), (1, 0, 0), (0, 1, 0, 1)])
@pytest.mark.parametrize("name", ["hypot", "atan2", "pow"])
def test_exact_code_has_the_bits_of_eager_code_on_values(name, argnums):
    from micrograd import Value, jit, math

    d = mixed(getattr(math, name), argnums)
    exact = jit(d, exact=True, wait=True)
    for x, y in itertools.islice(POINTS, 2):
        on_values = d(Value(x), Value(y)).data
        assert exact(x, y) == on_values == exact(Value(x), Value(y)).data
        assert d(x, y) == pytest.approx(on_values, rel=1e-13)


def test_the_fourth_derivative_of_hypot_is_right_on_plain_numbers_and_on_values():
    mpmath = pytest.importorskip("mpmath")
    from micrograd import Value, math

    d = mixed(math.hypot, (0, 0, 1, 1))
    for x, y in POINTS:
        with mpmath.workdps(40):
            want = float(mpmath.diff(mpmath.hypot, (x, y), (2, 2)))
        assert d(x, y) == pytest.approx(want, rel=1e-13)
        assert d(Value(x), Value(y)).data == pytest.approx(want, rel=1e-13)
