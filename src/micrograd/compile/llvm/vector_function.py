"""What the functions of a vector of doubles that have the bits of the C library (exp, log, erfc, pow) are written with."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path


def bits_of(x: float) -> int:
    """The 64 bits of a double as an integer."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def hex_of(x: float) -> str:
    """A double as LLVM writes it, to the bit."""
    return f"0x{bits_of(x):016X}"


def numbers_of_library(
    first: tuple[float, ...], count: int, accept: Callable[[tuple[float, ...]], bool]
) -> tuple[float, ...]:
    """The `count` doubles that follow some given ones in the C library's file, if they are accepted; () if there are none."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
        paths = {line.split()[-1] for line in lines if "/libm.so" in line or "/libm-2" in line}
        files = [Path(path).read_bytes() for path in sorted(paths)]
    except OSError:
        return ()
    begin = struct.pack(f"<{len(first)}d", *first)
    for data in files:
        at = data.find(begin)
        while at >= 0:  # the tables of log and of pow begin with the same numbers
            if len(found := data[at + len(begin) : at + len(begin) + 8 * count]) == 8 * count:
                numbers = struct.unpack(f"<{count}d", found)
                if accept(numbers):
                    return numbers
            at = data.find(begin, at + 1)
    return ()


def _load_lanes(width: int, table: str, places: str, count: int, prefix: str) -> list[str]:
    """Load `count` neighbouring doubles of a table for each lane, from its place, into %l0, %l1, ... with a prefix."""
    lines = []
    for k in range(width):
        lines += [
            f"  %{prefix}k{k} = extractelement <{width} x i64> {places}, i64 {k}",
            f"  %{prefix}p{k} = getelementptr i64, ptr @{table}, i64 %{prefix}k{k}",
            f"  %{prefix}l{k} = load <{count} x double>, ptr %{prefix}p{k}, align 8",
        ]
    return lines


def pairs(width: int, table: str, first: str, second: str) -> list[str]:
    """The pairs of doubles in a table at %place, as two vectors. Each lane loads its pair, in 3/4 of the time of a gather."""
    lines = _load_lanes(width, table, "%place", 2, "")
    halves = []
    # The pairs of even lanes go into one vector and those of odd lanes into another; then their firsts are neighbours.
    for odd in (0, 1):
        names, size = [f"%l{k}" for k in range(odd, width, 2)], 2
        while len(names) > 1:
            joined = [f"%j{odd}_{size}_{n}" for n in range(len(names) // 2)]
            order = ", ".join(f"i32 {i}" for i in range(2 * size))
            for name, x, y in zip(joined, names[::2], names[1::2]):
                vectors = f"<{size} x double> {x}, <{size} x double> {y}"
                lines.append(f"  {name} = shufflevector {vectors}, <{2 * size} x i32> <{order}>")
            names, size = joined, 2 * size
        halves.append(f"<{width} x double> {names[0]}")
    for which, name in enumerate((first, second)):
        order = ", ".join(f"i32 {i + which}, i32 {width + i + which}" for i in range(0, width, 2))
        lines.append(f"  %{name} = shufflevector {', '.join(halves)}, <{width} x i32> <{order}>")
    return lines


def triples(width: int, table: str, places: str, names: tuple[str, str, str]) -> list[str]:
    """The first three of the four doubles in a table at each of the places, as three vectors. The width is a multiple of 4."""
    lines = _load_lanes(width, table, places, 4, "t")
    fours = []  # every fourth lane, one behind the other: their numbers can be interleaved without crossing 256 bits
    for first in range(4):
        have, size = f"%tl{first}", 4
        for k in range(first + 4, width, 4):
            wide = f"%tw{k}"
            missing = ", ".join(["i32 0, i32 1, i32 2, i32 3", *["i32 poison"] * (size - 4)])
            lines.append(
                f"  {wide} = shufflevector <4 x double> %tl{k}, <4 x double> poison, <{size} x i32> <{missing}>"
            )
            order = ", ".join(f"i32 {i}" for i in range(size + 4))
            lines.append(
                f"  %tj{k} = shufflevector <{size} x double> {have}, <{size} x double> {wide}, <{size + 4} x i32> <{order}>"
            )
            have, size = f"%tj{k}", size + 4
        fours.append(have)
    T = f"<{width} x double>"
    for n, (x, y) in enumerate(((fours[0], fours[1]), (fours[2], fours[3]))):
        for odd in (0, 1):
            order = ", ".join(f"i32 {i + odd}, i32 {width + i + odd}" for i in range(0, width, 2))
            lines.append(f"  %ti{odd}_{n} = shufflevector {T} {x}, {T} {y}, <{width} x i32> <{order}>")
    for which, name in enumerate(names):
        odd, high = which % 2, which // 2 * 2
        order = ", ".join(
            f"i32 {i + high}, i32 {i + high + 1}, i32 {width + i + high}, i32 {width + i + high + 1}"
            for i in range(0, width, 4)
        )
        lines.append(f"  {name} = shufflevector {T} %ti{odd}_0, {T} %ti{odd}_1, <{width} x i32> <{order}>")
    return lines


def lane_by_lane(width: int, function: str, arguments: tuple[str, ...] = ("x",)) -> str:
    """The end of a function of these arguments: the result of the library for each lane."""
    T, lines, result = f"<{width} x double>", [], "poison"
    for k in range(width):
        lines += [f"  %{a}{k} = extractelement {T} %{a}, i64 {k}" for a in arguments]
        lines += [
            f"  %own{k} = call double @{function}({', '.join(f'double %{a}{k}' for a in arguments)}) nobuiltin",
            f"  %z{k} = insertelement {T} {result}, double %own{k}, i64 {k}",
        ]
        result = f"%z{k}"
    return "\n".join([*lines, f"  ret {T} {result}"])


class VectorFunction:
    """Writes an LLVM function of vectors of doubles, %x or more of them, instruction by instruction."""

    def __init__(self, width: int, arguments: tuple[str, ...] = ("x",)) -> None:
        self.width, self.lines, self.names, self.arguments = width, list[str](), 0, arguments
        self.T, self.whole, self.B = f"<{width} x double>", f"<{width} x i64>", f"<{width} x i1>"

    def do(self, instruction: str) -> str:
        """Write an instruction; the name of its result."""
        self.names += 1
        self.lines.append(f"  %t{self.names} = {instruction}")
        return f"%t{self.names}"

    def number(self, x: float) -> str:
        return f"splat (double {hex_of(x)})"

    def real(self, how: str, a: str, b: str) -> str:
        return self.do(f"f{how} {self.T} {a}, {b}")

    def integer(self, how: str, a: str, b: int) -> str:
        return self.do(f"{how} {self.whole} {a}, splat (i64 {b})")

    def call(self, name: str, *operands: str) -> str:
        return self.do(f"call {self.T} @llvm.{name}.v{self.width}f64({', '.join(f'{self.T} {o}' for o in operands)})")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.call("fma", a, b, c)

    def select(self, mask: str, a: str, b: str) -> str:
        return self.do(f"select {self.B} {mask}, {self.T} {a}, {self.T} {b}")

    def branch(self, test: str, yes: str, no: str) -> None:
        """End a block: where the test holds in all lanes go on at `yes`, which is begun."""
        every = self.do(f"icmp eq i{self.width} {self.do(f'bitcast {self.B} {test} to i{self.width}')}, -1")
        self.lines += [f"  br i1 {every}, label %{yes}, label %{no}", f"{yes}:"]

    def text(self, result: str, name: str) -> str:
        """The whole function, with the given result. At the label `slow` it calls the library's function for each lane."""
        end = [f"  ret {self.T} {result}", "slow:", lane_by_lane(self.width, name, self.arguments), "}\n"]
        given = ", ".join(f"{self.T} %{a}" for a in self.arguments)
        return "\n".join([f"define internal {self.T} @mg_{name}{self.width}({given}) noinline {{", *self.lines, *end])
