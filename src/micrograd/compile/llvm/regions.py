"""Regions of a tape in LLVM text: a loop stays a loop, a choice becomes selects or a branch.

For rows, each lane of a vector is a row. `t.live` has the lanes that are inside of the loops and arms around: a loop with a
condition goes on while one of them does, and keeps the values of those that are done; an arm that is too long for selects is
skipped where no lane needs it.
"""

from __future__ import annotations

from typing import Any

from micrograd.compile.llvm import arrays, indices
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.lanes import any_lane, body, both, keep, lent, no_lane, select, value, within
from micrograd.compile.llvm.loops import LoopText
from micrograd.compile.llvm.nested import Nested
from micrograd.ops import OPS
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import BUMP, LOAD, SOURCES, STACK, Choose, Loop, Projection, Region, Structural, Tape

# Both arms of a choice are computed and one is picked where they cost less than this, in additions. A branch that is taken at
# random costs some 20 cycles, and keeps the processor from looking ahead.
BRANCHED = 60
CALL, DIVISION = 20, 5  # what a function of the C library and a division or root cost, in additions


def cost(tape: Tape) -> float:
    """About how many additions a tape is worth."""
    total = 0.0
    for op in tape.ops:
        if op in SOURCES:
            continue
        if isinstance(op, Loop):
            total += (op.turns if op.turns is not None else 10) * sum(map(cost, op.bodies()))
        elif isinstance(op, Region):
            total += sum(map(cost, op.bodies()))
        elif op.llvm.startswith("fdiv") or op.llvm == "@llvm.sqrt":
            total += DIVISION
        else:
            total += CALL if op.llvm.startswith("@") and not op.llvm.startswith("@llvm.") else 1
    return total


def write(t: Nested, place: int, op: Structural) -> None:
    """Write one instruction whose operands or results are more than numbers."""
    args = t.tape.args[place]
    if isinstance(op, Loop):
        if op.condition is not None and t.is_outermost():
            decisions_first(t)
        t.results[place] = LoopText(t, op, place, t.decided.bodies[place]).write()
    elif isinstance(op, Choose):
        operands = [lent(value(t, a)) for a in args[1:]]
        t.results[place] = _choose(t, op, t.condition(args[0]), operands, t.decided.bodies[place])
    elif op is STACK:
        t.arrays[place] = arrays.stack(t, t.memory, [value(t, a) if a in t.arrays else a for a in args], args)
    elif op is LOAD:
        array = t.arrays[args[0]]
        found = arrays.index(t, array, indices.clamped(t, args[1], array.shape[0]))
        keep(t, place, found._replace(own=None) if isinstance(found, Array) else found)
    elif op is BUMP:
        array = t.arrays[args[0]]
        i = indices.clamped(t, args[1], array.shape[0])
        t.arrays[place] = arrays.bump(t, array, i, value(t, args[2]), t.readers.alone(args[0]))
    else:
        assert isinstance(op, Projection)
        if op.name == "result":
            keep(t, place, t.results[args[0]][op.number])
        elif op.name == "element":
            keep(t, place, arrays.index(t, t.arrays[args[0]], str(op.number)))
        else:
            t.arrays[place] = _pad(t, t.arrays[args[0]], op.number, t.readers.alone(args[0]))


# ---- choose


def _choose(t: Nested, op: Choose, condition: str, operands: list[Any], decided: list[Decisions]) -> list[Any]:
    loops = any(isinstance(inner, Loop) for tape in op.bodies() for inner in tape.ops)
    if not loops and sum(map(cost, op.bodies())) < BRANCHED:
        one, two = (body(t, tape, operands, d) for tape, d in zip(op.bodies(), decided))
        return [_picked(t, condition, x, y) for x, y in zip(one, two)]
    if t.point:
        return _branch(t, op, condition, operands, decided)
    around, found = t.live, []
    for tape, d, mask in zip(op.bodies(), decided, (condition, no_lane(t, condition))):
        t.live = both(t, around, mask)
        found.append(_if_any(t, tape, operands, d))
    t.live = around
    return [_picked(t, condition, x, y) for x, y in zip(*found)]


