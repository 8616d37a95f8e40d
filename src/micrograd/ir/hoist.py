"""Compute before a loop what is the same in all of its iterations; merge duplicates and fold constants on the way.

Only operations on numbers move, which have no effects, and cost little where the loop has no iteration, and loads whose index
is known to be in range there. Nothing leaves an arm of an `if`.

A check of whole numbers that each iteration makes is made once before the loop, for the iteration that is most likely to fail:
a loop without checks can run in lanes. Where a check does not hold the run gives nothing, so that it may as well end sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ir.affine import Affine
from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import Copy, counted
from micrograd.ir.forms import TABLE, Body, Place, Tape


def hoist(tape: Tape) -> Tape:
    """Return a tape with the same results, in which loops compute nothing that does not change."""
    builder = _Hoisting([p.kind for p in tape.params])
    return builder.finish(_Hoisted(builder, dict(zip(tape.params, builder.params))).body(tape))


class _Hoisted(Copy):
    """Tells the builder how often loops run."""

    builder: _Hoisting

    def loop(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        """Add a loop; return its results."""
        self.builder.coming = times if counted(place) else None
        return super().loop(place, times, carried)


class _Hoisting(Builder):
    """A builder that puts an operation into the outermost body from which it is run no less often."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.level: dict[Place, int] = {}  # the number of bodies around the body that defines a place
        self.loops = [False]  # whether each open body is that of a loop
        self.trips: list[Place | None] = [None]  # how often that loop runs, where it does not end sooner
        self.coming: Place | None = None  # the same for the loop that is opened next
        super().__init__(kinds)

    def _param(self, body: Body, kind: str) -> Place:
        param = super()._param(body, kind)
        self.level[param] = len(self.loops) - 1
        return param

    def _enter(self, params: Sequence[str] = ()) -> Body:
        self.loops.append(bool(params))  # a loop has the number of the iteration at least
        self.trips.append(self.coming if params else None)
        self.coming = None
        return super()._enter(params)

    def _leave(self) -> None:
        self.loops.pop()
        self.trips.pop()
        super()._leave()

    def check(self, condition: Place, text: str) -> None:
        """End the run where the condition does not hold: here, or before the loop where that can be told."""
        times = self.trips[-1]
        if times is None or self.decided(condition) is True:
            super().check(condition, text)
        elif condition.op == "and":
            for part in condition.args:
                self.check(part, text)
        else:
            before = self._for_all(condition)
            if before is None:
                super().check(condition, text)
                return
            held = self._close()
            least = self._at(before, times)
            held_there = self.emit("or", self.emit("ile", times, self.const(0)), least)
            self.check(held_there, text)
            self._open_again(held)
            self.assume(condition, True)

    def _for_all(self, condition: Place) -> Affine | Place | None:
        """Return the sum that a condition says is at least 0, or the condition itself where it is the same in all iterations.

        None where it can only be told in the iteration.
        """
        outside = len(self.open) - 2
        if self.level.get(condition, 0) <= outside:
            return condition
        if condition.op not in ("ilt", "ile"):
            return None
        low, high = (self.known.of(a) for a in condition.args)
        form = high.plus(low, -1).plus(Affine((), -1 if condition.op == "ilt" else 0))
        k = self.open[-1].params[-1]
        for number, _ in form.terms:
            place = self.known.places[number]
            if place is not k and self.level.get(place, 0) > outside:
                return None
        return form

    def _at(self, form: Affine | Place, times: Place) -> Place:
        """Return whether a condition holds in all iterations of the loop that was closed."""
        if isinstance(form, Place):
            return form
        total = self.const(form.constant)
        for number, factor in form.terms:
            place = self.known.places[number]
            if place is not self.inner:
                total = self.sum(total, place, factor)
            elif factor < 0:  # it is least in the last iteration
                total = self.sum(total, self.sum(times, -1), factor)
        return self.emit("ile", self.const(0), total)

    def _close(self) -> list[object]:
        """Leave the open body for a moment."""
        self.inner = self.open[-1].params[-1]
        stacks: list[list[Any]] = [
            self.open, self.seen, self.truth, self.known.facts, self.loops, self.trips,
        ]  # fmt: skip
        return [stack.pop() for stack in stacks]

    def _open_again(self, held: list[Any]) -> None:
        for stack, x in zip((self.open, self.seen, self.truth, self.known.facts, self.loops, self.trips), held):
            stack.append(x)  # type: ignore[attr-defined]

    def append(self, place: Place) -> Place:
        """Add an instruction to the open body as it is."""
        self.level.setdefault(place, len(self.open) - 1)
        return super().append(place)

    def region(self, place: Place, kinds: Sequence[str]) -> list[Place]:
        """Add a region to the open body."""
        found = super().region(place, kinds)
        self.level.update(dict.fromkeys(found, len(self.open) - 1))
        return found

    def _level_of_load(self, array: Place, i: Place) -> int:
        """Return how many bodies are around the place where an item is loaded: as few as is safe."""
        here = level = len(self.open) - 1
        least = max((self.level[a] for a in (array, i) if a.op != "const"), default=0)
        while level > least and self.loops[level]:
            level -= 1
        if level < here:
            known = self.known
            more = known.of(self.emit("size", array)).plus(known.of(i), -1).plus(Affine((), -1))
            while level < here and not (known.positive(known.of(i), level) and known.positive(more, level)):
                level += 1
        return level

    def _once(self, op: str, args: tuple[Place, ...], kind: str) -> Place:
        here = level = len(self.open) - 1
        if op in TABLE or op == "size":
            least = max((self.level[a] for a in args if a.op != "const"), default=0)
            while level > least and self.loops[level]:
                level -= 1
        elif op == "load":
            level = self._level_of_load(*args)
        if level == here:
            return super()._once(op, args, kind)
        key = op, args
        for seen in reversed(self.seen):
            if key in seen:
                return seen[key]
        place = Place(op, args, kind)
        self.open[level].code.append(place)
        self.level[place] = level
        self.home[place] = self.open[level]
        self.seen[level][key] = place
        return place
