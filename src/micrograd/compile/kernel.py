"""A kernel: one tape compiled for one goal, with what `explain` tells about it."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile import pipeline, worker
from micrograd.compile.pipeline import Goal
from micrograd.ops import Op
from micrograd.tape.tape import Tape

RESULT = Op("jit", lambda *_: 0.0, [], symbol="jit")  # the op that the result of a compiled function shows


class Kernel:
    """A tape, compiled for a goal. `code` runs it; it may be replaced by better code of the same bits."""

    def __init__(self, tape: Tape, goal: Goal, why: str, wait: bool) -> None:
        start = perf_counter()
        self.goal, self.why = goal, why
        backend = backends.find(goal.options.backend)
        lowered = pipeline.lower(tape, goal, backend)
        self.instructions, self.outputs = lowered.size(), len(lowered.outputs)
        self.guarded = bool(lowered.guards)
        self.text = backend.text(lowered, goal)
        self.level, self.final_level = backend.levels(self.text, goal, wait)
        self.code: Any = backend.compile(self.text, lowered, goal, self.level)
        self._lowered: Tape | None = lowered if self.level != self.final_level else None
        self.seconds = perf_counter() - start

    def optimize(self) -> None:
        """Compile the text once more, as well as it will be."""
        if self._lowered is None:
            return
        start = perf_counter()
        backend = backends.find(self.goal.options.backend)
        self.code = backend.compile(self.text, self._lowered, self.goal, self.final_level)
        self.level, self._lowered = self.final_level, None
        self.seconds += perf_counter() - start

    def optimize_later(self) -> None:
        """Do so in the background, if there is anything to gain."""
        if self._lowered is not None:
            worker.in_background(self.optimize)


_compiled: dict[str, Kernel] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Program:
    """A tape and a goal: all that a kernel is made from. It can be sent to another process, which compiles it once.

    >>> from micrograd.tape.text import parse
    >>> double = Program(parse("%0 = input 0\\n%1 = add %0 %0\\nreturn %1"), Goal())
    >>> double.kernel().code.values([21.0], [])
    [42.0]
    """

    tape: Tape
    goal: Goal

    @property
    def digest(self) -> str:
        """A name for what it computes and how: the same in every process."""
        return hashlib.sha256(f"{self.goal!r}\n{self.tape.inputs} {self.tape.params}\n{self.tape}".encode()).hexdigest()

    def kernel(self) -> Kernel:
        """Its kernel, compiled in the first call of this process."""
        digest = self.digest
        with _lock:
            found = _compiled.get(digest)
            if found is None:
                found = _compiled[digest] = Kernel(self.tape, self.goal, "a program asked for it", True)
            return found
