"""minimize, least_squares, curve_fit: smallest values; the place of a minimum has implicit derivatives.

The methods move down from x0 and know nothing of one another: each proposes a direction, and a search along it halves the step
until the function has become smaller. With bounds, the step ends at them, and variables that stand at a bound, against
which the function falls, stay there.

>>> from micrograd import grad
>>> from micrograd.solvers import minimize
>>> def cheapest(price):
...     return minimize(lambda v: price * v[0] + 1.0 / v[0] + (v[1] - v[0]) ** 2, [1.0, 0.0])[0]
>>> round(cheapest(4.0), 9), round(grad(cheapest)(4.0), 9)
(0.5, -0.0625)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from micrograd import math
from micrograd.engine import Value, apply
from micrograd.jacobians import jacobian
from micrograd.math import stop_gradient, where
from micrograd.solvers.dense import DIV, lu, lu_solve
from micrograd.solvers.implicit import ORDER, at_solution, beside
from micrograd.solvers.roots import starting
from micrograd.transforms import grad, value_and_grad

HISTORY = 6  # pairs of steps and changes of the gradient that L-BFGS keeps
LONGEST = 1e3  # a step of Newton's method
FALL = 1e-4  # the part of the fall along the gradient that a step has to reach (Armijo)
SHORTEST = 2.0**-40  # a part of a step; where shorter ones do not help, nothing does
NOISE = 1e-8  # relative: where the gradient has become so much smaller, its rest may be rounding errors
METHODS = ("bfgs", "lbfgs", "newton")


def _constants(values: Any) -> list[Any]:
    return [stop_gradient(v) for v in values]


def _size(values: list[Any]) -> Any:
    return math.max([math.abs(v) for v in values])


class _Box(NamedTuple):
    """The bounds of the variables; infinite where there are none."""

    low: list[Any]
    high: list[Any]

    def clip(self, x: list[Any]) -> list[Any]:
        """Return the nearest point inside."""
        return [
            where(math.lt(v, a), a, where(math.gt(v, b), b, v))
            for v, a, b in zip(x, _constants(self.low), _constants(self.high))
        ]

    def free(self, x: list[Any], slopes: list[Any]) -> list[Any]:
        """Return 1.0 for each variable that may move down, 0.0 where a bound is in the way."""
        return [
            1.0 - math.max(math.le(v, a) * math.gt(s, 0.0), math.ge(v, b) * math.lt(s, 0.0))
            for v, s, a, b in zip(x, slopes, _constants(self.low), _constants(self.high))
        ]


def _box(bounds: Any, n: int) -> _Box:
    if bounds is None:
        return _Box([-math.inf] * n, [math.inf] * n)
    if len(bounds) != n:
        raise ValueError(f"bounds are one pair (low, high) for each of the {n} variables, not {len(bounds)} of them")
    return _Box(
        [-math.inf if low is None else low for low, _ in bounds],
        [math.inf if high is None else high for _, high in bounds],
    )


def _at_minimum(f: Callable[[Any], Any], x: list[Any], box: _Box, order: int) -> Any:
    """Give x the derivatives that it has as a place where the slopes are zero, or as one at a bound."""
    at_low = [math.le(v, stop_gradient(a)) for v, a in zip(x, box.low)]
    at_high = [math.ge(v, stop_gradient(b)) for v, b in zip(x, box.high)]
    bounded = [(i, a, b) for i, (a, b) in enumerate(zip(box.low, box.high)) if not (_never(a) and _never(b))]

    def missing(v: Any) -> list[Any]:
        slopes = list(grad(f)(list(v)))
        for i, low, high in bounded:
            low = 0.0 if _never(low) else low  # never at it
            high = 0.0 if _never(high) else high
            slopes[i] = where(at_low[i], v[i] - low, where(at_high[i], v[i] - high, slopes[i]))
        return slopes

    return at_solution(missing, x, order)


def _never(bound: Any) -> bool:
    return isinstance(bound, (int, float)) and abs(bound) == math.inf


def minimize(
    f: Callable[[Any], Any], x0: Any, *, method: str = "bfgs", bounds: Any = None, gtol: float = 1e-9,
    max_iterations: int = 1000, order: int = ORDER,
) -> Any:  # fmt: skip
    """Find where f, a function of a list of numbers or of one number, has a minimum, from x0 downwards.

    The methods are "bfgs", "lbfgs" (for more variables) and "newton" (which computes Hessians, and takes the fewest steps).
    `bounds` are pairs (low, high), one for each variable; None where there is no bound. The result is nan if the gradient has
    not become smaller than gtol·max(1, |f|) after `max_iterations`. It has implicit derivatives, up to the order that is given.

    `micrograd.minimize` is another function: it calls SciPy, and cannot be compiled.

    >>> from micrograd.solvers import minimize
    >>> rosenbrock = lambda v: (1.0 - v[0]) ** 2 + 100.0 * (v[1] - v[0] ** 2) ** 2
    >>> [round(x, 6) for x in minimize(rosenbrock, [-1.0, 2.0])]
    [1.0, 1.0]
    >>> [round(x, 6) for x in minimize(rosenbrock, [-1.0, 0.4], bounds=[(None, 0.5), (None, None)])]
    [0.5, 0.25]
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: choose one of {', '.join(METHODS)}")
    if isinstance(x0, (int, float, Value)):
        whole = minimize(
            lambda v: f(v[0]), [x0], method=method, bounds=None if bounds is None else [bounds], gtol=gtol,
            max_iterations=max_iterations, order=order,
        )  # fmt: skip
        return whole[0]
    x = starting(x0)
    box = _box(bounds, len(x))
    model = _newton(f) if method == "newton" else _bfgs(len(x)) if method == "bfgs" else _lbfgs(len(x))
    found = _descend(f, x, box, model, gtol, max_iterations)
    return _at_minimum(f, found, box, order)


