"""grad, value_and_grad and jvp in functions that become typed tapes: the numbers of eager code, and their derivatives."""

from __future__ import annotations

import math as plain_math
import random

import pytest
import running

from micrograd import grad, jit, jvp, math, value_and_grad
from micrograd.abstract import Refused, stage
from micrograd.ir.check import check
from micrograd.ir.interpret import run
from random_programs import needs_llvm


def log_sum_exp(x):
    largest = max(x)
    return largest + math.log(sum(math.exp(v - largest) for v in x))


def squared_slope(x):
    return sum(v * v for v in grad(log_sum_exp)(x))


def second_derivative(x):
    def slope(t):
        return sum(grad(log_sum_exp)([v * (1.0 + t) for v in x]))

    value, moved = jvp(slope, (0.0,), (1.0,))
    return value + moved


def several_arguments(x):
    value, (a, b) = value_and_grad(lambda a, b: sum(p * q * q for p, q in zip(a, b)), (0, 1))(x, x[::-1])
    return value + sum(p * q for p, q in zip(a, b))


def a_dict(x):
    slopes = grad(lambda p: sum(p["a"] * v * v + p["b"] for v in x))({"a": 2.0, "b": 3.0})
    return slopes["a"] * slopes["b"]


def descent(x):
    w = 0.1
    for _ in range(10):
        w = w - 0.05 * grad(lambda w: sum((w - v) ** 2 for v in x) / len(x))(w)
    return w


def branches(x):
    def f(a):
        if a > 0:
            return a * a
        return -a

    return sum(grad(f)(v) * v for v in x)


def third_order(x):
    return grad(grad(grad(lambda t: sum(math.sin(t * v) for v in x))))(0.3)


def rows(x):
    table = [[v * w for w in (x[0], x[1], x[2])] for v in x]
    slopes = grad(lambda m: sum(a * a * b for r in m for a, b in zip(r, r)))(table)
    return sum(sum(r) for r in slopes)


def its_own_list(x):
    numbers = [1.0, 2.0]
    return grad(lambda q: q[0] * numbers[0] + q[1] * numbers[1])(numbers)[0] + sum(x)


def what_is_not_used(x):
    return sum(grad(lambda a, b: b)(x, x[0])) + sum(x)


PROGRAMS = [squared_slope, second_derivative, several_arguments, a_dict, descent, branches, third_order, rows, its_own_list,
            what_is_not_used]  # fmt: skip
X = [random.Random(k).uniform(-1.0, 1.5) for k in range(40)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_tape_has_the_derivative_of_eager_code(f):
    staged = stage(f, (X,))
    check(staged.tape)
    assert staged.derivatives
    for x in (X, X[5:30]):
        found = run(staged.tape, running.inputs(staged.params, (x,)))
        assert found[staged.result.number] == pytest.approx(f(x), rel=1e-10)


@needs_llvm
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_compiled_function_has_it_too_and_its_gradient(f):
    x = [X[k % 40] + 0.001 * k for k in range(300)]
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-9)
    assert "a typed tape" in str(jit(f).explain(x))
    slopes = jit(grad(f))(x)
    h = 1e-6
    for k in (0, 2, 299):
        near = [[*x[:k], x[k] + d, *x[k + 1 :]] for d in (-h, h)]
        difference = (f(near[1]) - f(near[0])) / (2 * h)
        assert plain_math.isclose(slopes[k], difference, rel_tol=1e-4, abs_tol=1e-4), k


@needs_llvm
def test_exact_keeps_the_bits_of_eager_code():
    x = [X[k % 40] + 0.001 * k for k in range(300)]
    f = jit(squared_slope, exact=True)
    assert f(x) == squared_slope(x)
    assert "exact=True gives derivatives the bits of eager code" in str(f.explain(x))


@needs_llvm
def test_lists_of_lists_are_returned():
    def products(x):
        return [[v * w for w in x] for v in x]

    def pairs(x):
        return [(v, [v * w for w in x]) for v in x]

    for f in (products, pairs):
        x = X * 7
        assert jit(f)(x) == f(x)
        assert "a typed tape" in str(jit(f).explain(x))


def test_a_function_that_changes_something_outside_is_refused():
    def f(x):
        seen = [0.0]

        def square(t):
            seen[0] = 2.0
            return t * t

        return grad(square)(x[0]) + seen[0]

    with pytest.raises(Refused, match="changes an object"):
        stage(f, (X,))
