"""Rows on a GPU: times of kernels with arrays on the device, and of whole calls with NumPy arrays. `make bench-gpu`

Times of kernels are the median of several launches, after the first ones; a whole call also copies its arrays to the device.
With `--static`, and ptxas on the PATH, it prints the registers, the stack and the spills of each kernel too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from micrograd import CompileError, Value, jacfwd, losses, math, nn, optim, value_and_grad, vmap
from micrograd.compile.cuda import driver
from micrograd.compile.device import rows as run
from micrograd.compile.rows import Rows
from micrograd.train import fit, on_device

DATES, DAYS = 64, 250
MARKET = (100.0, 105.0, 0.2, 0.03, 1.0)


def asian(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, z: Any) -> Any:
    """An Asian call over the average of 64 dates."""
    dt = maturity / DATES
    drift, spread = (rate - 0.5 * vol * vol) * dt, vol * math.sqrt(dt)
    s, total = spot, 0.0
    for t in range(DATES):
        s = s * math.exp(drift + spread * z[t])
        total = total + s
    return math.exp(-rate * maturity) * math.relu(total / DATES - strike)


def asian_tangents(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any, z: Any) -> Any:
    """The same with derivatives by a forward sweep that is written by hand."""
    dt = maturity / DATES
    root = math.sqrt(dt)
    drift, spread = (rate - 0.5 * vol * vol) * dt, vol * root
    s, total = spot, 0.0
    sd, sv, td, tv = 0.0, 0.0, 0.0, 0.0
    for t in range(DATES):
        e = math.exp(drift + spread * z[t])
        s = s * e
        sd = sd * e + s
        sv = sv * e + s * z[t]
        total, td, tv = total + s, td + sd, tv + sv
    d = math.exp(-rate * maturity)
    on = math.where(math.gt(total / DATES, strike), d, 0.0)
    pay = math.relu(total / DATES - strike)
    by_drift, by_spread = on * td / DATES, on * tv / DATES
    by_dt = by_drift * (rate - 0.5 * vol * vol) + by_spread * vol * 0.5 / root
    return d * pay, (on * total / DATES / spot, 0.0 - on, by_spread * root - by_drift * vol * dt,
                     by_drift * dt - maturity * d * pay, by_dt / DATES - rate * d * pay)  # fmt: skip


def barrier(s: Any, strike: Any, sigma: Any, rate: Any, t: Any, normals: Any) -> Any:
    """A call that is void once the price has been above 130."""
    dt = t / len(normals)
    for z in normals:
        s = s * math.exp((rate - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * z)
        if s > 130.0:
            return 0.0
    return math.exp(-rate * t) * max(s - strike, 0.0)


def lorenz(sigma: Any, rho: Any, beta: Any, x: Any, y: Any, z: Any) -> Any:
    """The Lorenz system after 1,000 steps of Runge and Kutta."""
    h = 0.001

    def slope(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    for _ in range(1000):
        ax, ay, az = slope(x, y, z)
        bx, by, bz = slope(x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az)
        cx, cy, cz = slope(x + 0.5 * h * bx, y + 0.5 * h * by, z + 0.5 * h * bz)
        dx, dy, dz = slope(x + h * cx, y + h * cy, z + h * cz)
        x = x + h / 6 * (ax + 2 * bx + 2 * cx + dx)
        y = y + h / 6 * (ay + 2 * by + 2 * cy + dy)
        z = z + h / 6 * (az + 2 * bz + 2 * cz + dz)
    return x * x + y * y + z * z


def forward(f: Any, numbers: tuple[int, ...]) -> Any:
    """Value and derivatives of f, by forward sweeps."""
    slopes = jacfwd(f, numbers)
    return lambda *args: (f(*args), slopes(*args))


def workloads(n: int) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Functions, arguments and options."""
    rng = np.random.default_rng(7)
    five, market = (0, 1, 2, 3, 4), {"in_axes": (*(None,) * 5, 1), "reduce": "mean"}
    model = nn.MLP(2, [16, 16, 1], rng=0)
    points, side = rng.standard_normal((2, n)), np.sign(rng.standard_normal(n))
    starts = tuple(rng.uniform(0.5, 1.5, (3, n)))
    draws = rng.standard_normal((DATES, n))
    days = rng.standard_normal((DAYS, n))
    return {
        "asian": (value_and_grad(asian, five), (*MARKET, draws), market),
        "asian, forward by hand": (asian_tangents, (*MARKET, draws), market),
        "barrier": (value_and_grad(barrier, five), (100.0, 100.0, 0.2, 0.03, 1.0, days), market),
        "lorenz": (value_and_grad(lorenz, (0, 1, 2, 3, 4, 5)), (10.0, 28.0, 8 / 3, *starts),
                   {"in_axes": (None, None, None, 0, 0, 0), "reduce": "mean"}),
        "network": (lambda x, label: math.relu(1 - label * model(x)), (points.T, side), {"reduce": "mean"}),
    }  # fmt: skip


