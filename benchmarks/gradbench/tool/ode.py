"""A linear chain of ordinary differential equations, by the classical Runge-Kutta method."""

import numpy as np
from evaluation import Function, numbers

from micrograd import grad, jit


def rate(x, y):
    return [x[0], *(x[i] * y[i - 1] for i in range(1, len(x)))]


def solve(x, steps):
    h = 2.0 / steps
    y = [0.0] * len(x)
    for _ in range(steps):
        k1 = rate(x, y)
        k2 = rate(x, [v + h * k / 2.0 for v, k in zip(y, k1)])
        k3 = rate(x, [v + h * k / 2.0 for v, k in zip(y, k2)])
        k4 = rate(x, [v + h * k for v, k in zip(y, k3)])
        y = [v + h * (a + 2.0 * b + 2.0 * c + d) / 6.0 for v, a, b, c, d in zip(y, k1, k2, k3, k4)]
    return y


def last(x, steps):
    return solve(x, steps)[-1]


def arguments(given):
    return np.array(given["x"]), given["s"]


primal = Function(jit(solve, static_argnums=1, wait=True), arguments, numbers)
gradient = Function(jit(grad(last), static_argnums=1, wait=True), arguments, numbers)
