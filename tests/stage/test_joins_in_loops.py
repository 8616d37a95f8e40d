"""What a variable holds along several paths, in a loop that is compiled as a loop: one object for all of them."""

from __future__ import annotations

import pytest

from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="rows need NumPy")

from micrograd import math, vmap  # noqa: E402

pytestmark = [needs_llvm, pytest.mark.filterwarnings("error")]

XS = [0.3, 1.0, -0.5, -0.2, -2.0, -3.0]


def a_number_or_a_constant(x):
    s = 0.0
    for i in range(200):
        c = i * 0.5
        d = c if x > 0.0 else 2.0
        s += d * x
    return s


def two_numbers(x):
    s = 0.0
    for i in range(200):
        c = i * 0.5
        d = c * 1.5
        e = c if x > 0.0 else d
        s = s + math.sin(e * x)
    return s


def the_same_number_twice(x):
    s = 0.0
    for i in range(200):
        c = i * 0.5
        e = (c, x) if x > 0.0 else (c, 2.0 * x)
        s = s + math.sin(e[0] * e[1])
    return s


def beside_an_int(x):
    s = 0.0
    for i in range(200):
        c = i * 0.5
        e = c if x > 0.0 else (2 if x > -1.0 else 3.0)
        s = s + math.sin(e * x)
    return s


def beside_nothing(x):
    s = 0.0
    for i in range(200):
        c = i * 0.5
        e = c if x > 0.0 else (None if x > -1.0 else 3.0)
        s = s + (math.sin(e * x) if e is not None else x)
    return s


def values_beside_nothing(x):
    s = 0.0
    for _ in range(200):
        e = x * 2.0 if x > 0.5 else x * 3.0 if x > 0.0 else None if x > -1.0 else x * 5.0
        s = s + (x if e is None else e)
    return s


def kept_from_an_earlier_round(x):
    s, e = 0.0, 1.0
    for i in range(200):
        c = i * 0.5
        if math.sin(c * x) > 0.0:
            e = c
        s = s + e * x
    return s


def one_of_two_from_an_earlier_round(x):
    s, e = 0.0, 1.0
    for i in range(200):
        c = i * 0.5
        e = c if math.sin(c * x) > 0.0 else c * c
        s = s + e * x
    return s + e


def sums_of_chosen_numbers(x):
    s = 0.0
    for i in range(200):
        a, b, c = i * 0.5, i * 0.25 + 1.0, i * 0.125 + 2.0
        t = 0.0
        t = t + (a if x > 0.5 else b if x > 0.2 else c)
        t = t + (b if x > -0.3 else c if x > -1.0 else a)
        t = t + (c if x > -0.1 else a if x > -2.5 else b)
        t = t + (a if x > -1.5 else c if x > 0.9 else b)
        t = t + (b if x > 0.1 else a if x > -0.4 else c)
        t = t + (c if x > 0.4 else b if x > -1.2 else a)
        t = t + (a if x > 0.7 else c if x > -1.7 else b)
        s = s + t * x
    return s


@pytest.mark.parametrize(
    "f",
    [
        a_number_or_a_constant, two_numbers, the_same_number_twice, beside_an_int, beside_nothing,
        values_beside_nothing, kept_from_an_earlier_round, one_of_two_from_an_earlier_round, sums_of_chosen_numbers,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_the_loop_stays_a_loop_for_all_paths(f):
    h = vmap(f)
    assert h(np.array(XS)).tolist() == pytest.approx([f(x) for x in XS], rel=1e-12)
    (variant,) = h.variants
    assert variant.trace.merged and len(variant.tape) < (
        1000 if f is sums_of_chosen_numbers else 40
    )  # not as many as there are combinations


def test_values_are_told_from_what_else_there_is():
    def f(x):
        e = x * 2.0 if x > 0.5 else x * 3.0 if x > 0.0 else None if x > -1.0 else x * 5.0
        return e if isinstance(e, float) else x

    h = vmap(f)
    assert h(np.array(XS)).tolist() == [f(x) for x in XS]
    assert [v.trace.merged for v in h.variants] == [True]


def test_lists_of_several_paths_are_changed_apart():
    def f(x):
        a, b = [x, 1.0], [2.0, x]
        c = a if x > 0.0 else b
        c[0] = c[0] * 3.0
        return a[0] + a[1] * 10.0 + b[0] * 100.0 + b[1] * 1000.0

    h = vmap(f)
    assert h(np.array(XS)).tolist() == [f(x) for x in XS]
    assert [v.trace.merged for v in h.variants] == [True]
