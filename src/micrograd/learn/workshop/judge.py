"""Judge one exercise: import the learner's files from a folder and run the check. Also the program of the child process."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from micrograd.learn import texts
from micrograd.learn.workshop import checks_engine, checks_functions, checks_networks
from micrograd.learn.workshop.catalog import BY_NAME
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.programs import Fault, bounded_recursion

CHECKS: dict[str, Callable[[Callable[[str], Any]], Any]] = {
    name: getattr(module, name)
    for module in (checks_engine, checks_functions, checks_networks)
    for name in vars(module)
    if name in BY_NAME
}


PAGE = "my_timeline.html"
FILE = 8 << 20  # bytes of a file that the process of a check may write
FILES = 50  # times that it may open a file to write; a check opens one or two
TOLD = 2000  # characters of a message
_ONE = threading.RLock()  # a check changes the path, the modules and the recursion limit of the process


@dataclass
class Verdict:
    """What a check found: the message, and the steps of the learner's code that led there."""

    passed: bool
    message: str
    timeline: list[str] = field(default_factory=list)
    replay: dict[str, Any] | None = None  # the learner's graph, and where to open it: at the first wrong contribution


def judge(name: str, folder: Path, *, show: bool = False) -> Verdict:
    """Run one check in this process; `show` adds a pass by the learner's code to a verdict that is good.

    Checks in several threads wait for each other.
    """
    with _ONE, bounded_recursion():
        return _judge(name, folder, sys.getrecursionlimit(), show)


def _judge(name: str, folder: Path, limit: int, show: bool) -> Verdict:
    def load(module: str) -> Any:
        try:
            return import_module(module)
        finally:
            sys.setrecursionlimit(limit)  # a file that raises the limit would make an endless recursion a crash

    kept, names = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(folder))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    invalidate_caches()
    try:
        told = CHECKS[name](load)
        return Verdict(True, told or "", replay=_shown(name, load) if show else None)
    except Fault as fault:
        told, found = _page(fault, folder)
        return Verdict(False, str(fault), fault.timeline + told, found)
    except MemoryError:
        return Verdict(False, say("Your code needs too much memory. Does a list or a loop grow without end?"))
    except (Exception, SystemExit) as error:
        return Verdict(False, _of_the_learner(error, folder))
    finally:
        sys.path[:] = kept
        sys.dont_write_bytecode = written
        for module in set(sys.modules) - names:
            if module in BY_NAME:
                del sys.modules[module]


def _shown(name: str, load: Callable[[str], Any]) -> dict[str, Any] | None:
    from micrograd.learn.workshop.replay import own_pass

    try:
        return own_pass(name, load)
    except Exception:  # the check has passed; a graph that cannot be drawn changes nothing
        return None


def _page(fault: Fault, folder: Path) -> tuple[list[str], dict[str, Any] | None]:
    """The learner's own pass as a page that opens at the first wrong contribution or value, where there is one.

    Gives the line that tells it, and the graph with the place to open it at, for a page that has a stage of its own.
    """
    from micrograd.learn.explorer import Explorer
    from micrograd.learn.workshop.replay import replay

    try:
        found = replay(fault)
        if found is None:
            return [], None
        explorer = Explorer([{**found["graph"], "about": str(fault)}])
        explorer.lesson["open"] = found["open"]
        explorer.save(folder / PAGE)
    except Exception:  # a later rule of the learner fails: the first fault is told, and a page cannot be made
        return [], None
    if fault.graph is not None and not fault.node:
        return [say("your graph, with the values that it computed, as a page: {page}", page=PAGE)], found
    return [say("your pass, step by step, opened at the first wrong contribution, as a page: {page}", page=PAGE)], found


def _of_the_learner(error: BaseException, folder: Path) -> str:
    """An exception in one line, with the learner's line nearest to where it was raised."""
    try:
        told = f"{type(error).__name__}: {error}"[:TOLD]
    except Exception:  # the learner's own class of exceptions
        told = type(error).__name__
    if isinstance(error, SyntaxError):
        line = f": {error.text.strip()}" if error.text else ""
        return say(
            "{kind}: {told}, at {place}",
            kind=type(error).__name__,
            told=error.msg,
            place=f"{Path(error.filename or '?').name}:{error.lineno}{line}",
        )
    if isinstance(error, RecursionError):
        told = say("Your code calls itself without end (RecursionError)")
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        return say("{module}.py has no {name}. Keep the names of the task.", module=error.obj.__name__, name=error.name)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).resolve().parent == folder.resolve():
            return say(
                "{told} at {place}", told=told, place=f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}"
            )
    return say("{told} (the result of your code does not have the form that the task asks for)", told=told)


class _Written:
    """An audit hook that counts the files which are opened to be written: a loop that writes files has to end somewhere."""

    def __init__(self) -> None:
        self.count, self.most = 0, FILES

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
            self.count += 1
            if self.count > self.most:
                raise OSError(errno.EDQUOT, f"your code may open {FILES} files to write")


def main(name: str, result: str, memory: int, seconds: int, file: int = FILE, language: str = "en") -> None:
    """Judge in a process of its own, under limits, and write the verdict to a file."""
    try:
        import resource
    except ImportError:  # Windows: the parent's time limit is all there is
        pass
    else:
        limits = (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, file)
        for kind, limit in limits:
            try:
                resource.setrlimit(kind, (limit, limit))
            except (ValueError, OSError):  # a stricter limit is already set, or the system does not know this one
                continue
    texts.use(language)
    files = _Written()
    sys.addaudithook(files)
    found = json.dumps(asdict(judge(name, Path.cwd())))
    files.most = sys.maxsize  # a hook stays, and the verdict is a file too
    written = Path(result).with_suffix(".part")  # moved into place: whoever reads it finds all of it, or nothing
    written.write_text(found, encoding="utf-8")
    written.replace(result)


if __name__ == "__main__":
    memory, seconds, file = map(int, sys.argv[3:6])
    main(sys.argv[1], sys.argv[2], memory, seconds, file, sys.argv[6])
