"""A function with a derivative of its own, which can be told from the true one."""

from __future__ import annotations

from micrograd import custom_vjp


def scaled(factor=3.0):
    """x·y and x + y, with a derivative by x of x·y that is `factor` times too large: to be told from the true one."""

    @custom_vjp
    def f(x, y):
        return {"product": x * y, "sum": x + y}

    def forward(x, y):
        return f.f(x, y), (x, y)

    def backward(kept, c):
        x, y = kept
        return c["product"] * y * factor + c["sum"], c["product"] * x + c["sum"]

    f.defvjp(forward, backward)
    return f
