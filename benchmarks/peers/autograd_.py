"""HIPS autograd: NumPy functions, differentiated by tracing at each call."""

from __future__ import annotations

from typing import Any

from talk import Timer, missing, serve

try:
    import autograd
    import autograd.numpy as np
except ImportError:
    missing("autograd")

import functools
import importlib.metadata

import works
from clocks import clock

LOTKA = autograd.value_and_grad(lambda p: works.lotka(*p))


def point(f: Any, a: float, b: float) -> Timer:
    g = autograd.value_and_grad(lambda p: f(p[0], p[1]))
    at = np.array([a, b])
    return clock(lambda: g(at))


def layers(p: Any) -> Any:
    w1, w2, w3 = p[:48].reshape(16, 3), p[48:320].reshape(16, 17), p[320:]
    return w1, w2, w3


def loss(p: Any, X: Any, y: Any) -> Any:
    w1, w2, w3 = layers(p)
    h = np.maximum(X @ w1[:, :2].T + w1[:, 2], 0.0)
    h = np.maximum(h @ w2[:, :16].T + w2[:, 16], 0.0)
    return np.mean(np.maximum(1.0 - y * (h @ w3[:16] + w3[16]), 0.0))


def moons(rows: int, update: bool) -> Timer:
    X, y = works.moons_rows(rows)
    p = np.array(works.moons_start())
    g = autograd.grad(loss)

    def call() -> None:
        nonlocal p
        p = p - 0.1 * g(p, X, y)

    timed = clock(call)
    return timed if update else lambda: timed() / rows


serve(importlib.metadata.version("autograd"), {
    "tiny": lambda: point(works.tiny, -41.0, 2.0),
    "readme": lambda: point(works.readme_with(np.maximum), -4.0, 2.0),
    "moons step": lambda: moons(100, True),
    "lotka": lambda: clock(functools.partial(LOTKA, np.array(works.RATES))),
})  # fmt: skip
