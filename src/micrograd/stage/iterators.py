"""Iterators with a state that can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.ragged import ragged, settle
from micrograd.stage.summary import Summary

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
        self.made_of: list[Any] = []  # lists of whose items its own were made, which Python would make one by one

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
