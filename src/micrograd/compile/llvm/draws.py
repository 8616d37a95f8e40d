"""Philox 4×32-10 as LLVM text, for one point or for vectors: what philox.py does, with the same bits.

Each word of 32 bits lies in 64, so that a product of two words is one multiplication of the vector unit. Numbers become
integers by adding 2^52 and reading the mantissa, which every instruction set does in SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from micrograd.ops import HALF_STEP, PROBIT_OF
from micrograd.philox import INCREMENTS, MULTIPLIERS, ROUNDS, WORD

TWO_32, TWO_52 = 4294967296.0, 4503599627370496.0
MANTISSA = 0x4330000000000000  # the bits of 2^52
BELOW_ROOT_2 = 0x3FF6A09E667F3BCC  # the bits of the last number below √2
BELOW_1 = 1.0 - 2.0**-24  # the largest 32-bit float below 1


class _Lines:
    """Writes instructions over doubles and 64-bit integers into a Text."""

    def __init__(self, t: Any) -> None:
        self.t, self.T = t, t.T
        self.I = "i64" if t.point else f"<{t.width} x i64>"

    def do(self, text: str) -> str:
        r: str = self.t.fresh()
        self.t.line(f"{r} = {text}")
        return r

    def number(self, x: float) -> str:
        literal: str = self.t.splat(x)
        return literal

    def whole(self, x: int) -> str:
        x -= (x >> 63) << 64
        return str(x) if self.t.point else f"splat (i64 {x})"

    def real(self, how: str, a: str, b: str) -> str:
        return self.do(f"{how} {self.T} {a}, {b}")

    def integer(self, how: str, a: str, b: str) -> str:
        return self.do(f"{how} {self.I} {a}, {b}")

    def floor(self, x: str) -> str:
        name = f"@llvm.floor.{self.t.S}"
        declare = f"declare {self.T} {name}({self.T})"
        self.t.declared[declare] = declare
        return self.do(f"call {self.T} {name}({self.T} {x})")

    def word(self, x: str) -> str:
        """A whole number in [0, 2^32) as an integer."""
        bits = self.do(f"bitcast {self.T} {self.real('fadd', x, self.number(TWO_52))} to {self.I}")
        return self.integer("and", bits, self.whole(WORD))

    def halves(self, x: str, signed: bool = False) -> tuple[str, str]:
        """The low and the high word of a whole number, in two's complement where it may be negative."""
        high = self.floor(self.real("fmul", x, self.number(1.0 / TWO_32)))
        low = self.real("fsub", x, self.real("fmul", high, self.number(TWO_32)))
        if signed:
            negative = self.do(f"fcmp olt {self.T} {high}, {self.number(0.0)}")
            wrapped = self.real("fadd", high, self.number(TWO_32))
            high = self.do(f"select {self.t.B} {negative}, {self.T} {wrapped}, {self.T} {high}")
        return self.word(low), self.word(high)

    def fraction(self, high: str, low: str) -> str:
        """Two words as a multiple of 2^-53 in [0, 1): the 32 bits of one and the first 21 of the other."""
        parts = []
        for x in (high, self.integer("lshr", low, self.whole(11))):
            bits = self.integer("or", x, self.whole(MANTISSA))
            parts.append(self.real("fsub", self.do(f"bitcast {self.I} {bits} to {self.T}"), self.number(TWO_52)))
        upper = self.real("fmul", parts[0], self.number(2.0**-32))
        return self.real("fadd", upper, self.real("fmul", parts[1], self.number(2.0**-53)))

    def tail(self, q: str) -> str:
        """0.5 - |q|."""
        bits = self.integer("and", self.do(f"bitcast {self.T} {q} to {self.I}"), self.whole(2**63 - 1))
        return self.real("fsub", self.number(0.5), self.do(f"bitcast {self.I} {bits} to {self.T}"))

    def split(self, x: str) -> tuple[str, str]:
        """A number in (0, 1) as m·2^-e with m in [√½, √2): what the table does by comparisons, from the bits."""
        bits = self.do(f"bitcast {self.T} {x} to {self.I}")
        shifted = self.integer("lshr", self.integer("sub", self.whole(BELOW_ROOT_2), bits), self.whole(52))
        mantissa = self.integer("add", bits, self.integer("shl", shifted, self.whole(52)))
        exponent = self.do(f"bitcast {self.I} {self.integer('or', shifted, self.whole(MANTISSA))} to {self.T}")
        return self.do(f"bitcast {self.I} {mantissa} to {self.T}"), self.real("fsub", exponent, self.number(TWO_52))

    def is_whole(self, x: str, least: float = 0.0) -> str:
        """Whether a number is whole, not below `least`, and below 2^53 (2^24 in 32-bit floats, which hold no larger ones)."""
        limit = 2.0**24 if self.t.float32 else 2.0**53
        same = self.do(f"fcmp oeq {self.T} {self.floor(x)}, {x}")
        above = self.do(f"fcmp oge {self.T} {x}, {self.number(least)}")
        below = self.do(f"fcmp olt {self.T} {x}, {self.number(limit)}")
        both = self.do(f"and {self.t.B} {above}, {below}")
        return self.do(f"and {self.t.B} {same}, {both}")


