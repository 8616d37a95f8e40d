"""Objects that a loop replaces in a branch: their contents are carried in a copy.

    while better:
        trial = [v - rate * s for v, s in zip(x, slope)]
        if f(trial) < f(x):
            x = trial

After an iteration, x is the list of before or the one that the iteration made. In front of the loop, x gets a copy of its list.
After an iteration, the contents of the alternatives become the contents of that copy, so the loop carries numbers. This is
right as long as nobody changes an object of which there is a copy, or the copy, and nobody asks whether one of them is the
other. A program that does so is interpreted without the copy.
"""

from __future__ import annotations

from typing import Any

from micrograd.abstract.columns import Columns
from micrograd.abstract.outcomes import Heap
from micrograd.abstract.shapes import COLUMNS, NAMED, Layout, get_named, lub, pointers, put_named, shape_of
from micrograd.abstract.values import Cell, Const, Num, Ref, Tuple, Union, Value, same
from micrograd.ir.forms import Place

Alternatives = list[tuple[Place, Value]]
Path = tuple[Any, ...]  # where a value is in a cell: its name or number there, and the numbers of items in tuples


class Copies(Columns):
    """Copies of objects, for loops."""

    def may_copy(self, ref: Value, heap: Heap, seen: set[int] | None = None) -> bool:
        """Return whether an object consists of numbers and objects of its own, none of them twice."""
        seen = set() if seen is None else seen
        cell = heap.get(ref.location) if isinstance(ref, Ref) and ref.index is None else None
        if not isinstance(cell, Cell) or ref.location in seen:  # type: ignore[attr-defined]
            return False
        seen.add(ref.location)  # type: ignore[attr-defined]
        if cell.key[0] in COLUMNS:
            if cell.key[0] != "columns" or any(True for _ in pointers(cell.key[1])):
                return False
        elif cell.key[0] not in ("list", "object"):
            return False
        return all(self._may_copy_value(x, heap, seen) for x in cell.values)

    def _may_copy_value(self, value: Value, heap: Heap, seen: set[int]) -> bool:
        if isinstance(value, Ref):
            return self.may_copy(value, heap, seen)
        if isinstance(value, Tuple):
            return all(self._may_copy_value(x, heap, seen) for x in value.items)
        return isinstance(value, Const | Num)

    def copy_at(self, at: int, path: Path, name: str) -> None:
        """Put a copy of an object in place of the object, in one place of the heap."""
        cell = self.heap[at]
        ref = at_path(cell, path)
        assert isinstance(ref, Ref)
        self.heap[at] = with_path(cell, path, self.object_copy(ref, name))

    def object_copy(self, value: Value, name: str) -> Value:
        if isinstance(value, Tuple):
            return Tuple([self.object_copy(x, name) for x in value.items], value.cls)
        if not isinstance(value, Ref):
            return value
        cell = self.cell(value)
        self.has_copy.setdefault(value.location, name)
        made = self.new(Cell(cell.key, [self.object_copy(x, name) for x in cell.values]))
        self.has_copy[made.location] = name
        self.copies.add(made.location)
        return made

    def merged(self, alternatives: Alternatives, heap: Heap, sources: list[int]) -> Value | None:
        """Return an object, new on a heap, with the contents of one of several; None where they have no form in common.

        The locations of those are added to the sources.
        """
        first = alternatives[0][1]
        if all(same(x, first) for _, x in alternatives) and not isinstance(first, Ref):
            return first
        if all(isinstance(x, Ref) for _, x in alternatives):
            cells: list[tuple[Place, Cell]] = []
            for mask, x in alternatives:
                assert isinstance(x, Ref)
                sources.append(x.location)
                cell = heap[x.location]
                assert isinstance(cell, Cell)
                cells.append((mask, cell))
            made = self._merged_cell(cells, heap, sources)
            if made is None:
                return None
            at, self.next_location = self.next_location, self.next_location + 1
            heap[at] = made
            return Ref(at)
        if all(isinstance(x, Tuple) for _, x in alternatives):
            tuples = [x for _, x in alternatives if isinstance(x, Tuple)]
            if all(x.cls is tuples[0].cls and len(x.items) == len(tuples[0].items) for x in tuples):
                items = self._merged_each([(m, x.items) for (m, _), x in zip(alternatives, tuples)], heap, sources)
                return None if items is None else Tuple(items, tuples[0].cls)
        if any(isinstance(x, Ref | Tuple) for _, x in alternatives):
            return None
        found = shape_of(Union(alternatives))
        return self.unpack(found, iter(self.pack(Union(alternatives), found)))

    def _merged_cell(self, cells: list[tuple[Place, Cell]], heap: Heap, sources: list[int]) -> Cell | None:
        first = cells[0][1]
        if all(c.key == first.key and len(c.values) == len(first.values) for _, c in cells):
            values = self._merged_each([(m, c.values) for m, c in cells], heap, sources)
            return None if values is None else Cell(first.key, values)
        if any(isinstance(x, Ref) for _, c in cells for x in c.values):
            return None
        found = None
        for _, c in cells:
            found = shape_of(c) if found is None else lub(found, shape_of(c))
        if not isinstance(found, Layout):
            return None
        made = self.unpack(found, iter(self.pack(Union(list(cells)), found)))
        assert isinstance(made, Cell)
        return made

    def _merged_each(
        self, rows: list[tuple[Place, tuple[Value, ...]]], heap: Heap, sources: list[int]
    ) -> list[Value] | None:
        found = []
        for column in zip(*[values for _, values in rows]):
            one = self.merged([(mask, x) for (mask, _), x in zip(rows, column)], heap, sources)
            if one is None:
                return None
            found.append(one)
        return found


def at_path(value: Value, path: Path) -> Value:
    """Return what is in some place of a cell."""
    for step in path:
        if isinstance(value, Cell):
            value = get_named(value, step) if value.key[0] in NAMED else value.values[step]
        else:
            assert isinstance(value, Tuple)
            value = value.items[step]
    return value


def with_path(value: Value, path: Path, new: Value) -> Value:
    """Return a cell with something else in a place."""
    if not path:
        return new
    inner = with_path(at_path(value, path[:1]), path[1:], new)
    if isinstance(value, Cell):
        if value.key[0] in NAMED:
            return put_named(value, path[0], inner)
        return Cell(value.key, [inner if i == path[0] else x for i, x in enumerate(value.values)])
    assert isinstance(value, Tuple)
    return Tuple([inner if i == path[0] else x for i, x in enumerate(value.items)], value.cls)
