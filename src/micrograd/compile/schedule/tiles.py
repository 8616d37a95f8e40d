"""Sums over rows of products of pairs: the gradient of a matrix of weights is Σ g·x over rows, for each g and each x.

Row by row, every such sum is read and written for two operations. Here a few vectors of rows first leave their g and x in
scratch; then a tile of sums (four g by four x) is read once, all those rows are added, and it is written once: each number
that is loaded serves four products. A network of 337 parameters took 64 ns a row before, and 48 so.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from micrograd.compile.llvm import entry as drivers
from micrograd.compile.llvm.build import Options
from micrograd.compile.llvm.emit import Text
from micrograd.ops import OPS
from micrograd.tape.tape import CONST, PARAM, SOURCES, Tape

MUL = OPS["mul"]
FEWEST = 32  # sums over rows: fewer stay in registers
VECTORS = 8  # of rows before they are added: 4 took 4 % more, 16 as much


class Tile(NamedTuple):
    """All products of two short lists of places, and the number of the sum of each; without a right list, the left alone."""

    left: list[int]
    right: list[int]
    sums: list[list[int]]


def find(tape: Tape, reduced: list[bool], kinds: list[int], registers: int) -> tuple[list[Tile], set[int]]:
    """The sums over rows as tiles of at most `registers` sums, and the places of products that nobody else needs."""
    uses = Counter([a for op, args in zip(tape.ops, tape.args) if op not in SOURCES for a in args])
    uses.update(tape.outputs)
    partners: dict[int, dict[int, tuple[int, int]]] = {}  # left -> right -> (number of the sum, place of the product)
    plain: list[tuple[int, int]] = []
    for k, place in enumerate(tape.outputs):
        if not reduced[k]:
            continue
        if tape.ops[place] is MUL and uses[place] == 1:
            right, left = tape.args[place]
            new = right not in partners.get(left, ())
            if new and all(tape.ops[a] not in (PARAM, CONST) for a in (left, right)):
                partners.setdefault(left, {})[right] = kinds[k], place
                continue
        plain.append((place, kinds[k]))
    alike: dict[tuple[int, ...], list[int]] = {}  # lists on the right -> those on the left that go with all of it
    for left, others in partners.items():
        alike.setdefault(tuple(sorted(others)), []).append(left)
    found: list[Tile] = []
    products: set[int] = set()
    for rights, lefts in alike.items():
        high = min(len(lefts), 4 if registers >= 16 else 2)
        wide = max(1, registers // high)
        for i in range(0, len(lefts), high):
            for j in range(0, len(rights), wide):
                left, right = lefts[i : i + high], list(rights[j : j + wide])
                found.append(Tile(left, right, [[partners[a][b][0] for b in right] for a in left]))
                products.update(partners[a][b][1] for a in left for b in right)
    for i in range(0, len(plain), registers):
        some = plain[i : i + registers]
        found.append(Tile([place for place, _ in some], [], [[kind] for _, kind in some]))
    return found, products


def registers(options: Options) -> int:
    """How many sums can be held at a time: half of the processor's vector registers."""
    bits = options.width * (32 if options.single else 64)
    return max(1, (16 if options.bits == 512 else 8) * options.bits // max(options.bits, bits))


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


def places(tiles: list[Tile]) -> list[int]:
    """What the tiles read, each place once."""
    return list(dict.fromkeys(p for tile in tiles for p in (*tile.left, *tile.right)))


def driver(t: Text, stride: int) -> str:
    """The function that is called: rows leave what the tiles read, several vectors in turn; then the tiles are added."""
    own = drivers.arguments(t, True).replace("ptr %scratch", "ptr %own")
    return f"""define i32 @kernel({drivers.BATCH}) #0 {{
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
  %next = add i64 %i, {t.o.width}
  %full = icmp ule i64 %next, %n
  br i1 %full, label %whole, label %part
whole:
  %w = call i32 @piece0({own})
  br label %made
part:
  %p = call i32 @last0({own})
  br label %made
made:
  %one_more = add i64 %count, 1
  %filled = icmp eq i64 %one_more, {VECTORS}
  br i1 %filled, label %add, label %on
add:
  call void @tiles(ptr %acc, ptr %scratch, i64 {VECTORS})
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


def steps(tape: Tape, plan: list[Any], tiles: list[Tile], reduced: list[bool], products: set[int]) -> list[Any]:
    """What is left to do for a vector of rows, with ("keep", place) for sources that the tiles read."""
    kept = [("keep", p) for p in places(tiles) if tape.ops[p] in SOURCES]
    return kept + [s for s in plan if not (s[0] == "out" and reduced[s[1]]) and not (s[0] == "do" and s[1] in products)]
