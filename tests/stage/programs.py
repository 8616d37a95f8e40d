"""Random programs (those of fuzz/), what eager code says of them, and what their merged tapes say.

python tests/stage/programs.py --seconds 300        # run programs until time is up; print each wrong one, shortened
"""

from __future__ import annotations

import math as standard
import random
import struct
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from fuzz.generate import NUMBERS, Program, build, generate
from fuzz.shrink import shrink

from micrograd import Value, engine, grad, math, value_and_grad
from micrograd.ops import OPS
from micrograd.stage.errors import Unsupported
from micrograd.stage.staged import flat, stage
from micrograd.tape import interpret
from micrograd.tree import NUMBER, flatten

ORDERS = ("value", "gradient", "second")


class _Math:
    """micrograd.math, and the ops that it has under another name."""

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("whole_") else getattr(math, name, None)
        if found is None:
            op = OPS.get(name.removeprefix("whole_"))
            if op is None:
                raise AttributeError(name)
            found = lambda *args: engine.apply(op, *args)  # noqa: E731
        setattr(self, name, found)
        return found


_math = _Math()


def inputs(seed: int, count: int, width: int) -> list[list[float]]:
    """Rows: random numbers, ties, zeros and now and then a nan or an infinity."""
    r = random.Random(seed + 1)
    rows = []
    for _ in range(count):
        row = [r.choice([r.gauss(0, 2), r.gauss(0, 2), r.choice(NUMBERS)]) for _ in range(width)]
        if r.random() < 0.1:
            row[r.randrange(width)] = r.choice([standard.nan, standard.inf, -standard.inf])
        rows.append(row)
    return rows


def functions(program: Program) -> dict[str, Any]:
    """What is compared: the value, the gradient, and the gradient of a sum of gradients."""
    f = build(program, _math, [Value(x) for x in program.captured], grad)
    wanted = tuple(range(program.inputs))

    def slope(*args: Any) -> Any:
        total: Any = 0.0
        for k, g in enumerate(grad(f, wanted)(*args)):
            total = total + (1.0, 2.0, -1.0)[k] * g
        return total

    return {"value": f, "gradient": value_and_grad(f, wanted), "second": grad(slope, wanted)}


def eager(f: Any, row: list[float]) -> list[float] | str:
    """The results of plain Python for one row, or the name of what it raises."""
    try:
        found: list[Any] = []
        flatten(f(*[Value(x) for x in row]), found)
        return [float(x.data if isinstance(x, Value) else x) for x in found]
    except Exception as error:
        return type(error).__name__


def staged(found: Any, row: list[float]) -> list[float] | None:
    """The results of the tape; None where its guard fails."""
    try:
        return [float(x) for x in interpret.run(found.tape, row, [v.data for v in found.captured])]
    except interpret.GuardFailed:
        return None


def equal(a: float, b: float, exact: bool) -> bool:
    """Whether two numbers are the same: to the bit, or but for rounding."""
    if a != a or b != b:
        return a != a and b != b
    if exact:
        return struct.pack("d", a) == struct.pack("d", b)
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-11


def wrong(program: Program, rows: list[list[float]], orders: Sequence[str] = ORDERS) -> tuple[str, int, int]:
    """What is wrong with the merged tapes of a program (nothing: ""), rows compared, and rows with a tape of their own."""
    compared = own = 0
    every = functions(program)
    for order in orders:
        g = every[order]
        for first in range(0, len(rows), max(1, len(rows) // 2)):
            try:
                found = stage(g, flat(("tuple", (NUMBER,) * program.inputs)), rows[first])
            except Unsupported:
                own += 1
                continue
            except Exception as error:
                if isinstance(eager(g, rows[first]), str):  # the row itself raises
                    continue
                return f"{order}: {type(error).__name__}: {error}", compared, own
            for row in rows:
                want, got = eager(g, row), staged(found, row)
                compared += 1
                if got is None:
                    own += 1
                elif isinstance(want, str):
                    return f"{order} of {row}: {got}, but eager code raises {want}", compared, own
                elif len(want) != len(got) or not all(equal(a, b, order == "value") for a, b in zip(want, got)):
                    return f"{order} of {row}: {got}, but eager code gives {want}", compared, own
    return "", compared, own


def shortened(program: Program, rows: list[list[float]], orders: Sequence[str]) -> Program:
    """A shorter program that is wrong too."""

    def fails(smaller: Program) -> bool:
        try:
            return bool(wrong(smaller, rows, orders)[0])
        except Exception:
            return False

    return shrink(program, fails)


def check_rows(f: Any, derived: str, rows: Sequence[Sequence[float]]) -> None:
    """Stage a function of two numbers, or its value and gradient, on the first row; each row must be that of eager code."""
    g = f if derived == "value" else value_and_grad(f, (0, 1))
    found = stage(g, flat(("tuple", (NUMBER, NUMBER))), rows[0])
    for row in rows:
        got, want = staged(found, row), eager(g, row)
        assert got is not None
        assert all(equal(a, b, exact=derived == "value") for a, b in zip(got, want)), (row, got, want)


def main() -> None:
    """Run programs until time is up."""
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 60.0
    seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else random.randrange(10**9)
    warnings.simplefilter("ignore")
    end = time.time() + seconds
    programs = compared = own = bad = 0
    while time.time() < end and bad < 5:
        seed += 1
        program = generate(seed)
        rows = inputs(seed, 8, program.inputs)
        try:
            what, c, o = wrong(program, rows)
        except RecursionError:
            continue
        programs, compared, own = programs + 1, compared + c, own + o
        if what:
            bad += 1
            order = what.split(":")[0].split(" ")[0]
            shorter = shortened(program, rows, (order,))
            print(f"--- seed {seed}: {wrong(shorter, rows, (order,))[0]}\n{shorter.text}\n", flush=True)
    print(f"{programs} programs, {compared} rows compared, {own} rows or tapes on their own, {bad} wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
