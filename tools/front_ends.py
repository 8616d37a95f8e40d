"""Compare the two ways in which functions become tapes for rows: the stage, and the abstract interpreter.

    python tools/front_ends.py [part of a name]

For each program of the tests: whether both follow it, whether the numbers of all rows are the same to the bit, and by which
factors the second tape is larger, and runs more instructions with all iterations of its loops, value and gradient.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "abstract"), str(TESTS / "stage")]

from test_programs_of_stage import CASES  # noqa: E402

from micrograd import value_and_grad  # noqa: E402
from micrograd.abstract import Refused  # noqa: E402
from micrograd.stage.errors import Unsupported  # noqa: E402
from micrograd.stage.staged import stage  # noqa: E402
from micrograd.stage.typed_rows import trace_rows  # noqa: E402
from micrograd.tape import interpret  # noqa: E402
from micrograd.tape.trace import Trace, peek  # noqa: E402

MOST = 300_000  # instructions that a row may take
FACTOR = 1.2  # from which on a tape is listed


def staged(way: Any) -> tuple[Trace | None, str, float]:
    """The trace, or why there is none; and how long it took."""
    begin = time.process_time()
    try:
        return way(), "", time.process_time() - begin
    except (Refused, Unsupported, Exception) as why:
        return None, str(why).split("\n")[0], time.process_time() - begin


def run(found: Trace, row: list[float]) -> tuple[str, int] | None:
    """The bits of the numbers of a row, and how many instructions that takes; None where the guard rejects it."""
    try:
        numbers, count = interpret.counted(lambda: interpret.run(found.tape, row, peek(found.captured)), MOST)
    except interpret.GuardFailed:
        return None
    return " ".join(float(x).hex() for x in numbers), count + len(found.tape)


def compare(function: Any, rows: list[Any]) -> dict[str, Any]:
    """What is different."""
    first = [float(x) for x in rows[0]]
    old, why_old, seconds_old = staged(lambda: stage(function, lambda xs: (tuple(xs), {}), first))
    new, why_new, seconds_new = staged(lambda: trace_rows(function, lambda xs: (tuple(xs), {}), first, True))
    found: dict[str, Any] = {"old": why_old, "new": why_new, "seconds": seconds_new / max(seconds_old, 1e-3)}
    if old is None or new is None:
        return found
    found["size"] = (new.tape.size() + 5) / (old.tape.size() + 5)
    work = [0, 0]
    for row in rows:
        try:
            pair = run(old, list(row)), run(new, list(row))
        except interpret.TooLong:
            continue
        if pair[0] is None or pair[1] is None:
            continue
        found["differs"] = found.get("differs", False) or pair[0][0] != pair[1][0]
        work = [work[0] + pair[0][1], work[1] + pair[1][1]]
    found["work"] = (work[1] + 5) / (work[0] + 5)
    return found


def main() -> None:
    """Compare all programs, and print the sums and what is worse."""
    warnings.simplefilter("ignore")
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    every: dict[str, dict[str, Any]] = {}
    for name, (function, rows) in CASES.items():
        if part in name:
            every[name] = compare(function, rows)
            gradient = value_and_grad(function, tuple(range(len(rows[0]))))
            every[f"{name} (gradient)"] = compare(gradient, rows)
    both = {name: found for name, found in every.items() if "size" in found}
    print(f"{len(every)} programs, {len(both)} in both ways")
    for name, found in every.items():
        if bool(found["old"]) != bool(found["new"]):
            print(f"only by the {'stage' if found['new'] else 'interpreter'}: {name}: {found['new'] or found['old']}")
        elif found.get("differs"):
            print(f"other numbers: {name}")
    for what in ("size", "work", "seconds"):
        values = sorted(found[what] for found in both.values())
        print(f"{what}: median {values[len(values) // 2]:.2f}, {sum(v > FACTOR for v in values)} of more than {FACTOR}")
        for name, found in sorted(both.items(), key=lambda item: -item[1][what])[:20]:
            if found[what] > FACTOR:
                print(f"  {found[what]:8.2f} {name}")


if __name__ == "__main__":
    main()
