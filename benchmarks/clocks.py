"""How a call is timed: the best of a few batches, with as little as possible around the call."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any


def clock(call: Callable[[], Any], least: float = 0.004) -> Callable[[], float]:
    """A function that answers with the seconds of one call: the best of three batches of `least` seconds."""
    call()
    count = 1
    while True:
        start = perf_counter()
        for _ in range(count):
            call()
        took = perf_counter() - start
        if took >= least:
            break
        count = max(count + 1, math.ceil(count * least / max(took, 1e-9)))

    def once() -> float:
        best = math.inf
        for _ in range(3):
            start = perf_counter()
            for _ in range(count):
                call()
            best = min(best, perf_counter() - start)
        return best / count

    return once


def clock_short(text: str, **names: Any) -> Callable[[], float]:
    """The same for calls so short that a loop or a frame around each would show: a call as text, over these names."""
    calls = "; ".join([text] * 5)
    here: dict[str, Any] = {"perf_counter": perf_counter}
    exec(_SHORT.format(calls=calls, names=", ".join(names)), here)
    here["make"](**names)()  # once to warm up
    return here["make"](**names)  # type: ignore[no-any-return]


_SHORT = """
def make({names}):
    def once():
        best = 1.0
        for _ in range(5):
            start = perf_counter()
            for _ in range(2000):
                {calls}
            best = min(best, perf_counter() - start)
        return best / 10000
    return once
"""
