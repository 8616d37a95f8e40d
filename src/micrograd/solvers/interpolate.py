"""interp, cubic_spline, pchip, hermite: functions through given points, with derivatives by the points as well.

The interval of a number is found by binary search, so the time of a call grows with the logarithm of the number of knots.

>>> from micrograd import grad
>>> from micrograd.solvers import interp
>>> interp(1.5, [0.0, 1.0, 2.0], [0.0, 10.0, 40.0]), grad(interp)(1.5, [0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
(25.0, 30.0)
>>> grad(interp, 2)(1.5, [0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
[0.0, 0.5, 0.5]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from micrograd import math
from micrograd.engine import apply
from micrograd.math import stop_gradient, where
from micrograd.ops import OPS

DIV = OPS["div"]
ENDS = ("not-a-knot", "natural")


def interval(x: Any, xs: Sequence[Any]) -> int:
    """Return the index of the last knot that is not above x, by binary search; of the first interval or the last one outside.

    >>> from micrograd.solvers.interpolate import interval
    >>> [interval(x, [0.0, 1.0, 5.0, 9.0]) for x in (-3.0, 0.5, 5.0, 20.0)]
    [0, 0, 2, 2]
    """
    low, high = 0, len(xs) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= x:
            low = middle
        else:
            high = middle
    return low


def _same_lengths(name: str, least: int, xs: Sequence[Any], *others: Sequence[Any]) -> None:
    for ys in others:
        if len(ys) != len(xs):
            raise ValueError(f"{name} has {len(xs)} knots and {len(ys)} numbers at them: give one for each")
    if len(xs) < least:
        raise ValueError(f"{name} needs {least} knots at least, not {len(xs)}")


def interp(x: Any, xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return the number at x on the straight lines through the points (xs, ys), as np.interp does: outside, that of the end.

    The knots xs increase. At a knot, the slope is that of the line to its right.
    """
    _same_lengths("interp", 2, xs, ys)
    k = interval(x, xs)
    a, b = xs[k], xs[k + 1]
    part = apply(DIV, x - a, b - a)
    part = where(math.lt(x, a), 0.0, where(math.gt(x, b), 1.0, part))
    return ys[k] + part * (ys[k + 1] - ys[k])


def hermite(xs: Sequence[Any], ys: Sequence[Any], slopes: Sequence[Any]) -> Callable[[Any], Any]:
    """Return the function through the points (xs, ys) with these slopes there, of cubic polynomials; the ends go on outside.

    >>> from micrograd.solvers import hermite
    >>> hermite([0.0, 2.0], [0.0, 8.0], [0.0, 12.0])(1.0)  # x³
    1.0
    """
    _same_lengths("hermite", 2, xs, ys, slopes)

    def function(x: Any) -> Any:
        k = interval(x, xs)
        h = xs[k + 1] - xs[k]
        t = x - xs[k]
        secant = apply(DIV, ys[k + 1] - ys[k], h)
        bend = apply(DIV, slopes[k] + slopes[k + 1] - 2.0 * secant, h)
        return ys[k] + t * (slopes[k] + t * (apply(DIV, secant - slopes[k], h) - bend + t * apply(DIV, bend, h)))

    return function


