"""The LLVM text of the kernels that run rows on a GPU: one thread for each row, then the sums in the CPU's order.

`rows` runs the tape for one row in each thread, and leaves its numbers in memory, column by column. Where results are summed,
`lanes` adds up the rows of each lane of each segment of 256 rows, one after the other, and `halves` adds the lanes of a segment
by halves, and the segments of a block of 2,048 rows in their order. That is the order in which the CPU adds (native/rows.c), so
no bit depends on the device, and there are neither atomic operations nor barriers: each number is written by one thread.
"""

from __future__ import annotations

from typing import NamedTuple

from micrograd.compile.backend import BLOCK, SEGMENT
from micrograd.compile.device import functions, single
from micrograd.compile.llvm import chunk, module
from micrograd.compile.llvm.build import LANES_BYTES, Target
from micrograd.compile.llvm.chunk import Passed
from micrograd.compile.schedule import split
from micrograd.compile.tuning import TUNING
from micrograd.errors import CompileError
from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.tape import SOURCES, Tape

MUL = OPS["mul"]
ARGUMENTS = 4000  # bytes of parameters and columns that are handed over as arguments of a kernel, which may have 4,096
THREADS = 128  # of a thread block; one that a kernel of 255 registers can have five of on a multiprocessor
MOST_LOCAL = 1 << 18  # bytes of memory for one thread; a GPU gives at most 512 kB

READ, WRITTEN = "ptr addrspace(1) noalias readonly", "ptr addrspace(1) noalias"
SPECIAL = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
"""
NUMBER = """  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread = zext i32 %tid to i64
  %group = zext i32 %cta to i64
  %first = mul i64 %group, {threads}
  %i = add i64 %first, %thread"""


class Layout(NamedTuple):
    """How the kernels of a tape lie in memory: what each row leaves, and which of it is summed."""

    tape: Tape  # whose outputs are what a row leaves
    left: tuple[int, ...]  # for each output of the goal: the number that is added,
    right: tuple[int, ...]  # and what it is multiplied by in the same rounding; -1 where it is added as it is
    by_value: bool  # whether parameters and columns are arguments of the kernel, or lie in global memory
    item: int  # bytes of a number


def layout(tape: Tape, float32: bool, exact: bool, reduced: bool) -> Layout:
    """Plan the kernels of a tape. Of many sums of products, as in a network's gradient, each row leaves the factors."""
    if not reduced:
        left, right, kept = tuple(range(len(tape.outputs))), (-1,) * len(tape.outputs), tape
    else:
        used = {a for op, args in zip(tape.ops, tape.args) if op not in SOURCES for a in args} | set(tape.guarded())
        fused = not (exact or tape.guards or tape.has_regions()) and len(tape.outputs) >= TUNING.tiled_sums
        split_up = fused and len(split.steps(tape)) <= TUNING.chunk  # where a CPU adds in tiles (llvm/tiled.py)
        numbers: dict[int, int] = {}
        pairs = []
        for o in tape.outputs:
            alone = tape.ops[o] is MUL and o not in used and tape.outputs.count(o) == 1
            factors = tape.args[o] if split_up and alone else (o,)
            places = [numbers.setdefault(place, len(numbers)) for place in factors]
            pairs.append((places[0], places[1] if len(places) == 2 else -1))
        left, right = (tuple(column) for column in zip(*pairs))
        kept = passes.prune(tape.copy(outputs=tuple(numbers)))
    item = 4 if float32 else 8
    return Layout(kept, left, right, tape.params * item + tape.inputs * 16 <= ARGUMENTS, item)


