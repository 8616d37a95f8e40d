"""Reading and copying a graph, iteratively, so that depth does not matter: pickle, deepcopy, the input of a trace."""

from __future__ import annotations

from typing import Any

from micrograd import engine, observed
from micrograd.engine import Value, topological
from micrograd.ops import OPS, Op

_Flat = tuple[list[Value], list[tuple[Any, ...]]]


def _extras(v: Value) -> dict[str, Any]:
    return {key: x for key, x in observed.attributes(v).items() if key != "_op"}


def _remake(op: Op | str, data: float, grad: float, inputs: tuple[Value, ...], slopes: Any) -> Value:
    """A node of which all is known; `op` is a name for a node that somebody made by hand."""
    if not isinstance(op, str):
        new = engine.node(data, op, inputs, slopes)
    elif slopes:  # Value(data, children, local derivatives)
        new = Value(data, inputs, slopes)
        if op:
            new._op = op
    else:
        new = Value(data, inputs, op)
    new.grad = grad
    return new


def _no_rule(*_: Any) -> float:
    raise TypeError("this op came out of a pickle: its results can be differentiated, but it cannot be run again")


def _named(name: str) -> Op:
    """The row of a name; a user's primitive is known by its name alone, which is enough for the nodes it made."""
    return OPS.get(name) or Op(name, _no_rule, [])


def flatten(root: Value) -> _Flat:
    """A graph as its leaves (objects) and one row for each node between: (whether made by hand, op, data, grad, inputs,
    partials, attributes). The attributes are left empty here, since they may refer to the graph: see `reduce`."""
    order = topological(root)
    place: dict[int, int] = {}
    leaves = [v for v in order if not v._prev]
    for v in leaves:
        place[id(v)] = len(place)
    rows: list[tuple[Any, ...]] = []
    for v in order:
        if v._prev:
            inputs = tuple(place.get(id(c), -1) for c in v._prev)
            if -1 in inputs:
                raise _cyclic("pickled")
            place[id(v)] = len(place)
            op = v._op if v._rule is None else v._rule.name
            rows.append((v._rule is None, op, v._data, v.grad, inputs, v._partials, {}))
    return leaves, rows


def _cyclic(what: str) -> ValueError:
    return ValueError(
        f"this graph cannot be {what}: one of its nodes is, through its inputs, made from itself\n"
        "  Somebody has assigned `_prev`; a graph that operations have made has no such cycle.\n"
        "  Assign the inputs in another way, or keep the Values apart."
    )


def restore(leaves: list[Value], rows: list[tuple[Any, ...]]) -> Value:
    """The root of a flattened graph."""
    nodes = list(leaves)
    before = observed.set_recording(True)
    try:
        for by_hand, name, data, grad, inputs, slopes, extras in rows:
            op = name if by_hand else _named(name)
            new = _remake(op, data, grad, tuple(nodes[i] for i in inputs), slopes)
            for key, x in extras.items():
                setattr(new, key, x)
            nodes.append(new)
    finally:
        observed.set_recording(before)
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
    """What pickle keeps: leaves one by one, so that two Values in one pickle still share theirs; the rest as flat rows.

    Attributes come last, when the Values are there already: they may refer to them.
    """
    if not v._prev:
        made: tuple[Any, ...] = restore_leaf, (type(v), v.data, v.grad, {})
        extras = [_extras(v)]
    else:
        made = restore, flatten(v)
        extras = [_extras(x) for x in topological(v) if x._prev]
    return (*made, extras, None, None, set_attributes) if any(extras) else made


def set_attributes(root: Value, extras: list[dict[str, Any]]) -> None:
    """Give the nodes of a graph that was just restored their attributes."""
    nodes = [v for v in topological(root) if v._prev] or [root]
    for v, attributes in zip(nodes, extras, strict=True):
        for key, x in attributes.items():
            setattr(v, key, x)


COPY = Op("copy", lambda x: x, [lambda x, y: 1.0])  # of a Value that a trace has made: the derivative goes on behind it


def _is_traced(v: Value) -> bool:
    """Whether v belongs to the trace that is running: a copy is part of the same computation then."""
    trace = observed.set_trace(0)
    observed.set_trace(trace)
    return trace != 0 and v._trace == trace


def copy(v: Value) -> Value:
    """A second node beside v, made from the same inputs."""
    if _is_traced(v):
        return engine.apply(COPY, v)  # type: ignore[no-any-return]
    if not v._prev:
        return restore_leaf(type(v), v.data, v.grad, _extras(v))
    before = observed.set_recording(True)
    try:
        new = _remake(v._rule or v._op, v._data, v.grad, v._prev, v._partials)
        for key, x in _extras(v).items():
            setattr(new, key, x)
        return new
    finally:
        observed.set_recording(before)


def deepcopy(root: Value, memo: dict[int, Any]) -> Value:
    """A copy of the whole graph; what is copied twice in one deepcopy stays one node."""
    from copy import deepcopy as copy_any

    if _is_traced(root):
        return engine.apply(COPY, root)  # type: ignore[no-any-return]
    before = observed.set_recording(True)
    try:
        for v in topological(root):
            if id(v) in memo:
                continue
            if v._prev:
                # map, and no generators: some releases of Python 3.12 and 3.13 crash when there is no memory for one
                if not all(map(memo.__contains__, map(id, v._prev))):
                    raise _cyclic("copied")
                copies = tuple(map(memo.__getitem__, map(id, v._prev)))
                new = _remake(v._rule or v._op, v._data, v.grad, copies, v._partials)
            else:
                new = restore_leaf(type(v), v.data, v.grad, {})
            memo[id(v)] = new
            for key, x in _extras(v).items():
                setattr(new, key, copy_any(x, memo))
    finally:
        observed.set_recording(before)
    out: Value = memo[id(root)]
    return out


