"""Comparisons of what a function of the C library gives, with the outcome of eager code and mostly without its roundings.

What decides something is computed with the roundings of eager code, and so by calls of the C library, lane by lane. Where the
result of such a call is compared and decides nothing else, the vector function will do, unless it is so near to the other
side of the comparison that its error might matter: then the lanes are called one by one, and compared again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from micrograd.compile.llvm import vector_math
from micrograd.ops import OPS, Op
from micrograd.tape.tape import CONST, SOURCES, Structural, Tape

if TYPE_CHECKING:
    from micrograd.compile.llvm.nested import Nested

POW = OPS["pow"]
NEAR = 2.0**-40  # vector functions are off by 4 units in the last place at most, 2**-50 of the result
SMALLEST = 1e-290  # below, an error may be larger than that


def compared(t: Nested) -> set[int]:
    """The calls of a tape that are written as vector functions, since what they decide is decided by comparisons alone."""
    tape: Tape = t.tape
    if t.point or t.target.exact or t.target.fastmath or t.width * t.item * 8 % t.target.bits:
        return set()
    found = {p for p in t.decided.places if _has_vector(t, tape.ops[p]) and not _is_square(tape, p)}
    found -= {*tape.outputs, *tape.guarded()}
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES or op.llvm.startswith("fcmp"):
            continue
        if i in t.decided.places or isinstance(op, Structural):
            found.difference_update(args)
    return found


def _has_vector(t: Nested, op: Op) -> bool:
    function = op.llvm[1:]
    if not op.llvm.startswith("@") or op.llvm.startswith("@llvm.") or t.target.float32:
        return False
    return vector_math.written(function) and not vector_math.of_the_library(function)


def _is_square(tape: Tape, place: int) -> bool:
    """Whether a place is x**2, which is cheap with the bits of the library."""
    exponent = tape.args[place][-1]
    return tape.ops[place] is POW and tape.ops[exponent] is CONST and tape.args[exponent][0] == 2.0


def compare(t: Nested, op: Op, args: tuple[int, int]) -> str:
    """Write a comparison, one side of which (or both) is such a call; the name of its outcome."""
    sides = [t.get(a) for a in args]
    calls = {k: [t.get(x) for x in t.tape.args[a]] for k, a in enumerate(args) if a in t.compared}
    n, first, apart = t.label(), t.fresh(), t.fresh()
    t.line(f"{first} = {op.llvm} {t.T} {sides[0]}, {sides[1]}")
    declare = f"declare {t.T} @llvm.fabs.{t.S}({t.T})"
    t.declared[declare] = declare
    difference = t.fresh()
    t.line(f"{difference} = fsub {t.T} {sides[0]}, {sides[1]}")
    t.line(f"{apart} = call {t.T} @llvm.fabs.{t.S}({t.T} {difference})")
    near = ""
    for k in calls:
        size, part, limit, within = t.fresh(), t.fresh(), t.fresh(), t.fresh()
        t.line(f"{size} = call {t.T} @llvm.fabs.{t.S}({t.T} {sides[k]})")
        t.line(f"{part} = fmul {t.T} {size}, {t.splat(NEAR)}")
        t.line(f"{limit} = fadd {t.T} {part}, {t.splat(SMALLEST)}")
        t.line(f"{within} = fcmp ole {t.T} {apart}, {limit}")
        if near:
            joined = t.fresh()
            t.line(f"{joined} = or {t.B} {near}, {within}")
            within = joined
        near = within
    bits, wanted = t.fresh(), t.fresh()
    t.line(f"{bits} = bitcast {t.B} {near} to i{t.width}")
    t.line(f"{wanted} = icmp ne i{t.width} {bits}, 0")
    t.lines += [f"  br label %ask{n}", f"ask{n}:", f"  br i1 {wanted}, label %near{n}, label %past{n}", f"near{n}:"]
    before, t.one_by_one_calls = t.one_by_one_calls, True
    for k, operands in calls.items():
        sides[k] = t.call(t.tape.ops[args[k]].llvm[1:], operands)
    t.one_by_one_calls = before
    again, outcome = t.fresh(), t.fresh()
    t.line(f"{again} = {op.llvm} {t.T} {sides[0]}, {sides[1]}")
    t.lines += [f"  br label %end{n}", f"end{n}:", f"  br label %past{n}", f"past{n}:"]
    t.line(f"{outcome} = phi {t.B} [ {first}, %ask{n} ], [ {again}, %end{n} ]")
    return outcome
