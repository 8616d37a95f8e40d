"""Functions of NumPy's that look into the elements, written out for arrays of Values: np.linalg.solve, np.interp and others.

NumPy's own code for them reads floats. Here they are plain Python over the elements, so that the ops of the table carry the
derivatives; which pivot is taken, and between which points an interpolation lies, is decided by comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


OWN: dict[str, Callable[..., Any]] = {
    "solve": solve, "inv": inv, "det": det, "cholesky": cholesky, "interp": interp, "searchsorted": searchsorted,
}  # fmt: skip
