"""The text of sums over rows that are added tile by tile (schedule/tiles.py)."""

from __future__ import annotations

from micrograd.compile.llvm import chunk
from micrograd.compile.llvm.build import LANES_BYTES, Target
from micrograd.compile.llvm.emit import IRText
from micrograd.compile.schedule.tiles import Tile


def registers(target: Target) -> int:
    """How many sums can be held at a time: half of the processor's vector registers."""
    bits = target.width * (32 if target.float32 else 64)
    return max(1, (16 if target.bits == 512 else 8) * target.bits // max(target.bits, bits))


def text(t: IRText, tiles: list[Tile], stride: int) -> str:
    """The function that adds the products of `count` vectors of rows to the sums.

    An iteration adds two vectors; where their number is odd, the first iteration begins in its middle. With one vector an
    iteration there were more than the five that the processor predicts the end of, and each tile of 16 sums waited.

    A sum has a fixed number of lanes. Where a vector has fewer of them, every second (fourth ...) vector is added in the same
    ones, and these vectors are added one after the other: a turn of each tile.
    """
    t.lines = []
    turns = LANES_BYTES // t.bytes
    for turn in range(turns):
        t.line(f"%over{turn} = add i64 %count, {turns - 1 - turn}")
        t.line(f"%mine{turn} = udiv i64 %over{turn}, {turns}")
        t.line(f"%size{turn} = mul i64 %mine{turn}, {stride * turns}")
        t.line(f"%from{turn} = getelementptr i8, ptr %values, i64 {stride * turn}")
        t.line(f"%end{turn} = getelementptr i8, ptr %from{turn}, i64 %size{turn}")
        t.line(f"%low{turn} = and i64 %mine{turn}, 1")
        t.line(f"%odd{turn} = icmp ne i64 %low{turn}, 0")
        t.line(f"%none{turn} = icmp eq i64 %mine{turn}, 0")
    before = "entry"
    for number, (tile, turn) in enumerate((tile, turn) for tile in tiles for turn in range(turns)):
        sums = tile.sums_of()
        first, second, after = f"first{number}", f"second{number}", f"after{number}"
        if turn:
            begin = f"begin{number}"
            t.line(f"br i1 %none{turn}, label %past{number}, label %{begin}")
            t.lines.append(f"{begin}:")
            before = begin
        for k, (_, _, to) in enumerate(sums):
            p = t.address("%acc", to * LANES_BYTES + turn * t.bytes)
            t.line(f"%old{number}_{k} = load {t.T}, ptr {p}, align {t.align}")
        t.line(f"br i1 %odd{turn}, label %{second}, label %{first}")
        for half, other, name in ((first, second, "a"), (second, first, "b")):
            t.lines.append(f"{half}:")
            coming, going = f"%{'b' if name == 'a' else 'a'}", f"%{name}"
            t.line(f"{going}at{number} = phi ptr [ %from{turn}, %{before} ], [ {coming}on{number}, %{other} ]")
            for k in range(len(sums)):
                old = f"[ %old{number}_{k}, %{before} ], [ {coming}{number}_{k}, %{other} ]"
                t.line(f"{going}sum{number}_{k} = phi {t.T} {old}")
            _add(t, f"{going}at{number}", sums, f"{going}sum{number}_", f"{going}{number}_")
            t.line(f"{going}on{number} = getelementptr i8, ptr {going}at{number}, i64 {stride * turns}")
            if name == "a":
                t.line(f"br label %{second}")
        t.line(f"%more{number} = icmp ne ptr %bon{number}, %end{turn}")
        t.line(f"br i1 %more{number}, label %{first}, label %{after}")
        t.lines.append(f"{after}:")
        for k, (_, _, to) in enumerate(sums):
            p = t.address("%acc", to * LANES_BYTES + turn * t.bytes)
            t.line(f"store {t.T} %b{number}_{k}, ptr {p}, align {t.align}")
        before = after
        if turn:
            t.line(f"br label %past{number}")
            t.lines.append(f"past{number}:")
            before = f"past{number}"
    t.line("ret void")
    body = "\n".join(t.lines)
    return f"define internal void @tiles(ptr noalias %acc, ptr noalias %values, i64 %count) #0 {{\nentry:\n{body}\n}}\n"


def _add(t: IRText, at: str, sums: list[tuple[int, int | None, int]], old: str, new: str) -> None:
    """Add the products of one vector of rows."""
    loaded: dict[int, str] = {}

    def load(place: int) -> str:
        if place not in loaded:
            p, loaded[place] = t.address(at, t.slots[place] * t.bytes), t.fresh()
            t.line(f"{loaded[place]} = load {t.T}, ptr {p}, align {t.align}")
        return loaded[place]

    for k, (left, right, _) in enumerate(sums):
        term = load(left)
        if right is not None and t.fused_sums:
            declare = f"declare {t.T} @llvm.fma.{t.S}({t.T}, {t.T}, {t.T})"
            t.declared[declare] = declare
            t.line(f"{new}{k} = call {t.T} @llvm.fma.{t.S}({t.T} {term}, {t.T} {load(right)}, {t.T} {old}{k})")
            continue
        if right is not None:
            x, product = load(right), t.fresh()
            t.line(f"{product} = fmul {t.F}{t.T} {term}, {x}")
            term = product
        t.line(f"{new}{k} = fadd {t.F}{t.T} {old}{k}, {term}")


def kernel(t: IRText, pieces: int, vectors: int, stride: int) -> str:
    """The entry point: several vectors of rows leave what the tiles read, one piece after the other; then tiles are added."""
    W = t.target.width
    loops = "\n".join(_piece(t, k, "block" if k == 0 else f"on{k - 1}", stride) for k in range(pieces))
    t.declared["declare i64 @llvm.umin.i64(i64, i64)"] = "declare i64 @llvm.umin.i64(i64, i64)"
    return f"""define i32 @kernel({chunk.BATCH}) #0 {{
entry:
  br label %blocks
blocks:
  %start = phi i64 [ 0, %entry ], [ %stop, %add ]
  %some = icmp ult i64 %start, %n
  br i1 %some, label %block, label %done
block:
  %stop = add i64 %start, {W * vectors}
  %until = call i64 @llvm.umin.i64(i64 %stop, i64 %n)
  %here = sub i64 %until, %start
  %over = add i64 %here, {W - 1}
  %count = udiv i64 %over, {W}
  br label %piece0
{loops}
  br label %add
add:
  call void @tiles(ptr %acc, ptr %scratch, i64 %count)
  br label %blocks
done:
  ret i32 0
}}
"""


def _piece(t: IRText, k: int, before: str, stride: int) -> str:
    """The loop that runs one piece for all vectors of a block; it ends in a block that has no branch yet."""
    i, own = f"%i{k}", f"%own{k}"
    given = chunk.arguments(t, True).replace("ptr %scratch", f"ptr {own}").replace("i64 %i,", f"i64 {i},")
    branch = f"  br label %piece{k}\n" if k else ""
    return f"""{branch}piece{k}:
  {i} = phi i64 [ %start, %{before} ], [ %next{k}, %made{k} ]
  {own} = phi ptr [ %scratch, %{before} ], [ %other{k}, %made{k} ]
  %next{k} = add i64 {i}, {t.target.width}
  %other{k} = getelementptr i8, ptr {own}, i64 {stride}
  %full{k} = icmp ule i64 %next{k}, %n
  br i1 %full{k}, label %whole{k}, label %part{k}
whole{k}:
  %w{k} = call i32 @chunk{k}({given})
  br label %made{k}
part{k}:
  %p{k} = call i32 @last{k}({given})
  br label %made{k}
made{k}:
  %more{k} = icmp ult i64 %next{k}, %until
  br i1 %more{k}, label %piece{k}, label %on{k}
on{k}:"""
