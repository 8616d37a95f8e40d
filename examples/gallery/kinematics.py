"""Solve the inverse kinematics of an arm for 2,000 targets.

Each row runs the solver until it has converged; `vmap` runs all rows as one kernel.
"""

import numpy as np

from micrograd import math, vmap
from micrograd.solvers import root

rng = np.random.default_rng(5)
targets = np.stack([rng.uniform(0.8, 1.6, 2_000), rng.uniform(0.3, 1.2, 2_000)], axis=1)


def hand(bend, lift):
    return math.cos(lift) + math.cos(lift + bend), math.sin(lift) + math.sin(lift + bend)


def joints(target):
    def miss(angles):
        x, y = hand(*angles)
        return [x - target[0], y - target[1]]

    return root(miss, [-1.0, 1.0])


def solve():
    f = vmap(joints)
    return lambda: f(targets)


# ---- beside it


def numbers(found):
    bend, lift = np.asarray(found[0]), np.asarray(found[1])
    return [*bend[:5], *lift[:5]]


def scipy():
    from math import cos, sin

    from scipy.optimize import root

    def one(target):
        def miss(a):
            return [cos(a[1]) + cos(a[1] + a[0]) - target[0], sin(a[1]) + sin(a[1] + a[0]) - target[1]]

        return root(miss, [-1.0, 1.0], tol=1e-12).x

    return lambda: numbers(np.array([one(t) for t in targets]).T)


OTHERS = {"SciPy, one by one": scipy}


def draw(ax, found):
    lift = np.asarray(found[1])
    ax.plot(targets[::5, 0], targets[::5, 1], ".", color="#c9ced8", markersize=3)
    for k in range(0, 2_000, 250):
        x, y = math.cos(lift[k]), math.sin(lift[k])
        ax.plot([0.0, x, targets[k, 0]], [0.0, y, targets[k, 1]], "o-", markersize=3)
    ax.set_aspect("equal")
    ax.set(title="An arm with two joints, and its targets")
