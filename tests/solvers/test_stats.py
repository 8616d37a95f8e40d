"""micrograd.stats beside scipy.stats; gradients beside differences; outside of the support."""

from __future__ import annotations

import pytest

from micrograd import grad, math, stats, value_and_grad, vmap
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
ss = pytest.importorskip("scipy.stats")

CASES = [
    ("normal", (1.2, 0.3, 2.0), lambda m, s: ss.norm(m, s)),
    ("half_normal", (1.2, 2.0), lambda s: ss.halfnorm(0, s)),
    ("lognormal", (1.2, 0.3, 0.7), lambda m, s: ss.lognorm(s, 0, np.exp(m))),
    ("truncated_normal", (3.5, 1.0, 0.5, 3.0, 5.0), lambda m, s, a, b: ss.truncnorm((a - m) / s, (b - m) / s, m, s)),
    ("truncated_normal", (-1.0, 1.0, 0.5, -3.0, 1.0), lambda m, s, a, b: ss.truncnorm((a - m) / s, (b - m) / s, m, s)),
    ("skew_normal", (1.2, 0.3, 2.0, -3.0), lambda m, s, a: ss.skewnorm(a, m, s)),
    ("uniform", (1.2, 0.5, 3.0), lambda a, b: ss.uniform(a, b - a)),
    ("exponential", (1.2, 2.0), lambda r: ss.expon(0, 1 / r)),
    ("gamma", (1.2, 3.0, 2.0), lambda a, r: ss.gamma(a, 0, 1 / r)),
    ("chi2", (1.2, 3.0), ss.chi2),
    ("inverse_gamma", (1.2, 3.0, 2.0), lambda a, s: ss.invgamma(a, 0, s)),
    ("beta", (0.2, 3.0, 2.0), ss.beta),
    ("student_t", (1.2, 3.0, 0.2, 2.0), ss.t),
    ("cauchy", (1.2, 0.2, 2.0), ss.cauchy),
    ("half_cauchy", (1.2, 2.0), lambda s: ss.halfcauchy(0, s)),
    ("laplace", (1.2, 0.2, 2.0), ss.laplace),
    ("logistic", (1.2, 0.2, 2.0), ss.logistic),
    ("gumbel", (1.2, 0.2, 2.0), ss.gumbel_r),
    ("weibull", (1.2, 1.5, 2.0), lambda a, s: ss.weibull_min(a, 0, s)),
    ("pareto", (3.2, 1.5, 2.0), lambda a, x: ss.pareto(a, 0, x)),
    ("bernoulli", (1.0, 0.3), ss.bernoulli),
    ("bernoulli", (0.0, 0.3), ss.bernoulli),
    ("binomial", (3.0, 7.0, 0.3), ss.binom),
    ("geometric", (3.0, 0.3), ss.geom),
    ("negative_binomial", (3.0, 2.5, 0.3), ss.nbinom),
    ("poisson", (3.0, 2.5), ss.poisson),
]
DISCRETE = {"bernoulli", "binomial", "geometric", "negative_binomial", "poisson"}
each = pytest.mark.parametrize(("name", "point", "made"), CASES, ids=[f"{c[0]}{k}" for k, c in enumerate(CASES)])


def density(name, made, x, *parameters):
    distribution = made(*parameters)
    return float((distribution.logpmf if name in DISCRETE else distribution.logpdf)(x))


@each
def test_densities_are_scipys(name, point, made):
    f = getattr(stats, name)
    assert f(*point) == pytest.approx(density(name, made, *point), rel=1e-12)
    assert f(-5.5, *point[1:]) == pytest.approx(density(name, made, -5.5, *point[1:]), rel=1e-12)


@each
def test_gradients_are_those_of_scipys(name, point, made):
    f, h = getattr(stats, name), 1e-3
    for k in range(1 if name in DISCRETE else 0, len(point)):
        if name == "binomial" and k == 1:
            continue  # the number of tries is whole
        ends = []
        for step in (-2 * h, -h, h, 2 * h):
            moved = list(point)
            moved[k] += step
            ends.append(density(name, made, *moved))
        wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        assert grad(f, k)(*point) == pytest.approx(wanted, rel=1e-7, abs=1e-8), k
        assert math.isfinite(grad(f, k)(-5.5, *point[1:]))


def test_whole_numbers_alone_have_a_probability():
    for f, parameters in (
        (stats.poisson, (2.0,)),
        (stats.binomial, (5, 0.5)),
        (stats.geometric, (0.5,)),
        (stats.bernoulli, (0.5,)),
    ):
        assert f(0.5, *parameters) == -math.inf
    assert stats.binomial(6, 5, 0.5) == stats.geometric(0, 0.5) == -math.inf


def test_several_numbers():
    covariance = [[2.0, 0.5], [0.5, 1.0]]
    wanted = ss.multivariate_normal([0.5, 0.3], covariance).logpdf([1.0, 2.0])
    assert stats.multivariate_normal([1.0, 2.0], [0.5, 0.3], covariance) == pytest.approx(wanted)
    slopes = grad(stats.multivariate_normal, 1)([1.0, 2.0], [0.5, 0.3], covariance)
    assert slopes == pytest.approx(np.linalg.solve(covariance, [0.5, 1.7]))
    x, a = [0.2, 0.3, 0.5], [1.0, 2.0, 3.0]
    assert stats.dirichlet(x, a) == pytest.approx(ss.dirichlet(a).logpdf(x))
    assert stats.multinomial([1, 2, 3], x) == pytest.approx(ss.multinomial(6, x).logpmf([1, 2, 3]))
    logits = [0.1, -0.4, 2.0]
    chances = np.exp(logits) / np.exp(logits).sum()
    for k in range(3):
        assert stats.categorical(k, logits) == pytest.approx(np.log(chances[k]))
    assert stats.categorical(3, logits) == -math.inf


@needs_llvm
def test_a_log_density_over_rows():
    def f(x, a, r):
        return stats.gamma(x, a, r) + stats.student_t(x, a) + stats.truncated_normal(x, 0.0, r, -1.0, 5.0)

    x = np.array([0.5, 1.5, -0.5, 4.0])
    values, slopes = vmap(value_and_grad(f, (0, 1, 2)), (0, None, None))(x, 2.5, 1.5)
    for k, number in enumerate(x.tolist()):
        value, slope = value_and_grad(f, (0, 1, 2))(number, 2.5, 1.5)
        assert values[k] == pytest.approx(value, rel=1e-12)
        assert [s[k] for s in slopes] == pytest.approx(list(slope), rel=1e-10)
