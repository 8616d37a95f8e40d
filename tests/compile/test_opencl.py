"""Rows by OpenCL: SPIR-V on any machine, and the bits of the CPU where there is a runtime."""

from __future__ import annotations

import random
import struct
import threading

import numpy as np
import pytest
from test_cuda import COLUMNS, NO_FORMULA, applied, by_path, functions, library, payoff, same

import opencl_runtime
from micrograd import CompileError, math, nn, value_and_grad, vmap
from micrograd.compile.device import rows
from micrograd.compile.opencl import number_of, runtime, spirv
from micrograd.ops import OPS
from random_programs import needs_llvm

pytestmark = needs_llvm


def _reason():
    """Why there is no device; empty where there is one."""
    opencl_runtime.find()
    try:
        runtime.device(0)
    except CompileError as error:
        return " ".join(str(error).splitlines()[:1])
    return ""


WHY_NOT = _reason()
on_a_device = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
Z = np.random.default_rng(2).standard_normal((6, 5003))
X, Y = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 3000))
MARKET = {"in_axes": (None, None, None, 1)}
SPELLED = [op for op in OPS.values() if op.arity > 0 and op.llvm and op.name not in NO_FORMULA]


def test_every_op_becomes_spirv():
    text = vmap(applied(SPELLED)).source(*COLUMNS, device="opencl")
    assert "spir_kernel void @rows" in text
    code = spirv.from_llvm(text)
    assert struct.unpack("<I", code[:4]) == (0x07230203,)


def test_the_spirv_of_a_text_is_always_the_same(monkeypatch):
    """Modules that one process has written before do not show in it; a module with types missing crashed the runtime."""
    monkeypatch.setattr(spirv.cache_file, "load", lambda key: None)
    monkeypatch.setattr(spirv.cache_file, "save", lambda key, code: None)
    texts = [vmap(by_path, reduce=how, device="opencl").source(X, Y) for how in (None, "sum")]
    first = [spirv.from_llvm(text) for text in texts]
    assert [spirv.from_llvm(text) for text in texts * 2] == first * 2


def test_a_text_that_llvm_refuses():
    with pytest.raises(CompileError, match=r"LLVM wrote no SPIR-V(.|\n)*report it"):
        spirv.from_llvm("define void @rows() {\n  ret i32 1\n}\n")


def test_devices_by_name():
    assert [number_of(name) for name in ("opencl", "opencl:0", "opencl:3")] == [0, 0, 3]
    with pytest.raises(ValueError, match="opencl:1"):
        vmap(lambda x: x, device="opencl:first")


