"""Whether there may be a loop in a function: a jump back in its code, or in that of a function that it calls by name."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from micrograd.transforms import Derived
from micrograd.tree import has

FUNCTIONS = 100  # that are looked at, of those that a function calls by name
BACKWARD = {code for name, code in dis.opmap.items() if name == "FOR_ITER" or "BACKWARD" in name}


def _jumps_back(code: CodeType) -> bool:
    if any(code.co_code[k] in BACKWARD for k in range(0, len(code.co_code), 2)):
        return True
    # Before Python 3.11 the jump at the end of a `while` loop is an absolute one, to an earlier place.
    absolute = set(dis.hasjabs) if sys.version_info < (3, 11) else set()
    return bool(absolute) and any(i.opcode in absolute and i.argval <= i.offset for i in dis.get_instructions(code))


def has_loops(f: Any) -> bool:
    """Whether there may be a loop in the code of a function, or of one that it calls by name."""
    waiting: list[Any] = [f]
    seen: set[int] = set()
    while waiting and len(seen) < FUNCTIONS:
        g = waiting.pop()
        if id(g) in seen:
            continue
        seen.add(id(g))
        if isinstance(g, Derived):
            waiting.append(g.made_of[1])
            continue
        if isinstance(g, partial):
            waiting += [g.func, *g.args]
            continue
        if has(g, "__wrapped__"):
            waiting.append(g.__wrapped__)
        owner, g = getattr(g, "__self__", None), getattr(g, "__func__", g)
        if not isinstance(g, FunctionType):
            owner, g = g, vars(type(g)).get("__call__")
        if not isinstance(g, FunctionType) or (g.__module__ or "").split(".")[0] == "micrograd":
            continue
        if any(map(_jumps_back, _codes(g.__code__))):
            return True
        waiting += _called(g, owner)
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code, and those of the functions inside of it."""
    yield code
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield from _codes(x)


def _called(g: FunctionType, owner: Any) -> Iterator[Any]:
    """What a function may call by name: functions, methods of what it can reach, and functions of modules."""
    names = {name for code in _codes(g.__code__) for name in code.co_names}
    cells = []
    for cell in g.__closure__ or ():
        try:
            cells.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    reached = [*(g.__globals__[n] for n in names if n in g.__globals__), *cells, *(g.__defaults__ or ()), owner]
    for x in reached:
        if isinstance(x, (FunctionType, MethodType, partial, Derived)) or has(x, "__wrapped__"):
            yield x
        elif isinstance(x, ModuleType):
            if x.__name__.split(".")[0] != "micrograd":
                yield from (y for n in names if isinstance(y := vars(x).get(n), FunctionType))
        elif x is not None:
            kind = x if isinstance(x, type) else type(x)
            for n in [*names, "__call__", "__init__"]:
                y = getattr(kind, n, None)
                if isinstance(y, FunctionType):
                    yield y
