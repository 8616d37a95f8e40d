"""What an iteration of a rolled loop is given: one element of a list or an array that the loop runs over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd import observed
from micrograd.engine import Value
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import Lane
from micrograd.stage.packed import chain_of

if TYPE_CHECKING:
    from micrograd.stage.roll import Roll


def element(roll: Roll, items: Any) -> Any:
    """One item of a list in each iteration; of a list of lists, a list of such items."""
    if roll.items is None:
        raise Unsupported("an element by the iteration number, in a loop of unknown length")
    items = list(items[: roll.items.iterations])
    if all(type(x) in (list, tuple) and len(x) == len(items[0]) and type(x) is type(items[0]) for x in items):
        return type(items[0])([element(roll, column) for column in zip(*items)])
    values = all(isinstance(x, Value) for x in items)
    if not values and not all(type(x) is float for x in items):
        raise Unsupported("a loop over other things than Values")
    chain = chain_of(roll.m)
    if values and any(x._trace in chain[chain.index(roll.serial) :] for x in items):
        raise Unsupported("an element of a list that the iteration itself makes or changes")
    for known, placeholder in roll.arrays:
        if len(known) == len(items) and all(a is b for a, b in zip(known, items)):
            return placeholder if values else Lane(float, placeholder)
    inner = observed.set_trace(roll.serial)  # that of an inner loop, which is given an element of this one
    placeholder = roll.placeholder(items[0]._data if values else items[0])
    observed.set_trace(inner)
    roll.arrays.append((items, placeholder))
    return placeholder if values else Lane(float, placeholder)


__all__ = ["element"]
