"""scipy.special and scipy.stats inside of functions that are differentiated, compiled and mapped over rows, as they are."""

from __future__ import annotations

import math

import pytest

from micrograd import Value, engine, grad, jit, value_and_grad, vmap
from micrograd.special import FUNCTIONS

np = pytest.importorskip("numpy")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
mpmath = pytest.importorskip("mpmath")
native = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")

TAILS = [10.0**-k for k in range(1, 300, 19)]
UNIT = [*TAILS, *(k / 40 for k in range(1, 40)), *(1.0 - 10.0**-k for k in range(3, 15, 3))]
# name: arguments, the function in mpmath, and its slope there where that is not found by differences in 40 digits
ACCURACY = {
    "ndtr": ([-30.0, -5.0, -0.3, 0.0, 2.0, 7.0], lambda x: mpmath.ncdf(x)),
    "log_ndtr": ([-1e4, -100.0, -35.1, -34.9, -5.0, -0.3, 0.0, 0.3, 8.0], lambda x: mpmath.log(mpmath.ncdf(x))),
    "ndtri": (UNIT[1:], None),
    "erfinv": ([s * x for s in (1, -1) for x in UNIT], None),
    "erfcinv": ([*UNIT[1:], 1.5, 1.99], None),
    "logit": ([*UNIT, 0.2999, 0.3001], lambda p: mpmath.log(p / (1 - p))),
    "log_expit": ([-700.0, -1.0, 0.0, 2.0, 40.0], lambda x: -mpmath.log1p(mpmath.exp(-x))),
    "exp10": ([-200.0, 0.5, 3.0], lambda x: mpmath.mpf(10) ** x),
    "entr": ([1e-300, 0.3, 5.0], lambda x: -x * mpmath.log(x)),
    "loggamma": ([0.1, 3.3, 150.0], lambda x: mpmath.loggamma(x)),
    "_lambertw": ([-0.36, -0.2, -1e-9, 1e-20, 0.5, 3.0, 1e6, 1e200], lambda x: mpmath.lambertw(x).real),
}
INVERSE = {
    "ndtri": lambda y: mpmath.ncdf(y),
    "erfinv": lambda y: mpmath.erf(y),
    "erfcinv": lambda y: mpmath.erfc(y),
}


@pytest.mark.parametrize("name", ACCURACY)
def test_value_and_slope_agree_with_mpmath(name):
    points, exact = ACCURACY[name]
    f = FUNCTIONS[name]
    for x in points:
        y, slope = value_and_grad(f)(x)
        with mpmath.workdps(340):
            if exact is None:  # by the inverse, whose slope is the reciprocal
                back, truth = INVERSE[name](mpmath.mpf(y)), 1 / mpmath.diff(INVERSE[name], mpmath.mpf(y))
                assert abs(back - x) <= 1e-14 * abs(y / truth) + 3e-16 * abs(x)
            else:
                truth = mpmath.diff(exact, mpmath.mpf(x), h=mpmath.mpf(10) ** -60 * abs(x or 1.0))
                assert abs(y - exact(mpmath.mpf(x))) <= 1e-13 * abs(exact(mpmath.mpf(x)))
            assert abs(slope - truth) <= 1e-11 * abs(truth)


def test_the_lower_branch_of_lambert_w():
    for z in (-0.3678794401714423, -0.36, -0.25, -0.2, -1e-5, -1e-200):
        w, slope = value_and_grad(lambda z: special.lambertw(z, -1).real)(z)
        with mpmath.workdps(40):
            truth = mpmath.lambertw(z, -1).real
            near = 1e-12 if z > -0.3678 else 1e-8  # the slope is infinite at -1/e
            assert abs(w - truth) <= near * abs(truth)
            assert abs(slope - truth / (z * (1 + truth))) <= 1e-3 * abs(slope) * (1.0 if z < -0.3678 else 1e-8)
    with pytest.raises(TypeError, match="branches 0 and -1"):
        grad(lambda z: special.lambertw(z, 1).real)(0.5)


