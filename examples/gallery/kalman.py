"""Fit the noise of a Kalman filter.

The log likelihood of 500 readings under a local linear trend, and its gradient by three variances, for maximum likelihood.
"""

import numpy as np

from micrograd import math, minimize

rng = np.random.default_rng(6)
slope = np.cumsum(0.05 * rng.standard_normal(500))
readings = (np.cumsum(slope + 0.1 * rng.standard_normal(500)) + 0.5 * rng.standard_normal(500)).tolist()


def surprise(logs):
    q, r, noise = math.exp(logs[0]), math.exp(logs[1]), math.exp(logs[2])
    level, trend, a, b, c, total = 0.0, 0.0, 10.0, 0.0, 10.0, 0.0
    for y in readings:
        level, a, b, c = level + trend, a + 2.0 * b + c + q, b + c, c + r
        gap, spread = y - level, a + noise
        total = total + 0.5 * (math.log(spread) + gap * gap / spread)
        level, trend = level + a / spread * gap, trend + b / spread * gap
        a, b, c = a - a * a / spread, b - a * b / spread, c - b * b / spread
    return total


def solve():
    start = [0.0, 0.0, 0.0]
    return lambda: minimize(surprise, start, method="BFGS", options={"gtol": 1e-6})


# ---- beside it


def numbers(found):
    return [found.fun]


def scipy():
    from math import exp, log

    from scipy.optimize import minimize

    def plain(logs):
        q, r, noise = (exp(x) for x in logs)
        level, trend, a, b, c, total = 0.0, 0.0, 10.0, 0.0, 10.0, 0.0
        for y in readings:
            level, a, b, c = level + trend, a + 2.0 * b + c + q, b + c, c + r
            gap, spread = y - level, a + noise
            total = total + 0.5 * (log(spread) + gap * gap / spread)
            level, trend = level + a / spread * gap, trend + b / spread * gap
            a, b, c = a - a * a / spread, b - a * b / spread, c - b * b / spread
        return total

    return lambda: [minimize(plain, [0.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-4}).fun]


def jax():
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    jax.config.update("jax_enable_x64", True)
    ys = np.array(readings)

    def on_arrays(logs):
        q, r, noise = jnp.exp(logs)

        def step(state, y):
            level, trend, a, b, c, total = state
            level, a, b, c = level + trend, a + 2.0 * b + c + q, b + c, c + r
            gap, spread = y - level, a + noise
            total = total + 0.5 * (jnp.log(spread) + gap * gap / spread)
            level, trend = level + a / spread * gap, trend + b / spread * gap
            return (level, trend, a - a * a / spread, b - a * b / spread, c - b * b / spread, total), None

        return jax.lax.scan(step, (0.0, 0.0, 10.0, 0.0, 10.0, 0.0), ys)[0][-1]

    both = jax.jit(jax.value_and_grad(on_arrays))

    def call(x):
        value, slopes = both(x)
        return float(value), np.asarray(slopes)

    return lambda: [minimize(call, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-6}).fun]


OTHERS = {"SciPy, differences": scipy, "JAX and SciPy": jax}


def draw(ax, found):
    q, r, noise = np.exp(found.x)
    level, trend, a, b, c, levels = 0.0, 0.0, 10.0, 0.0, 10.0, []
    for y in readings:
        level, a, b, c = level + trend, a + 2.0 * b + c + q, b + c, c + r
        gap, spread = y - level, a + noise
        level, trend = level + a / spread * gap, trend + b / spread * gap
        a, b, c = a - a * a / spread, b - a * b / spread, c - b * b / spread
        levels.append(level)
    ax.plot(readings[:120], ".", color="#b9bfca", label="readings")
    ax.plot(levels[:120], color="#2f6fde", label="level")
    ax.legend(frameon=False)
    ax.set(title="A filter with fitted noise", xlabel="step")
