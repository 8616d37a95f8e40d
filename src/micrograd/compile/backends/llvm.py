"""LLVM: a tape as IR text, compiled in this process by llvmlite.

One function serves a point (width 1) or a batch (rows in the lanes of SIMD vectors, several rows an instruction). Long tapes
are cut into functions of bounded size that hand values on through a scratch memory, since some of LLVM's passes take more
than linear time in the length of a function.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import threading
from functools import cache
from typing import Any

from micrograd.compile import cache as cache_file
from micrograd.compile.backends import inline
from micrograd.compile.tape import CONST, INPUT, PARAM, Tape
from micrograd.errors import CompileError
from micrograd.ops import OPS, Op

LIBRARY = {op.name: op.llvm[1:] for op in OPS.values() if op.llvm.startswith("@") and not op.llvm.startswith("@llvm.")}
OURS = ("mg_mod", "mg_floordiv")  # in _ops.h, over doubles alone

# Instructions a function. LLVM's time per instruction was flat up to 2,000 and doubled at 20,000; of a long tape, pieces of
# 250 compiled in two thirds of the time of 1,000 (13 and 20 s for 188,000 instructions), and ran as fast.
CHUNK, SMALL_CHUNK, LONG = 2000, 250, 20_000

PAIRED_SUMS = 32  # with as many sums over rows, two vectors are taken at a time (see _pair)

_lock = threading.Lock()


def after_fork() -> None:
    """The lock may have been taken by a thread that this process does not have."""
    global _lock
    _lock = threading.Lock()


def spelled(op: Op) -> bool:
    """Whether LLVM has the op; the others are expanded."""
    return bool(op.llvm)


@cache
def vector_functions() -> Any:
    """glibc's vector math library, or None."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def vector_name(function: str, operands: int, bits: int, single: bool) -> str | None:
    """What libmvec calls this function for vectors of so many bits; None where it has none."""
    library = vector_functions()
    letter = {512: "e", 256: "d", 128: "b"}.get(bits)
    if library is None or letter is None:
        return None
    name = f"_ZGV{letter}N{bits // (32 if single else 64)}{'v' * operands}_{function}{'f' if single else ''}"
    return name if hasattr(library, name) else None


class Options:
    """How to compile: lanes, number type, whether bits must be those of eager code."""

    def __init__(
        self, width: int = 1, single: bool = False, exact: bool = False, fast: bool = False, bits: int = 0
    ) -> None:
        self.width, self.single, self.exact, self.fast = width, single, exact, fast
        self.bits = bits or vector_bits()

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two compilations of one tape different."""
        return self.width, self.single, self.exact, self.fast, self.bits


@cache
def vector_bits() -> int:
    """The width of this processor's vectors."""
    features = host_features()
    if features.get("avx512f"):
        return 512
    if features.get("avx2"):
        return 256
    return 128


@cache
def host_features() -> dict[str, bool]:
    """What this processor can do, by LLVM's names."""
    return dict(llvm().get_host_cpu_features())


@cache
def llvm() -> Any:
    """llvmlite's binding, ready for this machine; a clear error where it is missing."""
    try:
        import llvmlite.binding as binding
    except ImportError:
        raise CompileError(
            'compiling needs llvmlite, which is not installed\n  Install it with: pip install "micrograd[jit]"'
        ) from None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if vector_functions() is not None:
        binding.load_library_permanently("libmvec.so.1")
    from micrograd import _engine

    binding.add_symbol("mg_mod", _engine.mod_address)
    binding.add_symbol("mg_floordiv", _engine.floordiv_address)
    return binding


@cache
def host_features_text() -> str:
    """The same, as a text."""
    return ",".join(name for name, there in sorted(host_features().items()) if there)


def hexadecimal(x: float, single: bool) -> str:
    """A constant as LLVM reads it exactly."""
    if single:
        try:
            x = struct.unpack("f", struct.pack("f", x))[0]
        except OverflowError:
            x = float("inf") if x > 0 else float("-inf")
    return "0x" + struct.pack(">d", x).hex().upper()


