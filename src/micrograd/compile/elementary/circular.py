"""The circular functions and their inverses, as formulas (see functions.py)."""

from __future__ import annotations

from math import inf, nan

from micrograd.compile.elementary.formula import (
    SIGN,
    WHOLE,
    Formula,
    Name,
    exact_product,
    exact_sum,
    polynomial,
    with_sign,
)
from micrograd.compile.elementary.tables import TWO_OVER_PI

SHIFT = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number, which then lies in the low bits

PI_2 = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"),
        float.fromhex("-0x1.f1976b7ed8fbcp-110"))  # fmt: skip

# sin(r) = r + r³·S(r²) and cos(r) = 1 - r²/2 + r⁴·C(r²) for |r| ≤ π/4, atan(x) = x + x³·A(x²) for |x| ≤ 7/16,
# asin(x) = x + x³·B(x²) for |x| ≤ 1/2
S = (-0.16666666666666666, 0.008333333333333331, -0.00019841269841264567, 2.7557319218954762e-06, -2.505210610025599e-08,
     1.6058510875319195e-10, -7.585486485235938e-13)  # fmt: skip
C = (0.041666666666666664, -0.0013888888888888887, 2.4801587301584367e-05, -2.75573192211891e-07, 2.0876755717584403e-09,
     -1.1470449354466773e-11, 4.745198807202876e-14)  # fmt: skip
A = (-0.33333333333333326, 0.1999999999998777, -0.1428571428314864, 0.11111110900560475, -0.09090900195560148,
     0.07692087348767168, -0.06663239299107136, 0.05847724720645106, -0.05033942776485848, 0.03782521866106712,
     -0.017547235157290005)  # fmt: skip
B = (0.16666666666666669, 0.07499999999998425, 0.04464285714637338, 0.030381944137085216, 0.022372173002005596,
     0.017352391265909227, 0.013971235301124539, 0.011478952690257387, 0.010324318288744113, 0.00545087818772055,
     0.017419357964884856, -0.014881409392818066, 0.02877844261259304)  # fmt: skip


def _quarter_turns(f: Formula, size: Name) -> tuple[Name, Name, Name]:
    """x ≥ 0 as n·π/2 + r + rest with |r| ≤ π/4: r, rest, and the low bits of n, as a number."""

    def near() -> tuple[Name, ...]:
        rounded = f.fma(size, 2.0 / 3.141592653589793, SHIFT)
        n = rounded - SHIFT
        left = f.fma(-n, PI_2[0], size)
        p, p_rest = exact_product(f, n, PI_2[1])
        r, r_rest = exact_sum(left, -p)
        rest = f.fma(-n, PI_2[2], r_rest - p_rest)
        high = r + rest
        return high, (r - high) + rest, (rounded.bits() & 3).as_real()

    def far() -> tuple[Name, ...]:
        table = f.table("mg_2_pi", TWO_OVER_PI, "i64")
        bits = f.select(size >= 2.0**28, size, 2.0**28).bits()  # other lanes of a vector would read past the table
        mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
        start = (bits >> 52) - 1075 + 62
        word, shift = start >> 6, start & 63
        found = [f.load(table, word + k, WHOLE) for k in range(4)]
        back = f.as_name(63, WHOLE) - shift
        high, middle, low = ((found[k] << shift) | ((found[k + 1] >> 1) >> back) for k in range(3))

        def upper(a: Name) -> Name:
            half, low, high = (1 << 32) - 1, mantissa & ((1 << 32) - 1), mantissa >> 32
            first = (a >> 32) * low + (((a & half) * low) >> 32)
            second = (a & half) * high + (first & half)
            return (a >> 32) * high + (first >> 32) + (second >> 32)

        p0 = low * mantissa
        second = middle * mantissa
        p1 = second + upper(low)
        carry = (p1 < second).to("zext", WHOLE)
        p2 = (high * mantissa + upper(middle)) + carry
        n = (p2 >> 62) + ((p2 >> 61) & 1)
        top, below = (p2 << 2) | (p1 >> 62), (p1 << 2) | (p0 >> 62)
        below_real = below.to("uitofp", "double")
        a = (top & ~0x7FF).as_real() * 2.0**-64
        b = f.fma(below_real, 2.0**-64, (top & 0x7FF).as_real()) * 2.0**-64
        turn = a + b
        turn_rest = (a - turn) + b
        r, rest = exact_product(f, turn, PI_2[0])
        rest = rest + f.fma(turn, PI_2[1], turn_rest * PI_2[0])
        return r, rest, (n & 3).as_real()

    r, rest, n = f.choose((size < 2.0**28) | ~(size < inf), near, far)
    return r, rest, n


def _sine(f: Formula, r: Name, rest: Name) -> Name:
    z = r * r
    return r + f.fma(z * r, polynomial(f, z, S), rest * f.fma(z, -0.5, 1.0))


