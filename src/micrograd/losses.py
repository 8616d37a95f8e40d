"""Losses: how wrong predictions are, as one Value. Each takes predictions and targets, one by one or in lists.

`reduction` says how the losses of single predictions are combined: "mean" (so that the learning rate does not depend on the
size of the batch), "sum", or "none" to get a list. A target that is a plain number is checked, and an invalid one is an error.
A target that is a Value, as in compiled code, cannot be checked, and an invalid one gives nan. Losses are within 4 ulp of the
exact result (docs/training.md).

>>> from micrograd import losses
>>> losses.mse([1.0, 3.0], [0.0, 1.0])
2.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf, isfinite, nan
from typing import Any, overload

from micrograd.engine import Value
from micrograd.math import abs as absolute
from micrograd.math import dot, eq, exp, expm1, floor, ge, gt, le, log1p, logsumexp, mean, relu, softplus, where
from micrograd.math import max as most
from micrograd.math import sum as total
from micrograd.tape.trace import is_tracing, peek
from micrograd.typed import Batch, Each, N, Numbers, One, Table
from micrograd.values.number_lists import flat, rows_of

REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {"mean": mean, "sum": total, "none": lambda losses: losses}
_one_formula: ContextVar[bool] = ContextVar("one_formula", default=False)
NOTHING_COUNTS = "cross_entropy has no mean: every target is ignored, or has a weight of 0"


@contextmanager
def one_formula() -> Iterator[None]:
    """Within it, losses have graphs that hold for other numbers as well: no loss looks at the numbers to choose its formula.

    For pages that run the graph of a loss again with other parameters. A small cross-entropy has fewer digits there.

    >>> from micrograd import Value, losses
    >>> with losses.one_formula():
    ...     loss = losses.cross_entropy([Value(1.0), Value(2.0)], 0)
    >>> round(loss.data, 6)
    1.313262
    """
    token = _one_formula.set(True)
    try:
        yield
    finally:
        _one_formula.reset(token)


@overload
def mse(predictions: Batch[N], targets: Numbers, reduction: One = "mean") -> N: ...
@overload
def mse(predictions: Batch[N], targets: Numbers, reduction: Each) -> list[N]: ...
@overload
def mse(predictions: Table, targets: Table, reduction: str = "mean") -> Any: ...
def mse(predictions: Any, targets: Any, reduction: str = "mean") -> Any:
    """Return the squared error, (prediction - target)².

    >>> from micrograd import losses
    >>> losses.mse([1.0, 2.0], [0.0, 0.0])
    2.5
    """
    return _each(lambda p, t: (p - t) ** 2, "mse", predictions, targets, reduction)


@overload
def mae(predictions: Batch[N], targets: Numbers, reduction: One = "mean") -> N: ...
@overload
def mae(predictions: Batch[N], targets: Numbers, reduction: Each) -> list[N]: ...
@overload
def mae(predictions: Table, targets: Table, reduction: str = "mean") -> Any: ...
def mae(predictions: Any, targets: Any, reduction: str = "mean") -> Any:
    """Return the absolute error, |prediction - target|.

    >>> from micrograd import losses
    >>> losses.mae([1.0, 2.0], [0.0, 0.0])
    1.5
    """
    return _each(lambda p, t: absolute(p - t), "mae", predictions, targets, reduction)


@overload
def huber(predictions: Batch[N], targets: Numbers, delta: float = 1.0, reduction: One = "mean") -> N: ...
@overload
def huber(predictions: Batch[N], targets: Numbers, delta: float = 1.0, *, reduction: Each) -> list[N]: ...
@overload
def huber(predictions: Table, targets: Table, delta: float = 1.0, reduction: str = "mean") -> Any: ...
def huber(predictions: Any, targets: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Return half the squared error up to delta and a straight line beyond it, so that outliers have a bounded slope.

    >>> from micrograd import losses
    >>> losses.huber([0.5, 10.0], [0.0, 0.0], reduction="none")
    [0.125, 9.5]
    """
    if not 0 < delta < inf:
        raise ValueError(f"huber's delta is where the straight part begins, above 0, not {delta}")

    def one(p: Any, t: Any) -> Any:
        error = p - t
        near = le(absolute(error), delta)
        small = where(near, error, 0.0)  # squared in place of the error: an infinite error has no square to multiply by
        return where(near, 0.5 * small**2, delta * (absolute(error) - 0.5 * delta))

    return _each(one, "huber", predictions, targets, reduction)


