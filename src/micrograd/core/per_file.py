"""Results kept for the text of a file, for the files that were asked for last: each cell of a notebook is a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 100  # files


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
