"""A drop-in for the standard library's math, over numbers and Values.

A number in gives a number out; a Value in gives a Value out. The functions are the rows of the table in `ops.py`.

>>> from micrograd import Value, math
>>> math.exp(0.0), math.exp(Value(0.0))
(1.0, Value(data=1.0, grad=0.0))
>>> math.dot([1.0, 2.0], [Value(3.0), 4.0])
Value(data=11.0, grad=0.0)
"""

from __future__ import annotations

import builtins as _builtins
import math as _math
from math import comb, e, factorial, gcd, inf, isqrt, lcm, nan, perm, pi, tau

from micrograd import engine
from micrograd.observed import STOP
from micrograd.ops import OPS, Op

_LEAST_NORMAL = 2.0**-1022
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "comb", "copysign", "cos",
           "cosh", "degrees", "digamma", "dist", "dot", "e", "elu", "eq", "erf", "erfc", "exp", "exp2", "expm1", "fabs",
           "factorial", "floor", "floordiv", "fma", "fmax", "fmin", "fmod", "frexp", "fsum", "gamma", "gcd", "ge", "gelu",
           "gt", "hypot", "inf", "isclose", "isfinite", "isinf", "isnan", "isnormal", "isqrt", "issubnormal", "lcm",
           "ldexp", "le", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp", "lt", "max",
           "mean", "min", "mod", "modf", "nan", "ne", "neg", "nextafter", "perm", "pi", "pow", "prod", "radians", "relu",
           "remainder", "round", "sigmoid", "sigmoid_slope", "sign", "signbit", "silu", "sin", "sinh", "softmax",
           "softplus", "sqrt", "stop_gradient", "sum", "sumprod", "tan", "tanh", "tau", "trunc", "ulp", "where",
           "zeta"]  # fmt: skip


def _function(op: Op) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return engine.apply(op, *args)

    function.__name__ = op.name
    return function


if engine.NATIVE:
    from micrograd._engine import functions as _functions
else:
    _functions = {name: _function(op) for name, op in OPS.items()}

# Their types are in math.pyi.
exp, expm1, exp2, log1p = _functions["exp"], _functions["expm1"], _functions["exp2"], _functions["log1p"]
sqrt, cbrt = _functions["sqrt"], _functions["cbrt"]
sin, cos, tan = _functions["sin"], _functions["cos"], _functions["tan"]
asin, acos, atan = _functions["asin"], _functions["acos"], _functions["atan"]
atan2, fma, copysign = _functions["atan2"], _functions["fma"], _functions["copysign"]
sinh, cosh, tanh = _functions["sinh"], _functions["cosh"], _functions["tanh"]
asinh, acosh, atanh = _functions["asinh"], _functions["acosh"], _functions["atanh"]
fmod, remainder = _functions["fmod"], _functions["remainder"]
gamma, lgamma, digamma = _functions["gamma"], _functions["lgamma"], _functions["digamma"]
zeta, sigmoid_slope = _functions["zeta"], _functions["sigmoid_slope"]
erf, erfc = _functions["erf"], _functions["erfc"]
sigmoid, relu, softplus = _functions["sigmoid"], _functions["relu"], _functions["softplus"]
leaky_relu, elu = _functions["leaky_relu"], _functions["elu"]
silu, gelu = _functions["silu"], _functions["gelu"]
round, sign = _functions["round"], _functions["sign"]
abs = fabs = _functions["abs"]
neg, pow, mod, floordiv = _functions["neg"], _functions["pow"], _functions["mod"], _functions["floordiv"]
where = _functions["where"]
lt, le, gt = _functions["lt"], _functions["le"], _functions["gt"]
ge, eq, ne = _functions["ge"], _functions["eq"], _functions["ne"]

_log, _log2, _log10 = _functions["log"], _functions["log2"], _functions["log10"]
_dot, _hypot = _functions["dot"], _functions["hypot"]
_floor, _ceil, _trunc = _functions["floor"], _functions["ceil"], _functions["trunc"]
_min, _max, _sum = _functions["min"], _functions["max"], _functions["sum"]
_prod, _mean, _logsumexp = _functions["prod"], _functions["mean"], _functions["logsumexp"]


def log(x: Any, base: Any = None) -> Any:
    """The natural logarithm, or the one to a base."""
    if base is not None:
        return log(x) / log(base)
    return _math.log(x) if type(x) is int and x > _LARGEST else _log(x)


def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return _math.log2(x) if type(x) is int and x > _LARGEST else _log2(x)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return _math.log10(x) if type(x) is int and x > _LARGEST else _log10(x)


def min(*xs: Any) -> Any:
    """The least of two or more operands, or of a list; nan where one is nan. A tie splits the gradient."""
    return _among(_min, "min", xs)


def max(*xs: Any) -> Any:
    """The greatest of two or more operands, or of a list; nan where one is nan. A tie splits the gradient."""
    return _among(_max, "max", xs)


