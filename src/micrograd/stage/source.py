"""The source of a function as a syntax tree, found by file and position, if it is what the function was made from."""

from __future__ import annotations

import ast
import warnings
from types import CodeType, FunctionType
from typing import Any

from micrograd.core.remembered import PerFile
from micrograd.stage.errors import NoSource, Unsupported
from micrograd.values.callsite import source_of, syntax_of

HAS_COLUMNS = hasattr(CodeType, "co_positions")  # from Python 3.11 on
_modules: PerFile[Any] = PerFile()  # where the functions of a file are; its name stands beside `by_statements`


def tree_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The syntax tree of a function."""
    code = function.__code__
    found = [node for node, compiled in _functions_in(function, False) if _same(compiled, code)]
    if not found:  # a notebook compiles each statement by itself, which gives other code for calls of imported modules
        found = [node for node, compiled in _functions_in(function, True) if _same(compiled, code)]
    if not found:
        raise NoSource(f"the source of {function.__qualname__} is not available")
    if len({ast.dump(node) for node in found}) > 1:
        raise Unsupported(f"several functions in the source look like {function.__qualname__}")
    tree: ast.FunctionDef | ast.Lambda = found[0]
    return tree


def _functions_in(function: FunctionType, by_statements: bool) -> list[tuple[Any, CodeType]]:
    """The functions of the file that a function is from, which begin at the same line: tree and compiled code of each.

    by_statements: compile each statement of the file by itself.
    """
    code = function.__code__
    name, text = code.co_filename, source_of(function)
    if name.startswith("<__array_function__"):  # NumPy before 1.25 wraps its functions by code that it makes
        raise Unsupported(f"{code.co_name} is a function of NumPy")
    if str(function.__module__).startswith(
        "scipy."
    ):  # it asks for the dtypes of its numbers, and makes code as it goes
        raise Unsupported(f"{function.__qualname__} is a function of SciPy")
    if not text:
        raise NoSource(f"the source of {code.co_name} is not available")
    try:
        index = _modules.get((name, by_statements), text, lambda: _index(text, name, by_statements))
    except (SyntaxError, ValueError) as reason:
        raise Unsupported(f"the source of {code.co_name} cannot be read: {reason}") from None
    found: list[tuple[Any, CodeType]] = index.get((code.co_name, code.co_firstlineno), [])
    return found


def _index(text: str, name: str, by_statements: bool) -> dict[tuple[str, int], list[tuple[Any, CodeType]]]:
    tree = syntax_of(text, name)
    nodes: dict[tuple[str, int], list[Any]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            nodes.setdefault((node.name, first), []).append(node)
        elif isinstance(node, ast.Lambda):
            nodes.setdefault(("<lambda>", node.lineno), []).append(node)
    codes: dict[tuple[str, int], list[CodeType]] = {}
    parts = [ast.Module(body=[s], type_ignores=[]) for s in tree.body] if by_statements else [tree]
    with warnings.catch_warnings():  # Python gave its warnings about this text when it was imported
        warnings.simplefilter("ignore")
        waiting = [compile(part, name, "exec", dont_inherit=True) for part in parts]
    while waiting:
        code = waiting.pop()
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
    found: dict[tuple[str, int], list[tuple[Any, CodeType]]] = {}
    for key, several in nodes.items():
        candidates = codes.get(key, [])
        found[key] = [(node, code) for node in several for code in candidates if _belongs(node, code, several)]
    return found


def _belongs(node: Any, code: CodeType, several: list[Any]) -> bool:
    """Whether a code was compiled from a node; by the columns, or by compiling each, where there are several on a line."""
    if len(several) == 1:
        return True
    places = [p for p in _positions(code) if None not in p and (p[0], p[2]) != (p[1], p[3])]
    if not places:  # Python 3.12 keeps no column of a lambda that returns a constant
        return any(_same(alone, code) for alone in _compiled_alone(node, code))
    body = node.body[0] if isinstance(node.body, list) else node.body
    last = node.body[-1] if isinstance(node.body, list) else node.body
    first, end = (body.lineno, body.col_offset), (last.end_lineno, last.end_col_offset)
    inner = [p for p in places if first <= (p[0], p[2]) and (p[1], p[3]) <= end]
    return len(inner) == len(places) and max((p[1], p[3]) for p in places) == end


def _positions(code: Any) -> list[tuple[Any, Any, Any, Any]]:
    """First line, last line, first column and last column of each instruction; nothing where Python keeps no columns."""
    return list(code.co_positions()) if HAS_COLUMNS else []


def _compiled_alone(node: Any, code: CodeType) -> list[CodeType]:
    """What a node compiles to by itself, inside of a function that has the variables that `code` takes from outside."""
    names = [ast.arg(arg=name) for name in code.co_freevars]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    around: Any = ast.parse("def around(): ...").body[0]  # parsed, since each version of Python has other fields
    around.args, around.body = arguments, [node if isinstance(node, ast.stmt) else ast.Return(value=node)]
    module = ast.fix_missing_locations(ast.Module(body=[ast.copy_location(around, node)], type_ignores=[]))
    outer = compile(module, code.co_filename, "exec", dont_inherit=True)
    (inside,) = [c for c in outer.co_consts if isinstance(c, CodeType)]
    return [c for c in inside.co_consts if isinstance(c, CodeType) and c.co_name == code.co_name]


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two codes are the same, line by line."""
    if (a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_firstlineno) != (
        b.co_code, b.co_names, b.co_varnames, b.co_freevars, b.co_firstlineno):  # fmt: skip
        return False
    if _positions(a) != _positions(b):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for before, x, y in zip((None, *a.co_consts), a.co_consts, b.co_consts):
        if isinstance(before, CodeType) and isinstance(x, str) and isinstance(y, str) and not HAS_COLUMNS:
            if x.split(".")[-1] != y.split(".")[-1]:  # in Python 3.10 the full name of an inner function is a constant
                return False
        elif isinstance(x, CodeType):
            if not isinstance(y, CodeType) or not _same(x, y):
                return False
        elif type(x) is not type(y) or (x != y if isinstance(x, frozenset) else repr(x) != repr(y)):
            return False
    return True
