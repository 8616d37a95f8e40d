"""quad: integrals beside closed forms and SciPy's, derivatives beside closed forms."""

from __future__ import annotations

import importlib
import math as plain

import pytest

from micrograd import grad, jit, math, value_and_grad, vmap
from micrograd.solvers import quad
from random_programs import needs_llvm

np = pytest.importorskip("numpy")

INTEGRALS = [
    (math.exp, 0.0, 1.0, plain.e - 1.0),
    (math.sqrt, 0.0, 1.0, 2.0 / 3.0),
    (math.log, 0.0, 1.0, -1.0),
    (lambda x: math.sin(50.0 * x), 0.0, 3.0, (1.0 - plain.cos(150.0)) / 50.0),
    (lambda x: 1.0 / (1e-4 + (x - 0.3) ** 2), 0.0, 1.0, 100.0 * (plain.atan(70.0) + plain.atan(30.0))),
    (lambda x: abs(x - 0.3), 0.0, 1.0, 0.29),
    (lambda x: x * x, 1.0, 0.0, -1.0 / 3.0),
    (lambda x: 0.0 * x, 0.0, 1.0, 0.0),
    (math.sin, -1.0, 1.0, 0.0),
    (lambda x: math.exp(-x * x), -math.inf, math.inf, plain.sqrt(plain.pi)),
    (lambda x: math.exp(-x), 1.0, math.inf, plain.exp(-1.0)),
    (lambda x: math.exp(-x), math.inf, 1.0, -plain.exp(-1.0)),
    (math.exp, -math.inf, 0.0, 1.0),
    (lambda x: 1.0 / (1.0 + x * x), -math.inf, math.inf, plain.pi),
]


@pytest.mark.parametrize("case", range(len(INTEGRALS)))
def test_integrals(case):
    f, a, b, wanted = INTEGRALS[case]
    assert quad(f, a, b) == pytest.approx(wanted, rel=1e-9, abs=1e-11)


def test_what_has_no_integral_is_nan():
    assert plain.isnan(quad(lambda x: 1.0 / x, 0.0, 1.0))
    assert plain.isnan(quad(lambda x: math.sin(50.0 * x), 0.0, 3.0, max_intervals=3))


def test_derivatives_by_ends_and_parameters():
    def f(a, b, p):
        return quad(lambda x: x * math.exp(-p * x), a, b)

    def exact(a, b, p):
        return math.exp(-p * a) * (a / p + 1.0 / p**2) - math.exp(-p * b) * (b / p + 1.0 / p**2)

    point = (0.2, 1.5, 0.7)
    for i in range(3):
        assert grad(f, i)(*point) == pytest.approx(grad(exact, i)(*point), rel=1e-10)
        for j in range(3):
            wanted = grad(grad(exact, i), j)(*point)
            assert grad(grad(f, i), j)(*point) == pytest.approx(wanted, rel=1e-9, abs=1e-10)


@needs_llvm
def test_each_row_takes_its_own_intervals():
    def f(p):
        return quad(lambda x: 1.0 / (p + (x - 0.3) ** 2), 0.0, 1.0)

    def exact(p):
        return (math.atan(0.7 / math.sqrt(p)) + math.atan(0.3 / math.sqrt(p))) / math.sqrt(p)

    rows = np.array([1e-4, 1e-2, 1.0])
    mapped = vmap(value_and_grad(f))
    values, slopes = mapped(rows)
    for k, p in enumerate(rows.tolist()):
        assert (values[k], slopes[k]) == pytest.approx(value_and_grad(exact)(p), rel=1e-9)
    assert len(list(mapped.variants)) == 1
    assert jit(grad(grad(f)))(0.01) == pytest.approx(grad(grad(exact))(0.01), rel=1e-8)


def test_values_of_both_engines(twin):
    solvers = importlib.import_module("micrograd.solvers")
    b = twin.Value(2.0)
    solvers.quad(lambda x: x * x * b, 0.0, b).backward()
    assert b.grad == pytest.approx(4.0 / 3.0 * 8.0)
