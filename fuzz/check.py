"""Run a program in every way, and compare: to the bit where bits are promised, else within a bound that its own noise gives.

The cheap ways are taken by every program, or by one in a few: both engines, dual numbers, mpmath, the tape after all passes,
the merged tape, transforms to order 4. Machine code (machine.py) is made of a sample.
"""

from __future__ import annotations

import math
import random
import struct
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from fuzz import exact, results, torched
from fuzz.duals import Dual, Math, Run, grad_of
from fuzz.duals import number as numbers_of
from fuzz.generate import Program, build
from micrograd.errors import CompileError, TraceError
from twins import PYTHON, C, in_place

REFUSED = (TraceError, CompileError)
ERRORS = (ArithmeticError, IndexError, TypeError, ValueError)  # of plain numbers among themselves, such as 1.0 / 0.0
SAMPLES = 4  # noisy runs
MORE_SAMPLES = 60  # before two ways are said to disagree: a tie that noise decides is seen by then
NOISE = 4.0  # units in the last place, for each step
ROOM = 32.0  # times the spread of the noisy runs
CHOICES = ("if ", "while ", " in (", "sorted(", "any(", "min(", "max(", "break")
LARGE = 1e100  # numbers on the way beyond which nothing is compared but bits


class Failure(Exception):
    """Two ways of running a program that disagree."""


class Seen(NamedTuple):
    """What eager code gives at one point: the value, then the gradients by the arguments and by the captured Values."""

    xs: list[float]
    y: float
    grads: list[float]
    wild: bool = False  # whether something on the way is infinite, nan or huge

    @property
    def all(self) -> list[float]:
        return [self.y, *self.grads]


class Namespace:
    """micrograd.math of one twin; whole_floor is the op itself, which gives a float for a number too."""

    def __init__(self, twin: Any) -> None:
        self.twin = twin

    def __getattr__(self, name: str) -> Any:
        if name.startswith("whole_"):
            op = self.twin.ops.OPS[name[6:]]
            return lambda x: self.twin.engine.apply(op, x)
        found = getattr(self.twin.math, name, None)
        if found is None:
            op = self.twin.ops.OPS[name]
            found = lambda *args: self.twin.engine.apply(op, *args)  # noqa: E731
        setattr(self, name, found)
        return found


def _grad(twin: Any) -> Any:
    with (
        in_place(twin) if twin is PYTHON else nullcontext()
    ):  # the C twin is in its place, and is not to be loaded again
        from micrograd import grad

        return grad


TRANSFORMS = {id(twin): _grad(twin) for twin in (C, PYTHON)}
NAMESPACES = {id(twin): Namespace(twin) for twin in (C, PYTHON)}


def bits(x: float) -> bytes:
    return struct.pack("<d", math.nan if x != x else x)


def same(what: str, got: Sequence[float], want: Sequence[float]) -> None:
    """Equal to the bit, or a Failure."""
    if [*map(bits, got)] != [*map(bits, want)]:
        raise Failure(f"{what}: {list(got)} is not {list(want)}")


def near(what: str, got: float, want: float, room: float) -> None:
    """Equal within the room; whatever the room is, both finite or both not."""
    if room != room or (got != got and want != want) or got == want:
        return
    if not abs(got - want) <= room + 1e-300:
        raise Failure(f"{what}: {got!r} is not {want!r}, and {room:.2g} is what rounding may do")


def plain(x: Any) -> float:
    """The number of a result."""
    return float(getattr(x, "data", x))


# ---- the independent run, and what rounding may do


class Bound(NamedTuple):
    """What dual numbers give, and how far off another run may be; the rooms are nan where the path is uncertain."""

    value: float
    slope: float
    room: float
    slope_room: float


