"""Regions of a tape in LLVM text: a loop stays a loop, a choice becomes selects or a branch.

For rows, each lane of a vector is a row. `t.live` has the lanes that are inside of the loops and arms around: a loop with a
condition goes on while one of them does, and keeps the values of those that are done; an arm that is too long for selects is
skipped where no lane needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.compile.llvm import arrays
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.nested import Nested
from micrograd.ops import OPS
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import INPUT, SOURCES, STACK, Choose, Loop, Projection, Region, Structural, Tape

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
        t.results[place] = _Loop(t, op, [value(t, a) for a in args], t.decided.bodies[place]).write()
    elif isinstance(op, Choose):
        operands = [value(t, a) for a in args[1:]]
        t.results[place] = _choose(t, op, t.condition(args[0]), operands, t.decided.bodies[place])
    elif op is STACK:
        t.arrays[place] = arrays.stack(t, t.memory, [value(t, a) if a in t.arrays else a for a in args], args)
    else:
        assert isinstance(op, Projection)
        if op.name == "result":
            keep(t, place, t.results[args[0]][op.number])
        elif op.name == "element":
            keep(t, place, arrays.index(t, t.arrays[args[0]], str(op.number)))
        else:
            t.arrays[place] = _pad(t, t.arrays[args[0]], op.number)


def value(t: Nested, place: int) -> Any:
    """The array at a place, or the name of the number."""
    return t.arrays[place] if place in t.arrays else t.get(place)


def keep(t: Nested, place: int, x: Any) -> None:
    """Note what is at a place: an array, or the name of a number."""
    if isinstance(x, Array):
        t.arrays[place] = x
    else:
        t.names[place] = x


def body(t: Nested, tape: Tape, inputs: Sequence[Any], decided: Decisions) -> list[Any]:
    """Write the body of a region; returns its outputs."""
    around = t.enter(tape, decided)
    for place, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op is INPUT:
            keep(t, place, inputs[args[0]])
        elif op not in SOURCES:
            t.instruction(place)
    found = [value(t, o) for o in tape.outputs]
    t.leave(around)
    return found


def truth(t: Nested, x: str) -> str:
    """A number as a condition."""
    r = t.fresh()
    t.line(f"{r} = fcmp une {t.T} {x}, {t.splat(0.0)}")
    return r


def both(t: Nested, a: str, b: str) -> str:
    """The lanes in which two conditions hold."""
    if not a or not b:
        return a or b
    r = t.fresh()
    t.line(f"{r} = and {t.B} {a}, {b}")
    return r


def any_lane(t: Nested, mask: str) -> str:
    """Whether a condition holds in a lane, as an i1."""
    if t.point:
        return mask
    bits, r = t.fresh(), t.fresh()
    t.line(f"{bits} = bitcast {t.B} {mask} to i{t.width}")
    t.line(f"{r} = icmp ne i{t.width} {bits}, 0")
    return r


def no_lane(t: Nested, mask: str) -> str:
    """The lanes in which a condition does not hold."""
    r = t.fresh()
    t.line(f"{r} = xor {t.B} {mask}, {'true' if t.point else 'splat (i1 true)'}")
    return r


def select(t: Nested, mask: str, a: str, b: str) -> str:
    """One number or the other, lane by lane."""
    if a == b:
        return a
    r = t.fresh()
    t.line(f"{r} = select {t.B} {mask}, {t.T} {a}, {t.T} {b}")
    return r


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
    """What an arm returns, if a live lane needs it; arrays are made in any case."""
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


def _pad(t: Nested, array: Array, length: int) -> Array:
    """The first elements of a static array from one of unknown length, and zeros."""
    p = arrays.room(t, t.memory, length * t.bytes)

    def zero(i: str) -> None:
        to = t.fresh()
        t.line(f"{to} = getelementptr {t.T}, ptr {p}, i64 {i}")
        arrays.store(t, t.splat(0.0), to)

    def one(i: str) -> None:
        x = arrays.index(t, array, i)
        assert isinstance(x, str)
        if not t.point:
            x = select(t, _within(t, i, array.lanes), x, t.splat(0.0))
        to = t.fresh()
        t.line(f"{to} = getelementptr {t.T}, ptr {p}, i64 {i}")
        arrays.store(t, x, to)

    arrays.counted(t, str(length), zero)
    arrays.counted(t, array.length, one)
    return Array("memory", p, (), (length,))


def _within(t: Nested, i: str, lanes: str) -> str:
    """The lanes that have an element i."""
    whole = f"<{t.width} x i64>"
    first, all_lanes, r = t.fresh(), t.fresh(), t.fresh()
    t.line(f"{first} = insertelement {whole} poison, i64 {i}, i64 0")
    t.line(f"{all_lanes} = shufflevector {whole} {first}, {whole} poison, <{t.width} x i32> zeroinitializer")
    t.line(f"{r} = icmp ult {whole} {all_lanes}, {lanes}")
    return r


# ---- loop


class _Loop:
    """One loop, being written."""

    def __init__(self, t: Nested, op: Loop, operands: list[Any], decided: list[Decisions]) -> None:
        self.t, self.op = t, op
        carried, self.invariants, self.over = op.groups(operands)
        self.n = t.label()
        self.ask = op.condition is not None
        self.dynamic = self.ask or op.turns is None
        self.masked = self.dynamic and not t.point
        self.body_decided, *rest = decided
        self.condition_decided = rest[0] if rest else None
        self.init = [self._own(x) if isinstance(x, Array) else x for x in carried]
        self.count = str(op.turns) if op.turns is not None else "" if self.ask else self.over[0].length
        self.lanes = "" if self.ask or op.turns is not None else self.over[0].lanes
        shapes = t.shapes_of(op.body, [*carried, *self.invariants, *(self._inner(a) for a in self.over), "index"])
        self.stacked = [shapes[o] for o in op.body.outputs[op.carried :]]
        self.buffers: list[tuple[str, str]] = []  # of each stacked array: its buffer, if it grows; its pointer, if not

    def _inner(self, array: Array) -> Any:
        return array._replace(shape=array.shape[1:]) if array.shape[1:] else "number"

    def _own(self, array: Array) -> Array:
        """A carried array has memory of its own, which is written anew in each turn."""
        p = arrays.room(self.t, self.t.memory, arrays.size_of(array.shape) * self.t.bytes)
        arrays.copy(self.t, array, p)
        return Array("memory", p, (), array.shape)

    def write(self) -> list[Any]:
        """The results: the carried values, then the arrays."""
        t, op, n = self.t, self.op, self.n
        if op.turns == 0:
            length = None if self.dynamic else 0
            empty = [Array("memory", "null", (), (length, *s), "", "0", "zeroinitializer") for s in self.stacked]
            return [*self.init, *empty]
        self._room()
        self.alive = t.live or ("true" if t.point else "splat (i1 true)")
        t.lines += [f"  br label %pre{n}", f"pre{n}:", f"  br label %head{n}", f"head{n}:"]
        self.turn = f"%turn{n}"
        t.line(f"{self.turn} = phi i64 [ 0, %pre{n} ], [ %on{n}, %latch{n} ]")
        carried: list[Any] = []
        for j, x in enumerate(self.init):
            if isinstance(x, Array):
                carried.append(x)
                continue
            t.line(f"%c{n}_{j} = phi {t.T} [ {x}, %pre{n} ], [ %d{n}_{j}, %latch{n} ]")
            carried.append(f"%c{n}_{j}")
        if self.masked and self.ask:
            t.line(f"%alive{n} = phi {t.B} [ {self.alive}, %pre{n} ], [ %still{n}, %latch{n} ]")
            if self.stacked:
                t.line(f"%took{n} = phi <{t.width} x i64> [ zeroinitializer, %pre{n} ], [ %taken{n}, %latch{n} ]")
        top_tested = self.dynamic
        if top_tested:
            results = self._tested(carried)
        else:
            results = self._turn(carried, "")
            t.line(f"%on{n} = add i64 {self.turn}, 1")
            t.line(f"%more{n} = icmp ult i64 %on{n}, {self.count}")
            t.lines += [f"  br i1 %more{n}, label %head{n}, label %exit{n}", f"exit{n}:"]
        return [*results, *self._arrays()]

    def _room(self) -> None:
        """Memory for what is stacked: of a known size, or a buffer that grows."""
        t, op = self.t, self.op
        for shape in self.stacked:
            each = arrays.size_of(shape) * t.bytes
            if op.turns is not None:
                self.buffers.append(("", arrays.room(t, t.memory, op.turns * each)))
            elif self.ask:
                self.buffers.append((arrays.buffer(t, t.memory, arrays.FIRST * each), ""))
            else:
                name, size = arrays.buffer(t, t.memory, arrays.FIRST * each), t.fresh()
                t.line(f"{size} = mul i64 {self.count}, {each}")
                self.buffers.append(("", arrays.grown(t, name, size, "0")))

    def _number(self) -> str:
        """The number of this turn, which for a loop in reverse is counted from the end."""
        t = self.t
        if not self.op.reverse:
            return self.turn
        last, r = t.fresh(), t.fresh()
        t.line(f"{last} = sub i64 {self.count}, 1")
        t.line(f"{r} = sub i64 {last}, {self.turn}")
        return r

    def _inputs(self, carried: list[Any], i: str) -> list[Any]:
        t = self.t
        x = t.fresh()
        t.line(f"{x} = uitofp i64 {i} to {t.scalar}")
        number = x if t.point else t.broadcast(x)
        return [*carried, *self.invariants, *(arrays.index(t, a, i) for a in self.over), number]

    def _tested(self, carried: list[Any]) -> list[Any]:
        """A loop that may end before each turn."""
        t, op, n = self.t, self.op, self.n
        if self.count:
            t.line(f"%more{n} = icmp ult i64 {self.turn}, {self.count}")
            t.lines += [f"  br i1 %more{n}, label %test{n}, label %exit{n}", f"test{n}:"]
        else:
            t.lines += [f"  br label %test{n}", f"test{n}:"]
        around = t.live
        mask, inputs = "", None
        i = self._number()
        if self.ask:
            assert op.condition is not None and self.condition_decided is not None
            if not t.point:
                t.live = f"%alive{n}"
            inputs = self._inputs(carried, i)
            (holds,) = body(t, op.condition, inputs, self.condition_decided)
            mask = both(t, around if t.point else f"%alive{n}", truth(t, holds))
            if not t.point:
                t.line(f"%still{n} = and {t.B} {mask}, {mask}")
            wanted = any_lane(t, mask)
            t.lines += [f"  br i1 {wanted}, label %body{n}, label %exit{n}", f"body{n}:"]
        elif not t.point:
            mask = both(t, around, _within(t, i, self.lanes))
        t.live = mask if not t.point else around
        self._turn(carried, mask if self.masked else "", i, inputs)
        t.live = around
        t.line(f"%on{n} = add i64 {self.turn}, 1")
        t.lines += [f"  br label %head{n}", f"exit{n}:"]
        return carried

    def _turn(self, carried: list[Any], mask: str, i: str = "", inputs: list[Any] | None = None) -> list[Any]:
        """One turn, up to the block that ends it; returns the carried values behind it."""
        t, op, n = self.t, self.op, self.n
        i = i or self._number()
        found = body(t, op.body, inputs or self._inputs(carried, i), self.body_decided)
        new = list(found[: op.carried])
        for (name, pointer), x, shape in zip(self.buffers, found[op.carried :], self.stacked):
            self._stack(name, pointer, x, shape, i)
        taken = {x.base for x in carried if isinstance(x, Array)}
        for j, x in enumerate(new):  # what is read from another carried array is set aside before that is written
            if isinstance(x, Array) and x.base in taken and x != carried[j]:
                new[j] = self._own(x)
        results: list[Any] = []
        for old, x in zip(carried, new):
            if not isinstance(x, Array):
                results.append(select(t, mask, x, old) if mask else x)
                continue
            if x != old:
                arrays.copy(t, x, old.base, old.base, mask)
            results.append(old)
        t.lines += [f"  br label %latch{n}", f"latch{n}:"]
        for j, x in enumerate(results):
            if not isinstance(x, Array):
                t.line(f"%d{n}_{j} = select i1 true, {t.T} {x}, {t.T} {x}")
        if self.masked and self.ask and self.stacked:
            t.line(f"%one{n} = zext <{t.width} x i1> {mask} to <{t.width} x i64>")
            t.line(f"%taken{n} = add <{t.width} x i64> %took{n}, %one{n}")
        return [x if isinstance(x, Array) else f"%d{n}_{j}" for j, x in enumerate(results)]

    def _stack(self, name: str, pointer: str, x: Any, shape: Any, i: str) -> None:
        t = self.t
        each = arrays.size_of(shape) * t.bytes
        if name:
            more, size, used = t.fresh(), t.fresh(), t.fresh()
            t.line(f"{more} = add i64 {i}, 1")
            t.line(f"{size} = mul i64 {more}, {each}")
            t.line(f"{used} = mul i64 {i}, {each}")
            pointer = self._enough(name, size, used)
        offset, p = t.fresh(), t.fresh()
        t.line(f"{offset} = mul i64 {i}, {each}")
        t.line(f"{p} = getelementptr i8, ptr {pointer}, i64 {offset}")
        if isinstance(x, Array):
            arrays.copy(t, x, p)
        else:
            arrays.store(t, x, p)

    def _enough(self, name: str, size: str, used: str) -> str:
        """A pointer to the buffer, which has so many bytes: it is asked to grow only where it must."""
        t, n = self.t, self.t.label()
        end, has, enough = t.fresh(), t.fresh(), t.fresh()
        t.line(f"{end} = getelementptr i8, ptr {name}, i64 8")
        t.line(f"{has} = load i64, ptr {end}, align 8")
        t.line(f"{enough} = icmp ule i64 {size}, {has}")
        t.lines += [f"  br i1 {enough}, label %there{n}, label %grow{n}", f"grow{n}:"]
        arrays.grown(t, name, size, used)
        t.lines += [f"  br label %there{n}", f"there{n}:"]
        p = t.fresh()
        t.line(f"{p} = load ptr, ptr {name}, align 8")
        return p

    def _arrays(self) -> list[Array]:
        t, op, n = self.t, self.op, self.n
        length = None if self.dynamic else op.turns
        count = "" if not self.dynamic else self.turn if self.ask else self.count
        lanes = "" if not self.masked else f"%took{n}" if self.ask else self.lanes
        found = []
        for (name, pointer), shape in zip(self.buffers, self.stacked):
            if name:
                pointer = t.fresh()
                t.line(f"{pointer} = load ptr, ptr {name}, align 8")
            found.append(Array("memory", pointer, (), (length, *shape), "", count, lanes))
        return found


def decisions_first(t: Nested) -> None:
    """Leave out the lanes for which a guard is known to fail by now: a loop with a condition might not end for them."""
    holds = ""
    for how, a, b, went in t.tape.guards:
        if not (t.is_known(a) and t.is_known(b)):
            continue
        c = t.fresh()
        t.line(f"{c} = {OPS[how].llvm} {t.T} {t.get(a)}, {t.get(b)}")
        holds = both(t, holds, c if went else no_lane(t, c))
    if holds:
        t.live = both(t, t.live, holds)
