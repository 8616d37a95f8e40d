"""Run micrograd.testing.check on each call, in worker processes with a limit of time, and count the outcomes."""

from __future__ import annotations

import json
import math
import multiprocessing
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from micrograd.testing import check
from micrograd.tree import flatten

KINDS = ("right", "kink", "refused", "slow", "wrong")
EAGER = ("eager value", "eager gradient", "second derivative")
# What differs from finite differences, and for a reason: a step has slope 0, however small it is.
STEPS = {
    "pygeomag.format.decimal_degrees_to_degrees_minutes": "rounds to 12 digits by math.floor",
    "pygeomag.format.decimal_degrees_to_degrees_minutes_seconds": "rounds to 12 digits by math.floor",
    "hsluv_to_rgb": "rounds to 10 digits",
    "hpluv_to_rgb": "rounds to 10 digits",
    "rgb_to_hsluv": "rounds to 10 digits",
    "rgb_to_hpluv": "rounds to 10 digits",
    "rgb_to_lch": "rounds to 10 digits",
    "rgb_to_xyz": "rounds to 10 digits",
}


class Result(NamedTuple):
    """What became of one call: the worst outcome of all ways, and which way it was."""

    name: str
    kind: str
    way: str
    detail: str
    seconds: float  # of all ways together


class TooSlow(BaseException):
    """The limit of time is over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End the block by TooSlow after some seconds."""

    def alarm(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def outcome(
    name: str, function: Any, args: tuple[Any, ...], seconds: int, order: int = 1, eager: bool = False
) -> Result | None:
    """Return the worst outcome of a call; None for a call that gives no numbers, or cannot be made by plain Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            numbers: list[Any] = []
            with limited(seconds):
                flatten(function(*args), numbers)
        except (Exception, TooSlow):
            return None
    if not any(isinstance(x, float) for x in numbers):
        return None
    start = time.perf_counter()
    try:
        with limited(seconds):
            report = check(function, args, order=order, ways=EAGER if eager else None)
        found = max(report.outcomes, key=lambda o: KINDS.index(o.kind))
        kind, way, detail = found.kind, found.way, found.detail
        if name in STEPS and (kind, way) == ("wrong", "eager gradient"):
            kind, detail = "kink", f"{STEPS[name]}: {detail}"
    except TooSlow:
        kind, way, detail = "slow", "", f"over {seconds} s"
    except Exception as error:
        kind, way, detail = "wrong", "raises", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
    return Result(name, kind, way, detail, time.perf_counter() - start)


def table(rows: Sequence[tuple[str, Sequence[Result]]]) -> str:
    """Return the counts of some groups of results as a table in Markdown."""
    lines = ["| | calls | " + " | ".join(KINDS) + " |", "| --- |" + " ---: |" * (len(KINDS) + 1)]
    for title, results in rows:
        counts = Counter(result.kind for result in results)
        lines.append(f"| {title} | {len(results):,} | " + " | ".join(f"{counts[kind]:,}" for kind in KINDS) + " |")
    return "\n".join(lines)


def save(path: str, rows: Iterable[tuple[str, Sequence[Result]]]) -> None:
    """Write every result that is not right to a file, one a line."""
    with open(path, "w", encoding="utf-8") as file:
        for title, results in rows:
            for result in results:
                if result.kind != "right" or result.detail:
                    file.write(json.dumps({"part": title, **result._asdict()}) + "\n")


def in_processes(jobs: Sequence[tuple[Any, ...]], work: Any, processes: int, until: float | None = None) -> list[Any]:
    """Return the results of some jobs, which run in processes of their own, in order.

    A worker that dies raises here (BrokenProcessPool). Workers do not import `__main__`, so `work` must not stand there. Jobs
    that have not begun at the time `until` (of time.monotonic) are left out.
    """
    late = math.inf if until is None else until
    if processes < 2:
        return [work(*job) for job in jobs if time.monotonic() < late]
    if time.monotonic() >= late:
        return []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = [pool.submit(work, *job) for job in jobs]
        if until is not None:
            wait(futures, max(0.0, until - time.monotonic()))
            futures = [future for future in futures if not future.cancel()]
        return [future.result() for future in futures]


def record(path: Path, rows: Iterable[tuple[str, Sequence[Result]]], command: str) -> None:
    """Keep the counts of each group with the command and the date, over what the file has of other groups."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for title, results in rows:
        counts = Counter(result.kind for result in results)
        kept[title] = {
            "calls": len(results), **{kind: counts[kind] for kind in KINDS}, "command": command,
            "date": time.strftime("%Y-%m-%d"), "theirs": sorted(r.name for r in results if r.way == "theirs is wrong"),
        }  # fmt: skip
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
