"""Passes: a function tape → tape each, one loop over the instructions, linear in their number.

adjoint    append the reverse sweep: the outputs, then their gradients
tangent    append the forward sweep: the outputs, then their directional derivatives
columns    append a forward sweep for each input: the outputs, then their gradients
expand     write composite ops, lists and primitives in the ops that machines have
simplify   fold constants, drop what has no effect on bits, write each expression once
prune      drop what no output and no guard needs
join       write many guards as one
gather     move each instruction that lets go of an operand to where its operands are ready
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.errors import CompileError
from micrograd.ops import OPS, Op, facts, partials
from micrograd.tape.tape import CONST, INPUT, PARAM, SOURCES, Builder, Ref, Tape

FEW = 2  # readers that are the last ones (see gather)
ADD, MUL, POW = OPS["add"], OPS["mul"], OPS["pow"]


def copy_into(builder: Builder, tape: Tape, once: bool) -> list[int]:
    """Write a tape into a builder, each instruction as it is or (once) only if it is new; returns where each went."""
    at: list[int] = []
    new = builder.tape
    for op, args in zip(tape.ops, tape.args):
        if op is CONST:
            at.append(builder.const(args[0]))
        elif op is INPUT or op is PARAM:
            at.append(builder.source(op, args[0]))
        elif once:
            at.append(builder.emit(op, tuple([at[a] for a in args])))
        else:
            row = tuple([at[a] for a in args])
            at.append(len(new.ops))
            builder.known.setdefault((op, row), len(new.ops))
            new.ops.append(op)
            new.args.append(row)
    return at


def _finish(builder: Builder, tape: Tape, at: list[int], outputs: list[int]) -> Tape:
    new = builder.tape
    new.outputs = outputs
    new.guards = [(how, at[a], at[b], went) for how, a, b, went in tape.guards]
    return new


def _active(tape: Tape, wrt: Sequence[int]) -> list[bool]:
    """Which places depend on one of wrt."""
    active = [False] * len(tape)
    for i in wrt:
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


def adjoint(tape: Tape, wrt: Sequence[int], seeds: Sequence[int] | None = None, exact: bool = False) -> Tape:
    """The tape with, after its outputs, the gradient of each output with respect to the places wrt.

    With `seeds` (a place of the tape for each output) there is one gradient: that of Σ seed · output.
    `exact` adds as backward() adds: in its order, which each output has for itself, and from 0.0 on, for the sign of a zero.
    """
    builder = Builder(tape.inputs, tape.params)
    at = copy_into(builder, tape, once=False)
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
        outputs += [grads[w] if w in grads else builder.const(0.0) for w in wrt]
    return _finish(builder, tape, at, outputs)


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
    at = copy_into(builder, tape, once=False)
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
    return _finish(builder, tape, at, outputs)


def columns(tape: Tape, wrt: Sequence[int]) -> Tape:
    """What `adjoint` gives (the outputs, then for each its gradient), by a forward sweep for each of the places wrt.

    The cheaper way where there are more outputs than places: the slopes are written once, and serve all sweeps.
    """
    builder = Builder(tape.inputs, tape.params)
    at = copy_into(builder, tape, once=False)
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
    return _finish(builder, tape, at, outputs)


def expand(tape: Tape, spelled: Any, fast: bool = False, powers: bool = False) -> Tape:
    """The tape in ops for which `spelled(op)` holds: the others are run, on places, down to those.

    With `powers`, x**2 becomes x*x and the like: faster by far, and off by a rounding at most (so not for exact results).
    """
    builder = Builder(tape.inputs, tape.params, fast)
    at: list[int] = []
    for op, args in zip(tape.ops, tape.args):
        if op in SOURCES:
            at.append(builder.const(args[0]) if op is CONST else builder.source(op, args[0]))
            continue
        row = tuple([at[a] for a in args])
        place = _power(builder, row) if powers and op is POW else None
        if place is None:
            place = (
                builder.emit(op, row)
                if spelled(op)
                else _expanded(builder, op, [Ref(builder, a) for a in row], spelled).place
            )
        at.append(place)
    return _finish(builder, tape, at, [at[o] for o in tape.outputs])


def _power(builder: Builder, row: tuple[int, ...]) -> int | None:
    """A small whole power as products; None for any other."""
    x, exponent = row[0], builder.number(row[1])
    if exponent == -1.0:
        return builder.emit(OPS["div"], (builder.const(1.0), x))
    if exponent not in (2.0, 3.0, 4.0):
        return None
    square = builder.emit(MUL, (x, x))
    return square if exponent == 2.0 else builder.emit(MUL, (square, x if exponent == 3.0 else square))


class _Expanding(Ref):
    """A Ref that expands what it meets."""

    __slots__ = ("spelled",)

    def __init__(self, builder: Builder, place: int, spelled: Any) -> None:
        super().__init__(builder, place)
        self.spelled = spelled

    def _apply(self, op: Op, args: Any) -> Ref:
        operands = [Ref(self.builder, self.builder.place(a)) for a in (args[0] if op.arity < 0 else args)]
        return _expanded(self.builder, op, operands, self.spelled)


def _expanded(builder: Builder, op: Op, refs: list[Ref], spelled: Any) -> Ref:
    if spelled(op):
        return Ref(builder, builder.emit(op, tuple([r.place for r in refs])))
    inner = [_Expanding(builder, r.place, spelled) for r in refs]
    try:
        result = op.value(inner) if op.arity < 0 else op.value(*inner)
        return _Expanding(builder, builder.place(result), spelled)
    except (TypeError, AttributeError, ValueError) as reason:
        raise CompileError(
            f"the primitive {op.name} cannot be compiled: {reason}\n"
            "  Its value is run on places of a tape, not on floats.\n"
            "  Write it with operators and the functions of micrograd.math."
        ) from None


def check_primitives(tape: Tape, inputs: Sequence[int], spelled: Any) -> None:
    """Raise CompileError where a primitive cannot be compiled, or a partial on the way to these inputs or to a param."""
    active = connected(tape, inputs)
    kinds = {
        (op, tuple([active[a] for a in args]))
        for op, args in zip(tape.ops, tape.args)
        if op not in SOURCES and OPS.get(op.name) is not op
    }
    for op, wanted in kinds:
        builder = Builder(len(wanted), 0)
        args = tuple([builder.source(INPUT, k) for k in range(len(wanted))])
        result = _expanded(builder, op, [Ref(builder, a) for a in args], spelled)
        if any(wanted):
            slopes_of(builder, op, args, result.place, list(wanted))


def simplify(tape: Tape, fast: bool = False) -> Tape:
    """The tape with constants folded and each expression written once."""
    builder = Builder(tape.inputs, tape.params, fast)
    at = copy_into(builder, tape, once=True)
    return _finish(builder, tape, at, [at[o] for o in tape.outputs])


def prune(tape: Tape) -> Tape:
    """The tape without what no output and no guard needs."""
    needed = [False] * len(tape)
    for i in [*tape.outputs, *(p for _, a, b, _ in tape.guards for p in (a, b))]:
        needed[i] = True
    for i in range(len(tape) - 1, -1, -1):
        if needed[i] and tape.ops[i] not in SOURCES:
            for a in tape.args[i]:
                needed[a] = True
    new = Tape(tape.inputs, tape.params)
    at = [-1] * len(tape)
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if needed[i]:
            at[i] = len(new.ops)
            new.ops.append(op)
            new.args.append(args if op in SOURCES else tuple([at[a] for a in args]))
    new.outputs = [at[o] for o in tape.outputs]
    new.guards = [(how, at[a], at[b], went) for how, a, b, went in tape.guards]
    return new


def join(tape: Tape) -> Tape:
    """The tape with one guard in place of all: how many comparisons are true that should be, less those that should not.

    A guard becomes two instructions, behind those that it compares: code is cut between instructions.
    """
    due: dict[int, list[Any]] = {}
    for how, a, b, went in tape.guards:
        due.setdefault(max(a, b), []).append((OPS[how], a, b, went))
    new = Tape(tape.inputs, tape.params)
    total = new.append(CONST, 0.0)
    all_true = new.append(CONST, float(sum([went for *_, went in tape.guards])))
    at: list[int] = []
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        at.append(new.append(op, *(args if op in SOURCES else [at[a] for a in args])))
        for compare, a, b, went in due.get(i, ()):
            total = new.append(ADD if went else OPS["sub"], total, new.append(compare, at[a], at[b]))
    new.outputs = [at[o] for o in tape.outputs]
    new.guards = [("eq", total, all_true, True)]
    return new


def gather(tape: Tape) -> Tape:
    """The tape in an order that keeps fewer values in use: the last to read a value do so as soon as they can.

    A graph is written down result by result, so that the sums of a reverse sweep, one for each input, come one after the
    other and each reads values of all the sweep. Here they grow together, while those values are at hand.
    """
    different = dict.fromkeys  # a set would be in another order for each turn of a loop
    count = len(tape)
    readers: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count  # operands that are not there yet
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op not in SOURCES:
            for a in different(args):
                readers[a].append(i)
                missing[i] += 1
    left = [len(r) for r in readers]  # readers to come
    waiting = list(left)  # those of them that miss an operand
    for i in [*tape.outputs, *(p for _, a, b, _ in tape.guards for p in (a, b))]:
        left[i] += count  # is never let go of
    order: list[int] = []
    done = [False] * count
    ready: list[int] = []  # the newest first, and of those the readers of the value just made

    def let_go(a: int) -> None:
        if left[a] <= FEW and not waiting[a] and tape.ops[a] not in SOURCES:
            ready.extend([r for r in readers[a] if not done[r]])

    for first in range(count):
        ready.append(first)
        while ready:
            i = ready.pop()
            if done[i] or missing[i]:
                continue
            done[i] = True
            order.append(i)
            for a in () if tape.ops[i] in SOURCES else different(tape.args[i]):
                left[a] -= 1
                let_go(a)
            for r in readers[i]:
                missing[r] -= 1
                if not missing[r]:
                    for a in different(tape.args[r]):
                        waiting[a] -= 1
                        let_go(a)
    new = Tape(tape.inputs, tape.params)
    at = [-1] * count
    for place, i in enumerate(order):
        at[i] = place
        new.ops.append(tape.ops[i])
        new.args.append(tape.args[i] if tape.ops[i] in SOURCES else tuple([at[a] for a in tape.args[i]]))
    new.outputs = [at[o] for o in tape.outputs]
    new.guards = [(how, at[a], at[b], went) for how, a, b, went in tape.guards]
    return new
