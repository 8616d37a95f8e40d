"""The elementary functions for a GPU, which has none of its own that round as a CPU does: as LLVM text, from formulas.

exp, log, pow and erfc take the steps of glibc, as vector code on the CPU does (llvm/same_exp.py and its neighbours), so that
they have the bits of eager code wherever that is the C library; fmod, remainder, // and % are exact anyway. The others have
formulas of their own, within two and a half units in the last place. Coefficients were fitted through Chebyshev points
with mpmath, at 70 digits. tests/compile/test_cuda_functions.py measures each of them against mpmath.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from math import inf, nan

from micrograd.compile.cuda import circular
from micrograd.compile.cuda.formula import FLAG, SIGN, WHOLE, Formula, Name, exact_product, exact_sum, with_sign
from micrograd.compile.llvm import build, same_erfc, same_exp, same_log, same_pow
from micrograd.errors import CompileError

LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
LOG2_E = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
LOG10_E = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))
SHIFT = same_exp.SHIFT

# log(1 + r) = r - r²/2 + r³·L(r) for |r| ≤ 0.0058
L = (0.3333333333333333, -0.25000000000000044, 0.20000000000000123, -0.16666666656744406, 0.14285714268148786,
     -0.1250058931085933, 0.11111849862284326)  # fmt: skip


# ---- exponentials


def _exp_table(f: Formula) -> str:
    cells = same_exp.table().split("[", 2)[2].rsplit("]", 1)[0].split(", ")
    return f.table("mg_exp_table", [int(cell.split()[1]) for cell in cells], "i64")


def _power_of_e(f: Formula, x: Name, rest: Name | None = None) -> tuple[Name, Name, Name]:
    """exp(x + rest) as scale + scale·more: the bits of scale, more, and the whole number that scale was made from."""
    rounded = f.fma(same_exp.SCALE, x, SHIFT)
    ki, kd = rounded.bits(), rounded - SHIFT
    r = f.fma(kd, same_exp.LN2_LOW, f.fma(kd, same_exp.LN2_HIGH, x))
    if rest is not None:
        r = r + rest
    return *_power_of_two(f, ki, r), ki


def _power_of_two(f: Formula, ki: Name, r: Name) -> tuple[Name, Name]:
    """2^(ki/128)·exp(r) as scale + scale·more: the bits of scale, and more."""
    table = _exp_table(f)
    place = (ki & (same_exp.SIZE - 1)) << 1
    tail = f.load(table, place, WHOLE).real()
    scale = f.load(table, place + 1, WHOLE) + (ki << 45)
    square = r * r
    more = f.fma(square, f.fma(r, same_exp.C3, same_exp.C2), tail + r)
    return scale, f.fma(square * square, f.fma(r, same_exp.C5, same_exp.C4), more)


def _scaled(f: Formula, scale: Name, more: Name, ki: Name, plain: Name) -> Name:
    """scale + scale·more; where that is not `plain`, scale may be beyond the exponents that there are."""

    def far() -> Name:
        large = (scale - (1009 << 52)).real()
        over = f.fma(large, more, large) * 2.0**1009
        small = (scale + (1022 << 52)).real()
        y = f.fma(small, more, small)
        low = f.fma(small, more, small - y)
        high = 1.0 + y
        again = (high + (((1.0 - high) + y) + low)) - 1.0  # rounded where the denormal result is
        under = f.select(y < 1.0, again + 0.0, y) * 2.0**-1022
        return f.select((ki & 0x80000000).same(0), over, under)

    def near() -> Name:
        s = scale.real()
        return f.fma(s, more, s)

    result: Name = f.choose(plain, near, far)
    return result


def _exp(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    scale, more, ki = _power_of_e(f, x)
    y = _scaled(f, scale, more, ki, size < 512.0)
    y = f.select(x >= 1024.0, inf, f.select(x <= -1024.0, 0.0, y))
    return f.select(x.is_nan(), x, y)


def _exp2(f: Formula, x: Name) -> Name:
    x0 = f.select(x > 1100.0, 1100.0, f.select(x < -1100.0, -1100.0, x))
    rounded = f.fma(x0, 128.0, SHIFT)
    ki, kd = rounded.bits(), rounded - SHIFT
    r = f.fma(kd, -1.0 / 128.0, x0)
    scale, more = _power_of_two(f, ki, f.fma(r, LN2[1], r * LN2[0]))
    y = _scaled(f, scale, more, ki, f.abs(x0) < 512.0)
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


@cache
def _own_table() -> list[float]:
    """Triples (1/c, log c, what is missing of that) for 128 intervals; 1/c is so short that z/c - 1 is exact."""
    rows: list[float] = []
    unit = Decimal(2) ** -42  # log c is a multiple of it, so that adding a multiple of ln 2 is exact
    with localcontext() as context:
        context.prec = 60
        for i in range(same_pow.SIZE):
            low, high = (_number(same_pow.OFFSET + ((i + k) << 45)) for k in (0, 1))
            middle = 2.0 / (low + high)
            short = round(middle * 128.0) / 128.0 if middle >= 1.0 else round(middle * 256.0) / 256.0
            exactly = -Decimal(short).ln()
            rounded = (exactly / unit).to_integral_value() * unit
            rows += [short, float(rounded), float(exactly - rounded)]
    return rows


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _log_parts(f: Formula, bits: Name, of_library: bool = False) -> tuple[Name, Name]:
    """log of a normal positive number as a sum of two, with some 68 bits: the steps of the logarithm in glibc's pow."""
    numbers = same_pow.constants() if of_library else ()
    if numbers:
        a = numbers[: same_pow.TERMS]
        cells = numbers[same_pow.TERMS :]
        rows = [x for k in range(same_pow.SIZE) for x in (cells[4 * k], cells[4 * k + 2], cells[4 * k + 3])]
        table = f.table("mg_pow_table", rows)
    else:
        a = (-0.5, -2 * L[0], -2 * L[1], 4 * L[2], 4 * L[3], -8 * L[4], -8 * L[5])
        table = f.table("mg_log_parts", _own_table())
    scaled = bits - same_pow.OFFSET
    place = ((scaled >> 45) & (same_pow.SIZE - 1)) * 3
    inverse, log, log_tail = (f.load(table, place + k) for k in range(3))
    k = scaled.ashr(52).as_real()
    z = (bits - (scaled & -(1 << 52))).real()
    r = f.fma(z, inverse, -1.0)
    t1 = f.fma(k, same_log.LN2_HIGH, log)
    t2 = t1 + r
    half = r * a[0]
    square = r * half
    first = t2 + square
    low = f.fma(k, same_log.LN2_LOW, log_tail) + ((t1 - t2) + r)
    low = low + f.fma(half, r, -square)
    low = low + ((t2 - first) + square)
    p = f.fma(square, f.fma(r, a[6], a[5]), f.fma(r, a[4], a[3]))
    p = f.fma(square, p, f.fma(r, a[2], a[1]))
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
    numbers = same_log.constants()
    bits = _normal(f, x)
    if not numbers:
        high, low = _log_parts(f, bits)
        return _at_edges(f, x, high + low)
    a, b = numbers[: same_log.SHORT], numbers[same_log.SHORT : same_log.SHORT + same_log.LONG]
    table = f.table("mg_log_table", numbers[same_log.SHORT + same_log.LONG :])
    scaled = bits - same_log.OFFSET
    place = ((scaled >> 45) & (same_log.SIZE - 1)) << 1
    inverse, log = f.load(table, place), f.load(table, place + 1)
    k = scaled.ashr(52).as_real()
    r = f.fma((bits - (scaled & -(1 << 52))).real(), inverse, -1.0)
    w = f.fma(k, same_log.LN2_HIGH, log)
    high = w + r
    low = f.fma(k, same_log.LN2_LOW, (w - high) + r)
    square = r * r
    p = f.fma(square, f.fma(r, a[4], a[3]), f.fma(r, a[2], a[1]))
    by_table = f.fma(r * square, p, f.fma(square, a[0], low)) + high

    def near() -> Name:
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

    first, last = same_log.NEAR
    y = f.choose((x.bits() - first) < (last - first), near, lambda: by_table)
    return _at_edges(f, x, y)


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
    high, low = _log_parts(f, _normal(f, size), of_library=True)
    product = y * high
    rest = f.fma(y, low, f.fma(y, high, -product))
    scale, more, ki = _power_of_e(f, product, rest)
    z = _scaled(f, scale, more, ki, f.abs(product) < 512.0)
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


