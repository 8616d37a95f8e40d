"""What fit checks before the first step, so that a mistake is an error there and not a wrong number later."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterable
from math import isfinite
from operator import index
from textwrap import shorten
from typing import Any

from micrograd import losses
from micrograd.engine import Value
from micrograd.optim import LBFGS, Optimizer
from micrograd.optim.clip import check_limit
from micrograd.train.history import RESERVED
from micrograd.train.objective import leaves
from micrograd.train.remote import RemoteRows
from micrograd.tree import by_position
from micrograd.values.number_lists import flat


def count(name: str, n: Any, least: int = 1) -> int:
    """Return a whole number; one below `least`, or anything else, is refused."""
    try:
        number = index(n)
    except TypeError:
        raise TypeError(f"{name} is a whole number, {least} or more, not {type(n).__name__}: {n!r}") from None
    if number < least or isinstance(n, bool):
        raise ValueError(f"{name} is a whole number, {least} or more, not {n!r}")
    return number


def limit(clip: Any) -> float | None:
    """Return the greatest norm that gradients may have."""
    return None if clip is None else check_limit(clip, "clip, the greatest norm of the gradients,")


def data(given: Any, what: str) -> tuple[Any, Any]:
    """Return inputs and targets, given as two lists or as a list of pairs; each input has one target."""
    if isinstance(given, zip):
        given = list(given)
    form = f"{what} are (inputs, targets), a pair of lists or arrays, or a list of tuples (input, target), not"
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{form} {type(given).__name__}")
    if _are_rows(given, what):
        given = [x for x, _ in given], [y for _, y in given]
    if given and len(given) != 2:
        raise TypeError(f"{form} a {type(given).__name__} of {len(given)} items")
    given = given or ((), ())
    # tensors of PyTorch become lists
    X, y = (part.tolist() if hasattr(part, "detach") else by_position(part) for part in given)
    for part, name in ((X, "inputs"), (y, "targets")):
        if not hasattr(part, "__len__") or not hasattr(part, "__getitem__") or isinstance(part, (str, dict)):
            raise TypeError(f"the {name} of {what} are a list or an array, not {type(part).__name__}")
    if not len(X):
        raise ValueError(
            f"there are no {what}{' to learn from' if what == 'data' else ''}: the list of inputs is empty"
        )
    if len(X) != len(y):
        raise ValueError(f"there are {len(X)} inputs and {len(y)} targets in the {what}: each input has one")
    return X, y


def _are_rows(given: Any, what: str) -> bool:
    """Whether data are a list of (input, target); two rows that may as well be inputs and targets are refused."""
    if not given or not all(isinstance(row, (tuple, list)) and len(row) == 2 for row in given):
        return False
    if len(given) != 2:
        return all(isinstance(row, tuple) for row in given)
    kinds = [[_depth(x) for x in row] for row in given]
    if kinds[0][0] == kinds[1][0] != kinds[0][1] == kinds[1][1]:
        return True
    if isinstance(given, list) and all(isinstance(row, tuple) for row in given):
        raise ValueError(
            f"{what} are a list of two pairs, which can be read as inputs and targets or as two rows: give a tuple "
            "(inputs, targets)"
        )
    return False


def _depth(x: Any) -> int:
    """How deep lists are nested, judged by first items; 0 for a number."""
    shape = getattr(x, "shape", None)
    if shape is not None:
        return len(shape)
    return 1 + _depth(x[0]) if isinstance(x, (list, tuple)) and x else 0


def penalty(given: Any) -> Any:
    """Return the penalty; anything but a function, or None, is refused."""
    if given is not None and not callable(given):
        raise TypeError(
            f"penalty is a function without arguments that returns a Value, not {type(given).__name__}: write "
            "penalty=lambda: losses.l2(model.parameters())"
        )
    return given


def metrics(given: Any) -> dict[str, Callable[..., float]]:
    """Return the metrics by name; the names of the columns that fit writes itself are taken."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise TypeError(
            f'metrics are a dict of functions by name, {{"accuracy": accuracy}}, not {type(given).__name__}'
        )
    for name, metric in given.items():
        if name in RESERVED or name.startswith("validation_"):
            raise ValueError(
                f"a metric is called {name!r}, which is a column that fit writes itself: choose another name"
            )
        if not callable(metric):
            raise TypeError(f"the metric {name!r} is a function of (predictions, targets), not {type(metric).__name__}")
    return dict(given)


