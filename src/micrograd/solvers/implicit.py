"""implicit: the derivative of a solution, whatever code has found it.

The implicit function theorem gives the derivative of x, where f(x, p) = 0, from the derivatives of f alone. Here it is
applied by arithmetic: with the matrix J = ∂f/∂x at the solution held fixed, each correction x ← x - J⁻¹·f(x, p) makes one
more order of the derivatives right, and changes the number x by nothing but rounding. The corrected x lends its derivatives
to the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import math
from micrograd.engine import apply
from micrograd.errors import TraceError
from micrograd.jacobians import jacobian
from micrograd.math import stop_gradient
from micrograd.primitive import Primitive, primitive
from micrograd.solvers.dense import DIV, lu, lu_solve
from micrograd.transforms import jvp

ORDER = 3  # derivatives that are right by default; each costs an evaluation of f


def _refuse(order: int) -> Callable[..., Any]:
    def refused(x: Any, y: Any) -> Any:
        if isinstance(x, float):  # a node keeps its slopes, whether or not anybody asks for them
            return math.nan
        raise TraceError(
            f"the solution of a solver is differentiated more than {order} times\n"
            f"  Its derivatives are right up to the order that is asked for, and each order costs an evaluation of f.\n"
            f"  Write order={order + 1}, or the order that is needed, in the call of the solver."
        )

    return refused


def _constant(partial: Callable[..., Any], number: float) -> Callable[..., Any]:
    """Make a function that gives this number, and whose own partial is given."""
    op = primitive(partial, name=f"slope_{number:g}")(lambda x: number)
    return lambda x, out: op(x)


def _lend(order: int) -> Primitive:
    """Make the op that is the number y with the derivatives of x; to differentiate it more than `order` times is an error."""
    partial = _refuse(order)
    for k in range(order, 0, -1):
        partial = _constant(partial, 1.0 if k == 1 else 0.0)
    return primitive(lambda y, x, out: 0.0, lambda y, x, out: partial(x, out), name=f"solution_{order}")(lambda y, x: y)


LEND = {order: _lend(order) for order in range(1, 9)}


def at_solution(f: Callable[[Any], Any], x: Any, order: int = ORDER) -> Any:
    """Return the number or the list x, where f(x) = 0, with the derivatives that this equation gives it."""
    if order not in LEND:
        raise ValueError(f"order is a whole number from 1 to {max(LEND)}, not {order!r}")
    lend = LEND[order]
    if not isinstance(x, (list, tuple)):
        start = stop_gradient(x)
        value, slope = jvp(f, (start,), (1.0,))
        slope = stop_gradient(slope)
        corrected = start - apply(DIV, value, slope)
        for _ in range(order - 1):
            corrected = corrected - apply(DIV, f(corrected), slope)
        return lend(start, corrected)
    starts = [stop_gradient(v) for v in x]
    factors = lu([[stop_gradient(v) for v in row] for row in jacobian(lambda v: list(f(v)))(starts)])
    moved = starts
    for _ in range(order):
        moved = [v - step for v, step in zip(moved, lu_solve(factors, list(f(moved))))]
    return [lend(y, v) for y, v in zip(starts, moved)]


def beside(x: Any, number: Any) -> Any:
    """Return the number x as one that depends on another number, so that a loop which changes it is compiled as a loop."""
    return math.where(math.gt(number, 0.0), x, x)


def implicit(solver: Callable[..., Any], order: int = ORDER) -> Callable[..., Any]:
    """Give the solutions of a solver their derivatives.

    The solver is a function `solver(f, x0, ...)` that returns x with f(x) = 0: a number, or a list of as many numbers as f
    returns. Its own code is not differentiated; f may use variables of the enclosing function, by which the solution is then
    differentiated. Derivatives are right up to the order that is given, and an error beyond.

    >>> from micrograd import grad
    >>> from micrograd.solvers import implicit
    >>> @implicit
    ... def bisect(f, low, high):
    ...     for _ in range(60):
    ...         middle = (low + high) / 2
    ...         if f(middle) > 0.0:
    ...             high = middle
    ...         else:
    ...             low = middle
    ...     return middle
    >>> def cube_root(a):
    ...     return bisect(lambda x: x**3 - a, 0.0, 10.0)
    >>> round(cube_root(8.0), 12), round(grad(cube_root)(8.0), 12)
    (2.0, 0.083333333333)
    """

    def solve(f: Callable[[Any], Any], *args: Any, **options: Any) -> Any:
        return at_solution(f, solver(_without_derivatives(f), *args, **options), order)

    return solve


def _without_derivatives(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return f with results through which no derivative passes, so that they may become plain numbers, as SciPy makes them."""

    def values(x: Any) -> Any:
        found = f(x)
        if isinstance(found, (list, tuple)):
            return [stop_gradient(v) for v in found]
        return stop_gradient(found)

    return values


__all__ = ["at_solution", "beside", "implicit"]
