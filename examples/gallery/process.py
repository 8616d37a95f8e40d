"""Fit a Gaussian process.

The marginal likelihood of twenty points: a kernel matrix, its Cholesky factor, and the gradient by three hyperparameters.
"""

import numpy as np

from micrograd import math, minimize
from micrograd.solvers import cholesky

rng = np.random.default_rng(9)
xs = np.sort(rng.uniform(0.0, 6.0, 20)).tolist()
ys = [float(np.sin(2.0 * x) + 0.1 * rng.standard_normal()) for x in xs]


def surprise(logs):
    size, width, noise = math.exp(logs[0]), math.exp(logs[1]), math.exp(logs[2])
    matrix = []
    for i in range(len(xs)):
        row = []
        for j in range(len(xs)):
            gap = (xs[i] - xs[j]) / width
            row.append(size * math.exp(-0.5 * gap * gap) + (noise if i == j else 0.0))
        matrix.append(row)
    factor, total, solved = cholesky(matrix), 0.0, []
    for i in range(len(xs)):
        rest = ys[i]
        for k in range(i):
            rest = rest - factor[i][k] * solved[k]
        solved.append(rest / factor[i][i])
        total = total + 0.5 * solved[i] ** 2 + math.log(factor[i][i])
    return total


def solve():
    return lambda: minimize(surprise, [0.0, 0.0, -2.0], method="BFGS", options={"gtol": 1e-6})


# ---- beside it


def numbers(found):
    return [found.fun]


def scipy():
    from scipy.optimize import minimize

    gaps, targets = np.subtract.outer(xs, xs) ** 2, np.array(ys)

    def on_arrays(logs):
        size, width, noise = np.exp(logs)
        factor = np.linalg.cholesky(size * np.exp(-0.5 * gaps / width**2) + noise * np.eye(len(xs)))
        solved = np.linalg.solve(factor, targets)
        return 0.5 * solved @ solved + np.log(np.diag(factor)).sum()

    return lambda: [minimize(on_arrays, [0.0, 0.0, -2.0], method="BFGS", options={"gtol": 1e-4}).fun]


def jax():
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    jax.config.update("jax_enable_x64", True)
    gaps, targets = np.subtract.outer(xs, xs) ** 2, np.array(ys)

    def on_arrays(logs):
        size, width, noise = jnp.exp(logs)
        factor = jnp.linalg.cholesky(size * jnp.exp(-0.5 * gaps / width**2) + noise * jnp.eye(len(xs)))
        solved = jax.scipy.linalg.solve_triangular(factor, targets, lower=True)
        return 0.5 * solved @ solved + jnp.log(jnp.diag(factor)).sum()

    both = jax.jit(jax.value_and_grad(on_arrays))

    def call(x):
        value, slopes = both(x)
        return float(value), np.asarray(slopes)

    return lambda: [minimize(call, np.array([0.0, 0.0, -2.0]), jac=True, method="BFGS", options={"gtol": 1e-6}).fun]


OTHERS = {"SciPy, differences": scipy, "JAX and SciPy": jax}


def draw(ax, found):
    size, width, noise = np.exp(found.x)
    at = np.linspace(0.0, 6.0, 200)

    def kernel(a, b):
        return size * np.exp(-0.5 * (np.subtract.outer(a, b) / width) ** 2)

    inverse = np.linalg.inv(kernel(xs, xs) + noise * np.eye(len(xs)))
    mean = kernel(at, xs) @ inverse @ ys
    spread = np.sqrt(size - np.einsum("ij,jk,ik->i", kernel(at, xs), inverse, kernel(at, xs)))
    ax.fill_between(at, mean - 2 * spread, mean + 2 * spread, color="#2f6fde", alpha=0.15)
    ax.plot(at, mean, color="#2f6fde")
    ax.plot(xs, ys, ".", color="#1f2430")
    ax.set(title="A Gaussian process", xlabel="x")
