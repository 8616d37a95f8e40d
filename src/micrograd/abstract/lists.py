"""What functions of micrograd.math do with a list, as plain Python that is interpreted: one op after the other."""

from __future__ import annotations

from typing import Any

from micrograd import math as micrograd_math
from micrograd.math import exp, log1p


def sum(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total = total + x
    return total


def prod(xs: Any, *, start: Any = 1) -> Any:
    total = start if start != 1 else 1.0
    for x in xs:
        total = total * x
    return total


def mean(xs: Any) -> Any:
    if len(xs) == 0:
        raise ValueError("mean of an empty list has no value")
    return sum(xs) / float(len(xs))


def dot(xs: Any, ys: Any) -> Any:
    if len(xs) != len(ys):
        raise ValueError("dot() of lists of different lengths")
    total = 0.0
    for i in range(len(xs)):
        total = total + xs[i] * ys[i]
    return total


def logsumexp(xs: Any) -> Any:
    if len(xs) == 0:
        raise ValueError("logsumexp of an empty list has no value")
    top = xs[0]
    for i in range(1, len(xs)):
        top = micrograd_math.max(top, xs[i])
    if not abs(top) < micrograd_math.inf:
        top = 0.0
    rest, largest = 0.0, 0.0
    for x in xs:
        rest = rest + (0.0 if x == top else exp(x - top))
        largest = largest + (1.0 if x == top else 0.0)
    return top + log1p(rest + (largest - 1.0))


INSTEAD: dict[Any, Any] = {
    micrograd_math.sum: sum,
    micrograd_math.prod: prod,
    micrograd_math.mean: mean,
    micrograd_math.dot: dot,
    micrograd_math.logsumexp: logsumexp,
    getattr(micrograd_math, "_logsumexp"): logsumexp,  # noqa: B009
    getattr(micrograd_math, "_sum"): sum,  # noqa: B009
}
