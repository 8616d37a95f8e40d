"""Whole numbers that are the same in all rows: made from constants and from the iteration numbers, and written as i64.

Such a number is the index of a `load` or `bump`, or bounds the iterations of a loop. On the tape it is a number as any other,
and so a vector in the code for rows, whose lanes are all alike; here it is computed once more, as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.compile.llvm.nested import Nested
from micrograd.compile.llvm.ranges import LinearForm
from micrograd.errors import CompileError
from micrograd.tape.tape import CONST, INPUT, Tape

WHOLE = {"add": "add", "sub": "sub", "mul": "mul", "neg": ""}
COMPARED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
CHOICES = ("where", "pick")
LARGEST = 2.0**53
DIFFERS = "the index of an element is not the same in all rows, which cannot be compiled"
ITERATION = "iteration"  # an iteration number that is not written yet


def is_whole(tape: Tape, place: int, known: Callable[[int], bool]) -> bool:
    """Whether a place is such a number; `known` says it of the inputs."""
    op, args = tape.ops[place], tape.args[place]
    if op is CONST:
        return is_whole_constant(args[0])
    if op is INPUT:
        return known(args[0])
    if op.name == "floor":
        found = _quotient(tape, args[0])
        return found is not None and is_whole(tape, found[0], known)
    if op.name in CHOICES and tape.ops[args[0]].name in COMPARED:
        args = (*tape.args[args[0]], *args[1:])
    elif op.name not in WHOLE:
        return False
    return all(is_whole(tape, a, known) for a in args)


def _quotient(tape: Tape, place: int) -> tuple[int, int] | None:
    """a and b of a / b, where b is a whole number: the quotient, or a product with 1 / b where that is exact."""
    op, args = tape.ops[place], tape.args[place]
    if op.name not in ("div", "mul"):
        return None
    for a, b in [args, args[::-1]] if op.name == "mul" else [args]:
        by = tape.args[b][0] if tape.ops[b] is CONST else 0.0
        if op.name == "mul" and by:
            by = 1.0 / by if abs(math.frexp(by)[0]) == 0.5 else 0.0
        if by and is_whole_constant(by):
            return a, int(by)
    return None


def whole(t: Nested, place: int) -> str:
    """The i64 of such a number."""
    op, args = t.tape.ops[place], t.tape.args[place]
    if op is CONST:
        return str(int(args[0]))
    name = t.names.get(place)
    if name in t.integers:
        return t.integers[name]
    if op is not INPUT and op.name in ("floor", *CHOICES):
        r = _floor(t, args[0]) if op.name == "floor" else _choice(t, *args)
        if name is not None:
            t.integers[name] = r
        return r
    if op is INPUT or op.name not in WHOLE:
        raise CompileError(DIFFERS)
    parts = [whole(t, a) for a in args]
    r = t.fresh()
    t.line(f"{r} = sub i64 0, {parts[0]}" if op.name == "neg" else f"{r} = {WHOLE[op.name]} i64 {parts[0]}, {parts[1]}")
    one, two = t.ranges.linear(parts[0]), t.ranges.linear(parts[-1])
    found = linear_op(op.name, one, two)
    if found is not None:
        t.ranges.sums[r] = found
    if name is not None:
        t.integers[name] = r
    return r


def _floor(t: Nested, place: int) -> str:
    """The i64 of a quotient that is rounded down. (sdiv rounds towards 0.)"""
    found = _quotient(t.tape, place)
    if found is None:
        raise CompileError(DIFFERS)
    a, by = whole(t, found[0]), found[1]
    if a.lstrip("-").isdigit():
        return str(int(a) // by)
    quotient, rest, signs, one, r = (t.fresh() for _ in range(5))
    t.line(f"{quotient} = sdiv i64 {a}, {by}")
    t.line(f"{rest} = srem i64 {a}, {by}")
    t.line(f"{signs} = {f'icmp slt i64 {rest}, 0' if by > 0 else f'icmp sgt i64 {rest}, 0'}")
    t.line(f"{one} = zext i1 {signs} to i64")
    t.line(f"{r} = sub i64 {quotient}, {one}")
    return r


def _choice(t: Nested, condition: int, yes: int, no: int) -> str:
    """The i64 of one of two numbers."""
    how = t.tape.ops[condition].name
    if how not in COMPARED:
        raise CompileError(DIFFERS)
    a, b = (whole(t, place) for place in t.tape.args[condition])
    then, otherwise = whole(t, yes), whole(t, no)
    holds, r = t.fresh(), t.fresh()
    t.line(f"{holds} = icmp {COMPARED[how]} i64 {a}, {b}")
    t.line(f"{r} = select i1 {holds}, i64 {then}, i64 {otherwise}")
    return r


def is_whole_constant(x: float) -> bool:
    """Whether a number is whole, and small enough for all its neighbours to be numbers too."""
    return abs(x) < LARGEST and x == int(x)


def linear_op(op: str, a: LinearForm, b: LinearForm) -> LinearForm | None:
    """The sum of multiples that an op over two of them is; None where it is none."""
    if op not in WHOLE:
        return None
    if op == "neg":
        return LinearForm(0).plus(a, -1)
    if op in ("add", "sub"):
        return a.plus(b, 1 if op == "add" else -1)
    if not a.terms or not b.terms:
        constant, other = (a, b) if not a.terms else (b, a)
        return LinearForm(0).plus(other, constant.constant)
    return None


def clamped(t: Nested, place: int, length: int) -> str:
    """The number of an element of an array of this length."""
    i = whole(t, place)
    if i.lstrip("-").isdigit():
        return str(min(max(int(i), 0), length - 1))
    known = t.ranges.linear(i)
    lowest, highest = t.ranges.lowest(known), t.ranges.highest(known)
    within = {"smax": lowest is not None and lowest >= 0, "smin": highest is not None and highest < length}
    for how, limit in (("smax", 0), ("smin", length - 1)):
        if within[how]:
            continue
        i = _limited(t, how, i, limit)
    return i


def is_uniform(condition: Tape, inputs: list[Any], iteration: int, integers: dict[str, str]) -> bool:
    """Whether a condition compares two such numbers, where `inputs` are known and input `iteration` is the iteration number."""
    (out,) = condition.outputs

    def known(k: int) -> bool:
        return k == iteration or (isinstance(inputs[k], str) and inputs[k] in integers)

    return condition.ops[out].name in COMPARED and all(is_whole(condition, a, known) for a in condition.args[out])


def condition(t: Nested, tape: Tape) -> str:
    """The outcome of such a condition, an i1; its tape has been entered."""
    (out,) = tape.outputs
    a, b = (whole(t, place) for place in tape.args[out])
    r = t.fresh()
    t.line(f"{r} = icmp {COMPARED[tape.ops[out].name]} i64 {a}, {b}")
    return r


def linear(t: Nested, tape: Tape, place: int, inputs: Sequence[Any]) -> LinearForm | None:
    """A place of a body as a sum of multiples, where it is such a number; else None.

    `inputs` are those of the body. The last one, the iteration number, is not there yet: it is the variable ITERATION.
    """
    op, args = tape.ops[place], tape.args[place]
    if op is CONST:
        return LinearForm(int(args[0])) if is_whole_constant(args[0]) else None
    if op is INPUT:
        if args[0] == tape.inputs - 1:
            return LinearForm(0, ((ITERATION, 1),))
        name = inputs[args[0]]
        return t.ranges.linear(t.integers[name]) if isinstance(name, str) and name in t.integers else None
    if op.name not in WHOLE:
        return None
    parts = [linear(t, tape, a, inputs) for a in args]
    one, two = parts[0], parts[-1]
    return None if one is None or two is None else linear_op(op.name, one, two)


def iterations(t: Nested, tape: Tape, inputs: Sequence[Any]) -> LinearForm | None:
    """How many iterations a loop takes whose condition is `iteration number < something`: that, where it is not negative.

    None where the condition is another one.
    """
    (out,) = tape.outputs
    how, (a, b) = tape.ops[out].name, (linear(t, tape, place, inputs) for place in tape.args[out])
    if a is None or b is None or how not in ("lt", "le", "gt", "ge"):
        return None
    left = b.plus(a, -1) if how in ("lt", "le") else a.plus(b, -1)  # it goes on as long as this is above (or at) 0
    if left.of(ITERATION) != -1:
        return None
    return left.plus(LinearForm(0 if how in ("lt", "gt") else 1, ((ITERATION, 1),)))


def written(t: Nested, x: LinearForm) -> str:
    """The i64 of a sum of multiples."""
    r = str(x.constant)
    for name, multiple in x.terms:
        part, total = t.fresh(), t.fresh()
        t.line(f"{part} = mul i64 {name}, {multiple}")
        t.line(f"{total} = add i64 {r}, {part}")
        r = total
    if x.terms:
        t.ranges.sums[r] = x
    return r


def minus_one(t: Nested, i: str) -> str:
    """The i64 before this one."""
    if i.isdigit():
        return str(int(i) - 1)
    r = t.fresh()
    t.line(f"{r} = sub i64 {i}, 1")
    return r


def count(t: Nested, iterations: LinearForm, most: int | None) -> str:
    """The i64 of that number of iterations: at least 0, and at most `most`."""
    r = written(t, iterations)
    lowest, highest = t.ranges.lowest(iterations), t.ranges.highest(iterations)
    exact = True
    for how, limit, holds in (
        ("smax", 0, lowest is not None and lowest >= 0),
        ("smin", most, most is None or (highest is not None and highest <= most)),
    ):
        if not holds:
            exact = False
            r = _limited(t, how, r, limit or 0)
    if not exact:
        t.ranges.variable(r, [] if most is None else [LinearForm(most)])
    return r


def _limited(t: Nested, how: str, i: str, limit: int) -> str:
    declare = f"declare i64 @llvm.{how}.i64(i64, i64)"
    t.declared[declare] = declare
    r = t.fresh()
    t.line(f"{r} = call i64 @llvm.{how}.i64(i64 {i}, i64 {limit})")
    return r
