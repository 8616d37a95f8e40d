"""zip(..., strict=True) stays a counted loop of a typed tape, and raises what Python raises where the lengths differ."""

from __future__ import annotations

import copy

import pytest

from micrograd import grad, jit
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="typed tapes need NumPy")
pytestmark = needs_llvm
XS = [float(k) for k in range(1, 40)]
TARGETS = list(np.arange(1.0, 40.0))


def product(x, ys, zs):
    return sum(a * b * x for a, b in zip(ys, zs, strict=True))


def three(x, ys, zs):
    return sum(a * b * c * x for a, b, c in zip(ys, zs, range(len(ys)), strict=True))


def appended(x, ys, zs):
    t, zs = 0.0, [z * x for z in zs]
    for n, (a, b) in enumerate(zip(ys, zs, strict=True)):
        t += a * b
        if n == len(ys) - 1:
            zs.append(1.0)
    return t


def appended_before(x, ys, zs):
    t, zs = 0.0, [z * x for z in zs]
    pairs = zip(ys, zs, strict=True)
    zs.append(x)
    for a, b in pairs:
        t += a * b
    return t


def ended_early(x, ys, zs):
    t = 0.0
    for a, b in zip(ys, zs, strict=True):
        t += a * b * x
        if t > 50.0:
            break
    return t


def caught(x, ys, zs):
    t = 0.0
    try:
        for a, b in zip(ys, zs, strict=True):
            t += a * b * x
    except ValueError:
        t += 100.0
    return t


def one_iterator_twice(x, ys, zs):
    items = iter(ys)
    return sum(a * b * x for a, b in zip(items, items, strict=True))


def an_iterator_that_is_used_elsewhere(x, ys, zs):
    items, t = iter(ys), 0.0
    for a, b in zip(items, zs, strict=True):
        t += a * b * x
        for c in items:
            t += c
            break
    return t


def generated(x, ys, zs):
    return sum(a * b * x for a, b in zip((2.0 * y for y in ys), zs, strict=True))


PROGRAMS = [product, three, appended, appended_before, ended_early, caught, one_iterator_twice,
            an_iterator_that_is_used_elsewhere, generated]  # fmt: skip


def outcome(f, *args):
    try:
        return f(*copy.deepcopy(args))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_it_does_what_python_does(program):
    compiled = jit(program)
    for _ in range(2):
        for n, m in ((39, 39), (38, 38), (39, 38), (38, 39), (0, 0), (1, 1), (0, 1), (1, 0), (12, 11)):
            ys, zs = XS[:n], [z + 1.0 for z in XS[:m]]
            assert outcome(compiled, 0.5, ys, zs) == outcome(program, 0.5, ys, zs), (n, m)


def test_it_is_a_loop_of_the_tape():
    assert "a typed tape, for arrays of any length" in jit(product).explain(0.5, XS, XS)


def test_lists_of_numpys_numbers_are_lists_of_numbers():
    def squares(x):
        found = []
        for k in range(1, 391):
            x *= 0.99
            if k % 10 == 0:
                found += [x]
        return sum((a - b) * (a - b) for a, b in zip(found, TARGETS, strict=True))

    assert "a typed tape" in jit(squares).explain(1.5)
    assert jit(squares)(1.5) == squares(1.5)
    assert jit(grad(squares))(1.5) == pytest.approx(grad(squares)(1.5), rel=1e-13)
