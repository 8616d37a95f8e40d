"""Which places decide something: what guards compare, what the conditions of choices and loops are made from, what jumps.

A product and a sum that are rounded once (fused) differ from eager code in the last bit, and so does a vector function here and
there; a comparison may then go the other way: `ax*by - ay*bx == 0` holds in eager code where both products are the same. So
what decides is computed with the roundings of eager code. So is what `floor` and other functions with jumps read: where eager
code is at the edge of a jump, another rounding would be off by the whole of it. All that is computed from the same places
reads the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from micrograd.ops import OPS
from micrograd.tape.tape import INPUT, PICK, SOURCES, Choose, Loop, Projection, Region, Tape


class Decisions(NamedTuple):
    """The places that decide something; and by the place of a region, the same for its bodies."""

    places: set[int]
    bodies: dict[int, list[Decisions]]


NOTHING = Decisions(set(), {})
JUMPS = {
    OPS[name]
    for name in ("floor", "ceil", "round", "trunc", "sign", "floordiv", "mod", "fmod", "remainder", "copysign", "atan2")
}


def decisions(tape: Tape, outputs: set[int] | None = None) -> Decisions:
    """The places of a tape that decide something. `outputs` says which of its outputs do, of the body of a region."""
    if (
        not tape.guards
        and not outputs
        and not any(op is PICK or op in JUMPS or isinstance(op, Region) for op in tape.ops)
    ):
        return NOTHING
    found = set(tape.guarded()) | {tape.outputs[n] for n in outputs or ()}
    bodies: dict[int, list[Decisions]] = {}
    results: dict[int, set[int]] = {}  # place of a region -> its results that decide something
    for i in range(len(tape) - 1, -1, -1):
        op, args = tape.ops[i], tape.args[i]
        if op in SOURCES:
            continue
        if isinstance(op, Region):
            bodies[i], given = _inside(op, results.get(i, set()))
            found.update([args[k] for k in given])
            continue
        if op is PICK:
            found.add(args[0])
        if op in JUMPS:
            found.update(args)
        if i not in found:
            continue
        if isinstance(op, Projection) and op.name == "result":
            results.setdefault(args[0], set()).add(op.number)
        else:
            found.update(args)
    return Decisions(found, bodies)


def _inside(op: Region, wanted: set[int]) -> tuple[list[Decisions], set[int]]:
    """What decides something in the bodies of a region, and which of its operands do."""
    if isinstance(op, Choose):
        bodies = [decisions(body, wanted) for body in op.bodies()]
        return bodies, {0, *(k + 1 for body, inside in zip(op.bodies(), bodies) for k in _inputs(body, inside))}
    assert isinstance(op, Loop)
    while True:  # a carried value that decides something is made in the iteration before
        bodies = [decisions(op.body, wanted)]
        given = _inputs(op.body, bodies[0])
        if op.condition is not None:
            bodies.append(decisions(op.condition, {0}))
            given |= _inputs(op.condition, bodies[1])
        more = wanted | {k for k in given if k < op.carried}
        if more == wanted:
            break
        wanted = more
    given |= {k for k in wanted if k < op.carried}  # without an iteration, the carried values are the operands
    return bodies, given - {op.body.inputs - 1}


def _inputs(body: Tape, inside: Decisions) -> set[int]:
    """The inputs of a body that decide something."""
    return {body.args[p][0] for p in inside.places if body.ops[p] is INPUT}
