"""One step from several batches: each counts as it would in the loss of all of them together."""

from __future__ import annotations

from typing import Any

from micrograd import losses
from micrograd.train.data_checks import known
from micrograd.train.measure import of_predictions, predictions
from micrograd.train.objective import Given
from micrograd.values.number_lists import flat


def weight(options: dict[str, Any], y: Any) -> float:
    """Return what a row counts in a mean: the number of its targets, or the sum of the weights of their classes."""
    targets = list(flat(y))
    factors, ignored = options.get("weight"), options.get("ignore_index")
    if factors is None and ignored is None:
        return float(len(targets))
    return sum((1.0 if factors is None else float(factors[int(t)])) for t in targets if t != ignored)


def gradients(run: Any, parts: list[Any], number: int) -> dict[str, float]:
    """Add the gradients of the loss over several batches to the parameters; return the loss, and metrics of all rows."""
    objective, penalty = run.objective, run.objective.penalty
    function, options = (None, {}) if isinstance(objective, Given) else known(run.loss)
    summed = function is not None and options.get("reduction") == "sum"
    counts = [_count(run, part, function, options) for part in parts]
    whole = sum(counts)
    if not whole:
        raise ValueError(losses.NOTHING_COUNTS)
    loss, first = 0.0, 0
    seen: list[Any] = []
    targets: list[Any] = []
    try:
        for part, count in zip(parts, counts):
            if count:  # a batch of which every target is ignored has no mean
                error = objective.error(part, number, first)
                share = 1.0 if summed else count / whole
                error.backward(share)
                loss += error.data * share
                if run.metrics:
                    seen += predictions(objective, part)
                    targets += run.rows.targets(part)
                if summed:
                    objective.penalty = None  # it is added to the sum once
            first += len(part)
    finally:
        objective.penalty = penalty
    return {"loss": loss} | of_predictions(run.metrics, seen, targets)


def _count(run: Any, part: Any, function: Any, options: dict[str, Any]) -> float:
    """Return what a batch counts; of a loss that is not of this package all rows count alike, as in its mean."""
    if function is None:
        return float(len(part))
    if run.objective.compiled:
        return float(run.objective.counts[list(part)].sum())
    return sum(weight(options, y) for y in run.rows.targets(part))
