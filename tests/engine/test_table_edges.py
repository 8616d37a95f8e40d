"""Rows of the table at their edges: where Python's function raises, where another formula takes over; and calls of rows."""

from __future__ import annotations

import copy
import pickle
from math import inf, isnan, nan

import pytest
from mpmath import mp

from micrograd import Value, grad, math
from micrograd.ops import OPS, Op, call, partials


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [("atanh", 1.0, inf), ("atanh", -1.0, -inf), ("log1p", -1.0, -inf), ("log", 0.0, -inf), ("log2", 0.0, -inf),
     ("log10", 0.0, -inf), ("sinh", 1e3, inf), ("sinh", -1e3, -inf), ("cosh", -1e3, inf), ("exp", 1e3, inf)],
)  # fmt: skip
def test_values_at_poles_and_beyond_the_largest_number(name, x, expected):
    assert OPS[name].value(x) == expected


@pytest.mark.parametrize("name", ["atanh", "log", "log1p", "acos", "sqrt"])
def test_outside_of_its_domain_a_function_is_nan(name):
    assert isnan(OPS[name].value(-1.5))


def test_hypot_beyond_the_largest_number_is_infinite_and_of_a_nan_it_is_nan():
    hypot = OPS["hypot"].value
    assert hypot(1.7e308, 1.7e308) == hypot(-1.7e308, 1.7e308) == inf
    assert hypot(inf, nan) == inf and isnan(hypot(nan, 1.0)) and isnan(hypot(1.0, nan))


@pytest.mark.parametrize("which", [(nan, 1.0), (1.0, nan)])
def test_hypot_of_a_nan_for_which_python_says_overflow(which, monkeypatch):
    def overflow(x):
        raise OverflowError

    monkeypatch.setitem(OPS["hypot"].value.__globals__, "abs", overflow)
    assert isnan(OPS["hypot"].value(*which)) and OPS["hypot"].value(1.0, 2.0) == inf


@pytest.mark.parametrize("name", ["atan", "asinh", "acosh"])
@pytest.mark.parametrize("x", [1e8, 1.4e8, 3e9, 1e200])
def test_slopes_far_out(name, x):
    """Where 1 + a² is a² to the last digit, or overflows, another formula takes over."""
    mp.dps = 50
    for a in (x, -x) if name != "acosh" else (x,):
        exact = float({"atan": 1 / (1 + mp.mpf(a) ** 2), "asinh": 1 / mp.sqrt(mp.mpf(a) ** 2 + 1),
                       "acosh": 1 / mp.sqrt(mp.mpf(a) ** 2 - 1)}[name])  # fmt: skip
        y = OPS[name].value(a)
        assert partials(OPS[name], [a], y)[0] == pytest.approx(exact, rel=4e-16, abs=0.0)


@pytest.mark.parametrize("s", [1.5, 2.0, 3.0, 5.0, 9.0, 14.0, 20.0, 30.0, 40.0])
@pytest.mark.parametrize("x", [0.1, 0.7, 1.0, 2.5, 7.0, 30.0, 100.0])
def test_zeta(s, x):
    with mp.workdps(120):  # mpmath's digits are those of a sum around 1, and zeta(40, 100) is 3e-79
        exact = float(mp.zeta(s, x))
    assert OPS["zeta"].value(s, x) == pytest.approx(exact, rel=2e-15, abs=0.0)


def test_calls_of_rows_on_numbers_and_on_values():
    assert call(OPS["add"], 1, 2) == 3 and call(OPS["sum"], [1, 2.0, 4.0]) == 7.0
    found = call(OPS["sum"], [1.0, Value(2.0)])
    assert isinstance(found, Value) and found.data == 3.0
    assert call(OPS["mul"], 2, Value(3.0)).data == 6.0


def test_a_row_is_copied_by_its_name_and_an_op_outside_of_the_table_by_its_fields():
    assert pickle.loads(pickle.dumps(OPS["tanh"])) is OPS["tanh"] and copy.deepcopy(OPS["sum"]) is OPS["sum"]
    other = Op("twice", lambda a: 2.0 * a, [lambda a, y: 2.0])
    found = copy.copy(other)
    assert type(found) is Op and found is not other and found.name == "twice" and found.value(2.0) == 4.0


def test_slopes_at_infinity():
    for a, expected in ((inf, 1.0), (-inf, -1.0)):
        assert partials(OPS["hypot"], [a, 2.0], inf)[0] == expected
    for order in (1, 2):
        f = lambda x: math.atan2(x, 2.0) + math.atan2(3.0, x)  # noqa: E731
        for _ in range(order):
            f = grad(f)
        assert f(inf) == f(-inf) == 0.0
