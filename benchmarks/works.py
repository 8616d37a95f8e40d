"""The workloads of benchmarks/compiled.py as a user of the package writes them, with their data.

Every peer script makes the same data from the same seeds, so that results can be compared to the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

DATES, PATHS = 64, 100_000
MARKET = (100.0, 105.0, 0.2, 0.03, 1.0)  # spot, strike, volatility, rate, maturity
RATES = (1.1, 0.4, 0.4, 0.1, 10.0, 5.0)  # of Lotka-Volterra: four rates, two starting numbers
STEPS, STEP = 1000, 0.01
PLACES, NAMES = 8, 32  # positions of a name, names in a batch
VOCABULARY, WIDTH = 27, 16


def moons_rows(n: int) -> tuple[Any, Any]:
    """Two interleaved half circles with noise, and the side (-1 or 1) of each row."""
    rng = np.random.default_rng(1337)
    side = rng.integers(0, 2, n)
    angle = rng.uniform(0.0, np.pi, n)
    x = np.where(side == 0, np.cos(angle), 1.0 - np.cos(angle)) + rng.normal(0.0, 0.1, n)
    y = np.where(side == 0, np.sin(angle), 0.5 - np.sin(angle)) + rng.normal(0.0, 0.1, n)
    return np.column_stack([x, y]), 2.0 * side - 1.0


def moons_start() -> list[float]:
    """The 337 parameters of MLP(2, [16, 16, 1]) before training."""
    rng = np.random.default_rng(42)
    values: list[float] = []
    for nin, nout in ((2, 16), (16, 16), (16, 1)):
        for _ in range(nout):
            values += [*rng.uniform(-1.0, 1.0, nin).tolist(), 0.0]
    return values


def normals() -> Any:
    """For each date the normal numbers of all paths."""
    return np.random.default_rng(7).standard_normal((DATES, PATHS))


def names() -> tuple[Any, Any]:
    """Tokens of names of eight places, and the token that follows each."""
    drawn = np.random.default_rng(3).integers(0, VOCABULARY, (NAMES, PLACES + 1))
    return drawn[:, :-1].astype(np.int32).copy(), drawn[:, 1:].astype(np.int32).copy()


def one_name() -> tuple[list[int], list[int]]:
    """The tokens of one name of nine positions, and the token that follows each."""
    drawn = np.random.default_rng(4).integers(0, VOCABULARY, 10).tolist()
    return drawn[:-1], drawn[1:]


def gpt_start() -> list[float]:
    """The 4,192 parameters of the transformer before training."""
    return np.random.default_rng(5).normal(0.0, 0.08, 4192).tolist()


# ---- functions of one point or one row: plain scalar code, for numbers and for Values


def tiny(a: Any, b: Any) -> Any:
    """BurTorch's tiny graph."""
    c = a + b
    d = a * b + b**3
    e = c - d
    f = e**2
    return f / 2.0


def readme(a: Any, b: Any) -> Any:
    """The expression of micrograd's README."""
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    return g


def readme_with(maximum: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same for packages whose numbers have no relu, with their own maximum."""

    def readme(a: Any, b: Any) -> Any:
        c = a + b
        d = a * b + b**3
        c = c + c + 1
        c = c + 1 + c - a
        d = d + d * 2 + maximum(b + a, 0.0)
        d = d + 3 * d + maximum(b - a, 0.0)
        f = (c - d) ** 2
        return f / 2.0 + 10.0 / f

    return readme


def asian(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, z: Any, math: Any) -> Any:
    """The discounted payoff of one path; `math` is the package's math, or another with the same names."""
    dt = maturity / DATES
    drift, spread = (rate - 0.5 * vol * vol) * dt, vol * math.sqrt(dt)
    s, total = spot, 0.0
    for t in range(DATES):
        s = s * math.exp(drift + spread * z[t])
        total = total + s
    return math.exp(-rate * maturity) * math.relu(total / DATES - strike)


def rk4(steps: int, h: float) -> Callable[..., Any]:
    """Lotka-Volterra by so many steps of RK4: how far it ends from (1, 2), squared."""

    def run(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
        def slope(x: Any, y: Any) -> tuple[Any, Any]:
            return x * (a - b * y), y * (d * x - c)

        for _ in range(steps):
            kx1, ky1 = slope(x, y)
            kx2, ky2 = slope(x + 0.5 * h * kx1, y + 0.5 * h * ky1)
            kx3, ky3 = slope(x + 0.5 * h * kx2, y + 0.5 * h * ky2)
            kx4, ky4 = slope(x + h * kx3, y + h * ky3)
            x = x + h / 6.0 * (kx1 + 2.0 * kx2 + 2.0 * kx3 + kx4)
            y = y + h / 6.0 * (ky1 + 2.0 * ky2 + 2.0 * ky3 + ky4)
        return (x - 1.0) ** 2 + (y - 2.0) ** 2

    return run


lotka = rk4(STEPS, STEP)
