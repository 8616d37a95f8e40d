"""A small run for the theatre: half moons, a network, and its training."""

from __future__ import annotations

from typing import Any

from micrograd import data, losses, nn, optim, train
from micrograd.learn import watch


def make(n: int = 30) -> Any:
    X, y = data.moons(n, seed=0)
    model = nn.MLP(2, [6, 2], rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    return model, (X, y), optimizer


def run(steps: int, theatre: Any = None, **more: Any) -> Any:
    model, points, optimizer = make()
    theatre = (
        watch(model, points, losses.cross_entropy, optimizer, scenes=False, open=False) if theatre is None else theatre
    )
    history = train.fit(
        model, points, losses.cross_entropy, optimizer, steps, callbacks=[theatre], quiet=True,
        metrics={"accuracy": train.accuracy}, **more,
    )  # fmt: skip
    return model, theatre, history
