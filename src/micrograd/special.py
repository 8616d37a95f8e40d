"""Special functions: of the normal, gamma and beta distributions, of Bessel, of Lambert, and elliptic integrals.

They have the names and the arguments of scipy.special, without importing it, and are written with rows of the op table. So
they are differentiated to every order, compiled, and mapped over rows; docs/special.md says how exact they are. SciPy's ufuncs
of a Value come here as well, since they ask it what they are of it, as NumPy's do (arrays.py).

>>> from micrograd import grad, special
>>> round(grad(special.ndtr)(0.5), 6)  # the density of the normal distribution
0.352065
>>> round(special.gammainc(2.0, 1.5), 12), round(grad(special.gammainc)(2.0, 1.5), 12)
(0.442174599629, -0.313488637825)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import engine, math
from micrograd.ops import OPS
from micrograd.primitive import primitive

__all__ = [
    "beta", "betainc", "betaln", "ellipe", "ellipk", "entr", "erfinv", "gammainc", "gammaincc", "i0", "i0e", "i1",
    "i1e", "iv", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kv", "lambertw", "log_ndtr", "logaddexp",
    "logit", "ndtr", "ndtri", "rel_entr", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

HALF_ROOT = math.sqrt(0.5)
HALF_ROOT_PI = 0.5 * math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)
LOG_ROOT_2PI = 0.9189385332046727418
PROBIT, DIV = OPS["probit"], OPS["div"]


def _ratio(a: Any, b: Any) -> Any:
    """Return a / b as IEEE has it: Python's operator raises where b is 0."""
    return engine.apply(DIV, a, b)


def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution."""
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
    """log(p / (1 - p)), the inverse of sigmoid."""
    return math.where(math.lt(p, 0.3), math.log(_ratio(p, 1.0 - p)), math.log1p(_ratio(2.0 * p - 1.0, 1.0 - p)))


@primitive(lambda x, y, z: math.log(y), lambda x, y, z: _ratio(x, y))
def xlogy(x: Any, y: Any) -> Any:
    """x·log(y), and 0 where x is 0."""
    return math.where(math.eq(x, 0.0), math.where(math.eq(y, y), 0.0, math.nan), x * math.log(y))


@primitive(lambda x, y, z: math.log1p(y), lambda x, y, z: _ratio(x, 1.0 + y))
def xlog1py(x: Any, y: Any) -> Any:
    """x·log(1 + y), and 0 where x is 0."""
    return math.where(math.eq(x, 0.0), math.where(math.eq(y, y), 0.0, math.nan), x * math.log1p(y))


def rel_entr(x: Any, y: Any) -> Any:
    """x·log(x / y), and 0 where x is 0 and y is not negative."""
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
    """Γ(a)·Γ(b) / Γ(a + b)."""
    of_logarithms = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
    return math.where(math.gt(math.min(a, b), 0.0), of_logarithms, math.gamma(a) * math.gamma(b) / math.gamma(a + b))


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of beta(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def entr(x: Any) -> Any:
    """-x·log(x), and 0 where x is 0."""
    return math.where(math.eq(x, 0.0), 0.0, math.where(math.lt(x, 0.0), -math.inf, -x * math.log(x)))


def kl_div(x: Any, y: Any) -> Any:
    """x·log(x / y) - x + y."""
    return rel_entr(x, y) - x + y


def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), without overflow."""
    return math.logsumexp([a, b])


# ---- incomplete gamma and beta functions: loops that end where terms are too small to count. Their derivatives are those
# of the loops, whose terms become small as fast; a few more terms than the sum needs are for them.

ENOUGH = 1e-20
TERMS = 100_000


def _gamma_series(a: Any, x: Any) -> Any:
    """Σ x^n / ((a + 1)···(a + n)), for x below a + 1."""
    term, total, n = 1.0 + 0.0 * x, 1.0 + 0.0 * x, 0
    while n < TERMS and math.stop_gradient(term) > ENOUGH * math.stop_gradient(total):
        n += 1
        term = term * _ratio(x, a + n)
        total = total + term
    return total


# A continued fraction ends where a is a whole number, and its derivatives by a do not: so many terms are taken as a fraction
# beside it needs, which does not end.
BESIDE = 0.37


def _gamma_step(a: Any, b: Any, c: Any, d: Any, n: Any) -> tuple[Any, Any]:
    """One step of Lentz's method for Γ(a, x) / (x^a·exp(-x)), where b is x + 1 - a + 2·n."""
    weight = n * (a - n)
    return b + _ratio(weight, c), _ratio(1.0, weight * d + b)


