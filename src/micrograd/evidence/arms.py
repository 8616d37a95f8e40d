"""Which rows a merged tape is compared on: those that take arms which others do not.

A merged tape is compared with plain runs of the function before it is first used. For that, rows are wanted from every arm that
occurs, and an arm may be taken by one row in a hundred thousand. So the tape is run on columns, with NumPy, as far as a budget
allows. The numbers may differ from those of the tape in the last bits: they choose rows, and decide nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.tape import interpret
from micrograd.tape.interpret import COPIED, TooLong, work
from micrograd.tape.passes import prune
from micrograd.tape.tape import (
    CONST,
    INPUT,
    LOAD,
    PARAM,
    PICK,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Structural,
    Tape,
)
from micrograd.tape.trace import Trace, peek

BUDGET = 20_000_000  # operations on one number each: some 50 ms
LONGEST = (
    78_000  # operations that a row counts for at most when the number of rows is chosen; the budget ends longer runs
)
SLOW = 100  # such operations that one takes that NumPy does not have
OVERHEAD = 300  # numbers that a column could have more in the time that NumPy takes to begin an operation
ROWS = 64  # rows that are chosen at most
RENAMED = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power", "neg": "negative", "abs": "absolute",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "round": "rint",
}  # fmt: skip
SAME = ["add", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "log1p", "expm1",
        "log2", "log10", "exp2", "cbrt", "sign", "hypot"]  # fmt: skip
NAMES = RENAMED | dict(zip(SAME, SAME))  # op → NumPy's function

CANDIDATES = 64  # rows that are looked at, of which those are checked that take an arm that none before them took
CHECKED = 12
# How many instructions of the merged tape are interpreted to look at rows (a million take 0.4 s), and to check them (a plain
# run of the function takes five times as long); how many a row may take, and up to how many it is looked at before others.
LOOKED, WORK, ROW, SHORT = 1_000_000, 400_000, 200_000, 10_000


@dataclass(frozen=True)
class Others:
    """More rows to compare a merged tape on."""

    rows: Callable[[], list[list[float]]] = list  # a few of them
    columns: Callable[[int], list[Any]] | None = None  # the numbers of so many of them at most: arrays, or floats


NONE = Others()


def rare(found: Trace, others: Others, budget: int = 0) -> list[list[float]]:
    """Rows such that every outcome of a condition that occurs in a row which was looked at occurs in one of them."""
    if others.columns is None:
        return []
    budget = budget or BUDGET
    values = [o for k, o in enumerate(found.tape.outputs) if k not in found.derivatives]
    tape = prune(found.tape.copy(outputs=tuple(values or found.tape.outputs), guards=()))
    columns = others.columns(max(budget // LONGEST, budget // max(1, work(tape))))
    count = max([len(c) for c in columns if not isinstance(c, float)], default=0)
    if count == 0:
        return []
    import numpy as np

    survey = _Survey(np, count, budget)
    with np.errstate(all="ignore"), contextlib.suppress(TooLong):  # what was seen until then is used
        survey.run(tape, columns, peek(found.captured), np.ones(count, bool))
    return [[c if isinstance(c, float) else float(c[r]) for c in columns] for r in survey.chosen]


class _Survey:
    """A run of a tape on columns, which chooses rows."""

    def __init__(self, np: Any, count: int, budget: int = 0) -> None:
        self.np, self.count, self.left = np, count, budget or BUDGET
        self.chosen: list[int] = []

    def spend(self, operations: int) -> None:
        self.left -= operations * (self.count + OVERHEAD)
        if self.left < 0:
            raise TooLong

    def decide(self, condition: Any, alive: Any) -> Any:
        """A condition by row. A row is chosen for each outcome that no row has which was chosen before."""
        holds = self.np.not_equal(condition, 0.0)
        for rows in (alive & holds, alive & ~holds):
            if len(self.chosen) < ROWS and not rows[self.chosen].any() and rows.any():
                self.chosen.append(int(rows.argmax()))
        return holds

    def run(self, tape: Tape, inputs: list[Any], params: list[Any], alive: Any) -> list[Any]:
        """The outputs of a tape, for the rows that are alive."""
        values: list[Any] = []
        for op, args in zip(tape.ops, tape.args):
            if op is CONST:
                values.append(args[0])
            elif op is INPUT or op is PARAM:
                values.append((inputs if op is INPUT else params)[args[0]])
            else:
                given = [values[a] for a in args]
                self.spend(1)
                if op.llvm == "select":
                    values.append(self.where(self.decide(given[0], alive), given[1], given[2]))
                elif isinstance(op, Structural):
                    values.append(self.structural(op, given, alive))
                else:
                    values.append(self.operate(op, given))
        return [values[o] for o in tape.outputs]

    def where(self, holds: Any, a: Any, b: Any) -> Any:
        if a is b or holds.all():
            return a
        if isinstance(a, list):
            self.spend(len(a))
            return [self.where(holds, x, y) for x, y in zip(a, b)]
        return self.np.where(holds, a, b)

    def operate(self, op: Any, given: list[Any]) -> Any:
        if op.arity >= 0 and op.name in NAMES:
            return self.np.multiply(getattr(self.np, NAMES[op.name])(*given), 1.0)
        self.spend(SLOW)

        def one(xs: Sequence[float]) -> float:
            return float(engine.apply(op, list(xs)) if op.arity < 0 else engine.apply(op, *xs))

        if not any(self.np.ndim(x) for x in given):
            return one([float(x) for x in given])
        # Row by row: NumPy's functions of many arguments end at 32 or 64 of them, and an op may have more operands.
        return self.np.array([*map(one, zip(*(self.np.broadcast_to(x, self.count).tolist() for x in given)))])

    def structural(self, op: Structural, given: list[Any], alive: Any) -> Any:
        if isinstance(op, Projection):
            first = given[0]
            return [*first, *[0.0] * (op.number - len(first))] if op.name == "pad" else first[op.number]
        if op is STACK:
            return given
        if isinstance(op, Choose):
            holds = self.decide(given[0], alive)
            then = self.run(op.then, given[1:], [], alive & holds)
            return [
                self.where(holds, a, b) for a, b in zip(then, self.run(op.otherwise, given[1:], [], alive & ~holds))
            ]
        if isinstance(op, Loop):
            return self.loop(op, given, alive)
        array, index = given[0], given[1]
        if array and isinstance(array[0], list):
            raise TooLong
        at = self.np.clip(self.np.nan_to_num(index), 0, len(array) - 1).astype(int)
        if at.ndim == 0:
            k = int(at)
            if op is LOAD:
                return array[k]
            self.spend(len(array) // COPIED)
            return [*array[:k], given[2] if op is STORE else array[k] + given[2], *array[k + 1 :]]
        self.spend(len(array))
        if op is LOAD:
            return self.np.stack([self.np.broadcast_to(x, self.count) for x in array])[at, self.np.arange(self.count)]
        changed = [given[2] if op is STORE else x + given[2] for x in array]
        return [self.np.where(at == k, y, x) for k, (x, y) in enumerate(zip(array, changed))]

    def loop(self, op: Loop, given: list[Any], alive: Any) -> list[Any]:
        def goes_on(inputs: list[Any]) -> bool:
            nonlocal alive
            if op.condition is not None:
                alive = alive & self.np.not_equal(self.run(op.condition, inputs, [], alive)[0], 0.0)
            return op.condition is None or bool(alive.any())

        def iteration(inputs: list[Any]) -> list[Any]:
            returned = self.run(op.body, inputs, [], alive)
            kept = [self.where(alive, new, old) for new, old in zip(returned[: op.carried], inputs)]
            return [*kept, *returned[op.carried :]]

        return op.run(given, goes_on, iteration)


def various(tape: Tape, captured: list[Value], rows: list[list[float]]) -> list[list[float]]:
    """Some rows, and those that take arms that none before them took. Rows that take long come last, if at all."""
    conditions = sorted({args[0] for op, args in zip(tape.ops, tape.args) if op is PICK})
    looking = prune(tape.copy(outputs=conditions, guards=()))
    params = peek(captured)
    count = max(2, min(CANDIDATES, LOOKED // max(1, len(looking))))
    step = max(1, len(rows) // count)
    waiting = rows[::step][:count]
    seen: set[tuple[int, bool]] = set()
    chosen: list[list[float]] = []
    left = LOOKED
    for most in (SHORT, ROW):
        long = []
        for row in waiting:
            if len(chosen) == CHECKED or left <= 0:
                return chosen
            try:
                found, took = interpret.counted(partial(interpret.run, looking, row, params), most)
            except interpret.TooLong:
                left -= most
                long.append(row)
                continue
            left -= took
            taken = {(k, bool(c)) for k, c in enumerate(found)}
            if not taken <= seen or (most == SHORT and len(chosen) < CHECKED // 2):  # loops differ where no choice does
                seen |= taken
                chosen.append(row)
        waiting = long
    return chosen
