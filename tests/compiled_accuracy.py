"""How far compiled values are from the exact ones: tools/accuracy_compiled.py writes it down, the tests bound it."""

from __future__ import annotations

import math
import struct
from typing import Any

from mpmath import mpf

import oracle
from micrograd import engine
from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import emit as ir
from micrograd.compile.llvm import vector_math
from micrograd.ops import OPS

BOUND, BOUND_SINGLE = 4.0, 4.0
TINY, TINY_SINGLE, HUGE_SINGLE = 1e-300, 1e-37, 3e38


def vector_function(name: str) -> str | None:
    """What computes this op for a vector of doubles; None where lanes are computed one by one, or by instructions."""
    if name not in ir.LIBRARY:
        return None
    if vector_math.written(ir.LIBRARY[name]):
        return "micrograd's own"
    return llvm.vector_name(ir.LIBRARY[name], OPS[name].arity, llvm.vector_bits(), False)


def points(name: str, single: bool) -> list[list[float]]:
    """Inputs whose value is neither subnormal nor (in float32) too large; rounded to the number type."""
    found = []
    for args in oracle.points(name, count=60):
        if single and any(abs(x) > HUGE_SINGLE for x in args):
            continue  # float32 has no such number
        if single and name in ("philox", "normal") and max(args) > 2**24:
            continue  # float32 does not hold such counts, and the draw is nan
        if single:
            args = [struct.unpack("f", struct.pack("f", x))[0] for x in args]
        if any(x == 0 and math.copysign(1.0, x) < 0 for x in args):
            continue  # mpmath has no -0
        try:
            y = abs(oracle.exact(name, args)[0])
        except (ZeroDivisionError, ValueError, ArithmeticError):
            continue  # rounded out of where the op is defined
        tiny, huge = (TINY_SINGLE, HUGE_SINGLE) if single else (TINY, mpf(1.7e308))
        inner = [abs(x) for x in args if x]
        if (y == 0 or tiny < y < huge) and not (single and any(x < TINY_SINGLE for x in inner)):
            found.append(args)
    return found


def measure(name: str, single: bool = False) -> float:
    """The largest error of an op's values over rows, in ulp."""
    import numpy as np

    from micrograd import vmap

    op, worst = OPS[name], 0.0
    by_count: dict[int, list[list[float]]] = {}
    for args in points(name, single):
        by_count.setdefault(len(args), []).append(args)

    def one(*xs: Any) -> Any:
        return engine.apply(op, list(xs)) if op.arity < 0 else engine.apply(op, *xs)

    for rows in by_count.values():
        columns = [np.array(c, "f4" if single else "f8") for c in zip(*rows)]
        for args, got in zip(rows, vmap(one, float32=single)(*columns)):
            want = oracle.exact(name, args)[0]
            if single:
                ulp = 2.0 ** (max(math.frexp(float(want))[1], -125) - 24)
                error = float(abs(mpf(float(got)) - want) / mpf(ulp)) if math.isfinite(float(got)) else math.inf
            else:
                error = oracle.ulps(float(got), want)
            if error > worst:
                worst = error
    return worst
