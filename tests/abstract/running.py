"""Runs a staged tape by the interpreter of typed tapes, and says what plain Python returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from micrograd import abstract
from micrograd.abstract.staged import Array, Constant, Leaf, Mapping_, Mixed, Records, Sequence_
from micrograd.ir import interpret, text
from micrograd.ir.check import check


def staged(function: Any, arguments: Sequence[Any]) -> abstract.Staged:
    """Return the tape of a function; it makes sense, and so does what its text says."""
    found = abstract.stage(function, arguments)
    check(found.tape)
    again = text.parse(str(found.tape))
    check(again)
    assert str(again) == str(found.tape)
    return found


def inputs(params: Sequence[abstract.Param], arguments: Sequence[Any]) -> list[Any]:
    """Return the params of a tape for some arguments."""
    return [_input(p, _at(arguments, p.path)) for p in params]


def _at(arguments: Any, path: Any) -> Any:
    found = arguments
    for how, key in path:
        found = getattr(found, key) if how == "attribute" else found[key]
    return found


def _input(param: abstract.Param, x: Any) -> Any:
    if param.what == "number":
        return x.item() if hasattr(x, "item") else x
    if param.what == "length":
        for _ in range(param.axis):
            x = x[0] if len(x) else ()
        return len(x)
    return _flat(x)


def _flat(x: Any) -> list[Any]:
    if hasattr(x, "ravel"):
        return x.ravel().tolist()
    return [z for y in x for z in (_flat(y) if isinstance(y, list | tuple) else [y])]


def rebuilt(result: Any, yields: list[Any]) -> Any:
    """Return what the function returns, from what its tape yields."""
    if isinstance(result, Leaf):
        return yields[result.number]
    if isinstance(result, Mixed):
        return int(yields[result.number]) if yields[result.is_int] else yields[result.number]
    if isinstance(result, Constant):
        return result.value
    if isinstance(result, Sequence_):
        items = [rebuilt(x, yields) for x in result.items]
        return result.cls(*items) if hasattr(result.cls, "_fields") else result.cls(items)
    if isinstance(result, Mapping_):
        return dict(zip(result.keys, [rebuilt(x, yields) for x in result.items]))
    if isinstance(result, Array):
        return _nested(list(yields[result.number]), [_length(n, yields) for n in result.shape], result.cls)
    assert isinstance(result, Records)
    n = _length(result.length, yields)
    return result.cls([_record(result.item, yields, i) for i in range(n)])


def _record(item: Any, yields: list[Any], i: int) -> Any:
    if isinstance(item, Leaf):
        return yields[item.number][i]
    if isinstance(item, Array):
        n = _length(item.shape[1], yields)
        return item.cls(yields[item.number][i * n : (i + 1) * n])
    return item.cls([_record(x, yields, i) for x in item.items])


def _nested(flat: list[Any], shape: list[int], cls: type) -> Any:
    if len(shape) == 1:
        return cls(flat[: shape[0]])
    size = math.prod(shape[1:])
    return [_nested(flat[i * size : (i + 1) * size], shape[1:], cls) for i in range(shape[0])]


def _length(n: Any, yields: list[Any]) -> int:
    return yields[n.number] if isinstance(n, Leaf) else n


def run(found: abstract.Staged, arguments: Sequence[Any], most: int = 3_000_000) -> Any:
    """Return what the tape gives for some arguments."""
    return rebuilt(found.result, interpret.run(found.tape, inputs(found.params, arguments), most))


def equal(a: Any, b: Any) -> bool:
    """Return whether two results are equal to the bit; an int may stand for a float, as for an empty sum."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, int | float) and isinstance(b, int | float):
        if isinstance(a, bool) != isinstance(b, bool):
            return False
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and (a != 0 or type(a) is not type(b) or math.copysign(1, a) == math.copysign(1, b))
    return bool(a == b)
