"""Steps (floor, sign, comparisons, random draws): no gradient passes them, not even 0 times inf, however it is computed."""

from __future__ import annotations

import pytest

from micrograd import Value, engine, grad, jit, math, remat, vmap
from micrograd.ops import OPS
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm

STEPS = [op.name for op in OPS.values() if op.steps]
POINTS = [0.25, -1.0, 1.0, float("inf"), -float("inf"), float("nan")]


def behind(name):
    """A function whose cotangent at the step is nan, and another way to the argument, whose derivative is 2 x."""
    op = OPS[name]

    def f(x):
        step = engine.apply(op, *[x * 0.5 if k in op.steps else 2.0 for k in range(op.arity)])
        return abs(step / 0.0 * 0.0) + x * x

    return f


def backward(f, x):
    v = Value(x)
    f(v).backward()
    return v.grad


def summed(f, x, exact):
    w = Value(x)
    vmap(lambda one: f(w * one), reduce="sum", exact=exact)(np.ones(3)).backward()
    return w.grad / 3.0


WAYS = {
    "backward": lambda f, x: backward(f, x),
    "grad": lambda f, x: grad(f)(x),
    "jit of grad": lambda f, x: jit(grad(f), wait=True)(x),
    "jit of grad, exact": lambda f, x: jit(grad(f), exact=True, wait=True)(x),
    "backward of jit": lambda f, x: backward(jit(f, wait=True), x),
    "backward of jit, exact": lambda f, x: backward(jit(f, exact=True, wait=True), x),
    "rows": lambda f, x: vmap(grad(f))(np.array([x]))[0],
    "rows, exact": lambda f, x: vmap(grad(f), exact=True)(np.array([x]))[0],
    "backward of rows": lambda f, x: summed(f, x, False),
    "backward of rows, exact": lambda f, x: summed(f, x, True),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("way", WAYS)
def test_no_gradient_passes_a_step(way, name):
    f = behind(name)
    for x in POINTS:
        assert float(WAYS[way](f, x)) == pytest.approx(2.0 * x, nan_ok=True), x


@pytest.mark.parametrize("name", STEPS)
def test_nor_does_one_of_the_second_order(name):
    f = behind(name)
    for x in POINTS[:5]:
        assert grad(grad(f))(x) == 2.0
        assert jit(grad(grad(f)), wait=True)(x) == 2.0 and jit(grad(grad(f)), exact=True, wait=True)(x) == 2.0
        assert backward(grad(f), x) == 2.0
        assert vmap(grad(grad(f)))(np.array([x]))[0] == 2.0


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("way", WAYS)
def test_no_gradient_reaches_a_pole_behind_a_step(way, name):
    op = OPS[name]

    def f(x):
        behind = [math.log(x) + math.sqrt(x) if k in op.steps else 2.0 for k in range(op.arity)]
        return engine.apply(op, *behind) * 0.5 + x * x

    for x in (0.0, 2.0):
        assert float(WAYS[way](f, x)) == 2.0 * x


def test_a_compiled_function_is_no_way_around_a_step():
    """A Value that steps alone read is no input of the result: its graph may have a pole."""
    rounded = jit(lambda z: math.floor(z), wait=True)
    chosen = jit(lambda z, x: math.where(z > 0.0, x, 2.0 * x), wait=True)
    kept = remat(lambda z, x: math.sign(z) + x)
    for f, slope in (
        (lambda x: rounded(math.log(x)) + x, 1.0),
        (lambda x: chosen(math.log(x), x), 2.0),
        (lambda x: kept(math.log(x), x), 1.0),
    ):
        assert backward(f, 0.0) == slope
    assert isinstance(rounded(Value(1.5)), Value)
    x = Value(3.0)
    both = jit(lambda z, x: (math.floor(z), z * x), wait=True)
    _, product = both(Value(2.5), x)
    product.backward()
    assert x.grad == 2.5
