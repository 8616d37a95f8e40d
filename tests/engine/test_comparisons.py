"""Comparisons with numbers that are no floats: exact, as those of Python's own floats, in eager and in compiled code."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import pytest

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BETWEEN = [2**53 + 1, -(2**53) - 1, 10**30, 10**400, -(10**400), 2**1024 - 1, Fraction(1, 3), Fraction(-(10**400), 3),
           Decimal("0.1"), Decimal("1e-400"), Decimal("-1e400")]  # fmt: skip
FLOATS = [3, True, 2**60, Fraction(1, 4), Decimal("0.5"), Decimal("inf")]


def nearest(c):
    try:
        return float(c)
    except OverflowError:
        return math.inf if c > 0 else -math.inf


def around(c):
    """The floats beside a number, and others."""
    x = nearest(c)
    return [x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf), 0.0, 1.0, math.inf, -math.inf]


@pytest.mark.parametrize("c", BETWEEN + FLOATS, ids=lambda c: f"{c!r:.30}")
def test_a_value_compares_as_a_float(c, Value):
    for x in around(c):
        for compare in COMPARISONS:
            assert compare(Value(x), c) is compare(x, c), (compare, x, c)
            assert compare(c, Value(x)) is compare(c, x), (compare, c, x)


@pytest.mark.parametrize("c", [2**53 + 1, Fraction(1, 3), 10**400])
def test_nan_compares_with_nothing(c, Value):
    assert [compare(Value(math.nan), c) for compare in COMPARISONS] == [False] * 5 + [True]


def test_a_decimal_that_is_nan(Value):
    assert [compare(Value(1.0), Decimal("nan")) for compare in COMPARISONS] == [False] * 5 + [True]


@pytest.mark.parametrize("c", BETWEEN, ids=lambda c: f"{c!r:.30}")
def test_in_a_trace(c, mg):
    def f(x):
        above = 1.0 if c < x else 0.0
        below = 2.0 if x <= c else 0.0
        return x * 0.0 + above + below + (4.0 if x == c else 0.0)

    tried = [x for x in around(c) if math.isfinite(x)]
    compiled, slope = mg.jit(f), mg.grad(f)
    for x in tried:
        assert compiled(x) == f(x)
        assert slope(x) == 0.0


def test_in_a_loop_of_rows(mg):
    np = pytest.importorskip("numpy")
    limit = 2**53 + 1

    def f(x):
        total = 0.0
        for k in range(4):
            if limit < x:
                total = total + 2.0 * x
            elif x + 2.0 * k <= limit:
                total = total + x
            x = x + 1.0
        return total

    xs = np.array([2.0**53 - 2.0, 2.0**53, 2.0**53 + 2.0, 2.0**53 + 4.0])
    assert mg.vmap(f)(xs).tolist() == [f(x) for x in xs.tolist()]


def test_decimal_before_a_whole_number_in_a_trace(mg):
    for transform in (mg.grad, mg.jit):
        with pytest.raises(AttributeError, match="Write x > Decimal"):
            transform(lambda x: x if Decimal("0.3") < x else -x)(2)
        assert transform(lambda x: x if x > Decimal("0.3") else -x)(2) == (1.0 if transform is mg.grad else 2.0)


def test_scalars_of_numpy(Value):
    np = pytest.importorskip("numpy")
    big, third = np.int64(2**53 + 1), np.longdouble(1) / 3
    assert Value(2.0**53) != big and big != Value(2.0**53) and big > Value(2.0**53)
    for compare in COMPARISONS:
        assert compare(third, Value(1 / 3)) == compare(third, 1 / 3)
        assert compare(Value(1 / 3), third) == compare(1 / 3, third)
    assert (np.array([third, 1.0]) < Value(0.5)).tolist() == [True, False]


def test_nan_in_an_array_is_compared_in_silence(Value, recwarn):
    np = pytest.importorskip("numpy")
    assert (np.array([1.0, 2.0]) < Value(math.nan)).tolist() == [False, False]
    assert (np.int64(1) < Value(math.nan)) == False  # noqa: E712
    assert not recwarn.list
