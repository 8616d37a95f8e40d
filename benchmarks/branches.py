"""Programs with branches and loops, in plain Python: how many kernels they need, and how long they take.

    python benchmarks/branches.py             # all programs; --quick for few rows
    python benchmarks/branches.py --peers DIRECTORY   # and JAX of that virtual environment (make bench makes it), on one core

Each line has the time to the first result, the best of some later calls on one thread, the time of plain Python for as many
rows (measured on a few of them), and the time beside that of hand-written C (benchmarks/hand/branches.c, whose results are
compared too) or of the same program written with math.where. Both are timed in turns within one run. Exits with 1 where a
figure misses its target.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from contenders import Hand
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


STEPS = 200  # of the binomial tree


def american_put(s, strike, sigma, rate):
    """Backward induction in a binomial tree: what is held is worth the mean of the next step, or what it pays now."""
    dt = 1.0 / STEPS
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = math.exp(-rate * dt)
    prices = [s * up**j for j in range(-STEPS, STEPS + 1)]
    values = [max(strike - prices[2 * k], 0.0) for k in range(STEPS + 1)]
    for n in range(STEPS, 0, -1):
        held = [discount * (p * values[k + 1] + (1.0 - p) * values[k]) for k in range(n)]
        values = [max(v, strike - prices[2 * k - n + 1 + STEPS]) for k, v in enumerate(held)]
    return values[0]


def pendulum(angle, speed):
    return speed, -math.sin(angle)


def adaptive(angle, speed):
    """RK45 with the numbers of Cash and Karp: the error of each step decides about its size."""
    t, h = 0.0, 0.1
    while t < 2.0:
        if t + h > 2.0:
            h = 2.0 - t
        a1, s1 = pendulum(angle, speed)
        a2, s2 = pendulum(angle + h * 0.2 * a1, speed + h * 0.2 * s1)
        a3, s3 = pendulum(angle + h * (0.075 * a1 + 0.225 * a2), speed + h * (0.075 * s1 + 0.225 * s2))
        a4, s4 = pendulum(angle + h * (0.3 * a1 - 0.9 * a2 + 1.2 * a3), speed + h * (0.3 * s1 - 0.9 * s2 + 1.2 * s3))
        a5, s5 = pendulum(
            angle + h * (-11 / 54 * a1 + 2.5 * a2 - 70 / 27 * a3 + 35 / 27 * a4),
            speed + h * (-11 / 54 * s1 + 2.5 * s2 - 70 / 27 * s3 + 35 / 27 * s4),
        )
        a6, s6 = pendulum(
            angle + h * (1631 / 55296 * a1 + 175 / 512 * a2 + 575 / 13824 * a3 + 44275 / 110592 * a4 + 253 / 4096 * a5),
            speed + h * (1631 / 55296 * s1 + 175 / 512 * s2 + 575 / 13824 * s3 + 44275 / 110592 * s4 + 253 / 4096 * s5),
        )
        da = h * (37 / 378 * a1 + 250 / 621 * a3 + 125 / 594 * a4 + 512 / 1771 * a6)
        ds = h * (37 / 378 * s1 + 250 / 621 * s3 + 125 / 594 * s4 + 512 / 1771 * s6)
        ea = da - h * (2825 / 27648 * a1 + 18575 / 48384 * a3 + 13525 / 55296 * a4 + 277 / 14336 * a5 + 0.25 * a6)
        es = ds - h * (2825 / 27648 * s1 + 18575 / 48384 * s3 + 13525 / 55296 * s4 + 277 / 14336 * s5 + 0.25 * s6)
        error = abs(ea) + abs(es)
        if error < 1e-6:
            t = t + h
            angle, speed = angle + da, speed + ds
        h = h * math.min(4.0, math.max(0.2, 0.9 * math.sqrt(math.sqrt(1e-6 / (error + 1e-15)))))
    return angle


class Program(NamedTuple):
    """A program, its rows, and what it is compared with."""

    name: str
    f: Any
    args: tuple[Any, ...]
    axes: Any = 0
    plain: int = 100  # rows that plain Python runs
    hand: str = ""  # the function in benchmarks/hand/branches.c
    beside: str = "C by hand"
    target: float = 0.0  # at most so many times the time of what it is compared with; of plain Python, at least so many
    within: float = 60.0  # seconds to the first result


def programs(scale):
    """All programs of the table."""
    r = np.random.default_rng(0)
    n = 100_000 // scale // 8 * 8
    market = 100.0, 100.0, 0.2, 0.03, 1.0
    yield Program(
        "barrier, 250 dates, 5 Greeks", value_and_grad(barrier, (0, 1, 2, 3, 4)),
        (*market, r.standard_normal((n, 250))), (*(None,) * 5, 0), 20, "barrier", target=1.5, within=3.0,
    )  # fmt: skip
    xy = r.standard_normal(n), r.standard_normal(n)
    yield Program("32 wheres, gradient", value_and_grad(many_wheres, (0, 1)), xy, beside="")
    yield Program("32 ifs, gradient", value_and_grad(many_ifs, (0, 1)), xy, beside="32 wheres, gradient", target=1.3)
    s, k, sigma = r.uniform(90, 110, n), r.uniform(90, 110, n), r.uniform(0.1, 0.6, n)
    t = np.full(n, 1.0)
    quotes = vmap(price)(s, k, sigma, t), s, k, t
    yield Program("implied volatility", implied_volatility, quotes, hand="newton", target=2.0)
    yield Program(
        "implied volatility, gradient", value_and_grad(implied_volatility, (0, 1, 2)), quotes, hand="newton", target=2.0
    )
    side = 1000 // int(scale**0.5) // 8 * 8
    a, b = np.meshgrid(np.linspace(-2.0, 0.5, side), np.linspace(-1.25, 1.25, side))
    yield Program(
        "Mandelbrot, 1,000 iterations", mandelbrot, (a.ravel(), b.ravel()), plain=50, hand="mandelbrot", target=2.0
    )
    m = 10_000 // scale
    pendulums = r.uniform(-3, 3, m), r.uniform(-1, 1, m)
    yield Program("adaptive RK45", adaptive, pendulums, plain=50, beside="Python", target=20.0)
    m = max(64, 1_000 // scale) // 8 * 8
    options = r.uniform(80, 120, m), r.uniform(90, 110, m), r.uniform(0.1, 0.5, m), r.uniform(0.0, 0.1, m)
    yield Program(
        "American put, 200 steps, 4 Greeks", value_and_grad(american_put, (0, 1, 2, 3)), options, plain=2, hand="american",
        target=2.0, within=5.0,
    )  # fmt: skip


def flat(result) -> list[Any]:
    """The arrays of a result, one behind the other."""
    return [a for part in result for a in flat(part)] if isinstance(result, tuple) else [np.asarray(result, float)]


class ByHand:
    """The programs in C."""

    def __init__(self):
        self.hand = Hand()
        self.there = bool(self.hand.version)

    def timer(self, p, results):
        """A function that gives the seconds of a call; the results of a first call are compared with ours."""
        time_it = getattr(self.hand.library("branches"), f"time_{p.hand}")
        time_it.restype = ctypes.c_double
        columns = [np.ascontiguousarray(a, float) for a, axis in zip(p.args, spread(p)) if axis is not None]
        given = [np.array([a for a, axis in zip(p.args, spread(p)) if axis is None])] if None in spread(p) else []
        rows = len(columns[0])
        out = np.empty((len(results), rows))
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in [*given, *columns]]
        more = [ctypes.c_int(len(results) > 1)] if p.hand == "newton" else []

        def once() -> float:
            return time_it(*pointers, ctypes.c_long(rows), ctypes.c_void_p(out.ctypes.data), *more, ctypes.c_int(1))

        once()
        near = [np.isclose(a, b, rtol=1e-6, atol=1e-8).mean() for a, b in zip(out, results)]
        assert min(near) > 0.999, f"{p.name}: C by hand gives other results: {near}"
        return once


def spread(p: Program):
    return p.axes if isinstance(p.axes, tuple) else (p.axes,) * len(p.args)


def run(p: Program, by_hand: ByHand, others: dict[str, Any]) -> tuple[str, list[str]]:
    """The line of the table for one program, and what misses its target."""
    g = vmap(p.f, in_axes=p.axes, threads=1)
    start = time.perf_counter()
    results = flat(g(*p.args))
    first = time.perf_counter() - start
    others[p.name] = lambda: _timed(lambda: g(*p.args))
    rounds = [others[p.name]() for _ in range(5)]
    rows = max(len(a) for a, axis in zip(p.args, spread(p)) if axis is not None)
    picked = np.random.default_rng(1).integers(0, rows, p.plain).tolist()
    start = time.perf_counter()
    for i in picked:
        p.f(*[a if axis is None else (a[i].tolist()) for a, axis in zip(p.args, spread(p))])
    eager = (time.perf_counter() - start) / len(picked) * rows
    kernels, best = sum(len(v.kernels) for v in g.variants), min(rounds)
    beside, missed = "", []
    other = by_hand.timer(p, results) if p.hand and by_hand.there else others.get(p.beside)
    if other is not None:  # in turns, so that whatever else runs slows both
        pairs = [(others[p.name](), other()) for _ in range(7)]
        best = min(best, *(mine for mine, _ in pairs))
        ratio = median([mine / theirs for mine, theirs in pairs])
        beside = f"{ratio:6.2f}x {p.beside} (at most {p.target}x)"
        missed += [f"{p.name}: {ratio:.2f}x the time of {p.beside}, target {p.target}x"] if ratio > p.target else []
    elif p.beside == "Python":
        beside = f"{eager / best:6.0f}x faster than Python (at least {p.target:.0f}x)"
        missed += [f"{p.name}: only {eager / best:.0f}x faster than Python"] if eager < p.target * best else []
    missed += [f"{p.name}: {first:.1f} s to the first result, target {p.within:.0f} s"] if first > p.within else []
    missed += [f"{p.name}: {kernels} kernels"] if kernels > 1 and p.beside != "Python" else []
    times = f"{first:7.2f}s {1e3 * best:7.1f}ms {eager:8.2f}s"
    return f"{p.name:34} {rows:9,} {kernels:7} {times} {beside}", missed


def beside_jax(peers: str, done: list[Program], others: dict[str, Any]) -> None:
    """Print the times of JAX for the same rows, in a process on one core; its values are compared, too."""
    known = (Path(__file__).parent / "peers" / "branches_jax.py").read_text()
    both = [p for p in done if f'"{p.name}":' in known]
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, **{f"{p.name}/{k}": np.asarray(a) for p in both for k, a in enumerate(p.args)})
        command = [str(Path(peers) / "bin" / "python"), "benchmarks/peers/branches_jax.py", str(rows)]
        pinned = ["taskset", "-c", str(core), *command]
        ran = subprocess.run(pinned, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    if ran.returncode:
        print(f"JAX is not compared: {(ran.stderr.strip() or 'it failed').splitlines()[-1]}")
        return
    for p in both:
        seconds, mean = json.loads(ran.stdout)[p.name]
        ours = float(np.mean(flat(vmap(p.f, in_axes=p.axes, threads=1)(*p.args))[0]))
        assert abs(mean - ours) <= 1e-6 * abs(ours), f"{p.name}: JAX gives {mean}, not {ours}"
        mine = min(others[p.name]() for _ in range(3))
        print(f"{p.name:34} {1e3 * seconds:9.1f}ms in JAX, {seconds / mine:5.1f} times ours")


def main() -> None:
    """Print the table; exit with 1 where a figure misses its target."""
    scale = 50 if "--quick" in sys.argv else 1
    words = sys.argv[1:]
    peers = words.pop(words.index("--peers") + 1) if "--peers" in words else ""
    only = [a for a in words if not a.startswith("-")]
    print(f"{'program':34} {'rows':>9} {'kernels':>7} {'first':>8} {'then':>9} {'Python':>9}")
    by_hand, others, missed = ByHand(), {}, []
    done: list[Program] = []
    for p in programs(scale):
        if not only or any(word in p.name for word in only):
            line, short = run(p, by_hand, others)
            print(line, flush=True)
            missed += short
            done.append(p)
    if peers:
        beside_jax(peers, done, others)
    print("\n".join(missed) or "every figure meets its target")
    sys.exit(bool(missed) and "--quick" not in sys.argv)


def _timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
