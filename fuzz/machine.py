"""Machine code of a program, in every mode: exact, default and fast arithmetic, before and after it is ready, rows, threads."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.check import NOISE, REFUSED, SAMPLES, Seen, bound, function, near, plain, same, second_by_duals, unit, within
from fuzz.generate import Program
from twins import C


def agrees(program: Program, seen: list[Seen], rng: random.Random) -> int:
    """Raise Failure where machine code disagrees; else how many of the ways were not refused."""
    ways: list[Callable[[], None]] = [
        lambda: jit_agrees(program, seen), lambda: modes_agree(program, seen), lambda: vmap_agrees(program, seen, rng),
    ]  # fmt: skip
    if program.tame:
        ways.append(lambda: orders_agree(program, seen))
    done = 0
    for way in ways:
        try:
            way()
            done += 1
        except (*REFUSED, ArithmeticError, ValueError):  # 1.0 / 0.0 of plain numbers
            continue
    return done


def _by_backward(f: Any, xs: Sequence[float], captured: list[Any]) -> list[float]:
    leaves = [C.Value(x) for x in xs]
    for v in captured:
        v.grad = 0.0
    y = f(*leaves)
    if isinstance(y, C.Value):
        y.backward()
    return [plain(y), *(v.grad for v in (*leaves, *captured))]


def _flat(g: Any, xs: Sequence[float]) -> list[float]:
    y, slopes = g(*xs)
    return [plain(x) for x in (y, *slopes)]


def _within(what: str, program: Program, point: Seen, got: Sequence[float]) -> None:
    """Value and gradient, as closely as rounding allows."""
    for i in range(program.inputs):
        both = (got[0], got[1 + i]), (point.y, point.grads[i])
        within(f"by {what}, by x{i}", program, point.xs, unit(i, program.inputs), *both)


def jit_agrees(program: Program, seen: list[Seen]) -> None:
    """exact=True to the bit, with derivatives; otherwise within the bound, and the same whatever was called before."""
    from micrograd import jit, value_and_grad

    f, captured = function(program)
    exact = jit(f, exact=True, wait=True)
    for point in seen:
        same(f"jit(exact=True) at {point.xs}", _by_backward(exact, point.xs, captured), point.all)
    inputs = tuple(range(program.inputs))
    shared = jit(value_and_grad(f, inputs), wait=True)
    for point in seen:
        _within("jit", program, point, _flat(shared, point.xs))
    for point in seen:
        afresh = jit(value_and_grad(function(program)[0], inputs), wait=True)
        same(f"jit at {point.xs} after other calls, and afresh", _flat(shared, point.xs), _flat(afresh, point.xs))


def _until_ready() -> None:
    """Wait for what is compiled in the background."""
    from micrograd.compile import worker

    done = threading.Event()
    worker.in_background(done.set)
    done.wait()


def modes_agree(program: Program, seen: list[Seen]) -> None:
    """wait=False, before and after the code is ready, exact and not; fastmath where everything on the way is ordinary."""
    from micrograd import jit, value_and_grad

    f, _ = function(program)
    inputs = tuple(range(program.inputs))
    exact, later = jit(value_and_grad(f, inputs), exact=True), jit(value_and_grad(f, inputs))
    for turn in ("first", "ready"):
        for point in seen:
            want = _flat(value_and_grad(f, inputs), point.xs)
            same(f"jit(exact=True), {turn} calls, at {point.xs}", _flat(exact, point.xs), want)
            _within(f"jit, {turn} calls,", program, point, _flat(later, point.xs))
        _until_ready()
    fast = jit(value_and_grad(f, inputs), fastmath=True, wait=True)
    for point in seen:
        if all(math.isfinite(x) and x != 0.0 for x in point.xs):
            got = _flat(fast, point.xs)
            both = got[:2], (point.y, point.grads[0])
            within("by fastmath", program, point.xs, unit(0, program.inputs), *both, ulps=64 * NOISE)


def vmap_agrees(program: Program, seen: list[Seen], rng: random.Random) -> None:
    """Rows as eager code has them, whatever their order, the first of them, and the number of threads."""
    from micrograd import no_grad, value_and_grad, vmap

    f, _ = function(program)
    rows = [list(point.xs) for point in seen]
    order = list(range(len(rows)))
    rng.shuffle(order)

    def run(g: Any, chosen: list[list[float]]) -> list[float]:
        with no_grad():
            return [float(x) for x in np.asarray(g(*np.array(chosen, dtype=float).T))]

    same("rows with exact=True", run(vmap(f, exact=True), rows), [point.y for point in seen])
    ordered = run(vmap(f), rows)
    for point, got in zip(seen, ordered):
        within("of a row", program, point.xs, unit(0, program.inputs), (got, 0.0), (point.y, 0.0))
    for first in range(len(rows)):  # every row is the first one once
        turned = [*order[first:], *order[:first]]
        got = run(vmap(f), [rows[i] for i in turned])
        same("rows in another order", [got[turned.index(k)] for k in range(len(rows))], ordered)
    for threads in (1, 2, 7):
        same(f"{threads} threads", run(vmap(f, threads=threads), rows * 3), ordered * 3)
    both = value_and_grad(f, tuple(range(program.inputs)))
    slopes = run(vmap(lambda *xs: both(*xs)[1][-1], exact=True), rows)
    same("gradients of rows with exact=True", slopes, [_flat(both, xs)[-1] for xs in rows])
    single = run(vmap(f, float32=True), rows)
    for point, got in zip(seen, single):
        if [float(np.float32(x)) for x in point.xs] == point.xs and abs(point.y) < 1e30:
            b = bound(program, point.xs, unit(0, program.inputs), NOISE * 2**29, 8 * SAMPLES)
            room = 4 * b.room + 1e-4 * abs(point.y)
            near(f"float32 row {point.xs}", got, point.y, room)


def orders_agree(program: Program, seen: list[Seen]) -> None:
    """Derivatives of orders 2, 3 and 4 by x0: exact machine code to the bit, the default within what rounding may do."""
    from micrograd import grad, jit

    point = seen[0]
    g: Any = grad(function(program)[0])
    for order in (2, 3, 4):
        g = grad(g)
        want = plain(
            g(*map(C.Value, point.xs))
        )  # plain numbers are constants there, and sums of theirs are added up otherwise
        same(
            f"jit(exact=True) of order {order} at {point.xs}", [plain(jit(g, exact=True, wait=True)(*point.xs))], [want]
        )
        if order == 2:
            room = second_by_duals(program, point.xs)[1]
            near(f"jit of order 2 at {point.xs}", plain(jit(g, wait=True)(*point.xs)), want, room)
