"""Second and third derivatives hold wherever the first ones do: compositions at large and small arguments, against mpmath.

The derivative of 1/u is -1/u², which is 0 in doubles from u = 1e162 on; its product with what comes from inside is a number.
"""

from __future__ import annotations

import pytest

from micrograd import Value, grad, hessian, jit, vmap
from micrograd import math as mg
from micrograd.ops import OF_RULES, OPS
from random_programs import needs_llvm

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

OUTER = {
    "log": (mg.log, mp.log),
    "log2": (mg.log2, lambda u: mp.log(u) / mp.log(2)),
    "log10": (mg.log10, lambda u: mp.log(u) / mp.log(10)),
    "log1p": (mg.log1p, mp.log1p),
    "sqrt": (mg.sqrt, mp.sqrt),
    "cbrt": (mg.cbrt, mp.cbrt),
    "u ** 0.5": (lambda u: u**0.5, mp.sqrt),
    "u ** -0.25": (lambda u: u**-0.25, lambda u: u ** mpmath.mpf("-0.25")),
    "u ** 1.25": (lambda u: u**1.25, lambda u: u ** mpmath.mpf("1.25")),
    "asinh": (mg.asinh, mp.asinh),
    "acosh(1 + u)": (lambda u: mg.acosh(1.0 + u), lambda u: mp.acosh(1 + u)),
    "lgamma": (mg.lgamma, mp.loggamma),
    "log(lgamma(3 + u))": (lambda u: mg.log(mg.lgamma(3.0 + u)), lambda u: mp.log(mp.loggamma(3 + u))),
    "sqrt(1 + u * 1e-100)": (lambda u: mg.sqrt(1.0 + u * 1e-100), lambda u: mp.sqrt(1 + u * mpmath.mpf(1e-100))),
}
SMALL = {"log", "log2", "log10", "sqrt", "cbrt", "u ** 0.5", "u ** -0.25", "u ** 1.25", "lgamma"}  # not constant near 0
CASES = [(name, x) for name in OUTER for x in (400.0, -400.0) if x > 0 or name in SMALL]


def sums(exp):
    return lambda x, y: exp(x) + 3 * exp(y)


def composed(name):
    outer = OUTER[name][0]  # by itself: what else is in OUTER is mpmath's
    return lambda x, y: outer(sums(mg.exp)(x, y))


def exact(name, at, counts):
    with mp.workdps(60 + int(max(at[0] * 0.9, 0.0))):  # 1 + u keeps its 1
        return mpmath.diff(lambda x, y: OUTER[name][1](sums(mp.exp)(x, y)), tuple(map(mpmath.mpf, at)), counts)


@pytest.mark.parametrize(("name", "x"), CASES)
def test_second_derivatives_hold_where_first_ones_do(name, x):
    at = (x, x - 0.5)
    first = grad(composed(name))(*at)
    assert first == pytest.approx(float(exact(name, at, (1, 0))), rel=1e-12, abs=0.0) and first != 0.0
    (xx, xy), (yx, yy) = hessian(composed(name), (0, 1))(*at)
    for got, counts in ((xx, (2, 0)), (xy, (1, 1)), (yx, (1, 1)), (yy, (0, 2))):
        want = float(exact(name, at, counts))
        assert got == pytest.approx(want, rel=1e-9, abs=1e-13 * abs(first)), counts


@pytest.mark.parametrize(("name", "x"), [(name, x / 2.0) for name, x in CASES])
def test_third_derivatives_hold_where_the_square_of_the_inner_derivative_does(name, x):
    at = (x, x - 0.5)
    first = abs(grad(composed(name))(*at))
    for by, counts in (((0, 0, 0), (3, 0)), ((0, 1, 0), (2, 1))):
        f = composed(name)
        for n in by:
            f = grad(f, n)
        assert f(*at) == pytest.approx(float(exact(name, at, counts)), rel=1e-9, abs=1e-13 * first), by


