"""root_scalar, root, fixed_point and implicit: solutions and their derivatives beside closed forms and mpmath."""

from __future__ import annotations

import importlib

import pytest

from micrograd import TraceError, Value, grad, hessian, jit, math, value_and_grad, vmap
from micrograd.solvers import fixed_point, implicit, root, root_scalar
from random_programs import needs_llvm

mpmath = pytest.importorskip("mpmath")


def cube_root(a):
    return root_scalar(lambda x: x * x * x - a, 1.0)


def cube_root_between(a):
    return root_scalar(lambda x: x * x * x - a, bracket=(0.0, 20.0))


def cube_root_of_a_fixed_point(a):
    return fixed_point(lambda x: 0.5 * (x + math.sqrt(a / x)), 1.0)


def first_of_two(a):  # x = a^(1/3) and y = a^(2/3)
    return root(lambda v: [v[0] * v[1] - a, v[1] - v[0] * v[0]], [1.0, 1.5])[0]


def second_of_two(a):  # the square root of y is the cube root of a
    return math.sqrt(root(lambda v: (v[0] * v[1] - a, v[1] - v[0] * v[0]), (1.0, 1.5))[1])


def fixed_list(a):
    return fixed_point(lambda v: [0.5 * (v[0] + math.sqrt(a / v[1])), v[0]], [1.0, 1.0])[1]


@implicit
def bisect(f, low, high):
    for _ in range(60):
        middle = (low + high) / 2
        if f(middle) > 0.0:
            high = middle
        else:
            low = middle
    return middle


def cube_root_by_bisection(a):
    return bisect(lambda x: x**3 - a, 0.0, 20.0)


CUBE_ROOTS = [
    cube_root,
    cube_root_between,
    cube_root_of_a_fixed_point,
    first_of_two,
    second_of_two,
    fixed_list,
    cube_root_by_bisection,
]


def expected(order, a):
    factor, power = 1.0, 1 / 3
    for _ in range(order):
        factor, power = factor * power, power - 1.0
    return factor * a**power


def derivative(f, order):
    for _ in range(order):
        f = grad(f)
    return f


@pytest.mark.parametrize("f", CUBE_ROOTS)
class TestCubeRoots:
    @pytest.mark.parametrize("order", range(4))
    def test_eager(self, f, order):
        for a in (0.5, 8.0, 1000.0):
            assert derivative(f, order)(a) == pytest.approx(expected(order, a), rel=1e-9)

    @needs_llvm
    @pytest.mark.parametrize("order", range(4))
    def test_jit(self, f, order):
        assert jit(derivative(f, order))(8.0) == pytest.approx(expected(order, 8.0), rel=1e-9)

    @needs_llvm
    @pytest.mark.parametrize("order", [0, 2])
    def test_each_row_runs_until_it_has_converged(self, f, order):
        np = pytest.importorskip("numpy")
        rows = [8.0, 0.01, 3000.0, 27.0]
        mapped = vmap(derivative(f, order))
        found = mapped(np.array(rows))
        assert list(found) == pytest.approx([expected(order, a) for a in rows], rel=1e-9)
        assert [mapped(np.array([a]))[0] for a in rows] == list(found)
        assert f is cube_root_by_bisection or len(list(mapped.variants)) == 1


def test_values_of_both_engines_get_the_gradient(twin):
    solvers = importlib.import_module("micrograd.solvers")
    for solve in (
        lambda a: solvers.root_scalar(lambda x: x**3 - a, 1.0),
        lambda a: solvers.root_scalar(lambda x: x**3 - a, bracket=(0.0, a)),
        lambda a: solvers.root(lambda v: [v[0] ** 3 - a, v[1] - v[0]], [1.0, 0.0])[1],
        lambda a: solvers.fixed_point(lambda x: 0.5 * (x + (a / x) ** 0.5), a),
    ):
        a = twin.Value(8.0)
        solve(a).backward()
        assert a.grad == pytest.approx(1 / 12, rel=1e-12)


def kepler(mean, eccentricity):
    return root_scalar(lambda E: E - eccentricity * math.sin(E) - mean, mean)


def test_derivatives_of_keplers_equation_beside_mpmath():
    def exact(m, e):
        return mpmath.findroot(lambda E: E - e * mpmath.sin(E) - m, m)

    with mpmath.workdps(30):
        for orders in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1), (0, 3)):
            f = kepler
            for argnum, count in enumerate(orders):
                for _ in range(count):
                    f = grad(f, argnum)
            wanted = float(mpmath.diff(exact, (mpmath.mpf(1), mpmath.mpf("0.5")), orders))
            assert f(1.0, 0.5) == pytest.approx(wanted, rel=1e-8)


def test_the_hessian_of_a_system_is_that_of_the_closed_form():
    def larger(v):  # of two numbers with this sum and this product
        return root(lambda x: [x[0] + x[1] - v[0], x[0] * x[1] - v[1]], [3.0, 1.0])[0]

    def closed(v):
        return 0.5 * (v[0] + math.sqrt(v[0] * v[0] - 4.0 * v[1]))

    for a, b in zip(hessian(larger)([5.0, 6.0]), hessian(closed)([5.0, 6.0])):
        assert a == pytest.approx(b, rel=1e-10)


