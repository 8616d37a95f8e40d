"""Whether other threads did anything while a function was traced, such as to change what it reads."""

from __future__ import annotations

from micrograd.compile import worker
from micrograd.outside import is_installed


class Threads:
    """Where the other threads stood when this was made."""

    def __init__(self) -> None:
        self._places = self._now()

    def rested(self) -> bool:
        """Whether all of them stand where they stood, in code that is none of the user's: they wait for something."""
        return self._now() == self._places and all(is_installed(module) for *_, module in self._places)

    @staticmethod
    def _now() -> list[tuple[int, int, int, str]]:
        found = worker.others().items()
        return sorted([(ident, id(f), f.f_lasti, str(f.f_globals.get("__name__"))) for ident, f in found])
