"""Passes that rewrite instructions: expand, simplify; and the check that a primitive can be compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.errors import CompileError
from micrograd.ops import OPS, Op
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.decisions import Decisions, decisions
from micrograd.tape.passes.derivatives import connected, slopes_of
from micrograd.tape.tape import CONST, INPUT, PICK, SOURCES, Region, Structural, Tape

MUL, POW = OPS["mul"], OPS["pow"]


def expand(tape: Tape, spelled: Any, fast: bool = False, powers: bool = False) -> Tape:
    """The tape in ops for which `spelled(op)` holds: the others are run, on places, down to those.

    With `powers`, x**2 becomes x*x and the like: faster by far, and off by a rounding at most. So it is not done for exact
    results, and not where a guard or a condition is decided by it.
    """
    return _expand(tape, spelled, fast, decisions(tape) if powers else None)


def _expand(tape: Tape, spelled: Any, fast: bool, decided: Decisions | None) -> Tape:
    """The tape or the body of a region expanded; `decided` has the places whose powers stay, None those of all powers."""
    builder = Builder(tape.inputs, tape.params, fast)
    at: list[int] = []
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            at.append(builder.const(args[0]) if op is CONST else builder.source(op, args[0]))
            continue
        row = tuple([at[a] for a in args])
        if op.__class__ is Op and op.like:
            op = OPS[op.like]
            row = row[: op.arity]
        place = _power(builder, row) if decided is not None and op is POW and i not in decided.places else None
        if place is not None:
            at.append(place)
        elif isinstance(op, Region):
            inside = [None, None] if decided is None else decided.bodies[i]
            bodies = [_expand(body, spelled, fast, d) for body, d in zip(op.bodies(), inside)]
            at.append(builder.emit(op.with_bodies(bodies), row))
        elif isinstance(op, Structural) or spelled(op):
            at.append(builder.emit(op, row))
        else:
            at.append(_expanded(builder, op, [Ref(builder, a) for a in row], spelled).place)
    return builder.finish([at[o] for o in tape.outputs], tape, at)


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
    if spelled(op):  # what a rule does with the result is expanded too
        return _Expanding(builder, builder.emit(op, tuple([r.place for r in refs])), spelled)
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
    kinds: set[tuple[Op, tuple[bool, ...]]] = set()
    _primitives(tape, connected(tape, inputs), kinds)
    for op, wanted in kinds:
        builder = Builder(len(wanted))
        args = tuple([builder.source(INPUT, k) for k in range(len(wanted))])
        result = _expanded(builder, op, [Ref(builder, a) for a in args], spelled)
        if any(wanted):
            slopes_of(builder, op, args, result.place, list(wanted))


def _primitives(tape: Tape, active: Sequence[bool], kinds: set[tuple[Op, tuple[bool, ...]]]) -> None:
    """Collect the primitives of a tape, and which of their operands are active; in a body, all are."""
    for op, args in zip(tape.ops, tape.args):
        if isinstance(op, Region):
            for body in op.bodies():
                _primitives(body, [True] * len(body), kinds)
        elif op not in SOURCES and not isinstance(op, Structural) and OPS.get(op.name) is not op and op is not PICK:
            kinds.add((op, tuple([active[a] for a in args])))


def _simplified(op: Op, fast: bool) -> Op:
    """An op; a region with its bodies simplified."""
    return op.with_bodies([simplify(body, fast) for body in op.bodies()]) if isinstance(op, Region) else op


def simplify(tape: Tape, fast: bool = False) -> Tape:
    """The tape with constants folded and each expression written once."""
    builder = Builder(tape.inputs, tape.params, fast)
    ops = [_simplified(op, fast) for op in tape.ops] if tape.has_regions() else tape.ops
    at = builder.copy(tape.copy(ops=tuple(ops)), once=True)
    return builder.finish([at[o] for o in tape.outputs], tape, at)
