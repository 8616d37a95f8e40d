"""lu, solve and cholesky beside NumPy, and their derivatives beside finite differences and closed forms."""

from __future__ import annotations

import importlib

import pytest

from micrograd import grad, jacobian, jit, math, value_and_grad, vmap
from micrograd.solvers import cholesky, eigh, lu, lu_solve, solve
from micrograd.testing import check
from random_programs import needs_llvm

np = pytest.importorskip("numpy")


def systems(n, count=4):
    rng = np.random.default_rng(n)
    return rng.normal(size=(count, n, n)), rng.normal(size=(count, n))


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_solutions_are_numpys(n):
    for a, b in zip(*systems(n)):
        wanted = np.linalg.solve(a, b)
        assert np.allclose(solve(a, b), wanted, rtol=1e-10)
        assert np.allclose(solve(a.tolist(), b.tolist()), wanted, rtol=1e-10)


def test_factors_and_order_make_the_matrix():
    for a in systems(6)[0]:
        factors, order = lu(a)
        lower = np.tril(factors, -1) + np.eye(6)
        assert np.allclose(lower @ np.triu(factors), a[[int(k) for k in order]])
        assert np.abs(lower).max() <= 1.0
        for k in range(6):
            assert np.allclose(a @ lu_solve((factors, order), np.eye(6)[k]), np.eye(6)[k])


def test_a_zero_in_the_corner_is_exchanged():
    assert solve([[0.0, 2.0], [1.0, 0.0]], [4.0, 3.0]) == [3.0, 2.0]


def test_a_singular_matrix_gives_no_numbers_and_no_error():
    found = solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0])
    assert not any(math.isfinite(x) for x in found)


def inverse_of(a):
    n = len(a)
    return [solve(a, [float(i == k) for i in range(n)]) for k in range(n)]


def test_the_derivative_of_an_inverse():
    a = systems(3)[0][0]
    inverse = np.linalg.inv(a)
    slopes = np.array(jacobian(inverse_of)(a.tolist()))  # [k][i][p][q]: of inverse[i][k] by a[p][q]
    assert np.allclose(slopes, -np.einsum("ip,qk->kipq", inverse, inverse), rtol=1e-9)


def entries(a, b, c):
    return solve([[a, b, 1.0], [c, a, 2.5], [1.0, -1.0, b]], [1.0, c, 3.0])[1]


def corner(a, b, c):
    return cholesky([[a + 4.0, b, 1.0], [b, a + 5.0, 2.0], [1.0, 2.0, c + 10.0]])[2][2]


@needs_llvm
@pytest.mark.parametrize("f", [entries, corner])
def test_every_way_to_run_gives_the_same(f):
    check(f, [(1.0, 0.5, 2.0), (0.3, 2.0, 1.0), (-4.0, 1.5, 0.5)][: 2 + (f is entries)], order=2).raise_if_wrong()


@needs_llvm
def test_rows_choose_their_own_pivots():
    a, b = systems(5, 200)
    found, (by_a, by_b) = vmap(value_and_grad(lambda a, b: solve(a, b)[0], (0, 1)))(a, b)
    x = np.linalg.solve(a, b[..., None])[..., 0]
    first = np.linalg.inv(a)[:, 0, :]
    assert np.allclose(found, x[:, 0], rtol=1e-8)
    assert np.allclose(by_b, first, rtol=1e-8)
    assert np.allclose(by_a, -first[:, :, None] * x[:, None, :], rtol=1e-7)
    assert jit(lambda a, b: solve(a, b)[0])(a[0], b[0]) == pytest.approx(x[0, 0])


def test_cholesky_factors_are_numpys():
    for a in systems(6)[0]:
        a = a @ a.T + np.eye(6)
        assert np.allclose(cholesky(a), np.linalg.cholesky(a), rtol=1e-12)
    assert math.isnan(cholesky([[1.0, 2.0], [2.0, 1.0]])[1][1])


