"""Several threads that do the same at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def together(work: Callable[[int], Any], count: int = 4) -> list[Any]:
    """Return work(0), work(1), ..., each computed in a thread of its own; all start at the same moment."""
    start = threading.Barrier(count)
    results: list[Any] = [None] * count
    failed: list[BaseException] = []

    def run(i: int) -> None:
        try:
            start.wait(60)
            results[i] = work(i)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if failed:
        raise failed[0]
    assert not any(thread.is_alive() for thread in threads)
    return results
