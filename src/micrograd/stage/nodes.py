"""Nodes for instructions that are not of the table: regions, their results, arrays. Arrays have their numbers beside them."""

from __future__ import annotations

from typing import Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.tape import trace as tracing
from micrograd.tape.tape import result


def node_of(op: Any, inputs: list[Any], y: float = 0.0) -> Value:
    """A node for an instruction that is not of the table."""
    values = [x if isinstance(x, Value) else Value(x) for x in inputs]
    made: Value = engine.node(y, op, values, [1.0 if isinstance(x, Value) else None for x in inputs])
    return made


def number_of(x: Any) -> Any:
    """The number of a Value for the row at hand; of an array, its numbers."""
    found = getattr(x, "_numbers", None)
    return tracing.peek([x])[0] if found is None else found


def result_of(region: Value, k: int, y: Any) -> Value:
    """One result of a region: a number, or an array."""
    made: Value = engine.node(0.0 if isinstance(y, list) else y, result(k), [region], [1.0])
    if isinstance(y, list):
        made.__dict__["_numbers"] = y
    return made


__all__ = ["node_of", "number_of", "result_of"]
