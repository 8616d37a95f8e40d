"""The LLVM text of a packed schedule (schedule/pack.py): for one point, or for the rows of a batch one after the other.

A long tape over rows in lanes is bound by fetching its code again for each vector of rows. Where its own work fills the lanes,
the code is several times shorter, and faster although it does one row at a time: 32 names through a transformer took 24 µs a
name by rows in lanes, and 12 so.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from micrograd.compile.llvm import reuse
from micrograd.compile.llvm.build import LANES_BYTES, Target
from micrograd.compile.llvm.emit import attributes
from micrograd.compile.llvm.rolled import Forms, Piece, together
from micrograd.compile.llvm.vector import PackedText
from micrograd.compile.schedule import pack
from micrograd.compile.schedule.pack import PARAMS, Pack, PackedSchedule
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape.tape import Tape

LANES = LANES_BYTES // 8


def _functions(t: PackedText) -> tuple[list[str], list[str], list[str]]:
    """Write the functions of a packed schedule; return the names of those that read parameters alone, then the others."""
    arguments = "ptr noalias %in, ptr noalias %params, ptr noalias %out, ptr noalias %scratch"
    made: list[str] = []
    names: list[str] = []

    def close(kind: str, lines: list[str], status: str = "0") -> None:
        names.append(f"{kind}{len(names)}")
        body = "\n".join([*lines, f"  ret i32 {status}"])
        made.append(f"define internal i32 @{names[-1]}({arguments}) #0 {{\n{body}\n}}\n")
        t.forget()

    forms = Forms()
    levels: list[tuple[list[Piece], list[tuple[Piece, list[Pack]]]]] = []
    for floor, strips in groupby(zip(t.plan.floors, t.plan.strips), key=itemgetter(0)):
        t.floor, t.level = floor, len(levels)
        level = [strip for _, strip in strips]
        gathers = [forms.add(lines) for strip in level for lines in t.gathered_before(strip)]
        levels.append((gathers, [(forms.add(t.recorded(strip)), strip) for strip in level]))
    once = [forms.add(lines) for lines in t.once]
    timed = [(-1.0, piece) for piece in once]
    for time, (gathers, level_strips) in enumerate(levels):
        timed += [(2.0 * time, piece) for piece in gathers]
        timed += [(2.0 * time + 1.0, piece) for piece, _ in level_strips]
    in_the_end = [t.plan.where[place] for place in t.tape.guarded() if t.plan.where[place] < PARAMS]
    if (found := reuse.lines_of(timed, in_the_end, t.full)) is not None:
        t.lines_moved, count = found
        t.top = count * t.full
        forms.move(t.moved)
    forms.settle()

    def write(pieces: list[Piece], strips: dict[int, list[Pack]], kind: str = "piece") -> None:
        """Write pieces that do not depend on each other: calls first, so that no register has to be kept meanwhile."""
        by_form = together(pieces)
        for same in by_form:
            if same[0].form.rolled:
                t.line(same[0].form.call(same)[2:])
                t.names, t.masks = {}, {}
        for same in by_form:
            for number, piece in enumerate([] if same[0].form.rolled else same):
                if number % TUNING.pack_recent == TUNING.pack_recent - 1:
                    t.names, t.masks = {}, {}
                if id(piece) in strips:
                    t.strip(strips[id(piece)])
                else:
                    t.lines += piece.lines
                if len(t.lines) > TUNING.pack_lines:
                    close(kind, t.lines)

    for t.level, (gathers, level_strips) in enumerate(levels):
        write(gathers, {})
        write([piece for piece, _ in level_strips], {id(piece): strip for piece, strip in level_strips})
    t.shape(None)
    t.names, t.masks, t.loaded = {}, {}, {}
    for place, ks in t.outputs.items():
        if t.plan.where[place] >= PARAMS:  # an argument, a param or a constant, returned as it is
            for k in ks:
                t.put("double", 1, t.number(t.plan.where[place]), t.address("%out", 8 * k))
                if len(t.lines) > TUNING.pack_lines:
                    close("piece", t.lines)
    status = "0"
    for how, a, b, went in t.tape.guards:
        status = t.guarded(status, OPS[how].llvm, t.plan.where[a], t.plan.where[b], went)
        if len(t.lines) > TUNING.pack_lines:
            close("piece", t.lines, status)
            status = "0"
    close("piece", t.lines, status)
    pieces, names = names, []
    write(once, {}, "once")
    if t.lines:
        close("once", t.lines)
    return [*forms.text(), *made], names, pieces


def _calls(names: list[str], arguments: str) -> tuple[str, str]:
    """Calls of functions in turn, and the name of what they return together."""
    lines, seen = [], "0"
    for name in names:
        lines.append(f"  %{name}s = call i32 @{name}({arguments})\n  %{name}o = or i32 {seen}, %{name}s")
        seen = f"%{name}o"
    return "\n".join(lines), seen


ALIGNED = """  %number = ptrtoint ptr %memory to i64
  %up = add i64 %number, 63
  %aligned = and i64 %up, -64
  %scratch = inttoptr i64 %aligned to ptr"""


def text(tape: Tape, target: Target, plan: PackedSchedule) -> tuple[str, int]:
    """The IR of a plan, and how many bytes of scratch it needs: int kernel(in, params, out, scratch)."""
    t = PackedText(tape, target, plan, list(range(len(tape.outputs))))
    functions, once, pieces = _functions(t)
    calls, seen = _calls(once + pieces, "ptr %in, ptr %params, ptr %out, ptr %scratch")
    kernel = f"""define i32 @kernel(ptr %in, ptr %params, ptr %out, ptr %memory) #0 {{
{ALIGNED}
{calls}
  ret i32 {seen}
}}
"""
    return "\n".join([*functions, kernel, *t.declared, attributes(target)]), 8 * t.top + 64


def rows_text(tape: Tape, target: Target, plan: PackedSchedule, reduced: list[bool]) -> tuple[str, int]:
    """The same for a batch, row after row: int kernel(columns, params, outs, n, acc, bad, scratch).

    The results of a row that are summed lie in front of the others, and are added to sums that lie just so.
    """
    W, sums = target.width, sum(reduced)
    room = -(-sums // 8) * 8
    kinds = {True: 0, False: room}
    order = []
    for summed in reduced:
        order.append(kinds[summed])
        kinds[summed] += 1
    t = PackedText(tape, target, plan, order)
    t.of_point = False
    functions, once, pieces = _functions(t)
    before, _ = _calls(once, "ptr poison, ptr %params, ptr poison, ptr %scratch")
    calls, seen = _calls(pieces, "ptr %in, ptr %params, ptr %out, ptr %scratch")
    at_in = -(-t.top // 8) * 64
    at_out = at_in + -(-tape.inputs // 8) * 64
    at_sums = at_out + -(-kinds[False] // 8) * 64
    end = at_sums + 8 * room * LANES
    cell = max(8, W) // 8  # bytes for the rows of a vector, a bit each
    fetch = """
  %column = getelementptr ptr, ptr %columns, i64 %fetchk
  %base = load ptr, ptr %column, align 8
  %from = getelementptr double, ptr %base, i64 %i
  %x = load double, ptr %from, align 8
  %into = getelementptr double, ptr %in, i64 %fetchk
  store double %x, ptr %into, align 8"""
    add = """
  %total = getelementptr <8 x double>, ptr %of_lane, i64 %addk
  %part = getelementptr <8 x double>, ptr %out, i64 %addk
  %a = load <8 x double>, ptr %total, align 64
  %b = load <8 x double>, ptr %part, align 64
  %c = fadd <8 x double> %a, %b
  store <8 x double> %c, ptr %total, align 64"""
    store = f"""
  %place = add i64 %storek, {room}
  %result = getelementptr double, ptr %out, i64 %place
  %y = load double, ptr %result, align 8
  %column_out = getelementptr ptr, ptr %outs, i64 %storek
  %base_out = load ptr, ptr %column_out, align 8
  %to = getelementptr double, ptr %base_out, i64 %i
  store double %y, ptr %to, align 8"""
    # Sums go on from where an earlier call for rows of the same block ended, so that the length of a call changes no bit.
    begin = f"""
  %acc_from = getelementptr double, ptr %acc, i64 %begink
  %s_from = load double, ptr %acc_from, align 8
  %sum_from_at = udiv i64 %begink, {LANES}
  %lane_from = urem i64 %begink, {LANES}
  %sums_from = mul i64 %lane_from, {room}
  %place_from = add i64 %sums_from, %sum_from_at
  %sum_from = getelementptr double, ptr %sums, i64 %place_from
  store double %s_from, ptr %sum_from, align 8"""
    hand_over = f"""
  %sum_at = udiv i64 %endk, {LANES}
  %lane_at = urem i64 %endk, {LANES}
  %sums_at = mul i64 %lane_at, {room}
  %place_at = add i64 %sums_at, %sum_at
  %sum = getelementptr double, ptr %sums, i64 %place_at
  %s = load double, ptr %sum, align 8
  %in_acc = getelementptr double, ptr %acc, i64 %endk
  store double %s, ptr %in_acc, align 8"""
    kernel = f"""declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @kernel(ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %memory) #0 {{
