"""C function pointers: each signature beside eager code, and used by SciPy, Numba and nutpie themselves."""

import ctypes
import gc
import threading

import numpy as np
import pytest

from micrograd import CompileError, Value, engine, grad, hessian, hvp, jit, math, nn
from micrograd.compile.llvm.pointers import SIGNATURES

pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="needs the C engine")
ARRAY = ctypes.POINTER(ctypes.c_double)


def at(array):
    return array.ctypes.data_as(ARRAY)


def wave(x, y):
    return math.sin(x[0]) * y + x[1] ** 2 * y**3


def flat(v):
    return wave([v[0], v[1]], v[2])


POINT = [1.25, -2.0, 3.0]


def branching(x, n):
    """Both arms of a branch, and a loop whose number of iterations depends on the numbers: its adjoint takes memory."""
    total = 0.0
    i = 0.0
    while i < n:
        total = total + math.sin(x * i) if x > 0.0 else total - x * i
        i = i + 1.0
    return total


class TestSignatures:
    def test_value(self):
        out = np.zeros(1)
        assert jit(wave).ctypes([1.0, 2.0], 3.0)(at(np.array(POINT)), at(out)) == 0
        assert out[0] == pytest.approx(flat(POINT), rel=1e-14)

    @pytest.mark.parametrize("argnums", [None, 0, 1, (1, 0), -1])
    def test_gradient(self, argnums):
        wrt = {None: [0, 1, 2], 0: [0, 1], 1: [2], (1, 0): [2, 0, 1], -1: [2]}[argnums]
        out, slopes = np.zeros(1), np.zeros(len(wrt))
        f = jit(wave).ctypes([1.0, 2.0], 3.0, signature="gradient", argnums=argnums)
        assert f(at(np.array(POINT)), at(out), at(slopes)) == 0
        assert slopes.tolist() == pytest.approx([grad(flat)(POINT)[k] for k in wrt], rel=1e-13)

    def test_an_array_that_is_not_wanted_may_be_null(self):
        slopes = np.zeros(3)
        f = jit(wave).ctypes([1.0, 2.0], 3.0, signature="gradient")
        assert f(at(np.array(POINT)), None, at(slopes)) == 0
        assert slopes.tolist() == pytest.approx(grad(flat)(POINT), rel=1e-13)

    def test_hessian_and_its_product(self):
        f, x, out, slopes, second = jit(wave), np.array(POINT), np.zeros(1), np.zeros(3), np.zeros((3, 3))
        assert f.ctypes([1.0, 2.0], 3.0, signature="hessian")(at(x), at(out), at(slopes), at(second)) == 0
        assert second == pytest.approx(np.array(hessian(flat)(POINT)), rel=1e-12, abs=1e-14)
        v, product = np.array([0.5, 0.0, -2.0]), np.zeros(3)
        assert f.ctypes([1.0, 2.0], 3.0, signature="hvp")(at(x), at(v), at(product)) == 0
        assert product.tolist() == pytest.approx(hvp(flat, (POINT,), (v.tolist(),)), rel=1e-12)
        part = np.zeros(1)
        only = f.ctypes([1.0, 2.0], 3.0, signature="hvp", argnums=1)
        assert only(at(x), at(np.array([2.0])), at(part)) == 0
        assert part[0] == pytest.approx(2.0 * second[2, 2], rel=1e-12)

    def test_derivatives_by_numbers_that_are_not_read_are_zero(self):
        f = jit(lambda x, y: x[1] * x[1] + 0.0 * 1.0)
        slopes, second, product = np.full(3, 7.0), np.full((3, 3), 7.0), np.full(3, 7.0)
        assert f.ctypes([1.0, 2.0], 3.0, signature="hessian")(at(np.array(POINT)), None, at(slopes), at(second)) == 0
        assert slopes.tolist() == [0.0, -4.0, 0.0]
        assert second.tolist() == [[0.0] * 3, [0.0, 2.0, 0.0], [0.0] * 3]
        assert f.ctypes([1.0, 2.0], 3.0, signature="hvp")(at(np.array(POINT)), at(np.ones(3)), at(product)) == 0
        assert product.tolist() == [0.0, 2.0, 0.0]

    def test_several_results(self):
        out, slopes = np.zeros(3), np.zeros((3, 2))
        f = jit(lambda x, y: {"a": x * y, "b": [y, 2.0]})
        assert f.ctypes(1.0, 2.0, signature="gradient")(at(np.array([3.0, 5.0])), at(out), at(slopes)) == 0
        assert (out.tolist(), slopes.tolist()) == ([15.0, 5.0, 2.0], [[5.0, 3.0], [0.0, 1.0], [0.0, 0.0]])

    @pytest.mark.parametrize("rows", [0, 1, 7])
    def test_batch(self, rows):
        x = np.random.default_rng(0).normal(size=(rows, 3))
        out, slopes = np.zeros(rows), np.zeros((rows, 3))
        f = jit(wave)
        assert f.ctypes([1.0, 2.0], 3.0, signature="batch")(at(x), at(out), rows) == 0
        assert out.tolist() == pytest.approx([flat(row) for row in x.tolist()], rel=1e-13)
        assert f.ctypes([1.0, 2.0], 3.0, signature="gradient_batch")(at(x), at(out), at(slopes), rows) == 0
        assert slopes == pytest.approx(np.array([grad(flat)(row) for row in x.tolist()]).reshape(rows, 3), rel=1e-12)

    def test_numbers(self):
        f = jit(lambda x, y: x - 2.0 * y)
        assert f.ctypes(1.0, 2.0, signature="scalar")(3.0, 4.0) == -5.0
        assert f.ctypes(1.0, 2.0, signature="array")(2, at(np.array([3.0, 4.0]))) == -5.0
        assert np.isnan(f.ctypes(1.0, 2.0, signature="array")(3, at(np.array([3.0, 4.0, 5.0]))))
        assert f.ctypes(1.0, 2.0, signature="array_user")(2, at(np.array([3.0, 4.0])), None) == -5.0

    def test_sampler(self):
        out, slopes, x = np.zeros(1), np.zeros(3), np.array(POINT)
        f = jit(flat).ctypes(POINT, signature="logp")
        assert f(3, at(x), at(slopes), at(out), None) == 0
        assert (out[0], slopes.tolist()) == (pytest.approx(flat(POINT)), pytest.approx(grad(flat)(POINT)))
        assert f(2, at(x), at(slopes), at(out), None) == -3
        assert jit(flat).ctypes(POINT, signature="expand")(3, 1, at(x), at(out), None) == 0
        assert jit(flat).ctypes(POINT, signature="expand")(3, 2, at(x), at(out), None) == -3

    def test_branches_and_loops_that_take_memory(self):
        f, out, slopes = jit(branching), np.zeros(1), np.zeros(2)
        g = f.ctypes(0.5, 3.0, signature="gradient")
        for x, n in [(0.5, 3.0), (-1.5, 4.0), (0.25, 500.0), (0.5, 0.0)]:
            assert g(at(np.array([x, n])), at(out), at(slopes)) == 0
            assert out[0] == pytest.approx(branching(x, n), rel=1e-12)
            assert slopes.tolist() == pytest.approx([float(grad(branching)(x, n)), 0.0], rel=1e-11)

    def test_another_path_than_the_one_of_the_code(self):
        def guarded(x):
            if x > 0.0:
                print(end="")
                return x * x
            print(end="")
            return -x

        f = jit(guarded)
        out = np.full(2, 7.0)
        assert f.ctypes(2.0)(at(np.array([3.0])), at(out)) == 0
        assert f.ctypes(2.0)(at(np.array([-3.0])), at(out)) == 1
        assert out.tolist() == [9.0, 7.0]
        assert np.isnan(f.ctypes(2.0, signature="scalar")(-3.0))
        assert f.ctypes(2.0, signature="batch")(at(np.array([-3.0, 4.0])), at(out), 2) == 1
        assert (np.isnan(out[0]), out[1]) == (True, 16.0)
        assert f.ctypes(2.0, signature="logp")(1, at(np.array([-3.0])), at(out), at(out), None) == -1


