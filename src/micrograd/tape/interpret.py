"""The definition: run a tape through the table, one instruction after the other.

The operands may be floats, Values (the run then leaves a graph behind) or whatever else the table's ops run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd import engine
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape


class GuardFailed(Exception):
    """The numbers took another way through an `if` than the traced ones."""


def run(tape: Tape, inputs: Sequence[Any], params: Sequence[Any] = ()) -> list[Any]:
    """The outputs of a tape."""
    apply = engine.apply
    values: list[Any] = []
    for op, args in zip(tape.ops, tape.args):
        if op is CONST:
            values.append(args[0])
        elif op is INPUT:
            values.append(inputs[args[0]])
        elif op is PARAM:
            values.append(params[args[0]])
        elif op.arity < 0:
            values.append(apply(op, [values[a] for a in args]))
        else:
            values.append(apply(op, *[values[a] for a in args]))
    for how, a, b, went in tape.guards:
        if compare(how, values[a], values[b]) != went:
            raise GuardFailed
    return [values[o] for o in tape.outputs]


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
