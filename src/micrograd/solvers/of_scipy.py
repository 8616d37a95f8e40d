"""Functions of SciPy's whose work is done by compiled code, for Values: splines, interpolation, quadrature and roots.

`scipy.interpolate.splev(x, tck)`, a `CubicSpline`, `scipy.integrate.quad(f, a, b)` and `scipy.optimize.brentq(f, a, b)` hand
numbers to C and Fortran, where a derivative would be lost. While a function is traced, and there is a Value among what is given
or in what f returns, they are computed here: splines from the coefficients that SciPy has made, by the same formulas; integrals
and roots by micrograd.solvers, whose results have the derivatives of the integral and of the root itself.

Nothing is assigned in any module of SciPy's. Each of these functions gets a first line (as code of its own, with the same
name, parameters, file and line), which asks here if a trace is running in this thread, and goes on to what it was; numbers take
that way, too. native/standard.c does the same to the functions of math, for the same reason: they are called by packages that
nobody here has written, under any name, as default arguments and as methods of objects that were made before. A view of
the globals of the user's function reaches none of these, and code that is there for the time of one trace alone would be
exchanged while other threads are about to call it. It stays, then: it is put in place once, under a lock, where a function of
Values has met compiled code; the object, its defaults, its signature and how it is pickled are what they were.
"""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from micrograd import math
from micrograd.engine import Value
from micrograd.errors import MicrogradError, TraceError
from micrograd.math import stop_gradient
from micrograd.signals import interrupted_later
from micrograd.tape.trace import is_replayed, is_tracing
from micrograd.values.callsite import calling_lines

answered = 0  # how often: testing.check asks, since results are those of SciPy within rounding


def holds(*given: Any) -> bool:
    """Whether there is a Value in what is given."""
    from micrograd.values.buffers import holds_values

    return holds_values(given)


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    """Return an array of what a function gives for each element; a number for a number, as an array without axes."""
    import numpy as np

    from micrograd.values.buffers import carrying

    items = np.asarray(x, dtype=object).view(np.ndarray)
    found = np.empty(items.shape, dtype=object)
    for k, item in enumerate(items.ravel().tolist()):
        found.flat[k] = function(item)
    return carrying(found)


# ---- splines


def _interval(x: Any, knots: Sequence[float], first: int, last: int) -> int:
    """Return k with knots[k] <= x < knots[k + 1], from `first` to `last`, which go on outside."""
    low, high = first, last + 1
    while high - low > 1:
        middle = (low + high) // 2
        if x >= knots[middle]:
            low = middle
        else:
            high = middle
    return low


def _basis(x: Any, t: Sequence[float], k: int, place: int) -> list[Any]:
    """Return the k + 1 splines of degree k that are not 0 between t[place] and t[place + 1] (fpbspl of FITPACK)."""
    h: list[Any] = [1.0]
    for j in range(1, k + 1):
        before, h = h, [0.0] * (j + 1)
        for i in range(j):
            right, left = t[place + i + 1], t[place + i + 1 - j]
            if right != left:
                f = before[i] / (right - left)
                h[i] = h[i] + f * (right - x)
                h[i + 1] = f * (x - left)
    return h


def _sum_of_splines(x: Any, t: Sequence[float], c: Sequence[Any], k: int) -> Any:
    place = _interval(x, t, k, len(t) - k - 2)
    total: Any = 0.0
    for j, h in enumerate(_basis(x, t, k, place)):
        total = total + c[place - k + j] * h
    return total


def _derived(t: Sequence[float], c: Sequence[Any], k: int, order: int) -> tuple[Sequence[float], list[Any], int]:
    """Return the knots, coefficients and degree of a derivative of a spline."""
    c = list(c[: len(t) - k - 1])
    for _ in range(order):
        t = t[1:-1]
        c = [k * (c[i + 1] - c[i]) / (t[i + k] - t[i]) if t[i + k] > t[i] else 0.0 for i in range(len(c) - 1)]
        k -= 1
    return t, c, k


