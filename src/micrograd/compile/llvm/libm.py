"""Calls of elementary functions in LLVM IR: our own over vectors if they have the bits that are asked for, or the library's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from micrograd.compile.elementary import functions
from micrograd.compile.llvm import vector_math
from micrograd.compile.llvm.build import vector_name

if TYPE_CHECKING:
    from micrograd.compile.llvm.emit import IRText

OURS = ("mg_mod", "mg_floordiv")  # in ops.h, over doubles alone


def call(text: IRText, function: str, operands: list[str]) -> str:
    """Call an elementary function: our own for vectors, unless it may have other bits than eager code; or the C library."""
    n = len(operands)
    as_eager = text.target.exact or text.one_by_one_calls or text.of_point
    if not text.point and text.scalar == "double":
        square = function == "pow" and operands[1] == text.splat(2.0)
        own = "square" if square else function
        if vector_math.written(own) and (not as_eager or vector_math.of_the_library(own)):
            if own not in functions.OF_THE_LIBRARY:
                text.own[own] = None
            return vector_math.call(text, own, operands[:1] if square else operands)
    if not text.point and not as_eager and function not in OURS:
        lanes = text.target.bits // (32 if text.target.float32 else 64)
        vector = vector_name(function, n, text.target.bits, text.target.float32)
        if vector is not None and text.width % lanes == 0:
            return call_vector(text, vector, operands, lanes)
    scalar = text.scalar if function not in OURS else "double"
    plain = "" if text.target.fastmath else " nobuiltin"  # else LLVM writes pow(x, 2) as x*x, which has other bits
    name = function + ("f" if scalar == "float" else "")
    declare = f"declare {scalar} @{name}({', '.join([scalar] * n)}) nounwind willreturn memory(none)"
    text.declared[declare] = declare

    def one(xs: list[str]) -> str:
        if scalar != text.scalar:
            wide = [text.fresh() for _ in xs]
            for w, x in zip(wide, xs):
                text.line(f"{w} = fpext float {x} to double")
            xs = wide
        r = text.fresh()
        text.line(f"{r} = call {scalar} @{name}({', '.join(f'{scalar} {x}' for x in xs)}){plain}")
        if scalar != text.scalar:
            narrow = text.fresh()
            text.line(f"{narrow} = fptrunc double {r} to float")
            return narrow
        return r

    if text.point:
        return one(operands)
    text.lane_by_lane[function.removeprefix("mg_")] = None
    result = "poison"
    for lane in range(text.lanes):
        xs = []
        for x in operands:
            e = text.fresh()
            text.line(f"{e} = extractelement {text.T} {x}, i64 {lane}")
            xs.append(e)
        y, r = one(xs), text.fresh()
        text.line(f"{r} = insertelement {text.T} {result}, {text.scalar} {y}, i64 {lane}")
        result = r
    return result


def call_vector(text: IRText, name: str, operands: list[str], lanes: int) -> str:
    """Call a function over vectors of `lanes` lanes, as often as the width needs."""
    V = f"<{lanes} x {text.scalar}>"
    declare = f"declare {V} @{name}({', '.join([V] * len(operands))}) nounwind willreturn memory(none)"
    text.declared[declare] = declare
    parts = []
    for first in range(0, text.width, lanes):
        xs = []
        for x in operands:
            if lanes == text.width:
                xs.append(x)
                continue
            s = text.fresh()
            indices = ", ".join(f"i32 {i}" for i in range(first, first + lanes))
            text.line(f"{s} = shufflevector {text.T} {x}, {text.T} poison, <{lanes} x i32> <{indices}>")
            xs.append(s)
        r = text.fresh()
        text.line(f"{r} = call {V} @{name}({', '.join(f'{V} {x}' for x in xs)})")
        parts.append(r)
    while len(parts) > 1:  # halves are joined pairwise
        joined = []
        for a, b in zip(parts[::2], parts[1::2]):
            s = text.fresh()
            indices = ", ".join(f"i32 {i}" for i in range(2 * lanes))
            text.line(
                f"{s} = shufflevector <{lanes} x {text.scalar}> {a}, <{lanes} x {text.scalar}> {b}, "
                f"<{2 * lanes} x i32> <{indices}>"
            )
            joined.append(s)
        parts, lanes = joined, lanes * 2
    return parts[0]
