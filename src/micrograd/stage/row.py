"""The form of a variable that holds a list which is an array: how long it is in each iteration of a loop, and of what kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import Affine, affine, least, less
from micrograd.stage.packed import LONG, Packed, binary_int, of_all, pack, packed, resized, sort_of
from micrograd.stage.summary import Summary, held, is_number

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine
    from micrograd.stage.state import Frame


def is_long(x: Any) -> bool:
    """Whether x is a long list of numbers."""
    if type(x) is not list or len(x) < LONG:
        return False
    return all(isinstance(item, Summary) or is_number(item) for item in x) and any(
        sort_of(None, i) != "floats" for i in x
    )


def is_plain_row(x: Any) -> bool:
    """Whether x is a long list of plain floats."""
    return type(x) is list and len(x) >= LONG and all(type(item) is float for item in x)


def packable(m: Machine, frame: Frame, names: list[str]) -> bool:
    """Whether a loop is rolled with long lists as arrays: it is inside of such a loop, or assigns a variable that holds one."""
    if m.rolling is not None and m.rolling.pack:
        return True
    found = [held(m, frame.variables.get(name)) for name in names]
    return any(packed(x) is not None or is_long(x) or is_plain_row(x) for x in found)


class Row:
    """A list that has `first` items at the beginning of the first iteration, and `by` more (or less) in each later one."""

    def __init__(self, roll: Any, fresh: bool, more: int = 0) -> None:
        self.roll, self.fresh, self.more = roll, fresh, more  # `more`: elements that only a part of an iteration needs
        self.first: Any = None  # an int, or what changes with the iterations of the loops around it
        self.by = 0
        self.room, self.of = 0, ""

    def admit(self, x: Any) -> bool:
        """Let the variable hold x at the beginning of the first iteration, or at the end of one; return whether that is new."""
        if type(x) is not list:
            raise Unsupported("a variable holds a long list and something else")
        found = packed(x)
        length = len(x) if found is None else found.length
        of = of_all([sort_of(self.roll.m, item) for item in x]) if found is None else found.of
        new = self._longer(length)
        before, self.of = self.of, of_all([self.of, of])
        new = new or bool(before and self.of != before)
        room = max(self._most(), self.room, 0 if found is None else found.room)
        if room != self.room:
            self.room, new = room, True
            self.roll.hint = max(self.roll.hint, room)
        return new

    def _longer(self, length: Any) -> bool:
        if self.first is None and not self.fresh:
            self.first = length
            return True
        end = affine(length)
        assert end is not None
        by = end[0].get(self.roll, 0)
        if self.first is None:  # the end of an iteration is the beginning of the next one
            begin = less(length, ({self.roll: by} if by else {}, by))
            if begin[0]:
                raise Unsupported("the length of a list that each iteration makes changes in two loops")
            self.first, self.by = begin[1], by
            return True
        if self._at_end() == end:
            return False
        more = less(end, self.first)
        if not by:  # it is so much longer than at the beginning of the iteration
            by = more[1]
            more = {**more[0], self.roll: by}, by
        if self.by or self.roll.items is None or more != ({self.roll: by}, by):
            raise Unsupported("the length of a list does not change by a constant from one iteration to the next")
        self.by = by
        return True

    def _at_end(self) -> Affine:
        first = affine(self.first)
        assert first is not None
        terms = {**first[0], self.roll: self.by} if self.by else first[0]
        return terms, first[1] + self.by

    def _most(self) -> int:
        iterations: int = self.roll.items.iterations if self.by > 0 else 0
        return max(int(-least(less(0, self.first))) + self.by * iterations + self.more, 1)

    def array(self, m: Machine, x: Any) -> Value:
        """The array of a list that the variable holds."""
        found = packed(x)
        if found is not None and (found.room, found.start, found.step) != (self.room, 0, 1):
            found = resized(m, found, self.room)
        if type(x) is Summary:
            raise Unsupported("a variable holds one long list or another")
        if found is None:
            found = pack(m, x, self.room)
        return found.array

    def rebuilt(self, m: Machine, array: Value, inside: bool) -> list[Any]:
        """The list at the beginning of an iteration, or behind the loop."""
        length = self.first
        if self.by:
            iterations = self.roll.index(1, 0) if inside else self.roll.items.length
            length = binary_int(m, "add", length, binary_int(m, "mul", iterations, self.by))
        made: list[Any] = [Packed(array, length, self.room, self.of)]
        return made if inside else m.made(made)  # type: ignore[no-any-return]


__all__ = ["Row", "is_long", "is_plain_row", "packable"]
