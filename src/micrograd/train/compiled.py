"""The compiled objective of fit: loss, gradients and predictions of a batch as machine code.

A loss of this package is a mean of losses of single rows, so the whole of it is compiled as a function of one row. Any other
function of (predictions, targets) may mix the rows: then the model alone is compiled, the loss runs eagerly on its
predictions, and its gradient is handed back to the rows. Both give what the eager loop gives, up to rounding.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from textwrap import shorten
from typing import Any, Literal

from micrograd import install, losses
from micrograd.compile.cuda import device_array, number_of
from micrograd.compile.explain import add_note
from micrograd.engine import NATIVE, Value, no_grad
from micrograd.errors import CompileError
from micrograd.math import dot
from micrograd.nn import dropout
from micrograd.train.accumulate import weight
from micrograd.train.data_checks import is_value, known
from micrograd.train.objective import Examples, arranged, as_array, mapped, with_penalty
from micrograd.train.remote import RemoteRows, here, is_remote, sizes, spread
from micrograd.tree import flatten
from micrograd.watch.modules import SameParameters
from micrograd.watch.reach import modules_called


def missing() -> str:
    """Say what compiling needs that is not here; "" where nothing is missing."""
    if not NATIVE:
        return "compiled code runs on the C engine, which was not built"
    for name in ("numpy", "llvmlite"):
        if importlib.util.find_spec(name) is None:
            return f"compiling needs {name}: {install.command('jit')}"
    return ""


class _Bucket:
    """The rows of one shape, as arrays."""

    def __init__(self, xs: Any, ys: Any, client: Any, name: str, device: str) -> None:
        self.xs, self.ys, self.client, self.name, self.device = xs, ys, client, name, device
        self._whole: Any = None

    def whole(self) -> tuple[Any, Any]:
        """Return all inputs and targets; on a cluster, from where they are kept on the workers; on a GPU, in its memory."""
        if self._whole is None:
            self._whole = self._put(self.xs), self._put(self.ys)
        return self._whole  # type: ignore[no-any-return]

    def _put(self, array: Any) -> Any:
        if self.client is not None and not is_remote(self.xs):
            return spread(array, self.client)
        if self.device.startswith("cuda"):
            return device_array.DeviceArray.of(array.astype(float), number_of(self.device))
        return array


class CompiledObjective:
    """Model and loss as machine code."""

    compiled = True

    def __init__(
        self,
        model: Any,
        rows: Examples,
        loss: Callable[..., Any],
        penalty: Callable[[], Any] | None,
        training: bool = True,
        beside: CompiledObjective | None = None,
        client: Any = None,
        device: str = "cpu",
    ) -> None:
        lacking = missing()
        if lacking:
            raise CompileError(f"fit({'compile=True' if device == 'cpu' else f'device={device!r}'}): {lacking}")
        import numpy as np

        from micrograd.compile.jit import jit
        from micrograd.compile.vmap import vmap

        def over_rows(f: Callable[..., Any], reduce: Literal["sum", "mean"] | None = None) -> Any:
            return vmap(f, reduce=reduce, client=client, device=device)

        self.np, self.model, self.rows, self.loss = np, model, rows, loss
        self.function, self.options = known(loss)
        self.step = Value(0.0)  # the number of the training step, for what is random
        self.number = 0  # of the first row of a batch among the rows of the step
        self.random = training and bool(dropout.dropouts(model))  # one that does nothing now may act later in the run
        self.scalar = not getattr(
            rows.first(), "shape", hasattr(rows.first(), "__len__")
        )  # whether an input is one number
        what = "the data" if training else "the validation data"
        self.buckets, self.places = _bucketed(rows, np, client, what, device)
        remote = isinstance(rows, RemoteRows) and not self._weighted()
        counts = [sizes(rows.y)] * len(rows) if remote else [weight(self.options, y) for y in rows.targets(None)]
        self.counts = np.array(counts, dtype=float)
        even = bool((self.counts == self.counts[0]).all()) and len(self.buckets) == 1 and not self._weighted()
        self.even = even and self.function is not None
        self.penalty = None if penalty is None else jit(penalty, wait=True)
        reduce: Literal["mean", "sum"] = "mean" if self.even else "sum"
        self.summed = over_rows(self._row, reduce)
        simple = self.even and not self.random and self.penalty is None
        self.simple = simple and self.options.get("reduction", "mean") == "mean"  # the loss of all rows is one call
        alike = beside is not None and not beside.random and beside._kind() == self._kind()
        self.forward: Any = beside.forward if beside is not None and alike else over_rows(self._predict)
        self.backward = over_rows(self._product, "sum")
        self.same = SameParameters(modules_called(model), self.summed if self.function is not None else self.forward)

    def release(self) -> None:
        """Let go of the data that the workers of a cluster keep."""
        for bucket in self.buckets:
            bucket._whole = None

    def _kind(self) -> tuple[bool, bool]:
        """Return what the model is called with: objectives of one kind can share its compiled predictions."""
        return self.scalar, hasattr(self.rows.X, "ndim")

    # ---- functions of one row, which are traced

    def _input(self, x: Any) -> Any:
        """Turn the input of a row into what the eager loop hands to the model."""
        return x if self.scalar or hasattr(self.rows.X, "ndim") else x.tolist()

    def _run(self, x: Any, row: Any) -> Any:
        if not self.random:
            return self.model(self._input(x))
        with dropout.at(self.step, row):
            return self.model(self._input(x))

    def _row(self, x: Any, y: Any, row: Any = 0) -> Any:
        target = y.tolist() if hasattr(y, "tolist") else y
        options = {**self.options, "reduction": "mean" if self.even else "sum"}
        return self.function([self._run(x, row)], [target], **options)

    def _predict(self, x: Any, row: Any = 0) -> Any:
        return self._run(x, row)

    def _product(self, x: Any, slopes: Any, row: Any = 0) -> Any:
        """Return Σ slope · prediction: its gradient is what the slopes of a loss hand back to the parameters."""
        leaves: list[Any] = []
        flatten(self._run(x, row), leaves)
        return dot(leaves, slopes.tolist() if hasattr(slopes, "tolist") else [slopes])

    # ---- batches

    def _weighted(self) -> bool:
        return self.options.get("weight") is not None or self.options.get("ignore_index") is not None

    def _parts(self, part: Any) -> list[tuple[_Bucket, Any, Any]]:
        """Return for each shape among the rows of a batch: the bucket, the rows in it, and their numbers in the batch."""
        if len(self.buckets) == 1:
            n = len(self.rows) if part is None else len(part)
            return [(self.buckets[0], part, self.np.arange(n) if self.random else None)]
        chosen = range(len(self.rows)) if part is None else part
        found: dict[int, tuple[list[int], list[int]]] = {}
        for number, i in enumerate(chosen):
            bucket, at = self.places[i]
            rows, numbers = found.setdefault(bucket, ([], []))
            rows.append(at)
            numbers.append(number)
        return [(self.buckets[b], rows, self.np.array(numbers)) for b, (rows, numbers) in found.items()]

    def _arguments(self, bucket: _Bucket, rows: Any, numbers: Any, *columns: Any) -> tuple[Any, ...]:
        taken = [bucket.whole()[0] if rows is None else bucket.xs[rows], *columns]
        return (*taken, numbers + self.number) if self.random else tuple(taken)

    def error(self, part: Any, step: int, first: int = 0) -> Any:
        """Return the loss of some rows."""
        if self.random:
            self.step.data, self.number = step, first
        if part is None and self.simple:
            error = self._whole()
        else:
            error = self._mixed(part) if self.function is None else self._by_rows(part)
        if self.same.lost():
            raise RuntimeError(
                "the model has other parameters than when it was compiled, which the optimizer does not know: "
                "end this run, and call fit again with an optimizer of the new parameters"
            )
        return error

    def _whole(self) -> Any:
        """Return the loss of all rows, which is one call of compiled code."""
        [bucket] = self.buckets
        try:
            return self.summed(*(bucket._whole or bucket.whole()))
        except Exception as reason:
            add_note(reason, f"in {bucket.name}")
            raise

    def _by_rows(self, part: Any) -> Any:
        """Return the loss where that is a mean or a sum over rows."""
        total: Any = None
        for bucket, rows, numbers in self._parts(part):
            ys = bucket.whole()[1] if rows is None else bucket.ys[rows]
            try:
                one = self.summed(*self._arguments(bucket, rows, numbers, ys))
            except Exception as reason:
                add_note(reason, f"in {bucket.name}")
                raise
            total = one if total is None else total + one
        if not self.even:
            counted = self.counts.sum() if part is None else self.counts[self.np.asarray(part)].sum()
            if self.options.get("reduction", "mean") == "mean":
                if not counted:
                    raise ValueError(losses.NOTHING_COUNTS)
                total = total * (1.0 / float(counted))
        elif self.options.get("reduction") == "sum":
            total = total * float(self.counts[0] * (len(self.rows) if part is None else len(part)))
        return with_penalty(total, self.penalty)

    def _mixed(self, part: Any) -> Any:
        """Return the loss of predictions that were computed by machine code, with a backward() that reaches the model."""
        predictions = self.predictions(part)
        leaves: list[Value] = []

        def leaf(x: float) -> Value:
            leaves.append(Value(x))
            return leaves[-1]

        shaped = [mapped(leaf, p) for p in predictions]
        error = self.loss(shaped, self.rows.targets(part))
        is_value(error)
        return LossOfCompiled(self, with_penalty(error, self.penalty), leaves, part)

    def hand_back(self, leaves: list[Value], part: Any) -> None:
        """Add to the parameters what the gradients of the predictions mean for them."""
        n = len(self.rows) if part is None else len(part)
        if len(self.buckets) == 1:
            slopes = self.np.array([v.grad for v in leaves]).reshape(n, -1)
            [(bucket, rows, numbers)] = self._parts(part)
            self.backward(*self._arguments(bucket, rows, numbers, slopes)).backward()
            return
        sizes = [len(flat(p)) for p in self._last]
        starts = [sum(sizes[:i]) for i in range(n)]
        for bucket, rows, numbers in self._parts(part):
            some = self.np.array([[v.grad for v in leaves[starts[i] : starts[i] + sizes[i]]] for i in numbers])
            self.backward(*self._arguments(bucket, rows, numbers, some)).backward()

    def predictions(self, part: Any) -> list[Any]:
        """Return the predictions for some rows, as the model gives them but with numbers for Values."""
        found: list[Any] = [None] * (len(self.rows) if part is None else len(part))
        with no_grad():
            for bucket, rows, numbers in self._parts(part):
                try:
                    outputs = rows_of(here(self.forward(*self._arguments(bucket, rows, numbers))))
                except Exception as reason:
                    add_note(reason, f"in {bucket.name}")
                    raise
                if len(self.buckets) == 1:
                    found = outputs
                else:
                    for number, output in zip(numbers, outputs):
                        found[number] = output
        self._last = found
        return found

    def measured(self, part: Any) -> Any:
        """Return predictions for a metric of this package: one array where there is one score or vector for each row."""
        if len(self.buckets) != 1:
            return self.predictions(part)
        [(bucket, rows, numbers)] = self._parts(part)
        with no_grad():
            columns = here(self.forward(*self._arguments(bucket, rows, numbers)))
        if isinstance(columns, dict):
            return rows_of(columns)
        if isinstance(columns, (list, tuple)):
            if not all(hasattr(c, "ndim") and c.ndim == 1 for c in columns):
                return rows_of(columns)
            return self.np.stack(columns, axis=1)
        return columns


class LossOfCompiled:
    """A loss of compiled predictions: `backward` goes through the loss, and from there through the compiled model."""

    def __init__(self, owner: CompiledObjective, error: Value, leaves: list[Value], part: Any) -> None:
        self.owner, self.value, self.leaves, self.part = owner, error, leaves, part
        self.data = error.data

    def backward(self, gradient: float = 1.0) -> None:
        """Add the gradients of this loss to those of the parameters."""
        for leaf in self.leaves:
            leaf.grad = 0.0
        self.value.backward(gradient)
        self.owner.hand_back(self.leaves, self.part)


def flat(x: Any) -> list[Any]:
    """Return the numbers of a prediction."""
    found: list[Any] = []
    mapped(found.append, x)
    return found


def rows_of(columns: Any) -> list[Any]:
    """Turn result columns into one result for each row, in the arrangement that the model gives it."""
    if hasattr(columns, "tolist"):
        return columns.tolist()  # type: ignore[no-any-return]
    if isinstance(columns, dict):
        return [dict(zip(columns, row)) for row in zip(*map(rows_of, columns.values()))]
    if isinstance(columns, (list, tuple)):
        return [arranged(columns, row) for row in zip(*map(rows_of, columns))]
    raise TypeError(
        f"the model returned {shorten(repr(columns), 60)}: compiled predictions are numbers, in lists, tuples or dicts; leave "
        "it out, or train without compile=True"
    )


def _bucketed(
    rows: Examples, np: Any, client: Any, what: str, device: str
) -> tuple[list[_Bucket], list[tuple[int, int]]]:
    """Return the rows by shape, and for each row its bucket and its place there."""
    whole = rows.arrays()
    if whole is not None:
        return [_Bucket(*whole, client, f"a row of {what}", device)], []
    shapes: dict[Any, tuple[int, list[Any], list[Any], str]] = {}
    places = []
    for i, (x, y) in enumerate(zip(rows.X, rows.y)):
        a, b = _numbers(x, "input", i, what), _numbers(y, "target", i, what)
        new = len(shapes), list[Any](), list[Any](), f"rows of the shape of row {i} of {what}"
        number, xs, ys, _ = shapes.setdefault((a.shape, b.shape), new)
        places.append((number, len(xs)))
        xs.append(a)
        ys.append(b)
    return [_Bucket(np.stack(xs), np.stack(ys), client, name, device) for _, xs, ys, name in shapes.values()], places


def _numbers(x: Any, kind: str, row: int, what: str) -> Any:
    """Return an input or a target as an array."""
    try:
        found = as_array(x)
    except (TypeError, ValueError):
        found = None
    if found is None:
        listed = isinstance(x, (list, tuple))
        told = "holds something else than numbers" if listed else f"is a {type(x).__name__}, not a number"
        raise TypeError(
            f"the {kind} in row {row} of {what} {told}: {shorten(repr(x), 60)}; compiled code takes numbers alone"
        )
    return found
