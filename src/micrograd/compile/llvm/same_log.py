"""log of a vector of doubles with the bits of the C library's log, for results that must be those of eager code.

glibc's log (since 2.28, on a processor with fused multiply-add) writes x as 2^k·z, takes 1/c and log(c) for a c near z from a
table of 128, and adds a polynomial of z/c - 1. Near 1 it is a longer polynomial of x - 1 instead. Here both are computed for
all lanes at once, and each lane selects its own. The table was searched for by its author, and cannot be computed; it is read
from the library itself. As for exp (same_exp.py), it is tried on this machine before it is used. Lanes that are not normal
positive numbers are called one by one.
"""

from __future__ import annotations

import math
import random
import struct
from functools import cache
from typing import Any

from micrograd.compile.llvm import build, same_exp, trial
from micrograd.compile.llvm.same_exp import SHIFT, TRIED
from micrograd.compile.llvm.vector_function import VectorFunction, bits_of, hex_of, numbers_of_library, pairs

SIZE = 128  # entries of the table
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")
SHORT, LONG = 5, 11  # coefficients of the two polynomials, which lie between these two numbers and the table
OFFSET = 0x3FE6000000000000  # the bits of 0.6875, where the first of the intervals of z begins
NEAR = bits_of(1.0 - 2.0**-4), bits_of(1.0 + float.fromhex("0x1.09p-4"))
LOWEST, BEYOND = 0x0010 << 48, 0x7FF0 << 48  # the bits of the smallest normal number, and of inf


@cache
def constants() -> tuple[float, ...]:
    """What the library has in memory for its log: two polynomials, and pairs (1/c, log c); () where it is not found."""
    return numbers_of_library((LN2_HIGH, LN2_LOW), SHORT + LONG + 2 * SIZE, _is_of_log)


def _is_of_log(numbers: tuple[float, ...]) -> bool:
    """Whether these can be the two polynomials and the table."""
    table = numbers[SHORT + LONG :]
    inverses, logs = table[::2], table[1::2]
    if numbers[SHORT] != -0.5 or not all(0.6 < c < 1.5 for c in inverses):
        return False
    return all(abs(math.log(c) + y) < 1e-12 for c, y in zip(inverses, logs))


def text(width: int) -> str:
    """The function for vectors of this width."""
    f = VectorFunction(width)
    T, whole, do, real, fma, integer, number = f.T, f.whole, f.do, f.real, f.fma, f.integer, f.number
    numbers = constants()
    a, b = numbers[:SHORT], numbers[SHORT : SHORT + LONG]

    def below(x: str, first: int, last: int) -> str:
        return do(f"icmp ult {whole} {integer('sub', x, first)}, splat (i64 {last - first})")

    bits = do(f"bitcast {T} %x to {whole}")
    f.branch(below(bits, LOWEST, BEYOND), "fast", "slow")

    # By the table.
    scaled = integer("sub", bits, OFFSET)
    f.lines.append(f"  %place = shl {whole} {integer('and', integer('lshr', scaled, 45), SIZE - 1)}, splat (i64 1)")
    f.lines += pairs(width, "mg_log_table", "inverse", "log")
    shifted = do(f"bitcast {whole} {integer('add', integer('ashr', scaled, 52), bits_of(SHIFT))} to {T}")
    k = real("sub", shifted, number(SHIFT))
    exponent = integer("and", scaled, -(1 << 52))
    z = do(f"bitcast {whole} {do(f'sub {whole} {bits}, {exponent}')} to {T}")
    r = fma(z, "%inverse", number(-1.0))
    w = fma(k, number(LN2_HIGH), "%log")
    high = real("add", w, r)
    low = fma(k, number(LN2_LOW), real("add", real("sub", w, high), r))
    square = real("mul", r, r)
    polynomial = fma(square, fma(r, number(a[4]), number(a[3])), fma(r, number(a[2]), number(a[1])))
    by_table = real("add", fma(real("mul", r, square), polynomial, fma(square, number(a[0]), low)), high)

    # Near 1.
    r = real("sub", "%x", number(1.0))
    square = real("mul", r, r)
    cube = real("mul", r, square)
    parts = [fma(square, number(b[i + 2]), fma(r, number(b[i + 1]), number(b[i]))) for i in (1, 4, 7)]
    polynomial = fma(cube, fma(cube, fma(cube, number(b[10]), parts[2]), parts[1]), parts[0])
    w = real("mul", r, number(2.0**27))
    top = real("sub", real("add", r, w), w)
    rest = real("sub", r, top)
    w = real("mul", real("mul", top, top), number(b[0]))
    high = real("add", r, w)
    low = fma(real("mul", number(b[0]), rest), real("add", top, r), real("add", real("sub", r, high), w))
    near = real("add", fma(cube, polynomial, low), high)
    return f.text(f.select(below(bits, *NEAR), near, by_table), "log")


def functions(width: int) -> list[str]:
    """The function for vectors of this width, with what it needs."""
    T, table = f"<{width} x double>", constants()[SHORT + LONG :]
    return [
        f"declare {T} @llvm.fma.v{width}f64({T}, {T}, {T})",
        "declare double @log(double) nounwind willreturn memory(none)",
        f"@mg_log_table = internal constant [{2 * SIZE} x double] [{', '.join(f'double {hex_of(x)}' for x in table)}]",
        text(width),
    ]


def call(t: Any, x: str) -> str:
    """Write a call of log into a Text; the name of the result."""
    return same_exp.write_call(t, "mg_log", functions(t.width), x)


@cache
def usable(bits: int) -> bool:
    """Whether this machine's log has the same bits, tried with vectors of so many bits."""
    if bits < 256 or not build.host_features().get("fma") or not constants():
        return False
    width, rng = bits // 64, random.Random(7)
    edges = [struct.unpack("<d", struct.pack("<Q", edge + k))[0] for edge in NEAR for k in range(-9, 9)]
    steps = [struct.unpack("<d", struct.pack("<Q", OFFSET + (i << 45) + k))[0] for i in range(SIZE) for k in (-1, 0, 1)]
    close = [1.0 + rng.uniform(-1.0, 1.0) * 10.0 ** rng.uniform(-17, 0) for _ in range(TRIED // 2)]
    spread = [rng.uniform(0.5, 2.0) * 2.0 ** rng.randint(-1021, 1022) for _ in range(TRIED // 4)]
    usual = [rng.uniform(0.0, 10.0) for _ in range(TRIED // 4)]
    numbers = [1.0, *edges, *steps, *(x for x in close if x > 0.0), *spread, *usual]
    return trial.agrees(f"mg_log{width}", width, functions(width), math.log, numbers)
