"""Rules for filter, bisect, and the functions of itertools that ask about their items or compute with them."""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Callable
from typing import Any

from micrograd.stage import iterate, iterators
from micrograd.stage.calls import call, each
from micrograd.stage.errors import Unsupported
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.operators import binary
from micrograd.stage.ragged import collected
from micrograd.stage.state import undo
from micrograd.stage.summary import Summary

NOTHING: Any = object()


def _call(m: Machine, f: Any, *args: Any) -> Any:
    return m.now(call(m, f, list(args), {}))


def _part(m: Machine, source: Any) -> iterators.Iterator:
    """An iterator over what a function of itertools is given, which nobody else may hold."""
    found = iterate.iterator(m, source)
    if id(found) in m.births:
        raise Unsupported("a function of itertools over an iterator, of which it may leave items")
    return iterators.adopt(m, found)


def _unheld(m: Machine, source: Any, name: str) -> None:
    source = m.now(source)
    if isinstance(source, iterators.Iterator) and id(source) in m.births:
        raise Unsupported(f"{name} of an iterator that the program holds")


class Running(iterators.Iterator):
    """itertools.accumulate."""

    own = True  # nobody else advances its part

    def __init__(self, part: iterators.Iterator, function: Callable[[Any, Any], Any], total: Any) -> None:
        self.part, self.function, self.total = part, function, total
        self.begun: Any = total is NOTHING  # whether an initial total was given already

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        """Take the next item."""
        self._moves(m)
        begun = m.now(self.begun)
        if type(begun) is Summary:
            raise Unsupported("accumulate() that has begun in some rows")
        if not begun:
            self.begun = True
            return m.here, m.now(self.total)
        rows, item = self.part.advance(m)
        if rows is FALSE:
            return iterators.NOTHING
        if rows is not m.here:
            raise Unsupported("accumulate() of what has different lengths by row")
        self.total = each(m, lambda total: item if total is NOTHING else self.function(total, item), self.total)
        return m.here, self.total


class While(iterators.Iterator):
    """itertools.takewhile."""

    own = True  # nobody else advances its part

    def __init__(self, part: iterators.Iterator, holds: Callable[[Any], Any]) -> None:
        self.part, self.holds = part, holds
        self.ended: Any = FALSE  # the rows that take no more items

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        """Take the next item."""
        self._moves(m)
        here, masks, ended = m.here, m.masks, m.now(self.ended)
        if type(ended) is Summary:
            parts, ended = [masks.both_of(mask, y) for mask, y in ended.alternatives], FALSE
            for mask in parts:
                ended = masks.either(ended, mask)
        m.here = masks.without(here, ended)
        if m.here is FALSE:
            m.here = here
            return iterators.NOTHING
        around = m.bystanders
        rows, item = self.part.advance(m)
        if rows is not FALSE:
            m.here, m.bystanders = rows, masks.either(around, masks.without(here, rows))
            going = m.truth(self.holds(item))
            self.ended = masks.either(ended, masks.without(rows, going))
            rows = going
        m.here, m.bystanders = here, around
        return (rows, item) if rows is not FALSE else iterators.NOTHING


def _accumulate(m: Machine, source: Any, func: Any = None, *, initial: Any = None) -> Any:
    def add(a: Any, b: Any) -> Any:
        return binary(m, operator.add, a, b)

    function = add if func is None else lambda a, b: _call(m, func, a, b)
    return m.made(Running(_part(m, source), function, NOTHING if initial is None else initial))


def _takewhile(m: Machine, predicate: Any, source: Any) -> Any:
    return m.made(While(_part(m, source), lambda item: _call(m, predicate, item)))


def _asked(m: Machine, function: Any, items: list[Any]) -> list[Mask]:
    """The rows in which each item satisfies a predicate, which must have no effect: it is asked before the items are used."""
    m.enter()
    found = [m.truth(x if function is None else _call(m, function, x)) for x in items]
    changed = m.journals.pop()
    if changed:
        undo(changed)
        raise Unsupported("a predicate changes something")
    return found


def _kept(m: Machine, items: list[Any], rows: list[Mask]) -> Any:
    """An iterator over the items that each row keeps."""
    found = [(mask, item) for mask, item in zip(rows, items) if mask is not FALSE]
    if any(mask is not m.here for mask, _ in found):
        m.merged()
    return m.made(iterators.Sequence(collected(m, found, m.here)))


def _filter(keeps: bool) -> Callable[..., Any]:
    def rule(m: Machine, function: Any, source: Any) -> Any:
        _unheld(m, source, "filter()")
        items = iterate.items(m, source)
        found = _asked(m, m.now(function), items)
        return _kept(m, items, found if keeps else [m.masks.without(m.here, mask) for mask in found])

    return rule


def _dropwhile(m: Machine, predicate: Any, source: Any) -> Any:
    _unheld(m, source, "dropwhile()")
    items = iterate.items(m, source)
    here, dropping, rows = m.here, m.here, []
    around = m.bystanders
    for item in items:
        if dropping is not FALSE:
            m.here, m.bystanders = dropping, m.masks.either(around, m.masks.without(here, dropping))
            dropping = _asked(m, predicate, [item])[0]
        rows.append(m.masks.without(here, dropping))
    m.here, m.bystanders = here, around
    return _kept(m, items, rows)


def _starmap(m: Machine, f: Any, source: Any) -> Any:
    return m.made(iterators.Together([_part(m, source)], lambda found: _call(m, f, *iterate.items(m, found[0]))))


def _repeat(m: Machine, x: Any, times: Any = 1 << 60) -> Any:
    if type(times) is not int or times > 1_000_000:
        raise Unsupported("itertools.repeat() without an end, or as often as a number of the row says")
    return m.made(iterators.Sequence([x] * times))


def _bisect(a: Any, lo: int, hi: Any, key: Any, is_before: Any) -> Any:
    """What the bisect module does, comparison by comparison, as a function that can be interpreted."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if is_before(a[mid] if key is None else key(a[mid])):
            lo = mid + 1
        else:
            hi = mid
    return lo


def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> Any:
    """The place behind all items that are at most x."""
    return _bisect(a, lo, hi, key, lambda item: not x < item)


def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> Any:
    """The place behind all items that are less than x."""
    return _bisect(a, lo, hi, key, lambda item: item < x)


def _interpreted(f: Any) -> Callable[..., Any]:
    def rule(m: Machine, *args: Any, **named: Any) -> Any:
        return call(m, f, list(args), named)

    return rule


RULES: dict[Any, Callable[..., Any]] = {
    itertools.accumulate: _accumulate, itertools.takewhile: _takewhile, itertools.dropwhile: _dropwhile,
    itertools.starmap: _starmap, itertools.repeat: _repeat, itertools.filterfalse: _filter(False), filter: _filter(True),
    bisect.bisect_right: _interpreted(bisect_right), bisect.bisect_left: _interpreted(bisect_left),
}  # fmt: skip

__all__ = ["RULES", "bisect_left", "bisect_right"]
