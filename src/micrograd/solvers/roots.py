"""root_scalar, root, fixed_point: solve equations; the solutions have implicit derivatives.

>>> from micrograd import grad, math
>>> from micrograd.solvers import root_scalar
>>> kepler = lambda mean, e: root_scalar(lambda E: E - e * math.sin(E) - mean, mean)
>>> round(kepler(1.0, 0.5), 12), round(grad(kepler)(1.0, 0.5), 12)
(1.498701133518, 1.037362021894)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import math
from micrograd.engine import Value, apply
from micrograd.jacobians import jacobian
from micrograd.math import stop_gradient
from micrograd.solvers.dense import DIV, lu, lu_solve
from micrograd.solvers.implicit import ORDER, at_solution, beside
from micrograd.transforms import jvp

LEAST = 1e-20  # a step that is shorter than this is short, also at a solution of 0
NOISE = 1e-5  # relative: where shorter steps do not get shorter any more, they are rounding errors


def root_scalar(
    f: Callable[[Any], Any], x0: Any = None, *, bracket: Any = None, rtol: float = 1e-12, max_iterations: int = 100,
    order: int = ORDER,
) -> Any:  # fmt: skip
    """Find where f, a function of one number, is zero: by Newton's method from x0, or between the two numbers of `bracket`.

    In a bracket, f must have different signs at the two ends. Chandrupatla's method, which is used there, needs no
    derivative and cannot leave the bracket. The result is nan if the signs are equal, or if Newton's method has not
    converged after `max_iterations`.

    >>> from micrograd import math
    >>> from micrograd.solvers import root_scalar
    >>> round(root_scalar(lambda x: x * x - 2.0, 1.0), 12)
    1.414213562373
    >>> round(root_scalar(lambda x: math.exp(-x) - x, bracket=(0.0, 1.0)), 12)
    0.56714329041
    """
    if (x0 is None) == (bracket is None):
        raise TypeError("root_scalar needs a start x0 for Newton's method, or bracket=(a, b), and not both")
    if bracket is None:
        found = _newton(f, stop_gradient(x0), rtol, max_iterations)
    else:
        a, b = bracket
        found = _between(f, stop_gradient(a), stop_gradient(b), rtol, max_iterations)
    return at_solution(f, found, order)


def _newton(f: Callable[[Any], Any], x: Any, rtol: float, max_iterations: int) -> Any:
    n, step, last = 0, math.inf, math.inf
    while n < max_iterations:
        value, slope = jvp(f, (x,), (1.0,))
        step = apply(DIV, stop_gradient(value), stop_gradient(slope))
        x = x - step
        n += 1
        if abs(step) <= rtol * abs(x) + LEAST or (abs(step) >= last and last <= NOISE * abs(x)):
            break
        last = abs(step)
    if abs(step) <= NOISE * abs(x) + LEAST and abs(x) < math.inf:
        return x
    return x * math.nan


def _between(f: Callable[[Any], Any], a: Any, b: Any, rtol: float, max_iterations: int) -> Any:
    """Chandrupatla's method: inverse quadratic interpolation where that is safe, else bisection."""
    f1, f2 = stop_gradient(f(b)), stop_gradient(f(a))
    x1, x2 = beside(b, f1), beside(a, f2)
    x3, f3, t, n = x2, f2, beside(0.5, f1), 0
    best = math.where(math.eq(f1, 0.0), x1, math.where(math.eq(f2, 0.0), x2, math.nan))
    going = math.lt(f1, 0.0) * math.gt(f2, 0.0) + math.gt(f1, 0.0) * math.lt(f2, 0.0)
    while n < max_iterations and going > 0.0:
        x = x1 + t * (x2 - x1)
        fx = stop_gradient(f(x))
        same = math.eq(math.gt(fx, 0.0), math.gt(f1, 0.0))
        x3, f3 = math.where(same, x1, x2), math.where(same, f1, f2)
        x2, f2 = math.where(same, x2, x1), math.where(same, f2, f1)
        x1, f1 = x, fx
        n += 1
        best = math.where(math.lt(math.abs(f1), math.abs(f2)), x1, x2)
        nearest = apply(DIV, 0.5 * rtol * math.abs(best) + LEAST, math.abs(x2 - x1))
        going = math.le(nearest, 0.5) * math.ne(f1, 0.0)
        xi, phi = apply(DIV, x1 - x2, x3 - x2), apply(DIV, f1 - f2, f3 - f2)
        safe = math.lt(phi * phi, xi) * math.lt((1.0 - phi) * (1.0 - phi), 1.0 - xi)
        t = apply(DIV, f1, f2 - f1) * apply(DIV, f3, f2 - f3)
        t = t + apply(DIV, x3 - x1, x2 - x1) * apply(DIV, f1, f3 - f1) * apply(DIV, f2, f3 - f2)
        t = math.where(safe, t, 0.5)
        t = math.min(math.max(t, nearest), 1.0 - nearest)
    return math.where(going, math.nan, best)