class Dialect(NamedTuple):
    """What differs between the texts for PTX and for SPIR-V."""

    head: str
    kernel: str  # the calling convention of a kernel
    limit: str  # attributes of a kernel
    number: str  # computes %i, the number of a thread. For OpenCL, threads past the last one do the same as that
    declared: str
    tables: str  # the address space of constant tables
    given: str  # that of parameters, and of the table of columns
    addresses: bool  # whether columns are told by their addresses, or by where they begin in one piece of memory

    def number_below(self, count: str) -> str:
        """The lines that compute %i, where there are `count` of them."""
        return self.number.format(count=count)

    def address(self, text: str) -> str:
        """The type of a pointer into a table."""
        return f"ptr{self.tables} {text}"


PTX = Dialect(
    'target triple = "nvptx64-nvidia-cuda"', "ptx_kernel", f'nounwind "nvvm.maxntid"="{THREADS}"',
    NUMBER.format(threads=THREADS), SPECIAL, "", "", True,
)  # fmt: skip
SPIRV = Dialect(
    'target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"'
    '\ntarget triple = "spirv64v1.2-unknown-unknown"', "spir_kernel", "nounwind",
    "  %g = call spir_func i64 @_Z13get_global_idj(i32 0)\n  %fits = icmp ult i64 %g, {count}\n  %last = sub i64 {count}, 1\n"
    "  %i = select i1 %fits, i64 %g, i64 %last", "declare spir_func i64 @_Z13get_global_idj(i32)",
    " addrspace(2)", " addrspace(1)", False,
)  # fmt: skip


class _Row(module._Regions):
    """The text of a tape for one row: inputs are read from columns, and outputs are stored into columns."""

    def __init__(self, plan: Layout, exact: bool, fastmath: bool, dialect: Dialect) -> None:
        self.dialect = dialect
        super().__init__(plan.tape, Target(1, plan.item == 4, exact, fastmath, 128), [], True)
        self.F = ""  # what is fused is decided on the tape
        self.exact = exact
        self.called: dict[str, None] = {}  # the elementary functions

    def load_input(self, place: int) -> str:
        """Read an input of this row."""
        return self.load_column(str(self.tape.args[place][0]))

    def load_column(self, number: str) -> str:
        """Read the input with this number, an i64 that is known when the code runs."""
        at, base, behind, step, offset, p, r = (self.fresh() for _ in range(7))
        table = f"ptr{self.dialect.given}"
        self.line(f"{at} = getelementptr [2 x i64], {table} %columns, i64 {number}")
        if self.dialect.addresses:
            self.line(f"{base} = load ptr addrspace(1), {table} {at}, align 8")
        else:
            start = self.fresh()
            self.line(f"{start} = load i64, {table} {at}, align 8")
            self.line(f"{base} = getelementptr i8, ptr addrspace(1) %data, i64 {start}")
        self.line(f"{behind} = getelementptr i64, {table} {at}, i64 1")
        self.line(f"{step} = load i64, {table} {behind}, align 8")
        self.line(f"{offset} = mul i64 {step}, %i")
        self.line(f"{p} = getelementptr i8, ptr addrspace(1) {base}, i64 {offset}")
        self.line(f"{r} = load {self.T}, ptr addrspace(1) {p}, align {self.item}, !invariant.load !0")
        return r

    def load_uniform(self, base: str, place: int) -> str:
        """Read a parameter."""
        p, x, table = self.fresh(), self.fresh(), f"ptr{self.dialect.given}"
        self.line(f"{p} = getelementptr i8, {table} {base}, i64 {self.where(place)}")
        self.line(f"{x} = load {self.scalar}, {table} {p}, align {self.item}")
        return x

    def store_output(self, k: int, place: int) -> None:
        """Store an output of this row."""
        x, column, at, p = self.get(place), self.fresh(), self.fresh(), self.fresh()
        self.line(f"{column} = mul i64 %stride, {k}")
        self.line(f"{at} = add i64 {column}, %i")
        self.line(f"{p} = getelementptr {self.scalar}, ptr addrspace(1) %out, i64 {at}")
        self.line(f"store {self.T} {x}, ptr addrspace(1) {p}, align {self.item}")

    def call(self, function: str, operands: list[str]) -> str:
        """Call an elementary function, of which the device has none of its own (functions.py)."""
        self.called[function] = None
        if function == "exp" and self.float32:
            return single.exp(self, operands[0])
        name, needed = functions.needed(function, self.exact, self.dialect.tables)
        self.declared.update({text: text for text in needed})
        if self.float32:
            operands = [self._changed(f"fpext float {x} to double") for x in operands]
        r = self._changed(f"call double @{name}({', '.join(f'double {x}' for x in operands)})")
        return self._changed(f"fptrunc double {r} to float") if self.float32 else r

    def _changed(self, instruction: str) -> str:
        r = self.fresh()
        self.line(f"{r} = {instruction}")
        return r


