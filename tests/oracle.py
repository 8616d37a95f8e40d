"""What every op of the table should give: mpmath at 50 digits, written without a look at ops.py.

`REFERENCE[name]` has the value and one partial for each input, as functions of mpf numbers; n-ary ones take a list and
give a list of partials. `ulps(got, exact)` says how far a double is from the exact result, in units of its last place.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
from mpmath import mp, mpf

DIGITS = 50
mp.dps = DIGITS


class Reference:
    """Value and partials of an op, and where each of its inputs may lie."""

    def __init__(self, value: Callable[..., Any], partials: Callable[..., Sequence[Any]], *domains: str) -> None:
        self.value, self.partials, self.domains = value, partials, domains
        self.takes_list = "list" in domains[0]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _phi(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _cdf(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _step(test: bool) -> Any:
    return mpf(1 if test else 0)


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def _logsumexp(xs: Any) -> Any:
    top = max(xs)
    return top + mp.log(mp.fsum(mp.exp(x - top) for x in xs))


def _power(a: Any, b: Any) -> Any:
    return mp.power(a, b)


def _others(xs: Any) -> Any:
    return [mp.fprod(xs[:i] + xs[i + 1 :]) for i in range(len(xs))]


def _quotient(a: Any, b: Any, whole: Callable[[Any], Any]) -> Any:
    return whole(a / b)


def _trunc(a: Any) -> Any:
    return mp.sign(a) * mp.floor(abs(a))


def _sigmoid_slope(a: Any) -> Any:
    return _sigmoid(a) * _sigmoid(-a)


def _zeros(n: int) -> Callable[..., Any]:
    return lambda *_: [mpf(0)] * n


def _gelu_slope(x: Any) -> Any:
    return _cdf(x) + x * _phi(x)


def _tie(a: Any, b: Any, first: bool) -> Any:
    share = mpf(1) if first else mpf(0)
    return [mpf("0.5")] * 2 if a == b else [share, 1 - share]


def _philox(key: Any, row: Any, draw: Any) -> Any:
    """The round function as the paper draws it: two halves that are multiplied, crossed and mixed with the key."""
    if any(x != int(x) or not least <= x < 2**53 for x, least in ((key, 0), (row, 0), (draw, -1))):
        return mp.nan
    counter = (int(row) % 2**64) * 2**64 + (int(draw) // 2) % 2**64
    right, left = divmod(counter, 2**64)
    half = [[left % 2**32, left >> 32], [right % 2**32, right >> 32]]
    weyl = [int(key) % 2**32, (int(key) >> 32) % 2**32]
    for step in range(10):
        products = [0xD2511F53 * half[0][0], 0xCD9E8D57 * half[1][0]]
        keys = [(weyl[0] + step * 0x9E3779B9) % 2**32, (weyl[1] + step * 0xBB67AE85) % 2**32]
        half = [[products[1 - i] // 2**32 ^ half[i][1] ^ keys[i], products[1 - i] % 2**32] for i in (0, 1)]
    high, low = half[int(draw) % 2]
    return mpf(high * 2**21 + low // 2**11) / 2**53


def _probit(q: Any) -> Any:
    return mp.nan if mp.isnan(q) else mp.sqrt(2) * mp.erfinv(2 * q)


def _trigamma(a: Any) -> Any:
    """The derivative of digamma; by reflection left of 0, where mpmath takes as many steps as the number is large."""
    return mp.pi**2 / mp.sinpi(a) ** 2 - mp.polygamma(1, 1 - a) if a < 0 else mp.polygamma(1, a)


REFERENCE = {
    "add": Reference(lambda a, b: a + b, lambda a, b: [1, 1], "any", "any"),
    "sub": Reference(lambda a, b: a - b, lambda a, b: [1, -1], "any", "any"),
    "mul": Reference(lambda a, b: a * b, lambda a, b: [b, a], "any", "any"),
    "div": Reference(lambda a, b: a / b, lambda a, b: [1 / b, -a / (b * b)], "any", "nonzero"),
    "floordiv": Reference(lambda a, b: mp.floor(a / b), _zeros(2), "any", "nonzero"),
    "mod": Reference(
        lambda a, b: a - b * mp.floor(a / b), lambda a, b: [1, -mp.floor(a / b)], "small", "small nonzero"
    ),
    "pow": Reference(_power, lambda a, b: [b * _power(a, b - 1), _power(a, b) * mp.log(a)], "positive", "small"),
    "fmod": Reference(lambda a, b: a - b * _trunc(a / b), lambda a, b: [1, -_trunc(a / b)], "small", "small nonzero"),
    "remainder": Reference(
        lambda a, b: a - b * mp.nint(a / b), lambda a, b: [1, -mp.nint(a / b)], "small", "small nonzero"
    ),
    "fma": Reference(lambda a, b, c: a * b + c, lambda a, b, c: [b, a, 1], "any", "any", "any"),
    "copysign": Reference(
        lambda a, b: abs(a) * (1 if b >= 0 else -1),
        lambda a, b: [mp.sign(a) * (1 if b >= 0 else -1), 0],
        "any",
        "nonzero",
    ),
    "neg": Reference(lambda a: -a, lambda a: [-1], "any"),
    "abs": Reference(abs, lambda a: [mp.sign(a)], "any"),
    "min": Reference(min, lambda a, b: _tie(a, b, a < b), "any", "any"),
    "max": Reference(max, lambda a, b: _tie(a, b, a > b), "any", "any"),
    "exp": Reference(mp.exp, lambda a: [mp.exp(a)], "any"),
    "exp2": Reference(lambda a: mp.power(2, a), lambda a: [mp.power(2, a) * mp.log(2)], "any"),
    "expm1": Reference(mp.expm1, lambda a: [mp.exp(a)], "any"),
    "log": Reference(mp.log, lambda a: [1 / a], "positive"),
    "log1p": Reference(mp.log1p, lambda a: [1 / (1 + a)], "above -1"),
    "log2": Reference(lambda a: mp.log(a) / mp.log(2), lambda a: [1 / (a * mp.log(2))], "positive"),
    "log10": Reference(mp.log10, lambda a: [1 / (a * mp.log(10))], "positive"),
    "sqrt": Reference(mp.sqrt, lambda a: [1 / (2 * mp.sqrt(a))], "positive"),
    "cbrt": Reference(lambda a: mp.sign(a) * mp.cbrt(abs(a)), lambda a: [1 / (3 * mp.cbrt(abs(a)) ** 2)], "nonzero"),
    "sin": Reference(mp.sin, lambda a: [mp.cos(a)], "any"),
    "cos": Reference(mp.cos, lambda a: [-mp.sin(a)], "any"),
    "tan": Reference(mp.tan, lambda a: [1 / mp.cos(a) ** 2], "any"),
    "asin": Reference(mp.asin, lambda a: [1 / mp.sqrt(1 - a * a)], "within 1"),
    "acos": Reference(mp.acos, lambda a: [-1 / mp.sqrt(1 - a * a)], "within 1"),
    "atan": Reference(mp.atan, lambda a: [1 / (1 + a * a)], "any"),
    "atan2": Reference(mp.atan2, lambda a, b: [b / (a * a + b * b), -a / (a * a + b * b)], "any", "nonzero"),
    "sinh": Reference(mp.sinh, lambda a: [mp.cosh(a)], "any"),
    "cosh": Reference(mp.cosh, lambda a: [mp.sinh(a)], "any"),
    "tanh": Reference(mp.tanh, lambda a: [1 / mp.cosh(a) ** 2], "any"),
    "asinh": Reference(lambda a: mp.sign(a) * mp.asinh(abs(a)), lambda a: [1 / mp.sqrt(1 + a * a)], "any"),
    "acosh": Reference(mp.acosh, lambda a: [1 / mp.sqrt(a * a - 1)], "above 1"),
    "atanh": Reference(mp.atanh, lambda a: [1 / (1 - a * a)], "within 1"),
    "hypot": Reference(mp.hypot, lambda a, b: [a / mp.hypot(a, b), b / mp.hypot(a, b)], "any", "nonzero"),
    "erf": Reference(mp.erf, lambda a: [2 / mp.sqrt(mp.pi) * mp.exp(-a * a)], "any"),
    "erfc": Reference(mp.erfc, lambda a: [-2 / mp.sqrt(mp.pi) * mp.exp(-a * a)], "any"),
    "sigmoid": Reference(_sigmoid, lambda a: [_sigmoid(a) * _sigmoid(-a)], "any"),
    "sigmoid_slope": Reference(_sigmoid_slope, lambda a: [-_sigmoid_slope(a) * mp.tanh(a / 2)], "any"),
    "relu": Reference(lambda a: max(a, mpf(0)), lambda a: [_step(a > 0)], "any"),
    "leaky_relu": Reference(lambda a, b: a if a > 0 else a * b, lambda a, b: [1, 0] if a > 0 else [b, a], "any", "any"),
    "elu": Reference(
        lambda a, b: a if a > 0 else b * mp.expm1(a),
        lambda a, b: [1, 0] if a > 0 else [b * mp.exp(a), mp.expm1(a)],
        "any",
        "any",
    ),
    "softplus": Reference(_softplus, lambda a: [_sigmoid(a)], "any"),
    "silu": Reference(lambda a: a * _sigmoid(a), lambda a: [_sigmoid(a) * (1 + a * _sigmoid(-a))], "any"),
    "gelu": Reference(lambda a: a * _cdf(a), lambda a: [_gelu_slope(a)], "any"),
    "gamma": Reference(mp.gamma, lambda a: [mp.gamma(a) * mp.digamma(a)], "gamma"),
    "lgamma": Reference(lambda a: mp.log(abs(mp.gamma(a))), lambda a: [mp.digamma(a)], "gamma"),
    "digamma": Reference(mp.digamma, lambda a: [_trigamma(a)], "gamma"),
    "zeta": Reference(mp.zeta, lambda a, b: [mp.nan, -a * mp.zeta(a + 1, b)], "order", "above 0.5"),
    "relative": Reference(lambda a: mpf(0), lambda a: [1 / a], "nonzero"),
    "quotient": Reference(lambda a, b, c: a / b, lambda a, b, c: [1 / b, 0, -a / b], "nonzero", "nonzero", "nonzero"),
    "relative_base": Reference(lambda a, b: mpf(0), lambda a, b: [1 / a if b < 0 else 0, 0], "positive", "small"),
    "power": Reference(
        lambda a, b, c: _power(a, b),
        lambda a, b, c: [
            0 if b < 0 else b * _power(a, b - 1),
            _power(a, b) * mp.log(a),
            b * _power(a, b) if b < 0 else 0,
        ],
        "positive",
        "small",
        "any",
    ),
    "hypot_slope": Reference(
        lambda a, b, c: a / c, lambda a, b, c: [b * b / c**3, -a * b / c**3, 0], "small", "small", "positive"
    ),
    "trunc": Reference(_trunc, _zeros(1), "any"),
    "floor": Reference(mp.floor, _zeros(1), "any"),
    "ceil": Reference(mp.ceil, _zeros(1), "any"),
    "round": Reference(mp.nint, _zeros(1), "any"),
    "sign": Reference(mp.sign, _zeros(1), "any"),
    "where": Reference(
        lambda a, b, c: b if a else c, lambda a, b, c: [0, 1, 0] if a else [0, 0, 1], "any", "any", "any"
    ),
    "lt": Reference(lambda a, b: _step(a < b), _zeros(2), "any", "any"),
    "le": Reference(lambda a, b: _step(a <= b), _zeros(2), "any", "any"),
    "gt": Reference(lambda a, b: _step(a > b), _zeros(2), "any", "any"),
    "ge": Reference(lambda a, b: _step(a >= b), _zeros(2), "any", "any"),
    "eq": Reference(lambda a, b: _step(a == b), _zeros(2), "any", "any"),
    "ne": Reference(lambda a, b: _step(a != b), _zeros(2), "any", "any"),
    "philox": Reference(_philox, _zeros(3), "counts", "counts", "counts"),
    "normal": Reference(
        lambda *counts: _probit(_philox(*counts) - mpf(0.5) + mpf(2) ** -54), _zeros(3), "counts", "counts", "counts"
    ),
    "probit": Reference(_probit, lambda a: [mp.sqrt(2 * mp.pi) * mp.exp(_probit(a) ** 2 / 2)], "within 1/2"),
    "sum": Reference(mp.fsum, lambda xs: [mpf(1)] * len(xs), "list"),
    "prod": Reference(mp.fprod, _others, "list"),
    "mean": Reference(lambda xs: mp.fsum(xs) / len(xs), lambda xs: [mpf(1) / len(xs)] * len(xs), "list"),
    "dot": Reference(
        lambda xs: mp.fdot(xs[: len(xs) // 2], xs[len(xs) // 2 :]),
        lambda xs: xs[len(xs) // 2 :] + xs[: len(xs) // 2],
        "even list",
    ),
    "logsumexp": Reference(_logsumexp, lambda xs: [mp.exp(x - _logsumexp(xs)) for x in xs], "list"),
}


def exact(name: str, args: Sequence[float]) -> tuple[Any, list[Any]]:
    """Value and partials of an op at doubles, to 50 digits."""
    reference = REFERENCE[name]
    with mp.workdps(DIGITS):
        xs = [mpf(x) for x in args]
        inputs = (xs,) if reference.takes_list else xs
        extra = max((mp.mag(x) for x in xs if x), default=0)
        with mp.workprec(mp.prec + 2 * max(0, extra) + 4):  # 1 + 1e300 keeps its one
            try:
                return reference.value(*inputs), list(reference.partials(*inputs))
            except mp.NoConvergence as error:  # far outside of the domain, as for zeta(0.25, -1e30)
                raise ValueError(f"mpmath finds no value of {name} at {args}: {error}") from error


def ulps(got: float, want: Any) -> float:
    """The distance between a double and the exact result, in units in the last place of the exact one."""
    if mpmath.isnan(want):
        return 0.0 if math.isnan(got) else math.inf
    if math.isnan(got):
        return math.inf
    rounded = float(want)  # correctly rounded, with overflow to inf and underflow to 0
    if math.isinf(rounded) or math.isinf(got):
        if got == rounded:
            return 0.0
        if abs(want) > mpf(2) ** 1024 or math.isinf(got) != math.isinf(rounded):
            top = mpf(1.7976931348623157e308)
            edge = mpf(2) ** 971
            got_or_top = top + edge if math.isinf(got) else mpf(abs(got))
            return float(min(abs(abs(want) - got_or_top) / edge, mpf(10) ** 9)) if got * rounded > 0 else math.inf
        return math.inf
    return float(abs(mpf(got) - want) / mpf(math.ulp(rounded)))


# ---- points to look at, by the domain of each input

_NEAR_ZERO = [1e-300, 1e-20, 1e-9, 1e-5, 1e-3]
_PLAIN = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.5, 10.0]
_FAR = [30.0, 40.0, 100.0, 500.0, 700.0, 709.7, 745.0, 1000.0]


def _signed(xs: list[float]) -> list[float]:
    return [s * x for x in xs for s in (1.0, -1.0)]


def _column(domain: str, rng: random.Random, count: int) -> list[float]:
    plain = [rng.uniform(-10, 10) for _ in range(count)]
    wide = [math.ldexp(rng.choice((1, -1)) * rng.uniform(0.5, 1), rng.randint(-60, 9)) for _ in range(count)]
    if domain == "any":
        return [0.0] + _signed(_NEAR_ZERO + _PLAIN + _FAR) + plain + wide
    if domain == "nonzero":
        return _signed(_NEAR_ZERO + _PLAIN + _FAR) + plain + wide
    if domain.startswith("small"):
        return _signed(_PLAIN) + plain
    if domain == "positive":
        return _NEAR_ZERO + _PLAIN + _FAR + [abs(x) for x in plain + wide]
    if domain == "within 1":
        inside = [0.1, 0.5, 0.75, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53]
        return _signed(_NEAR_ZERO + inside) + [x / 10 for x in plain] + [x / 512 for x in wide]
    if domain == "above -1":
        return [-0.9, -0.5, -1 + 1e-9] + [x for x in _signed(_NEAR_ZERO + _PLAIN + _FAR) + plain + wide if x > -1]
    if domain == "counts":
        return [0.0, 1.0, 2.0, 7.0, 2.0**32 - 1, 2.0**32, 2.0**53 - 1, -1.0, -2.0, 0.5] + [
            float(rng.getrandbits(rng.choice((8, 32, 33, 53)))) for _ in range(count)
        ]
    if domain == "within 1/2":
        inside = [0.1, 0.25, 0.425, 0.425 + 2**-54, 0.4999, 0.5 - 1e-9, 0.5 - 2**-54]
        return _signed(_NEAR_ZERO + inside) + [x / 20.5 for x in plain] + [x / 1025 for x in wide]
    if domain == "gamma":  # not at the poles, and not near the roots of lgamma and digamma
        whole = [0.5, 1.5, 2.5, 3.0, 4.0, 5.5, 10.0, 20.5, 100.0, 170.0]
        return (
            _NEAR_ZERO[3:]
            + whole
            + [-x for x in (1e-5, 0.25, 0.5, 1.25, 2.75, 5.5, 20.25)]
            + [2 + abs(x) for x in plain]
        )
    if domain == "order":
        return [2.0, 3.0, 4.0, 5.0, 6.0]
    if domain == "above 0.5":
        return [0.5, 0.75, 1.0, 2.0, 10.0, 100.0, 1e5] + [0.5 + abs(x) for x in plain]
    assert domain == "above 1", domain
    return (
        [1 + 2**-52, 1 + 1e-9, 1.1, 1e300]
        + [x for x in _PLAIN + _FAR if x > 1]
        + [1 + abs(x) for x in plain + wide if 1 + abs(x) > 1]
    )


def points(name: str, count: int = 40, seed: int = 0) -> list[list[float]]:
    """Inputs for one op: near 0, plain, far out (±1000), and some at random."""
    rng = random.Random(f"{name} {seed}")
    reference = REFERENCE[name]
    if reference.takes_list:
        sizes = [2, 4, 10, 40] if reference.domains[0] == "even list" else [1, 2, 3, 5, 10, 40]
        lists = [[rng.uniform(0.1, 3) for _ in range(n)] for n in sizes for _ in range(max(1, count // 8))]
        if name == "logsumexp":
            lists += [[1000.0, 1000.0], [-1000.0, -1000.5], [1000.0, -1000.0], [0.0, 1e-9], [-3.0, 2.0, 0.5]]
        return lists
    columns = [_column(domain, rng, count) for domain in reference.domains]
    if len(columns) == 1:
        return [[x] for x in columns[0]]
    return [[rng.choice(column) for column in columns] for _ in range(2 * len(columns[0]))]
