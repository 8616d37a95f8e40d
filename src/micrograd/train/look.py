"""A look at a run of fit: at data and loss before the first step, and now and then at what compiled code makes of them."""

from __future__ import annotations

import warnings
from math import isfinite
from time import perf_counter
from typing import Any

from micrograd.train import checks
from micrograd.train.measure import measure
from micrograd.train.objective import Eager


def first(run: Any, part: Any) -> None:
    """Look once at the data, and at what compiled code makes of them."""
    if isinstance(run.objective, Eager):
        run.objective.look = lambda prediction: _targets(run, prediction)
    elif run.objective.compiled:
        began = perf_counter()
        eager = Eager(run.model, run.rows, run.loss, run.penalty)
        eager.look = lambda prediction: _targets(run, prediction)
        wanted, got = _both(run, eager, part, 32)
        checks.depends(wanted, run.optimizer)
        if _differ(got.data, wanted.data):
            raise RuntimeError(
                f"the compiled loss of the first rows is {got.data}, and the eager one {wanted.data}: does the model or the "
                "loss use something that changes from call to call, such as random numbers or a counter?"
            )
        run.depends = True
        if run.metrics:
            measure(run.metrics, run.objective, part)
        if run.validation is not None:
            run._validate()
        run.history.compiling = perf_counter() - began


def again(run: Any) -> None:
    """Warn where the compiled loss of two rows has become another one than the eager loss.

    Compiled code follows parameters and attributes of modules; a plain number in a variable is a constant to it.
    """
    if not run.objective.compiled or not run.started or run.drifted:
        return
    wanted, got = _both(run, Eager(run.model, run.rows, run.loss, run.penalty), None, 2)
    if _differ(got.data, wanted.data):
        run.drifted = True
        warnings.warn(
            f"after step {len(run.history)} the compiled loss of the first two rows is {got.data:g}, and the eager one "
            f"{wanted.data:g}: the model, the loss or the penalty uses a number that has changed since it was compiled, and "
            "goes on with the old one; keep it in a Value, or in an attribute of the model",
            RuntimeWarning,
            stacklevel=4,
        )


def depends(run: Any, error: Any) -> None:
    """Refuse, once, a loss that no parameter of the optimizer has a part in."""
    checks.depends(getattr(error, "value", error), run.optimizer)
    run.depends = True


def _both(run: Any, eager: Eager, part: Any, count: int) -> tuple[Any, Any]:
    """Return the eager and the compiled loss of some rows."""
    some = list(range(len(run.rows)) if part is None else part)[:count]
    return eager.error(some, 1), run.objective.error(some, 1)


def _differ(got: float, wanted: float) -> bool:
    return not abs(got - wanted) <= 1e-6 * max(1.0, abs(wanted)) and isfinite(wanted)


def _targets(run: Any, prediction: Any) -> None:
    """Check the targets against the first prediction, which says how many classes there are."""
    while isinstance(prediction, (list, tuple)) and prediction and isinstance(prediction[0], (list, tuple)):
        prediction = prediction[0]
    width = len(prediction) if isinstance(prediction, (list, tuple)) else None
    checks.targets(run.loss, run.rows, width, "the data")
    if run.validation is not None:
        checks.targets(run.loss, run.validation.rows, width, "the validation data")
