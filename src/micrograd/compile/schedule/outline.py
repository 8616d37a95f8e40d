"""Pieces of a tape that do the same with other operands share one function.

A loop that a trace has unrolled becomes many pieces that differ in where their operands lie, and in nothing else. Such pieces
are written and compiled once; a call gets a row of a table that says where. A simulation of 1,000 steps is then the code of a
few dozen, compiled in a twentieth of the time, and it stays in the nearest cache.
"""

from __future__ import annotations

from typing import Any

from micrograd.compile.llvm.emit import Text, hexadecimal
from micrograd.compile.schedule.split import Step
from micrograd.tape.tape import CONST, SOURCES

WORTH = 2  # pieces a function: with fewer of them on average, each piece has a function of its own


class Function:
    """What one piece does, or several: written as the first of them does it."""

    def __init__(self, first: int) -> None:
        self.first = first
        # Operands of the first piece that others have elsewhere -> column of the table; and its rows, one for each piece.
        self.entries: dict[int, int] = {}
        self.rows: list[list[int]] = []

    def table(self, t: Text) -> str:
        """The text of the table: for each piece, where its operands lie."""
        cells = ", ".join([f"i32 {t.where(operand)}" for row in self.rows for operand in row])
        return f"@table{self.first} = internal constant [{len(self.rows) * len(self.entries)} x i32] [{cells}]"


def form(t: Text, piece: list[Step], crossing: set[int]) -> tuple[Any, list[int]]:
    """What a piece does, and its operands: what comes from elsewhere, then what it leaves for others and its results (~number).

    Two pieces of equal form compute the same function of their operands. A piece with guards is like no other.
    """
    tape = t.tape
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

    for step in piece:
        if step[0] == "guard":
            return object(), []
        if step[0] == "out":
            _, k, place = step
            what.append("sum" if not t.point and t.reduced[k] else "out")
            read(place)
            left.append(~k)
            continue
        place = step[1]
        what.append(tape.ops[place])
        for a in tape.args[place]:
            read(a)
        made[place] = len(made)
        if step[0] == "do" and place in crossing:
            what.append("kept")
            left.append(place)
    return tuple(what), [*given, *left]


def functions(t: Text, pieces: list[list[Step]], crossing: set[int], guarded_in: int | None) -> list[Function]:
    """The function of each piece: the same for pieces of one form, where there are few forms."""
    known: dict[Any, Function] = {}
    operands: dict[Function, list[list[int]]] = {}
    calls = []
    for number, piece in enumerate(pieces):
        what, places = form(t, piece, crossing)
        key = what, guarded_in is not None and number > guarded_in
        function = known.setdefault(key, Function(number))
        if len(known) * WORTH > len(pieces):
            return [Function(n) for n in range(len(pieces))]
        calls.append(function)
        operands.setdefault(function, []).append(places)
    for function, rows in operands.items():
        differing = [column for column in zip(*rows) if len(set(column)) > 1]
        function.entries = {column[0]: k for k, column in enumerate(differing)}
        function.rows = [list(row) for row in zip(*differing)]
    return calls


def tables(t: Text, calls: list[Function]) -> list[str]:
    """The text of all tables: of the operands of each function, of constants that differ, of the calls in their order."""
    found = []
    for function in dict.fromkeys(calls):
        for row in function.rows:
            for a in row:
                if a >= 0 and t.tape.ops[a] is CONST:
                    t.numbers.setdefault(a, len(t.numbers))
        if function.entries:
            found.append(function.table(t))
    if t.numbers:
        cells = ", ".join([f"{t.scalar} {hexadecimal(t.tape.args[a][0], t.o.single)}" for a in t.numbers])
        found.append(f"@numbers = internal constant [{len(t.numbers)} x {t.scalar}] [{cells}]")
    called = []
    rows = dict.fromkeys(calls, 0)
    for function in calls:
        table = "null"
        if function.entries:
            table = f"getelementptr (i8, ptr @table{function.first}, i64 {4 * len(function.entries) * rows[function]})"
            rows[function] += 1
        called.append(f"{{ptr, ptr}} {{ptr @piece{function.first}, ptr {table}}}")
    found.append(f"@pieces = internal constant [{len(calls)} x {{ptr, ptr}}] [{', '.join(called)}]")
    return found
