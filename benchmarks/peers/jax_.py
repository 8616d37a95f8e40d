"""JAX: jit of value_and_grad, arrays for rows, scan for loops, float64."""

from __future__ import annotations

import os
import sys

THREADS = int(sys.argv[1] or 1)
os.sched_setaffinity(
    0, sorted(os.sched_getaffinity(0))[:THREADS]
)  # JAX makes as many threads as the process may use cores
os.environ["JAX_PLATFORMS"] = "cpu"

from typing import Any  # noqa: E402

from talk import Timer, missing, serve  # noqa: E402

try:
    import jax
    import jax.numpy as np
except ImportError:
    missing("jax")

import works  # noqa: E402
from clocks import clock  # noqa: E402

jax.config.update("jax_enable_x64", True)


def point(f: Any, a: float, b: float) -> Timer:
    g = jax.jit(jax.value_and_grad(f, (0, 1)))
    return clock(lambda: jax.block_until_ready(g(a, b)))


def loss(p: Any, X: Any, y: Any) -> Any:
    w1, w2, w3 = p[:48].reshape(16, 3), p[48:320].reshape(16, 17), p[320:]
    h = np.maximum(X @ w1[:, :2].T + w1[:, 2], 0.0)
    h = np.maximum(h @ w2[:, :16].T + w2[:, 16], 0.0)
    return np.mean(np.maximum(1.0 - y * (h @ w3[:16] + w3[16]), 0.0))


def moons(rows: int) -> Timer:
    X, y = (np.asarray(a) for a in works.moons_rows(rows))
    p = np.asarray(works.moons_start())

    @jax.jit
    def step(p: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, X, y)
        return value, p - 0.1 * g

    def call() -> None:
        nonlocal p
        _, p = step(p)
        jax.block_until_ready(p)

    timed = clock(call)
    return timed if rows == 100 else lambda: timed() / rows


def asian() -> Timer:
    def price(market: Any, z: Any) -> Any:
        spot, strike, vol, rate, maturity = market
        dt = maturity / works.DATES
        drift, spread = (rate - 0.5 * vol * vol) * dt, vol * np.sqrt(dt)

        def date(state: Any, zt: Any) -> Any:
            s, total = state
            s = s * np.exp(drift + spread * zt)
            return (s, total + s), None

        n = z.shape[1]
        (_, total), _ = jax.lax.scan(date, (np.full(n, spot), np.zeros(n)), z)
        return np.mean(np.exp(-rate * maturity) * np.maximum(total / works.DATES - strike, 0.0))

    z = np.asarray(works.normals())
    g = jax.jit(jax.value_and_grad(price))
    market = tuple(map(float, works.MARKET))
    timed = clock(lambda: jax.block_until_ready(g(market, z)))
    return lambda: timed() / works.PATHS


def simulation() -> Timer:
    """The same with normals from JAX's own generator, made in the compiled function."""

    def price(market: Any, key: Any) -> Any:
        spot, strike, vol, rate, maturity = market
        dt = maturity / works.DATES
        drift, spread = (rate - 0.5 * vol * vol) * dt, vol * np.sqrt(dt)

        def date(state: Any, now: Any) -> Any:
            s, total = state
            s = s * np.exp(drift + spread * jax.random.normal(now, (works.PATHS,), dtype=np.float64))
            return (s, total + s), None

        start = np.full(works.PATHS, spot), np.zeros(works.PATHS)
        (_, total), _ = jax.lax.scan(date, start, jax.random.split(key, works.DATES))
        return np.mean(np.exp(-rate * maturity) * np.maximum(total / works.DATES - strike, 0.0))

    g = jax.jit(jax.value_and_grad(price))
    market, key = tuple(map(float, works.MARKET)), jax.random.key(0)
    timed = clock(lambda: jax.block_until_ready(g(market, key)))
    return lambda: timed() / works.PATHS


