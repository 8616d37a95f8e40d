"""The conditions of loops that a typed tape states as a flag, which each iteration yields for the next one."""

from __future__ import annotations

from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.tape import CONST, INPUT, PICK, SOURCES, Structural, Tape

WHERE = OPS["where"]
CONDITION = 64  # instructions that a condition of a loop may have


def asked_first(tape: Tape, trips: int) -> tuple[Tape, Tape] | None:
    """The body and the condition of a loop whose iterations do nothing where the first carried value, the flag, becomes false.

    None where an iteration does something all the same. The flag stays what it is before the loop.
    """
    again = tape.outputs[0]
    outputs = []
    for k, o in enumerate(tape.outputs):
        own = tape.ops[o] is INPUT and tape.args[o] == (k,)
        if k == 0:
            continue
        if own or k == trips:
            outputs.append(o)
        elif (
            tape.ops[o] is PICK
            and tape.args[o][0] == again
            and tape.ops[tape.args[o][2]] is INPUT
            and tape.args[tape.args[o][2]] == (k,)
        ):
            outputs.append(tape.args[o][1])
        else:
            return None
    made = Builder(tape.inputs)
    at = made.copy(tape)
    test = Builder(tape.inputs)
    there = test.copy(tape)
    asked = test.emit(WHERE, (test.source(INPUT, 0), there[again], test.const(0.0)))
    body = made.finish([made.source(INPUT, 0), *(at[o] for o in outputs)])
    return passes.prune(body), passes.prune(test.finish([asked]))


def condition_of(tape: Tape, slots: list[int], read: list[int], outer: Builder) -> Tape:
    """The condition of a loop whose first carried value says whether there is another iteration.

    Where that is computed of what is carried, in front of the loop as in each iteration, so is the condition: the flag itself
    is then not needed, of which a derivative would keep the values in all iterations.
    """
    test, carried = Builder(tape.inputs), len(slots)
    flag = test.finish([test.source(INPUT, 0)])
    found = Builder(tape.inputs)
    slot_of: dict[int, int] = {}
    for k, o in enumerate(tape.outputs):
        slot_of.setdefault(o, k)
    last = tape.inputs - 1
    at: dict[int, int] = {}

    def copied(place: int, root: bool = False) -> int | None:
        if place in at:
            return at[place]
        op, args = tape.ops[place], tape.args[place]
        made: int | None
        if op is CONST:
            made = found.const(args[0])
        elif not root and place in slot_of:
            made = found.source(INPUT, slot_of[place])
        elif op is INPUT:
            made = found.source(INPUT, args[0]) if carried <= args[0] < last else None
        elif op.name == "add" and _is_next(tape, args, last):
            made = found.source(INPUT, last)
        elif isinstance(op, Structural):
            made = None
        else:
            parts = [copied(a) for a in args]
            made = None if None in parts or len(found.ops) > CONDITION else found.emit(op, tuple(parts))  # type: ignore[arg-type]
        if made is not None:
            at[place] = made
        return made

    again = copied(tape.outputs[0], root=True)
    if again is None:
        return flag
    condition = found.finish([again])
    (first,) = outer.inline(condition, [*slots, *read, outer.const(0.0)])
    return condition if first == slots[0] else flag


def _is_next(tape: Tape, args: tuple[int, ...], last: int) -> bool:
    """Whether these are the operands of the number of the iteration plus 1."""
    return {(tape.ops[a].name, tape.args[a][0]) for a in args if tape.ops[a] in SOURCES} == {
        ("input", last),
        ("const", 1.0),
    }
