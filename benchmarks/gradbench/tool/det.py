"""The determinant of a matrix, by minors."""

import numpy as np
from evaluation import Function

from micrograd import grad, jit


def determinant(a):
    if len(a) == 1:
        return a[0][0]
    total, sign = 0.0, 1.0
    for j in range(len(a)):
        minor = [[*row[:j], *row[j + 1 :]] for row in a[1:]]
        total += sign * a[0][j] * determinant(minor)
        sign = -sign
    return total


def arguments(given):
    return (np.array(given["A"]).reshape(given["ell"], given["ell"]),)


primal = Function(jit(determinant, wait=True), arguments, float)
gradient = Function(jit(grad(determinant), wait=True), arguments, lambda slope: slope.ravel().tolist())
