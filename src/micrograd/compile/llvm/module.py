"""The text of a whole tape: which function computes what, and the one that calls them.

One function serves a point, or a batch (rows in the lanes of SIMD vectors, several rows an instruction). Long tapes are cut
into functions of bounded size that hand values on through a scratch memory, since some of LLVM's passes take more than
linear time in the length of a function.
"""

from __future__ import annotations

from typing import NamedTuple

from micrograd.compile.llvm import entry as drivers
from micrograd.compile.llvm import packed as side_by_side
from micrograd.compile.llvm.build import Options
from micrograd.compile.llvm.emit import Text, attributes
from micrograd.compile.schedule import outline as shared
from micrograd.compile.schedule import pack as lanes
from micrograd.compile.schedule import split as cut
from micrograd.compile.schedule import tiles
from micrograd.compile.schedule.split import Step
from micrograd.tape import passes
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape

# Steps a function. LLVM's time per instruction was flat up to 2,000 and doubled at 20,000; of a long tape, pieces of 250
# compiled in two thirds of the time of 1,000 (13 and 20 s for 188,000 instructions), and ran as fast for a point. For rows,
# pieces of 450 or 600 ran 5 % faster than those of 250, as each has masks and constants of its own, and 800 another 5 %.
CHUNK, SMALL_CHUNK, ROWS_CHUNK, LONG = 2000, 250, 800, 20_000

# With more guards, each is checked where its operands are made: 2,000 in one place took LLVM 11 s, and 0.7 s so.
GUARDS = 100

# A piece of a tape that is longer than FETCHED steps (some 8 bytes of code each, so that a level-2 cache does not hold all) is
# run for several vectors of rows before the next one, if their scratch fits into NEAR_BYTES. A gradient of 138,000
# instructions took 6.1 µs a row by single vectors and 5.4 by four; 8 were no faster.
FETCHED, VECTORS, NEAR_BYTES = 65_536, 4, 640 << 10

# With as many columns, rows are asked for ahead of time, several vectors of a column at once: the processor follows a few
# columns by itself, and memory likes neighbours. 64 columns of 100,000 rows: 56 instead of 71 ns a row by two threads, 99
# instead of 105 by one; asked for one by one, 64 and 104.
PREFETCHED, ROWS_AHEAD = 16, 8


def steps(tape: Tape) -> list[Step]:
    """The instructions, with guards as soon as their operands are there and each result as soon as it is."""
    last_guarded = max(tape.guarded(), default=-1)
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
    if (found := side_by_side.attempt(tape, options, reduced)) is not None:
        return found
    if len(tape.guards) > GUARDS:
        tape = passes.join(tape)
    many_sums = not tape.guards and sum(reduced or []) >= tiles.FEWEST
    if len(tape) > CHUNK:
        tape = passes.gather(tape)
    elif many_sums:
        tape = lanes.interleave(tape, tiles.registers(options))
    t = Text(tape, options, reduced or [], reduced is None)
    plan = steps(tape)
    if len(plan) > CHUNK:
        functions, scratch = _in_pieces(t, plan)
    elif many_sums:
        functions, scratch = _tiled(t, plan)
    else:
        functions, scratch = _in_one(t, plan)
    return "\n".join([*functions, *t.declared, attributes(options)]), scratch


def _in_one(t: Text, plan: list[Step]) -> tuple[list[str], int]:
    """A tape as one function; for the last rows of a batch, which do not fill a vector, another one with masks."""
    hand = Hand(guarded_in=0 if t.tape.guards else None)
    if t.point:
        return [_piece(t, "kernel", 0, plan, hand)], 0
    functions = []
    for t.masked, name in ((False, "piece0"), (True, "last0")):
        functions.append(_piece(t, name, 0, plan, hand))
    return [*functions, drivers.of_rows_in_one(t)], 0


def _tiled(t: Text, plan: list[Step]) -> tuple[list[str], int]:
    """A batch in one piece whose sums of products are added tile by tile."""
    found, products = tiles.find(t.tape, t.reduced, t.kinds, tiles.registers(t.o))
    read = tiles.places(found)
    t.slots = {place: slot for slot, place in enumerate(read)}
    stride = len(read) * t.bytes
    functions = []
    rest = tiles.steps(t.tape, plan, found, t.reduced, products)
    for t.masked, name in ((False, "piece0"), (True, "last0")):
        functions.append(_piece(t, name, 0, rest, Hand(set(read))))
    functions += [tiles.text(t, found, stride), tiles.driver(t, stride)]
    return functions, stride * tiles.VECTORS


