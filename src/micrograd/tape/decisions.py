"""Which places decide something: what guards compare, and what the conditions of choices and loops are made from.

A product and a sum that are rounded once (fused) differ from eager code in the last bit, and a comparison may then go the other
way: `ax*by - ay*bx == 0` holds in eager code where both products are the same. So what decides is computed with the roundings
of eager code. Whatever else is computed from the same places reads the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from micrograd.tape.tape import INPUT, PICK, SOURCES, Choose, Loop, Projection, Region, Tape

BRANCH, GUARD = 1, 2  # what a place decides: a choice, a pick or a loop; or (also) a guard


class Decisions(NamedTuple):
    """For each place that decides something, what; and by place the same for the bodies of a region."""

    places: dict[int, int]
    bodies: dict[int, list[Decisions]]


def decisions(tape: Tape, outputs: dict[int, int] | None = None) -> Decisions:
    """The places of a tape that decide something. `outputs` says which of its outputs do, of the body of a region."""
    if not tape.guards and not outputs and not any(op is PICK or isinstance(op, Region) for op in tape.ops):
        return Decisions({}, {})
    found: dict[int, int] = {}
    bodies: dict[int, list[Decisions]] = {}
    results: dict[int, dict[int, int]] = {}  # place of a region -> its results that decide something

    def mark(places: Iterable[int], level: int) -> None:
        for p in places:
            found[p] = max(found.get(p, 0), level)

    mark(tape.guarded(), GUARD)
    for n, level in (outputs or {}).items():
        mark([tape.outputs[n]], level)
    for i in range(len(tape) - 1, -1, -1):
        op, args = tape.ops[i], tape.args[i]
        if op in SOURCES:
            continue
        if isinstance(op, Region):
            inside, given = _inside(op, results.get(i, {}))
            bodies[i] = inside
            for k, level in given.items():
                mark([args[k]], level)
            if isinstance(op, Choose):
                mark(args[:1], BRANCH)
            continue
        if op is PICK:
            mark(args[:1], BRANCH)
        level = found.get(i, 0)
        if not level:
            continue
        if isinstance(op, Projection) and op.name == "result":
            wanted = results.setdefault(args[0], {})
            wanted[op.number] = max(wanted.get(op.number, 0), level)
        else:
            mark(args, level)
    return Decisions(found, bodies)


def _inside(op: Region, wanted: dict[int, int]) -> tuple[list[Decisions], dict[int, int]]:
    """What decides something in the bodies of a region, and which of its operands do."""
    if isinstance(op, Choose):
        bodies = [decisions(body, wanted) for body in op.bodies()]
        given: dict[int, int] = {}
        for body, inside in zip(op.bodies(), bodies):
            for k, level in _inputs(body, inside).items():
                given[k + 1] = max(given.get(k + 1, 0), level)
        return bodies, given
    assert isinstance(op, Loop)
    wanted = dict(wanted)
    while True:  # a carried value that decides something is made in the turn before
        bodies = [decisions(op.body, wanted)]
        given = _inputs(op.body, bodies[0])
        if op.condition is not None:
            bodies.append(decisions(op.condition, {0: BRANCH}))
            for k, level in _inputs(op.condition, bodies[1]).items():
                given[k] = max(given.get(k, 0), level)
        more = {k: max(level, wanted.get(k, 0)) for k, level in given.items() if k < op.carried}
        if all(wanted.get(k, 0) == level for k, level in more.items()):
            break
        wanted.update(more)
    for k, level in wanted.items():  # without a turn, the carried values are the operands
        if k < op.carried:
            given[k] = max(given.get(k, 0), level)
    given.pop(op.body.inputs - 1, None)
    return bodies, given


def _inputs(body: Tape, inside: Decisions) -> dict[int, int]:
    """The inputs of a body that decide something."""
    return {body.args[p][0]: level for p, level in inside.places.items() if body.ops[p] is INPUT}
