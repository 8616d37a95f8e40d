"""Runs a program by CPython and by the plain interpreter of the core, and says what each of them did."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from micrograd.core import plain
from micrograd.core.lower import lower_module


def deep(run: Callable[[], Any]) -> Any:
    """Return what `run` returns, run in a thread whose stack is large: each form takes a few frames of Python."""
    found: list[Any] = []

    def catch() -> None:
        try:
            found.append((run(), None))
        except BaseException as error:
            found.append((None, error))

    before, limit = threading.stack_size(512 << 20), sys.getrecursionlimit()
    sys.setrecursionlimit(40_000)
    try:
        thread = threading.Thread(target=catch)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(limit)
    result, error = found[0]
    if error is not None:
        raise error
    return result


def described(error: BaseException | None, depth: int = 0) -> Any:
    """Return what can be seen of an exception, but for its traceback."""
    if error is None or depth > 5:
        return None
    contexts = [described(e, depth + 1) for e in (error.__cause__, error.__context__)]
    parts = [described(e, depth + 1) for e in getattr(error, "exceptions", ())]
    return type(error).__name__, str(error), error.__suppress_context__, contexts, parts


def outcome(run: Callable[[], Any]) -> tuple[str, Any, Any]:
    """Return what a call prints, returns and raises."""
    printed = io.StringIO()
    error = result = None
    before, sys.unraisablehook = sys.unraisablehook, lambda found: print("unraisable", repr(found.exc_value))
    with contextlib.redirect_stdout(printed):
        try:
            result = run()
        except Exception as raised:
            error = raised
    sys.unraisablehook = before
    return printed.getvalue(), repr(result), described(error)


def module(file: str) -> types.ModuleType:
    """Return an empty module, which classes and functions of a program can be looked up in."""
    made = types.ModuleType("program")
    made.__file__ = file
    return made


def by_cpython(text: str, file: str = "<program>") -> tuple[str, Any, Any]:
    """Return what CPython does with a program."""
    space = module(file)
    sys.modules["program"] = space
    return outcome(lambda: exec(compile(text, file, "exec", dont_inherit=True), space.__dict__))


def by_plain(text: str, file: str = "<program>", **options: Any) -> tuple[str, Any, Any]:
    """Return what the plain interpreter does with a program."""
    space = module(file)
    sys.modules["program"] = space
    interpreter = plain.Interpreter(**options)
    return deep(lambda: outcome(lambda: plain.execute(lower_module(text, file), space.__dict__, interpreter)))
