"""What a function can reach: the names that it reads from outside, what they stand for, and the modules of nn among that.

This is the one walk from which everything follows that is watched: by name (names.py), in objects (owners.py), and in modules
(modules.py).
"""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from micrograd.engine import Value
from micrograd.objects import CONSTANT, attributes
from micrograd.tree import has, is_array
from micrograd.watch.code import (
    BY_ANY_NAME,
    content,
    globals_in,
    is_foreign,
    is_installed,
    loaded_in,
    methods_of,
    words_in,
)
from micrograd.watch.modules import Structured

CONTAINERS = (list, tuple, dict, set, frozenset, deque)
VIEWS: tuple[Any, ...] = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))  # of dicts
BUFFERS = (bytearray, memoryview, array)
LOOKED_AT = 1000  # items of a container that are looked at; all of them where there are modules among these
REACHED = 5_000  # things that are looked at: some 20 ms
SIMPLE = {str, bool, int, float, type(None), Value}
PLAIN = (str, bytes, bool, int, float, complex, type(None), Value, Enum)
BOUND = (BuiltinFunctionType, MethodWrapperType)  # methods of lists and dicts are among them
ALL_GLOBALS = {"globals", "eval", "exec", "locals"}  # they read globals whose names do not stand in the code
ASKING = {"hasattr", "getattr", "AttributeError"}  # code with one of these goes on where there is no such attribute
MAKERS = ("__init__", "__new__", "__post_init__")
GETTERS = (operator.attrgetter, operator.methodcaller)


