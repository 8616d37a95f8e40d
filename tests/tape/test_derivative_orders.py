"""Derivatives of orders 1 to 4 of every row of the table: mpmath's, on both engines and compiled, also at special points."""

from __future__ import annotations

import math

import pytest

import orders
from micrograd import grad, jit, vmap
from micrograd import math as mg
from micrograd.ops import OPS
from random_programs import needs_llvm
from twins import PYTHON, in_place

KNOWN = [name for name in OPS if orders.known(name)]


def nth(f, n):
    for _ in range(n):
        f = grad(f)
    return f


SEAMS = pytest.mark.parametrize(
    ("f", "order", "at", "want"),
    [
        (mg.tanh, 3, 0.0, -2.0), (mg.tanh, 5, 0.0, 16.0), (mg.sigmoid, 3, 0.0, -1 / 8), (mg.softplus, 4, 0.0, -1 / 8),
        (mg.silu, 4, 0.0, -0.5), (mg.elu, 2, 710.0, 0.0), (mg.elu, 2, math.inf, 0.0), (mg.elu, 2, 1e300, 0.0),
        (mg.gelu, 2, 0.0, math.sqrt(2 / math.pi)), (mg.atan, 2, math.inf, 0.0), (mg.erf, 2, math.inf, 0.0),
    ],
)  # fmt: skip


@SEAMS
def test_a_smooth_function_has_its_derivatives_where_a_formula_has_a_seam(f, order, at, want):
    assert nth(f, order)(at) == pytest.approx(want, rel=1e-15, abs=0.0)


@needs_llvm
@SEAMS
def test_and_the_compiled_function_has_them_too(f, order, at, want):
    assert jit(nth(f, order), wait=True)(at) == pytest.approx(want, rel=1e-15, abs=0.0)


def test_the_mixed_derivatives_of_pow_are_equal():
    by = {(i, j): grad(grad(lambda x, y: x**y, i), j) for i in (0, 1) for j in (0, 1)}
    assert by[0, 1](2.0, 0.0) == by[1, 0](2.0, 0.0) == 0.5
    assert [by[i, j](0.0, 2.0) for i, j in ((0, 1), (1, 0), (1, 1))] == [0.0, 0.0, 0.0]
    assert by[0, 0](0.0, 2.0) == 2.0


@pytest.mark.parametrize(("name", "args", "by", "want"), orders.CONVENTIONS + orders.at_infinity())
def test_conventions_and_limits(name, args, by, want):
    got = orders.derivative(name, by)(*args)
    assert got == want or (math.isnan(got) and math.isnan(want)), got


def cases(name, points):
    for args in points:
        for order in range(1, orders.ORDERS + 1):
            for by in orders.derivatives(len(args), order):
                if orders.wanted(name, by):
                    yield args, by


@pytest.mark.parametrize("name", KNOWN)
def test_derivatives_are_those_of_mpmath(name):
    """At the first point of the list: the slow test looks at all of them."""
    for args, by in cases(name, orders.ordinary(name)[:1]):
        found = orders.check(name, args, by, orders.derivative(name, by)(*args))
        assert found.error <= 1, found


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_derivatives_are_those_of_mpmath_everywhere(name):
    for args, by in cases(name, orders.ordinary(name)[1:] + orders.smooth_special(name)):
        found = orders.check(name, args, by, orders.derivative(name, by)(*args))
        assert found.error <= 1, found


def of_every_order(name, inputs, package_grad=grad):
    """One function that returns all derivatives, so that it is compiled once."""
    kinds = [by for n in range(1, orders.ORDERS + 1) for by in orders.derivatives(inputs, n) if orders.wanted(name, by)]

    def nested(by):
        f = orders.function(name)
        for i in by:
            f = package_grad(f, i)
        return f

    functions = [nested(by) for by in kinds]
    return lambda *xs: tuple(f(*xs) for f in functions)


@needs_llvm
@pytest.mark.parametrize("name", KNOWN)
def test_compiled_derivatives_are_those_of_eager_code(name):
    points = orders.ordinary(name)[:2] + orders.smooth_special(name)[:2]
    points = [p for p in points if len(p) == len(points[0]) <= 3]
    if not points:
        pytest.skip("of lists of four the derivatives are too many: the slow test has them")
    f = of_every_order(name, len(points[0]))
    exact, rows = jit(f, exact=True, wait=True), vmap(f)
    columns = [[p[i] for p in points] for i in range(len(points[0]))]
    table = rows(*columns)
    for r, args in enumerate(points):
        eager = f(*args)
        if name == "hypot":  # of order 4, its terms are added in another order
            assert exact(*args) == pytest.approx(eager, rel=1e-14)
        else:
            assert [x.hex() for x in map(float, exact(*args))] == [x.hex() for x in map(float, eager)]
        for got, want in zip((float(column[r]) for column in table), eager):
            assert got == pytest.approx(want, rel=1e-9, abs=1e-12), args


@pytest.mark.parametrize("name", KNOWN)
def test_the_python_engine_has_the_same_derivatives(name):
    args = orders.ordinary(name)[0]
    if len(args) > 3:
        args = args[:2]
    want = of_every_order(name, len(args))(*args)
    with in_place(PYTHON) as twin:
        from micrograd import grad as pure_grad

        op = twin.ops.OPS[name]
        kinds = [by for n in (1, 2, 3, 4) for by in orders.derivatives(len(args), n) if orders.wanted(name, by)]

        def nested(by):
            def f(*xs):
                return twin.engine.apply(op, list(xs)) if op.arity < 0 else twin.engine.apply(op, *xs)

            for i in by:
                f = pure_grad(f, i)
            return f

        got = [nested(by)(*args) for by in kinds]
    assert [float(x).hex() for x in got] == [float(x).hex() for x in want]
