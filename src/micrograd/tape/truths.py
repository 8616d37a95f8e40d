"""Of which places only the truth is used: whether a number is 0.0, never how large it is.

Such are the flags of reach in a derivative. A backend may keep one bit of them, and of an array one bit an element.

The conditions of `pick`, `where` and `choose` ask for the truth. An instruction that passes a number on (`pick`, `load`,
`result`, the carried values of a loop) asks for no more than is asked of its result. The truth of a sum is that of its parts
only if none of them is negative, so `bump` passes the question on where it adds such numbers to such an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PICK,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Tape,
)


class Truths(NamedTuple):
    """The places of which only the truth is used; and by the place of a region, the same for its bodies."""

    places: frozenset[int]
    bodies: dict[int, list[Truths]]


NOTHING = Truths(frozenset(), {})


def truths(tape: Tape) -> Truths:
    """The places of a tape of which only the truth is used."""
    if not tape.has_regions():
        return NOTHING
    return _used(tape, set(), _signs(tape, [False] * tape.inputs))


# ---- what is never negative


class _Signs(NamedTuple):
    """The places that are never negative and never nan; and the same for the bodies of regions."""

    places: set[int]
    bodies: dict[int, list[_Signs]]


def _signs(tape: Tape, inputs: Sequence[bool]) -> _Signs:
    found: set[int] = set()
    results: dict[int, set[int]] = {}
    bodies: dict[int, list[_Signs]] = {}
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            holds = (op is CONST and args[0] >= 0.0) or (op is INPUT and inputs[args[0]])
        elif isinstance(op, Region):
            bodies[i], results[i] = _signs_inside(op, [a in found for a in args])
            holds = False
        elif isinstance(op, Projection) and op.name == "result":
            holds = op.number in results[args[0]]
        elif op is PICK:
            holds = args[1] in found and args[2] in found
        elif op is LOAD or isinstance(op, Projection):
            holds = args[0] in found
        elif op is BUMP or op is STORE:
            holds = args[0] in found and args[2] in found
        elif op is STACK:
            holds = all(a in found for a in args)
        else:
            holds = op.llvm.startswith("fcmp")
        if holds:
            found.add(i)
    return _Signs(found, bodies)


def _signs_inside(op: Region, given: list[bool]) -> tuple[list[_Signs], set[int]]:
    """The same for the bodies of a region, and which of its results are never negative."""
    if isinstance(op, Choose):
        bodies = [_signs(body, given[1:]) for body in op.bodies()]
        both = [{k for k, o in enumerate(b.outputs) if o in s.places} for b, s in zip(op.bodies(), bodies)]
        return bodies, both[0] & both[1]
    assert isinstance(op, Loop)
    given = [*given, True]
    while True:  # a carried value is as it is made by the iteration before
        bodies = [_signs(body, given) for body in op.bodies()]
        good = {k for k, o in enumerate(op.body.outputs) if o in bodies[0].places}
        wrong = [k for k in range(op.carried) if given[k] and k not in good]
        if not wrong:
            return bodies, {k for k in good if k >= op.carried or given[k]}
        for k in wrong:
            given[k] = False


# ---- what is asked


def _used(tape: Tape, outputs: set[int], signs: _Signs) -> Truths:
    """The places of which only the truth is used, if that is so for these outputs."""
    # The places of which more than the truth is used:
    more = {*tape.guarded(), *(o for k, o in enumerate(tape.outputs) if k not in outputs)}
    results: dict[int, set[int]] = {}  # place of a region -> the results of which more is used
    bodies: dict[int, list[Truths]] = {}
    for i in range(len(tape) - 1, -1, -1):
        op, args = tape.ops[i], tape.args[i]
        if op in SOURCES:
            continue
        if isinstance(op, Loop):
            bodies[i], asked = _used_inside(op, results.get(i, set()), signs.bodies[i])
            more.update([args[k] for k in asked])
        elif isinstance(op, Choose):
            bodies[i] = [_used(body, set(), s) for body, s in zip(op.bodies(), signs.bodies[i])]
            more.update(args[1:])
        elif op is PICK:
            more.update(args[1:] if i in more else ())
        elif op.llvm == "select":
            more.update(args[1:])
        elif isinstance(op, Projection):
            if i in more and op.name == "result":
                results.setdefault(args[0], set()).add(op.number)
            elif i in more:
                more.add(args[0])
        elif op is LOAD:
            more.update(args if i in more else args[1:])
        elif op is STORE:
            more.update(args if i in more else args[1:2])
        elif op is BUMP:
            passed_on = i not in more and args[0] in signs.places and args[2] in signs.places
            more.update(args[1:2] if passed_on else args)
        elif op is not STACK or i in more:
            more.update(args)
    return Truths(frozenset(range(len(tape))) - more, bodies)


def _used_inside(op: Loop, more: set[int], signs: list[_Signs]) -> tuple[list[Truths], set[int]]:
    """The same for the bodies of a loop, and of which of its operands more than the truth is used."""
    truth = {k for k in range(op.results) if k not in more}
    while True:  # a carried value is used by the next iteration
        bodies = [_used(op.body, truth, signs[0])]
        if op.condition is not None:
            bodies.append(_used(op.condition, set(), signs[1]))
        asked = set()
        for body, used in zip(op.bodies(), bodies):
            asked |= {a[0] for p, (o, a) in enumerate(zip(body.ops, body.args)) if o is INPUT and p not in used.places}
        wrong = {k for k in truth if k < op.carried and k in asked}
        if not wrong:
            return bodies, {k for k in range(op.body.inputs - 1) if k in asked or (k < op.carried and k not in truth)}
        truth -= wrong