class Text:
    """The IR of one tape, being written."""

    def __init__(self, tape: Tape, options: Options, reduced: list[bool], point: bool) -> None:
        self.tape, self.o, self.reduced, self.point = tape, options, reduced, point
        self.scalar = "float" if options.single else "double"
        self.T = self.scalar if point else f"<{options.width} x {self.scalar}>"
        self.B = "i1" if point else f"<{options.width} x i1>"
        self.S = ("" if point else f"v{options.width}") + ("f32" if options.single else "f64")
        self.F = "" if options.exact else "fast " if options.fast else "contract "
        self.item = 4 if options.single else 8
        self.bytes = self.item * (1 if point else options.width)
        self.declared: dict[str, str] = {}
        self.lines: list[str] = []
        self.names: dict[int, str] = {}  # place -> its SSA name in the function that is being written
        self.masks: dict[int, str] = {}  # place of a comparison -> its i1 name
        self.slots: dict[int, int] = {}  # place -> where it lies in scratch
        self.count = 0
        self.row = "%i"  # the first row of the vector at hand
        self.kinds: list[int] = []  # the number of each output among its kind, stored or summed
        counts = {True: 0, False: 0}
        for summed in reduced:
            self.kinds.append(counts[summed])
            counts[summed] += 1
        self.masked = False  # whether the function being written is for the last rows, which do not fill a vector

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def splat(self, x: float) -> str:
        literal = hexadecimal(x, self.o.single)
        return literal if self.point else f"splat ({self.scalar} {literal})"

    # ---- operands

    def address(self, base: str, index: int) -> str:
        p = self.fresh()
        self.line(f"{p} = getelementptr i8, ptr {base}, i64 {index}")
        return p

    def load_param(self, k: int) -> str:
        """Read at each use: a broadcast load is part of the instruction that uses it, a long-lived register is not free."""
        p, x = self.address("%params", k * self.item), self.fresh()
        self.line(f"{x} = load {self.scalar}, ptr {p}, align {self.item}")
        if self.point:
            return x
        first, all_lanes = self.fresh(), self.fresh()
        self.line(f"{first} = insertelement {self.T} poison, {self.scalar} {x}, i64 0")
        self.line(
            f"{all_lanes} = shufflevector {self.T} {first}, {self.T} poison, <{self.o.width} x i32> zeroinitializer"
        )
        return all_lanes

    def load_input(self, k: int) -> str:
        r = self.fresh()
        if self.point:
            p = self.address("%in", k * self.item)
            self.line(f"{r} = load {self.T}, ptr {p}, align {self.item}")
            return r
        at, column, p = self.address("%columns", 8 * k), self.fresh(), self.fresh()
        self.line(f"{column} = load ptr, ptr {at}, align 8")
        self.line(f"{p} = getelementptr {self.scalar}, ptr {column}, i64 {self.row}")
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

    def get(self, place: int) -> str:
        """The name of a value in the current function."""
        op = self.tape.ops[place]
        if op is CONST:
            return self.splat(self.tape.args[place][0])
        if op is PARAM:
            return self.load_param(self.tape.args[place][0])
        if place not in self.names:
            if op is INPUT:
                self.names[place] = self.load_input(self.tape.args[place][0])
            elif place in self.masks:
                r = self.fresh()
                self.line(
                    f"{r} = select {self.B} {self.masks[place]}, {self.T} {self.splat(1.0)}, {self.T} {self.splat(0.0)}"
                )
                self.names[place] = r
            else:
                p, r = self.address("%scratch", self.slots[place] * self.bytes), self.fresh()
                self.line(f"{r} = load {self.T}, ptr {p}, align {self.bytes}")
                self.names[place] = r
        return self.names[place]

    def condition(self, place: int) -> str:
        """A value as i1: a comparison of this function as it is, anything else compared with zero."""
        if place not in self.masks:
            r = self.fresh()
            self.line(f"{r} = fcmp une {self.T} {self.get(place)}, {self.splat(0.0)}")
            return r
        return self.masks[place]

    # ---- instructions

    def instruction(self, place: int) -> None:
        op, args = self.tape.ops[place], self.tape.args[place]
        r, how = self.fresh(), op.llvm
        if how.startswith("fcmp"):
            a, b = self.get(args[0]), self.get(args[1])
            self.line(f"{r} = {how} {self.T} {a}, {b}")
            self.masks[place] = r
            return
        if how == "select":
            c = self.condition(args[0])
            a, b = self.get(args[1]), self.get(args[2])
            self.line(f"{r} = select {self.B} {c}, {self.T} {a}, {self.T} {b}")
        elif how.startswith("@llvm."):
            x = self.get(args[0])
            self.line(f"{r} = call {self.T} {how}.{self.S}({self.T} {x})")
            declare = f"declare {self.T} {how}.{self.S}({self.T})"
            self.declared[declare] = declare
        elif how.startswith("@"):
            r = self.call(how[1:], [self.get(a) for a in args])
        else:
            operands = [self.get(a) for a in args]
            self.line(f"{r} = " + how.format(*operands, T=self.T, F=self.F))
        self.names[place] = r

    def call(self, function: str, operands: list[str]) -> str:
        """A function of the C library: of vectors where there is one and bits may differ, else lane by lane."""
        n = len(operands)
        if not self.point and not self.o.exact and function not in OURS:
            if function == "exp" and not self.o.single and self.o.bits >= 256 and host_features().get("fma"):
                return inline.exp(self, operands[0])
            lanes = self.o.bits // (32 if self.o.single else 64)
            vector = vector_name(function, n, self.o.bits, self.o.single)
            if vector is not None and self.o.width % lanes == 0:
                return self.call_vector(vector, operands, lanes)
        scalar = self.scalar if function not in OURS else "double"
        name = function + ("f" if scalar == "float" else "")
        declare = f"declare {scalar} @{name}({', '.join([scalar] * n)}) nounwind willreturn memory(none)"
        self.declared[declare] = declare

        def one(xs: list[str]) -> str:
            if scalar != self.scalar:
                wide = [self.fresh() for _ in xs]
                for w, x in zip(wide, xs):
                    self.line(f"{w} = fpext float {x} to double")
                xs = wide
            r = self.fresh()
            self.line(f"{r} = call {scalar} @{name}({', '.join(f'{scalar} {x}' for x in xs)})")
            if scalar != self.scalar:
                narrow = self.fresh()
                self.line(f"{narrow} = fptrunc double {r} to float")
                return narrow
            return r

        if self.point:
            return one(operands)
        result = "poison"
        for lane in range(self.o.width):
            xs = []
            for x in operands:
                e = self.fresh()
                self.line(f"{e} = extractelement {self.T} {x}, i64 {lane}")
                xs.append(e)
            y, r = one(xs), self.fresh()
            self.line(f"{r} = insertelement {self.T} {result}, {self.scalar} {y}, i64 {lane}")
            result = r
        return result

    def call_vector(self, name: str, operands: list[str], lanes: int) -> str:
        V = f"<{lanes} x {self.scalar}>"
        declare = f"declare {V} @{name}({', '.join([V] * len(operands))}) nounwind willreturn memory(none)"
        self.declared[declare] = declare
        parts = []
        for first in range(0, self.o.width, lanes):
            xs = []
            for x in operands:
                if lanes == self.o.width:
                    xs.append(x)
                    continue
                s = self.fresh()
                indices = ", ".join(f"i32 {i}" for i in range(first, first + lanes))
                self.line(f"{s} = shufflevector {self.T} {x}, {self.T} poison, <{lanes} x i32> <{indices}>")
                xs.append(s)
            r = self.fresh()
            self.line(f"{r} = call {V} @{name}({', '.join(f'{V} {x}' for x in xs)})")
            parts.append(r)
        while len(parts) > 1:  # halves are joined pairwise
            joined = []
            for a, b in zip(parts[::2], parts[1::2]):
                s = self.fresh()
                indices = ", ".join(f"i32 {i}" for i in range(2 * lanes))
                self.line(
                    f"{s} = shufflevector <{lanes} x {self.scalar}> {a}, <{lanes} x {self.scalar}> {b}, "
                    f"<{2 * lanes} x i32> <{indices}>"
                )
                joined.append(s)
            parts, lanes = joined, lanes * 2
        return parts[0]

    # ---- results

    def store_output(self, k: int, place: int) -> None:
        x = self.get(place)
        if self.point:
            p = self.address("%out", k * self.item)
            self.line(f"store {self.T} {x}, ptr {p}, align {self.item}")
            return
        kind = self.kinds[k]
        if self.reduced[k]:
            self.add_up(kind, [x])
            return
        at, column, p = self.address("%outs", 8 * kind), self.fresh(), self.fresh()
        self.line(f"{column} = load ptr, ptr {at}, align 8")
        self.line(f"{p} = getelementptr {self.scalar}, ptr {column}, i64 {self.row}")
        if not self.masked:
            self.line(f"store {self.T} {x}, ptr {p}, align {self.item}")
            return
        declare = f"declare void @llvm.masked.store.{self.S}.p0({self.T}, ptr, i32, {self.B})"
        self.declared[declare] = declare
        self.line(f"call void @llvm.masked.store.{self.S}.p0({self.T} {x}, ptr {p}, i32 {self.item}, {self.B} %mask)")

    def add_up(self, kind: int, xs: list[str]) -> None:
        """Add vectors, one after the other, to a sum in memory."""
        p, total = self.address("%acc", kind * self.bytes), self.fresh()
        self.line(f"{total} = load {self.T}, ptr {p}, align {self.bytes}")
        for x in xs:
            old, total = total, self.fresh()
            self.line(f"{total} = fadd {self.F}{self.T} {old}, {x}")
        if self.masked or self.tape.guards:
            new, total = total, self.fresh()
            self.line(f"{total} = select {self.B} %keep, {self.T} {new}, {self.T} {old}")
        self.line(f"store {self.T} {total}, ptr {p}, align {self.bytes}")

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


