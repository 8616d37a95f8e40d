"""What a loop runs over, as far as it can be rolled: how many iterations there are, and what each iteration is given."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf
from typing import TYPE_CHECKING, Any

from micrograd.stage import iterators, tables
from micrograd.stage.elements import listed
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import least, less
from micrograd.stage.limits import MANY
from micrograd.stage.machine import Machine
from micrograd.stage.packed import Span, binary_int, load, packed

if TYPE_CHECKING:
    from micrograd.stage.roll import Roll


class Items:
    """What a `for` loop runs over: for each iteration an item, made from its number and from elements of arrays."""

    def __init__(self, source: Any, m: Machine) -> None:
        self.lists: list[Any] = []  # the lists that the loop runs over
        self.make, self.length = self._of(source, m)
        fixed = type(self.length) is int
        most = self.length if fixed else -least(less(0, self.length))
        if most == inf:
            raise Unsupported("a loop whose length is counted by a loop with a condition")
        self.iterations: int = int(most)  # at most
        self.limit = None if fixed else self.length  # where it changes with the iterations of the loops around it

    def _of(self, source: Any, m: Machine) -> tuple[Callable[[Roll], Any], Any]:
        if isinstance(source, iterators.Together) and source.function is None:
            parts = [self._of(p, m) for p in source.parts]
            return lambda roll: tuple([make(roll) for make, _ in parts]), reduce(_shorter, [n for _, n in parts])
        if isinstance(source, iterators.Counted) and type(source.number) is int:
            make, count = self._of(source.part, m)
            first = source.number
            return lambda roll: (roll.index(1, first), make(roll)), count
        if type(source) is not iterators.Sequence or type(source.position) is not int:
            raise Unsupported("a loop over something other than a range, a list, zip() or enumerate()")
        at = source.position
        self.lists.append(source.source)
        if source.size is not None:  # reversed()
            if type(source.source) not in (list, tuple, range) or len(source.source) != source.size:
                raise Unsupported(
                    "a loop over reversed() of a list that has changed, or of something other than a list"
                )
            return self._plain(source.source[::-1][at:])
        if isinstance(source.source, Span):
            s = source.source
            begin = binary_int(m, "add", s.start, at * s.step)
            return lambda roll: binary_int(m, "add", roll.index(s.step, 0), begin), binary_int(m, "sub", s.length, at)
        found = packed(source.source)
        if found is not None:
            return lambda roll: load(m, found, roll.index(1, at)), binary_int(m, "sub", found.length, at)
        rows = source.source
        plain = None if tables.common(rows) is not None else self._plain(rows[at:])

        def row(roll: Roll) -> Any:
            if plain is None or tables.common(rows) is not None:  # it may become a table while the loop is being rolled
                return tables.row(m, rows, roll.index(1, at))
            return m.tables.view(m, plain[0](roll), rows)

        return row, len(rows) - at

    def _plain(self, items: Any) -> tuple[Callable[[Roll], Any], int]:
        """Over a list or a range that is known."""
        if isinstance(items, range):
            return lambda roll: roll.index(items.step, items.start), len(items)
        rest = [listed(x) for x in items]
        return lambda roll: roll.item(rest), len(rest)


def _shorter(a: Any, b: Any) -> Any:
    """The smaller one of two lengths, which is the same one in all iterations."""
    if least(less(b, a)) >= 0:
        return a
    if least(less(a, b)) >= 0:
        return b
    raise Unsupported("a loop over two lists, of which sometimes the one and sometimes the other is shorter")


def left(source: Any) -> int:
    """How many iterations a loop has left, as far as that is known."""
    if isinstance(source, iterators.Together):
        return min([left(p) for p in source.parts], default=0)
    if isinstance(source, iterators.Counted):
        return left(source.part)
    if isinstance(source, iterators.Sequence) and type(source.position) is int:
        found = source.source if isinstance(source.source, Span) else packed(source.source)
        if found is not None:
            return found.length - source.position if type(found.length) is int else MANY
        return len(source.source) - source.position
    return 0


def made_of(source: Any, ahead: bool = True) -> list[Any]:
    """The lists from which an iterator takes its items; with `ahead`, only those whose items were taken ahead of time."""
    if isinstance(source, iterators.Together):
        return [x for part in source.parts for x in made_of(part, ahead)]
    if isinstance(source, iterators.Counted):
        return made_of(source.part, ahead)
    held = [] if ahead else [x for x in (source, getattr(source, "source", None)) if type(x) is list]
    return [*held, *getattr(source, "made_of", [])]


__all__ = ["Items", "left", "made_of"]
