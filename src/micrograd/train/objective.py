"""The loss of a batch, in three ways: eagerly, from the user's own objective, or compiled.

Each has `error(part, step, first)`, which returns the loss of the rows in `part` (None for all of them) as something with
`data` and `backward()`, and `predictions(part)`, for metrics of the same rows. `first` is the number that the first of these
rows has among all rows of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from textwrap import shorten
from typing import Any

from micrograd.compile.explain import add_note
from micrograd.engine import Value, no_grad
from micrograd.nn import dropout


class Examples:
    """Inputs and targets, as they were given and as arrays where they have equal shapes."""

    def __init__(self, X: Sequence[Any], y: Sequence[Any]) -> None:
        self.X, self.y = X, y
        self._arrays: tuple[Any, Any] | None = None
        self.tried = False

    def __len__(self) -> int:
        return len(self.X)

    def lists(self, part: Any) -> tuple[list[Any], list[Any]]:
        """Return the inputs and targets of some rows, as they were given."""
        X, y = self.X, self.y
        if part is None:
            return list(X), list(y)
        return [X[i] for i in part], [y[i] for i in part]

    def targets(self, part: Any) -> list[Any]:
        """Return the targets of some rows, as they were given."""
        return list(self.y) if part is None else [self.y[i] for i in part]

    def first(self) -> Any:
        """Return the first input."""
        return self.X[0]

    def arrays(self) -> tuple[Any, Any] | None:
        """Return inputs and targets as arrays of floats, rows first; None where rows have different shapes, or no NumPy."""
        if not self.tried:
            self.tried = True
            try:
                X, y = as_array(self.X), as_array(self.y)
                self._arrays = None if X is None or y is None else (X, y)
            except (ImportError, TypeError, ValueError):  # ragged rows, tensors with a graph
                self._arrays = None
        return self._arrays


def as_array(x: Any) -> Any:
    """Return numbers as an array of floats; None for anything else. NumPy would read the string "1" as a number."""
    import numpy as np

    array = np.asarray(x)
    return array.astype(float) if array.dtype.kind in "fiub" else None


def with_penalty(error: Any, penalty: Callable[[], Any] | None) -> Any:
    """Return a loss with the penalty, if there is one, added to it."""
    if penalty is None or not isinstance(error, Value):  # the callers refuse such a loss
        return error
    extra = penalty()
    if isinstance(extra, Value) or (isinstance(extra, Real) and extra == 0):
        return error + extra
    told = "which has no derivative" if isinstance(extra, Real) else "which is no Value"
    raise TypeError(
        f"the penalty returned {shorten(repr(extra), 80)}, {told}: return a Value computed from the parameters, such as "
        "losses.l2(model.parameters()), without .data or float()"
    )


def leaves(xs: Any) -> Iterator[Any]:
    """Yield the numbers, texts and Values of an input in order, however they are nested."""
    if isinstance(xs, (str, Value)):
        yield xs
        return
    if hasattr(xs, "tolist"):
        xs = xs.tolist()
    if isinstance(xs, dict):
        xs = list(xs.items())
    if not hasattr(xs, "__iter__"):
        yield xs
    else:
        for x in xs:
            yield from leaves(x)


def arranged(like: Any, items: Iterable[Any]) -> Any:
    """Return items as a list, a tuple or a named tuple: the type of `like`."""
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items) if isinstance(like, tuple) else list(items)


def mapped(f: Callable[[Any], Any], x: Any) -> Any:
    """Apply a function to each number of a prediction, which may be arranged in lists, tuples and dicts."""
    if isinstance(x, dict):
        return {key: mapped(f, item) for key, item in x.items()}
    return arranged(x, [mapped(f, item) for item in x]) if isinstance(x, (list, tuple)) else f(x)


class Eager:
    """Model and loss run on Values, row by row."""

    compiled = False

    def __init__(
        self,
        model: Any,
        rows: Examples,
        loss: Callable[..., Any],
        penalty: Callable[[], Any] | None,
        what: str = "the data",
    ) -> None:
        self.model, self.rows, self.loss, self.penalty, self.what = model, rows, loss, penalty, what
        self._last: tuple[Any, list[Any]] = (None, [])
        self.look: Callable[[Any], None] | None = None  # called once, with the first prediction

    def error(self, part: Any, step: int, first: int = 0) -> Any:
        """Return the loss of some rows."""
        xs, ys = self.rows.lists(part)

        def failed(error: Exception, k: int) -> None:
            add_note(error, f"in row {k if part is None else part[k]} of {self.what}")

        predictions = dropout.each(self.model, xs, step, failed, first)
        self._last = part, predictions
        if self.look is not None:
            look, self.look = self.look, None
            look(predictions[0])
        return with_penalty(self.loss(predictions, ys), self.penalty)

    def predictions(self, part: Any) -> Any:
        """Return the predictions that the last loss of these rows was computed from."""
        return self._last[1]


class Given:
    """An objective of the user's own, from (inputs, targets): arrays with rows first, where the data allow it."""

    compiled = False

    def __init__(
        self, model: Any, rows: Examples, objective: Callable[..., Any], penalty: Callable[[], Any] | None
    ) -> None:
        self.model, self.rows, self.objective, self.penalty = model, rows, objective, penalty
        self.arrays = rows.arrays()

    def error(self, part: Any, step: int, first: int = 0) -> Any:
        """Return the loss of some rows."""
        if self.arrays is None:
            xs, ys = self.rows.lists(part)
        else:
            xs, ys = self.arrays if part is None else (self.arrays[0][part], self.arrays[1][part])
        with dropout.at(step, first):
            error = self.objective(xs, ys)
        return with_penalty(error, self.penalty)

    def predictions(self, part: Any) -> Any:
        """Run the model on these rows once more, without a graph."""
        return eager_predictions(self.model, self.rows.lists(part)[0])


@no_grad()
def eager_predictions(model: Any, xs: Sequence[Any]) -> list[Any]:
    """Return the predictions of a model, without a graph."""
    return [model(x) for x in xs]


def number_of(error: Any) -> float:
    """Return the number of a loss."""
    return float(error.data) if isinstance(error, Value) or hasattr(error, "backward") else float(error)
