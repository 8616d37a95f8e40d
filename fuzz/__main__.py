"""python -m fuzz: run random programs in every way that micrograd has, and print those on which two ways disagree.

make fuzz PROGRAMS=1000                    the first thousand programs, one in 20 of them compiled
python -m fuzz --seed 7 --count 1          one program again
python -m fuzz --seconds 3600 --every 4    as many as fit into an hour, on the cheap ways most of all
python -m fuzz --histories 1 --every 100   most of all, whether results depend on the order of rows and calls
python -m fuzz --mixed 1 --every 100       most of all, programs that return constants, texts and containers
python -m fuzz --cliffs --count 200        whether harmless edits of programs change what compiling them costs
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("MICROGRAD_CACHE", tempfile.mkdtemp(prefix="fuzz-kernels-"))

import twins  # noqa: E402, F401, I001  (loads the package twice: before anything else imports it)

from fuzz import cliffs, torched  # noqa: E402
from fuzz.check import Failure, check  # noqa: E402
from fuzz.generate import Program, generate  # noqa: E402
from fuzz.shrink import shrink  # noqa: E402

POINTS = ("points", "oracle", "torch")  # what is counted by point, and not by program
RESULTS = ROOT / "build" / "fuzz.json"
LONGEST = 120.0  # seconds for one program, where that can be measured; a shorter one may have lost the end of a loop


class TooLong(BaseException):
    """A program runs for too long. No `except Exception` catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block after so many seconds, on systems that have this signal."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def end(*_: Any) -> None:
        raise TooLong(f"it takes more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def fails(program: Program, seed: int, thorough: bool, every: int = 1, histories: bool = False) -> str:
    """What is wrong with a program; nothing where all ways agree."""
    try:
        with limited(LONGEST / 4):
            check(program, random.Random(seed), thorough, every=every, histories=histories)
    except Failure as failure:
        return str(failure)
    except (Exception, TooLong) as error:  # whatever it is, a program of plain arithmetic has to run
        return f"{type(error).__name__}: {error}"
    return ""


def kind(reason: str) -> str:
    """The words of a reason before its numbers: a shrunk program has to fail in the same way."""
    return reason.split(":")[0].split(" at ")[0].split("[")[0]


def report(seed: int, program: Program, reason: str, *how: Any) -> str:
    """The shortest program that fails in the same way, with its seed."""
    thorough, _, histories = how
    most = 40 if thorough or histories else 400  # machine code takes seconds for each try
    short = shrink(program, lambda p: kind(fails(p, seed, *how)) == kind(reason), most)
    last = fails(short, seed, *how) or reason
    captured = f"P = {[*short.captured]}\n" if short.captured else ""
    return f"seed {seed}: {last}\n{captured}{short.text}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="the first program; program n of a run has seed + n")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--compiled", type=int, default=20, help="compile one program in so many, in every mode")
    parser.add_argument(
        "--every", type=int, default=1, help="take the costlier of the other ways for one program in so many"
    )
    parser.add_argument(
        "--histories",
        type=int,
        default=20,
        help="run one program in so many in several orders of rows and calls (0: none)",
    )
    parser.add_argument(
        "--mixed", type=int, default=2, help="let one program in so many return constants and containers (0: none)"
    )
    parser.add_argument("--points", type=int, default=3, help="inputs for each program that is not compiled")
    parser.add_argument("--stop", type=int, default=10, help="stop after so many failures")
    parser.add_argument("--cliffs", action="store_true", help="compare programs with harmless edits of them: cliffs.py")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the counts are written")
    given = parser.parse_args()
    if given.cliffs:
        return 1 if cliffs.run(given.seed, given.count, given.seconds)[1] else 0
    began, failures = time.monotonic(), []
    counts: collections.Counter[str] = collections.Counter()
    done = 0

    def write() -> None:
        given.results.parent.mkdir(exist_ok=True)
        table = {"first": given.seed, "programs": done, "seconds": round(time.monotonic() - began), **counts}
        given.results.write_text(json.dumps({**table, "failures": len(failures)}))

    for seed in range(given.seed, given.seed + given.count):
        thorough = seed % given.compiled == 0
        histories = given.histories > 0 and seed % given.histories == 0
        program = generate(seed, results=given.mixed > 0 and seed // 2 % given.mixed == 0)
        try:
            with limited(LONGEST):
                took = check(program, random.Random(seed), thorough, given.points, given.every, histories)
            counts.update({name: int(n) for name, n in took.items() if name in POINTS})
            counts.update([name for name, n in took.items() if n and name not in POINTS])
        except (Exception, TooLong) as error:
            reason = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            failures.append(report(seed, program, reason, thorough, given.every, histories))
            print(failures[-1], flush=True)
        done += 1
        if done % 1000 == 0:
            write()
        if len(failures) >= given.stop or (given.seconds and time.monotonic() - began > given.seconds):
            break
    if torched.torch is None:
        print(torched.MISSING)
    print(f"{done} programs in {time.monotonic() - began:.0f} s ({dict(counts)}): {len(failures)} failures")
    write()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
