"""The numbers of the row at hand behind a loop of the tape: found by running it, as long as that does not take long."""

from __future__ import annotations

from typing import Any

from micrograd.stage.machine import Machine
from micrograd.tape import interpret
from micrograd.tape.staging import hooks
from micrograd.tape.tape import SOURCES, Loop, Region, Tape


def work(tape: Tape) -> int:
    """How many instructions a run of a tape takes, as far as that is known: a loop of unknown length counts as one turn."""
    return sum([_work(op) if isinstance(op, Region) else 1 for op in tape.ops if op not in SOURCES])


def _work(op: Region) -> int:
    inside = sum(map(work, op.bodies()))
    return (op.turns or 1) * inside if isinstance(op, Loop) else inside


def sampled(m: Machine, op: Any, args: list[Any]) -> Any:
    """What an instruction gives for the numbers of the row at hand.

    None where that would take long, or where these numbers are not known since such a loop.
    """
    if not m.sampled:
        return None
    before = hooks.trace, hooks.require, hooks.structural
    hooks.trace = hooks.require = hooks.structural = None
    try:
        return _sampled(m, op, args)
    finally:
        hooks.trace, hooks.require, hooks.structural = before


def _sampled(m: Machine, op: Any, args: list[Any]) -> Any:
    if not isinstance(op, Loop):
        return interpret._structural(op, args)
    each = max(1, sum(map(work, op.bodies())))
    try:
        if op.condition is None and each * (op.turns or 1) > m.limits.sample:
            raise interpret.TooLong
        return interpret.loop(op, args, m.limits.sample // each)
    except interpret.TooLong:
        m.sampled = False
        return None


__all__ = ["sampled", "work"]