entry:
{ALIGNED}
  %in = getelementptr i8, ptr %scratch, i64 {at_in}
  %out = getelementptr i8, ptr %scratch, i64 {at_out}
  %sums = getelementptr i8, ptr %scratch, i64 {at_sums}
  call void @llvm.memset.p0.i64(ptr align 64 %out, i8 0, i64 {end - at_out}, i1 false)
{before}
  br label %begin
{_loop("begin", sums * LANES, "row", begin)}
row:
  %i = phi i64 [ 0, %begintest ], [ %next, %after ]
  %found = phi i32 [ 0, %begintest ], [ %all, %after ]
  %more = icmp ult i64 %i, %n
  %lane_now = urem i64 %i, {LANES}
  %sums_now = mul i64 %lane_now, {room}
  %of_lane = getelementptr double, ptr %sums, i64 %sums_now
  br i1 %more, label %fetch, label %end
{_loop("fetch", tape.inputs, "work", fetch)}
work:
{calls}
  %all = or i32 %found, {seen}
  %fine = icmp eq i32 {seen}, 0
  br i1 %fine, label %add, label %broken
broken:
  %vector = udiv i64 %i, {W}
  %lane = urem i64 %i, {W}
  %first = mul i64 %vector, {cell}
  %further = udiv i64 %lane, 8
  %byte = add i64 %first, %further
  %at = getelementptr i8, ptr %bad, i64 %byte
  %bit = urem i64 %lane, 8
  %bit8 = trunc i64 %bit to i8
  %flag = shl i8 1, %bit8
  %old = load i8, ptr %at, align 1
  %new = or i8 %old, %flag
  store i8 %new, ptr %at, align 1
  br label %after
{_loop("add", room // 8, "store", add)}
{_loop("store", kinds[False] - room, "after", store)}
after:
  %next = add i64 %i, 1
  br label %row
{_loop("end", sums * LANES, "done", hand_over)}
done:
  ret i32 %found
}}
"""
    return "\n".join([*functions, kernel, *t.declared, attributes(target)]), end + 64


def _loop(name: str, count: int, then: str, body: str) -> str:
    """Write the blocks of a loop that runs `count` times, counts in %<name>k from 0, and continues at `then`."""
    return f"""{name}:
  br label %{name}test
{name}test:
  %{name}k = phi i64 [ 0, %{name} ], [ %{name}next, %{name}body ]
  %{name}more = icmp ult i64 %{name}k, {count}
  br i1 %{name}more, label %{name}body, label %{then}
{name}body:{body}
  %{name}next = add i64 %{name}k, 1
  br label %{name}test"""


def attempt(tape: Tape, target: Target, reduced: list[bool] | None = None) -> tuple[str, int] | None:
    """Return the packed text of a tape, where packing pays."""
    if len(tape) < (TUNING.pack_point if reduced is None else TUNING.pack_rows) or target.float32:
        return None
    worth = TUNING.pack_point_cost if reduced is None else TUNING.pack_rows_cost
    plan = pack.plan(tape, target.bits // 64, TUNING.pack_strip[target.bits], worth)
    if plan is None:
        return None
    return text(tape, target, plan) if reduced is None else rows_text(tape, target, plan, reduced)