def _gamma_terms(a: Any, x: Any) -> Any:
    b = x + 1.0 - a
    c, d, change, n = 1e300 + 0.0 * b, _ratio(1.0, b), 0.0 * x, 0
    while n < TERMS and math.abs(change - 1.0) > 1e-16:
        n += 1
        b = b + 2.0
        c, d = _gamma_step(a, b, c, d, n)
        change = c * d
    return n


def _gamma_fraction(a: Any, x: Any) -> Any:
    """The continued fraction of Γ(a, x) / (x^a·exp(-x)), for x above a + 1."""
    terms = _gamma_terms(math.stop_gradient(a) + BESIDE, math.stop_gradient(x) + BESIDE)
    b = x + 1.0 - a
    c, d, n = 1e300 + 0.0 * b, _ratio(1.0, b), 0
    total = d
    while n < terms:
        n += 1
        b = b + 2.0
        c, d = _gamma_step(a, b, c, d, n)
        total = total * (c * d)
    return total


def _incomplete_gamma(a: Any, x: Any, upper: bool) -> Any:
    outside = math.max(math.le(a, 0.0), math.max(math.lt(x, 0.0), math.ne(a + x, a + x)))
    edge = math.max(math.eq(x, 0.0), math.eq(x, math.inf))
    idle = math.max(outside, edge)
    a, inner = math.where(outside, 1.0, a), math.where(idle, 1.0, x)
    below = math.lt(inner, a + 1.0)
    scale = math.exp(a * math.log(inner) - inner - math.lgamma(a))
    low = _ratio(scale, a) * _gamma_series(a, math.where(below, inner, 0.0))
    high = scale * _gamma_fraction(a, math.where(below, a + 2.0, inner))
    found = math.where(below, 1.0 - low, high) if upper else math.where(below, low, 1.0 - high)
    at_edge = math.where(math.eq(x, 0.0), 1.0, 0.0) if upper else math.where(math.eq(x, 0.0), 0.0, 1.0)
    return math.where(outside, math.nan, math.where(edge, at_edge, found))


def gammainc(a: Any, x: Any) -> Any:
    """The lower incomplete gamma function by Γ(a), the distribution function of the gamma distribution."""
    return _incomplete_gamma(a, x, False)


def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), without loss of digits."""
    return _incomplete_gamma(a, x, True)


def _beta_step(a: Any, b: Any, x: Any, c: Any, d: Any, n: Any) -> tuple[Any, Any, Any]:
    """Two steps of Lentz's method for betainc; c, d, and the factor by which the fraction changes."""
    even = _ratio(n * (b - n) * x, (a + 2.0 * n - 1.0) * (a + 2.0 * n))
    d = _ratio(1.0, 1.0 + even * d)
    c = 1.0 + _ratio(even, c)
    first = c * d
    odd = -_ratio((a + n) * (a + b + n) * x, (a + 2.0 * n) * (a + 2.0 * n + 1.0))
    d = _ratio(1.0, 1.0 + odd * d)
    c = 1.0 + _ratio(odd, c)
    return c, d, first * (c * d)


def _beta_start(a: Any, b: Any, x: Any) -> Any:
    return _ratio(1.0, 1.0 - _ratio((a + b) * x, a + 1.0))


def _beta_terms(a: Any, b: Any, x: Any) -> Any:
    c, d, change, n = 1.0 + 0.0 * x, _beta_start(a, b, x), 0.0 * x, 0
    while n < TERMS and math.abs(change - 1.0) > 1e-16:
        n += 1
        c, d, change = _beta_step(a, b, x, c, d, n)
    return n


def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of betainc, for x below (a + 1) / (a + b + 2)."""
    now = [math.stop_gradient(v) for v in (a, b, x)]
    terms = _beta_terms(now[0], now[1] + BESIDE, now[2])
    c, d, n = 1.0 + 0.0 * x, _beta_start(a, b, x), 0
    total = d
    while n < terms:
        n += 1
        c, d, change = _beta_step(a, b, x, c, d, n)
        total = total * change
    return total


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, the distribution function of the beta distribution."""
    outside = math.max(math.le(math.min(a, b), 0.0), 1.0 - math.ge(x, 0.0) * math.le(x, 1.0))
    edge = math.max(math.eq(x, 0.0), math.eq(x, 1.0))
    idle = math.max(outside, edge)
    p, q, inner = math.where(outside, 1.0, a), math.where(outside, 1.0, b), math.where(idle, 0.5, x)
    left = math.lt(inner, _ratio(p + 1.0, p + q + 2.0))
    scale = math.exp(p * math.log(inner) + q * math.log1p(-inner) - betaln(p, q))
    first, second = math.where(left, p, q), math.where(left, q, p)
    part = _ratio(scale, first) * _beta_fraction(first, second, math.where(left, inner, 1.0 - inner))
    found = math.where(left, part, 1.0 - part)
    return math.where(outside, math.nan, math.where(edge, math.eq(x, 1.0), found))


