"""The user's code: which modules hold it, as the others change nothing, and the names in it, which it may read."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from opcode import EXTENDED_ARG, opmap
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from micrograd.core.remembered import per_object

LOAD_GLOBAL, SHIFT = opmap["LOAD_GLOBAL"], int(sys.version_info >= (3, 11))  # its argument also says how it is called
LOAD_NAME = opmap["LOAD_NAME"]  # in the body of a class inside of a function
MATCH_CLASS = opmap["MATCH_CLASS"]
MATCH_ARGS = "__match_args__"  # a name that stands for the attributes that `case Point(x, y)` reads
# Names of what reads attributes whose names do not stand in the code: then every attribute counts.
BY_ANY_NAME = {
    "getattr", "vars", "dir", "eval", "exec", "locals", "copy", "deepcopy", "asdict", "astuple", "replace", "fields",
    "attrgetter", "format", "format_map", "__dict__", "__getattribute__", "__getattr__", "__reduce__", "__getstate__",
}  # fmt: skip
BUSY = ("distributed", "dask", "tornado", "asyncio", "concurrent", "threading")  # their objects change by other threads
FOREIGN = ("micrograd", "logging", "weakref", *BUSY)
PLAIN = ("types", "argparse", "collections")  # of the standard library: their objects hold what the user puts in
LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "pandas",
    "matplotlib",
    "IPython",
    "pytest",
    "_pytest",
    "hypothesis",
)  # they know no module of the user's


@functools.lru_cache(maxsize=1000)
def is_foreign(module: str | None) -> bool:
    """Whether the code in a Python module is none of the user's."""
    root = str(module).split(".")[0]
    return root in FOREIGN or root in LIBRARIES or (root in sys.stdlib_module_names and root not in PLAIN)


@functools.lru_cache(maxsize=1000)
def is_installed(module: str | None) -> bool:
    """Whether a Python module is none of the user's, or one of an installed package: nobody assigns to its names."""
    if is_foreign(module):
        return True
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def holds_nothing(x: Any) -> bool:
    """Whether the attributes of an object are none of the user's."""
    return isinstance(x, (type, ModuleType, FunctionType)) or str(type(x).__module__).split(".")[0] in FOREIGN


@per_object
def words_in(code: CodeType) -> frozenset[str]:
    """The names in a piece of code, and its strings, which may be names of attributes."""
    found = set(names_in(code))
    for part in _codes(code):
        found.update([MATCH_ARGS] if MATCH_CLASS in part.co_code[::2] else [])
        for x in part.co_consts:
            found.update([s for s in (x if isinstance(x, tuple) else (x,)) if isinstance(s, str)])
    return frozenset(found)


def names_in(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in a piece of code, and in the lambdas and comprehensions inside."""
    for part in _codes(code):
        yield from part.co_names


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield from _codes(x)


@per_object
def globals_in(code: CodeType) -> tuple[str, ...]:
    """The names that a piece of code, with the lambdas and comprehensions inside, looks up among the globals."""
    found: dict[str, None] = {}
    extended = 0
    for op, argument in zip(code.co_code[::2], code.co_code[1::2]):
        argument |= extended << 8
        extended = argument if op == EXTENDED_ARG else 0
        if op in (LOAD_GLOBAL, LOAD_NAME):
            found[code.co_names[argument >> SHIFT if op == LOAD_GLOBAL else argument]] = None
    for x in code.co_consts:
        if isinstance(x, CodeType):
            found |= dict.fromkeys(globals_in(x))
    return tuple(found)


@per_object
def loaded_in(code: CodeType) -> frozenset[str]:
    """The names in a piece of code, without those of attributes that it only sets, as __init__ does."""
    loaded = {
        i.argval for i in dis.get_instructions(code) if i.opname not in ("STORE_ATTR", "STORE_GLOBAL", "STORE_NAME")
    }
    return frozenset(name for name in words_in(code) if name not in code.co_names or name in loaded)


def methods_of(cls: type, names: set[str]) -> list[Any]:
    """The functions of a class that may run: those with a name that is used, and the special ones."""
    found: list[Any] = []
    for base in cls.__mro__:
        if base.__module__ == "builtins":
            continue
        for name, x in vars(base).items():
            if name in names or (name.startswith("__") and name not in ("__init__", "__repr__", "__new__")):
                found += (
                    [x.fget, x.fset] if isinstance(x, property) else [getattr(x, "__func__", getattr(x, "func", x))]
                )
    return found


def content(cell: Any) -> Any:
    """Return what a cell holds; None where it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def read(holder: Any, name: str) -> Any:
    """What a name stands for, in a namespace, in a class itself or as an attribute; None where there is none."""
    if isinstance(holder, type):
        return holder.__dict__.get(name)
    if type(holder) is dict:
        return holder.get(name)
    try:
        return getattr(holder, name)
    except Exception:  # whatever __getattr__ says of a slot with nothing in it
        return None


def parts_of(f: Any) -> tuple[Any, ...]:
    """What can be exchanged in a function."""
    return f.__code__, f.__defaults__, f.__kwdefaults__
