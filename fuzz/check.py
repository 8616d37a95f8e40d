"""Run a program in every way, and compare: to the bit where bits are promised, else within a bound that its own noise gives."""

from __future__ import annotations

import math
import random
import struct
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fuzz.duals import Dual, Math, Run, grad_of, number
from fuzz.generate import Program, build
from micrograd.errors import CompileError, TraceError
from twins import PYTHON, C, in_place

REFUSED = (TraceError, CompileError)
SAMPLES = 3  # noisy runs
NOISE = 4.0  # units in the last place, for each step
ROOM = 32.0  # times the spread of the noisy runs


class Failure(Exception):
    """Two ways of running a program that disagree."""


class Bound(NamedTuple):
    """What an independent run gives, and how far off another may be; room is nan where the path is uncertain."""

    value: float
    slopes: list[float]
    room: float
    rooms: list[float]


class Namespace:
    """micrograd.math of one twin; whole_floor is the op itself, which gives a float for a number too."""

    def __init__(self, twin: Any) -> None:
        self.twin = twin

    def __getattr__(self, name: str) -> Any:
        if name.startswith("whole_"):
            op = self.twin.ops.OPS[name[6:]]
            return lambda x: self.twin.engine.apply(op, x)
        found = getattr(self.twin.math, name)
        setattr(self, name, found)
        return found


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


# ---- the independent run


def _dual(program: Program, xs: Sequence[float], by: int, seed: int, ulps: float) -> tuple[float, float, Run]:
    run = Run(seed, ulps)
    captured = [Dual(x, 0.0, run) for x in program.captured]
    leaves = [Dual(x, float(i == by), run) for i, x in enumerate(xs)]
    x, t = number(build(program, Math(), captured, grad_of(run))(*leaves))
    return x, t, run


def bound(program: Program, xs: Sequence[float], ulps: float = NOISE) -> Bound:
    """Value and gradient by dual numbers, and what noise of so many ulps does to them."""
    slopes, rooms, values = [], [], []
    certain = True
    for i in range(len(xs)):
        _, t, plain = _dual(program, xs, i, 0, 0.0)
        value = _
        found = [_dual(program, xs, i, 1 + k, ulps) for k in range(SAMPLES)]
        certain = certain and all(r.path == plain.path and r.jumps == plain.jumps for *_, r in found)
        spread = max(abs(s - t) for _, s, _ in found)
        slopes.append(t)
        rooms.append(ROOM * spread + 1e-13 * abs(t))
        values += [v for v, *_ in found]
        if not math.isfinite(plain.largest) or plain.largest > 1e100:
            certain = False
    room = ROOM * max(abs(v - value) for v in values) + 1e-13 * abs(value)
    if not certain:
        return Bound(value, slopes, math.nan, [math.nan] * len(xs))
    return Bound(value, slopes, room, rooms)


# ---- the ways


def eager(program: Program, xs: Sequence[float], twin: Any) -> tuple[float, list[float]]:
    """Value and gradients (by the arguments, then by the captured Values) of one twin."""
    with in_place(twin):
        from micrograd import grad

        captured = [twin.Value(x) for x in program.captured]
        leaves = [twin.Value(x) for x in xs]
        y = build(program, Namespace(twin), captured, grad)(*leaves)
        if not isinstance(y, twin.Value):
            return float(y), [0.0] * (len(leaves) + len(captured))
        y.backward()
        return y.data, [v.grad for v in (*leaves, *captured)]


def twins_agree(program: Program, points: list[list[float]]) -> list[tuple[float, list[float]]]:
    """Both engines, to the bit; and both with dual numbers."""
    found = []
    for xs in points:
        y, grads = eager(program, xs, C)
        y_pure, grads_pure = eager(program, xs, PYTHON)
        same(f"the twins at {xs}", [y, *grads], [y_pure, *grads_pure])
        b = bound(program, xs)
        near(f"eager value at {xs}", y, b.value, b.room)
        for i, (g, want, room) in enumerate(zip(grads, b.slopes, b.rooms)):
            near(f"eager gradient by x{i} at {xs}", g, want, room)
        found.append((y, grads))
    return found


def _function(program: Program) -> tuple[Any, list[Any]]:
    from micrograd import grad

    captured = [C.Value(x) for x in program.captured]
    return build(program, Namespace(C), captured, grad), captured


def _by_backward(f: Any, xs: Sequence[float], captured: list[Any]) -> tuple[float, list[float]]:
    leaves = [C.Value(x) for x in xs]
    for v in captured:
        v.grad = 0.0
    y = f(*leaves)
    if isinstance(y, C.Value):
        y.backward()
    return float(y.data if isinstance(y, C.Value) else y), [v.grad for v in (*leaves, *captured)]


