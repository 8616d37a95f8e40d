"""Jacobians: the derivatives of all results by all params, as one tape whose size does not depend on how many they are.

The last result of such a tape is the matrix, row after row. A row belongs to a number of the results, or to an item of an
array among them; a column to a number, or to an item, of the params. `by_columns` runs the tape with the tangents of a few
columns at once, in a loop over the columns; its rows are padded to whole runs. `by_rows` runs the tape once, and the sweep
back in a loop over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import copy
from micrograd.ir.forms import I64, Place, Tape, is_array
from micrograd.ir.forward import tangents
from micrograd.ir.prune import prune
from micrograd.ir.records import Needs
from micrograd.ir.reverse import CODED, Adjoint, settled

NOT_A_NUMBER = "a derivative is not a number"
AT_ONCE = 8  # directions in one run: more of them fill the registers of a core
LONG = 6_000  # instructions of a body with tangents, which LLVM compiles in about a second


class Rows(NamedTuple):
    """Rows of a Jacobian: the result that they belong to, and how many there are, as a product of ints and results."""

    number: int
    fixed: int = 1
    lengths: tuple[int, ...] = ()


def directions(columns: int | None, length: int) -> int:
    """Return how many tangents to compute in one run of a tape of some length: all of them share one run if they are few."""
    most = max(1, min(AT_ONCE, LONG // max(length, 1)))
    if columns is None:
        return most
    runs = -(-columns // most)
    return -(-columns // max(runs, 1)) or 1


def by_columns(tape: Tape, wrt: Sequence[int], of: Sequence[Rows], at_once: int, coloured: bool = False) -> Tape:
    """Return the tape with its Jacobian after its results, by forward sweeps of `at_once` columns each.

    The run ends with a check where an entry is nan: an infinite slope times a tangent of zero is nan, even if the result does
    not depend on that column. With `coloured`, three more params say how many colours there are, which one each column has
    (the columns of a colour share a direction, a column of the matrix), and which entries of the matrix to give.
    """
    count = len(tape.params)
    b = Builder([*(p.kind for p in tape.params), I64, "i64[]", "i64[]"])
    given, colours, wanted = b.params[:count], b.params[-2], b.params[-1]
    yields = copy(b, tape, dict(zip(tape.params, given)))
    starts, columns = offsets(b, [span(b, given[k]) for k in wrt])
    places, rows = offsets(b, [height(b, part, yields) for part in of])
    sweeps = b.params[count] if coloured else columns
    runs = b.emit("ifloordiv", b.sum(sweeps, at_once - 1), b.const(at_once))
    width = b.emit("imul", runs, b.const(at_once))
    moved = tangents(tape, wrt, [part.number for part in of], at_once)

    def seed(k: int, start: Place, column: Place) -> Place:
        """Return the tangent of a param in the direction of a column, or of a colour."""
        if not is_array(given[k].kind):
            own = b.emit("load", colours, start) if coloured else start
            return b.emit("float", b.emit("count", b.emit("ieq", own, column)))
        zeros = b.emit("fill", span(b, given[k]), b.const(0.0))
        if not coloured:
            return stored_within(b, zeros, b.sum(column, start, -1), b.const(1.0))

        def mark(params: list[Place], j: Place) -> tuple[Place, list[Place]]:
            same = b.emit("ieq", b.emit("load", colours, b.sum(start, j)), column)
            return b.const(True), [b.emit("store", params[0], j, b.emit("float", b.emit("count", same)))]

        return b.loop(span(b, given[k]), [zeros], mark, [0])[0]

    def run(params: list[Place], r: Place) -> tuple[Place, list[Place]]:
        (matrix,) = params
        first = b.emit("imul", r, b.const(at_once))
        seeds = [seed(k, start, b.sum(first, d)) for d in range(at_once) for k, start in zip(wrt, starts)]
        found = copy(b, moved, dict(zip(moved.params, [*given, *seeds])))[len(tape.yields) :]
        for n, (part, place) in enumerate(zip(of, places)):
            dots = found[n :: len(of)]

            def put(matrix: Place, i: Place, dots: list[Place] = dots, place: Place = place) -> Place:
                at = b.sum(b.emit("imul", b.sum(place, i), width), first)
                for d, dot in enumerate(dots):
                    x = b.emit("load", dot, i) if is_array(dot.kind) else dot
                    matrix = b.emit("store", matrix, b.sum(at, d), x)
                return matrix

            if is_array(tape.yields[part.number].kind):
                matrix = each(b, height(b, part, yields), matrix, put)
            else:
                matrix = put(matrix, b.const(0))
        return b.const(True), [matrix]

    size = b.emit("imul", rows, width)
    matrix = b.loop(runs, [b.emit("fill", size, b.const(0.0))], run, [0])[0]

    if coloured:
        size = b.emit("size", wanted)
        entries = b.emit("fill", size, b.const(0.0))
        compressed, matrix = matrix, entries
        matrix = each(
            b, size, entries, lambda m, e: b.emit("store", m, e, b.emit("load", compressed, b.emit("load", wanted, e)))
        )

    def sound(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
        x = b.emit("load", matrix, k)
        return b.const(True), [b.emit("and", params[0], b.emit("eq", x, x))]

    b.check(b.loop(size, [b.const(True)], sound)[0], NOT_A_NUMBER)
    made = b.finish([*yields, matrix])
    if not coloured:
        made.params = given
    return prune(made)


def by_rows(tape: Tape, wrt: Sequence[int], of: Sequence[Rows], chosen: bool = False) -> Tape:
    """Return the tape with its Jacobian after its results, by a reverse sweep for each row.

    With `chosen`, one more param has the numbers of the rows to give.
    """
    return settled(tape, lambda needs, asking: _ByRows(tape, needs, wrt, of, chosen, asking))


class _ByRows(Adjoint):
    """One attempt at the adjoint of a tape, with a loop of sweeps."""

    single = False

    def __init__(
        self, tape: Tape, needs: Needs, wrt: Sequence[int], of: Sequence[Rows], chosen: bool, asking: bool
    ) -> None:
        self.parts, self.chosen = of, chosen
        super().__init__(tape, needs, wrt, [part.number for part in of], False, asking)

    def _derivatives(
        self, sources: list[Place], targets: list[Place], yields: list[Place], seeded: bool
    ) -> list[Place]:
        b = self.builder
        starts, columns = offsets(b, [span(b, self._of(p)) for p in sources])
        places, rows = offsets(b, [height(b, part, yields) for part in self.parts])
        alone = b.decided(b.emit("ieq", rows, b.const(1)))
        chosen = b.param("i64[]") if self.chosen else None
        count = rows if chosen is None else b.emit("size", chosen)

        def sweep(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            (matrix,), self.grads = params, {}
            r = k if chosen is None else b.emit("load", chosen, k)
            for y, place in zip(targets, places):
                at, one, none = b.sum(r, place, -1), b.const(1.0), b.const(-0.0)
                if is_array(y.kind):
                    self._give_array(y, stored_within(b, b.emit("fill", self._size(y), none), at, one))
                elif alone:
                    self._give(y, one, self.yes)
                else:
                    self._give(y, b.emit("select", b.emit("ieq", at, b.const(0)), one, none), CODED)
            self._backward(self.source)
            first = b.emit("imul", k, columns)
            for p, start in zip(sources, starts):
                found, at = self._gradient(p), b.sum(first, start)
                matrix = put(b, matrix, at, found, span(b, self._of(p)))
            self.grads = {}
            return self.yes, [matrix]

        return [b.loop(count, [b.emit("fill", b.emit("imul", count, columns), b.const(0.0))], sweep, [0])[0]]


def put(b: Builder, matrix: Place, at: Place, found: Place, count: Place) -> Place:
    """Store a number, or the first items of an array, in the matrix."""
    if not is_array(found.kind):
        return b.emit("store", matrix, at, found)
    return each(b, count, matrix, lambda m, j: b.emit("store", m, b.sum(at, j), b.emit("load", found, j)))


def each(b: Builder, times: Place, x: Place, step: Callable[[Place, Place], Place]) -> Place:
    """Return an array after one step for each number below `times`."""
    return b.loop(times, [x], lambda params, j: (b.const(True), [step(params[0], j)]), [0])[0]


def stored_within(b: Builder, array: Place, i: Place, x: Place) -> Place:
    """Return an array with x in place of item i, if it has one."""
    inside = b.emit("and", b.emit("ile", b.const(0), i), b.emit("ilt", i, b.emit("size", array)))
    (found,) = b.choose(inside, lambda: [b.emit("store", array, i, x)], lambda: [array])
    return found


def span(b: Builder, param: Place) -> Place:
    return b.emit("size", param) if is_array(param.kind) else b.const(1)


def height(b: Builder, part: Rows, yields: Sequence[Place]) -> Place:
    """Return how many rows belong to a result."""
    count = b.const(part.fixed)
    for k in part.lengths:
        count = b.emit("imul", count, yields[k])
    return count


def offsets(b: Builder, sizes: Sequence[Place]) -> tuple[list[Place], Place]:
    """Return where each of some parts begins, and where the last one ends."""
    starts, end = [], b.const(0)
    for size in sizes:
        starts.append(end)
        end = b.sum(end, size)
    return starts, end