def _numbers(a: Any) -> list[Any]:
    return a.tolist() if hasattr(a, "tolist") else list(a)


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """scipy.interpolate.splev, for the coefficients of one curve."""
    t, c, k = tck
    if not holds(x, c) or not 0 <= der <= k or ext not in (0, 1, 2, 3) or getattr(c, "ndim", 1) != 1:
        return NotImplemented
    t, c, k = _derived(_numbers(t), _numbers(c), int(k), der)
    low, high = t[k], t[len(t) - k - 1]

    def one(at: Any) -> Any:
        if at < low or at > high:
            if ext == 2:
                raise ValueError("Found x value not in the domain")
            if ext == 1:
                return 0.0
            if ext == 3:
                at = low if at < low else high
        return _sum_of_splines(at, t, c, k)

    return _each(one, x)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """scipy.interpolate.bisplev."""
    tx, ty, c, kx, ky = tck
    if not holds(x, y, c) or not 0 <= dx < max(kx, 1) or not 0 <= dy < max(ky, 1):
        return NotImplemented
    import numpy as np

    xs, ys = (np.atleast_1d(np.asarray(v, dtype=object)) for v in (x, y))
    found = np.empty((len(xs), len(ys)), dtype=object)
    surface = _surface(_numbers(tx), _numbers(ty), _numbers(c), int(kx), int(ky), dx, dy)
    for i, a in enumerate(xs):
        for j, b in enumerate(ys):
            found[i, j] = surface(a, b)
    from micrograd.values.buffers import carrying

    return found[0, 0] if found.size == 1 else carrying(found[0] if len(found) == 1 else found)


def _surface(
    tx: list[float], ty: list[float], c: list[Any], kx: int, ky: int, dx: int, dy: int
) -> Callable[[Any, Any], Any]:
    """Return a surface of splines as a function; beside the rectangle of the knots it is that of the nearest point."""
    nx, ny = len(tx) - kx - 1, len(ty) - ky - 1
    rows: list[list[Any]] = [c[i * ny : (i + 1) * ny] for i in range(nx)]
    if dx:  # column by column
        columns = [_derived(tx, [row[j] for row in rows], kx, dx)[1] for j in range(ny)]
        rows = [list(row) for row in zip(*columns)]
    if dy:
        rows = [_derived(ty, row, ky, dy)[1] for row in rows]
    tx, ty, kx, ky = list(tx[dx : len(tx) - dx]), list(ty[dy : len(ty) - dy]), kx - dx, ky - dy

    def nearest(x: Any, t: list[float], k: int) -> Any:
        low, high = t[k], t[len(t) - k - 1]
        return low if x < low else high if x > high else x

    def at(x: Any, y: Any) -> Any:
        x, y = nearest(x, tx, kx), nearest(y, ty, ky)
        i, j = _interval(x, tx, kx, len(tx) - kx - 2), _interval(y, ty, ky, len(ty) - ky - 2)
        across, along = _basis(x, tx, kx, i), _basis(y, ty, ky, j)
        total: Any = 0.0
        for p, g in enumerate(across):
            for q, h in enumerate(along):
                total = total + rows[i - kx + p][j - ky + q] * g * h
        return total

    return at


