"""Functions with importable names, for tests that pickle them to another process."""

from __future__ import annotations

from functools import partial

from micrograd import grad, hessian, jacobian, jit, math, value_and_grad, vmap


@jit
def decorated(x, y):
    return math.exp(x) * y


def plain(x, y):
    """Two branches."""
    return math.sin(x) * y if x > 0 else y


slope = value_and_grad(plain)


@grad
def square_slope(x):
    return x * x


@jit
@grad
def cube_slope(x):
    return x * x * x


@vmap
def each_square(x):
    return x * x


class Line:
    """A callable of its own, with a number."""

    def __init__(self, scale):
        self.scale = scale

    def __repr__(self):
        return f"Line({self.scale})"

    def __call__(self, x, y):
        return self.scale * x * y


MADE = [
    slope, jit(slope), jit(value_and_grad(plain, (0, 1)), exact=True), grad(jit(plain)), hessian(plain),
    jacobian(plain, (0, 1)), grad(grad(plain)), jit(Line(2.0)), grad(Line(2.0)), jit(partial(Line(2.0), y=3.0)),
    jit(plain, static_argnums=1),
]  # fmt: skip
ROWS = [
    vmap(slope),
    jit(vmap(plain, reduce="sum"), exact=True),
    vmap(plain, in_axes=(0, None), threads=1),
    vmap(Line(2.0)),
]


class Model:
    @jit
    def area(self, width, height):
        return width * height * self.scale

    def __init__(self, scale):
        self.scale = scale
