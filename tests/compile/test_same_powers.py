"""pow over rows with exact=True: the bits of the C library, in vectors where its steps are those that we know."""

from __future__ import annotations

import itertools
import math as python

import numpy as np
import pytest

from micrograd import Value, math, vmap
from micrograd.compile.elementary import functions
from micrograd.compile.llvm import vector_math
from random_programs import needs_llvm, same

pytestmark = needs_llvm

SPECIAL = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-20, 0.5, 1.0, 1.0000000000000002, 2.0, 3.0,
           -1.0, -2.0, -0.5, -3.0, 1e20, 1e308, -1e308, python.inf, -python.inf, python.nan]  # fmt: skip


def check(xs, ys, **options):
    got = vmap(lambda x, y: math.pow(x, y), exact=True, **options)(xs, ys)
    want = [math.pow(Value(float(x)), Value(float(y))).data for x, y in zip(xs, ys)]
    wrong = [(x, y, g, w) for x, y, g, w in zip(xs.tolist(), ys.tolist(), got.tolist(), want) if not same(g, w)]
    assert wrong == []


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_rows_have_the_bits_of_eager_code(width):
    rng = np.random.default_rng(width)
    xs = np.concatenate(
        [rng.uniform(0.0, 4.0, 2000), np.ldexp(rng.uniform(0.5, 1.0, 1000), rng.integers(-1073, 1024, 1000))]
    )
    ys = np.concatenate([rng.integers(-300, 300, 1000), rng.normal(0.0, 9.0, 1000), rng.uniform(-1.1, 1.1, 1000)])
    check(xs, ys, width=width)


@pytest.mark.parametrize("width", [1, 8])
def test_special_numbers(width):
    """Alone in a vector of ordinary numbers, and all of them side by side."""
    pairs = np.array([*itertools.product(SPECIAL, SPECIAL)])
    check(pairs[:, 0], pairs[:, 1], width=width)
    spread = np.full((len(pairs), 7, 2), 1.25)
    check(*np.concatenate([pairs[:, None], spread], 1).reshape(-1, 2).T.copy(), width=width)


def test_results_near_the_ends_of_the_fast_steps():
    rng = np.random.default_rng(2)
    ys = rng.uniform(2.0, 300.0, 8000) * rng.choice([-1.0, 1.0], 8000)
    check(np.exp(np.repeat([511.999999, 512.0, 709.7, -511.9999, -512.0, -745.0, 1e-17, 1e-300], 1000) / ys), ys)


def test_results_in_the_middle_between_two_numbers():
    """Square roots of numbers next to powers of four: the least of all roundings decides."""
    for exponent in (-1022, -20, 0, 40, 1000):
        xs = 2.0**exponent * (1.0 - np.arange(1, 500) * 2.0**-53)
        for y in (-0.5, 0.5, 1.5, -2.5):
            check(xs, np.full(len(xs), y))


def test_edges_of_the_intervals_of_the_table():
    edges = [functions.POW_FROM + (i << 45) + k for i in range(functions.SIZE) for k in (-1, 0, 1)]
    xs = np.array(edges, np.int64).view(float)
    for y in (0.37, -41.0):
        check(xs, np.full(len(xs), y))


def test_the_gradient_with_a_condition_that_is_computed_as_in_eager_code():
    """In the default mode what decides a branch has the bits of eager code: a power is compared with itself, from Python."""

    def f(x, y, eager):
        p = x**y
        return p * 2.0 if p == eager else p * 0.0

    rng = np.random.default_rng(3)
    xs, ys = rng.uniform(0.1, 4.0, 4000), rng.uniform(-9.0, 9.0, 4000)
    powers = np.array([python.pow(x, y) for x, y in zip(xs.tolist(), ys.tolist())])
    np.testing.assert_allclose(vmap(f)(xs, ys, powers), 2.0 * powers, rtol=1e-14)


def test_another_library_is_called_lane_by_lane(monkeypatch):
    monkeypatch.setattr(vector_math, "of_the_library", lambda name: False)
    f = vmap(lambda x: x**1.7 + 1.25, exact=True)
    xs = np.linspace(0.1, 3.0, 37)
    assert "mg_pow" not in f.source(xs)
    assert f(xs).tolist() == [x**1.7 + 1.25 for x in xs.tolist()]
