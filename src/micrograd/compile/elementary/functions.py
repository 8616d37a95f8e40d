"""The elementary functions, written once: for vectors on the CPU, and for a thread of a GPU, which has none of its own.

exp, log, pow and erfc take the steps of glibc since 2.28 on a processor with fused multiply-add (those of ARM's optimized
routines, under the MIT licence, and of Sun's fdlibm for erfc), so that they have the bits of eager code wherever that is the C
library; whether it is, is tried (llvm/vector_math.py). fmod, remainder, // and % are exact anyway. The others have formulas
of their own, within two and a half units in the last place. Coefficients were fitted through Chebyshev points with mpmath, at
70 digits; tools/elementary.py writes the tables. tests/compile/test_elementary.py measures each function against mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, nan

from micrograd.compile.elementary import circular
from micrograd.compile.elementary.circular import SHIFT
from micrograd.compile.elementary.formula import (
    FLAG,
    SIGN,
    WHOLE,
    Formula,
    Name,
    bits_of,
    exact_product,
    exact_sum,
    intrinsics,
    with_sign,
)
from micrograd.compile.elementary.tables import LOGARITHMS, LONG_LOGARITHMS, POWERS_OF_TWO

LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
LOG2_E = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
LOG10_E = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))
LOWEST, BEYOND = 0x0010 << 48, 0x7FF0 << 48  # the bits of the smallest normal number, and of inf
SIZE = 128  # intervals of each table


# ---- exponentials: x = k·ln(2)/128 + r, and 2^(k/128) from a table

SCALE = float.fromhex("0x1.71547652b82fep0") * SIZE
STEP_HIGH, STEP_LOW = float.fromhex("-0x1.62e42fefa0000p-8"), float.fromhex("-0x1.cf79abc9e3b3ap-47")  # -ln(2)/128
E2, E3, E4, E5 = (float.fromhex(x) for x in ("0x1.ffffffffffdbdp-2", "0x1.555555555543cp-3", "0x1.55555cf172b91p-5",
                                             "0x1.1111167a4d017p-7"))  # fmt: skip


def _power_of_e(f: Formula, x: Name, rest: Name | None = None) -> tuple[Name, Name, Name]:
    """exp(x + rest) as scale + scale·more: the bits of scale, more, and the whole number that scale was made from."""
    rounded = f.fma(SCALE, x, SHIFT)
    ki, kd = rounded.bits(), rounded - SHIFT
    r = f.fma(kd, STEP_LOW, f.fma(kd, STEP_HIGH, x))
    if rest is not None:
        r = r + rest
    return *_power_of_two(f, ki, r), ki


def _power_of_two(f: Formula, ki: Name, r: Name) -> tuple[Name, Name]:
    """2^(ki/128)·exp(r) as scale + scale·more: the bits of scale, and more."""
    tail, bits = f.entries(f.table("mg_powers_of_two", POWERS_OF_TWO, WHOLE), (ki & (SIZE - 1)) << 1, 2, WHOLE)
    scale = bits.bits() + (ki << 45)
    square = r * r
    more = f.fma(square, f.fma(r, E3, E2), tail + r)
    return scale, f.fma(square * square, f.fma(r, E5, E4), more)


def _usual(f: Formula, scale: Name, more: Name) -> Name:
    """scale + scale·more, where scale is a normal number."""
    s = scale.real()
    return f.fma(s, more, s)


def _scaled(f: Formula, scale: Name, more: Name, ki: Name) -> Name:
    """scale + scale·more, where scale may be beyond the exponents that there are."""
    large = (scale - (1009 << 52)).real()
    over = f.fma(large, more, large) * 2.0**1009
    small = (scale + (1022 << 52)).real()
    product = small * more  # which has two readers, so that compilers of glibc do not fuse it
    y = small + product
    low = (small - y) + product
    high = 1.0 + y
    again = (high + (((1.0 - high) + y) + low)) - 1.0  # rounded where the denormal result is
    under = f.select(y < 1.0, again + 0.0, y) * 2.0**-1022
    return f.select((ki & 0x80000000).same(0), over, under)


def _exp(f: Formula, x: Name) -> Name:
    scale, more, ki = _power_of_e(f, x)

    def far() -> Name:
        y = f.select(x >= 1024.0, inf, f.select(x <= -1024.0, 0.0, _scaled(f, scale, more, ki)))
        return f.select(x.is_nan(), x, y)

    y: Name = f.choose(f.abs(x) < 512.0, lambda: _usual(f, scale, more), far)
    return y


def _exp2(f: Formula, x: Name) -> Name:
    x0 = f.select(x > 1100.0, 1100.0, f.select(x < -1100.0, -1100.0, x))
    rounded = f.fma(x0, 128.0, SHIFT)
    ki, kd = rounded.bits(), rounded - SHIFT
    r = f.fma(kd, -1.0 / 128.0, x0)
    scale, more = _power_of_two(f, ki, f.fma(r, LN2[1], r * LN2[0]))
    y = f.choose(f.abs(x0) < 512.0, lambda: _usual(f, scale, more), lambda: _scaled(f, scale, more, ki))
    y = f.select(x >= 1024.0, inf, f.select(x <= -1076.0, 0.0, y))
    return f.select(x.is_nan(), x, y)


def _expm1(f: Formula, x: Name) -> Name:
    def near() -> Name:
        scale, more, _ = _power_of_e(f, x)
        s = scale.real()
        return f.fma(s, more, s - 1.0)

    def far() -> Name:
        return f.select(x < 0.0, -1.0, f.own("exp", x))

    y = f.choose(f.abs(x) < 512.0, near, far)
    return f.select(x.same(0.0), x, y)


def _sinh(f: Formula, x: Name) -> Name:
    size = f.abs(x)

    def near() -> Name:
        e = f.own("expm1", size)
        quotient = e / (e + 1.0)
        return 0.5 * f.select(size < 1.0, f.fma(-e, quotient, e + e), e + quotient)

    def far() -> Name:
        half = f.own("exp", 0.5 * size)
        return (0.5 * half) * half

    return with_sign(f, f.choose(size < 700.0, near, far), x)


def _cosh(f: Formula, x: Name) -> Name:
    size = f.abs(x)

    def near() -> Name:
        e = f.own("exp", size)
        return 0.5 * e + 0.5 / e

    def far() -> Name:
        half = f.own("exp", 0.5 * size)
        return (0.5 * half) * half

    result: Name = f.choose(size < 700.0, near, far)
    return result


def _tanh(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    large = size >= 1.0
    e = f.own("expm1", f.select(large, size + size, -(size + size)))
    quotient = f.select(large, -2.0, -e) / (e + 2.0)
    return with_sign(f, f.select(large, 1.0 + quotient, quotient), x)


# ---- logarithms


# x = 2^k·z, and log(z) = log(c) + log(z/c) with 1/c and log(c) from a table

LOG_FROM, POW_FROM = 0x3FE6000000000000, 0x3FE6955500000000  # the bits of where the first interval of z begins
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")
# log(1 + r) = r + r²·(L0 + r·L1 + ...) for z/c - 1 in log; the same near 1, and with factors of 2 in pow
L = tuple(float.fromhex(x) for x in ("-0x1.0000000000001p-1", "0x1.555555551305bp-2", "-0x1.fffffffeb4590p-3",
                                     "0x1.999b324f10111p-3", "-0x1.55575e506c89fp-3"))  # fmt: skip
NEAR_1 = tuple(float.fromhex(x) for x in (
    "-0x1.0000000000000p-1", "0x1.5555555555577p-2", "-0x1.ffffffffffdcbp-3", "0x1.999999995dd0cp-3",
    "-0x1.55555556745a7p-3", "0x1.24924a344de30p-3", "-0x1.fffffa4423d65p-4", "0x1.c7184282ad6cap-4",
    "-0x1.999eb43b068ffp-4", "0x1.78182f7afd085p-4", "-0x1.5521375d145cdp-4",
))  # fmt: skip
NEAR = bits_of(1.0 - 2.0**-4), bits_of(1.0 + float.fromhex("0x1.09p-4"))
P = tuple(float.fromhex(x) for x in (
    "-0x1.0000000000000p-1", "-0x1.5555555555560p-1", "0x1.0000000000006p-1", "0x1.999999959554ep-1",
    "-0x1.555555529a47ap-1", "-0x1.2495b9b4845e9p+0", "0x1.0002b8b263fc3p+0",
))  # fmt: skip


def _interval(f: Formula, bits: Name, first: int) -> tuple[Name, Name, Name]:
    """The number of the interval of z, k, and z."""
    scaled = bits - first
    z = (bits - (scaled & -(1 << 52))).real()
    k = (scaled.ashr(52) + bits_of(SHIFT)).real() - SHIFT
    return (scaled >> 45) & (SIZE - 1), k, z


def _log_parts(f: Formula, bits: Name) -> tuple[Name, Name]:
    """log of a normal positive number as a sum of two, with some 68 bits: the logarithm in glibc's pow."""
    place, k, z = _interval(f, bits, POW_FROM)
    inverse, log, log_tail, _ = f.entries(f.table("mg_long_logarithms", LONG_LOGARITHMS), place << 2, 4)
    r = f.fma(z, inverse, -1.0)
    t1 = f.fma(k, LN2_HIGH, log)
    t2 = t1 + r
    half = r * P[0]
    square = r * half
    first = t2 + square
    low = f.fma(k, LN2_LOW, log_tail) + ((t1 - t2) + r)
    low = low + f.fma(half, r, -square)
    low = low + ((t2 - first) + square)
    p = f.fma(square, f.fma(r, P[6], P[5]), f.fma(r, P[4], P[3]))
    p = f.fma(square, p, f.fma(r, P[2], P[1]))
    low = f.fma(r * square, p, low)
    high = first + low
    return high, (first - high) + low


