"""Branches that tell a Value from the number for which it stands, and are first taken when no call is looked at any more."""

import contextlib
import math as standard

import numpy as np
import pytest

from micrograd import TraceError, Value, jit, vmap

TABLE = [1.0, 2.0, 3.0, 4.0]


def bits(x, n):
    if x > 0.0:
        return x
    try:
        return (n & 1) * x
    except TypeError:
        return 99.0 * x


def item(x, n):
    if x > 0.0:
        return x
    try:
        return TABLE[n] * x
    except Exception:
        return 99.0 * x


def part(x, n):
    if x > 0.0:
        return x
    with contextlib.suppress(TypeError):
        return len(TABLE[:n]) * x
    return 99.0 * x


def common(x, n):
    if x > 0.0:
        return x
    try:
        return standard.gcd(n, 6) * x
    except TypeError:
        return 99.0 * x


def method(x, n):
    if x > 0.0:
        return x
    try:
        return n.bit_length() * x
    except AttributeError:
        return 99.0 * x


def by_name(x, n):
    if x > 0.0:
        return x
    return 2.0 * x if hasattr(n, "__index__") else 3.0 * x


def by_default(x, n):
    if x > 0.0:
        return x
    return 2.0 * x if callable(getattr(x, "backward", None)) else 3.0 * x


def by_class(x, n):
    if x > 0.0:
        return x
    return 2.0 * x if type(x).__name__ == "float" else 3.0 * x


def ratio(x, n):
    if x > 0.0:
        return x
    try:
        return x.as_integer_ratio()[0] * x
    except AttributeError:
        return 99.0 * x


PROGRAMS = [bits, item, part, common, method, by_default, by_class, ratio]


@pytest.mark.parametrize("f", PROGRAMS)
def test_they_are_refused_or_right(f):
    g = jit(f, wait=True)
    for _ in range(70):
        assert g(1.5, 3) == 1.5
    with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted, and a Value found"):
        g(-1.5, 3)
    assert g(1.5, 3) == 1.5


def test_a_method_that_a_float_has_not():
    g = jit(by_name, wait=True)
    assert g(1.5, 3.0) == 1.5
    with pytest.raises(TraceError, match="for the numbers themselves"):
        g(-1.5, 3.0)
    assert g(-1.5, 3) == -3.0


def is_value(x):
    if x > 0.0:
        return x
    return 2.0 * x if isinstance(x, Value) else 3.0 * x


def test_every_branch_that_is_checked_is_compared_with_plain_numbers():
    with pytest.raises(TraceError, match=r"is_value gives -3\.0 when it is traced, and -4\.5 for the numbers"):
        vmap(is_value)(np.array([1.5, -1.5]))
    f = jit(is_value)
    assert f(1.5) == 1.5
    with pytest.raises(TraceError, match="for the numbers themselves"):
        f(-1.5)


def rounded_in_an_arm(x, n):
    if x > 0.0:
        return x
    return x * n if isinstance(n, int) else 0.5 * x


def test_ints_are_compared_as_ints():
    f = jit(rounded_in_an_arm)
    assert [f(1.0, 3), f(-1.0, 3), f(-2.0, 4), f(-1.0, 3.0)] == [1.0, -3.0, -8.0, -0.5]
