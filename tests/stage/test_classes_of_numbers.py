"""What a merged function is told of the class of a number, and how it reads its own source, is what plain Python gives."""

from __future__ import annotations

import functools
import importlib
import warnings

import numpy as np
import pytest

from micrograd import Value, math, value_and_grad, vmap
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.filterwarnings("error")]

XS = [-2.0, 3.0, 0.5]


@functools.singledispatch
def shown(x):
    return 1.0


@shown.register
def _(x: float):
    return x * x


def dispatched(x):
    return shown(x) if x > 0.0 else x


def compared(x):
    if x > 0.0:
        return x * x if x.__class__ is float else -x
    return x


def read_by_name(x):
    return x * x if x > 0.0 and getattr(x, "__class__") in (int, float) else -x  # noqa: B009


class Absolute:
    def cost(self, x):
        return x if x > 0.0 else -x


class Scaled(Absolute):
    def cost(self, x):
        return 2.0 * super(Scaled, self).cost(x - 1.0)  # noqa: UP008


def old_super(x):
    return Scaled().cost(x)


@pytest.mark.parametrize("f", [dispatched, compared, read_by_name, old_super], ids=lambda f: f.__name__)
def test_a_branch_that_a_later_call_takes_first_gives_what_plain_python_gives(f):
    shown(1.0), shown(Value(1.0))  # singledispatch remembers the function for a class
    rows = vmap(value_and_grad(f))
    for xs in (XS[:1], XS):
        values, slopes = rows(np.array(xs))
        assert [(y, d) for y, d in zip(values, slopes)] == [value_and_grad(f)(x) for x in xs]
    assert len(list(rows.variants)) == 1


def attempted(f, n):
    try:
        return f(n)
    except (TypeError, ValueError, AttributeError):
        return 77.0


QUESTIONS = {
    "isinstance": lambda n: isinstance(n, int),
    "type": lambda n: type(n) is int,
    "__class__": lambda n: n.__class__ is int,
    "getattr": lambda n: getattr(n, "real", 9),
    "hasattr": lambda n: hasattr(n, "real"),
    "repr": lambda n: len(repr(n)),
    "gcd": lambda n: math.gcd(n, 6),
    "factorial": lambda n: math.factorial(n % 4),
    "modf": lambda n: math.modf(n / 2)[0],
    "isclose": lambda n: math.isclose(n, 3),
    "floor": lambda n: isinstance(math.floor(n / 2), int),
    "ldexp": lambda n: math.ldexp(1.5, n % 3),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_number_that_a_loop_counts_is_an_int_for_whatever_asks(name):
    ask = QUESTIONS[name]

    def f(x):
        n, total = 0, 0.0
        for k in range(40):
            if x * k > n:
                n += 1
            if x > 0.2:
                total = total + x * attempted(ask, n) + attempted(ask, k)
        return total

    rows = vmap(f)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "type()")
        for xs in ([-1.0], XS):  # the first call takes no branch that asks, and so checks none
            np.testing.assert_allclose(rows(np.array(xs)), [f(x) for x in xs], rtol=1e-12)


def test_warnings_about_the_source_are_not_given_again(tmp_path, monkeypatch):
    lines = ['"""A \\ d."""', "def f(x):", "    if x is 7: pass", "    return x if x > 0.0 else -x", ""]
    (tmp_path / "with_an_escape.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("with_an_escape")
    rows = vmap(module.f)
    assert rows(np.array([-1.0, 2.0])).tolist() == [1.0, 2.0]
    assert len(list(rows.variants)) == 1
