"""Loops inside of loops that change a few items of a long list: their gradients keep those items, and not the list.

What an iteration reads of such a list, before, in and after the loop inside, is kept element by element (states.py). Each
program reads the list in another way; its gradient on a tape of loops is that of eager code, to first and second order.
"""

from __future__ import annotations

import pytest

from micrograd import grad, value_and_grad
from micrograd.stage.limits import Limits
from micrograd.tape.passes import states
from micrograd.tape.tape import Loop
from stage.test_changed_lists import compare, slope

N, WIDE = 8, 40
ROWS = [[0.7, 0.3], [0.9, -0.2], [-1.1, 0.45], [2.0, 0.0]]


def items(x):
    return [x * (0.1 * k + 1.0) for k in range(WIDE)]


def read_behind(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * y + x
        total = total + a[i] * a[i + 1]
    return total


def read_before_and_behind(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        before = a[i + 2] * x
        for j in range(4):
            a[i + j] = a[i + j] * y + before
        total = total + a[i + 2] * before
    return total


def sum_inside(x, y):
    a, total = items(x), 1.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * y + total * 0.1
            total = total + a[i + j] * a[i]
        a[i] = a[i] * total * 0.1
    return total + a[3]


def two_lists(x, y):
    a, b, total = items(x), items(y), 0.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * b[i] + x
            b[j] = b[j] * 0.5 + a[i]
        total = total + a[i + 1] * b[1]
    return total


def one_list_read_whole(x, y):
    a, b, total = items(x), items(y), 0.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * b[i] + x
            b[j] = b[j] * 0.5 + y
        total = total + a[i + 1] * sum(b)
    return total


def the_list_read_whole_behind(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * y + x
        total = total + a[i] * max(a)
    return total


def read_alone(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        a[i] = a[i] * y + x
        for j in range(4):
            total = total * 0.5 + a[i + j] * a[i]
    return total


def twice(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * y + x
        for j in range(4):
            a[i + j] = a[i + j] * a[i] * 0.3
        total = total + a[i + 1] * y
    return total


def three_deep(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        for j in range(5):
            for k in range(4):
                a[i + j + k] = a[i + j + k] * y + x * a[i]
            total = total + a[i + j] * 0.1
        total = total * a[i]
    return total


def triangle(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        for j in range(i):
            a[j] = a[j] * y + a[j + 1] * a[i]
        total = total + a[0] * a[i]
    return total


def first_item(x, y):
    a, total = items(x), 0.0
    for i in range(N):
        a[i] = a[i] * y + a[0] * a[0]
        total = total + a[-1] * a[i]
    return total


PROGRAMS = {
    f.__name__: f
    for f in (
        read_behind, read_before_and_behind, sum_inside, two_lists, one_list_read_whole, the_list_read_whole_behind,
        read_alone, twice, three_deep, triangle, first_item,
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "order"),
    [
        *((name, "gradient") for name in PROGRAMS),
        ("read_behind", "second"),
        ("sum_inside", "second"),
        ("triangle", "second"),
    ],
)
def test_the_gradient_is_that_of_eager_code(name, order):
    f = PROGRAMS[name]
    g = value_and_grad(f, (0, 1)) if order == "gradient" else grad(slope(f), (0, 1))
    found = compare(g, False, ROWS, Limits(iterations=3))
    assert found is not None and any(isinstance(op, Loop) for op in found.tape.ops), found


@pytest.mark.parametrize("name", ["read_behind", "sum_inside", "two_lists", "read_alone", "twice", "triangle"])
def test_no_list_is_kept_whole(name, monkeypatch):
    seen = []
    usual = states.kept

    def kept(op, given, also=frozenset()):
        found = usual(op, given, also)
        seen.append(found)
        return found

    monkeypatch.setattr(states, "kept", kept)
    compare(value_and_grad(PROGRAMS[name], (0, 1)), False, ROWS[:1], Limits(iterations=3))
    nested = [found for found in seen if found.loops]
    assert nested and not any(found.whole for found in seen), seen
