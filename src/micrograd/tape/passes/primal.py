"""The primal part of an adjoint: the tape itself, with what the reverse sweep needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from micrograd.ops import Op
from micrograd.tape.builder import Builder
from micrograd.tape.check import Shape, shapes
from micrograd.tape.passes.arrays import filled
from micrograd.tape.passes.derivatives import active_places
from micrograd.tape.passes.joined import Joined, joined
from micrograd.tape.passes.states import with_states
from micrograd.tape.tape import CONST, INPUT, PICK, SOURCES, Loop, Projection, Tape, result

UNKNOWN = -1  # the place of an array that was not computed again


class Skipped(NamedTuple):
    """A loop that is not computed again (see states.py): its arrays that are read element by element, and known results."""

    also: frozenset[int]
    results: dict[int, int]


class Forward:
    """A tape written into a builder, with what its reverse sweep needs: loops that depend on wrt keep their states."""

    def __init__(
        self,
        builder: Builder,
        tape: Tape,
        wrt: Sequence[int | None],
        given: Sequence[Shape] | None = None,
        inputs: Sequence[int] | None = None,
        known: dict[int, int] | None = None,
        skipped: dict[int, Skipped] | None = None,
    ) -> None:
        self.skipped = skipped or {}
        self.joined: dict[int, Joined] = {}  # place of a loop that carries its tangents -> it
        self.builder, self.tape = builder, tape
        self.regions = inputs is not None or tape.has_regions() or PICK in tape.ops  # whether reach matters
        self.active = active_places(tape, wrt)
        self.shape: list[Any] = shapes(tape, given) if self.regions else []
        self.at: list[int] = []
        self.results: dict[int, list[tuple[int, int]]] = {}  # place of a region -> (number, place) of its results
        if not self.regions:
            self.at = builder.copy(tape)
            return
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op in SOURCES:
                self.at.append(self._source(op, args[0], inputs))
                continue
            if known and i in known:
                self.at.append(known[i])
                continue
            if isinstance(op, Projection) and op.name == "result":
                self.results.setdefault(args[0], []).append((op.number, i))
                if args[0] in self.skipped:
                    self.at.append(self.skipped[args[0]].results.get(op.number, UNKNOWN))
                    continue
                if args[0] in self.joined:
                    loop = tape.ops[args[0]]
                    assert isinstance(loop, Loop)
                    more = len(self.joined[args[0]].begin) if op.number >= loop.carried else 0
                    self.at.append(self.result(args[0], op.number + more))
                    continue
            if i in self.skipped or any(self.at[a] == UNKNOWN for a in args):
                self.at.append(UNKNOWN)  # an array of which the reverse sweep needs no number
                continue
            row = tuple([self.at[a] for a in args])
            if isinstance(op, Loop) and self.active[i]:
                given = [self.shape[a] for a in args]
                with_tangents = joined(op, given, [self.active[a] for a in args])
                if with_tangents is None:
                    op = with_states(op, given)
                else:
                    self.joined[i] = with_tangents
                    begin = tuple([builder.const(x) for x in with_tangents.begin])
                    row = (*row[: op.carried], *begin, *row[op.carried :])
                    op = with_tangents.op
            self.at.append(builder.append(op, *row))
            builder.known.setdefault((op, row), self.at[-1])

    def result(self, i: int, number: int) -> int:
        """Result `number` of the region at place i; of a loop that was not computed again, only known ones are read."""
        if i not in self.skipped:
            return self.builder.emit(result(number), (self.at[i],))
        op, found = self.tape.ops[i], self.skipped[i].results.get(number)
        assert isinstance(op, Loop)
        return filled(self.builder, 0.0, (op.iterations,)) if found is None else found

    def value(self, a: int) -> int:
        """The place where a value is now; for an array that the reverse sweep does not read, the place of any number."""
        return self.builder.const(0.0) if self.at[a] == UNKNOWN else self.at[a]

    def _source(self, op: Op, k: Any, inputs: Sequence[int] | None) -> int:
        if op is CONST:
            return self.builder.const(k)
        return inputs[k] if op is INPUT and inputs is not None else self.builder.source(op, k)
