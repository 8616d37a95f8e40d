"""Changes of lists that are arrays of the tape: `u[i] = x`, `u.append(x)`, `u.pop()`, `u[:] = v`.

An array of the tape never changes. What changes is the list: it holds another array from then on, with one element replaced
(`store`). Each list has its own array, so another list, even a slice of it, does not see the change, and every name of the
same list does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage.errors import Outside, Unsupported
from micrograd.stage.join import Entry, join_values
from micrograd.stage.lanes import Lane, least, less
from micrograd.stage.nodes import node_of
from micrograd.stage.packed import (
    Packed,
    Window,
    at_index,
    binary_int,
    load,
    of_all,
    one,
    pack,
    packed,
    position,
    sort_of,
    window,
)
from micrograd.tape.tape import LOAD, STORE

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


NOTHING = object()


def set_item(m: Machine, x: list[Any], index: Any, value: Any) -> bool:
    """x[index] = value, where the list is an array or must become one; False where nothing was done."""
    p = packed(x)
    row = window(x)
    if row is not None:
        return _set_in_row(m, row, index, value)
    if isinstance(index, slice):
        new = packed(value) if index == slice(None) else None
        if p is None or new is None:
            return False
        m.touch(x, unpack=False)
        x[:] = [new]
        return True
    if type(index) is not Lane and (p is None or type(index) is not int):
        return False
    m.touch(x, unpack=False)
    if p is None:
        if m.rolling is not None and m.rolling.changes(x):
            raise Outside("an item of a short list is assigned by an index that changes", x)
        p = pack(m, x)
    x[:] = [_stored(m, p, at_index(m, p, index, "list assignment index out of range"), value)]
    return True


def _set_in_row(m: Machine, row: Window, index: Any, value: Any) -> bool:
    """Assign an item of a row of a table."""
    if isinstance(index, slice) or type(index) not in (Lane, int):
        return False
    at = at_index(m, row.items(), index, "list assignment index out of range")
    if any(w is not None and w.flat is row.flat for w in map(window, m.lent)):
        raise Unsupported("a list is changed while a loop runs over an iterator that was made of it")
    return set_item(m, row.flat, binary_int(m, "add", row.start, at), value)


def append(m: Machine, x: list[Any], value: Any) -> Any:
    """x.append(value), where the list is an array; NOTHING where nothing was done."""
    p = packed(x)
    assert p is not None
    if p.step != 1 or window(x) is not None:
        return NOTHING
    if least(less(p.room, binary_int(m, "add", p.start, p.length))) < 1:
        if m.rolling is not None and m.rolling.changes(x):
            raise Outside("a list becomes longer than there is room for", x)
        return NOTHING
    m.touch(x, unpack=False)
    new = _stored(m, p, p.length, value)
    new.length = binary_int(m, "add", p.length, 1)
    new.of = sort_of(m, m.now(value)) if type(p.length) is int and p.length == 0 else new.of
    x[:] = [new]
    return None


def pop(m: Machine, x: list[Any]) -> Any:
    """x.pop(), where the list is an array."""
    p = packed(x)
    assert p is not None
    if window(x) is not None:
        return NOTHING
    at = at_index(m, p, -1, "pop from empty list")
    m.touch(x, unpack=False)
    x[:] = [Packed(p.array, at, p.room, p.of, p.start, p.step)]
    return load(m, p, at)


def copy(m: Machine, x: list[Any]) -> list[Any]:
    """x.copy(), where the list is an array."""
    found: list[Any] = m.made([packed(x)])
    return found


METHODS: dict[tuple[str, int], Any] = {("append", 1): append, ("pop", 0): pop, ("copy", 0): copy}


def _stored(m: Machine, p: Packed, index: Any, value: Any) -> Packed:
    """The array with a value in place of the item at an index, which is known to be there."""
    at = position(m, p, index)
    of = of_all([p.of, sort_of(m, m.now(value))])
    array = _store(p.array, float(at) if type(at) is int else at.whole, one(m, value))
    return Packed(array, p.length, p.room, of, p.start, p.step)


def _store(array: Value, at: Any, x: Any) -> Value:
    made = node_of(STORE, [array, at, x])
    numbers = getattr(array, "_numbers", None)
    if numbers is not None and not isinstance(at, Value):
        new = list(numbers)
        new[int(at)] = x._data if isinstance(x, Value) else x
        made.__dict__["_numbers"] = new
    made.__dict__["_stored"] = array, at, x
    return made


# ---- behind a choice


def joined(m: Machine, entries: list[Entry]) -> list[Any] | None:
    """What a list holds that holds these arrays in these rows, if they are changes of one array; else None.

    An element that was changed in some rows is chosen by row, one after the other, in the order of the changes. That the
    rows are apart makes it right to go through the changes of the one choice first and then through those of the other.
    """
    parts = [packed(c) for _, _, c in entries]
    first = parts[0]
    if first is None:
        return None
    changes = []
    for p in parts:
        if p is None or (p.room, p.start, p.step) != (first.room, first.start, first.step):
            return None
        if less(p.length, first.length) != ({}, 0):
            return None
        changes.append(_versions(p.array))
    base = next((v for v in changes[0] if all(any(v is w for w in found) for found in changes)), None)
    if base is None:
        return None
    array = base
    for (mask, _, _), found in zip(entries, changes):
        newer = found[: next(k for k, v in enumerate(found) if v is base)]
        for version in reversed(newer):
            _, at, x = version.__dict__["_stored"]
            numbers = getattr(array, "_numbers", None)
            known = numbers[int(at)] if numbers is not None and not isinstance(at, Value) else 0.0
            old = node_of(LOAD, [array, at], known)
            array = _store(array, at, join_values(m, [(mask, None, x), (m.masks.negate(mask), None, old)]))
    of = of_all([p.of for p in parts if p is not None])
    return [Packed(array, first.length, first.room, of, first.start, first.step)]


def _versions(array: Value) -> list[Value]:
    """An array, and what it was before each change of an element, from the newest to the oldest."""
    found = [array]
    while "_stored" in found[-1].__dict__:
        found.append(found[-1].__dict__["_stored"][0])
    return found


__all__ = ["METHODS", "NOTHING", "joined", "set_item"]
