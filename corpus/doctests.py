"""Calls that the documentation of a package shows, each with its result."""

from __future__ import annotations

import argparse
import ast
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from corpus.run import Plan, Result, in_processes, outcome

PACKAGES = (
    "fluids", "chemicals", "ht", "iapws", "utm", "psychrolib", "pygeomag", "transforms3d", "pygeodesy", "pymeeus", "geopy",
    "coloraide", "hsluv", "colormath", "astral",
)  # fmt: skip


class Call(NamedTuple):
    """A call that a docstring shows: the function, its arguments by position, and the result that is stated there."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    stated: str


def modules(package: str) -> Iterator[ModuleType]:
    """Yield a package and what is inside of it, as far as it can be imported."""
    top = importlib.import_module(package)
    yield top
    for found in pkgutil.walk_packages(getattr(top, "__path__", ()), package + ".", onerror=lambda name: None):
        if ".test" in found.name or "__main__" in found.name or found.name.endswith((".numba", ".vectorized")):
            continue
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                module = importlib.import_module(found.name)
        except (Exception, SystemExit):
            continue
        yield module


def calls(package: str) -> Iterator[Call]:
    """Yield the calls in the docstrings of the functions of a package that have a float among their arguments."""
    seen: set[tuple[str, str]] = set()
    for module in modules(package):
        for name, function in sorted(vars(module).items(), key=lambda item: item[0]):
            if isinstance(function, FunctionType) and function.__module__ == module.__name__ and function.__doc__:
                for call in _of(f"{module.__name__}.{name}", function, module):
                    key = call.name, repr(call.args)
                    if key not in seen:
                        seen.add(key)
                        yield call


def _of(name: str, function: FunctionType, module: ModuleType) -> Iterator[Call]:
    try:
        examples = doctest.DocTestParser().get_examples(function.__doc__ or "")
    except ValueError:
        return
    space = dict(vars(module))
    for example in examples:
        found = _call(example.source, space)
        if found is not None and getattr(found[0], "__wrapped__", found[0]) is getattr(
            function, "__wrapped__", function
        ):
            _, args = found
            if any(_has_float(a) for a in args):
                yield Call(name, function, args, example.want.strip())
        else:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                try:
                    exec(example.source, space)
                except (Exception, SystemExit):
                    continue


def _call(source: str, space: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the function and the arguments of a line that is one call; None for any other line."""
    try:
        tree = ast.parse(source.strip(), mode="eval").body
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, (ast.Name, ast.Attribute)):
            return None
        function = eval(ast.unparse(tree.func), space)
        if isinstance(function, BuiltinFunctionType):
            return None
        space = {**space, "_given": lambda *args, **kwargs: (args, kwargs)}
        tree.func = ast.Name("_given", ast.Load())
        args, kwargs = eval(ast.unparse(tree), space)
        return function, _by_position(function, args, kwargs)
    except (Exception, SystemExit):
        return None


def _by_position(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments by position, with defaults where a later one is given."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    if bound.kwargs:
        last = max(list(bound.signature.parameters).index(name) for name in bound.arguments)
        for name, parameter in list(bound.signature.parameters.items())[: last + 1]:
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise TypeError(f"{name} cannot be given by position")
            bound.arguments.setdefault(name, parameter.default)
        return tuple(bound.arguments[name] for name in list(bound.signature.parameters)[: last + 1])
    return bound.args


def _has_float(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_has_float(item) for item in x)
    if isinstance(x, dict):
        return any(_has_float(item) for item in x.values())
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 0)


def agrees(stated: str, found: Any) -> bool | None:
    """Return whether a result is the one that is stated, to the digits that are shown; None where that cannot be told."""
    try:
        wanted = ast.literal_eval(stated)
    except (ValueError, SyntaxError):
        return None
    return _near(wanted, found)


def _near(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(wanted) == len(found) and all(_near(a, b) for a, b in zip(wanted, found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(_near(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, (int, float)) and isinstance(found, (int, float)):
        return wanted == found or abs(wanted - found) <= 1e-6 * max(abs(wanted), abs(found))
    return bool(wanted == found)


@functools.cache
def _calls(package: str) -> list[Call]:
    return list(calls(package))


def some(package: str, first: int, step: int, plan: Plan) -> list[Result]:
    """Return the outcomes of every n-th call of a package: one job of a worker."""
    found = []
    for number, call in list(enumerate(_calls(package)))[first::step]:
        if plan.over:
            break
        result = plan.result(
            f"{package} {number} {call.name}", functools.partial(outcome, call.name, call.function, call.args, plan)
        )
        if result is not None:
            found.append(result)
    return found


def results(args: argparse.Namespace) -> list[tuple[str, list[Result]]]:
    """Return the outcomes of the calls in docstrings, by package; a part of each package is run before the next part of any."""
    step = args.every * 4
    jobs = [(package, k, step, args.plan) for k in range(0, step, args.every) for package in args.packages]
    rows: dict[str, list[Result]] = {}
    for job, part in zip(jobs, in_processes(jobs, some, args.processes, args.until)):
        rows.setdefault(job[0], []).extend(part)
    return [(f"docstrings of {package} {version(package)}", found) for package, found in rows.items() if found]
