"""Whether a merged tape gives for a row what a plain run of the function gives.

A result that depends on no derivative is the same to the bit: the row's own instructions are on the merged tape, with the same
operands, and a choice hands a number on as it is.

A derivative is a sum of contributions, and the merged tape may add them in another grouping. In

    p = x if c else y
    return p * a + p * b + x

eager code has no node `p`: where c holds, x is given 1, then b, then a. The merged tape gives p the sum of b and a, and x the
sum of 1 and that. (1 + b) + a and 1 + (b + a) differ in floating point, so no order of the sweep could give the bits of eager
code, unless the sweep were written again for each combination of outcomes. Both are the same sum for real numbers, though. So
they differ by no more than the roundings of both runs, which are bounded here, instruction by instruction (running error
analysis; Higham, Accuracy and Stability of Numerical Algorithms, section 3.3).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from micrograd import observed
from micrograd.engine import Value
from micrograd.tape import interpret
from micrograd.tape.tape import CONST, PARAM, Tape

ULPS = 8.0  # an op's own error, in units in the last place: tests/bounds.py
UNIT = 2.0**-53
LAST_BITS = 64.0 * UNIT  # of sums of constants inside of loops, which the bound does not see
SMALLEST = 1e-300  # numbers that are lost to underflow


def same_bits(a: float, b: float) -> bool:
    """Whether two numbers are the same, with the sign of a zero; one nan is like another."""
    return (a != a and b != b) or struct.pack("d", a) == struct.pack("d", b)


def rounding(tape: Tape, row: Sequence[float], params: Sequence[float]) -> list[float]:
    """How far each result of a tape can be from its value for real numbers, by the roundings of its instructions."""
    before = observed.set_recording(True)
    try:
        results = interpret.run(_without_constants(tape), [Value(x) for x in row], _Numbers(params))  # type: ignore[arg-type]
    finally:
        observed.set_recording(before)
    errors = _errors([x for x in results if isinstance(x, Value)])
    found = [errors[id(x)] if isinstance(x, Value) else 0.0 for x in results]
    return [inf if e != e else e for e in found]


def _errors(results: list[Value]) -> dict[int, float]:
    """The bound of each node behind some results, by its id. Each node is visited once, its children before it."""
    errors: dict[int, float] = {}
    waiting = list(results)
    while waiting:
        v = waiting[-1]
        before = [c for c in v._prev if id(c) not in errors] if id(v) not in errors else []
        if before:
            waiting += before
            continue
        waiting.pop()
        if id(v) in errors:
            continue
        error = ULPS * UNIT * abs(v._data) if v._prev else 0.0
        for c, slope in zip(v._prev, v._partials or ()):
            if errors[id(c)]:
                error += abs(slope or 0.0) * errors[id(c)]
        errors[id(v)] = error
    return errors


def _without_constants(tape: Tape) -> Tape:
    """The same with constants as parameters behind the others, so that what is computed from constants alone is seen too."""
    ops = [PARAM if op is CONST else op for op in tape.ops]
    args = [
        (a[0] if op is PARAM else _Constant(a[0]),) if op in (PARAM, CONST) else a for op, a in zip(tape.ops, tape.args)
    ]
    return tape.copy(ops=ops, args=args, guards=())


class _Constant(NamedTuple):
    number: float


class _Numbers:
    """The parameters of such a tape, as Values."""

    def __init__(self, params: Sequence[float]) -> None:
        self.params = params

    def __getitem__(self, k: Any) -> Value:
        return Value(k.number if isinstance(k, _Constant) else self.params[k])


def close(a: float, b: float, bound: float) -> bool:
    """Whether two numbers differ by no more than rounding; a nan or an infinity is met by the same alone."""
    if a != a or b != b:
        return a != a and b != b
    if abs(a) == inf or abs(b) == inf:
        return a == b
    return abs(a - b) <= 2.0 * bound + LAST_BITS * max(abs(a), abs(b)) + SMALLEST
