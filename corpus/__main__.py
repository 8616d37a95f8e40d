"""python -m corpus: run the corpus, and print what was right, refused and wrong."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from corpus import cutest, doctests, fpcore, nist, programs, run

Part = Callable[[argparse.Namespace], list[tuple[str, list[run.Result]]]]


PARTS: dict[str, Part] = {
    "doctests": doctests.results,
    "programs": programs.results,
    "nist": nist.results,
    "cutest": cutest.results,
    "fpcore": fpcore.results,
}


def ways(args: argparse.Namespace) -> str:
    """Return what the title of a group says of how its calls were run; nothing for eager gradients alone."""
    return ("" if args.eager else ", compiled and by rows, too") + ", second derivatives" * (args.order > 1)


def main() -> int:
    """Run the parts that were asked for; the exit code is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m corpus", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--packages", nargs="*", default=list(doctests.PACKAGES), help="for doctests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th call alone")
    parser.add_argument("--seconds", type=int, default=20, help="the limit for one call in all ways")
    parser.add_argument("--order", type=int, default=1, help="2 for second derivatives, too")
    parser.add_argument("--eager", action="store_true", help="nothing compiled")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--save", metavar="FILE", help="write what is not right as JSON lines")
    parser.add_argument("--nist", metavar="DIR", help="the folder NIST_STRD of lmfit's source distribution")
    parser.add_argument("--fpcore", metavar="DIR", nargs="*", default=[], help="folders with .fpcore files")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="begin no call after so many seconds: a sample of all"
    )
    parser.add_argument(
        "--keep", metavar="FILE", help="keep each result in a file; results that are there are not computed again"
    )
    parser.add_argument("--record", action="store_true", help="keep the counts in build/corpus.json, for docs/trust.md")
    args = parser.parse_args()
    os.environ["MICROGRAD_CACHE"] = "off"  # first results are timed
    args.until = None if args.budget is None else time.monotonic() + args.budget
    args.plan = run.Plan(args.seconds, args.order, args.eager, args.until, args.keep)
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose among {', '.join(PARTS)}")
    start, rows = time.perf_counter(), []
    for name in args.parts or PARTS:
        for title, results in PARTS[name](args):
            rows.append((title + ways(args) * (name in run.CHECKED), results))
            print(run.table(rows[-1:]).splitlines()[-1], flush=True)
    everything = [result for _, results in rows for result in results]
    print(run.table([*rows, ("all", everything)]))
    print(run.first_results(everything))
    print(f"{time.perf_counter() - start:,.0f} s")
    if args.save:
        run.save(args.save, rows)
    if args.record:
        words = ["python -m corpus", *args.parts, *(f"--every {args.every}" for _ in range(args.every > 1))]
        words += ["--eager"] * args.eager + ["--order 2"] * (args.order > 1)
        words += [] if args.budget is None else [f"--budget {args.budget:.0f}"]
        run.record(Path("build/corpus.json"), rows, " ".join(words))
    return int(any(result.kind == "wrong" for result in everything))


if __name__ == "__main__":
    sys.exit(main())
