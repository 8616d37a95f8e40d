"""interp, cubic_spline, pchip and hermite beside NumPy and SciPy; derivatives by numbers, heights and knots."""

from __future__ import annotations

import importlib

import pytest

from micrograd import grad, jit, value_and_grad, vmap
from micrograd.solvers import cubic_spline, hermite, interp, pchip
from micrograd.solvers.interpolate import interval
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
interpolate = pytest.importorskip("scipy.interpolate")

RANDOM = np.random.default_rng(0)
XS = np.sort(RANDOM.uniform(0.0, 10.0, 12))
YS = RANDOM.normal(size=12)
X, Y = XS.tolist(), YS.tolist()
AT = np.linspace(-1.0, 11.0, 50)


def at_all(f):
    return np.array([f(float(x)) for x in AT])


def test_lines_are_numpys():
    assert np.allclose(at_all(lambda x: interp(x, X, Y)), np.interp(AT, XS, YS), rtol=1e-13)
    assert [interp(x, X, Y) for x in X] == pytest.approx(Y)


@pytest.mark.parametrize(
    ("ends", "boundary"), [("not-a-knot",) * 2, ("natural",) * 2, ((0.5, -1.0), ((1, 0.5), (1, -1.0)))]
)
def test_cubic_splines_are_scipys(ends, boundary):
    found, wanted = cubic_spline(X, Y, ends=ends), interpolate.CubicSpline(XS, YS, bc_type=boundary)
    assert np.allclose(at_all(found), wanted(AT), rtol=1e-10)
    assert np.allclose(at_all(grad(found)), wanted(AT, 1), rtol=1e-10)
    assert np.allclose(at_all(grad(grad(found))), wanted(AT, 2), rtol=1e-10)


def test_monotone_splines_are_scipys():
    for ys in (Y, np.cumsum(np.abs(YS)).tolist(), [0.0, 0.0, 1.0, 1.0, 1.0, 3.0, 2.0, 2.0, 2.0, 5.0, 5.0, 5.0]):
        wanted = interpolate.PchipInterpolator(XS, ys)
        assert np.allclose(at_all(pchip(X, ys)), wanted(AT), rtol=1e-10, atol=1e-12)
    assert pchip([0.0, 1.0], [2.0, 4.0])(0.5) == 3.0


def cubic_at(x, xs, ys):
    return cubic_spline(xs, ys)(x)


def monotone_at(x, xs, ys):
    return pchip(xs, ys)(x)


@pytest.mark.parametrize("f", [interp, cubic_at, monotone_at])
def test_derivatives_by_knots_and_heights(f):
    h = 1e-4
    for which in (1, 2):
        slopes = grad(f, which)(4.2, X, Y)
        for i in range(12):
            ends = []
            for step in (-2 * h, -h, h, 2 * h):
                lists = [list(X), list(Y)]
                lists[which - 1][i] += step
                ends.append(f(4.2, *lists))
            wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
            assert slopes[i] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


def test_the_search_takes_logarithmic_time():
    looked = []

    class Knots(list):
        def __getitem__(self, k):
            looked.append(k)
            return super().__getitem__(k)

    assert interval(617_000.5, Knots(range(1_000_000))) == 617_000
    assert len(looked) <= 20


@needs_llvm
@pytest.mark.parametrize("f", [interp, cubic_at, monotone_at])
def test_compiled_and_over_rows(f):
    mapped = vmap(value_and_grad(lambda x: f(x, X, Y)))
    values, slopes = mapped(AT)
    assert np.allclose(values, at_all(lambda x: f(x, X, Y)), rtol=1e-10)
    assert np.allclose(slopes, at_all(grad(lambda x: f(x, X, Y))), rtol=1e-10)
    assert len(list(mapped.variants)) == 1
    compiled = jit(grad(f, (0, 1, 2)))
    for x in (4.2, 9.0):
        for found, wanted in zip(compiled(x, XS, YS), grad(f, (0, 1, 2))(x, X, Y)):
            assert np.allclose(found, wanted, rtol=1e-9)


def test_wrong_knots_are_errors():
    with pytest.raises(ValueError, match="one for each"):
        interp(0.5, [0.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="4 knots at least"):
        cubic_spline([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="pair of slopes"):
        cubic_spline(X, Y, ends="free")


def test_values_of_both_engines(twin):
    solvers = importlib.import_module("micrograd.solvers")
    x = twin.Value(1.5)
    solvers.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0]).backward()
    assert x.grad == 3.0
    assert hermite([0.0, 2.0], [0.0, 8.0], [0.0, 12.0])(1.5) == pytest.approx(3.375)
