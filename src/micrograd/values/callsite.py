"""The user's file and line: the innermost frame that does not run code of this package."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import sys
import warnings
from types import FunctionType
from typing import Any


def user_depth() -> int:
    """How many frames up from the caller the innermost one outside of this package is, as warnings.warn counts them."""
    frame: Any = sys._getframe(1)
    depth = 1
    while frame.f_back is not None and (in_package(frame) or _imports(frame)):
        frame = frame.f_back
        depth += not _imports(frame)
    return depth


def _imports(frame: Any) -> bool:
    """Whether a frame is Python's own work on an import statement, which warnings.warn does not count."""
    name = frame.f_code.co_filename
    return "importlib" in name and "_bootstrap" in name


def user_frame(above: int = 0) -> Any:
    """Return the innermost frame outside of this package, at least `above` frames up from the caller; None for none."""
    frame: Any = sys._getframe(above + 1)
    while frame is not None and in_package(frame):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """`file:line` of the innermost caller outside of this package."""
    frame = user_frame()
    return "an unknown line" if frame is None else place(frame, frame.f_lineno)


def calling_lines() -> str:
    """Return `file:line` of the user's own code and, if that calls a package which is at work, the package's behind it."""
    inner = own = user_frame()
    while own is not None and (in_package(own) or _is_installed(own)):
        own = own.f_back
    if inner is None:
        return "an unknown line"
    if own is None or own is inner:
        return place(inner, inner.f_lineno)
    package = _module(inner).split(".")[0] or inner.f_code.co_filename
    return f"{place(own, own.f_lineno)} (in {package}, at {place(inner, inner.f_lineno)})"


@functools.cache
def _folders() -> tuple[str, ...]:
    import sysconfig  # not needed to import micrograd

    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def _is_installed(frame: Any) -> bool:
    """Whether a frame runs code of an installed package or of the standard library."""
    return str(frame.f_code.co_filename).startswith((*_folders(), "<frozen"))


def line_of(error: BaseException) -> str:
    """`file:line` of the user's code that an error came from, and that of the package behind it where one was at work."""
    at, inner, own = error.__traceback__, "", ""
    while at is not None:
        if not in_package(at.tb_frame) and not _module(at.tb_frame).startswith("numpy"):
            inner = place(at.tb_frame, at.tb_lineno)
            if not _is_installed(at.tb_frame):
                own, inner = inner, ""
        at = at.tb_next
    return f"{own} (at {inner})" if own and inner else own or inner or "an unknown line"


def _module(frame: Any) -> str:
    return str(frame.f_globals.get("__name__") or "")  # exec may leave it out, or None


def in_package(frame: Any) -> bool:
    """Whether a frame runs code of this package (or of what it stands on, to copy and pickle)."""
    return _module(frame).split(".")[0] in (
        "micrograd",
        "copy",
        "contextlib",
        "functools",
        "numpy",
    )


def place(frame: Any, line: int) -> str:
    """`file:line`"""
    return f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{line}"


def user_site(above: int) -> tuple[str, int, str] | None:
    """Return (file, line, function) of the innermost caller outside of micrograd, at least `above` frames up; None for none."""
    frame = user_frame(above + 1)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def syntax_of(text: str, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of the user's source, without the warnings that Python gave when it was imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, file)


def source_of(function: FunctionType) -> str:
    """The whole text of the file or the cell that a function is from; empty where Python does not keep it."""
    name = function.__code__.co_filename
    linecache.checkcache(name)
    text = "".join(linecache.getlines(name))
    if not text and name.startswith("<"):  # Python 3.13 and newer keep the text of python -c and of their prompt
        import inspect  # not needed to import micrograd

        with contextlib.suppress(OSError, TypeError):
            text = "".join(inspect.findsource(function)[0])
    return text
