"""Results depend on the row alone: not on the order of rows, on batches, on earlier calls, or on the row that came first.

Bits are compared, in the default mode, in which machine code may round otherwise than eager code. So two variants that hold for
one row are seen as soon as history decides which of them takes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fuzz.check import REFUSED, Failure, Seen, function, plain, same
from fuzz.generate import Program
from fuzz.inputs import points as choose
from twins import C

ROWS = 24  # in each history; most of them plain
HISTORIES = 3


def agrees(program: Program, seen: list[Seen], rng: random.Random) -> int:
    """Raise Failure where a result depends on history; else how many of the ways were not refused."""
    rows = [point.xs for point in seen] + _more(program, rng, ROWS - len(seen))
    ways: list[Callable[[], None]] = [
        lambda: tapes_agree(program, rows, rng),
        lambda: batches_agree(program, rows, rng, False),
        lambda: batches_agree(program, rows, rng, True),
        lambda: sums_agree(program, rows, rng),
        lambda: points_agree(program, rows, rng),
    ]
    done = 0
    for way in ways:
        try:
            way()
            done += 1
        except (*REFUSED, ArithmeticError, IndexError, TypeError, ValueError):  # of a row, as eager code raises it
            continue
    return done


def _more(program: Program, rng: random.Random, count: int) -> list[list[float]]:
    """More rows on which eager code raises nothing."""
    f, _ = function(program)
    found = []
    for xs in choose(program, rng, count):
        try:
            f(*map(C.Value, xs))
        except Exception:
            continue
        found.append(xs)
    return found


def _shuffled(rows: list[Any], rng: random.Random) -> list[int]:
    return rng.sample(range(len(rows)), len(rows))


def _batches(order: list[int], rng: random.Random) -> Iterator[list[int]]:
    """An order of rows in parts of random sizes: many of one row, some large."""
    while order:
        size = min(len(order), rng.choice((1, 1, 2, 3, 7, 20)))
        yield order[:size]
        order = order[size:]


def tapes_agree(program: Program, rows: list[list[float]], rng: random.Random) -> None:
    """Staging does not look at the numbers of a row: its tapes have the same text whichever row they are made on."""
    from micrograd import value_and_grad
    from micrograd.stage.errors import Unsupported
    from micrograd.stage.limits import Limits
    from micrograd.stage.staged import flat, stage
    from micrograd.tree import NUMBER

    f, _ = function(program)
    shape = ("tuple", (NUMBER,) * program.inputs)
    for g in (f, value_and_grad(f, tuple(range(program.inputs)))):
        for limits in (Limits(), Limits(level=1), Limits(2, 40, 1000, 0, 10_000)):
            texts = {}
            for xs in rng.sample(rows, min(4, len(rows))):
                try:
                    texts[str(stage(g, flat(shape), xs, limits=limits).tape)] = xs
                except (Unsupported, Exception) as reason:
                    texts[f"{type(reason).__name__}: {reason}"] = xs
            if len(texts) > 1:
                raise Failure(f"staging depends on the row: {[*texts.values()]}")


def batches_agree(program: Program, rows: list[list[float]], rng: random.Random, slopes: bool) -> None:
    """Rows of vmap, or value and gradient of each, in histories of batches."""
    from micrograd import no_grad, value_and_grad, vmap

    f, _ = function(program)
    g = value_and_grad(f, tuple(range(program.inputs))) if slopes else f
    table = np.array(rows, dtype=float)

    def run(h: Any, index: list[int]) -> Any:
        with no_grad():
            y = h(*table[index].T)
        columns = [y[0], *y[1]] if slopes else [y]
        return np.array([np.asarray(c, dtype=float) for c in columns]).T

    whole = run(vmap(g), list(range(len(rows))))
    for _ in range(HISTORIES):
        h, got = vmap(g), np.empty_like(whole)
        order = _shuffled(rows, rng)
        for index in _batches(order, rng):
            got[index] = run(h, index)
        for k, xs in enumerate(rows):
            same(f"the row {xs} in batches, first row {rows[order[0]]},", got[k].tolist(), whole[k].tolist())


def sums_agree(program: Program, rows: list[list[float]], rng: random.Random) -> None:
    """A sum over rows, with its gradients by captured Values, afresh and after other batches."""
    from micrograd import vmap

    f, captured = function(program)
    table = np.repeat(np.array(rows, dtype=float), 3, axis=0)

    def run(h: Any) -> list[float]:
        for v in captured:
            v.grad = 0.0
        y = h(*table.T)
        if isinstance(y, C.Value):
            y.backward()
        return [plain(y), *(v.grad for v in captured)]

    afresh = run(vmap(f, reduce="sum"))
    for _ in range(HISTORIES):
        h = vmap(f, reduce="sum")
        order = _shuffled(rows, rng)
        for index in _batches(order[: len(order) // 2], rng):
            h(*np.array([rows[i] for i in index]).T)
        same(f"the sum of rows after others, first row {rows[order[0]]},", run(h), afresh)


@contextmanager
def _interpreted() -> Iterator[None]:
    """Nothing is compiled in the background, so that all calls are interpreted."""
    from micrograd.compile.point import PointVariant

    before = PointVariant.compile_later
    PointVariant.compile_later = lambda *_: None  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        PointVariant.compile_later = before  # type: ignore[method-assign]


def points_agree(program: Program, rows: list[list[float]], rng: random.Random) -> None:
    """Points of jit in several orders, with calls on Values in between; compiled, and interpreted."""
    from micrograd import jit, no_grad, value_and_grad

    inputs = tuple(range(program.inputs))
    some = rows[:10]

    def run(order: list[int], wait: bool) -> list[Any]:
        f, _ = function(program)
        h, straight = jit(value_and_grad(f, inputs), wait=wait), jit(f, wait=wait)
        found: list[Any] = [None] * len(some)
        for k in order:
            if rng.random() < 0.3:  # along one path
                with no_grad():
                    straight(*map(C.Value, some[k]))
            y, slopes = h(*some[k])
            with no_grad():
                found[k] = [plain(x) for x in (y, *slopes, straight(*some[k]))]
        return found

    for wait in (True, False):
        with _interpreted():
            afresh = run(list(range(len(some))), wait)
            for _ in range(2):
                order = _shuffled(some, rng)
                again = run(order, wait)
                for k, xs in enumerate(some):
                    how = "compiled" if wait else "interpreted"
                    same(f"{how} at {xs} after other points, first {some[order[0]]},", again[k], afresh[k])
