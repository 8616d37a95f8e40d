"""The definition: run a typed tape on Python's numbers and lists, one instruction after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ir.forms import TABLE, Body, Place, Tape


class CheckFailed(Exception):
    """A `check` did not hold: the run gives nothing."""


def run(tape: Tape, arguments: Sequence[Any], most: int | None = None) -> list[Any]:
    """Return what a tape yields for these arguments; `most` limits the number of instructions that are executed."""
    if len(arguments) != len(tape.params):
        raise ValueError(f"the tape takes {len(tape.params)} arguments, not {len(arguments)}")
    values = {param: list(x) if isinstance(x, (list, tuple)) else x for param, x in zip(tape.params, arguments)}
    return [list(x) if isinstance(x, tuple) else x for x in _Run(values, most).body(tape)]


class _Run:
    def __init__(self, values: dict[Place, Any], most: int | None) -> None:
        self.values, self.left = values, most

    def of(self, place: Place) -> Any:
        return place.attr if place.op == "const" else self.values[place]

    def body(self, body: Body) -> list[Any]:
        if self.left is not None:
            self.left -= len(body.code) + 1
            if self.left < 0:
                raise RuntimeError("the run takes more instructions than it may")
        for place in body.code:
            self.instruction(place)
        return [self.of(place) for place in body.yields]

    def instruction(self, place: Place) -> None:
        args = [self.of(a) for a in place.args]
        if place.op in TABLE:
            self.values[place] = TABLE[place.op].value(*args)
        elif place.op == "if":
            self._give(place, self.body(place.bodies[0 if args[0] else 1]))
        elif place.op == "loop":
            self._give(place, self._loop(place, args))
        elif place.op == "check":
            if not args[0]:
                raise CheckFailed(place.attr)
        else:
            self.values[place] = _array(place.op, args)

    def _give(self, place: Place, found: list[Any]) -> None:
        for result, value in zip(place.results, found, strict=True):
            self.values[result] = value

    def _loop(self, place: Place, args: list[Any]) -> list[Any]:
        (body,) = place.bodies
        times, carried = (args[0], args[1:]) if place.attr else (None, args)
        k, again = 0, True
        while again and (times is None or k < times):
            for param, x in zip(body.params, [*carried, k], strict=True):
                self.values[param] = x
            again, *following = self.body(body)
            for param, x, y in zip(body.params, carried, following, strict=False):
                assert not param.attr or len(x) == len(y), "a steady array has another size after an iteration"
            carried, k = following, k + 1
        return [*carried, k]


def _array(op: str, args: list[Any]) -> Any:
    if op == "array":
        return args
    if op == "fill":
        return [args[1]] * args[0]
    a = args[0]
    if op == "size":
        return len(a)
    if op == "append":
        return [*a, args[1]]
    if op == "grow":
        return [*a, *[None] * args[1]]  # nothing can be done with None, so that a load before the store is an error
    if op == "slice":
        i, n = args[1:]
        if not (i >= 0 and n >= 0 and i + n <= len(a)):
            raise IndexError(f"slice {i} {n} of {len(a)} items")
        return a[i : i + n]
    i = args[1]
    if not 0 <= i < len(a):
        raise IndexError(f"{op} {i} of {len(a)} items")
    if op == "load":
        return a[i]
    x = args[2] if op == "store" else a[i] + args[2]
    return [*a[:i], x, *a[i + 1 :]]
