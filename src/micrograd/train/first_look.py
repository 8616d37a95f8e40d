"""A look at a run of fit: at data and loss before the first step, and now and then at what compiled code makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import isfinite
from time import perf_counter
from typing import Any

from micrograd.train import data_checks as checks
from micrograd.train.measure import measure
from micrograd.train.objective import Eager

GROWTHS = 4  # how often more rows are looked at, eight times as many each time


def first(run: Any, parts: list[Any]) -> None:
    """Look once at the data, and at what compiled code makes of them; `parts` are the batches of the first step."""
    if isinstance(run.objective, Eager):
        run.objective.look = lambda prediction: _targets(run, prediction)
    elif run.objective.compiled:
        began = perf_counter()
        run.looked = parts
        found = _both(run, 32, lambda prediction: _targets(run, prediction))
        if found is not None and _differ(*found):
            wanted, got = found
            raise RuntimeError(
                f"the compiled loss of the first rows is {got.data}, and the eager one {wanted.data}: does the model or the "
                "loss use something that changes from call to call, such as random numbers or a counter?"
            )
        run.depends = True
        if run.metrics and len(parts) == 1:  # of several batches, metrics are computed together
            measure(run.metrics, run.objective, parts[0])
        if run.validation is not None:
            run._validate()
        run.history.compiling = perf_counter() - began


def is_due(epoch: int) -> bool:
    """Whether to look again after so many epochs, a power of two: at powers of four, for a look takes as long as 30 steps."""
    return epoch.bit_length() % 2 == 1


def again(run: Any) -> None:
    """Warn where the compiled loss of a few rows has become another one than the eager loss.

    Compiled code follows parameters, attributes of modules and what it reads from outside, long lists and arrays apart.
    """
    if not run.objective.compiled or not run.started or run.drifted:
        return
    try:
        found = _both(run, 2)
    except Exception:  # training goes on with whatever the loss takes
        return
    if found is not None and _differ(*found):
        wanted, got = found
        run.drifted = True
        warnings.warn(
            f"after step {len(run.history)} the compiled loss of some rows is {got.data:g}, and the eager one "
            f"{wanted.data:g}: the model, the loss or the penalty uses a number that has changed since it was compiled, and "
            "continues to use the old one; keep it in a Value, or assign a new list or array: an array in a module, a large "
            "one and a long list are not looked into",
            RuntimeWarning,
            stacklevel=4,
        )


def depends(run: Any, error: Any) -> None:
    """Refuse, once, a loss that no parameter of the optimizer has a part in."""
    checks.depends(getattr(error, "value", error), run.optimizer)
    run.depends = True


def _both(run: Any, count: int, check: Callable[[Any], None] | None = None) -> tuple[Any, Any] | None:
    """Return the eager and the compiled loss of some rows of the first step; None where no such rows were found.

    A loss need not have a value for a few rows: all of them may be ignored, or it may compare rows of different classes. So
    there are more and more rows until it has one. Where no batch of the step has one, that is an error.
    """
    parts = [list(range(len(run.rows)) if part is None else part) for part in run.looked]
    reason: Exception | None = None
    sizes = [count * 8**k for k in range(GROWTHS)]
    for some in [part[:n] for part in parts for n in sizes if n == count or n // 8 < len(part)]:
        seen: list[Any] = []
        reason = None
        eager = Eager(run.model, run.rows, run.loss, run.penalty)
        eager.look = seen.append
        try:
            wanted = eager.error(some, 1)
            checks.depends(wanted, run.optimizer)
        except Exception as error:
            reason = error
        if check is not None and seen:
            check(seen[0])
        if reason is None:
            return wanted, run.objective.error(some, 1)
        if not seen:  # the model raised it
            raise reason
    if reason is not None and max(map(len, parts)) <= sizes[-1]:  # no batch of the step has a loss
        raise reason
    return None


def _differ(eager: Any, compiled: Any) -> bool:
    wanted, got = eager.data, compiled.data
    return not abs(got - wanted) <= 1e-6 * max(1.0, abs(wanted)) and isfinite(wanted)


def _targets(run: Any, prediction: Any) -> None:
    """Check the targets against the first prediction, which says how many classes there are."""
    while isinstance(prediction, (list, tuple)) and prediction and isinstance(prediction[0], (list, tuple)):
        prediction = prediction[0]
    width = len(prediction) if isinstance(prediction, (list, tuple)) else None
    checks.targets(run.loss, run.rows, width, "the data")
    if run.validation is not None:
        checks.targets(run.loss, run.validation.rows, width, "the validation data")
