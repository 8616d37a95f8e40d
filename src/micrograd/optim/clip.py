"""Clipping: bounds on gradients before a step."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from numbers import Real

from micrograd.engine import Value
from micrograd.optim.slots import Slots


def clip_norm(parameters: Iterable[Value], limit: float) -> float:
    """Scale all gradients by one factor so that their norm is at most limit; return the norm that they had.

    Every parameter of the list counts, also one that an optimizer has frozen: leave it out, or give `clip` to `fit` or
    `train.step`, which count those that move.

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> (3.0 * p).backward()
    >>> optim.clip_norm([p], 1.0)
    3.0
    >>> round(p.grad, 5)
    1.0
    """
    return float(Slots(parameters).clip_norm(check_limit(limit)))


def clip_value(parameters: Iterable[Value], limit: float) -> None:
    """Move each gradient into [-limit, limit].

    >>> from micrograd import Value, optim
    >>> p = Value(1.0)
    >>> (-3.0 * p).backward()
    >>> optim.clip_value([p], 1.0)
    >>> p.grad
    -1.0
    """
    Slots(parameters).clip_value(check_limit(limit))


def check_limit(limit: float, name: str = "the limit of a gradient") -> float:
    """Return a limit as a float; one that is not above 0 is refused."""
    if isinstance(limit, bool) or not isinstance(limit, Real) or not 0.0 < limit <= inf:
        raise ValueError(f"{name} is a number above 0, not {limit!r}")
    return float(limit)