def _cosine(f: Formula, r: Name, rest: Name) -> Name:
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + f.fma(z * z, polynomial(f, z, C), -(r * rest)))


def _sin_and_cos(f: Formula, x: Name) -> tuple[Name, Name]:
    """sin|x| and cos x."""
    size = f.abs(x)
    r, rest, n = _quarter_turns(f, size)
    s, c = _sine(f, r, rest), _cosine(f, r, rest)
    odd = n.same(1.0) | n.same(3.0)
    sine, cosine = f.select(odd, c, s), f.select(odd, s, c)
    sine = f.select(n >= 2.0, -sine, sine)
    cosine = f.select(n.same(1.0) | n.same(2.0), -cosine, cosine)
    wrong = size.same(inf) | x.is_nan()
    return f.select(wrong, nan, sine), f.select(wrong, nan, cosine)


def _turned(x: Name, y: Name) -> Name:
    """y, with its sign changed where x is negative."""
    return (y.bits() ^ (x.bits() & SIGN)).real()


def sin(f: Formula, x: Name) -> Name:
    return f.select(x.same(0.0), x, _turned(x, _sin_and_cos(f, x)[0]))


def cos(f: Formula, x: Name) -> Name:
    return _sin_and_cos(f, x)[1]


def tan(f: Formula, x: Name) -> Name:
    s, c = _sin_and_cos(f, x)
    return f.select(x.same(0.0), x, _turned(x, s / c))


ARCS = ((0.46364760900080615, 2.2698777452961687e-17), (0.7853981633974483, 3.061616997868383e-17),
        (0.982793723247329, 1.3903311031230998e-17), (1.5707963267948966, 6.123233995736766e-17))  # fmt: skip


def _arc(f: Formula, size: Name) -> Name:
    """atan of a number that is not negative."""
    bounds = [size < bound for bound in (7 / 16, 11 / 16, 19 / 16, 39 / 16)]
    above = [size, 2.0 * size - 1.0, size - 1.0, size - 1.5, f.as_name(-1.0)]
    below = [f.as_name(1.0), 2.0 + size, 1.0 + size, f.fma(size, 1.5, 1.0), size]
    highs = [0.0, *(a for a, _ in ARCS)]
    lows = [0.0, *(b for _, b in ARCS)]

    def chosen(values: list[Name]) -> Name:
        found = values[-1]
        for bound, value in zip(reversed(bounds), reversed(values[:-1])):
            found = f.select(bound, value, found)
        return found

    q = chosen(above) / chosen(below)
    z = q * q
    high, low = chosen([f.as_name(x) for x in highs]), chosen([f.as_name(x) for x in lows])
    return high + (q + f.fma(q * z, polynomial(f, z, A), low))


def atan(f: Formula, x: Name) -> Name:
    return f.select(x.is_nan(), x, with_sign(f, _arc(f, f.abs(x)), x))


def atan2(f: Formula, y: Name, x: Name) -> Name:
    a, b = f.abs(y), f.abs(x)
    quotient = f.select(a.same(inf) & b.same(inf), 1.0, f.select(a.same(0.0), 0.0, a / b))
    arc = _arc(f, quotient)
    left = (x.bits() >> 63).same(1)
    z = f.select(left, 2.0 * PI_2[0] - (arc - 2.0 * PI_2[1]), arc)
    return f.select(x.is_nan() | y.is_nan(), nan, with_sign(f, z, y))


def _far_arc(f: Formula, size: Name) -> tuple[Name, Name, Name]:
    """asin of √((1 - |x|)/2) as a sum of three: the root, what its rounding left out, and the rest."""
    z = f.fma(size, -0.5, 0.5)
    root = f.sqrt(z)
    rest = f.select(root.same(0.0), 0.0, f.fma(-root, root, z) / (root + root))
    return root, rest, (root * z) * polynomial(f, z, B)


def asin(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    z = size * size
    near = f.fma(size * z, polynomial(f, z, B), size)
    root, rest, more = _far_arc(f, size)
    a = PI_2[0] - 2.0 * root
    left = (PI_2[0] - a) - 2.0 * root
    far = a + (left + (PI_2[1] - 2.0 * (rest + more)))
    return f.select(x.is_nan(), x, with_sign(f, f.select(size <= 0.5, near, far), x))


def acos(f: Formula, x: Name) -> Name:
    size = f.abs(x)
    z = x * x
    near = PI_2[0] - (x - f.fma(-(x * z), polynomial(f, z, B), PI_2[1]))
    root, rest, more = _far_arc(f, size)
    right = 2.0 * (root + (rest + more))
    left = 2.0 * (PI_2[0] - (root + ((rest + more) - PI_2[1])))
    return f.select(size <= 0.5, near, f.select(x > 0.0, right, left))