# What each piece does, in order: ("do", place), ("guard",) and ("out", k, place).
Step = tuple[Any, ...]


def steps(tape: Tape) -> list[Step]:
    """The instructions, with guards as soon as their operands are there and each result as soon as it is."""
    last_guarded = max([max(a, b) for _, a, b, _ in tape.guards], default=-1)
    waiting: dict[int, list[int]] = {}
    for k, place in enumerate(tape.outputs):
        waiting.setdefault(max(place, last_guarded), []).append(k)
    plan: list[Step] = []
    if tape.guards and last_guarded < 0:
        plan.append(("guard",))
    for place, op in enumerate(tape.ops):
        if op not in (INPUT, PARAM, CONST):
            plan.append(("do", place))
        if place == last_guarded and tape.guards:
            plan.append(("guard",))
        plan += [("out", k, tape.outputs[k]) for k in waiting.get(place, ())]
    return plan


def text(tape: Tape, options: Options, reduced: list[bool] | None = None) -> tuple[str, int]:
    """The IR of a tape of spelled ops, and how many bytes of scratch it needs.

    Without `reduced` it is a point function: int kernel(in, params, out, scratch); with it, a batch function over rows:
    int kernel(columns, params, outs, n, acc, bad, scratch), where each output is stored by row or (reduced) summed into acc.
    """
    point = reduced is None
    t = Text(tape, options, reduced or [], point)
    plan = steps(tape)
    chunk = CHUNK if len(plan) <= LONG else SMALL_CHUNK
    pieces = [plan[i : i + chunk] for i in range(0, len(plan), chunk)] or [[]]
    made_in: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        for step in piece:
            if step[0] == "do":
                made_in[step[1]] = number
    last_in: dict[int, int] = {}  # of values that one piece makes and another uses: the last piece that does
    for number, piece in enumerate(pieces):
        for step in piece:
            used = tape.args[step[1]] if step[0] == "do" else (step[2],) if step[0] == "out" else _guarded(tape)
            for a in used:
                if made_in.get(a, number) != number:
                    last_in[a] = number
    crossing = set(last_in)
    t.slots = _slots(made_in, last_in, len(pieces))
    keep_slot = 1 + max(t.slots.values(), default=-1)  # the lanes that passed the guards, for later pieces
    functions = []
    if point:
        arguments = "ptr %in, ptr %params, ptr %out, ptr %scratch"
    else:
        arguments = "ptr %columns, ptr %params, ptr %outs, i64 %i, i64 %n, ptr %acc, ptr %bad, ptr %scratch"
    attributes = (
        f'nounwind alignstack=64 "min-legal-vector-width"="{options.bits}" "prefer-vector-width"="{options.bits}"'
    )
    guarded_in = next((n for n, piece in enumerate(pieces) if ("guard",) in piece), None)
    in_pairs = reduced is not None and len(pieces) == 1 and not tape.guards and sum(reduced) >= PAIRED_SUMS
    if in_pairs:
        functions.append(_pair(t, plan, arguments))
    for masked in (False, True) if reduced is not None and len(pieces) == 1 else (reduced is not None,):
        if in_pairs and not masked:
            continue
        t.masked = masked
        for number, piece in enumerate(pieces):
            functions.append(_piece(t, number, piece, pieces, arguments, crossing, guarded_in, keep_slot))
    functions.append(_driver(t, len(pieces), arguments, in_pairs))
    body = "\n".join([*functions, *t.declared, f"attributes #0 = {{ {attributes} }}"])
    return body, (keep_slot + 1) * t.bytes if len(pieces) > 1 else 0