def starting(x0: Any) -> list[Any]:
    """Return the numbers from which a solver starts, as constants: what it finds does not depend on them."""
    if len(x0) < 1:
        raise ValueError(
            "x0 is empty, so there is nothing to solve for\n  Give a number to start from for each variable."
        )
    return [stop_gradient(v) for v in x0]


def root(
    f: Callable[[Any], Any], x0: Any, *, rtol: float = 1e-12, max_iterations: int = 100, order: int = ORDER
) -> Any:
    """Find where the n numbers that f returns for a list of n numbers are all zero, by Newton's method with damped steps.

    The result is a list. Its numbers are nan if the method has not converged after `max_iterations`. `micrograd.root` is
    another function: it calls SciPy, and cannot be compiled.

    >>> from micrograd import grad
    >>> from micrograd.solvers import root
    >>> def corner(r):
    ...     return root(lambda v: [v[0] * v[0] + v[1] * v[1] - r * r, v[0] - v[1]], [1.0, 0.5])
    >>> round(corner(2.0)[0], 12), round(grad(lambda r: corner(r)[0])(2.0), 12)
    (1.414213562373, 0.707106781187)
    """
    return at_solution(f, _damped(f, starting(x0), rtol, max_iterations), order)


def _numbers(f: Callable[[Any], Any], x: list[Any]) -> list[Any]:
    return [stop_gradient(v) for v in f(x)]


def _size(x: list[Any]) -> Any:
    return math.max([math.abs(v) for v in x])


def _newton_step(f: Callable[[Any], Any], x: list[Any], values: list[Any]) -> list[Any]:
    slopes = jacobian(lambda v: list(f(v)))(x)
    return lu_solve(lu([[stop_gradient(v) for v in row] for row in slopes]), values)


def _damped(f: Callable[[Any], Any], x: list[Any], rtol: float, max_iterations: int) -> list[Any]:
    """Newton's method, where a step that does not reduce the sum of squares is tried again at half its length."""
    values = _numbers(f, x)
    x = [beside(v, values[0]) for v in x]
    step = _newton_step(f, x, values)
    n, part, error, length, last = 0, 1.0, math.dot(values, values), _size(step), math.inf
    short = length <= rtol * _size(x) + LEAST
    while n < max_iterations and not short:
        there = [v - part * s for v, s in zip(x, step)]
        values = _numbers(f, there)
        reached = math.dot(values, values)
        following = _newton_step(f, there, values)
        n += 1
        better = math.le(reached, (1.0 - 0.2 * part) * error)
        better = math.where(math.le(length, NOISE * _size(x)), 1.0, better)
        x = [math.where(better, v, w) for v, w in zip(there, x)]
        step = [math.where(better, v, w) for v, w in zip(following, step)]
        error, last = math.where(better, reached, error), math.where(better, length, last)
        part = math.where(better, 1.0, 0.5 * part)
        length = _size(step)
        short = length <= rtol * _size(x) + LEAST or (length >= last and last <= NOISE * _size(x))
    if short:
        return [v - s for v, s in zip(x, step)]
    return [v * math.nan for v in x]


def fixed_point(
    g: Callable[[Any], Any], x0: Any, *, rtol: float = 1e-12, max_iterations: int = 1000, order: int = ORDER
) -> Any:
    """Find x with g(x) = x, for a number or a list of numbers, by applying g again and again from x0.

    The result is nan if x has not settled after `max_iterations`; `root_scalar` and `root` also find the points from which
    the iteration leads away.

    >>> from micrograd import math
    >>> from micrograd.solvers import fixed_point
    >>> round(fixed_point(math.cos, 1.0), 12)
    0.739085133215
    """
    if isinstance(x0, (int, float, Value)):
        x = _repeated(lambda v: [g(v[0])], [stop_gradient(x0)], rtol, max_iterations)
        return at_solution(lambda v: v - g(v), x[0], order)
    x = _repeated(g, starting(x0), rtol, max_iterations)
    return at_solution(lambda v: [a - b for a, b in zip(v, g(v))], x, order)


def _repeated(g: Callable[[Any], Any], x: list[Any], rtol: float, max_iterations: int) -> list[Any]:
    first = _numbers(g, x)
    x = [beside(v, w) for v, w in zip(x, first)]
    n, change = 0, math.inf
    while n < max_iterations:
        there = _numbers(g, x)
        change = _size([a - b for a, b in zip(there, x)])
        x = [v + 0.0 for v in there]
        n += 1
        if change <= rtol * _size(x) + LEAST:
            break
    if change <= rtol * _size(x) + LEAST:
        return x
    return [v * math.nan for v in x]


__all__ = ["fixed_point", "root", "root_scalar"]
