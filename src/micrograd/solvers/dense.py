"""Small dense linear algebra in plain Python: lu, solve, cholesky, eigh.

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
from micrograd.math import stop_gradient, where
from micrograd.ops import OPS
from micrograd.primitive import AS_LOOPS, primitive

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


# ---- the same as loops over numbers, for typed tapes: the same sums in the same order. Values take the functions above, which
# make one node for a whole sum.


def _lu_by_loops(a: Any) -> tuple[list[list[Any]], list[Any]]:
    n, width = len(a), len(a[0])
    a = [[1.0 * a[i][j] for j in range(width)] for i in range(n)]
    order: list[Any] = [float(i) for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            larger = math.gt(math.abs(a[i][k]), math.abs(a[k][k]))
            for j in range(width):
                upper, lower = a[k][j], a[i][j]
                a[k][j], a[i][j] = where(larger, lower, upper), where(larger, upper, lower)
            first, second = order[k], order[i]
            order[k], order[i] = where(larger, second, first), where(larger, first, second)
        for i in range(k + 1, n):
            factor = apply(DIV, a[i][k], a[k][k])
            a[i][k] = factor
            for j in range(k + 1, width):
                a[i][j] = a[i][j] - factor * a[k][j]
    return a, order


def _lu_solve_by_loops(factors: tuple[list[list[Any]], list[Any]], b: Any) -> list[Any]:
    a, order = factors
    n = len(order)
    x = [0.0 for _ in range(n)]
    for i in range(n):
        total = 0.0
        for k in range(n):
            total = total + where(math.eq(order[i], float(k)), b[k], 0.0)
        x[i] = total
    for i in range(1, n):
        total = 0.0
        for k in range(i):
            total = total + a[i][k] * x[k]
        x[i] = x[i] - total
    x[n - 1] = apply(DIV, x[n - 1], a[n - 1][n - 1])
    for i in range(n - 2, -1, -1):
        total = 0.0
        for k in range(i + 1, n):
            total = total + a[i][k] * x[k]
        x[i] = apply(DIV, x[i] - total, a[i][i])
    return x


def _cholesky_by_loops(a: Any) -> list[list[Any]]:
    n = len(a)
    found = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(j):
                total = total + found[i][k] * found[j][k]
            found[i][j] = apply(DIV, a[i][j] - total, found[j][j])
        total = 0.0
        for k in range(i):
            total = total + found[i][k] * found[i][k]
        found[i][i] = math.sqrt(a[i][i] - total)
    return found


def _solve_by_loops(a: Any, b: Any) -> list[Any]:
    return lu_solve(lu(a), b)  # each as loops


AS_LOOPS.update({lu: _lu_by_loops, lu_solve: _lu_solve_by_loops, cholesky: _cholesky_by_loops, solve: _solve_by_loops})


SWEEPS = 30  # of Jacobi's method: far more than it takes
CLOSE = 1e-13  # eigenvalues that are nearer than this part of the largest one are equal


@primitive(lambda x, equal, y: math.where(equal, math.nan, 0.0), lambda x, equal, y: 0.0, name="slope_if_equal")
def _slope_if_equal(x: Any, equal: Any) -> Any:
    return math.where(equal, 1.0, 0.0)


@primitive(
    lambda y, first, refined, equal, out: 0.0,
    lambda y, first, refined, equal, out: _slope_if_equal(first, equal),
    lambda y, first, refined, equal, out: math.where(equal, 0.0, 1.0),
    lambda y, first, refined, equal, out: 0.0,
    name="eigenvalue",
)
def _eigenvalue(y: Any, first: Any, refined: Any, equal: Any) -> Any:
    """The number y with the derivatives of what was refined; where it is equal to another one, those of the first order."""
    return y


@primitive(
    lambda y, refined, equal, out: 0.0,
    lambda y, refined, equal, out: math.where(equal, math.nan, 1.0),
    lambda y, refined, equal, out: 0.0,
    name="eigenvector",
)
def _eigenvector(y: Any, refined: Any, equal: Any) -> Any:
    """The number y with the derivatives of what was refined; they are nan where the eigenvalue is equal to another one."""
    return y


def eigh(a: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return the eigenvalues of a symmetric matrix, the smallest first, and the matrix whose columns are its eigenvectors.

    Only the lower triangle is read. The largest part of each eigenvector is positive. Derivatives are right up to the third
    order. Where eigenvalues are equal, their eigenvectors have none (nan), and they themselves have those of the first order
    along the eigenvectors that were found: symmetric functions of equal eigenvalues, such as their sum, have right gradients.

    >>> from micrograd import grad
    >>> from micrograd.solvers import eigh
    >>> values, vectors = eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> [round(v, 9) for v in values]
    [1.0, 3.0]
    >>> round(grad(lambda s: eigh([[2.0, s], [s, 3.0]])[0][1])(1.0), 9)  # 2s / √(1 + 4s²)
    0.894427191
    """
    n = len(a)
    a = [[a[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    values, columns = _sorted(*_jacobi([[stop_gradient(v) for v in row] for row in a]))
    largest = math.max([math.abs(v) for v in values])
    first = [math.dot(c, [math.dot(row, c) for row in a]) for c in columns]
    # Each step of this refinement (Ogita, Aishima 2018) doubles the orders of the derivatives that are right.
    equal = [
        [
            math.le(math.abs(values[i] - values[j]), CLOSE * largest) if i != j else 0.0
            for j in range(n)
        ]
        for i in range(n)
    ]  # fmt: skip
    x, refined = columns, values
    for _ in range(2):
        images = [[math.dot(row, c) for row in a] for c in x]
        rest = [[(1.0 if i == j else 0.0) - math.dot(x[i], x[j]) for j in range(n)] for i in range(n)]
        parts = [[math.dot(x[i], images[j]) for j in range(n)] for i in range(n)]
        refined = [apply(DIV, parts[i][i], 1.0 - rest[i][i]) for i in range(n)]
        moved = []
        for j in range(n):
            weights = [
                0.5 * rest[j][j]
                if i == j
                else where(
                    equal[i][j],
                    0.0,
                    apply(DIV, parts[i][j] + refined[j] * rest[i][j], where(equal[i][j], 1.0, refined[j] - refined[i])),
                )
                for i in range(n)
            ]
            moved.append([x[j][k] + math.sum([weights[i] * x[i][k] for i in range(n)]) for k in range(n)])
        x = moved
    images = [[math.dot(row, c) for row in a] for c in x]
    refined = [apply(DIV, math.dot(c, image), math.dot(c, c)) for c, image in zip(x, images)]
    shared = [math.max(row) for row in equal]
    found = [_eigenvalue(*numbers) for numbers in zip(values, first, refined, shared)]
    vectors = [[_eigenvector(v, w, e) for v, w in zip(columns[j], x[j])] for j, e in enumerate(shared)]
    return found, [[vectors[j][i] for j in range(n)] for i in range(n)]


def _turned(row: list[Any], p: int, q: int, c: Any, s: Any) -> list[Any]:
    return [c * x - s * row[q] if k == p else s * row[p] + c * x if k == q else x for k, x in enumerate(row)]


def _turned_rows(rows: list[list[Any]], p: int, q: int, c: Any, s: Any) -> list[list[Any]]:
    columns = [_turned([row[j] for row in rows], p, q, c, s) for j in range(len(rows))]
    return [[column[i] for column in columns] for i in range(len(rows))]


def _jacobi(a: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Return eigenvalues and eigenvectors (as rows), by rotations that make one number off the diagonal 0 after the other."""
    n = len(a)
    v: list[list[Any]] = [[1.0 * (i == j) + 0.0 * a[0][0] for j in range(n)] for i in range(n)]
    size = math.sum([x * x for row in a for x in row])
    sweep, off = 0, size
    while sweep < SWEEPS and off > 1e-34 * size:
        for p in range(n - 1):
            for q in range(p + 1, n):
                flat = math.eq(a[p][q], 0.0)
                theta = apply(DIV, a[q][q] - a[p][p], where(flat, 1.0, 2.0 * a[p][q]))
                t = apply(DIV, where(math.lt(theta, 0.0), -1.0, 1.0), math.abs(theta) + math.hypot(1.0, theta))
                t = where(flat, 0.0, t)
                c = apply(DIV, 1.0, math.hypot(1.0, t))
                s = t * c
                half = [_turned(row, p, q, c, s) for row in a]
                a = _turned_rows(half, p, q, c, s)
                v = _turned_rows(v, p, q, c, s)
        off = math.sum([a[i][j] * a[i][j] for i in range(n) for j in range(n) if i != j])
        sweep += 1
    return [a[i][i] for i in range(n)], v


def _sorted(values: list[Any], rows: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Sort by exchanges of neighbours, which are the same in every row of a batch, and fix the signs of the vectors."""
    n = len(values)
    for end in range(n - 1, 0, -1):
        for k in range(end):
            swap = math.gt(values[k], values[k + 1])
            values[k], values[k + 1] = where(swap, values[k + 1], values[k]), where(swap, values[k], values[k + 1])
            upper = [where(swap, y, x) for x, y in zip(rows[k], rows[k + 1])]
            lower = [where(swap, x, y) for x, y in zip(rows[k], rows[k + 1])]
            rows[k], rows[k + 1] = upper, lower
    signed = []
    for row in rows:
        largest = row[0]
        for x in row[1:]:
            largest = where(math.gt(math.abs(x), math.abs(largest)), x, largest)
        sign = where(math.lt(largest, 0.0), -1.0, 1.0)
        signed.append([sign * x for x in row])
    return values, signed


__all__ = ["cholesky", "eigh", "lu", "lu_solve", "solve"]
