"""How far a result may be from the exact one, in units in the last place: 2, and a table of the exceptions.

`tools/accuracy.py` prints this table into docs/accuracy.md beside what it measures.
"""

# ruff: noqa: E501
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mpmath import mpf

from micrograd.ops import OPS
from oracle import exact

USUAL = 2.0


class Bound(NamedTuple):
    text: str
    ulps: Callable[[Sequence[float]], float]
    reason: str


def _constant(ulps: float, reason: str) -> Bound:
    return Bound(f"{ulps:g}", lambda args: ulps, reason)


def _subnormal(name: str, args: Sequence[float], slot: int) -> bool:
    value, partials = exact(name, args)
    return 0 < abs(float([value, *partials][slot])) < 1e-305


def _elu_partial(args: Sequence[float]) -> float:
    return 2.0 + (abs(args[1]) if args[0] < -705 else 0.0)


def _silu_value(args: Sequence[float]) -> float:
    return 2.5 + (abs(args[0]) if _subnormal("silu", args, 0) else 0.0)


def _silu_partial(args: Sequence[float]) -> float:
    """Of s + a·s', near the root of which as many digits go as the terms are larger than their sum."""
    s, (slope,) = exact("sigmoid", args)
    whole = abs(exact("silu", args)[1][0])
    terms = float((abs(s) + abs(args[0] * slope)) / whole)
    return 4.0 * terms + (abs(args[0]) if _subnormal("silu", args, 1) else 0.0)


def _cdf_terms(args: Sequence[float]) -> float:
    """(Φ + |a φ|) / |Φ + a φ|"""
    a = args[0]
    if a == 0 or abs(a) > 38:
        return 1.0
    value, (whole,) = exact("gelu", args)
    cdf = value / mpf(a)
    return float((abs(cdf) + abs(whole - cdf)) / abs(whole))


def _pow_base(args: Sequence[float]) -> float:
    a, b = args
    lost = 0.0 if (b - 1.0) + 1.0 == b else abs(math.log(a)) * math.ulp(b - 1.0) * 2.0**52
    return 2.0 + 2.0 * lost


def _logsumexp(args: Sequence[float]) -> float:
    value = float(exact("logsumexp", args)[0])
    top = max(args)
    return 2.0 * max(1.0, (abs(top) + abs(value - top)) / abs(value)) if value else math.inf


def _shares(args: Sequence[float]) -> float:
    return 4.0 + len(args) + max(args) - min(args)


def _digamma(args: Sequence[float]) -> float:
    """Of a logarithm, ten quotients and left of 1/2 a cotangent, near the roots of which they cancel."""
    x = args[0]
    whole = abs(float(exact("digamma", args)[0]))
    terms = 5.0 + abs(math.log(abs(x) + 1)) + (abs(math.pi / math.tan(math.pi * (x - round(x)))) if x < 0.5 else 0.0)
    return 3.0 + 2.0 * terms / whole


_COUNT = "n rounding steps, one for each input"
_LIBRARY = "the C library's own error"

