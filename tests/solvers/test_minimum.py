"""minimize, least_squares and curve_fit: beside closed forms, SciPy and differences."""

from __future__ import annotations

import importlib
import math as plain

import pytest

from micrograd import grad, jit, math, value_and_grad, vmap
from micrograd.solvers import curve_fit, least_squares, minimize
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
METHODS = ["bfgs", "lbfgs", "newton"]


def rosenbrock(v):
    return math.sum([(1.0 - v[i]) ** 2 + 100.0 * (v[i + 1] - v[i] ** 2) ** 2 for i in range(len(v) - 1)])


def beale(v):
    return math.sum([(a - v[0] + v[0] * v[1] ** k) ** 2 for k, a in ((1, 1.5), (2, 2.25), (3, 2.625))])


def wood(v):
    a, b, c, d = v
    return (
        100.0 * (a * a - b) ** 2 + (a - 1.0) ** 2 + (c - 1.0) ** 2 + 90.0 * (c * c - d) ** 2
        + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2) + 19.8 * (b - 1.0) * (d - 1.0)
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("f", "start", "wanted"),
    [
        (rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
        (rosenbrock, [0.5, 0.5, 0.5, 0.5, 0.5], [1.0] * 5),
        (beale, [2.0, 0.2], [3.0, 0.5]),
        (wood, [-3.0, -1.0, -3.0, -1.0], [1.0] * 4),
        (lambda v: (v[0] - 1e6) ** 2 + v[1] ** 2, [1.0, 1.0], [1e6, 0.0]),
        (lambda v: 1e8 * math.cosh(v[0] - 3.0), [1.0], [3.0]),
    ],
    ids=["rosenbrock2", "rosenbrock5", "beale", "wood", "far", "large"],
)
def test_minima(method, f, start, wanted):
    assert minimize(f, start, method=method) == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_bounds_beside_scipy(method):
    optimize = pytest.importorskip("scipy.optimize")
    for bounds in (
        [(None, 0.5), (None, None)],
        [(1.5, None), (None, None)],
        [(None, None), (-1.0, 0.3)],
        [(0.1, 0.4), (0.5, 0.6)],
    ):
        start = [0.2, 0.1]
        wanted = optimize.minimize(
            lambda v: float(rosenbrock(v.tolist())),
            start,
            bounds=bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        assert minimize(rosenbrock, start, method=method, bounds=bounds) == pytest.approx(wanted.x, rel=1e-5, abs=1e-5)


def cheapest(price, method="bfgs", most=None):
    """price·x + 1/x has its minimum at 1/√price."""
    bounds = None if most is None else [(0.01, most), (None, None)]
    return minimize(lambda v: price * v[0] + 1.0 / v[0] + (v[1] - v[0]) ** 2, [0.3, 0.0], method=method, bounds=bounds)[
        1
    ]


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_a_minimum(method):
    f = cheapest
    for k, wanted in enumerate((0.5, -0.0625, 0.0234375, -15 / 8 * 4**-3.5)):
        assert f(4.0, method) == pytest.approx(wanted, rel=1e-7), k
        f = grad(f)


@pytest.mark.parametrize("method", METHODS)
def test_at_a_bound_the_minimum_moves_with_the_bound_alone(method):
    assert cheapest(4.0, method, 0.4) == pytest.approx(0.4)
    assert grad(cheapest)(4.0, method, 0.4) == 0.0
    assert grad(lambda b: cheapest(4.0, method, b))(0.4) == pytest.approx(1.0)
    assert grad(lambda b: cheapest(4.0, method, b))(0.9) == 0.0

    def edge(b):
        return minimize(rosenbrock, [-1.0, 1.0], method=method, bounds=[(None, b), (None, None)])[1]

    assert edge(0.5) == pytest.approx(0.25)
    assert (grad(edge)(0.5), grad(grad(edge))(0.5)) == pytest.approx((1.0, 2.0))


def test_one_number():
    assert minimize(lambda x: math.exp(x) - 2.0 * x, 0.0) == pytest.approx(plain.log(2.0))
    assert minimize(lambda x: (x - 3.0) ** 2, 0.0, bounds=(None, 2.0)) == 2.0


def test_what_has_no_minimum_is_nan():
    assert plain.isnan(minimize(lambda x: x, 0.0, max_iterations=50))
    assert all(map(plain.isnan, minimize(rosenbrock, [-1.2, 1.0], max_iterations=3)))
    assert plain.isnan(minimize(lambda x: x * math.nan, 1.0))


def test_wrong_options_are_errors():
    with pytest.raises(ValueError, match="no method 'powell'"):
        minimize(rosenbrock, [0.0, 0.0], method="powell")
    with pytest.raises(ValueError, match="one pair"):
        minimize(rosenbrock, [0.0, 0.0], bounds=[(0.0, 1.0)])
    with pytest.raises(ValueError, match="one y for each x"):
        curve_fit(lambda x, a: a * x, [1.0, 2.0], [1.0], [1.0])
    with pytest.raises(ValueError, match="as many points"):
        curve_fit(lambda x, a, b: a * x + b, [1.0], [1.0], [1.0, 0.0])


XS = np.linspace(0.0, 4.0, 20)
YS = 2.5 * np.exp(-1.3 * XS) + 0.5 + 0.1 * np.random.default_rng(0).normal(size=20)


def model(x, a, b, c):
    return a * math.exp(-b * x) + c


def fitted(ys, **options):
    return curve_fit(model, XS.tolist(), ys, [1.0, 1.0, 0.0], **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("absolute", [False, True])
def test_fits_and_standard_errors_are_scipys(weighted, absolute):
    optimize = pytest.importorskip("scipy.optimize")
    sigma = np.linspace(0.05, 0.2, 20) if weighted else None
    fit = fitted(YS.tolist(), sigma=None if sigma is None else sigma.tolist(), absolute_sigma=absolute)
    found, covariance = optimize.curve_fit(
        lambda x, a, b, c: a * np.exp(-b * x) + c, XS, YS, [1.0, 1.0, 0.0], sigma, absolute, xtol=1e-13, ftol=1e-13
    )
    assert fit.parameters == pytest.approx(found, rel=1e-6)
    assert np.allclose(fit.covariance, covariance, rtol=1e-5)
    assert fit.errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)


def test_derivatives_of_a_fit_and_its_errors_by_a_point():
    def with_first(y):
        fit = fitted([y, *YS[1:].tolist()])
        return fit.parameters[1], fit.errors[1]

    for k in (0, 1):
        slope = grad(lambda y: with_first(y)[k])(float(YS[0]))  # noqa: B023
        h = 1e-3
        ends = [with_first(float(YS[0]) + step)[k] for step in (-2 * h, -h, h, 2 * h)]
        assert slope == pytest.approx((ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h), rel=1e-6)


def test_least_squares_within_bounds():
    def residuals(v):
        return [10.0 * (v[1] - v[0] ** 2), 1.0 - v[0]]

    assert least_squares(residuals, [-1.2, 1.0]) == pytest.approx([1.0, 1.0], rel=1e-7)

    def edge(b):
        return least_squares(residuals, [-1.2, 1.0], bounds=[(None, b), (None, None)])[1]

    assert edge(0.5) == pytest.approx(0.25)
    assert grad(edge)(0.5) == pytest.approx(1.0)


@needs_llvm
class TestCompiled:
    @pytest.mark.parametrize("method", METHODS)
    def test_each_row_runs_until_it_has_converged(self, method):
        def f(p):
            return cheapest(p, method, 0.9)

        rows = np.array([0.1, 1.5, 4.0, 300.0])
        mapped = vmap(value_and_grad(f))
        values, slopes = mapped(rows)
        free = 1.0 / np.sqrt(rows) < 0.9
        assert np.allclose(values, np.where(free, 1.0 / np.sqrt(rows), 0.9), rtol=1e-6)
        assert np.allclose(slopes, np.where(free, -0.5 * rows**-1.5, 0.0), rtol=1e-6)
        assert len(list(mapped.variants)) == 1
        assert jit(grad(grad(f)))(4.0) == pytest.approx(0.0234375, rel=1e-6)

    def test_a_thousand_fits(self):
        ys = YS + 0.05 * np.random.default_rng(1).normal(size=(1000, 20))

        def decay(ys):
            fit = fitted(ys)
            return fit.parameters[1], fit.errors[1]

        mapped = vmap(decay)
        found = np.array(mapped(ys))
        assert np.isfinite(found).all()
        for k in (0, 500, 999):
            assert found[:, k] == pytest.approx(decay(ys[k].tolist()), rel=1e-9)
        assert len(list(mapped.variants)) == 1


def test_values_of_both_engines_get_the_gradient(twin):
    solvers = importlib.import_module("micrograd.solvers")
    for method in METHODS:
        p = twin.Value(4.0)
        solvers.minimize(lambda x, p=p: p * x + 1.0 / x, 0.3, method=method).backward()
        assert p.grad == pytest.approx(-0.0625)