def cubic_spline(xs: Sequence[Any], ys: Sequence[Any], *, ends: Any = "not-a-knot") -> Callable[[Any], Any]:
    """Return the cubic spline through the points (xs, ys): two derivatives are continuous.

    At the ends, it is "not-a-knot" (as SciPy's CubicSpline), "natural" (the second derivative is 0), or has the two slopes
    that are given as a pair.

    >>> from micrograd.solvers import cubic_spline
    >>> round(cubic_spline([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 8.0, 64.0])(3.0), 9)
    27.0
    """
    named = isinstance(ends, str)
    if named and ends not in ENDS:
        raise ValueError(f"ends are {', '.join(map(repr, ENDS))}, or a pair of slopes, not {ends!r}")
    _same_lengths("cubic_spline", 4 if named and ends == "not-a-knot" else 2, xs, ys)
    n = len(xs)
    h = [xs[k + 1] - xs[k] for k in range(n - 1)]
    secants = [apply(DIV, ys[k + 1] - ys[k], h[k]) for k in range(n - 1)]
    # The slopes solve a system with three diagonals: below, on and above the main one.
    below = [0.0, *(h[k] for k in range(1, n - 1))]
    on = [0.0, *(2.0 * (h[k - 1] + h[k]) for k in range(1, n - 1))]
    above = [0.0, *(h[k - 1] for k in range(1, n - 1))]
    known = [0.0, *(3.0 * (h[k] * secants[k - 1] + h[k - 1] * secants[k]) for k in range(1, n - 1))]
    if not named:
        first, last = (0.0, 1.0, 0.0, ends[0]), (0.0, 1.0, 0.0, ends[1])
    elif ends == "natural":
        first, last = (0.0, 2.0, 1.0, 3.0 * secants[0]), (1.0, 2.0, 0.0, 3.0 * secants[-1])
    else:
        d, e = h[0] + h[1], h[-1] + h[-2]
        at_first = apply(DIV, (h[0] + 2.0 * d) * h[1] * secants[0] + h[0] * h[0] * secants[1], d)
        at_last = apply(DIV, h[-1] * h[-1] * secants[-2] + (2.0 * e + h[-1]) * h[-2] * secants[-1], e)
        first, last = (0.0, h[1], d, at_first), (e, h[-2], 0.0, at_last)
    on[0], above[0], known[0] = first[1], first[2], first[3]
    return hermite(xs, ys, _tridiagonal([*below, last[0]], [*on, last[1]], above, [*known, last[3]]))


def _tridiagonal(below: list[Any], on: list[Any], above: list[Any], known: list[Any]) -> list[Any]:
    n = len(on)
    factors, found = [apply(DIV, above[0], on[0])], [apply(DIV, known[0], on[0])]
    for k in range(1, n):
        pivot = on[k] - below[k] * factors[k - 1]
        factors.append(apply(DIV, above[k], pivot) if k < n - 1 else 0.0)
        found.append(apply(DIV, known[k] - below[k] * found[k - 1], pivot))
    for k in range(n - 2, -1, -1):
        found[k] = found[k] - factors[k] * found[k + 1]
    return found


def pchip(xs: Sequence[Any], ys: Sequence[Any]) -> Callable[[Any], Any]:
    """Return the function of cubic polynomials through the points (xs, ys) that rises and falls where they do.

    The slopes are those of Fritsch and Butland, as in SciPy's PchipInterpolator.

    >>> from micrograd.solvers import pchip
    >>> f = pchip([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 1.0])
    >>> f(0.5), f(1.5), f(2.5)
    (0.0, 0.5, 1.0)
    """
    _same_lengths("pchip", 2, xs, ys)
    n = len(xs)
    h = [xs[k + 1] - xs[k] for k in range(n - 1)]
    secants = [apply(DIV, ys[k + 1] - ys[k], h[k]) for k in range(n - 1)]
    if n == 2:
        return hermite(xs, ys, [secants[0], secants[0]])
    slopes = [_end_slope(h[0], h[1], secants[0], secants[1])]
    for k in range(1, n - 1):
        before, after = secants[k - 1], secants[k]
        same = math.gt(stop_gradient(before) * stop_gradient(after), 0.0)
        p, q = where(same, before, 1.0), where(same, after, 1.0)
        u, v = 2.0 * h[k] + h[k - 1], h[k] + 2.0 * h[k - 1]
        slopes.append(where(same, apply(DIV, u + v, apply(DIV, u, p) + apply(DIV, v, q)), 0.0))
    slopes.append(_end_slope(h[-1], h[-2], secants[-1], secants[-2]))
    return hermite(xs, ys, slopes)


def _end_slope(h: Any, following: Any, secant: Any, other: Any) -> Any:
    """Return the slope of the parabola through three points, as far as that keeps the direction."""
    slope = apply(DIV, (2.0 * h + following) * secant - h * other, h + following)
    turns = math.ne(math.sign(slope), math.sign(secant))
    steep = math.ne(math.sign(secant), math.sign(other)) * math.gt(math.abs(slope), 3.0 * math.abs(secant))
    return where(turns, 0.0, where(steep, 3.0 * secant, slope))


__all__ = ["cubic_spline", "hermite", "interp", "interval", "pchip"]
