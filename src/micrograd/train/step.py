"""step: forward, backward, clipping and update of one training step in a single call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import inf
from typing import Any

from micrograd.engine import NATIVE, Value
from micrograd.nn import dropout
from micrograd.optim import LBFGS, Optimizer
from micrograd.optim.clip import check_limit
from micrograd.tree import name_of
from micrograd.watch.modules import SameParameters
from micrograd.watch.reach import modules_called


def step(loss: Callable[..., Any], optimizer: Optimizer, *, clip: float | None = None, compile: bool = True) -> Step:
    """Compile a training step: `step(...)` computes the loss and its gradients, clips them and moves the parameters.

    loss     a function of a batch, or of nothing, that returns a Value: jit and vmap of one are taken as they are,
             anything else is compiled with jit
    clip     the greatest norm that the gradients may have
    compile  False to run the loss eagerly, with the same result up to rounding

    The call returns the loss as a number. Gradients that are not finite move nothing and are an error. A plain number from
    outside the loss is a constant in compiled code: pass what changes as an argument, or keep it in a Value or in an attribute
    of a module. A NumPy array in a module is noticed if a new one is assigned, but not if it is changed in place.

    >>> from micrograd import Value, optim, train
    >>> w, b = Value(0.0), Value(0.0)
    >>> move = train.step(lambda x, y: (w * x + b - y) ** 2, optim.SGD([w, b], lr=0.1))
    >>> round(move(1.0, 3.0), 6), round(move(1.0, 3.0), 6)
    (9.0, 3.24)
    >>> round(w.data, 6)
    0.96
    """
    return Step(loss, optimizer, clip, compile)


class Step:
    """One training step of an optimizer down a loss, as a function of the batch."""

    def __init__(self, loss: Callable[..., Any], optimizer: Optimizer, clip: float | None, compile: bool) -> None:
        if not callable(loss):
            raise TypeError(f"train.step takes a function that returns the loss, not {type(loss).__name__}: {loss!r}")
        if not isinstance(optimizer, Optimizer) or isinstance(optimizer, LBFGS):
            raise TypeError(
                f"train.step takes an optimizer with a step for each gradient, such as Adam, not {type(optimizer).__name__}"
            )
        functools.update_wrapper(self, loss, updated=())
        self.optimizer = optimizer
        self.limit = inf if clip is None else check_limit(clip, "clip, the greatest norm of the gradients,")
        self.number = Value(0.0)  # of the step, for what is random
        self.loss = _compiled(loss, self.number) if compile and NATIVE else _counted(loss, self.number)
        self._counts = self.loss is not loss
        self._same = SameParameters(modules_called(loss), self.loss) if compile and NATIVE else None
        self._checked = False
        self._descend = optimizer.slots.descend

    def __call__(self, *args: Any, **kwargs: Any) -> float:
        optimizer = self.optimizer
        if self._counts:
            self.number.data = optimizer.steps
        error = self.loss(*args, **kwargs)
        if self._same is not None and self._same.lost():
            raise RuntimeError(
                "a model has other parameters than when its training step was made, which the optimizer does not know: "
                "make a new train.step, and an optimizer of the new parameters"
            )
        if not self._checked:
            self._check(error)
        value: float = error.data
        # A target that is no class gives a nan with finite gradients, so the loss is looked at too.
        if value != value or not self._descend(error, self.limit, optimizer.updates()):
            raise FloatingPointError(
                f"the loss is {value} or a gradient is not finite at step {optimizer.steps + 1}: no parameter was "
                "moved; is a target one that the loss does not take? Otherwise try a lower learning rate or clip=1.0, and "
                "micrograd.detect_anomaly() to find where it comes from"
            )
        optimizer.advance()
        return value

    def _check(self, error: Any) -> None:
        """Refuse, once, a loss that is no Value or that no parameter of the optimizer has a part in."""
        from micrograd.train.data_checks import depends

        depends(error, self.optimizer)
        self._checked = True

    def __repr__(self) -> str:
        return f"<training step of {name_of(self.loss)} with {self.optimizer!r}>"


def _compiled(loss: Callable[..., Any], number: Value) -> Any:
    """Return the loss as machine code; what is compiled already is taken as it is."""
    from micrograd.compile.jit import jit
    from micrograd.compile.vmap import Vmap

    if isinstance(loss, Vmap) or getattr(loss, "kernel", None) is loss:
        return loss
    return jit(_counted(loss, number), wait=True)


def _counted(loss: Callable[..., Any], number: Value) -> Any:
    """Return the loss with the number of the step at hand for what is random in it."""

    @functools.wraps(loss)
    def counted(*args: Any, **kwargs: Any) -> Any:
        with dropout.at(number, 0):
            return loss(*args, **kwargs)

    return counted