def test_edges_are_those_of_scipy():
    edges = [0.0, 1.0, -1.0, 2.5, math.inf, math.nan]
    for name in ("xlogy", "xlog1py", "rel_entr", "kl_div"):
        for x in edges[:4]:
            for y in (*edges[:4], math.nan):
                found, wanted = FUNCTIONS[name](Value(x), y).data, float(getattr(special, name)(x, y))
                assert found == pytest.approx(wanted, rel=1e-14, nan_ok=True), (name, x, y)
    for name in ("ndtri", "erfinv", "erfcinv", "logit", "ndtr", "log_ndtr", "entr"):
        for x in edges:
            found, wanted = FUNCTIONS[name](Value(x)).data, float(getattr(special, name)(x))
            assert found == pytest.approx(wanted, rel=1e-12, nan_ok=True), (name, x)


def test_the_slope_of_x_log_y_where_x_is_zero():
    assert grad(special.xlogy, (0, 1))(0.0, 3.0) == (pytest.approx(math.log(3.0)), 0.0)
    assert grad(special.xlogy)(2.0, 3.0) == pytest.approx(math.log(3.0))


def test_a_derivative_that_is_not_known_is_refused():
    with pytest.raises(TypeError, match="no derivative with respect to s"):
        grad(lambda s: special.zeta(s, 2.0))(3.0)
    with pytest.raises(TypeError, match="yv"):
        grad(lambda x: special.yv(1, x))(2.0)


PROGRAMS = {
    "ndtr": lambda x: special.ndtr(x) + special.log_ndtr(-x) + special.ndtri(x / 10.0) + special.erfinv(x / 10.0),
    "entropies": lambda x: special.xlogy(x, 2.0) + special.entr(x) + special.rel_entr(x, 2.0) + special.kl_div(2.0, x),
    "gamma functions": lambda x: special.beta(x, 2.0) + special.gammaln(x) + special.psi(x) + special.polygamma(1, x),
    "of arrays": lambda x: special.expit(np.array([x, 1.0])).sum() + special.softmax(np.array([x, 1.0]))[0],
    "lambertw": lambda x: special.lambertw(x).real * x,
    "losses": lambda x: special.huber(1.0, x) + special.pseudo_huber(1.0, x) + special.logit(x / 10.0),
    "norm": lambda x: stats.norm.cdf(x) + stats.norm.pdf(x) + stats.norm.logpdf(x, loc=0.5, scale=2.0),
    "norm by parameter": lambda x: stats.norm.logpdf(np.array([1.0, 2.0]), x, 2.0).sum() + stats.norm.pdf(1.0, 0.2, x),
    "tails": lambda x: stats.norm.sf(x) + stats.norm.logcdf(-x) + stats.norm.ppf(x / 10.0) + stats.norm.isf(x / 10.0),
    "frozen": lambda x: stats.norm(x, 2.0).pdf(1.0) + stats.norm(0.0, x).logcdf(-1.0),
    "others": lambda x: stats.expon.logpdf(x) + stats.gamma.logpdf(x, 2.0) + stats.t.logpdf(x, 5.0) + stats.lognorm.cdf(x, 0.5),
    "counts": lambda x: stats.poisson.logpmf(3, x) + stats.beta.logpdf(x / 10.0, 2.0, 3.0) + stats.uniform.logpdf(x, 0.0, 9.0),
}  # fmt: skip
ROWS = [0.6, 1.3, 2.1]


@native
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_as_it_is(name):
    f = PROGRAMS[name]

    def slope(g, x):
        found = [(float(g(x + h)) - float(g(x - h))) / (2.0 * h) for h in (1e-3, 5e-4)]
        return found[1] + (found[1] - found[0]) / 3.0

    values, slopes = [float(f(x)) for x in ROWS], [slope(f, x) for x in ROWS]
    compiled = jit(value_and_grad(f), wait=True)
    for x, y, dy in zip(ROWS, values, slopes):
        assert value_and_grad(f)(x) == pytest.approx((y, dy), rel=1e-7)
        assert compiled(x) == pytest.approx((y, dy), rel=1e-7)
        assert grad(grad(f))(x) == pytest.approx(slope(grad(f), x), rel=1e-6)
    assert list(vmap(f)(np.array(ROWS))) == pytest.approx(values, rel=1e-11)
    assert list(vmap(grad(f))(np.array(ROWS))) == pytest.approx(slopes, rel=1e-7)
