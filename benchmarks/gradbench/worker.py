"""One contender with one function of one eval at one size, in this process: says how its first calls went, then times calls.

    python -m benchmarks.gradbench.worker CONTENDER EVAL FUNCTION SIZE... --output FILE

Writes one line of JSON after each step, and reads a line before each of the last kind. Seconds are processor time: on one core
that is the time of an idle machine, whatever else runs.

    {"ready": bytes}                   the input is there, and so much memory is resident
    {"first": seconds}                 the first call; its result is in FILE, flattened
    {"settled": seconds, "calls": n}   the calls until their time no longer changes, and how many they were
    {"seconds": s, "peak": bytes}      one call, as the mean of a few; the most memory that was ever resident since `ready`
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from .contenders import FORMS, OURS, find
from .evals import EVALS

LEAST = 0.02  # seconds that are timed at once: shorter times are as long as what the machine does beside
EXAMINED = 100  # calls after which a compiled function is no longer compared with plain runs (64, and some more)
PATIENCE = 10.0  # seconds of these calls
WARM = 1.0  # seconds of calls of everybody else


def resident() -> int:
    """Return the bytes that are resident now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """Return the most bytes that were resident since `forget_peak`."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def forget_peak() -> int:
    """Let `peak` count from now, and return the bytes that are resident."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return resident()


def measured(bytes_of: Callable[[], int]) -> int | None:
    """Return a number of bytes where the system tells it, as Linux does."""
    try:
        return bytes_of()
    except OSError:
        return None


def flat(result: Any) -> list[float]:
    """Return all numbers of a JSON object behind each other."""
    if isinstance(result, dict):
        return [v for key in sorted(result) for v in flat(result[key])]
    if isinstance(result, list):
        return [v for part in result for v in flat(part)]
    return [float(result)]


def say(**facts: Any) -> None:
    print(json.dumps(facts), file=ANSWERS, flush=True)


def settle(once: Callable[[], float], patience: float) -> tuple[float, list[float]]:
    """Call until the time of a call has settled; return the seconds and the times of all these calls."""
    times: list[float] = []
    start = process_time()
    while len(times) < 2 or (len(times) < EXAMINED and process_time() - start < patience):
        times.append(once())
    return process_time() - start, times


def run(contender: str, name: str, function: str, size: tuple[int, ...], output: str) -> None:
    found = find(contender, name, function)
    if found is None:
        say(missing=True)
        return
    arguments = found.prepare(EVALS[name].make(size))
    gc.collect()
    say(ready=measured(forget_peak))

    def once() -> float:
        start = process_time()
        found.call(*arguments)
        return process_time() - start

    start = process_time()
    result = found.call(*arguments)
    first = process_time() - start
    np.save(output, np.array(flat(found.finish(result))))
    del result
    say(first=first)
    took, times = settle(once, PATIENCE if contender in (OURS, *FORMS) else WARM)
    say(settled=took, calls=len(times))
    count = max(1, math.ceil(LEAST / median(times[-5:])))
    while sys.stdin.readline():
        if hasattr(found, "seconds"):
            each = found.seconds(arguments, count)
        else:
            start = process_time()
            for _ in range(count):
                found.call(*arguments)
            each = (process_time() - start) / count
        count = max(1, math.ceil(LEAST / max(each, 1e-9)))
        say(seconds=each, peak=measured(peak))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contender")
    parser.add_argument("eval")
    parser.add_argument("function")
    parser.add_argument("size", type=int, nargs="*")
    parser.add_argument("--output", required=True)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the one way to have JAX use one thread
    try:
        run(given.contender, given.eval, given.function, tuple(given.size), given.output)
    except MemoryError:
        say(failed="MemoryError")
    except Exception as error:
        say(failed=f"{type(error).__name__}: {error}".splitlines()[0])


if __name__ == "__main__":
    ANSWERS = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    main()
