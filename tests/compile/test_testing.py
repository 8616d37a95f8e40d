"""micrograd.testing.check finds what is wrong with a function, and says what is right."""

from __future__ import annotations

import math as python_math
from typing import NamedTuple

import numpy as np
import pytest

from micrograd import GradientError, Value, math, primitive
from micrograd.testing import WAYS, check

COMPILES = True


def kinds(report):
    return {outcome.way: outcome.kind for outcome in report.outcomes}


def choice(x, n, name):
    total = 0.0
    for i in range(n):
        if x > i:
            total += math.exp(-x * i)
    return {"a": total, "b": [x * x, total > 1.0]} if name == "both" else total


def test_a_function_that_is_right_is_right_in_every_way():
    report = check(lambda x, y: math.sin(x) * y, [(1.0, 2.0), (0.5, -3.0)], order=2)
    assert report.ok and set(kinds(report)) == set(WAYS) and {o.kind for o in report.outcomes} == {"right"}
    assert repr(report) == "<check of test_a_function_that_is_right_is_right_in_every_way.<locals>.<lambda>: 20 right>"
    report.raise_if_wrong()


def test_ints_and_strings_configure_the_function():
    report = check(choice, [(1.5, 3, "both"), (2.5, 4, "one")])
    assert [o for o in report.outcomes if o.kind != "right"] == []


class Pair(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize(
    "argument",
    [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), Pair(1.0, 2.0), {"a": 1.0, "b": 2.0}],
    ids=["list", "tuple", "array", "named tuple", "dict"],
)
def test_arguments_of_every_structure(argument):
    def f(p):
        x, y = (p["a"], p["b"]) if isinstance(p, dict) else p
        return [x * y, math.exp(x) - y]

    assert {o.kind for o in check(f, (argument,)).outcomes} == {"right"}


def test_a_wrong_partial_is_found_at_each_point():
    @primitive(lambda x, y: 2.0 * x * x)
    def cube(x):
        return x * x * x

    report = check(lambda x: cube(x) + 1.0, [(2.0,), (3.0,)])
    assert [(o.way, o.point) for o in report.of("wrong")] == [("eager gradient", 0), ("eager gradient", 1)]
    assert "eager gradient".ljust(21) + "0".rjust(7) + "0".rjust(6) + "0".rjust(9) + "2".rjust(7) in str(report)
    with pytest.raises(GradientError, match=r"the derivative by number 0 is 8, finite differences give 12"):
        report.raise_if_wrong()


def test_a_wrong_second_derivative_is_found():
    @primitive(lambda x, y: math.stop_gradient(3.0 * x * x))
    def cube(x):
        return x * x * x

    assert [o.way for o in check(cube, (2.0,), order=2).of("wrong")] == ["second derivative"]


def test_a_function_that_knows_values_from_floats_is_found():
    found = kinds(check(lambda x: x * 2.0 if isinstance(x, Value) else x * 3.0, (1.0,)))
    assert found["eager value"] == "wrong" and found["eager gradient"] == "wrong"


def test_a_kink_is_no_mistake():
    found = kinds(check(lambda x: x if x > 1.0 else 2.0 * x, (1.0,)))
    assert found["eager gradient"] == "kink" and found["eager value"] == "right"


def test_what_is_refused_is_told_with_its_message():
    report = check(lambda x: x.data * 1.0 if isinstance(x, Value) else x, (1.0,))
    assert any("read inside a compiled function" in o.detail for o in report.of("refused"))


def test_inputs_without_a_float_are_refused():
    with pytest.raises(TypeError, match=r"inputs 0 hold no float.*\n.*Write 2.0"):
        check(lambda x: x, (2,))
    with pytest.raises(TypeError, match="a function to check is needed"):
        check(3.0, (2.0,))


def test_a_large_slope_and_a_small_argument():
    assert check(lambda x: math.exp(x), [(30.0,), (1e-8,), (-20.0,)]).ok
    assert check(lambda x: math.sqrt(x), [(1e-6,), (1e12,)]).ok


def test_the_oracle_is_the_function_on_plain_floats():
    calls = []

    def f(x):
        if type(x) is float:
            calls.append(x)
        return x * x

    check(f, (2.0,))
    assert 2.0 in calls and any(x != 2.0 and python_math.isclose(x, 2.0, rel_tol=0.02) for x in calls)