def jit_agrees(program: Program, points: list[list[float]], wanted: list[tuple[float, list[float]]]) -> None:
    """exact=True to the bit, with derivatives; otherwise within the bound, and the same whatever was called before."""
    from micrograd import jit, value_and_grad

    f, captured = _function(program)
    exact = jit(f, exact=True, wait=True)
    for xs, (y, grads) in zip(points, wanted):
        got, slopes = _by_backward(exact, xs, captured)
        same(f"jit(exact=True) at {xs}", [got, *slopes], [y, *grads])
    inputs = tuple(range(program.inputs))

    def flat(g: Any, xs: Sequence[float]) -> list[float]:
        y, slopes = g(*xs)
        return [float(getattr(x, "data", x)) for x in (y, *slopes)]

    shared = jit(value_and_grad(f, inputs), wait=True)
    for xs, (y, grads) in zip(points, wanted):
        b = bound(program, xs)
        got = flat(shared, xs)
        near(f"jit value at {xs}", got[0], y, b.room)
        for i, room in enumerate(b.rooms):
            near(f"jit gradient by x{i} at {xs}", got[1 + i], grads[i], room)
    for xs in points:
        again = _function(program)[0]
        same(
            f"jit at {xs} after other calls, and afresh",
            flat(shared, xs),
            flat(jit(value_and_grad(again, inputs), wait=True), xs),
        )


def vmap_agrees(
    program: Program, points: list[list[float]], wanted: list[tuple[float, list[float]]], rng: random.Random
) -> None:
    """Rows as eager code has them, whatever their order, the first of them, and the number of threads."""
    from micrograd import no_grad, vmap

    f, _ = _function(program)
    rows = [list(p) for p in points]
    order = list(range(len(rows)))
    rng.shuffle(order)

    def run(g: Any, chosen: list[list[float]]) -> list[float]:
        with no_grad():
            return [float(x) for x in np.asarray(g(*np.array(chosen, dtype=float).T))]

    exact = run(vmap(f, exact=True), rows)
    same("rows with exact=True", exact, [y for y, _ in wanted])
    plain = run(vmap(f), rows)
    for xs, (y, _), got in zip(points, wanted, plain):
        near(f"row {xs}", got, y, bound(program, xs).room)
    same(
        "rows in another order",
        [run(vmap(f), [rows[i] for i in order])[order.index(k)] for k in range(len(rows))],
        plain,
    )
    for threads in (1, 2, 7):
        many = rows * 3
        same(f"{threads} threads", run(vmap(f, threads=threads), many), plain * 3)
    single = run(vmap(f, float32=True), rows)
    for xs, (y, _), got in zip(points, wanted, single):
        rounded = [float(np.float32(x)) for x in xs]
        if rounded == xs and abs(y) < 1e30:
            near(f"float32 row {xs}", got, y, 4 * bound(program, xs, NOISE * 2**29).room + 1e-4 * abs(y))


def orders_agree(program: Program, points: list[list[float]]) -> None:
    """Derivatives by x0 up to order 4 on both engines, to the bit, and compiled; the second also by nested dual numbers."""
    from micrograd import jit

    for xs in points[:2]:
        nested: list[list[float]] = []
        for twin in (C, PYTHON):
            with in_place(twin):
                from micrograd import grad

                f = build(program, Namespace(twin), [twin.Value(x) for x in program.captured], grad)
                found = []
                for _ in range(4):
                    f = grad(f)
                    y = f(*xs)
                    found.append(float(getattr(y, "data", y)))
                nested.append(found)
        same(f"derivatives up to order 4 at {xs}", nested[0], nested[1])
        f, _ = _function(program)
        from micrograd import grad

        second = jit(grad(grad(f)), exact=True, wait=True)(*xs)
        values = []
        for k in range(1 + SAMPLES):
            run = Run(k, NOISE if k else 0.0)
            d = grad_of(run)
            inner = build(program, Math(), [Dual(x, 0.0, run) for x in program.captured], d)
            rest = xs[1:]
            values.append(
                (number(d(d(lambda t, g=inner, r=rest: g(t, *r)))(xs[0]))[0], run.path, run.jumps, run.largest)
            )
        certain = all(v[1:3] == values[0][1:3] for v in values) and values[0][3] < 1e100
        spread = max(abs(v[0] - values[0][0]) for v in values)
        room = ROOM * spread + 1e-12 * abs(values[0][0]) if certain else math.nan
        near(f"second derivative at {xs}", nested[0][1], values[0][0], room)
        near(f"compiled second derivative at {xs}", float(getattr(second, "data", second)), nested[0][1], room)


def check(program: Program, rng: random.Random, thorough: bool, count: int = 6) -> str:
    """Raise Failure where two ways disagree; else say how far it went: 'eager', 'compiled', 'refused' or 'invalid'."""
    from fuzz.inputs import points as choose

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = choose(program, rng, count)
        try:
            wanted = twins_agree(program, points)
        except ArithmeticError:
            return "invalid"  # plain numbers among themselves: 1.0 / 0.0 raises before micrograd sees it
        if not thorough:
            return "eager"
        ways: list[Callable[[], None]] = [
            lambda: jit_agrees(program, points, wanted), lambda: vmap_agrees(program, points, wanted, rng),
        ]  # fmt: skip
        if program.tame:
            ways.append(lambda: orders_agree(program, points))
        refused = 0
        for way in ways:
            try:
                way()
            except REFUSED:
                refused += 1
        return "refused" if refused == len(ways) else "compiled"
