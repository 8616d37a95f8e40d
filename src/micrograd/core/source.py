"""The source of a function: its syntax tree, found by file and line, and compared with the code that the function runs.

A tree is accepted if it compiles to the code of the function, instruction by instruction and column by column. So a file
that has been edited since it was imported is never taken for the source, nor one of two lambdas on a line for the other.

The text of a `def` is read and parsed by itself, which takes a time that does not depend on the size of the file. A lambda,
or a `def` that is not found in this way, is looked up in the syntax tree of the whole file.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import re
import sys
import types
import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from micrograd.core.errors import NoSource
from micrograd.core.remembered import PerFile
from micrograd.core.scopes import analyse

HAS_COLUMNS = sys.version_info >= (3, 11)
MAX_ENDS = 20  # lines at which the end of a `def` is looked for, before the whole file is parsed
FUTURE_ANNOTATIONS = __future__.annotations.compiler_flag


class Source(NamedTuple):
    """The syntax tree of a function, and the class whose private names are mangled in it."""

    tree: ast.FunctionDef | ast.Lambda
    qualname: str
    private: str


def find(function: FunctionType) -> Source:
    """Return the source of a function; raise NoSource where there is none that compiles to its code."""
    code = function.__code__
    lines = _lines(function)
    if not lines:
        raise NoSource(f"{function.__qualname__} has no source: {code.co_filename} cannot be read")
    qualname = getattr(code, "co_qualname", function.__qualname__)
    private_names = list(_private_names(qualname, code))
    for tree, module in _candidates(function, lines):
        for private in private_names:
            if _compiles_to(tree, code, private, module):
                return Source(tree, qualname, private)
    place = f"{code.co_filename}:{code.co_firstlineno}"
    raise NoSource(f"{function.__qualname__} is not what its source says at {place}: has the file been changed?")


def _lines(function: FunctionType) -> list[str]:
    """Return the lines of the file, the cell or the command that a function is from."""
    name = function.__code__.co_filename
    linecache.checkcache(name)
    lines = linecache.getlines(name, function.__globals__)
    if not lines and name.startswith("<"):  # Python 3.13 and newer keep the text of their prompt under another name
        import inspect

        try:
            lines = inspect.findsource(function)[0]
        except (OSError, TypeError):
            lines = []
    if not lines and name == "<string>" and "-c" in sys.orig_argv[:-1]:
        lines = sys.orig_argv[sys.orig_argv.index("-c") + 1].splitlines(keepends=True)
    return lines


def _candidates(function: FunctionType, lines: list[str]) -> Iterator[tuple[ast.FunctionDef | ast.Lambda, _Module]]:
    """Yield the trees that may be the function, and the modules that it may be in; the likely ones first."""
    code = function.__code__
    definition = None if code.co_name == "<lambda>" else _definition(code, lines)
    if definition is not None:
        modules = [name for name, value in function.__globals__.items() if isinstance(value, types.ModuleType)]
        yield definition, _Module([name for name in code.co_names if name in modules])
    file = _in_file(code.co_filename, "".join(lines))
    for tree in file.functions.get((code.co_name, code.co_firstlineno), ()):
        yield tree, _Module(file.imported, file.super)
        yield tree, _Module([])  # a notebook compiles each statement by itself


def _definition(code: CodeType, lines: list[str]) -> ast.FunctionDef | None:
    """Return the tree of the `def` that begins at the first line of a code, from the lines up to its end alone."""
    first = code.co_firstlineno - 1
    if first >= len(lines):
        return None
    indent = _indent(lines[first])
    ends = (i for i in range(first + 1, len(lines) + 1) if i == len(lines) or _may_end(lines[i], indent))
    above = "\n" * first if not indent else "\n" * (first - 1) + "if 1:\n"  # so that lines and columns are right
    for _, end in zip(range(MAX_ENDS), ends):
        try:
            (node,) = _parse(above + "".join(lines[first:end])).body
        except (SyntaxError, ValueError):
            continue
        if isinstance(node, ast.If):
            (node,) = node.body
        if isinstance(node, ast.FunctionDef):
            return node
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _may_end(line: str, indent: int) -> bool:
    """Return whether a block with an indentation may end in front of a line."""
    text = line.strip()
    return bool(text) and text[0] not in "#)]}" and _indent(line) <= indent


def _parse(text: str, file: str = "<unknown>") -> ast.Module:
    with warnings.catch_warnings():  # Python gave its warnings about this text when it was imported
        warnings.simplefilter("ignore")
        return ast.parse(text, file)


class _File(NamedTuple):
    """What a file contains: functions by name and first line, and the names of its module that Python's compiler asks for."""

    functions: dict[tuple[str, int], list[Any]]
    imported: list[str]
    super: bool


