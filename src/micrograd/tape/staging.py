"""What tapes ask of the stage while it stages or checks a function in this thread. Nothing here knows the stage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from micrograd import observed

if observed.NATIVE:
    from micrograd._engine import set_staged
else:

    def set_staged(on: bool, /) -> None:
        """Tell the C engine, which differentiates by itself what nobody interprets, that this thread does or does not."""


class Hooks(threading.local):
    """None while no function is staged or checked."""

    _trace: Callable[..., Any] | None = None
    derivatives: Callable[[Any, list[Any]], None] | None = None  # told the results of a tape that a transform derived
    structural: Callable[[Any, list[Any]], Any] | None = None  # a region or an array of such a tape
    require: Callable[[str, Any, Any, bool], None] | None = (
        None  # a guard of a tape that runs inside of the staged function
    )
    iteration: Callable[[int], None] | None = None  # told how many instructions an interpreted iteration has
    outcomes: set[Any] | None = None  # gets the outcome of each choice of an interpreted tape
    lighten: Callable[[Any], Any] | None = None  # rewrites a tape before its adjoint is taken, so that it keeps less

    @property
    def trace(self) -> Callable[..., Any] | None:
        """What runs a function that is differentiated inside of the staged one."""
        return self._trace

    @trace.setter
    def trace(self, run: Callable[..., Any] | None) -> None:
        self._trace = run
        set_staged(run is not None)


hooks = Hooks()
