"""Summaries: what a variable holds where rows disagree, and how alternatives are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.stage.errors import StaleRead, TooManyWays, Unsupported
from micrograd.stage.masks import FALSE, Mask
from micrograd.tape.tape import PICK

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

MAX_ALTERNATIVES = 300

Entry = tuple[Mask, "Mask | None", Any]  # rows, a mask that tells them from the entries behind (None: not known), what


class _Unbound:
    """What a variable holds before it is assigned."""

    def __repr__(self) -> str:
        return "<unbound>"


class _Stale:
    """What a variable holds at the beginning of a turn that assigns it before it is read."""

    def __repr__(self) -> str:
        return "<stale>"


UNBOUND = _Unbound()
STALE = _Stale()


class Summary:
    """Alternatives of which each row has one: [(mask, object)]. Code that is not interpreted must not see it.

    The masks say which alternative it is for the rows that were there when they were joined, and nothing of other rows.
    """

    __slots__ = ("alternatives",)
    kind: Any  # of a Lane
    value: Any

    def __init__(self, alternatives: list[tuple[Mask, Any]]) -> None:
        self.alternatives = alternatives

    def _not_here(self, *_: Any) -> Any:
        raise Unsupported("something that differs by row is handed to code that is not interpreted")

    __bool__ = __len__ = __iter__ = __getitem__ = __call__ = __float__ = __int__ = __index__ = __hash__ = _not_here  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __format__ = __str__ = _not_here  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _not_here
    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __neg__ = __abs__ = __pos__ = _not_here


def _constant_key(x: Any) -> Any:
    """What makes two objects the same for any program that does not ask for their identity."""
    kind = type(x)
    if kind in (int, float, bool, str, bytes, complex) and x == x:
        return kind, repr(x)
    if kind is tuple:
        return kind, tuple([_constant_key(item) for item in x])
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
        key = _constant_key(x)
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
        total = _join_values(m, values)
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
    from micrograd.stage.mixed import joins

    plain = [key for key, (_, x) in groups.items() if joins(m, x)]
    if not (values and plain) and sum(type(groups[key][1]) is float for key in plain) < 2:
        return values
    return [*((mask, None, x) for mask, x in map(groups.pop, plain)), *values]  # type: ignore[misc]


def _mark_joined(m: Machine, total: Any, parts: list[Any]) -> None:
    from micrograd.stage.mixed import bound_of, mark, may_be_plain

    if isinstance(total, Value) and any(may_be_plain(m, x) for x in parts):
        mark(m, total, max([bound_of(m, x) for x in parts]))


def _join_values(m: Machine, entries: list[Entry]) -> Any:
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
    """Floats that change from turn to turn become one, and so do constants beside them. (An int must say how it grows.)"""
    alike = [k for k, (_, _, x) in enumerate(entries) if (x.kind if isinstance(x, Summary) else type(x)) is float]
    lanes = [entries[k][2] for k in alike if isinstance(entries[k][2], Summary)]
    if not lanes or all(entries[k][2] is lanes[0] for k in alike):
        return entries
    rows = entries[alike[0]][0]
    for k in alike[1:]:
        rows = m.masks.either(rows, entries[k][0])
    numbers: list[Entry] = []
    for mask, by, x in [entries[k] for k in alike]:
        numbers.append((mask, by, x.value if isinstance(x, Summary) else x))
    joined = type(lanes[0])(float, _join_values(m, numbers))
    return [*(e for k, e in enumerate(entries) if k not in alike), (rows, None, joined)]


def _join_tuples(m: Machine, groups: list[list[Any]]) -> list[tuple[Mask, Any]]:
    """Tuples of one length become one tuple of joined items: who asks for their identity is refused."""
    by_length: dict[int, list[list[Any]]] = {}
    found: list[tuple[Mask, Any]] = []
    for mask, x in groups:
        if type(x) is tuple:
            by_length.setdefault(len(x), []).append([mask, x])
        else:
            found.append((mask, x))
    for alike in by_length.values():
        mask = alike[0][0]
        for other, _ in alike[1:]:
            mask = m.masks.either(mask, other)
        items = [join(m, [(rows, None, x[k]) for rows, x in alike]) for k in range(len(alike[0][1]))]
        found.append((mask, tuple(items) if len(alike) > 1 else alike[0][1]))
    return found


def held(m: Machine, x: Any) -> Any:
    """What a variable holds in the rows here, to be handed on: some of them may not have assigned it."""
    if type(x) is not Summary:
        return x
    found = [(mask, y) for mask, y in x.alternatives if m.masks.both_of(mask, m.here) is not FALSE]
    if any(y is STALE for _, y in found):
        raise StaleRead
    return found[0][1] if len(found) == 1 else Summary(found)


def is_stale(x: Any) -> bool:
    """Whether a variable holds, in some rows, what a turn has not assigned."""
    return x is STALE or (type(x) is Summary and any(y is STALE for _, y in x.alternatives))


def is_number(x: Any) -> bool:
    """Whether a number of the program: a Value, an int or a float, and no bool."""
    return isinstance(x, (Value, float, int)) and not isinstance(x, bool)


def number(m: Machine, x: Any) -> Any:
    """A Summary of numbers as one Value; anything else as it is."""
    from micrograd.stage.lanes import plain

    x = plain(m.now(x))
    if type(x) is not Summary or not all(is_number(plain(y)) for _, y in x.alternatives):
        return x
    return _join_values(m, [(mask, None, plain(y)) for mask, y in x.alternatives])


def lower(m: Machine, x: Any, bools: bool = True) -> Any:
    """A result without Summaries: Values and containers that are the same in all rows. Without `bools`, they are numbers."""
    from micrograd.stage.ragged import settle

    x = m.now(x)
    if not bools and isinstance(x, bool):
        return float(x)
    if not bools and type(x) is Summary:
        x = Summary([(mask, float(y) if isinstance(y, bool) else y) for mask, y in x.alternatives])
    several = x.alternatives if type(x) is Summary else [] if not isinstance(x, Summary) else [(None, x)]
    kinds = [getattr(y, "kind", int) if isinstance(y, Summary) else type(y) for _, y in several]
    if m.keep_types and int in kinds:
        raise Unsupported("a whole number is a result, and not the same in all rows")
    x = settle(m, number(m, x))
    if isinstance(x, Summary) and type(x) is not Summary:
        raise Unsupported("a result is something that changes from one iteration to the next of a loop")
    if type(x) is Summary:
        parts = [y for _, y in x.alternatives]
        kind = type(parts[0])
        if any(type(y) is not kind for y in parts) or not (kind in (list, tuple, dict) or hasattr(kind, "_fields")):
            raise Unsupported("rows return results of different kinds")
        if kind is dict and all(list(y) == list(parts[0]) for y in parts):
            return {key: _lowered_item(m, x, key, bools) for key in parts[0]}
        if kind is dict or any(len(y) != len(parts[0]) for y in parts):
            raise Unsupported("rows return results that are arranged differently")
        items = [_lowered_item(m, x, k, bools) for k in range(len(parts[0]))]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    if type(x) is list or type(x) is tuple:
        return type(x)([lower(m, item, bools) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[lower(m, item, bools) for item in x])
    if type(x) is dict:
        return {key: lower(m, item, bools) for key, item in x.items()}
    return x


def _lowered_item(m: Machine, x: Summary, key: Any, bools: bool) -> Any:
    return lower(m, join(m, [(mask, None, y[key]) for mask, y in x.alternatives]), bools)
