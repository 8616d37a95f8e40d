"""Functions of NumPy's that look into the elements, written out for arrays of Values: np.linalg.solve, np.interp and others.

NumPy's own code for them reads floats. Here they are plain Python over the elements, so that the ops of the table carry the
derivatives; which pivot is taken, and between which points an interpolation lies, is decided by comparisons.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from micrograd import math


def _rows(a: Any) -> list[list[Any]]:
    return [list(row) for row in a]


def _eliminate(a: list[list[Any]], b: list[list[Any]]) -> Any:
    """Bring a to triangular form, and do the same to b; returns the sign of the exchanges of rows."""
    sign = 1.0
    for k in range(len(a)):
        best = k
        for i in range(k + 1, len(a)):
            if abs(a[i][k]) > abs(a[best][k]):
                best = i
        if a[best][k] == 0.0:
            return 0.0
        if best != k:
            a[k], a[best], b[k], b[best], sign = a[best], a[k], b[best], b[k], -sign
        for i in range(k + 1, len(a)):
            factor = a[i][k] / a[k][k]
            a[i] = [x - factor * y if j > k else x for j, (x, y) in enumerate(zip(a[i], a[k]))]
            b[i] = [x - factor * y for x, y in zip(b[i], b[k])]
    return sign


def solve(a: Any, b: Any) -> Any:
    """np.linalg.solve: elimination with pivots."""
    b = np.asarray(b, dtype=object)
    left, right = _rows(a), _rows(b.reshape(len(b), -1))
    if _eliminate(left, right) == 0.0:
        raise np.linalg.LinAlgError("Singular matrix")
    for k in reversed(range(len(left))):
        for j in range(k + 1, len(left)):
            right[k] = [x - left[k][j] * y for x, y in zip(right[k], right[j])]
        right[k] = [x / left[k][k] for x in right[k]]
    found = np.empty((len(left), len(right[0])), dtype=object)
    for i, row in enumerate(right):
        found[i, :] = row
    return found.reshape(b.shape)


def inv(a: Any) -> Any:
    """np.linalg.inv"""
    return solve(a, np.eye(len(a)))


def det(a: Any) -> Any:
    """np.linalg.det"""
    left = _rows(a)
    found: Any = _eliminate(left, [[] for _ in left])
    for k in range(len(left)):
        found = found * left[k][k]
    return found


def cholesky(a: Any) -> Any:
    """np.linalg.cholesky: the lower triangle."""
    n = len(a)
    found = np.empty((n, n), dtype=object)
    found.fill(np.float64(0.0))
    for i in range(n):
        for j in range(i + 1):
            x = a[i, j]
            for k in range(j):
                x = x - found[i, k] * found[j, k]
            if i == j and not x > 0.0:
                raise np.linalg.LinAlgError("Matrix is not positive definite")
            found[i, j] = math.sqrt(x) if i == j else x / found[j, j]
    return found


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp"""
    if period is not None:
        raise TypeError("np.interp with a period is not known for Values\n  Reduce x by % first.")
    places, values = list(xp), list(fp)

    def one(at: Any) -> Any:
        if at < places[0]:
            return values[0] if left is None else left
        if at > places[-1]:
            return values[-1] if right is None else right
        k = min(_position(places, at, "right"), len(places) - 1) - 1
        if k < 0:
            return values[0]
        return values[k] + (values[k + 1] - values[k]) / (places[k + 1] - places[k]) * (at - places[k])

    return _each(one, x)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """np.searchsorted"""
    if sorter is not None:
        raise TypeError("np.searchsorted with a sorter is not known for Values\n  Sort the array first.")
    places = list(a)
    found = _each(lambda x: _position(places, x, side), v)
    return found.astype(np.intp) if isinstance(found, np.ndarray) else np.intp(found)


