"""The ways out of a loop that is rolled: `break`, `return`, and rows that are left to a tape of their own."""

from __future__ import annotations

from typing import Any

from micrograd.engine import Value
from micrograd.stage.errors import Bound, Unsupported
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import Machine
from micrograd.stage.masks import TRUE, Mask
from micrograd.stage.state import Exits, Frame
from micrograd.stage.summary import Summary

Way = tuple[str, Any]  # break, return or lost; what is returned in a tuple, or whether rows need more iterations


def ways_out(m: Machine, breaks: Exits, returns: Exits) -> list[tuple[str, Any, Mask, Any]]:
    """The ways that rows take out of an iteration: the way, the rows, and the Value that they return."""
    ways: list[tuple[str, Any, Mask, Any]] = [("break", None, s.mask, None) for s in breaks.states]
    for s in returns.states:
        for mask, x in s.result.alternatives if type(s.result) is Summary else [(TRUE, s.result)]:
            rows = m.masks.both_of(s.mask, mask)
            if isinstance(x, Value):
                ways.append(("return", None, rows, x))
            elif type(x) is Lane or isinstance(x, (list, dict, set)):
                raise Unsupported("a loop returns what changes from one iteration to the next")
            else:
                ways.append(("return", (x,), rows, None))
    return ways + [("lost", mask in m.bounds, mask, None) for mask in m.lost]


def leave(m: Machine, frame: Frame, exits: list[Way], how: Value, returned: Value) -> None:
    """Let the rows wait where they have left the loop to: `how` has the number of the way, `returned` what is returned."""
    here = m.here
    for k, (kind, what) in enumerate(exits):
        mask = m.masks.both_of(here, m.masks.compare("eq", how, 1.0 + k))
        m.here = mask
        if kind == "break":
            m.leave(frame.variables[".break"])
        elif kind == "return":
            assert frame.exits is not None
            m.leave(frame.exits, returned if what is None else what[0], None if frame.captured else frame)
        else:
            why = "an exception is raised, or something is done that is not merged"
            m.lose(mask, Bound("more iterations of this loop than are unrolled") if what else why)
        here = m.masks.without(here, mask)
    m.here = here


__all__ = ["Way", "leave", "ways_out"]
