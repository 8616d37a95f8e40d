"""Whole numbers that are the same in all rows: made from constants and from the numbers of turns, and written as i64.

Such a number is the index of a `load` or `bump`, or bounds the turns of a loop. On the tape it is a number as any other, and so
a vector in the code for rows, whose lanes are all alike; here it is computed once more, as what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.compile.llvm.nested import Nested
from micrograd.errors import CompileError
from micrograd.tape.tape import CONST, INPUT, Tape

WHOLE = {"add": "add", "sub": "sub", "mul": "mul", "neg": ""}
COMPARED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
LARGEST = 2.0**53


def is_whole(tape: Tape, place: int, known: Callable[[int], bool]) -> bool:
    """Whether a place is such a number; `known` says it of the inputs."""
    op, args = tape.ops[place], tape.args[place]
    if op is CONST:
        return bool(abs(args[0]) < LARGEST and args[0] == int(args[0]))
    if op is INPUT:
        return known(args[0])
    return op.name in WHOLE and all(is_whole(tape, a, known) for a in args)


def whole(t: Nested, place: int) -> str:
    """The i64 of such a number."""
    op, args = t.tape.ops[place], t.tape.args[place]
    if op is CONST:
        return str(int(args[0]))
    name = t.names.get(place)
    if name in t.integers:
        return t.integers[name]
    if op is INPUT or op.name not in WHOLE:
        raise CompileError("the index of an element is not the same in all rows, which cannot be compiled")
    parts = [whole(t, a) for a in args]
    r = t.fresh()
    t.line(f"{r} = sub i64 0, {parts[0]}" if op.name == "neg" else f"{r} = {WHOLE[op.name]} i64 {parts[0]}, {parts[1]}")
    if name is not None:
        t.integers[name] = r
    return r


def clamped(t: Nested, place: int, length: int) -> str:
    """The number of an element of an array of this length."""
    i = whole(t, place)
    if i.lstrip("-").isdigit():
        return str(min(max(int(i), 0), length - 1))
    for how, limit in (("smax", 0), ("smin", length - 1)):
        declare = f"declare i64 @llvm.{how}.i64(i64, i64)"
        t.declared[declare] = declare
        r = t.fresh()
        t.line(f"{r} = call i64 @llvm.{how}.i64(i64 {i}, i64 {limit})")
        i = r
    return i


def is_uniform(condition: Tape, inputs: list[Any], turn: int, integers: dict[str, str]) -> bool:
    """Whether a condition compares two such numbers, where `inputs` are known (input `turn` is the number of the turn)."""
    (out,) = condition.outputs

    def known(k: int) -> bool:
        return k == turn or (isinstance(inputs[k], str) and inputs[k] in integers)

    return condition.ops[out].name in COMPARED and all(is_whole(condition, a, known) for a in condition.args[out])


def condition(t: Nested, tape: Tape) -> str:
    """The outcome of such a condition, an i1; its tape has been entered."""
    (out,) = tape.outputs
    a, b = (whole(t, place) for place in tape.args[out])
    r = t.fresh()
    t.line(f"{r} = icmp {COMPARED[tape.ops[out].name]} i64 {a}, {b}")
    return r
