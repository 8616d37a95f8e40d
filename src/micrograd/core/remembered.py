"""Results that are kept: for a code object or a class as long as it lives, and for the text of the files asked for last.

A cell of a notebook is a file of its own, and one that runs again leaves nothing behind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MOST = 100  # files


class PerObject(Generic[T]):
    """What was found for objects, by their identity: equal code objects may come from different files."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, x: Any) -> T | None:
        """Return what was found for an object; None where that is nothing."""
        known = self.found.get(id(x))
        return known[1] if known is not None and known[0]() is x else None

    def set(self, x: Any, result: T) -> T:
        """Keep what was found, and return it. It must not hold the object."""
        number, found = id(x), self.found
        found[number] = weakref.ref(x, lambda _: found.pop(number, None)), result
        return result


def per_object(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Make a function keep what it returns for each object; it never returns None."""
    found: PerObject[T] = PerObject()

    def kept(x: Any) -> T:
        known = found.get(x)
        return found.set(x, function(x)) if known is None else known

    kept.__doc__, kept.__name__ = function.__doc__, function.__name__
    return kept


class PerFile(Generic[T]):
    """What was found in files, by their names, as long as their text is the same."""

    def __init__(self) -> None:
        self.found: dict[Hashable, tuple[str, T]] = {}

    def get(self, file: Hashable, text: str, find: Callable[[], T]) -> T:
        """Return what `find` returned for this text, or returns now."""
        known = self.found.pop(file, None)
        if known is None or known[0] != text:
            known = text, find()
        self.found[file] = known
        while len(self.found) > MOST:
            try:
                del self.found[next(iter(self.found))]
            except (KeyError, RuntimeError):  # another thread took it away
                break
        return known[1]
