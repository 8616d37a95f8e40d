"""Iterators with a state that can be copied, and comprehensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from micrograd.engine import Value
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.packed import LONG, Packed, Span
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
VERY_LONG = 100  # items from which on a list that is made outside of all loops is an array
EXHAUSTED = 1 << 62  # the position of an iterator that has ended: it stays ended, even if the list grows
NOTHING: tuple[Mask, Any] = (FALSE, None)


class Iterator:
    """What `iter` gives. `advance` gives the rows that have a next item, and that item."""

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        """Take the next item."""
        raise NotImplementedError

    def _moves(self, m: Machine) -> None:
        if id(self) in m.births:  # the program holds it, so an arm may advance it alone
            m.touch(self)


class Sequence(Iterator):
    """Over a list, tuple, range or text, by position: a list may grow meanwhile."""

    def __init__(self, source: Any, reverse: bool = False) -> None:
        self.source, self.reverse = source, reverse
        self.position: Any = 0
        self.size = len(source) if reverse else None

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        self._moves(m)
        at, source = m.now(self.position), settle(m, self.source)
        if type(source) is Summary:
            return self._of_several(m, source, at)
        if type(at) is not Summary:
            if at >= len(source) or (self.size is not None and at >= self.size):
                self.position = EXHAUSTED
                return NOTHING
            self.position = at + 1
            return m.here, m.now(source[self.size - 1 - at if self.size is not None else at])
        here = m.here
        rows = FALSE
        for mask, k in at.alternatives:
            if k < len(source):
                rows = m.masks.either(rows, m.masks.both_of(mask, here))
        if rows is FALSE:
            return NOTHING
        m.here = rows
        item = m.lift(lambda k: source[self.size - 1 - k if self.size is not None else k], at)
        m.here = here
        self.position = m.lift(lambda k: k + 1 if k < len(source) else EXHAUSTED, at)
        return m.masks.both_of(rows, m.here), item

    def _of_several(self, m: Machine, sources: Any, at: Any) -> tuple[Mask, Any]:
        """The next item of lists whose lengths differ by row."""
        if self.size is not None:
            raise Unsupported("reversed() of a list whose length differs by row")
        rows, here = m.truth(m.lift(lambda s, k: k < len(s), sources, at)), m.here
        if rows is FALSE:
            return NOTHING
        m.here = rows
        item = m.lift(lambda s, k: s[k], sources, at)
        m.here = here
        self.position = m.lift(lambda s, k: k + 1 if k < len(s) else EXHAUSTED, sources, at)
        return rows, item


class Keys(Sequence):
    """Over the keys of a dict."""

    def __init__(self, source: dict[Any, Any], items: list[Any]) -> None:
        super().__init__(items)
        self.held, self.count = source, len(source)

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        if ragged(self.held) is not None:
            raise Unsupported("a dict is changed while it is iterated over")
        if len(self.held) != self.count:
            raise RuntimeError("dictionary changed size during iteration")
        return super().advance(m)


class Together(Iterator):
    """zip and map."""

    def __init__(self, parts: list[Iterator], function: Callable[..., Any] | None = None, own: bool = False) -> None:
        self.parts, self.function, self.own = parts, function, own  # own: nobody else advances the parts

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        self._moves(m)
        found = []
        here = m.here
        for part in self.parts:
            rows, item = part.advance(m)
            if rows is FALSE:
                m.here = here
                return NOTHING
            if rows is not m.here and (self.function is not None or not self.own):
                raise Unsupported("zip of iterators that end at different places by row, or map over them")
            m.here = rows
            found.append(item)
        rows, m.here = m.here, here
        if not self.parts:
            return NOTHING
        if self.function is None:
            return rows, tuple(found)
        result = self.function(found)
        return m.here, result


class Counted(Iterator):
    """enumerate."""

    def __init__(self, part: Iterator, start: int, own: bool = False) -> None:
        self.part, self.number, self.own = part, start, own

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        self._moves(m)
        rows, item = self.part.advance(m)
        if rows is FALSE:
            return NOTHING
        number = m.now(self.number)
        if type(number) is Summary:
            raise Unsupported("enumerate() with a number that differs by row")
        self.number = number + 1
        return rows, (number, item)


class Comprehension:
    """A comprehension or generator expression; its first iterable was evaluated where it stands."""

    def __init__(self, m: Machine, frame: Frame, first: Any, loops: list[Any], element: Any) -> None:
        self.first, self.loops, self.element = first, loops, element
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
            return [rolled]
        here = m.here
        found = [(m.here, item) for item in self.walk(m)]
        return collected(m, found, here)

    def rolled(self, m: Machine) -> Packed | None:
        """The list as an array that a loop in the tape makes; None where it is not long, or cannot be one."""
        from micrograd.stage.collect import Collect
        from micrograd.stage.items import Items

        inside = m.rolling is not None
        if (inside and not m.rolling.pack) or len(self.loops) > 1 or self.loops[0][2] or self.used:
            return None
        source = self.first = iterator(m, self.first)
        lost, line = len(m.lost), m.line
        try:
            items = Items(source, m)
            if items.limit is None and items.turns < (LONG if inside else VERY_LONG):
                return None
            found = Collect(m, self.frame, items).collect(self.loops[0][0], self.element)
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


def release(m: Machine, x: Any) -> None:
    """Say that nobody but the code that runs holds an iterator, so that it may be advanced for some of the rows."""
    if isinstance(x, Sequence) or getattr(x, "own", False):
        m.births.pop(id(x), None)
        for part in _parts(x):
            release(m, part)


def adopt(m: Machine, x: Iterator) -> Iterator:
    """Say that somebody holds an iterator, so that each arm which advances it, and what it advances, is undone."""
    if id(x) not in m.births:
        m.made(x)
        for part in _parts(x):
            adopt(m, part)
    return x


def _parts(x: Any) -> list[Any]:
    return [*getattr(x, "parts", ()), *([x.part] if hasattr(x, "part") else [])]


def iterator(m: Machine, x: Any) -> Iterator:
    """An iterator over x that nobody else holds."""
    x = m.now(x)
    if isinstance(x, Iterator):
        return x
    if isinstance(x, Comprehension):
        return Sequence(x.collect(m))
    if type(x) is Summary or (ragged(x) is not None and type(x) is not list):
        return Sequence(_lists(m, settle(m, x)))
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


__all__ = ["Comprehension", "Counted", "Iterator", "Lost", "Sequence", "Together", "items", "iterator"]
