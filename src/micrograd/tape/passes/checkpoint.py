"""checkpoint: a long loop as loops in a loop, so that its adjoint keeps fewer states."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from micrograd.ops import OPS
from micrograd.tape.builder import Builder
from micrograd.tape.check import NUMBER, Shape, shapes
from micrograd.tape.passes.arrays import single_inputs
from micrograd.tape.passes.states import kept
from micrograd.tape.tape import CONST, LOAD, SOURCES, STACK, Loop, Projection, Region, Tape

ADD, MUL = OPS["add"], OPS["mul"]


def checkpoint(tape: Tape, most: int, given: Sequence[Shape] | None = None) -> Tape:
    """The tape in which loops that carry more than `most` numbers, counted over all iterations, are nested loops.

    The adjoint of a loop keeps the carried values of all its iterations. Of a loop in a loop it keeps those of the outer one,
    and one at a time those of the inner one: about 2·√n for n iterations, for one more run of the loop forward. `given` has the
    shapes of the inputs of a body.
    """
    if not tape.has_regions():
        return tape
    builder = Builder(tape.inputs, tape.params)
    found: list[Any] = shapes(tape, given)
    at: list[int] = []
    moved: dict[int, list[int]] = {}
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            at.append(builder.const(args[0]) if op is CONST else builder.source(op, args[0]))
            continue
        row = [at[a] for a in args]
        if isinstance(op, Region):
            inside = _inside(op, [found[a] for a in args])
            op = op.with_bodies([checkpoint(body, most, inside) for body in op.bodies()])
            at.append(-1)
            if isinstance(op, Loop):
                size = sum([prod([n or 1 for n in found[a]]) for a in args[: op.carried]])
                keeps = kept(op, [found[a] for a in args])
                changed = bool(keeps.loops) or any(single_inputs(op.body).ops[k] is LOAD for k in keeps.places)
                moved[i] = builder.region(op, row) if changed else _nested(builder, op, row, most, size)
            else:
                moved[i] = builder.region(op, row)
        elif isinstance(op, Projection) and args[0] in moved:
            at.append(moved[args[0]][op.number])
        else:
            at.append(builder.again(op, tuple(row)))
    return builder.finish([at[o] for o in tape.outputs], tape, at)


def _inside(op: Region, given: list[Shape]) -> list[Shape]:
    """The shapes of the inputs of a region's bodies."""
    if not isinstance(op, Loop):
        return given[1:]
    carried, invariants, arrays = op.groups(given)
    return [*carried, *invariants, *(shape[1:] for shape in arrays), NUMBER]


def _nested(builder: Builder, op: Loop, args: list[int], most: int, size: int) -> list[int]:
    """The results of a loop that carries `size` numbers, as a loop of loops where that saves memory and can be done."""
    iterations = op.iterations or 0
    fits = iterations * size <= most
    if op.condition is not None or op.reverse or op.results > op.carried or fits:
        return builder.region(op, args)
    carried, invariants, arrays = op.groups(args)
    if any(builder.ops[a] is not STACK for a in arrays):  # an array that is not made from numbers cannot be cut
        return builder.region(op, args)
    inner = int(iterations**0.5)
    outer = iterations // inner
    over = [_in_blocks(builder, builder.args[a][: outer * inner], inner) for a in arrays]
    found = builder.loop(_block(op, inner), carried, invariants, over, outer)
    rest = iterations - outer * inner
    if rest:
        over = [builder.emit(STACK, builder.args[a][outer * inner :]) for a in arrays]
        found = builder.loop(_from(op, float(outer * inner)), found, invariants, over, rest)
    return found


def _in_blocks(builder: Builder, places: tuple[int, ...], size: int) -> int:
    """An array, cut into arrays of this size."""
    blocks = [builder.emit(STACK, places[k : k + size]) for k in range(0, len(places), size)]
    return builder.emit(STACK, tuple(blocks))


def _from(op: Loop, start: float) -> Tape:
    """The body of a loop whose iterations are counted from a number on."""
    b = Builder(op.body.inputs)
    given = [b.input(k) for k in range(b.inputs)]
    given[-1] = b.emit(ADD, (given[-1], b.const(start)))
    return b.finish(b.inline(op.body, given))


def _block(op: Loop, iterations: int) -> Tape:
    """A body that runs so many iterations of a loop, beginning at the number of its own iteration times that many."""
    count, numbers = op.body.inputs, op.carried + op.invariants
    inner = Builder(count + 1)
    given = [inner.input(k) for k in range(count + 1)]  # what was given, the first iteration, elements, the iteration
    iteration = inner.emit(ADD, (given[numbers], given[-1]))
    body = inner.finish(inner.inline(op.body, [*given[:numbers], *given[numbers + 1 : -1], iteration]))
    b = Builder(count)
    places = [b.input(k) for k in range(count)]
    start = b.emit(MUL, (places[-1], b.const(float(iterations))))
    invariants, over = [*places[op.carried : numbers], start], places[numbers:-1]
    return b.finish(b.loop(body, places[: op.carried], invariants, over, iterations))
