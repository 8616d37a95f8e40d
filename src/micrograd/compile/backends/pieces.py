"""The text of a whole tape: which function computes what, and the one that calls them.

One function serves a point, or a batch (rows in the lanes of SIMD vectors, several rows an instruction). Long tapes are cut
into functions of bounded size that hand values on through a scratch memory, since some of LLVM's passes take more than
linear time in the length of a function.
"""

from __future__ import annotations

from micrograd.compile import lanes, passes
from micrograd.compile.backends import cut, side_by_side, tiles
from micrograd.compile.backends.cut import Step
from micrograd.compile.backends.ir import Text, attributes
from micrograd.compile.backends.llvm import Options
from micrograd.compile.tape import CONST, INPUT, PARAM, Tape

# Steps a function. LLVM's time per instruction was flat up to 2,000 and doubled at 20,000; of a long tape, pieces of 250
# compiled in two thirds of the time of 1,000 (13 and 20 s for 188,000 instructions), and ran as fast for a point. For rows,
# pieces of 450 or 600 ran 5 % faster than those of 250, as each has masks and constants of its own.
CHUNK, SMALL_CHUNK, ROWS_CHUNK, LONG = 2000, 250, 600, 20_000

# With more guards, each is checked where its operands are made: 2,000 in one place took LLVM 11 s, and 0.7 s so.
GUARDS = 100

# A piece of a tape that is longer than FETCHED steps (some 8 bytes of code each, so that a level-2 cache does not hold all) is
# run for several vectors of rows before the next one, if their scratch fits into NEAR_BYTES; meanwhile the LINES cache lines
# of code that lie AHEAD bytes on are asked for. Lotka-Volterra's gradient over 1,000 steps: 6.1 µs a row by single vectors,
# 5.4 by four, 5.0 with the code asked for; 8 vectors were no faster.
FETCHED, VECTORS, NEAR_BYTES, AHEAD, LINES = 65_536, 4, 640 << 10, 6144, 48

