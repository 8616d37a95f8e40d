"""The definition: run a tape through the table, one instruction after the other.

The operands may be floats, Values (the run then leaves a graph behind) or whatever else the table's ops run on. Arrays are
lists, and so are the results of a region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from micrograd import engine
from micrograd.ops import OPS, Op
from micrograd.tape.staging import hooks
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PARAM,
    PICK,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Structural,
    Tape,
)

if TYPE_CHECKING:
    from micrograd._engine import Program

T = TypeVar("T")
COPIED = 32  # elements of an array that are copied as fast as an instruction runs


class GuardFailed(Exception):
    """The numbers took another way through an `if` than the traced ones."""


class TooLong(Exception):
    """A run takes more instructions than it may."""


def run(tape: Tape, inputs: Sequence[Any], params: Sequence[Any] = ()) -> list[Any]:
    """The outputs of a tape."""

    def other(op: Op, places: tuple[int, ...], operands: list[Any]) -> Any:
        return _outside_of_the_table(op, tape, places, operands)

    values = instructions(tape.ops, tape.args, inputs, params, SOURCES, other)
    for how, a, b, went in tape.guards:
        if hooks.require is not None:
            hooks.require(how, values[a], values[b], went)
        elif compare(how, values[a], values[b]) != went:
            raise GuardFailed
    return [values[o] for o in tape.outputs]


def _outside_of_the_table(op: Op, tape: Tape, places: tuple[int, ...], operands: list[Any]) -> Any:
    if op is PICK:
        condition, a, b = operands
        if hooks.trace is None:
            return a if _holds(condition, tape, places[0]) else b
    elif isinstance(op, Structural):
        return (hooks.structural or _structural)(op, operands)
    return engine.apply(op, operands) if op.arity < 0 else engine.apply(op, *operands)


if engine.NATIVE:
    from micrograd._engine import interpret as instructions
else:

    def instructions(
        ops: tuple[Op, ...], args: tuple[tuple[Any, ...], ...], inputs: Sequence[Any], params: Sequence[Any],
        sources: tuple[Op, Op, Op], other: Callable[[Op, tuple[int, ...], list[Any]], Any],
    ) -> list[Any]:  # fmt: skip
        """Return what each instruction gives; other(op, places, operands) runs those that are not in the table."""
        apply = engine.apply
        values: list[Any] = []
        given = inputs, params
        for op, places in zip(ops, args):
            if op in sources:
                number = sources.index(op)
                values.append(places[0] if number == 2 else given[number][places[0]])
                continue
            operands = [values[a] for a in places]
            if OPS.get(op.name) is not op:
                values.append(other(op, places, operands))
            else:
                values.append(apply(op, operands) if op.arity < 0 else apply(op, *operands))
        return values


def _structural(op: Structural, args: list[Any]) -> Any:
    if isinstance(op, Projection):
        return [*args[0], *[0.0] * (op.number - len(args[0]))] if op.name == "pad" else args[0][op.number]
    if op is STACK:
        return args
    if op is LOAD or op is BUMP or op is STORE:
        return _indexed(op, *args)
    if isinstance(op, Choose):
        return run(op.then if _holds(args[0], op, 0) else op.otherwise, args[1:])
    assert isinstance(op, Loop)
    return loop(op, args)


def _holds(condition: Any, where: Tape | Choose, place: int) -> bool:
    """Whether a condition holds; it is written down where outcomes are asked for."""
    held = compare("ne", condition, 0.0)
    if hooks.outcomes is not None:
        hooks.outcomes.add((id(where), place, held))
    return held


def _indexed(op: Structural, array: list[Any], index: Any, *more: Any) -> Any:
    k = min(max(int(getattr(index, "_data", index)), 0), len(array) - 1)
    if op is LOAD:
        return array[k]
    if hooks.iteration is not None:
        hooks.iteration(len(array) // COPIED)
    return [*array[:k], more[0] if op is STORE else _sum(array[k], more[0]), *array[k + 1 :]]


def _sum(a: Any, b: Any) -> Any:
    return [_sum(x, y) for x, y in zip(a, b)] if isinstance(a, list) else a + b


def size(tape: Tape) -> int:
    """How many instructions a tape has, with those of the choices in it. Loops tell of their iterations when they run."""
    return len(tape) + sum([sum(map(size, op.bodies())) for op in tape.ops if isinstance(op, Choose)])


def work(tape: Tape) -> int:
    """How many instructions a run of a tape takes, as far as is known: a loop of unknown length counts as one iteration."""
    return sum([work_of(op) if isinstance(op, Region) else 1 for op in tape.ops if op not in SOURCES])


def work_of(op: Region) -> int:
    """The same for one instruction with tapes inside."""
    inside = sum(map(work, op.bodies()))
    return (op.iterations or 1) * inside if isinstance(op, Loop) else inside


def counted(run: Callable[[], T], most: int) -> tuple[T, int]:
    """What `run` gives, and how many instructions the iterations of its loops took. TooLong is raised before these pass `most`.

    It runs on the definition alone, even while a function is being staged in this thread.
    """
    count = 0

    def iteration(instructions: int) -> None:
        nonlocal count
        count += instructions
        if count > most:
            raise TooLong

    before = hooks.trace, hooks.require, hooks.structural, hooks.iteration
    hooks.trace = hooks.require = hooks.structural = None
    hooks.iteration = iteration
    try:
        return run(), count
    finally:
        hooks.trace, hooks.require, hooks.structural, hooks.iteration = before


def outcomes(run: Callable[[], T]) -> tuple[T, set[Any]]:
    """What `run` gives, and how the choices came out that it met: two runs that took the same arms have the same set."""
    before, hooks.outcomes = hooks.outcomes, set()
    try:
        return run(), hooks.outcomes
    finally:
        hooks.outcomes = before


def loop(op: Loop, args: list[Any]) -> list[Any]:
    """The results of a loop."""
    each = 0 if hooks.iteration is None else sum(map(size, op.bodies()))

    def goes_on(inputs: list[Any]) -> bool:
        return op.condition is None or compare("ne", run(op.condition, inputs)[0], 0.0)

    def iteration(inputs: list[Any]) -> list[Any]:
        if hooks.iteration is not None:
            hooks.iteration(each)
        return run(op.body, inputs)

    return op.run(args, goes_on, iteration)


def compare(how: str, a: Any, b: Any) -> bool:
    """Compare as an `if` does: while an outer function is traced, Values record their own guard."""
    if how == "lt":
        return bool(a < b)
    if how == "le":
        return bool(a <= b)
    if how == "gt":
        return bool(a > b)
    if how == "ge":
        return bool(a >= b)
    return bool(a == b) if how == "eq" else bool(a != b)


# ---- a tape of numbers as C runs it again and again until there is machine code: choices become jumps over instructions


class _Step:
    """What a program has beside the ops of a tape."""

    def __init__(self, name: str) -> None:
        self.name = name


COPY = _Step("copy")  # of one place to another, which is before both
UNLESS = _Step("unless")  # a place is not 0.0, go on at another one
JUMP = _Step("jump")
ROOM = _Step("room")  # for the result of a choice
SPECIAL = (INPUT, PARAM, CONST, PICK, COPY, UNLESS, JUMP, ROOM)


def program(tape: Tape) -> Program | None:
    """Return what runs a tape on numbers; None where it has more than numbers and choices.

    It takes the numbers of the inputs and the parameters, and gives the outputs, or None where a guard fails; with True behind
    them, also how the choices came out, as bytes.
    """
    if not engine.NATIVE:
        return None
    from micrograd._engine import program as made

    if not tape.has_regions():
        return made(tape.ops, tape.args, tape.outputs, tape.guards, SPECIAL)
    flat = _Flat()
    at = flat.append(tape, {})
    if at is None:
        return None
    guards = tuple([(how, at[a], at[b], went) for how, a, b, went in tape.guards])
    return made(tuple(flat.ops), tuple(flat.args), tuple([at[o] for o in tape.outputs]), guards, SPECIAL)


class _Flat:
    """The instructions of a tape and of the arms of its choices, one after the other."""

    def __init__(self) -> None:
        self.ops: list[Op | _Step] = []
        self.args: list[tuple[Any, ...]] = []

    def write(self, op: Op | _Step, *args: Any) -> int:
        """Add an instruction; its place."""
        self.ops.append(op)
        self.args.append(args)
        return len(self.ops) - 1

    def append(self, tape: Tape, inputs: dict[int, int]) -> list[int] | None:
        """Write a tape, of which these inputs are at known places; where each instruction went. None where it has arrays."""
        at: list[int] = []
        results: dict[int, list[int]] = {}  # of a choice: the room for its results
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op is INPUT and args[0] in inputs:
                at.append(inputs[args[0]])
            elif op is INPUT or op is PARAM or op is CONST:
                at.append(self.write(op, *args))
            elif isinstance(op, Choose):
                rooms = self._choose(op, [at[a] for a in args])
                if rooms is None:
                    return None
                results[i] = rooms
                at.append(-1)
            elif isinstance(op, Projection) and op.name == "result" and args[0] in results:
                at.append(results[args[0]][op.number])
            elif isinstance(op, Structural):
                return None
            else:
                at.append(self.write(op, *[at[a] for a in args]))
        return at

    def _choose(self, op: Choose, operands: Sequence[int]) -> list[int] | None:
        rooms = [self.write(ROOM) for _ in range(op.results)]
        inputs = dict(enumerate(operands[1:]))
        unless = self.write(UNLESS)
        if not self._arm(op.then, inputs, rooms):
            return None
        jump = self.write(JUMP)
        self.args[unless] = operands[0], len(self.ops)
        if not self._arm(op.otherwise, inputs, rooms):
            return None
        self.args[jump] = (len(self.ops),)
        return rooms

    def _arm(self, body: Tape, inputs: dict[int, int], rooms: list[int]) -> bool:
        at = None if body.guards else self.append(body, inputs)
        for o, room in zip(body.outputs, rooms if at else []):
            self.write(COPY, at[o], room)  # type: ignore[index]
        return at is not None
