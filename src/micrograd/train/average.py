"""EMA: a running mean of the parameters, which is often better than the parameters themselves."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

from micrograd.engine import Value
from micrograd.optim.slots import Slots


class EMA:
    """An exponential moving average of parameters: after each step, decay of the old mean and 1 - decay of the new values.

    Pass it to `fit` among the callbacks, or call `update()` after each step of your own loop. A checkpoint of `fit` keeps it.

    >>> from micrograd import Value, train
    >>> p = Value(0.0)
    >>> ema = train.EMA([p], decay=0.5)
    >>> p.data = 1.0
    >>> ema.update()
    >>> with ema.applied():
    ...     p.data
    0.5
    >>> p.data
    1.0
    """

    def __init__(self, parameters: Iterable[Value], decay: float = 0.999) -> None:
        if not 0.0 <= decay < 1.0:
            raise ValueError(f"decay is at least 0 and below 1, not {decay}")
        values = list(parameters)
        if not values:
            raise ValueError("an average needs parameters, and was given none: pass model.parameters()")
        self.decay, self._slots = decay, Slots(values)
        self._now: Any = array("d", bytes(8 * len(values)))
        self._mean: Any = array("d", bytes(8 * len(values)))
        self.restart()

    def __call__(self, history: Any = None) -> None:
        """Update the mean: what `fit` calls after each step."""
        self.update()

    def update(self) -> None:
        """Take the parameters as they are now into the mean."""
        self._slots.copy("read", self._now)
        Slots.add(-1.0, self._mean, self._now)
        Slots.add(1.0 - self.decay, self._now, self._mean)

    def restart(self) -> None:
        """Start again from the current parameters."""
        self._slots.copy("read", self._mean)

    def state_dict(self) -> dict[str, Any]:
        """Return the mean: a checkpoint of `fit` keeps it."""
        return {"mean": self._mean.tolist()}

    def load_state_dict(self, state: dict[str, Any], source: str = "the state") -> None:
        """Continue with the mean of a state_dict."""
        self.check(state, source)
        self._mean = array("d", state["mean"])

    def check(self, state: Any, source: str = "the state") -> None:
        """Raise an error if this is not a mean of as many parameters."""
        mean = state.get("mean") if isinstance(state, dict) else None
        if not isinstance(mean, list) or not all(isinstance(x, (int, float)) and isfinite(x) for x in mean):
            raise ValueError(f"{source} has no running mean of parameters")
        if len(mean) != len(self._mean):
            raise ValueError(f"{source} has the mean of {len(mean)} parameters, and this one is of {len(self._mean)}")

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace the parameters by the mean inside the block."""
        before = array("d", self._now)
        self._slots.copy("read", before)
        self._slots.copy("write", self._mean)
        try:
            yield
        finally:
            self._slots.copy("write", before)

    def apply(self) -> None:
        """Replace the parameters by the mean permanently."""
        self._slots.copy("write", self._mean)
