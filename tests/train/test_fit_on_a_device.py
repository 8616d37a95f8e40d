"""fit(device=...): the bits of compile=True, on a stand-in for a GPU's driver, and on OpenCL where there is a runtime."""

from __future__ import annotations

import numpy as np
import pytest

import cuda_stand_in
import opencl_runtime
from micrograd import CompileError, Value, data, losses, nn, optim, train, vmap
from micrograd.compile.cuda import driver
from micrograd.compile.device import rows
from micrograd.compile.device.rows import OutOfDeviceMemory
from micrograd.compile.opencl import runtime
from micrograd.train import accuracy, fit, on_device
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


MAKERS = {
    "SGD": lambda ps: optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda ps: optim.Adam(ps, lr=optim.warmup(optim.linear(0.05, 0.01, 9), 3), amsgrad=True),
    "groups": lambda ps: optim.AdamW([{"parameters": ps[:5], "lr": 0.1}, {"parameters": ps[5:], "weight_decay": 0.2}]),
    "NAdam": lambda ps: optim.NAdam(ps, lr=0.01),
    "RMSprop": lambda ps: optim.RMSprop(ps, momentum=0.5, centered=True),
    "Adagrad": lambda ps: optim.Adagrad(ps),
    "Lion": lambda ps: optim.Lion(ps, lr=0.01),
}


@pytest.fixture
def stays(monkeypatch):
    """How many steps stayed on the device."""
    taken, step = [], on_device.Resident.step
    monkeypatch.setattr(on_device.Resident, "step", lambda self, part: (taken.append(part), step(self, part))[1])
    return taken


def after(make=MAKERS["Adam"], width=6, **how):
    """All that a run leaves behind."""
    model = nn.MLP(2, [width, 1], rng=0)
    optimizer = make(model.parameters())
    history = fit(model, (X, SIDES), losses.max_margin, optimizer, quiet=True, **how)
    ends = [(p.data, p.grad) for p in model.parameters()]
    return history.rows, ends, optimizer.state_dict(), history.stopped


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("how", [{"epochs": 14}, {"epochs": 14, "clip": 0.3}, {"epochs": 4, "batch_size": 70}])
def test_steps_that_stay_on_the_device(gpu, stays, name, how):
    assert after(MAKERS[name], device="cuda", **how) == after(MAKERS[name], compile=True, **how)
    assert len(stays) == (19 if "batch_size" in how else 13)  # all but the first


@pytest.mark.parametrize("slices", [1, 3])
def test_many_rows_and_parameters(gpu, stays, monkeypatch, slices):
    """Several blocks, sums of products, and more gradients than a thread reads at once; also in slices of the rows."""
    if slices > 1:
        monkeypatch.setattr(rows, "MOST_SCRATCH", 1)
    data_of = [(2 * i % 7 - 3.0, i % 5 - 2.0) for i in range(4500)], [(-1.0) ** (i % 3) for i in range(4500)]
    found = []
    for how in ({"device": "cuda"}, {"compile": True}):
        model = nn.MLP(2, [9, 8, 1], rng=1)
        history = fit(model, data_of, losses.max_margin, optim.Adam(model.parameters()), epochs=12, quiet=True, **how)
        found.append(([row["loss"] for row in history.rows], [(p.data, p.grad) for p in model.parameters()]))
    assert found[0] == found[1] and len(stays) == 11
    assert gpu.launches.count("rows") >= 11 * slices


def test_a_step_moves_the_loss_alone(gpu, stays):
    moved = []
    step = on_device.Resident.step

    def noted(self, part):
        before = gpu.copied, gpu.fetched
        result = step(self, part)
        moved.append((gpu.copied - before[0], gpu.fetched - before[1]))
        return result

    on_device.Resident.step = noted
    try:
        after(epochs=14, device="cuda")
        assert moved == [(0, 5 * 8)] * 13  # the loss, and four sums of squares
        moved.clear()
        after(epochs=4, batch_size=50, device="cuda")
        assert moved == [(50 * 8, 5 * 8)] * 23  # and the numbers of the rows of a batch
    finally:
        on_device.Resident.step = step


