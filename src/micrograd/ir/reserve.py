"""Give an array all its items before the loop that appends them, and find out which arrays keep their size in a loop.

On the way it finds out which whole numbers never fall below 0 in a loop, so that nothing is asked about negative indices.

A list comprehension appends one item in each iteration. Where the iterations can be counted before, the array grows once, and
the items are stored: the index of each is known without a look at the array, which need not move, and the loop can run in
SIMD lanes. Then most carried arrays have the same size in all iterations, which is written on the tape (`steady`).
"""

from __future__ import annotations

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import Copy, counted, defined
from micrograd.ir.forms import CHANGES, I64, Body, Place, Tape, is_array, walk


def reserve(tape: Tape) -> Tape:
    """Return a tape with the same results, which appends nothing in loops whose iterations can be counted."""
    builder = Builder([p.kind for p in tape.params])
    reserving = _Reserving(tape, builder)
    tape = builder.finish(reserving.body(tape))
    assumed = {(place, k) for place in walk(tape) if place.op == "loop" for k in range(len(place.results) - 1)}
    while True:
        builder = Builder([p.kind for p in tape.params])
        trial = _Assuming(tape, builder, assumed)
        yields = trial.body(tape)
        if not trial.wrong:
            return builder.finish(yields)
        assumed -= trial.wrong


class _Reserving(Copy):
    """Copies a tape; what is appended to an array that has all its items already is stored."""

    def __init__(self, tape: Tape, builder: Builder) -> None:
        super().__init__(builder, dict(zip(tape.params, builder.params)))
        self.sizes: dict[Place, Place] = {}  # of arrays that have more items already: how many they had
        self.growing: dict[
            Place, list[tuple[int, Place, Place]]
        ] = {}  # what grows in a loop, from which size, by how much
        self.users: dict[Place, list[Place | Body]] = {}  # who reads each place
        self._users(tape)

    def _users(self, body: Body) -> None:
        for y in body.yields:
            self.users.setdefault(y, []).append(body)
        for place in body.code:
            for a in place.args:
                self.users.setdefault(a, []).append(place)
            for inner in place.bodies:
                self._users(inner)

    def instruction(self, place: Place) -> None:
        """Add an instruction."""
        b, op = self.builder, place.op
        size = self.sizes.get(place.args[0]) if place.args else None
        if size is None or op not in (*CHANGES, "size"):
            super().instruction(place)
        elif op == "size":
            self.at[place] = size
        elif op == "append":
            self.at[place] = b.emit("store", self.of(place.args[0]), size, self.of(place.args[1]))
            self.sizes[place] = b.sum(size, 1)
        elif op == "grow":
            self.at[place] = self.of(place.args[0])
            self.sizes[place] = b.sum(size, self.of(place.args[1]))
        else:
            super().instruction(place)
            self.sizes[place] = size

    def loop(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        """Add a loop; arrays that grow by as many items in each iteration have them before it begins."""
        b, growing = self.builder, self.growing.setdefault(place, [])
        init = place.args[1:] if place.attr else place.args
        inside = defined(place.bodies[0])
        for k, x in enumerate(init):
            more = self._growth(place, k, inside) if is_array(x.kind) and counted(place) else None
            if more is None or (more.op == "const" and more.attr == 0 and x not in self.sizes):
                continue
            growing.append((k, self.sizes.get(x) or b.emit("size", carried[k]), more))
            if x not in self.sizes:
                assert times is not None
                carried[k] = b.emit("grow", carried[k], b.emit("imul", b.emit("imax", times, b.const(0)), more))
        results = super().loop(place, times, carried)
        for k, size, more in growing:
            if init[k] in self.sizes:
                self.sizes[place.results[k]] = b.sum(size, b.emit("imul", results[-1], more))
        return results

    def round(self, place: Place, numbers: list[int]) -> tuple[Place, list[Place]]:
        """Add the body of a loop."""
        b, (inner,) = self.builder, place.bodies
        k = self.of(inner.params[-1])
        for n, size, more in self.growing[place]:
            self.sizes[inner.params[n]] = b.sum(size, b.emit("imul", k, more))
        return super().round(place, numbers)

    def _growth(self, place: Place, k: int, inside: set[Place]) -> Place | None:
        """Return by how many items a carried array grows in each iteration; None where that is not known before.

        Each change of the array has to be the only one that its operand goes through. `inside` has what is not known before.
        """
        b, (inner,) = self.builder, place.bodies
        total = b.const(0)
        user: Place | Body = inner
        y = inner.yields[1 + k]
        while self._changed_by(y, user):
            if y is inner.params[k]:
                return total
            more: Place | None
            loop = y.args[0] if y.op == "result" else None
            if y not in inside or loop not in (None, *inner.code):
                return None
            if loop is not None:
                if loop.op != "loop" or not counted(loop) or loop.args[0] in inside:
                    return None
                more = self._growth(loop, y.attr, inside)
                if more is None:
                    return None
                more = b.emit("imul", b.emit("imax", self.of(loop.args[0]), b.const(0)), more)
                user, y = loop, loop.args[1 + y.attr]
            elif y.op in CHANGES and y in inner.code:
                more = {"append": b.const(1), "grow": y.args[-1]}.get(y.op, b.const(0))
                if more in inside:
                    return None
                more = self.of(more)
                user, y = y, y.args[0]
            else:
                return None
            total = b.sum(total, more)
        return None

    def _changed_by(self, array: Place, user: Place | Body) -> bool:
        """Return whether all others that read an array read its items, or its size."""
        others = [u for u in self.users[array] if u is not user]
        once = len(others) + 1 == len(self.users[array])
        return once and all(isinstance(u, Place) and u.op in ("load", "size", "slice") for u in others)


class _Assuming(Copy):
    """Copies a tape on the assumption that some arrays keep their size, and that some numbers do not fall below 0.

    It writes down for which of them that is not so.
    """

    def __init__(self, tape: Tape, builder: Builder, assumed: set[tuple[Place, int]]) -> None:
        super().__init__(builder, dict(zip(tape.params, builder.params)))
        self.assumed = assumed
        self.wrong: set[tuple[Place, int]] = set()
        self.rising: dict[Place, set[int]] = {}  # which carried numbers of a loop begin at 0 or above, and stay there

    def steady(self, place: Place, k: int) -> bool:
        """Return whether an array is assumed to keep its size."""
        return is_array(place.bodies[0].params[k].kind) and (place, k) in self.assumed

    def loop(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        """Add a loop; return its results."""
        known = self.builder.known
        rising = {k for k, x in enumerate(carried) if x.kind == I64 and (place, k) in self.assumed}
        self.rising[place] = {k for k in rising if known.positive(known.of(carried[k]))}
        results = super().loop(place, times, carried)
        for k in self.rising[place]:
            if results[k].op == "result":
                known.at_least(results[k], 0)
        return results

    def round(self, place: Place, numbers: list[int]) -> tuple[Place, list[Place]]:
        """Add the body of a loop, and look at the sizes of what it yields."""
        b, (inner,) = self.builder, place.bodies
        known = b.known
        rising = self.rising[place].intersection(n - 1 for n in numbers[1:])
        for k in rising:
            known.at_least(self.at[inner.params[k]], 0)
        again, following = super().round(place, numbers)
        for n, y in zip(numbers[1:], following):
            if n - 1 in rising and not known.positive(known.of(y)):
                self.wrong.add((place, n - 1))
            if self.steady(place, n - 1):
                before = b.emit("size", self.at[inner.params[n - 1]])
                if b.known.of(b.emit("size", y)) != b.known.of(before):
                    self.wrong.add((place, n - 1))
        return again, following