_files: PerFile[_File] = PerFile()


def _in_file(file: str, text: str) -> _File:
    return _files.get(file, text, lambda: _read(file, text))


def _read(file: str, text: str) -> _File:
    functions: dict[tuple[str, int], list[Any]] = {}
    try:
        tree = _parse(text, file)
    except (SyntaxError, ValueError):
        tree = ast.Module(body=[], type_ignores=[])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault((node.name, first_line(node)), []).append(node)
        elif isinstance(node, ast.Lambda):
            functions.setdefault(("<lambda>", node.lineno), []).append(node)
    scope = analyse(tree)[tree]
    return _File(functions, sorted(scope.imported), "super" in scope.used or "super" in scope.bound)


def first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Return the first line of a definition, which is that of its first decorator."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _private_names(qualname: str, code: CodeType) -> Iterator[str]:
    """Yield the names that the class around a function may have: names such as `__x` are mangled with it."""
    parts = qualname.split(".")
    for part, after in zip(reversed(parts[:-1]), reversed(parts)):
        if part != "<locals>" and after != "<locals>":
            yield part
            break
    else:
        yield ""
    if sys.version_info < (3, 11):  # the qualified name is that of the function object, which may have been changed
        yield ""
        names = (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        yield from dict.fromkeys(m[1] for m in (re.match(r"_([^_].*?)__", name) for name in names) if m)


# ---- comparing code


class _Module(NamedTuple):
    """What a function is compiled with: calls such as `math.sin(x)` and `super().f()` compile to other code by it."""

    imported: list[str]
    super: bool = False


def _compiles_to(tree: ast.FunctionDef | ast.Lambda, code: CodeType, private: str, module: _Module) -> bool:
    """Return whether a tree compiles to a code, in functions and a class as they are around it."""
    try:
        return any(_same(compiled, code) for compiled in _compiled(tree, code, private, module))
    except (SyntaxError, ValueError):
        return False


def _compiled(node: Any, code: CodeType, private: str, module: _Module) -> Iterator[CodeType]:
    """Yield the codes that a tree compiles to, in surroundings that give it the same variables."""
    here = {"lineno": node.lineno, "col_offset": 0, "end_lineno": node.lineno, "end_col_offset": 0}
    body: Any = node if isinstance(node, ast.stmt) else ast.Expr(value=node, **here)
    if private:
        body = ast.ClassDef(name=private, bases=[], keywords=[], body=[body], decorator_list=[], **here)
    free = [ast.arg(arg=name, **here) for name in code.co_freevars if name != "__class__"]
    arguments = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    around: Any = ast.FunctionDef(name="around", args=arguments, body=[body], decorator_list=[], **here)
    if sys.version_info >= (3, 12):
        around.type_params = []
        if private:
            body.type_params = []
    name = getattr(body, "name", None)
    if (
        name is not None and name not in code.co_freevars
    ):  # what it means inside of itself is not a variable of `around`
        around.body.insert(0, ast.Global(names=[name], **here))
    statements: list[ast.stmt] = [around]
    if module.imported:
        names = [ast.alias(name=name, asname=None, **here) for name in module.imported]
        statements.append(ast.Import(names=names, **here))
    if module.super:
        statements.append(ast.Expr(value=ast.Name(id="super", ctx=ast.Load(), **here), **here))
    whole = ast.Module(body=statements, type_ignores=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = code.co_flags & FUTURE_ANNOTATIONS
        waiting = [compile(whole, code.co_filename, "exec", flags, dont_inherit=True)]
    while waiting:
        compiled = waiting.pop()
        if (compiled.co_name, compiled.co_firstlineno) == (code.co_name, code.co_firstlineno):
            yield compiled
        waiting += [c for c in compiled.co_consts if isinstance(c, CodeType)]


def _same(a: CodeType, b: CodeType) -> bool:
    """Return whether two codes do the same, line by line."""
    if (a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_firstlineno) != (
        b.co_code, b.co_names, b.co_varnames, b.co_freevars, b.co_firstlineno):  # fmt: skip
        return False
    if _positions(a) != _positions(b) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(_same_constant(x, y) for x, y in zip(a.co_consts, b.co_consts))


def _positions(code: Any) -> list[Any]:
    """Return the place of each instruction: lines and columns, or lines alone in Python 3.10."""
    return list(code.co_positions()) if HAS_COLUMNS else list(code.co_lines())


def _same_constant(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, CodeType):
        return _same(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same_constant, a, b))
    if isinstance(a, frozenset):
        return bool(a == b)
    if isinstance(a, str) and not HAS_COLUMNS and "<locals>" in a:
        return a.split(".")[-1] == str(b).split(".")[-1]  # the qualified name of an inner function
    return repr(a) == repr(b)
