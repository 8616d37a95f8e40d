"""Rows on a GPU, where there is one: the bits of the CPU, and what only a real driver can show."""

from __future__ import annotations

import numpy as np
import pytest
from test_cuda import COLUMNS, NO_FORMULA, applied, by_path, functions, library, nested, payoff, same, units

from micrograd import CompileError, Value, data, losses, math, nn, optim, value_and_grad, vmap
from micrograd.compile.cuda import driver
from micrograd.ops import OPS
from micrograd.train import fit
from random_programs import needs_llvm
from training_runs import MAKERS


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


def arrays_of(library):
    """How a library makes an array on the device, and what class it then has."""
    module = pytest.importorskip(library)
    if library == "torch":
        return lambda x: module.from_numpy(np.ascontiguousarray(x)).to("cuda"), module.Tensor
    if library == "cupy":
        return module.asarray, module.ndarray
    module.config.update("jax_enable_x64", True)
    gpu = next((d for d in module.devices() if d.platform == "gpu"), None)
    if gpu is None:
        pytest.skip("this JAX sees no GPU")
    return lambda x: module.device_put(x, gpu), module.Array


def on_cpu(x):
    """A device array as a NumPy array."""
    return x.get() if hasattr(x, "get") else x.cpu().numpy() if hasattr(x, "cpu") else np.asarray(x)


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
class TestArraysOfOtherLibraries:
    def test_in_and_out(self, library):
        make, kind = arrays_of(library)
        x, y = make(X), make(Y)
        found, rest = vmap(lambda x, y: (x * y, {"sum": x + y}), device="cuda")(x, y)
        assert isinstance(found, kind) and isinstance(rest["sum"], kind)
        assert same(on_cpu(found), X * Y) and same(on_cpu(rest["sum"] * 1.0), X + Y)

    def test_sums_and_several_paths(self, library):
        make, kind = arrays_of(library)
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "mean"}
        assert vmap(f, device="cuda", **how)(1.0, 0.9, 0.2, make(Z)) == vmap(f, **how)(1.0, 0.9, 0.2, Z)
        found = vmap(by_path, exact=True, device="cuda")(make(X), make(Y))
        assert isinstance(found, kind) and same(on_cpu(found), vmap(by_path, exact=True)(X, Y))

    def test_what_was_computed_just_before_is_read(self, library):
        make, _ = arrays_of(library)
        x, f = make(X), vmap(lambda x: x * 2.0, device="cuda")
        for k in range(20):
            y = x
            for _ in range(10):
                y = y * 1.5 + k
            assert same(on_cpu(f(y)), on_cpu(y) * 2.0)

    def test_views(self, library):
        make, _ = arrays_of(library)
        table = make(np.stack([X, Y], axis=1))
        f = vmap(lambda v: v[0] - v[1], device="cuda")
        assert same(on_cpu(f(table)), X - Y) and same(on_cpu(f(table[10:-10])), (X - Y)[10:-10])
        assert same(on_cpu(vmap(lambda v: v[0] - v[1], in_axes=1, device="cuda")(table.T)), X - Y)


@pytest.mark.parametrize("exact", [False, True])
def test_default_results_have_the_bits_of_the_cpu(exact):
    f = value_and_grad(payoff, (0, 1, 2))
    how = {**MARKET, "reduce": "sum", "exact": exact}
    assert vmap(f, device="cuda", **how)(1.0, 0.9, 0.2, Z) == vmap(f, **how)(1.0, 0.9, 0.2, Z)


@pytest.mark.parametrize("batch_size", [None, 500])
def test_training_has_the_bits_of_the_cpu(batch_size):
    X, y = data.moons(2000, seed=0)
    found = []
    for how in ({"device": "cuda"}, {"compile": True}):
        model = nn.MLP(2, [8, 1], rng=0)
        optimizer, sides = optim.Adam(model.parameters(), lr=0.05), [1.0 if label else -1.0 for label in y]
        history = fit(model, (X, sides), losses.max_margin, optimizer, 5, batch_size=batch_size, quiet=True, **how)
        found.append([*(row["loss"] for row in history.rows), *(p.data for p in model.parameters())])
    assert found[0] == found[1]


@pytest.mark.parametrize("how", [{}, {"clip": 0.3}, {"batch_size": 700}])
@pytest.mark.parametrize("name", MAKERS)
def test_steps_that_stay_have_the_bits_of_the_cpu(name, how):
    X, y = data.moons(5000, seed=0)
    found, sides = [], [1.0 if label else -1.0 for label in y]
    for device in ({"device": "cuda"}, {"compile": True}):
        model = nn.MLP(2, [9, 8, 1], rng=0)
        optimizer = MAKERS[name](model.parameters())
        history = fit(model, (X, sides), losses.max_margin, optimizer, 20, quiet=True, **how, **device)
        ends = [(p.data, p.grad) for p in model.parameters()]
        found.append(([row["loss"] for row in history.rows], ends, optimizer.state_dict()))
    assert found[0] == found[1]


def test_loops_inside_of_loops_carry_their_tangents():
    f = value_and_grad(nested, (0, 1))
    found, want = vmap(f, device="cuda")(X, Y), vmap(f)(X, Y)
    assert same(found[0], want[0]) and all(same(a, b) for a, b in zip(found[1], want[1]))


def test_a_while_loop_without_a_bound_carries_its_tangents():
    def decay(k, x):
        while x > 0.5:
            x = x * math.exp(-k * x)
        return x

    f, args = value_and_grad(decay, (0, 1)), (np.linspace(0.1, 1.0, 9999), np.linspace(1.0, 9.0, 9999))
    found, want = vmap(f, device="cuda")(*args), vmap(f)(*args)
    assert np.array_equal(found[0], want[0]) and all(np.array_equal(a, b) for a, b in zip(found[1], want[1]))
