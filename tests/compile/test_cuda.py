"""Rows on a GPU without a GPU: the PTX of a function is run by a translator (ptx_cpu.py), and the driver by a stand-in.

What the kernels compute has one result by IEEE 754, so a GPU gives the same; tests/compile/test_cuda_device.py runs where
there is one.
"""

from __future__ import annotations

import functools
import gc
import random
import re
import threading

import numpy as np
import pytest

import cuda_stand_in
import ptx_cpu
from micrograd import CompileError, Value, jit, math, nn, value_and_grad, vmap
from micrograd.compile import cuda
from micrograd.compile.cuda import driver
from micrograd.compile.cuda.device_array import DeviceArray
from micrograd.compile.device import functions
from micrograd.compile.llvm import build
from micrograd.ops import OPS, call
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.skipif(ptx_cpu.COMPILER is None, reason="there is no C compiler")]

INFINITY = float("inf")
NO_FORMULA = {"gamma", "lgamma"}
ODD = [0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, float("nan"), 5e-324, -1e-310, 1e308, 700.0, -746.0, 3.0, 0.5]
COLUMN = np.concatenate([np.random.default_rng(5).uniform(-4, 4, 700), ODD])
COLUMNS = COLUMN, np.roll(COLUMN, 3)[::-1].copy(), np.roll(COLUMN, 101)
# sinh and tanh add the roundings of expm1 to those of a quotient; the others are within two units, as everywhere
FARTHEST = {"sinh": 3, "tanh": 3, "cbrt": 3}  # from the C library, which is off by some units of its own


def use(monkeypatch, stand_in):
    """Make a stand-in the driver of this machine."""
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(driver, "_library", lambda: stand_in)
    driver.driver.cache_clear()
    return stand_in


@pytest.fixture
def gpu(monkeypatch):
    yield use(monkeypatch, cuda_stand_in.StandIn())
    driver.driver.cache_clear()


