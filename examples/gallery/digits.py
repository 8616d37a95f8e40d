"""Tell noisy digits apart.

Logistic regression of ten classes on pictures of 5 × 7 points, by 100 steps of gradient descent over 500 rows.
"""

import numpy as np

from micrograd import math, value_and_grad, vmap

GLYPHS = [  # the rows of ten digits
    "01110 00100 01110 11110 00010 11111 01110 11111 01110 01110",
    "10001 01100 10001 00001 00110 10000 10000 00001 10001 10001",
    "10011 00100 00001 00001 01010 11110 10000 00010 10001 10001",
    "10101 00100 00010 01110 10010 00001 11110 00100 01110 01111",
    "11001 00100 00100 00001 11111 00001 10001 01000 10001 00001",
    "10001 00100 01000 00001 00010 10001 10001 01000 10001 00001",
    "01110 01110 11111 11110 00010 01110 01110 01000 01110 01110",
]
rng = np.random.default_rng(7)
clean = np.array([[float(p) for row in GLYPHS for p in row.split()[digit]] for digit in range(10)])
labels = rng.integers(0, 10, 500)
pictures = clean[labels] + 0.4 * rng.standard_normal((500, 35))


def loss(weights, picture, label):
    scores = [sum((w * x for w, x in zip(row, picture)), row[35]) for row in weights]
    total, own = 0.0, 0.0
    for k, score in enumerate(scores):
        total = total + math.exp(score)
        own = own + (score if k == label else 0.0)
    return math.log(total) - own


def train(step, count=100, rate=0.5):
    weights = np.zeros((10, 36))
    for _ in range(count):
        value, slopes = step(weights)
        weights = weights - rate * np.asarray(slopes)
    return weights, float(value)


def solve():
    step = vmap(value_and_grad(loss), in_axes=(None, 0, 0), reduce="mean")
    return lambda: train(lambda weights: step(weights, pictures, labels))


# ---- beside it


def numbers(found):
    return [found[1]]


def jax():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def mean(weights):
        scores = pictures @ weights[:, :35].T + weights[:, 35]
        return jnp.mean(jnp.log(jnp.exp(scores).sum(1)) - scores[jnp.arange(500), labels])

    step = jax.jit(jax.value_and_grad(mean))
    return lambda: numbers(train(step))


OTHERS = {"JAX": jax}


def draw(ax, found):
    weights = found[0]
    rows = [
        np.concatenate([np.pad(weights[k, :35].reshape(7, 5), 1) for k in some], 1) for some in (range(5), range(5, 10))
    ]
    ax.imshow(np.concatenate(rows), cmap="coolwarm")
    ax.set_axis_off()
    right = np.mean(np.argmax(pictures @ weights[:, :35].T + weights[:, 35], 1) == labels)
    ax.set(title=f"Weights of ten digits, {100 * right:.0f} % right")