def best(f: Any, times: int) -> float:
    """The median time of a call."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def kernel_of(f: Any, args: tuple[Any, ...]) -> tuple[run.DeviceRows, Any]:
    """The compiled rows behind a vmapped function, and its arguments."""
    rows = Rows(args, {}, f.in_axes, f.static)
    variant = f._taking(rows, 0)
    return variant.compile(f._plan(rows).goal, "its time is measured").code, [*f._plan(rows).captured, *rows.uniform]


def kernels_alone(f: Any, args: tuple[Any, ...], times: int) -> dict[str, float]:
    """The time of each kernel with arrays that are on the device, and of all of them together."""
    code, uniform = kernel_of(f, args)
    device = driver.device(0)
    rows = Rows(args, {}, f.in_axes, f.static)
    call = run.Call(code, device, uniform)
    launched: list[Any] = []
    prepare = device.prepare

    def noted(module: Any, kernel: str, count: int, arguments: Any) -> Any:
        launched.append((kernel, prepare(module, kernel, count, arguments)))
        return launched[-1][1]

    device.prepare = noted  # type: ignore[method-assign]
    held = []
    allocate = device.allocate
    device.allocate = lambda size: held.append(allocate(size)) or held[-1]  # type: ignore[method-assign]
    sums = np.zeros((-(-rows.rows // 2048), len(code.plan.left)))
    driver.DeviceMemory.free = lambda self: None  # type: ignore[method-assign]
    bad = np.zeros(rows.rows, np.uint8) if code.guarded else None
    call.slice(tuple(rows.arrays), tuple(rows.axes), rows.rows, [], sums, bad)
    device.allocate, device.prepare = allocate, prepare  # type: ignore[method-assign]
    found = {}
    for k in range(len(launched)):

        def one(k: int = k) -> None:
            launched[k][1]()
            device.wait()

        found[launched[k][0]] = best(one, times)

    def every() -> None:
        for _, launch in launched:
            launch()
        device.wait()

    found["all"] = best(every, times)
    device.wait()
    for memory in held:
        memory._end()
    return found


def static(text: str) -> str:
    """What ptxas says of the kernel of the rows: registers, stack, spills."""
    if shutil.which("ptxas") is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "kernel.ptx")
        with open(name, "w") as file:
            file.write(text)
        how = ["ptxas", "-v", "-arch=sm_90", name, "-o", os.path.join(folder, "kernel.cubin")]
        said = subprocess.run(how, capture_output=True, text=True).stderr
    for part in said.split("Compiling entry function"):
        if part.startswith(" 'rows'"):
            numbers = [
                re.search(pattern, part)
                for pattern in (r"(\d+) registers", r"(\d+) bytes stack", r"(\d+) bytes spill st")
            ]
            return "registers {}, stack {}, spilled {}".format(*(m[1] if m else "?" for m in numbers))
    return said[:300]


def training(rows: int, batch_size: int | None, steps: int, stay: bool, **how: Any) -> float:
    """The time of a step of fit on a network of 337 parameters: the least of three runs of so many steps, less one of few."""
    points = np.random.default_rng(0).standard_normal((rows, 2))
    examples = points, np.sign(points[:, 0] * points[:, 1])
    model = nn.MLP(2, [16, 16, 1], rng=0)
    may, on_device.may_stay = on_device.may_stay, (on_device.may_stay if stay else lambda run, client: False)
    optimizer, few = optim.Adam(model.parameters(), lr=0.01), 20

    def seconds(count: int) -> float:
        began = time.perf_counter()
        fit(model, examples, losses.max_margin, optimizer, 10**6, batch_size=batch_size, steps=count, quiet=True, **how)
        return time.perf_counter() - began

    try:
        return (min(seconds(few + steps) for _ in range(3)) - min(seconds(few) for _ in range(3))) / steps
    finally:
        on_device.may_stay = may


def main() -> int:
    """Print a line for each workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--training", action="store_true", help="times of training steps alone")
    asked = parser.parse_args()
    try:
        device = driver.device(0)
    except CompileError as error:
        print(error)
        return 0
    print(f"{device.name()}, driver for CUDA {device.driver.version / 1000:g}, {asked.rows:,} rows")
    if asked.training:
        for rows, batch_size, steps in (
            (1_000, None, 1000),
            (100_000, None, 500),
            (1_000_000, None, 200),
            (100_000, 256, 2000),
        ):
            times = [training(rows, batch_size, steps, stay, device="cuda") for stay in (True, False)]
            times.append(training(rows, batch_size, steps // 4, False, compile=True))
            told = [f"{seconds * 1e6:,.0f}" if seconds > 0 else "less than can be measured" for seconds in times]
            print(f"training, {rows:,} rows, batches of {batch_size or rows:,}: µs a step: steps on the device {told[0]}, "
                  f"optimizer on the CPU {told[1]}, all on the CPU {told[2]}", flush=True)  # fmt: skip
        return 0
    for name, (f, args, how) in workloads(asked.rows).items():
        if asked.only and asked.only not in name:
            continue
        for float32 in (False, True) if asked.float32 else (False,):
            g = vmap(f, device="cuda", float32=float32, **how)
            start = time.perf_counter()
            first = g(*args)
            begun = time.perf_counter() - start
            whole = best(lambda g=g, args=args: g(*args), 5)
            alone = kernels_alone(g, args, asked.times)
            cpu = vmap(f, float32=float32, **how)
            want = cpu(*args)
            on_cpu = best(lambda cpu=cpu, args=args: cpu(*args), 3)
            a, b = (x.data if isinstance(x, Value) else x[0] for x in (first, want))
            n = asked.rows * 1e-9
            parts = ", ".join(f"{kernel} {seconds / n:.3f}" for kernel, seconds in alone.items())
            print(
                f"{name}{' float32' if float32 else ''}: ns a row: {parts}; whole call {whole / n:.2f}, on the CPU "
                f"{on_cpu / n:.2f}; first call {begun:.2f} s; off by {abs(a - b) / abs(b):.1e}; "
                f"{static(g.source(*args)) if asked.static else ''}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
