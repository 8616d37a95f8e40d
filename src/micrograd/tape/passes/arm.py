"""The adjoint of one body of a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from micrograd.tape.check import Shape
from micrograd.tape.passes.arrays import Reach, filled, flag, inputs_at
from micrograd.tape.tape import Tape

if TYPE_CHECKING:
    from micrograd.tape.passes.reverse import Sweep


class Arm:
    """The adjoint of one body of a choice."""

    def __init__(self, sweep: Sweep, starts: dict[int, int]) -> None:
        self.sweep, self.starts = sweep, starts
        self.inputs = inputs_at(sweep.tape)
        for k, start in starts.items():
            if k in self.inputs:
                sweep.grads[self.inputs[k]] = start

    def reach(self, k: int) -> Reach | None:
        """Whether input k is reached in this arm; None where it never is."""
        return self.sweep.reach_of(self.inputs[k]) if k in self.inputs else None

    def finish(self, kept: list[int], differing: list[int], given: list[Shape]) -> Tape:
        """The tape of this arm: the cotangents of its inputs, then flags for those whose reach is not the same always."""
        b, found = self.sweep.builder, []
        for k in kept:
            nothing = self.starts[k] if k in self.starts else filled(b, -0.0, given[k])
            found.append(self.sweep.total(self.inputs[k], nothing) if k in self.inputs else nothing)
        return b.finish([*found, *(flag(b, self.reach(k), given[k]) for k in differing)])
