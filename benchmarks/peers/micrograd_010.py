"""micrograd 0.1.0: the graph is built and swept again at each call."""

from __future__ import annotations

from typing import Any

from talk import Timer, missing, serve

try:
    from micrograd.engine import Value
    from micrograd.nn import MLP
except ImportError:
    missing("micrograd")

import works
from clocks import clock


def point(f: Any, a: float, b: float) -> Timer:
    def call() -> None:
        f(Value(a), Value(b)).backward()

    return clock(call)


def step() -> Timer:
    X, y = works.moons_rows(100)
    rows, sides = X.tolist(), y.tolist()
    model = MLP(2, [16, 16, 1])
    for p, x in zip(model.parameters(), works.moons_start(), strict=True):
        p.data = x

    def call() -> None:
        total = sum((1 + -s * model(r)).relu() for r, s in zip(rows, sides, strict=True)) * 0.01
        model.zero_grad()
        total.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad

    return clock(call)


serve("0.1.0", {
    "tiny": lambda: point(works.tiny, -41.0, 2.0),
    "readme": lambda: point(works.readme, -4.0, 2.0),
    "moons step": step,
})  # fmt: skip