def _evaluated(f: Callable[[Any], Any], x: list[Any]) -> tuple[Any, list[Any]]:
    value, slopes = value_and_grad(lambda v: f(v))(x)
    return stop_gradient(value), _constants(slopes)


class _Model(NamedTuple):
    """What a method knows of how f bends, as rows of numbers, and how they are used and learned."""

    first: Callable[..., Any]  # (x, slopes, known) -> what is known where nothing has been learned
    direction: Callable[..., Any]  # (known, slopes of the free variables, which are free) -> downwards
    learned: Callable[..., Any]  # (known, x, step, change of the slopes, good, bends) -> known


def _descend(
    f: Callable[[Any], Any], x: list[Any], box: _Box, model: _Model, gtol: float, max_iterations: int
) -> list[Any]:
    x = box.clip(x)
    value, slopes = _evaluated(f, x)
    x = [beside(v, value) for v in x]
    known, fresh, part, made = model.first(x, slopes), beside(1.0, value), beside(1.0, value), 0
    free = box.free(x, slopes)
    going = _steep(value, slopes, free, gtol)
    while made < max_iterations and going > 0.5:
        masked = [a * b for a, b in zip(free, slopes)]
        direction = model.direction(known, masked, free)
        there = box.clip([v + part * d for v, d in zip(x, direction)])
        reached, following = _evaluated(f, there)
        step = [a - b for a, b in zip(there, x)]
        change = [a * (u - v) for a, u, v in zip(free, following, slopes)]
        finite = math.lt(math.dot(following, following), math.inf)
        # Where values differ by rounding alone, the slopes tell whether the step was a good one.
        noise = 4e-16 * math.abs(value)
        calmer = math.le(_size([a * b for a, b in zip(box.free(there, following), following)]), 0.9 * _size(masked))
        low = math.le(reached, value + FALL * math.dot(slopes, step))
        good = finite * math.max(low, math.le(reached, value + noise) * calmer)
        curve = math.dot(step, change)
        bends = good * math.gt(curve, 1e-10 * math.sqrt(math.dot(step, step) * math.dot(change, change)))
        stuck = math.lt(part, SHORTEST)
        lost = stuck * fresh * (1.0 - good)  # the gradient itself does not lead down
        x = [where(good, a, b) for a, b in zip(there, x)]
        slopes = [where(good, a, b) for a, b in zip(following, slopes)]
        value = where(good, reached, value)
        part = where(math.max(good, stuck), 1.0, 0.5 * part)
        # What was learned of other free variables misleads, and so does what has not led down.
        again = math.max(stuck, math.max([math.ne(a, b) for a, b in zip(free, box.free(x, slopes))]))
        free = box.free(x, slopes)
        known = model.learned(known, x, step, change, good, bends)
        known = _chosen(again, model.first(x, slopes, known), known)
        fresh = where(again, 1.0, where(bends, 0.0, fresh))
        going = _steep(value, slopes, free, gtol) * (1.0 - lost)
        made += 1
    far = _steep(value, slopes, free, math.max(gtol, NOISE))
    return [where(far, math.nan, v) for v in x]


