"""Tables: lists of lists of one length whose items a rolled loop assigns, `grid[i][j] = x`.

The numbers of such a table are kept in one list, row behind row, which the program does not see; a rolled loop carries it like
any other list that it changes. Each list of the table stays the object that it is, and holds a Window: who reads or assigns one
of its items reads or assigns one of the common list. So whoever refers to a row, under whatever name, sees every change.
`grid[i]`, where i changes from one iteration to the next, is a Window, too.

A row that does something else than that (it becomes longer, or is sorted) dissolves the table: each row has its own numbers
from then on.
"""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

from micrograd.stage import bounds
from micrograd.stage.errors import Outside, Unsupported
from micrograd.stage.packed import (
    LONG,
    Packed,
    Window,
    binary_int,
    chain_of,
    pack,
    packed,
    trace_of,
    unpacked,
    window,
)
from micrograd.stage.ragged import join_contents
from micrograd.stage.summary import Summary, is_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from micrograd.stage.join import Entry
    from micrograd.stage.machine import Machine
    from micrograd.stage.state import State


class Tables:
    """What is known of the tables of a program."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[list[Any], list[Any]]] = {}  # by the id of the common list: that list, and the rows
        self.copied: dict[
            int, set[int]
        ] = {}  # by the trace of a loop's body: lists for which a copy of their items stands
        self.views: dict[int, tuple[Any, Any]] = {}  # lists that stand for a row, and the list that the row is in

    def view(self, m: Machine, row: Any, x: Any) -> Any:
        """Remember that a list stands for one of the lists in x."""
        if type(row) is not list:
            return row
        if m.rolling is not None:
            self.copied.setdefault(m.rolling.serial, set()).update(map(id, x))
        self.views[id(row)] = row, x
        return row

    def check(self, m: Machine, x: Any) -> None:
        """Refuse to change a list of which the body of a loop has read a copy: by an index, as one of several lists."""
        roll = m.rolling
        while roll is not None:
            if id(x) in self.copied.get(roll.serial, ()):
                raise Unsupported("a list is changed that is also read as a row of a list of lists, by an index")
            roll = roll.outer

    def refuse(self, m: Machine, row: Any) -> None:
        """Where a list that is about to be changed stands for a row of a table, ask the loop to make a table of it."""
        x = self.views.get(id(row), (None, None))[1]
        if type(x) is list and m.rolling is not None and id(x) in m.births:
            raise Outside("a row of a list of lists is changed", x)

    def join(self, m: Machine, x: Any, entries: list[Entry]) -> Any:
        """What an object holds behind a choice; the numbers of a table stay one array."""
        found = join_contents(m, x, entries)
        if id(x) in self.rows and packed(found) is None and all(packed(held) is not None for _, _, held in entries):
            found = [pack(m, found)]
        return found

    def dissolve(self, m: Machine, flat: list[Any]) -> None:
        """Let each row of a table have its own numbers."""
        _, rows = self.rows[id(flat)]
        found = [(row, [packed(row)]) for row in rows if window(row) is not None]
        for row, held in found:
            m.touch(row, unpack=False)
            row[:] = held
        m.touch(flat, unpack=False)
        flat.clear()


def is_table(x: Any) -> bool:
    """Whether x is a list of lists of numbers, all of one length, which is not a short one."""
    return (
        len(x) * (len(x[0]) if x and type(x[0]) in (list, tuple) else 0) >= LONG
        and all(type(row) in (list, tuple) and len(row) == len(x[0]) and packed(row) is None for row in x)
        and all(isinstance(item, Summary) or is_number(item) for row in x for item in row)
    )


def pack_table(m: Machine, x: Any, rows: Any) -> Packed:
    """The numbers of a list of lists in one array, one row behind the other."""
    found = known_table(m, x, rows)
    if found is not None:
        return found
    items = [item for row in rows for item in row]
    found = pack(m, items)  # under the id of a list that stays
    plain_items = not any(isinstance(item, Summary) for item in items)
    m.stacks[id(x)] = x, items, found, trace_of(m, items) if plain_items else None
    return found


def known_table(m: Machine, x: Any, rows: Any) -> Packed | None:
    """The array of a list of lists that was packed before and has not changed since."""
    known = m.stacks.get(id(x))
    if known is None or len(known) < 4 or known[3] not in chain_of(m):
        return None
    if not all(type(row) in (list, tuple) for row in rows) or sum(map(len, rows)) != len(known[1]):
        return None
    same = all(map(operator.is_, known[1], itertools.chain.from_iterable(rows)))
    return known[2] if same else None


def part(m: Machine, p: Packed, index: Any, width: int) -> Packed:
    """Row number `index` of a table."""
    rows = p.length // width if type(p.length) is int else 0
    index = bounds.inside(m, index, rows)
    if index is None:
        raise Unsupported("an index that may be outside of an array in some iterations")
    return Packed(p.array, width, p.room, p.of, binary_int(m, "mul", index, width))


def common(x: Any) -> list[Any] | None:
    """The common list of a list of lists that is a table, row for row; else None."""
    if type(x) not in (list, tuple) or not x:
        return None
    windows = [window(row) for row in x]
    first = windows[0]
    if first is None or any(w is None for w in windows):
        return None
    at: Any = first.start
    for w in windows:
        assert w is not None
        if w.flat is not first.flat or w.length != first.length or type(w.start) is not int or w.start != at:
            return None
        at += w.length
    return first.flat if type(first.length) is int else None


def row(m: Machine, x: Any, index: Any) -> Any:
    """One list of a list of lists, by an index that changes from one iteration to the next."""
    index = bounds.inside(m, index, len(x))
    if index is None:
        raise Unsupported("an index that may be outside of a list in some iterations")
    flat = common(x)
    if flat is None:
        return m.tables.view(m, [part(m, pack_table(m, x, x), index, len(x[0]))], x)
    first = window(x[0])
    assert first is not None
    start = binary_int(m, "add", binary_int(m, "mul", index, first.length), first.start)
    return [Window(flat, start, first.length)]


def begin(m: Machine, x: list[Any], undo: list[tuple[Any, Any]]) -> list[Any]:
    """Make a table of a list of lists; the list of all its numbers. What must be put back if it is in vain goes to `undo`."""
    born = [m.births.get(id(row)) for row in x]
    if len({id(row) for row in x}) < len(x):
        raise Unsupported("a list of lists has one list twice")
    if any(b is None or b[1:] != (born[0] or b)[1:] for b in born) or m.births[id(x[0])][2] != m.level:
        raise Unsupported("a row of a list of lists was made elsewhere than the others")
    if any(window(row) is not None for row in x):
        raise Unsupported("the lists in a list of lists belong to another one, too")
    found = [packed(row) for row in x]
    contents = [list(row) if p is None else unpacked(m, p) for row, p in zip(x, found)]
    items = [item for row in contents for item in row]
    if not all(isinstance(item, Summary) or is_number(item) for item in items):
        raise Unsupported("a list in a list of lists has other things in it than numbers")
    if any(len(row) != len(contents[0]) or not row for row in contents):
        raise Unsupported("the lists in a list of lists have different lengths")
    for row in x:
        if any(row is y for y in m.lent):
            raise Unsupported("a list is changed while a loop runs over an iterator that was made of it")
    width = len(contents[0])
    flat: list[Any] = list(items)
    flat[:] = [pack(m, flat)]
    m.births[id(flat)] = flat, m.births[id(x[0])][1], m.level
    m.tables.rows[id(flat)] = flat, list(x)
    for k, row in enumerate(x):
        undo.append((row, list(row)))
        m.touch(row, unpack=False)
        row[:] = [Window(flat, k * width, width)]
    return flat


def apart(states: Sequence[State], entries: list[Entry]) -> list[Entry]:
    """What a list holds in each arm of a choice: a row of a table in one arm alone has the numbers of that arm by itself."""
    windows = [window(held) for _, _, held in entries]
    if all(w is windows[0] for w in windows):
        return entries
    found: list[Entry] = []
    for state, (mask, by, held), w in zip(states, entries, windows):
        if w is not None:
            change = state.changes.get((id(w.flat), None))
            held = [w.items(change[2] if change is not None else None)]
        found.append((mask, by, held))
    return found


def restore(undo: list[tuple[Any, Any]]) -> None:
    """Let the rows of tables that were made in vain hold what they held."""
    for row, held in undo:
        row[:] = held


__all__ = ["Tables", "apart", "begin", "common", "is_table", "known_table", "pack_table", "part", "restore", "row"]