def same(a, b):
    """Whether two arrays have the same bits, any nan being like any other."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    numbers = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))


def units(a, b):
    """How many units in the last place two arrays are apart at most; nan only where both are."""
    a, b = np.asarray(a), np.asarray(b)
    assert np.array_equal(np.isnan(a), np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
    return np.max(np.abs(a[finite] - b[finite]) / np.spacing(np.abs(b[finite])), initial=0.0)


def library(op):
    """The function of the C library that an op is; empty for others."""
    return op.llvm[1:] if op.llvm.startswith("@") and not op.llvm.startswith("@llvm.") else ""


def applied(ops):
    """A function of three numbers that returns each of these ops of the first of them."""
    return lambda a, b, c: [call(op, *(a, b, c)[: op.arity]) for op in ops]


class TestOps:
    def test_arithmetic_and_what_glibc_computes_have_the_bits_of_eager_code(self, gpu):
        exact = [
            op
            for op in OPS.values()
            if op.arity > 0 and op.llvm and (not library(op) or functions.same_bits(library(op)))
        ]
        assert {"add", "fma", "where", "floor", "philox", "normal", "mod", "floordiv", "fmod"} <= {
            op.name for op in exact
        }
        f = applied(exact)
        for op, y, want in zip(exact, vmap(f, exact=True, device="cuda")(*COLUMNS), vmap(f, exact=True)(*COLUMNS)):
            assert same(y, want), op

    def test_random_draws(self, gpu):
        rows, n = np.arange(300.0), 300
        f = lambda r, k: [call(OPS["philox"], 7.0, r, 3.0), call(OPS["normal"], k, r, 0.0)]  # noqa: E731
        for y, want in zip(vmap(f, device="cuda")(rows, rows[::-1]), vmap(f, exact=True)(rows, rows[::-1])):
            assert same(y, want) and len(y) == n and np.isfinite(y).all()

    def test_other_functions_are_near(self, gpu):
        near = [op for op in OPS.values() if library(op) and op.name not in NO_FORMULA]
        f = applied(near)
        for op, y, want in zip(near, vmap(f, device="cuda")(*COLUMNS), vmap(f, exact=True)(*COLUMNS)):
            assert units(y, want) <= FARTHEST.get(op.name, 2), op

    def test_functions_in_single_precision(self, gpu):
        near = [op for op in OPS.values() if library(op) and op.name not in NO_FORMULA]
        tame = [np.clip(np.nan_to_num(c), -1e30, 1e30).astype("f4") for c in COLUMNS]
        f = applied(near)
        wide = [c.astype(float) for c in tame]
        for op, y, want in zip(near, vmap(f, device="cuda", float32=True)(*tame), vmap(f, exact=True)(*wide)):
            assert y.dtype == np.float32
            with np.errstate(over="ignore"):
                assert units(y, want.astype("f4")) <= 1, op

    def test_every_op_has_a_text_or_is_refused_by_name(self):
        for op in OPS.values():
            if op.arity < 0 or op.name == "zeta":
                continue
            f = functools.partial(lambda op, a, b, c: call(op, *(a, b, c)[: op.arity]), op)
            run = vmap(f, device="cuda")
            if op.name in NO_FORMULA:
                with pytest.raises(CompileError, match=rf"{op.name} has no formula for a GPU"):
                    run.source(*COLUMNS)
            else:
                text = run.source(*COLUMNS)
                assert ".visible .entry rows(" in text and ".approx" not in text
                assert not re.search(r"\b(add|sub|mul|fma)\.f(32|64)", text), "a product and a sum may be fused there"

    def test_exact_refuses_functions_with_other_bits(self):
        with pytest.raises(CompileError, match="exact=True promises the bits of eager code, and sin on a GPU"):
            vmap(lambda x: math.sin(x), exact=True, device="cuda").source(COLUMN)


def payoff(spot, strike, vol, z):
    s, total = spot, 0.0
    for t in range(6):
        s = s * math.exp(vol * z[t] - 0.5 * vol * vol)
        total = total + s
    return math.relu(total / 6 - strike)


def by_path(x, y):
    if x > 0.3:
        return x * y
    if y > 0.0:
        return x + math.exp(y)
    return x - y


def nested(k, x):
    total = 0.0
    for _ in range(12):
        for _ in range(100):
            x = x + 0.01 * math.sin(k * x) - 0.001 * x
        total = total + x * x
    return total


X, Y = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 9000))
Z = np.random.default_rng(2).standard_normal((6, 9000))
MARKET = {"in_axes": (None, None, None, 1)}


class TestSums:
    @pytest.mark.parametrize(("exact", "width"), [(True, None), (True, 1), (True, 4), (False, 16), (False, None)])
    def test_sums_and_gradients_have_the_bits_of_the_cpu(self, gpu, exact, width):
        """Without exact=True too: what is fused is decided on the tape. (exp has other steps in short vectors.)"""
        if not exact and build.vector_bits() < 256:
            pytest.skip("exp has other steps in the vectors of this processor")
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "sum", "exact": exact, "width": width}
        assert vmap(f, device="cuda", **how)(1.0, 0.9, 0.2, Z) == vmap(f, **how)(1.0, 0.9, 0.2, Z)
        assert gpu.launches == ["rows", "lanes", "halves"]

    def test_gradients_of_captured_values(self, gpu):
        w = Value(0.7)
        f = lambda x, y: (w * x - y) * (w * x - y)  # noqa: E731
        found = []
        for how in ({"device": "cuda"}, {}):
            w.grad = 0.0
            loss = vmap(f, reduce="mean", exact=True, **how)(X, Y)
            loss.backward()
            found.append((loss.data, w.grad))
        assert found[0] == found[1]

    def test_a_network(self, gpu):
        model = nn.MLP(2, [8, 8, 1], rng=0)
        f = lambda x, label: math.relu(1 - label * model(x))  # noqa: E731
        inputs, labels = np.stack([X, Y], axis=1), np.sign(X)
        found = []
        for how in ({"device": "cuda"}, {}):
            for p in model.parameters():
                p.grad = 0.0
            loss = vmap(f, reduce="mean", **how)(inputs, labels)
            loss.backward()
            found.append([loss.data, *(p.grad for p in model.parameters())])
        assert found[0] == found[1]  # its many sums of products are fused on both
        assert gpu.launches == ["rows", "lanes", "halves"]

    @pytest.mark.parametrize("reduce", [None, "sum"])
    def test_rows_that_take_several_paths(self, gpu, reduce):
        want = vmap(by_path, reduce=reduce, exact=True)(X, Y)
        assert np.array_equal(vmap(by_path, reduce=reduce, exact=True, device="cuda")(X, Y), want)
        assert np.allclose(vmap(by_path, reduce=reduce, device="cuda")(X, Y), want, rtol=1e-13, atol=0)

    def test_single_precision(self, gpu):
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "mean", "float32": True}
        found, want = (vmap(f, **how, **more)(1.0, 0.9, 0.2, Z) for more in ({"device": "cuda"}, {}))
        assert found[0] == pytest.approx(want[0], rel=1e-6)
        assert found[1] == pytest.approx(want[1], rel=1e-5)

    def test_batch_size_changes_no_bit(self, gpu):
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "sum", "device": "cuda"}
        assert vmap(f, batch_size=2048, **how)(1.0, 0.9, 0.2, Z) == vmap(f, **how)(1.0, 0.9, 0.2, Z)


class TestRegions:
    def test_loops_that_end_by_row(self, gpu):
        def root(a):
            x = a
            while abs(x * x - a) > 1e-12:
                x = 0.5 * (x + a / x)
            return x

        numbers = np.linspace(0.5, 90.0, 700)
        found = vmap(root, device="cuda")(numbers)
        assert np.allclose(found, np.sqrt(numbers), rtol=1e-12)
        assert "bra" in vmap(root, device="cuda").source(numbers)

    def test_long_loops_stay_loops_and_have_gradients(self, gpu):
        def walk(k, x):
            for _ in range(1000):
                x = x + 0.01 * (k * x - x * x * x)
            return x

        f = value_and_grad(walk, (0, 1))
        found, want = (vmap(f, in_axes=(None, 0), **how)(0.8, X[:300]) for how in ({"device": "cuda"}, {}))
        for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
            assert same(a, b)
        text = vmap(f, in_axes=(None, 0), device="cuda").source(0.8, X[:300])
        assert len(text.splitlines()) < 1000

    def test_a_loop_without_a_limit_that_keeps_numbers_is_refused(self):
        """One with many active inputs, of which joined tangents would cost more than its adjoint."""

        def mixed(x, *more):
            while x > 0.5:
                s = x
                for y in more:
                    s = math.sin(s * y) + y
                x = x * 0.5 + 0.01 * s * s
            return x

        given = np.random.default_rng(0).uniform(0.0, 1.0, (13, 99))
        with pytest.raises(CompileError, match="a thread cannot ask for memory"):
            vmap(value_and_grad(mixed, tuple(range(13))), device="cuda").source(*given)

    def test_a_loop_without_a_limit_carries_its_tangents(self, gpu):
        def decay(k, x):
            while x > 0.5:
                x = x * math.exp(-k * x)
            return x

        f, args = value_and_grad(decay, (0, 1)), (np.linspace(0.1, 1.0, 99), np.linspace(1.0, 9.0, 99))
        found, want = vmap(f, device="cuda")(*args), vmap(f)(*args)
        assert same(found[0], want[0]) and all(same(a, b) for a, b in zip(found[1], want[1]))
        for k in (0, 50, 98):
            assert f(args[0][k], args[1][k])[1] == pytest.approx([by[k] for by in want[1]], rel=1e-12)

    def test_loops_inside_of_loops_carry_their_tangents(self, gpu):
        f = value_and_grad(nested, (0, 1))
        found, want = vmap(f, device="cuda")(X[:200], Y[:200]), vmap(f)(X[:200], Y[:200])
        assert same(found[0], want[0]) and all(same(a, b) for a, b in zip(found[1], want[1]))
        kernel = vmap(f, device="cuda").source(X[:200], Y[:200])
        assert sum(int(n) for n in re.findall(r"\.local\s+\.align \d+ \.b8\s+\w+\[(\d+)\]", kernel)) <= 8  # no states

    def test_lists_by_index(self, gpu):
        def picked(i, x, y):
            numbers = [x, y, x * y, x + y, x - y]
            for k in range(5):
                numbers[int(i)] = numbers[int(i)] + numbers[k]
            return numbers[int(i)]

        i = np.random.default_rng(0).integers(0, 5, 500).astype(float)
        # Without exact=True, the CPU takes one typed tape for all paths, in which no product and sum are fused.
        how = {"exact": True, "in_axes": 0}
        assert same(vmap(picked, device="cuda", **how)(i, X[:500], Y[:500]), vmap(picked, **how)(i, X[:500], Y[:500]))


class TestArguments:
    @pytest.mark.parametrize("axis", [0, 1])
    def test_columns_of_any_layout(self, gpu, axis):
        table = np.random.default_rng(3).standard_normal((40, 5) if axis == 0 else (5, 40))
        f = lambda v: v[0] - v[1] * v[2] + v[3] / v[4]  # noqa: E731
        for part in (table, np.asfortranarray(table), table[:, ::2] if axis else table[::2]):
            assert same(vmap(f, in_axes=axis, device="cuda")(part), vmap(f, in_axes=axis)(part))

    def test_integers_bools_and_single_precision(self, gpu):
        f = lambda a, b, c: a * 2 + b - c  # noqa: E731
        columns = np.arange(50), np.arange(50) % 2 == 0, np.linspace(0, 1, 50, dtype="f4")
        assert same(vmap(f, device="cuda")(*columns), vmap(f)(*columns))

    def test_more_columns_and_parameters_than_a_kernel_takes_by_value(self, gpu):
        w = Value(1.5)
        f = lambda v: v[0] * v[299] - w * v[150]  # noqa: E731
        table = np.random.default_rng(4).standard_normal((70, 300))
        found, want = (vmap(f, reduce="sum", exact=True, **how)(table) for how in ({"device": "cuda"}, {}))
        assert found.data == want.data
        by_value = ".param .align 8 .b8 rows_param_1["
        assert by_value not in vmap(f, device="cuda").source(table)
        assert by_value in vmap(lambda x: x * w, device="cuda").source(X)

    def test_source_is_ptx_and_needs_no_device(self):
        text = vmap(by_path, device="cuda").source(X, Y)
        assert text.count(".visible .entry") == 1 and ".target sm_70" in text
        assert "lanes(" in vmap(by_path, reduce="sum", device="cuda").source(X, Y)
        f = vmap(by_path)
        assert "define" in f.source(X, Y) and f.source(X, Y, device="cuda") == text
        assert vmap(by_path, device="cuda").source(X, Y, device="cpu") == f.source(X, Y)


def test_explain_names_functions_with_other_bits():
    told = str(vmap(lambda x: math.sin(x) + math.exp(x) * math.tanh(x), device="cuda").explain(X))
    assert "on the device, the last bits of sin, tanh may differ from those of the C library" in told
    assert "on the device" not in str(vmap(lambda x: math.exp(x), device="cuda").explain(X))


class Foreign:
    """An array of another library, of which only DLPack is known."""

    def __init__(self, array, number=0):
        self.array, self.number = array, number

    def __dlpack_device__(self):
        return 2, self.number

    def __dlpack__(self, *, stream=None):
        assert stream == 1  # the stream that our kernels run in
        return self.array.__dlpack__(stream=stream)


class TestDeviceArrays:
    @pytest.mark.parametrize("as_foreign", [False, True])
    def test_arguments_on_the_device_are_not_copied(self, gpu, as_foreign):
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "sum"}
        array = DeviceArray.of(Z, 0)
        given = Foreign(array) if as_foreign else array
        before = gpu.copied
        assert vmap(f, device="cuda", **how)(1.0, 0.9, 0.2, given) == vmap(f, **how)(1.0, 0.9, 0.2, Z)
        assert gpu.copied == before

    def test_results_stay_on_the_device(self, gpu):
        f = lambda x, y: (x * y, {"sum": x + y})  # noqa: E731
        first, rest = vmap(f, device="cuda")(DeviceArray.of(X, 0), Foreign(DeviceArray.of(Y, 0)))
        assert isinstance(first, DeviceArray) and isinstance(rest["sum"], DeviceArray)
        assert same(first, X * Y) and same(rest["sum"], X + Y)

    def test_results_of_several_paths_and_arrays_go_back_to_the_device(self, gpu):
        x, y = DeviceArray.of(X, 0), DeviceArray.of(Y, 0)
        branches = vmap(by_path, exact=True, device="cuda")(x, y)
        assert isinstance(branches, DeviceArray) and same(branches, vmap(by_path, exact=True)(X, Y))
        table = vmap(lambda a, b: np.array([a, b, a * b]), device="cuda")(x, y)
        assert isinstance(table, DeviceArray) and same(table, np.stack([X, Y, X * Y], axis=1))

    def test_slices_of_results_on_the_device(self, monkeypatch):
        use(monkeypatch, cuda_stand_in.StandIn(memory=1 << 20))
        monkeypatch.setattr("micrograd.compile.cuda.driver.SHARE", 0.1)
        x = DeviceArray.of(X, 0)
        a, b = vmap(lambda x, y: (x - y, x * 2.0), device="cuda")(x, Y)
        assert driver.driver().library.launches.count("rows") > 1
        assert same(a, X - Y) and same(b, X * 2.0)

    def test_strides_and_other_types(self, gpu):
        whole = DeviceArray.of(np.stack([X, Y]), 0)
        turned = DeviceArray(whole.address, (len(X), 2), whole.strides[::-1], whole.dtype, 0, whole.owner)
        f = lambda v: v[0] - v[1]  # noqa: E731
        assert same(vmap(f, device="cuda")(Foreign(turned)), X - Y)
        numbers = np.arange(20)
        assert same(vmap(lambda x: x * 0.5, device="cuda")(DeviceArray.of(numbers, 0)), numbers * 0.5)
        single = X.astype("f4")
        found = vmap(lambda x: x * x, device="cuda", float32=True)(DeviceArray.of(single, 0))
        assert found.dtype == np.float32 and same(found, single * single)

    def test_memory_lives_as_long_as_its_last_reader(self, gpu):
        capsule = DeviceArray.of(X, 0).__dlpack__()
        gc.collect()
        device = driver.device(0)
        device.trim()
        assert gpu.used > 0
        del capsule
        gc.collect()
        device.trim()
        assert gpu.used == 0
        x = DeviceArray.of(X, 0)
        y = vmap(lambda x: x + 1.0, device="cuda")(Foreign(x))
        del x
        gc.collect()
        assert same(y, X + 1.0)

    def test_arrays_on_a_device_need_that_device(self, gpu):
        x = DeviceArray.of(X, 0)
        with pytest.raises(TypeError, match=r'lies on a GPU \(cuda\).*\n  Give device="cuda" to vmap'):
            vmap(lambda x: x)(x)
        x.number = 1
        with pytest.raises(TypeError, match="cuda:1"):
            vmap(lambda x: x, device="cuda")(x)


class TestDriver:
    def test_memory_is_given_back(self, gpu):
        f = vmap(payoff, device="cuda", **MARKET)
        for _ in range(3):
            f(1.0, 0.9, 0.2, Z)
        device = driver.device(0)
        device.trim()
        assert gpu.used == 0

    def test_a_batch_that_does_not_fit_is_cut_into_slices(self, monkeypatch):
        few = use(monkeypatch, cuda_stand_in.StandIn(memory=1 << 18))
        f = value_and_grad(payoff, (0, 1, 2))
        how = {**MARKET, "reduce": "sum", "exact": True}
        assert vmap(f, device="cuda", **how)(1.0, 0.9, 0.2, Z) == vmap(f, **how)(1.0, 0.9, 0.2, Z)
        assert few.launches.count("rows") > 1 and few.most_used <= 1 << 18
        by_row = vmap(payoff, exact=True, device="cuda", **MARKET)(1.0, 0.9, 0.2, Z)
        assert same(by_row, vmap(payoff, exact=True, **MARKET)(1.0, 0.9, 0.2, Z))

    def test_memory_that_another_program_holds(self, gpu, monkeypatch):
        """The driver tells of more memory than it can give."""
        f = vmap(payoff, exact=True, device="cuda", **MARKET)
        monkeypatch.setattr(driver.CudaDevice, "free_bytes", lambda self: 1 << 30)
        gpu.memory = 1 << 18
        assert same(f(1.0, 0.9, 0.2, Z), vmap(payoff, exact=True, **MARKET)(1.0, 0.9, 0.2, Z))
        gpu.memory = 1 << 10
        driver.device(0).trim()
        with pytest.raises(MemoryError, match="do not fit, although the batch was cut into slices"):
            f(1.0, 0.9, 0.2, Z)

    def test_no_driver(self, monkeypatch):
        driver.driver.cache_clear()
        monkeypatch.setattr(driver, "_devices", {})
        monkeypatch.setattr(driver.ctypes, "CDLL", _missing)
        with pytest.raises(CompileError, match="needs the driver of an NVIDIA GPU, and there is none on this machine"):
            vmap(by_path, device="cuda")(X, Y)

    def test_no_gpu_and_a_driver_that_is_too_old(self, monkeypatch):
        use(monkeypatch, cuda_stand_in.StandIn()).fail["cuInit"] = cuda_stand_in.NO_DEVICE
        with pytest.raises(CompileError, match="it finds no GPU"):
            vmap(by_path, device="cuda")(X, Y)
        use(monkeypatch, cuda_stand_in.StandIn(version=10020))
        with pytest.raises(CompileError, match=r"needs a driver for CUDA 11 or newer, and this one is for 10\.2"):
            vmap(by_path, device="cuda")(X, Y)
        driver.driver.cache_clear()

    def test_a_device_that_is_not_there(self, gpu):
        with pytest.raises(CompileError, match="this machine has 1 GPU, numbered from 0"):
            vmap(by_path, device="cuda:1")(X, Y)

    def test_errors_of_the_driver_have_a_name(self, gpu):
        gpu.fail["cuLaunchKernel"] = 700
        with pytest.raises(CompileError, match=r"a kernel could not be started: .* CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
            vmap(by_path, device="cuda")(X, Y)
        del gpu.fail["cuLaunchKernel"]
        gpu.fail["cuModuleLoadDataEx"] = 222
        with pytest.raises(CompileError, match="older than Volta"):
            vmap(lambda x: x * 3.0, device="cuda")(X)

    def test_threads(self, gpu):
        f = vmap(payoff, reduce="sum", exact=True, device="cuda", **MARKET)
        want, found = f(1.0, 0.9, 0.2, Z), []
        threads = [threading.Thread(target=lambda: found.append(f(1.0, 0.9, 0.2, Z))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [want] * 4

    @pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", 3, None])
    def test_devices_have_names(self, device):
        with pytest.raises(ValueError, match="it must be"):
            vmap(by_path, device=device)

    def test_a_backend_of_another_kind(self):
        with pytest.raises(ValueError, match="cannot be combined"):
            vmap(by_path, device="cuda", backend="c")
        with pytest.raises(CompileError, match="runs rows, and this is one point"):
            jit(by_path, backend="cuda", wait=True)(0.5, 0.5)
        assert cuda.number_of("cuda:3") == 3


class TestTranslator:
    def test_an_unknown_instruction_is_refused(self):
        head = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .b64 \t%rd<3>;\n"
        for line in ("ex2.approx.f32 %rd1, %rd2", "bar.sync 0", "atom.global.add.f64 %rd1, [%rd2], %rd1"):
            with pytest.raises(ptx_cpu.UnknownInstruction):
                ptx_cpu.Module(f"{head}\t{line};\n\tret;\n}}\n")


def _missing(name):
    raise OSError(name)


def test_random_programs(gpu):
    """Random arithmetic with branches, in one kernel."""
    rng = random.Random(11)

    def program(a, b):
        found = [a, b, a * b]
        for step in steps:
            p, q = found[step[1] % len(found)], found[step[2] % len(found)]
            if step[0] == 0:
                found.append(p + q)
            elif step[0] == 1:
                found.append(p * q)
            elif step[0] == 2:
                found.append(p - 0.5 * q)
            elif step[0] == 3:
                found.append(p / (1.0 + q * q))
            else:
                found.append(math.where(math.gt(p, q), p, math.exp(-abs(q))))
        return found[-1]

    for _ in range(3):
        steps = [(rng.randrange(5), rng.randrange(99), rng.randrange(99)) for _ in range(25)]
        f = value_and_grad(program, (0, 1))
        found, want = vmap(f, exact=True, device="cuda")(X, Y), vmap(f, exact=True)(X, Y)
        for a, b in zip((found[0], *found[1]), (want[0], *want[1])):
            assert same(a, b)
