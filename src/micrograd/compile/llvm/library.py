"""Calls of the C library in LLVM IR: of a vector function where there is one and its bits are allowed, else lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.compile.llvm import math as inline
from micrograd.compile.llvm import same_erfc, same_exp, same_log, same_pow, same_square
from micrograd.compile.llvm.build import host_features, vector_name

if TYPE_CHECKING:
    from micrograd.compile.llvm.emit import Text

# Vector functions with the bits of the library.
SAME: dict[str, Any] = {"exp": same_exp, "erfc": same_erfc, "log": same_log, "pow": same_pow}
OURS = ("mg_mod", "mg_floordiv")  # in ops.h, over doubles alone


def call(text: Text, function: str, operands: list[str]) -> str:
    """Call a function of the C library: its vector form where there is one and its bits are allowed, otherwise lane by lane."""
    n = len(operands)
    if not text.point and not text.target.exact and not text.one_by_one_calls and function not in OURS:
        if function == "exp" and not text.target.float32 and text.target.bits >= 256 and host_features().get("fma"):
            return inline.exp(text, operands[0])
        lanes = text.target.bits // (32 if text.target.float32 else 64)
        vector = vector_name(function, n, text.target.bits, text.target.float32)
        if vector is not None and text.width % lanes == 0:
            return call_vector(text, vector, operands, lanes)
    wide = not text.point and text.scalar == "double" and text.lanes == text.width > 1
    as_eager = text.target.exact or text.one_by_one_calls
    square = function == "pow" and operands[1] == text.splat(2.0) and text.scalar == "double"
    if square and as_eager and (wide or text.point) and same_square.usable(text.target.bits):
        return same_square.call(text, operands[0])
    same = SAME.get(function)
    if same is not None and wide and same.usable(text.target.bits):
        return str(same.call(text, *operands))
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


def call_vector(text: Text, name: str, operands: list[str], lanes: int) -> str:
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
