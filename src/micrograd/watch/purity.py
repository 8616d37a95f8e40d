"""What a function can reach outside of itself: it must be the same after a run that will be replayed as before."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from pickle import dumps
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from micrograd.engine import Value
from micrograd.tree import has, is_array
from micrograd.watch.code import names_in
from micrograd.watch.foreign import BUSY

LOOKED_AT = 1000  # items of a container that are compared one by one, 0.2 µs each
FUNCTIONS = 100  # of the user's own that are gone through


def reached(f: Any) -> dict[str, Any]:
    """What a function can reach by name, and the functions of the same package that it calls by name."""
    found: dict[str, Any] = {}
    home = _package(f)
    waiting: list[Any] = [f]
    seen: set[int] = set()
    while waiting and len(seen) < FUNCTIONS:
        g = waiting.pop(0)
        if id(g) in seen:
            continue
        seen.add(id(g))
        if has(g, "__wrapped__"):
            waiting.append(g.__wrapped__)
            if str(type(g).__module__).split(".")[0] == "micrograd":  # jit, vmap, grad: nothing of the user's
                continue
        names = _names(g)
        found = names | found
        if home != "micrograd":
            called = [x for x in names.values() if isinstance(x, (FunctionType, MethodType, partial))]
            waiting += [x for x in called if _package(x) == home]
        if isinstance(g, partial):
            waiting.append(g.func)
    return found


def _package(f: Any) -> str:
    """The package in which a function is written."""
    while isinstance(f, partial):
        f = f.func
    return str(getattr(f, "__module__", None)).split(".")[0]


def _names(f: Any) -> dict[str, Any]:
    """What one function can reach by name: globals, variables around it, defaults, attributes of its instance."""
    if isinstance(f, partial):
        return {f"args[{i}]": a for i, a in enumerate(f.args)} | f.keywords
    owner, f = getattr(f, "__self__", None), getattr(f, "__func__", f)
    if not has(f, "__code__") and hasattr(type(f).__call__, "__code__"):  # an instance that is called
        owner, f = f, type(f).__call__
    code = getattr(f, "__code__", None)
    if not isinstance(code, CodeType):
        return {}
    found = {name: f.__globals__[name] for name in names_in(code) if name in f.__globals__ and name != "__builtins__"}
    defaults = f.__defaults__ or ()
    found |= zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults)
    found |= f.__kwdefaults__ or {}
    for name, cell in zip(code.co_freevars, f.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found | {f"self.{name}": x for name, x in getattr(owner, "__dict__", {}).items()}


def items(f: Any) -> dict[str, Any]:
    """What a function can reach by name, and what lies in the lists, dicts and objects among that."""
    found = reached(f)
    for name, x in list(found.items()):
        if isinstance(x, (list, dict)) and len(x) <= LOOKED_AT:
            found |= {f"{name}[{key!r}]": item for key, item in (x.items() if isinstance(x, dict) else enumerate(x))}
        elif is_array(x) and x.dtype == object and x.size <= LOOKED_AT:
            found |= {f"{name}.flat[{k}]": item for k, item in enumerate(x.flat)}
        elif has(x, "__dict__") and not isinstance(x, (ModuleType, Value)) and _module(x) not in BUSY:
            found |= {f"{name}.{key}": item for key, item in list(vars(x).items())}
    return found


def _module(x: Any) -> str:
    return str(type(x).__module__).split(".")[0]


def random_state(own: Iterable[Any]) -> list[Any]:
    """The state of the global generators of random numbers, as far as they are loaded, and of those among `own`."""
    state: list[Any] = []
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if random is not None:
        state += [random.getstate(), *(x.getstate() for x in own if isinstance(x, random.Random))]
    if numpy is not None:
        state.append(dumps(numpy.get_state()))
        state += [dumps(x.bit_generator.state) for x in own if isinstance(x, numpy.Generator)]
        state += [dumps(x.get_state()) for x in own if isinstance(x, numpy.RandomState)]
    return state
