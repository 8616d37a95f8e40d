"""Log densities of the usual distributions, and the log probabilities of discrete ones.

Each is a function of the number x and then of the parameters of the distribution: `normal(x, mean, deviation)`. Outside of the
support it is -inf, and its derivatives are 0. Densities are normalized. They are differentiated to every order with respect to
all arguments, compiled, and mapped over rows.

>>> from micrograd import grad, stats
>>> round(stats.normal(1.0, 0.0, 2.0), 9), grad(stats.normal, 1)(1.0, 0.0, 2.0)
(-1.737085714, 0.25)
>>> round(sum(stats.poisson(k, 3.5) for k in (2, 5, 4)), 9)
-5.3783001
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd import math
from micrograd.engine import apply
from micrograd.ops import OPS
from micrograd.solvers.dense import cholesky
from micrograd.special import betaln, log_ndtr, xlog1py, xlogy

__all__ = [
    "bernoulli", "beta", "binomial", "categorical", "cauchy", "chi2", "dirichlet", "exponential", "gamma", "geometric",
    "gumbel", "half_cauchy", "half_normal", "inverse_gamma", "laplace", "logistic", "lognormal", "multinomial",
    "multivariate_normal", "negative_binomial", "normal", "pareto", "poisson", "skew_normal", "student_t", "truncated_normal",
    "uniform", "weibull",
]  # fmt: skip

LOG_2PI, LOG_2, LOG_PI = math.log(2.0 * math.pi), math.log(2.0), math.log(math.pi)
DIV = OPS["div"]  # of IEEE, as in compiled code


def _within(inside: Any, x: Any, harmless: Any) -> Any:
    """Return x, or a number that does no harm where x lies outside: the arm that is not chosen is differentiated too."""
    return math.where(inside, x, harmless)


def _density(inside: Any, found: Any) -> Any:
    return math.where(inside, found, -math.inf)


def _relative(x: Any, place: Any, scale: Any) -> Any:
    return apply(DIV, x - place, scale)


def normal(x: Any, mean: Any = 0.0, deviation: Any = 1.0) -> Any:
    """The normal distribution, of this mean and this standard deviation."""
    z = _relative(x, mean, deviation)
    return -0.5 * z * z - math.log(deviation) - 0.5 * LOG_2PI


def half_normal(x: Any, scale: Any = 1.0) -> Any:
    """The absolute value of a normal number of mean 0."""
    inside = math.ge(x, 0.0)
    return _density(inside, normal(_within(inside, x, 1.0), 0.0, scale) + LOG_2)


def lognormal(x: Any, mean: Any = 0.0, deviation: Any = 1.0) -> Any:
    """A number whose logarithm is normal, of this mean and this deviation."""
    inside = math.gt(x, 0.0)
    log = math.log(_within(inside, x, 1.0))
    return _density(inside, normal(log, mean, deviation) - log)


def truncated_normal(x: Any, mean: Any, deviation: Any, low: Any, high: Any) -> Any:
    """A normal number between two bounds."""
    inside = math.ge(x, low) * math.le(x, high)
    a, b = _relative(low, mean, deviation), _relative(high, mean, deviation)
    right = math.gt(a, 0.0)  # of the tail in which more digits are left
    near, far = math.where(right, -a, b), math.where(right, -b, a)
    top = log_ndtr(near)
    mass = top + math.log(-math.expm1(log_ndtr(far) - top))
    return _density(inside, normal(_within(inside, x, mean), mean, deviation) - mass)


def skew_normal(x: Any, place: Any, scale: Any, shape: Any) -> Any:
    """The skew normal distribution of Azzalini."""
    z = _relative(x, place, scale)
    return LOG_2 + normal(x, place, scale) + log_ndtr(shape * z)


def uniform(x: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
    """Each number between two bounds alike."""
    return _density(math.ge(x, low) * math.le(x, high), -math.log(high - low))


def exponential(x: Any, rate: Any = 1.0) -> Any:
    """The exponential distribution, of mean 1 / rate."""
    inside = math.ge(x, 0.0)
    return _density(inside, math.log(rate) - rate * _within(inside, x, 0.0))


def gamma(x: Any, shape: Any, rate: Any = 1.0) -> Any:
    """The gamma distribution, of mean shape / rate."""
    inside = math.ge(x, 0.0)
    y = _within(inside, x, 1.0)
    return _density(inside, shape * math.log(rate) + xlogy(shape - 1.0, y) - rate * y - math.lgamma(shape))


def chi2(x: Any, degrees: Any) -> Any:
    """The sum of the squares of so many normal numbers."""
    return gamma(x, 0.5 * degrees, 0.5)


def inverse_gamma(x: Any, shape: Any, scale: Any = 1.0) -> Any:
    """The inverse of a number of the gamma distribution whose rate is this scale."""
    inside = math.gt(x, 0.0)
    y = _within(inside, x, 1.0)
    found = shape * math.log(scale) - (shape + 1.0) * math.log(y) - apply(DIV, scale, y) - math.lgamma(shape)
    return _density(inside, found)


def beta(x: Any, a: Any, b: Any) -> Any:
    """The beta distribution on the numbers between 0 and 1."""
    inside = math.ge(x, 0.0) * math.le(x, 1.0)
    y = _within(inside, x, 0.5)
    return _density(inside, xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y) - betaln(a, b))


def student_t(x: Any, degrees: Any, place: Any = 0.0, scale: Any = 1.0) -> Any:
    """Student's t, of so many degrees of freedom."""
    z = _relative(x, place, scale)
    tail = 0.5 * (degrees + 1.0) * math.log1p(apply(DIV, z * z, degrees))
    constant = math.lgamma(0.5 * (degrees + 1.0)) - math.lgamma(0.5 * degrees) - 0.5 * (math.log(degrees) + LOG_PI)
    return constant - math.log(scale) - tail