def linearize(
    roots: list[Any], inputs: list[Value], trace: int, sources: tuple[Op, Op, Op]
) -> tuple[list[Op], list[tuple[Any, ...]], list[Value], list[int]] | tuple[Value]:
    """The graph between inputs and roots as what a tape is made of, in the order in which backward() would meet it.

    Gives (ops, args, captured, places): `ops[i]` over `args[i]` is place i, inputs come first, then each node as it is met,
    after the numbers that it brings in; `captured` are the Values made outside of this trace, `places` those of the roots.
    `sources` are the ops for an input, a captured Value and a constant. A node with a hand-written `_backward` cannot be
    written down: the result is then a tuple of that node alone.
    """
    INPUT, PARAM, CONST = sources
    place = {id(v): i for i, v in enumerate(inputs)}
    ops: list[Op] = [INPUT] * len(inputs)
    args: list[tuple[Any, ...]] = [(i,) for i in range(len(inputs))]
    constants: dict[str, int] = {}
    captured: list[Value] = []

    def write(op: Op, *row: Any) -> int:
        ops.append(op)
        args.append(row)
        return len(ops) - 1

    def constant(x: float) -> int:
        key = repr(x)
        if key not in constants:
            constants[key] = write(CONST, x)
        return constants[key]

    places = []
    for root in roots:
        if not isinstance(root, Value):
            places.append(constant(float(root)))
            continue
        stack = [(root, False)]
        while stack:
            v, inputs_done = stack.pop()
            if inputs_done:
                row = [constant(c._data) if p is None else None for c, p in zip(v._prev, v._partials)]
                row = [place[id(c)] if at is None else at for c, at in zip(v._prev, row)]
                assert v._rule is not None
                place[id(v)] = write(v._rule, *row)
            elif id(v) in place:
                continue
            elif v._trace != trace or not v._prev:
                place[id(v)] = write(PARAM, len(captured))
                captured.append(v)
            elif v._rule is None or "_backward" in v.__dict__:
                return (v,)
            else:
                place[id(v)] = -1
                stack.append((v, True))
                stack.extend((c, False) for c, p in zip(reversed(v._prev), reversed(v._partials)) if p is not None)
        places.append(place[id(root)])
    return ops, args, captured, places


def pull(
    roots: list[Any], inputs: list[Value], trace: int, end: Op, cotangent: list[float] | None = None
) -> list[float] | None:
    """The gradient of each root with respect to the inputs, one after the other; the graph stays as it was.

    With a cotangent, it is one gradient, that of the sum of the roots times these numbers. `end` is the op that ends all
    sweeps. None where the graph has what these sweeps leave to the tape: a Value that was made outside of this trace, or a
    rule that somebody has written by hand. Sums are added in the order of the sweeps over the tape.
    """
    order = _placed(roots, inputs, trace)
    if order is None:
        return None
    found: list[float] = []
    seeds = [[(root, 1.0)] for root in roots] if cotangent is None else [list(zip(roots, cotangent))]
    for seeded in seeds:
        grads: dict[int, float] = {}
        for root, seed in seeded:
            if isinstance(root, Value):
                grads[id(root)] = grads[id(root)] + seed if id(root) in grads else seed
        for v in reversed(order if grads else []):
            if id(v) in grads:
                for u, partial in _read(v, end):
                    part = partial * grads[id(v)]
                    grads[id(u)] = grads[id(u)] + part if id(u) in grads else part
        found += [grads.get(id(v), 0.0) for v in inputs]
    return found


def push(
    roots: list[Any], inputs: list[Value], trace: int, end: Op, direction: list[float] | None = None
) -> list[float] | None:
    """The same by forward sweeps, one for each input; with a direction, the derivative of each root in that direction."""
    order = _placed(roots, inputs, trace)
    if order is None:
        return None
    columns = []
    starts = [{id(v): 1.0} for v in inputs] if direction is None else [dict(zip(map(id, inputs), direction))]
    for moves in starts:
        for v in order:
            for u, partial in _read(v, end):
                if id(u) in moves:
                    part = partial * moves[id(u)]
                    moves[id(v)] = moves[id(v)] + part if id(v) in moves else part
        columns.append([moves.get(id(root), 0.0) for root in roots])
    return [column[r] for r in range(len(roots)) for column in columns]


def _placed(roots: list[Any], inputs: list[Value], trace: int) -> list[Value] | None:
    """The nodes behind all roots but the inputs, in the order of their places on a tape; None as for `pull`."""
    order: list[Value] = []
    seen = set(map(id, inputs))
    for root in roots:
        for v in _behind(root) if isinstance(root, Value) else ():
            if id(v) not in seen:
                if v._trace != trace or not v._prev or v._rule is None or engine.has_own_backward(v):
                    return None
                seen.add(id(v))
                order.append(v)
    return order


def _read(v: Value, end: Op) -> list[tuple[Value, float]]:
    """The inputs that a derivative passes to, each with its partial."""
    if v._rule is None or v._rule is end:
        return []
    steps = v._rule.steps
    return [(u, p) for k, (u, p) in enumerate(zip(v._prev, v._partials)) if p is not None and k not in steps]


def _behind(root: Value) -> list[Value]:
    """The order of `topological`, without the leaves that stand for plain numbers."""
    order: list[Value] = []
    seen = set()
    stack = [(root, False)]
    while stack:
        v, inputs_done = stack.pop()
        if inputs_done:
            order.append(v)
        elif id(v) not in seen:
            seen.add(id(v))
            stack.append((v, True))
            inputs = list(zip(v._prev, v._partials)) if v._partials else [(u, 0.0) for u in v._prev]
            stack += [(u, False) for u, partial in reversed(inputs) if partial is not None]
    return order
