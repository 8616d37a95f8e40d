"""Prices of options by simulation, with all first derivatives: an Asian call, and a barrier option with a plain `if`.

    python examples/options.py

The payoff of one path is written as scalar code. `value_and_grad` differentiates it, `vmap` runs it over 100,000 paths.
Rows that take another way through the `if` are traced along that way and get machine code of their own.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from micrograd import math, value_and_grad, vmap

NAMES = ("spot", "strike", "volatility", "rate", "maturity")
MARKET = (100.0, 105.0, 0.2, 0.03, 1.0)


def asian(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, z: Any) -> Any:
    """The discounted payoff of a call on the mean of the prices at len(z) dates."""
    dt = maturity / len(z)
    drift, spread = (rate - 0.5 * vol * vol) * dt, vol * math.sqrt(dt)
    s, total = spot, 0.0
    for shock in z:
        s = s * math.exp(drift + spread * shock)
        total = total + s
    return math.exp(-rate * maturity) * math.relu(total / len(z) - strike)


BARRIER = 130.0


def barrier(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, z: Any) -> Any:
    """The discounted payoff of a call that is void once the price has touched the barrier, at a date or between two.

    Between dates the chance of having touched it is known. It goes to 1 as a price nears the barrier, so the payoff has
    no jump, and the mean of its derivatives is the derivative of its mean. (With a jump, it would not be: no path knows
    of its neighbours.)
    """
    dt = maturity / len(z)
    drift, spread = (rate - 0.5 * vol * vol) * dt, vol * math.sqrt(dt)
    s, untouched = spot, 1.0
    for shock in z:
        before, s = s, s * math.exp(drift + spread * shock)
        if s >= BARRIER:
            return 0.0 * spot
        touched = math.exp(-2.0 * math.log(BARRIER / before) * math.log(BARRIER / s) / (spread * spread))
        untouched = untouched * (1.0 - touched)
    if s <= strike:
        return 0.0 * spot
    return math.exp(-rate * maturity) * untouched * (s - strike)


def barrier_exact(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any) -> Any:
    """The same price without simulation, by reflection at the barrier."""

    def normal(x: Any) -> Any:
        return 0.5 * (1.0 + math.erf(x / 2**0.5))

    def above(s: Any, limit: Any) -> Any:  # worth of (S - strike) where S ends above the limit
        width = vol * math.sqrt(maturity)
        d = (math.log(s / limit) + (rate + 0.5 * vol * vol) * maturity) / width
        return s * normal(d) - strike * math.exp(-rate * maturity) * normal(d - width)

    def inside(s: Any) -> Any:
        return above(s, strike) - above(s, BARRIER)

    return inside(spot) - (spot / BARRIER) ** (1.0 - 2.0 * rate / (vol * vol)) * inside(BARRIER * BARRIER / spot)


def mean_over_paths(payoff: Any) -> Any:
    """Value and five derivatives, the mean over paths; z holds a path in each column."""
    f = value_and_grad(payoff, argnums=(0, 1, 2, 3, 4))
    return vmap(f, in_axes=(None, None, None, None, None, 1), reduce="mean")


def main(
    paths: int = 100_000, dates: int = 64, monitored: int = 250, quiet: bool = False
) -> dict[str, tuple[float, ...]]:
    """Price both; gives (value, five derivatives) for each."""
    rng = np.random.default_rng(7)
    found: dict[str, tuple[float, ...]] = {}
    for name, payoff, n in (("Asian call", asian, dates), ("barrier call", barrier, monitored)):
        z = rng.standard_normal((n, paths))
        price = mean_over_paths(payoff)
        price(*MARKET, z)  # traced and compiled here
        start = perf_counter()
        value, slopes = price(*MARKET, z)
        took = perf_counter() - start
        found[name] = (value, *slopes)
        if not quiet:
            print(f"{name}, {n} dates, {paths:,} paths: {value:.4f}   ({took / paths * 1e9:.0f} ns a path)")
            for label, slope in zip(NAMES, slopes, strict=True):
                print(f"    by {label:10} {slope:9.4f}")
    value, slopes = value_and_grad(barrier_exact, argnums=(0, 1, 2, 3, 4))(*MARKET)
    found["barrier call, exactly"] = (value, *slopes)
    if not quiet:
        print(
            f"the barrier call, exactly: {value:.4f}; by "
            + ", ".join(f"{n} {x:.4f}" for n, x in zip(NAMES, slopes, strict=True))
        )
    return found


if __name__ == "__main__":
    main()
