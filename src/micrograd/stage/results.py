"""Results of a staged function: Values, and containers that are the same in all rows."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.join import join, number
from micrograd.stage.ragged import settle
from micrograd.stage.summary import Summary
from micrograd.tree import Record

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


def lower(m: Machine, x: Any, bools: bool = True) -> Any:
    """A result without Summaries: Values and containers that are the same in all rows. Without `bools`, they are numbers."""
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
    if hasattr(type(x), "__dataclass_fields__"):
        if hasattr(type(x), "__post_init__"):
            raise Unsupported("a result is a dataclass whose constructor computes something")
        names = tuple([f.name for f in fields(x)])
        return Record(type(x), names).rebuild([lower(m, getattr(x, name), bools) for name in names])
    return x


def _lowered_item(m: Machine, x: Summary, key: Any, bools: bool) -> Any:
    return lower(m, join(m, [(mask, None, y[key]) for mask, y in x.alternatives]), bools)
