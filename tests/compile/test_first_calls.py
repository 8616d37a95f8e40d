"""No result leaves before its guard holds: the first call gives what plain Python gives, whatever its arms return."""

from __future__ import annotations

import math as python
import re
import warnings
from typing import Any, NamedTuple

import pytest

from micrograd import TraceError, Value, jit, math, value_and_grad, vmap

np = pytest.importorskip("numpy", reason="the functions call NumPy, which is not merged")

POINTS = (2.0, -1.0, 0.5, -0.25)
CALLS = {
    "NumPy": lambda: np.linspace(0.0, 1.0, 3),
    "print": lambda: print(end=""),
    "re": lambda: re.match("a+", "aab"),
    "warnings": lambda: warnings.warn("seen", stacklevel=1),
}


class Found(NamedTuple):
    root: Any
    why: Any


# What the arm that is kept apart returns, and what the other one returns.
ARMS: dict[str, tuple[Any, Any]] = {
    "truths": (lambda x: True, lambda x: False),
    "None and a number": (lambda x: x * 2.0, lambda x: None),
    "a number and None": (lambda x: None, lambda x: x * 2.0),
    "texts": (lambda x: "large", lambda x: "small"),
    "whole numbers": (lambda x: 1, lambda x: 2),
    "a whole number and a float": (lambda x: 1, lambda x: 1.0),
    "a truth and a number": (lambda x: True, lambda x: 1.0),
    "signs of zero": (lambda x: 0.0, lambda x: -0.0),
    "tuples without items": (lambda x: (), lambda x: []),
    "dicts": (lambda x: {"y": x, "why": "large"}, lambda x: {"y": -x, "why": "small"}),
    "keys": (lambda x: {"y": x}, lambda x: {"z": x}),
    "named tuples": (lambda x: Found(x, "large"), lambda x: Found(None, "small")),
    "mixtures": (lambda x: [x, {"a": (None, 3)}], lambda x: [x, {"a": (True, x)}]),
    "nothing and something": (lambda x: None, lambda x: [x, [x, "a"]]),
    "only constants in a container": (lambda x: {"ok": True, "n": 3}, lambda x: {"ok": False, "n": 4}),
}


def written(x: Any) -> str:
    """A result in which 1, 1.0, True and -0.0 differ."""
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}: {written(v)}" for k, v in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return f"{type(x).__name__}({', '.join(map(written, x))})"
    return repr(x)


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize("how", [{}, {"exact": True}, {"wait": True}], ids=["default", "exact", "wait"])
@pytest.mark.parametrize("arms", ARMS)
def test_the_first_call_returns_what_its_own_arm_returns(arms, how):
    apart, other = ARMS[arms]

    def f(x):
        if x > 0.0:
            np.linspace(0.0, 1.0, 3)
            return apart(x)
        return other(x)

    for first in range(len(POINTS)):
        h = jit(f, **how)
        for x in (*POINTS[first:], *POINTS[:first]):
            assert written(h(x)) == written(f(x)), ("first call", x)
            assert written(h(x)) == written(f(x)), ("second call", x)


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize("call", CALLS)
def test_whatever_it_is_that_is_not_merged(call):
    def f(x):
        if x > 0.0:
            CALLS[call]()
            return True
        return False

    h = jit(f)
    assert [h(2.0), h(2.0), h(-2.0), h(-2.0)] == [True, True, False, False]


def test_a_loop_that_returns_a_constant_early():
    def f(x):
        for k in range(200):
            if math.sin(x * k) > 0.9999:
                print(end="")
                return "found"
        return None

    for x in (0.1, 3.0, 0.0, 0.7):
        h = jit(f)
        assert h(x) == h(x) == f(x)


def test_what_comes_beside_a_gradient():
    def f(x):
        if x > 0.0:
            print(end="")
            return x * x, "large"
        return -x, "small"

    h = jit(value_and_grad(f, has_aux=True))
    assert h(3.0) == h(3.0) == ((9.0, "large"), 6.0)
    assert h(-3.0) == h(-3.0) == ((3.0, "small"), -1.0)


def test_a_call_on_values_first():
    def f(x):
        if x > 0.0:
            print(end="")
            return None
        return "small"

    h = jit(f)
    assert h(Value(2.0)) is None and h(2.0) is None and h(Value(-2.0)) == h(-2.0) == "small"


def test_rows_take_the_constants_of_their_own_arm():
    def f(x):
        if x > 0.0:
            print(end="")
            return {"y": x, "why": "large"}
        return {"y": -x, "why": "small"}

    assert vmap(f)(np.array([1.0, 2.0]))["why"] == "large"
    assert vmap(f)(np.array([-1.0, -2.0]))["why"] == "small"
    with pytest.raises(TypeError, match="arrange their results in different ways"):
        vmap(f)(np.array([-1.0, 2.0]))


def test_rows_of_truths_that_numpy_gives():
    assert vmap(lambda x: np.isfinite(x))(np.array([1.0, np.inf])).tolist() == [1.0, 0.0]


def test_constants_are_compared_with_those_of_plain_numbers():
    """A trace without numbers is one that is compared, too: on Values, this function takes another course."""

    def f(x):
        try:
            return "ab"[x] and "an index"
        except TypeError:
            return "no index"

    with pytest.raises(TraceError, match="a whole number wanted, and a Value found"):
        jit(f)(1)

    def keys(x):
        return {"a": x} if not hasattr(x, "backward") else {"b": x}

    with pytest.raises(TraceError, match=re.escape("{'b': *} when it is traced, and {'a': *} for the numbers")):
        jit(keys)(1.0)


def test_a_complex_number_beside_others_is_nan():
    h = jit(lambda x: (x**0.5, "root"))
    assert python.isnan(h(-8.0)[0]) and h(-8.0)[1] == "root"
