"""Why the front end does not follow a function."""

from __future__ import annotations

from micrograd.errors import TraceError

strict = False  # whether a defect of this package is raised, as the tests want it; otherwise such a function is traced


class Refused(TraceError):
    """A function does something that the front end does not follow. The message gives the fact, the line and the reason."""

    def __init__(self, fact: str, reason: str = "", where: str = "") -> None:
        super().__init__(fact, reason, where)
        self.fact, self.reason, self.where = fact, reason, where

    def __str__(self) -> str:
        at = f", at {self.where}" if self.where else ""
        return f"{self.fact}{at}" + (f"\n  {self.reason}" if self.reason else "")


class Unrollable(Exception):
    """A loop cannot stay a loop; it may be unrolled instead. `needed` names a variable that is read after the loop."""

    def __init__(self, reason: str, needed: str | None = None) -> None:
        super().__init__(reason)
        self.needed, self.where = needed, ""


class Restart(Exception):
    """The heap in front of a loop must be another one: a list has to be an array there. `change` makes it so."""

    def __init__(self, location: int, change: object) -> None:
        super().__init__(location)
        self.location, self.change = location, change


class Copied(Unrollable):
    """An object that a loop has copied is changed, or compared with others. `needed` names the variable of the copy."""

    def __init__(self, location: int, needed: str) -> None:
        super().__init__(f"{needed or 'an object'} is replaced in a branch, and changed", needed)
        self.location = location
