"""Price an option over 20,000 paths, with its sensitivities.

An Asian call: the mean over paths of a payoff, and of its derivatives by spot, volatility and rate.
"""

import numpy as np

from micrograd import math, value_and_grad, vmap

shocks = np.random.default_rng(4).standard_normal((20_000, 32))


def payoff(spot, volatility, rate, z):
    dt = 1.0 / len(z)
    s, total = spot, 0.0
    for shock in z:
        s = s * math.exp((rate - 0.5 * volatility**2) * dt + volatility * math.sqrt(dt) * shock)
        total = total + s
    return math.exp(-rate) * max(total / len(z) - 100.0, 0.0)


def solve():
    price = vmap(value_and_grad(payoff, argnums=(0, 1, 2)), in_axes=(None, None, None, 0), reduce="mean")
    return lambda: price(100.0, 0.2, 0.03, shocks)


# ---- beside it


def numbers(found):
    return [found[0], *found[1]]


def jax():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def mean(spot, volatility, rate):
        dt = 1.0 / shocks.shape[1]
        steps = (rate - 0.5 * volatility**2) * dt + volatility * jnp.sqrt(dt) * shocks
        paths = spot * jnp.exp(jnp.cumsum(steps, axis=1))
        return jnp.mean(jnp.exp(-rate) * jnp.maximum(paths.mean(1) - 100.0, 0.0))

    run = jax.jit(jax.value_and_grad(mean, argnums=(0, 1, 2)))

    def call():
        value, slopes = run(100.0, 0.2, 0.03)
        return [float(value), *map(float, slopes)]

    return call


OTHERS = {"JAX": jax}


def draw(ax, found):
    spots = np.linspace(80.0, 120.0, 21)
    price = vmap(value_and_grad(payoff), in_axes=(None, None, None, 0), reduce="mean")
    results = [price(float(s), 0.2, 0.03, shocks) for s in spots]
    ax.plot(spots, [r[0] for r in results], color="#2f6fde", label="price")
    ax.plot(spots, [10.0 * r[1] for r in results], color="#e4572e", label="10 × derivative by the spot")
    ax.legend(frameon=False)
    ax.set(title="An Asian call", xlabel="spot")