def test_without_pyopencl(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(runtime, "import_module", missing)
    with pytest.raises(CompileError, match=r"needs pyopencl(.|\n)*pip install pyopencl"):
        runtime._opencl.__wrapped__()


def test_without_a_runtime(monkeypatch):
    class Without:
        Error = RuntimeError

        @staticmethod
        def get_platforms():
            raise RuntimeError("PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(runtime, "_opencl", lambda: Without)
    with pytest.raises(CompileError, match=r"no runtime of OpenCL was found(.|\n)*intel-opencl-rt"):
        runtime.devices.__wrapped__()


@on_a_device
def test_exact_ops_have_the_bits_of_eager_code():
    exact = [op for op in SPELLED if not library(op) or functions.same_bits(library(op))]
    f = applied(exact)
    for op, y, want in zip(exact, vmap(f, exact=True, device="opencl")(*COLUMNS), vmap(f, exact=True)(*COLUMNS)):
        assert same(y, want), op


@on_a_device
def test_other_functions_have_the_bits_of_vectors_on_the_cpu():
    near = [op for op in SPELLED if library(op)]
    f = applied(near)
    for op, y, want in zip(near, vmap(f, device="opencl")(*COLUMNS), vmap(f)(*COLUMNS)):
        assert same(y, want), op


@on_a_device
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("reduce", [None, "sum", "mean"])
@pytest.mark.parametrize("count", [1, 257, 2049, 5003])
def test_values_and_gradients_have_the_bits_of_the_cpu(reduce, count, exact):
    f = value_and_grad(payoff, (0, 1, 2))
    how = {**MARKET, "reduce": reduce, "exact": exact}
    found, want = (vmap(f, **how, **more)(1.0, 0.9, 0.2, Z[:, :count]) for more in ({"device": "opencl"}, {}))
    for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
        assert same(a, b)


@on_a_device
@pytest.mark.parametrize("reduce", [None, "sum"])
def test_rows_that_take_several_paths(reduce):
    how = {"reduce": reduce, "exact": True}
    assert same(vmap(by_path, device="opencl", **how)(X, Y), vmap(by_path, **how)(X, Y))


@on_a_device
def test_loops():
    def root(a):
        x = a
        for _ in range(60):
            if abs(x * x - a) < 1e-12:
                break
            x = 0.5 * (x + a / x)
        return x

    numbers = np.linspace(0.5, 90.0, 1000)
    assert same(vmap(root, device="opencl", exact=True)(numbers), vmap(root, exact=True)(numbers))


@on_a_device
def test_the_gradients_of_a_network_have_the_bits_of_the_cpu():
    model = nn.MLP(2, [8, 8, 1])

    def loss(x, y):
        return (model(x) - y) ** 2

    found = []
    for device in ("cpu", "opencl"):
        model.zero_grad()
        total = vmap(loss, reduce="mean", device=device)(Z[:2, :600].T, Z[2, :600])
        total.backward()
        found.append([total.data, *(p.grad for p in model.parameters())])
    assert found[0] == found[1]


@on_a_device
def test_a_batch_in_slices(monkeypatch):
    whole = vmap(lambda x: x * x, reduce="sum", device="opencl")(Z[0])
    monkeypatch.setattr(rows, "MOST_SCRATCH", 4096)
    assert vmap(lambda x: x * x, reduce="sum", device="opencl")(Z[0]) == whole
    assert same(vmap(lambda x: x * x, device="opencl")(Z[0]), Z[0] ** 2)


@on_a_device
def test_single_precision():
    found = vmap(payoff, **MARKET, float32=True, device="opencl")(1.0, 0.9, 0.2, Z)
    want = vmap(payoff, **MARKET)(1.0, 0.9, 0.2, Z)
    assert found.dtype == np.float32
    assert np.allclose(found, want, rtol=1e-4, atol=1e-5)


@on_a_device
def test_threads():
    f = vmap(payoff, reduce="sum", exact=True, device="opencl", **MARKET)
    want, found = f(1.0, 0.9, 0.2, Z), []
    threads = [threading.Thread(target=lambda: found.append(f(1.0, 0.9, 0.2, Z))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 4


@on_a_device
def test_a_loop_without_a_bound_carries_its_tangents():
    def decay(k, x):
        while x > 0.5:
            x = x * math.exp(-k * x)
        return x

    f, args = value_and_grad(decay, (0, 1)), (np.linspace(0.1, 1.0, 99), np.linspace(1.0, 9.0, 99))
    found, want = vmap(f, device="opencl")(*args), vmap(f)(*args)
    assert same(found[0], want[0]) and all(same(a, b) for a, b in zip(found[1], want[1]))


@on_a_device
def test_random_programs_by_opencl():
    rng = random.Random(12)

    def program(a, b):
        found = [a, b, a * b]
        for kind, i, j in steps:
            p, q = found[i % len(found)], found[j % len(found)]
            sums = (p + q, p * q, p - 0.5 * q, p / (1.0 + q * q), math.where(math.gt(p, q), p, math.exp(-abs(q))))
            found.append(sums[kind])
        return found[-1]

    for _ in range(4):
        steps = [(rng.randrange(5), rng.randrange(99), rng.randrange(99)) for _ in range(25)]
        f = value_and_grad(program, (0, 1))
        found, want = vmap(f, exact=True, device="opencl")(X, Y), vmap(f, exact=True)(X, Y)
        for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
            assert same(a, b)
