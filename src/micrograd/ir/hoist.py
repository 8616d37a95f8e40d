"""Compute before a loop what is the same in all of its iterations; merge duplicates and fold constants on the way.

Only operations on numbers move, which have no effects, and cost little where the loop has no iteration, and loads whose index
is known to be in range there. Nothing leaves an arm of an `if`.
"""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.ir.affine import Affine
from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import copy
from micrograd.ir.forms import TABLE, Body, Place, Tape


def hoist(tape: Tape) -> Tape:
    """Return a tape with the same results, in which loops compute nothing that does not change."""
    builder = _Hoisting([p.kind for p in tape.params])
    return builder.finish(copy(builder, tape, dict(zip(tape.params, builder.params))))


class _Hoisting(Builder):
    """A builder that puts an operation into the outermost body from which it is run no less often."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.level: dict[Place, int] = {}  # the number of bodies around the body that defines a place
        self.loops = [False]  # whether each open body is that of a loop
        super().__init__(kinds)

    def _param(self, body: Body, kind: str) -> Place:
        param = super()._param(body, kind)
        self.level[param] = len(self.loops) - 1
        return param

    def _enter(self, params: Sequence[str] = ()) -> Body:
        self.loops.append(bool(params))  # a loop has the number of the iteration at least
        return super()._enter(params)

    def _leave(self) -> None:
        self.loops.pop()
        super()._leave()

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
