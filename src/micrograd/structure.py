"""Arguments and results: nested lists, tuples, dicts and NumPy arrays of numbers, as a flat list and a shape."""

from __future__ import annotations

import sys
from typing import Any

from micrograd.engine import Value

# A shape is hashable: ("*",) for one number, ("list", (shape, ...)), ("tuple", ...), ("dict", keys, (shape, ...)),
# ("array", (2, 3)) and ("fixed", x) for what is not a number: a str, a bool, None. Functions are compiled once for each.
Shape = tuple[Any, ...]
NUMBER: Shape = ("*",)
_PLAIN = {float, int, Value}


def is_array(x: Any) -> bool:
    """Whether x is a NumPy array; NumPy is not imported to find out."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


def is_number(x: Any) -> bool:
    """Whether x is one number or one Value."""
    if isinstance(x, (float, Value)):
        return True
    if isinstance(x, bool):
        return False
    if isinstance(x, int):
        return True
    from numbers import Real

    return isinstance(x, Real)


def flatten(x: Any, leaves: list[Any]) -> Shape:
    """Append the numbers in x to leaves, from left to right; returns the shape that holds them."""
    if type(x) is list or type(x) is tuple:
        if _PLAIN.issuperset(map(type, x)):  # numbers alone, as nearly all lists are: five times as fast as one by one
            leaves.extend(x)
            return type(x).__name__, (NUMBER,) * len(x)
        return type(x).__name__, tuple([flatten(item, leaves) for item in x])
    if is_number(x):
        leaves.append(x)
        return NUMBER
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return "named", type(x), tuple([flatten(item, leaves) for item in x])
    if isinstance(x, dict):
        return "dict", tuple(x), tuple([flatten(item, leaves) for item in x.values()])
    if is_array(x):
        if x.dtype.kind not in "fiuO":
            raise TypeError(f"an array of dtype {x.dtype} holds no real numbers: convert it with .astype(float)")
        leaves.extend(x.ravel().tolist())
        return "array", x.shape
    return "fixed", x


def unflatten(shape: Shape, leaves: Any) -> Any:
    """The thing of that shape; `leaves` is an iterator of numbers or Values."""
    kind = shape[0]
    if kind == "*":
        return next(leaves)
    if kind == "list":
        return [unflatten(s, leaves) for s in shape[1]]
    if kind == "tuple":
        return tuple([unflatten(s, leaves) for s in shape[1]])
    if kind == "named":
        return shape[1](*[unflatten(s, leaves) for s in shape[2]])
    if kind == "dict":
        return dict(zip(shape[1], [unflatten(s, leaves) for s in shape[2]], strict=True))
    if kind == "array":
        import numpy as np

        count = 1
        for n in shape[1]:
            count *= n
        items = [next(leaves) for _ in range(count)]
        if any(isinstance(x, Value) for x in items):
            array = np.empty(count, dtype=object)
            array[:] = items
            return array.reshape(shape[1])
        return np.array(items, dtype=float).reshape(shape[1])
    return shape[1]


def size(shape: Shape) -> int:
    """How many numbers a shape holds."""
    leaves: list[int] = []

    def count(s: Shape) -> int:
        if s[0] == "*":
            return 1
        if s[0] == "array":
            n = 1
            for k in s[1]:
                n *= k
            return n
        return 0 if s[0] == "fixed" else sum(count(part) for part in s[-1])

    return count(shape) + len(leaves)
