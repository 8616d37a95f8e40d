"""Elements of arrays in LLVM text: a number in each lane, or a flag in each lane (tape/truths.py), of which a bit is kept."""

from __future__ import annotations

from micrograd.compile.llvm.nested import Mask, Nested


def load(t: Nested, p: str) -> str:
    """The number (or vector) that lies there."""
    x = t.fresh()
    t.line(f"{x} = load {t.T}, ptr {p}, align {t.align}")
    return x


def store(t: Nested, x: str, p: str) -> None:
    """Put a number there, or flags as bits."""
    if not isinstance(x, Mask):
        t.line(f"store {t.T} {x}, ptr {p}, align {t.align}")
        return
    whole, bits = x, 8 * cell(t, True)
    if not t.point:
        whole = Mask(t.fresh())
        t.line(f"{whole} = bitcast {t.B} {x} to i{t.width}")
    if t.width < bits:
        narrow, whole = whole, Mask(t.fresh())
        t.line(f"{whole} = zext i{t.width} {narrow} to i{bits}")
    t.line(f"store i{bits} {whole}, ptr {p}, align 1")


def load_flags(t: Nested, p: str) -> Mask:
    """The flags that lie there."""
    x, bits = Mask(t.fresh()), 8 * cell(t, True)
    t.line(f"{x} = load i{bits}, ptr {p}, align 1")
    if t.width < bits:
        whole, x = x, Mask(t.fresh())
        t.line(f"{x} = trunc i{bits} {whole} to i{t.width}")
    if not t.point:
        whole, x = x, Mask(t.fresh())
        t.line(f"{x} = bitcast i{t.width} {whole} to {t.B}")
    return x


def cell(t: Nested, flags: bool) -> int:
    """How many bytes an element has: a number in each lane, or a bit."""
    return (t.width + 7) // 8 if flags else t.bytes


def as_element(t: Nested, x: str, flags: bool) -> str:
    """A number, or flags, as an element of an array of numbers or of flags."""
    if isinstance(x, Mask) == flags:
        return x
    r = t.fresh()
    if flags:
        t.line(f"{r} = fcmp une {t.T} {x}, {t.splat(0.0)}")
        return Mask(r)
    t.line(f"{r} = select {t.B} {x}, {t.T} {t.splat(1.0)}, {t.T} {t.splat(0.0)}")
    return r


def added(t: Nested, old: str, x: str) -> str:
    """The sum of two numbers; of two flags, whether one of them holds."""
    r = t.fresh()
    if isinstance(old, Mask):
        t.line(f"{r} = or {t.B} {old}, {x}")
        return Mask(r)
    t.line(f"{r} = fadd {t.T} {old}, {x}")
    return r
