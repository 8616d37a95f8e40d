"""What a compiled function reads from outside of it: globals, variables of functions around it, defaults, and what is in them.

In a trace they are constants, or captured Values. So the names are watched like the modules of nn (structure.py), and the
function is traced again where a name stands for something else, or where a list, a dict, an array or an object that it stands
for has changed. Long lists and large arrays of plain numbers are data: only the name is watched. What belongs to an installed
package is not watched.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from opcode import EXTENDED_ARG, opmap
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

from micrograd.engine import Value
from micrograd.objects import CONSTANT, attributes
from micrograd.tree import has, is_array
from micrograd.watch.owners import BUFFERS, BY_ANY_NAME, CONTAINERS, VIEWS, Owner, is_foreign, methods_of, words_in
from micrograd.watch.structure import LOOKED_AT, REACHED, Structured, parts_of, read

LOAD_GLOBAL, SHIFT = opmap["LOAD_GLOBAL"], int(sys.version_info >= (3, 11))  # its argument also says how it is called
LOAD_NAME = opmap["LOAD_NAME"]  # in the body of a class inside of a function
SIMPLE = {str, bool, int, float, type(None), Value}
PLAIN = (str, bytes, bool, int, float, complex, type(None), Value, Enum)
BOUND = (BuiltinFunctionType, MethodWrapperType)  # methods of lists and dicts are among them
ALL_GLOBALS = {"globals", "eval", "exec", "locals"}  # they read globals whose names do not stand in the code
ASKING = {"hasattr", "getattr", "AttributeError"}  # code with one of these goes on where there is no such attribute
MAKERS = ("__init__", "__new__", "__post_init__")
GETTERS = (operator.attrgetter, operator.methodcaller)


class Names:
    """The names that a function reads from outside, and those that the functions which it calls read, with what they are.

    `selected` has pairs: a namespace or a class, and the names there that count. `owners` are what the names stand for, where
    there is something in it that can change.
    """

    def __init__(self, f: Any) -> None:
        found = _Search(f)
        self.x = f
        self.selected = [(holder, tuple(names)) for holder, names in found.names.values() if names]
        self.cells = found.cells
        self.functions, self.classes = found.functions, found.classes
        self.owners = [Owner(x, found.words, name=name) for x, name in found.held]

    def things(self) -> list[Any]:
        """What is to be watched: these names, and what is in the things that they stand for."""
        return [*([self] if self.selected or self.cells or self.functions else []), *self.owners]

    def parts(self) -> tuple[list[Any], list[Any], bool]:
        """What the names stand for now, where they are, and that identities tell it."""
        state: list[Any] = [read(holder, name) for holder, names in self.selected for name in names]
        cells = [cell for cell, _ in self.cells]
        state += [*map(_content, cells), *(x for f in self.functions for x in parts_of(f))]
        state += [cls.__mro__ for cls in self.classes]
        return state, [*self.selected, *cells, *self.functions, *self.classes], False

    def name_of(self, place: int) -> str:
        """Which name it is whose meaning stands at a place of the parts."""
        names = [*(name for _, names in self.selected for name in names), *(name for _, name in self.cells)]
        names += [f.__name__ for f in self.functions for _ in range(3)]
        return [*names, *(cls.__name__ for cls in self.classes)][place]


class _Search:
    """All that a function can reach by names."""

    def __init__(self, f: Any) -> None:
        self.names: dict[int, tuple[Any, dict[str, None]]] = {}  # by the id of a namespace or a class
        self.cells: list[tuple[Any, str]] = []  # of variables of functions around, with their names
        self.functions: list[Any] = []  # whose code is the user's
        self.classes: list[type] = []
        self.held: list[tuple[Any, str]] = []  # containers and objects, with the names of them
        self.words: set[str] = set()  # that occur in the code
        self._perhaps: set[str] = set()  # names of attributes that need not be there
        self._spaces: list[Any] = []  # modules and classes: their attributes count whose names occur in the code
        self._known = 0, 0  # how many of the spaces were looked into, and with how many words
        # With a name, if what is in it is not watched with something else.
        self._waiting: list[tuple[Any, str]] = [(f, "")]
        seen: dict[tuple[int, bool], Any] = {}
        while len(seen) < REACHED:
            if not self._waiting:
                self._look_into_spaces(seen)
            if not self._waiting:
                break
            x, name = self._waiting.pop()
            if (id(x), bool(name)) not in seen:
                seen[id(x), bool(name)] = x
                self._look_at(x, name)

    def _wait(self, things: Iterable[Any], name: str) -> None:
        self._waiting += [(x, name) for x in things if type(x) not in SIMPLE]

    def _note(self, holder: Any, name: str, x: Any) -> None:
        names = self.names.setdefault(id(holder), (holder, {}))[1]
        if name not in names:
            names[name] = None
            if not _is_foreign(x):
                self._wait([x], name)

    def _look_at(self, x: Any, name: str) -> None:
        if _is_foreign(x):
            self._wait([y for y in _held_by(x) if callable(y)], "")
            if isinstance(x, FunctionType) and x.__module__ == "functools":  # the table of a singledispatch
                self._wait([y for y in map(_content, x.__closure__ or ()) if isinstance(y, dict)], x.__name__)
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
            self._wait([x.keywords], name or "a keyword of a partial")
        elif name and not isinstance(x, (*CONSTANT, *BOUND, Value, Structured)):
            self.held.append((x, name))
            name = ""
        self._wait(_inside(x), name)

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
            self._wait([_content(cell)], name)
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


@functools.lru_cache(maxsize=1000)
def is_installed(module: str | None) -> bool:
    """Whether a Python module is none of the user's, or one of an installed package: nobody assigns to its names."""
    if is_foreign(module):
        return True
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


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
        return [_content(cell) for cell in x.__closure__ or ()]
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
        yield from list(items)[:LOOKED_AT]
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


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


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