def _position(places: list[Any], x: Any, side: str) -> int:
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if places[middle] < x or (side == "right" and places[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    if isinstance(x, (list, tuple, np.ndarray)) and np.ndim(x):
        items = np.asarray(x, dtype=object).view(np.ndarray)
        found = np.empty(items.shape, dtype=object)
        for k, item in enumerate(items.flat):
            found.flat[k] = function(item)
        return found
    return function(x)


class SlogDet(NamedTuple):
    """What np.linalg.slogdet returns."""

    sign: Any
    logabsdet: Any


def slogdet(a: Any) -> Any:
    """np.linalg.slogdet: the sign of a determinant, and the logarithm of its size."""
    left = _rows(a)
    sign: Any = _eliminate(left, [[] for _ in left])
    size: Any = 0.0 if sign else math.log(abs(det(a)))  # -inf, and a gradient of nan
    for k in range(len(left) if sign else 0):
        sign, size = (sign if left[k][k] > 0.0 else -sign), size + math.log(abs(left[k][k]))
    return SlogDet(np.float64(sign), size)


def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """np.quantile: between the two numbers that are nearest in order."""
    if method != "linear" or keepdims:
        raise TypeError("np.quantile of Values is linear between two numbers, without keepdims")

    def of_line(line: Any) -> Any:
        places = np.sort(line)
        at = (len(places) - 1) * q
        k = min(int(at), max(len(places) - 2, 0))
        return places[k] if len(places) == 1 else places[k] + (places[k + 1] - places[k]) * (at - k)

    if np.ndim(q):
        return np.array([quantile(a, one, axis) for one in q], dtype=object)
    a = np.asarray(a, dtype=object)
    return of_line(a.ravel()) if axis is None else np.apply_along_axis(of_line, axis, a)


def percentile(a: Any, q: Any, axis: Any = None, **options: Any) -> Any:
    """np.percentile"""
    return quantile(a, np.asarray(q)[()] / 100.0, axis, **options)


def median(a: Any, axis: Any = None, **options: Any) -> Any:
    """np.median"""
    return quantile(a, 0.5, axis, **options)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """np.digitize: which of the intervals between the bins a number lies in."""
    falling = len(bins) > 1 and bins[0] > bins[-1]
    found = searchsorted(bins[::-1] if falling else bins, x, "left" if right else "right")
    return len(bins) - found if falling else found


def rounded(a: Any, decimals: int = 0) -> Any:
    """np.round, which scales, rounds and scales back."""
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        return _each(math.round, a)
    up, down = (operator.mul, operator.truediv) if decimals > 0 else (operator.truediv, operator.mul)
    return _each(lambda x: down(math.round(up(x, scale)), scale), a)


def sinc(x: Any) -> Any:
    """np.sinc: sin(πx)/(πx), with its limit at 0."""

    def one(x: Any) -> Any:
        u = math.pi * x
        series = 1.0 - u * u / 6.0 * (1.0 - u * u / 20.0)
        return math.where(abs(u) < 1e-3, series, math.sin(u) / math.where(u == 0.0, 1.0, u))

    return _each(one, x)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num"""
    most = np.finfo(float).max
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    return _each(
        lambda v: math.where(v != v, nan, math.where(v == math.inf, high, math.where(v == -math.inf, low, v))), x
    )


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """np.isclose, of two numbers or arrays."""

    def one(x: Any, y: Any) -> bool:
        if x == y or (equal_nan and x != x and y != y):
            return True
        return bool(abs(y) < math.inf and abs(x - y) <= atol + rtol * abs(y))

    made = np.frompyfunc(one, 2, 1)(*[np.asarray(v, dtype=object) for v in (a, b)])
    return made.astype(bool) if isinstance(made, np.ndarray) else np.bool_(made)


def gradient(f: Any, spacing: Any = 1.0, *more: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient along the one axis: differences to both neighbours, and to the only one at the ends."""
    values = list(f)
    if more or np.ndim(f) != 1 or edge_order != 1 or axis not in (None, 0, -1):
        raise TypeError("np.gradient of Values is known along one axis, with edge_order=1")
    apart = list(np.diff(np.asarray(spacing, dtype=object))) if np.ndim(spacing) else []
    steps = apart or [spacing] * (len(values) - 1)
    found = np.empty(len(values), dtype=object)
    for k in range(len(values)):
        if k in (0, len(values) - 1):
            j = min(k, len(steps) - 1)
            found[k] = (values[j + 1] - values[j]) / steps[j]
        elif np.ndim(spacing):
            s, d = steps[k - 1], steps[k]
            inner = s * s * values[k + 1] + (d * d - s * s) * values[k] - d * d * values[k - 1]
            found[k] = inner / (s * d * (d + s))
        else:
            found[k] = (values[k + 1] - values[k - 1]) / (2.0 * spacing)
    return found


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    """np.cov, without weights."""
    rows = [np.atleast_2d(np.asarray(part, dtype=object)) for part in (m, y) if part is not None]
    x = np.concatenate([part if rowvar or len(part) == 1 else part.T for part in rows])
    x = x - x.mean(axis=1).reshape(-1, 1)
    freedom = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return (x @ x.T / freedom).squeeze()


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """np.corrcoef"""
    c = cov(x, y, rowvar)
    deviations = [math.sqrt(c[k, k]) for k in range(len(c))]
    return np.array(
        [[c[i, j] / (a * b) for j, b in enumerate(deviations)] for i, a in enumerate(deviations)], dtype=object
    )


def nansum(a: Any, axis: Any = None) -> Any:
    """np.nansum"""
    return np.sum(nan_to_num(a, posinf=math.inf, neginf=-math.inf), axis=axis)


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0) -> Any:
    """np.logspace"""
    return _each(lambda x: math.pow(base, x), np.linspace(start, stop, num, endpoint))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select: the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        found = np.where(condition, choice, found)
    return found


OWN: dict[str, Callable[..., Any]] = {
    "solve": solve, "inv": inv, "det": det, "cholesky": cholesky, "interp": interp, "searchsorted": searchsorted,
    "slogdet": slogdet, "median": median, "quantile": quantile, "percentile": percentile, "digitize": digitize,
    "round": rounded, "around": rounded, "sinc": sinc, "nan_to_num": nan_to_num, "isclose": isclose,
    "gradient": gradient, "cov": cov, "corrcoef": corrcoef, "nansum": nansum, "logspace": logspace,
    "select": select, "real": lambda x: _each(lambda v: v, x),
}  # fmt: skip