# ---- Bessel functions: means of elementary functions over the angles of a quarter turn, which converge faster than any power
# of their number; beyond FAR, asymptotic series.

FAR = 25.0
ANGLES = [math.pi * (2 * k + 1) / 80.0 for k in range(20)]
SINES, COSINES = [math.sin(t) for t in ANGLES], [math.cos(t) for t in ANGLES]


def _asymptotic(order: int) -> list[float]:
    found = [1.0]
    for k in range(1, 25):
        found.append(found[-1] * (4.0 * order * order - (2.0 * k - 1.0) ** 2) / (8.0 * k))
    return found


SERIES = {order: _asymptotic(order) for order in (0, 1)}


def _polynomial(coefficients: list[float], x: Any) -> Any:
    total: Any = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _oscillating(order: int, x: Any) -> Any:
    """J of a large argument."""
    u = _ratio(1.0, x)
    signed = [c if k % 4 < 2 else -c for k, c in enumerate(SERIES[order])]
    p, q = _polynomial(signed[::2], u * u), u * _polynomial(signed[1::2], u * u)
    c, s = math.cos(x), math.sin(x)
    both = p * (c + s) - q * (s - c) if order == 0 else p * (s - c) + q * (s + c)
    return math.sqrt(u / math.pi) * both


def j0(x: Any) -> Any:
    """The Bessel function of the first kind of order 0."""
    size = math.abs(x)
    far = math.gt(size, FAR)
    near = math.where(far, 0.0, x)
    return math.where(far, _oscillating(0, math.where(far, size, FAR)), math.mean([math.cos(near * s) for s in SINES]))


def j1(x: Any) -> Any:
    """The Bessel function of the first kind of order 1."""
    size = math.abs(x)
    far = math.gt(size, FAR)
    near = math.where(far, 0.0, x)
    large = math.where(math.lt(x, 0.0), -1.0, 1.0) * _oscillating(1, math.where(far, size, FAR))
    return math.where(far, large, math.mean([s * math.sin(near * s) for s in SINES]))


def _growing(order: int, x: Any) -> Any:
    """exp(-x)·I of a large argument."""
    u = _ratio(1.0, x)
    signed = [-c if k % 2 else c for k, c in enumerate(SERIES[order])]
    return math.sqrt(u / (2.0 * math.pi)) * _polynomial(signed, u)


def _scaled(order: int, size: Any) -> Any:
    """exp(-size)·I(size), where size is not negative."""
    far = math.gt(size, FAR)
    near = math.where(far, 0.0, size)
    terms = [(math.exp(near * (c - 1.0)), math.exp(-near * (c + 1.0)), c) for c in COSINES]
    mean = math.mean([0.5 * (p + q) if order == 0 else -0.5 * c * p * math.expm1(-2.0 * near * c) for p, q, c in terms])
    return math.where(far, _growing(order, math.where(far, size, FAR)), mean)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0."""
    far = math.gt(math.abs(x), FAR)
    near = math.where(far, 0.0, x)
    size = math.where(far, math.abs(x), FAR)
    large = math.exp(size + math.log(_growing(0, size)))
    return math.where(far, large, math.mean([math.cosh(near * c) for c in COSINES]))


def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1."""
    far = math.gt(math.abs(x), FAR)
    near = math.where(far, 0.0, x)
    size = math.where(far, math.abs(x), FAR)
    large = math.where(math.lt(x, 0.0), -1.0, 1.0) * math.exp(size + math.log(_growing(1, size)))
    return math.where(far, large, math.mean([c * math.sinh(near * c) for c in COSINES]))


def i0e(x: Any) -> Any:
    """exp(-|x|)·i0(x)."""
    return _scaled(0, math.abs(x))


def i1e(x: Any) -> Any:
    """exp(-|x|)·i1(x)."""
    return math.sign(x) * _scaled(1, math.abs(x))


