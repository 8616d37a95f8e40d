"""pow(x, 2) with the bits of the C library's pow, at one point or over vectors, mostly without a call.

The product x·x is rounded correctly, and the library's pow is not: glibc's is off by up to 0.52 units in the last place, so
about one square in a thousand has another last bit. The remainder x·x - fl(x·x) is exact with a fused multiply-add. Where it is
smaller than 0.48 units, the nearest number is the same for every pow with an error of 0.52 units, and the product is the
result. The other lanes are called one by one. Whether that gives the bits of the library on this machine is tried before it is
used.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

from micrograd.compile.llvm import build, trial
from micrograd.compile.llvm.same_exp import TRIED
from micrograd.compile.llvm.vector_function import hex_of

# In units in the last place. Here pow is off by 0.513 at most: 0.511, and more with the exponent of the result.
CLEAR = 0.487
BETWEEN = 1e-9, 1e9
CLEAR_BEYOND = 0.48
LOWEST, HIGHEST = 1e-40, 1e40  # beyond, the error of pow is larger still, and the remainder may be subnormal
EXPONENT = 0x7FF << 52
TWO = f"double {hex_of(2.0)}"


class _Kinds:
    """The types of a vector of this width, or of a number if it is 1."""

    def __init__(self, width: int) -> None:
        self.width, vector = width, width > 1
        self.T, self.B, self.whole = (f"<{width} x {t}>" if vector else t for t in ("double", "i1", "i64"))
        self.S = f"v{width}f64" if vector else "f64"

    def real(self, x: float) -> str:
        return f"splat (double {hex_of(x)})" if self.width > 1 else hex_of(x)

    def bits(self, x: int) -> str:
        return f"splat (i64 {x})" if self.width > 1 else str(x)


def _fast(kinds: _Kinds, x: str, n: str) -> list[str]:
    """The product %p, in which lanes it is the result (%fine), and whether that is all lanes (%every); n ends the names."""
    T, B, S, whole, real = kinds.T, kinds.B, kinds.S, kinds.whole, kinds.real
    lines = [
        f"  %p{n} = fmul {T} {x}, {x}",
        f"  %minus{n} = fneg {T} %p{n}",
        f"  %r{n} = call {T} @llvm.fma.{S}({T} {x}, {T} {x}, {T} %minus{n})",
        f"  %rest{n} = call {T} @llvm.fabs.{S}({T} %r{n})",
        f"  %size{n} = call {T} @llvm.fabs.{S}({T} {x})",
        f"  %all{n} = bitcast {T} %p{n} to {whole}",
        f"  %head{n} = and {whole} %all{n}, {kinds.bits(EXPONENT)}",
        f"  %scale{n} = bitcast {whole} %head{n} to {T}",
        f"  %from{n} = fcmp oge {T} %size{n}, {real(BETWEEN[0])}",
        f"  %to{n} = fcmp ole {T} %size{n}, {real(BETWEEN[1])}",
        f"  %both{n} = and {B} %from{n}, %to{n}",
        f"  %part{n} = select {B} %both{n}, {T} {real(CLEAR * 2.0**-52)}, {T} {real(CLEAR_BEYOND * 2.0**-52)}",
        f"  %limit{n} = fmul {T} %scale{n}, %part{n}",
        f"  %small{n} = fcmp olt {T} %rest{n}, %limit{n}",
        f"  %inside{n} = icmp ne {whole} %all{n}, %head{n}",  # below a power of two the units are half as large
        f"  %exact{n} = fcmp oeq {T} %rest{n}, {real(0.0)}",
        f"  %either{n} = or {B} %inside{n}, %exact{n}",
        f"  %low{n} = fcmp oge {T} %size{n}, {real(LOWEST)}",
        f"  %high{n} = fcmp ole {T} %size{n}, {real(HIGHEST)}",
        f"  %range{n} = and {B} %low{n}, %high{n}",
        f"  %near{n} = and {B} %small{n}, %either{n}",
        f"  %clear{n} = and {B} %near{n}, %range{n}",
        f"  %zero{n} = fcmp oeq {T} {x}, {real(0.0)}",
        f"  %fine{n} = or {B} %clear{n}, %zero{n}",
    ]
    if kinds.width == 1:
        return [*lines, f"  %every{n} = or i1 %fine{n}, %zero{n}"]
    mask = f"i{kinds.width}"
    return [*lines, f"  %mask{n} = bitcast {B} %fine{n} to {mask}", f"  %every{n} = icmp eq {mask} %mask{n}, -1"]


def _slow(kinds: _Kinds) -> str:
    """The function that calls pow for the lanes that are not fine."""
    T, B, width = kinds.T, kinds.B, kinds.width
    lines = [f"define internal {T} @mg_square_slow{width}({T} %x, {T} %p, {B} %fine) noinline cold {{"]
    if width == 1:
        return "\n".join([*lines, f"  %y = call double @pow(double %x, {TWO}) nobuiltin", "  ret double %y", "}\n"])
    have = [f"  %have0 = phi {T} [ %p, %0 ]"]
    have += [f"  %have{k + 1} = phi {T} [ %have{k}, %lane{k} ], [ %set{k}, %call{k} ]" for k in range(width)]
    lines.append("  br label %lane0")
    for k in range(width):
        lines += [f"lane{k}:", have[k],
                  f"  %f{k} = extractelement {B} %fine, i64 {k}",
                  f"  br i1 %f{k}, label %lane{k + 1}, label %call{k}",
                  f"call{k}:",
                  f"  %x{k} = extractelement {T} %x, i64 {k}",
                  f"  %y{k} = call double @pow(double %x{k}, {TWO}) nobuiltin",
                  f"  %set{k} = insertelement {T} %have{k}, double %y{k}, i64 {k}",
                  f"  br label %lane{k + 1}"]  # fmt: skip
    return "\n".join([*lines, f"lane{width}:", have[width], f"  ret {T} %have{width}", "}\n"])


def _choice(kinds: _Kinds, x: str, n: str) -> list[str]:
    """Ask whether all lanes are fine, and call pow for the others; the result is %square."""
    T = kinds.T
    given = f"{T} {x}, {T} %p{n}, {kinds.B} %fine{n}"
    return [f"  br label %ask{n}",
            f"ask{n}:",
            f"  br i1 %every{n}, label %past{n}, label %rare{n}",
            f"rare{n}:",
            f"  %slow{n} = call {T} @mg_square_slow{kinds.width}({given})",
            f"  br label %past{n}",
            f"past{n}:",
            f"  %square{n} = phi {T} [ %p{n}, %ask{n} ], [ %slow{n}, %rare{n} ]"]  # fmt: skip


def needed(width: int) -> list[str]:
    """The declarations and the function that the steps call."""
    kinds = _Kinds(width)
    T, S = kinds.T, kinds.S
    library = "declare double @pow(double, double) nounwind willreturn memory(none)"
    return [f"declare {T} @llvm.fma.{S}({T}, {T}, {T})", f"declare {T} @llvm.fabs.{S}({T})", library, _slow(kinds)]


def functions(width: int) -> list[str]:
    """The same as a function of its own, where the text around cannot have branches, with what it needs."""
    kinds = _Kinds(width)
    lines = [f"define internal {kinds.T} @mg_square{width}({kinds.T} %x) noinline {{"]
    lines += [*_fast(kinds, "%x", ""), *_choice(kinds, "%x", ""), f"  ret {kinds.T} %square", "}\n"]
    return [*needed(width), "\n".join(lines)]


def call(t: Any, x: str) -> str:
    """Write the square of x into a Text; the name of the result."""
    kinds, inline = _Kinds(t.width), t.has_blocks
    for line in needed(t.width) if inline else functions(t.width):
        t.declared[line] = line
    r: str = t.fresh()
    if inline:
        n = r.lstrip("%")
        t.lines += [*_fast(kinds, x, n), *_choice(kinds, x, n)]
        return f"%square{n}"
    t.line(f"{r} = call {t.T} @mg_square{t.width}({t.T} {x})")
    return r


@cache
def usable(bits: int) -> bool:
    """Whether this machine's pow(x, 2) has the same bits, tried with vectors of so many bits."""
    if bits < 256 or not build.host_features().get("fma"):
        return False
    width, rng = bits // 64, random.Random(7)
    special = [0.0, -0.0, 1.0, -1.0, 2.0**0.5, 0.5**0.5, 1e-200, 1e150, 3.0, math.inf]
    ordinary = [rng.uniform(-10.0, 10.0) for _ in range(TRIED // 2)]
    spread = [rng.uniform(-1, 1) * 10.0 ** rng.uniform(-160, 150) for _ in range(TRIED // 2)]
    numbers = special + ordinary + spread
    return trial.agrees(f"mg_square{width}", width, functions(width), lambda x: math.pow(x, 2.0), numbers)
