"""No number of a kernel is touched by two threads of which one writes it: the PTX runs on the CPU, and each access is noted."""

from __future__ import annotations

import numpy as np
import pytest
from test_cuda import MARKET, X, Y, Z, by_path, payoff, use

import cuda_stand_in
import ptx_cpu
from micrograd import data, losses, math, nn, optim, value_and_grad, vmap
from micrograd.compile.cuda import driver, ptx
from micrograd.compile.device import kernels
from micrograd.train import fit, on_device
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.skipif(ptx_cpu.COMPILER is None, reason="there is no C compiler")]
ROWS = 700  # of several segments; in two blocks of them below


@pytest.fixture
def gpu(monkeypatch):
    yield use(monkeypatch, cuda_stand_in.StandIn(races=True))
    driver.driver.cache_clear()


def lists(x, y):
    """Keeps a list in the memory of a thread, and reads it by an index that differs by row."""
    found = [x, y, x * y, x - y]
    for k in range(40):
        found[k % 4] = math.sin(found[(k + 1) % 4]) + y
    return found[int(math.abs(x) * 3.0)]


CASES = {
    "rows": lambda: vmap(payoff, device="cuda", **MARKET)(1.0, 0.9, 0.2, Z[:, :ROWS]),
    "sums": lambda: vmap(value_and_grad(payoff, (0, 1, 2)), reduce="mean", device="cuda", **MARKET)(
        1.0, 0.9, 0.2, Z[:, :3000]
    ),
    "several paths": lambda: vmap(by_path, reduce="sum", exact=True, device="cuda")(X[:ROWS], Y[:ROWS]),
    "lists": lambda: vmap(value_and_grad(lists, (0, 1)), device="cuda")(X[:ROWS], Y[:ROWS]),
    "single precision": lambda: vmap(payoff, reduce="sum", float32=True, device="cuda", **MARKET)(
        1.0, 0.9, 0.2, Z[:, :ROWS]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_have_no_races(gpu, name):
    CASES[name]()
    assert gpu.launches


@pytest.mark.parametrize("how", [{"epochs": 12, "clip": 0.3}, {"epochs": 4, "batch_size": 30}])
def test_training_steps_have_no_races(gpu, how):
    points, labels = data.moons(100, seed=0)
    model = nn.MLP(2, [9, 7, 1], rng=0)
    optimizer = optim.RMSprop(model.parameters(), momentum=0.5, centered=True)
    sides = [1.0 if label else -1.0 for label in labels]
    fit(model, (points, sides), losses.max_margin, optimizer, device="cuda", quiet=True, **how)
    assert "move_rmsprop_none_true_true" in gpu.launches


def test_two_threads_that_write_one_number_are_found(gpu, monkeypatch):
    text = kernels.text

    def planted(*args):
        source, called = text(*args)
        right = "  %tp = getelementptr double, ptr addrspace(1) %to, i64 %i\n  store double %old"
        assert source.count(right) == 2  # in the kernels that add up
        return source.replace(right, right.replace("i64 %i", "i64 %k"), 1), called

    monkeypatch.setattr(kernels, "text", planted)
    with pytest.raises(ptx_cpu.Race, match="of lanes, at the address"):
        CASES["sums"]()


def test_a_thread_that_reads_what_another_one_writes_is_found(gpu):
    device = driver.device(0)
    module = device.load(ptx.from_llvm(on_device.text(kernels.PTX, ["adagrad_none"])))
    n = 64
    numbers, index, to = (device.allocate(8 * n) for _ in range(3))
    device.write(numbers, np.arange(float(n)))
    device.write(index, np.arange(n)[::-1].copy())
    device.prepare(module, "gather", n, [numbers, n, index, n, n, to])()
    found = np.empty(n)
    device.read(found, to)
    assert found.tolist() == list(range(n))[::-1]
    with pytest.raises(ptx_cpu.Race, match="of gather"):
        device.prepare(module, "gather", n, [numbers, n, index, n, n, numbers])()  # in place
    device.write(index, np.arange(n))
    device.prepare(module, "gather", n, [numbers, n, index, n, n, numbers])()  # each thread its own
