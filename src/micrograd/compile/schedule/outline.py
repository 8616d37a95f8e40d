"""Outline: chunks of a tape with the same instructions over different operands share one function.

A loop that a trace has unrolled becomes many chunks that differ only in where their operands lie. Such chunks are written and
compiled once; each call passes a row of a table that says where its operands lie. A simulation of 1,000 steps is then the code
of a few dozen: it compiles in a twentieth of the time, and it stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from micrograd.compile.schedule.split import Step
from micrograd.compile.tuning import TUNING
from micrograd.tape.decisions import decisions
from micrograd.tape.tape import SOURCES, Tape


class Outlined:
    """The form of one chunk, or of several equal ones: written with the operands of the first."""

    def __init__(self, first: int) -> None:
        self.first = first
        # Operands of the first chunk that differ in other chunks -> column of the table; and its rows, one for each chunk.
        self.columns: dict[int, int] = {}
        self.rows: list[list[int]] = []


def form(
    tape: Tape, reduced: Sequence[bool], chunk: list[Step], live_out: set[int], decided: Set[int] = frozenset()
) -> tuple[Any, list[int]]:
    """What a chunk does, and its operands: what it reads, then its live-outs and its results (~number).

    Two chunks of equal form compute the same function of their operands. A chunk with guards equals no other. `decided` are
    the places that decide something (see tape/decisions.py): they are rounded in another way.
    """
    made: dict[int, int] = {}
    given: dict[int, int] = {}
    left: list[int] = []
    what: list[Any] = []

    def read(a: int) -> None:
        if a in made:
            what.append(made[a])
            return
        if a not in given:
            given[a] = ~len(given)
            what.append(tape.ops[a] if tape.ops[a] in SOURCES else "scratch")
        what.append(given[a])

    for step in chunk:
        if step[0] == "guard":
            return object(), []
        if step[0] == "out":
            _, k, place = step
            what.append("sum" if reduced and reduced[k] else "out")
            read(place)
            left.append(~k)
            continue
        place = step[1]
        what.append((tape.ops[place], place in decided))
        for a in tape.args[place]:
            read(a)
        made[place] = len(made)
        if step[0] == "compute" and place in live_out:
            what.append("live out")
            left.append(place)
    return tuple(what), [*given, *left]


def functions(
    tape: Tape, reduced: Sequence[bool], chunks: list[list[Step]], live_out: set[int], guarded_in: int | None
) -> list[Outlined]:
    """The function of each chunk: the same for chunks of one form, where there are few forms."""
    known: dict[Any, Outlined] = {}
    operands: dict[Outlined, list[list[int]]] = {}
    calls = []
    decided = decisions(tape).places
    for number, chunk in enumerate(chunks):
        what, places = form(tape, reduced, chunk, live_out, decided)
        key = what, guarded_in is not None and number > guarded_in
        function = known.setdefault(key, Outlined(number))
        if len(known) * TUNING.outline_calls > len(chunks):
            return [Outlined(n) for n in range(len(chunks))]
        calls.append(function)
        operands.setdefault(function, []).append(places)
    for function, rows in operands.items():
        differing = [column for column in zip(*rows) if len(set(column)) > 1]
        function.columns = {column[0]: k for k, column in enumerate(differing)}
        function.rows = [list(row) for row in zip(*differing)]
    return calls