# K: up to NEAR the series with a logarithm; then the trapezoidal rule for ∫ exp(-x·(cosh t - 1))·cosh(n·t) dt, whose error is
# below rounding for this step as far as FAR; then the asymptotic series.

NEAR = 2.0
STEP = 0.125
STEPS = [STEP * k for k in range(31)]
EULER = 0.57721566490153286061


def _of_log(order: int) -> tuple[list[float], list[float]]:
    """Return the coefficients of u = (x/2)² in I/(x/2)^order and in the part of K beside the logarithm."""
    plain, other, a, harmonic = [], [], 1.0, -EULER
    for k in range(18):
        plain.append(a)
        other.append(a * (harmonic if order == 0 else harmonic + 0.5 / (k + 1)))
        a /= (k + 1.0) * (k + 1.0 + order)
        harmonic += 1.0 / (k + 1)
    return plain, other


OF_LOG = {order: _of_log(order) for order in (0, 1)}


def _second_scaled(order: int, x: Any) -> Any:
    """exp(x)·K(x)."""
    near, far = math.le(x, NEAR), math.gt(x, FAR)
    small, middle = math.where(near, x, 1.0), math.where(near, NEAR, math.where(far, FAR, x))
    half = 0.5 * small
    plain, other = [_polynomial(c, half * half) for c in OF_LOG[order]]
    log = math.log(half)
    low = (
        other - log * plain
        if order == 0
        else math.where(math.eq(half, 0.0), math.inf, half * (log * plain - other) + _ratio(0.5, half))
    )
    weights = [(0.5 if k == 0 else 1.0) * (1.0 if order == 0 else math.cosh(t)) for k, t in enumerate(STEPS)]
    between = STEP * math.sum([w * math.exp(middle * (1.0 - math.cosh(t))) for w, t in zip(weights, STEPS)])
    u = _ratio(1.0, math.where(far, x, FAR))
    high = math.sqrt(0.5 * math.pi * u) * _polynomial(SERIES[order], u)
    return math.where(near, math.exp(small) * low, math.where(far, high, between))


def _slope_of_k0e(x: Any, y: Any) -> Any:
    return y - k1e(x)


@primitive(_slope_of_k0e)
def k0e(x: Any) -> Any:
    """exp(x)·k0(x)."""
    return _second_scaled(0, x)


def _slope_of_k1e(x: Any, y: Any) -> Any:
    return y - k0e(x) - _ratio(y, x)


@primitive(_slope_of_k1e)
def k1e(x: Any) -> Any:
    """exp(x)·k1(x)."""
    return _second_scaled(1, x)


def _slope_of_k0(x: Any, y: Any) -> Any:
    return -k1(x)


@primitive(_slope_of_k0)
def k0(x: Any) -> Any:
    """The modified Bessel function of the second kind of order 0."""
    return math.exp(-x) * _second_scaled(0, x)


def _slope_of_k1(x: Any, y: Any) -> Any:
    return -k0(x) - _ratio(y, x)


@primitive(_slope_of_k1)
def k1(x: Any) -> Any:
    """The modified Bessel function of the second kind of order 1."""
    return math.exp(-x) * _second_scaled(1, x)


MOST = 20  # the highest order of jv


def _whole(name: str, order: Any) -> int:
    if isinstance(order, engine.Value) or float(order) != int(order) or abs(order) > MOST:
        raise TypeError(
            f"{name}(n, x) of a Value has whole orders n up to {MOST}, and derivatives by x alone\n"
            "  Give n as a number, or write the function as a series with micrograd.math."
        )
    return int(order)


def kv(n: Any, x: Any) -> Any:
    """The modified Bessel function of the second kind of a whole order, by the recurrence upwards from k0 and k1."""
    order = abs(_whole("kv", n))
    below, here = k0(x), k1(x)
    for k in range(1, order):
        below, here = here, below + _ratio(2.0 * k, x) * here
    return here if order else below


def iv(v: Any, x: Any) -> Any:
    """The modified Bessel function of the first kind of the order v, by its power series; x < 0 has whole orders only."""
    sign: Any = 1.0
    if not isinstance(v, engine.Value) and float(v) == int(v):
        v = abs(float(v))
        sign = math.where(math.lt(x, 0.0), -1.0, 1.0) if v % 2.0 else 1.0
        x = math.abs(x)
    half = 0.5 * x
    u, term, n = half * half, 1.0 + 0.0 * x + 0.0 * v, 0
    total = term
    while n < TERMS and math.stop_gradient(term) > ENOUGH * math.stop_gradient(total):
        n += 1
        term = term * _ratio(u, n * (n + v))
        total = total + term
    return sign * math.pow(half, v) * _ratio(total, math.gamma(v + 1.0))


