"""Joins: one object for what a variable holds along several paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.stage.errors import TooManyWays
from micrograd.stage.instances import Shape, is_named
from micrograd.stage.lanes import Lane, plain
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.mixed import bound_of, joins, mark, may_be_plain
from micrograd.stage.summary import Summary, is_number
from micrograd.tape.tape import PICK

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

MAX_ALTERNATIVES = 300

Entry = tuple[Mask, "Mask | None", Any]  # rows, a mask that tells them from the entries behind (None: not known), what


def constant_key(x: Any) -> Any:
    """What makes two objects the same for any program that does not ask for their identity."""
    kind = type(x)
    if kind in (int, float, bool, str, bytes, complex) and x == x:
        return kind, repr(x)
    if kind is tuple or is_named(x):
        return kind, tuple([constant_key(item) for item in x])
    return id(x)


def join(m: Machine, entries: list[Entry]) -> Any:
    """One object for all entries: that object where they agree, a Value where they are Values, else a Summary."""
    if len(entries) == 1 or all(e[2] is entries[0][2] for e in entries):
        return entries[0][2]
    masks = m.masks
    flat: list[Entry] = []
    for mask, selector, x in entries:
        if type(x) is Summary:
            flat += [(both, None, y) for part, y in x.alternatives if (both := masks.both_of(mask, part)) is not FALSE]
        elif mask is not FALSE:
            flat.append((mask, selector, x))
    values = [e for e in flat if isinstance(e[2], Value)]
    flat = _join_lanes(m, [e for e in flat if not isinstance(e[2], Value)])
    groups: dict[Any, list[Any]] = {}
    for mask, _, x in flat:
        key = constant_key(x)
        if key in groups:
            groups[key][0] = masks.either(groups[key][0], mask)
        else:
            groups[key] = [mask, x]
    if m.limits.coarse:
        values = _blurred(m, values, groups)
    found: list[tuple[Mask, Any]] = [(mask, x) for mask, x in _join_tuples(m, list(groups.values()))]
    if values:
        rows = values[0][0]
        for mask, _, _ in values[1:]:
            rows = masks.either(rows, mask)
        total = join_values(m, values)
        if m.limits.coarse:
            _mark_joined(m, total, [x for _, _, x in values])
        found.append((rows, total))
    if len(found) == 1:
        return found[0][1]
    if len(found) > MAX_ALTERNATIVES:
        raise TooManyWays(f"a variable has more than {MAX_ALTERNATIVES} different values that are not Values")
    rows = entries[-1][0]
    for mask, _, _ in reversed(entries[:-1]):
        rows = masks.either(mask, rows)
    m.renamed |= all(type(x) is list for _, x in found)
    return Summary([(masks.restrict(mask, rows), x) for mask, x in found])


def _blurred(m: Machine, values: list[Entry], groups: dict[Any, list[Any]]) -> list[Entry]:
    """The entries that become one Value: Values, and the plain numbers beside them, which are no longer told apart."""
    numbers = [key for key, (_, x) in groups.items() if joins(m, x)]
    if not (values and numbers) and sum(type(groups[key][1]) is float for key in numbers) < 2:
        return values
    return [*((mask, None, x) for mask, x in map(groups.pop, numbers)), *values]  # type: ignore[misc]


def _mark_joined(m: Machine, total: Any, parts: list[Any]) -> None:
    if isinstance(total, Value) and any(may_be_plain(m, x) for x in parts):
        mark(m, total, max([bound_of(m, x) for x in parts]))


def join_values(m: Machine, entries: list[Entry]) -> Any:
    """One Value for entries of Values (or numbers)."""
    masks = m.masks
    mask, _, total = entries[-1]
    for rows, selector, x in reversed(entries[:-1]):
        mask = masks.either(mask, rows)
        if x is total:
            continue
        if selector is None:
            selector = masks.restrict(rows, mask)
        total = engine.apply(PICK, masks.value(selector), x, total)
    return total


def _join_lanes(m: Machine, entries: list[Entry]) -> list[Entry]:
    """Join floats that change from one iteration to the next, and constants beside them. (An int must say how it grows.)"""
    alike = [k for k, (_, _, x) in enumerate(entries) if (x.kind if type(x) is Lane else type(x)) is float]
    lanes = [entries[k][2] for k in alike if type(entries[k][2]) is Lane]
    if not lanes or all(entries[k][2] is lanes[0] for k in alike):
        return entries
    rows = entries[alike[0]][0]
    for k in alike[1:]:
        rows = m.masks.either(rows, entries[k][0])
    numbers: list[Entry] = []
    for mask, by, x in [entries[k] for k in alike]:
        numbers.append((mask, by, plain(x)))
    joined = Lane(float, join_values(m, numbers))
    return [*(e for k, e in enumerate(entries) if k not in alike), (rows, None, joined)]


def _join_tuples(m: Machine, groups: list[list[Any]]) -> list[tuple[Mask, Any]]:
    """Tuples of one length become one tuple of joined items: who asks for their identity is refused."""
    by_length: dict[Shape, list[list[Any]]] = {}
    found: list[tuple[Mask, Any]] = []
    for mask, x in groups:
        if type(x) is tuple or is_named(x):
            by_length.setdefault(Shape(type(x), len(x)), []).append([mask, x])
        else:
            found.append((mask, x))
    for shape, alike in by_length.items():
        mask = alike[0][0]
        for other, _ in alike[1:]:
            mask = m.masks.either(mask, other)
        items = [join(m, [(rows, None, x[k]) for rows, x in alike]) for k in range(len(alike[0][1]))]
        found.append((mask, shape.make(items) if len(alike) > 1 else alike[0][1]))
    return found


def number(m: Machine, x: Any) -> Any:
    """A Summary of numbers as one Value; anything else as it is."""
    x = plain(m.now(x))
    if type(x) is not Summary or not all(is_number(plain(y)) for _, y in x.alternatives):
        return x
    return join_values(m, [(mask, None, plain(y)) for mask, y in x.alternatives])
