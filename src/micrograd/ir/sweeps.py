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
from micrograd.ir.forms import I64, Place, Tape, is_array, walk
from micrograd.ir.forward import Tangents
from micrograd.ir.primal import Needs
from micrograd.ir.prune import prune
from micrograd.ir.reverse import CODED, Adjoint, settled

NOT_A_NUMBER = "a derivative is not a number"
AT_ONCE = (
    8  # directions in one run: twice as many are as fast in benchmarks/gradbench, and take twice as long to compile
)
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
    _, columns = offsets(b, [span(b, given[k]) for k in wrt])
    places, rows = offsets(b, [height(b, part, yields) for part in of])
    sweeps = b.params[count] if coloured else columns
    runs = b.emit("ifloordiv", b.sum(sweeps, at_once - 1), b.const(at_once))
    width = b.emit("imul", runs, b.const(at_once))
    moved = prune(_Columns(tape, wrt, [part.number for part in of], at_once, coloured).tape)

    def run(params: list[Place], r: Place) -> tuple[Place, list[Place]]:
        (matrix,) = params
        first = b.emit("imul", r, b.const(at_once))
        found = copy(b, moved, dict(zip(moved.params, [*given, first, colours])))[len(tape.yields) :]
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


class _Columns(Tangents):
    """The tangents in the directions of some columns that follow each other, or of some colours.

    The params after those of the tape are the first column, or colour, and the colour of each column. The tangent of an item
    of a param is 1.0 in the direction of its own column; an array holds these only where more is done with a param than to
    load its items.
    """

    def __init__(self, tape: Tape, wrt: Sequence[int], of: Sequence[int], at_once: int, coloured: bool) -> None:
        self.coloured = coloured
        self.starts: dict[Place, Place] = {}  # of arrays that are only loaded from: their first columns
        super().__init__(tape, wrt, of, at_once)

    def _seeds(self, kinds: list[str]) -> list[str]:
        return [I64, "i64[]"]

    def _begin(self, tape: Tape, sources: list[Place], seeds: list[Place]) -> None:
        b = self.builder
        self.first, self.colours = seeds
        used = {a for place in walk(tape) if place.op not in ("load", "size") for a in place.args}
        used.update(y for body in [tape, *(i for place in walk(tape) for i in place.bodies)] for y in body.yields)
        starts, _ = offsets(b, [span(b, self.at[p]) for p in sources])
        for param, start in zip(sources, starts):
            if not is_array(param.kind):
                self.dot[param] = [self._one(start, d) for d in self.directions]
            elif param in used:
                zeros = [b.emit("fill", b.emit("size", self.at[param]), b.const(0.0)) for _ in self.directions]
                self.dot[param] = [self._marked(x, start, d) for d, x in enumerate(zeros)]
            else:
                self.starts[param] = start

    def _one(self, column: Place, d: int) -> Place:
        """Return 1.0 where a column has the direction d, and 0.0 elsewhere."""
        b = self.builder
        own = b.emit("load", self.colours, column) if self.coloured else column
        return b.emit("select", b.emit("ieq", own, b.sum(self.first, d)), b.const(1.0), b.const(0.0))

    def _marked(self, zeros: Place, start: Place, d: int) -> Place:
        """Return the tangent of an array that has zeros."""
        b = self.builder
        if self.coloured:
            size = b.emit("size", zeros)
            return each(b, size, zeros, lambda x, j: b.emit("store", x, j, self._one(b.sum(start, j), d)))
        return stored_within(b, zeros, b.sum(b.sum(self.first, d), start, -1), b.const(1.0))

    def _item(self, place: Place, d: int) -> Place:
        start = self.starts.get(place.args[0])
        if start is None:
            return super()._item(place, d)
        return self._one(self.builder.sum(start, self._of(place.args[1])), d)


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
