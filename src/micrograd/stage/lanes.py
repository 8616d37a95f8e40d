"""Plain numbers that change from turn to turn of a loop in the tape: known to be an int or a float, but not which."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage.errors import Unsupported
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

SIMPLE = (operator.add, operator.sub, operator.mul)
DIVISIONS = {operator.truediv: "div", operator.floordiv: "floordiv", operator.mod: "mod"}
EXACT = 2**53  # whole numbers below are floats
CARRIED = 2**45  # what a whole number that is carried from turn to turn is never more than


class Lane(Summary):
    """An int or a float of the program that is a number on the tape. Only what cannot raise is computed with it.

    `affine` is (a, b) for an int that is a * turn + b in a `loop` (a Roll), so that it may be an index there. An int is never
    more than `most`, since floats hold whole numbers up to 2**53 only. `more` says by how much it is more than an int that the
    turn was given, if it was made from one by sums with constants alone: so much it grows in a turn.
    """

    __slots__ = ("affine", "kind", "loop", "more", "most", "value")

    def __init__(
        self,
        kind: type,
        value: Any,
        affine: tuple[int, int] | None = None,
        loop: Any = None,
        most: int = CARRIED,
        more: int | None = None,
    ) -> None:
        super().__init__([])
        self.kind, self.value, self.affine, self.loop = kind, value, affine, loop
        ends = self.ends()
        self.most, self.more = most if ends is None else max(map(abs, ends)), more
        if kind is int and self.most >= EXACT:
            raise Unsupported("a whole number that changes from turn to turn may become too large for a float")

    def at(self, turn: int) -> int:
        """The number in a turn, where it is affine."""
        assert self.affine is not None
        return self.affine[0] * turn + self.affine[1]

    def ends(self) -> tuple[int, int] | None:
        """The numbers in the first and in the last turn; the others are between them."""
        if self.affine is None:
            return None
        return self.at(0), self.at(self.loop.items.turns - 1)


def binary(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """a op b, where one is a Lane. Rows in which Python would raise are lost."""
    x, y = plain(a), plain(b)
    if isinstance(a, Value) or isinstance(b, Value):
        return op(x, y)
    kinds = {x.kind if type(x) is Lane else type(x) for x in (a, b)}
    if op is operator.pow and type(b) is Lane and _finite_power(a, b):
        return Lane(float, engine.apply(OPS["pow"], x, y))
    if not kinds <= {int, float}:
        raise Unsupported("an operation on a plain number that changes from turn to turn")
    if op is operator.pow and float in kinds:
        y = engine.apply(OPS["pow"], x, y)
        finite = m.masks.compare("lt", abs(y), float("inf"))
        _lose(m, m.masks.negate(finite), "a power of plain numbers without a finite result")
        return Lane(float, y)
    if op in DIVISIONS:
        return _division(m, op, a, b, kinds)
    if op not in SIMPLE:
        raise Unsupported("an operation on a plain number that changes from turn to turn")
    loops = [x.loop for x in (a, b) if type(x) is Lane]
    affine = _affine(op, a, b) if loops[0] is loops[-1] else None
    if float in kinds:
        return Lane(float, op(x, y), affine, loops[0])
    sizes = [n.most if type(n) is Lane else abs(n) for n in (a, b)]
    most = sizes[0] * sizes[1] if op is operator.mul else sum(sizes)
    more = None
    if op is not operator.mul and type(b) is int and a.more is not None:
        more = a.more + (b if op is operator.add else -b)
    elif op is operator.add and type(a) is int and b.more is not None:
        more = b.more + a
    return Lane(int, op(x, y), affine, loops[0], most, more)


def _finite_power(base: Any, exponent: Lane) -> bool:
    """Whether a power of a plain number raises in no turn: between its ends, a power of a positive number is between."""
    ends = exponent.ends()
    if type(base) is not float or not base > 0.0 or ends is None:
        return False
    try:
        return all(base**n < float("inf") for n in ends)
    except OverflowError:
        return False


def _division(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any, kinds: set[type]) -> Any:
    """a / b, a // b or a % b. Of whole numbers below 2**53, the rounded quotient is on the right side of each whole number."""
    x, y = plain(a), plain(b)
    if type(b) is Lane:
        _lose(m, m.masks.compare("eq", y, 0.0), "a division of plain numbers by zero")
    elif not 0 < abs(b) < EXACT:
        raise Unsupported("a division of plain numbers by zero, or by a very large one")
    if op is operator.truediv:
        return Lane(float, engine.apply(OPS["div"], x, y))
    if float in kinds:
        return Lane(float, engine.apply(OPS[DIVISIONS[op]], x, y))
    whole = engine.apply(OPS["floor"], engine.apply(OPS["div"], x, y))
    sizes = [n.most if type(n) is Lane else abs(n) for n in (a, b)]
    if op is operator.floordiv:
        return Lane(int, whole, most=sizes[0])
    return Lane(int, x - whole * y, most=sizes[1])


def _lose(m: Machine, rows: Mask, why: str) -> None:
    rows = m.masks.both_of(m.here, rows)
    if rows is m.here:
        raise Unsupported(why)
    if rows is not FALSE:
        m.lose(rows, why)


def _affine(op: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[int, int] | None:
    parts = [x.affine if type(x) is Lane else (0, x) if type(x) is int else None for x in (a, b)]
    first, second = parts
    if first is None or second is None:
        return None
    (p, q), (r, s) = first, second
    if op is operator.mul:
        return None if p and r else (p * s + r * q, q * s)
    return (p + r, q + s) if op is operator.add else (p - r, q - s)


def unary(m: Machine, op: Callable[[Any], Any], a: Lane) -> Any:
    """op a"""
    if op is operator.pos:
        return a
    if op is operator.neg:
        return binary(m, operator.mul, a, -1)
    raise Unsupported("an operation on a plain number that changes from turn to turn")


def plain(x: Any) -> Any:
    """The number of a Lane on the tape; anything else as it is."""
    return x.value if type(x) is Lane else x
