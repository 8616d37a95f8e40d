"""The function of one chunk of a tape, the tables through which outlined chunks find their operands, and the entry point of a
kernel, which calls the functions of the chunks for one point or for all rows."""

from __future__ import annotations

from typing import NamedTuple

from micrograd.compile.llvm.emit import IRText, hexadecimal
from micrograd.compile.schedule.outline import Outlined
from micrograd.compile.schedule.split import Step
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import CONST

POINT = "ptr %in, ptr %params, ptr %out, ptr %scratch"
BATCH = "ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %scratch"


class Passed(NamedTuple):
    """The values that chunks hand to each other through scratch memory."""

    live_out: set[int] = set()  # places that later chunks read
    whole: bool = True  # whether one chunk is the whole tape
    keep_slot: int = 0  # the slot of the lanes that passed the guards
    guarded_in: int | None = None  # the chunk that checks the guards
    ahead: int | None = None  # how many vectors further rows are prefetched; None: as the number of columns says


def function(t: IRText, name: str, number: int, steps: list[Step], passed: Passed) -> str:
    """The function of one chunk."""
    t.begin()
    W = t.target.width
    if not t.point and not t.masked:
        t.line(f"%mask = and <{W} x i1> splat (i1 true), splat (i1 true)")
    elif not t.point:
        numbers = ", ".join(f"i64 {i}" for i in range(W))
        t.line(f"%i0 = insertelement <{W} x i64> poison, i64 %i, i64 0")
        t.line(f"%is = shufflevector <{W} x i64> %i0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%n0 = insertelement <{W} x i64> poison, i64 %n, i64 0")
        t.line(f"%ns = shufflevector <{W} x i64> %n0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%rows = add <{W} x i64> %is, <{numbers}>")
        t.line(f"%mask = icmp ult <{W} x i64> %rows, %ns")
    if not t.point:
        if passed.guarded_in is None or number < passed.guarded_in:
            t.line(f"%keep = and <{W} x i1> %mask, %mask")
        elif number > passed.guarded_in:
            p = t.address("%scratch", passed.keep_slot * t.bytes)
            t.line(f"%kept = load {t.T}, ptr {p}, align {t.align}")
            t.line(f"%keep = fcmp une {t.T} %kept, {t.splat(0.0)}")
    if not t.point and not t.masked and passed.ahead is not None:
        t.lines += _prefetch_further(t, passed.ahead)
    elif not t.point and not t.masked and t.tape.inputs >= TUNING.prefetched_columns:
        t.lines += _prefetch(t)
    status = "0"
    for step in steps:
        if step[0] == "compute":
            place = step[1]
            t.instruction(place)
            if place in passed.live_out:
                t.keep(place, passed.whole)
        elif step[0] == "keep":
            t.keep(step[1], True)
        elif step[0] == "rematerialize":
            t.instruction(step[1])
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
                if not passed.whole:
                    p = t.address("%scratch", passed.keep_slot * t.bytes)
                    t.line(f"%keeps = select <{W} x i1> %keep, {t.T} {t.splat(1.0)}, {t.T} {t.splat(0.0)}")
                    t.line(f"store {t.T} %keeps, ptr {p}, align {t.align}")
            status = "%status"
    t.end(status)
    kind = "define" if name == "kernel" else "define internal"
    return f"{kind} i32 @{name}({arguments(t, passed.whole)}) #0 {{\n" + "\n".join(t.lines) + "\n}\n"


def _prefetch_further(t: IRText, ahead: int) -> list[str]:
    """Prefetch the rows of every column that are so many vectors further; none for 0."""
    if not ahead:
        return []
    declare = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
    t.declared[declare] = declare
    found = [f"  %bytes = mul i64 %i, {t.item}"]
    for c in range(t.tape.inputs):
        found += [
            f"  %cell{c} = getelementptr ptr, ptr %columns, i64 {c}",
            f"  %base{c} = load ptr, ptr %cell{c}, align 8",
            f"  %from{c} = getelementptr i8, ptr %base{c}, i64 %bytes",
        ]
        for k in range(0, t.bytes, 64):
            found += [
                f"  %line{c}_{k} = getelementptr i8, ptr %from{c}, i64 {ahead * t.bytes + k}",
                f"  call void @llvm.prefetch.p0(ptr %line{c}_{k}, i32 0, i32 3, i32 1)",
            ]
    return found