def _steep(value: Any, slopes: list[Any], free: list[Any], gtol: Any) -> Any:
    """Return 1.0 where the gradient is not small yet, or is nan."""
    return 1.0 - math.le(_size([a * b for a, b in zip(free, slopes)]), gtol * math.max(1.0, math.abs(value)))


def _chosen(condition: Any, a: list[list[Any]], b: list[list[Any]]) -> list[list[Any]]:
    return [[where(condition, u, v) for u, v in zip(p, q)] for p, q in zip(a, b)]


def _short(slopes: list[Any]) -> Any:
    """Return the factor by which a step along the gradient is no longer than 1."""
    return apply(DIV, 1.0, math.max(1.0, math.sqrt(math.dot(slopes, slopes))))


def _bfgs(n: int) -> _Model:
    """Keep the inverse of the Hessian, approximately (Broyden, Fletcher, Goldfarb, Shanno); then 1.0 if it is fresh."""

    def first(x: list[Any], slopes: list[Any], known: Any = None) -> Any:
        size = _short(slopes)
        return [*([size if i == j else 0.0 * size for j in range(n)] for i in range(n)), [1.0 + 0.0 * size]]

    def direction(known: Any, slopes: list[Any], free: list[Any]) -> list[Any]:
        return [-a * math.dot(row, slopes) for a, row in zip(free, known)]

    def learned(known: Any, x: list[Any], step: list[Any], change: list[Any], good: Any, bends: Any) -> Any:
        curve = where(bends, math.dot(step, change), 1.0)
        untried = known[n][0] * bends
        size = apply(DIV, curve, where(bends, math.dot(change, change), 1.0))
        start = [
            [where(untried, size if i == j else 0.0, v) for j, v in enumerate(row)] for i, row in enumerate(known[:n])
        ]
        moved = [math.dot(row, change) for row in start]
        extra = apply(DIV, 1.0 + apply(DIV, math.dot(change, moved), curve), curve)
        better = [
            [
                v - apply(DIV, moved[i] * step[j] + step[i] * moved[j], curve) + extra * step[i] * step[j]
                for j, v in enumerate(row)
            ]
            for i, row in enumerate(start)
        ]
        return _chosen(bends, [*better, [0.0]], known)

    return _Model(first, direction, learned)


def _lbfgs(n: int) -> _Model:
    """Keep the last pairs of steps and changes of the gradient."""

    def first(x: list[Any], slopes: list[Any], known: Any = None) -> Any:
        zero = 0.0 * slopes[0]
        return [*([zero] * n for _ in range(2 * HISTORY)), [_short(slopes)]]

    def direction(known: Any, slopes: list[Any], free: list[Any]) -> list[Any]:
        steps, changes = known[:HISTORY], known[HISTORY : 2 * HISTORY]
        q, weights = slopes, []
        for s, y in zip(steps, changes):  # the newest pair first
            curve = math.dot(s, y)
            weight = where(math.gt(curve, 0.0), apply(DIV, math.dot(s, q), where(math.gt(curve, 0.0), curve, 1.0)), 0.0)
            q = [a - weight * b for a, b in zip(q, y)]
            weights.append(weight)
        q = [known[2 * HISTORY][0] * v for v in q]
        for s, y, weight in reversed(list(zip(steps, changes, weights))):
            curve = math.dot(s, y)
            back = where(math.gt(curve, 0.0), apply(DIV, math.dot(y, q), where(math.gt(curve, 0.0), curve, 1.0)), 0.0)
            q = [a + (weight - back) * b for a, b in zip(q, s)]
        return [-a * v for a, v in zip(free, q)]

    def learned(known: Any, x: list[Any], step: list[Any], change: list[Any], good: Any, bends: Any) -> Any:
        size = apply(DIV, math.dot(step, change), where(bends, math.dot(change, change), 1.0))
        steps, changes = known[: HISTORY - 1], known[HISTORY : 2 * HISTORY - 1]
        return _chosen(bends, [step, *steps, change, *changes, [size]], known)

    return _Model(first, direction, learned)


