"""erfc of a vector of doubles with the bits of the C library's erfc, for results that must be those of eager code.

glibc's erfc is that of Sun's fdlibm: a quotient of two polynomials on each of four intervals of |x|, and beyond 1.25 two
exponentials beside it. Here the four intervals are taken in one go: each lane selects its coefficients, whose missing ones are
zeros that change no bit. As for exp (same_exp.py), it is tried on this machine before it is used; lanes beyond 26, inf and
nan are called one by one.
"""

from __future__ import annotations

import math
import random
from functools import cache
from itertools import zip_longest
from typing import Any

from micrograd.compile.llvm import same_exp, trial
from micrograd.compile.llvm.vector_function import VectorFunction

# Numerator and denominator by powers of z: x² for |x| < 0.84375, |x| - 1 for |x| < 1.25, then 1/x², below and above 1/0.35.
NUMERATORS = (
    (0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442, -2.3763016656650163e-05),
    (-0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175, -0.11089469428239668,
     0.035478304325618236, -0.002166375594868791),
    (-0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006, -162.39666946257347,
     -184.60509290671104, -81.2874355063066, -9.814329344169145),
    (-0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192, -637.5664433683896,
     -1025.0951316110772, -483.5191916086514),
)  # fmt: skip
DENOMINATORS = (
    (1.0, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 0.00013249473800432164, -3.960228278775368e-06),
    (1.0, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164, 0.01363708391202905,
     0.011984499846799107),
    (1.0, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679, 429.00814002756783,
     108.63500554177944, 6.570249770319282, -0.0604244152148581),
    (1.0, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955, 2553.0504064331644,
     474.52854120695537, -22.44095244658582),
)  # fmt: skip
ERX = 0.8450629115104675  # erf(1), rounded to a short number
LAST = 0x4006DB6D00000000  # the bits of 1/0.35, to the upper word
TRIED = 100_000


def text(width: int) -> str:
    """The function for vectors of this width."""
    f = VectorFunction(width)
    T, whole, do, real, select, number = f.T, f.whole, f.do, f.real, f.select, f.number

    def quotient(z: str, masks: list[str]) -> str:
        """Each lane's own quotient: (c0 + z·c1) + z²·(c2 + z·c3) + z⁴·(...) as the library adds it, above and below."""
        second = real("mul", z, z)
        fourth = real("mul", second, second)
        powers = ["", second, fourth, real("mul", fourth, second), real("mul", fourth, fourth)]
        parts = []
        for rows in (NUMERATORS, DENOMINATORS):
            own = []
            for column in zip_longest(*rows[: len(masks) + 1], fillvalue=0.0):
                coefficient = number(column[-1])
                if len({*column}) > 1:
                    for mask, c in zip(reversed(masks), reversed(column[:-1])):
                        coefficient = select(mask, number(c), coefficient)
                own.append(coefficient)
            total = real("add", own[0], real("mul", z, own[1]))
            for k in range(2, len(own), 2):
                pair = real("add", own[k], real("mul", z, own[k + 1])) if k + 1 < len(own) else own[k]
                total = real("add", total, real("mul", powers[k // 2], pair))
            parts.append(total)
        return real("div", *parts)

    def below(y: str) -> str:
        """The result on |x| < 1.25."""
        product = real("mul", "%x", y)
        low = real("sub", number(1.0), real("add", "%x", product))
        high = real("sub", number(0.5), real("add", product, real("sub", "%x", number(0.5))))
        of_a = select(do(f"fcmp olt {T} %x, {number(0.25)}"), low, high)
        of_b = select(
            negative, real("add", number(1.0), real("add", number(ERX), y)), real("sub", number(1.0 - ERX), y)
        )
        return select(in_a, of_a, of_b)

    size = f.call("fabs", "%x")
    f.branch(do(f"fcmp olt {T} {size}, {number(26.0)}"), "fast", "slow")
    in_a = do(f"fcmp olt {T} {size}, {number(0.84375)}")
    in_b = do(f"fcmp olt {T} {size}, {number(1.25)}")
    negative = do(f"fcmp olt {T} %x, {number(0.0)}")
    z = select(in_a, real("mul", "%x", "%x"), real("sub", size, number(1.0)))
    f.branch(in_b, "near", "far")
    f.lines += [f"  ret {T} {below(quotient(z, [in_a]))}", "far:"]
    bits = do(f"bitcast {T} {size} to {whole}")
    in_c = do(f"icmp ult {whole} {bits}, splat (i64 {LAST})")
    y = quotient(select(in_b, z, real("div", number(1.0), real("mul", size, size))), [in_a, in_b, in_c])
    short = do(f"bitcast {whole} {do(f'and {whole} {bits}, splat (i64 {-(2**32)})')} to {T}")
    square = do(f"fneg {T} {real('mul', short, short)}")
    one = do(f"call {T} @mg_exp{width}({T} {real('sub', square, number(0.5625))})")
    rest = real("mul", real("sub", short, size), real("add", short, size))
    other = do(f"call {T} @mg_exp{width}({T} {real('add', rest, y)})")
    tail = real("div", real("mul", one, other), size)
    beyond = select(negative, real("sub", number(2.0), tail), tail)
    beyond = select(do(f"fcmp olt {T} %x, {number(-6.0)}"), number(2.0), beyond)
    return f.text(select(in_b, below(y), beyond), "erfc")


def functions(width: int) -> list[str]:
    """The function for vectors of this width, with what it needs."""
    library = "declare double @erfc(double) nounwind willreturn memory(none)"
    return [*same_exp.functions(width), library, text(width)]


def call(t: Any, x: str) -> str:
    """Write a call of erfc into a Text; the name of the result."""
    return same_exp.write_call(t, "mg_erfc", functions(t.width), x)


@cache
def usable(bits: int) -> bool:
    """Whether this machine's erfc has the same bits, tried with vectors of so many bits."""
    if not same_exp.usable(bits):
        return False
    width, rng = bits // 64, random.Random(7)
    edges = [0.0, -0.0, 0.25, 0.84375, 1.25, 1 / 0.35, 6.0, 2.8571414947509766]
    near = [s * math.nextafter(x, to) for x in edges for to in (-9.0, x, 9.0) for s in (1.0, -1.0)]
    spread = [rng.gauss(0.0, 1.5) for _ in range(TRIED // 2)] + [rng.uniform(-7.0, 26.0) for _ in range(TRIED // 4)]
    tiny = [rng.uniform(-1.0, 1.0) * 10.0 ** rng.uniform(-300, 0) for _ in range(TRIED // 4)]
    return trial.agrees(f"mg_erfc{width}", width, functions(width), math.erfc, near + spread + tiny)
