"""The text of sums over rows that are added tile by tile (schedule/tiles.py)."""

from __future__ import annotations

from micrograd.compile.llvm import entry
from micrograd.compile.llvm.build import Target
from micrograd.compile.llvm.emit import Text
from micrograd.compile.schedule.tiles import Tile
from micrograd.compile.tuning import TUNING


def registers(target: Target) -> int:
    """How many sums can be held at a time: half of the processor's vector registers."""
    bits = target.width * (32 if target.float32 else 64)
    return max(1, (16 if target.bits == 512 else 8) * target.bits // max(target.bits, bits))


def text(t: Text, tiles: list[Tile], stride: int) -> str:
    """The function that adds the products of `count` vectors of rows to the sums."""
    t.lines = []
    before = "entry"
    for number, tile in enumerate(tiles):
        cells = [(r, c, f"{number}_{r}_{c}") for r, row in enumerate(tile.sums) for c in range(len(row))]
        for r, c, cell in cells:
            p = t.address("%acc", tile.sums[r][c] * t.bytes)
            t.line(f"%old{cell} = load {t.T}, ptr {p}, align {t.align}")
        t.line(f"br label %loop{number}")
        t.lines.append(f"loop{number}:")
        t.line(f"%at{number} = phi ptr [ %values, %{before} ], [ %on{number}, %loop{number} ]")
        t.line(f"%k{number} = phi i64 [ 0, %{before} ], [ %next{number}, %loop{number} ]")
        for _, _, cell in cells:
            t.line(f"%sum{cell} = phi {t.T} [ %old{cell}, %{before} ], [ %new{cell}, %loop{number} ]")
        sides: list[list[str]] = []
        for places in (tile.left, tile.right):
            sides.append([])
            for place in places:
                p, x = t.address(f"%at{number}", t.slots[place] * t.bytes), t.fresh()
                t.line(f"{x} = load {t.T}, ptr {p}, align {t.align}")
                sides[-1].append(x)
        for r, c, cell in cells:
            term = sides[0][r]
            if tile.right:
                term = t.fresh()
                t.line(f"{term} = fmul {t.F}{t.T} {sides[0][r]}, {sides[1][c]}")
            t.line(f"%new{cell} = fadd {t.F}{t.T} %sum{cell}, {term}")
        t.line(f"%on{number} = getelementptr i8, ptr %at{number}, i64 {stride}")
        t.line(f"%next{number} = add i64 %k{number}, 1")
        t.line(f"%more{number} = icmp ult i64 %next{number}, %count")
        t.line(f"br i1 %more{number}, label %loop{number}, label %after{number}")
        before = f"after{number}"
        t.lines.append(f"{before}:")
        for r, c, cell in cells:
            p = t.address("%acc", tile.sums[r][c] * t.bytes)
            t.line(f"store {t.T} %new{cell}, ptr {p}, align {t.align}")
    t.line("ret void")
    body = "\n".join(t.lines)
    return f"define internal void @tiles(ptr noalias %acc, ptr noalias %values, i64 %count) #0 {{\nentry:\n{body}\n}}\n"


def kernel(t: Text, stride: int) -> str:
    """The entry point: several vectors of rows leave what the tiles read, then the tiles are added."""
    own = entry.arguments(t, True).replace("ptr %scratch", "ptr %own")
    return f"""define i32 @kernel({entry.BATCH}) #0 {{
entry:
  br label %vector
vector:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %count = phi i64 [ 0, %entry ], [ %so_far, %on ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %some, label %end
some:
  %offset = mul i64 %count, {stride}
  %own = getelementptr i8, ptr %scratch, i64 %offset
  %next = add i64 %i, {t.target.width}
  %full = icmp ule i64 %next, %n
  br i1 %full, label %whole, label %part
whole:
  %w = call i32 @chunk0({own})
  br label %made
part:
  %p = call i32 @last0({own})
  br label %made
made:
  %one_more = add i64 %count, 1
  %filled = icmp eq i64 %one_more, {TUNING.tiled_vectors}
  br i1 %filled, label %add, label %on
add:
  call void @tiles(ptr %acc, ptr %scratch, i64 {TUNING.tiled_vectors})
  br label %on
on:
  %so_far = phi i64 [ %one_more, %made ], [ 0, %add ]
  br label %vector
end:
  %left = icmp ne i64 %count, 0
  br i1 %left, label %rest, label %done
rest:
  call void @tiles(ptr %acc, ptr %scratch, i64 %count)
  br label %done
done:
  ret i32 0
}}
"""
