"""Write src/micrograd/math.pyi, the types of micrograd.math: float in, float out; Value in, Value out.

python tools/gen_math_pyi.py [--check]
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from micrograd import math
from micrograd.ops import OPS

PATH = Path(__file__).resolve().parent.parent / "src" / "micrograd" / "math.pyi"

HEAD = '''# mypy: disable-error-code="overload-overlap"
"""The types of micrograd.math. Written by tools/gen_math_pyi.py: do not edit."""

from collections.abc import Iterable
from math import comb, factorial, gcd, isqrt, lcm, perm
from typing import Protocol, overload

from micrograd.engine import Value

class _Unary(Protocol):
    @overload  # first, so that grad(math.sin) is a function of a float
    def __call__(self, x: float, /) -> float: ...
    @overload
    def __call__(self, x: Value, /) -> Value: ...

class _Binary(Protocol):
    @overload
    def __call__(self, a: float, b: float, /) -> float: ...
    @overload
    def __call__(self, a: Value, b: Value | float, /) -> Value: ...
    @overload
    def __call__(self, a: float, b: Value, /) -> Value: ...

class _BinaryWithDefault(Protocol):
    @overload
    def __call__(self, a: Value, b: Value | float = ..., /) -> Value: ...
    @overload
    def __call__(self, a: float, b: Value, /) -> Value: ...
    @overload
    def __call__(self, a: float, b: float = ..., /) -> float: ...

class _Ternary(Protocol):
    @overload
    def __call__(self, a: float, b: float, c: float, /) -> float: ...
    @overload
    def __call__(self, a: Value | float, b: Value | float, c: Value | float, /) -> Value: ...

class _Many(Protocol):
    @overload  # first, so that a list of Any gives a Value
    def __call__(self, xs: Iterable[Value], /) -> Value: ...
    @overload
    def __call__(self, xs: Iterable[float], /) -> float: ...
    @overload
    def __call__(self, xs: Iterable[Value | float], /) -> Value: ...
    @overload
    def __call__(self, a: float, b: float, /, *more: float) -> float: ...
    @overload
    def __call__(self, a: Value | float, b: Value | float, /, *more: Value | float) -> Value: ...

class _List(Protocol):
    @overload
    def __call__(self, xs: Iterable[Value], /) -> Value: ...
    @overload
    def __call__(self, xs: Iterable[float], /) -> float: ...
    @overload
    def __call__(self, xs: Iterable[Value | float], /) -> Value: ...

class _Pair(Protocol):
    @overload
    def __call__(self, xs: Iterable[Value], ys: Iterable[Value | float], /) -> Value: ...
    @overload
    def __call__(self, xs: Iterable[float], ys: Iterable[float], /) -> float: ...
    @overload
    def __call__(self, xs: Iterable[Value | float], ys: Iterable[Value | float], /) -> Value: ...

class _Whole(Protocol):
    @overload
    def __call__(self, x: Value, /) -> Value: ...
    @overload
    def __call__(self, x: float, /) -> int: ...

e: float
inf: float
nan: float
pi: float
tau: float
'''

CLASSES = ("isnormal", "issubnormal", "signbit")
SPECIAL = {
    "prod": """@overload
def prod(xs: Iterable[int], *, start: int = 1) -> int: ...
@overload
def prod(xs: Iterable[float], *, start: float = 1) -> float: ...
@overload
def prod(xs: Iterable[Value | float], *, start: Value | float = 1) -> Value: ...""",
    "softmax": "@overload\ndef softmax(xs: Iterable[float]) -> list[float]: ...\n@overload\n"
    "def softmax(xs: Iterable[Value | float]) -> list[Value]: ...",
    "log_softmax": "@overload\ndef log_softmax(xs: Iterable[float]) -> list[float]: ...\n@overload\n"
    "def log_softmax(xs: Iterable[Value | float]) -> list[Value]: ...",
    "modf": "@overload\ndef modf(x: Value) -> tuple[Value, Value]: ...\n@overload\n"
    "def modf(x: float) -> tuple[float, float]: ...",
    "frexp": "@overload\ndef frexp(x: Value) -> tuple[Value, int]: ...\n@overload\n"
    "def frexp(x: float) -> tuple[float, int]: ...",
    "ldexp": "@overload\ndef ldexp(x: Value, i: int) -> Value: ...\n@overload\ndef ldexp(x: float, i: int) -> float: ...",
    "ulp": "def ulp(x: Value | float) -> float: ...",
    "isclose": "def isclose(a: Value | float, b: Value | float, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> bool: ...",
    "hypot": "@overload\ndef hypot(*xs: float) -> float: ...\n@overload\ndef hypot(*xs: Value | float) -> Value: ...",
    "log": """@overload
def log(x: Value, base: Value | float | None = None) -> Value: ...
@overload
def log(x: float, base: Value) -> Value: ...
@overload
def log(x: float, base: float | None = None) -> float: ...""",
    **{name: f"def {name}(x: Value | float) -> bool: ..." for name in ("isnan", "isinf", "isfinite", *CLASSES)},
    **{name: f"{name}: _Whole" for name in ("floor", "ceil", "trunc")},
    **{name: f"{name}: _Many" for name in ("min", "max")},
    **{name: f"{name}: _List" for name in ("sum", "mean", "logsumexp", "fsum")},
    **{name: f"{name}: _Pair" for name in ("dot", "sumprod", "dist")},
    **{name: f"{name}: _Unary" for name in ("degrees", "radians", "fabs", "stop_gradient")},
    **{name: f"{name}: _Binary" for name in ("nextafter",)},
}
CONSTANTS = ("e", "inf", "nan", "pi", "tau")
WHOLE = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")


def stub() -> str:
    """The text of the stub, one entry for each public name."""
    lines = [HEAD]
    for name in sorted(math.__all__):
        if name in CONSTANTS or name in WHOLE:
            continue
        if name in SPECIAL:
            lines.append(SPECIAL[name])
            continue
        op = OPS.get(name)
        if op is None:  # a function made from rows: by the number of its arguments
            count = len(inspect.signature(getattr(math, name)).parameters)
            lines.append(f"{name}: {('_Unary', '_Binary', '_Ternary')[count - 1]}")
            continue
        kind = {1: "_Unary", 2: "_BinaryWithDefault" if op.defaults else "_Binary", 3: "_Ternary"}[op.arity]
        lines.append(f"{name}: {kind}")
    lines += ["", "__all__ = [", *[f'    "{name}",' for name in math.__all__], "]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PATH.read_text() == stub() else "math.pyi is not that of the table: make ops")
    PATH.write_text(stub())
