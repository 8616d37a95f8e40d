"""History: what happened in a training run. And accuracy, the metric that most runs want."""

from __future__ import annotations

from typing import Any

from micrograd.tree import by_position, is_array

Row = dict[str, float]
NOTHING_COUNTS = "accuracy of no predictions at all has no value"
RESERVED = ("epoch", "step", "loss", "lr", "validation_loss")  # the columns that fit writes itself


class History:
    """One row of numbers for each step, and why the run ended.

    >>> from micrograd.train import History
    >>> history = History([{"epoch": 1, "step": 1, "loss": 0.5}, {"epoch": 1, "step": 2, "loss": 0.25}])
    >>> history.loss
    [0.5, 0.25]
    """

    def __init__(self, rows: list[Row] | None = None, stopped: str = "") -> None:
        self.seconds = 0.0  # the duration of the run, or of its last part if it was resumed
        self.compiling = 0.0  # how much of that went into compiling before the first step
        self.rows = rows or []
        self.stopped = stopped  # "epochs", "steps", "early stop", "callback", "interrupted" or "diverged"
        self.epoch_ended = False  # whether the last row is the last one of its epoch
        self.best: Row | None = None  # the row with the lowest monitored loss, where best weights were kept

    @property
    def loss(self) -> list[float]:
        """The loss at each step."""
        return self["loss"]

    def __getitem__(self, name: str) -> list[float]:
        """Return one of the columns ("loss", "lr" or a metric), at each step that has it."""
        found = [row[name] for row in self.rows if name in row]
        if not found and self.rows:
            names: dict[str, None] = {}
            for row in self.rows:
                names.update(dict.fromkeys(row))
            raise KeyError(f"{name!r} is not in this history; it has {', '.join(names)}")
        return found

    def by_epoch(self, name: str = "loss") -> list[float]:
        """Return the mean of one of the columns over each epoch."""
        epochs: dict[float, list[float]] = {}
        for row in self.rows:
            if name in row:
                epochs.setdefault(row["epoch"], []).append(row[name])
        return [sum(xs) / len(xs) for xs in epochs.values()]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return "History(no steps)"
        first, last = self.rows[0]["loss"], self.rows[-1]["loss"]
        return f"History({len(self)} steps, loss {first:.4g} -> {last:.4g}, stopped: {self.stopped})"


def accuracy(predictions: Any, targets: Any, *, ignore_index: int | None = None) -> float:
    """Return the share of predictions that are right: by the greatest of several scores, or by the sign of one.

    The targets of single scores are 0 and 1, or -1 and 1. A prediction with a nan in it is never right. Predictions whose
    target is `ignore_index` do not count; as a metric of `fit` this is `functools.partial(accuracy, ignore_index=...)`.

    >>> from micrograd.train import accuracy
    >>> accuracy([[0.1, 0.9], [0.8, 0.2]], [1, 1]), accuracy([0.3, -0.2], [1, -1])
    (0.5, 1.0)
    >>> accuracy([[0.1, 0.9], [0.8, 0.2]], [1, -100], ignore_index=-100)
    1.0
    """
    predictions, targets = by_position(predictions), by_position(targets)
    if is_array(predictions):
        return _accuracy_of_array(predictions, targets, ignore_index)
    if len(predictions) != len(targets):
        raise ValueError(f"accuracy was given {len(predictions)} predictions and {len(targets)} targets")
    counted = [(p, t) for p, t in zip(predictions, map(_one, targets)) if ignore_index is None or t != ignore_index]
    if not counted:
        raise ValueError(NOTHING_COUNTS)
    right = 0
    for prediction, target in counted:
        scores = prediction.tolist() if is_array(prediction) else prediction
        if isinstance(scores, (list, tuple)) and len(scores) > 1:
            numbers = [float(score) for score in scores]
            right += not any(x != x for x in numbers) and numbers.index(max(numbers)) == target
        else:
            score = float(scores[0] if isinstance(scores, (list, tuple)) else scores)
            if target not in (0, 1, -1):
                raise ValueError(f"the target of a single score is 0 or 1, or -1 or 1, not {target!r}")
            right += score == score and (score > 0) == (target > 0)
    return right / len(counted)


def _one(target: Any) -> Any:
    """Return a target that came in a list or an array of one."""
    inner = target.tolist() if is_array(target) else target
    if not isinstance(inner, (list, tuple)):
        return inner
    if len(inner) != 1:
        raise ValueError(f"accuracy takes the number of a class for each prediction, not {target!r}")
    return _one(inner[0])


def _accuracy_of_array(predictions: Any, targets: Any, ignore_index: int | None) -> float:
    """The same for one row of scores, or one score, for each row of an array."""
    import numpy as np

    wanted = np.asarray(targets, dtype=float)
    if wanted.ndim > 1 and wanted.size == len(wanted):
        wanted = wanted.reshape(len(wanted))
    if len(predictions) != len(wanted):
        raise ValueError(f"accuracy was given {len(predictions)} predictions and {len(wanted)} targets")
    counted = np.ones(len(wanted), dtype=bool) if ignore_index is None else wanted != ignore_index
    predictions, wanted = predictions[counted], wanted[counted]
    if not len(wanted):
        raise ValueError(NOTHING_COUNTS)
    scores = predictions.astype(float)
    if scores.ndim == 2 and scores.shape[1] > 1:
        right = (scores.argmax(axis=1) == wanted) & ~np.isnan(scores).any(axis=1)
    else:
        column = scores.reshape(len(wanted))
        known = (wanted == 0.0) | (abs(wanted) == 1.0)
        if not known.all():
            strange = wanted[~known].tolist()[0]
            raise ValueError(f"the target of a single score is 0 or 1, or -1 or 1, not {strange!r}")
        right = ((column > 0) == (wanted > 0)) & ~np.isnan(column)
    return float(np.count_nonzero(right)) / len(wanted)
