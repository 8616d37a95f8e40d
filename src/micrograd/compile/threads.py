"""Whether other threads did anything while a function was traced, such as to change what it reads."""

from __future__ import annotations

import sys
import threading
from types import FrameType

from micrograd.compile.worker import WORKERS
from micrograd.watch.code import is_installed


def others() -> dict[int, FrameType]:
    """Return what other threads than this one run at the moment; those that compile are none of them."""
    here = {threading.get_ident(), *(worker.ident for worker in WORKERS)}
    return {ident: frame for ident, frame in sys._current_frames().items() if ident not in here}


class Threads:
    """Where the other threads stood when this was made."""

    def __init__(self) -> None:
        self._places = self._now()

    def rested(self) -> bool:
        """Whether all of them stand where they stood, in code that is none of the user's: they wait for something."""
        return self._now() == self._places and all(is_installed(module) for *_, module in self._places)

    @staticmethod
    def _now() -> list[tuple[int, int, int, str]]:
        found = others().items()
        return sorted([(ident, id(f), f.f_lasti, str(f.f_globals.get("__name__"))) for ident, f in found])