def fmax(x: Any, y: Any) -> Any:
    """The greater of two operands; where one is nan, the other. A tie splits the gradient.

    >>> from micrograd import math
    >>> math.fmax(2.0, math.nan), math.max(2.0, math.nan)
    (2.0, nan)
    """
    return where(ne(x, x), y, where(ne(y, y), x, _max(x, y)))


def fmin(x: Any, y: Any) -> Any:
    """The lesser of two operands; where one is nan, the other. A tie splits the gradient."""
    return where(ne(x, x), y, where(ne(y, y), x, _min(x, y)))


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


def stop_gradient(x: Any) -> Any:
    """The same number as a constant: no gradient passes through it, in eager code and in every transform.

    >>> from micrograd import grad, math
    >>> grad(lambda x: math.stop_gradient(x) * x)(3.0)
    3.0
    """
    return x.detach() if isinstance(x, engine.Value) else engine.apply(STOP, x)


def sum(xs: Iterable[Any]) -> Any:
    """The sum of a list, as one node, added from left to right."""
    return _sum(_as_list(xs))


def prod(xs: Iterable[Any], *, start: Any = 1) -> Any:
    """The product of a list, as one node; whole numbers alone give a whole number."""
    xs = _as_list(xs)
    if _are(int, start, *xs):
        return _math.prod(xs, start=start)
    return _prod(xs if type(start) is int and start == 1 else [start, *xs])


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


def floor(x: Any) -> Any:
    """The largest whole number that is not above x: an int for a number, a Value of slope 0 for a Value."""
    return _whole(_floor, x)


def ceil(x: Any) -> Any:
    """The smallest whole number that is not below x: an int for a number, a Value of slope 0 for a Value."""
    return _whole(_ceil, x)


def trunc(x: Any) -> Any:
    """Round towards zero: an int for a number, a Value of slope 0 for a Value."""
    return _whole(_trunc, x)


def _whole(function: Callable[[Any], Any], x: Any) -> Any:
    if type(x) is int:
        return x
    y = function(x)
    return int(y) if type(y) is float and -inf < y < inf else y  # nothing raises: inf and nan stay what they are


def hypot(*xs: Any) -> Any:
    """The length of the vector of these coordinates, without overflow of their squares. Its slope at the origin is 0."""
    if len(xs) < 2:
        return abs(xs[0]) if xs else 0.0
    length = _hypot(xs[0], xs[1])
    for x in xs[2:]:
        length = _hypot(length, x)
    return length


def dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    """The distance between two points, each a list of coordinates."""
    p, q = _as_list(p), _as_list(q)
    if len(p) != len(q):
        raise ValueError(f"dist() of points of different dimensions: {len(p)} and {len(q)}")
    return hypot(*(a - b for a, b in zip(p, q)))


def fsum(xs: Iterable[Any]) -> Any:
    """The sum of a list without loss: numbers as the standard library adds them; with Values, in fourfold precision.

    >>> from micrograd import math
    >>> math.fsum([1e16, 1.0, -1e16])
    1.0
    """
    xs = _as_list(xs)
    if _are((int, float), *xs):
        try:
            return _math.fsum(xs)
        except (OverflowError, ValueError):  # past the range of floats, or inf - inf
            return _sum(xs)
    total = _sum(xs)
    if not isfinite(total):
        return total
    terms, highs = list(xs), []
    for _ in range(3):  # each iteration leaves in place of the terms what rounding took from their sum
        high, rest = terms[0], []
        for x in terms[1:]:
            high, error = _two_sum(high, x)
            rest.append(error)
        highs.append(high)
        terms = rest or [0.0]
    low, third = _two_sum(highs[2], _sum(terms))
    low, second = _two_sum(highs[1], low)
    total, first = _two_sum(highs[0], low)
    # At a tie between two floats, what comes after the tie decides.
    further = total + 2.0 * first
    same_side = gt(sign(first) * sign(where(eq(second, 0.0), third, second)), 0.0)
    return where(same_side * eq(further - total, 2.0 * first), further, total)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, and what rounding took from it: exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def sumprod(p: Iterable[Any], q: Iterable[Any]) -> Any:
    """Σ p·q without loss: each product is taken with its rounding error, and all are added by fsum."""
    p, q = _as_list(p), _as_list(q)
    if len(p) != len(q):
        raise ValueError(f"sumprod() of lists of different lengths: {len(p)} and {len(q)}")
    if _are(int, *p, *q):
        return _builtins.sum(a * b for a, b in zip(p, q))
    products = [a * b for a, b in zip(p, q)]
    total = _sum(products)
    if not isfinite(total):
        return total  # what rounding took from an infinite product would be inf - inf
    return fsum([*products, *(fma(a, b, -c) for a, b, c in zip(p, q, products))])


def degrees(x: Any) -> Any:
    """An angle in degrees, from radians."""
    return x * (180.0 / pi)


