"""Sample a posterior by Hamiltonian Monte Carlo.

A logistic regression of 200 points: the log density is a loop in plain Python, the sampler needs its gradient 2,000 times.
"""

import numpy as np

from micrograd import jit, math, value_and_grad

rng = np.random.default_rng(2)
points = rng.standard_normal((200, 2))
labels = (points @ [1.5, -1.0] + 0.5 * rng.standard_normal(200) > 0.3).astype(float)


def log_density(w):
    total = -0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    for k in range(len(labels)):
        score = w[0] + w[1] * points[k][0] + w[2] * points[k][1]
        total = total + labels[k] * score - math.log(1.0 + math.exp(score))
    return total


def sample(density, count=200, steps=10, size=0.05):
    draw, w, kept = np.random.default_rng(3), np.zeros(3), []
    for _ in range(count):
        p, (y, g) = draw.standard_normal(3), density(w)
        start, new, at = y - 0.5 * p @ p, w.copy(), np.asarray(g)
        for _ in range(steps):
            p = p + 0.5 * size * at
            new = new + size * p
            y, g = density(new)
            at = np.asarray(g)
            p = p + 0.5 * size * at
        if math.log(draw.uniform()) < y - 0.5 * p @ p - start:
            w = new
        kept.append(w)
    return np.array(kept)


def solve():
    density = jit(value_and_grad(log_density))
    return lambda: sample(density)


# ---- beside it


def numbers(found):
    return found[50:].mean(0).tolist()


def jax():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def density(w):
        score = w[0] + points @ w[1:]
        return -0.5 * (w @ w) + jnp.sum(labels * score - jnp.log(1.0 + jnp.exp(score)))

    run = jax.jit(jax.value_and_grad(density))
    return lambda: numbers(sample(lambda w: [np.asarray(x) for x in run(w)]))


OTHERS = {"JAX": jax}


def draw(ax, found):
    ax.plot(found[:, 1], found[:, 2], ".", color="#2f6fde", markersize=4)
    ax.set(title="Samples of two coefficients", xlabel="first", ylabel="second")
