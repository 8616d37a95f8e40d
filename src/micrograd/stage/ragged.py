"""Lists, dicts and sets that hold different numbers of things in different rows.

Such a container stays the object that it is, for other parts of the program may refer to it. What it holds is one Ragged: the
alternatives, of which each row has one. Lists of one length are one alternative, whose items are joined; dicts of the same keys
and sets of the same items too. Who reads a container settles it first: what the rows here see is then a plain container, or a
Summary of several. Who changes one does so for each alternative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.join import Entry, join
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.packed import packed, unpacked, window
from micrograd.stage.stored import joined
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

MAX_SIZES = 64  # alternatives of one container

CONTAINERS = (list, dict, set)


class Ragged(Summary):
    """What a container holds: [(mask, contents)]."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


def ragged(x: Any) -> Ragged | None:
    """The alternatives of a container; None where it holds the same number of things in all rows."""
    if type(x) in CONTAINERS and len(x) == 1:
        (only,) = x
        if type(only) is Ragged:
            return only
    return None


def settle(m: Machine, x: Any) -> Any:
    """What rows here see of an object, to be read and not to be changed."""
    if type(x) in CONTAINERS and len(x) == 1:
        found = ragged(x)
        if found is not None:
            return m.now(Summary(found.alternatives))
        return plain_list(m, x)
    if type(x) is Summary and any(packed(y) is not None for _, y in x.alternatives):
        x = Summary([(mask, plain_list(m, y)) for mask, y in x.alternatives])
    if type(x) is Summary and any(ragged(y) is not None for _, y in x.alternatives):
        every = [(mask, ragged(y), y) for mask, y in x.alternatives]
        both = m.masks.both_of
        return m.now(
            Summary(
                [
                    (rows, y)
                    for mask, several, held in every
                    for part, y in ([(mask, held)] if several is None else several.alternatives)
                    if (rows := both(mask, part)) is not FALSE
                ]
            )
        )
    return x


def plain_list(m: Machine, x: Any) -> Any:
    """The items of a list that is an array; anything else as it is."""
    found = packed(x)
    return x if found is None else unpacked(m, found)


def contents(m: Machine, entries: list[tuple[Mask, Any]]) -> Any:
    """What a container holds that holds these things in these rows: plain contents, or a Ragged in a container."""
    flat: list[tuple[Mask, Any]] = []
    for mask, held in entries:
        several = ragged(held)
        parts = [(mask, plain_list(m, held))] if several is None else several.alternatives
        flat += [(rows, y) for part, y in parts if (rows := m.masks.both_of(mask, part)) is not FALSE]
    groups: dict[Any, list[tuple[Mask, Any]]] = {}
    for mask, held in flat:
        groups.setdefault(_arrangement(held), []).append((mask, held))
    if len(groups) > MAX_SIZES:
        raise Unsupported(
            f"a {type(flat[0][1]).__name__} has more than {MAX_SIZES} different arrangements after a choice"
        )
    joined = [_join_alike(m, alike) for alike in groups.values()]
    if len(joined) == 1:
        return joined[0][1]
    total = joined[0][0]
    for mask, _ in joined[1:]:
        total = m.masks.either(total, mask)
    only = Ragged([(m.masks.restrict(mask, total), held) for mask, held in joined])
    kind = type(flat[0][1])
    return {only: None} if kind is dict else kind([only])


def join_contents(m: Machine, x: Any, entries: list[Entry]) -> Any:
    """What an object holds that holds these things in these rows."""
    if isinstance(x, list):
        row = window(entries[0][2])
        if row is not None and all(window(held) is row for _, _, held in entries):
            return [row]
        arrays = joined(m, entries)
        if arrays is not None:
            return arrays
        entries = [(mask, by, plain_list(m, c)) for mask, by, c in entries]
    first = entries[0][2]
    if isinstance(x, list):
        if any(len(e[2]) != len(first) or ragged(e[2]) is not None for e in entries):
            return contents(m, [(mask, c) for mask, _, c in entries])
        return [join(m, [(mask, by, c[k]) for mask, by, c in entries]) for k in range(len(first))]
    if isinstance(first, dict):
        if any(list(e[2]) != list(first) or ragged(e[2]) is not None for e in entries):
            if not isinstance(x, dict):
                raise Unsupported("an object has different attributes after a choice")
            return contents(m, [(mask, c) for mask, _, c in entries])
        return {key: join(m, [(mask, by, c[key]) for mask, by, c in entries]) for key in first}
    return contents(m, [(mask, c) for mask, _, c in entries])


def _arrangement(held: Any) -> Any:
    if isinstance(held, dict):
        return tuple([(type(key), key) for key in held])
    return len(held) if isinstance(held, list) else frozenset([(type(item), item) for item in held])


def _join_alike(m: Machine, alike: list[tuple[Mask, Any]]) -> tuple[Mask, Any]:
    mask, first = alike[0]
    for other, _ in alike[1:]:
        mask = m.masks.either(mask, other)
    if len(alike) == 1 or isinstance(first, set):
        return mask, first
    if isinstance(first, dict):
        return mask, {key: join(m, [(rows, None, c[key]) for rows, c in alike]) for key in first}
    return mask, [join(m, [(rows, None, c[k]) for rows, c in alike]) for k in range(len(first))]


def put(x: Any, held: Any) -> None:
    """Let a container hold these things."""
    if isinstance(x, list):
        x[:] = held
    else:
        x.clear()
        x.update(held)


def change(m: Machine, x: Any, function: Callable[[Any], Any]) -> Any:
    """Change a container of the program's, by a function of a plain one; the result of the function."""
    m.touch(x)
    several = ragged(x)
    if several is None:
        return function(x)
    here, around = m.here, m.bystanders
    entries: list[tuple[Mask, Any]] = []
    results = []
    error: BaseException | None = None
    for part, held in several.alternatives:
        mask = m.masks.both_of(part, here)
        if mask is FALSE:
            continue
        copy = held.copy()
        m.here, m.bystanders = mask, m.masks.either(around, m.masks.without(here, mask))
        try:
            results.append((mask, None, function(copy)))
        except (Exception, Unsupported) as reason:
            error = reason
            m.fail(mask, reason)
            continue
        entries.append((mask, copy))
    m.here, m.bystanders = here, around
    if not entries:
        raise error or Lost()
    put(x, contents(m, entries))
    return join(m, results)  # type: ignore[arg-type]


def collected(m: Machine, items: list[tuple[Mask, Any]], here: Mask) -> Any:
    """A list of the items that each row has, in their order: [(rows, item)]."""
    masks = m.masks
    if all(mask is here for mask, _ in items):
        return [item for _, item in items]
    entries: list[tuple[Mask, Any]] = [(here, [])]
    for mask, item in items:
        after: list[tuple[Mask, Any]] = []
        for rows, held in entries:
            yes, no = masks.both_of(rows, mask), masks.without(rows, mask)
            after += [(yes, [*held, item])] if yes is not FALSE else []
            after += [(no, held)] if no is not FALSE else []
        several = contents(m, after)
        found = ragged(several)
        entries = [(here, several)] if found is None else [
            (rows, held) for part, held in found.alternatives if (rows := masks.both_of(part, here)) is not FALSE
        ]  # fmt: skip
    return contents(m, entries)
