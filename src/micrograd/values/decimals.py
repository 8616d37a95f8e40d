"""round(x, digits) in compiled code: the digits that Python's own round() gives, to the last bit.

Python rounds the exact value of x to a decimal number, ties to the even digit, and takes the float that is nearest to it. A
product x * 10**digits that was rounded can be a tie where the exact one is not. The rounding error of the product, which fma
gives, says on which side of the tie the exact product lies. From 2**53 on, the decimals lie closer together than the floats,
and x itself is the nearest float. All numbers go through the op `round`, which has no slope, for in eager code the result is a
plain number that does not depend on x.
"""

from __future__ import annotations

from typing import Any

from micrograd import engine
from micrograd.ops import OPS

MOST = 22  # 10**22 is a float, and 10**23 is not
WHOLE = 2.0**53  # floats from here on are whole numbers
FINE = 2.0**74  # where x * 10**22 is that large, x is a multiple of 1 / FINE


def is_exact(digits: Any) -> bool:
    """Whether `rounded` has rules for this number of digits."""
    return isinstance(digits, int) and abs(digits) <= MOST


def rounded(x: Any, digits: int) -> Any:
    """round(x, digits) of a Value, as a Value whose derivative is 0."""
    scale = 10.0 ** abs(digits)
    product = _apply("mul", x, scale) if digits >= 0 else _apply("div", x, scale)
    if digits >= 0:
        error = _apply("fma", x, scale, _apply("neg", product))
    else:  # of the sign of the error of the quotient
        error = _apply("fma", _apply("neg", product), scale, x)
    whole = _apply("round", product)
    part = _apply("sub", product, whole)
    above = _apply("where", _apply("eq", part, 0.5), _apply("gt", error, 0.0), 0.0)
    below = _apply("where", _apply("eq", part, -0.5), _apply("lt", error, 0.0), 0.0)
    less = _apply("where", below, _apply("sub", whole, 1.0), whole)
    nearest = _apply("where", above, _apply("add", whole, 1.0), less)
    near = _apply("div" if digits >= 0 else "mul", nearest, scale)
    fine = _apply("div", _apply("round", _apply("mul", x, FINE)), FINE)
    itself = _apply("where", _apply("lt", _apply("abs", x), WHOLE), fine, _apply("round", x))
    return _apply("where", _apply("lt", _apply("abs", product), WHOLE), near, itself)


def _apply(name: str, *args: Any) -> Any:
    return engine.apply(OPS[name], *args)
