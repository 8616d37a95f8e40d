"""What must be the same after a run that will be replayed as before: names and what they stand for, and random numbers.

A replay neither assigns nor draws, so a function that does cannot be replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pickle import dumps
from types import MethodType, ModuleType
from typing import Any

from micrograd.engine import Value
from micrograd.tree import has, is_array
from micrograd.watch.code import BUSY, content, read
from micrograd.watch.owners import objects_of
from micrograd.watch.reach import Reach

LOOKED_AT = 1000  # items of a container that are compared one by one, 0.2 µs each
Place = tuple[int, str]  # a namespace, a class or an object by its id, and how the program writes what is there


def items(f: Any, reach: Reach) -> dict[Place, Any]:
    """What a function can reach by name, and what lies in the lists, dicts and objects among that, as it is now."""
    found = {place: x for place, x in _named(f, reach) if _can_be_asked(x)}
    for (holder, name), x in list(found.items()):
        if isinstance(x, (list, dict)) and len(x) <= LOOKED_AT:
            pairs = x.items() if isinstance(x, dict) else enumerate(x)
            found |= {(holder, f"{name}[{key!r}]"): item for key, item in list(pairs)}
        elif is_array(x) and x.dtype == object and x.size <= LOOKED_AT:
            found |= {(holder, f"{name}.flat[{k}]"): item for k, item in enumerate(x.flat)}
        elif has(x, "__dict__") and not isinstance(x, (ModuleType, Value)) and _module(x) not in BUSY:
            found |= {(holder, f"{name}.{key}"): item for key, item in list(vars(x).items())}
    return found


def _named(f: Any, reach: Reach) -> Iterator[tuple[Place, Any]]:
    for holder, names in reach.names.values():
        before = f"{holder.__name__}." if isinstance(holder, type) else ""
        for name in names:
            yield (id(holder), before + name), read(holder, name)
    for cell, name in reach.cells:
        yield (id(cell), name), content(cell)
    owners = {id(x): x for x in objects_of(f)[0]}
    for x in reach.things:
        if type(x) is MethodType:
            owners[id(x.__self__)] = x.__self__
        elif type(x) is partial:
            named = [*enumerate(x.args), *x.keywords.items()]
            yield from (
                ((id(x), f"{name}" if isinstance(name, str) else f"args[{name}]"), item) for name, item in named
            )
    for x in owners.values():
        yield from (((id(x), f"self.{name}"), item) for name, item in list(getattr(x, "__dict__", {}).items()))
    for g in reach.functions:
        code, defaults = g.__code__, g.__defaults__ or ()
        defaulted = zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults)
        yield from (((id(g), name), x) for name, x in [*defaulted, *(g.__kwdefaults__ or {}).items()])


def _can_be_asked(x: Any) -> bool:
    """Whether something says what it is: a proxy of a web server does not, outside of a request."""
    try:
        return x.__class__ is not None
    except Exception:
        return False


def _module(x: Any) -> str:
    return str(type(x).__module__).split(".")[0]


def random_state(own: Iterable[Any]) -> list[Any]:
    """The state of the global generators of random numbers, as far as they are loaded, and of those among `own`."""
    state: list[Any] = []
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if random is not None:
        state += [random.getstate(), *(x.getstate() for x in own if issubclass(type(x), random.Random))]
    if numpy is not None:
        state.append(dumps(numpy.get_state()))
        state += [dumps(x.bit_generator.state) for x in own if issubclass(type(x), numpy.Generator)]
        state += [dumps(x.get_state()) for x in own if issubclass(type(x), numpy.RandomState)]
    return state
