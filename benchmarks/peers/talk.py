"""What every peer script shares: read a task a line, answer with a line. benchmarks/contenders.py is at the other end.

prepare TASK    answers yes or no
time TASK       answers with the seconds of one call
finish TASK     lets go of it
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Timer = Callable[[], float]


def serve(version: str, tasks: dict[str, Callable[[], Timer]]) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    print(version, file=answers)
    ready: dict[str, Timer] = {}
    for line in sys.stdin:
        word, _, task = line.strip().partition(" ")
        said: Any = "done"
        try:
            if word == "prepare":
                said = "yes" if task in tasks else "no"
                if task in tasks:
                    ready[task] = tasks[task]()
            elif word == "time":
                said = repr(ready[task]())
            elif word == "finish":
                ready.pop(task, None)
        except Exception as reason:
            said = f"{type(reason).__name__}: {reason}".splitlines()[0]
        print(said, file=answers)


def missing(name: str) -> None:
    """Say that the library is not there, and end."""
    print(f"missing: {name} is not installed", flush=True)
    sys.exit(0)
