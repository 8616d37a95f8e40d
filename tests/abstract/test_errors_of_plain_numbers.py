"""Numbers in which no argument has a part raise in typed tapes where they raise in plain Python and in eager code."""

from __future__ import annotations

import math

import pytest

from micrograd import grad, jit, vmap

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite", reason="functions are compiled")


def falls_to_zero(x):
    k, total = 4.0, x
    for _ in range(40):
        total = total + 1.0 / k
        k = k - 0.25 if x > 0 else k + 0.25
    return total


def grows_too_large(x):
    k, total = 1.0, x
    for _ in range(40):
        total = total + 1.0 / k**90
        k = k * 2.0 if x > 0 else k * 1.0625
    return total


def leaves_the_domain(x):
    k, total = 3.0, x
    for _ in range(8):
        total = total + math.sqrt(k)
        k = k - 1.0 if x > 0 else k + 1.0
    return total


PROGRAMS = [
    (falls_to_zero, ZeroDivisionError),
    (grows_too_large, OverflowError),
    (leaves_the_domain, ValueError),
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("f", "error"), PROGRAMS)
def test_a_plain_number_raises_at_a_point_and_in_rows(f, error, exact):
    for compiled in (jit(f, exact=exact), jit(f, exact=exact, wait=True)):
        assert compiled(-1.0) == pytest.approx(f(-1.0), rel=1e-13)
        for _ in range(2):
            with pytest.raises(error):
                compiled(1.0)
        assert compiled(-1.0) == pytest.approx(f(-1.0), rel=1e-13)
    rows = vmap(f, exact=exact)
    assert rows(np.array([-1.0, -2.0])) == pytest.approx([f(-1.0), f(-2.0)], rel=1e-13)
    with pytest.raises(error):
        rows(np.array([-1.0, 1.0]))


@pytest.mark.parametrize(("f", "error"), PROGRAMS)
def test_so_do_derivatives(f, error):
    g = jit(grad(f))
    assert g(-1.0) == grad(f)(-1.0) == 1.0
    with pytest.raises(error):
        g(1.0)


def test_a_number_of_the_arguments_follows_ieee_754():
    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + 1.0 / (x - i)
        return total

    assert jit(f)(2.0, 20) == math.inf