class Reach:
    """All that a function can reach by names.

    What an installed package has written is looked through for modules of nn and functions of the user's, after all that the
    user has written; but nobody assigns to its names, so these are not watched.

    With `calls`, it is only what is called or may be: neither what modules of nn and classes have inside, nor what is in
    objects that cannot be called.
    """

    def __init__(self, f: Any, calls: bool = False) -> None:
        self.calls = calls
        self.things: list[Any] = []  # whatever was looked at
        self.names: dict[int, tuple[Any, dict[str, None]]] = {}  # by the id of a namespace or a class
        self.cells: list[tuple[Any, str]] = []  # of variables of functions around, with their names
        self.functions: list[Any] = []  # whose code is the user's
        self.classes: list[type] = []
        self.held: list[tuple[Any, str]] = []  # containers and objects, with the names of them
        self.words: set[str] = set()  # that occur in the code
        self._modules: dict[int, Any] = {}
        self._perhaps: set[str] = set()  # names of attributes that need not be there
        self._spaces: list[Any] = []  # modules and classes: their attributes count whose names occur in the code
        self._known = 0, 0  # how many of the spaces were looked into, and with how many words
        # With a name, if what is in it is not watched with something else.
        self._waiting: list[tuple[Any, str]] = [(f, "")]
        self._installed: list[Any] = []  # what installed packages have written
        seen: dict[tuple[int, bool], Any] = {}
        while len(seen) < REACHED:
            if not self._waiting:
                self._look_into_spaces(seen)
            if not self._waiting and self._installed:
                with contextlib.suppress(Exception):  # of a proxy that cannot be asked for anything now
                    self._look_through(self._installed.pop())
                continue
            if not self._waiting:
                break
            x, name = self._waiting.pop()
            if (id(x), bool(name)) not in seen:
                seen[id(x), bool(name)] = x
                self._look_at(x, name)
        self.things = list(seen.values())

    def modules(self) -> list[Any]:
        """Return the modules of nn, without those that are inside of another one."""
        kept: list[Any] = []
        inside: set[int] = set()
        for module in reversed(self._modules.values()):
            if id(module) not in inside:
                kept.append(module)
                inside.update(id(part) for _, part in module.modules())
        return [x for x in kept if not any(x is part for y in kept if y is not x for _, part in y.modules())]

    def _wait(self, things: Iterable[Any], name: str) -> None:
        self._waiting += [(x, name) for x in things if type(x) not in SIMPLE]

    def _note(self, holder: Any, name: str, x: Any) -> None:
        names = self.names.setdefault(id(holder), (holder, {}))[1]
        if name not in names:
            names[name] = None
            self._wait([x], name)

    def _look_at(self, x: Any, name: str) -> None:
        if issubclass(type(x), Structured):
            self._modules[id(x)] = x
        if self.calls and _has_no_calls(x):
            return
        if _is_foreign(x):
            with contextlib.suppress(Exception):  # of a proxy that cannot be asked for anything now
                self._look_at_foreign(x)
            return
        if isinstance(x, FunctionType):
            self._look_at_function(x)
        elif isinstance(x, (type, ModuleType)):
            self._spaces.append(x)
            if isinstance(x, type):
                self.classes.append(x)
                self._wait([type(x)], "")
        elif isinstance(x, GETTERS):
            self.words.update(word for s in x.__reduce__()[1] if isinstance(s, str) for word in s.split("."))
        elif isinstance(x, functools.partial):
            self.held.append((x, name or "a partial"))
            self._wait([x.keywords], name or "a keyword of a partial")
        elif name and not isinstance(x, (*CONSTANT, *BOUND, Value, Structured)):
            self.held.append((x, name))
            name = ""
        if self.calls and isinstance(x, MethodType) and not isinstance(x.__self__, (Structured, type)):
            self._wait(_inside(x.__self__), name)
        self._wait(_inside(x), name)

    def _look_at_foreign(self, x: Any) -> None:
        self._wait([y for y in _held_by(x) if callable(y)], "")
        if isinstance(x, FunctionType) and x.__module__ == "functools":  # the table of a singledispatch
            self._wait([y for y in map(content, x.__closure__ or ()) if isinstance(y, dict)], x.__name__)
        elif not is_foreign(_home(x)):
            self._installed.append(x)

    def _look_at_function(self, f: Any) -> None:
        new = loaded_in(f.__code__) if f.__name__ in MAKERS else words_in(f.__code__)
        self.words |= new
        if not ASKING.isdisjoint(new):
            self._perhaps.update([name for name in new if name.isidentifier() and not name.startswith("__")])
        self.functions.append(f)
        names = globals_in(f.__code__)
        if not ALL_GLOBALS.isdisjoint(names):
            names += tuple([name for name in f.__globals__ if not name.startswith("_")])
        for name in names:  # also those that stand for nothing yet, or are built in
            self._note(f.__globals__, name, f.__globals__.get(name))
        for name in new & vars(f).keys():
            self._note(vars(f), name, vars(f)[name])
        self._wait([x for x in map(sys.modules.get, new) if isinstance(x, ModuleType)], "")
        for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
            self.cells.append((cell, name))
            self._wait([content(cell)], name)
        self._wait([*(f.__defaults__ or ()), f.__kwdefaults__], "a default")

    def _look_into_spaces(self, seen: dict[tuple[int, bool], Any]) -> None:
        """Note the attributes of modules and classes, when all functions that were found are known, and with them the words."""
        done, words = self._known
        self._known = len(self._spaces), len(self.words)
        for space in self._spaces[done if words == len(self.words) else 0 :]:
            for holder, name, x in _named(space, self.words, self._perhaps):
                self._note(holder, name, x)
            if isinstance(space, type):
                self._wait([x for x in _methods(space, self.words) if (id(x), False) not in seen], "")

    def _look_through(self, x: Any) -> None:
        """Go on with what something that an installed package has written refers to."""
        if isinstance(x, FunctionType):
            found = [x.__globals__.get(name) for name in globals_in(x.__code__)]
            found += [*map(content, x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        elif isinstance(x, ModuleType):
            found = [y for name, y in list(vars(x).items()) if name in self.words]
        elif isinstance(x, type):
            found = [y for base in x.__mro__ if not is_foreign(base.__module__) for y in vars(base).values()]
        else:
            found = list(_inside(x))
        self._wait([y for y in found if not is_array(y)], "")


def _home(x: Any) -> str | None:
    """Return the name of the Python module that something is written in, or its class."""
    if isinstance(x, ModuleType):
        return x.__name__
    return (x if isinstance(x, (FunctionType, type)) else type(x)).__module__


def _is_foreign(x: Any) -> bool:
    """Whether something is a function, a class or a module that is none of the user's, or an object of such a class."""
    try:
        if isinstance(x, (FunctionType, type)):
            return is_installed(x.__module__) and not has(x, "__wrapped__")
        if isinstance(x, ModuleType):
            return is_installed(x.__name__)
        if isinstance(x, BOUND):
            return isinstance(x.__self__, (type, ModuleType, type(None)))
        if isinstance(x, (*PLAIN, *CONTAINERS, *VIEWS, *BUFFERS, *GETTERS, MethodType, functools.partial)):
            return False
        if has(x, "__wrapped__") or is_array(x):
            return False
        attributes(x)  # an error where x is a proxy that cannot be asked for anything now
        return is_installed(type(x).__module__) and not has(x, "__array__")
    except Exception:
        return True


def _held_by(x: Any) -> list[Any]:
    """What a function of a library or an object of this package holds: train.step and fit hold functions of the user's."""
    if isinstance(x, FunctionType):
        return [content(cell) for cell in x.__closure__ or ()]
    ours = str(type(x).__module__).split(".")[0] == "micrograd"
    return list(getattr(x, "__dict__", {}).values()) if ours and not isinstance(x, (type, ModuleType)) else []


def _inside(x: Any) -> Iterator[Any]:
    """What is to be looked at with something: what is in it, and the class whose methods it has."""
    if isinstance(x, functools.partial):
        yield from (x.func, *x.args)
    elif isinstance(x, MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, BOUND):
        yield x.__self__
    elif isinstance(x, (*CONTAINERS, *VIEWS)):
        items: Any = x.values() if isinstance(x, (dict, MappingProxyType)) else x
        first = list(items[:LOOKED_AT] if type(items) in (list, tuple) else list(items)[:LOOKED_AT])
        yield from list(items) if any(issubclass(type(item), Structured) for item in first) else first
        if type(x).__module__ != "builtins":
            yield from [*attributes(x).values(), type(x)]
    elif is_array(x) and x.dtype == object:
        yield from x.ravel()[:LOOKED_AT].tolist()
    elif (
        not isinstance(x, (*PLAIN, *BUFFERS, FunctionType, type, ModuleType))
        and not is_array(x)
        and not has(x, "__array__")
    ):
        yield from attributes(x).values()
        yield type(x)
    if has(x, "__wrapped__"):
        yield x.__wrapped__


def _methods(cls: type, words: set[str]) -> list[Any]:
    """The methods that may run: where a class inherits from one that is none of the user's, that one may call any of them."""
    inherits = any(is_installed(base.__module__) and base.__module__ != "builtins" for base in cls.__mro__)
    names = {*words, *MAKERS, *(name for base in cls.__mro__ if inherits for name in vars(base))}
    found = methods_of(cls, names)
    return [x for x in found if isinstance(x, FunctionType) and not _is_foreign(x)]


def _named(space: Any, words: set[str], perhaps: set[str]) -> Iterator[tuple[Any, str, Any]]:
    """What is in a module or a class by names that occur in the code, with where it is.

    In a class, methods are among it. A name that only its bases have, or that is in `perhaps`, may come to be there.
    """
    any_name = not BY_ANY_NAME.isdisjoint(words)
    if isinstance(space, ModuleType):
        for name, x in list(vars(space).items()):
            if name in words or (any_name and name[0] != "_" and type(x) in SIMPLE):
                yield vars(space), name, x
        return
    bases = [base for base in space.__mro__ if not is_installed(base.__module__)]
    names = {name for base in bases for name, x in list(vars(base).items()) if _counts(name, x, words, any_name)}
    if issubclass(space, Enum):
        names -= space.__members__.keys()
    for name in sorted(names | perhaps):
        for base in bases:
            x = vars(base).get(name)
            yield base, name, None if hasattr(type(x), "__get__") and is_installed(type(x).__module__) else x


def _counts(name: str, x: Any, words: set[str], any_name: bool) -> bool:
    """Whether what a class has by a name can be read: special methods are called without their name."""
    if name.startswith("__") and name.endswith("__"):
        return isinstance(x, FunctionType) and not _is_foreign(x) and name != "__repr__"
    return name in words or (any_name and not name.startswith("_abc"))


def _has_no_calls(x: Any) -> bool:
    try:
        if isinstance(x, (FunctionType, MethodType, ModuleType, functools.partial, *CONTAINERS, *VIEWS, *BOUND)):
            return False
        return issubclass(type(x), Structured) or isinstance(x, type) or not (callable(x) or has(x, "__wrapped__"))
    except Exception:
        return True


def modules_of(f: Any) -> list[Any]:
    """Return the modules that a function can reach: itself, what it calls, and what is in the objects and classes there."""
    return Reach(f).modules()


def modules_called(f: Any) -> list[Any]:
    """Return the modules that a function is or calls, as its model: not all that those read, nor what else is near."""
    return Reach(f, calls=True).modules()


def words_of(functions: list[Any]) -> set[str]:
    """Return the names in the code of functions, and of whatever they can reach."""
    return Reach(functions).words