class TestWhatItIs:
    def test_the_address_is_that_of_the_function_and_stays(self):
        f = jit(lambda x: x * x)
        address = f.address(1.0, signature="scalar")
        assert address == f.ctypes(5.0, signature="scalar").address
        gc.collect()
        assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(3.0) == 9.0

    def test_it_outlives_the_compiled_function(self):
        found = [jit(lambda x, k=k: x * k).ctypes(1.0, signature="scalar") for k in range(5)]
        gc.collect()
        assert [g(2.0) for g in found] == [0.0, 2.0, 4.0, 6.0, 8.0]

    def test_captured_values_have_the_numbers_of_then(self):
        w = Value(2.0)
        f = jit(lambda x: w * x)
        two = f.ctypes(1.0, signature="scalar")
        w.data = 5.0
        assert [two(3.0), f.ctypes(1.0, signature="scalar")(3.0)] == [6.0, 15.0]

    def test_a_model_with_its_parameters(self):
        model = nn.MLP(2, [8, 1], rng=0)
        out, slopes, x = np.zeros(1), np.zeros(2), [0.5, -1.0]
        assert jit(model).ctypes(x, signature="gradient")(at(np.array(x)), at(out), at(slopes)) == 0
        assert slopes.tolist() == pytest.approx([float(g) for g in grad(model)(x)], rel=1e-12)

    def test_exact_has_the_bits_of_eager_code(self):
        def f(x, y):
            return math.exp(x) * y + math.sin(y) * x

        g = jit(f, exact=True).ctypes(1.0, 2.0, signature="scalar")
        assert all(g(x, y) == f(x, y) for x, y in np.random.default_rng(1).normal(size=(200, 2)).tolist())

    def test_of_derivatives_and_static_arguments(self):
        out = np.zeros(2)
        assert jit(grad(wave)).ctypes([1.0, 2.0], 3.0)(at(np.array(POINT)), at(out)) == 0
        assert out.tolist() == pytest.approx(grad(wave)(POINT[:2], 3.0), rel=1e-13)
        power = jit(lambda x, n: x**n, static_argnums=1)
        assert power.ctypes(1.0, 3, signature="scalar")(2.0) == 8.0

    def test_threads(self):
        f = jit(branching).ctypes(0.5, 3.0, signature="gradient_batch")
        x = np.column_stack([np.linspace(-1.0, 1.0, 400), np.arange(400.0) % 50.0])
        found = [np.zeros((400, 2)) for _ in range(8)]
        threads = [threading.Thread(target=f, args=(at(x), None, at(each), 400)) for each in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(np.array_equal(each, found[0]) for each in found)
        assert found[0][7, 0] == pytest.approx(float(grad(branching)(*x[7].tolist())), rel=1e-10)

    @pytest.mark.parametrize(
        ("call", "error", "text"),
        [
            (lambda f: f.ctypes(POINT, signature="values"), ValueError, "signature='values': it is one of 'value', "),
            (lambda f: f.ctypes(POINT, signature="gradient", argnums=1), ValueError, "asks for argument 1 of flat, and 1 were"),
            (lambda f: f.ctypes(POINT, signature="gradient", argnums=(0, 0)), ValueError, "names an argument twice"),
            (lambda f: f.ctypes(POINT, signature="gradient", argnums="x"), TypeError, "the number of an argument"),
            (lambda f: jit(lambda x: [x, x]).ctypes(1.0, signature="hessian"), TypeError, "returns one number, .* returns 2"),
            (lambda f: jit(lambda x: [x, x]).ctypes(1.0, signature="scalar"), TypeError, "returns one number, .* returns 2"),
            (lambda f: jit(lambda: 1.0 * Value(2.0)).ctypes(signature="gradient"), ValueError, "nothing to differentiate by"),
            (lambda f: jit(lambda x: None).ctypes(1.0), CompileError, "returns no numbers"),
        ],
    )  # fmt: skip
    def test_wrong_calls(self, call, error, text):
        with pytest.raises(error, match=text):
            call(jit(flat))


class TestScipy:
    def test_quad(self):
        integrate, low = pytest.importorskip("scipy.integrate"), pytest.importorskip("scipy").LowLevelCallable
        f = jit(lambda x: math.exp(-x * x))
        found, _ = integrate.quad(low(f.ctypes(1.0, signature="scalar")), 0.0, 2.0)
        assert found == pytest.approx(0.88208139076242168, rel=1e-12)  # √π/2·erf(2), by mpmath
        g = jit(lambda x, k: math.exp(-k * x * x))
        found, _ = integrate.quad(low(g.ctypes(1.0, 2.0, signature="array")), 0.0, 2.0, args=(1.0,))
        assert found == pytest.approx(0.88208139076242168, rel=1e-12)
        found, _ = integrate.nquad(low(g.ctypes(1.0, 2.0, signature="array_user")), [[0.0, 2.0], [1.0, 1.5]])
        plain, _ = integrate.nquad(lambda x, k: math.exp(-k * x * x), [[0.0, 2.0], [1.0, 1.5]])
        assert found == pytest.approx(plain, rel=1e-12)

    def test_ndimage(self):
        ndimage, low = pytest.importorskip("scipy.ndimage"), pytest.importorskip("scipy").LowLevelCallable

        def contrast(window):
            middle = sum(window) / len(window)
            return math.sqrt(sum([(w - middle) ** 2 for w in window]))

        image = np.random.default_rng(0).normal(size=(20, 30))
        f = jit(contrast).ctypes([1.0 * k for k in range(9)], signature="filter")
        found = ndimage.generic_filter(image, low(f), size=3)
        plain = ndimage.generic_filter(image, lambda w: contrast(w.tolist()), size=3)
        assert found == pytest.approx(plain, rel=1e-12)


class TestNumba:
    def test_functions_of_numbers_and_of_arrays(self):
        numba = pytest.importorskip("numba")
        scalar = jit(lambda x, y: math.sin(x) * y).ctypes(1.0, 2.0, signature="scalar")
        gradient = jit(flat).ctypes(POINT, signature="gradient")

        @numba.njit
        def loop(n):
            total = 0.0
            for i in range(n):
                total += scalar(0.01 * i, 2.0)
            return total

        @numba.njit
        def descend(x, steps):
            out, slopes = np.zeros(1), np.zeros(3)
            for _ in range(steps):
                gradient(x.ctypes, out.ctypes, slopes.ctypes)
                x = x - 1e-3 * slopes
            return x

        assert loop(100) == pytest.approx(sum(2.0 * math.sin(0.01 * i) for i in range(100)), rel=1e-12)
        x = POINT
        for _ in range(10):
            x = [a - 1e-3 * b for a, b in zip(x, grad(flat)(x))]
        assert descend(np.array(POINT), 10).tolist() == pytest.approx(x, rel=1e-12)


@pytest.mark.slow
def test_nutpie_samples_a_plain_log_density():
    pytest.importorskip("nutpie")
    pytest.importorskip("numba")
    import nutpie
    from nutpie.compile_pymc import CompiledPyMCModel

    def logp(x):
        return -0.5 * ((x[0] - 1.0) / 2.0) ** 2 - 0.5 * (x[1] + 3.0) ** 2

    density, expand = jit(logp), jit(lambda x: [x[0], math.exp(x[1])])
    model = CompiledPyMCModel(
        dims={}, compiled_logp_func=density.ctypes([0.0, 0.0], signature="logp"),
        compiled_expand_func=expand.ctypes([0.0, 0.0], signature="expand"), initial_point_func=lambda seed: np.zeros(2),
        shared_data={}, user_data=np.zeros(1), n_expanded=2, shape_info=(["a", "b"], None, [(), ()]), logp_func=None,
        expand_func=None, _n_dim=2, _shapes={}, _coords={})  # fmt: skip
    found = nutpie.sample(model, draws=1500, chains=2, seed=1, progress_bar=False)
    a, b = found.posterior["a"].values, np.log(found.posterior["b"].values)
    assert (a.mean(), a.std(), b.mean(), b.std()) == pytest.approx((1.0, 2.0, -3.0, 1.0), abs=0.2)


def test_every_signature_is_documented():
    from pathlib import Path

    import micrograd.compile.llvm.pointers as module

    page = Path(__file__).resolve().parents[2] / "docs" / "export.md"
    for name in SIGNATURES:
        assert f'"{name}"' in (module.__doc__ or "")
        assert f'`"{name}"`' in page.read_text()