def test_more_orders_than_were_asked_for_are_an_error():
    def square_root(a, order=2):
        return root_scalar(lambda x: x * x - a, 1.0, order=order)

    assert derivative(square_root, 2)(4.0) == pytest.approx(-1 / 32)
    with pytest.raises(TraceError, match="order=3"):
        derivative(square_root, 4)(4.0)
    assert math.isnan(derivative(square_root, 3)(4.0))
    deeper = derivative(lambda a: square_root(a, 5), 5)
    assert deeper(1.0) == pytest.approx(105 / 32)
    with pytest.raises(ValueError, match="order is a whole number"):
        square_root(4.0, 0)


@needs_llvm
def test_more_orders_than_were_asked_for_are_an_error_in_compiled_code():
    with pytest.raises(TraceError, match="order=2"):
        jit(derivative(lambda a: root_scalar(lambda x: x * x - a, 1.0, order=1), 2))(4.0)


def test_the_code_of_the_solver_is_not_differentiated():
    @implicit
    def known(f, x):
        return math.stop_gradient(1.4142135623730951) + 0.0 * math.sqrt(abs(x))

    assert grad(lambda a: known(lambda x: x * x - a, a - 2.0))(2.0) == pytest.approx(0.5 / 2**0.5)


def test_a_solver_of_scipys_gets_implicit_derivatives():
    optimize = pytest.importorskip("scipy.optimize")
    brentq = implicit(lambda f, a, b: optimize.brentq(lambda x: float(f(x)), a, b, xtol=1e-14))

    def find(a):
        return brentq(lambda x: x**3 - a, 0.0, 20.0)

    for order in (1, 2, 3):
        assert derivative(find, order)(8.0) == pytest.approx(expected(order, 8.0), rel=1e-9)
    a = Value(8.0)
    find(a).backward()
    assert a.grad == pytest.approx(1 / 12)


class TestWithoutASolution:
    def test_newtons_method_that_does_not_converge_gives_nan(self):
        assert math.isnan(root_scalar(lambda x: x * x + 1.0, 0.7))
        assert all(math.isnan(x) for x in root(lambda v: [v[0] * v[0] + 1.0], [0.7]))
        assert math.isnan(fixed_point(lambda x: 2.0 * x + 1.0, 1.0, max_iterations=50))
        assert math.isnan(root_scalar(lambda x: x * x - 2.0, 1e6, max_iterations=3))

    def test_a_slope_of_zero_at_the_start_gives_nan(self):
        assert math.isnan(root_scalar(lambda x: x * x - 2.0, 0.0))
        assert math.isnan(root(lambda v: [v[0] + v[1], 2.0 * v[0] + 2.0 * v[1] + 1.0], [0.0, 0.0])[0])

    def test_equal_signs_at_the_ends_of_a_bracket_give_nan(self):
        assert math.isnan(root_scalar(lambda x: x * x + 1.0, bracket=(0.0, 1.0)))

    def test_a_start_and_a_bracket_are_one_too_many(self):
        for options in ({}, {"x0": 1.0, "bracket": (0.0, 1.0)}):
            with pytest.raises(TypeError, match="not both"):
                root_scalar(lambda x: x, **options)


class TestRootScalar:
    def test_roots_at_the_ends_of_the_bracket(self):
        for bracket in ((0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
            assert root_scalar(lambda x: x * (x * x + 1.0), bracket=bracket) == 0.0

    def test_functions_that_are_hard_for_interpolation(self):
        for f, a, b, wanted in (
            (lambda x: x**9, -1.0, 4.0, 0.0),
            (lambda x: math.exp(21000.0 / x) * 1e-11 / (1.11 * x * x) - 1.0, 500.0, 1000.0, None),
            (lambda x: (x - 1.0) ** 3, 0.0, 10.0, 1.0),
            (lambda x: math.tanh(50.0 * (x - 0.3)), -20.0, 30.0, 0.3),
        ):
            found = root_scalar(f, bracket=(a, b), max_iterations=200)
            assert a <= found <= b
            if wanted is not None:
                assert abs(found - wanted) < 1e-5
            else:
                assert abs(f(found)) < 1e-9

    def test_a_double_root_keeps_its_value(self):
        found = root_scalar(lambda x: (x - 1.0) * (x - 1.0), 2.0, rtol=1e-6)
        assert found == pytest.approx(1.0, rel=1e-5)

    def test_the_number_is_that_of_the_solver_where_the_slope_is_zero(self):
        assert root_scalar(lambda x: x * x * x, bracket=(-1.0, 1.0)) == 0.0


def test_damped_steps_find_what_full_steps_miss():
    assert math.isnan(root_scalar(math.atan, 2.0))
    assert root(lambda v: [math.atan(v[0])], [2.0])[0] == pytest.approx(0.0, abs=1e-12)
    powell = root(lambda v: [1e4 * v[0] * v[1] - 1.0, math.exp(-v[0]) + math.exp(-v[1]) - 1.0001], [0.0, 1.0])
    assert powell == pytest.approx([1.098159e-5, 9.106146], rel=1e-5)


@needs_llvm
def test_thousands_of_roots_at_once():
    np = pytest.importorskip("numpy")
    means, e = np.linspace(0.1, 3.0, 5000), np.linspace(0.0, 0.7, 5000)
    found, (by_mean, by_e) = vmap(value_and_grad(kepler, (0, 1)))(means, e)
    assert np.abs(found - e * np.sin(found) - means).max() < 1e-14
    assert np.allclose(by_mean, 1 / (1 - e * np.cos(found)), rtol=1e-12)
    assert np.allclose(by_e, np.sin(found) / (1 - e * np.cos(found)), rtol=1e-12)
