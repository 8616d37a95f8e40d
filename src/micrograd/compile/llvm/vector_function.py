"""What the functions of a vector of doubles that have the bits of the C library (exp, log, erfc) are written with."""

from __future__ import annotations

import struct


def bits_of(x: float) -> int:
    """The 64 bits of a double as an integer."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def hex_of(x: float) -> str:
    """A double as LLVM writes it, to the bit."""
    return f"0x{bits_of(x):016X}"


def pairs(width: int, table: str, first: str, second: str) -> list[str]:
    """The pairs of doubles in a table at %place, as two vectors. Each lane loads its pair, in 3/4 of the time of a gather."""
    lines = []
    for k in range(width):
        lines += [
            f"  %k{k} = extractelement <{width} x i64> %place, i64 {k}",
            f"  %p{k} = getelementptr i64, ptr @{table}, i64 %k{k}",
            f"  %l{k} = load <2 x double>, ptr %p{k}, align 8",
        ]
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


def lane_by_lane(width: int, function: str) -> str:
    """The end of a function of %x: the result of the library for each lane."""
    T, lines, result = f"<{width} x double>", [], "poison"
    for k in range(width):
        lines += [
            f"  %x{k} = extractelement {T} %x, i64 {k}",
            f"  %y{k} = call double @{function}(double %x{k})",
            f"  %z{k} = insertelement {T} {result}, double %y{k}, i64 {k}",
        ]
        result = f"%z{k}"
    return "\n".join([*lines, f"  ret {T} {result}"])


class VectorFunction:
    """Writes an LLVM function of one vector of doubles, %x, instruction by instruction."""

    def __init__(self, width: int) -> None:
        self.width, self.lines, self.names = width, list[str](), 0
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
        end = [f"  ret {self.T} {result}", "slow:", lane_by_lane(self.width, name), "}\n"]
        return "\n".join(
            [f"define internal {self.T} @mg_{name}{self.width}({self.T} %x) noinline {{", *self.lines, *end]
        )