def callbacks(given: Any) -> list[Callable[..., Any]]:
    """Return the callbacks in a list; a single one may be given bare."""
    if given is None:
        return []
    if not callable(given) and not isinstance(given, Iterable):
        raise TypeError(f"callbacks are functions of the history in a list, not {type(given).__name__}: {given!r}")
    found = [given] if callable(given) else list(given)
    for callback in found:
        if not callable(callback):
            raise TypeError(f"a callback is a function of the history, not {type(callback).__name__}: {callback!r}")
    return found


def is_true(result: Any) -> bool:
    """Whether a callback returned True, of Python or of an array library; other results mean nothing."""
    if isinstance(result, bool):
        return result
    kind = str(getattr(result, "dtype", ""))
    return kind in ("bool", "torch.bool") and tuple(getattr(result, "shape", (0,))) == () and bool(result)


def functions(model: Any, loss: Any, objective: Any) -> None:
    """Refuse a model, a loss or an objective that cannot be called."""
    named = (("loss", loss), ("model", model)) if objective is None else (("objective", objective),)
    for name, given in named:
        if not callable(given):
            takes = {"model": "one input", "loss": "(predictions, targets)", "objective": "(inputs, targets)"}[name]
            raise TypeError(f"the {name} is a function of {takes}, not {type(given).__name__}: {given!r}")


def monitors(given: list[Any], metrics: dict[str, Any], validated: bool, own: Optimizer) -> None:
    """Refuse a callback that watches a column which the history will not have, or changes another optimizer."""
    columns = ["loss", "lr", *metrics]
    if validated:
        columns += ["validation_loss", *(f"validation_{name}" for name in metrics)]
    for callback in given:
        if getattr(callback, "changes_lr", False) and callback.optimizer is not own:
            raise ValueError(
                f"{type(callback).__name__} changes the learning rate of another optimizer than that of fit"
            )
        monitor = getattr(callback, "monitor", "loss")
        if isinstance(monitor, str) and monitor not in columns:
            raise ValueError(
                f"{type(callback).__name__} watches {monitor!r}, which is no column of this history: it has "
                f"{', '.join(columns)}"
            )


def optimizer(model: Any, given: Any) -> None:
    """Refuse an optimizer of none of the model's parameters."""
    if not isinstance(given, Optimizer):
        raise TypeError(f"the optimizer is one of micrograd.optim, not {type(given).__name__}")
    if hasattr(model, "parameters"):
        own = {id(p) for p in model.parameters()}
        if own and not any(id(p) in own for p in given.parameters):
            raise ValueError(
                "the optimizer has none of the parameters of this model, which would never change: make it from "
                "model.parameters()"
            )

    if all(all(group.frozen) for group in given.groups):
        raise ValueError(
            "every parameter of the optimizer is frozen, so nothing would be learned: optimizer.unfreeze(...)"
        )


def line_search(given: Optimizer, clip: Any, accumulate: int) -> None:
    """Refuse what an optimizer with a line search of its own would not mind."""
    if isinstance(given, LBFGS) and (clip is not None or accumulate > 1):
        name, instead = (
            ("clip", "its line search bounds the step") if clip is not None else ("accumulate", "raise batch_size")
        )
        raise ValueError(
            f"LBFGS evaluates the loss several times in a step and takes no {name}: leave it out, {instead}"
        )


def is_value(error: Any) -> None:
    """Refuse a loss that has no derivative."""
    if not isinstance(error, Value):
        way_out = '; reduction="mean" or "sum" makes one Value of them' if isinstance(error, list) else ""
        told = shorten(repr(error), 100)
        raise TypeError(f"a loss is a Value to call backward() on, not {type(error).__name__}: {told}{way_out}")


