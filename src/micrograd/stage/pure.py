"""Which functions that are not interpreted may be called inside an arm: those that have no effect and keep nothing."""

from __future__ import annotations

import math as standard
import operator
from types import FunctionType
from typing import Any

from micrograd import engine, jacobians, math, transforms
from micrograd.primitive import Primitive
from micrograd.stage.special import found
from micrograd.transforms import Derived

_INTERPRETED = {math.isnan, math.isinf, math.isfinite, math.trunc, math.log, math.softmax, math.log_softmax}

PURE: set[Any] = {
    getattr(math, name)
    for name in math.__all__
    if callable(getattr(math, name)) and getattr(math, name) not in _INTERPRETED
}
PURE |= {x for name, x in vars(standard).items() if callable(x) and not name.startswith("_")}
PURE |= {x for name, x in vars(operator).items() if not name.startswith(("_", "i", "set", "del")) and callable(x)}
PURE |= {
    engine.apply,
    divmod,
    pow,
    round,
    complex,
    str,
    repr,
    ord,
    chr,
    hash,
    callable,
    issubclass,
    slice,
    format,
}
for module in (transforms, jacobians):
    PURE |= {x for x in vars(module).values() if isinstance(x, FunctionType) and x.__module__ == module.__name__}
PURE -= _INTERPRETED


_LISTS = {"dot", "fsum", "logsumexp", "mean", "prod", "sum", "min", "max", "dist", "sumprod"}
OF_LISTS = {getattr(math, name) for name in _LISTS if hasattr(math, name)}
_OTHER_RESULTS = {"modf", "frexp", "isclose", "ulp", "nextafter"}  # which are no number, or none on the tape
_OF_INTS = {"comb", "factorial", "gcd", "isqrt", "lcm", "ldexp", "perm"}
_TOTAL = {
    f for f in PURE
    if f in [getattr(math, name) for name in math.__all__ if name not in _LISTS | _OTHER_RESULTS | _OF_INTS]
}  # fmt: skip
_TOTAL.add(vars(math)["_log"])  # which math.log calls, after it has looked at its arguments


# Functions of Python's `math` that are ops, and what computes them where a number changes from one iteration to the next.
_NAMES = ("acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "exp", "expm1", "fabs", "hypot", "log1p", "sin", "sinh",
          "sqrt", "tan", "tanh")  # fmt: skip
STANDARD: dict[Any, Any] = {
    getattr(standard, name): getattr(math, name) for name in _NAMES if getattr(math, name, None) in _TOTAL
}
STANDARD[standard.log] = vars(math)["_log"]

# What takes the place of a function of Python's math where it is called with numbers of the tape (native/standard.c).
_OWN = {
    "ceil",
    "comb",
    "factorial",
    "floor",
    "gcd",
    "isqrt",
    "lcm",
    "perm",
    "prod",
    "trunc",
}  # of ints, or by operators
TWINS: dict[Any, Any] = {
    getattr(standard, name): getattr(math, name)
    for name in math.__all__
    if name not in _OWN and callable(getattr(standard, name, None))
}

WHOLE = {math.floor, math.ceil, math.trunc}  # of which plain numbers may have whole results


def total(f: Any) -> bool:
    """Whether a function of numbers has a result for all of them, and never raises."""
    return getattr(f, "__hash__", None) is not None and f in _TOTAL


def is_pure(f: Any) -> bool:
    """Whether a callable may be run as it is wherever it stands."""
    if isinstance(f, (Primitive, Derived)):
        return True
    if isinstance(found(type(f), "__call__"), FunctionType):  # an object of the user's, which may hash in its own way
        return False
    try:
        if f in PURE:
            return True
    except TypeError:
        return False
    owner = getattr(f, "__self__", None)
    if isinstance(owner, (engine.Value, str, bytes, tuple, int, float, range)) and not isinstance(f, FunctionType):
        return getattr(f, "__name__", "") not in ("backward", "zero_grad", "detach")
    return type(f).__name__ in ("method_descriptor", "wrapper_descriptor") and getattr(f, "__objclass__", None) in (
        engine.Value, str, bytes, tuple, int, float)  # fmt: skip