def _cbrt(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    small, large = size < 2.0**-1022, size > 2.0**1000
    scaled = size * f.select(small, 2.0**54, f.select(large, 2.0**-54, 1.0))
    third = f.do(f"udiv i64 {scaled.bits().text}, 3", WHOLE)
    t = (third + 0x2A9F7893_782DA1CE).real()  # within 5 percent
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


# ---- the error function


def _quotient(z: Name, row: int) -> Name:
    """A quotient of polynomials in z, added as the library adds it."""
    second = z * z
    fourth = second * second
    powers = [second, second, fourth, fourth * second, fourth * fourth]
    parts = []
    for row_of in (same_erfc.NUMERATORS, same_erfc.DENOMINATORS):
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
        return with_sign(f, same_erfc.ERX + _quotient(size - 1.0, 1), x)

    def far() -> Name:
        t = f.select(size > 6.0, 6.0, size)
        return with_sign(f, 1.0 - _tail(f, t, t.bits() >= same_erfc.LAST), x)

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
        return f.select(negative, 1.0 + (same_erfc.ERX + y), (1.0 - same_erfc.ERX) - y)

    def far() -> Name:
        tail = _tail(f, size, size.bits() >= same_erfc.LAST)
        return f.select(x < -6.0, 2.0, f.select(x >= 28.0, 0.0, f.select(negative, 2.0 - tail, tail)))

    y = f.choose(size < 0.84375, near, lambda: f.choose(size < 1.25, beside, far))
    return f.select(x.is_nan(), x, y)


WRITERS: dict[str, tuple[int, Callable[..., Name]]] = {
    "exp": (1, _exp), "exp2": (1, _exp2), "expm1": (1, _expm1), "sinh": (1, _sinh), "cosh": (1, _cosh),
    "tanh": (1, _tanh), "log": (1, _log), "log1p": (1, _log1p), "log2": (1, lambda f, x: _log_to(f, x, LOG2_E)),
    "log10": (1, lambda f, x: _log_to(f, x, LOG10_E)), "asinh": (1, _asinh), "acosh": (1, _acosh),
    "atanh": (1, _atanh), "pow": (2, _pow), "cbrt": (1, _cbrt), "hypot": (2, _hypot), "fmod": (2, _fmod),
    "remainder": (2, _remainder), "mg_mod": (2, _mg_mod), "mg_floordiv": (2, _mg_floordiv), "sin": (1, circular.sin),
    "cos": (1, circular.cos), "tan": (1, circular.tan), "atan": (1, circular.atan), "atan2": (2, circular.atan2),
    "asin": (1, circular.asin), "acos": (1, circular.acos), "erf": (1, _erf), "erfc": (1, _erfc),
}  # fmt: skip
EXACT = {"fmod", "remainder", "mg_mod", "mg_floordiv"}  # whose results are not rounded, or rounded as everywhere
OF_THE_LIBRARY = {"exp": same_exp, "log": same_log, "pow": same_pow, "erfc": same_erfc}  # with the bits of glibc
DECLARED = ["declare double @llvm.fma.f64(double, double, double)", *(
    f"declare double @llvm.{name}.f64(double)" for name in ("fabs", "sqrt", "floor", "rint", "trunc")
)]  # fmt: skip


def same_bits(function: str) -> bool:
    """Whether a function has the bits of the C library of this machine."""
    if function in EXACT:
        return True
    of_the_library = OF_THE_LIBRARY.get(function)
    return of_the_library is not None and bool(of_the_library.usable(build.vector_bits()))


@cache
def _written(function: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    arguments, write = WRITERS[function]
    f = Formula(function, arguments)
    text = f.text(write(f, *f.arguments))
    return text, f.tables, tuple(f.uses)


def needed(function: str, exact: bool = False) -> tuple[str, list[str]]:
    """The name of a function for a device, and the texts that it needs: declarations, tables, and other functions."""
    if function not in WRITERS:
        raise CompileError(
            f"{function.removeprefix('t')} has no formula for a GPU\n"
            "  Run this function on the CPU, without device=, or write that part in other functions."
        )
    if exact and not same_bits(function):
        raise CompileError(
            f"exact=True promises the bits of eager code, and {function} on a GPU has others in the last place or two\n"
            "  Leave out exact=True, or run it on the CPU, without device=. Arithmetic and comparisons are exact in any case, "
            "and where the C library is a glibc since 2.28, so are exp, log, pow and erfc."
        )
    found: dict[str, str] = dict.fromkeys(DECLARED, "")
    waiting, done = [function], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done[name], tables, uses = _written(name)
        found.update(dict.fromkeys(tables.values(), ""))
        waiting += uses
    return f"mg_{function}", [*found, *done.values()]
