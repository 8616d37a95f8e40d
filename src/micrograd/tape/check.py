"""Whether a tape makes sense: operands are earlier places, ops get what they take, arrays and regions fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.tape.tape import (
    BUMP,
    COMPARISONS,
    INPUT,
    LOAD,
    PARAM,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Structural,
    Tape,
)

# The dimensions of an array; () is a number. None: as many as a loop with a condition took iterations.
Shape = tuple[int | None, ...]
NUMBER: Shape = ()


class _Results(list[Shape]):
    """What is at the place of a region: the shapes of its results."""


def check(tape: Tape, inputs: Sequence[Shape] | None = None) -> None:
    """Raise ValueError unless a tape makes sense. The inputs are numbers, unless their shapes are given."""
    shapes(tape, inputs)
    for how, *_ in tape.guards:
        if how not in COMPARISONS:
            raise ValueError(f"guard {how}: a guard is one of {', '.join(COMPARISONS)}")


def shapes(tape: Tape, inputs: Sequence[Shape] | None = None) -> list[Any]:
    """The shape of every place; of a region, the list of its results' shapes."""
    found: list[Any] = []
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            limit = {INPUT: tape.inputs, PARAM: tape.params}.get(op)
            if len(args) != 1 or (limit is not None and not 0 <= args[0] < limit):
                raise ValueError(f"%{i} = {op.name} {args}: no such {op.name}")
            found.append(inputs[args[0]] if op is INPUT and inputs is not None else NUMBER)
            continue
        if op.arity >= 0 and len(args) != op.arity:
            raise ValueError(f"%{i}: {op.name} takes {op.arity} operands, not {len(args)}")
        if not all(0 <= a < i for a in args):
            raise ValueError(f"%{i} = {op.name} {args}: an operand is not an earlier place")
        given = [found[a] for a in args]
        if isinstance(op, Structural):
            found.append(_structural(i, op, given))
            continue
        if any(given):
            raise ValueError(f"%{i}: {op.name} takes numbers, and an operand is an array or a region")
        found.append(NUMBER)
    for place in tape.roots():
        if not 0 <= place < len(tape):
            raise ValueError(f"%{place} is returned or guarded, but there is no such place")
        if isinstance(found[place], _Results) or (found[place] and place in tape.guarded()):
            raise ValueError(f"%{place} is returned or guarded, but is a region or an array")
    return found


def _structural(i: int, op: Structural, given: list[Any]) -> Any:
    if isinstance(op, Projection) and op.name == "pad":
        if len(given) != 1 or given[0] != (None,):
            raise ValueError(f"%{i}: pad takes one array of numbers, of a length that is not known")
        return (op.number,)
    if isinstance(op, Projection):
        if len(given) != 1 or isinstance(given[0], _Results) != (op.name == "result"):
            raise ValueError(f"%{i}: {op.name} takes one {'region' if op.name == 'result' else 'array'}")
        count = len(given[0]) if op.name == "result" else (given[0] or (0,))[0]
        if count is None:
            raise ValueError(f"%{i}: an element of an array whose length is not known; a loop runs over such an array")
        if not 0 <= op.number < count:
            raise ValueError(f"%{i}: there is no {op.name} {op.number}, only {count}")
        return given[0][op.number] if op.name == "result" else given[0][1:]
    if any(isinstance(shape, _Results) for shape in given):
        raise ValueError(f"%{i}: {op.name} takes results of a region, not the region itself")
    if op is LOAD or op is BUMP or op is STORE:
        return _indexed(i, op, given)
    if op is STACK:
        if not given or any(shape != given[0] for shape in given):
            raise ValueError(f"%{i}: stack takes one or more numbers, or arrays of one shape")
        return (len(given), *given[0])
    if isinstance(op, Choose):
        return _choose(i, op, given)
    assert isinstance(op, Loop)
    return _loop(i, op, given)


def _indexed(i: int, op: Structural, given: list[Shape]) -> Shape:
    if len(given) != (2 if op is LOAD else 3) or not given[0] or given[0][0] is None or given[1] != NUMBER:
        raise ValueError(f"%{i}: {op.name} takes an array of known length and the number of an element")
    if op is not LOAD and given[2] != given[0][1:]:
        does = "adds" if op is BUMP else "writes"
        raise ValueError(f"%{i}: {op.name} {does} what is like an element of the array")
    return given[0][1:] if op is LOAD else given[0]


def _body(i: int, op: Region, tape: Tape, given: Sequence[Shape]) -> list[Shape]:
    """The shapes of what a body returns."""
    if tape.guards or tape.params or tape.inputs != len(given):
        raise ValueError(f"%{i}: a body of {op.name} has {len(given)} inputs, and neither params nor guards")
    found = shapes(tape, given)
    return [found[o] for o in tape.outputs]


def _choose(i: int, op: Choose, given: list[Shape]) -> _Results:
    if not given or given[0] != NUMBER:
        raise ValueError(f"%{i}: the first operand of choose is the number that says which")
    then, otherwise = (_body(i, op, body, given[1:]) for body in op.bodies())
    if then != otherwise:
        raise ValueError(f"%{i}: the bodies of choose return different things: {then} and {otherwise}")
    return _Results(then)


def _loop(i: int, op: Loop, given: list[Shape]) -> _Results:
    carried, invariants, arrays = op.groups(given)
    if op.elements != len(arrays) or op.carried > len(given):
        raise ValueError(f"%{i}: the body of this loop has {op.body.inputs} inputs, which does not fit its operands")
    if op.reverse and op.condition is not None:
        raise ValueError(f"%{i}: a loop with a condition does not run in reverse")
    if op.iterations is not None and op.iterations < 0:
        raise ValueError(f"%{i}: a loop of {op.iterations} iterations")
    for shape in arrays:
        if not shape or (op.iterations is not None and shape[0] != op.iterations):
            raise ValueError(
                f"%{i}: a loop of {op.iterations} iterations runs over arrays of {op.iterations}, not of {shape}"
            )
    unknown = bool(arrays) and arrays[0][0] is None
    if op.iterations is None and ((op.condition is None) != unknown or (op.condition is not None and arrays)):
        raise ValueError(f"%{i}: a loop has a number of iterations, a condition, or a first array that says how many")
    inside = [*carried, *invariants, *(shape[1:] for shape in arrays), NUMBER]
    returned = _body(i, op, op.body, inside)
    if returned[: op.carried] != list(carried):
        raise ValueError(f"%{i}: the body of a loop returns the carried values first, of the same shapes")
    if op.condition is not None and _body(i, op, op.condition, inside) != [NUMBER]:
        raise ValueError(f"%{i}: the condition of a loop is one number")
    length = op.iterations if op.condition is None else None  # of what is stacked
    return _Results([*carried, *((length, *shape) for shape in returned[op.carried :])])
