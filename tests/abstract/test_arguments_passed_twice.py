"""One object as two arguments, or as an argument and a global variable: later calls pass others."""

from __future__ import annotations

import pytest

from micrograd import grad, jit
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="typed tapes need NumPy")
pytestmark = needs_llvm
SEEN = [float(k) for k in range(1, 40)]


def dot(ys, zs):
    t = 0.0
    for k in range(len(ys)):
        t += ys[k] * zs[k]
    return t


@pytest.mark.parametrize("made", [list, np.array])
def test_a_list_as_two_arguments(made):
    ys, zs = made(SEEN), made([1.0] * len(SEEN))
    compiled, both = jit(dot), jit(grad(dot, (0, 1)))
    for _ in range(3):
        for args in ((ys, ys), (ys, zs), (zs, ys), (zs, zs)):
            assert compiled(*args) == dot(*args)
            assert [list(g) for g in both(*args)] == [list(args[1]), list(args[0])]


def test_a_list_inside_of_two_arguments():
    def f(p, q):
        return dot(p["a"], q["a"])

    one, other = {"a": SEEN}, {"a": [2.0] * len(SEEN)}
    compiled = jit(f)
    for args in ((one, one), (one, other), (other, one), (one, {"a": one["a"]})) * 2:
        assert compiled(*args) == f(*args)


def test_an_argument_that_is_a_global_variable():
    def f(ys):
        return dot(ys, SEEN)

    compiled = jit(f)
    for ys in (SEEN, [1.0] * len(SEEN), SEEN[::-1], SEEN):
        assert compiled(ys) == f(ys)


class Point:
    def __init__(self, at):
        self.at = at


ORIGIN = Point(0.5)


def test_an_object_as_two_arguments_or_as_a_global_variable():
    def f(p, q):
        t = 0.0
        for _ in range(30):
            t += p.at * q.at * ORIGIN.at + (100.0 if p is q else 0.0) + (1000.0 if p is ORIGIN else 0.0)
        return t

    compiled, a, b = jit(f), Point(2.0), Point(3.0)
    for args in ((a, a), (a, b), (b, b), (ORIGIN, a), (b, a), (ORIGIN, ORIGIN), (a, ORIGIN)) * 2:
        assert compiled(*args) == f(*args)


def test_whether_two_lists_are_one():
    def f(ys, zs):
        t = 0.0
        for y in ys:
            t += y + (100.0 if ys is zs else 0.0) + (1000.0 if zs is SEEN else 0.0)
        return t

    compiled, a, b = jit(f), SEEN[:], [1.0] * 39
    for args in ((a, b), (a, a), (b, b), (a, SEEN), (SEEN, SEEN), (SEEN, b)) * 2:
        assert compiled(*args) == f(*args)
