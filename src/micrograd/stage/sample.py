"""The numbers of the row at hand behind a loop of the tape: found by running it, as long as that does not take long."""

from __future__ import annotations

from typing import Any

from micrograd.stage.machine import Machine
from micrograd.tape import interpret
from micrograd.tape.tape import Loop


def sampled(m: Machine, op: Any, args: list[Any]) -> Any:
    """What an instruction gives for the numbers of the row at hand.

    None where that would take long, or where these numbers are not known since such a loop.
    """
    if not m.sampled:
        return None
    known = op.iterations if isinstance(op, Loop) and op.condition is None else None
    if known is not None and interpret.work_of(op) > m.limits.sample:
        m.sampled = False
        return None
    try:
        return interpret.counted(lambda: interpret._structural(op, args), m.limits.sample)[0]
    except interpret.TooLong:
        m.sampled = False
        return None
