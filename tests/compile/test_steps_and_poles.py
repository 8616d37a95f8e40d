"""Random expressions of steps (floor, sign, comparisons) and poles (log, division) at points where slopes are infinite.

backward() on both engines, grad, machine code and rows give one answer, in numbers and in nan, and so do higher orders.
"""

from __future__ import annotations

from math import inf, isfinite, isnan, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import grad, jit, vmap
from random_programs import needs_llvm
from twins import MORE, NATIVE, PYTHON, C, in_place

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm

ONE = ("floor", "ceil", "round", "trunc", "sign", "log", "sqrt", "exp", "abs", "relu", "cbrt", "neg", "log1p")
TWO = ("add", "mul", "sub", "div", "lt", "ge", "eq", "floordiv", "copysign", "max", "pow", "hypot")
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.0, inf, -inf, nan]

leaves = st.sampled_from(["x", "y", 0.0, 1.0, -0.5, 2.0])
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(ONE), inner),
        st.tuples(st.sampled_from(TWO), inner, inner),
        st.tuples(st.just("where"), inner, inner, inner),
    ),
    max_leaves=9,
)


def run(twin, tree, x, y):
    """The value of an expression on one engine."""
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}.get(tree, tree)
    name, *inputs = tree
    return twin.engine.apply(twin.ops.OPS[name], *[run(twin, i, x, y) for i in inputs])


def swept(twin, tree, x, y):
    with in_place(twin):
        a, b = twin.Value(x), twin.Value(y)
        (run(twin, tree, a, b) + a.detach()).backward()
        return [a.grad, b.grad]


def same(found, wanted):
    """Equal, but for the last digits of sums in another order; a nan where the other has one."""
    return all(
        isnan(a) if isnan(b) else a == b if not (isfinite(a) and isfinite(b)) else abs(a - b) <= 1e-9 * max(1.0, abs(b))
        for a, b in zip(found, wanted, strict=True)
    )


@settings(max_examples=60 * MORE, deadline=None)
@given(expressions, st.sampled_from(POINTS), st.sampled_from(POINTS))
def test_the_engines_and_grad_give_one_answer(tree, x, y):
    if not isinstance(tree, tuple):
        return
    expected = swept(PYTHON, tree, x, y)
    if NATIVE:
        assert [g.hex() for g in swept(C, tree, x, y)] == [g.hex() for g in expected]

    def f(a, b):
        return run(C, tree, a, b) + a.detach()

    assert same(grad(f, argnums=(0, 1))(x, y), expected)


@settings(max_examples=8 * MORE, deadline=None)
@given(expressions)
def test_machine_code_gives_the_answer_of_backward(tree):
    if not isinstance(tree, tuple):
        return

    def f(a, b):
        return run(C, tree, a, b) + 0.0 * a

    points = [(x, y) for x in POINTS for y in POINTS[::3]]
    columns = [np.array(c) for c in zip(*points, strict=True)]
    both = grad(f, argnums=(0, 1))
    wanted = [swept(C, ("add", tree, ("mul", 0.0, "x")), x, y) for x, y in points]
    for exact in (False, True):
        code = jit(both, wait=True, exact=exact)
        rows = list(zip(*vmap(both, exact=exact)(*columns), strict=True))
        for (x, y), expected, row in zip(points, wanted, rows, strict=True):
            assert same([float(g) for g in code(x, y)], expected), (x, y)
            assert same([float(g) for g in row], expected), (x, y)


def nested(f, order):
    """The derivative of f of this order, by grad of grad."""
    for _ in range(order):
        f = grad(f)
    return f


def last_by_backward(f, order, x):
    """The same, with backward() for the last one."""
    v = C.Value(x)
    (nested(f, order - 1)(v) + v.detach()).backward()
    return v.grad


@settings(max_examples=6 * MORE, deadline=None)
@given(expressions)
def test_higher_orders_give_one_answer(tree):
    if not isinstance(tree, tuple):
        return

    def f(a):
        return run(C, tree, a, a * 0.5) + a * a * a

    for order in (2, 3):
        derivative = nested(f, order)
        code, rows = jit(derivative, wait=True), vmap(derivative)(np.array(POINTS))
        for x, row in zip(POINTS, rows, strict=True):
            expected = [derivative(x)]
            for found in (last_by_backward(f, order, x), code(x), float(row)):
                assert same([found], expected), (order, x)
