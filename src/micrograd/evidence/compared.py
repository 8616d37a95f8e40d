"""What is known of whether a trace is right: on which numbers it was compared with the function, and how long that goes on.

What a function does may depend on the class of a number: an int can be an index, and a float cannot. So a later call with
numbers of other classes than before is compared, too. The classes count together: x * y is an int if both are ints. And they
count for one path: what is known of a branch says nothing of another one.

What comes after the first call is bounded by the time that it takes this thread, and not by a number of calls: a small function
is looked at more often than a large one. Before the first use, the rows to compare are chosen by instructions (merged.py), so
that the outcome is the same on every machine.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from math import prod
from typing import Any

COMPARING = 1.0  # seconds in which arrangements of classes are compared; then, a number may be of any class that it had
# Seconds in which calls are looked at for other arms: a hundred calls of a small function at a point, and some four batches; or
# as long as the comparison before the first use took, where that is longer.
LOOKING, OF_ROWS = 0.001, 0.02
UNDECIDED = 0.005  # seconds in which calls are compared for which the function raises an exception
FEW = 64  # with more numbers than this, it may then be of any class that one of them had
ROOM = 2**20  # classes in all arrangements that are kept
EXACT_INT = 2**53  # up to here, a float holds every whole number

clock: Callable[[], float] = getattr(time, "thread_time", time.process_time)  # WebAssembly has none of one thread


class Budget:
    """So many seconds of the time of the threads that spend them."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Spend the time that the block takes."""
        start = clock()
        try:
            yield
        finally:
            self.left -= clock() - start


def classes_of(numbers: list[Any]) -> Any:
    """What a trace depends on, of numbers that are the same in all rows: their classes. A large int is a class by itself."""
    kinds: Any = tuple(map(type, numbers))
    if int in kinds:
        kinds = tuple([x if type(x) is int and abs(x) > EXACT_INT else kind for x, kind in zip(numbers, kinds)])
    return kinds if len(kinds) <= FEW else frozenset(kinds)


class Arms:
    """The outcomes of choices on which a merged trace was compared, and how long calls are looked at for others."""

    def __init__(self, seconds: float = LOOKING) -> None:
        self.seen: set[Any] = set()
        self.budget = Budget(seconds)
        self.ways: set[bytes] = set()  # how the choices of calls came out that have been looked at
        self.program: Any = None  # what runs the tape; False where only the interpreter does

    def again(self) -> Arms:
        """The same for a trace that is to be compared from the beginning."""
        return Arms(self.budget.left)


class Classes:
    """The classes that numbers had in those calls in which a trace was compared with the function itself."""

    def __init__(self) -> None:
        # For each arrangement of classes, the arms that were compared (merged.py), as long as others are looked for.
        self.together: dict[tuple[type, ...], Arms | None] = {}
        self.positions: list[set[type]] = []  # those of each number; one set for all of them where there are many
        self.budget = Budget(COMPARING)
        self.undecided = Budget(UNDECIDED)

    def knows(self, leaves: list[Any]) -> bool:
        """Whether there were numbers of these classes before, and each of these numbers is one that a float can hold."""
        kinds = tuple(map(type, leaves))
        if int in kinds and any(type(x) is int and abs(x) > EXACT_INT for x in leaves):
            return False
        if kinds in self.together:
            return self.together[kinds] is None
        return self._is_full(kinds) and all(kind in known for kind, known in zip(kinds, self._positions(kinds)))

    def arms(self, leaves: list[Any]) -> Arms | None:
        """The arms of a merged trace that were compared on numbers of these classes, as far as they are looked at."""
        return self.together.get(tuple(map(type, leaves)))

    def note(self, leaves: list[Any], decided: bool, arms: Arms | None = None) -> None:
        """Note that there was a call with these numbers, and whether anything could be compared in it.

        `arms` are those of a merged trace, if calls with such numbers are to be looked at further.
        """
        if decided or self.undecided.left <= 0:
            self._add(tuple(map(type, leaves)), arms)

    def learn(self, other: Classes) -> None:
        """Take over what is known of another trace of the same path."""
        for kinds, arms in other.together.items():
            if kinds not in self.together:
                self._add(kinds, arms)

    def _add(self, kinds: tuple[type, ...], arms: Arms | None) -> None:
        if not self.positions:
            self.positions = [set() for _ in (kinds if len(kinds) <= FEW else kinds[:1])]
        for kind, known in zip(kinds, self._positions(kinds)):
            known.add(kind)
        if kinds in self.together or not self._is_full(kinds):
            self.together[kinds] = arms

    def _is_full(self, kinds: tuple[type, ...]) -> bool:
        return bool(self.together) and (
            self.budget.left <= 0 or len(self.together) >= max(1, ROOM // max(1, len(kinds)))
        )

    def _positions(self, kinds: tuple[type, ...]) -> Iterable[set[type]]:
        return self.positions if len(kinds) <= FEW else repeat(self.positions[0])

    def others(self, most: int = 4) -> list[Iterator[bytes | type]]:
        """The last arrangements that became known, in marks; a class of numbers of NumPy's is a mark of its own."""
        found: list[Iterator[bytes | type]] = []
        for kinds, arms in reversed(self.together.items()):
            if len(found) == most:
                break
            if arms is None and all(kind is float or kind is int or kind.__module__ == "numpy" for kind in kinds):
                found.append(iter([b"f" if kind is float else b"i" if kind is int else kind for kind in kinds]))
        return found

    def marks(self) -> Iterator[bytes | type]:
        """For each number, whether it may be a float (f), an int (i) or either of them (*); nothing where that is not known.

        If not all arrangements of these are known, the marks are those of the last one that became known.
        """
        known = [kinds for kinds, arms in self.together.items() if arms is None and {int, float}.issuperset(kinds)]
        if not known:
            return iter(())
        columns = [set(column) for column in zip(*known)]
        if self._is_full(known[0]) and not any(self.together.values()):
            columns = [kinds & {int, float} for _, kinds in zip(columns, self._positions(known[0]))]
        elif prod(map(len, columns)) != len(known):
            columns = [{kind} for kind in known[-1]]
        return iter([b"*" if len(kinds) == 2 else b"i" if int in kinds else b"f" for kinds in columns])


class Evidence:
    """What is known of one trace."""

    def __init__(self) -> None:
        self.sampled = (
            True  # whether its own numbers are known: not if a loop of the tape was too long to be interpreted
        )
        self.holds = True  # of a staged trace: whether it holds for the numbers that it was made on, so far as is known
        self.compared = True  # of a staged trace: whether it was compared with a plain run of the function
        self.arms: Arms | None = None  # of a merged trace that may meet arms on which it was not compared
        self.classes = Classes()

    @property
    def settled(self) -> bool:
        """Whether machine code may answer without a look, on numbers of the classes that are known."""
        return self.compared and self.arms is None

    def again(self) -> Evidence:
        """The same for the same trace with its captured Values in another order, whose arms are compared anew."""
        new = copy.copy(self)
        new.arms = None if self.arms is None else self.arms.again()
        return new