@overload
def binary_cross_entropy(logits: Batch[N], targets: Numbers, reduction: One = "mean") -> N: ...
@overload
def binary_cross_entropy(logits: Batch[N], targets: Numbers, reduction: Each) -> list[N]: ...
@overload
def binary_cross_entropy(logits: Table, targets: Table, reduction: str = "mean") -> Any: ...
def binary_cross_entropy(logits: Any, targets: Any, reduction: str = "mean") -> Any:
    """Return -log of the probability of the target (0, 1 or between); sigmoid(logit) is the probability of class 1.

    >>> from micrograd import losses
    >>> round(losses.binary_cross_entropy([2.0, 0.0], [1, 0]), 6)
    0.410038
    """

    def one(x: Any, t: Any) -> Any:
        if not isinstance(t, Value) and not 0 <= t <= 1:
            raise ValueError(
                f"binary_cross_entropy takes targets from 0 to 1, not {t}: turn -1 and 1 into them with (y + 1) / 2"
            )
        up = ge(
            x, 0.0
        )  # two forms of one smooth function: in each of them both terms are positive, so no digits cancel
        loss = softplus(where(up, -x, x)) + where(up, _part(1.0 - t, x), _part(t, -x))
        return where(ge(t, 0.0) * le(t, 1.0), loss, nan) if isinstance(t, Value) else loss

    return _each(one, "binary_cross_entropy", logits, targets, reduction)


