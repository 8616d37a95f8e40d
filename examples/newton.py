"""Second derivatives at work: Newton's method with `hessian`, and a Gauss-Newton fit with `jacobian`.

python examples/newton.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from micrograd import grad, hessian, jacobian, jit, math


def rosenbrock(p: Any) -> Any:
    """A bent valley with its lowest point at (1, 1)."""
    a, b = p
    return 100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2


def newton(f: Any, start: list[float], rounds: int = 50, quiet: bool = True) -> tuple[list[float], int]:
    """Go where the gradient vanishes, by the slope of the gradient; halve a step that climbs."""
    value, slope, bend = jit(f), jit(grad(f)), jit(hessian(f))
    p = start
    for k in range(rounds):
        g = np.array(slope(p))
        if np.max(np.abs(g)) < 1e-10:
            return p, k
        move, size = np.linalg.solve(np.array(bend(p)), -g), 1.0
        while value((np.array(p) + size * move).tolist()) > value(p) and size > 1e-6:
            size /= 2.0
        p = (np.array(p) + size * move).tolist()
        if not quiet:
            print(f"round {k:2}: value {value(p):.3e}")
    return p, rounds


def curve(p: Any, t: float) -> Any:
    """A swing that dies out: height, rate of dying, frequency."""
    height, dying, frequency = p
    return height * math.exp(-dying * t) * math.cos(frequency * t)


def gauss_newton(times: list[float], data: list[float], start: list[float], rounds: int = 20) -> list[float]:
    """The parameters of `curve` with the least squares from the data."""

    def residuals(p: Any) -> list[Any]:
        return [curve(p, t) - x for t, x in zip(times, data, strict=True)]

    values, slopes = jit(residuals), jit(jacobian(residuals))
    p = start
    for _ in range(rounds):
        J, r = np.array(slopes(p)), np.array(values(p))
        move = np.linalg.lstsq(J, -r, rcond=None)[0]
        p = (np.array(p) + move).tolist()
        if np.max(np.abs(move)) < 1e-12:
            break
    return p


def main(quiet: bool = False) -> tuple[list[float], list[float]]:
    """Both methods; gives what each found."""
    lowest, rounds = newton(rosenbrock, [-1.2, 1.0], quiet=quiet)
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 5.0, 40).tolist()
    data = [curve((2.0, 0.5, 3.0), t) + e for t, e in zip(times, rng.normal(0.0, 0.02, 40), strict=True)]
    fitted = gauss_newton(times, data, [1.5, 0.3, 2.8])
    if not quiet:
        print(f"lowest point after {rounds} rounds of Newton: " + ", ".join(f"{x:.6f}" for x in lowest))
        print("fitted by Gauss-Newton: " + ", ".join(f"{x:.4f}" for x in fitted) + "   (made with 2, 0.5, 3)")
    return lowest, fitted


if __name__ == "__main__":
    main()
