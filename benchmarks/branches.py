"""Programs with branches and loops, in plain Python: how many kernels they need, and how long they take.

    python benchmarks/branches.py             # all programs; --quick for few rows

Each line has the time to the first result, the best of five later calls, the time of plain Python for as many rows
(measured on a few of them), and how many times faster the compiled rows are, all within one run.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from micrograd import math, value_and_grad, vmap


def barrier(s, strike, sigma, rate, t, normals):
    """An up-and-out call: worth nothing once the price has passed the barrier."""
    dt = t / len(normals)
    for z in normals:
        s = s * math.exp((rate - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * z)
        if s > 130.0:
            return 0.0
    return math.exp(-rate * t) * max(s - strike, 0.0)


def many_ifs(x, y):
    total = 0.0
    for k in range(32):
        x = x * 1.1 + y
        if math.sin(x + k) > 0.1 * y:
            total = total + x * y
        else:
            total = total - math.tanh(x)
    return total


def many_wheres(x, y):
    total = 0.0
    for k in range(32):
        x = x * 1.1 + y
        total = math.where(math.gt(math.sin(x + k), 0.1 * y), total + x * y, total - math.tanh(x))
    return total


def price(s, strike, sigma, t):
    d1 = (math.log(s / strike) + 0.5 * sigma * sigma * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    return s * 0.5 * math.erfc(-d1 / 1.4142135623730951) - strike * 0.5 * math.erfc(-d2 / 1.4142135623730951)


def implied_volatility(observed, s, strike, t):
    """Newton's method until the price is met."""
    sigma = 0.5
    error = price(s, strike, sigma, t) - observed
    while abs(error) > 1e-10:
        d1 = (math.log(s / strike) + 0.5 * sigma * sigma * t) / (sigma * math.sqrt(t))
        vega = s * math.sqrt(t) * math.exp(-0.5 * d1 * d1) / 2.5066282746310002
        sigma = sigma - error / vega
        error = price(s, strike, sigma, t) - observed
    return sigma


def mandelbrot(a, b):
    x = y = 0.0
    n = 0
    while n < 1000 and x * x + y * y < 4.0:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        n += 1
    return n


def american_put(s, strike, sigma, rate, steps=50):
    """Backward induction in a binomial tree."""
    dt = 1.0 / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = math.exp(-rate * dt)
    prices = [s * up ** (2 * k - steps) for k in range(steps + 1)]
    values = [max(strike - x, 0.0) for x in prices]
    for n in range(steps, 0, -1):
        values = [discount * (p * values[k + 1] + (1.0 - p) * values[k]) for k in range(n)]
        values = [max(v, strike - s * up ** (2 * k - n + 1)) for k, v in enumerate(values)]
    return values[0]


def pendulum(angle, speed):
    return speed, -math.sin(angle)


def adaptive(angle, speed):
    """An ODE solver that chooses its own steps: Heun's method with the error of Euler's."""
    t, h = 0.0, 0.1
    while t < 2.0:
        if t + h > 2.0:
            h = 2.0 - t
        a1, s1 = pendulum(angle, speed)
        a2, s2 = pendulum(angle + h * a1, speed + h * s1)
        error = 0.5 * h * (abs(a2 - a1) + abs(s2 - s1))
        if error < 1e-3:
            t = t + h
            angle, speed = angle + 0.5 * h * (a1 + a2), speed + 0.5 * h * (s1 + s2)
        h = h * math.min(2.0, math.max(0.3, 0.9 * math.sqrt(1e-3 / (error + 1e-12))))
    return angle


def programs(scale):
    """(name, function, in_axes, arguments, rows that plain Python runs)"""
    r = np.random.default_rng(0)
    n = 100_000 // scale
    greeks = value_and_grad(barrier, (0, 1, 2, 3, 4))
    yield "barrier, 250 dates, 5 Greeks", greeks, (*(None,) * 5, 0), (
        100.0, 100.0, 0.2, 0.03, 1.0, r.standard_normal((n, 250))), 20  # fmt: skip
    xy = r.standard_normal(n), r.standard_normal(n)
    yield "32 ifs, gradient", value_and_grad(many_ifs, (0, 1)), 0, xy, 100
    yield "32 wheres, gradient", value_and_grad(many_wheres, (0, 1)), 0, xy, 100
    s, k, sigma = r.uniform(90, 110, n), r.uniform(90, 110, n), r.uniform(0.1, 0.6, n)
    t = np.full(n, 1.0)
    observed = vmap(price)(s, k, sigma, t)
    yield "implied volatility", implied_volatility, 0, (observed, s, k, t), 100
    yield "implied volatility, gradient", value_and_grad(implied_volatility, (0, 1, 2)), 0, (observed, s, k, t), 100
    side = 1000 // int(scale**0.5)
    a, b = np.meshgrid(np.linspace(-2.0, 0.5, side), np.linspace(-1.25, 1.25, side))
    yield "Mandelbrot, 1,000 turns", mandelbrot, 0, (a.ravel(), b.ravel()), 50
    m = max(64, 1_000 // scale)
    yield "American put, 50 steps", value_and_grad(american_put, (0, 1, 2, 3)), 0, (
        r.uniform(80, 120, m), r.uniform(90, 110, m), r.uniform(0.1, 0.5, m), r.uniform(0.0, 0.1, m)), 5  # fmt: skip
    m = 10_000 // scale
    yield "adaptive steps", adaptive, 0, (r.uniform(-3, 3, m), r.uniform(-1, 1, m)), 50


def main() -> None:
    """Print the table."""
    scale = 50 if "--quick" in sys.argv else 1
    only = [a for a in sys.argv[1:] if not a.startswith("-")]
    print(f"{'program':32} {'rows':>9} {'kernels':>7} {'first':>8} {'then':>9} {'Python':>9} {'faster':>7}")
    for name, f, axes, args, plain in programs(scale):
        if only and not any(word in name for word in only):
            continue
        g = vmap(f, in_axes=axes)
        start = time.perf_counter()
        g(*args)
        first = time.perf_counter() - start
        best = min(_timed(lambda g=g, args=args: g(*args)) for _ in range(5))
        spread = axes if isinstance(axes, tuple) else (0,) * len(args)
        rows = max(len(a) for a, axis in zip(args, spread) if axis is not None)
        picked = np.random.default_rng(1).integers(0, rows, plain).tolist()
        start = time.perf_counter()
        for i in picked:
            f(*[a if axis is None else (a[i].tolist()) for a, axis in zip(args, spread)])
        eager = (time.perf_counter() - start) / len(picked) * rows
        kernels = sum(len(v.kernels) for v in g.variants)
        times = f"{first:7.2f}s {1e3 * best:7.1f}ms {eager:8.2f}s {eager / best:6.0f}x"
        print(f"{name:32} {rows:9,} {kernels:7} {times}", flush=True)


def _timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
