"""Whether the modules that a compiled function has read are as they were when it was traced.

A trace is replayed, so it knows nothing of a layer that is added later, of a parameter that is put in the place of another, or
of an attribute that is changed. While a trace is made, modules note that they were read (`reading`). A Watch over them tells,
before each call and mostly in C, whether they still have the same parts; if not, the function is traced again.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, zip_longest
from operator import is_
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.engine import NATIVE, Value
from micrograd.objects import CONSTANT, attributes
from micrograd.tree import has, is_array
from micrograd.watch.owners import BUFFERS, CONTAINERS, as_bytes, is_foreign, names_in

CHANGES = [0]  # counts assignments to attributes of modules, in the whole process; C compares the number by identity
DATA = 256  # plain numbers in a list of a module, from which on owners.py looks at it, if the code can read it
LOOKED_AT = 1000  # items of a container that are looked at for modules; all of them where there are modules among these
REACHED = 5_000  # things that are looked at for modules: some 20 ms
NUMBERS = {float, int, bool, str, type(None), Value}
reading: list[dict[int, Any]] = []  # the modules that were called, for each trace that is under way in any thread

asked: set[int] = set()  # ids of modules whose mode a trace has asked for; one that is reused means a needless look


class Structured:
    """What Module is made from: an object whose public attributes are its structure."""

    _training = True

    def modules(self) -> Iterator[tuple[str, Any]]:
        """Give this module and every module inside it once, with its path."""
        raise NotImplementedError


@contextmanager
def noting() -> Iterator[dict[int, Any]]:
    """Collect the modules that are called in the block, by their ids."""
    found: dict[int, Any] = {}
    reading.append(found)
    try:
        yield found
    finally:
        reading[:] = [other for other in reading if other is not found]


def note(module: Structured) -> None:
    """Note that a module is read by whatever is traced now."""
    for found in reading:
        found[id(module)] = module


def set_mode(module: Structured, training: bool) -> None:
    """Put one module, without those inside it, into training or evaluation mode."""
    if id(module) in asked and module._training != training:
        CHANGES[0] += 1
    object.__setattr__(module, "_training", training)


def _unchanged(key: tuple[Any, ...]) -> bool:
    """Whether a key of a Watch still describes what is there; the same as the function in C."""
    return key[0][0] is key[1] and all(map(_same_items, key[2::2], key[3::2]))


def _same_items(container: Any, items: Any) -> bool:
    if isinstance(items, type):
        return type(container) is items
    if isinstance(container, type) and type(items) is tuple:
        return container.__mro__ is items
    if type(items) is dict:
        return all(read(container, name) is x for name, x in items.items())
    if type(items) is bytes:
        return as_bytes(container) == items
    if isinstance(container, FunctionType):
        return all(map(is_, parts_of(container), items))
    now = _items(container)
    if is_array(container) and now[-1] == items[-1]:  # the shape
        now, items = now[:-1], items[:-1]
    return len(now) == len(items) and all(map(is_, now, items))


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


unchanged: Callable[[tuple[Any, ...]], bool] = _unchanged
if NATIVE:
    from micrograd import _engine

    unchanged = _engine.unchanged


class Watch:
    """The structure of some modules. `key` is what `unchanged` takes; `changed()` looks closely where that says no."""

    def __init__(self, modules: list[Any]) -> None:
        self.modules = modules
        self.outside = ""  # what has changed, if it was something outside of the function that is no module
        self._outdated = False
        self._look()

    def _look(self) -> None:
        count = CHANGES[0]
        self.state: list[Any] = []
        self.containers: list[Any] = []
        self._ends: list[int] = []  # where the state of each of the modules ends
        seen: set[int] = set()
        close = False  # whether there is something that C cannot compare
        for module in self.modules:
            if not isinstance(module, Structured):  # an Owner, or the Names of a function
                state, containers, closer = module.parts()
                self.state += state
                self.containers += containers
                close |= closer
            for _, part in module.modules() if isinstance(module, Structured) else ():
                if id(part) in seen:
                    continue
                seen.add(id(part))
                self.state += [part, part._training if id(part) in asked else None]
                for name, x in vars(part).items():
                    if name[0] != "_":
                        self.state.append(name)
                        self._take(x)
            self._ends.append(len(self.state))
        key = [part for container in self.containers for part in _pair(container)]
        self.key = (CHANGES, object() if close else count, *key)

    def _take(self, x: Any) -> bool:
        """Note an attribute; whether there is a Value or a module in it.

        A module or a leaf is noted by itself, a container with all that is in it, but not long lists of plain numbers.
        """
        if isinstance(x, Value):
            self.state.append(None if x._prev else x)  # what was computed is no part of the structure
            return not x._prev
        if isinstance(x, (list, tuple, dict, deque)) or str(getattr(x, "dtype", "")) == "object":
            before = len(self.state), len(self.containers)
            items = _items(x)
            if not isinstance(x, tuple):
                self.containers.append(x)
            self.state += [type(x), len(items)]
            found = [self._take(item) for item in items]  # all of them, whatever the first ones are
            if any(found):
                return True
            if len(self.state) - before[0] > DATA:
                del self.state[before[0] :], self.containers[before[1] :]
                self.state.append(x)
            return False
        self.state.append(x)
        return isinstance(x, Structured)

    def outdate(self) -> None:
        """Say that they have changed, from now on."""
        self._outdated, self.key = True, (CHANGES, object())

    def changed(self) -> bool:
        """Whether the modules are others than when the watch was made."""
        if self._outdated:
            return True
        if unchanged(self.key):
            return False
        before, containers = self.state, self.containers  # held: a new object cannot have the address of an old one
        self._look()
        pairs = zip_longest(before, self.state, fillvalue=self)
        place = next((k for k, (a, b) in enumerate(pairs) if not _alike(a, b)), None)
        self.outside = "" if place is None else self._name(place)
        if place is not None or [*map(_place, containers)] != [*map(_place, self.containers)]:
            self.outdate()
        return self._outdated

    def _name(self, place: int) -> str:
        """The name of the thing outside of the function to which this place of the state belongs."""
        for module, begin, end in zip(self.modules, [0, *self._ends], self._ends):
            if place < end:
                return "" if isinstance(module, Structured) else str(module.name_of(place - begin))
        return ""


class SameParameters:
    """Whether modules still have the parameters that an optimizer was made for, asked after each call of compiled functions.

    Those functions look at their modules themselves, and are traced again where one has changed. So this one looks only where
    that has happened.
    """

    def __init__(self, modules: list[Any], *functions: Any) -> None:
        self.modules = modules
        self._owners = [getattr(getattr(f, "call", f), "__self__", f) for f in functions]  # of jit, or vmap itself
        self._seen: list[Any] = [None] * len(functions)
        self._only = self._owners[0] if len(functions) == 1 else None
        self._parameters = self._now()

    def _now(self) -> list[Value]:
        return [p for module in self.modules for p in module.parameters()]

    def lost(self) -> bool:
        """Whether there are other parameters than in the beginning."""
        if self._only is not None and self._only.variants is self._seen[0]:  # the usual case, asked in each step
            return False
        for k, owner in enumerate(self._owners):
            if owner.variants is not self._seen[k]:
                self._seen[k] = owner.variants
                now = self._now()
                if len(now) != len(self._parameters) or any(a is not b for a, b in zip(now, self._parameters)):
                    self._seen[k] = None  # it is said again at the next call
                    return True
        return False


def _pair(container: Any) -> tuple[Any, Any]:
    """A container and what is in it, as C compares it.

    A pair of a holder and names stands for what these names are there, and an object with None for its class.
    """
    if type(container) is tuple:
        holder, names = container
        return holder, type(holder) if names is None else {name: read(holder, name) for name in names}
    if isinstance(container, type):
        return container, container.__mro__
    if isinstance(container, FunctionType):
        return container, parts_of(container)
    if isinstance(container, BUFFERS) or (is_array(container) and container.dtype != object):
        return container, as_bytes(container)
    return container, _items(container)


def _place(container: Any) -> int:
    return id(container[0] if type(container) is tuple else container)


def _items(container: Any) -> tuple[Any, ...]:
    """Return what is in a container, in order; of a dict each key and its value, of an array its shape too."""
    if isinstance(container, dict):
        return tuple([part for pair in container.items() for part in pair])
    if isinstance(container, CellType):
        return (container.cell_contents,) if _is_filled(container) else ()
    return (*container.ravel().tolist(), container.shape) if hasattr(container, "ravel") else tuple(container)


def _alike(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is float and type(b) is float:
        return repr(a) == repr(b)  # which tells 0.0 from -0.0
    return type(a) is type(b) and type(a) in (int, bool, str, bytes) and bool(a == b)


def modules_of(f: Any, near: bool = False) -> list[Any]:
    """Return the modules that a function refers to: itself, its arguments by partial, its closure and its globals.

    An object of a plain class that can be called, or whose method this is, refers to what it has in its attributes. With
    `near`, so do all objects and classes that are reached, the modules among them too: a function may read any of them.
    """
    found: dict[int, Any] = {}
    stack, seen = [f], dict[int, Any]()
    while stack and len(seen) < REACHED:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if isinstance(x, Structured):
            found[id(x)] = x
            stack += _parts(x) if near and not is_foreign(type(x).__module__) else []
        elif isinstance(x, functools.partial):
            stack += [x.func, *(a for a in [*x.args, *x.keywords.values()] if _may_hold(a, near))]
        elif isinstance(x, CONTAINERS):
            stack += _inside(x, near)
        elif has(x, "__self__") and isinstance(x.__self__, Structured):
            stack.append(x.__self__)
        elif has(x, "__code__"):
            if has(x, "__self__"):  # a method of an object
                stack += _held(x.__self__)
            cells = [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
            defaults = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
            stack += [c for c in [*cells, *_named(x, [*cells, *defaults]), *defaults] if _may_hold(c, near)]
        elif has(x, "__wrapped__"):
            stack.append(x.__wrapped__)
        elif near:
            stack += _parts(x)
        elif callable(x) and not isinstance(x, type):
            stack += [*_held(x), *(c for c in [type(x).__call__] if has(c, "__code__"))]
    return _without_parts(list(found.values())) if len(found) > 1 and near else list(found.values())


def _without_parts(modules: list[Any]) -> list[Any]:
    """Return the modules that are not inside of one before them."""
    kept: list[Any] = []
    inside: set[int] = set()
    for module in modules:
        if id(module) not in inside:
            kept.append(module)
            inside.update(id(part) for _, part in module.modules())
    return kept


def _named(f: Any, others: list[Any]) -> list[Any]:
    """Return what a function, with the lambdas and comprehensions in it, reads by name: globals, and names of modules there.

    Modules among `others`, which it has in its closure or as defaults, are read in the same way.
    """
    words = set(names_in(f.__code__))
    found: list[Any] = list(f.__globals__.values()) if "globals" in words else []
    imported = {name: sys.modules[name] for name in words if name in sys.modules and name not in f.__globals__}
    modules = [x for x in others if issubclass(type(x), ModuleType) and not is_foreign(x.__name__)]
    spaces, seen = [f.__globals__, imported, *map(vars, modules)], set(map(id, modules))
    for space in spaces:
        for x in [space[name] for name in words if name in space]:
            if not issubclass(type(x), ModuleType):
                found.append(x)
            elif id(x) not in seen and not is_foreign(x.__name__):
                seen.add(id(x))
                spaces.append(vars(x))
    return found


def _parts(x: Any) -> list[Any]:
    """Return what is in an object and in its class, or in a class, as far as the user has written it."""
    cls = x if isinstance(x, type) else type(x)
    found = [] if x is cls else _held(x, near=True)
    for base in cls.__mro__:
        for c in () if is_foreign(base.__module__) else vars(base).values():
            functions = [c.fget, c.fset] if isinstance(c, property) else [_unwrapped(c)]
            found += [w for w in functions if _may_hold(w, True)]
    return found


def _held(x: Any, near: bool = False) -> list[Any]:
    """Return what is in the attributes of an object."""
    return [] if isinstance(x, type) else _inside(attributes(x) if near else getattr(x, "__dict__", {}), near)


def _unwrapped(x: Any) -> Any:
    if isinstance(x, (staticmethod, classmethod)):
        return x.__func__
    return x.func if isinstance(x, functools.cached_property) else x


def _inside(x: Any, near: bool) -> list[Any]:
    """Return what is in a container and may be a module or hold one."""
    items = x.values() if isinstance(x, dict) else x
    found = [item for item in list(islice(items, LOOKED_AT)) if _may_hold(item, near)]
    if len(x) > LOOKED_AT and any(isinstance(item, Structured) for item in found):
        found = [item for item in list(items) if _may_hold(item, near)]
    return found


def _may_hold(x: Any, near: bool) -> bool:
    """Whether something may be a module or hold one."""
    if type(x) in NUMBERS:
        return False
    try:
        if isinstance(x, (Structured, functools.partial, MethodType, *CONTAINERS)):
            return True
        if isinstance(x, (FunctionType, type)):
            return not is_foreign(x.__module__) if near else isinstance(x, FunctionType)
        if isinstance(x, (Value, *CONSTANT)) or not (callable(x) or near):
            return False
        attributes(x)  # an error where x is a proxy that cannot be asked for anything now
        return callable(x) or not (is_array(x) or is_foreign(type(x).__module__))
    except Exception:
        return False


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
