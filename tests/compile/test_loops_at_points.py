"""Functions with loops at one point: one typed tape, which C calls when it has been called a few times."""

from __future__ import annotations

import gc
import math
import sys
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from micrograd import TraceError, Value, grad, jit, value_and_grad
from random_programs import needs_llvm

pytestmark = needs_llvm
SCALE = 2.0
TABLE = [0.5, 1.5, 2.5]


class Pair(NamedTuple):
    first: float
    second: float


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def recurrence(p):
    r = 0.0
    for i in range(1000):
        r = r * p[1] * 0.5 + math.sin(p[2] * i) * p[0]
    return r


def scaled(x):
    total = 0.0
    for t in TABLE:
        total += t * x * SCALE
    return total


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def structured(state, pair, grid):
    out = []
    for row in grid:
        out.append(state["a"] * row[0] + pair.second * row[1])
    return {"sum": sum(out), "pair": (out[0], [out[1]], None), "name": "text"}


def typed(f, *args):
    return "a typed tape" in str(f.explain(*args))


def often(f, *args):
    """The results of enough calls that C answers the last ones."""
    found = [f(*args) for _ in range(8)]
    assert all(repr(x) == repr(found[0]) for x in found)
    return found[-1]


def by_python(f, *args):
    """How many calls Python answers of some more."""
    seen = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_name == "_call":
            seen.append(frame)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        for _ in range(5):
            f(*args)
    finally:
        sys.setprofile(before)
    return len(seen)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (newton, (2.0,)),
        (recurrence, ([0.3, 0.7, 1.1],)),
        (scaled, (1.25,)),
        (power, (1.1, 7)),
        (recurrence, (np.array([0.3, 0.7, 1.1]),)),
        (structured, ({"a": 2.0}, Pair(1.0, 3.0), [[1.0, 2.0], [0.5, 0.25]])),
    ],
    ids=["while", "list", "outside", "int", "array", "structure"],
)
def test_values_have_the_bits_of_plain_python_and_c_answers(f, args):
    for exact in (False, True):
        compiled = jit(f, exact=exact)
        assert typed(compiled, *args)
        found, plain = often(compiled, *args), f(*args)
        assert repr(found) == repr(plain.item() if isinstance(plain, np.generic) else plain)
        assert by_python(compiled, *args) == 0


@pytest.mark.parametrize("make", [list, tuple, np.array], ids=lambda m: m.__name__)
def test_gradients_are_those_of_eager_code_in_the_structure_of_the_argument(make):
    p = make([0.3, 0.7, 1.1])
    compiled = jit(value_and_grad(recurrence))
    value, slopes = often(compiled, p)
    want, eager = value_and_grad(recurrence)(p)
    assert value == want and type(slopes) is type(p)
    np.testing.assert_allclose(slopes, eager, rtol=1e-13)
    assert by_python(compiled, p) == 0
    both = often(jit(grad(lambda a, b: sum(x * y for x, y in zip(a, b)), (0, 1))), [1.0, 2.0], [3.0, 4.0])
    assert both == ([3.0, 4.0], [1.0, 2.0])


def test_what_is_outside_is_looked_at_in_c(monkeypatch):
    f = jit(scaled)
    assert often(f, 1.0) == scaled(1.0)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert often(f, 1.0) == scaled(1.0) == 13.5
    try:
        TABLE[1] = 10.0
        assert often(f, 1.0) == scaled(1.0) == 39.0
        TABLE.append(1.0)
        assert often(f, 1.0) == scaled(1.0) == 42.0
    finally:
        TABLE[:] = [0.5, 1.5, 2.5]


def test_an_old_way_beside_a_typed_one_watches_what_both_have_read(monkeypatch):
    def f(x):
        total = x * 0.0
        for t in TABLE:
            total += t * SCALE
        return total * x

    compiled = jit(f)
    assert often(compiled, 1.0) == f(1.0)
    v = Value(1.0)
    compiled(v).backward()
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5.0)
    assert often(compiled, 1.0) == f(1.0) and compiled(Value(1.0)).data == f(1.0)


def test_other_arguments_than_those_that_c_knows():
    f = jit(power)
    assert often(f, 1.5, 3) == 1.5**3
    assert [f(1.5, n) for n in (0, 1, 2, 5)] == [power(1.5, n) for n in (0, 1, 2, 5)]
    assert f(2, 3) == 8.0 and type(f(2, 3)) is float
    assert f(1.5, True) == 1.5
    for args in [(1.5, 2.5), (1.5,)]:
        with pytest.raises((TypeError, TraceError)):
            f(*args)
    g = jit(value_and_grad(power))
    assert often(g, 2.0, 10)[1] == 10 * 2.0**9 and g(2.0, 2**60 - 2**60 + 3)[1] == 12.0
    many = jit(lambda *xs: sum(2.0 * x for x in xs))
    assert [many(*range(1, n)) for n in (2, 3, 5, 2)] == [2.0, 6.0, 20.0, 2.0]


def test_lists_of_other_lengths_are_installed_in_turn():
    f = jit(value_and_grad(lambda xs: sum(x * x for x in xs)))
    for n in (12, 40, 100, 12):
        xs = [float(k) for k in range(n)]
        for _ in range(60):
            assert f(xs) == (sum(x * x for x in xs), [2.0 * x for x in xs])
    with pytest.raises((TypeError, TraceError)):
        f([1.0, "a"] * 20)


@pytest.mark.parametrize("rows", [[(2.0, 0.5), (2.0, 0.0), (-1.0, 0.25)], [(2.0, 0.0), (2.0, 0.5)]])
def test_an_error_of_arithmetic_that_is_caught_is_one(rows):
    def f(a, b):
        s = a
        for _ in range(10):
            try:
                s += 0.1 * math.log(a) / b
            except (ZeroDivisionError, ValueError):
                s = s + 3.0
        return s

    compiled = jit(f)
    for row in rows:
        assert compiled(*row) == pytest.approx(f(*row), rel=1e-14)


def test_exact_gradients_have_the_bits_of_eager_code():
    """Equal instructions are merged on a typed tape, and iterations add up their own parts first."""

    def f(xs):
        total = 0.0
        for v in xs:
            total += math.sin(v) * xs[0] + math.sin(v) * v
        return total

    for n in (3, 300):
        xs = [math.sin(k + 0.5) for k in range(n)]
        assert jit(grad(f), exact=True)(xs) == grad(f)(xs)


def test_a_refused_function_keeps_none_of_its_objects():
    class Thing:
        pass

    seen = []

    def f(x):
        thing = Thing()
        seen.append(weakref.ref(thing))
        for _ in range(3):
            x = x + len([thing])
        return x

    compiled = jit(f)
    with pytest.raises(Exception, match="seen"):
        compiled(1.0)
    gc.collect()
    assert not [r for r in seen if r() is not None]


def test_the_value_is_not_slower_than_the_gradient_where_a_while_stands_in_a_loop():
    """A `while` in a loop over numbers was interpreted for values, and compiled for gradients."""

    def f(xs):
        total = 0.0
        for a in xs:
            x = a
            while x * x - a > 1e-9:
                x = 0.5 * (x + a / x)
            total += x
        return total

    xs = [1.0 + k / 100 for k in range(100)]
    value, slopes = jit(f), jit(value_and_grad(f))
    assert often(value, xs) == f(xs) and often(slopes, xs)[0] == f(xs)
    assert by_python(value, xs) == by_python(slopes, xs) == 0
    assert len(value.tape(xs)) < len(slopes.tape(xs)) < 100
