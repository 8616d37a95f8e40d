"""A kernel: one tape compiled for one goal, with what `explain` tells about it."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile import pipeline, worker
from micrograd.compile.log import step, told
from micrograd.compile.pipeline import Goal
from micrograd.ops import Op
from micrograd.tape.tape import Tape

RESULT = Op("jit", lambda *_: 0.0, [], symbol="jit")  # the op that the result of a compiled function shows


class Kernel:
    """A tape, compiled for a goal. `code` runs it; it may be replaced by better code of the same bits."""

    def __init__(
        self, tape: Tape, goal: Goal, why: str, wait: bool, name: str = "a function", lowered: Tape | None = None
    ) -> None:
        self.goal, self.why, self.name = goal, why, name
        with step(f"compiling {name}", wait) as seconds:
            self._compile(tape, goal, wait, lowered)
            self.seconds = seconds()
        told(
            lambda: (
                f"compiled {name} in {self.seconds:.3f} s, because {why}: {self.instructions:,} instructions, "
                f"{self.outputs:,} results{' and gradients' if goal.inputs or goal.params else ''}"
            )
        )

    def _compile(self, tape: Tape, goal: Goal, wait: bool, lowered: Tape | None) -> None:
        backend = backends.find(goal.options.backend)
        if lowered is None:
            lowered = pipeline.lower(tape, goal, backend)
        self.instructions, self.outputs = lowered.size(), len(lowered.outputs)
        self.guarded = bool(lowered.guards)
        self.text = backend.text(lowered, goal)
        self.level, self.final_level = backend.levels(self.text, goal, wait)
        self.code: Any = backend.compile(self.text, lowered, goal, self.level)
        self._lowered: Tape | None = lowered if self.level != self.final_level else None

    def optimize(self) -> None:
        """Compile the text once more, as well as it will be."""
        if self._lowered is None:
            return
        start = perf_counter()
        backend = backends.find(self.goal.options.backend)
        self.code = backend.compile(self.text, self._lowered, self.goal, self.final_level)
        self.level, self._lowered = self.final_level, None
        took = perf_counter() - start
        self.seconds += took
        told(lambda: f"compiled {self.name} as well as it will be, in {took:.3f} s more")

    def optimize_later(self) -> None:
        """Do so in the background, if there is anything to gain."""
        if self._lowered is not None:
            worker.in_background(self.optimize)