QUOTIENTS = {
    "softmax": (lambda x, y: mg.exp(x) / (mg.exp(x) + mg.exp(y)), lambda x, y: mp.exp(x) / (mp.exp(x) + mp.exp(y))),
    "atan2": (lambda x, y: mg.atan2(mg.exp(x), mg.exp(y)), lambda x, y: mp.atan2(mp.exp(x), mp.exp(y))),
    "hypot": (lambda x, y: mg.hypot(mg.exp(x), mg.exp(y)), lambda x, y: mp.hypot(mp.exp(x), mp.exp(y))),
    "log of hypot": (
        lambda x, y: mg.log(mg.hypot(mg.exp(x), mg.exp(y))),
        lambda x, y: mp.log(mp.hypot(mp.exp(x), mp.exp(y))),
    ),
}


@pytest.mark.parametrize("x", [400.0, -400.0])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_second_derivatives_of_functions_of_two_large_or_small_numbers(name, x):
    f, oracle = QUOTIENTS[name]
    at = (x, x - 0.5)
    for got, counts in zip((grad(grad(f))(*at), grad(grad(f), 1)(*at)), ((2, 0), (1, 1))):
        with mp.workdps(60):
            want = float(mpmath.diff(oracle, tuple(map(mpmath.mpf, at)), counts))
        assert got == pytest.approx(want, rel=1e-9, abs=0.0), counts


def log_sum(x, y):
    return mg.log(mg.exp(x) + mg.exp(y))


WANT = float(1 / (mpmath.exp(mpmath.mpf("0.5")) + mpmath.exp(mpmath.mpf("-0.5"))) ** 2)


def test_they_hold_for_values_and_their_backward():
    x = Value(400.0)
    grad(log_sum)(x, 399.0).backward()
    assert x.grad == pytest.approx(WANT, rel=1e-14)


@needs_llvm
def test_they_hold_in_machine_code():
    second = grad(grad(log_sum))
    assert jit(second, wait=True)(400.0, 399.0) == pytest.approx(WANT, rel=1e-14)
    assert jit(second, wait=True, exact=True)(400.0, 399.0) == second(400.0, 399.0)
    assert vmap(second)([400.0, -400.0], [399.0, -401.0]) == pytest.approx([WANT, WANT], rel=1e-14)


@needs_llvm
def test_first_derivatives_take_no_more_instructions_for_it():
    """What rules need for the derivatives of higher order is gone from machine code that has none."""
    from micrograd.compile.pipeline import Goal, lower
    from micrograd.tape import passes
    from micrograd.tape.tape import INPUT

    class Machine:
        def spells(self, op):
            return bool(op.llvm)

        def registers(self, goal):
            return 16

        def fuses(self):
            return False

    tape = jit(lambda x, y: x / y + mg.log(x) + y**-1.5).tape(3.0, 2.0)
    assert passes.sources(tape, INPUT, 2) != [None, None]
    lowered = lower(tape, Goal(inputs=(0, 1)), Machine())
    assert {op.name for op in lowered.ops}.isdisjoint(OF_RULES)
    assert len(lowered) <= 24, lowered


@pytest.mark.parametrize(("b", "at", "want"), [(2.0, 0.0, 2.0), (1.5, 0.0, float("inf")), (3.0, 0.0, 0.0), (1.0, 0.0, 0.0),
                                               (2.0, 3.0, 2.0), (0.0, 3.0, 0.0), (-1.0, 0.0, float("inf"))])  # fmt: skip
def test_powers_keep_their_second_derivatives_at_zero_and_at_whole_exponents(b, at, want):
    assert grad(grad(lambda x: x**b))(at) == want


def test_second_derivatives_of_hypot_do_not_cancel():
    """b²/y³, not the difference of 1/y and a²/y³."""
    for a in (1e5, 1e9, 1e12):
        want = float(1 / mpmath.mpf(a * a + 1) ** mpmath.mpf("1.5"))
        assert grad(grad(lambda x: mg.hypot(x, 1.0)))(a) == pytest.approx(want, rel=1e-14, abs=0.0)


def test_the_rows_that_rules_are_made_of_are_no_methods_of_value():
    assert set(OPS) >= OF_RULES and not any(hasattr(Value, name) or name in mg.__all__ for name in OF_RULES)
