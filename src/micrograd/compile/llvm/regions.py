"""Regions of a tape in LLVM text: a loop stays a loop, a choice becomes selects or a branch.

For rows, each lane of a vector is a row. `t.live` has the lanes that are inside of the loops and arms around: a loop with a
condition goes on while one of them does, and keeps the values of those that are done; an arm that is too long for selects is
skipped where no lane needs it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from micrograd.compile.llvm import arrays, cells, indices
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.lanes import any_lane, body, both, keep, lent, no_lane, select, value, within
from micrograd.compile.llvm.loops import LoopText
from micrograd.compile.llvm.nested import Mask, Nested
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import BUMP, LOAD, SOURCES, STACK, STORE, Choose, Loop, Projection, Region, Structural, Tape
from micrograd.tape.truths import Truths


def cost(tape: Tape) -> float:
    """About how many additions a tape is worth."""
    total = 0.0
    for op in tape.ops:
        if op in SOURCES:
            continue
        if isinstance(op, Loop):
            total += (op.iterations if op.iterations is not None else 10) * sum(map(cost, op.bodies()))
        elif isinstance(op, Region):
            total += sum(map(cost, op.bodies()))
        elif op.llvm.startswith("fdiv") or op.llvm == "@llvm.sqrt":
            total += TUNING.division_cost
        else:
            total += TUNING.call_cost if op.llvm.startswith("@") and not op.llvm.startswith("@llvm.") else 1
    return total


def write(t: Nested, place: int, op: Structural) -> None:
    """Write one instruction whose operands or results are more than numbers."""
    args = t.tape.args[place]
    if isinstance(op, Loop):
        if op.condition is not None and t.is_outermost():
            decisions_first(t)
        t.results[place] = LoopText(t, op, place, t.decided.bodies[place], t.truths.bodies[place]).write()
    elif isinstance(op, Choose):
        operands = [lent(value(t, a)) for a in args[1:]]
        known = zip(op.bodies(), t.decided.bodies[place], t.truths.bodies[place])
        arms = [RegionArm(*each, (place, n)) for n, each in enumerate(known)]
        t.results[place] = _choose(t, arms, t.condition(args[0]), operands)
    elif op is STACK:
        t.arrays[place] = arrays.stack(t, t.memory, [value(t, a) if a in t.arrays else a for a in args], args)
    elif op is LOAD:
        array = t.arrays[args[0]]
        found = arrays.index(t, array, indices.clamped(t, args[1], array.shape[0]))
        keep(t, place, found._replace(own=None) if isinstance(found, Array) else found)
    elif op is BUMP:
        array = t.arrays[args[0]]
        i = indices.clamped(t, args[1], array.shape[0])
        x = Mask(t.condition(args[2])) if array.flags else value(t, args[2])
        t.arrays[place] = arrays.bump(t, array, i, x, t.readers.is_last(args[0], place))
    elif op is STORE:
        array = t.arrays[args[0]]
        i = indices.clamped(t, args[1], array.shape[0])
        x = Mask(t.condition(args[2])) if array.flags else value(t, args[2])
        t.arrays[place] = arrays.store(t, array, i, x, t.readers.is_last(args[0], place))
    else:
        assert isinstance(op, Projection)
        if op.name == "result":
            keep(t, place, t.results[args[0]][op.number])
        elif op.name == "element":
            keep(t, place, arrays.index(t, t.arrays[args[0]], str(op.number)))
        else:
            fill = (*t.path, place, -1) not in t.unread
            t.arrays[place] = _pad(t, t.arrays[args[0]], op.number, t.readers.alone(args[0]), fill)


# ---- choose


class RegionArm(NamedTuple):
    """A body of a choice, and what is known of it."""

    tape: Tape
    decided: Decisions
    used: Truths
    inside: tuple[int, int]  # the place of the choice, and which of its bodies this is

    def write(self, t: Nested, operands: list[Any]) -> list[Any]:
        """Write it; returns its outputs."""
        return body(t, self.tape, operands, self.decided, self.used, self.inside)


def _choose(t: Nested, arms: list[RegionArm], condition: str, operands: list[Any]) -> list[Any]:
    loops = any(isinstance(inner, Loop) for arm in arms for inner in arm.tape.ops)
    if not loops and sum(cost(arm.tape) for arm in arms) < TUNING.branch_cost:
        one, two = (arm.write(t, operands) for arm in arms)
        return [_picked(t, condition, x, y) for x, y in zip(one, two)]
    if t.point:
        return _branch(t, arms, condition, operands)
    around, found = t.live, []
    for arm, mask in zip(arms, (condition, no_lane(t, condition))):
        t.live = both(t, around, mask)
        found.append(_if_any(t, arm, operands))
    t.live = around
    return [_picked(t, condition, x, y) for x, y in zip(*found)]


def _if_any(t: Nested, arm: RegionArm, operands: list[Any]) -> list[Any]:
    """Return the results of an arm, computed if a live lane needs them; arrays are made in any case."""
    shapes = t.shapes_of(arm.tape, operands)
    if any(shapes[o] for o in arm.tape.outputs):
        return arm.write(t, operands)
    n, wanted = t.label(), any_lane(t, t.live)
    t.lines += [f"  br label %ask{n}", f"ask{n}:", f"  br i1 {wanted}, label %arm{n}, label %past{n}", f"arm{n}:"]
    found = arm.write(t, operands)
    t.lines += [f"  br label %end{n}", f"end{n}:", f"  br label %past{n}", f"past{n}:"]
    results = []
    for x in found:
        r = t.fresh()
        t.line(f"{r} = phi {t.T} [ {t.splat(0.0)}, %ask{n} ], [ {x}, %end{n} ]")
        results.append(r)
    return results


def _branch(t: Nested, arms: list[RegionArm], condition: str, operands: list[Any]) -> list[Any]:
    """For one point: one arm or the other."""
    n = t.label()
    t.line(f"br i1 {condition}, label %then{n}, label %else{n}")
    found = []
    for name, arm in zip(("then", "else"), arms):
        t.lines.append(f"{name}{n}:")
        made = [arrays.in_memory(t, t.memory, x) if isinstance(x, Array) else x for x in arm.write(t, operands)]
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


def _pad(t: Nested, array: Array, length: int, alone: bool, fill: bool) -> Array:
    """The first elements of a static array from one of unknown length, and (if anybody reads them) zeros."""
    nothing = cells.as_element(t, t.splat(0.0), array.flags)

    def put(base: str, i: str, x: str) -> None:
        to = t.fresh()
        t.line(f"{to} = getelementptr i8, ptr {base}, i64 {arrays.scaled(t, i, cells.cell(t, array.flags))}")
        cells.store(t, x, to)

    if (
        alone and arrays.overwritable(t, array) and array.room >= length and not array.lanes
    ):  # there is memory behind them
        rest = t.fresh()
        t.line(f"{rest} = sub i64 {length}, {array.length}")

        def behind(i: str) -> None:
            at = t.fresh()
            t.line(f"{at} = add i64 {i}, {array.length}")
            put(array.base, at, nothing)

        if fill:
            arrays.counted(t, rest, behind)
        return Array("memory", array.base, (), (length,), own=t.live, flags=array.flags)
    p = arrays.room(t, t.memory, length * cells.cell(t, array.flags))

    def zero(i: str) -> None:
        put(p, i, nothing)

    def one(i: str) -> None:
        x = arrays.index(t, array, i)
        assert isinstance(x, str)
        if array.lanes:
            x = select(t, within(t, i, array.lanes), x, nothing)
        put(p, i, x)

    if fill:
        arrays.counted(t, str(length), zero)
    arrays.counted(t, array.length, one)
    return Array("memory", p, (), (length,), own=t.live, flags=array.flags)


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