EXCEPTIONS: dict[tuple[str, int], Bound] = {  # (op, 0 for the value, i for the partial of input i)
    ("pow", 1): Bound("2 + 2·|log a|·ulp(b-1)/ε where b-1 is rounded", _pow_base, "b - 1 is rounded before it is an exponent; exact for whole b"),
    ("cbrt", 0): _constant(3.0, _LIBRARY + " (glibc 2.36)"),
    ("cbrt", 1): _constant(8.0, "the value's error, twice, in 1/(3y²)"),
    ("atan2", 1): _constant(3.0, "hypot and division, twice each: no overflow, where a² + b² has one"),
    ("atan2", 2): _constant(3.0, "hypot and division, twice each: no overflow, where a² + b² has one"),
    ("tanh", 0): _constant(2.5, _LIBRARY + " (glibc 2.36)"),
    ("erf", 1): Bound("2 + a²", lambda args: 2.0 + args[0] ** 2, "a² is rounded before it is an exponent"),
    ("erfc", 0): _constant(3.0, _LIBRARY + " (glibc 2.36)"),
    ("erfc", 1): Bound("2 + a²", lambda args: 2.0 + args[0] ** 2, "a² is rounded before it is an exponent"),
    ("probit", 0): _constant(4.0, "a rational function of degree 9, in arithmetic that rounds alike on every machine"),
    ("normal", 0): _constant(4.0, "probit's"),
    ("probit", 1): Bound("4 + 4·y²", lambda args: 4.0 + 4.0 * OPS["probit"].value(args[0]) ** 2, "y² is rounded before it is an exponent"),
    ("sigmoid", 0): _constant(2.5, "three rounding steps: exp, +, /"),
    ("elu", 1): Bound("2, and |b| more where it is subnormal", _elu_partial, "exp(a) is subnormal below -708"),
    ("silu", 0): Bound("2.5, and |a| more where it is subnormal", _silu_value, "sigmoid(a) is subnormal below -709"),
    ("silu", 1): Bound("4 × (|terms| / |sum|)", _silu_partial, "the slope has a root at -1.278: two terms cancel near it"),
    ("gelu", 0): Bound("4 + 1.5·a²", lambda args: 4.0 + 1.5 * args[0] ** 2, "a/√2 is rounded before erfc, whose tail falls as exp(-a²/2)"),
    ("gelu", 1): Bound("(4 + 1.5·a²) × (|terms| / |sum|)", lambda args: (4.0 + 1.5 * args[0] ** 2) * _cdf_terms(args),
                       "the same, and the slope has a root at -0.752: two terms cancel near it"),
    ("sigmoid_slope", 1): _constant(5.0, "exp and tanh, a sum, two products and a division"),
    ("gamma", 0): _constant(6.0, _LIBRARY + " (glibc 2.36)"),
    ("gamma", 1): Bound("6 more than digamma", lambda args: 6.0 + _digamma(args), "the value times digamma"),
    ("lgamma", 0): _constant(4.0, _LIBRARY + " (glibc 2.36)"),
    ("lgamma", 1): Bound("3 + 2 × (|terms| / |sum|)", _digamma, "digamma has roots: terms cancel near them"),
    ("digamma", 0): Bound("3 + 2 × (|terms| / |sum|)", _digamma, "digamma has roots: terms cancel near them"),
    ("digamma", 1): _constant(6.0, "twelve powers and a series; left of 1/2 a squared cosecant less those"),
    ("zeta", 0): _constant(6.0, "twelve powers and a series"),
    ("zeta", 2): _constant(6.0, "twelve powers and a series"),
    ("power", 1): Bound("2 + 2·|log a|·ulp(b-1)/ε where b-1 is rounded", lambda args: _pow_base(args[:2]), "as for pow"),
    ("hypot_slope", 1): _constant(4.0, "two quotients, their product, and a quotient"),
    ("hypot_slope", 2): _constant(4.0, "two quotients, their product, and a quotient"),
    ("sum", 0): Bound("n", lambda args: max(USUAL, len(args)), _COUNT),
    ("mean", 0): Bound("n", lambda args: max(USUAL, len(args)), _COUNT),
    ("dot", 0): Bound("n", lambda args: max(USUAL, len(args)), _COUNT),
    ("prod", 0): Bound("n", lambda args: max(USUAL, len(args)), _COUNT),
    ("prod", 1): Bound("n", lambda args: max(USUAL, len(args)), _COUNT),
    ("logsumexp", 0): Bound("2 × (|terms| / |sum|)", _logsumexp, "the largest input and a logarithm, which cancel near 0"),
    ("logsumexp", 1): Bound("4 + n + (max - min)", _shares, "x - y is rounded before it is an exponent"),
}  # fmt: skip


def allowed(name: str, slot: int, args: Sequence[float]) -> float:
    """The bound for one result of an op at these inputs."""
    bound = EXCEPTIONS.get((name, slot))
    return bound.ulps(args) if bound else USUAL


def results(op: Any, partials: Callable[..., Any], args: Sequence[float]) -> list[tuple[int, float]]:
    """(slot, number) for the value and each partial of an op, as the table computes them."""
    y = op.value(list(args)) if op.arity < 0 else op.value(*args)
    return [(0, y), *((1 if op.arity < 0 else i + 1, p) for i, p in enumerate(partials(op, list(args), y)))]
