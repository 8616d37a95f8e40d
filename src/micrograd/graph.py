"""Copies of a graph: pickle, copy and deepcopy of a Value, iterative, so that depth does not matter."""

from __future__ import annotations

from typing import Any

from micrograd import engine
from micrograd.engine import Value, topological
from micrograd.ops import OPS, Op

_BY_SYMBOL = {op.symbol: op for op in OPS.values()}
_Flat = tuple[list[Value], list[tuple[Any, ...]]]


def _row(v: Value) -> Op | str:
    """What to hand to `node()` to make a node like v; a hand-written node is known by its name only."""
    return _BY_SYMBOL.get(v._op, v._op) if v._partials else v._op


def _extras(v: Value) -> dict[str, Any]:
    return {key: x for key, x in v.__dict__.items() if key != "_op"}


def _remake(v: Value, inputs: tuple[Value, ...], slopes: tuple[float | None, ...]) -> Value:
    """A node like v over other inputs."""
    new = _rebuilt(_row(v), v.data, v.grad, inputs, slopes)
    new.__dict__.update(_extras(v))
    return new


def _rebuilt(op: Op | str, data: float, grad: float, inputs: tuple[Value, ...], slopes: Any) -> Value:
    if not inputs:
        new = Value(data)
    elif not slopes:
        new = Value(data, inputs, op if isinstance(op, str) else op.symbol)
    else:
        new = engine.node(data, op if isinstance(op, Op) else _named(op), inputs, slopes)
    new.grad = grad
    return new


def _named(symbol: str) -> Op:
    """The op of a user's primitive in a loaded graph: its name is known, its rule is not needed any more."""
    return Op(symbol, _no_rule, [])


def _no_rule(*_: Any) -> float:
    raise TypeError("this node was loaded from a pickle; its op can be differentiated, but not run again")


def flatten(root: Value) -> _Flat:
    """A graph as its leaves (objects) and one row for each node between: (op, data, grad, inputs, partials, attributes)."""
    order = topological(root)
    place: dict[int, int] = {}
    leaves = [v for v in order if not v._prev]
    for v in leaves:
        place[id(v)] = len(place)
    rows = []
    for v in order:
        if v._prev:
            place[id(v)] = len(place)
            row = _row(v)
            name = row.name if isinstance(row, Op) else row
            rows.append((name, v.data, v.grad, tuple(place[id(c)] for c in v._prev), v._partials, _extras(v)))
    return leaves, rows


def restore(kind: type[Value], leaves: list[Value], rows: list[tuple[Any, ...]]) -> Value:
    """The root of a flattened graph."""
    nodes = list(leaves)
    before = engine.set_recording(True)
    try:
        for name, data, grad, inputs, slopes, extras in rows:
            new = _rebuilt(OPS.get(name, name), data, grad, tuple(nodes[i] for i in inputs), slopes)
            for key, x in extras.items():
                setattr(new, key, x)
            nodes.append(new)
    finally:
        engine.set_recording(before)
    return nodes[-1]


def restore_leaf(kind: type[Value], data: float, grad: float, extras: dict[str, Any]) -> Value:
    """One leaf, of the class that it had."""
    leaf = kind.__new__(kind)
    Value.__init__(leaf, data)
    leaf.grad = grad
    for key, x in extras.items():
        setattr(leaf, key, x)
    return leaf


def reduce(v: Value) -> tuple[Any, ...]:
    """What pickle keeps: leaves one by one, so that two Values in one pickle still share theirs; the rest as flat rows."""
    if not v._prev:
        return restore_leaf, (type(v), v.data, v.grad, _extras(v))
    return restore, (type(v), *flatten(v))


def copy(v: Value) -> Value:
    """A second node beside v, made from the same inputs."""
    if not v._prev:
        return restore_leaf(type(v), v.data, v.grad, _extras(v))
    before = engine.set_recording(True)
    try:
        return _remake(v, v._prev, v._partials)
    finally:
        engine.set_recording(before)


def deepcopy(root: Value, memo: dict[int, Any]) -> Value:
    """A copy of the whole graph; what is copied twice in one deepcopy stays one node."""
    from copy import deepcopy as copy_any

    before = engine.set_recording(True)
    try:
        for v in topological(root):
            if id(v) in memo:
                continue
            if v._prev:
                new = _rebuilt(_row(v), v.data, v.grad, tuple(memo[id(c)] for c in v._prev), v._partials)
            else:
                new = restore_leaf(type(v), v.data, v.grad, {})
            memo[id(v)] = new
            for key, x in _extras(v).items():
                setattr(new, key, copy_any(x, memo))
    finally:
        engine.set_recording(before)
    out: Value = memo[id(root)]
    return out
