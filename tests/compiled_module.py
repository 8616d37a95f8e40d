"""Functions with importable names, for tests that pickle them to another process."""

from __future__ import annotations

from micrograd import jit, math, value_and_grad


@jit
def decorated(x, y):
    return math.exp(x) * y


def plain(x, y):
    """Two branches."""
    return math.sin(x) * y if x > 0 else y


slope = value_and_grad(plain)


class Model:
    @jit
    def area(self, width, height):
        return width * height * self.scale

    def __init__(self, scale):
        self.scale = scale
