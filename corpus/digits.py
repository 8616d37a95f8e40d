"""What the derivative is where finite differences of floats do not settle: differences in 80 digits.

The operations that a function makes at a point are evaluated by mpmath, at points that are 1e-20 apart, by the definitions in
tests/oracle.py, which were written without a look at ours. So rounding plays no part, and neither does the path: the operations
are those at the point, and those a little to the right and to the left of it, where the function may take another branch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from math import nan
from pathlib import Path
from typing import Any

import mpmath

from micrograd import grad
from micrograd.tape.tape import CONST, INPUT, Tape
from micrograd.testing import _numbers, _Point
from micrograd.transforms import Call

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from oracle import REFERENCE

DIGITS = 80
STEP = mpmath.mpf(10) ** -20  # relative to the number that is changed
BESIDE = 1e-9  # how far to the right and to the left other branches are looked for
NEAR = 1e-5  # relative: a slope BESIDE a point is another one


class Unknown(Exception):
    """The operations cannot be evaluated in digits."""


def verdict(function: Callable[..., Any], args: tuple[Any, ...], order: int) -> tuple[str, str]:
    """Return what our derivatives are: right, kink (the slopes beside the point differ), unsettled or wrong; and why."""
    point = _Point(function, args, 0, 1e-6, 1e-8)
    found = [_judged(point, k, of, slopes) for k, (of, slopes) in enumerate(_ours(point, order))]
    return max(found, key=lambda row: ("right", "kink", "unsettled", "wrong").index(row[0]))


def _ours(point: _Point, order: int) -> Iterator[tuple[_Point, list[float]]]:
    """Yield for each number our derivatives by it, with the function whose slopes they are: the value or a derivative of it."""
    if order == 1:
        for k, slope in enumerate(point.gradient(point.numbers)):
            yield point, [slope if n == k else nan for n in range(len(point.numbers))]
        return

    def component(k: int) -> Callable[..., Any]:
        return lambda *args: _numbers(point.derivative(grad)(*args))[point.place(k)]

    for k in range(len(point.numbers)):
        slopes = _Point(component(k), point.args, 0, 1e-6, 1e-8)
        yield slopes, slopes.gradient(point.numbers)


def _judged(point: _Point, k: int, of: _Point, ours: list[float]) -> tuple[str, str]:
    """Return what became of the derivatives by one number."""
    step = BESIDE * (abs(point.numbers[k]) or 1.0)
    places = {0: list(point.numbers)}
    for side in (1, -1):
        places[side] = list(point.numbers)
        places[side][k] += side * step
    tapes = {}
    for side, place in places.items():
        try:
            tapes[side] = _tape(point, place)
        except Exception:  # the point lies at the end of what the function takes
            if side == 0:
                raise
    worst = "right", ""
    for number, got in enumerate(ours):
        if of is point and number != k:
            continue
        by = (k,) if of is point else (k, number)
        with mpmath.workdps(DIGITS):
            slopes = [s for side, tape in tapes.items() for s in _slopes(point, tape, places[side], by)]
            here = evaluated(tapes[0], _inputs(point, [mpmath.mpf(v) for v in point.numbers]))
            size = max(map(abs, slopes))
            unit = (abs(here) + 1) / mpmath.fprod([abs(point.numbers[n]) or 1 for n in by])
            smooth = all(abs(s - slopes[0]) <= 1e-3 * size + 1e-6 * unit for s in slopes)
            near = [abs(got - s) <= NEAR * max(abs(got), abs(s)) + 1e-15 * unit for s in slopes]
            told = (
                f"the derivative by {' and '.join(f'number {n}' for n in by)} is {got:.9g}; in {DIGITS} digits it is "
                f"{', '.join(mpmath.nstr(s, 9) for s in slopes)} at the point and beside it"
            )
            if smooth and all(near[:2]):
                continue
            if any(s != s for s in slopes):
                worst = "unsettled", told
                continue
            tied = abs(slopes[0] - slopes[1]) > 1e-3 * size + 1e-6 * unit and min(slopes[:2]) <= got <= max(slopes[:2])
            if not smooth and (any(near) or tied or got != got):
                worst = "kink", told
            elif abs(got - slopes[0]) <= of.noise(point.numbers)[number]:
                continue  # our derivative rounds so, and so does any other in floats
            elif abs(point.total(point.plain(point.numbers)) - here) > 1e-6 * abs(here):
                worst = "unsettled", f"floats lose all digits of the value itself: {told}"
            else:
                return "wrong", told
    return worst


def _tape(point: _Point, numbers: list[float]) -> Tape:
    args = point.arguments(numbers)
    return Call(lambda *given: point.total(point.f(*given)), args, {}, point.argnums, False).trace.tape


def _inputs(point: _Point, numbers: list[Any]) -> list[Any]:
    """Return the inputs of a tape: all numbers in the arguments that vary, among which there may be ints."""
    found = [mpmath.mpf(x) for k in point.argnums for x in _numbers(point.args[k])]
    for k, x in enumerate(numbers):
        found[point.place(k)] = x
    return found


def _slopes(point: _Point, tape: Tape, numbers: list[float], by: tuple[int, ...]) -> list[Any]:
    """Return the slopes to the right and to the left of a point, in digits."""
    x = [mpmath.mpf(v) for v in numbers]
    steps = [STEP * (abs(x[k]) or 1) for k in by]

    def at(*sides: int) -> Any:
        moved = list(x)
        for k, side, h in zip(by, sides, steps):
            moved[k] += side * h
        return evaluated(tape, _inputs(point, moved))

    if len(by) == 1:
        here = at(0)
        return [(at(1) - here) / steps[0], (here - at(-1)) / steps[0]]
    area = steps[0] * steps[1]
    if by[0] == by[1]:
        here = at(0, 0)
        return [(at(side, side) - 2 * at(side, 0) + here) / area for side in (1, -1)]
    return [side * (at(side, 1) - at(side, -1) - at(0, 1) + at(0, -1)) / (2 * area) for side in (1, -1)]


def evaluated(tape: Tape, x: list[Any]) -> Any:
    """Return the result of a tape for numbers of mpmath's."""
    values: list[Any] = []
    for op, args in zip(tape.ops, tape.args):
        if op is CONST:
            values.append(mpmath.mpf(args[0]))
        elif op is INPUT:
            values.append(x[args[0]])
        else:
            reference = REFERENCE.get(op.name)
            if reference is None:
                raise Unknown(op.name)
            given = [values[a] for a in args]
            values.append(reference.value(given) if reference.takes_list else reference.value(*given))
    return values[tape.outputs[0]]
