"""Scratch memory of packed code that is used again: a value's place is free after the last level that reads it.

Every result of packed code has a place of its own in the plan, so that results of one kind lie side by side. A transformer's
step would write 300 kB in each call, ten times what the nearest cache holds. So the places move, a line of one vector at a
time, to lines that are free by then. Lines stay neighbours where a vector is read from the end of one and the start of the
next.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from micrograd.compile.llvm.emit import Access, Address
from micrograd.compile.llvm.rolled import Piece


def lines_of(
    pieces: Iterable[tuple[float, Piece]], always: Iterable[int], width: int
) -> tuple[dict[int, int], int] | None:
    """Return the new number of each line of scratch, and how many there are; None where an access is of an unknown kind.

    `pieces` come with the time at which they run: what runs at one time may run in any order, and what runs at -1, before all
    others, is kept for good. `always` holds the places that are read in the end.
    """
    begin: dict[int, float] = {}
    end: dict[int, float] = {at // width: inf for at in always}
    joined: set[int] = set()  # lines that stay directly before the next one
    for time, piece in pieces:
        places: dict[str, int] = {}
        for text in piece.lines:
            if isinstance(text, Address):
                if text.base == "%scratch":
                    places[text.name] = text.bytes // 8
            elif isinstance(text, Access) and text.pointer in places:
                at = places.pop(text.pointer)
                first, last = at // width, (at + text.doubles - 1) // width
                joined.update(range(first, last))
                for line in range(first, last + 1):
                    if text.stores:
                        begin[line] = min(begin.get(line, inf), time)
                    end[line] = max(end.get(line, -1.0), inf if time < 0 else time)
        if places:
            return None
    blocks: list[list[int]] = []
    for line in sorted(end):
        if blocks and blocks[-1][-1] == line - 1 and line - 1 in joined:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return _placed([(min(begin.get(x, -1.0) for x in b), max(end[x] for x in b), b) for b in blocks])


def _placed(blocks: list[tuple[float, float, list[int]]]) -> tuple[dict[int, int], int]:
    """Give each block, which lives from a time to a time, the first free lines in a row."""
    moved: dict[int, int] = {}
    until: list[float] = []  # for each new line, the time after which it is free
    free: dict[int, int] = {}  # length of a block -> no free room for such a one before this line, at this time
    now = -inf
    for start, stop, lines in sorted(blocks, key=lambda block: block[0]):
        if start != now:
            now, free = start, {}
        at = free.get(len(lines), 0)
        count = 0
        while count < len(lines):
            if at + count == len(until):
                until += [-inf] * (len(lines) - count)
                break
            if until[at + count] < start:
                count += 1
            else:
                at, count = at + count + 1, 0
        until[at : at + len(lines)] = [stop] * len(lines)
        free[len(lines)] = at + len(lines)
        moved.update({line: at + k for k, line in enumerate(lines)})
    return moved, len(until)
