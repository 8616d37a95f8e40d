"""Carried arrays of which each iteration changes a few neighbouring elements: those are kept in registers.

The cotangent of a list that a loop reads by `u[i]` and `u[i + 1]` is an array: iteration i adds something to its elements i and
i + 1. In memory each element would be read and written twice. A window of the two elements moves along with the iterations: one
of them enters it, one is complete and is written, and the others wait in registers. What the array has been before is read as
elements enter, so that an array of zeros need not be written first. The order of the sums is the same as in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from micrograd.compile.llvm import arrays, cells, indices
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.nested import Mask, Nested, Readers
from micrograd.compile.llvm.ranges import LinearForm
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import BUMP, INPUT, Loop, Tape


class Reached(NamedTuple):
    """The elements that an iteration changes: those from `low` to `high` behind (the iteration number + `start`)."""

    start: LinearForm
    low: int
    high: int


def bumps(tape: Tape, j: int) -> list[int]:
    """The indices, by their places, by which a body adds to its carried array j, if it does nothing else with it."""
    readers, place, found = Readers(tape, lambda _: True), tape.outputs[j], []
    while readers.alone(place) and tape.ops[place] is BUMP:
        place, index, _ = tape.args[place]
        found.append(index)
    holds = readers.alone(place) and tape.ops[place] is INPUT and tape.args[place][0] == j
    return found if holds else []


def span(t: Nested, op: Loop, j: int, inputs: list[Any], limits: list[LinearForm], length: int) -> Reached | None:
    """The elements of carried array j that an iteration changes, where they move along with the iterations; else None."""
    found = [indices.linear(t, op.body, place, inputs) for place in bumps(op.body, j)]
    known = [x for x in found if x is not None]
    if not known or len(known) < len(found) or any(x.of(indices.ITERATION) != 1 for x in known):
        return None
    starts = {x.plus(LinearForm(x.constant, ((indices.ITERATION, 1),)), -1) for x in known}
    low, high = min(x.constant for x in known), max(x.constant for x in known)
    if len(starts) > 1 or high - low >= TUNING.widest_window:
        return None
    (start,) = starts
    least = t.ranges.lowest(start.plus(LinearForm(low)))
    most = [t.ranges.highest(limit.plus(start).plus(LinearForm(high))) for limit in limits]
    within = least is not None and least >= 0 and any(m is not None and m < length for m in most)
    return Reached(start, low, high) if within else None


class Window:
    """The window of one carried array, while the loop is written."""

    def __init__(
        self, t: Nested, name: str, span: Reached, before: Array, to: Array, reverse: bool, count: str
    ) -> None:
        self.t, self.name, self.span, self.before, self.to = t, name, span, before, to
        self.reverse, self.count = reverse, count
        self.T = t.B if to.flags else t.T
        first = 1 if reverse else 0
        self.waiting = [span.low + first + k for k in range(span.high - span.low)]  # offsets between two iterations
        self.entering, self.leaving = (span.low, span.high) if reverse else (span.high, span.low)
        self.start = indices.written(t, span.start)
        self.elements: dict[int, str] = {}  # by their offsets, in this iteration

    def begin(self) -> None:
        """Before the loop: read what waits for the first iteration."""
        t = self.t
        iteration = "0"
        if self.reverse:
            iteration = indices.minus_one(t, self.count)
        self.initial = [self._read(iteration, offset) for offset in self.waiting]

    def head(self, n: int) -> Array:
        """At the head of the loop: the array as the body sees it."""
        t = self.t
        for k, (offset, x) in enumerate(zip(self.waiting, self.initial)):
            t.line(f"%w{self.name}_{k} = phi {self.T} [ {x}, %pre{n} ], [ %v{self.name}_{k}, %latch{n} ]")
            self.elements[offset] = self._named(f"%w{self.name}_{k}")
        t.windows[self.name] = self
        return self.to._replace(kind="window", base=self.name)

    def enter(self, i: str) -> None:
        """At the beginning of iteration i: one more element."""
        self.elements[self.entering] = self._read(i, self.entering)

    def add(self, i: str, x: str) -> None:
        """Add to element i."""
        offset = self.t.ranges.linear(i).constant
        self.elements[offset] = cells.added(self.t, self.elements[offset], x)

    def leave(self, i: str) -> None:
        """At the end of iteration i: one element is complete."""
        cells.store(self.t, self.elements[self.leaving], self._address(i, self.leaving))

    def latch(self) -> None:
        """Name what waits for the next iteration."""
        t, step = self.t, -1 if self.reverse else 1
        for k, offset in enumerate(self.waiting):
            x = self.elements[offset + step]
            t.line(f"%v{self.name}_{k} = select i1 true, {self.T} {x}, {self.T} {x}")

    def end(self, fill: bool) -> Array:
        """After the loop: write what waits, and (with `fill`) what no iteration has changed and is not in memory yet."""
        t, low, high = self.t, self.span.low, self.span.high
        iteration = "-1" if self.reverse else self.count
        for k, offset in enumerate(self.waiting):
            cells.store(t, self._named(f"%v{self.name}_{k}"), self._address(iteration, offset))
        if fill and not self.before.same(self.to):
            length, base, flags = self.before.shape[0], self.to.base, self.to.flags
            arrays.copy_part(t, self.before, base, "0", self._sum(self.start, str(low)), flags)
            end = self._sum(self._sum(self.start, str(high)), self.count)
            arrays.copy_part(t, self.before, base, end, str(length), flags)
        return self.to

    def _named(self, name: str) -> str:
        return Mask(name) if self.to.flags else name

    def _sum(self, a: str, b: str) -> str:
        return arrays.plus(self.t, a, b)

    def _element(self, iteration: str, offset: int) -> str:
        return self._sum(self._sum(iteration, str(offset)), self.start)

    def _read(self, iteration: str, offset: int) -> str:
        found = arrays.index(self.t, self.before, self._element(iteration, offset))
        assert isinstance(found, str)
        return cells.as_element(self.t, found, self.to.flags)

    def _address(self, iteration: str, offset: int) -> str:
        t, p, each = self.t, self.t.fresh(), cells.cell(self.t, self.to.flags)
        offset_in_bytes = arrays.scaled(t, self._element(iteration, offset), each)
        t.line(f"{p} = getelementptr i8, ptr {self.to.base}, i64 {offset_in_bytes}")
        return p
