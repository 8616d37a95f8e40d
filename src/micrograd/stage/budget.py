"""budget: how much longer than plain Python a first call may take.

What compiled functions gain, they first have to earn back: some programs take minutes to follow along all of their paths (a
generator without an end, whose iterations are all followed), and others take another path in each row, of which each is
compiled. So the search for a tape of all paths ends after some seconds, and the function is traced along the path of each call;
and rows whose paths are not compiled yet are run in plain Python once compiling has cost more than it has saved.

The clocks are read through this module, so that tests can count steps in place of seconds.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter

from micrograd.tape.trace import user_depth

SEARCH = 2.5  # seconds in which a function is followed along all of its paths
AHEAD = 2.5  # seconds that compiling the paths of rows may cost more than it has saved

clock = perf_counter
# Of this thread: a busy machine does not end a search. WebAssembly has no such clock.
busy: Callable[[], float] = getattr(time, "thread_time", time.process_time)


class OutOfTime(BaseException):
    """The search for a tape of all paths has taken too long. Neither the user's `except` nor an arm may take it for its own."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line


class Search:
    """The searches for tapes of all paths that one call makes: how much time is left to them."""

    def __init__(self) -> None:
        self.left = SEARCH
        self.end = self.soonest = 0.0  # when the one under way has to end, by the clocks `busy` and `clock`
        self.warned = False

    def late(self) -> bool:
        """Whether the search under way has to end. To ask how busy this thread was takes long, the other clock does not."""
        return clock() > self.soonest and busy() > self.end


class _Here(threading.local):
    search: Search | None = None


_here = _Here()


@contextlib.contextmanager
def searching(search: Search) -> Iterator[None]:
    """Bound what is done inside; a search inside of another one has the time of the outer one."""
    if _here.search is not None:
        yield
        return
    search.end, search.soonest = busy() + search.left, clock() + search.left
    _here.search = search
    try:
        yield
    finally:
        _here.search = None
        search.left = max(0.0, search.end - busy())


def look(line: str) -> None:
    """Raise OutOfTime if the search that is under way has to end; `line` is where the program is."""
    search = _here.search
    if search is not None and search.late():
        raise OutOfTime(line)


def warn_of_search(name: str, line: str) -> None:
    """Warn, once in a search, that the paths of a function are compiled one by one."""
    search = _here.search
    if search is not None and search.warned:
        return
    if search is not None:
        search.warned = True
    warnings.warn(
        f"{name} is compiled once for each path through its branches, since following all of them took more than "
        f"{SEARCH:g} s, and had come to {line or 'a line of its own'}\n"
        "  A loop is followed to its end if it runs over a generator, over items that are made one by one, or over a "
        "container that it changes.\n"
        "  Write it as a `for` loop over a range or a `while` loop in the function itself, or its choice as "
        "micrograd.math.where(condition, a, b); exact=True compiles each path on its own at once.",
        RuntimeWarning,
        stacklevel=user_depth(),
    )


class Account:
    """What the paths of the rows of one function have cost so far, and what they have saved."""

    def __init__(self) -> None:
        self.spent = 0.0  # seconds, on tracing and compiling
        self.rows = 0  # that machine code has run
        self.plain: float | None = None  # seconds of one row in plain Python, once that is known
        self.warned = False

    @contextlib.contextmanager
    def spending(self) -> Iterator[None]:
        """Count the time of what is done inside."""
        began = clock()
        try:
            yield
        finally:
            self.spent += clock() - began

    def pays(self) -> bool:
        """Whether calls are still less than AHEAD seconds behind plain Python, so that one more path may be compiled."""
        return self.spent - self.rows * (self.plain or 0.0) <= AHEAD