def _normal(f: Formula, x: Name) -> Name:
    """The bits of a positive number, with an exponent below zero where it is denormal."""
    return f.select(x < 2.0**-1022, (x * 2.0**52).bits() - (52 << 52), x.bits())


def _at_edges(f: Formula, x: Name, y: Name) -> Name:
    """A logarithm: y for positive numbers."""
    y = f.select(x.same(0.0), -inf, f.select(x.same(inf), x, y))
    return f.select(x < 0.0, nan, f.select(x.is_nan(), x, y))


def _log(f: Formula, x: Name) -> Name:
    bits = _normal(f, x)
    place, k, z = _interval(f, bits, LOG_FROM)
    inverse, log = f.entries(f.table("mg_logarithms", LOGARITHMS), place << 1, 2)
    r = f.fma(z, inverse, -1.0)
    w = f.fma(k, LN2_HIGH, log)
    high = w + r
    low = f.fma(k, LN2_LOW, (w - high) + r)
    square = r * r
    p = f.fma(square, f.fma(r, L[4], L[3]), f.fma(r, L[2], L[1]))
    by_table = f.fma(r * square, p, f.fma(square, L[0], low)) + high

    def near() -> Name:
        b = NEAR_1
        r = x - 1.0
        square = r * r
        cube = r * square
        parts = [f.fma(square, b[i + 2], f.fma(r, b[i + 1], b[i])) for i in (1, 4, 7)]
        p = f.fma(cube, f.fma(cube, f.fma(cube, b[10], parts[2]), parts[1]), parts[0])
        w = r * 2.0**27
        top = (r + w) - w
        rest = r - top
        w = (top * top) * b[0]
        high = r + w
        low = f.fma(b[0] * rest, top + r, (r - high) + w)
        return f.fma(cube, p, low) + high

    first, last = NEAR
    y = f.choose((x.bits() - first) < (last - first), near, lambda: by_table)
    found: Name = f.choose((x.bits() - LOWEST) < (BEYOND - LOWEST), lambda: y, lambda: _at_edges(f, x, y))
    return found


