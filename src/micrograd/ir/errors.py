"""Errors of arithmetic: find operations on plain numbers that may raise in Python, and leave such a run of the tape to Python.

Arithmetic with Values follows IEEE 754: 1.0 / x is infinite where x is 0. Numbers in which no argument has a part are plain
floats, also where the code around is differentiated, and there Python raises a ZeroDivisionError.
"""

from __future__ import annotations

from math import inf

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import Copy, varied
from micrograd.ir.forms import F64, Place, Tape, walk

DIVISIONS = {"div", "floordiv", "mod", "fmod", "remainder"}
FUNCTIONS = {
    "pow", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "sinh", "cosh",
    "acosh", "atanh", "gamma", "lgamma",
}  # fmt: skip


class _Checked(Copy):
    """Copies a tape, with a check after each instruction on plain numbers that may raise."""

    def __init__(self, builder: Builder, at: dict[Place, Place], raising: set[Place]) -> None:
        super().__init__(builder, at)
        self.raising = raising

    def instruction(self, place: Place) -> None:
        super().instruction(place)
        if place in self.raising:
            builder, found = self.builder, self.of(place)
            if place.op in DIVISIONS:
                good = builder.emit("ne", self.of(place.args[1]), builder.const(0.0))
            else:
                good = builder.emit("lt", builder.emit("abs", found), builder.const(inf))
            builder.check(good, "ArithmeticError: an operation on plain numbers")


def with_errors(tape: Tape) -> Tape:
    """Return a tape that ends its run where an operation on plain numbers raises; these depend on no argument."""
    varying: set[Place] | None = None
    raising = set()
    for place in walk(tape):
        if place.kind == F64 and (place.op in FUNCTIONS or (place.op in DIVISIONS and _may_be_zero(place.args[1]))):
            if varying is None:
                varying = varied(tape, tape.params)
            if place not in varying:
                raising.add(place)
    if not raising:
        return tape
    builder = Builder([p.kind for p in tape.params])
    return builder.finish(_Checked(builder, dict(zip(tape.params, builder.params)), raising).body(tape))


def _may_be_zero(place: Place) -> bool:
    return place.op != "const" or place.attr == 0.0
