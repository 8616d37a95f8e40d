"""What the code of a function says: the names in it, which are those of globals and attributes that it may read."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from opcode import EXTENDED_ARG, opmap
from types import CodeType
from typing import Any

LOAD_GLOBAL, SHIFT = opmap["LOAD_GLOBAL"], int(sys.version_info >= (3, 11))  # its argument also says how it is called
LOAD_NAME = opmap["LOAD_NAME"]  # in the body of a class inside of a function
MATCH_CLASS = opmap["MATCH_CLASS"]
MATCH_ARGS = "__match_args__"  # a name that stands for the attributes that `case Point(x, y)` reads
# Names of what reads attributes whose names do not stand in the code: then every attribute counts.
BY_ANY_NAME = {
    "getattr", "vars", "dir", "eval", "exec", "locals", "copy", "deepcopy", "asdict", "astuple", "replace", "fields",
    "attrgetter", "format", "format_map", "__dict__", "__getattribute__", "__getattr__", "__reduce__", "__getstate__",
}  # fmt: skip


@functools.lru_cache(maxsize=4096)
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


@functools.lru_cache(maxsize=4096)
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


@functools.lru_cache(maxsize=4096)
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
