"""Reach, and what is done to numbers and to arrays of them alike, while a derivative is written."""

from __future__ import annotations

from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape.builder import Builder
from micrograd.tape.check import NUMBER, Shape
from micrograd.tape.tape import INPUT, PICK, STACK, Tape

Reach = bool | int  # True, or the place of a flag (of an array: of an array of flags)


def is_flag(reach: Reach | None) -> bool:
    """Whether reach depends on the numbers. (As a number, True is the place 1.)"""
    return reach is not None and reach is not True


def single_inputs(tape: Tape) -> Tape:
    """The tape with each input at one place."""
    places = [args[0] for op, args in zip(tape.ops, tape.args) if op is INPUT]
    if len(set(places)) == len(places):
        return tape
    builder = Builder(tape.inputs, tape.params)
    at = builder.copy(tape)
    return builder.finish([at[o] for o in tape.outputs], tape, at)


def inputs_at(tape: Tape) -> dict[int, int]:
    """The place of each input of a body."""
    return {args[0]: i for i, (op, args) in enumerate(zip(tape.ops, tape.args)) if op is INPUT}


def flag(builder: Builder, reach: Reach | None, shape: Shape = NUMBER) -> int:
    """Reach as the place of a flag, or of an array of flags."""
    if reach is None or reach is True:
        return filled(builder, 1.0 if reach else 0.0, shape)
    return reach


def known(builder: Builder, place: int) -> Reach:
    """True, where a flag is the constant 1.0."""
    return True if builder.number(place) == 1.0 else place


def either(builder: Builder, one: Reach | None, two: Reach, shape: Shape = NUMBER) -> Reach:
    """Reached by one way or by the other."""
    if one is True or two is True:
        return True
    if one is None or one == two:
        return two
    if not shape:
        return builder.emit(PICK, (one, builder.const(1.0), two))
    inner = Builder(3)
    here = either(inner, inner.input(0), inner.input(1), shape[1:])
    return builder.loop(inner.finish([int(here)]), over=(one, two), iterations=shape[0])[0]


def filled(builder: Builder, x: float, shape: Shape) -> int:
    """The place of a number, or of an array of it."""
    place = builder.const(x)
    for length in reversed(shape):
        if length is None:
            raise CompileError(
                "a derivative through a list whose length depends on the numbers cannot be compiled here"
            )
        place = builder.emit(STACK, (place,) * length)
    return place


def elementwise(builder: Builder, op: Op, args: tuple[int, ...], shape: Shape) -> int:
    """The array of op over the elements of arrays of one shape."""
    inner = Builder(len(args) + 1)
    inside = tuple([inner.input(k) for k in range(len(args))])
    deeper = shape[1:]
    body = inner.finish([elementwise(inner, op, inside, deeper) if deeper else inner.emit(op, inside)])
    return builder.loop(body, over=args, iterations=shape[0])[0]


def cut(builder: Builder, array: int, length: int) -> int:
    """The first elements of an array, as many as the array `length` has, which came out of a loop with a condition."""
    inner = Builder(3)
    return builder.loop(inner.finish([inner.input(1)]), over=(length, array))[0]
