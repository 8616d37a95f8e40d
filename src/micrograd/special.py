"""Functions of scipy.special, written with rows of the op table, by the names that SciPy gives its ufuncs.

SciPy's ufuncs ask a Value what they are of it, as NumPy's do (arrays.py). Nothing here imports SciPy. All are formulas, so they
are differentiated to every order, compiled, and mapped over rows; they agree with SciPy's to about 13 digits.

>>> from micrograd import Value
>>> from micrograd.special import FUNCTIONS
>>> x = Value(0.5)
>>> FUNCTIONS["ndtr"](x).backward()
>>> round(x.grad, 6)  # the density of the normal distribution
0.352065
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import engine, math
from micrograd.ops import OPS
from micrograd.primitive import primitive

__all__ = ["FUNCTIONS"]

HALF_ROOT = math.sqrt(0.5)
HALF_ROOT_PI = 0.5 * math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)
LOG_ROOT_2PI = 0.9189385332046727418
PROBIT, DIV = OPS["probit"], OPS["div"]


def _ratio(a: Any, b: Any) -> Any:
    """Return a / b as IEEE has it: Python's operator raises where b is 0."""
    return engine.apply(DIV, a, b)


def ndtr(x: Any) -> Any:
    return 0.5 * math.erfc(-x * HALF_ROOT)


def _tail(x: Any) -> Any:
    """Return -x·ndtr(x) by the density at x, for x below -35."""
    u = 1.0 / (x * x)
    return 1.0 - u * (1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * 945.0))))


def _density_by_ndtr(x: Any, y: Any) -> Any:
    far = math.min(x, -35.0)
    return math.where(math.lt(x, -35.0), -far / _tail(far), math.exp(-0.5 * x * x - LOG_ROOT_2PI - y))


@primitive(_density_by_ndtr)
def log_ndtr(x: Any) -> Any:
    """The logarithm of ndtr: of its complement above 0, and by a series where ndtr itself leaves the range of numbers."""
    far = math.min(x, -35.0)
    tail = -0.5 * far * far - math.log(-far) - LOG_ROOT_2PI + math.log(_tail(far))
    middle = math.log(ndtr(math.max(x, -35.0)))
    return math.where(math.gt(x, 0.0), math.log1p(-ndtr(-x)), math.where(math.lt(x, -35.0), tail, middle))


@primitive(lambda p, y: ROOT_2PI * math.exp(0.5 * y * y))
def ndtri(p: Any) -> Any:
    """The quantile of the normal distribution; small tails, whose digits p - 1/2 would lose, by Newton's method."""
    tail = math.min(p, 1.0 - p)
    log = math.log(tail)
    x = -math.sqrt(-2.0 * math.min(log, -5.0))
    for _ in range(6):
        y = log_ndtr(x)
        x = x + (log - y) * math.exp(y + 0.5 * x * x + LOG_ROOT_2PI)
    x = math.where(math.eq(tail, 0.0), -math.inf, x)
    return math.where(math.lt(tail, 1e-3), math.where(math.lt(p, 0.5), x, -x), engine.apply(PROBIT, p - 0.5))


@primitive(lambda x, y: HALF_ROOT_PI * math.exp(y * y))
def erfinv(x: Any) -> Any:
    """By ndtri of the smaller tail; small arguments, whose digits 1 + x would lose, get a step of Newton's method."""
    above, below = -ndtri(0.5 * (1.0 - x)) * HALF_ROOT, ndtri(0.5 * (1.0 + x)) * HALF_ROOT
    middle = below - (math.erf(below) - x) * math.exp(below * below) * HALF_ROOT_PI
    return math.where(math.gt(x, 0.5), above, math.where(math.lt(x, -0.5), below, middle))


@primitive(lambda p, y: _ratio(1.0, p * (1.0 - p)))
def logit(p: Any) -> Any:
    return math.where(math.lt(p, 0.3), math.log(_ratio(p, 1.0 - p)), math.log1p(_ratio(2.0 * p - 1.0, 1.0 - p)))


@primitive(lambda x, y, z: math.log(y), lambda x, y, z: _ratio(x, y))
def xlogy(x: Any, y: Any) -> Any:
    return math.where(math.eq(x, 0.0), math.where(math.eq(y, y), 0.0, math.nan), x * math.log(y))


