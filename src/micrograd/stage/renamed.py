"""Lists that change their names in an arm: `if c: a, b = b, a`, or rows of a matrix that change places.

Behind such a choice `a` is one list in some rows and another list in the others, and in a loop there would be ever more
alternatives. Where nobody else refers to these lists, they are replaced: each place (a variable, or an item of a list that a
variable holds) gets one new list, whose items are chosen by row, and places that shared a list in some rows share the new
one there.

That nobody else refers to them is shown by counting: Python's own count of references to each list must be the number of
those that are known here. These are the places themselves, and what is kept of earlier states to be restored for other rows
(journals, and rows that wait at an exit).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from micrograd.stage.join import join
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.packed import packed
from micrograd.stage.ragged import ragged
from micrograd.stage.state import Exits, Frame
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

Place = tuple[Any, Any]  # a frame and the name of a variable, or a list and an index
counted = getattr(sys, "getrefcount", None)
_one: dict[int, Any] = {0: []}
CALLED = 0 if counted is None else counted(_one[0])  # references while they are counted, beside those of the program


def of_lists(x: Any) -> bool:
    """Whether each row has one of several lists of one length, with the same number of items in all rows."""
    if type(x) is not Summary:
        return False
    lists = [y for _, y in x.alternatives]
    return all(type(y) is list and len(y) == len(lists[0]) and packed(y) is None and ragged(y) is None for y in lists)


def replace(m: Machine, frame: Frame) -> None:
    """Replace lists that have changed their names, where that is right; leave everything as it is elsewhere."""
    m.renamed = False
    if counted is None or m.bystanders is not FALSE or m.here is FALSE or frame.level != m.level:
        return
    places = _places(m, frame)
    lists = {id(y): y for place in places if of_lists(_held(place)) for _, y in _held(place).alternatives}
    for owner, _ in places:
        lists.pop(id(owner), None)  # a list whose items are places is not replaced itself
    while lists:
        known = _known(m, frame, places, lists)
        lost = {key for key in lists if not _is_free(m, lists, key, known[key])}
        for place in places:  # lists that have a place in common are replaced together
            parts = [id(y) for _, y in _held(place).alternatives] if of_lists(_held(place)) else []
            if any(key not in lists or key in lost for key in parts):
                lost |= {key for key in parts if key in lists}
        if not lost:
            break
        for key in lost:
            lists.pop(key, None)
    if lists:
        _rename(m, places, lists)


def _places(m: Machine, frame: Frame) -> list[Place]:
    """The variables, and the items of lists that they hold."""
    found: list[Place] = [(frame, name) for name in frame.variables if not name.startswith(".")]
    seen: set[int] = set()
    for _, name in list(found):
        x = frame.variables[name]
        own = type(x) is list and id(x) in m.births and m.births[id(x)][2] == m.level and id(x) not in seen
        if own and packed(x) is None and ragged(x) is None and any(type(item) in (Summary, list) for item in x):
            seen.add(id(x))
            found += [(x, k) for k in range(len(x))]
    return found


def _held(place: Place) -> Any:
    owner, key = place
    return owner.variables[key] if isinstance(owner, Frame) else owner[key]


def _known(m: Machine, frame: Frame, places: list[Place], lists: dict[int, Any]) -> dict[int, int]:
    """How many references to each list are known. (One is in the machine's own record of the list.)"""
    count = dict.fromkeys(lists, 1)
    seen: set[int] = set()
    for holder in _holders(m, frame, places):
        if id(holder) not in seen:
            seen.add(id(holder))
            for x in holder.values() if type(holder) is dict else holder:
                if id(x) in count:
                    count[id(x)] += 1
    return count


def _is_free(m: Machine, lists: dict[int, Any], key: int, known: int) -> bool:
    """Whether all references to a list are known, and the program may change it here."""
    born = m.births.get(key)
    if born is None or born[2] != m.level or counted is None:
        return False
    if counted(lists[key]) - CALLED > known:  # it must not matter whether garbage has been collected already
        gc.collect(1)
    return bool(counted(lists[key]) - CALLED == known)


def referrers(m: Machine, frame: Frame, lists: dict[int, Any]) -> set[int]:
    """Those lists, by their ids, to which only variables of this call refer, and that the program may change here."""
    known = _known(m, frame, [], lists)
    for entry in m.stacks.values():
        if id(entry[0]) in known:
            known[id(entry[0])] += 1
    return {key for key in lists if _is_free(m, lists, key, known[key])}


def _holders(m: Machine, frame: Frame, places: list[Place]) -> Iterator[Any]:
    """The tuples, lists and dicts that hold what is in places, and what journals remember."""
    yield frame.variables
    for place in places:
        if of_lists(_held(place)):
            yield from _inside(_held(place))
        if type(place[0]) is list:
            yield place[0]
    for journal in m.journals:
        yield from _remembered(journal)
    for exits in {id(e): e for e in [frame.exits, *frame.variables.values()] if isinstance(e, Exits)}.values():
        for state in exits.states:
            yield from _remembered(state.changes)


def _remembered(journal: dict[Any, Any]) -> Iterator[Any]:
    for entry in journal.values():
        yield entry
        held = entry[2]
        yield from _inside(held)
        if type(held) is list:
            yield held
            for item in held:
                yield from _inside(item)


def _inside(x: Any) -> Iterator[Any]:
    if type(x) is Summary:
        yield from x.alternatives


def _rename(m: Machine, places: list[Place], lists: dict[int, Any]) -> None:
    """Give each place a new list, and those that share a list in some rows the same one there."""
    masks, here = m.masks, m.here
    taken: list[tuple[Mask, int, Any]] = []  # rows, the list that they had, the one that they have
    for place in sorted(places, key=lambda p: not of_lists(_held(p))):
        x = _held(place)
        several = x.alternatives if of_lists(x) else [(here, x)]
        parts = [(mask, y) for mask, y in several if id(y) in lists]
        if not parts:
            continue
        entries: list[tuple[Mask, None, Any]] = []
        alone: list[tuple[Mask, Any]] = []
        for mask, y in parts:
            rows = masks.both_of(mask, here)
            for other, key, new in taken:
                both = masks.both_of(rows, other) if key == id(y) else FALSE
                if both is not FALSE:
                    entries.append((both, None, new))
                    rows = masks.without(rows, both)
            if rows is not FALSE:
                alone.append((rows, y))
        if alone:
            total = alone[0][0]
            for rows, _ in alone[1:]:
                total = masks.either(total, rows)
            made = m.made([join(m, [(r, None, y[k]) for r, y in alone]) for k in range(len(alone[0][1]))])
            entries.append((total, None, made))
            taken += [(rows, id(y), made) for rows, y in alone]
        _put(m, place, join(m, entries))  # type: ignore[arg-type]
    m.renamed = False


def _put(m: Machine, place: Place, x: Any) -> None:
    owner, key = place
    if isinstance(owner, Frame):
        m.assign(owner, key, x)
    else:
        m.touch(owner)
        owner[key] = x


__all__ = ["of_lists", "replace"]
