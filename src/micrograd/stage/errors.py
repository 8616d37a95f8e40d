"""Why a program, or an arm of it, is not merged."""

from __future__ import annotations


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
    """Something older is changed inside of a loop that is rolled: the loop is written iteration by iteration instead."""


class Lost(BaseException):
    """No row is left: every one of them raises, or does something that is not merged."""
