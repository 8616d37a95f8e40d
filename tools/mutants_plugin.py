"""A pytest plugin that collects tests once, and forks a process for each thing that is to be run with them.

It records which test runs which lines of the files to be changed (`record`), and runs chosen tests on changed files (`Server`):
the code of the altered functions is put into the functions that exist, in both loads of the package, and nothing is imported.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from mutations import Mutation, exchanged, key, mutant

MEMORY = 6 << 30  # bytes of data a mutant may have: one that grows without end is dead
PATIENCE = 20.0  # a test may take so many times as long as without any change, and GRACE seconds more
GRACE = 15.0


class Plugin:
    """Collects, then calls `work` with itself in place of running the tests."""

    def __init__(self, source: Path, targets: list[str], work: Callable[[Plugin], None]) -> None:
        self.files = {str(source / t): t for t in targets}
        self.work = work
        self.at_import = {t: set[int]() for t in targets}
        self.items: dict[str, pytest.Item] = {}
        self.failed = ""
        _trace(self.files, self.at_import, functions=True)

    def pytest_collection(self) -> None:
        with contextlib.suppress(ImportError):
            from hypothesis import Phase, settings

            settings.register_profile(
                "mutants", settings.get_profile("micrograd"), phases=(Phase.explicit, Phase.generate)
            )
            settings.load_profile("mutants")  # nobody reads the example that kills a mutant, so it is not shortened

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        _trace({}, {})
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        done = yield
        if fixturedef.argname == "_kernels_apart":  # kernels are named by their text, so all mutants can share them
            os.environ["MICROGRAD_CACHE"] = os.environ["MUTANTS_CACHE"]
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def run(self, nodeid: str, following: str | None) -> bool:
        """Run one test; whether it passes."""
        self.failed = ""
        after = self.items[following] if following else None
        self.items[nodeid].ihook.pytest_runtest_protocol(item=self.items[nodeid], nextitem=after)
        return not self.failed

    def forked(
        self, tests: list[str], limits: list[float], prepare: Callable[[], None], on_each: Callable[[str], Any]
    ) -> str:
        """Run tests in a process of their own until one fails: its name with the reason, or an empty text."""
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                os.setsid()
                null = os.open(os.devnull, os.O_RDWR)
                for k in (0, 1, 2):
                    os.dup2(null, k)
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
                prepare()
                for i, nodeid in enumerate(tests):
                    os.write(writing, b"%d\n" % i)
                    if not self.run(nodeid, tests[i + 1] if i + 1 < len(tests) else None):
                        if on_each(nodeid) is not True:
                            os.write(writing, b"failed\n")
                            break
                    else:
                        on_each(nodeid)
                else:
                    os.write(writing, b"passed\n")
            finally:
                os._exit(0)
        os.close(writing)
        return _watch(child, reading, tests, limits)


def _watch(child: int, pipe: int, tests: list[str], limits: list[float]) -> str:
    """Follow a child, and end it where a test takes too long."""
    at, said, text = 0, "died", b""
    while True:
        ready, _, _ = select.select([pipe], [], [], limits[at] if at < len(limits) else GRACE)
        if not ready:
            said = "too slow"
            break
        got = os.read(pipe, 4096)
        if not got:
            break
        text += got
        *lines, text = text.split(b"\n")
        for line in lines:
            if line.isdigit():
                at = int(line)
            else:
                said = line.decode()
        if said in ("passed", "failed"):
            break
    os.close(pipe)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "" if said == "passed" else f"{tests[at]} ({said})"


def _trace(files: dict[str, str], lines: dict[str, set[int]], functions: bool = False) -> None:
    """Record the lines of these files that run from now on, or of their functions alone; nothing where there are no files."""

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        name = files.get(frame.f_code.co_filename)
        if name is None or (functions and not frame.f_code.co_flags & 0x2):  # CO_NEWLOCALS: a function
            return None
        seen = lines[name]
        seen.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            seen.add(frame.f_lineno)
            return line

        return line

    sys.settrace(called if files else None)
    threading.settrace(called if files else None)  # type: ignore[arg-type]


def record(plugin: Plugin, to: Path) -> None:
    """Run every test once, and write which lines it runs and how long it takes; tests that fail are left out."""
    lines: dict[str, set[int]] = {}
    began = 0.0

    def prepare() -> None:
        nonlocal lines, began
        lines, began = {t: set() for t in plugin.at_import}, time.process_time()
        _trace(plugin.files, lines)

    def on_each(nodeid: str) -> bool:
        _trace({}, {})
        touched = {name: sorted(seen) for name, seen in lines.items() if seen}
        row = {"test": nodeid, "seconds": round(time.process_time() - began, 3), "lines": touched}
        with to.open("a") as out:
            out.write(json.dumps(row if not plugin.failed else {"test": nodeid, "failed": True}) + "\n")
        prepare()
        return True

    tests = list(plugin.items)
    while tests:  # a test that ends the process is left out, and the others go on behind it
        lost = plugin.forked(tests, [600.0] * len(tests), prepare, on_each)
        if not lost:
            break
        name = lost.rsplit(" (", 1)[0]
        print(f"left out: {lost}", flush=True)
        tests = tests[tests.index(name) + 1 :]
    with to.open("a") as out:
        out.write(json.dumps({"import": {t: sorted(seen) for t, seen in plugin.at_import.items()}}) + "\n")


def replace_code(path: str, code: CodeType) -> None:
    """Let whatever loads this file from now on in this process get this code."""
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> Any:
        return code if self.get_filename(name) == path else usual(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


class Server:
    """Runs chosen tests on changed files, with the functions altered in place."""

    def __init__(self, plugin: Plugin, relative: str, path: Path) -> None:
        self.plugin, self.path, self.source = plugin, path, path.read_text()
        self.old = compile(self.source, str(path), "exec", dont_inherit=True)
        self.functions: dict[Any, list[FunctionType]] = {}
        gc.unfreeze()  # conftest.py hides from the collector what test files have imported
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename == str(path):
                self.functions.setdefault(key(thing.__code__), []).append(thing)

    def swaps(self, mutation: Mutation) -> list[tuple[FunctionType, CodeType]] | None:
        """The functions to alter; None where the change takes effect at import."""
        self.new = compile(mutant(self.source, mutation), str(self.path), "exec", dont_inherit=True)
        pairs = exchanged(self.old, self.new)
        if pairs is None:
            return None
        found = [(function, new) for old, new in pairs for function in self.functions.get(key(old), [])]
        return found or None

    def killer(self, swaps: list[tuple[FunctionType, CodeType]], tests: list[tuple[float, str]]) -> str:
        """The test that fails with these functions altered, and how; an empty text where all pass."""

        def prepare() -> None:
            for function, code in swaps:
                function.__code__ = code
            if swaps:  # for the other load of the package, which may import the file later
                replace_code(str(self.path), self.new)

        names = [name for _, name in tests]
        limits = [GRACE + PATIENCE * seconds for seconds, _ in tests]
        return self.plugin.forked(names, limits, prepare, lambda nodeid: None)
