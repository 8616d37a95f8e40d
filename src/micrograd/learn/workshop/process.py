"""Run a check in a process of its own, with limits on time, memory and output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any

from micrograd.learn import texts
from micrograd.learn.workshop.judge import FILE, Verdict
from micrograd.learn.workshop.messages import say

SECONDS = 60  # wall clock; the longest check, the moons, takes about 2 s on an idle core
MEMORY = 2 << 30  # bytes of address space; an interpreter with this package takes about 0.3 GB of it
PRINTED = 10_000_000  # bytes that may be printed; they go through a pipe, and all but the first ones are dropped
SHOWN = 2000  # characters of the learner's own output
CRASHED = 0xC00000FD  # Windows: the stack is full


@dataclass
class JudgedRun:
    """A verdict, and what the learner's code printed."""

    verdict: Verdict
    printed: str = ""


class Printed:
    """What a process prints, read as it comes: the beginning is kept, and a process that prints without end is stopped."""

    def __init__(self, child: subprocess.Popen[bytes], most: int) -> None:
        self.child, self.most = child, most
        self.kept, self.count, self.flooded = b"", 0, False
        assert child.stdout is not None
        self.thread = Thread(target=self._read, args=(child.stdout,), daemon=True, name="micrograd workshop")
        self.thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while found := os.read(pipe.fileno(), 1 << 16):
                self.count += len(found)
                self.kept += found[: max(0, 4 * SHOWN - len(self.kept))]
                if self.count > self.most and not self.flooded:
                    self.flooded = True
                    self.child.kill()

    def text(self) -> str:
        """The beginning of it, once the process has ended."""
        self.thread.join(1.0)  # a process that left the group may hold the pipe for as long as it likes
        found = self.kept.decode("utf-8", "replace")
        return found if len(found) <= SHOWN else found[:SHOWN] + "\n" + say("... (more was printed)")


def check(
    name: str, folder: Path, seconds: float = SECONDS, memory: int = MEMORY, most: int = PRINTED, file: int = FILE
) -> JudgedRun:
    """Judge one exercise of a folder; `most` bytes may be printed, and files may have `file` bytes each."""
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "verdict.json"
        module = "micrograd.learn.workshop.judge"
        command = [sys.executable, "-m", module, name, str(result), str(memory), str(int(seconds) + 2), str(file)]
        command.append(texts.current()["language"])
        out, quiet = subprocess.PIPE, subprocess.DEVNULL
        child = subprocess.Popen(
            command, cwd=folder, stdin=quiet, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        printed = Printed(child, most)
        message = ""
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            message = say(
                "Your code was stopped after {seconds} seconds. Is there a loop or a recursion that does not end?",
                seconds=f"{seconds:g}",
            )
        finally:
            _end(child)
        text = printed.text()
        if printed.flooded:
            message = say(
                "Your code was stopped: it printed more than {size} MB. Is there a loop that prints without end?",
                size=f"{most / 1e6:g}",
            )
        return JudgedRun(Verdict(False, message) if message else _verdict(result, file, child.returncode), text)


def _verdict(path: Path, most: int, code: int) -> Verdict:
    """The verdict that the process wrote to a file, as far as it is one: the learner's code may have changed the file."""
    try:
        info = path.lstat()
    except OSError:
        return Verdict(False, _ended(code))
    try:
        if not stat.S_ISREG(info.st_mode) or info.st_size > most:
            raise ValueError("no file, or one that is too long")
        return _checked(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return Verdict(
            False,
            say(
                "The verdict of the check cannot be read. Your code may have ended the process, or written over its file; "
                "save your file to check again."
            ),
        )


def _checked(found: Any) -> Verdict:
    """A verdict out of JSON, if it has the fields of one; else ValueError."""
    kinds: dict[str, Any] = {"passed": bool, "message": str, "timeline": list, "replay": (dict, type(None))}
    if not isinstance(found, dict) or set(found) != set(kinds):
        raise ValueError("no verdict")
    if not all(isinstance(found[name], kind) for name, kind in kinds.items()):
        raise ValueError("a field of another kind")
    if not all(isinstance(line, str) for line in found["timeline"]):
        raise ValueError("a step that is no text")
    return Verdict(**found)


def _ended(code: int) -> str:
    """Why a process left no verdict."""
    if code in (-signal.SIGSEGV, CRASHED):
        return say(
            "Your code crashed Python. Most often this is a recursion that does not end, in a process that allows it."
        )
    if sys.platform != "win32" and code == -signal.SIGXCPU:
        return say("Your code was stopped: it used all of its processor time. Is there a loop that does not end?")
    return say("The process of your code ended with code {code} before the check was done.", code=code)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Stop the child, and the processes that the learner's code may have started."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody of the group is left
            os.killpg(child.pid, signal.SIGKILL)
    if child.poll() is None:
        child.kill()
        child.wait()
