"""Run micrograd.testing.check on each call, in worker processes with a limit of time, and count the outcomes."""

from __future__ import annotations

import functools
import json
import math
import multiprocessing
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from micrograd import grad, jit
from micrograd.testing import WAYS, Outcome, _Point, check
from micrograd.tree import flatten

KINDS = ("right", "kink", "unsettled", "refused", "slow", "wrong")
CHECKED = ("doctests", "programs", "fpcore")  # the parts that micrograd.testing.check runs
EAGER = ("eager value", "eager gradient", "second derivative")
# What differs from finite differences, and for a reason: a step has slope 0, however small it is.
STEPS = {
    "pygeomag.format.decimal_degrees_to_degrees_minutes": "rounds to 12 digits by math.floor",
    "pygeomag.format.decimal_degrees_to_degrees_minutes_seconds": "rounds to 12 digits by math.floor",
    "GetTWetBulbFromHumRatio": "bisects until 0.001 degrees are left, so its slope is that of the last step",
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
    first: float | None = (
        None  # processor seconds of the first gradient: compiled ones before the machine code is ready
    )


class Program(NamedTuple):
    """A function of a package with arguments for it."""

    package: str
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]


class Plan(NamedTuple):
    """How calls are run."""

    seconds: int = 20  # for one call in all ways
    order: int = 1  # 2: second derivatives, too
    eager: bool = False  # nothing compiled
    until: float | None = None  # no call begins after this time (of time.monotonic)
    keep: str | None = None  # the file that has the results of earlier runs with the same plan, and gets the new ones

    @property
    def over(self) -> bool:
        """Whether no call may begin any more."""
        return self.until is not None and time.monotonic() > self.until

    def result(self, key: str, work: Callable[[], Result | None]) -> Result | None:
        """Return the result that is kept under a key; else do the work, and keep its result."""
        if self.keep is None:
            return work()
        key = f"{key}, order {self.order}{', eager' if self.eager else ''}"
        kept = _kept(self.keep)
        if key not in kept:
            kept[key] = work()
            fields = kept[key] and kept[key]._asdict()
            with open(self.keep, "a", encoding="utf-8") as file:  # one write a line, of several processes
                file.write(json.dumps({"key": key, "result": fields}) + "\n")
        return kept[key]


@functools.cache
def _kept(path: str) -> dict[str, Any]:
    if not Path(path).exists():
        return {}
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return {row["key"]: row["result"] and Result(**row["result"]) for row in rows}


class TooSlow(BaseException):
    """The limit of time is over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End the block by TooSlow after some seconds of processor time, or four times as many on the clock."""

    def alarm(*_: Any) -> None:
        raise TooSlow

    clocks = (signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 4.0 * seconds)
    before = [signal.signal(number, alarm) for _, number, _ in clocks]
    for clock, _, limit in clocks:
        signal.setitimer(clock, limit, 1.0)  # again, where it comes in a __del__, whose exceptions Python drops
    try:
        yield
    finally:
        for (clock, number, _), handler in zip(clocks, before):
            signal.setitimer(clock, 0.0)
            signal.signal(number, handler)


def outcome(name: str, function: Any, args: tuple[Any, ...], plan: Plan) -> Result | None:
    """Return the worst outcome of a call; None for a call that gives no numbers, or cannot be made by plain Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            numbers: list[Any] = []
            with limited(plan.seconds):
                flatten(function(*args), numbers)
        except (Exception, TooSlow):
            return None
    if not any(isinstance(x, float) for x in numbers):
        return None
    start, first, way, outcomes = time.perf_counter(), None, "first gradient", []
    try:
        with limited(plan.seconds):
            first = first_result(function, args, plan.eager)
            for way in EAGER if plan.eager else WAYS:
                outcomes += check(function, args, order=plan.order, ways=(way,)).outcomes
        outcomes = [_settled(o, function, args) if o.kind == "kink" else o for o in outcomes]
    except TooSlow:
        outcomes.append(Outcome(way, 0, "slow", f"over {plan.seconds} s"))
    except Exception as error:
        text = f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
        outcomes.append(Outcome(way, 0, "wrong", text))
    found = max(outcomes, key=lambda o: KINDS.index(o.kind))
    kind, detail = found.kind, found.detail
    if name in STEPS and kind == "wrong" and found.way in EAGER[1:]:
        kind, detail = "kink", f"{STEPS[name]}: {detail}"
    return Result(name, kind, found.way, detail, time.perf_counter() - start, first)


def _settled(found: Outcome, function: Any, args: tuple[Any, ...]) -> Outcome:
    """Return an outcome for which finite differences do not settle, with the verdict of differences in 80 digits."""
    try:
        from corpus.digits import verdict  # mpmath, and the definitions of the tests

        with limited(60.0):
            kind, detail = verdict(function, args, 2 if found.way == "second derivative" else 1)
    except (Exception, TooSlow) as error:
        return found._replace(kind="unsettled", detail=f"{found.detail}; in digits: {type(error).__name__} {error}")
    return found._replace(kind=kind, detail=detail)


def first_result(function: Any, args: tuple[Any, ...], eager: bool) -> float | None:
    """Return the processor seconds of this process, all threads together, for the first gradient; None if refused."""
    point = _Point(function, args, 0, 1e-6, 1e-8)
    fixed = tuple([k for k in range(len(args)) if k not in point.argnums])
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            derived = point.derivative(grad)
            (derived if eager else jit(derived, static_argnums=fixed))(*args)
        except Exception:  # which check will count
            return None
    return time.process_time() - begin


def first_results(results: Iterable[Result]) -> str:
    """Return how many first results were there within a second, in words."""
    found = sorted(r.first for r in results if r.first is not None)
    if not found:
        return "no first results were timed"
    within = sum(x <= 1.0 for x in found)
    return (
        f"first result within 1 s of processor time: {within:,} of {len(found):,} ({100.0 * within / len(found):.1f} %), "
        f"half of them within {found[len(found) // 2]:.3f} s, the slowest {found[-1]:.1f} s"
    )


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
            futures = [future for future in futures if not future.cancel()]  # those at the end
        return [future.result() for future in futures]


def record(path: Path, rows: Iterable[tuple[str, Sequence[Result]]], command: str) -> None:
    """Keep the counts of each group with the command and the date, over what the file has of other groups."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for title, results in rows:
        counts = Counter(result.kind for result in results)
        kept[title] = {
            "calls": len(results), **{kind: counts[kind] for kind in KINDS}, "command": command,
            "first": [sum(r.first <= 1.0 for r in results if r.first is not None), sum(r.first is not None for r in results)],
            "date": time.strftime("%Y-%m-%d"), "theirs": sorted(r.name for r in results if r.way == "theirs is wrong"),
            "corrections": {r.name: r.detail.partition(";")[0] for r in results if r.way == "theirs is wrong"},
        }  # fmt: skip
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
