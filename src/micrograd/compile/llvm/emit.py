"""LLVM IR: one instruction of a tape after the other, as text. chunk.py makes functions of them, build.py machine code."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import Any

from micrograd.compile.llvm import draws, libm
from micrograd.compile.llvm.build import LANES_BYTES, Target, fuses
from micrograd.ops import OPS, Op
from micrograd.tape.builder import Builder, Ref
from micrograd.tape.decisions import decisions
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape

LIBRARY = {op.name: op.llvm[1:] for op in OPS.values() if op.llvm.startswith("@") and not op.llvm.startswith("@llvm.")}


def spelled(op: Op) -> bool:
    """Whether LLVM has the op; the others are expanded."""
    return bool(op.llvm)


def attributes(target: Target) -> str:
    """What LLVM is told of every function."""
    return (
        "attributes #0 = { nounwind alignstack=64 "
        f'"min-legal-vector-width"="{target.bits}" "prefer-vector-width"="{target.bits}" }}'
    )


class Address(str):
    """The line that computes an address, and what it says: a name, the memory, and the bytes from its beginning."""

    name: str
    base: str
    bytes: int

    @classmethod
    def of(cls, name: str, base: str, offset: int) -> Address:
        """Write it."""
        line = cls(f"  {name} = getelementptr i8, ptr {base}, i64 {offset}")
        line.name, line.base, line.bytes = name, base, offset
        return line


class Access(str):
    """The line that loads or stores doubles, and what it says: how many of them, and the name of their address."""

    stores: bool
    doubles: int
    pointer: str

    @classmethod
    def of(cls, text: str, stores: bool, doubles: int, pointer: str) -> Access:
        """Say it of a line."""
        line = cls(text)
        line.stores, line.doubles, line.pointer = stores, doubles, pointer
        return line


def hexadecimal(x: float, float32: bool) -> str:
    """A constant as LLVM reads it exactly."""
    return "0x" + struct.pack(">d", _single(x) if float32 else x).hex().upper()


def _single(x: float) -> float:
    """The nearest number of single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", x))[0])
    except OverflowError:
        return inf if x > 0 else -inf


@cache
def expansion(op: Op) -> Tape:
    """The value of an op as a tape of the table's own operations."""
    builder = Builder(op.arity, 0)
    result = op.value(*(Ref(builder, builder.source(INPUT, k)) for k in range(op.arity)))
    return builder.finish([result.place])


