"""What is traced and compiled, why, and for how long: the logger `micrograd`, and a line on a terminal where it takes long.

    import logging
    logging.basicConfig(level=logging.INFO)

Whoever waits for a trace or for machine code for more than two seconds sees one line on the terminal, until it is there.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from time import perf_counter

LOGGER = logging.getLogger("micrograd")
PATIENCE = 2.0  # seconds before there is a line on the terminal
EVERY = 1.0  # seconds between two versions of it


class _Here(threading.local):
    """What this thread is doing: the innermost step is the last one.

    A step whose end failed, as memory was short, is gone with its frame: so these are weak references.
    """

    def __init__(self) -> None:
        self.steps: list[weakref.ref[step]] = []


_here = _Here()


def told(text: Callable[[], str]) -> None:
    """Log a line at INFO, which is made only if somebody wants it."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(text())


class step:
    """Do something that may take long; the function that it gives says how many seconds it has taken."""

    __slots__ = ("what", "waited_for", "depth", "line", "__weakref__")

    def __init__(self, what: str, waited_for: bool = True) -> None:
        self.what, self.waited_for = what, waited_for

    def __enter__(self) -> Callable[[], float]:
        start, steps = perf_counter(), _here.steps
        steps[:] = [other for other in steps if other() is not None]
        self.depth, self.line = len(steps), contextlib.ExitStack()
        if self.waited_for and not steps and _is_terminal():
            self.line.enter_context(_line(steps, start))
        steps.append(weakref.ref(self))
        return lambda: perf_counter() - start

    def __exit__(self, *error: object) -> None:
        del _here.steps[self.depth :]
        self.line.close()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


@contextlib.contextmanager
def _line(steps: list[weakref.ref[step]], start: float) -> Iterator[None]:
    """Show what is being done, once it has taken some time, and take that away at the end."""
    ended, gone = (
        _thread.allocate_lock(),
        _thread.allocate_lock(),
    )  # no interrupt can leave these half-way: see worker.py
    ended.acquire()
    gone.acquire()

    def show() -> None:
        wait = PATIENCE
        while not ended.acquire(timeout=wait):
            wait = EVERY
            latest = steps[-1]() if steps else None
            what = "" if latest is None else latest.what
            _write(f"\r\x1b[Kmicrograd: {what[:100]} ... {perf_counter() - start:.0f} s")
        if wait == EVERY:
            _write("\r\x1b[K")
        gone.release()

    try:
        _thread.start_new_thread(show, ())
    except RuntimeError:  # no thread can be started
        yield
        return
    try:
        yield
    finally:
        ended.release()
        gone.acquire()


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