# With as many columns, rows are asked for ahead of time, several vectors of a column at once: the processor follows a few
# columns by itself, and memory likes neighbours. 64 columns of 100,000 rows: 56 instead of 71 ns a row by two threads, 99
# instead of 105 by one; asked for one by one, 64 and 104.
PREFETCHED, ROWS_AHEAD = 16, 8


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
    if (found := side_by_side.attempt(tape, options, reduced)) is not None:
        return found
    if len(tape.guards) > GUARDS:
        tape = passes.join(tape)
    many_sums = not tape.guards and sum(reduced or []) >= tiles.FEWEST
    if len(tape) > CHUNK:
        tape = passes.gather(tape)
    elif many_sums:
        tape = lanes.interleave(tape, tiles.registers(options))
    t = Text(tape, options, reduced or [], point)
    plan = steps(tape)
    chunk = CHUNK if len(plan) <= LONG else SMALL_CHUNK if point else ROWS_CHUNK
    if point or len(plan) <= chunk:
        pieces = [plan[i : i + chunk] for i in range(0, len(plan), chunk)] or [[]]
    else:
        spans = cut.spans(tape, plan, chunk)
        pieces = cut.again(tape, spans, cut.pieces(spans, chunk))
    made_in: dict[int, int] = {}
    last_in: dict[int, int] = {}  # of values that one piece makes and another reads: the last piece that does
    for number, piece in enumerate(pieces):
        here = set()
        for step in piece:
            for a in cut.used(tape, step):
                if made_in.get(a, number) != number and a not in here:
                    last_in[a] = number
            if step[0] == "do":
                made_in[step[1]] = number
            elif step[0] == "again":
                here.add(step[1])
    crossing = set(last_in)
    t.slots = _slots(made_in, last_in, len(pieces))
    keep_slot = 1 + max(t.slots.values(), default=-1)  # the lanes that passed the guards, for later pieces
    functions = []
    if point:
        arguments = "ptr %in, ptr %params, ptr %out, ptr %scratch"
    else:
        arguments = "ptr %columns, ptr %params, ptr %outs, i64 %i, i64 %n, ptr %acc, ptr %bad, ptr %scratch"
    guarded_in = next((n for n, piece in enumerate(pieces) if ("guard",) in piece), None)
    if many_sums and len(pieces) == 1:
        found_tiles, products = tiles.find(tape, t.reduced, t.kinds, tiles.registers(options))
        return _tiled(t, tiles.steps(tape, plan, found_tiles, t.reduced, products), found_tiles, arguments)
    for masked in (False, True) if reduced is not None and len(pieces) == 1 else (reduced is not None,):
        t.masked = masked
        for number, piece in enumerate(pieces):
            functions.append(_piece(t, number, piece, pieces, arguments, crossing, guarded_in, keep_slot))
    stride = (keep_slot + 1) * t.bytes if len(pieces) > 1 else 0
    if point or len(pieces) == 1:
        functions.append(_driver(t, arguments, len(pieces)))
    else:
        vectors = max(1, min(VECTORS, NEAR_BYTES // stride)) if len(plan) > FETCHED else 1
        functions.append(_driver_of_pieces(t, len(pieces), arguments, vectors, stride))
        stride *= vectors
    body = "\n".join([*functions, *t.declared, attributes(options)])
    return body, stride


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
        numbers = ", ".join(f"i64 {i}" for i in range(W))
        t.line(f"%i0 = insertelement <{W} x i64> poison, i64 %i, i64 0")
        t.line(f"%is = shufflevector <{W} x i64> %i0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%n0 = insertelement <{W} x i64> poison, i64 %n, i64 0")
        t.line(f"%ns = shufflevector <{W} x i64> %n0, <{W} x i64> poison, <{W} x i32> zeroinitializer")
        t.line(f"%rows = add <{W} x i64> %is, <{numbers}>")
        t.line(f"%mask = icmp ult <{W} x i64> %rows, %ns")
    if not t.point:
        if guarded_in is None or number < guarded_in:
            t.line(f"%keep = and <{W} x i1> %mask, %mask")
        elif number > guarded_in:
            p = t.address("%scratch", keep_slot * t.bytes)
            t.line(f"%kept = load {t.T}, ptr {p}, align {t.align}")
            t.line(f"%keep = fcmp une {t.T} %kept, {t.splat(0.0)}")
    if not t.point and not t.masked and t.tape.inputs >= PREFETCHED:
        t.lines += _rows_ahead(t)
    status = "0"
    for step in piece:
        if step[0] == "do":
            place = step[1]
            t.instruction(place)
            if place in crossing:
                t.keep(place, len(pieces) == 1)
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
                if len(pieces) > 1:
                    p = t.address("%scratch", keep_slot * t.bytes)
                    t.line(f"%keeps = select <{W} x i1> %keep, {t.T} {t.splat(1.0)}, {t.T} {t.splat(0.0)}")
                    t.line(f"store {t.T} %keeps, ptr {p}, align {t.align}")
            status = "%status"
    t.line(f"ret i32 {status}")
    return f"define internal i32 @{name}({arguments}) #0 {{\n" + "\n".join(t.lines) + "\n}\n"


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


def _tiled(t: Text, plan: list[Step], found: list[tiles.Tile], arguments: str) -> tuple[str, int]:
    """A batch in one piece whose sums of products are added tile by tile."""
    read = tiles.places(found)
    t.slots = {place: slot for slot, place in enumerate(read)}
    stride = len(read) * t.bytes
    functions = []
    for t.masked in (False, True):
        functions.append(_piece(t, 0, plan, [plan], arguments, set(read), None, 0))
    functions += [tiles.text(t, found, stride), tiles.driver(t, BATCH, arguments, stride)]
    return "\n".join([*functions, *t.declared, attributes(t.o)]), stride * tiles.VECTORS


def _calls(name: str, pieces: int, arguments: str, seen: str, tag: str) -> tuple[str, str]:
    """Calls of all pieces, and the name of what they return together."""
    lines = []
    for number in range(pieces):
        lines.append(f"  %{tag}s{number} = call i32 @{name}{number}({arguments})")
        lines.append(f"  %{tag}o{number} = or i32 {seen}, %{tag}s{number}")
        seen = f"%{tag}o{number}"
    return "\n".join(lines), seen


BATCH = "ptr %columns, ptr %params, ptr %outs, i64 %n, ptr %acc, ptr %bad, ptr %scratch"


def _driver(t: Text, arguments: str, pieces: int) -> str:
    """The function that is called, of a point (all pieces, once) or of a batch in one piece.

    The last rows of a batch, which do not fill a vector, have a copy of their own with masks.
    """
    if t.point:
        calls, seen = _calls("piece", pieces, arguments, "0", "p")
        return f"define i32 @kernel({arguments}) #0 {{\n{calls}\n  ret i32 {seen}\n}}\n"
    W = t.o.width
    full, full_seen = _calls("piece", 1, arguments, "%seen", "p")
    last, last_seen = _calls("last", 1, arguments.replace("%i,", "%r,"), "%found", "q")
    return f"""define i32 @kernel({BATCH}) #0 {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %rows ]
  %seen = phi i32 [ 0, %entry ], [ {full_seen}, %rows ]
  %next = add i64 %i, {W}
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


def _fetch(t: Text, lines: int) -> str:
    """Ask for code that is needed soon, a few cache lines for each vector of rows."""
    declare = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
    t.declared[declare] = declare
    found = [
        "  %row = sub i64 %i, %start",
        f"  %apart = mul i64 %row, {64 * lines // t.o.width}",
        "  %soon = getelementptr i8, ptr %code, i64 %apart",
    ]
    for k in range(lines):
        found.append(f"  %line{k} = getelementptr i8, ptr %soon, i64 {AHEAD + 64 * k}")
        found.append(f"  call void @llvm.prefetch.p0(ptr %line{k}, i32 0, i32 2, i32 1)")
    return "\n".join(found) + "\n"


def _driver_of_pieces(t: Text, pieces: int, arguments: str, vectors: int, stride: int) -> str:
    """The function that is called, of a batch in many pieces.

    Each piece is run for several vectors of rows, each with a scratch of its own, before the next piece: its code, which
    comes from far away, then serves all of them. All pieces have masks; the vectors are taken in the order of the rows.
    """
    W, block = t.o.width, t.o.width * vectors
    names = ", ".join(f"ptr @last{number}" for number in range(pieces))
    fetch = _fetch(t, -(-LINES // vectors)) if vectors > 1 else ""
    return f"""@pieces = internal constant [{pieces} x ptr] [{names}]
define i32 @kernel({BATCH}) #0 {{
entry:
  br label %blocks
blocks:
  %start = phi i64 [ 0, %entry ], [ %end, %filled ]
  %seen0 = phi i32 [ 0, %entry ], [ %or, %filled ]
  %some = icmp ult i64 %start, %n
  br i1 %some, label %block, label %done
block:
  %end = add i64 %start, {block}
  %whole = icmp ult i64 %end, %n
  %stop = select i1 %whole, i64 %end, i64 %n
  br label %piece
piece:
  %number = phi i64 [ 0, %block ], [ %following, %past ]
  %seen1 = phi i32 [ %seen0, %block ], [ %or, %past ]
  %at = getelementptr [{pieces} x ptr], ptr @pieces, i64 0, i64 %number
  %code = load ptr, ptr %at, align 8
  br label %vector
vector:
  %i = phi i64 [ %start, %piece ], [ %next, %vector ]
  %own = phi ptr [ %scratch, %piece ], [ %other, %vector ]
  %seen2 = phi i32 [ %seen1, %piece ], [ %or, %vector ]
{fetch}  %failed = call i32 %code({arguments.replace("ptr %scratch", "ptr %own")})
  %or = or i32 %seen2, %failed
  %next = add i64 %i, {W}
  %other = getelementptr i8, ptr %own, i64 {stride}
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %vector, label %past
past:
  %following = add i64 %number, 1
  %again = icmp ult i64 %following, {pieces}
  br i1 %again, label %piece, label %filled
filled:
  br label %blocks
done:
  ret i32 %seen0
}}
"""
