"""Loops inside of loops that change a few items of a long list: their gradients keep those items, and not the list.

What an iteration reads of such a list, before, in and after the loop inside, is kept element by element (states.py). Each
program reads the list in another way; its gradient on a tape of loops is that of eager code, to first and second order.
"""

from __future__ import annotations

import pytest

from micrograd import grad, value_and_grad
from micrograd.stage.limits import Limits
from micrograd.tape import swept
from micrograd.tape.passes import primal, states
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


def two_sums(x, y):
    a, total, product = items(x), 0.0, 1.0
    for i in range(N):
        for j in range(4):
            a[i + j] = a[i + j] * y + total * product * 0.01
            total = total + a[i + j] * product
            product = product * (0.9 + 0.01 * a[i])
        a[i] = a[i] + total * 0.1
    return total * product


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
        read_behind, read_before_and_behind, sum_inside, two_sums, two_lists, one_list_read_whole,
        the_list_read_whole_behind, read_alone, twice, three_deep, triangle, first_item,
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


# How many items the outer loop keeps of each of its iterations, and which results the loops inside hand to it: items that they
# read, and of numbers that they carry (0 is the first of them) the last one and those at the beginning of each iteration.
KEPT = {
    "read_behind": (2, [[3]]),
    "read_before_and_behind": (2, [[3]]),
    "sum_inside": (1, [[0, 2, 5, 6]]),
    "two_sums": (1, [[0, 1, 3, 4, 7, 8]]),
    "two_lists": (2, [[5, 6, 7, 8]]),
    "read_alone": (1, [[0, 1, 3, 4]]),
    "twice": (1, [[3], [3, 4]]),
    "triangle": (2, [[3, 4, 5]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_items_are_kept_and_not_the_list(name, monkeypatch):
    seen = []
    usual = states.kept

    def kept(op, given, also=frozenset()):
        found = usual(op, given, also)
        seen.append((op, found))
        return found

    monkeypatch.setattr(states, "kept", kept)
    monkeypatch.setattr(swept._kept, "tapes", [])
    monkeypatch.setattr(primal, "joined", lambda *_: None)  # a loop that carries its tangents keeps nothing
    compare(value_and_grad(PROGRAMS[name], (0, 1)), False, ROWS[:1], Limits(iterations=3))
    outer = [found for op, found in seen if op.iterations == N - 1 and (found.loops or name not in KEPT)]
    if name in KEPT:
        assert not any(found.whole for _, found in seen), seen
        assert {(len(found.places), str([inner.numbers for inner in found.loops.values()])) for found in outer} == {
            (KEPT[name][0], str(KEPT[name][1]))
        }
    elif name == "first_item":
        assert all(len(found.places) == 3 and not found.whole for found in outer), outer
    else:  # the list is read as a whole, or more items of it than it has
        assert outer and all(found.whole and not found.loops for found in outer), outer
