"""Fit an ODE to data: hares and lynxes (Lotka-Volterra), with gradients through the Runge-Kutta solver.

    python examples/lotka.py

The solver is a plain loop over numbers. Its loss against data is differentiated through all steps and compiled; the fit takes
steps of Gauss and Newton on the derivatives of the residuals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd import jacobian, jit, value_and_grad

TRUE = (1.1, 0.4, 0.4, 0.1)  # growth, being eaten, dying, eating
START = (10.0, 5.0)
STEP = 0.05


def solve(rates: Any, steps: int, every: int) -> list[Any]:
    """Both populations at each `every`-th step of RK4, one after the other in a list."""
    a, b, c, d = rates

    def slope(x: Any, y: Any) -> tuple[Any, Any]:
        return x * (a - b * y), y * (d * x - c)

    (x, y), h, seen = START, STEP, []
    for k in range(1, steps + 1):
        kx1, ky1 = slope(x, y)
        kx2, ky2 = slope(x + h / 2 * kx1, y + h / 2 * ky1)
        kx3, ky3 = slope(x + h / 2 * kx2, y + h / 2 * ky2)
        kx4, ky4 = slope(x + h * kx3, y + h * ky3)
        x = x + h / 6 * (kx1 + 2 * kx2 + 2 * kx3 + kx4)
        y = y + h / 6 * (ky1 + 2 * ky2 + 2 * ky3 + ky4)
        if k % every == 0:
            seen += [x, y]
    return seen


def main(steps: int = 200, every: int = 10, rounds: int = 12, quiet: bool = False) -> list[float]:
    """Make data with noise, forget the rates, find them again; gives them."""
    rng = np.random.default_rng(0)
    data = [x + e for x, e in zip(solve(TRUE, steps, every), rng.normal(0.0, 0.05, 2 * steps // every), strict=True)]

    def residuals(rates: Any) -> list[Any]:
        return [x - target for x, target in zip(solve(rates, steps, every), data, strict=True)]

    def loss(rates: Any) -> Any:
        return sum(r * r for r in residuals(rates)) / len(data)

    slopes, value_and_slope = jit(jacobian(residuals)), jit(value_and_grad(loss))
    residuals_of = jit(residuals)
    rates, damping = [1.0, 0.3, 0.3, 0.08], 1.0
    value, _ = value_and_slope(rates)
    for k in range(rounds):
        J, r = np.array(slopes(rates)), np.array(residuals_of(rates))
        move = np.linalg.solve(J.T @ J + damping * np.diag(np.diag(J.T @ J)), -J.T @ r)
        tried = (np.array(rates) + move).tolist()
        new, gradient = value_and_slope(tried)
        if new < value:  # Levenberg's rule: trust the straight line more after a success, less after a failure
            rates, value, damping = tried, new, damping / 10
        else:
            damping *= 10
        if not quiet:
            print(f"round {k:2}: loss {value:10.6f}, largest slope {max(map(abs, gradient)):.2e}")
    if not quiet:
        print("found  " + ", ".join(f"{x:.4f}" for x in rates))
        print("true   " + ", ".join(f"{x:.4f}" for x in TRUE))
    return rates


if __name__ == "__main__":
    main()
