"""Checks of a merged trace in later calls than the first: an arm is compared with plain Python when it is first taken.

Before a merged trace is first used, it is compared with plain runs of the function on rows from every arm that occurs
(attempt.py). Other arms may occur in the calls that follow. So these are looked at too, for some time; after that, machine code
answers without a look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.stage.attempt import ROW, Arms, agrees, outcomes
from micrograd.stage.limits import Others
from micrograd.stage.staged import Arrange
from micrograd.stage.survey import rare
from micrograd.tape import interpret
from micrograd.tape.trace import Trace

AT_A_POINT, OF_ROWS = 1, 16  # how much of Arms.looks a call uses up
BUDGET = 1_000_000  # operations of a survey of rows: some 5 ms


def holds_at(user: Any, arrange: Arrange, found: Trace, arms: Arms, row: list[float]) -> bool:
    """Whether a merged trace gives what a plain run of the function gives, if this row takes an arm that is not yet checked."""
    right = _holds(user, arrange, found, arms, row)
    _end(found, arms, AT_A_POINT)
    return right


def holds_for(user: Any, arrange: Arrange, found: Trace, arms: Arms, columns: Callable[[int], list[Any]]) -> bool:
    """The same for the rows of a batch. At most one row is compared for each outcome of a choice."""
    right = all(_holds(user, arrange, found, arms, row) for row in rare(found, Others(columns=columns), BUDGET))
    _end(found, arms, OF_ROWS)
    return right


def takes_another(found: Trace, arms: Arms, row: list[float]) -> set[Any] | None:
    """How the choices of a merged trace come out for a row, if one of them has not come out so before; else None.

    It is a look at the row. Where that takes too long, there is no other one, and the answer is that it is new.
    """
    arms.looks -= AT_A_POINT
    try:
        (_, taken), took = interpret.counted(lambda: outcomes(found, row), ROW)
    except interpret.TooLong:
        arms.work = 0
        return set()
    arms.work -= took + len(found.tape)
    return taken if not taken <= arms.seen or not arms.seen else None


def _holds(user: Any, arrange: Arrange, found: Trace, arms: Arms, row: list[float]) -> bool:
    if arms.work <= 0:
        return True
    try:
        (got, taken), took = interpret.counted(lambda: outcomes(found, row), ROW)
        arms.work -= took + len(found.tape)
        if got is None or taken <= arms.seen:
            return True
        answer, took = agrees(user, arrange, found, row, ROW, late=True)
        arms.work -= 5 * took  # a plain run takes longer
    except interpret.TooLong:
        arms.work = 0
        return True
    return answer is not False


def _end(found: Trace, arms: Arms, looks: int) -> None:
    arms.looks -= looks
    if arms.looks <= 0 or arms.work <= 0:
        found.arms = None
