"""The classes of the numbers of a call: whether a trace was compared with the function on such numbers (stage/on_numbers.py).

What a function does may depend on the class of a number: an int can be an index, and a float cannot. So a later call with
numbers of other classes than before is compared, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

MANY = 64  # with more numbers than this, a class that one of them had is known for all of them
EXACT_INT = 2**53  # up to here, a float holds every whole number
UNDECIDED = (
    8  # so many calls in which the function raised an exception for the numbers are followed by another comparison
)


class Compared:
    """The classes that numbers had in those calls in which a trace was compared with the function itself."""

    def __init__(self) -> None:
        self.together: set[tuple[type, ...]] = set()
        self.classes: list[set[type]] = []  # by position; one set for all of them where there are many
        self.undecided = UNDECIDED

    def knows(self, leaves: list[Any]) -> bool:
        """Whether there were numbers of these classes before, and each of these numbers is one that a float can hold."""
        kinds = tuple(map(type, leaves))
        if int in kinds and any(type(x) is int and abs(x) > EXACT_INT for x in leaves):
            return False
        return kinds in self.together or (
            bool(self.classes) and all(kind in known for kind, known in zip(kinds, self._positions(kinds)))
        )

    def note(self, leaves: list[Any], decided: bool) -> None:
        """Note that there was a call with these numbers, and whether anything could be compared in it."""
        self.undecided -= not decided
        if not decided and self.undecided >= 0:
            return
        kinds = tuple(map(type, leaves))
        if not self.classes:
            self.classes = [set() for _ in (kinds if len(kinds) <= MANY else kinds[:1])]
        for kind, known in zip(kinds, self._positions(kinds)):
            known.add(kind)
        if len(self.together) < MANY:
            self.together.add(kinds)

    def _positions(self, kinds: tuple[type, ...]) -> Iterable[set[type]]:
        return self.classes if len(kinds) <= MANY else repeat(self.classes[0])

    def marks(self) -> Iterator[bytes]:
        """For each number, whether it may be a float (f), an int (i) or either of them (*); nothing where that is not known."""
        marks = [b"*" if {int, float} <= s else b"i" if int in s else b"f" for s in self.classes]
        return repeat(marks[0]) if len(marks) == 1 else iter(marks)
