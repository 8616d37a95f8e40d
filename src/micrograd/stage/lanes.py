"""Plain numbers that change from turn to turn of a loop in the tape: known to be an int or a float, but not which."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from micrograd.engine import Value
from micrograd.stage.errors import Unsupported
from micrograd.stage.summary import Summary

SIMPLE = (operator.add, operator.sub, operator.mul)


class Lane(Summary):
    """An int or a float of the program that is a number on the tape. Only what cannot raise is computed with it.

    `affine` is (a, b) for an int that is a * turn + b in the loop that runs, so that it may be an index.
    """

    __slots__ = ("affine", "kind", "value")

    def __init__(self, kind: type, value: Any, affine: tuple[int, int] | None = None) -> None:
        super().__init__([])
        self.kind, self.value, self.affine = kind, value, affine


def binary(op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """a op b, where one is a Lane."""
    x, y = plain(a), plain(b)
    if isinstance(a, Value) or isinstance(b, Value):
        return op(x, y)
    kinds = {x.kind if type(x) is Lane else type(x) for x in (a, b)}
    if op not in SIMPLE or not kinds <= {int, float}:
        raise Unsupported("an operation on a plain number that changes from turn to turn")
    return Lane(float if float in kinds else int, op(x, y), _affine(op, a, b))


def _affine(op: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[int, int] | None:
    parts = [x.affine if type(x) is Lane else (0, x) if type(x) is int else None for x in (a, b)]
    first, second = parts
    if first is None or second is None:
        return None
    (p, q), (r, s) = first, second
    if op is operator.mul:
        return None if p and r else (p * s + r * q, q * s)
    return (p + r, q + s) if op is operator.add else (p - r, q - s)


def unary(op: Callable[[Any], Any], a: Lane) -> Any:
    """op a"""
    if op is operator.pos:
        return a
    if op is operator.neg:
        return binary(operator.mul, a, -1)
    raise Unsupported("an operation on a plain number that changes from turn to turn")


def plain(x: Any) -> Any:
    """The number of a Lane on the tape; anything else as it is."""
    return x.value if type(x) is Lane else x
