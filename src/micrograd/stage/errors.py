"""Why a program, or an arm of it, is not merged."""

from __future__ import annotations

from typing import Any


class Unsupported(BaseException):
    """Something that cannot be shown to be right when merged. Not an Exception: the user's `except` must not see it."""


class TooManyWays(Unsupported):
    """Choices depend on each other in more ways than can be followed; perhaps not, if plain numbers become Values."""


class NoSource(Unsupported):
    """A function is not interpreted because its source cannot be read."""


class Bound(Unsupported):
    """Rows need more iterations or deeper calls than are written out; a tape of the next level may hold for them."""


class StaleRead(BaseException):
    """The body of a loop reads a variable that it was taken to assign first. The name is empty where it is not known."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.name = name


class NotYet(BaseException):
    """A loop can be rolled after another iteration, when its variables hold what they hold from then on."""


class Outside(Unsupported):
    """Something older is changed inside of a loop that is rolled. A list may be carried; else the loop is unrolled."""

    def __init__(self, why: str, changed: Any = None) -> None:
        super().__init__(why)
        self.changed = changed


class Copied(Unsupported):
    """Something is done with an object that only the object of eager code can tell: the loop that copied it is unrolled."""

    def __init__(self, why: str, loop: Any) -> None:
        super().__init__(why)
        self.loop = loop


class Lost(BaseException):
    """No row is left: every one of them raises, or does something that is not merged."""
