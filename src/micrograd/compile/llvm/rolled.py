"""Rolling packed code: pieces of text that differ only in their addresses become one function that loops over a table.

A trace unrolls every loop, so the packed code of a transformer has some 500 kB, of which every instruction runs once in a call.
Most of it is repeated: the same matrix product at other positions, over other rows. Here the repetitions are found again in the
text, whatever they came from. Addresses that keep their distance in all repetitions share a column of the table, so a matrix
product takes about three columns. The code shrinks to less than half, and compiles in half the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from micrograd.compile.llvm.emit import Address
from micrograd.compile.tuning import TUNING

NAME = re.compile(r"%t\d+")
GIVEN = "ptr noalias %in, ptr noalias %params, ptr noalias %out, ptr noalias %scratch"


class Piece:
    """Lines of straight code, the form that they have, and what they add to the start of their memories, address by address."""

    def __init__(self, lines: list[str], form: Repeated) -> None:
        self.lines, self.form = lines, form
        self.offsets = [offset for _, offset in addresses(lines)]

    def move(self, moved: Callable[[int], int]) -> None:
        """Move all addresses in scratch, given in numbers of doubles."""
        for k, line in enumerate(self.lines):
            if isinstance(line, Address) and line.base == "%scratch":
                self.lines[k] = Address.of(line.name, line.base, 8 * moved(line.bytes // 8))
        self.offsets = [offset for _, offset in addresses(self.lines)]


class Repeated:
    """What pieces have in common: their text without names and offsets."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pieces: list[Piece] = []
        self.columns: list[tuple[str, int]] | None = None  # of the table: a memory, and an address that it stands for
        self.column_of: list[int] = []  # the column of each address; -1 for one that is always the same
        self.rows: list[str] = []  # of the table, the cells of all rows

    def settle(self) -> None:
        """Decide whether the pieces share a function, when all of them are known."""
        first, bases = self.pieces[0], [base for base, _ in addresses(self.pieces[0].lines)]
        found: dict[tuple[str, tuple[int, ...]], int] = {}
        for k, base in enumerate(bases):
            apart = tuple([piece.offsets[k] - first.offsets[k] for piece in self.pieces])
            self.column_of.append(found.setdefault((base, apart), len(found)) if any(apart) else -1)
        starts: dict[int, tuple[str, int]] = {}
        for k, column in enumerate(self.column_of):
            if column >= 0:
                starts.setdefault(column, (bases[k], k))
        lines, count = (
            len(first.lines) - len(bases),
            len(self.pieces),
        )  # an address is a part of the instruction that uses it
        saved = (count - 1) * lines - count * (len(found) + TUNING.rolled_call)
        if found and saved > 0 and not any(line.endswith(":") or " br " in line for line in first.lines):
            self.columns = [starts[column] for column in range(len(found))]

    @property
    def rolled(self) -> bool:
        """Whether the pieces share a function."""
        return self.columns is not None

    def call(self, pieces: list[Piece]) -> str:
        """The line that runs some of the pieces, which do not depend on each other."""
        assert self.columns is not None
        at = 4 * len(self.rows)
        for piece in pieces:
            self.rows += [f"i32 {piece.offsets[k]}" for _, k in self.columns]
        table = f"getelementptr (i8, ptr @table{self.number}, i64 {at})"
        return f"  call void @form{self.number}(ptr %in, ptr %params, ptr %out, ptr %scratch, ptr {table}, i64 {len(pieces)})"

    def text(self) -> str:
        """The function and its table."""
        assert self.columns is not None
        first = self.pieces[0]
        lines = []
        for j, (base, _) in enumerate(self.columns):
            lines += [
                f"  %at{j} = getelementptr i32, ptr %row, i64 {j}",
                f"  %offset{j} = load i32, ptr %at{j}, align 4",
                f"  %wide{j} = sext i32 %offset{j} to i64",
                f"  %column{j} = getelementptr i8, ptr {base}, i64 %wide{j}",
            ]
        k = 0
        for line in first.lines:
            if isinstance(line, Address):
                column = self.column_of[k]
                if column >= 0:
                    apart = first.offsets[k] - first.offsets[self.columns[column][1]]
                    line = Address.of(line.name, f"%column{column}", apart)
                k += 1
            lines.append(line)
        body = "\n".join(lines)
        return f"""@table{self.number} = private unnamed_addr constant [{len(self.rows)} x i32] [{", ".join(self.rows)}]
define internal void @form{self.number}({GIVEN}, ptr noalias %table, i64 %n) #0 {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %row = phi ptr [ %table, %entry ], [ %row_next, %loop ]
{body}
  %row_next = getelementptr i32, ptr %row, i64 {len(self.columns)}
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


class Forms:
    """All forms of a kernel."""

    def __init__(self) -> None:
        self.all: dict[str, Repeated] = {}

    def add(self, lines: list[str]) -> Piece:
        """Note a piece of text."""
        names: dict[str, str] = {}
        bare = "\n".join([f"{line.name} = {line.base}" if isinstance(line, Address) else line for line in lines])
        key = NAME.sub(lambda found: names.setdefault(found[0], f"%{len(names)}"), bare)
        form = self.all.setdefault(key, Repeated(len(self.all)))
        form.pieces.append(Piece(lines, form))
        return form.pieces[-1]

    def move(self, moved: Callable[[int], int]) -> None:
        """Move all addresses in scratch, given in numbers of doubles."""
        for form in self.all.values():
            for piece in form.pieces:
                piece.move(moved)

    def settle(self) -> None:
        """Decide about all of them."""
        for form in self.all.values():
            form.settle()

    def text(self) -> list[str]:
        """The functions that are called."""
        return [form.text() for form in self.all.values() if form.rolled]


def addresses(lines: list[str]) -> list[tuple[str, int]]:
    """The addresses that lines compute: a memory and an offset each."""
    return [(line.base, line.bytes) for line in lines if isinstance(line, Address)]


def together(pieces: list[Piece]) -> list[list[Piece]]:
    """Pieces by their form, in the order of the first of each."""
    found: dict[int, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.form.number, []).append(piece)
    return list(found.values())
