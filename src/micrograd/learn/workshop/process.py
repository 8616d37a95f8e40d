"""Run a check in a process of its own, with limits on time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from micrograd.learn.workshop.judge import Verdict

SECONDS = 60  # wall clock; the longest check, the moons, takes about 2 s on an idle core
MEMORY = 2 << 30  # bytes of address space; an interpreter with this package takes about 0.3 GB of it
SHOWN = 2000  # characters of the learner's own output
CRASHED = 0xC00000FD  # Windows: the stack is full


@dataclass
class Run:
    """A verdict, and what the learner's code printed."""

    verdict: Verdict
    printed: str = ""


def check(name: str, folder: Path, seconds: float = SECONDS, memory: int = MEMORY) -> Run:
    """Judge one exercise of a folder."""
    with tempfile.TemporaryDirectory() as place:
        result, printed = Path(place) / "verdict.json", Path(place) / "printed.txt"
        module = "micrograd.learn.workshop.judge"
        command = [sys.executable, "-m", module, name, str(result), str(memory), str(int(seconds) + 2)]
        with printed.open("wb") as out:
            quiet = subprocess.DEVNULL
            child = subprocess.Popen(command, cwd=folder, stdin=quiet, stdout=out, stderr=out, start_new_session=True)
            try:
                child.wait(seconds)
            except subprocess.TimeoutExpired:
                message = f"Your code was stopped after {seconds:g} seconds. Is there a loop or a recursion that does not end?"
                return Run(Verdict(False, message), _read(printed))
            finally:
                _end(child)
        text = _read(printed)
        if not result.exists():
            return Run(Verdict(False, _ended(child.returncode)), text)
        return Run(Verdict(**json.loads(result.read_text(encoding="utf-8"))), text)


def _ended(code: int) -> str:
    """Why a process left no verdict."""
    if code in (-signal.SIGSEGV, CRASHED):
        return (
            "Your code crashed Python. Most often this is a recursion that does not end, in a process that allows it."
        )
    if sys.platform != "win32" and code == -signal.SIGXCPU:
        return "Your code was stopped: it used all of its processor time. Is there a loop that does not end?"
    return f"The process of your code ended with code {code} before the check was done."


def _end(child: subprocess.Popen[bytes]) -> None:
    """Stop the child, and the processes that the learner's code may have started."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody of the group is left
            os.killpg(child.pid, signal.SIGKILL)
    if child.poll() is None:
        child.kill()
        child.wait()


def _read(path: Path) -> str:
    with path.open("rb") as file:
        text = file.read(4 * SHOWN).decode("utf-8", "replace")
    return text if len(text) <= SHOWN else text[:SHOWN] + "\n... (more was printed)"
