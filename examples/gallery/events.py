"""Differentiate the landing point of a ball with drag.

An ODE that ends at an event: where the ball touches the ground, and how that depends on the speed and the angle of the throw.
"""

import numpy as np

from micrograd import jit, math, value_and_grad
from micrograd.solvers import odeint_event


def flight(t, y):
    _, _, u, v = y
    drag = 0.02 * math.sqrt(u * u + v * v)
    return [u, v, -drag * u, -9.81 - drag * v]


def reach(speed, angle):
    start = [0.0, 0.0, speed * math.cos(angle), speed * math.sin(angle)]
    _, y = odeint_event(flight, start, 0.0, 20.0, lambda t, y: y[1], direction=-1)
    return y[0]


def solve():
    f = jit(value_and_grad(reach, argnums=(0, 1)))
    return lambda: f(25.0, 0.7)


# ---- beside it


def numbers(found):
    return [found[0], *found[1]]


def scipy():
    from scipy.integrate import solve_ivp

    def ground(t, y):
        return y[1]

    ground.terminal, ground.direction = True, -1

    def at(speed, angle):
        start = [0.0, 0.0, speed * np.cos(angle), speed * np.sin(angle)]
        return solve_ivp(flight, (0.0, 20.0), start, events=ground, rtol=1e-10, atol=1e-10).y_events[0][0][0]

    def run():
        h = 1e-4
        return [
            at(25.0, 0.7),
            (at(25.0 + h, 0.7) - at(25.0 - h, 0.7)) / (2 * h),
            (at(25.0, 0.7 + h) - at(25.0, 0.7 - h)) / (2 * h),
        ]

    return run


OTHERS = {"SciPy, differences": scipy}


def draw(ax, found):
    angles = np.linspace(0.2, 1.3, 45)
    f = jit(value_and_grad(reach, argnums=1))
    results = [f(25.0, float(a)) for a in angles]
    ax.plot(angles, [r[0] for r in results], color="#2f6fde", label="reach")
    ax.plot(angles, [r[1] for r in results], color="#e4572e", label="its derivative by the angle")
    ax.axhline(0.0, color="#c9ced8", linewidth=0.8)
    ax.legend(frameon=False)
    ax.set(title="Where a ball lands", xlabel="angle", ylabel="m")