def _log1p(f: Formula, x: Name) -> Name:
    u, rest = exact_sum(x, 1.0)
    high, low = _log_parts(f, u.bits())
    y = high + (low + rest / u)
    y = f.select(f.abs(x) < 2.0**-54, x, y)
    return f.select(x.same(inf), x, _at_edges_1p(f, x, y))


def _at_edges_1p(f: Formula, x: Name, y: Name) -> Name:
    y = f.select(x.same(-1.0), -inf, y)
    return f.select(x < -1.0, nan, f.select(x.is_nan(), x, y))


def _log_to(f: Formula, x: Name, factor: tuple[float, float]) -> Name:
    high, low = _log_parts(f, _normal(f, x))
    p, rest = exact_product(f, high, factor[0])
    y = p + (rest + f.fma(high, factor[1], low * factor[0]))
    return _at_edges(f, x, y)


def _asinh(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    square = size * size
    root = f.sqrt(square + 1.0)
    small = f.own("log1p", size + square / (1.0 + root))
    large = f.own("log", 2.0 * size + 1.0 / (root + size))
    huge = f.own("log", size) + LN2[0]
    y = f.select(size < 2.0, small, f.select(size < 2.0**28, large, huge))
    return with_sign(f, y, x)


def _acosh(f: Formula, x: Name) -> Name:
    t = x - 1.0
    small = f.own("log1p", t + f.sqrt(f.fma(t, t, t + t)))
    large = f.own("log", 2.0 * x - 1.0 / (x + f.sqrt(x * x - 1.0)))
    huge = f.own("log", x) + LN2[0]
    y = f.select(x < 2.0, small, f.select(x < 2.0**28, large, huge))
    return f.select(x < 1.0, nan, y)


def _atanh(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    y = 0.5 * f.own("log1p", (size + size) / (1.0 - size))
    return with_sign(f, f.select(size > 1.0, nan, y), x)


# ---- powers and roots


def _pow(f: Formula, x: Name, y: Name) -> Name:
    size = f.abs(x)
    high, low = _log_parts(f, _normal(f, size))
    product = y * high
    rest = f.fma(y, low, f.fma(y, high, -product))
    scale, more, ki = _power_of_e(f, product, rest)

    def special() -> Name:
        z = f.select(f.abs(product) < 512.0, _usual(f, scale, more), _scaled(f, scale, more, ki))
        z = f.select(product >= 1024.0, inf, f.select(product <= -1024.0, 0.0, z))
        whole = f.rint(y).same(y)  # infinity is whole and even; nan is not whole
        half = 0.5 * y
        odd = f.select(whole, ~f.rint(half).same(half), f.as_name(0, FLAG))
        grows = f.select(size > 1.0, y > 0.0, y < 0.0)  # of size, which is not 1
        at_edge = f.select(size.same(1.0), 1.0, f.select(grows, inf, 0.0))
        edge = f.abs(y).same(inf) | size.same(inf) | size.same(0.0) | (f.abs(y) >= 2.0**63)
        zero_or_inf = size.same(inf) | size.same(0.0)
        z = f.select(edge, at_edge, z)
        z = f.select(f.abs(y) < 2.0**-65, 1.0, z)
        z = f.select(zero_or_inf & ~y.same(0.0), f.select(size.same(inf), f.select(y > 0.0, inf, 0.0),
                                                          f.select(y > 0.0, 0.0, inf)), z)  # fmt: skip
        negative = (x.bits() >> 63).same(1)
        z = f.select(negative & odd, -z, z)
        z = f.select(negative & ~whole & ~zero_or_inf, nan, z)
        z = f.select(x.is_nan() | y.is_nan(), nan, z)
        return f.select(x.same(1.0) | y.same(0.0), 1.0, z)

    normal = (x.bits() - LOWEST) < (BEYOND - LOWEST)
    usual = normal & (f.abs(product) < 512.0) & (f.abs(y) >= 2.0**-65)
    z: Name = f.choose(usual, lambda: _usual(f, scale, more), special)
    return z


CLEAR, CLEAR_BEYOND = 0.487, 0.48  # units in the last place, for 1e-9 < |x| < 1e9 and beyond


def _square(f: Formula, x: Name) -> Name:
    """pow(x, 2), mostly without a pow.

    The product is rounded correctly, and pow is not: it is off by up to 0.513 units in the last place, and by more where
    exponents are large, so about one square in a thousand has another last bit. What the rounding left out is known exactly.
    Where it is clearly less than half a unit, the product is the number that pow gives.
    """
    p = x * x
    size, rest = f.abs(x), f.abs(f.fma(x, x, -p))
    bits = p.bits()
    exponent = bits & (0x7FF << 52)
    part = f.select((size >= 1e-9) & (size <= 1e9), CLEAR * 2.0**-52, CLEAR_BEYOND * 2.0**-52)
    small = rest < exponent.real() * part
    inside = ~bits.same(exponent) | rest.same(0.0)  # below a power of two the units are half as large
    clear = small & inside & (size >= 1e-40) & (size <= 1e40)  # what is left out of other products may be subnormal
    y: Name = f.choose(clear | x.same(0.0), lambda: p, lambda: f.own("pow", x, f.as_name(2.0)))
    return y


def _cbrt(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    small, large = size < 2.0**-1022, size > 2.0**1000
    scaled = size * f.select(small, 2.0**54, f.select(large, 2.0**-54, 1.0))
    t = (scaled.bits().third() + 0x2A9F7893_782DA1CE).real()  # within 5 percent
    for _ in range(3):
        cube = t * t * t
        t = f.fma(t, (scaled - cube) / (cube + cube + scaled), t)
    square, left = exact_product(f, t, t)
    cube, left_2 = exact_product(f, square, t)
    t = t + (((scaled - cube) - left_2) - left * t) / (3.0 * square)
    t = t * f.select(small, 2.0**-18, f.select(large, 2.0**18, 1.0))
    y = with_sign(f, t, x)
    return f.select(size.same(0.0) | size.same(inf) | x.is_nan(), x, y)


def _hypot(f: Formula, x: Name, y: Name) -> Name:
    a, b = f.abs(x), f.abs(y)
    large, small = f.select(a > b, a, b), f.select(a > b, b, a)
    scale = f.select(large > 2.0**500, 2.0**-600, f.select(large < 2.0**-500, 2.0**600, 1.0))
    back = f.select(large > 2.0**500, 2.0**600, f.select(large < 2.0**-500, 2.0**-600, 1.0))
    p, q = large * scale, small * scale
    h = f.sqrt(f.fma(p, p, q * q))
    h2, p2 = h * h, p * p
    off = (f.fma(-q, q, h2 - p2) + f.fma(h, h, -h2)) - f.fma(p, p, -p2)
    z = (h - off / (h + h)) * back
    z = f.select(large.same(0.0), 0.0, z)
    z = f.select(a.is_nan() | b.is_nan(), nan, z)
    return f.select(a.same(inf) | b.same(inf), inf, z)


# ---- remainders


def _exponent(f: Formula, x: Name) -> Name:
    small = x < 2.0**-1022
    return f.select(small, ((x * 2.0**54).bits() >> 52) - 54, x.bits() >> 52)


def _fmod_of_sizes(f: Formula, a: Name, b: Name) -> Name:
    """a modulo b, for a finite a that is not negative and a positive b: 50 bits of the quotient at a time, without rounding."""
    own = _exponent(f, b)

    def step(r: Name) -> Name:
        more = _exponent(f, r) - own
        k = f.select(more > 50, more - 50, f.as_name(0, WHOLE))
        quarter = k >> 2  # 2^k in four factors, since the quotient may have more than 2,000 bits
        power = ((quarter + 1023) << 52).real()
        multiple = b * power * power * power * ((k - quarter * 3 + 1023) << 52).real()
        left = f.fma(-f.trunc(r / multiple), multiple, r)
        return f.select(left < 0.0, left + multiple, left)

    return f.repeat(lambda r: r >= b, step, a)


def _fmod(f: Formula, x: Name, y: Name) -> Name:
    a, b = f.abs(x), f.abs(y)
    wrong = a.same(inf) | b.same(0.0) | x.is_nan() | y.is_nan()
    r = _fmod_of_sizes(f, f.select(wrong, 0.0, a), f.select(wrong, 1.0, b))
    return f.select(wrong, nan, with_sign(f, r, x))


def _remainder(f: Formula, x: Name, y: Name) -> Name:
    a, b = f.abs(x), f.abs(y)
    wrong = a.same(inf) | b.same(0.0) | x.is_nan() | y.is_nan()
    a, b = f.select(wrong, 0.0, a), f.select(wrong, 1.0, b)
    r = _fmod_of_sizes(f, a, f.select(b < 2.0**1022, b + b, inf))
    small = b < 1.0
    over = f.select(small, r + r > b, r > 0.5 * b)
    r = f.select(over, r - b, r)
    again = over & f.select(small, r + r >= b, r >= 0.5 * b)
    r = f.select(again, r - b, r)
    y = (r.bits() ^ (x.bits() & SIGN)).real()
    return f.select(wrong, nan, f.select(r.same(0.0), with_sign(f, f.abs(r), x), y))


def _mg_mod(f: Formula, x: Name, y: Name) -> Name:
    r = f.own("fmod", x, y)
    differ = (x.bits() ^ y.bits()) >> 63
    z = f.select(differ.same(1), r + y, r)
    z = f.select(r.same(0.0), with_sign(f, f.as_name(0.0), y), z)
    return f.select(y.same(0.0), nan, f.select(r.is_nan(), nan, z))


def _mg_floordiv(f: Formula, x: Name, y: Name) -> Name:
    r = f.own("fmod", x, y)
    quotient = (x - r) / y
    negative = f.select(y < 0.0, ~(r < 0.0), r < 0.0)
    quotient = f.select(~r.same(0.0) & negative, quotient - 1.0, quotient)
    whole = f.floor(quotient)
    z = f.select(quotient - whole > 0.5, whole + 1.0, whole)
    z = f.select(quotient.same(0.0), with_sign(f, f.as_name(0.0), x / y), z)
    return f.select(y.same(0.0), f.floor(x / y), z)


# ---- the error function: quotients of polynomials on four intervals of |x|, as in Sun's fdlibm

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


def _quotient(z: Name, row: int) -> Name:
    """A quotient of polynomials in z, added as the library adds it."""
    second = z * z
    fourth = second * second
    powers = [second, second, fourth, fourth * second, fourth * fourth]
    parts = []
    for row_of in (NUMERATORS, DENOMINATORS):
        c = row_of[row]
        total = c[0] + z * c[1]
        for k in range(2, len(c), 2):
            total = total + powers[k // 2] * (c[k] + z * c[k + 1] if k + 1 < len(c) else c[k])
        parts.append(total)
    return parts[0] / parts[1]


def _tail(f: Formula, size: Name, later: Name) -> Name:
    """erfc beyond 1.25."""
    inverse = 1.0 / (size * size)
    y = f.choose(later, lambda: _quotient(inverse, 3), lambda: _quotient(inverse, 2))
    short = (size.bits() & -(2**32)).real()
    one = f.own("exp", -(short * short) - 0.5625)
    other = f.own("exp", (short - size) * (short + size) + y)
    return (one * other) / size


def _erf(f: Formula, x: Name) -> Name:
    size = f.abs(x)

    def near() -> Name:
        return f.select(size < 2.0**-28, f.fma(x, 0.12837916709551257, x), x + x * _quotient(x * x, 0))

    def beside() -> Name:
        return with_sign(f, ERX + _quotient(size - 1.0, 1), x)

    def far() -> Name:
        t = f.select(size > 6.0, 6.0, size)
        return with_sign(f, 1.0 - _tail(f, t, t.bits() >= LAST), x)

    y = f.choose(size < 0.84375, near, lambda: f.choose(size < 1.25, beside, far))
    return f.select(x.is_nan(), x, y)


def _erfc(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    negative = x < 0.0

    def near() -> Name:
        product = x * _quotient(x * x, 0)
        low = 1.0 - (x + product)
        return f.select(x < 0.25, low, 0.5 - (product + (x - 0.5)))

    def beside() -> Name:
        y = _quotient(size - 1.0, 1)
        return f.select(negative, 1.0 + (ERX + y), (1.0 - ERX) - y)

    def far() -> Name:
        tail = _tail(f, size, size.bits() >= LAST)
        return f.select(x < -6.0, 2.0, f.select(x >= 28.0, 0.0, f.select(negative, 2.0 - tail, tail)))

    y = f.choose(size < 0.84375, near, lambda: f.choose(size < 1.25, beside, far))
    return f.select(x.is_nan(), x, y)


WRITERS: dict[str, tuple[int, Callable[..., Name]]] = {
    "exp": (1, _exp), "exp2": (1, _exp2), "expm1": (1, _expm1), "sinh": (1, _sinh), "cosh": (1, _cosh),
    "tanh": (1, _tanh), "log": (1, _log), "log1p": (1, _log1p), "log2": (1, lambda f, x: _log_to(f, x, LOG2_E)),
    "log10": (1, lambda f, x: _log_to(f, x, LOG10_E)), "asinh": (1, _asinh), "acosh": (1, _acosh),
    "atanh": (1, _atanh), "pow": (2, _pow), "square": (1, _square), "cbrt": (1, _cbrt), "hypot": (2, _hypot),
    "fmod": (2, _fmod), "remainder": (2, _remainder), "mg_mod": (2, _mg_mod), "mg_floordiv": (2, _mg_floordiv),
    "sin": (1, circular.sin), "cos": (1, circular.cos), "tan": (1, circular.tan), "atan": (1, circular.atan),
    "atan2": (2, circular.atan2), "asin": (1, circular.asin), "acos": (1, circular.acos), "erf": (1, _erf),
    "erfc": (1, _erfc),
}  # fmt: skip
EXACT = {"fmod", "remainder", "mg_mod", "mg_floordiv"}  # whose results are not rounded, or rounded as everywhere
OF_THE_LIBRARY = ("exp", "log", "pow", "square", "erfc")  # with the bits of glibc


@cache
def _written(function: str, width: int | None, space: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    arguments, write = WRITERS[function]
    f = Formula(function, arguments, width, space)
    text = f.text(write(f, *f.arguments))
    return text, f.tables, tuple(f.uses)


@cache
def needed(function: str, width: int | None = None, space: str = "") -> list[str]:
    """Return the texts that a function needs: declarations, tables, and functions; formula.symbol is its name.

    `space` is the address space of tables, where that is not the usual one.
    """
    found: dict[str, str] = dict.fromkeys(intrinsics(width), "")
    waiting, done = [function], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done[name], tables, uses = _written(name, width, space)
        found.update(dict.fromkeys(tables.values(), ""))
        waiting += uses
    return [*found, *done.values()]
