"""Functions with long loops: staged before they are traced, so that the iterations of those loops are never run one by one.

A trace writes down every iteration of a loop. For a loop of a million iterations that takes minutes and gigabytes, to find out
what the source says: that its body does the same in each iteration. So a function in whose source there is a loop is staged
first. If a loop is found that is long enough to pay, what was staged is the trace; else the function is traced as any other.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from micrograd.stage import budget
from micrograd.stage.attempt import verified
from micrograd.stage.errors import Unsupported
from micrograd.stage.limits import NONE, Limits, Others
from micrograd.stage.staged import Arrange, stage
from micrograd.tape.trace import Trace
from micrograd.tape.twice import twice
from micrograd.transforms import Derived
from micrograd.tree import has, name_of

FUNCTIONS = 100  # that are looked at, of those that a function calls by name
BACKWARD = {code for name, code in dis.opmap.items() if name == "FOR_ITER" or "BACKWARD" in name}


def rolled(
    user: Callable[..., Any],
    arrange: Arrange,
    values: list[float],
    origins: Sequence[Any] | None,
    limits: Limits,
    others: Others = NONE,
    keep_types: bool = False,
    given: Sequence[Any] | None = None,
) -> Trace | None:
    """The trace of a function with a long loop, in which that is a loop; None for any other function.

    The arguments are those of `merged`; `limits` say which loops are long.
    """
    if not has_loops(user):
        return None
    row = [float(x) for x in values]
    try:
        found = twice(partial(stage, user, arrange, row, keep_types, origins, limits), user, user)
    except budget.OutOfTime as why:
        budget.warn_of_search(name_of(user), why.line)
        return None
    except (Unsupported, Exception):  # the trace finds out what there is to be said about it
        return None
    found.origins, found.given = origins, given
    if found.merged:
        if keep_types and found.captured:
            return None
        if not verified(user, arrange, found, row, others):
            return None
    return found


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


__all__ = ["Limits", "has_loops", "rolled"]
