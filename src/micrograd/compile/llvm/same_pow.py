"""pow of vectors of doubles with the bits of the C library's pow, for results that must be those of eager code.

glibc's pow (since 2.28, on a processor with fused multiply-add) computes log(x) as a sum of two doubles, as its log does but
with a longer polynomial, multiplies both by y, and takes the steps of its exp. The table of logarithms is read from the library
(same_log.py says why). As for exp (same_exp.py), the whole is tried on this machine before it is used. If a lane has an x that
is not a normal positive number, or a result beyond exp(±512), the lanes are called one by one.

Measured on numbers between 0.5 and 2, to whole powers up to 200: 23 ns for 8 lanes, 90 lane by lane, 31 in libmvec.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

from micrograd.compile.llvm import build, same_exp, trial
from micrograd.compile.llvm.same_exp import SHIFT, TRIED
from micrograd.compile.llvm.same_log import BEYOND, LN2_HIGH, LN2_LOW, LOWEST
from micrograd.compile.llvm.vector_function import VectorFunction, bits_of, hex_of, numbers_of_library, pairs, triples

SIZE = 128  # entries of the table of logarithms
TERMS = 7  # coefficients of the polynomial, which lie in front of the table
OFFSET = 0x3FE6955500000000  # the bits of the number where the first of the intervals of z begins


@cache
def constants() -> tuple[float, ...]:
    """What the library has in memory: a polynomial, then (1/c, 0, log c, what is missing of that); () where it is not found."""
    return numbers_of_library((LN2_HIGH, LN2_LOW), TERMS + 4 * SIZE, _is_of_pow)


def _is_of_pow(numbers: tuple[float, ...]) -> bool:
    """Whether these can be the polynomial and the table."""
    table = numbers[TERMS:]
    inverses, logs = table[::4], table[2::4]
    if numbers[0] != -0.5 or not all(0.6 < c < 1.5 for c in inverses):
        return False
    return all(abs(math.log(c) + y) < 1e-12 for c, y in zip(inverses, logs))


def text(width: int) -> str:
    """The function for vectors of this width."""
    f = VectorFunction(width, ("x", "y"))
    T, whole, do, real, fma, integer, number = f.T, f.whole, f.do, f.real, f.fma, f.integer, f.number
    a = constants()[:TERMS]

    def minus(x: str) -> str:
        return do(f"fneg {T} {x}")

    bits = do(f"bitcast {T} %x to {whole}")
    f.branch(do(f"icmp ult {whole} {integer('sub', bits, LOWEST)}, splat (i64 {BEYOND - LOWEST})"), "normal", "slow")

    # log(x) = high + low. The order of the sums is the library's.
    scaled = integer("sub", bits, OFFSET)
    index = integer("shl", integer("and", integer("lshr", scaled, 45), SIZE - 1), 2)
    f.lines += triples(width, "mg_pow_table", index, ("%inverse", "%log", "%log_tail"))
    shifted = do(f"bitcast {whole} {integer('add', integer('ashr', scaled, 52), bits_of(SHIFT))} to {T}")
    k = real("sub", shifted, number(SHIFT))
    z = do(f"bitcast {whole} {do(f'sub {whole} {bits}, ' + integer('and', scaled, -(1 << 52)))} to {T}")
    r = fma(z, "%inverse", number(-1.0))
    t1 = fma(k, number(LN2_HIGH), "%log")
    t2 = real("add", t1, r)
    half = real("mul", r, number(a[0]))
    square = real("mul", r, half)
    first = real("add", t2, square)
    low = real("add", fma(k, number(LN2_LOW), "%log_tail"), real("add", real("sub", t1, t2), r))
    low = real("add", low, fma(half, r, minus(square)))
    low = real("add", low, real("add", real("sub", t2, first), square))
    p = fma(square, fma(r, number(a[6]), number(a[5])), fma(r, number(a[4]), number(a[3])))
    p = fma(square, p, fma(r, number(a[2]), number(a[1])))
    low = fma(real("mul", r, square), p, low)
    high = real("add", first, low)
    low = real("add", real("sub", first, high), low)

    # y·log(x), again as a sum.
    product = real("mul", "%y", high)
    rest = fma("%y", low, fma("%y", high, minus(product)))
    f.branch(do(f"fcmp olt {T} {f.call('fabs', product)}, {number(512.0)}"), "fast", "slow")

    # exp of it, as in same_exp.py with the rest added.
    rounded = fma(number(same_exp.SCALE), product, number(SHIFT))
    ki = do(f"bitcast {T} {rounded} to {whole}")
    kd = real("sub", rounded, number(SHIFT))
    r = fma(kd, number(same_exp.LN2_LOW), fma(kd, number(same_exp.LN2_HIGH), product))
    r = real("add", r, rest)
    f.lines.append(f"  %place = shl {whole} {integer('and', ki, same_exp.SIZE - 1)}, splat (i64 1)")
    f.lines += pairs(width, "mg_exp_table", "tail", "scales")
    top = integer("shl", ki, 45)
    scale = do(f"bitcast {whole} {do(f'add {whole} {top}, ' + do(f'bitcast {T} %scales to {whole}'))} to {T}")
    square = real("mul", r, r)
    sum_ = fma(square, fma(r, number(same_exp.C3), number(same_exp.C2)), real("add", "%tail", r))
    sum_ = fma(real("mul", square, square), fma(r, number(same_exp.C5), number(same_exp.C4)), sum_)
    return f.text(fma(scale, sum_, scale), "pow")


def functions(width: int) -> list[str]:
    """The function for vectors of this width, with what it needs."""
    table = constants()[TERMS:]
    rows = [x for k in range(SIZE) for x in (table[4 * k], table[4 * k + 2], table[4 * k + 3], 0.0)]
    return [
        *same_exp.declarations(width),
        "declare double @pow(double, double) nounwind willreturn memory(none)",
        f"@mg_pow_table = internal constant [{4 * SIZE} x double] [{', '.join(f'double {hex_of(x)}' for x in rows)}]",
        text(width),
    ]


def call(t: Any, x: str, y: str) -> str:
    """Write a call of pow into a Text; the name of the result."""
    return same_exp.write_call(t, "mg_pow", functions(t.width), x, y)


@cache
def usable(bits: int) -> bool:
    """Whether this machine's pow has the same bits, tried with vectors of so many bits."""
    if bits < 256 or not build.host_features().get("fma") or not constants():
        return False
    width, rng = bits // 64, random.Random(7)
    ordinary = [(rng.uniform(0.0, 10.0), rng.uniform(-20.0, 20.0)) for _ in range(TRIED // 4)]
    whole = [(rng.uniform(0.5, 2.0), float(rng.randint(-300, 300))) for _ in range(TRIED // 4)]
    close = [
        (1.0 + rng.uniform(-1, 1) * 10.0 ** rng.uniform(-17, -1), 10.0 ** rng.uniform(-20, 4))
        for _ in range(TRIED // 4)
    ]
    spread = [(2.0 ** rng.uniform(-1022, 1023), rng.uniform(-0.7, 0.7)) for _ in range(TRIED // 4)]
    xs, ys = zip(*ordinary, *whole, *close, *spread)
    return trial.agrees(f"mg_pow{width}", width, functions(width), math.pow, xs, ys)