def depends(error: Any, given: Optimizer) -> None:
    """Refuse a loss behind which no parameter of the optimizer stands."""
    is_value(error)
    wanted = {id(p) for p in given.parameters}
    seen: set[int] = set()
    stack = [error]
    while stack:
        node = stack.pop()
        if id(node) in wanted:
            return
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node._prev)
    raise ValueError(
        "the loss depends on no parameter of the optimizer, so nothing would be learned: is it computed from the model, "
        "outside of no_grad() and without .data or float()?"
    )


def writable(path: Any) -> None:
    """Refuse a checkpoint that could not be written, before the first step."""
    where = os.path.realpath(path)
    if os.path.isdir(where):
        raise IsADirectoryError(f"checkpoint={os.fspath(path)!r} is a folder: give the name of a file in it")
    folder = os.path.dirname(where)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as reason:
        raise type(reason)(
            reason.errno, f"checkpoint={os.fspath(path)!r} cannot be written ({reason.strerror})", folder
        ) from None


# ---- targets


def targets(loss: Any, rows: Any, width: int | None, what: str) -> None:
    """Check inputs and targets of a loss of this package once, with the row in the message; another loss is left alone."""
    function, options = known(loss)
    if function is None:
        return
    arrays = rows.arrays()
    if isinstance(rows, RemoteRows):
        row = rows.first_not_finite()
        if row is not None:
            raise ValueError(f"the input in row {row} of {what} is not finite")
    elif arrays is not None and _plain(arrays[0], arrays[1], function, options, width):
        return
    for row, target in enumerate(rows.targets(None)):
        for t in flat(target):
            if isinstance(t, Value):
                continue
            if isinstance(t, (str, bytes)) or not hasattr(t, "__float__"):
                raise TypeError(f"the target in row {row} of {what} is a {type(t).__name__}, not a number: {t!r}")
            told = _wrong(function, options, float(t), width)
            if told:
                raise ValueError(f"the target in row {row} of {what} is {t!r}: {told}")
    if isinstance(rows, RemoteRows):
        return
    for row, x in enumerate(rows.X):
        for v in leaves(x):
            if isinstance(v, float) and not isfinite(v):
                raise ValueError(f"the input in row {row} of {what} holds {v}")


def _plain(X: Any, y: Any, function: Any, options: dict[str, Any], width: int | None) -> bool:
    """Whether arrays of data have nothing wrong with them, found without a loop over all rows."""
    import numpy as np

    if not np.isfinite(X).all() or not np.isfinite(y).all():
        return False
    if function in (losses.mse, losses.mae, losses.huber):
        return True
    return not any(_wrong(function, options, float(t), width) for t in np.unique(y))


def _wrong(function: Any, options: dict[str, Any], t: float, width: int | None) -> str:
    if function is losses.cross_entropy:
        if options.get("ignore_index") is not None and t == options["ignore_index"]:
            return ""
        if t != t or t != int(t) or t < 0 or (width is not None and t >= width):
            top = "up" if width is None else f"{width - 1}"
            return f"cross_entropy takes the number of a class, from 0 to {top}" if width else "classes count from 0"
    elif function is losses.binary_cross_entropy and not 0.0 <= t <= 1.0:
        return "binary_cross_entropy takes targets from 0 to 1; turn -1 and 1 into them with (y + 1) / 2"
    elif function is losses.max_margin and t not in (1.0, -1.0):
        return "max_margin takes labels 1 and -1; turn 0 and 1 into them with 2 * y - 1"
    elif not isfinite(t):
        return "it is not finite"
    return ""


PACKAGE = {losses.mse, losses.mae, losses.huber, losses.binary_cross_entropy, losses.cross_entropy, losses.max_margin}


def known(loss: Any) -> tuple[Any, dict[str, Any]]:
    """Return the loss of this package that a function is, with options given by functools.partial; (None, {}) for others."""
    options: dict[str, Any] = {}
    while isinstance(loss, functools.partial) and not loss.args:
        options = dict(loss.keywords) | options
        loss = loss.func
    return (loss, options) if not isinstance(loss, functools.partial) and loss in PACKAGE else (None, {})
