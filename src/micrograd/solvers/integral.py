"""quad: the integral of a function of one number, by intervals that are halved where the error is large.

>>> from micrograd import grad, math
>>> from micrograd.solvers import quad
>>> def area(a):
...     return quad(lambda x: math.exp(-a * x * x), 0.0, 1.0)
>>> round(area(1.0), 12), round(grad(area)(1.0), 12)
(0.746824132812, -0.18947234582)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import math
from micrograd.engine import Value
from micrograd.math import stop_gradient, where
from micrograd.solvers.implicit import beside

# The rule of Gauss with 7 points and Kronrod's with 15, of which those 7 are part (QUADPACK)
NODES = (
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
)  # fmt: skip
KRONROD = (
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
)  # fmt: skip
KRONROD_MIDDLE = 0.209482141084727828012999174891714
GAUSS = (0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975)
GAUSS_MIDDLE = 0.417959183673469387755102040816327


def _rule(f: Callable[[Any], Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Return the integral by 15 points, and by how much that by 7 of them differs."""
    half, middle = 0.5 * (high - low), 0.5 * (low + high)
    center = f(middle)
    pairs = [f(middle - half * x) + f(middle + half * x) for x in NODES]
    whole = half * (KRONROD_MIDDLE * center + math.dot(KRONROD, pairs))
    rough = half * (GAUSS_MIDDLE * center + math.dot(GAUSS, [pairs[1], pairs[3], pairs[5]]))
    return whole, math.abs(stop_gradient(whole - rough))


def quad(
    f: Callable[[Any], Any], a: Any, b: Any, *, rtol: Any = 1e-10, atol: Any = 1e-12, max_intervals: int = 10_000,
) -> Any:  # fmt: skip
    """Integrate f from a to b; -math.inf and math.inf may be ends.

    Intervals are halved until the rules of Gauss and Kronrod differ by less than atol + rtol·|integral|, in proportion to their
    length. f is not computed at the ends, so it may be infinite there. The result is nan if that takes more than
    `max_intervals`. Derivatives are those by what f uses, and by finite ends, where they are the values of f.

    >>> from micrograd import grad, math
    >>> from micrograd.solvers import quad
    >>> round(quad(lambda x: math.exp(-0.5 * x * x), -math.inf, math.inf) ** 2 / math.pi, 9)
    2.0
    >>> grad(lambda b: quad(lambda x: x * x, 0.0, b))(3.0)
    9.0
    """
    below, above = _endless(a, -math.inf), _endless(b, math.inf)
    if _endless(a, math.inf) or _endless(b, -math.inf):
        return -quad(f, b, a, rtol=rtol, atol=atol, max_intervals=max_intervals)
    if below and above:  # x = t / (1 - t²)
        return _between(
            lambda t: f(t / (1.0 - t * t)) * (1.0 + t * t) / ((1.0 - t * t) * (1.0 - t * t)),
            -1.0,
            1.0,
            rtol,
            atol,
            max_intervals,
        )
    if above:  # x = a + t / (1 - t)
        return _between(lambda t: f(a + t / (1.0 - t)) / ((1.0 - t) * (1.0 - t)), 0.0, 1.0, rtol, atol, max_intervals)
    if below:
        return _between(lambda t: f(b - t / (1.0 - t)) / ((1.0 - t) * (1.0 - t)), 0.0, 1.0, rtol, atol, max_intervals)
    # Over the unit interval: the ends move the points then, and the derivatives by them are those of the rule.
    length = b - a
    return length * _between(lambda t: f(a + length * t), 0.0, 1.0, rtol, atol, max_intervals)


def _endless(x: Any, end: float) -> bool:
    return not isinstance(x, Value) and float(x) == end


def _between(f: Callable[[Any], Any], low: float, high: float, rtol: Any, atol: Any, most: int) -> Any:
    """Go from left to right. An interval whose error is too large is halved; after others, the next is twice as long."""
    span = high - low
    size = math.abs(stop_gradient(_rule(f, low, high)[0]))
    total, error = beside(0.0, size), 0.0
    at, length = beside(low, size), beside(span, size)
    n, done = 0, 0.0
    while n < most and done < 0.5:
        last = math.ge(at + length, high - 1e-15 * span)
        end = where(last, high, at + length)
        part, apart = _rule(f, at, end)
        # The rule of 15 points is far better than that of 7: QUADPACK's estimate of its error
        rough = math.abs(stop_gradient(part)) + 1e-300
        better = math.min(apart, rough * math.pow(math.min(200.0 * apart / rough, 1.0), 1.5))
        wanted = atol + rtol * math.max(size, math.abs(stop_gradient(total)))
        share = math.max((end - at) / span, 1e-3)
        tiny = math.le(end - at, 1e-14 * span)
        good = math.max(math.le(better, wanted * share), tiny)
        total = total + where(good, part, 0.0)
        error = error + where(good, better, 0.0)
        at = where(good, end, at)
        length = where(good, 2.0 * length, 0.5 * length)
        done = good * last
        n += 1
    settled = math.gt(done, 0.5) * math.le(error, 1e3 * (atol + rtol * math.abs(stop_gradient(total))))
    return where(settled, total, math.nan)


__all__ = ["quad"]
