"""fit(device=...): the bits of compile=True, on a stand-in for a GPU's driver, and on OpenCL where there is a runtime."""

from __future__ import annotations

import numpy as np
import pytest

import cuda_stand_in
import opencl_runtime
from micrograd import CompileError, data, losses, nn, optim, train, vmap
from micrograd.compile.cuda import driver
from micrograd.compile.opencl import runtime
from micrograd.train import accuracy, fit
from random_programs import needs_llvm

pytestmark = needs_llvm
X, y = data.moons(300, seed=0)
SIDES = [1.0 if label else -1.0 for label in y]


@pytest.fixture
def gpu(monkeypatch):
    stand_in = cuda_stand_in.StandIn()
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(driver, "_library", lambda: stand_in)
    driver.driver.cache_clear()
    yield stand_in
    driver.driver.cache_clear()


def squares(predictions, targets):
    """A mean of squares, of models with one output."""
    return losses.mse([p[0] if isinstance(p, list) else p for p in predictions], targets)


def trained(loss=losses.max_margin, epochs=3, targets=SIDES, out=1, **how):
    """The history of a run, and the parameters after it."""
    model = nn.MLP(2, [6, out], rng=0)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    history = fit(model, (X, targets), loss, optimizer, epochs=epochs, quiet=True, **how)
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history.rows], [
        p.data for p in model.parameters()
    ]


def distance(predictions, targets):
    """A loss that is none of the package: it may mix rows."""
    parts = [(p if not isinstance(p, list) else p[0]) - t for p, t in zip(predictions, targets)]
    return sum(d * d for d in parts) / len(parts)


CASES = {
    "all rows at once": {},
    "batches": {"batch_size": 64},
    "an uneven last batch, clipped": {"batch_size": 70, "clip": 0.5},
    "several batches a step": {"batch_size": 50, "accumulate": 2},
    "metrics and validation": {
        "metrics": {"accuracy": accuracy},
        "validation": (X[:50], SIDES[:50]),
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_bits_of_the_cpu(gpu, name):
    assert trained(device="cuda", **CASES[name]) == trained(compile=True, **CASES[name])
    assert gpu.launches


def test_a_loss_that_mixes_rows(gpu):
    assert trained(distance, device="cuda") == trained(distance, compile=True)
    assert gpu.launches


def test_classes(gpu):
    """The log1p in this loss decides something, so a CPU takes that of the C library."""
    rows, parameters = trained(losses.cross_entropy, targets=y, out=2, device="cuda")
    want_rows, want = trained(losses.cross_entropy, targets=y, out=2, compile=True)
    assert parameters == pytest.approx(want, rel=1e-9)
    assert [row["loss"] for row in rows] == pytest.approx([row["loss"] for row in want_rows], rel=1e-12)


def test_data_are_copied_to_the_device_once(gpu):
    trained(epochs=1, device="cuda")
    first = gpu.copied
    gpu.copied = 0
    trained(epochs=9, device="cuda")
    assert gpu.copied < first + 9 * 8 * 300  # parameters in each step, and not the 900 numbers of the data


def test_a_step_of_a_loss_over_rows(gpu):
    found = []
    for device in ("cuda", "cpu"):
        model = nn.MLP(2, [6, 1], rng=0)
        loss = vmap(lambda x, t, model=model: (model(x.tolist()) - t) ** 2, reduce="mean", device=device)
        step = train.step(loss, optim.SGD(model.parameters(), lr=0.1))
        found.append([step(np.array(X), np.array(SIDES)) for _ in range(3)] + [p.data for p in model.parameters()])
    assert found[0] == found[1] and gpu.launches


def test_no_driver(monkeypatch):
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(driver.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    driver.driver.cache_clear()
    with pytest.raises(CompileError, match="needs the driver of an NVIDIA GPU"):
        trained(device="cuda")


def test_what_cannot_be_combined():
    with pytest.raises(ValueError, match='it must be "cpu", "cuda"'):
        trained(device="gpu")
    with pytest.raises(ValueError, match=r"client=\.\.\. or device=\.\.\., not both"):
        trained(device="cuda", client=object())
    with pytest.raises(ValueError, match="or an objective of your own, not both"):
        trained(device="cuda", objective=lambda xs, ys: None)


def test_a_run_by_opencl_has_the_bits_of_the_cpu():
    opencl_runtime.find()
    try:
        runtime.device(0)
    except CompileError as reason:
        pytest.skip(str(reason).splitlines()[0])
    assert trained(device="opencl", batch_size=128) == trained(compile=True, batch_size=128)


def test_numpy_data_of_another_type(gpu):
    model = nn.Linear(2, 1, rng=0)
    points, sides = np.array(X, np.float32), np.array(SIDES, np.int64)
    found = []
    for how in ({"device": "cuda"}, {"compile": True}):
        model = nn.Linear(2, 1, rng=0)
        fit(model, (points, sides), squares, optim.SGD(model.parameters(), lr=0.1), epochs=2, quiet=True, **how)
        found.append([p.data for p in model.parameters()])
    assert found[0] == found[1]
