"""The programs of branches.py in JAX: scan, where and while_loop in place of for, if and while, as its documentation asks.

    python benchmarks/peers/branches_jax.py FILE      FILE holds the rows, as branches.py writes them

Prints for each program the seconds a call, and the mean of its values, as JSON.

Double precision, one call at a time, compiled before it is timed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
STEPS = 200


def barrier(s, strike, sigma, rate, t, normals):
    dt = t / len(normals)

    def step(state, z):
        s, alive = state
        s = s * jnp.exp((rate - 0.5 * sigma * sigma) * dt + sigma * jnp.sqrt(dt) * z)
        return (s, alive & (s <= 130.0)), None

    (s, alive), _ = jax.lax.scan(step, (s, True), normals)
    return jnp.where(alive, jnp.exp(-rate * t) * jnp.maximum(s - strike, 0.0), 0.0)


def many_ifs(x, y):
    def step(state, k):
        x, total = state
        x = x * 1.1 + y
        return (x, jnp.where(jnp.sin(x + k) > 0.1 * y, total + x * y, total - jnp.tanh(x))), None

    (_, total), _ = jax.lax.scan(step, (x, 0.0), jnp.arange(32.0))
    return total


def price(s, strike, sigma, t):
    d1 = (jnp.log(s / strike) + 0.5 * sigma * sigma * t) / (sigma * jnp.sqrt(t))
    d2 = d1 - sigma * jnp.sqrt(t)
    erfc = jax.scipy.special.erfc
    return s * 0.5 * erfc(-d1 / 1.4142135623730951) - strike * 0.5 * erfc(-d2 / 1.4142135623730951)


def implied_volatility(observed, s, strike, t):
    def step(state):
        sigma, error = state
        d1 = (jnp.log(s / strike) + 0.5 * sigma * sigma * t) / (sigma * jnp.sqrt(t))
        sigma = sigma - error / (s * jnp.sqrt(t) * jnp.exp(-0.5 * d1 * d1) / 2.5066282746310002)
        return sigma, price(s, strike, sigma, t) - observed

    begin = 0.5, price(s, strike, 0.5, t) - observed
    return jax.lax.while_loop(lambda state: jnp.abs(state[1]) > 1e-10, step, begin)[0]


def mandelbrot(a, b):
    def step(state):
        n, x, y = state
        return n + 1, x * x - y * y + a, 2.0 * x * y + b

    def inside(state):
        n, x, y = state
        return (n < 1000) & (x * x + y * y < 4.0)

    return jax.lax.while_loop(inside, step, (0, 0.0, 0.0))[0]


def american_put(s, strike, sigma, rate):
    dt = 1.0 / STEPS
    up = jnp.exp(sigma * jnp.sqrt(dt))
    p = (jnp.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = jnp.exp(-rate * dt)
    k = jnp.arange(STEPS + 1)
    values = jnp.maximum(strike - s * up ** (2.0 * k - STEPS), 0.0)

    def step(values, n):  # the list has a fixed length here: what is behind n is not used
        held = discount * (p * jnp.roll(values, -1) + (1.0 - p) * values)
        return jnp.maximum(held, strike - s * up ** (2.0 * k - n + 1)), None

    return jax.lax.scan(step, values, jnp.arange(STEPS, 0, -1))[0][0]


# By the name in branches.py: the function, by which arguments it is differentiated, and which arguments have rows.
PROGRAMS: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "barrier, 250 dates, 5 Greeks": (barrier, (0, 1, 2, 3, 4), (None,) * 5 + (0,)),
    "32 ifs, gradient": (many_ifs, (0, 1), 0),
    "implied volatility": (implied_volatility, (), 0),  # the reverse derivative of while_loop is refused
    "Mandelbrot, 1,000 iterations": (mandelbrot, (), 0),
    "American put, 200 steps, 4 Greeks": (american_put, (0, 1, 2, 3), 0),
}


def timed(name: str, args: list[Any]) -> tuple[float, float]:
    """The seconds of the best of some calls after the first one, and the mean of the values."""
    f, by, axes = PROGRAMS[name]
    g = jax.jit(jax.vmap(jax.value_and_grad(f, by) if by else f, in_axes=axes))
    first = jax.block_until_ready(g(*args))
    found = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(g(*args))
        found.append(time.perf_counter() - start)
    return min(found), float(jnp.mean(first[0] if by else first))


def main() -> None:
    """Time each program for which there are rows."""
    rows = np.load(sys.argv[1])
    names = sorted({key.rsplit("/", 1)[0] for key in rows.files})
    found = {}
    for name in names:
        count = sum(key.rsplit("/", 1)[0] == name for key in rows.files)
        found[name] = timed(name, [rows[f"{name}/{k}"] for k in range(count)])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
