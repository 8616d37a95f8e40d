"""python -m fuzz: run random programs in every way that micrograd has, and print those on which two ways disagree."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("MICROGRAD_CACHE", tempfile.mkdtemp(prefix="fuzz-kernels-"))

import twins  # noqa: E402, F401, I001  (loads the package twice: before anything else imports it)

from fuzz.check import Failure, check  # noqa: E402
from fuzz.generate import Program, generate, source  # noqa: E402
from fuzz.shrink import shrink  # noqa: E402

RESULTS = ROOT / "build" / "fuzz.json"


def fails(program: Program, seed: int, thorough: bool) -> str:
    """What is wrong with a program; nothing where all ways agree."""
    try:
        check(program, random.Random(seed), thorough)
    except Failure as failure:
        return str(failure)
    except Exception as error:  # whatever it is, a program of plain arithmetic has to run
        return f"{type(error).__name__}: {error}"
    return ""


def kind(reason: str) -> str:
    """The words of a reason before its numbers: a shrunk program has to fail in the same way."""
    return reason.split(":")[0].split(" at ")[0].split("[")[0]


def report(seed: int, program: Program, reason: str, thorough: bool) -> str:
    short = shrink(program, lambda p: kind(fails(p, seed, thorough)) == kind(reason))
    last = fails(short, seed, thorough) or reason
    captured = f"P = {[*short.captured]}\n" if short.captured else ""
    return f"seed {seed}: {last}\n{captured}{source(short)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first program; program n of a run has seed + n")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--compiled", type=int, default=5, help="compile one program in so many")
    parser.add_argument("--stop", type=int, default=10, help="stop after so many failures")
    given = parser.parse_args()
    began, failures = time.monotonic(), []
    counts = {"eager": 0, "compiled": 0, "refused": 0, "invalid": 0}
    done = 0
    for seed in range(given.seed, given.seed + given.count):
        thorough = seed % given.compiled == 0
        program = generate(seed)
        reason = ""
        try:
            counts[check(program, random.Random(seed), thorough)] += 1
        except Exception as error:
            reason = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        done += 1
        if reason:
            failures.append(report(seed, program, reason, thorough))
            print(failures[-1], flush=True)
        if len(failures) >= given.stop or (given.seconds and time.monotonic() - began > given.seconds):
            break
    seconds = time.monotonic() - began
    print(f"{done} programs in {seconds:.0f} s ({counts}): {len(failures)} failures")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"first": given.seed, "programs": done, "seconds": round(seconds), **counts,
                                   "failures": len(failures)}))  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
