"""From Python to the core: the forms of a function, or of a whole module.

A function is lowered once for each code object, however many function objects there are.
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType

from micrograd.core import source
from micrograd.core.errors import CannotLower, Unsupported
from micrograd.core.forms import Function, Position
from micrograd.core.remembered import PerObject
from micrograd.core.scopes import Scope, analyse
from micrograd.core.statements import Statements

_lowered: PerObject[Function | CannotLower] = PerObject()


def lower(function: FunctionType) -> Function:
    """Return the forms of a function; raise CannotLower where it has no source, or contains what the core has not."""
    code = function.__code__
    known = _lowered.get(code)
    if known is None:
        try:
            known = _lower(function)
        except CannotLower as reason:
            known = reason.with_traceback(None)
        _lowered.set(code, known)
    if isinstance(known, CannotLower):
        raise known.with_traceback(None)  # or it would hold the frames of all who asked
    return known


def _lower(function: FunctionType) -> Function:
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
        raise Unsupported(f"an asynchronous function is not supported, at {code.co_filename}:{code.co_firstlineno}")
    tree, qualname, private = source.find(function)
    around = Scope("closure", "", None, private)
    around.qualname = qualname.removesuffix(code.co_name) if qualname.endswith(code.co_name) else ""
    around.bound = dict.fromkeys(code.co_freevars)
    future = bool(code.co_flags & source.FUTURE_ANNOTATIONS)
    lowering = Statements(code.co_filename, analyse(tree, around), around, future)
    at = Position(tree.lineno, tree.col_offset, tree.end_lineno, tree.end_col_offset)
    return lowering.lambda_function(tree, at) if isinstance(tree, ast.Lambda) else lowering.definition(tree, at)


def lower_module(text: str, file: str = "<string>") -> Function:
    """Return a whole module as a function without parameters."""
    tree = ast.parse(text, file)
    scope = Scope("module", "<module>", None)
    return Statements(file, analyse(tree, scope), scope, _annotations_are_strings(tree)).module(tree)


def _annotations_are_strings(tree: ast.Module) -> bool:
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    return any(alias.name == "annotations" for n in imports for alias in n.names)
