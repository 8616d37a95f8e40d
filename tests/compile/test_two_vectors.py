"""Loops whose iterations wait for each other's results run over two vectors of rows at a time."""

from __future__ import annotations

import pytest

from micrograd import Value, math, value_and_grad, vmap
from micrograd.compile.llvm import build
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


def cube_root(a):
    x = 1.0 + 0.1 * a
    while abs(x * x * x - a) > 1e-9:
        x = x - (x * x * x - a) / (3.0 * x * x)
    return x


def halvings(a):
    low, high, n = 0.0, a + 1.0, 0.0
    while high - low > 1e-9:
        middle, n = 0.5 * (low + high), n + math.sin(low)
        if middle * middle + middle > a:
            high = middle
        else:
            low = middle
    return low * n


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 15, 16, 17, 40])
@pytest.mark.parametrize("f", [cube_root, halvings])
def test_results_of_each_row(f, rows):
    xs = np.random.default_rng(rows).uniform(0.5, 300.0, rows)
    g = vmap(value_and_grad(f))
    values, slopes = g(xs)
    for x, value, slope in zip(xs.tolist(), values, slopes, strict=True):
        v = Value(x)
        y = f(v)
        y.backward()
        assert value == pytest.approx(y.data, rel=1e-13) and slope == pytest.approx(v.grad, rel=1e-12)
    assert sum(len(v.kernels) for v in g.variants) == 1
    assert f"<{build.vector_bits() // 32} x double>" in g.source(xs)


def test_other_loops_take_one():
    def table(x):  # a loop over an array that it writes
        rows = [x * k for k in range(40)]
        while rows[0] < 3.0:
            rows = [r * 1.5 + 0.1 for r in rows]
        return sum(rows)

    def fixed(x):
        for _ in range(500):
            x = x * 0.999 + 0.01
        return x

    xs = np.linspace(0.1, 2.0, 40)
    for f in (table, fixed):
        g = vmap(f)
        assert g(xs) == pytest.approx([f(x) for x in xs.tolist()], rel=1e-12)
        assert f"<{build.vector_bits() // 32} x double>" not in g.source(xs)
