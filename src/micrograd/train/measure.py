"""The metrics of a step and of the validation: functions of (predictions, targets) that return a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.compile.explain import add_note
from micrograd.engine import Value
from micrograd.train.history import Row, accuracy
from micrograd.train.objective import mapped
from micrograd.train.remote import here


def measure(metrics: dict[str, Callable[..., float]], objective: Any, part: Any) -> Row:
    """Return each metric of the rows in `part`, by name."""
    found: Row = {}
    values: Any = None
    for name, metric in metrics.items():
        if objective.compiled and metric is accuracy:
            _, ys = objective.rows.arrays() or (None, None)
            if ys is not None:
                found[name] = accuracy(objective.measured(part), here(ys if part is None else ys[part]))
                continue
        if values is None:
            values = predictions(objective, part)
        found |= of_predictions({name: metric}, values, objective.rows.targets(part))
    return found


def predictions(objective: Any, part: Any) -> list[Any]:
    """Return the predictions for the rows in `part`, as the model gives them."""
    values = objective.predictions(part)
    return [mapped(Value, p) for p in values] if objective.compiled else list(values)


def of_predictions(metrics: dict[str, Callable[..., float]], values: list[Any], targets: list[Any]) -> Row:
    """Return each metric of some predictions, by name."""
    found: Row = {}
    for name, metric in metrics.items():
        try:
            number = metric(values, targets)
        except Exception as error:
            add_note(error, f"in the metric {name!r}")
            raise
        if isinstance(number, (str, bytes)) or not hasattr(number, "__float__"):
            raise TypeError(f"the metric {name!r} returned {number!r}: a metric returns one number")
        found[name] = float(number)
    return found
