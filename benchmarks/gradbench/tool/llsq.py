"""Least squares with a polynomial: half the sum of the squared differences from a step function at n points."""

import numpy as np
from evaluation import Function, numbers

from micrograd import grad, jit


def step(t):
    if t > 0:
        return 1.0
    if t < 0:
        return -1.0
    return 0.0


def half_sum_of_squares(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        residual, power = step(t), 1.0
        for coefficient in x:
            residual -= coefficient * power
            power *= t
        total += residual * residual
    return total / 2.0


def arguments(given):
    return np.array(given["x"]), given["n"]


primal = Function(jit(half_sum_of_squares, static_argnums=1, wait=True), arguments, float)
gradient = Function(jit(grad(half_sum_of_squares), static_argnums=1, wait=True), arguments, numbers)
