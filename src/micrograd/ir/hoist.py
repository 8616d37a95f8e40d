"""Compute before a loop what is the same in all of its iterations; merge duplicates and fold constants on the way.

Only operations on numbers move, which have no effects, and cost little where the loop has no iteration, and loads whose index
is known to be in range there. Nothing leaves an arm of an `if`.

A check of whole numbers that each iteration makes is made once before the loop, for the iteration that is most likely to fail:
a loop without checks can run in lanes. Where a check does not hold the run gives nothing, so that it may as well end sooner.

A loop inside of another one that does the same in each iteration of that is moved as a whole. It does there what it would do
in the first iteration, and nothing where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.ir.affine import Affine
from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import Copy, captured, counted
from micrograd.ir.forms import TABLE, Body, Place, Tape, is_array, walk


def hoist(tape: Tape) -> Tape:
    """Return a tape with the same results, in which loops compute nothing that does not change."""
    builder = _Hoisting([p.kind for p in tape.params])
    return builder.finish(_Hoisted(builder, tape).body(tape))


class _Hoisted(Copy):
    """Moves loops, and tells the builder how often they run."""

    builder: _Hoisting

    def __init__(self, builder: _Hoisting, tape: Tape) -> None:
        super().__init__(builder, dict(zip(tape.params, builder.params)))
        self.changed: set[Place] = set(
            tape.yields
        )  # what is not only loaded from: an array that moves would be copied for it
        for place in walk(tape):
            if place.op not in ("load", "size"):
                self.changed.update(place.args)
            for body in place.bodies:
                self.changed.update(body.yields)

    def loop(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        """Add a loop; return its results."""
        builder = self.builder
        target = None if times is None else self._target(place, times, carried)
        if times is None or target is None:
            return self._added(place, times, carried)
        trips = builder.crossed(target)
        held = [builder.close() for _ in range(len(builder.open) - 1 - target)]
        for t in trips:
            if t is not times:
                times = builder.emit("select", builder.emit("ilt", builder.const(0), t), times, builder.const(0))
        room = [builder.emit("fill", *x.args) if x.op == "fill" else x for x in carried]
        found = self._added(place, times, room)
        for stacks in reversed(held):
            builder.open_again(stacks)
        return found

    def _added(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        self.builder.coming = times, counted(place)
        return super().loop(place, times, carried)

    def _target(self, place: Place, times: Place, carried: list[Place]) -> int | None:
        """Return how many bodies are around the place where a loop may be moved; None where it stays."""
        builder = self.builder
        if len(builder.open) == 1 or any(is_array(r.kind) and r in self.changed for r in place.results):
            return None
        reads = [times, *map(self.of, captured(place.bodies))]
        for x in carried:
            reads += x.args if x.op == "fill" else [x]
        return builder.outermost(max(map(builder.level_of, reads), default=0))


class _Hoisting(Builder):
    """A builder that puts an operation into the outermost body from which it is run no less often."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.level: dict[Place, int] = {}  # the number of bodies around the body that defines a place
        self.loops = [False]  # whether each open body is that of a loop
        self.trips: list[Place | None] = [None]  # how often that loop runs, where it does not end sooner
        self.most: list[Place | None] = [None]  # how often it runs at most; None where it makes one iteration at least
        self.checked = [False]  # whether a run may have ended in the body
        self.coming: tuple[Place | None, bool] | None = None  # of a loop that is opened next, and whether it is counted
        super().__init__(kinds)

    def _param(self, body: Body, kind: str) -> Place:
        param = super()._param(body, kind)
        self.level[param] = len(self.loops) - 1
        return param

    def _enter(self, params: Sequence[str] = ()) -> Body:
        times, is_counted = self.coming or (None, False)
        self.loops.append(self.coming is not None)
        self.trips.append(times if is_counted else None)
        self.most.append(times)
        self.checked.append(False)
        self.coming = None
        return super()._enter(params)

    def _leave(self) -> None:
        for stack in (self.loops, self.trips, self.most, self.checked):
            stack.pop()  # type: ignore[attr-defined]
        super()._leave()

    def level_of(self, place: Place) -> int:
        """Return how many bodies are around the one that defines a place."""
        return 0 if place.op == "const" else self.level[place]

    def outermost(self, least: int) -> int | None:
        """Return how many bodies are at least around a loop that is moved, if `least` must be; None where it stays."""
        here = level = len(self.open) - 1
        trips: list[Place] = []
        while level > least and self.loops[level] and not self.checked[level]:
            times = self.most[level]
            if times is not None:
                trips.append(times)
            if any(self.level_of(t) >= level for t in trips):
                break
            level -= 1
        return None if level == here else level

    def crossed(self, target: int) -> list[Place]:
        """Return how often the loops run that are around the open body, and not around one further out."""
        found = [times for times in self.most[target + 1 :] if times is not None]
        return [t for t in found if not self.known.positive(self.known.of(t).plus(Affine((), -1)), target)]

    def check(self, condition: Place, text: str) -> None:
        """End the run where the condition does not hold: here, or before the loop where that can be told."""
        times = self.trips[-1]
        if times is None or self.decided(condition) is True:
            self._checked(condition, text)
        elif condition.op == "and":
            for part in condition.args:
                self.check(part, text)
        else:
            before = self._for_all(condition)
            if before is None:
                self._checked(condition, text)
                return
            held = self.close()
            least = self._at(before, times)
            held_there = self.emit("or", self.emit("ile", times, self.const(0)), least)
            self.check(held_there, text)
            self.open_again(held)
            self.assume(condition, True)

    def _checked(self, condition: Place, text: str) -> None:
        if self.decided(condition) is not True:
            self.checked = [True] * len(self.checked)
        super().check(condition, text)

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

    def _stacks(self) -> list[list[Any]]:
        return [self.open, self.seen, self.truth, self.known.facts, self.loops, self.trips, self.most, self.checked]

    def close(self) -> list[Any]:
        """Leave the open body for a moment."""
        self.inner = self.open[-1].params[-1]
        return [stack.pop() for stack in self._stacks()]

    def open_again(self, held: list[Any]) -> None:
        """Go on with a body that was left for a moment."""
        for stack, x in zip(self._stacks(), held):
            stack.append(x)

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