def _slots(made_in: dict[int, int], last_in: dict[int, int], pieces: int) -> dict[int, int]:
    """Where in scratch each value lies: a place is given again once the last piece that reads it is past.

    Less memory is more of it in the nearest cache: the 48,000 values of a transformer's step fit into 7,200 places.
    """
    free: list[int] = []
    over: list[list[int]] = [[] for _ in range(pieces + 1)]  # the slots that nobody needs from that piece on
    slots: dict[int, int] = {}
    count = piece = 0
    for place in sorted(last_in):
        while piece < made_in[place]:
            piece += 1
            free += over[piece]
        if free:
            slots[place] = free.pop()
        else:
            slots[place] = count
            count += 1
        over[last_in[place] + 1].append(slots[place])
    return slots


def _guarded(tape: Tape) -> tuple[int, ...]:
    return tuple(p for _, a, b, _ in tape.guards for p in (a, b))


def _piece(
    t: Text,
    number: int,
    piece: list[Step],
    pieces: list[list[Step]],
    arguments: str,
    crossing: set[int],
    guarded_in: int | None,
    keep_slot: int,
) -> str:
    t.lines, t.names, t.masks = [], {}, {}
    W = t.o.width
    name = f"{'last' if t.masked else 'piece'}{number}"
    if not t.point and not t.masked:
        t.line(f"%mask = and <{W} x i1> splat (i1 true), splat (i1 true)")
    elif not t.point:
        lanes = ", ".join(f"i64 {i}" for i in range(W))
        t.line(f"%i0 = insertelement <{W} x i64> poison, i64 %i, i64 0")
        t.line(f"%is = shufflevector <{W} x i64> %i0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%n0 = insertelement <{W} x i64> poison, i64 %n, i64 0")
        t.line(f"%ns = shufflevector <{W} x i64> %n0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%rows = add <{W} x i64> %is, <{lanes}>")
        t.line(f"%mask = icmp ult <{W} x i64> %rows, %ns")
    if not t.point:
        if guarded_in is None or number < guarded_in:
            t.line(f"%keep = and <{W} x i1> %mask, %mask")
        elif number > guarded_in:
            p = t.address("%scratch", keep_slot * t.bytes)
            t.line(f"%kept = load {t.T}, ptr {p}, align {t.bytes}")
            t.line(f"%keep = fcmp une {t.T} %kept, {t.splat(0.0)}")
    status = "0"
    for step in piece:
        if step[0] == "do":
            place = step[1]
            t.instruction(place)
            if place in crossing:
                x = t.get(place)
                p = t.address("%scratch", t.slots[place] * t.bytes)
                t.line(f"store {t.T} {x}, ptr {p}, align {t.bytes}")
        elif step[0] == "out":
            t.store_output(step[1], step[2])
        else:
            holds = t.guard()
            if t.point:
                t.line(f"%failed = xor i1 {holds}, true")
                t.line("%status = zext i1 %failed to i32")
            else:
                t.line(f"%keep = and <{W} x i1> %mask, {holds}")
                t.line(f"%broke = xor <{W} x i1> %mask, %keep")
                cell = max(8, W)
                wide = "%broke"
                if W < 8:
                    indices = ", ".join(f"i32 {i if i < W else W}" for i in range(8))
                    t.line(
                        f"%wide = shufflevector <{W} x i1> %broke, <{W} x i1> zeroinitializer, <8 x i32> <{indices}>"
                    )
                    wide = "%wide"
                t.line(f"%bits = bitcast <{cell} x i1> {wide} to i{cell}")
                t.line(f"%cell = udiv i64 %i, {W}")
                t.line(f"%badp = getelementptr i{cell}, ptr %bad, i64 %cell")
                t.line(f"store i{cell} %bits, ptr %badp, align 1")
                t.line(f"%any = icmp ne i{cell} %bits, 0")
                t.line("%status = zext i1 %any to i32")
                if len(pieces) > 1:
                    p = t.address("%scratch", keep_slot * t.bytes)
                    t.line(f"%keeps = select <{W} x i1> %keep, {t.T} {t.splat(1.0)}, {t.T} {t.splat(0.0)}")
                    t.line(f"store {t.T} %keeps, ptr {p}, align {t.bytes}")
            status = "%status"
    t.line(f"ret i32 {status}")
    return f"define internal i32 @{name}({arguments}) #0 {{\n" + "\n".join(t.lines) + "\n}\n"