def lotka() -> Timer:
    def distance(p: Any) -> Any:
        a, b, c, d, x0, y0 = p

        def slope(x: Any, y: Any) -> Any:
            return x * (a - b * y), y * (d * x - c)

        def advance(state: Any, _: Any) -> Any:
            x, y = state
            h = works.STEP
            kx1, ky1 = slope(x, y)
            kx2, ky2 = slope(x + 0.5 * h * kx1, y + 0.5 * h * ky1)
            kx3, ky3 = slope(x + 0.5 * h * kx2, y + 0.5 * h * ky2)
            kx4, ky4 = slope(x + h * kx3, y + h * ky3)
            return (
                x + h / 6.0 * (kx1 + 2.0 * kx2 + 2.0 * kx3 + kx4),
                y + h / 6.0 * (ky1 + 2.0 * ky2 + 2.0 * ky3 + ky4),
            ), None

        (x, y), _ = jax.lax.scan(advance, (x0, y0), None, length=works.STEPS)
        return (x - 1.0) ** 2 + (y - 2.0) ** 2

    g = jax.jit(jax.value_and_grad(distance))
    at = tuple(map(float, works.RATES))
    return clock(lambda: jax.block_until_ready(g(at)))


def gpt(count: int, adam: bool = False) -> Timer:
    tokens, following = (np.asarray(a[:count]) for a in works.names())
    if adam:
        tokens, following = (np.asarray([a]) for a in works.one_name())
    p = np.asarray(works.gpt_start())

    def norm(x: Any) -> Any:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)

    def loss(p: Any) -> Any:
        parts, start = [], 0
        for rows, columns in ((27, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16, 16), (64, 16), (16, 64), (27, 16)):
            parts.append(p[start : start + rows * columns].reshape(rows, columns))
            start += rows * columns
        wt, wp, wq, wk, wv, wo, wu, wd, wh = parts
        n = tokens.shape[1]
        x = norm(wt[tokens] + wp[:n])
        xn = norm(x)
        q, k, v = ((xn @ w.T).reshape(count, n, 4, 4).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
        att = np.where(np.tril(np.ones((n, n), bool)), q @ k.transpose(0, 1, 3, 2) * 0.5, -np.inf)
        mixed = (jax.nn.softmax(att, -1) @ v).transpose(0, 2, 1, 3).reshape(count, n, 16)
        x = x + mixed @ wo.T
        x = x + np.maximum(norm(x) @ wu.T, 0.0) @ wd.T
        logits = jax.nn.log_softmax(x @ wh.T, -1)
        return -np.mean(np.take_along_axis(logits, following[..., None], -1))

    if adam:
        return adam_step(loss, p)
    g = jax.jit(jax.value_and_grad(loss))
    timed = clock(lambda: jax.block_until_ready(g(p)))
    return lambda: timed() / count


def adam_step(loss: Any, p: Any) -> Timer:
    @jax.jit
    def step(state: Any) -> Any:
        p, mean, square, k = state
        value, g = jax.value_and_grad(loss)(p)
        k, lr = k + 1, 1e-9 * (1.0 - k / 1e9)
        mean, square = 0.85 * mean + 0.15 * g, 0.99 * square + 0.01 * g * g
        size, root = lr / (1.0 - 0.85**k), np.sqrt(1.0 - 0.99**k)
        return value, (p - size * mean / (np.sqrt(square) / root + 1e-8), mean, square, k)

    state = (p, np.zeros_like(p), np.zeros_like(p), np.asarray(0.0))

    def call() -> None:
        nonlocal state
        _, state = step(state)
        jax.block_until_ready(state)

    return clock(call)


ONE = {
    "tiny": lambda: point(works.tiny, -41.0, 2.0),
    "readme": lambda: point(works.readme_with(np.maximum), -4.0, 2.0),
    "moons step": lambda: moons(100),
    "moons rows": lambda: moons(100_000),
    "asian": asian,
    "simulation": simulation,
    "lotka": lotka,
    "gpt": lambda: gpt(1),
    "microgpt": lambda: gpt(1, adam=True),
    "gpt batch": lambda: gpt(works.NAMES),
}
TWO = {"moons rows 2": lambda: moons(100_000), "asian 2": asian}
serve(jax.__version__, ONE if THREADS == 1 else TWO)
