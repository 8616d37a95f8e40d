"""Fit a decay, with standard errors.

Sixty noisy readings of a decaying signal, and the three parameters behind them.
"""

import numpy as np

from micrograd import jit, math
from micrograd.solvers import curve_fit

rng = np.random.default_rng(1)
times = np.linspace(0.0, 4.0, 60)
readings = 2.5 * np.exp(-1.3 * times) + 0.4 + 0.05 * rng.standard_normal(60)


def decay(t, height, rate, floor):
    return height * math.exp(-rate * t) + floor


def solve():
    fit = jit(lambda xs, ys: curve_fit(decay, xs, ys, [1.0, 1.0, 0.0]))
    return lambda: fit(times, readings)


# ---- beside it


def numbers(found):
    return [*found.parameters, *found.errors]


def scipy():
    from scipy.optimize import curve_fit

    def run():
        best, covariance = curve_fit(
            lambda t, a, b, c: a * np.exp(-b * t) + c, times, readings, [1.0, 1.0, 0.0], xtol=1e-12
        )
        return [*best, *np.sqrt(np.diag(covariance))]

    return run


OTHERS = {"SciPy": scipy}


def draw(ax, found):
    ax.plot(times, readings, "o", color="#b9bfca", markersize=3)
    ax.plot(times, [decay(t, *found.parameters) for t in times], color="#2f6fde")
    ax.set(title="A decay and its fit", xlabel="time", ylabel="signal")
