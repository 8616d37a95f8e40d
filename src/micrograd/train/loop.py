"""fit: the training loop, with what one wants around it: progress, history, an early end, checkpoints, Ctrl-C."""

from __future__ import annotations

import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from os import PathLike
from time import perf_counter
from typing import Any

from micrograd.data import batches
from micrograd.engine import Value, no_grad
from micrograd.optim import Optimizer, clip_norm
from micrograd.train import checkpoints
from micrograd.train.progress import Row, show

Loss = Callable[
    [list[Any], list[Any]], Any
]  # (predictions, targets) -> a Value; an objective has inputs for predictions
Metric = Callable[[list[Any], list[Any]], float]
Data = tuple[Sequence[Any], Sequence[Any]]  # inputs, targets


class History:
    """What happened: a row of numbers for each step, and why it ended."""

    def __init__(self, rows: list[Row] | None = None, stopped: str = "") -> None:
        self.seconds = 0.0  # that the run took, or its last part, if it was resumed
        self.rows = rows or []
        self.stopped = stopped  # "epochs", "steps", "early stop", "callback", "interrupted" or "diverged"

    @property
    def loss(self) -> list[float]:
        """The loss at each step."""
        return self["loss"]

    def __getitem__(self, name: str) -> list[float]:
        """One of the numbers, "loss" or "lr" or a metric, at each step that has it."""
        found = [row[name] for row in self.rows if name in row]
        if not found and self.rows:
            raise KeyError(f"{name!r} is not in this history; it has {', '.join(self.rows[-1])}")
        return found

    def by_epoch(self, name: str = "loss") -> list[float]:
        """The mean of one of the numbers over each epoch."""
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
        return f"History({len(self)} steps, loss {self.loss[0]:.4g} -> {self.loss[-1]:.4g}, stopped: {self.stopped})"


def accuracy(predictions: list[Any], targets: list[Any]) -> float:
    """The share that is right, by the greatest of several scores or the sign of one (targets 0, 1 or -1, 1)."""
    right = 0
    for prediction, target in zip(predictions, targets, strict=True):
        if isinstance(prediction, (list, tuple)):
            scores = [float(score) for score in prediction]
            right += scores.index(max(scores)) == target
        else:
            right += (float(prediction) > 0) == (target > 0)
    return right / len(targets)