def _pair(t: Text, plan: list[Step], arguments: str) -> str:
    """Two vectors of rows in turn, instruction by instruction: each sum over rows is then read and written half as often."""
    t.masked, t.lines = False, []
    t.line(f"%j = add i64 %i, {t.o.width}")
    names: list[dict[int, str]] = [{}, {}]
    masks: list[dict[int, str]] = [{}, {}]
    for step in plan:
        sums = []
        for k, row in enumerate(("%i", "%j")):
            t.names, t.masks, t.row = names[k], masks[k], row
            if step[0] == "do":
                t.instruction(step[1])
            elif t.reduced[step[1]]:
                sums.append(t.get(step[2]))
            else:
                t.store_output(step[1], step[2])
        if sums:
            t.add_up(t.kinds[step[1]], sums)
    t.row = "%i"
    t.line("ret i32 0")
    return f"define internal i32 @pair0({arguments}) #0 {{\n" + "\n".join(t.lines) + "\n}\n"


def _calls(name: str, pieces: int, arguments: str, seen: str, tag: str) -> tuple[str, str]:
    """Calls of all pieces, and the name of what they return together."""
    lines = []
    for number in range(pieces):
        lines.append(f"  %{tag}s{number} = call i32 @{name}{number}({arguments})")
        lines.append(f"  %{tag}o{number} = or i32 {seen}, %{tag}s{number}")
        seen = f"%{tag}o{number}"
    return "\n".join(lines), seen


