"""Compiled Jacobians of 6 to 40 numbers, beside a compiled function that only makes lists of that size.

    python benchmarks/jacobians.py       about 15 seconds

A Jacobian of n numbers is n lists of n floats, which C makes for Python in each call. Each line has the microseconds of the
Jacobian and those of lists of the same size, timed in turn, and the median ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from micrograd import jacobian, jit, math

SIZES, ROUNDS, CALLS = (6, 20, 40), 15, 60


def coupled(x: list[float]) -> list[float]:
    """Every result depends on a sum over all numbers, which is the same for all of them."""
    return [sum(a * a for a in x) * b + math.sin(b) for b in x]


def ring(x: list[float]) -> list[float]:
    """Each result depends on four numbers: the equations of Lorenz for n places on a circle."""
    n = len(x)
    return [(x[(i + 1) % n] - x[i - 2]) * x[i - 1] - x[i] + 8.0 for i in range(n)]


def products(x: list[float]) -> list[float]:
    """Each result depends on two numbers."""
    return [math.exp(x[i]) * x[i - 1] for i in range(len(x))]


def lists(x: list[float]) -> list[list[float]]:
    """Return what costs nothing but the lists."""
    return [[a * b for b in x] for a in x]


def microseconds(f: Callable[[Any], Any], x: Any) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    for _ in range(CALLS):
        f(x)
    return (time.perf_counter() - start) / CALLS * 1e6


def main() -> None:
    """Print a line for each function and size."""
    print(f"{'':10}{'n':>4}{'Jacobian, µs':>14}{'lists, µs':>11}{'ratio':>7}")
    for f in (coupled, ring, products):
        derivative, plain = jit(jacobian(f), wait=True), jit(lists, wait=True)
        for n in SIZES:
            x = [0.5 + 0.01 * k for k in range(n)]
            for _ in range(20):
                derivative(x), plain(x)
            times = [(microseconds(derivative, x), microseconds(plain, x)) for _ in range(ROUNDS)]
            ratio = statistics.median(a / b for a, b in times)
            print(f"{f.__name__:10}{n:4}{min(a for a, _ in times):14.2f}{min(b for _, b in times):11.2f}{ratio:7.2f}")


if __name__ == "__main__":
    main()
