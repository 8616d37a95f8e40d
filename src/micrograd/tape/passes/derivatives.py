"""Derivatives: the reverse sweep (adjoint), the forward sweep (tangent), and a forward sweep for each input (columns)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.errors import CompileError
from micrograd.ops import OPS, Op, facts, partials
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.tape import INPUT, PARAM, SOURCES, Tape

ADD, MUL = OPS["add"], OPS["mul"]


def _active(tape: Tape, wrt: Sequence[int | None]) -> list[bool]:
    """Which places depend on one of wrt."""
    active = [False] * len(tape)
    for i in wrt:
        if i is not None:
            active[i] = True
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op not in SOURCES and any(active[a] for a in args):
            active[i] = True
    return active


def connected(tape: Tape, inputs: Sequence[int]) -> list[bool]:
    """Which places depend on one of these inputs, or on a param."""
    rows = enumerate(zip(tape.ops, tape.args))
    return _active(tape, [i for i, (op, k) in rows if op is PARAM or (op is INPUT and k[0] in inputs)])


def sources(tape: Tape, op: Op, count: int) -> list[int | None]:
    """The place of each input (or param) of a tape; None where it is not used."""
    where: list[int | None] = [None] * count
    for i, (o, args) in enumerate(zip(tape.ops, tape.args)):
        if o is op:
            where[args[0]] = i
    return where


def slopes_of(builder: Builder, op: Op, args: tuple[int, ...], place: int, wanted: list[bool]) -> list[Any]:
    """The partials of one instruction as Refs or numbers; None for those that nobody wants."""
    refs = [Ref(builder, a) for a in args]
    y = Ref(builder, place)
    try:
        if op.arity >= 0:
            return [p(*refs, y) if w else None for p, w in zip(op.partials, wanted)]
        return partials(op, refs, y) if facts(op) else [op.partials[0]()] * len(args)
    except (TypeError, AttributeError, ValueError) as reason:
        raise CompileError(
            f"the partials of the primitive {op.name} cannot be compiled: {reason}\n"
            "  They are run on places of a tape, not on floats.\n"
            "  Write them with operators and the functions of micrograd.math."
        ) from None


def adjoint(tape: Tape, wrt: Sequence[int | None], seeds: Sequence[int] | None = None, exact: bool = False) -> Tape:
    """The tape with, after its outputs, the gradient of each output with respect to the places wrt (0.0 for None).

    With `seeds` (a place of the tape for each output) there is one gradient: that of Σ seed · output.
    `exact` adds as backward() adds: in its order, which each output has for itself, and from 0.0 on, for the sign of a zero.
    """
    builder = Builder(tape.inputs, tape.params)
    at = builder.copy(tape)
    active = _active(tape, wrt)
    outputs = [at[o] for o in tape.outputs]
    if seeds is not None:
        sweeps = [[(o, at[s]) for o, s in zip(tape.outputs, seeds)]]
    else:
        one = builder.const(1.0)
        sweeps = [[(o, one)] for o in tape.outputs]
    for sweep in sweeps:
        grads: dict[int, int] = {}
        for o, seed in sweep:
            grads[o] = builder.emit(ADD, (grads[o], seed)) if o in grads else seed
        last = max(grads, default=-1)
        for i in reversed(_visit(tape, last)) if exact and seeds is None else range(last, -1, -1):
            if i not in grads or not active[i] or tape.ops[i] in SOURCES:
                continue
            args, g = tape.args[i], Ref(builder, grads[i])
            wanted = [active[a] for a in args]
            slopes = slopes_of(builder, tape.ops[i], tuple([at[a] for a in args]), at[i], wanted)
            for a, slope, want in zip(args, slopes, wanted):
                if not want or (slope.__class__ is float and slope == 0.0 and not exact):
                    continue
                part = builder.emit(MUL, (builder.place(slope), g.place))
                if a in grads:
                    part = builder.emit(ADD, (grads[a], part))
                elif exact:
                    part = builder.emit(ADD, (builder.const(0.0), part))
                grads[a] = part
        outputs += [builder.const(0.0) if w is None else grads.get(w, builder.const(0.0)) for w in wrt]
    return builder.finish(outputs, tape, at)


def _visit(tape: Tape, root: int) -> list[int]:
    """The places behind root in the order of engine.topological: a tape of several outputs has the order of the first."""
    order: list[int] = []
    seen = set()
    stack = [(root, False)]
    while stack:
        i, inputs_done = stack.pop()
        if inputs_done:
            order.append(i)
        elif i not in seen:
            seen.add(i)
            stack.append((i, True))
            if tape.ops[i] not in SOURCES:
                stack.extend((a, False) for a in reversed(tape.args[i]))
    return order


def tangent(tape: Tape, wrt: Sequence[int], seeds: Sequence[int]) -> Tape:
    """The tape with, after its outputs, their derivative in the direction seeds (places of the tape, one for each wrt)."""
    builder = Builder(tape.inputs, tape.params)
    at = builder.copy(tape)
    active = _active(tape, wrt)
    moves: dict[int, Any] = {w: Ref(builder, at[s]) for w, s in zip(wrt, seeds)}
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES or not active[i]:
            continue
        wanted = [a in moves for a in args]
        slopes = slopes_of(builder, op, tuple([at[a] for a in args]), at[i], wanted)
        total: Any = None
        for a, slope, want in zip(args, slopes, wanted):
            if want:
                part = slope * moves[a]
                total = part if total is None else total + part
        if total is not None:
            moves[i] = total
    outputs = [at[o] for o in tape.outputs]
    outputs += [builder.place(moves[o]) if o in moves else builder.const(0.0) for o in tape.outputs]
    return builder.finish(outputs, tape, at)


def columns(tape: Tape, wrt: Sequence[int]) -> Tape:
    """What `adjoint` gives (the outputs, then for each its gradient), by a forward sweep for each of the places wrt.

    The cheaper way where there are more outputs than places: the slopes are written once, and serve all sweeps.
    """
    builder = Builder(tape.inputs, tape.params)
    at = builder.copy(tape)
    one, found = Ref(builder, builder.const(1.0)), []
    for w in wrt:
        active = _active(tape, [w])
        moves: dict[int, Ref] = {w: one}
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op in SOURCES or not active[i]:
                continue
            wanted = [a in moves for a in args]
            total: Any = None
            for a, slope in zip(args, slopes_of(builder, op, tuple([at[a] for a in args]), at[i], wanted)):
                if a in moves and not (slope.__class__ is float and slope == 0.0):
                    part = slope * moves[a]
                    total = part if total is None else total + part
            if total is not None:
                moves[i] = total
        found.append(moves)
    outputs = [at[o] for o in tape.outputs]
    outputs += [builder.place(moves[o]) if o in moves else builder.const(0.0) for o in tape.outputs for moves in found]
    return builder.finish(outputs, tape, at)