def _driver(t: Text, pieces: int, arguments: str, in_pairs: bool) -> str:
    """The function that is called: all pieces once for a point, in turn for each vector of rows of a batch.

    The last rows, which do not fill a vector, have a copy of their own with masks; a tape of many pieces has only that copy.
    """
    if t.point:
        calls, seen = _calls("piece", pieces, arguments, "0", "p")
        return f"define i32 @kernel({arguments}) #0 {{\n{calls}\n  ret i32 {seen}\n}}\n"
    W = t.o.width
    full, full_seen = _calls(
        "pair" if in_pairs else "piece" if pieces == 1 else "last", pieces, arguments, "%seen", "p"
    )
    last, last_seen = _calls("last", pieces, arguments.replace("%i,", "%r,"), "%found", "q")
    return f"""define i32 @kernel(ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %scratch) #0 {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %rows ]
  %seen = phi i32 [ 0, %entry ], [ {full_seen}, %rows ]
  %next = add i64 %i, {2 * W if in_pairs else W}
  %more = icmp ule i64 %next, %n
  br i1 %more, label %rows, label %rest
rows:
{full}
  br label %test
rest:
  %r = phi i64 [ %i, %test ], [ %after, %few ]
  %found = phi i32 [ %seen, %test ], [ {last_seen}, %few ]
  %some = icmp ult i64 %r, %n
  br i1 %some, label %few, label %done
few:
{last}
  %after = add i64 %r, {W}
  br label %rest
done:
  ret i32 %found
}}
"""


class Code:
    """Machine code of one kernel, and the engine that keeps it in memory."""

    def __init__(self, engine: Any, address: int, scratch: int) -> None:
        self.engine, self.address, self.scratch = engine, address, scratch


def target_machine(level: int, bits: int) -> Any:
    """LLVM's model of this processor, with vectors of so many bits; a new one, since MCJIT takes possession of it."""
    binding = llvm()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features()
    if bits < 512:
        for name in list(features):
            if name.startswith("avx512") or name == "evex512":
                features[name] = False
    if bits < 256:
        for name in ("avx", "avx2", "fma"):
            features[name] = False
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=level, jit=True
    )


def compile_text(source: str, scratch: int, options: Options, level: int = 2) -> Code:
    """Machine code from IR: out of the cache on disk where it was made before."""
    binding = llvm()
    version = ".".join(map(str, binding.llvm_version_info))
    key = cache_file.name(
        source, version, binding.get_host_cpu_name(), host_features_text(), str(level), str(options.bits)
    )
    kept = cache_file.load(key)
    try:
        with _lock:
            module = binding.parse_assembly(source)
            module.verify()
    except RuntimeError as reason:
        raise CompileError(
            f"LLVM refused the text that was made for it: {reason}\n  This is a bug of micrograd."
        ) from None
    machine = target_machine(level, options.bits)
    if kept is None and level > 0:
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=0))
        manager = binding.create_new_module_pass_manager()
        manager.add_instruction_combine_pass()
        manager.run(module, builder)
    engine = binding.create_mcjit_compiler(module, machine)
    fresh: list[bytes] = []
    engine.set_object_cache(lambda _, code: fresh.append(code), lambda _: kept)
    engine.finalize_object()
    if kept is None and fresh:
        cache_file.save(key, fresh[0])
    return Code(engine, engine.get_function_address("kernel"), scratch)
