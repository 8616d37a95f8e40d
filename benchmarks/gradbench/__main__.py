"""Time GradBench's evals: plain Python compiled by micrograd, beside C written by hand, JAX and PyTorch.

    python -m benchmarks.gradbench                          all evals, at a small, a middle and GradBench's largest size
    python -m benchmarks.gradbench lse gmm                  two of them
    python -m benchmarks.gradbench lse --size 100000        one size; several numbers are written 64x100
    python -m benchmarks.gradbench det --function gradient --only micrograd,C --seconds 300 --memory 8

Each function runs in a process of its own on one core. A contender that has no result within --seconds of processor time, or
needs more than --memory GB, is printed with that limit, and not tried with larger sizes. JAX and PyTorch are left out where
they are not installed. Every result is compared with that of the C, and the command ends with 1 where one is wrong.
`make bench-gradbench` also writes benchmarks/results/gradbench.md and .json.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .contenders import ALL, has, installed
from .evals import EVALS, Eval, Size
from .session import Limits, Outcome, compare
from .table import Entry, lines, markdown, write

RESULTS = Path(__file__).resolve().parents[1] / "results"
STEPS = ("small", "middle", "largest")


def parse(text: str) -> Size:
    """Return the numbers of a size: "64x100" or "64,100"."""
    return tuple(int(n.replace("_", "")) for n in text.replace(",", "x").split("x") if n)


def sizes(e: Eval, given: list[Size], steps: list[str]) -> list[Size]:
    """Return the sizes to time; complain about one that does not fit the eval."""
    for size in given:
        if len(size) not in (len(e.parameters), len(e.smallest)):
            raise SystemExit(
                f"{e.name} has a size of {len(e.parameters)} numbers ({', '.join(e.parameters)}), not {len(size)}"
            )
    return given or [size for size, step in zip(e.sizes, STEPS) if step in steps]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradbench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evals", nargs="*", metavar="EVAL", help=", ".join(EVALS))
    parser.add_argument(
        "--size", action="append", type=parse, default=[], help="a size of your own; may be given again"
    )
    parser.add_argument("--steps", default=",".join(STEPS), help="which sizes of the table: small, middle, largest")
    parser.add_argument("--function", help="one function, such as gradient")
    parser.add_argument("--only", default=",".join(ALL), help=f"who is timed: {', '.join(ALL)}")
    parser.add_argument("--rounds", type=int, default=7, help="times that everybody is timed in turns")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="for the first call")
    parser.add_argument("--memory", type=float, default=Limits.gigabytes, help="in GB")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/gradbench.md and .json")
    given = parser.parse_args()
    unknown = [name for name in given.evals if name not in EVALS]
    if unknown:
        parser.error(f"there is no eval {', '.join(unknown)}, only {', '.join(EVALS)}")
    wanted = [c for c in installed() if c in given.only.split(",")]
    limits, entries, status = Limits(given.seconds, given.memory), [], 0
    over: dict[tuple[str, str, str], str] = {}  # who went over a limit with a function, at which size
    for name in given.evals or EVALS:
        e = EVALS[name]
        functions = [f for f in e.functions if given.function in (None, f)]
        if not functions:
            parser.error(f"{name} has no function {given.function}, only {', '.join(e.functions)}")
        for size in sizes(e, given.size, given.steps.split(",")):
            for function in functions:
                able = [c for c in wanted if has(c, name)]
                skipped = {c: Outcome(over[c, name, function]) for c in able if (c, name, function) in over}
                outcomes = compare(e, function, size, [c for c in able if c not in skipped], given.rounds, limits)
                entry = Entry(e, function, size, outcomes | skipped)
                entries.append(entry)
                print("\n".join(lines(entry)), flush=True)
                status |= any(outcome.wrong for outcome in outcomes.values())
                for c, outcome in outcomes.items():
                    if outcome.over_limit:
                        over[c, name, function] = f"not tried: {outcome.failed} at {e.title(size).partition(' ')[2]}"
    if given.write:
        write(RESULTS, entries, limits)
    else:
        print("\n" + markdown(entries, limits))
    return status


if __name__ == "__main__":
    sys.exit(main())