def _newton(f: Callable[[Any], Any]) -> _Model:
    """Keep the Hessian of the point."""

    def first(x: list[Any], slopes: list[Any], known: Any = None) -> Any:
        return bent(x) if known is None else known

    def bent(x: list[Any]) -> Any:
        return [_constants(row) for row in jacobian(grad(lambda v: f(v)))(x)]

    def direction(known: Any, slopes: list[Any], free: list[Any]) -> list[Any]:
        n = len(slopes)
        kept = [
            [where(free[i] * free[j], known[i][j], 1.0 if i == j else 0.0) for j in range(n)] for i in range(n)
        ]  # fmt: skip
        step = _downhill(kept, slopes)
        # Where the Hessian is nearly singular, the step leads past everything that it knows of.
        part = apply(DIV, LONGEST, math.max(LONGEST, _size(step)))
        return [-a * part * v for a, v in zip(free, step)]

    def learned(known: Any, x: list[Any], step: list[Any], change: list[Any], good: Any, bends: Any) -> Any:
        return _chosen(good, bent(x), known)

    return _Model(first, direction, learned)


def _downhill(a: list[list[Any]], b: list[Any]) -> list[Any]:
    """Solve a·x = b with LDLᵀ, where pivots are taken as positive: for a matrix that is positive definite, that is exact."""
    n = len(b)
    least = 1e-12 * math.max([_size(row) for row in a]) + 1e-300
    lower: list[list[Any]] = []
    pivots: list[Any] = []
    for i in range(n):
        row: list[Any] = []
        for j in range(i):
            terms = [row[k] * lower[j][k] * pivots[k] for k in range(j)]
            row.append(apply(DIV, a[i][j] - math.sum(terms), pivots[j]))
        rest = a[i][i] - math.sum([row[k] * row[k] * pivots[k] for k in range(i)])
        pivots.append(math.max(math.abs(rest), least))
        lower.append(row)
    x: list[Any] = []
    for i in range(n):
        x.append(b[i] - math.dot(lower[i], x))
    x = [apply(DIV, v, p) for v, p in zip(x, pivots)]
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - math.sum([lower[k][i] * x[k] for k in range(i + 1, n)])
    return x


def least_squares(
    residuals: Callable[[Any], Any], x0: Any, *, bounds: Any = None, gtol: float = 1e-9, max_iterations: int = 1000,
    order: int = ORDER,
) -> list[Any]:  # fmt: skip
    """Find where the sum of the squares of what residuals(x) returns has a minimum, by the method of Levenberg and Marquardt.

    The result is a list, with implicit derivatives. It is nan if the gradient of half the sum has not become smaller than
    gtol·max(1, sum) after `max_iterations`.

    >>> from micrograd import math
    >>> from micrograd.solvers import least_squares
    >>> points = [(0.0, 2.0), (1.0, 1.2130613), (2.0, 0.7357589)]
    >>> [round(v, 6) for v in least_squares(lambda v: [v[0] * math.exp(-v[1] * x) - y for x, y in points], [1.0, 1.0])]
    [2.0, 0.5]
    """
    x = starting(x0)
    box = _box(bounds, len(x))
    found = _marquardt(residuals, x, box, gtol, max_iterations)
    solution: list[Any] = _at_minimum(lambda v: _half(residuals(v)), found, box, order)
    return solution


def _half(values: Any) -> Any:
    values = list(values)
    return 0.5 * math.dot(values, values)


def _linear(residuals: Callable[[Any], Any], x: list[Any]) -> tuple[Any, list[Any], list[list[Any]]]:
    """Return half the sum of squares at x, its gradient and its Hessian without second derivatives of residuals."""
    values = _constants(residuals(x))
    rows = [_constants(row) for row in jacobian(lambda v: list(residuals(v)))(x)]
    columns = [[row[i] for row in rows] for i in range(len(x))]
    slopes = [math.dot(column, values) for column in columns]
    return _half(values), slopes, [[math.dot(p, q) for q in columns] for p in columns]