def test_the_gradient_of_a_log_determinant_is_the_inverse():
    a = systems(4)[0][0]
    a = a @ a.T + np.eye(4)

    def logdet(a):
        factor = cholesky(a)
        return 2.0 * sum(math.log(factor[k][k]) for k in range(4))

    slopes = np.array(grad(logdet)(a.tolist()))
    assert np.allclose(slopes, np.tril(2.0 * np.linalg.inv(a)) - np.diag(np.diag(np.linalg.inv(a))), rtol=1e-9)


def test_values_of_both_engines(twin):
    solvers = importlib.import_module("micrograd.solvers")
    a = twin.Value(2.0)
    x = solvers.solve([[a, 1.0], [1.0, a]], [1.0, 0.0])[0]  # a/(a² - 1)
    x.backward()
    assert (x.data, a.grad) == (pytest.approx(2 / 3), pytest.approx(-5 / 9))
    a.grad = 0.0
    solvers.cholesky([[a, 1.0], [1.0, a]])[1][1].backward()  # √(a - 1/a)
    assert a.grad == pytest.approx(0.5 * 1.25 / 1.5**0.5)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_eigenvalues_and_vectors_are_numpys(n):
    for a in systems(n)[0]:
        a = a + a.T
        values, vectors = eigh(a.tolist())
        assert np.allclose(values, np.linalg.eigvalsh(a), rtol=1e-12, atol=1e-13)
        assert np.allclose(np.array(vectors) @ np.diag(values) @ np.array(vectors).T, a, rtol=1e-12, atol=1e-13)
        assert np.allclose(np.array(vectors).T @ np.array(vectors), np.eye(n), atol=1e-13)


def matrix_of(s):
    return [[2.0, s, 0.3], [s, 3.0, s * s], [0.3, s * s, 1.0]]


def test_derivatives_of_eigenvalues_beside_mpmath():
    mpmath = pytest.importorskip("mpmath")

    def exact(s, k):
        return sorted(mpmath.eigsy(mpmath.matrix(matrix_of(s)), eigvals_only=True))[k]

    with mpmath.workdps(30):
        for k in range(3):
            f = lambda s, k=k: eigh(matrix_of(s))[0][k]  # noqa: E731
            for order in (1, 2, 3):
                f = grad(f)
                wanted = float(mpmath.diff(lambda s, k=k: exact(s, k), mpmath.mpf("0.7"), order))
                assert f(0.7) == pytest.approx(wanted, rel=1e-10)


def test_derivatives_of_eigenvectors_beside_differences():
    def f(s):
        return eigh(matrix_of(s))[1][0][1]

    for g in (f, grad(f), grad(grad(f))):
        h = 1e-3
        wanted = (g(0.7 - 2 * h) - 8 * g(0.7 - h) + 8 * g(0.7 + h) - g(0.7 + 2 * h)) / (12 * h)
        assert grad(g)(0.7) == pytest.approx(wanted, rel=1e-7)


def test_equal_eigenvalues():
    def total(s):
        return sum(math.exp(v) for v in eigh([[1.0 + s, s], [s, 1.0]])[0])

    assert grad(total)(0.0) == pytest.approx(math.e)
    assert math.isnan(grad(grad(total))(0.0))  # the eigenvalues move as a root does, one by one
    assert eigh([[1.0, 0.0], [0.0, 1.0]])[0] == [1.0, 1.0]
    assert math.isnan(grad(lambda s: eigh([[1.0 + s, s], [s, 1.0]])[1][0][0])(0.0))
    assert grad(lambda s: eigh([[1.0, 0.0], [0.0, 2.0 + s]])[0][1])(0.0) == 1.0


@needs_llvm
def test_eigenvalues_of_each_row():
    def f(s):
        return eigh(matrix_of(s))[0][1]

    mapped = vmap(value_and_grad(f))
    rows = np.linspace(0.1, 1.0, 7)
    values, slopes = mapped(rows)
    for k, s in enumerate(rows.tolist()):
        assert (values[k], slopes[k]) == pytest.approx(value_and_grad(f)(s), rel=1e-11)
    assert len(list(mapped.variants)) == 1