def cauchy(x: Any, place: Any = 0.0, scale: Any = 1.0) -> Any:
    """The Cauchy distribution."""
    z = _relative(x, place, scale)
    return -LOG_PI - math.log(scale) - math.log1p(z * z)


def half_cauchy(x: Any, scale: Any = 1.0) -> Any:
    """The absolute value of a Cauchy number."""
    inside = math.ge(x, 0.0)
    return _density(inside, cauchy(_within(inside, x, 1.0), 0.0, scale) + LOG_2)


def laplace(x: Any, place: Any = 0.0, scale: Any = 1.0) -> Any:
    """Exponential to both sides of a place."""
    return -math.abs(_relative(x, place, scale)) - math.log(scale) - LOG_2


def logistic(x: Any, place: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution whose distribution function is a sigmoid."""
    z = _relative(x, place, scale)
    return -z - 2.0 * math.softplus(-z) - math.log(scale)


def gumbel(x: Any, place: Any = 0.0, scale: Any = 1.0) -> Any:
    """The distribution of the largest of many numbers."""
    z = _relative(x, place, scale)
    return -z - math.exp(-z) - math.log(scale)


def weibull(x: Any, shape: Any, scale: Any = 1.0) -> Any:
    """The Weibull distribution, of times of failure."""
    inside = math.gt(x, 0.0)
    log = math.log(apply(DIV, _within(inside, x, 1.0), scale))
    return _density(inside, math.log(apply(DIV, shape, scale)) + (shape - 1.0) * log - math.exp(shape * log))


def pareto(x: Any, shape: Any, least: Any = 1.0) -> Any:
    """A power law above a least number."""
    inside = math.ge(x, least)
    log = math.log(_within(inside, x, least))
    return _density(inside, math.log(shape) + shape * math.log(least) - (shape + 1.0) * log)


# ---- discrete distributions: the counts are whole numbers, which may be floats


def _whole(k: Any) -> Any:
    return math.eq(k, math.round(math.stop_gradient(k))) * math.ge(k, 0.0)


def bernoulli(k: Any, p: Any) -> Any:
    """1 with the probability p, else 0."""
    inside = math.max(math.eq(k, 0.0), math.eq(k, 1.0))
    return _density(inside, xlogy(k, p) + xlog1py(1.0 - k, -p))


def binomial(k: Any, n: Any, p: Any) -> Any:
    """How many of n succeed, each with the probability p."""
    inside = _whole(k) * math.le(k, n)
    j = _within(inside, k, 0.0)
    ways = math.lgamma(n + 1.0) - math.lgamma(j + 1.0) - math.lgamma(n - j + 1.0)
    return _density(inside, ways + xlogy(j, p) + xlog1py(n - j, -p))


def geometric(k: Any, p: Any) -> Any:
    """At which try the first success comes: 1, 2, ..."""
    inside = _whole(k) * math.ge(k, 1.0)
    return _density(inside, math.log(p) + xlog1py(_within(inside, k, 1.0) - 1.0, -p))


def negative_binomial(k: Any, n: Any, p: Any) -> Any:
    """How many failures come before success n."""
    inside = _whole(k)
    j = _within(inside, k, 0.0)
    ways = math.lgamma(j + n) - math.lgamma(j + 1.0) - math.lgamma(n)
    return _density(inside, ways + n * math.log(p) + xlog1py(j, -p))


def poisson(k: Any, rate: Any) -> Any:
    """The number of events, where their mean is the rate."""
    inside = _whole(k)
    j = _within(inside, k, 0.0)
    return _density(inside, xlogy(j, rate) - rate - math.lgamma(j + 1.0))


def categorical(k: Any, logits: Sequence[Any]) -> Any:
    """One of several classes, whose probabilities are softmax(logits)."""
    picked = math.sum([math.where(math.eq(k, float(i)), v, 0.0) for i, v in enumerate(logits)])
    inside = _whole(k) * math.lt(k, float(len(logits)))
    return _density(inside, picked - math.logsumexp(logits))


def multinomial(counts: Sequence[Any], p: Sequence[Any]) -> Any:
    """How many of several fall to each class, where the classes have the probabilities p."""
    total = math.sum(counts)
    ways = math.lgamma(total + 1.0) - math.sum([math.lgamma(k + 1.0) for k in counts])
    return ways + math.sum([xlogy(k, q) for k, q in zip(counts, p, strict=True)])


def dirichlet(x: Sequence[Any], a: Sequence[Any]) -> Any:
    """The Dirichlet distribution of probabilities that add up to 1."""
    powers = math.sum([xlogy(b - 1.0, v) for v, b in zip(x, a, strict=True)])
    return powers + math.lgamma(math.sum(a)) - math.sum([math.lgamma(b) for b in a])


def multivariate_normal(x: Sequence[Any], mean: Sequence[Any], covariance: Any) -> Any:
    """The normal distribution of a list of numbers, of this mean and this covariance: a list of lists, or an array."""
    factor = cholesky(covariance)
    z: list[Any] = []
    for i, row in enumerate(factor):
        z.append(apply(DIV, x[i] - mean[i] - math.dot(row[:i], z), row[i]))
    logs = math.sum([math.log(row[i]) for i, row in enumerate(factor)])
    return -0.5 * math.dot(z, z) - logs - 0.5 * len(z) * LOG_2PI
