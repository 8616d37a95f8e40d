"""What fit costs beside a bare loop, and whether memory stays flat over many compiled steps.

python benchmarks/training.py       about a minute
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import works  # noqa: E402
from report import Row  # noqa: E402

FIT, MEMORY = "moons with fit(compile=True) and Adam", "100,000 compiled steps with Adam"


def problem() -> tuple[Any, Any, Any, Any]:
    """A model, its data and an optimizer."""
    from micrograd import nn, optim

    X, y = works.moons_rows(100)
    model = nn.MLP(2, [16, 16, 1])
    for p, x in zip(model.parameters(), works.moons_start(), strict=True):
        p.data = x
    return model, X, y, optim.Adam(model.parameters(), lr=1e-6)


def added_by_fit(rounds: int = 7, steps: int = 3000) -> float:
    """Seconds a step that fit adds to a loop that only calls the same compiled step; the median of the rounds."""
    from statistics import median

    from micrograd import jit, losses, train, vmap

    found = []
    for _ in range(rounds):
        model, X, y, optimizer = problem()
        history = train.fit(model, (X, y), losses.max_margin, optimizer, steps, compile=True, quiet=True)
        fitted = (history.seconds - history.compiling) / steps
        model, X, y, optimizer = problem()
        rows = jit(vmap(lambda x, t, model=model: losses.max_margin([model(x)], [t]), reduce="mean"), wait=True)
        step = train.step(rows, optimizer)
        step(X, y)
        began = perf_counter()
        for _ in range(steps):
            step(X, y)
        found.append(fitted - (perf_counter() - began) / steps)
    return median(found)


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grown(steps: int = 100_000) -> float:
    """How much memory the process has gained, from a tenth of the steps on to all of them."""
    from micrograd import jit, train, vmap

    model, X, y, optimizer = problem()
    step = train.step(jit(vmap(lambda x, t: (1 - t * model(x)).relu(), reduce="mean"), wait=True), optimizer)
    for k in range(steps):
        step(X, y)
        if k == steps // 10:
            before = resident()
    return float(resident() - before)


def figures() -> list[Row]:
    """Each figure beside its target."""
    found = [Row(FIT, "what fit adds to a step", added_by_fit() * 1e6, 5.0, " µs", False)]
    if Path("/proc/self/statm").exists():
        found.append(Row(MEMORY, "memory gained", grown() / 1e6, 1.0, " MB", False))
    return found


if __name__ == "__main__":
    short = 0
    for row in figures():
        print(f"{row.task:50} {row.what:30} {row.measured_text:>12} {row.target_text:>12}  {row.verdict}")
        short += not row.good
    sys.exit(1 if short else 0)
