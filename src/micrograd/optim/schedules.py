"""Learning rates as functions of the number of steps taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import cos, inf, pi

Schedule = Callable[[int], float]  # steps taken -> learning rate


def constant(lr: float) -> Schedule:
    """Keep the same learning rate at each step.

    >>> from micrograd import optim
    >>> optim.constant(0.1)(500)
    0.1
    """
    _rates(lr=lr)
    return partial(_constant, lr)


def is_constant(schedule: Schedule) -> bool:
    """Whether a schedule is what `constant` returns."""
    return isinstance(schedule, partial) and schedule.func is _constant


def looks_at_steps_alone(schedule: Schedule) -> bool:
    """Whether a schedule is one of this module, which computes from the number of steps; one of a user's may read anything."""
    ours = isinstance(schedule, partial) and schedule.func.__module__ == __name__
    return ours and all(looks_at_steps_alone(a) for a in schedule.args if callable(a))  # type: ignore[attr-defined]


def linear(start: float, end: float, steps: int) -> Schedule:
    """Go from start to end in a straight line over a number of steps, then stay at end.

    >>> from micrograd import optim
    >>> rate = optim.linear(1.0, 0.0, 10)
    >>> rate(0), rate(5), rate(100)
    (1.0, 0.5, 0.0)
    """
    _count("steps", steps)
    _rates(start=start, end=end)
    return partial(_linear, start, end, steps)


def cosine(start: float, end: float, steps: int, warmup: int = 0) -> Schedule:
    """Go from start to end along half a cosine over a number of steps, then stay at end.

    With `warmup`, that many steps that rise from near zero to start come first.

    >>> from micrograd import optim
    >>> rate = optim.cosine(1.0, 0.0, 10)
    >>> rate(0), round(rate(5), 6), rate(10)
    (1.0, 0.5, 0.0)
    """
    _count("steps", steps)
    _rates(start=start, end=end)
    if warmup < 0:
        raise ValueError(f"warmup counts steps and is 0 or more, not {warmup}")
    return partial(_cosine, start, end, steps, warmup)


def step(start: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiply the learning rate by a factor after every so many steps.

    >>> from micrograd import optim
    >>> rate = optim.step(1.0, every=10, factor=0.5)
    >>> rate(9), rate(10), rate(20)
    (1.0, 0.5, 0.25)
    """
    _count("every", every)
    _rates(start=start, factor=factor)
    return partial(_step, start, every, factor)


def exponential(start: float, factor: float) -> Schedule:
    """Multiply the learning rate by a factor after each step.

    >>> from micrograd import optim
    >>> optim.exponential(1.0, 0.5)(3)
    0.125
    """
    _rates(start=start, factor=factor)
    return partial(_step, start, 1, factor)


def warm_restarts(start: float, end: float, steps: int, growth: int = 1) -> Schedule:
    """Go from start to end along half a cosine, again and again: over `steps` steps, then `growth` times as many, and so on.

    >>> from micrograd import optim
    >>> rate = optim.warm_restarts(1.0, 0.0, steps=10, growth=2)
    >>> rate(0), rate(10), round(rate(20), 6), rate(30)
    (1.0, 1.0, 0.5, 1.0)
    """
    _count("steps", steps)
    _count("growth", growth)
    _rates(start=start, end=end)
    return partial(_warm_restarts, start, end, steps, growth)


def one_cycle(
    top: float, steps: int, rise: float = 0.3, start_divisor: float = 25.0, end_divisor: float = 1e4
) -> Schedule:
    """Rise along half a cosine from top / start_divisor to top, then fall to that start divided by end_divisor.

    `rise` is the share of the steps that the rise takes.

    >>> from micrograd import optim
    >>> rate = optim.one_cycle(1.0, steps=101, rise=0.3)
    >>> round(rate(0), 6), round(rate(29), 3), round(rate(100), 9)
    (0.04, 1.0, 4e-06)
    """
    _count("steps", steps)
    _rates(top=top)
    for name, divisor in (("start_divisor", start_divisor), ("end_divisor", end_divisor)):
        if not 0.0 < divisor < inf:
            raise ValueError(f"{name} divides a learning rate, and is above 0, not {divisor}")
    if not 0.0 < rise < 1.0:
        raise ValueError(f"rise is a share of the steps, between 0 and 1, not {rise}")
    return partial(
        _one_cycle, top, top / start_divisor, top / start_divisor / end_divisor, rise * steps - 1.0, steps - 1.0
    )


def warmup(schedule: Schedule | float, steps: int) -> Schedule:
    """Put a number of steps that rise in a straight line from near zero in front of a schedule or a constant.

    >>> from micrograd import optim
    >>> rate = optim.warmup(1.0, 4)
    >>> rate(0), rate(3), rate(4)
    (0.2, 0.8, 1.0)
    """
    _count("steps", steps)
    after: Schedule = schedule if callable(schedule) else constant(schedule)
    return partial(_warmup, after, steps)


# ---- the same as functions of the module, which unlike closures can be pickled


def _constant(lr: float, k: int) -> float:
    return lr


def _linear(start: float, end: float, steps: int, k: int) -> float:
    return start + (end - start) * min(k / steps, 1.0)


def _cosine(start: float, end: float, steps: int, warmup: int, k: int) -> float:
    if k < warmup:
        return start * (k + 1) / (warmup + 1)
    done = min((k - warmup) / steps, 1.0)
    return end + (start - end) * (1.0 + cos(pi * done)) / 2.0


def _step(start: float, every: int, factor: float, k: int) -> float:
    return float(start * factor ** (k // every))


def _warm_restarts(start: float, end: float, steps: int, growth: int, k: int) -> float:
    length = steps
    if growth == 1:
        k %= length
    while k >= length:
        k, length = k - length, length * growth
    return end + (start - end) * (1.0 + cos(pi * k / length)) / 2.0


def _one_cycle(top: float, start: float, end: float, peak: float, last: float, k: int) -> float:
    if k <= peak:
        return top + (start - top) * (1.0 + cos(pi * k / peak)) / 2.0
    done = min((k - peak) / (last - peak), 1.0) if last > peak else 1.0
    return end + (top - end) * (1.0 + cos(pi * done)) / 2.0


def _warmup(after: Schedule, steps: int, k: int) -> float:
    return after(0) * (k + 1) / (steps + 1) if k < steps else after(k - steps)


def _count(name: str, n: int) -> None:
    if n < 1:
        raise ValueError(f"{name} counts steps and is 1 or more, not {n}")


def _rates(**numbers: float) -> None:
    """Refuse a schedule that would come to a learning rate that is negative, infinite or nan."""
    for name, x in numbers.items():
        if not 0.0 <= x < inf:
            raise ValueError(
                f"{name}={x}: a learning rate is 0 or more, and finite: a negative one would climb\n"
                "  To climb, give the optimizer maximize=True."
                if name != "factor"
                else f"factor={x}: a learning rate is multiplied by it, so it is 0 or more, and finite"
            )
