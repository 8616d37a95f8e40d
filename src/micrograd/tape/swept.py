"""Swept tapes: what eager code derives from the tape of a function, kept for the next run that leaves the same tape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from micrograd.tape import passes
from micrograd.tape.staging import hooks
from micrograd.tape.tape import CONST, INPUT, Tape


class _Shared:
    """The swept tapes of the first of two runs, and how many of them this run has asked for."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, Tape]] = []
        self.at = 0


_runs = threading.local()  # .now: what the runs under way share


@contextmanager
def shared() -> Iterator[Callable[[], None]]:
    """Let the runs of one function inside share their swept tapes; the function that is given begins a run."""
    outer, now = getattr(_runs, "now", None), _Shared()

    def begin() -> None:
        now.at = 0

    _runs.now = now
    try:
        yield begin
    finally:
        _runs.now = outer


def derived(tape: Tape, sweep: Callable[..., Tape], *wrt: Any) -> Tape:
    """The tape of a sweep over a tape; the second of two runs has it from the first one, if that swept the same."""
    if hooks.lighten is not None and sweep is passes.adjoint and tape.has_regions():
        lighter = hooks.lighten(tape)
        wrt = tuple([_moved(tape, lighter, places) for places in wrt])
        tape = lighter
    now: _Shared | None = getattr(_runs, "now", None)
    if now is None:
        return _kept.swept(tape, sweep, wrt)
    number, asked = now.at, (tape.ops, tape.args, tape.outputs, tape.guards, sweep, wrt)
    if number >= len(now.made) or now.made[number][0] != asked:
        found = passes.prune(sweep(tape, *wrt))  # which may fail: then nothing is counted
        now.made[number:] = [(asked, found)]
    now.at = number + 1
    return now.made[number][1]


class _Kept(threading.local):
    """The latest swept tapes of this thread: eager code runs a function again and again, and its tape is the same each time.

    A sweep in Python takes some ten times as long as all else in an eager Hessian.
    """

    MOST, INSTRUCTIONS = 16, 200_000  # tapes, and instructions in all of them

    def __init__(self) -> None:
        self.tapes: list[tuple[tuple[Any, ...], Tape, Tape]] = []

    def swept(self, tape: Tape, sweep: Callable[..., Tape], wrt: tuple[Any, ...]) -> Tape:
        """Return the pruned tape of a sweep."""
        asked = sweep, tape.inputs, tape.params, tape.outputs, tape.guards, wrt, _told_apart(tape)
        for k, (known, old, found) in enumerate(self.tapes):
            if len(old) == len(tape) and known == asked and old.ops == tape.ops and old.args == tape.args:
                if k:
                    self.tapes.insert(0, self.tapes.pop(k))
                return found
        new = passes.prune(sweep(tape, *wrt))
        tapes = [(asked, tape, new), *self.tapes[: self.MOST - 1]]
        while tapes and sum(len(old) + len(found) for _, old, found in tapes) > self.INSTRUCTIONS:
            tapes.pop()
        self.tapes = tapes
        return new


_kept = _Kept()


def _told_apart(tape: Tape) -> tuple[tuple[int, str], ...]:
    """Return the constants that are equal to others: zeros by their sign, ints and bools."""
    consts = [(k, tape.args[k][0]) for k in passes.places_of(tape, CONST)]
    return tuple([(k, repr(x)) for k, x in consts if not x or type(x) is not float])


def _moved(old: Tape, new: Tape, places: list[int | None]) -> list[int | None]:
    """The places of inputs of one tape on another tape with the same inputs."""
    where = passes.sources(new, INPUT, new.inputs)
    return [None if p is None else where[old.args[p][0]] for p in places]
