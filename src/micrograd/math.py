"""A drop-in for the standard library's math, over numbers and Values.

A number in gives a number out; a Value in gives a Value out. The functions are the rows of the table in `ops.py`.
"""

from __future__ import annotations

from math import e, inf, nan, pi, tau

from micrograd import engine
from micrograd.ops import OPS, Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "dot", "e",
           "elu", "eq", "erf", "erfc", "exp", "expm1", "fabs", "floor", "floordiv", "fsum", "ge", "gelu", "gt", "hypot",
           "inf", "isfinite", "isinf", "isnan", "le", "leaky_relu", "log", "log10", "log1p", "log2", "log_softmax",
           "logsumexp", "lt", "max", "mean", "min", "mod", "nan", "ne", "neg", "pi", "pow", "prod", "relu", "round",
           "sigmoid", "sign", "silu", "sin", "sinh", "softmax", "softplus", "sqrt", "sum", "tan", "tanh", "tau", "trunc",
           "where"]  # fmt: skip


def _function(op: Op) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return engine.apply(op, *args)

    function.__name__ = op.name
    return function


if engine.NATIVE:
    from micrograd._engine import functions as _functions
else:
    _functions = {name: _function(op) for name, op in OPS.items()}

exp: Callable[[Any], Any] = _functions["exp"]
expm1: Callable[[Any], Any] = _functions["expm1"]
log1p: Callable[[Any], Any] = _functions["log1p"]
log2: Callable[[Any], Any] = _functions["log2"]
log10: Callable[[Any], Any] = _functions["log10"]
sqrt: Callable[[Any], Any] = _functions["sqrt"]
cbrt: Callable[[Any], Any] = _functions["cbrt"]
sin: Callable[[Any], Any] = _functions["sin"]
cos: Callable[[Any], Any] = _functions["cos"]
tan: Callable[[Any], Any] = _functions["tan"]
asin: Callable[[Any], Any] = _functions["asin"]
acos: Callable[[Any], Any] = _functions["acos"]
atan: Callable[[Any], Any] = _functions["atan"]
atan2: Callable[[Any, Any], Any] = _functions["atan2"]
sinh: Callable[[Any], Any] = _functions["sinh"]
cosh: Callable[[Any], Any] = _functions["cosh"]
tanh: Callable[[Any], Any] = _functions["tanh"]
asinh: Callable[[Any], Any] = _functions["asinh"]
acosh: Callable[[Any], Any] = _functions["acosh"]
atanh: Callable[[Any], Any] = _functions["atanh"]
hypot: Callable[[Any, Any], Any] = _functions["hypot"]
erf: Callable[[Any], Any] = _functions["erf"]
erfc: Callable[[Any], Any] = _functions["erfc"]
sigmoid: Callable[[Any], Any] = _functions["sigmoid"]
relu: Callable[[Any], Any] = _functions["relu"]
leaky_relu: Callable[..., Any] = _functions["leaky_relu"]
elu: Callable[..., Any] = _functions["elu"]
softplus: Callable[[Any], Any] = _functions["softplus"]
silu: Callable[[Any], Any] = _functions["silu"]
gelu: Callable[[Any], Any] = _functions["gelu"]
floor: Callable[[Any], Any] = _functions["floor"]
ceil: Callable[[Any], Any] = _functions["ceil"]
round: Callable[[Any], Any] = _functions["round"]
sign: Callable[[Any], Any] = _functions["sign"]
abs: Callable[[Any], Any] = _functions["abs"]
fabs: Callable[[Any], Any] = _functions["abs"]
neg: Callable[[Any], Any] = _functions["neg"]
pow: Callable[[Any, Any], Any] = _functions["pow"]
mod: Callable[[Any, Any], Any] = _functions["mod"]
floordiv: Callable[[Any, Any], Any] = _functions["floordiv"]
where: Callable[[Any, Any, Any], Any] = _functions["where"]
lt: Callable[[Any, Any], Any] = _functions["lt"]
le: Callable[[Any, Any], Any] = _functions["le"]
gt: Callable[[Any, Any], Any] = _functions["gt"]
ge: Callable[[Any, Any], Any] = _functions["ge"]
eq: Callable[[Any, Any], Any] = _functions["eq"]
ne: Callable[[Any, Any], Any] = _functions["ne"]

_log, _log2, _dot = _functions["log"], _functions["log2"], _functions["dot"]
_min, _max, _sum = _functions["min"], _functions["max"], _functions["sum"]
_prod, _mean, _logsumexp = _functions["prod"], _functions["mean"], _functions["logsumexp"]


def log(x: Any, base: Any = None) -> Any:
    """The natural logarithm, or the one to a base."""
    return _log(x) if base is None else _log(x) / _log(base)


def min(*xs: Any) -> Any:
    """The least of two or more operands, or of a list; nan where one is nan. A tie shares the gradient."""
    return _among(_min, "min", xs)


def max(*xs: Any) -> Any:
    """The greatest of two or more operands, or of a list; nan where one is nan. A tie shares the gradient."""
    return _among(_max, "max", xs)


def _among(function: Callable[[Any, Any], Any], name: str, xs: tuple[Any, ...]) -> Any:
    if len(xs) == 2:
        return function(*xs)
    items = list(xs[0]) if len(xs) == 1 else list(xs)
    if not items:
        raise ValueError(f"{name} of an empty list has no value")
    best = items[0]
    for x in items[1:]:
        best = function(best, x)
    return best


def sum(xs: Iterable[Any]) -> Any:
    """The sum of a list, as one node, added from left to right."""
    return _sum(_as_list(xs))


def prod(xs: Iterable[Any]) -> Any:
    """The product of a list, as one node."""
    return _prod(_as_list(xs))


def mean(xs: Iterable[Any]) -> Any:
    """The mean of a list, as one node."""
    return _mean(_as_list(xs))


def logsumexp(xs: Iterable[Any]) -> Any:
    """log(Σ exp(x)), as one node, without overflow."""
    return _logsumexp(_as_list(xs))


def dot(xs: Iterable[Any], ys: Iterable[Any]) -> Any:
    """Σ x·y, as one node."""
    xs, ys = _as_list(xs), _as_list(ys)
    if len(xs) != len(ys):
        raise ValueError(f"dot() of lists of different lengths: {len(xs)} and {len(ys)}")
    return _dot([*xs, *ys])


if not TYPE_CHECKING and engine.NATIVE:
    dot = _dot  # the C one checks for itself: in a network of dots, the call above was half of the time


def softmax(xs: Iterable[Any]) -> list[Any]:
    """exp(x) / Σ exp(x) for each x, without overflow."""
    return [exp(x) for x in log_softmax(xs)]


def log_softmax(xs: Iterable[Any]) -> list[Any]:
    """The logarithms of softmax: x - logsumexp(xs) for each x."""
    xs = _as_list(xs)
    total = _logsumexp(xs)
    return [x - total for x in xs]


fsum = sum  # summed from left to right, not exactly: its gradient is the same


def trunc(x: Any) -> Any:
    """Round towards zero."""
    return where(lt(x, 0.0), ceil(x), floor(x))


def isnan(x: Any) -> bool:
    """Whether x is nan."""
    return bool(x != x)


def isinf(x: Any) -> bool:
    """Whether x is inf or -inf."""
    return bool(x == inf or x == -inf)


def isfinite(x: Any) -> bool:
    """Whether x is neither nan nor infinite."""
    return not (isnan(x) or isinf(x))


def _as_list(xs: Iterable[Any]) -> list[Any] | tuple[Any, ...]:
    return xs if isinstance(xs, (list, tuple)) else list(xs)