def _marquardt(residuals: Callable[[Any], Any], x: list[Any], box: _Box, gtol: float, max_iterations: int) -> list[Any]:
    n = len(x)
    x = box.clip(x)
    value, slopes, squares = _linear(residuals, x)
    x = [beside(v, value) for v in x]
    damping, made = beside(1e-3, value), 0
    free = box.free(x, slopes)
    going = _steep(value, slopes, free, gtol)
    while made < max_iterations and going > 0.5:
        kept = [
            [
                where(free[i] * free[j], squares[i][j] * (1.0 + damping if i == j else 1.0), 0.0)
                + (1.0 - free[i] + 1e-30 if i == j else 0.0)
                for j in range(n)
            ]
            for i in range(n)
        ]
        step = _downhill(kept, [a * b for a, b in zip(free, slopes)])
        there = box.clip([v - a * s for v, a, s in zip(x, free, step)])
        reached, following, other = _linear(residuals, there)
        calmer = math.lt(_size([a * b for a, b in zip(free, following)]), _size([a * b for a, b in zip(free, slopes)]))
        good = math.max(math.lt(reached, value), math.le(reached, value * (1.0 + 1e-15)) * calmer)
        good = good * math.lt(math.dot(following, following), math.inf)
        x = [where(good, a, b) for a, b in zip(there, x)]
        slopes = [where(good, a, b) for a, b in zip(following, slopes)]
        squares = _chosen(good, other, squares)
        value = where(good, reached, value)
        damping = where(good, math.max(0.1 * damping, 1e-12), 5.0 * damping)
        free = box.free(x, slopes)
        going = _steep(value, slopes, free, gtol) * math.lt(damping, 1e20)
        made += 1
    far = _steep(value, slopes, free, math.max(gtol, NOISE))
    return [where(far, math.nan, v) for v in x]


class Fit(NamedTuple):
    """What curve_fit finds: the parameters, their standard errors, and their covariances as a list of lists."""

    parameters: list[Any]
    errors: list[Any]
    covariance: list[list[Any]]


def curve_fit(
    model: Callable[..., Any], xs: Sequence[Any], ys: Sequence[Any], p0: Sequence[Any], *, sigma: Any = None,
    absolute_sigma: bool = False, bounds: Any = None, gtol: float = 1e-9, max_iterations: int = 1000, order: int = ORDER,
) -> Fit:  # fmt: skip
    """Fit model(x, *parameters) to the points (xs, ys) by least squares, from the parameters p0.

    `sigma` are the errors of the ys: one number for each point. As SciPy's does, the function takes them as weights, and
    the size of the errors from the points, unless `absolute_sigma` is true. All results have derivatives, those by the ys too.

    >>> from micrograd.solvers import curve_fit
    >>> fit = curve_fit(lambda x, a, b: a + b * x, [0.0, 1.0, 2.0, 3.0], [1.0, 2.9, 5.1, 7.0], [0.0, 0.0])
    >>> [round(v, 6) for v in fit.parameters], [round(v, 6) for v in fit.errors]
    ([0.97, 2.02], [0.079373, 0.042426])
    """
    n = len(ys)
    if len(xs) != n:
        raise ValueError(f"curve_fit has {len(xs)} xs and {n} ys: give one y for each x")
    if n < len(p0):
        raise ValueError(f"curve_fit cannot find {len(p0)} parameters from {n} points: give as many points at least")
    weights = [1.0] * n if sigma is None else [apply(DIV, 1.0, s) for s in sigma]

    def residuals(p: Any) -> list[Any]:
        return [(model(xs[k], *p) - ys[k]) * weights[k] for k in range(n)]

    parameters = least_squares(
        residuals, list(p0), bounds=bounds, gtol=gtol, max_iterations=max_iterations, order=order
    )
    rows = [list(row) for row in jacobian(residuals)(parameters)]
    columns = [[row[i] for row in rows] for i in range(len(p0))]
    factors = lu([[math.dot(p, q) for q in columns] for p in columns])
    scale: Any = 1.0
    if not absolute_sigma:
        found = residuals(parameters)
        scale = apply(DIV, math.dot(found, found), float(n - len(p0)))
    inverse = [lu_solve(factors, [float(i == k) for i in range(len(p0))]) for k in range(len(p0))]
    covariance = [[scale * v for v in row] for row in inverse]
    return Fit(parameters, [math.sqrt(covariance[k][k]) for k in range(len(p0))], covariance)


__all__ = ["Fit", "curve_fit", "least_squares", "minimize"]
