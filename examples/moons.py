"""Train a classifier of two moons: the network is plain scalar code, the training step is machine code.

    python examples/moons.py

The loss of one row is written once. `jit(vmap(..., reduce="mean"))` runs it over all rows in SIMD lanes and adds up the
gradients of the 337 parameters on the way; its result is a Value, so the training loop is the one of the eager engine.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from micrograd import data, jit, nn, no_grad, optim, vmap


def main(rows: int = 100, steps: int = 100, quiet: bool = False) -> tuple[float, float]:
    """Train; gives the last loss and the share of rows on the right side."""
    points, sides = data.moons(rows, noise=0.1, seed=1)
    X, y = np.array(points), 2.0 * np.array(sides) - 1.0
    model = nn.MLP(2, [16, 16, 1], rng=1)

    def row_loss(x: Any, y: Any) -> Any:
        return (1 - y * model(x)).relu()

    loss = jit(vmap(row_loss, reduce="mean"))
    optimizer = optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, steps))

    def step() -> float:
        mean = loss(X, y)
        optimizer.zero_grad()
        mean.backward()
        optimizer.step()
        return float(mean.data)

    last = step()  # traced and compiled here
    start = perf_counter()
    for k in range(1, steps):
        last = step()
        if not quiet and k % 20 == 0:
            print(f"step {k:3}: loss {last:.4f}")
    each = (perf_counter() - start) / max(1, steps - 1)

    score = vmap(model)
    with no_grad():
        right = float(np.mean(np.sign(score(X)) == y))
    if not quiet:
        start = perf_counter()
        eager = sum(row_loss(x, s) for x, s in zip(X.tolist(), y.tolist(), strict=True)) / rows
        eager.backward()
        beside = perf_counter() - start
        print(f"{100 * right:.0f} % right; {each * 1e6:.0f} µs a step, {beside * 1e6:.0f} µs for an eager one")
    return last, right


if __name__ == "__main__":
    main()