def _dual(program: Program, xs: Sequence[float], direction: Sequence[float], seed: int, ulps: float) -> Any:
    run = Run(seed, ulps)
    captured = [Dual(x, 0.0, run) for x in program.captured]
    leaves = [Dual(x, d, run) for x, d in zip(xs, direction)]
    try:
        x, t = numbers_of(build(program, Math(run), captured, grad_of(run))(*leaves))
    except (
        ArithmeticError,
        IndexError,
        TypeError,
        ValueError,
    ):  # noise has led it elsewhere, where plain numbers are divided by 0.0
        run.largest = math.inf
        return math.nan, math.nan, run
    return x, t, run


def bound(
    program: Program, xs: Sequence[float], direction: Sequence[float], ulps: float = NOISE, samples: int = SAMPLES
) -> Bound:
    """Value and derivative in a direction, and what noise of so many ulps does to them."""
    value, slope, first = _dual(program, xs, direction, 0, 0.0)
    if not first.largest < LARGE:
        return Bound(value, slope, math.nan, math.nan)
    noisy = [_dual(program, xs, direction, 1 + k, ulps) for k in range(samples)]
    if any(r.path != first.path or r.jumps != first.jumps or not r.largest < LARGE for *_, r in noisy):
        return Bound(value, slope, math.nan, math.nan)
    room = ROOM * max(abs(v - value) for v, *_ in noisy) + 1e-13 * abs(value)
    slope_room = ROOM * max(abs(t - slope) for _, t, _ in noisy) + 1e-13 * abs(slope)
    return Bound(value, slope, room, slope_room)


def unit(i: int, count: int) -> list[float]:
    """The direction of one argument."""
    return [float(i == k) for k in range(count)]


def in_direction(what: str, program: Program, seen: Seen, direction: list[float], oracle: tuple[float, float]) -> None:
    """Eager value and gradient beside those of an oracle: closely, or as closely as noise allows."""
    terms = [g * d for g, d in zip(seen.grads, direction)]
    slope = math.fsum(terms) if all(map(math.isfinite, terms)) else sum(terms)
    size = max(map(abs, terms), default=0.0)
    if abs(seen.y - oracle[0]) <= 1e-13 * abs(oracle[0]) and abs(slope - oracle[1]) <= 1e-13 * size:
        return
    within(f"beside {what}", program, seen.xs, direction, (seen.y, slope), oracle, 1e-12 * size)


def within(
    what: str, program: Program, xs: Sequence[float], direction: Sequence[float], got: Sequence[float],
    want: Sequence[float], more: float = 0.0, ulps: float = NOISE,
) -> None:  # fmt: skip
    """Value and derivative in a direction of two runs: as close as rounding allows, looked at twice before it fails."""
    for samples in (SAMPLES, MORE_SAMPLES):
        b = bound(program, xs, direction, ulps, samples)
        try:
            near(f"value {what} at {xs}", got[0], want[0], b.room)
            near(f"gradient {what} at {xs}", got[1], want[1], b.slope_room + more)
            return
        except Failure:
            if samples == MORE_SAMPLES:
                raise


# ---- the cheap ways


def eager(program: Program, xs: Sequence[float], twin: Any) -> Seen | str:
    """Value and gradients of one twin, or the name of what it raises: plain numbers among themselves, such as 1.0 / 0.0."""
    captured = [twin.Value(x) for x in program.captured]
    leaves = [twin.Value(x) for x in xs]
    try:
        y = build(program, NAMESPACES[id(twin)], captured, TRANSFORMS[id(twin)])(*leaves)
        number = plain(y)
        if isinstance(y, twin.Value):
            y.backward()
    except Exception as error:
        if (
            isinstance(error, (ArithmeticError, IndexError, TypeError, ValueError))
            or type(error).__name__ == "TraceError"
        ):
            return type(error).__name__
        raise
    return Seen(list(xs), number, [v.grad for v in (*leaves, *captured)])