def jv(n: Any, x: Any) -> Any:
    """The Bessel function of the first kind of a whole order: its series near 0, then a mean over angles, then a recurrence."""
    order = abs(_whole("jv", n))
    odd = order % 2 == 1
    half = 0.5 * x
    small = math.lt(half * half, order + 1.0)
    u = math.where(small, half * half, 0.0)
    series, a = [], 1.0 / math.gamma(order + 1.0)
    for k in range(25):
        series.append(a)
        a /= -(k + 1.0) * (k + 1.0 + order)
    low = math.pow(half, float(order)) * _polynomial(series, u)
    far = math.gt(math.abs(x), FAR)
    inner = math.where(far, 0.0, x)
    angles = [math.pi * (2 * k + 1) / 160.0 for k in range(80)]
    turn = math.sin if odd else math.cos
    middle = math.mean([turn(order * t) * turn(inner * math.sin(t)) for t in angles])
    size = math.where(far, math.abs(x), FAR)
    below, here = _oscillating(0, size), _oscillating(1, size)
    for k in range(1, order):
        below, here = here, _ratio(2.0 * k, size) * here - below
    high = (here if order else below) * (math.where(math.lt(x, 0.0), -1.0, 1.0) if odd else 1.0)
    found = math.where(far, high, math.where(small, low, middle))
    return -found if odd and int(n) < 0 else found


# ---- complete elliptic integrals of the parameter m = k², by means that are arithmetic and geometric (Gauss)

MEANS = 8


def _elliptic(m: Any) -> tuple[Any, Any]:
    """The arithmetic-geometric mean of 1 and √(1 - m), and what ellipe takes from 1."""
    a, b, total, power = 1.0, math.sqrt(1.0 - m), 0.5 * m, 1.0
    for _ in range(MEANS):
        apart = 0.5 * (a - b)
        a, b = 0.5 * (a + b), math.sqrt(a * b)
        total = total + power * apart * apart
        power = 2.0 * power
    return a, total


def ellipk(m: Any) -> Any:
    """The complete elliptic integral of the first kind, of the parameter m = k²."""
    one = math.eq(m, 1.0)
    return math.where(one, math.inf, _ratio(0.5 * math.pi, _elliptic(math.where(one, 0.0, m))[0]))


def _second_kind(m: Any) -> Any:
    mean, less = _elliptic(m)
    return _ratio(0.5 * math.pi, mean) * (1.0 - less)


@primitive(lambda m, y: _ratio(y - ellipk(m), 2.0 * m))
def _second_kind_near_one(m: Any) -> Any:
    return _second_kind(m)


def ellipe(m: Any) -> Any:
    """The complete elliptic integral of the second kind, of the parameter m = k²."""
    one, near = math.eq(m, 1.0), math.gt(m, 0.5)
    found = _second_kind_near_one(math.where(near, math.where(one, 0.75, m), 0.75))
    return math.where(one, 1.0, math.where(near, found, _second_kind(math.where(near, 0.0, m))))


def zeta(s: Any, q: Any) -> Any:
    """The zeta function of Hurwitz, Σ (q + k)^-s over k ≥ 0; s is a number."""
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
    "entr": entr,
    "rel_entr": rel_entr,
    "kl_div": kl_div,
    "beta": beta,
    "betaln": betaln,
    "gammainc": gammainc,
    "gammaincc": gammaincc,
    "betainc": betainc,
    "j0": j0,
    "j1": j1,
    "i0": i0,
    "i1": i1,
    "i0e": i0e,
    "i1e": i1e,
    "k0": k0,
    "k1": k1,
    "k0e": k0e,
    "k1e": k1e,
    "kv": kv,
    "kn": kv,
    "iv": iv,
    "jv": jv,
    "jn": jv,
    "ellipk": ellipk,
    "ellipe": ellipe,
    "loggamma": lambda x: math.where(math.lt(x, 0.0), math.nan, math.lgamma(x)),
    "huber": lambda d, r: math.where(math.le(math.abs(r), d), 0.5 * r * r, d * (math.abs(r) - 0.5 * d)),
    "pseudo_huber": lambda d, r: d * (r * r / d) / (math.sqrt(1.0 + (r / d) * (r / d)) + 1.0),
    "_zeta": zeta,
    "_lambertw": lambertw,
}  # fmt: skip
