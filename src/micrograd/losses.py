"""Losses: how wrong predictions are, as one Value. Each takes predictions and targets, one by one or in lists.

`reduction` says what becomes of the list: "mean" (so that the learning rate does not depend on the batch), "sum", or
"none" to get the list itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from micrograd.engine import Value
from micrograd.math import abs as absolute
from micrograd.math import dot, eq, le, logsumexp, mean, relu, softplus, where
from micrograd.math import sum as total

REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {"mean": mean, "sum": total, "none": lambda losses: losses}


def mse(predictions: Any, targets: Any, reduction: str = "mean") -> Any:
    """Squared error: (prediction - target)²."""
    return _each(lambda p, t: (p - t) ** 2, "mse", predictions, targets, reduction)


def mae(predictions: Any, targets: Any, reduction: str = "mean") -> Any:
    """Absolute error: |prediction - target|."""
    return _each(lambda p, t: absolute(p - t), "mae", predictions, targets, reduction)


def huber(predictions: Any, targets: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Squared error (halved) up to delta, straight from there on: outliers pull with a bounded force."""
    if delta <= 0:
        raise ValueError(f"huber's delta is where the straight part begins, above 0, not {delta}")

    def one(p: Any, t: Any) -> Any:
        away = absolute(p - t)
        return where(le(away, delta), 0.5 * away**2, delta * (away - 0.5 * delta))

    return _each(one, "huber", predictions, targets, reduction)


def binary_cross_entropy(logits: Any, targets: Any, reduction: str = "mean") -> Any:
    """-log of the probability given to the target (0 or 1, or between), from logits: sigmoid(logit) is for class 1."""
    return _each(lambda x, t: softplus(x) - x * t, "binary_cross_entropy", logits, targets, reduction)


def cross_entropy(logits: Any, targets: Any, reduction: str = "mean") -> Any:
    """-log of the probability given to the target class, from logits: one for each class, in a list.

    One list of logits and one class; or lists of such lists (a batch, a sequence) and as many classes.

    >>> from micrograd.losses import cross_entropy
    >>> round(cross_entropy([2.0, 0.0], 0), 6)
    0.126928
    """
    rows, classes = list(_rows(logits)), list(_flat(targets))
    _same_count("cross_entropy", len(rows), len(classes))
    return _reduce([logsumexp(row) - _chosen(row, c) for row, c in zip(rows, classes)], "cross_entropy", reduction)


def max_margin(scores: Any, labels: Any, reduction: str = "mean") -> Any:
    """relu(1 - label · score), for labels 1 and -1: no loss once a score is on the right side by 1 or more."""

    def one(score: Any, label: Any) -> Any:
        if not isinstance(label, Value) and label not in (1, -1):
            raise ValueError(f"max_margin takes labels 1 and -1, not {label}: turn 0 and 1 into them with 2 * y - 1")
        return relu(1.0 - label * score)

    return _each(one, "max_margin", scores, labels, reduction)


def l2(parameters: Iterable[Any], strength: float = 1e-4) -> Any:
    """strength · Σ p²: a price on large parameters, to add to a loss."""
    held = list(parameters)
    return strength * dot(held, held)


# ---- lists


def _each(loss: Callable[[Any, Any], Any], name: str, predictions: Any, targets: Any, reduction: str) -> Any:
    ps, ts = list(_flat(predictions)), list(_flat(targets))
    _same_count(name, len(ps), len(ts))
    return _reduce([loss(p, t) for p, t in zip(ps, ts)], name, reduction)


def _reduce(losses: list[Any], name: str, reduction: str) -> Any:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name} has no reduction {reduction!r}: choose one of {', '.join(REDUCTIONS)}")
    if not losses:
        raise ValueError(f"{name} of no predictions at all has no value")
    return REDUCTIONS[reduction](losses)


def _same_count(name: str, predictions: int, targets: int) -> None:
    if predictions != targets:
        raise ValueError(
            f"{name} was given {predictions} predictions and {targets} targets: there is one target for each"
        )


def _flat(xs: Any) -> Iterator[Any]:
    """The items of nested lists (or of an array), in order; a thing alone is one item."""
    if isinstance(xs, Value) or not hasattr(xs, "__iter__"):
        yield xs
    else:
        for x in xs:
            yield from _flat(x)


def _rows(xs: Sequence[Any]) -> Iterator[list[Any]]:
    """The innermost lists of nested lists, in order."""
    items = list(xs)
    if items and not isinstance(items[0], Value) and hasattr(items[0], "__iter__"):
        for item in items:
            yield from _rows(item)
    else:
        yield items


def _chosen(row: list[Any], target: Any) -> Any:
    if isinstance(target, Value):  # chosen by comparison, which can be compiled
        return dot([eq(target, float(i)) for i in range(len(row))], row)
    index = int(target)
    if index != target or not 0 <= index < len(row):
        raise ValueError(f"cross_entropy has logits for classes 0 to {len(row) - 1}, and a target is {target!r}")
    return row[index]