def twins_agree(program: Program, points: list[list[float]], rng: random.Random, both: range) -> list[Seen]:
    """The C engine beside dual numbers, and at the points `both` beside the Python engine to the bit; what it gives."""
    found = []
    for k, xs in enumerate(points):
        c = eager(program, xs, C)
        python = _in_python(program, xs) if k in both else c
        if isinstance(c, str) or isinstance(python, str):
            if c != python:
                raise Failure(f"the twins at {xs}: {c} is not {python}")
            continue
        same(f"the twins at {xs}", c.all, python.all)
        direction = [rng.choice((-1, 1)) * rng.uniform(0.5, 2.0) for _ in xs]
        value, slope, run = _dual(program, xs, direction, 0, 0.0)
        found.append(c._replace(wild=not run.largest < LARGE))
        if run.largest < LARGE:
            in_direction("dual numbers", program, c, direction, (value, slope))
    return found


def _in_python(program: Program, xs: Sequence[float]) -> Seen | str:
    if "grad(" not in program.text:
        return eager(program, xs, PYTHON)
    with in_place(PYTHON):  # transforms import what they need by name
        return eager(program, xs, PYTHON)


def function(program: Program) -> tuple[Any, list[Any]]:
    """The program on the C engine, and its captured Values."""
    from micrograd import grad

    captured = [C.Value(x) for x in program.captured]
    return build(program, NAMESPACES[id(C)], captured, grad), captured


def oracle_agrees(program: Program, seen: list[Seen], rng: random.Random, what: str, oracle: Any) -> int:
    """Value and a directional derivative of an oracle that knows nothing of the table; at how many points."""
    compared = 0
    for point in seen:
        direction = [rng.choice((-1, 1)) * rng.uniform(0.5, 2.0) for _ in point.xs]
        found = None if point.wild else oracle(program, point.xs, direction)
        if found is not None:
            in_direction(what, program, point, direction, found)
            compared += 1
    return compared


def tapes_agree(program: Program, seen: list[Seen]) -> None:
    """The traced tape with its adjoint after all passes, interpreted: to the bit; and value_and_grad."""
    from micrograd import value_and_grad
    from micrograd.compile import pipeline
    from micrograd.compile.llvm import LLVM
    from micrograd.compile.options import Options
    from micrograd.tape import interpret
    from micrograd.tape.trace import trace
    from micrograd.tree import NUMBER

    f, captured = function(program)
    inputs = tuple(range(program.inputs))
    for point in seen:
        traced = trace(f, ("tuple", (NUMBER,) * program.inputs), point.xs, frozen=True)
        goal = pipeline.Goal(Options(exact=True), inputs, tuple(range(len(traced.captured))))
        tape = pipeline.lower(traced.tape, goal, LLVM())
        numbers = [v.data for v in traced.captured]
        got = [float(x) for x in interpret.run(tape, point.xs, numbers)]
        by = {id(v): g for v, g in zip(traced.captured, got[1 + program.inputs :])}
        slopes = [by.get(id(v), 0.0) for v in captured]
        same(f"the lowered tape at {point.xs}", [*got[: 1 + program.inputs], *slopes], point.all)
        y, grads = value_and_grad(f, inputs)(*point.xs)
        for got, want in zip(
            [plain(x) for x in (y, *grads)], point.all
        ):  # the sign of a zero is that of its last addition
            near(f"value_and_grad at {point.xs}", got, want, math.nan if point.wild else 0.0)


def merged_agrees(program: Program, seen: list[Seen], first: int) -> str:
    """One tape for all paths: at each point that it accepts the bits of eager code, and its gradient within the bound."""
    from micrograd import value_and_grad
    from micrograd.stage.errors import Unsupported
    from micrograd.stage.staged import flat, stage
    from micrograd.tape import interpret
    from micrograd.tree import NUMBER

    f, _ = function(program)
    inputs = tuple(range(program.inputs))
    shape = ("tuple", (NUMBER,) * program.inputs)
    for g, gradient in ((f, False), (value_and_grad(f, inputs), True)):
        try:
            found = stage(g, flat(shape), seen[first % len(seen)].xs)
        except Unsupported:
            return "kept apart"
        numbers = [v.data for v in found.captured]
        for point in seen:
            try:
                got = [float(x) for x in interpret.run(found.tape, point.xs, numbers)]
            except interpret.GuardFailed:
                continue
            same(f"the merged tape at {point.xs}", got[:1], [point.y])
            for i, slope in enumerate(got[1:] if gradient else ()):
                if bits(slope) != bits(point.grads[i]):
                    both = (point.y, slope), (point.y, point.grads[i])
                    within(f"of the merged tape by x{i}", program, point.xs, unit(i, program.inputs), *both)
    return "merged"


