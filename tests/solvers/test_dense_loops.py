"""Compiled functions run solve, lu and cholesky as loops: the numbers of eager code, and tapes that do not grow with n."""

from __future__ import annotations

import numpy as np
import pytest

from micrograd import engine, grad, jit, math, value_and_grad
from micrograd.primitive import AS_LOOPS
from micrograd.solvers import cholesky, lu, lu_solve, solve

pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="there is no machine code beside the Python twin")


def matrix(n, x):
    """A positive definite matrix that depends on x, as loops."""
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(math.exp(-0.1 * x * (i - j) ** 2) + (0.5 if i == j else 0.0))
        rows.append(row)
    return rows


def solved(n):
    return lambda x: sum(v * (k + 1.0) for k, v in enumerate(solve(matrix(n, x), [1.0] * n)))


def shuffled(n):
    """Rows in an order in which each pivot has to be exchanged."""

    def f(x):
        a = matrix(n, x)
        factors = lu([a[n - 1 - i] for i in range(n)])
        total = 0.0
        for k, v in enumerate(lu_solve(factors, [float(k) for k in range(n)])):
            total = total + v * v * (k + 1.0)
        return total

    return f


def volume(n):
    def f(x):
        factor, total = cholesky(matrix(n, x)), 0.0
        for i in range(n):
            total = total + math.log(factor[i][i]) + factor[n - 1][i]
        return total

    return f


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("of", [solved, shuffled, volume])
def test_values_and_gradients_are_those_of_eager_code(of, n):
    f = of(n)
    compiled = jit(value_and_grad(f), wait=True)
    for x in (0.3, 1.7):
        value, slope = compiled(x)
        step = 1e-6
        assert value == pytest.approx(f(x), rel=1e-13)
        assert slope == pytest.approx(grad(f)(x), rel=1e-10)
        assert slope == pytest.approx((f(x + step) - f(x - step)) / (2 * step), rel=1e-6, abs=1e-7)
    assert jit(grad(grad(f)), wait=True)(0.7) == pytest.approx(grad(grad(f))(0.7), rel=1e-9)


@pytest.mark.parametrize("n", [2, 7])
def test_with_arrays_as_numpy_has_it(n):
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    positive = a @ a.T + np.eye(n)
    by_a, by_b = jit(grad(lambda a, b: sum(solve(a, b)), (0, 1)), wait=True)(a, b)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(jit(solve, wait=True)(a, b), np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(by_b, inverse.sum(0), rtol=1e-9)
    np.testing.assert_allclose(by_a, -np.outer(inverse.sum(0), inverse @ b), rtol=1e-8)
    np.testing.assert_allclose(jit(cholesky, wait=True)(positive), np.linalg.cholesky(positive), rtol=1e-12, atol=1e-15)
    found, order = jit(lu, wait=True)(a)
    lower = np.tril(found, -1) + np.eye(n)
    np.testing.assert_allclose(lower @ np.triu(found), a[np.array(order).astype(int)], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("of", [solved, shuffled, volume])
def test_tapes_do_not_grow_with_the_matrix(of):
    lengths = []
    for n in (6, 12):
        compiled = jit(value_and_grad(of(n)), wait=True)
        compiled(0.5)
        typed = compiled._typed_variant((0.5,), {})
        assert typed is not None
        lengths.append(len(str(typed.tape).splitlines()))
    assert lengths[1] <= lengths[0] + 4


def test_what_is_singular_or_not_definite_is_as_in_eager_code():
    for f in (lambda x: solve([[x, x], [x, x]], [1.0, 2.0])[0], lambda x: cholesky([[x, 2.0], [2.0, 1.0]])[1][1]):

        def looped(x, f=f):
            total = 0.0
            for _ in range(2):
                total = total + f(x)
            return total

        got, want = jit(looped, wait=True)(1.0), looped(1.0)
        assert got == want or (got != got and want != want)


def test_each_of_them_gives_the_bits_of_the_function_it_stands_for():
    rng = np.random.default_rng(3)
    for n in (1, 2, 5):
        a = rng.standard_normal((n, n))
        a = (a @ a.T + np.eye(n)).tolist()
        for function, loops in AS_LOOPS.items():
            args = {solve: (a, a[0]), lu: (a,), cholesky: (a,), lu_solve: (lu(a), a[0])}[function]
            assert loops(*args) == function(*args)
