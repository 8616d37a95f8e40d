"""The rules of the table (ops.py) applied to places of a typed tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.ir.builder import Builder
from micrograd.ir.forms import F64, Place
from micrograd.ops import Op

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Ref:
    """An operand of a rule: the place of a number, found when the rule first uses it."""

    __slots__ = ("builder", "find", "found")

    def __init__(self, builder: Builder, find: Callable[[], Place]) -> None:
        self.builder, self.find = builder, find
        self.found: Place | None = None

    @property
    def place(self) -> Place:
        """The place."""
        if self.found is None:
            self.found = self.find()
        return self.found

    def _apply(self, op: Op, args: Any) -> Ref:
        return _ref(self.builder, apply(self.builder, op, [place_of(self.builder, a) for a in args]))

    def _two(self, name: str, a: Any, b: Any) -> Ref:
        builder = self.builder
        return _ref(builder, builder.emit(name, place_of(builder, a), place_of(builder, b)))

    def __add__(self, other: Any) -> Ref:
        return self._two("add", self, other)

    def __radd__(self, other: Any) -> Ref:
        return self._two("add", other, self)

    def __sub__(self, other: Any) -> Ref:
        return self._two("sub", self, other)

    def __rsub__(self, other: Any) -> Ref:
        return self._two("sub", other, self)

    def __mul__(self, other: Any) -> Ref:
        return self._two("mul", self, other)

    def __rmul__(self, other: Any) -> Ref:
        return self._two("mul", other, self)

    def __neg__(self) -> Ref:
        return _ref(self.builder, self.builder.emit("neg", self.place))


def _ref(builder: Builder, place: Place) -> Ref:
    return Ref(builder, lambda: place)


def place_of(builder: Builder, x: Any) -> Place:
    """Return the place of an operand of a rule: a Ref or a number."""
    return x.place if isinstance(x, Ref) else builder.const(float(x), F64)


def truth(builder: Builder, place: Place) -> Place:
    """Return a number that stands for a truth as a bool."""
    if place.op == "float" and place.args[0].op == "count":
        return place.args[0].args[0]
    return builder.emit("ne", place, builder.const(0.0))


def apply(builder: Builder, op: Op, args: list[Place]) -> Place:
    """Return the place of an operation of the table of differentiable operations, in which truths are numbers."""
    if op.name == "where":
        return builder.emit("select", truth(builder, args[0]), args[1], args[2])
    if op.name in COMPARISONS:
        return builder.number(builder.emit(op.name, *args))
    return builder.emit(op.name, *args)


def partial(builder: Builder, op: Op, k: int, args: list[Callable[[], Place]], result: Callable[[], Place]) -> Place:
    """Return the place of the partial derivative of an operation with respect to operand k."""
    refs = [Ref(builder, find) for find in (*args, result)]
    return place_of(builder, op.partials[k](*refs))


def expanded(builder: Builder, op: Op, args: list[Place]) -> Place:
    """Return the value of an operation that is made of others."""
    return place_of(builder, op.value(*[_ref(builder, a) for a in args]))
