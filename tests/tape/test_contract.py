"""contract: which products are fused with sums, and that rows have the same bits at every width."""

from __future__ import annotations

import math as python

import numpy as np
import pytest

from micrograd import math, value_and_grad, vmap
from micrograd.tape import interpret, passes
from micrograd.tape.check import check
from micrograd.tape.tape import Loop
from micrograd.tape.trace import trace
from random_programs import needs_llvm

NUMBERS = 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0


def traced(f, count=3):
    found = trace(f, ("tuple", (("*",),) * count), list(NUMBERS[:count]), frozen=True).tape
    after = passes.contract(found)
    check(after)
    return found, after


def names(tape):
    return [op.name for op in tape.ops if op.name not in ("input", "param", "const")]


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda a, b, c: a * b + c, ["fma"]),
        (lambda a, b, c: c + a * b, ["fma"]),
        (lambda a, b, c: a * b - c, ["neg", "fma"]),
        (lambda a, b, c: c - a * b, ["neg", "fma"]),
        (lambda a, b, c: a * b + b * c, ["mul", "fma"]),
        (lambda a, b, c: (lambda p: (p + c) * p)(a * b), ["mul", "add", "mul"]),  # two readers
        (lambda a, b, c: a + b + c, ["add", "add"]),
    ],
)
def test_products_that_one_sum_reads_are_fused(f, want):
    _, after = traced(f)
    assert sorted(names(after)) == sorted(want)


def test_the_result_is_rounded_once():
    before, after = traced(lambda a, b, c: a * b + c)
    a, b, c = NUMBERS
    assert interpret.run(before, [a, b, c], []) == [a * b + c] == [0.0]
    assert interpret.run(after, [a, b, c], []) == [-(2.0**-60)]


def test_what_decides_and_what_edges_read_is_not_fused():
    _, after = traced(lambda a, b, c: math.sqrt(a * a - b * c))
    assert "fma" not in names(after)
    _, after = traced(lambda a, b, c: math.floor(a * b + c))
    assert "fma" not in names(after)


def test_bodies_of_loops():
    def walk(x):
        for _ in range(3000):
            x = x * 0.999 + 0.001
        return x

    tape = vmap(walk).tape(np.ones(3))
    after = passes.contract(tape)
    bodies = [names(op.body) for op in after.ops if isinstance(op, Loop)]
    assert bodies == [["fma"]]


def program(a, b, c):
    x = a
    for k in range(5):
        x = 0.5 * x * b + math.exp(-c * x - a * b) - 0.1 * k * (a * c - b * x)
    return x * x + a * c


@needs_llvm
@pytest.mark.parametrize("width", [1, 2, 4, 16])
def test_rows_have_the_same_bits_at_every_width(width):
    """exp is computed by other steps where vectors are short, so that here there is none."""
    f = value_and_grad(lambda a, b, c: (a * b + c) * (a - b * c) + (a * a - c * b) * c, (0, 1, 2))
    columns = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 1000))
    found, want = vmap(f, width=width)(*columns), vmap(f, width=8)(*columns)
    for x, y in zip((found[0], *found[1]), (want[0], *want[1])):
        assert np.array_equal(x, y)


@needs_llvm
def test_rows_are_near_those_of_eager_code():
    columns = np.random.default_rng(4).uniform(0.5, 1.0, (3, 300))
    found, want = vmap(program)(*columns), vmap(program, exact=True)(*columns)
    assert np.allclose(found, want, rtol=1e-9)
    assert all(python.isfinite(y) for y in found)