def text(
    plan: Layout, exact: bool, fastmath: bool, guarded: bool, reduced: bool, dialect: Dialect = PTX
) -> tuple[str, list[str]]:
    """Return the LLVM text of all kernels of a tape, and the elementary functions that it calls."""
    t = _Row(plan, exact, fastmath, dialect)
    passed = Passed(guarded_in=0 if plan.tape.guards else None)
    _, _, body = chunk.function(t, "row", 0, split.steps(plan.tape), passed).partition("\n")
    declared = dict(t.declared)
    if any("@mg_alloc" in line for line in declared):
        raise CompileError(
            "a loop that may take any number of iterations keeps what it computes in each of them, which cannot be done on "
            "a GPU: a thread cannot ask for memory\n"
            "  Give the loop a limit, as in `for _ in range(1000)` with a `break`, or run it on the CPU, without device=."
        )
    if t.scratch > MOST_LOCAL:
        raise CompileError(
            f"one row needs {t.scratch:,} bytes for its lists and for what its loops keep, and a thread of a GPU is given at "
            f"most {MOST_LOCAL:,}\n  Run it on the CPU, without device=."
        )
    for line in [line for line in declared if "@mg_pause" in line]:
        del declared[line]
    if t.tables and not dialect.addresses:
        raise CompileError(
            "a list of constants that a loop reads by its counter cannot be written for OpenCL yet\n"
            "  Pass the list in as an argument, or run it on the CPU, without device=."
        )
    kind, limit = t.scalar, dialect.limit
    arguments = [
        _table(plan, "params", max(1, -(-plan.tape.params * plan.item // 8))),
        _table(plan, "columns", max(1, 2 * plan.tape.inputs)),
    ]
    casts = (
        []
        if plan.by_value or dialect.given
        else [f"  %{x} = addrspacecast ptr addrspace(1) %{x}_at to ptr" for x in NAMES]
    )
    at = "_at" if dialect.given else ""
    bad = "  %status = zext i1 false to i8" if not guarded else "  %status = trunc i32 %failed to i8"
    kept = "" if not guarded else (
        "  %flag = getelementptr i8, ptr addrspace(1) %bad, i64 %i\n  store i8 %status, ptr addrspace(1) %flag, align 1\n"
    )  # fmt: skip
    kernels = [
        dialect.head,
        *t.tables,
        "define internal void @mg_pause() alwaysinline {\n  ret void\n}",
        f"define internal i32 @row(ptr{dialect.given} %columns, ptr{dialect.given} %params, ptr addrspace(1) %data, "
        "ptr addrspace(1) %out, i64 %stride, i64 %i, ptr %scratch) "
        f"alwaysinline nounwind {{\n{body}",
        f"define {dialect.kernel} void @rows({', '.join(arguments)}, i64 %n, ptr addrspace(1) noalias %out, i64 %stride, "
        f"ptr addrspace(1) noalias %bad{'' if dialect.addresses else ', ptr addrspace(1) noalias readonly %data'}) "
        f"{limit} {{\nentry:",
        f"  %scratch = alloca [{max(8, t.scratch)} x i8], align 16",
        *casts,
        dialect.number_below("%n"),
        "  %mine = icmp ult i64 %i, %n\n  br i1 %mine, label %work, label %done\nwork:",
        f"  %failed = call i32 @row(ptr{dialect.given} %columns{at}, ptr{dialect.given} %params{at}, ptr addrspace(1) "
        f"{'null' if dialect.addresses else '%data'}, ptr addrspace(1) %out, i64 %stride, i64 %i, ptr %scratch)",
        bad,
        f"{kept}  br label %done\ndone:\n  ret void\n}}",
    ]
    if reduced:
        kernels += _sums(plan, kind, guarded, dialect, declared)
    return "\n".join([*kernels, *_once(declared), dialect.declared, "!0 = !{}", ""]), [*t.called]


NAMES = ("params", "columns")


def _table(plan: Layout, name: str, words: int) -> str:
    """An argument of the kernel: a table that is handed over, or the address of one."""
    return (
        f"ptr byval([{words} x i64]) align 8 %{name}"
        if plan.by_value
        else f"ptr addrspace(1) noalias readonly %{name}_at"
    )


def _once(declared: dict[str, str]) -> list[str]:
    """The declarations and definitions that a text needs, each of them once."""
    found: dict[str, str] = {}
    for text in declared:
        for part in text.split("\n\n"):
            found[part.strip()] = ""
    return list(found)


def lanes(plan: Layout) -> int:
    """Return how many lanes a sum has."""
    return LANES_BYTES // plan.item


def _sums(plan: Layout, kind: str, guarded: bool, dialect: Dialect, declared: dict[str, str]) -> list[str]:
    """The kernels that add up what the rows have left."""
    head, limit, space = f"define {dialect.kernel} void", dialect.limit, dialect.tables.lstrip()
    width = lanes(plan)
    sums = len(plan.left)
    products = any(k >= 0 for k in plan.right)
    tables = [f"@mg_left = internal {space} constant [{sums} x i32] [{', '.join(f'i32 {k}' for k in plan.left)}]"]
    factor = [
        f"  %pl = getelementptr i32, {dialect.address('@mg_left')}, i64 %k\n  %l = load i32, {dialect.address('%pl')}, align 4",
        "  %lw = zext i32 %l to i64\n  %lo = mul i64 %lw, %stride",
        f"  %a = getelementptr {kind}, ptr addrspace(1) %out, i64 %lo",
    ]
    term = [
        f"  %xp = getelementptr {kind}, ptr addrspace(1) %a, i64 %r\n  %x = load {kind}, ptr addrspace(1) %xp, "
        f"align {plan.item}, !invariant.load !0",
        f"  %sum = fadd {kind} %old, %x",
    ]
    total = "%sum"
    if products:
        tables.append(
            f"@mg_right = internal {space} constant [{sums} x i32] [{', '.join(f'i32 {k}' for k in plan.right)}]"
        )
        S = "f32" if plan.item == 4 else "f64"
        declare = f"declare {kind} @llvm.fma.{S}({kind}, {kind}, {kind})"
        declared[declare] = declare
        factor += [
            f"  %pr = getelementptr i32, {dialect.address('@mg_right')}, i64 %k",
            f"  %rg = load i32, {dialect.address('%pr')}, align 4",
            "  %one = icmp slt i32 %rg, 0\n  %rs = select i1 %one, i32 0, i32 %rg",
            "  %rw = zext i32 %rs to i64\n  %ro = mul i64 %rw, %stride",
            f"  %b = getelementptr {kind}, ptr addrspace(1) %out, i64 %ro",
        ]
        term += [
            f"  %yp = getelementptr {kind}, ptr addrspace(1) %b, i64 %r\n  %y = load {kind}, ptr addrspace(1) %yp, "
            f"align {plan.item}, !invariant.load !0",
            f"  %fused = call {kind} @llvm.fma.{S}({kind} %x, {kind} %y, {kind} %old)",
            f"  %added = select i1 %one, {kind} %sum, {kind} %fused",
        ]
        total = "%added"
    if guarded:
        term += [
            "  %bp = getelementptr i8, ptr addrspace(1) %bad, i64 %r\n  %failed = load i8, ptr addrspace(1) %bp, align 1",
            f"  %good = icmp eq i8 %failed, 0\n  %kept = select i1 %good, {kind} {total}, {kind} %old",
        ]
        total = "%kept"
    half, steps = (
        width // 2,
        [f"  %v{j} = load {kind}, ptr addrspace(1) %p{j}, align {plan.item}" for j in range(width)],
    )
    values = [f"%v{j}" for j in range(width)]
    if kind == "float":
        steps += [f"  %w{j} = fpext float %v{j} to double" for j in range(width)]
        values = [f"%w{j}" for j in range(width)]
    while half:
        for j in range(half):
            steps.append(f"  %h{half}_{j} = fadd double {values[j]}, {values[j + half]}")
        values, half = [f"%h{half}_{j}" for j in range(half)], half // 2
    return [
        *tables,
        f"""{head} @lanes({READ} %out, i64 %stride, {READ} %bad, i64 %n, i64 %count, {WRITTEN} %to) {limit} {{
entry:
{dialect.number_below("%count")}
  %mine = icmp ult i64 %i, %count
  br i1 %mine, label %work, label %done
work:
  %lane = urem i64 %i, {width}
  %rest = udiv i64 %i, {width}
  %k = urem i64 %rest, {sums}
  %segment = udiv i64 %rest, {sums}
  %begin = mul i64 %segment, {SEGMENT}
  %stop = add i64 %begin, {SEGMENT}
  %short = icmp ult i64 %stop, %n
  %end = select i1 %short, i64 %stop, i64 %n
  %row = add i64 %begin, %lane
{chr(10).join(factor)}
  br label %test
test:
  %r = phi i64 [ %row, %work ], [ %next, %add ]
  %old = phi {kind} [ 0.0, %work ], [ {total}, %add ]
  %more = icmp ult i64 %r, %end
  br i1 %more, label %add, label %store
add:
{chr(10).join(term)}
  %next = add i64 %r, {width}
  br label %test
store:
  %tp = getelementptr {kind}, ptr addrspace(1) %to, i64 %i
  store {kind} %old, ptr addrspace(1) %tp, align {plan.item}
  br label %done
done:
  ret void
}}""",
        f"""{head} @halves({READ} %from, i64 %segments, i64 %count, {WRITTEN} %to) {limit} {{
entry:
{dialect.number_below("%count")}
  %mine = icmp ult i64 %i, %count
  br i1 %mine, label %work, label %done
work:
  %k = urem i64 %i, {sums}
  %block = udiv i64 %i, {sums}
  %begin = mul i64 %block, {BLOCK // SEGMENT}
  %stop = add i64 %begin, {BLOCK // SEGMENT}
  %short = icmp ult i64 %stop, %segments
  %end = select i1 %short, i64 %stop, i64 %segments
  br label %test
test:
  %segment = phi i64 [ %begin, %work ], [ %next, %add ]
  %old = phi double [ 0.0, %work ], [ %total, %add ]
  %more = icmp ult i64 %segment, %end
  br i1 %more, label %add, label %store
add:
  %in = mul i64 %segment, {sums}
  %number = add i64 %in, %k
  %at = mul i64 %number, {width}
  %p0 = getelementptr {kind}, ptr addrspace(1) %from, i64 %at
{chr(10).join(f"  %p{j} = getelementptr {kind}, ptr addrspace(1) %p0, i64 {j}" for j in range(1, width))}
{chr(10).join(steps)}
  %total = fadd double %old, {values[0]}
  %next = add i64 %segment, 1
  br label %test
store:
  %tp = getelementptr double, ptr addrspace(1) %to, i64 %i
  store double %old, ptr addrspace(1) %tp, align 8
  br label %done
done:
  ret void
}}""",
    ]


__all__ = ["Layout", "layout", "text"]
