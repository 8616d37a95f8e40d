"""The pipeline: the passes from a traced tape to the tape that a backend writes as text, in their order.

    >>> [step.name for step in PASSES]
    ['hoist', 'checkpoint', 'adjoint', 'expand', 'hoist', 'contract', 'prune']
    >>> [step.name for step in ORDERING]
    ['join', 'gather', 'interleave']

PASSES decide what is computed. ORDERING decides in which order, for backends that run one instruction after the other; it
changes no bit of a result. `jit(f).explain(...)` prints the tape after each of them. The measured constants are in tuning.py,
a module of its own because the schedules read them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from micrograd.compile.options import Options
from micrograd.compile.schedule.interleave import interleave
from micrograd.compile.tuning import TUNING
from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape import passes
from micrograd.tape.tape import INPUT, PARAM, Tape


@dataclass(frozen=True)
class Goal:
    """What a kernel computes from a tape, and how it is called."""

    options: Options = field(default_factory=Options)
    inputs: tuple[int, ...] = ()  # the inputs to differentiate by
    params: tuple[int, ...] = ()  # the parameters to differentiate by
    rows: bool = False  # whether it runs over the rows of arrays, or at one point
    reduced: bool = False  # whether results are summed over the rows
    told: tuple[
        int, ...
    ] = ()  # the parameters of which it also tells, last of all, whether gradients reach them: 1 or 0

    def __hash__(self) -> int:  # remembered: parameters may be thousands, and a goal is looked up in each call
        found = self.__dict__.get("_hash")
        if found is None:
            found = hash((self.options, self.inputs, self.params, self.rows, self.reduced, self.told))
            object.__setattr__(self, "_hash", found)
        return int(found)

    def __reduce__(
        self,
    ) -> tuple[type[Goal], tuple[object, ...]]:  # without the hash, which another process computes again
        return Goal, (self.options, self.inputs, self.params, self.rows, self.reduced, self.told)

    @property
    def gradient(self) -> bool:
        """Whether derivatives are asked for."""
        return bool(self.inputs or self.params)

    def numbers(self, results: int) -> int:
        """How many numbers the kernel gives for a function of so many results."""
        return results * (1 + len(self.inputs) + len(self.params) + len(self.told))


class Abilities(Protocol):
    """What the passes ask of a backend."""

    def spells(self, op: Op) -> bool:
        """Whether it can write an op; the others are expanded into ops that it can write."""

    def registers(self, goal: Goal) -> int:
        """How many sums it can hold in registers at a time."""

    def fuses(self) -> bool:
        """Whether it has an instruction for a·b + c, rounded once."""


@dataclass(frozen=True)
class Pass:
    """A function from tape to tape, its name, and when it applies."""

    name: str
    run: Callable[[Tape, Goal, Abilities], Tape]
    applies: Callable[[Tape, Goal], bool] = lambda tape, goal: True


def _adjoint(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    inputs, params = passes.sources(tape, INPUT, tape.inputs), passes.sources(tape, PARAM, tape.params)
    places = [*(inputs[k] for k in goal.inputs), *(params[k] for k in goal.params)]
    return passes.adjoint(tape, places, exact=goal.options.exact, told=[params[k] for k in goal.told])


def _expand(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    return passes.expand(tape, machine.spells, goal.options.fastmath, powers=not goal.options.exact)


def _contract(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    return passes.contract(tape) if machine.fuses() else tape


def _interleave(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    return interleave(tape, machine.registers(goal))


def many_sums(tape: Tape, goal: Goal) -> bool:
    """Whether there are so many sums over rows that tiles of them are worth it; tiles have no guards."""
    return goal.reduced and not tape.guards and len(tape.outputs) >= TUNING.tiled_sums


def _checkpoint(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    return passes.checkpoint(tape, TUNING.kept_states // (8 if goal.rows else 1))


PASSES = [
    Pass("hoist", lambda tape, goal, machine: passes.hoist(tape), lambda tape, goal: not goal.options.exact),
    Pass("checkpoint", _checkpoint, lambda tape, goal: goal.gradient and not goal.options.exact),
    Pass("adjoint", _adjoint, lambda tape, goal: goal.gradient),
    Pass("expand", _expand),
    Pass("hoist", lambda tape, goal, machine: passes.hoist(tape)),
    Pass("contract", _contract, lambda tape, goal: not (goal.options.exact or goal.options.fastmath)),
    Pass("prune", lambda tape, goal, machine: passes.prune(tape)),
]

ORDERING = [
    Pass("join", lambda t, g, m: passes.join(t), lambda t, g: len(t.guards) > TUNING.guards_at_once),
    Pass("gather", lambda t, g, m: passes.gather(t), lambda t, g: len(t) > TUNING.chunk),
    Pass("interleave", _interleave, lambda t, g: len(t) <= TUNING.chunk and many_sums(t, g)),
]


def run(
    steps: Sequence[Pass], tape: Tape, goal: Goal, machine: Abilities, seen: list[tuple[str, Tape]] | None = None
) -> Tape:
    """Run passes on a tape; `seen` collects the tape after each of them."""
    for step in steps:
        if step.applies(tape, goal):
            tape = step.run(tape, goal, machine)
            if seen is not None:
                seen.append((step.name, tape))
    return tape


def lower(tape: Tape, goal: Goal, machine: Abilities) -> Tape:
    """The tape that a backend is given: results and the gradients asked for, in ops that it can spell."""
    tape = run(PASSES, tape, goal, machine)
    if tape.size() > TUNING.max_instructions:
        raise CompileError(
            f"the tape has {tape.size():,} instructions\n"
            f"  Compiling it would take about {tape.size() * TUNING.bytes_per_instruction / 1e9:.0f} GB of memory; "
            f"the limit is {TUNING.max_instructions:,} instructions.\n"
            "  Compile a part of the work: one row with vmap, or one step of a loop."
        )
    return tape
