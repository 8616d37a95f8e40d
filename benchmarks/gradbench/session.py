"""Contenders beside each other: a process each, with limits on time and memory, timed in turns."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from .contenders import HAND
from .evals import Eval, Size

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-6  # of results, relative to the larger of 1 and the numbers: GradBench's own is 1e-4
HANGING = 30.0  # times the processor time allowed that a process may take by the clock: other work may have the core
LONG = 1.0  # calls of more seconds are timed in three rounds

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Limits:
    """What a process may take until its first call has returned: processor time, and memory."""

    seconds: float = 60.0
    gigabytes: float = 4.0


class Failed(Exception):
    """A contender did not come to a result, for the reason given."""


class OverLimit(Failed):
    """A contender took more time or memory than it may: a larger size of the same will, too."""


class Missing(Failed):
    """A contender does not have the function."""


@dataclass
class Outcome:
    """What was seen of one contender."""

    failed: str = ""
    over_limit: bool = False
    first: float = 0.0  # seconds of the first call
    calls: int = 0  # after it, until the timing started
    settled: float = 0.0  # the seconds of these
    memory: int | None = None  # bytes above those that were resident before the first call
    times: list[float] = field(default_factory=list)  # seconds of a call, one number a round
    wrong: str = ""  # how the result differs from that of C

    @property
    def time(self) -> float | None:
        return median(self.times) if self.times else None


class Process:
    """A worker (worker.py) and its limits."""

    def __init__(self, contender: str, name: str, function: str, size: Size, output: Path, limits: Limits) -> None:
        self.limits = limits
        self.ready: int | None = None
        command = [sys.executable, "-m", "benchmarks.gradbench.worker", contender, name, function]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MICROGRAD")}
        self.process = subprocess.Popen(
            [*command, *map(str, size), "--output", str(output)],
            cwd=ROOT,
            env={**environment, **THREADS, "MICROGRAD_CACHE": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self.unread = b""
        assert self.process.stdout is not None
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def resident(self) -> int:
        """Return the bytes that the process has, or 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self.process.pid}/statm").read_text()
        except OSError:
            return 0
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def spent(self) -> float:
        """Return the processor seconds that the process has used, or the time of day where the system does not tell."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return monotonic()
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def answer(self, seconds: float) -> dict[str, Any]:
        """Return the next line, or raise Failed where it does not come within the limits."""
        assert self.process.stdout is not None
        start, began = self.spent(), monotonic()
        while b"\n" not in self.unread:
            if self.selector.select(timeout=0.05):
                more = self.process.stdout.read(65536)
                if not more:
                    raise Failed(f"its process ended with {self.process.wait()}")
                self.unread += more
            elif self.resident() > self.limits.gigabytes * 1e9:
                raise OverLimit(f"more than {self.limits.gigabytes:g} GB")
            elif self.spent() - start > seconds or monotonic() - began > HANGING * seconds:
                raise OverLimit(f"no result in {seconds:g} s")
        line, self.unread = self.unread.split(b"\n", 1)
        said: dict[str, Any] = json.loads(line)
        if "failed" in said:
            raise Failed(said["failed"])
        if "missing" in said:
            raise Missing
        return said

    def begin(self, outcome: Outcome) -> None:
        """Make the first calls."""
        self.ready = self.answer(60.0 + self.limits.seconds)["ready"]
        outcome.first = self.answer(self.limits.seconds)["first"]
        said = self.answer(60.0 + 3.0 * self.limits.seconds)
        outcome.settled, outcome.calls = said["settled"], said["calls"]

    def time(self, outcome: Outcome) -> None:
        """Time one round."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        said = self.answer(60.0 + 3.0 * self.limits.seconds)
        outcome.times.append(said["seconds"])
        if said["peak"] is not None and self.ready is not None:
            outcome.memory = max(0, said["peak"] - self.ready)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def difference(found: np.ndarray, expected: np.ndarray) -> str:
    """Say how a result differs from another, or nothing where it does not."""
    if found.shape != expected.shape:
        return f"{len(found)} numbers, and C has {len(expected)}"
    apart = np.abs(found - expected) / np.maximum(1.0, np.maximum(np.abs(found), np.abs(expected)))
    if bool(np.all(apart <= TOLERANCE)):  # false where one of them is nan
        return ""
    k = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    return f"number {k} is {found[k]!r}, and C has {expected[k]!r}"


def compare(
    e: Eval, function: str, size: Size, contenders: list[str], rounds: int, limits: Limits
) -> dict[str, Outcome]:
    """Time one function at one size: everybody's first calls, one after the other, then all in turns."""
    outcomes: dict[str, Outcome] = {}
    running: dict[str, Process] = {}
    with tempfile.TemporaryDirectory() as folder:
        outputs = {c: Path(folder) / f"{k}.npy" for k, c in enumerate(contenders)}
        try:
            for c in contenders:
                outcomes[c] = Outcome()
                running[c] = Process(c, e.name, function, size, outputs[c], limits)
                _try(c, outcomes, running, lambda p, o: p.begin(o))
            for done in range(rounds):
                for c in list(running):
                    _try(c, outcomes, running, lambda p, o: p.time(o))
                slow = max((o.times[0] for o in outcomes.values() if o.times), default=0.0)
                if done >= 2 and slow > LONG:
                    break
            if HAND in outcomes and not outcomes[HAND].failed:
                expected = np.load(outputs[HAND])
                for c, outcome in outcomes.items():
                    if not outcome.failed:
                        outcome.wrong = difference(np.load(outputs[c]), expected)
        finally:
            for process in running.values():
                process.close()
    return outcomes


def _try(contender: str, outcomes: dict[str, Outcome], running: dict[str, Process], step: Any) -> None:
    """Take a step with a process; one that fails is closed, and one that has no such function is not mentioned."""
    try:
        step(running[contender], outcomes[contender])
    except Failed as reason:
        outcomes[contender].failed = str(reason)
        outcomes[contender].over_limit = isinstance(reason, OverLimit)
        running.pop(contender).close()
        if isinstance(reason, Missing):
            del outcomes[contender]