def _if_any(t: Nested, tape: Tape, operands: list[Any], decided: Decisions) -> list[Any]:
    """Return the results of an arm, computed if a live lane needs them; arrays are made in any case."""
    shapes = t.shapes_of(tape, operands)
    if any(shapes[o] for o in tape.outputs):
        return body(t, tape, operands, decided)
    n, wanted = t.label(), any_lane(t, t.live)
    t.lines += [f"  br label %ask{n}", f"ask{n}:", f"  br i1 {wanted}, label %arm{n}, label %past{n}", f"arm{n}:"]
    found = body(t, tape, operands, decided)
    t.lines += [f"  br label %end{n}", f"end{n}:", f"  br label %past{n}", f"past{n}:"]
    results = []
    for x in found:
        r = t.fresh()
        t.line(f"{r} = phi {t.T} [ {t.splat(0.0)}, %ask{n} ], [ {x}, %end{n} ]")
        results.append(r)
    return results


def _branch(t: Nested, op: Choose, condition: str, operands: list[Any], decided: list[Decisions]) -> list[Any]:
    """For one point: one arm or the other."""
    n = t.label()
    t.line(f"br i1 {condition}, label %then{n}, label %else{n}")
    found = []
    for name, tape, d in zip(("then", "else"), op.bodies(), decided):
        t.lines.append(f"{name}{n}:")
        made = [arrays.in_memory(t, t.memory, x) if isinstance(x, Array) else x for x in body(t, tape, operands, d)]
        t.lines += [f"  br label %{name}end{n}", f"{name}end{n}:", f"  br label %join{n}"]
        found.append(made)
    t.lines.append(f"join{n}:")
    results: list[Any] = []
    for x, y in zip(*found):
        r, is_array = t.fresh(), isinstance(x, Array)
        a, b = (x.base, y.base) if is_array else (x, y)
        t.line(f"{r} = phi {'ptr' if is_array else t.T} [ {a}, %thenend{n} ], [ {b}, %elseend{n} ]")
        results.append(Array("memory", r, (), x.shape) if is_array else r)
    return results


def _picked(t: Nested, condition: str, x: Any, y: Any) -> Any:
    if not isinstance(x, Array):
        return select(t, condition, x, y)
    if x == y:
        return x
    x, y = (arrays.in_memory(t, t.memory, a) for a in (x, y))
    p = arrays.room(t, t.memory, arrays.size_of(x.shape) * t.bytes)
    arrays.copy(t, x, p, y.base, condition)
    return Array("memory", p, (), x.shape)


# ---- pad


def _pad(t: Nested, array: Array, length: int, alone: bool) -> Array:
    """The first elements of a static array from one of unknown length, and zeros."""
    if (
        alone and arrays.overwritable(t, array) and array.room >= length and not array.lanes
    ):  # there is memory behind them
        rest = t.fresh()
        t.line(f"{rest} = sub i64 {length}, {array.length}")

        def behind(i: str) -> None:
            at, to = t.fresh(), t.fresh()
            t.line(f"{at} = add i64 {i}, {array.length}")
            t.line(f"{to} = getelementptr {t.T}, ptr {array.base}, i64 {at}")
            arrays.store(t, t.splat(0.0), to)

        arrays.counted(t, rest, behind)
        return Array("memory", array.base, (), (length,), own=t.live)
    p = arrays.room(t, t.memory, length * t.bytes)

    def zero(i: str) -> None:
        to = t.fresh()
        t.line(f"{to} = getelementptr {t.T}, ptr {p}, i64 {i}")
        arrays.store(t, t.splat(0.0), to)

    def one(i: str) -> None:
        x = arrays.index(t, array, i)
        assert isinstance(x, str)
        if array.lanes:
            x = select(t, within(t, i, array.lanes), x, t.splat(0.0))
        to = t.fresh()
        t.line(f"{to} = getelementptr {t.T}, ptr {p}, i64 {i}")
        arrays.store(t, x, to)

    arrays.counted(t, str(length), zero)
    arrays.counted(t, array.length, one)
    return Array("memory", p, (), (length,), own=t.live)


def decisions_first(t: Nested) -> None:
    """Exclude the lanes in which a guard has already failed: a loop with a condition might never end for them."""
    holds = ""
    for how, a, b, went in t.tape.guards:
        if not (t.is_known(a) and t.is_known(b)):
            continue
        c = t.fresh()
        t.line(f"{c} = {OPS[how].llvm} {t.T} {t.get(a)}, {t.get(b)}")
        holds = both(t, holds, c if went else no_lane(t, c))
    if holds:
        t.live = both(t, t.live, holds)
