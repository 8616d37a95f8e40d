"""Solve a nonlinear boundary value problem by Newton's method with sparse Jacobians.

Bratu's equation u'' + exp(u) = 0 at 2,000 points: the Jacobian has three numbers a row, and is found in three sweeps.
"""

import numpy as np
from scipy.sparse.linalg import spsolve

from micrograd import jacobian, jit, math

N = 2_000
H2 = 1.0 / (N + 1) ** 2


def residual(u):
    found = []
    for i in range(len(u)):
        left = u[i - 1] if i > 0 else 0.0
        right = u[i + 1] if i < len(u) - 1 else 0.0
        found.append(left - 2.0 * u[i] + right + H2 * math.exp(u[i]))
    return found


def solve():
    value, slopes = jit(residual), jit(jacobian(residual, sparse=True))

    def run():
        u = np.zeros(N)
        for _ in range(6):
            u = u - spsolve(slopes(u), np.asarray(value(u)))
        return u

    return run


# ---- beside it


def numbers(found):
    return found[::250].tolist()


def scipy():
    from scipy.optimize import root

    def on_arrays(u):
        padded = np.pad(u, 1)
        return padded[:-2] - 2.0 * u + padded[2:] + H2 * np.exp(u)

    return lambda: numbers(root(on_arrays, np.zeros(N), method="krylov", options={"fatol": 1e-12, "maxiter": 200}).x)


OTHERS = {"SciPy, Krylov": scipy}


def draw(ax, found):
    ax.plot(np.linspace(0.0, 1.0, N + 2), [0.0, *found, 0.0], color="#2f6fde")
    ax.set(title="Bratu's equation", xlabel="x", ylabel="u")