def orders_agree(program: Program, seen: list[Seen]) -> None:
    """Derivatives by x0 up to order 4 on both engines, to the bit; the second also by nested dual numbers."""
    for point in seen[:1]:
        nested: list[list[float]] = []
        for twin in (C, PYTHON):
            with in_place(twin) if twin is PYTHON else nullcontext():
                grad = TRANSFORMS[id(twin)]
                f = build(program, NAMESPACES[id(twin)], [twin.Value(x) for x in program.captured], grad)
                found = []
                for _ in range(4):
                    f = grad(f)
                    found.append(plain(f(*point.xs)))
                nested.append(found)
        same(f"derivatives up to order 4 at {point.xs}", nested[0], nested[1])
        value, room = second_by_duals(program, point.xs)
        near(f"second derivative at {point.xs}", nested[0][1], value, room)


def second_by_duals(program: Program, xs: list[float]) -> tuple[float, float]:
    """The second derivative by x0, and what rounding may do to it."""
    values = []
    for k in range(1 + SAMPLES):
        run = Run(k, NOISE if k else 0.0)
        d = grad_of(run)
        inner = build(program, Math(run), [Dual(x, 0.0, run) for x in program.captured], d)
        y = numbers_of(d(d(lambda t, g=inner, r=xs[1:]: g(t, *r)))(xs[0]))[0]
        values.append((y, run.path, run.jumps, run.largest))
    certain = all(v[1:3] == values[0][1:3] and v[3] < LARGE for v in values)
    spread = max(abs(v[0] - values[0][0]) for v in values)
    return values[0][0], ROOM * spread + 1e-12 * abs(values[0][0]) if certain else math.nan


def check(
    program: Program, rng: random.Random, thorough: bool, count: int = 3, every: int = 1, histories: bool = False
) -> dict[str, int]:
    """Raise Failure where two ways disagree; else how many times each way was taken.

    The costlier ways are taken by one program in `every`, or in a few times as many. With `histories`, a program with choices
    runs in several orders of rows and calls, too.
    """
    from fuzz.inputs import points as choose

    done = {"points": 0, "oracle": 0, "torch": 0, "merged": 0, "orders": 0, "refused": 0, "compiled": 0, "histories": 0,
            "results": 0}  # fmt: skip
    turn = rng.randrange(1 << 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = choose(program, rng, 6 if thorough else count)
        only = turn % len(points)
        if program.results:
            done["results"] = results.agrees(program, points, rng, thorough)
            program = results.summed(program)
        seen = twins_agree(program, points, rng, range(6) if thorough else range(only, only + 1))
        done["points"] = len(seen)
        if not seen:
            return done
        try:
            if thorough or turn % every == 0:
                tapes_agree(program, seen)
            if thorough or turn % (2 * every) == 1:
                done["merged"] = merged_agrees(program, seen, turn) == "merged"
            if thorough or turn % (4 * every) == 2:
                done["oracle"] = oracle_agrees(program, seen, rng, "mpmath", exact.run)
            if thorough or turn % (4 * every) == 0:
                done["torch"] = oracle_agrees(program, seen, rng, "PyTorch", torched.run)
            if program.tame and (thorough or turn % (8 * every) == 3):
                orders_agree(program, seen)
                done["orders"] = 1
        except (*REFUSED, ArithmeticError, ValueError):  # 1.0 / 0.0 of the arguments that are not differentiated by
            done["refused"] = 1
        if thorough:
            from fuzz import machine

            done["compiled"] = machine.agrees(program, seen, rng)
        if histories and any(word in program.text for word in CHOICES):
            from fuzz import history

            done["histories"] = history.agrees(program, seen, rng)
    return done
