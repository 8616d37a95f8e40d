"""exp in single precision, which is worth a formula of its own: with doubles inside it takes three times as long on an H200.

The other functions are computed with doubles and rounded.
"""

from __future__ import annotations

from typing import Any

LOG2E = 1.4426950216293335
LN2_HIGH, LN2_LOW = 0.693359375, -0.00021219444170128554  # n times the first is exact
SHIFT = 12582912.0  # 1.5 · 2^23: adding it rounds to a whole number, which then lies in the low bits
SHIFT_BITS = 0x4B400000
HIGHEST, LOWEST = 89.0, -104.0  # beyond them the result is inf, or 0

# exp(r) = 1 + r + r² q(r) for |r| ≤ ln(2)/2, off by 2^-27 of it: through the Chebyshev points, at 70 digits
Q = (0.5, 0.16666576266288757, 0.04166656360030174, 0.008363252505660057, 0.0013925068778917193)


def exp(t: Any, x: str) -> str:
    """Write the instructions into a Text of one row; the name of the result."""

    def do(text: str) -> str:
        r: str = t.fresh()
        t.line(f"{r} = {text}")
        return r

    def number(value: float) -> str:
        literal: str = t.splat(value)
        return literal

    def fma(a: str, b: str, c: str) -> str:
        declare = "declare float @llvm.fma.f32(float, float, float)"
        t.declared[declare] = declare
        return do(f"call float @llvm.fma.f32(float {a}, float {b}, float {c})")

    high = do(f"fcmp ogt float {x}, {number(HIGHEST)}")
    x = do(f"select i1 {high}, float {number(HIGHEST)}, float {x}")  # a nan is neither, and stays
    low = do(f"fcmp olt float {x}, {number(LOWEST)}")
    x = do(f"select i1 {low}, float {number(LOWEST)}, float {x}")
    shifted = fma(x, number(LOG2E), number(SHIFT))
    n = do(f"fsub float {shifted}, {number(SHIFT)}")
    r = fma(n, number(-LN2_LOW), fma(n, number(-LN2_HIGH), x))
    q = number(Q[-1])
    for c in reversed(Q[:-1]):
        q = fma(q, r, number(c))
    p = do(f"fadd float {fma(do(f'fmul float {r}, {r}'), q, r)}, {number(1.0)}")
    whole = do(f"sub i32 {do(f'bitcast float {shifted} to i32')}, {SHIFT_BITS}")
    half = do(f"ashr i32 {whole}, 1")  # 2^n in two factors, since n may be past what one exponent holds
    for part in (half, do(f"sub i32 {whole}, {half}")):
        bits = do(f"shl i32 {do(f'add i32 {part}, 127')}, 23")
        p = do(f"fmul float {p}, {do(f'bitcast i32 {bits} to float')}")
    return p
