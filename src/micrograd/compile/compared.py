"""The classes of the numbers of a call: whether a trace was compared with the function on such numbers (stage/on_numbers.py).

What a function does may depend on the class of a number: an int can be an index, and a float cannot. So a later call with
numbers of other classes than before is compared, too. The classes count together: x * y is an int if both are ints. And they
count for one path: what is known of a branch says nothing of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from math import prod
from typing import Any

MANY = (
    64  # so many arrangements of classes are compared; after these, each number may be of any class that it had in one
)
FEW = 64  # with more numbers than this, it may then be of any class that one of them had
ROOM = 2**20  # classes in all arrangements that are kept
EXACT_INT = 2**53  # up to here, a float holds every whole number
UNDECIDED = (
    8  # so many calls in which the function raised an exception for the numbers are followed by another comparison
)


def classes_of(numbers: list[Any]) -> Any:
    """What a trace depends on, of numbers that are the same in all rows: their classes. A large int is a class by itself."""
    kinds: Any = tuple(map(type, numbers))
    if int in kinds:
        kinds = tuple([x if type(x) is int and abs(x) > EXACT_INT else kind for x, kind in zip(numbers, kinds)])
    return kinds if len(kinds) <= FEW else frozenset(kinds)


class Compared:
    """The classes that numbers had in those calls in which a trace was compared with the function itself."""

    def __init__(self) -> None:
        # For each arrangement of classes, the arms that were compared (stage/later.py), as long as others are looked for.
        self.together: dict[tuple[type, ...], Any] = {}
        self.classes: list[set[type]] = []  # by position; one set for all of them where there are many
        self.undecided = UNDECIDED

    def knows(self, leaves: list[Any]) -> bool:
        """Whether there were numbers of these classes before, and each of these numbers is one that a float can hold."""
        kinds = tuple(map(type, leaves))
        if int in kinds and any(type(x) is int and abs(x) > EXACT_INT for x in leaves):
            return False
        if kinds in self.together:
            return self.together[kinds] is None
        return self._is_full(kinds) and all(kind in known for kind, known in zip(kinds, self._positions(kinds)))

    def arms(self, leaves: list[Any]) -> Any:
        """The arms of a merged trace that were compared on numbers of these classes, as far as they are looked at."""
        return self.together.get(tuple(map(type, leaves)))

    def note(self, leaves: list[Any], decided: bool, arms: Any = None) -> None:
        """Note that there was a call with these numbers, and whether anything could be compared in it.

        `arms` are those of a merged trace, if calls with such numbers are to be looked at further.
        """
        self.undecided -= not decided
        if not decided and self.undecided >= 0:
            return
        self._add(tuple(map(type, leaves)), arms)

    def learn(self, other: Compared) -> None:
        """Take over what is known of another trace of the same path."""
        for kinds, arms in other.together.items():
            if kinds not in self.together:
                self._add(kinds, arms)

    def _add(self, kinds: tuple[type, ...], arms: Any) -> None:
        if not self.classes:
            self.classes = [set() for _ in (kinds if len(kinds) <= FEW else kinds[:1])]
        for kind, known in zip(kinds, self._positions(kinds)):
            known.add(kind)
        if kinds in self.together or not self._is_full(kinds):
            self.together[kinds] = arms

    def _is_full(self, kinds: tuple[type, ...]) -> bool:
        return len(self.together) >= max(1, min(MANY, ROOM // max(1, len(kinds))))

    def _positions(self, kinds: tuple[type, ...]) -> Iterable[set[type]]:
        return self.classes if len(kinds) <= FEW else repeat(self.classes[0])

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
