"""Which places decide something: guards, the conditions of choices and loops, the indices of elements, what jumps.

A product and a sum that are rounded once (fused) differ from eager code in the last bit, and so does a vector function here and
there; a comparison may then go the other way: `ax*by - ay*bx == 0` holds in eager code where both products are the same. So
what decides is computed with the roundings of eager code. So is what `floor` and other functions with jumps read: where eager
code is at the edge of a jump, another rounding would be off by the whole of it. All that is computed from the same places
reads the same numbers.

Beyond the edge of its domain a function is nan: sqrt(x*x - y*y) is 0 in eager code where x is y, and would be nan in half of
such rows if the difference were fused. So the sums and products that such a function reads are not fused, unless they are sums
of squares and the like, which have no difference to lose. Their own operands may be: that is a matter of their last bits.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from micrograd.ops import OPS
from micrograd.tape.tape import BUMP, CONST, INPUT, LOAD, PICK, SOURCES, STORE, Choose, Loop, Projection, Region, Tape


class Decisions(NamedTuple):
    """The places that decide something; by the place of a region, the same for its bodies; and what else is not fused."""

    places: set[int]
    bodies: dict[int, list[Decisions]]
    unfused: Set[int] = frozenset()


NOTHING = Decisions(set(), {})
JUMPS = {
    OPS[name]
    for name in ("floor", "ceil", "round", "trunc", "sign", "floordiv", "mod", "fmod", "remainder", "copysign", "atan2")
}

AT_ZERO = {OPS[name] for name in ("sqrt", "log", "log2", "log10", "pow")}  # functions that are nan below zero
EDGES = AT_ZERO | {OPS[name] for name in ("log1p", "asin", "acos", "acosh", "atanh")}
HANDED_ON = {PICK, *(OPS[name] for name in ("add", "sub", "mul", "div", "neg", "min", "max", "where"))}
INDEXED = {LOAD, STORE, BUMP}  # whose second operand says which element
ADD, MUL = OPS["add"], OPS["mul"]
NOT_NEGATIVE = {OPS[name] for name in ("abs", "exp", "sqrt")}


def decisions(tape: Tape, outputs: set[int] | None = None) -> Decisions:
    """The places of a tape that decide something. `outputs` says which of its outputs do, of the body of a region."""
    if (
        not tape.guards
        and not outputs
        and not any(op is PICK or op in JUMPS or op in INDEXED or isinstance(op, Region) for op in tape.ops)
    ):
        unfused = _before_edges(tape)
        return Decisions(set(), {}, unfused) if unfused else NOTHING
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
        if op in INDEXED:
            found.add(args[1])
        if op in JUMPS:
            found.update(args)
        if i not in found:
            continue
        if isinstance(op, Projection) and op.name == "result":
            results.setdefault(args[0], set()).add(op.number)
        else:
            found.update(args)
    return Decisions(found, bodies, _before_edges(tape))


def _before_edges(tape: Tape) -> set[int]:
    """The sums and products that functions with an edge of their domain read."""
    if not any(op in EDGES for op in tape.ops):
        return set()
    positive: set[int] = set()  # and zero
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if (
            op in NOT_NEGATIVE
            or (op is CONST and args[0] >= 0.0)
            or (op is MUL and args[0] == args[1])
            or ((op is ADD or op is MUL) and positive.issuperset(args))
        ):
            positive.add(i)
    found: set[int] = set()
    for i in range(len(tape) - 1, -1, -1):
        op, args = tape.ops[i], tape.args[i]
        if op in EDGES and not (op in AT_ZERO and args[0] in positive):
            found.add(args[0])
        if i in found and op in HANDED_ON:
            found.update(args)
    return {i for i in found if tape.ops[i] in HANDED_ON}


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