def _prefetch(t: IRText) -> list[str]:
    """Prefetch the rows behind the next vectors: an equal part of the columns in each of those vectors."""
    count, part = t.tape.inputs, -(-t.tape.inputs // TUNING.prefetched_vectors)
    for declare in ("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)", "declare i64 @llvm.umin.i64(i64, i64)"):
        t.declared[declare] = declare
    found = [
        f"  %vector = udiv i64 %i, {t.target.width}",
        f"  %turn = urem i64 %vector, {TUNING.prefetched_vectors}",
        f"  %first = mul i64 %turn, {part}",
        "  %before = sub i64 %vector, %turn",
        f"  %ahead = add i64 %before, {TUNING.prefetched_vectors}",
        f"  %bytes = mul i64 %ahead, {t.bytes}",
    ]
    for j in range(part):
        found += [
            f"  %column{j} = add i64 %first, {j}",
            f"  %known{j} = call i64 @llvm.umin.i64(i64 %column{j}, i64 {count - 1})",
            f"  %cell{j} = getelementptr ptr, ptr %columns, i64 %known{j}",
            f"  %base{j} = load ptr, ptr %cell{j}, align 8",
            f"  %from{j} = getelementptr i8, ptr %base{j}, i64 %bytes",
        ]
        for k in range(-(-TUNING.prefetched_vectors * t.bytes // 64)):
            found += [
                f"  %line{j}_{k} = getelementptr i8, ptr %from{j}, i64 {64 * k}",
                f"  call void @llvm.prefetch.p0(ptr %line{j}_{k}, i32 0, i32 2, i32 1)",
            ]
    return found


def tables(t: IRText, calls: list[Outlined]) -> list[str]:
    """The tables of operands of each function, of the constants that differ, and of the calls in their order."""
    found = []
    for function in dict.fromkeys(calls):
        for row in function.rows:
            for a in row:
                if a >= 0 and t.tape.ops[a] is CONST:
                    t.numbers.setdefault(a, len(t.numbers))
        if function.columns:
            cells = [f"i32 {t.where(operand)}" for row in function.rows for operand in row]
            found.append(f"@table{function.first} = internal constant [{len(cells)} x i32] [{', '.join(cells)}]")
    if t.numbers:
        literals = [f"{t.scalar} {hexadecimal(t.tape.args[a][0], t.target.float32)}" for a in t.numbers]
        found.append(f"@numbers = internal constant [{len(literals)} x {t.scalar}] [{', '.join(literals)}]")
    called = []
    rows = dict.fromkeys(calls, 0)
    for function in calls:
        table = "null"
        if function.columns:
            table = f"getelementptr (i8, ptr @table{function.first}, i64 {4 * len(function.columns) * rows[function]})"
            rows[function] += 1
        called.append(f"{{ptr, ptr}} {{ptr @chunk{function.first}, ptr {table}}}")
    found.append(f"@chunks = internal constant [{len(calls)} x {{ptr, ptr}}] [{', '.join(called)}]")
    return found


# ---- the entry point


def arguments(t: IRText, whole: bool) -> str:
    """The parameters of a chunk's function; where there are several chunks, it takes a table of operands too."""
    found = POINT if t.point else BATCH.replace("i64 %n", "i64 %i, i64 %n")
    return found if whole else found + ", ptr %table"


def rows_of_one_chunk(t: IRText) -> str:
    """The entry point of rows in one chunk. The last rows, which do not fill a vector, run a copy of it with masks."""
    given, W = arguments(t, True), t.target.width
    return f"""define i32 @kernel({BATCH}) #0 {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %rows ]
  %seen = phi i32 [ 0, %entry ], [ %or, %rows ]
  %next = add i64 %i, {W}
  %more = icmp ule i64 %next, %n
  br i1 %more, label %rows, label %rest
rows:
  %failed = call i32 @chunk0({given})
  %or = or i32 %seen, %failed
  br label %test
rest:
  %some = icmp ult i64 %i, %n
  br i1 %some, label %few, label %done
few:
  %failed_last = call i32 @last0({given})
  %or_last = or i32 %seen, %failed_last
  br label %done
done:
  %result = phi i32 [ %seen, %rest ], [ %or_last, %few ]
  ret i32 %result
}}
"""


CALLED = """  %at = getelementptr {ptr, ptr}, ptr @chunks, i64 %number
  %code = load ptr, ptr %at, align 8
  %with = getelementptr {ptr, ptr}, ptr %at, i64 0, i32 1
  %table = load ptr, ptr %with, align 8"""


def point(t: IRText, chunks: int) -> str:
    """The entry point of one point in many chunks."""
    return f"""define i32 @kernel({POINT}) #0 {{
entry:
  br label %chunk
chunk:
  %number = phi i64 [ 0, %entry ], [ %following, %chunk ]
  %seen = phi i32 [ 0, %entry ], [ %or, %chunk ]
{CALLED}
  %failed = call i32 %code({arguments(t, False)})
  %or = or i32 %seen, %failed
  %following = add i64 %number, 1
  %more = icmp ult i64 %following, {chunks}
  br i1 %more, label %chunk, label %done
done:
  ret i32 %or
}}
"""


def rows(t: IRText, chunks: int, vectors: int, stride: int) -> str:
    """The entry point of rows in many chunks.

    Each chunk is run for several vectors of rows, each with its own scratch memory, before the next chunk: its code, which may
    have to be fetched from a distant cache, then serves all of them. All chunks have masks; vectors are taken in row order.
    """
    return f"""define i32 @kernel({BATCH}) #0 {{
entry:
  br label %blocks
blocks:
  %start = phi i64 [ 0, %entry ], [ %end, %past ]
  %seen0 = phi i32 [ 0, %entry ], [ %or, %past ]
  %some = icmp ult i64 %start, %n
  br i1 %some, label %block, label %done
block:
  %end = add i64 %start, {t.target.width * vectors}
  %whole = icmp ult i64 %end, %n
  %stop = select i1 %whole, i64 %end, i64 %n
  br label %chunk
chunk:
  %number = phi i64 [ 0, %block ], [ %following, %past ]
  %seen1 = phi i32 [ %seen0, %block ], [ %or, %past ]
{CALLED}
  br label %vector
vector:
  %i = phi i64 [ %start, %chunk ], [ %next, %vector ]
  %own = phi ptr [ %scratch, %chunk ], [ %other, %vector ]
  %seen2 = phi i32 [ %seen1, %chunk ], [ %or, %vector ]
  %failed = call i32 %code({arguments(t, False).replace("ptr %scratch", "ptr %own")})
  %or = or i32 %seen2, %failed
  %next = add i64 %i, {t.target.width}
  %other = getelementptr i8, ptr %own, i64 {stride}
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %vector, label %past
past:
  %following = add i64 %number, 1
  %again = icmp ult i64 %following, {chunks}
  br i1 %again, label %chunk, label %blocks
done:
  ret i32 %seen0
}}
"""