@overload
def cross_entropy(
    logits: Batch[N], targets: Numbers, reduction: One = "mean", *, weight: Sequence[float] | None = None,
    ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> N: ...  # fmt: skip
@overload
def cross_entropy(
    logits: Batch[N], targets: Numbers, reduction: Each, *, weight: Sequence[float] | None = None,
    ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> list[N]: ...  # fmt: skip
@overload
def cross_entropy(
    logits: Table, targets: Table, reduction: str = "mean", *, weight: Sequence[float] | None = None,
    ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> Any: ...  # fmt: skip
def cross_entropy(
    logits: Any, targets: Any, reduction: str = "mean", *, weight: Sequence[float] | None = None,
    ignore_index: int | None = None, label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """Return -log of the probability of the target class, from logits: one for each class, in a list.

    Give one list of logits and one class, or lists of such lists (a batch, a sequence) and as many classes.

    weight           one factor for each class; "mean" divides by the sum of the factors of the targets
    ignore_index     targets of this number count for nothing
    label_smoothing  the share of each target that is spread evenly over all classes

    A logit of -inf masks a class. If that is the target, the loss is infinite, and the gradients are softmax minus one-hot
    as everywhere. A logit of +inf, or -inf for all classes, gives nan, as in PyTorch.

    >>> from micrograd.losses import cross_entropy
    >>> round(cross_entropy([2.0, 0.0], 0), 6)
    0.126928
    >>> round(cross_entropy([[2.0, 0.0], [0.0, 0.0]], [0, -100], ignore_index=-100), 6)
    0.126928
    """
    rows, classes = list(rows_of(logits)), list(flat(targets))
    if len(rows) != len(classes) == sum(map(len, rows)):
        raise ValueError(
            f"cross_entropy was given {len(rows)} rows of logits and {len(classes)} targets, one for each logit: it takes "
            "the number of the class of each row, not a one-hot list"
        )
    _same_count("cross_entropy", len(rows), len(classes))
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
    if ignore_index is not None and (isinstance(ignore_index, (bool, Value)) or not hasattr(ignore_index, "__index__")):
        raise TypeError(
            f"ignore_index is a whole number, as targets are, not {type(ignore_index).__name__}: {ignore_index!r}"
        )
    weights = None if weight is None else _class_weights(weight, len(rows[0]) if rows else 0)
    losses, counted = [], []
    for row, target in zip(rows, classes):
        if weights is not None and len(row) != len(weights):
            raise ValueError(f"cross_entropy has {len(weights)} weights of classes, and a row of {len(row)} logits")
        loss, factor = _cross_entropy_of(row, target, weights, ignore_index, label_smoothing)
        losses.append(loss)
        counted.append(factor)
    if reduction == "mean" and (weights is not None or ignore_index is not None):
        count = total(counted)
        if not isinstance(count, Value) and count == 0:
            raise ValueError(NOTHING_COUNTS)
        return total(losses) / count
    return _reduce(losses, "cross_entropy", reduction)


@overload
def max_margin(scores: Batch[N], labels: Numbers, reduction: One = "mean") -> N: ...
@overload
def max_margin(scores: Batch[N], labels: Numbers, reduction: Each) -> list[N]: ...
@overload
def max_margin(scores: Table, labels: Table, reduction: str = "mean") -> Any: ...
def max_margin(scores: Any, labels: Any, reduction: str = "mean") -> Any:
    """Return relu(1 - label · score), for labels 1 and -1: no loss once a score is on the right side by 1 or more.

    >>> from micrograd import losses
    >>> losses.max_margin([0.5, -3.0], [1, -1], reduction="none")
    [0.5, 0.0]
    """

    def one(score: Any, label: Any) -> Any:
        if isinstance(label, Value):
            return where(eq(label * label, 1.0), relu(1.0 - label * score), nan)
        if label not in (1, -1):
            raise ValueError(f"max_margin takes labels 1 and -1, not {label}: turn 0 and 1 into them with 2 * y - 1")
        return relu(1.0 - label * score)

    return _each(one, "max_margin", scores, labels, reduction)


def l2(parameters: Iterable[N], strength: float = 1e-4) -> N:
    """Return strength · Σ p², a penalty on large parameters to add to a loss.

    >>> from micrograd import losses
    >>> losses.l2([3.0, 4.0], 0.5)
    12.5
    """
    held = list(parameters)
    return strength * dot(held, held)


def _part(share: Any, x: Any) -> Any:
    """Return share · x, and 0 for a share of 0 of whatever x is, infinity included."""
    if isinstance(share, Value):
        nothing = eq(share, 0.0) * eq(absolute(x), inf)
        return share * where(nothing, 0.0, x)  # 0 · inf would be nan; the derivative by the share stays x elsewhere
    return share * x if share else 0.0


# ---- cross entropy


def _cross_entropy_of(
    row: list[Any], target: Any, weights: list[float] | None, ignore: int | None, smoothing: float
) -> tuple[Any, Any]:
    """Return the loss of one row of logits, and what it counts in the mean."""
    if not isinstance(target, Value):
        index = _number("cross_entropy", target)
        if ignore is not None and index == ignore:
            return 0.0, 0.0
        if index != index or int(index) != index or not 0 <= index < len(row):
            told = "" if ignore is None else f" (and {ignore} to be ignored)"
            raise ValueError(
                f"cross_entropy has logits for classes 0 to {len(row) - 1}{told}, and a target is {target!r}"
            )
        index = int(index)
        chosen: list[Any] = [1.0 if i == index else 0.0 for i in range(len(row))]
        at = row[index]
        factor: Any = 1.0 if weights is None else weights[index]
    else:  # the target is chosen by comparison, which can be compiled
        if ignore is not None:
            ignored = eq(target, float(ignore))
            row = [where(ignored, 0.0, x) for x in row]  # so that no nan or infinity in it reaches a gradient
        chosen = [eq(target, float(i)) for i in range(len(row))]
        at = total([where(c, x, 0.0) for c, x in zip(chosen, row)])
        factor = 1.0 if weights is None else dot(chosen, weights)
    surprise, all_of_them = _surprises(row, at, chosen, isinstance(target, Value), smoothing > 0.0)
    loss = surprise if weights is None else _part(factor, surprise)
    if smoothing:
        shares = [1.0] * len(row) if weights is None else weights
        spread = total([w * each for w, each in zip(shares, all_of_them) if w])
        loss = _part(1.0 - smoothing, loss) + (smoothing / len(row)) * spread
    if isinstance(target, Value):
        loss = where(total(chosen), loss, nan)
        if ignore is not None:
            loss, factor = where(ignored, 0.0, loss), where(ignored, 0.0, factor)
    return loss, factor


def _surprises(row: list[Any], at: Any, chosen: list[Any], compared: bool, every: bool) -> tuple[Any, list[Any]]:
    """Return logsumexp(row) - at with all its digits; and with `every`, the same for each logit in place of `at`.

    Where the result is large, the subtraction loses nothing. Elsewhere logits are measured from `at`, and it is
    log(1 + Σ exp(x - at)) over the others.
    """
    if _one_formula.get():
        whole = logsumexp(row)
        return whole - at, [whole - x for x in row] if every else []
    if is_tracing():
        whole = logsumexp(row)
        far = gt(whole - at, most(1.0, 0.5 * absolute(whole)))
        origin = where(far, whole, at)  # so that what is computed and not taken is finite, and so are its derivatives
        near = _log_of_sum(row, origin, floor(whole - origin), chosen, compared)
        result = where(far, whole - at, near)
        level = where(far, logsumexp([x - origin for x in row]), near) if every else near
    else:  # eager code looks at the numbers, and computes one of the two
        number, *numbers = peek([at, *row])
        size = logsumexp(numbers)
        if size - number > max(1.0, 0.5 * abs(size)):
            origin = logsumexp(row)
            result = origin - at
            level = logsumexp([x - origin for x in row]) if every else None
        else:
            origin = at
            result = level = _log_of_sum(row, at, floor(size - number), chosen, compared)
    return result, [level - (x - origin) for x in row] if every else []


def _log_of_sum(row: list[Any], origin: Any, rise: Any, chosen: list[Any], compared: bool) -> Any:
    """Return log(1 + Σ exp(x - origin)) over all logits but the chosen one, with every digit where it is small.

    `rise` may be any number: a rough result keeps the exponentials small, and 0 keeps all digits of a small one.
    """
    parts, corrections = [], []
    for x, c in zip(row, chosen):
        if compared or not c:
            part = exp(x - origin - rise)
            parts.append(where(c, 0.0, part) if compared else part)
            corrections.append(1.0 + _rounding_error(x, origin))
    others = dot(parts, corrections) if parts else 0.0
    return rise + log1p(others + expm1(-rise))


def _rounding_error(a: Any, b: Any) -> Any:
    """Return what rounding takes from a - b: the exponential of a difference of 700 would show it in 3 digits.

    Its derivatives are 0, so that nodes are made for it only where a trace has to write down how it is computed.
    """
    if isinstance(a, Value) and isinstance(b, Value) and not is_tracing():
        a, b = peek([a, b])
    gap = a - b
    back = gap - a
    lost = (a - (gap - back)) - (b + back)
    return where(eq(lost, lost), lost, 0.0)  # nan where a or b is infinite


def _class_weights(weight: Any, classes: int) -> list[float]:
    weights = [_number("the weight of a class", w) for w in flat(weight)]
    if len(weights) != classes:
        raise ValueError(f"cross_entropy has {classes} classes and {len(weights)} weights: there is one for each class")
    for w in weights:
        if not (isfinite(w) and w >= 0.0):
            raise ValueError(f"the weight of a class is a finite number, 0 or more, not {w}")
    return weights


# ---- lists


def _each(loss: Callable[[Any, Any], Any], name: str, predictions: Any, targets: Any, reduction: str) -> Any:
    ps, ts = list(flat(predictions)), list(flat(targets))
    _same_count(name, len(ps), len(ts))
    return _reduce([loss(p, t if isinstance(t, Value) else _number(name, t)) for p, t in zip(ps, ts)], name, reduction)


def _number(name: str, x: Any) -> Any:
    if isinstance(x, (str, bytes)) or not hasattr(x, "__float__"):
        raise TypeError(f"a target of {name} is a number, not {type(x).__name__}: {x!r}")
    return x


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
