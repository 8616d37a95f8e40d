"""Iteration over whatever a program iterates over, and comprehensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from micrograd.engine import Value
from micrograd.stage import fill, special
from micrograd.stage.collect import Collect
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.items import Items, made_of
from micrograd.stage.iterators import Iterator, Keys, Sequence
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.packed import LONG, Span
from micrograd.stage.ragged import collected, contents, plain_list, ragged, settle
from micrograd.stage.state import Frame
from micrograd.stage.summary import Summary
from micrograd.tree import is_array

FINITE: tuple[type, ...] = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    str,
    range,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
FEW_ROWS = 12  # of a table, which is not made by a loop then
VERY_LONG = 100  # items from which on a list that is made outside of all loops is an array, and a sum of them a loop


class Comprehension:
    """A comprehension or generator expression; its first iterable was evaluated where it stands."""

    def __init__(self, m: Machine, frame: Frame, first: Any, loops: list[Any], element: Any, folds: Any = None) -> None:
        """`folds` are the functions that sum() and the like of this generator expression are (see folds.py)."""
        self.first, self.loops, self.element, self.folds, self.outer = first, loops, element, folds, frame
        self.frame = Frame(None, frame, frame.lookup, FALSE, m.level)
        self.used = False
        self.stopped = FALSE  # rows for which the consumer needs no more items

    def walk(self, m: Machine, k: int = 0) -> Iterable[Any]:
        """The items one by one; while one is looked at, m.here are the rows that have it."""
        if k == len(self.loops):
            yield self.element(m, self.frame)
            return
        if k == 0:
            if self.used:
                raise Unsupported("a generator expression is used twice")
            self.used = True
        store, source, tests = self.loops[k]
        items = iterator(m, self.first if source is None else source(m, self.frame))
        before = m.here, m.bystanders
        while True:
            rows, item = items.advance(m)
            if rows is FALSE:
                m.here, m.bystanders = before
                return
            if rows is not m.here:  # of lists whose lengths differ by row, some have ended
                m.bystanders = m.masks.either(m.bystanders, m.masks.without(m.here, rows))
                m.here = rows
            here, around = m.here, m.bystanders
            store(m, self.frame, item)
            for test in tests:
                mask = m.truth(test(m, self.frame))
                m.bystanders = m.masks.either(m.bystanders, m.masks.without(m.here, mask))
                m.here = mask
                if mask is FALSE:
                    break
            if m.here is not FALSE:
                yield from self.walk(m, k + 1)
            m.here, m.bystanders = here, around
            if self.stopped is not FALSE:
                m.here = m.masks.without(m.here, self.stopped)
                m.bystanders = m.masks.either(m.bystanders, self.stopped)
                if m.here is FALSE:
                    m.here, m.bystanders = before
                    return

    def collect(self, m: Machine) -> Any:
        """What a list of all items holds; rows may have different ones."""
        rolled = self.rolled(m)
        if rolled is not None:
            return rolled
        here = m.here
        found = [(m.here, item) for item in self.walk(m)]
        return collected(m, found, here)

    def rolled(self, m: Machine) -> list[Any] | None:
        """What the list holds, if a loop in the tape makes it: an array, or the rows of a table; None where it is not long."""
        inside = m.rolling is not None
        if (inside and not m.rolling.pack) or len(self.loops) > 1 or self.loops[0][2] or self.used:
            return None
        source = self.first = iterator(m, self.first)
        lost, line = len(m.lost), m.line
        try:
            items = Items(source, m)
            opened = None if inside else getattr(self.element, "opened", None)
            if items.limit is None and items.iterations < (LONG if inside else FEW_ROWS if opened else VERY_LONG):
                return None
            if opened is not None:
                found = fill.table(m, self.frame, items, self.loops[0][0], opened, _first_items)
            else:
                found = [Collect(m, self.frame, items).collect(self.loops[0][0], self.element)]
        except (Unsupported, Lost, Exception):
            del m.lost[lost:], m.lost_at[lost:]
            m.line = line
            return None
        self.used = True
        return found

    def items(self, m: Machine) -> list[Any]:
        """All items, as a list."""
        found: list[Any] = self.collect(m)
        if ragged(found) is not None:
            raise Unsupported("a comprehension whose length differs by row")
        return list(plain_list(m, found))


def _first_items(m: Machine, x: Comprehension) -> Items:
    return Items(iterator(m, x.first), m)


def iterator(m: Machine, x: Any) -> Iterator:
    """An iterator over x that nobody else holds."""
    x = m.now(x)
    if isinstance(x, Iterator):
        return x
    if isinstance(x, Comprehension):
        behind = made_of(m.now(x.first), ahead=False)
        found = Sequence(x.collect(m))
        found.made_of = behind
        return found
    if type(x) is Summary or (ragged(x) is not None and type(x) is not list):
        return Sequence(_lists(m, settle(m, x)))
    others = ("__next__", "__len__", "__length_hint__")  # list() asks for the length, too
    if special.written(type(x), "__iter__") and not any(special.written(type(x), name) for name in others):
        found = special.iterated(m, x)
        if isinstance(found, Iterator):
            return found
    if any(special.written(type(x), name) for name in ("__iter__", "__getitem__", "__len__", "__next__")):
        raise Unsupported(f"an iteration over {type(x).__name__}")
    if isinstance(x, (list, tuple, range, str, bytes, Span)):
        return Sequence(x)
    if isinstance(x, dict):
        return Keys(x, list(x))
    if isinstance(x, (type({}.keys()), type({}.values()), type({}.items()), set, frozenset)):
        return Sequence(list(x))
    if is_array(x):
        return Sequence(list(x))
    if isinstance(x, Value):
        raise TypeError("'Value' object is not iterable")
    raise Unsupported(f"an iteration over {type(x).__name__}")


def _lists(m: Machine, x: Any) -> list[Any]:
    """What a list of the items of several containers holds, of which each row has one."""
    if type(x) is not Summary:
        return list(x)
    if not all(isinstance(y, FINITE) for _, y in x.alternatives):
        raise Unsupported("an iteration over what differs by row")
    masks = m.masks
    held: list[Any] = contents(m, [(masks.both_of(mask, m.here), list(y)) for mask, y in x.alternatives])
    return held


def items(m: Machine, x: Any) -> list[Any]:
    """All items of x."""
    x = settle(m, m.now(x))
    if isinstance(x, Comprehension):
        return x.items(m)
    if type(x) is Summary:
        found = _lists(m, x)
        if ragged(found) is not None:
            raise Unsupported("an iteration over lists whose lengths differ by row")
        return found
    source = iterator(m, x)
    found = []
    while True:
        rows, item = source.advance(m)
        if rows is FALSE:
            return found
        if rows is not m.here:
            raise Unsupported("an iteration over what has different lengths by row")
        found.append(item)


__all__ = ["Comprehension", "items", "iterator"]