def fit(
    model: Any,
    data: Data,
    loss: Loss,
    optimizer: Optimizer,
    epochs: int = 100,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    objective: Loss | None = None,
    metrics: dict[str, Metric] | None = None,
    validation: Data | None = None,
    clip: float | None = None,
    patience: int | None = None,
    callbacks: Sequence[Callable[[History], Any]] = (),
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
    rng: random.Random | int = 0,
    quiet: bool = False,
) -> History:
    """Train a model: `epochs` times through the data, one step of the optimizer for each batch.

    model       anything that is called with one input and gives a prediction
    data        (inputs, targets), two lists
    loss        from (predictions, targets) to a Value
    batch_size  items in a step; all of them, unless said. Batches are drawn anew for each epoch, from `rng`
    steps       end after so many steps, wherever in the data that is
    objective   from (inputs, targets) to a Value, in place of model and loss: a compiled one, for instance
    metrics     more numbers for the history, from (predictions, targets): {"accuracy": accuracy}
    validation  (inputs, targets) to measure on after each epoch, into "validation_loss" and so on
    clip        the greatest norm that the gradients may have
    patience    end early after so many epochs without a lower loss (of the validation data, where there are some)
    callbacks   called with the history after each step; one that returns True ends the training
    checkpoint  a .json file to write every `checkpoint_every` epochs and at the end. With `resume=True` it is read
                first, and training goes on as if it had never stopped, to the last bit (draw what is random from `rng`)
    quiet       show nothing

    Ctrl-C ends the training after the current step; a second one at once. The history so far is what you get.
    """
    X, y = data
    if not len(X):
        raise ValueError("there are no data to learn from: the list of inputs is empty")
    if epochs < 0:
        raise ValueError(f"epochs are counted from 0 up, not {epochs}")
    if checkpoint_every < 1:
        raise ValueError(f"checkpoint_every counts epochs and is 1 or more, not {checkpoint_every}")
    source = random.Random(rng) if isinstance(rng, int) else rng
    history = History()
    measured = dict(metrics or {})
    at = checkpoints.Place(len(X), batch_size)
    notes = []
    if checkpoint is not None and resume:
        if checkpoints.exists(checkpoint):
            history.rows = checkpoints.load(checkpoint, model, optimizer, source, at)
            notes.append(f"resumed from {checkpoint}, after step {len(history)}")
        else:
            notes.append(f"there is no {checkpoint} to resume from: starting at the beginning")
    began = perf_counter()
    limit = epochs * at.batches if steps is None else min(steps, epochs * at.batches)
    shown = show(limit, len(history), quiet)
    for note in notes:
        shown.say(note)
    with _interruptible() as is_interrupted:
        try:
            while len(history) < limit and not history.stopped:
                if at.batch == 0:
                    at.begin(source)
                for xs, ys in at.rest(batches(X, y, batch_size, at.order())):
                    row: Row = {"epoch": at.epoch + 1, "step": len(history) + 1}
                    row |= _step(model, loss, objective, optimizer, xs, ys, clip, measured)
                    if "lr" not in row:
                        history.stopped = "diverged"
                        break
                    at.advance()
                    if at.batch == 0 and validation is not None:
                        row |= _validate(model, validation, loss, measured)
                    history.rows.append(row)
                    shown.step(row)
                    answers = [callback(history) for callback in callbacks]
                    if any(answer is True for answer in answers):
                        history.stopped = "callback"
                    elif at.batch == 0 and patience is not None and _is_stuck(history, patience):
                        history.stopped = "early stop"
                    elif is_interrupted():
                        history.stopped = "interrupted"
                    if history.stopped or len(history) == limit:
                        break
                if checkpoint is not None and at.batch == 0 and at.epoch % checkpoint_every == 0:
                    checkpoints.save(checkpoint, model, optimizer, source, at, history.rows)
            history.stopped = history.stopped or ("epochs" if at.epoch == epochs else "steps")
            if checkpoint is not None:
                checkpoints.save(checkpoint, model, optimizer, source, at, history.rows)
        except KeyboardInterrupt:  # the second Ctrl-C, or one from a callback: no checkpoint of half a step
            history.stopped = "interrupted"
        finally:
            shown.close()
            history.seconds = perf_counter() - began
    if history.stopped == "interrupted":
        shown.say(f"stopped by Ctrl-C after step {len(history)}; the model and the history are as of then")
    elif history.stopped == "early stop":
        shown.say(f"stopped early: no lower loss in {patience} epochs")
    return history


def _step(
    model: Any,
    loss: Loss,
    objective: Loss | None,
    optimizer: Optimizer,
    xs: list[Any],
    ys: list[Any],
    clip: float | None,
    metrics: dict[str, Metric],
) -> Row:
    """One step of the optimizer, and its numbers; without an "lr" where the loss was nothing to step on."""
    predictions = [model(x) for x in xs] if objective is None else []
    error = loss(predictions, ys) if objective is None else objective(xs, ys)
    if not isinstance(error, Value):
        raise TypeError(f"a loss is a Value to call backward() on, not {type(error).__name__}: {error!r}")
    if not isfinite(error.data):
        warnings.warn(
            f"the loss is {error.data}, so training ends before it spoils the parameters: "
            "try a lower learning rate, or clip=1.0",
            RuntimeWarning,
            stacklevel=3,
        )
        return {"loss": error.data}
    optimizer.zero_grad()
    error.backward()
    if clip is not None:
        clip_norm(optimizer.parameters, clip)
    if metrics and objective is not None:
        predictions = _predict(model, xs)
    row = {"loss": error.data} | {name: metric(predictions, ys) for name, metric in metrics.items()}
    row["lr"] = optimizer.lr
    optimizer.step()
    return row


@no_grad()
def _predict(model: Any, xs: Sequence[Any]) -> list[Any]:
    return [model(x) for x in xs]


@no_grad()
def _validate(model: Any, data: Data, loss: Loss, metrics: dict[str, Metric]) -> Row:
    X, y = data
    predictions = [model(x) for x in X]
    row = {"validation_loss": float(loss(predictions, list(y)))}
    return row | {f"validation_{name}": metric(predictions, list(y)) for name, metric in metrics.items()}


def _is_stuck(history: History, patience: int) -> bool:
    """Whether the last epochs brought no lower loss: read from the history, so a resumed run ends alike."""
    name = "validation_loss" if "validation_loss" in history.rows[-1] else "loss"
    losses = history.by_epoch(name)
    return len(losses) - 1 - losses.index(min(losses)) >= patience


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that a step is finished and the model stays whole."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    mine = threading.current_thread() is threading.main_thread() and before is signal.default_int_handler
    if mine:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)
