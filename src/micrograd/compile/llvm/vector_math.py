"""Elementary functions over vectors of doubles (compile/elementary), and whether they have the bits of this C library.

exp, log, pow and erfc are written with the steps of glibc. Eager code calls whatever C library is installed, so they are tried
on some ten thousand numbers, once, before they stand in for it where bits are promised: another library is called lane by lane.
"""

from __future__ import annotations

import ctypes
import math
import platform
import random
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from micrograd.compile.elementary import functions
from micrograd.compile.llvm import build
from micrograd.ops import OPS

if TYPE_CHECKING:
    from micrograd.compile.llvm.emit import IRText

TRIED = 20_000  # numbers, of which another good library has some hundred results with another last bit
OURS = {name for name in functions.WRITERS if name not in functions.EXACT}


def written(function: str) -> bool:
    """Whether a function has a definition for vectors here, which needs fused multiply-adds."""
    return function in OURS and build.fuses()


def call(t: IRText, function: str, operands: Sequence[str]) -> str:
    """Write a call into a Text of vectors of doubles, of a function that build.py provides; the name of the result."""
    name = build.provided(function, t.width, t.target.bits)
    declare = f"declare {t.T} @{name}({', '.join([t.T] * len(operands))}) nounwind willreturn memory(none)"
    t.declared[declare] = declare
    r = t.fresh()
    t.line(f"{r} = call {t.T} @{name}({', '.join(f'{t.T} {x}' for x in operands)})")
    return r


@cache
def of_the_library(function: str) -> bool:
    """Whether a function has the bits of this machine's C library."""
    if function in functions.EXACT:
        return True
    if function not in functions.OF_THE_LIBRARY or not build.fuses():
        return False
    numbers, theirs = _TRIALS[function](random.Random(7))
    return agrees(function, theirs, *zip(*numbers))


def told() -> list[str]:
    """Say which elementary functions have the bits of this C library over rows, which have others, and which are called."""
    called = [op.name for op in OPS.values() if op.llvm.startswith("@") and op.llvm[1:] not in functions.WRITERS]
    called = [name for name in called if not OPS[name].llvm.startswith("@llvm.")]
    shown = [name for name in functions.OF_THE_LIBRARY if name != "square"]  # which is pow(x, 2)
    same = [name for name in shown if of_the_library(name)]
    library = " ".join(platform.libc_ver()).strip() or "the C library"
    if not build.fuses():
        return [
            f"this processor does not fuse a*b + c, so rows call {library} for each number, with the bits of eager code"
        ]
    have = (
        f"{', '.join(same)} over rows have the bits of {library}"
        if same
        else f"none over rows has the bits of {library}"
    )
    others = sorted(OURS - set(same) - {"square"})
    return [
        have,
        f"other last bits over rows, unless exact=True: {', '.join(others)}",
        f"no definition of their own, so called one by one on a CPU, and refused on a GPU: {', '.join(called)}",
    ]


def agrees(function: str, theirs: Callable[..., float], *numbers: Sequence[float]) -> bool:
    """Whether a function over vectors gives what the library gives for all numbers, a sequence for each argument."""
    width = build.vector_bits() // 64
    T, name = f"<{width} x double>", build.provided(function, width, build.vector_bits())
    places = range(len(numbers))
    loads = "\n".join(
        f"  %from{k} = getelementptr double, ptr %x{k}, i64 %i\n  %a{k} = load {T}, ptr %from{k}, align 8"
        for k in places
    )
    driver = f"""define void @kernel({", ".join(f"ptr %x{k}" for k in places)}, ptr %y, i64 %n) {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %head ]
{loads}
  %b = call {T} @{name}({", ".join(f"{T} %a{k}" for k in places)})
  %to = getelementptr double, ptr %y, i64 %i
  store {T} %b, ptr %to, align 8
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}}
declare {T} @{name}({", ".join([T] * len(numbers))})
"""
    target = build.Target(width, False, True, False, width * 64)
    code = build.compile_text(driver, 0, target)
    count = len(numbers[0]) // width * width
    given = [(ctypes.c_double * count)(*column[:count]) for column in numbers]
    found = (ctypes.c_double * count)()
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(numbers) + 1), ctypes.c_int64)
    kind(int(code.address))(*given, found, count)
    return all(y == (z := theirs(*row)) or (y != y and z != z) for y, *row in zip(found, *numbers))


_Rows = list[tuple[float, ...]]


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _or_edge(f: Callable[..., float]) -> Callable[..., float]:
    """A function of Python's math that returns what C does where it raises an exception."""

    def at(*args: float) -> float:
        try:
            return f(*args)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if args == (0.0,) else math.nan

    return at