class IRText:
    """The IR of one tape, being written."""

    has_blocks = False  # whether an instruction may end a basic block and begin others

    def __init__(self, tape: Tape, target: Target, reduced: list[bool], point: bool) -> None:
        self.tape, self.target, self.reduced = tape, target, reduced
        self.float32 = target.float32
        self.scalar = "float" if target.float32 else "double"
        self.F = "fast " if target.fastmath else ""  # what is fused is decided on the tape (passes/contract.py)
        self.of_point = point  # whether functions have the bits of eager code, which are those of the interpreter
        self.own: dict[str, None] = {}  # functions with other last bits than the C library's
        self.lane_by_lane: dict[str, None] = {}  # functions that the C library computes lane by lane
        self.fused_sums = not (target.exact or target.fastmath) and fuses()
        self.item = 4 if target.float32 else 8
        self.shape(None if point else target.width)
        self.declared: dict[str, str] = {}
        self.lines: list[str] = []
        self.literals: dict[str, float] = {}  # the constants that were written, by their text
        self.names: dict[Any, str] = {}  # place -> its SSA name in the function that is being written
        self.masks: dict[Any, str] = {}  # place of a comparison -> its i1 name
        self.slots: dict[int, int] = {}  # place -> where it lies in scratch
        self.columns: dict[int, int] = {}  # place, or ~k for output k -> the entry of %table that says where it lies
        self.numbers: dict[int, int] = {}  # place of a constant -> where it lies in @numbers, if a table says so
        self.count = 0
        self.kinds: list[int] = []  # the number of each output among its kind, stored or summed
        counts = {True: 0, False: 0}
        for summed in reduced:
            self.kinds.append(counts[summed])
            counts[summed] += 1
        self.decided = decisions(tape)
        self.one_by_one_calls = (
            False  # whether functions of the C library are called lane by lane, for eager code's bits
        )
        self.masked = False  # whether the function being written is for the last rows, which do not fill a vector

    def begin(self) -> None:
        """Begin a function."""
        self.lines, self.names, self.masks = [], {}, {}

    def end(self, result: str) -> None:
        """End a function, which returns an i32."""
        self.line(f"ret i32 {result}")

    def shape(self, width: int | None, lanes: int = 0) -> None:
        """Write about numbers (None) or vectors of this width from now on, of which the first `lanes` are of interest."""
        self.point, self.width = width is None, width or 1
        self.lanes = lanes or self.width
        self.T = self.scalar if width is None else f"<{width} x {self.scalar}>"
        self.B = "i1" if width is None else f"<{width} x i1>"
        self.S = ("" if width is None else f"v{width}") + ("f32" if self.target.float32 else "f64")
        self.bytes = self.item * self.width
        self.align = min(self.bytes, 64)  # scratch and sums lie at multiples of 64 bytes, whatever the width

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def splat(self, x: float, scalar: str = "") -> str:
        """Write a constant, the same in all lanes, and remember which number it is."""
        scalar = scalar or self.scalar
        written = hexadecimal(x, scalar == "float")
        if not self.point:
            written = f"splat ({scalar} {written})"
        self.literals[written] = _single(x) if scalar == "float" else x
        return written

    # ---- operands

    def address(self, base: str, index: int) -> str:
        p = self.fresh()
        self.lines.append(Address.of(p, base, index))
        return p

    def where(self, place: int) -> int:
        """How many bytes into its memory (scratch, params, inputs, constants, results) the value of a place, or ~k, lies."""
        if place < 0:
            k = ~place
            return k * self.item if self.point else self.kinds[k] * (LANES_BYTES if self.reduced[k] else 8)
        op, args = self.tape.ops[place], self.tape.args[place]
        if op is CONST:
            return self.numbers[place] * self.item
        if op is PARAM:
            return int(args[0]) * self.item
        if op is INPUT:
            return int(args[0]) * (self.item if self.point else 8)
        return self.slots[place] * self.bytes

    def address_of(self, base: str, place: int) -> str:
        """Where the value of a place lies: always the same, or as the table says."""
        if place not in self.columns:
            return self.address(base, self.where(place))
        entry = self.address("%table", 4 * self.columns[place])
        offset, wide, p = self.fresh(), self.fresh(), self.fresh()
        self.line(f"{offset} = load i32, ptr {entry}, align 4")
        self.line(f"{wide} = zext i32 {offset} to i64")
        self.line(f"{p} = getelementptr i8, ptr {base}, i64 {wide}")
        return p

    def load_uniform(self, base: str, place: int) -> str:
        """Read at each use: a broadcast load is part of the instruction that uses it, a long-lived register is not free."""
        p, x = self.address_of(base, place), self.fresh()
        self.line(f"{x} = load {self.scalar}, ptr {p}, align {self.item}")
        return x if self.point else self.broadcast(x)

    def broadcast(self, x: str) -> str:
        """A number in all lanes."""
        first, all_lanes = self.fresh(), self.fresh()
        self.line(f"{first} = insertelement {self.T} poison, {self.scalar} {x}, i64 0")
        self.line(
            f"{all_lanes} = shufflevector {self.T} {first}, {self.T} poison, <{self.width} x i32> zeroinitializer"
        )
        return all_lanes

    def load_input(self, place: int) -> str:
        r = self.fresh()
        if self.point:
            p = self.address_of("%in", place)
            self.line(f"{r} = load {self.T}, ptr {p}, align {self.item}")
            return r
        at, column = self.address_of("%columns", place), self.fresh()
        self.line(f"{column} = load ptr, ptr {at}, align 8")
        return self.load_rows(column, r)

    def load_rows(self, column: str, r: str) -> str:
        """The rows at hand of a column."""
        p = self.fresh()
        self.line(f"{p} = getelementptr {self.scalar}, ptr {column}, i64 %i")
        if not self.masked:
            self.line(f"{r} = load {self.T}, ptr {p}, align {self.item}")
            return r
        declare = f"declare {self.T} @llvm.masked.load.{self.S}.p0(ptr, i32, {self.B}, {self.T})"
        self.declared[declare] = declare
        self.line(
            f"{r} = call {self.T} @llvm.masked.load.{self.S}.p0"
            f"(ptr {p}, i32 {self.item}, {self.B} %mask, {self.T} {self.splat(0.0)})"
        )
        return r

    def get(self, place: Any) -> str:
        """The name of a value in the current function."""
        if place in self.names:
            return self.names[place]
        if place in self.masks:
            return self.number_of(place)
        op = self.tape.ops[place]
        if op is CONST and place not in self.columns:
            return self.splat(self.tape.args[place][0])
        if op is PARAM or op is CONST:
            return self.load_uniform("%params" if op is PARAM else "@numbers", place)
        if op is INPUT:
            self.names[place] = self.load_input(place)
        else:
            p, r = self.address_of("%scratch", place), self.fresh()
            self.line(f"{r} = load {self.T}, ptr {p}, align {self.align}")
            self.names[place] = r
        return self.names[place]

    def number_of(self, place: Any) -> str:
        """A comparison as a number, 1.0 or 0.0."""
        r = self.fresh()
        self.line(f"{r} = select {self.B} {self.masks[place]}, {self.T} {self.splat(1.0)}, {self.T} {self.splat(0.0)}")
        self.names[place] = r
        return r

    def keep(self, place: int, to_be_added: bool) -> None:
        """Store a value in scratch; what is to be added up is 0 in the lanes that have no row."""
        x = self.get(place)
        if to_be_added and self.masked:
            kept = self.fresh()
            self.line(f"{kept} = select {self.B} %keep, {self.T} {x}, {self.T} {self.splat(0.0)}")
            x = kept
        if place in self.columns:
            p = self.address_of("%scratch", place)
        else:  # sources are kept too, for tiles
            p = self.address("%scratch", self.slots[place] * self.bytes)
        self.line(f"store {self.T} {x}, ptr {p}, align {self.align}")

    def condition(self, place: Any) -> str:
        """A value as i1: a comparison of this function as it is, anything else compared with zero."""
        if place not in self.masks:
            r = self.fresh()
            self.line(f"{r} = fcmp une {self.T} {self.get(place)}, {self.splat(0.0)}")
            return r
        return self.masks[place]

    def flag(self, place: Any) -> str | None:
        """A value that is 1.0 or 0.0 as i1; None for any other."""
        if place in self.masks:
            return self.masks[place]
        if place in self.names or self.tape.ops[place] is not CONST:
            return None
        literal = {"1.0": "true", "0.0": "false"}.get(repr(self.tape.args[place][0]))  # -0.0 is another number
        return literal if literal is None or self.point else f"splat (i1 {literal})"

    def select_flags(self, c: str, a: str, b: str) -> str:
        """The flag a where c holds, else b, as `or` and `and`: LLVM takes minutes for a long chain of selects of flags."""
        true, false = (x if self.point else f"splat (i1 {x})" for x in ("true", "false"))
        if (a, b) == (true, false):
            return c
        if a in (true, false) and b in (true, false):
            return a if a == b else self.flags("xor", c, true)
        if a in (true, false):
            return self.flags("or", c, b) if a == true else self.flags("and", self.flags("xor", c, true), b)
        if b in (true, false):
            return self.flags("and", c, a) if b == false else self.flags("or", self.flags("xor", c, true), a)
        r = self.fresh()
        self.line(f"{r} = select {self.B} {c}, {self.B} {a}, {self.B} {b}")
        return r

    def flags(self, how: str, a: str, b: str) -> str:
        """An operation of two flags."""
        r = self.fresh()
        self.line(f"{r} = {how} {self.B} {a}, {b}")
        return r

    # ---- instructions

    def instruction(self, place: int) -> None:
        """Write one instruction; what decides something is rounded as eager code rounds it."""
        with self.rounding([place]):
            self.operate(place, self.tape.ops[place], self.tape.args[place])

    @contextmanager
    def rounding(self, places: Iterable[int]) -> Iterator[None]:
        """Write about these places: what decides something is rounded as in eager code, unless fastmath allows anything."""
        if self.target.fastmath or self.target.exact:
            yield
            return
        self.one_by_one_calls = any(self.decides(p) for p in places)
        yield
        self.one_by_one_calls = False

    def decides(self, place: int) -> bool:
        """Whether a place decides something, and is rounded as eager code rounds it."""
        return place in self.decided.places

    def operate(self, place: Any, op: Op, args: Sequence[Any]) -> None:
        """Write an op over operands that `get` knows; its result can be had by `get(place)` afterwards."""
        r, how = self.fresh(), op.llvm
        if how.startswith("fcmp"):
            a, b = self.get(args[0]), self.get(args[1])
            self.line(f"{r} = {how} {self.T} {a}, {b}")
            self.masks[place] = r
            return
        if how == "select":
            c = self.condition(args[0])
            flags = [self.flag(a) for a in args[1:]]
            if flags[0] is not None and flags[1] is not None:
                self.masks[place] = self.select_flags(c, flags[0], flags[1])
                return
            a, b = self.get(args[1]), self.get(args[2])
            self.line(f"{r} = select {self.B} {c}, {self.T} {a}, {self.T} {b}")
        elif how == "philox":
            r = draws.uniform(self, args)
        elif how == "normal":
            r = draws.normal(self, args)
        elif how == "strict":
            r = self.strict(op, [self.get(a) for a in args])
        elif how.startswith("@llvm."):
            given = ", ".join(f"{self.T} {self.get(a)}" for a in args)
            self.line(f"{r} = call {self.T} {how}.{self.S}({given})")
            declare = f"declare {self.T} {how}.{self.S}({', '.join([self.T] * len(args))})"
            self.declared[declare] = declare
        elif how.startswith("@"):
            r = self.call(how[1:], [self.get(a) for a in args])
        else:
            operands = [self.get(a) for a in args]
            self.line(f"{r} = " + how.format(*operands, T=self.T, F=self.F))
        self.names[place] = r

    @contextmanager
    def in_double(self) -> Iterator[None]:
        """Write about doubles for a while, as many lanes as before."""
        target, scalar, item = self.target, self.scalar, self.item
        width, lanes = None if self.point else self.width, self.lanes
        wide = Target(target.width, False, target.exact, target.fastmath, target.bits)
        self.target, self.scalar, self.item = wide, "double", 8
        self.shape(width, lanes)
        yield
        self.target, self.scalar, self.item = target, scalar, item
        self.shape(width, lanes)

    def strict(self, op: Op, operands: list[str]) -> str:
        """The value of an op in the table's own operations, with eager code's roundings: nothing is contracted."""
        flags, self.F, call, tape = self.F, "", self.fresh(), expansion(op)
        for i, (step, args) in enumerate(zip(tape.ops, tape.args)):
            if step is INPUT:
                self.names[call, i] = operands[args[0]]
            elif step is CONST:
                self.names[call, i] = self.splat(args[0])
            else:
                self.operate((call, i), step, [(call, a) for a in args])
        self.F = flags
        return self.get((call, tape.outputs[0]))

    def call(self, function: str, operands: list[str]) -> str:
        """Call a function of the C library."""
        return libm.call(self, function, operands)

    # ---- results

    def store_output(self, k: int, place: int) -> None:
        x = self.get(place)
        if self.point:
            p = self.address_of("%out", ~k)
            self.line(f"store {self.T} {x}, ptr {p}, align {self.item}")
            return
        if self.reduced[k]:
            self.add_up(self.address_of("%acc", ~k), x)
            return
        at, column, p = self.address_of("%outs", ~k), self.fresh(), self.fresh()
        self.line(f"{column} = load ptr, ptr {at}, align 8")
        self.line(f"{p} = getelementptr {self.scalar}, ptr {column}, i64 %i")
        if not self.masked:
            self.line(f"store {self.T} {x}, ptr {p}, align {self.item}")
            return
        declare = f"declare void @llvm.masked.store.{self.S}.p0({self.T}, ptr, i32, {self.B})"
        self.declared[declare] = declare
        self.line(f"call void @llvm.masked.store.{self.S}.p0({self.T} {x}, ptr {p}, i32 {self.item}, {self.B} %mask)")

    def add_up(self, p: str, x: str) -> None:
        """Add a vector to a sum in memory, which has a fixed number of lanes: row i is added in lane i mod that number."""
        lanes = LANES_BYTES // self.item
        if self.width < lanes:
            low, q = self.fresh(), self.fresh()
            self.line(f"{low} = and i64 %i, {lanes - 1}")
            self.line(f"{q} = getelementptr {self.scalar}, ptr {p}, i64 {low}")
            p = q
        width = min(self.width, lanes)
        T, B, align = f"<{width} x {self.scalar}>", f"<{width} x i1>", min(self.item * width, LANES_BYTES)
        for first in range(0, self.width, width):
            part, keep = self.lanes_of(x, self.T, first, width), "%keep"
            old, total = self.fresh(), self.fresh()
            self.line(f"{old} = load {T}, ptr {p}, align {align}")
            self.line(f"{total} = fadd {self.F}{T} {old}, {part}")
            if self.masked or self.tape.guards:
                keep = self.lanes_of(keep, self.B, first, width)
                new, total = total, self.fresh()
                self.line(f"{total} = select {B} {keep}, {T} {new}, {T} {old}")
            self.line(f"store {T} {total}, ptr {p}, align {align}")

    def lanes_of(self, x: str, kind: str, first: int, count: int) -> str:
        """Some neighbouring lanes of a vector."""
        if count == self.width:
            return x
        r, order = self.fresh(), ", ".join(f"i32 {k}" for k in range(first, first + count))
        self.line(f"{r} = shufflevector {kind} {x}, {kind} poison, <{count} x i32> <{order}>")
        return r

    def guard(self) -> str:
        """Whether all guards hold, as an i1; the lanes where they do."""
        holds = "true" if self.point else "splat (i1 true)"
        for how, a, b, went in self.tape.guards:
            x, y, c = self.get(a), self.get(b), self.fresh()
            self.line(f"{c} = {OPS[how].llvm} {self.T} {x}, {y}")
            if not went:
                n = self.fresh()
                self.line(f"{n} = xor {self.B} {c}, {'true' if self.point else 'splat (i1 true)'}")
                c = n
            both = self.fresh()
            self.line(f"{both} = and {self.B} {holds}, {c}")
            holds = both
        return holds
