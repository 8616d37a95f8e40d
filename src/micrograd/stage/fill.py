"""Comprehensions in comprehensions, `[[f(i, j) for j in range(n)] for i in range(m)]`, as two loops that fill a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from micrograd.stage import stored
from micrograd.stage.errors import Unsupported
from micrograd.stage.items import Items
from micrograd.stage.packed import FLOATS, Packed, Window, binary_int, of_all, pack, packed, sort_of
from micrograd.stage.roll import Roll
from micrograd.stage.state import Frame

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


class _Width(Unsupported):
    """How many items a row has, which shows when the first one is looked at."""

    def __init__(self, width: int) -> None:
        super().__init__("the length of a row is not known yet")
        self.width = width


class Fill(Roll):
    """One attempt to roll a loop of such a comprehension. Its variables are those of the comprehension alone."""

    private = True

    def __init__(self, m: Machine, frame: Frame, items: Items) -> None:
        super().__init__(m, frame, [], items, set(), True)


def table(m: Machine, frame: Frame, items: Items, store: Any, open_row: Callable[..., Any], of_row: Any) -> list[Any]:
    """The rows of a table. `open_row` evaluates the comprehension of a row up to its first iterable, which `of_row` gives."""
    if items.limit is not None:
        raise Unsupported("a table with a number of rows that changes from one iteration to the next")
    flat: list[Any] = []
    kinds: list[str] = []

    def attempt(width: int) -> None:
        rows = Fill(m, frame, items)

        def row(m: Machine, frame: Frame) -> None:
            inner = open_row(m, frame)
            inside = of_row(m, inner)
            if len(inner.loops) > 1 or inner.loops[0][2] or inside.limit is not None:
                raise Unsupported("a table whose rows are not all of one length")
            if inside.iterations != width:
                raise _Width(inside.iterations)
            start = binary_int(m, "mul", rows.index(1, 0), width)
            cells = Fill(m, inner.frame, inside)

            def cell(m: Machine, frame: Frame) -> None:
                value = inner.element(m, frame)
                kinds.append(sort_of(m, m.now(value)))
                stored.set_item(m, flat, binary_int(m, "add", start, cells.index(1, 0)), value)

            cells.run(None, cell, inner.loops[0][0])

        rows.run(None, row, store)

    try:
        attempt(0)
        raise Unsupported("a table without items")
    except _Width as known:
        width = known.width
    flat[:] = [0.0] * (items.iterations * width)
    flat[:] = [pack(m, list(flat))]
    m.made(flat)
    attempt(width)
    whole = packed(flat)
    assert whole is not None
    of = of_all(kinds)
    if of == FLOATS and m.rolling is None:
        raise Unsupported("a list of plain numbers")
    flat[:] = [Packed(whole.array, whole.length, whole.room, of)]  # nothing is left of the zeros that it began with
    found = [m.made([Window(flat, k * width, width)]) for k in range(items.iterations)]
    m.tables.rows[id(flat)] = flat, found
    return found


__all__ = ["table"]
