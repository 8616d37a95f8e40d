# mypy: disable-error-code="overload-overlap"
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

abs: _Unary
acos: _Unary
acosh: _Unary
asin: _Unary
asinh: _Unary
atan: _Unary
atan2: _Binary
atanh: _Unary
cbrt: _Unary
ceil: _Whole
copysign: _Binary
cos: _Unary
cosh: _Unary
degrees: _Unary
digamma: _Unary
dist: _Pair
dot: _Pair
elu: _BinaryWithDefault
eq: _Binary
erf: _Unary
erfc: _Unary
exp: _Unary
exp2: _Unary
expm1: _Unary
fabs: _Unary
floor: _Whole
floordiv: _Binary
fma: _Ternary
fmax: _Binary
fmin: _Binary
fmod: _Binary
@overload
def frexp(x: Value) -> tuple[Value, int]: ...
@overload
def frexp(x: float) -> tuple[float, int]: ...
fsum: _List
gamma: _Unary
ge: _Binary
gelu: _Unary
gt: _Binary
@overload
def hypot(*xs: float) -> float: ...
@overload
def hypot(*xs: Value | float) -> Value: ...
def isclose(a: Value | float, b: Value | float, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> bool: ...
def isfinite(x: Value | float) -> bool: ...
def isinf(x: Value | float) -> bool: ...
def isnan(x: Value | float) -> bool: ...
def isnormal(x: Value | float) -> bool: ...
def issubnormal(x: Value | float) -> bool: ...
@overload
def ldexp(x: Value, i: int) -> Value: ...
@overload
def ldexp(x: float, i: int) -> float: ...
le: _Binary
leaky_relu: _BinaryWithDefault
lgamma: _Unary
@overload
def log(x: Value, base: Value | float | None = None) -> Value: ...
@overload
def log(x: float, base: Value) -> Value: ...
@overload
def log(x: float, base: float | None = None) -> float: ...
log10: _Unary
log1p: _Unary
log2: _Unary
@overload
def log_softmax(xs: Iterable[float]) -> list[float]: ...
@overload
def log_softmax(xs: Iterable[Value | float]) -> list[Value]: ...
logsumexp: _List
lt: _Binary
max: _Many
mean: _List
min: _Many
mod: _Binary
@overload
def modf(x: Value) -> tuple[Value, Value]: ...
@overload
def modf(x: float) -> tuple[float, float]: ...
ne: _Binary
neg: _Unary
nextafter: _Binary
pow: _Binary
@overload
def prod(xs: Iterable[int], *, start: int = 1) -> int: ...
@overload
def prod(xs: Iterable[float], *, start: float = 1) -> float: ...
@overload
def prod(xs: Iterable[Value | float], *, start: Value | float = 1) -> Value: ...
radians: _Unary
relu: _Unary
remainder: _Binary
round: _Unary
sigmoid: _Unary
sigmoid_slope: _Unary
sign: _Unary
def signbit(x: Value | float) -> bool: ...
silu: _Unary
sin: _Unary
sinh: _Unary
@overload
def softmax(xs: Iterable[float]) -> list[float]: ...
@overload
def softmax(xs: Iterable[Value | float]) -> list[Value]: ...
softplus: _Unary
sqrt: _Unary
stop_gradient: _Unary
sum: _List
sumprod: _Pair
tan: _Unary
tanh: _Unary
trunc: _Whole
def ulp(x: Value | float) -> float: ...
where: _Ternary
zeta: _Binary

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "comb",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "digamma",
    "dist",
    "dot",
    "e",
    "elu",
    "eq",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "factorial",
    "floor",
    "floordiv",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "fsum",
    "gamma",
    "gcd",
    "ge",
    "gelu",
    "gt",
    "hypot",
    "inf",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "isqrt",
    "issubnormal",
    "lcm",
    "ldexp",
    "le",
    "leaky_relu",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logsumexp",
    "lt",
    "max",
    "mean",
    "min",
    "mod",
    "modf",
    "nan",
    "ne",
    "neg",
    "nextafter",
    "perm",
    "pi",
    "pow",
    "prod",
    "radians",
    "relu",
    "remainder",
    "round",
    "sigmoid",
    "sigmoid_slope",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "stop_gradient",
    "sum",
    "sumprod",
    "tan",
    "tanh",
    "tau",
    "trunc",
    "ulp",
    "where",
    "zeta",
]