def test_gradients_that_are_zero_or_not_finite(gpu, stays, monkeypatch):
    """Their squares say nothing, so the CPU looks at them."""
    by_hand, step = [], on_device.Resident._by_hand
    monkeypatch.setattr(on_device.Resident, "_by_hand", lambda self, u: (by_hand.append(1), step(self, u))[1])
    found = []
    for how in ({"device": "cuda"}, {"compile": True}):
        w, b = Value(0.5), Value(0.0)
        model = lambda x, w=w, b=b: w * x + b  # noqa: E731
        sgd = optim.SGD([w, b], lr=0.9, momentum=0.5)
        history = fit(model, ([1.0, 2.0, -1.0], [1.0, 1.0, -1.0]), losses.max_margin, sgd, epochs=40, quiet=True, **how)
        found.append((history.rows, w.data, b.data, w.grad, b.grad, sgd.state_dict()))
    assert found[0] == found[1] and len(by_hand) > 20  # the margin is kept soon
    grow = lambda ps: optim.SGD(ps, lr=1e155)  # noqa: E731
    with pytest.warns(RuntimeWarning, match="training ends before it spoils"):
        want = after(grow, epochs=20, compile=True)
    with pytest.warns(RuntimeWarning, match="training ends before it spoils"):
        assert after(grow, epochs=20, device="cuda") == want
    assert want[3] == "diverged"


def test_who_looks_sees_the_numbers_of_now(gpu, stays, tmp_path):
    how = {"epochs": 30, "validation": (X[:40], SIDES[:40]), "patience": 4, "restore_best": True}
    files = [{**how, "checkpoint": tmp_path / f"{name}.json", "checkpoint_every": 7} for name in "ab"]
    assert after(device="cuda", **files[0]) == after(compile=True, **files[1])
    assert len(stays) > 5
    for file in files:
        del file["patience"]
    assert after(device="cuda", **files[0] | {"epochs": 45}, resume=True) == after(
        compile=True, **files[1] | {"epochs": 45}, resume=True
    )


def test_an_interrupt_leaves_whole_steps(gpu, monkeypatch):
    ran, count = on_device.Resident._ran, []

    def interrupted(self, part, updates):
        result = ran(self, part, updates)
        count.append(1)
        if len(count) == 5:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(on_device.Resident, "_ran", interrupted)
    found = after(epochs=20, device="cuda")
    assert found[3] == "interrupted" and len(found[0]) == 5  # one on the CPU, and four
    assert found[:3] == after(epochs=5, compile=True)[:3]


def test_steps_that_cannot_stay(gpu, stays, monkeypatch):
    """Where somebody looks at Values between steps, or may change them, the optimizer runs on the CPU."""
    looks = {
        "callbacks": {"callbacks": [lambda history: None]},
        "metrics": {"metrics": {"accuracy": accuracy}},
        "a penalty": {"penalty": lambda: Value(0.0) * 1.0},
        "few steps": {"steps": 9},
    }
    for name, how in looks.items():
        assert after(epochs=12, device="cuda", **how) == after(epochs=12, compile=True, **how), name
    rate = lambda ps: optim.SGD(ps, lr=lambda step: 0.1 + abs(ps[0].data))  # noqa: E731
    assert after(rate, epochs=12, device="cuda") == after(rate, epochs=12, compile=True)
    assert not stays
    monkeypatch.setattr(on_device.Resident, "holds", lambda self: len(stays) < 4)
    assert after(epochs=14, device="cuda") == after(epochs=14, compile=True)
    assert len(stays) == 4


def test_no_room_for_steps_that_stay(gpu, stays, monkeypatch):
    def full(self, owner):
        raise OutOfDeviceMemory("the device is out of memory")

    monkeypatch.setattr(on_device._Side, "__init__", full)
    assert after(epochs=14, device="cuda") == after(epochs=14, compile=True)
    assert not stays


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


def test_a_run_by_opencl_has_the_bits_of_the_cpu(stays):
    opencl_runtime.find()
    try:
        runtime.device(0)
    except CompileError as reason:
        pytest.skip(str(reason).splitlines()[0])
    assert trained(device="opencl", batch_size=128) == trained(compile=True, batch_size=128)
    for name in ("groups", "RMSprop"):
        for how in ({"epochs": 12, "clip": 0.3}, {"epochs": 4, "batch_size": 70}):
            assert after(MAKERS[name], device="opencl", **how) == after(MAKERS[name], compile=True, **how)
    assert stays


def test_numpy_data_of_another_type(gpu):
    model = nn.Linear(2, 1, rng=0)
    points, sides = np.array(X, np.float32), np.array(SIDES, np.int64)
    found = []
    for how in ({"device": "cuda"}, {"compile": True}):
        model = nn.Linear(2, 1, rng=0)
        fit(model, (points, sides), squares, optim.SGD(model.parameters(), lr=0.1), epochs=2, quiet=True, **how)
        found.append([p.data for p in model.parameters()])
    assert found[0] == found[1]