@primitive(lambda x, y, z: math.log1p(y), lambda x, y, z: _ratio(x, 1.0 + y))
def xlog1py(x: Any, y: Any) -> Any:
    return math.where(math.eq(x, 0.0), math.where(math.eq(y, y), 0.0, math.nan), x * math.log1p(y))


def rel_entr(x: Any, y: Any) -> Any:
    edge = math.where(math.eq(x, 0.0), math.where(math.ge(y, 0.0), 0.0, math.inf), math.inf)
    return math.where(math.le(math.min(x, y), 0.0), edge, x * math.log(_ratio(x, y)))


@primitive(lambda z, w: _ratio(math.exp(-w), 1.0 + w))
def lambertw_0(z: Any) -> Any:
    """The branch that goes through 0, by Halley's method."""
    p = math.sqrt(2.0 * (math.e * z + 1.0))
    log = math.log1p(math.max(z, -0.3))
    far = log * (1.0 - _ratio(math.log1p(math.max(log, -0.3)), 2.0 + log))
    return _halley(z, math.where(math.lt(z, -0.25), -1.0 + p * (1.0 - p * (1.0 / 3.0 - p * (11.0 / 72.0))), far))


@primitive(lambda z, w: _ratio(math.exp(-w), 1.0 + w))
def lambertw_below(z: Any) -> Any:
    """The branch below -1, of numbers between -1/e and 0."""
    p = math.sqrt(2.0 * (math.e * z + 1.0))
    log = math.log(-z)
    inner = math.log(-math.min(log, -1.0))
    return _halley(
        z,
        math.where(
            math.lt(z, -0.25), -1.0 - p * (1.0 + p * (1.0 / 3.0 + p * (11.0 / 72.0))), log - inner + inner / log
        ),
    )


def _halley(z: Any, w: Any) -> Any:
    for _ in range(4):
        f = w - z * math.exp(-w)  # in place of w·exp(w) - z, which leaves the range of numbers
        slope, bend = 1.0 + w, _ratio(2.0 + w, 2.0 * (1.0 + w))
        w = w - math.where(math.eq(slope, 0.0), 0.0, _ratio(f, slope - f * bend))
    return w


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """The real branches 0 and -1; nan where they have none. The result is real, where SciPy's is complex."""
    if int(k) not in (0, -1):
        raise TypeError(f"lambertw of a Value has the branches 0 and -1, which are real, not {int(k)}")
    return lambertw_below(z) if int(k) else lambertw_0(z)


def beta(a: Any, b: Any) -> Any:
    of_logarithms = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
    return math.where(math.gt(math.min(a, b), 0.0), of_logarithms, math.gamma(a) * math.gamma(b) / math.gamma(a + b))


def zeta(s: Any, q: Any) -> Any:
    if isinstance(s, engine.Value):
        raise TypeError("zeta(s, q) has no derivative with respect to s\n  Give s as a number: s.data.")
    return math.zeta(s, q)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ndtr": ndtr,
    "ndtri": ndtri,
    "log_ndtr": log_ndtr,
    "erfinv": erfinv,
    "erfcinv": lambda x: -ndtri(0.5 * x) * HALF_ROOT,
    "logit": logit,
    "log_expit": lambda x: -math.softplus(-x),
    "exp10": lambda x: math.pow(10.0, x),
    "xlogy": xlogy,
    "xlog1py": xlog1py,
    "entr": lambda x: math.where(math.eq(x, 0.0), 0.0, math.where(math.lt(x, 0.0), -math.inf, -x * math.log(x))),
    "rel_entr": rel_entr,
    "kl_div": lambda x, y: rel_entr(x, y) - x + y,
    "beta": beta,
    "betaln": lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b),
    "loggamma": lambda x: math.where(math.lt(x, 0.0), math.nan, math.lgamma(x)),
    "huber": lambda d, r: math.where(math.le(math.abs(r), d), 0.5 * r * r, d * (math.abs(r) - 0.5 * d)),
    "pseudo_huber": lambda d, r: d * (r * r / d) / (math.sqrt(1.0 + (r / d) * (r / d)) + 1.0),
    "_zeta": zeta,
    "_lambertw": lambertw,
}  # fmt: skip
