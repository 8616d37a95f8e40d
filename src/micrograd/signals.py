"""Ctrl-C that waits: for code of the main thread that an interrupt would leave half done."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Keep a Ctrl-C until the end of the block, for code that takes locks in the main thread."""
    before = signal.getsignal(signal.SIGINT)
    came: list[Any] = []
    mine = _thread.get_ident() == threading.main_thread().ident and callable(before)
    try:
        if mine:
            signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    except ValueError:  # another interpreter than the main one
        mine = False
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(signal.SIGINT, came[0])