def radians(x: Any) -> Any:
    """An angle in radians, from degrees."""
    return x * (pi / 180.0)


def modf(x: Any) -> tuple[Any, Any]:
    """The fractional and the whole part of x, both with its sign."""
    whole, end = _trunc(x), eq(abs(x), inf)
    rest = where(end, 0.0, whole) - where(end, 0.0, x)  # of a whole number, 0.0; so is x - whole
    return where(lt(copysign(1.0, x), 0.0), -rest, 0.0 - rest), whole


def frexp(x: Any) -> tuple[Any, int]:
    """(m, e) so that x is m·2**e and m lies between 1/2 and 1. The exponent is an int, which a trace keeps."""
    mantissa, exponent = _math.frexp(_in_binade(x))
    return (ldexp(x, -exponent) if isinstance(x, engine.Value) else mantissa), exponent


def _in_binade(x: Any) -> Any:
    """The number of a Value. A trace sees in comparisons for which other numbers the exponent is the same."""
    if not isinstance(x, engine.Value):
        return x
    number: float = x._data  # type: ignore[attr-defined]
    if not _math.isfinite(number) or number == 0.0:
        _seen(x == number, x != x)
        return number
    exponent = _math.frexp(number)[1]
    _seen(abs(x) < (_math.ldexp(1.0, exponent) if exponent < 1024 else inf), abs(x) >= _math.ldexp(0.5, exponent))
    return number


def _seen(*comparisons: Any) -> None:
    """Do nothing: whoever watches was told of the comparisons when they were made."""


def ldexp(x: Any, i: int) -> Any:
    """x·2**i."""
    if isinstance(i, engine.Value):
        raise TypeError("ldexp(x, i) takes a whole number for i, not a Value\n  Write x * 2.0**i.")
    if _are((int, float), x):
        try:
            return _math.ldexp(x, i)
        except OverflowError:
            return copysign(inf, x)
    i = _builtins.max(-2100, _builtins.min(i, 2100))  # beyond, every number becomes 0 or infinite
    while i > 1023:  # 2**i alone would be past the range of floats
        x, i = x * 2.0**1023, i - 1023
    if i < -1074:  # the last step is the one that rounds
        x, i = x * 2.0 ** (i + 1074), -1074
    return x * 2.0**i


def ulp(x: Any) -> float:
    """The distance from x to the next float; a number, since its slope is 0."""
    return _math.ulp(_in_binade(x))


def nextafter(x: Any, y: Any) -> Any:
    """The next float after x on the way to y. Its slope in x is 1."""
    start = _in_binade(x)
    step = _math.nextafter(start, y._data if isinstance(y, engine.Value) else y)
    _seen(x < y, x > y)
    if not isinstance(x, engine.Value):
        return step
    if not _math.isfinite(start):
        return where(1.0, step, x)
    if start == 0.0 or not _math.isfinite(step):
        _seen(x == start)
    else:  # below a power of 2, steps are half as long
        _seen(abs(x) == _math.ldexp(0.5, _math.frexp(start)[1]))
    return x + (step - start)


def isclose(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> bool:
    """Whether a and b differ by at most rel_tol of the larger one, or by abs_tol."""
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if isinf(a) or isinf(b):
        return False
    apart = abs(b - a)
    return bool(apart <= abs(rel_tol * b) or apart <= abs(rel_tol * a) or apart <= abs_tol)


def isnan(x: Any) -> bool:
    """Whether x is nan."""
    return bool(x != x)


def isinf(x: Any) -> bool:
    """Whether x is inf or -inf."""
    return bool(x == inf or x == -inf)


def isfinite(x: Any) -> bool:
    """Whether x is neither nan nor infinite."""
    return not (isnan(x) or isinf(x))


def isnormal(x: Any) -> bool:
    """Whether x is neither 0, subnormal, infinite nor nan."""
    return bool(_LEAST_NORMAL <= abs(x) < inf)


def issubnormal(x: Any) -> bool:
    """Whether x lies between 0 and the smallest normal number, on either side."""
    return bool(0.0 < abs(x) < _LEAST_NORMAL)


def signbit(x: Any) -> bool:
    """Whether the sign of x is negative; that of -0.0 is."""
    return bool(copysign(1.0, x) < 0.0)


def __dir__() -> list[str]:
    return sorted(__all__)


def _as_list(xs: Iterable[Any]) -> list[Any] | tuple[Any, ...]:
    return xs if isinstance(xs, (list, tuple)) else list(xs)


def _are(kinds: Any, *xs: Any) -> bool:
    return all(isinstance(x, kinds) for x in xs)


_LARGEST = 2**1023  # a whole number past the range of floats has a logarithm nevertheless

# Where the C engine was built, the functions of Python's math of the same names take Values too (native/standard.c).
EXTENDED: frozenset[str] = frozenset()
if engine.NATIVE:
    from micrograd._engine import extend

    EXTENDED = frozenset(extend(vars(_math), globals()))
