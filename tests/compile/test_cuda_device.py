"""Rows on a GPU, where there is one: the bits of the CPU, and what only a real driver can show."""

from __future__ import annotations

import numpy as np
import pytest
from test_cuda import COLUMNS, NO_FORMULA, applied, by_path, functions, library, payoff, same, units

from micrograd import CompileError, Value, math, nn, value_and_grad, vmap
from micrograd.compile.cuda import driver
from micrograd.ops import OPS
from random_programs import needs_llvm


def _reason():
    """Why there is no GPU; empty where there is one."""
    try:
        driver.device(0)
    except CompileError as error:
        return str(error).splitlines()[0]
    return ""


WHY_NOT = _reason()
pytestmark = [needs_llvm, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

N = 100_000
X, Y = np.random.default_rng(1).uniform(-1.0, 1.0, (2, N))
Z = np.random.default_rng(2).standard_normal((6, N))
MARKET = {"in_axes": (None, None, None, 1)}


def test_exact_ops_have_the_bits_of_eager_code():
    exact = [
        op for op in OPS.values() if op.arity > 0 and op.llvm and (not library(op) or functions.same_bits(library(op)))
    ]
    columns = [np.tile(c, 50) for c in COLUMNS]
    f = applied(exact)
    for op, y, want in zip(exact, vmap(f, exact=True, device="cuda")(*columns), vmap(f, exact=True)(*columns)):
        assert same(y, want), op


def test_other_functions_are_near():
    near = [op for op in OPS.values() if library(op) and op.name not in NO_FORMULA]
    f = applied(near)
    for op, y, want in zip(near, vmap(f, device="cuda")(*COLUMNS), vmap(f, exact=True)(*COLUMNS)):
        assert units(y, want) <= 3, op


@pytest.mark.parametrize("reduce", [None, "sum", "mean"])
@pytest.mark.parametrize("count", [1, 2047, 2049, N])
def test_values_and_gradients_have_the_bits_of_the_cpu(reduce, count):
    f = value_and_grad(payoff, (0, 1, 2))
    how = {**MARKET, "reduce": reduce, "exact": True}
    found, want = (vmap(f, **how, **more)(1.0, 0.9, 0.2, Z[:, :count]) for more in ({"device": "cuda"}, {}))
    for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
        assert same(a, b)


@pytest.mark.parametrize("reduce", [None, "sum"])
def test_rows_that_take_several_paths(reduce):
    how = {"reduce": reduce, "exact": True}
    assert same(vmap(by_path, device="cuda", **how)(X, Y), vmap(by_path, **how)(X, Y))


def test_loops():
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    numbers = np.linspace(0.5, 90.0, N)
    assert np.allclose(vmap(root, device="cuda")(numbers), np.sqrt(numbers), rtol=1e-12)

    def walk(k, x):
        for _ in range(300):
            x = x + 0.01 * (math.sin(k * x) - x * x * x)
        return x

    f = value_and_grad(walk, (0, 1))
    found, want = (vmap(f, in_axes=(None, 0), **how)(0.8, X) for how in ({"device": "cuda"}, {}))
    for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
        assert np.allclose(a, b, rtol=1e-11)


def test_a_network():
    model = nn.MLP(2, [16, 16, 1], rng=0)
    f = lambda x, label: math.relu(1 - label * model(x))  # noqa: E731
    inputs, labels = np.stack([X, Y], axis=1), np.sign(X)
    found = []
    for how in ({"device": "cuda"}, {}):
        for p in model.parameters():
            p.grad = 0.0
        loss = vmap(f, reduce="mean", **how)(inputs, labels)
        loss.backward()
        found.append([loss.data, *(p.grad for p in model.parameters())])
    assert found[0] == pytest.approx(found[1], rel=1e-10, abs=1e-12)


def test_single_precision():
    f = value_and_grad(payoff, (0, 1, 2))
    how = {**MARKET, "reduce": "mean", "float32": True}
    found, want = (vmap(f, **how, **more)(1.0, 0.9, 0.2, Z) for more in ({"device": "cuda"}, {}))
    assert found[0] == pytest.approx(want[0], rel=1e-5)
    assert found[1] == pytest.approx(want[1], rel=1e-5)


def test_many_columns_and_captured_values():
    weights = [Value(0.01 * k) for k in range(300)]
    f = lambda v: sum((w * x for w, x in zip(weights, v)), 0.0)  # noqa: E731
    table = np.random.default_rng(4).standard_normal((5000, 300))
    found = []
    for how in ({"device": "cuda"}, {}):
        for w in weights:
            w.grad = 0.0
        loss = vmap(f, reduce="sum", exact=True, **how)(table)
        loss.backward()
        found.append([loss.data, *(w.grad for w in weights)])
    assert found[0] == found[1]


def test_the_device_has_a_name_and_memory():
    device = driver.device(0)
    assert device.name() and device.free_bytes() > 1 << 28
    with pytest.raises(CompileError, match="numbered from 0"):
        driver.device(999)