def uniform(t: Any, operands: Sequence[Any]) -> str:
    """Write the instructions of one draw into a Text, over operands that `get` knows; return the name of the result.

    With 32-bit floats all of it is done in double precision, and the result is rounded down.
    """
    wide = _widened(t, operands)
    with t.in_double():
        result = _draw(_Lines(t), operands, wide)
        if t.float32:
            above = _Lines(t).do(f"fcmp ogt {t.T} {result}, {t.splat(BELOW_1)}")  # a nan is not, and stays
            result = _Lines(t).do(f"select {t.B} {above}, {t.T} {t.splat(BELOW_1)}, {t.T} {result}")
    return _narrowed(t, result)


def normal(t: Any, operands: Sequence[Any]) -> str:
    """The same for a normal number: the quantile at the middle of the interval that the uniform number stands for."""
    wide = _widened(t, operands)
    with t.in_double():
        lines = _Lines(t)
        u = _draw(lines, operands, wide)
        q = lines.real("fadd", lines.real("fsub", u, lines.number(0.5)), lines.number(HALF_STEP))
        result = t.strict(PROBIT_OF, [q, *lines.split(lines.tail(q))])
    return _narrowed(t, result)


def _widened(t: Any, operands: Sequence[Any]) -> list[str]:
    """The operands as doubles."""
    found = [t.get(operand) for operand in operands]
    if not t.target.float32:
        return found
    double = "double" if t.point else f"<{t.width} x double>"
    return [
        _Lines(t).do(f"fpext {t.T} {x} to {double}") if x not in t.literals else t.splat(t.literals[x], "double")
        for x in found
    ]


def _narrowed(t: Any, result: str) -> str:
    if not t.target.float32:
        return result
    double = "double" if t.point else f"<{t.width} x double>"
    return _Lines(t).do(f"fptrunc {double} {result} to {t.T}")


def _draw(lines: _Lines, operands: Sequence[Any], names: list[str]) -> str:
    """One draw in double precision. Two draws of one counter in the same function share the ten rounds."""
    t = lines.t
    key, row, draw = names
    number = t.literals.get(draw)
    pair = lines.floor(lines.real("fmul", draw, lines.number(0.5))) if number is None else lines.number(number // 2)
    counter = ("philox", operands[0], operands[1], operands[2] if number is None else pair)
    if (counter, 0) not in t.names:
        t.names.update(((counter, k), name) for k, name in enumerate(_rounds(lines, key, row, pair)))
    *words, holds = (t.names[counter, k] for k in range(5))
    is_even = lines.do(f"fcmp oeq {t.T} {lines.real('fadd', pair, pair)}, {draw}")
    chosen = [lines.do(f"select {t.B} {is_even}, {lines.I} {words[k]}, {lines.I} {words[k + 2]}") for k in (0, 1)]
    holds = lines.do(f"and {t.B} {holds}, {lines.is_whole(draw, -1.0)}")
    return lines.do(f"select {t.B} {holds}, {t.T} {lines.fraction(*chosen)}, {t.T} {lines.number(nan)}")


def _rounds(lines: _Lines, key: str, row: str, pair: str) -> list[str]:
    """The four words of a counter; then whether key and row are whole numbers."""
    a, b = lines.halves(pair, signed=True)
    c, d = lines.halves(row)
    k, m = lines.halves(key)
    for _ in range(ROUNDS):
        left = lines.integer("mul", a, lines.whole(MULTIPLIERS[0]))
        right = lines.integer("mul", c, lines.whole(MULTIPLIERS[1]))
        shift = lines.whole(32)
        a, b, c, d = (
            lines.integer("xor", lines.integer("xor", lines.integer("lshr", right, shift), b), k),
            lines.integer("and", right, lines.whole(WORD)),
            lines.integer("xor", lines.integer("xor", lines.integer("lshr", left, shift), d), m),
            lines.integer("and", left, lines.whole(WORD)),
        )
        k, m = (
            lines.integer("and", lines.integer("add", x, lines.whole(step)), lines.whole(WORD))
            for x, step in ((k, INCREMENTS[0]), (m, INCREMENTS[1]))
        )
    return [a, b, c, d, lines.do(f"and {lines.t.B} {lines.is_whole(key)}, {lines.is_whole(row)}")]
