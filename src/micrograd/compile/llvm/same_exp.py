"""exp of a vector of doubles with the bits of the C library's exp, for results that must be those of eager code.

Called lane by lane, eight numbers take eight times as long as one. glibc's exp (since 2.28, on a processor with fused
multiply-add) is a table of 2^(k/128), a polynomial of degree 5 and no branch for |x| < 512, so the same steps can be taken for
all lanes at once. Whether they give the bits of the library on this machine is tried on 100,000 numbers before it is used:
another library, or another version of it, is called lane by lane. So are lanes beyond 512, inf and nan.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

from micrograd.compile.llvm import build, trial
from micrograd.compile.llvm.vector_function import bits_of, hex_of, lane_by_lane, pairs

SIZE = 128  # entries of the table
SCALE = float.fromhex("0x1.71547652b82fep0") * SIZE
LN2_HIGH, LN2_LOW = float.fromhex("-0x1.62e42fefa0000p-8"), float.fromhex("-0x1.cf79abc9e3b39p-47")
SHIFT = float.fromhex("0x1.8p52")
C2, C3, C4, C5 = (float.fromhex(x) for x in ("0x1.ffffffffffdbdp-2", "0x1.555555555543cp-3", "0x1.55555cf172b91p-5",
                                             "0x1.1111167a4d017p-7"))  # fmt: skip
TRIED = 100_000  # 0.2 s, once


@cache
def table() -> str:
    """2^(k/128) for each k: how far it is from its rounded value, and the bits of that less k in the exponent."""
    cells = []
    with localcontext() as context:
        context.prec = 60
        for k in range(SIZE):
            exactly = Decimal(2) ** (Decimal(k) / SIZE)
            rounded = float(exactly)
            cells += [bits_of(float(exactly / Decimal(rounded) - 1)), (bits_of(rounded) - (k << 45)) % 2**64]
    return f"@mg_exp_table = internal constant [{2 * SIZE} x i64] [{', '.join(f'i64 {c}' for c in cells)}]"


def text(width: int) -> str:
    """The function for vectors of this width."""
    T, whole, S = f"<{width} x double>", f"<{width} x i64>", f"v{width}f64"

    def splat(x: float) -> str:
        return f"splat (double {hex_of(x)})"

    loads = "\n".join(pairs(width, "mg_exp_table", "tail", "scales"))
    return f"""define internal {T} @mg_exp{width}({T} %x) noinline {{
  %size = call {T} @llvm.fabs.{S}({T} %x)
  %near = fcmp olt {T} %size, {splat(512.0)}
  %bits = bitcast <{width} x i1> %near to i{width}
  %fine = icmp eq i{width} %bits, -1
  br i1 %fine, label %fast, label %slow
fast:
  %kd0 = call {T} @llvm.fma.{S}({T} {splat(SCALE)}, {T} %x, {T} {splat(SHIFT)})
  %ki = bitcast {T} %kd0 to {whole}
  %kd = fsub {T} %kd0, {splat(SHIFT)}
  %r0 = call {T} @llvm.fma.{S}({T} %kd, {T} {splat(LN2_HIGH)}, {T} %x)
  %r = call {T} @llvm.fma.{S}({T} %kd, {T} {splat(LN2_LOW)}, {T} %r0)
  %k = and {whole} %ki, splat (i64 {SIZE - 1})
  %place = shl {whole} %k, splat (i64 1)
{loads}
  %scale0 = bitcast {T} %scales to {whole}
  %top = shl {whole} %ki, splat (i64 45)
  %scale1 = add {whole} %scale0, %top
  %scale = bitcast {whole} %scale1 to {T}
  %r2 = fmul {T} %r, %r
  %p = call {T} @llvm.fma.{S}({T} %r, {T} {splat(C3)}, {T} {splat(C2)})
  %q = call {T} @llvm.fma.{S}({T} %r, {T} {splat(C5)}, {T} {splat(C4)})
  %s = fadd {T} %tail, %r
  %u = call {T} @llvm.fma.{S}({T} %r2, {T} %p, {T} %s)
  %r4 = fmul {T} %r2, %r2
  %v = call {T} @llvm.fma.{S}({T} %r4, {T} %q, {T} %u)
  %y = call {T} @llvm.fma.{S}({T} %scale, {T} %v, {T} %scale)
  ret {T} %y
slow:
{lane_by_lane(width, "exp")}
}}
"""


def declarations(width: int) -> list[str]:
    """What the function needs."""
    T = f"<{width} x double>"
    return [
        f"declare {T} @llvm.fma.v{width}f64({T}, {T}, {T})",
        f"declare {T} @llvm.fabs.v{width}f64({T})",
        "declare double @exp(double) nounwind willreturn memory(none)",
        table(),
    ]


def functions(width: int) -> list[str]:
    """The function for vectors of this width, with what it needs."""
    return [*declarations(width), text(width)]


def write_call(t: Any, name: str, needed: list[str], *arguments: str) -> str:
    """Write a call of a function of vectors into a Text, with the declarations that it needs; the name of the result."""
    for line in needed:
        t.declared[line] = line
    r: str = t.fresh()
    t.line(f"{r} = call {t.T} @{name}{t.width}({', '.join(f'{t.T} {x}' for x in arguments)})")
    return r


def call(t: Any, x: str) -> str:
    """Write a call of exp into a Text; the name of the result."""
    return write_call(t, "mg_exp", functions(t.width), x)


@cache
def usable(bits: int) -> bool:
    """Whether this machine's exp has the same bits, tried with vectors of so many bits."""
    if bits < 256 or not build.host_features().get("fma"):
        return False
    width, rng = bits // 64, random.Random(7)
    numbers = [rng.uniform(-1, 1) * 10.0 ** rng.uniform(-18, 2.708) for _ in range(TRIED)]
    return trial.agrees(f"mg_exp{width}", width, functions(width), math.exp, numbers)
