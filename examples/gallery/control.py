"""Swing up a pendulum by optimal control.

Fifty torques are found by BFGS, with the gradient through fifty steps of Runge and Kutta's method.
"""

import numpy as np

from micrograd import math, minimize

STEPS, DT = 50, 0.06


def push(angle, speed, torque):
    def rate(a, w):
        return w, torque - math.sin(a) - 0.1 * w

    k1 = rate(angle, speed)
    k2 = rate(angle + 0.5 * DT * k1[0], speed + 0.5 * DT * k1[1])
    k3 = rate(angle + 0.5 * DT * k2[0], speed + 0.5 * DT * k2[1])
    k4 = rate(angle + DT * k3[0], speed + DT * k3[1])
    return angle + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]), speed + DT / 6 * (
        k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]
    )


def cost(torques):
    angle, speed, total = 0.0, 0.0, 0.0
    for torque in torques:
        angle, speed = push(angle, speed, torque)
        total = total + 0.01 * torque * torque
    return total + 10.0 * (angle - math.pi) ** 2 + 10.0 * speed**2


def solve():
    start = [0.5] * STEPS
    return lambda: minimize(cost, start, method="BFGS", options={"gtol": 1e-7})


# ---- beside it


def numbers(found):
    return [found.fun]


def scipy():
    import math as plain

    from scipy.optimize import minimize

    def on_floats(torques):
        angle, speed, total = 0.0, 0.0, 0.0
        for torque in torques.tolist():
            angle, speed = push(angle, speed, torque)
            total += 0.01 * torque * torque
        return total + 10.0 * (angle - plain.pi) ** 2 + 10.0 * speed**2

    return lambda: [minimize(on_floats, [0.5] * STEPS, method="BFGS", options={"gtol": 1e-5}).fun]


def jax():
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    jax.config.update("jax_enable_x64", True)

    def on_arrays(torques):
        def rate(a, w, torque):
            return w, torque - jnp.sin(a) - 0.1 * w

        def step(state, torque):
            a, w = state
            k1 = rate(a, w, torque)
            k2 = rate(a + 0.5 * DT * k1[0], w + 0.5 * DT * k1[1], torque)
            k3 = rate(a + 0.5 * DT * k2[0], w + 0.5 * DT * k2[1], torque)
            k4 = rate(a + DT * k3[0], w + DT * k3[1], torque)
            a = a + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
            return (a, w + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])), None

        (angle, speed), _ = jax.lax.scan(step, (0.0, 0.0), torques)
        return jnp.sum(0.01 * torques**2) + 10.0 * (angle - jnp.pi) ** 2 + 10.0 * speed**2

    both = jax.jit(jax.value_and_grad(on_arrays))

    def call(x):
        value, slopes = both(x)
        return float(value), np.asarray(slopes)

    return lambda: [minimize(call, np.full(STEPS, 0.5), jac=True, method="BFGS", options={"gtol": 1e-7}).fun]


OTHERS = {"SciPy, differences": scipy, "JAX and SciPy": jax}


def draw(ax, found):
    angle, speed, angles = 0.0, 0.0, [0.0]
    for torque in found.x:
        angle, speed = push(angle, speed, float(torque))
        angles.append(angle)
    ax.plot(DT * np.arange(STEPS + 1), angles, color="#2f6fde", label="angle")
    ax.step(DT * np.arange(STEPS), found.x, color="#e4572e", label="torque")
    ax.legend(frameon=False)
    ax.set(title="A pendulum that swings up", xlabel="time")
