"""The compiling thread, for tests that wait for it."""

from __future__ import annotations

import threading

from micrograd.compile import worker


def settle() -> None:
    """Wait until the compiling thread has done what was asked of it."""
    done = threading.Event()
    worker.in_background(done.set)
    assert done.wait(60)
