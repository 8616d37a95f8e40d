"""hoist: move what is the same in all iterations of a loop out of it, and constants into the bodies of regions.

A value that is made from invariants alone becomes an invariant; a carried value that no iteration changes does too. Carried
values that are equal in all iterations become one. A constant operand of a region is written into its bodies, where it can be
folded. All of it keeps every bit of every result. Done before a derivative is taken, it changes the order in which the parts of
a gradient are added, and so their last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ops import Op
from micrograd.tape.builder import Builder
from micrograd.tape.passes.arrays import single_inputs
from micrograd.tape.tape import CONST, INPUT, SOURCES, Choose, Loop, Projection, Region, Structural, Tape

ROUNDS = 20  # of the search for equal carried values; two or three are the rule


def hoist(tape: Tape) -> Tape:
    """The tape with less work inside of its loops."""
    if not tape.has_regions():
        return tape
    builder = Builder(tape.inputs, tape.params)
    at: list[int] = []
    moved: dict[int, list[int]] = {}  # place of a region on the old tape -> the new places of its results
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            at.append(builder.const(args[0]) if op is CONST else builder.source(op, args[0]))
            continue
        if isinstance(op, Region):
            moved[i] = _region(builder, op, [at[a] for a in args])
            at.append(-1)
        elif isinstance(op, Projection) and args[0] in moved:
            at.append(moved[args[0]][op.number])
        else:
            at.append(builder.again(op, tuple([at[a] for a in args])))
    return builder.finish([at[o] for o in tape.outputs], tape, at)


def _region(builder: Builder, op: Region, args: list[int]) -> list[int]:
    """Write a region; returns the places of its results."""
    if isinstance(op, Choose):
        numbers = [builder.number(a) for a in args[1:]]
        known = {k: x for k, x in enumerate(numbers) if x is not None}
        bodies = [hoist(_with_constants(single_inputs(body), known)) for body in op.bodies()]
        kept = [a for k, a in enumerate(args[1:]) if k not in known]
        choice = Choose(*bodies)
        if builder.number(args[0]) is not None:
            return builder.inline(choice.then if builder.number(args[0]) else choice.otherwise, kept)
        return builder.region(choice, [args[0], *kept])
    assert isinstance(op, Loop)
    return _loop(builder, op, args)


def _with_constants(body: Tape, known: dict[int, float]) -> Tape:
    """A body in which some inputs are these numbers; the others are renumbered."""
    if not known:
        return body
    left = [k for k in range(body.inputs) if k not in known]
    number = {k: n for n, k in enumerate(left)}
    ops: list[Op] = []
    rows: list[tuple[Any, ...]] = []
    for op, args in zip(body.ops, body.args):
        if op is INPUT:
            op, args = (CONST, (known[args[0]],)) if args[0] in known else (INPUT, (number[args[0]],))
        ops.append(op)
        rows.append(args)
    return body.copy(inputs=len(left), ops=tuple(ops), args=tuple(rows))


def _loop(builder: Builder, op: Loop, args: list[int]) -> list[int]:
    carried, invariants, over = (list(group) for group in op.groups(args))
    body, condition = single_inputs(op.body), op.condition and single_inputs(op.condition)
    given = {a[0]: i for i, (o, a) in enumerate(zip(body.ops, body.args)) if o is INPUT}
    # 1. What no iteration changes is an invariant.
    same = [j for j in range(op.carried) if given.get(j) == body.outputs[j]]
    changing = [j for j in range(op.carried) if j not in same]
    order = [*changing, *same, *range(op.carried, body.inputs)]
    number = {k: n for n, k in enumerate(order)}
    outputs = [body.outputs[j] for j in [*changing, *range(op.carried, len(body.outputs))]]
    body = _renumbered(body, number).copy(outputs=tuple(outputs))
    condition = condition and _renumbered(condition, number)
    invariants = [carried[j] for j in same] + invariants
    begin = [carried[j] for j in changing]
    # 2. What is the same constant in all iterations is written inside.
    first = len(begin)
    numbers = [builder.number(a) for a in invariants]
    known = {first + k: x for k, x in enumerate(numbers) if x is not None}
    body = hoist(_with_constants(body, known))
    condition = condition and hoist(_with_constants(condition, known))
    invariants = [a for a, x in zip(invariants, numbers) if x is None]
    # 3. What is equal in all iterations is carried once.
    twins = _twins(body, begin)
    kept = [j for j in range(first) if twins[j] == j]
    if len(kept) < first:
        outputs = [body.outputs[j] for j in [*kept, *range(first, len(body.outputs))]]
        body = _carried_once(body.copy(outputs=tuple(outputs)), kept, twins)
        condition = condition and _carried_once(condition, kept, twins)
        begin = [begin[j] for j in kept]
    # 4. What is made from invariants is made outside.
    bodies, invariants = _outside(builder, [b for b in (body, condition) if b is not None], len(kept), invariants)
    found = builder.loop(
        bodies[0], begin, invariants, over, op.iterations, bodies[1] if condition else None, op.reverse
    )
    results = {j: found[kept.index(twin)] for j, twin in zip(changing, twins)} | {j: carried[j] for j in same}
    return [*(results[j] for j in range(op.carried)), *found[len(kept) :]]


def _twins(body: Tape, begin: list[int]) -> list[int]:
    """For each carried value the first one that is equal to it in all iterations; they begin with these places.

    Values with the same beginning are taken to be equal at first. If the body then makes different ones of them, they are not;
    what is left, when that changes nothing any more, is equal by induction.
    """
    twins = [begin.index(place) for place in begin]
    for _ in range(ROUNDS):
        if all(twin == j for j, twin in enumerate(twins)):
            return twins
        inner = Builder(body.inputs)
        given = [inner.input(twins[k] if k < len(begin) else k) for k in range(body.inputs)]
        made = list(zip(twins, inner.inline(body, given)))
        found = [made.index(pair) for pair in made]
        if found == twins:
            return twins
        twins = found
    return list(range(len(begin)))


def _carried_once(body: Tape, kept: list[int], twins: list[int]) -> Tape:
    """A body, or a condition, whose first inputs are the carried values that are kept, each for all that are equal to it."""
    count, first = len(kept), len(twins)
    inner = Builder(body.inputs - first + count)
    given = [inner.input(kept.index(twins[k]) if k < first else k - first + count) for k in range(body.inputs)]
    return inner.finish(inner.inline(body, given))


def _renumbered(body: Tape, number: dict[int, int]) -> Tape:
    args = [(number[a[0]],) if op is INPUT else a for op, a in zip(body.ops, body.args)]
    return body.copy(args=tuple(args))


def _outside(builder: Builder, bodies: list[Tape], first: int, invariants: list[int]) -> tuple[list[Tape], list[int]]:
    """Write outside what the bodies of a loop make from invariants alone; returns bodies that take it as more invariants."""
    count = len(invariants)
    more: dict[int, int] = {}  # a place outside -> the number of the invariant
    found: list[tuple[Tape, dict[int, int]]] = []
    for body in bodies:
        outside: dict[int, int] = {}  # a place of the body -> where it is outside
        for i, (op, args) in enumerate(zip(body.ops, body.args)):
            if op is CONST:
                continue
            if op is INPUT:
                if first <= args[0] < first + count:
                    outside[i] = invariants[args[0] - first]
            elif not isinstance(op, Structural) and _all_outside(body, args, outside):
                outside[i] = builder.again(op, tuple([_place(builder, body, a, outside) for a in args]))
        read = {a for i, (op, args) in enumerate(zip(body.ops, body.args)) if op not in SOURCES and i not in outside
                for a in args} | set(body.outputs)  # fmt: skip
        moved = {i: place for i, place in outside.items() if body.ops[i] is not INPUT and i in read}
        for place in moved.values():
            more.setdefault(place, count + len(more))
        found.append((body, moved))
    new = [_taking(body, moved, more, first, count) for body, moved in found]
    return new, [*invariants, *more]


def _all_outside(body: Tape, args: Sequence[int], outside: dict[int, int]) -> bool:
    """Whether all operands are known outside, and not all of them as constants."""
    return any(a in outside for a in args) and all(a in outside or body.ops[a] is CONST for a in args)


def _place(builder: Builder, body: Tape, a: int, outside: dict[int, int]) -> int:
    return outside[a] if a in outside else builder.const(body.args[a][0])


def _taking(body: Tape, moved: dict[int, int], more: dict[int, int], first: int, count: int) -> Tape:
    """The body with what was moved as inputs behind its invariants."""
    ops, rows = list(body.ops), list(body.args)
    for i, (op, args) in enumerate(zip(body.ops, body.args)):
        if i in moved:
            ops[i], rows[i] = INPUT, (first + more[moved[i]],)
        elif op is INPUT and args[0] >= first + count:
            rows[i] = (args[0] + len(more),)
    return body.copy(inputs=body.inputs + len(more), ops=tuple(ops), args=tuple(rows))
