"""Bootstrap a yield curve, with the sensitivity of every rate to every quote.

Six par swap quotes are turned into discount factors by Newton's method; implicit derivatives give the Jacobian of the solution.
"""

import numpy as np

from micrograd import jacobian, jit
from micrograd.solvers import root

quotes = [0.021, 0.023, 0.0245, 0.0255, 0.0265, 0.027]


def mismatch(discounts, swaps):
    annuity, found = 0.0, []
    for discount, rate in zip(discounts, swaps):
        annuity = annuity + discount
        found.append(1.0 - discount - rate * annuity)
    return found


def curve(swaps):
    return root(lambda discounts: mismatch(discounts, swaps), [1.0 / (1.03) ** (k + 1) for k in range(len(swaps))])


def solve():
    rates, slopes = jit(curve, wait=True), jit(jacobian(curve), wait=True)
    return lambda: (rates(quotes), slopes(quotes))


# ---- beside it


def numbers(found):
    return [*found[0], *[x for row in found[1] for x in row]]


def scipy():
    from scipy.optimize import root

    def at(swaps):
        start = [1.0 / 1.03 ** (k + 1) for k in range(len(swaps))]
        return root(lambda d: mismatch(d, swaps), start, tol=1e-14).x

    def run():
        discounts, columns, h = at(quotes), [], 1e-6
        for k in range(len(quotes)):
            up, down = list(quotes), list(quotes)
            up[k], down[k] = up[k] + h, down[k] - h
            columns.append((at(up) - at(down)) / (2 * h))
        return [*discounts, *np.array(columns).T.ravel()]

    return run


OTHERS = {"SciPy, differences": scipy}


def draw(ax, found):
    years = np.arange(1, 7)
    zero = [100 * (d ** (-1.0 / k) - 1.0) for k, d in zip(years, found[0])]
    ax.plot(years, zero, "o-", color="#2f6fde", label="zero rates")
    ax.plot(years, [100 * q for q in quotes], "s--", color="#6b7280", label="par quotes")
    ax.legend(frameon=False)
    ax.set(title="A bootstrapped curve", xlabel="years", ylabel="%")
