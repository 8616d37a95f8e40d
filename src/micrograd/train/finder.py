"""find_lr: try learning rates from tiny to huge, and see where the loss falls fastest."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf, isfinite, log
from typing import Any

from micrograd.data import batches
from micrograd.nn.initial import generator
from micrograd.optim import LBFGS, Optimizer
from micrograd.train import data_checks as checks
from micrograd.train.objective import Eager, Examples


class Found:
    """The learning rates that were tried, the loss at each, smoothed, and the one that is suggested."""

    def __init__(self, rates: list[float], losses: list[float], lr: float) -> None:
        self.rates, self.losses, self.lr = rates, losses, lr

    def __repr__(self) -> str:
        return f"Found(lr={self.lr:.3g}, {len(self.rates)} rates tried up to {self.rates[-1]:.3g})"


def find_lr(
    model: Any,
    data: Any,
    loss: Callable[[Any, Any], Any],
    optimizer: Optimizer,
    *,
    least: float = 1e-6,
    most: float = 10.0,
    steps: int = 100,
    batch_size: int | None = None,
    rng: random.Random | int | None = 0,
) -> Found:
    """Train with a learning rate that grows from `least` to `most`, until the loss explodes; then put everything back.

    The learning rate that is suggested is where the smoothed loss falls fastest. Plot `rates` and `losses` to judge.

    >>> from micrograd import data, losses, nn, optim, train
    >>> X, y = data.moons(20, seed=0)
    >>> model = nn.MLP(2, [8, 1], rng=0)
    >>> found = train.find_lr(model, (X, [2 * c - 1 for c in y]), losses.max_margin, optim.SGD(model.parameters()))
    >>> 0.01 < found.lr < 5.0
    True
    """
    X, y = checks.data(data, "data")
    checks.optimizer(model, optimizer)
    count = checks.count("steps", steps, 2)
    if not 0.0 < least < most < inf:
        raise ValueError(f"the learning rates go from least to most, with 0 < least < most, not {least} and {most}")
    if isinstance(optimizer, LBFGS):
        raise TypeError("LBFGS finds the length of its steps itself")
    weights, moments = [p.data for p in optimizer.parameters], optimizer.state_dict()
    schedules = [group.schedule for group in optimizer.groups], optimizer._schedule
    source, rows = generator(rng), Examples(X, y)
    objective = Eager(model, rows, loss, None)
    rates: list[float] = []
    seen: list[float] = []
    mean, best = 0.0, inf
    try:
        for group in optimizer.groups:
            group.schedule = None
        order: list[Any] = []
        for k in range(count):
            if not order:
                order = [None] if batch_size is None else [p for p, _ in batches(range(len(X)), y, batch_size, source)]
            rate = least * (most / least) ** (k / (count - 1))
            error = objective.error(order.pop(0), k + 1)
            mean = 0.9 * mean + 0.1 * error.data
            smooth = mean / (1.0 - 0.9 ** (k + 1))
            best = min(best, smooth)
            if not isfinite(smooth) or (k > 10 and smooth > best + 3.0 * abs(best)):
                break
            rates.append(rate)
            seen.append(smooth)
            optimizer.lr = rate
            if not optimizer.slots.descend(error, inf, optimizer.updates()):
                break
            optimizer.advance()
        if not rates:
            raise FloatingPointError(
                f"the loss is {error.data} before any parameter has moved, so no learning rate can be found\n"
                "  Look for nan or infinite numbers in the data and in the parameters of the model."
            )
    finally:
        for p, x in zip(optimizer.parameters, weights):
            p.data = x
        for group, schedule in zip(optimizer.groups, schedules[0]):
            group.schedule = schedule
        optimizer._schedule = schedules[1]
        optimizer.load_state_dict(moments, settings="own")
        optimizer.zero_grad()
    return Found(rates, seen, _steepest(rates, seen))


def _steepest(rates: list[float], losses: list[float]) -> float:
    """Return the rate at which the loss falls fastest, over the logarithm of the rate and a tenth of the steps."""
    wide = max(1, len(rates) // 20)
    middles = range(wide, len(rates) - wide)
    if not middles:
        return rates[0]
    slopes = [(losses[i + wide] - losses[i - wide]) / (log(rates[i + wide]) - log(rates[i - wide])) for i in middles]
    return rates[middles[slopes.index(min(slopes))]]