def _exp_trial(rng: random.Random) -> tuple[_Rows, Callable[..., float]]:
    usual = [rng.uniform(-1, 1) * 10.0 ** rng.uniform(-18, 2.708) for _ in range(TRIED)]
    far = [rng.uniform(-746.0, 710.0) for _ in range(TRIED // 8)] + [rng.uniform(-746, -708) for _ in range(TRIED // 8)]
    return [(x,) for x in (*usual, *far, 0.0, -0.0, math.inf, -math.inf, 1e308, -1e308)], _or_edge(math.exp)


def _log_trial(rng: random.Random) -> tuple[_Rows, Callable[..., float]]:
    edges = [_number(edge + k) for edge in functions.NEAR for k in range(-9, 9)]
    steps = [_number(functions.LOG_FROM + (i << 45) + k) for i in range(functions.SIZE) for k in (-1, 0, 1)]
    close = [1.0 + rng.uniform(-1.0, 1.0) * 10.0 ** rng.uniform(-17, 0) for _ in range(TRIED // 2)]
    spread = [rng.uniform(0.5, 2.0) * 2.0 ** rng.randint(-1070, 1022) for _ in range(TRIED // 4)]
    usual = [rng.uniform(0.0, 10.0) for _ in range(TRIED // 4)]
    numbers = [1.0, *edges, *steps, *(x for x in close if x > 0.0), *spread, *usual, 5e-324, math.inf, 0.0, -1.0]
    return [(x,) for x in numbers], _or_edge(math.log)


def _pow_trial(rng: random.Random) -> tuple[_Rows, Callable[..., float]]:
    quarter = range(TRIED // 4)
    usual = [(rng.uniform(0.0, 10.0), rng.uniform(-20.0, 20.0)) for _ in quarter]
    whole = [(rng.uniform(0.5, 2.0), float(rng.randint(-300, 300))) for _ in quarter]
    close = [(1.0 + rng.uniform(-1, 1) * 10.0 ** rng.uniform(-17, -1), 10.0 ** rng.uniform(-20, 4)) for _ in quarter]
    spread = [(2.0 ** rng.uniform(-1022, 1023), rng.uniform(-0.7, 0.7)) for _ in quarter]
    near_zero = [(2.0 ** rng.uniform(-1074, -900), rng.uniform(0.5, 1.3)) for _ in quarter]
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, math.inf, -math.inf, 1e300, -1e-300]
    pairs = [(x, y) for x in special for y in special if x or y >= 0.0]  # a negative power of 0 is an error in Python
    return [*usual, *whole, *close, *spread, *near_zero, *pairs], _power


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0.0 and y % 2.0 == 1.0 else math.inf
    except ValueError:
        return math.nan


def _square_trial(rng: random.Random) -> tuple[_Rows, Callable[..., float]]:
    special = [0.0, -0.0, 1.0, -1.0, 2.0**0.5, 0.5**0.5, 1e-200, 1e150, 3.0, math.inf]
    usual = [rng.uniform(-10.0, 10.0) for _ in range(TRIED)]
    spread = [rng.uniform(-1, 1) * 10.0 ** rng.uniform(-160, 150) for _ in range(TRIED // 2)]
    return [(x,) for x in (*special, *usual, *spread)], lambda x: _power(x, 2.0)


def _erfc_trial(rng: random.Random) -> tuple[_Rows, Callable[..., float]]:
    edges = [0.0, -0.0, 0.25, 0.84375, 1.25, 1 / 0.35, 6.0, 2.8571414947509766]
    near = [s * math.nextafter(x, to) for x in edges for to in (-9.0, x, 9.0) for s in (1.0, -1.0)]
    spread = [rng.gauss(0.0, 1.5) for _ in range(TRIED // 2)] + [rng.uniform(-7.0, 27.0) for _ in range(TRIED // 4)]
    tiny = [rng.uniform(-1.0, 1.0) * 10.0 ** rng.uniform(-300, 0) for _ in range(TRIED // 4)]
    return [(x,) for x in (*near, *spread, *tiny, 30.0, -30.0, math.inf, -math.inf)], math.erfc


_TRIALS: dict[str, Callable[[random.Random], tuple[_Rows, Callable[..., float]]]] = {
    "exp": _exp_trial, "log": _log_trial, "pow": _pow_trial, "square": _square_trial, "erfc": _erfc_trial
}  # fmt: skip