def _in_pieces(t: Text, plan: list[Step]) -> tuple[list[str], int]:
    """A long tape as functions that are called in turn."""
    small = SMALL_CHUNK if t.point else ROWS_CHUNK
    for size in (small,) if len(plan) > LONG else (small, CHUNK):  # large pieces, unless small ones share functions
        spans = cut.spans(t.tape, plan, size)
        pieces = cut.pieces(t.tape, spans, size)
        if not t.point:
            pieces = cut.again(t.tape, spans, pieces)
        made_in, last_in = cut.crossing(t.tape, pieces)
        guarded_in = next((n for n, piece in enumerate(pieces) if ("guard",) in piece), None)
        calls = shared.functions(t, pieces, set(last_in), guarded_in)
        different = list(dict.fromkeys(calls))
        if len(different) < len(pieces):
            break
    t.slots = _slots(made_in, last_in, len(pieces))
    keep_slot = 1 + max(t.slots.values(), default=-1)
    stride = (keep_slot + 1) * t.bytes
    t.masked = not t.point
    functions = []
    for function in different:
        t.entries = function.entries
        hand = Hand(set(last_in), False, keep_slot, guarded_in)
        functions.append(_piece(t, f"piece{function.first}", function.first, pieces[function.first], hand))
    functions += shared.tables(t, calls)
    if t.point:
        return [*functions, drivers.of_point(t, len(pieces))], stride
    apart = len(different) == len(pieces) and len(plan) > FETCHED
    vectors = max(1, min(VECTORS, NEAR_BYTES // stride)) if apart else 1
    return [*functions, drivers.of_rows(t, len(pieces), vectors, stride)], stride * vectors


class Hand(NamedTuple):
    """What pieces hand on through scratch."""

    crossing: set[int] = set()  # places that later pieces read
    whole: bool = True  # whether one piece is all
    keep_slot: int = 0  # where the lanes that passed the guards lie
    guarded_in: int | None = None  # the piece that has the guards


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


def _piece(t: Text, name: str, number: int, piece: list[Step], hand: Hand) -> str:
    """A function that does the steps of a piece."""
    t.lines, t.names, t.masks = [], {}, {}
    W = t.o.width
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
        if hand.guarded_in is None or number < hand.guarded_in:
            t.line(f"%keep = and <{W} x i1> %mask, %mask")
        elif number > hand.guarded_in:
            p = t.address("%scratch", hand.keep_slot * t.bytes)
            t.line(f"%kept = load {t.T}, ptr {p}, align {t.align}")
            t.line(f"%keep = fcmp une {t.T} %kept, {t.splat(0.0)}")
    if not t.point and not t.masked and t.tape.inputs >= PREFETCHED:
        t.lines += _rows_ahead(t)
    status = "0"
    for step in piece:
        if step[0] == "do":
            place = step[1]
            t.instruction(place)
            if place in hand.crossing:
                t.keep(place, hand.whole)
        elif step[0] == "keep":
            t.keep(step[1], True)
        elif step[0] == "again":
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
                if not hand.whole:
                    p = t.address("%scratch", hand.keep_slot * t.bytes)
                    t.line(f"%keeps = select <{W} x i1> %keep, {t.T} {t.splat(1.0)}, {t.T} {t.splat(0.0)}")
                    t.line(f"store {t.T} %keeps, ptr {p}, align {t.align}")
            status = "%status"
    t.line(f"ret i32 {status}")
    kind = "define" if name == "kernel" else "define internal"
    return f"{kind} i32 @{name}({drivers.arguments(t, hand.whole)}) #0 {{\n" + "\n".join(t.lines) + "\n}\n"


def _rows_ahead(t: Text) -> list[str]:
    """Ask for the rows after the next ROWS_AHEAD vectors: of an equal part of the columns for each of those vectors."""
    count, part = t.tape.inputs, -(-t.tape.inputs // ROWS_AHEAD)
    for declare in ("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)", "declare i64 @llvm.umin.i64(i64, i64)"):
        t.declared[declare] = declare
    found = [
        f"  %vector = udiv i64 %i, {t.o.width}",
        f"  %turn = urem i64 %vector, {ROWS_AHEAD}",
        f"  %first = mul i64 %turn, {part}",
        "  %before = sub i64 %vector, %turn",
        f"  %ahead = add i64 %before, {ROWS_AHEAD}",
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
        for k in range(-(-ROWS_AHEAD * t.bytes // 64)):
            found += [
                f"  %line{j}_{k} = getelementptr i8, ptr %from{j}, i64 {64 * k}",
                f"  call void @llvm.prefetch.p0(ptr %line{j}_{k}, i32 0, i32 2, i32 1)",
            ]
    return found
