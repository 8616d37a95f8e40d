"""What tapes ask of the stage while it stages or checks a function in this thread. Nothing here knows the stage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Hooks(threading.local):
    """None while no function is staged or checked."""

    trace: Callable[..., Any] | None = None  # runs a function that is differentiated inside of the staged one
    derivatives: Callable[[Any, list[Any]], None] | None = None  # told the results of a tape that a transform derived
    structural: Callable[[Any, list[Any]], Any] | None = None  # a region or an array of such a tape
    require: Callable[[str, Any, Any, bool], None] | None = (
        None  # a guard of a tape that runs inside of the staged function
    )
    iteration: Callable[[int], None] | None = None  # told how many instructions an interpreted iteration has
    outcomes: set[Any] | None = None  # gets the outcome of each choice of an interpreted tape
    lighten: Callable[[Any], Any] | None = None  # rewrites a tape before its adjoint is taken, so that it keeps less


hooks = Hooks()