def _of_bivariate(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    """The call of a RectBivariateSpline and its relatives."""
    if not holds(x, y):
        return NotImplemented
    import numpy as np

    tx, ty, c = self.tck[:3]
    kx, ky = self.degrees
    surface = _surface(_numbers(tx), _numbers(ty), _numbers(c), kx, ky, dx, dy)
    x, y = np.asarray(x, dtype=object), np.asarray(y, dtype=object)
    if grid:
        x, y = x.reshape(-1, 1), y.reshape(1, -1)
    return np.frompyfunc(surface, 2, 1)(x.view(np.ndarray), y.view(np.ndarray))


def _of_b_spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """The call of a BSpline."""
    coefficients = self._c if hasattr(self, "_c") else self.c
    if not holds(x, coefficients) or coefficients.dtype.kind == "c" or (coefficients.ndim > 1 and self.axis != 0):
        return NotImplemented
    if nu > self.k:
        return _stacked([_each(lambda at: 0.0, x)], coefficients.shape[1:])
    extrapolate = self.extrapolate if extrapolate is None else extrapolate

    def curve(c: Any) -> Any:
        t, c, k = _derived(_numbers(self.t), _numbers(c), int(self.k), nu)
        low, high = t[k], t[len(t) - k - 1]
        return _each(lambda at: _inside(at, low, high, extrapolate, lambda u: _sum_of_splines(u, t, c, k)), x)

    columns = coefficients.reshape(len(coefficients), -1)
    return _stacked([curve(columns[:, j]) for j in range(columns.shape[1])], coefficients.shape[1:])


def _stacked(curves: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the results of several curves as SciPy arranges them: along the last axes."""
    import numpy as np

    from micrograd.values.buffers import carrying

    if not shape:
        return curves[0]
    return carrying(
        np.stack([np.asarray(c, dtype=object) for c in curves], axis=-1).reshape(*np.shape(curves[0]), *shape)
    )


def _of_polynomials(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """The call of a PPoly: of CubicSpline, PchipInterpolator, Akima1DInterpolator, CubicHermiteSpline."""
    from scipy.interpolate import PPoly

    c, knots = self.c, self.x
    if not holds(x) or not isinstance(self, PPoly) or c.dtype.kind == "c" or knots[0] > knots[-1]:
        return NotImplemented
    if c.ndim > 2 and self.axis != 0:
        return NotImplemented
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    places = _numbers(knots)

    def polynomial(at: Any, rows: list[list[float]]) -> Any:
        k = _interval(at, places, 0, len(places) - 2)
        s = at - places[k]
        total: Any = 0.0
        power: Any = 1.0
        for degree in range(nu, len(rows)):
            factor = math.perm(degree, nu)
            total = total + rows[len(rows) - 1 - degree][k] * power * factor
            power = power * s
        return total

    def curve(rows: list[list[float]]) -> Any:
        return _each(lambda at: _inside(at, places[0], places[-1], extrapolate, lambda u: polynomial(u, rows)), x)

    parts = c.reshape(*c.shape[:2], -1)
    return _stacked([curve(parts[:, :, j].tolist()) for j in range(parts.shape[2])], c.shape[2:])


def _inside(x: Any, low: float, high: float, extrapolate: Any, function: Callable[[Any], Any]) -> Any:
    """Return what a function gives for x, brought into its period if it has one; nan outside, unless it goes on there."""
    if isinstance(extrapolate, str):  # "periodic"
        return function(low + (x - low) % (high - low))
    return function(x) if extrapolate or (low <= x and x <= high) else x * math.nan


def _places(self: Any, x: Any) -> Any:
    """What interp1d and its relatives make of their argument: an array along one axis, and its shape."""
    if not holds(x):
        return NotImplemented
    import numpy as np

    from micrograd.values.buffers import carrying

    x = carrying(np.array(x, dtype=object))
    return x.ravel(), x.shape


def _on_grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """The call of a RegularGridInterpolator that is linear, at one point."""
    if not holds(xi) or (method or self.method) != "linear" or nu is not None or self.values.ndim != len(self.grid):
        return NotImplemented
    import numpy as np

    xi = np.array(xi, dtype=object)
    if xi.shape not in ((len(self.grid),), (1, len(self.grid))):
        return NotImplemented
    parts: list[tuple[list[int], Any]] = [([], 1.0)]
    for x, knots in zip(xi.ravel().tolist(), self.grid):
        places = _numbers(knots)
        if x < places[0] or x > places[-1]:
            if self.bounds_error:
                raise ValueError("One of the requested xi is out of bounds in dimension")
            if self.fill_value is not None:
                return _each(lambda _: float(self.fill_value), [0.0])
        k = _interval(x, places, 0, len(places) - 2)
        part = (x - places[k]) / (places[k + 1] - places[k])
        parts = [([*at, k + side], w * (part if side else 1.0 - part)) for at, w in parts for side in (0, 1)]
    return _each(lambda _: sum((float(self.values[tuple(at)]) * w for at, w in parts), 0.0), [0.0])


# ---- integrals and roots of functions that compute with Values


def _with(f: Any, args: Any) -> Callable[[Any], Any]:
    args = args if isinstance(args, tuple) else (args,)
    return lambda x: f(x, *args)


def _gives_values(f: Callable[[Any], Any], x: float) -> bool:
    found = f(x)
    return isinstance(found, Value) or holds(found)


def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
    limit: Any = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: Any = 50,
    limlst: Any = 50, complex_func: Any = False,
) -> Any:  # fmt: skip
    """scipy.integrate.quad: the integral, and an estimate of its error."""
    if full_output or points is not None or weight is not None or complex_func or not callable(func):
        return NotImplemented
    f = _with(func, args)
    if not holds(a, b, args) and not _gives_values(f, _between(a, b)):
        return NotImplemented
    from micrograd.solvers import quad as integral

    def number(x: Any) -> Any:
        y = f(x)
        return y.item() if hasattr(y, "item") else y

    found = integral(number, a, b, rtol=1e-12, atol=1e-14)
    if (
        found != found
    ):  # ends where it is infinite, or has an infinite slope: x = a + (b - a)·t²·(3 - 2·t) takes them away
        found = integral(
            lambda t: number(a + (b - a) * (t * t * (3.0 - 2.0 * t))) * (6.0 * t * (1.0 - t) * (b - a)),
            0.0, 1.0, rtol=max(epsrel, 1e-12), atol=max(epsabs, 1e-14),
        )  # fmt: skip
    if found != found:
        raise MicrogradError(
            "scipy.integrate.quad of a function of Values: the integral has not settled\n"
            "  It is computed by micrograd.solvers.quad here, so that it has derivatives, with 10,000 intervals at most.\n"
            "  Integrate from one singular point to the next, or substitute, so that the function is smooth."
        )
    return found, 1e-12 * abs(stop_gradient(found))


def _between(a: float, b: float) -> float:
    if abs(a) < math.inf and abs(b) < math.inf:
        return 0.5 * (a + b)
    return a + 1.0 if abs(a) < math.inf else b - 1.0 if abs(b) < math.inf else 0.0


class _Search:
    """A search for a root in a bracket as SciPy makes it, number by number, on a function of Values."""

    def __init__(self, f: Any, a: Any, b: Any, args: Any) -> None:
        self.f = _with(f, args)
        self.calls = 0
        self.a, self.b = stop_gradient(a), stop_gradient(b)

        self.of_values = holds(a, b, args) or _gives_values(self.f, self.a)

    def at(self, x: Any) -> Any:
        self.calls += 1
        y = self.f(x)
        return stop_gradient(y.item() if hasattr(y, "item") and not isinstance(y, Value) else y)

    def ends(self) -> tuple[Any, Any]:
        first, last = self.at(self.a), self.at(self.b)
        if first != 0.0 and last != 0.0 and (first < 0.0) == (last < 0.0):
            raise ValueError("f(a) and f(b) must have different signs")
        return first, last

    def solved(self, x: Any, flag: int, iterations: int, disp: bool, full_output: bool, method: str) -> Any:
        from micrograd.solvers.implicit import at_solution

        if flag and disp:
            raise RuntimeError(f"Failed to converge after {iterations} iterations.")
        found = at_solution(self.f, x)
        if not full_output:
            return found
        from scipy.optimize import RootResults

        return found, RootResults(found, iterations, self.calls, flag, method)


def _brent(
    f: Any, a: Any, b: Any, args: Any, xtol: float, rtol: float, maxiter: int, full_output: bool, disp: bool, hyperbola: bool
) -> Any:  # fmt: skip
    search = _Search(f, a, b, args)
    if not search.of_values:
        return NotImplemented
    pre, cur, how = search.a, search.b, (disp, full_output, "brenth" if hyperbola else "brentq")
    f_pre, f_cur = search.ends()
    if f_pre == 0.0 or f_cur == 0.0:
        return search.solved(pre if f_pre == 0.0 else cur, 0, 0, *how)
    other, f_other, step, last = 0.0, 0.0, 0.0, 0.0
    for n in range(maxiter):
        if f_pre != 0.0 and f_cur != 0.0 and (f_pre < 0.0) != (f_cur < 0.0):
            other, f_other, last = pre, f_pre, cur - pre
            step = last
        if abs(f_other) < abs(f_cur):
            pre, cur, other = cur, other, cur
            f_pre, f_cur, f_other = f_cur, f_other, f_cur
        delta = (xtol + rtol * abs(cur)) / 2.0
        half = (other - cur) / 2.0
        if f_cur == 0.0 or abs(half) < delta:
            return search.solved(cur, 0, n + 1, *how)
        if abs(last) > delta and abs(f_cur) < abs(f_pre):
            if pre == other:
                tried = -f_cur * (cur - pre) / (f_cur - f_pre)
            else:
                d_pre, d_other = (f_pre - f_cur) / (pre - cur), (f_other - f_cur) / (other - cur)
                if hyperbola:
                    tried = -f_cur * (f_other - f_pre) / (f_other * d_pre - f_pre * d_other)
                else:
                    tried = -f_cur * (f_other * d_other - f_pre * d_pre) / (d_other * d_pre * (f_other - f_pre))
            short = 2.0 * abs(tried) < min(abs(last), 3.0 * abs(half) - delta)
            last, step = (step, tried) if short else (half, half)
        else:
            last, step = half, half
        pre, f_pre = cur, f_cur
        cur = cur + (step if abs(step) > delta else delta if half > 0.0 else -delta)
        f_cur = search.at(cur)
    return search.solved(cur, -2, maxiter, *how)


EPS4 = 4.0 * sys.float_info.epsilon


def brentq(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = EPS4, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """scipy.optimize.brentq, step by step; its derivatives are those of the equation."""
    return _brent(f, a, b, args, xtol, rtol, maxiter, full_output, disp, False)


def brenth(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = EPS4, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """scipy.optimize.brenth, in the same way."""
    return _brent(f, a, b, args, xtol, rtol, maxiter, full_output, disp, True)


def bisect(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = EPS4, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """scipy.optimize.bisect, in the same way."""
    search = _Search(f, a, b, args)
    if not search.of_values:
        return NotImplemented
    at, length, how = search.a, search.b - search.a, (disp, full_output, "bisect")
    first, last = search.ends()
    if first == 0.0 or last == 0.0:
        return search.solved(search.a if first == 0.0 else search.b, 0, 0, *how)
    for n in range(maxiter):
        length = 0.5 * length
        middle = at + length
        there = search.at(middle)
        if (there < 0.0) == (first < 0.0):
            at = middle
        if there == 0.0 or abs(length) < xtol + rtol * abs(middle):
            return search.solved(middle, 0, n + 1, *how)
    return search.solved(at, -2, maxiter, *how)


def _peeked(x: Any) -> Any:
    """Return the numbers of Values in lists and arrays."""
    if isinstance(x, Value):
        return x._data
    if isinstance(x, (list, tuple)):
        return [_peeked(item) for item in x]
    return _peeked(x.tolist()) if holds(x) else x


def _root_hybr(func: Any, x0: Any, args: Any = (), jac: Any = None, *rest: Any, **options: Any) -> Any:
    """What scipy.optimize.fsolve and root call: SciPy finds the numbers, and the equations give them derivatives.

    A trace that is replayed for other numbers would not see what SciPy decides, so it is refused there, as other compiled code.
    """
    import numpy as np

    from micrograd.solvers.implicit import at_solution
    from micrograd.values.buffers import carrying

    args = args if isinstance(args, tuple) else (args,)
    start = np.asarray(_peeked(x0), dtype=float)
    if not (holds(x0, args) or holds(func(start, *args))):
        return NotImplemented
    if is_replayed():
        raise TraceError(
            f"scipy.optimize.fsolve or root of a function of Values, inside a compiled function, at {calling_lines()}\n"
            "  SciPy's code decides by numbers what to do next, and would do the same again for all other numbers.\n"
            "  Write micrograd.solvers.root(f, x0), which is compiled; grad, without jit, takes SciPy's functions."
        )
    from scipy.optimize import _minpack_py

    slopes = (lambda x, *more: _peeked(jac(x, *more))) if callable(jac) else jac
    found = _minpack_py._root_hybr(lambda x, *more: _peeked(func(x, *more)), start, args, slopes, *rest, **options)

    def equations(x: list[Any]) -> list[Any]:
        found = func(carrying(np.array(x, dtype=object)), *args)
        return list(np.ravel(np.asarray(found, dtype=object)).tolist())

    if not found["success"]:
        return found  # which the caller looks at
    found["x"] = carrying(np.array(at_solution(equations, found["x"].tolist()), dtype=object))
    return found


# ---- the first line of SciPy's functions

TWINS: dict[tuple[str, str], Callable[..., Any]] = {
    ("scipy.interpolate._fitpack_impl", "splev"): splev,
    ("scipy.interpolate._fitpack_impl", "bisplev"): bisplev,
    ("scipy.interpolate._fitpack2", "_BivariateSplineBase.__call__"): _of_bivariate,
    ("scipy.interpolate._bsplines", "BSpline.__call__"): _of_b_spline,
    ("scipy.interpolate._interpolate", "_PPolyBase.__call__"): _of_polynomials,
    ("scipy.interpolate._polyint", "_Interpolator1D._prepare_x"): _places,
    ("scipy.interpolate._rgi", "RegularGridInterpolator.__call__"): _on_grid,
    ("scipy.integrate._quadpack_py", "quad"): quad,
    ("scipy.optimize._zeros_py", "brentq"): brentq,
    ("scipy.optimize._zeros_py", "brenth"): brenth,
    ("scipy.optimize._zeros_py", "bisect"): bisect,
    ("scipy.optimize._minpack_py", "_root_hybr"): _root_hybr,
}
_waiting = set(TWINS)
_lock = threading.Lock()
watched = 0  # how many functions ask here by now


def watch() -> None:
    """Let the functions of those modules that are there by now ask here."""
    with interrupted_later(), _lock:
        _watch()


def _watch() -> None:
    global watched
    for place in [p for p in _waiting if p[0] in sys.modules]:
        owner: Any = sys.modules[place[0]]
        *path, name = place[1].split(".")
        for part in path:
            owner = getattr(owner, part, None)
        function = vars(owner).get(name) if owner is not None else None
        if function is None and getattr(getattr(sys.modules[place[0]], "__spec__", None), "_initializing", False):
            continue  # it is being imported
        if isinstance(function, types.FunctionType):
            _ask_first(function, TWINS[place])
        _waiting.discard(place)
        watched += 1


def _ask_first(function: types.FunctionType, twin: Callable[..., Any]) -> None:
    """Let a function ask its twin while a trace is running; without an answer it goes on as it was."""
    old = function.__code__
    original = types.FunctionType(
        old, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__

    def ask(*args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            found = twin(*args, **kwargs)
            if found is not NotImplemented:
                global answered
                answered += 1
                return found
        return original(*args, **kwargs)

    function.__code__ = _code(old, ask)


def _code(old: types.CodeType, ask: Any) -> types.CodeType:
    """Return code with the name, the parameters and the place of another, which hands all arguments to a function."""
    names = list(old.co_varnames[: old.co_argcount + old.co_kwonlyargcount])
    positional, keywords = names[: old.co_argcount], names[old.co_argcount :]
    rest = list(old.co_varnames[len(names) :])
    star = f"*{rest.pop(0)}" if old.co_flags & 0x04 else ""
    double = f"**{rest.pop(0)}" if old.co_flags & 0x08 else ""
    parameters = positional.copy()
    if old.co_posonlyargcount:
        parameters.insert(old.co_posonlyargcount, "/")
    parameters += [star or "*"] * bool(star or keywords) + [f"{k}=None" for k in keywords] + [double] * bool(double)
    handed = [*positional, star, *(f"{k}={k}" for k in keywords), double]
    mark = "micrograd: whom to ask"
    free = ", ".join(old.co_freevars)
    held = f"        {free}\n" if free else ""
    text = (
        f"def outer({free}):\n    def {old.co_name}({', '.join(parameters)}):\n{held}"
        f"        return {mark!r}({', '.join(filter(None, handed))})\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a text is no function: it is replaced by one
        outer = compile(text, old.co_filename, "exec")
    code: types.CodeType = outer
    for name in ("outer", old.co_name):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    options: Any = {"co_qualname": getattr(old, "co_qualname")} if sys.version_info >= (3, 11) else {}  # noqa: B009
    return code.replace(
        co_consts=tuple([ask if c == mark else c for c in code.co_consts]), co_firstlineno=old.co_firstlineno, **options
    )


__all__ = ["TWINS", "watch"]
