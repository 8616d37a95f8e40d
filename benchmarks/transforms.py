"""Time eager transforms at one point beside Values and backward() written by hand, in one run.

    python benchmarks/transforms.py

Rounds are interleaved, and the best of each counts. Exits with 1 when a ratio is above its target.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from micrograd import Value, grad, hessian, hvp, jacobian, jvp, math, value_and_grad, vjp


def lennard_jones(p: list[Any]) -> Any:
    energy = 0.0
    for i in range(0, len(p), 3):
        for j in range(0, i, 3):
            dx, dy, dz = p[i] - p[j], p[i + 1] - p[j + 1], p[i + 2] - p[j + 2]
            r2 = dx * dx + dy * dy + dz * dz
            s = 1.0 / (r2 * r2 * r2)
            energy = energy + 4.0 * (s * s - s)
    return energy


def rosenbrock(x: list[Any]) -> Any:
    return sum((100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 for a, b in pairwise(x)), 0.0)


def products(x: list[Any]) -> list[Any]:
    return [math.sin(a) * b for a, b in pairwise(x)]


def tiny(x: Any) -> Any:
    return x * x + math.sin(x)


def gradient_by_hand(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(p: list[float]) -> Any:
        values = [Value(x) for x in p]
        y = f(values)
        y.backward()
        return y.data, [v.grad for v in values]

    return run


def jacobian_by_hand(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(p: list[float]) -> Any:
        values, rows = [Value(x) for x in p], []
        for y in f(values):
            for v in values:
                v.grad = 0.0
            y.backward()
            rows.append([v.grad for v in values])
        return rows

    return run


weight = Value(0.7)


def with_captured(x: list[Any]) -> Any:
    return sum((100.0 * (b - weight * a * a) ** 2 + (1.0 - a) ** 2 for a, b in pairwise(x)), 0.0)


def each_by_hand(f: Callable[..., Any]) -> Callable[..., Any]:
    """As many gradients as a Hessian has rows."""

    def run(p: list[float]) -> Any:
        return [gradient_by_hand(f)(p) for _ in p]

    return run


def tiny_by_hand(x: float) -> float:
    v = Value(x)
    tiny(v).backward()
    return v.grad


def best(runs: list[Callable[[], Any]], rounds: int = 15, least: float = 0.02) -> list[float]:
    """The seconds of one call of each, of interleaved rounds the best."""
    counts = []
    for run in runs:
        start = time.perf_counter()
        run()
        counts.append(max(1, int(least / max(time.perf_counter() - start, 1e-7))))
    found = [float("inf")] * len(runs)
    for _ in range(rounds):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            for _ in range(counts[k]):
                run()
            found[k] = min(found[k], (time.perf_counter() - start) / counts[k])
    return found


def main() -> int:
    draw = random.Random(0)
    atoms = [draw.uniform(0.0, 5.0) for _ in range(90)]
    point = [draw.uniform(-1.0, 1.0) for _ in range(400)]
    short = point[:60]
    cases: list[tuple[str, Callable[[], Any], Callable[[], Any], float]] = [
        ("Lennard-Jones, 30 atoms", lambda: gradient_by_hand(lennard_jones)(atoms), lambda: atoms_gradient(atoms), 1.5),
        (
            "Rosenbrock, 400 numbers",
            lambda: gradient_by_hand(rosenbrock)(point),
            lambda: rosenbrock_gradient(point),
            1.5,
        ),
        ("Jacobian, 59 by 60", lambda: jacobian_by_hand(products)(short), lambda: products_jacobian(short), 1.5),
        ("a function of two operations", lambda: tiny_by_hand(1.5), lambda: tiny_gradient(1.5), 2.0),
        # One row of a Hessian beside one gradient; a product with a Hessian, and gradients that stay connected, make a graph of
        # the gradient, which has about five times as many nodes.
        ("Hessian, 20 numbers", lambda: each_by_hand(rosenbrock)(short[:20]), lambda: second(short[:20]), 1.5),
        ("Hessian, 10 atoms", lambda: each_by_hand(lennard_jones)(atoms[:30]), lambda: atoms_second(atoms[:30]), 1.5),
        ("jvp", lambda: gradient_by_hand(rosenbrock)(point), lambda: jvp(rosenbrock, (point,), (point,)), 2.0),
        ("vjp", lambda: gradient_by_hand(rosenbrock)(point), lambda: vjp(rosenbrock, point)[1](1.0), 3.0),
        ("hvp", lambda: gradient_by_hand(rosenbrock)(point), lambda: hvp(rosenbrock, (point,), (point,)), 15.0),
        ("a captured Value", lambda: gradient_by_hand(with_captured)(point), lambda: connected(point), 15.0),
    ]
    atoms_gradient, rosenbrock_gradient = value_and_grad(lennard_jones), value_and_grad(rosenbrock)
    products_jacobian, tiny_gradient = jacobian(products), grad(tiny)
    second, atoms_second, connected = hessian(rosenbrock), hessian(lennard_jones), grad(with_captured)
    missed = 0
    print(f"{'':32} {'by hand':>12} {'transform':>12} {'ratio':>8} {'target':>8}")
    for name, by_hand, transform, target in cases:
        hand, ours = best([by_hand, transform])
        missed += ours > target * hand
        sign = "MISSED" if ours > target * hand else ""
        print(
            f"{name:32} {hand * 1e6:9.1f} µs {ours * 1e6:9.1f} µs {ours / hand:8.2f} {'≤ ' + format(target, 'g'):>8} {sign}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
