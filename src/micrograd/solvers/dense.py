"""Small dense linear algebra in plain Python: lu, solve, cholesky.

Matrices are lists of lists, or arrays. Pivots are exchanged by `where` and not by an index, so that a compiled function does
the same work for all rows of a batch, and derivatives of every order are those of the arithmetic.

>>> from micrograd.solvers import solve
>>> solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0])
[0.8, 1.4]
"""

from __future__ import annotations

from typing import Any

from micrograd import math
from micrograd.engine import apply
from micrograd.math import where
from micrograd.ops import OPS

DIV = OPS["div"]  # of IEEE: inf and nan where Python's `/` raises an error for numbers, as compiled code does


def lu(a: Any) -> tuple[list[list[Any]], list[Any]]:
    """Factor a square matrix with partial pivoting: the triangles L (its diagonal of ones left out) and U, in one matrix.

    The second result is the order of the rows: row `order[i]` of the matrix is row i of L·U. Its numbers are whole, but floats.

    >>> from micrograd.solvers import lu
    >>> lu([[1.0, 2.0], [4.0, 4.0]])
    ([[4.0, 4.0], [0.25, 1.0]], [1.0, 0.0])
    """
    a = [list(row) for row in a]
    n = len(a)
    order: list[Any] = [float(i) for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            larger = math.gt(math.abs(a[i][k]), math.abs(a[k][k]))
            upper, lower = a[k], a[i]
            a[k] = [where(larger, y, x) for x, y in zip(upper, lower)]
            a[i] = [where(larger, x, y) for x, y in zip(upper, lower)]
            order[k], order[i] = where(larger, order[i], order[k]), where(larger, order[k], order[i])
        for i in range(k + 1, n):
            factor = apply(DIV, a[i][k], a[k][k])
            a[i] = a[i][:k] + [factor] + [y - factor * x for x, y in zip(a[k][k + 1 :], a[i][k + 1 :])]
    return a, order


def lu_solve(factors: tuple[list[list[Any]], list[Any]], b: Any) -> list[Any]:
    """Solve a·x = b, where `factors` is lu(a).

    >>> from micrograd.solvers import lu, lu_solve
    >>> lu_solve(lu([[1.0, 2.0], [4.0, 4.0]]), [3.0, 8.0])
    [1.0, 1.0]
    """
    a, order = factors
    given, n = list(b), len(order)
    x = [math.sum([where(math.eq(place, float(i)), given[i], 0.0) for i in range(n)]) for place in order]
    for i in range(1, n):
        x[i] = x[i] - math.dot(a[i][:i], x[:i])
    x[n - 1] = apply(DIV, x[n - 1], a[n - 1][n - 1])
    for i in range(n - 2, -1, -1):
        x[i] = apply(DIV, x[i] - math.dot(a[i][i + 1 :], x[i + 1 :]), a[i][i])
    return x


def solve(a: Any, b: Any) -> list[Any]:
    """Solve the linear system a·x = b by elimination with partial pivoting.

    A singular matrix gives inf and nan, and no error.

    >>> from micrograd import grad
    >>> from micrograd.solvers import solve
    >>> grad(lambda s: solve([[s, 1.0], [1.0, 2.0]], [1.0, 0.0])[0])(1.0)
    -4.0
    """
    return lu_solve(lu(a), b)


def cholesky(a: Any) -> list[list[Any]]:
    """Factor a symmetric positive definite matrix: the lower triangle L with a = L·Lᵀ. The upper triangle of a is not read.

    The numbers are nan if the matrix is not positive definite.

    >>> from micrograd.solvers import cholesky
    >>> cholesky([[4.0, 2.0], [2.0, 5.0]])
    [[2.0, 0.0], [1.0, 2.0]]
    """
    n = len(a)
    found: list[list[Any]] = []
    for i in range(n):
        row: list[Any] = []
        for j in range(i):
            row.append(apply(DIV, a[i][j] - math.dot(row, found[j][:j]), found[j][j]))
        row.append(math.sqrt(a[i][i] - math.dot(row, row)))
        found.append(row)
    return [row + [0.0] * (n - len(row)) for row in found]


__all__ = ["cholesky", "lu", "lu_solve", "solve"]
