"""Errors of arithmetic that an `except` of the traced function catches.

`x / 0.0` raises ZeroDivisionError for plain numbers, and gives inf or nan for Values. Where the function itself catches that
error, it goes on in another way with plain numbers, and the trace has to follow it there. So a number of a trace raises what
the plain number raises, if the operator is inside of a `try` that catches it. What decides about that is a guard of the tape.
Anywhere else a plain number would end the function, and Values follow IEEE.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math as standard
import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from tokenize import TokenError
from types import CodeType
from typing import Any

from micrograd import math, observed
from micrograd.core.remembered import PerFile
from micrograd.engine import Value, apply
from micrograd.ops import OPS
from micrograd.tape import kinds
from micrograd.values.callsite import in_package, syntax_of

RAISING: dict[str, Callable[[Any, Any], Any]] = {
    "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
}  # fmt: skip
ERRORS = (ZeroDivisionError, OverflowError)
_NAMES = ("acos", "acosh", "asin", "atanh", "cos", "cosh", "exp", "exp2", "expm1", "fmod", "gamma", "lgamma", "log", "log10",
          "log1p", "log2", "pow", "remainder", "sin", "sinh", "sqrt", "tan")  # fmt: skip
FUNCTIONS: dict[str, str] = {f"math.{name}": name for name in _NAMES}  # of Python's math, by what a watcher is told
ERRORS_OF_FUNCTIONS = (ValueError, OverflowError)
# Who stands between the code that runs an operator and this file.
BETWEEN = {"micrograd.tape.arithmetic", "micrograd.tape.trace", "micrograd.anomaly", "micrograd.engine"}

SHARED = {
    "<string>",
    "<stdin>",
    "<console>",
}  # names that many pieces of code have: the text may be that of another one

Span = tuple[int, int, list[Any]]  # the first and the last line of a block, and what it catches: None is everything

_spans: dict[int, tuple[weakref.ref[CodeType], list[Span]]] = {}  # by the identity of a code
_files: PerFile[list[Span]] = PerFile()  # the blocks in it


def facts(how: str, a: Any, b: Any) -> list[tuple[str, Value, Any, bool]]:
    """The comparisons that decide whether an operator raises an error for plain numbers, and how they come out."""
    if how in FUNCTIONS:  # a result of nan from numbers, or an infinite one from finite numbers
        args = [a] if b is None else [a, b]
        numbers = [x for x in (getattr(math, FUNCTIONS[how])(*args), *args) if isinstance(x, Value)]
        return [("ne", x, x, x._data != x._data) for x in numbers] + _infinite(numbers)
    if how != "**":
        return [("eq", b, 0.0, b._data == 0.0)] if isinstance(b, Value) else []
    found = [("eq", a, 0.0, a._data == 0.0)] if isinstance(a, Value) else []
    return found + _infinite([x for x in (a, b, apply(OPS["pow"], a, b)) if isinstance(x, Value)])


def _infinite(numbers: list[Value]) -> list[tuple[str, Value, Any, bool]]:
    sizes = [apply(OPS["abs"], x) for x in numbers]
    return [("eq", size, inf, size._data == inf) for size in sizes]


def error(how: str, a: Any, b: Any) -> Exception | None:
    """The exception that an operator or a function raises for the plain numbers of Values; None where it raises none."""
    run = getattr(standard, FUNCTIONS[how]) if how in FUNCTIONS else RAISING[how]
    args = [a] if b is None else [a, b]
    try:
        run(*[x._data if isinstance(x, Value) else x for x in args])
    except errors(how) as found:
        if all(map(raises, args)):
            return found.with_traceback(None)
    except Exception:  # of a class of the user's, whose own method is called next
        return None
    return None


def errors(how: str) -> tuple[type[Exception], ...]:
    """What plain numbers may raise here."""
    return ERRORS_OF_FUNCTIONS if how in FUNCTIONS else ERRORS


def raises(x: Any) -> bool:
    """Whether x is a number as Python has them: those of NumPy raise nothing, nor do Values from outside of the trace."""
    kind = kinds.class_told(x) if isinstance(x, Value) else type(x)
    return not issubclass(kind, Value) and kind.__module__ != "numpy"


def caught(end: Any, how: str) -> bool:
    """Whether the code that runs an operator or a function, or its callers up to `end`, may catch its error.

    `end` is a frame, the code of one, or None for all callers.
    """
    frame: Any = sys._getframe(1)
    while frame.f_globals.get("__name__") in BETWEEN:
        frame = frame.f_back
    if in_package(frame):  # a derivative, for example, which raises nothing for plain numbers either
        return False
    while frame is not None and frame is not end and frame.f_code is not end:
        if any(
            first <= (frame.f_lineno or 0) <= last and _catch(types, frame, errors(how))
            for first, last, types in _blocks(frame.f_code)
        ):
            return True
        frame = frame.f_back
    return False


def catches(classes: Any, wanted: tuple[type[Exception], ...] = ERRORS) -> bool:
    """Whether an `except` with these classes catches an error of arithmetic."""
    return any(isinstance(c, type) and issubclass(e, c) for c in _flat(classes) for e in wanted)


def _flat(classes: Any) -> list[Any]:
    return [c for part in classes for c in _flat(part)] if isinstance(classes, tuple) else [classes]


def _catch(types: list[Any], frame: Any, wanted: tuple[type[Exception], ...]) -> bool:
    for expression in types:
        if expression is None:
            return True
        try:
            names = {**vars(builtins), **frame.f_globals}
            if catches(eval(compile(ast.Expression(expression), "<except>", "eval"), names), wanted):
                return True
        except Exception:  # a local name: plain numbers raise as well if it turns out that nothing is caught
            return True
    return False


def _blocks(code: CodeType) -> list[Span]:
    """The blocks of a code, or of its file, that catch exceptions; none if the code has no `try` and no `with`."""
    known = _spans.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    key = id(code)
    found = _blocks_of(code) if _has_handlers(code) else []
    _spans[key] = weakref.ref(code, lambda _: _spans.pop(key, None)), found
    return found


def _has_handlers(code: CodeType) -> bool:
    table = getattr(code, "co_exceptiontable", None)
    if table is not None:
        return bool(table)
    import dis  # Python 3.10

    return dis.opmap["SETUP_FINALLY"] in code.co_code[::2] or dis.opmap["SETUP_WITH"] in code.co_code[::2]


def _blocks_of(code: CodeType) -> list[Span]:
    """The blocks of a function, of which no more is read than its own lines: a module may have a hundred thousand of them."""
    if code.co_name.startswith("<") or code.co_filename.startswith("<"):
        return _blocks_in(code.co_filename)
    import inspect  # not needed to import micrograd
    import textwrap

    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        own = inspect.getblock(lines)
        tree = syntax_of(textwrap.dedent("".join(own)))
    except (SyntaxError, ValueError, TokenError, IndexError):  # the file has changed, or tells of no function
        return _blocks_in(code.co_filename)
    if len(tree.body) != 1 or getattr(tree.body[0], "name", "") != code.co_name:
        return _blocks_in(code.co_filename)
    before = code.co_firstlineno - 1
    return [(first + before, last + before, types) for first, last, types in _spans_of(tree)]


def _spans_of(tree: ast.AST) -> Iterator[Span]:
    """Yield the blocks in a syntax tree that catch exceptions: their lines, and what they catch."""
    for node in ast.walk(tree):
        types: list[Any] = []
        if isinstance(node, ast.Try):
            types = [h.type for h in node.handlers]
        elif isinstance(node, ast.With):
            calls = [i.context_expr for i in node.items if isinstance(i.context_expr, ast.Call)]
            types = [a for c in calls if _name(c.func) == "suppress" for a in c.args]
        if types:
            yield node.body[0].lineno, node.body[-1].end_lineno or 0, types  # type: ignore[attr-defined]


def _blocks_in(file: str) -> list[Span]:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))

    def find() -> list[Span]:
        if not text or file in SHARED:
            return [(0, sys.maxsize, [None])]  # code from exec(): it may catch anything, wherever it is
        with suppress(SyntaxError, ValueError):
            return list(_spans_of(syntax_of(text)))
        return []

    return _files.get(file, text, find)


def _name(node: Any) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _told(how: str, method: Any, reflected: bool) -> Any:
    def run(self: Value, other: Any, *modulus: Any) -> Any:
        if observed.state.watcher is not None:
            observed.state.watcher(how, *((other, self) if reflected else (self, other)), None)
        return method(self, other, *modulus)

    return run


if not observed.NATIVE:  # the C engine tells of operators by itself
    for _how, _method in (("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow")):
        setattr(Value, f"__{_method}__", _told(_how, getattr(Value, f"__{_method}__"), False))
        setattr(Value, f"__r{_method}__", _told(_how, getattr(Value, f"__r{_method}__"), True))
