"""What is watched of that: the names that a function reads from outside, and the objects that it reads or is a method of.

In a trace they are constants, or captured Values. So the function is traced again where a name stands for something else, or
where a list, a dict, an array or an attribute has changed. Only attributes that the code can read count: a list of losses that
grows with each step is no reason to trace. Long lists and large arrays of plain numbers are data: only the name is watched.
What belongs to an installed package is not watched. Modules of nn are in modules.py.
"""

from __future__ import annotations

import functools
from array import array
from collections import OrderedDict, deque
from numbers import Number
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

from micrograd.engine import Value
from micrograd.objects import CONSTANT, Held, attributes, contents, slots_of
from micrograd.tree import has, is_array
from micrograd.watch.code import BY_ANY_NAME, MATCH_ARGS, content, holds_nothing, methods_of, parts_of, read
from micrograd.watch.reach import BUFFERS, CONTAINERS, VIEWS, Reach, words_of

ITERATED = (set, deque)  # C compares what comes out of them
PARTS = ("func", "args", "keywords")  # of a partial
SIMPLE = {float, int, bool, complex, str, bytes, type(None)}  # there is nothing inside of them
# Lists of more plain numbers, and larger arrays, outside of the function are data, and not watched: comparing as many in each
# call takes 20 us.
DATA, BYTES = 100_000, 2**20


def objects_of(f: Any) -> tuple[list[Any], list[FunctionType]]:
    """Return the objects whose methods a function is made of, those that it has by partial, and its code."""
    found: list[Any] = []
    code: list[FunctionType] = []
    waiting = [f]
    while waiting:
        x = waiting.pop()
        if isinstance(x, functools.partial):
            waiting.append(x.func)
            found += [*x.args, *x.keywords.values()]
        elif isinstance(x, MethodType):
            found.append(x.__self__)
            waiting.append(x.__func__)
        elif isinstance(x, FunctionType):
            code.append(x)
        elif has(x, "__wrapped__"):
            waiting.append(x.__wrapped__)
        elif callable(x) and isinstance(type(x).__call__, FunctionType):  # an instance that is called
            found.append(x)
    return found, code


def owners_of(f: Any, modules: list[Any]) -> list[Owner]:
    """Return the objects whose methods a function is made of: its own, and those of the functions that it transforms.

    The modules that it reads are among them where the user has written their class: guards.py sees their public attributes,
    and not what is in objects and arrays there.
    """
    found, code = objects_of(f)
    found += {id(part): part for module in modules for _, part in module.modules()}.values()
    found = [x for x in found if not isinstance(x, CONSTANT) and not holds_nothing(x)]
    names = words_of([*code, *(type(x).__call__ for x in found if callable(x))]) if found else set()
    return [Owner(x, names, data=False) for x in found]


class Owner:
    """An object that compiled code reads, as one whose method is compiled, with the names that occur in that code.

    With `data`, it may also be a list, a dict or an array, and long lists and large arrays of plain numbers are left out.
    """

    def __init__(self, x: Any, names: set[str], data: bool = True, name: str = "") -> None:
        self.x, self.names, self.data, self.name = x, set(names), data, name
        self.kinds: set[Any] = set()  # the classes and functions in the object, whose code is known

    def name_of(self, place: int) -> str:
        """By which name the program knows what stands at a place of its parts; nothing where it is not known."""
        return self.name

    def parts(self) -> tuple[list[Any], list[Any], bool]:
        """What can be read of the object now, the lists and dicts among it, and whether there is more than identities tell."""
        while True:
            look = _Look(None if self.names & BY_ANY_NAME else self.names, self.data)
            look.take(self.x)
            kinds = {x if isinstance(x, FunctionType) else type(x) for x in look.seen.values()}
            if kinds <= self.kinds:
                return look.state, look.containers, look.close
            before: set[str] | None = None
            while before != self.names:  # methods call others, and objects have methods that read more
                before = set(self.names)
                methods = [m for cls in kinds if isinstance(cls, type) for m in methods_of(cls, self.names)]
                self.names |= words_of([*methods, *(f for f in kinds if isinstance(f, FunctionType))])
                if MATCH_ARGS in self.names:
                    self.names.update(*(getattr(cls, MATCH_ARGS, ()) for cls in kinds))
            self.kinds |= kinds


class _Look:
    """All that is in an object, in the attributes of these names, or of any name; with `data`, what is short of it."""

    def __init__(self, names: set[str] | None, data: bool) -> None:
        self.names, self.data = names, data
        self.state: list[Any] = []
        self.containers: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.close = False

    def take(self, x: Any) -> None:
        """Note an object and what is in it."""
        if isinstance(x, Value):
            self.state.append(None if x._prev else x)
            return
        inside: list[Any] = []
        before = len(self.state), len(self.containers)
        if isinstance(x, CONTAINERS):
            inside += [item for pair in x.items() for item in pair] if isinstance(x, dict) else x
            self.state += [type(x), len(inside)]
            # C sees no order of an OrderedDict, and classes of the user's may iterate in their own way.
            self.close |= isinstance(x, (*ITERATED, OrderedDict)) and type(x) not in ITERATED
        elif isinstance(x, VIEWS):
            inside += [dict(x)] if isinstance(x, MappingProxyType) else x
            self.close = True
        elif isinstance(x, BUFFERS) and not _is_large(x):
            self.state += [x, as_bytes(x)]
            self.containers.append(x)
            return
        elif self.data and (is_array(x) or has(x, "__array__")) and _is_large(x):
            self.state.append(x)
            return
        elif is_array(x) and x.dtype != object:
            self.state += [x, str(x.dtype), as_bytes(x)]
            self.containers.append(x)
            return
        elif is_array(x):
            inside += x.ravel().tolist()
            self.state += [type(x), *x.shape]
        elif has(x, "__array__"):
            inside += [item.x if isinstance(item, Held) else repr(item) for item in contents(x)]
            self.close = True
        else:
            self.state.append(x)
        if id(x) in self.seen:
            return
        self.seen[id(x)] = x
        if SIMPLE.issuperset(map(type, inside)):
            self.state += inside
        else:
            for item in inside:
                self.take(item)
        items = list(x.values()) if isinstance(x, dict) else inside
        if self.data and len(self.state) - before[0] > DATA and _are_numbers(inside) and _count(items) > DATA:
            del self.state[before[0] :], self.containers[before[1] :]
            self.state.append(x)
        elif isinstance(x, (list, dict)) or type(x) in ITERATED or is_array(x):
            self.containers.append(x)
        if type(x).__module__ == "builtins" or isinstance(x, CONSTANT) or holds_nothing(x):
            return
        self.state.append(type(x))
        self.containers.append((x, None))
        found, here = attributes(x), getattr(x, "__dict__", {})
        self.containers += [here] if has(x, "__dict__") else []
        slots = [name for name in slots_of(type(x)) if self.names is None or name in self.names]
        slots += PARTS if isinstance(x, functools.partial) else ()  # which __setstate__ exchanges
        self.containers += [(x, tuple(slots))] if slots else []
        for part in (x.func, *x.args, x.keywords) if isinstance(x, functools.partial) else ():
            self.take(part)
        for name, a in found.items():
            if self.names is None or name in self.names:
                self.state.append(name)
                self.take(a)


class Names:
    """The names that a function reads from outside, and those that the functions which it calls read, with what they are.

    `selected` has pairs: a namespace or a class, and the names there that count. `owners` are what the names stand for, where
    there is something in it that can change.
    """

    def __init__(self, f: Any) -> None:
        found = Reach(f)
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
        state += [*map(content, cells), *(x for f in self.functions for x in parts_of(f))]
        state += [cls.__mro__ for cls in self.classes]
        return state, [*self.selected, *cells, *self.functions, *self.classes], False

    def name_of(self, place: int) -> str:
        """Which name it is whose meaning stands at a place of the parts."""
        names = [*(name for _, names in self.selected for name in names), *(name for _, name in self.cells)]
        names += [f.__name__ for f in self.functions for _ in range(3)]
        return [*names, *(cls.__name__ for cls in self.classes)][place]


def as_bytes(x: Any) -> bytes:
    """What is in an array, and its shape."""
    shape: Any = x.shape if is_array(x) else memoryview(x).shape
    return bytes(x.tobytes() if not isinstance(x, bytearray) else x) + array("q", shape).tobytes()


def _is_large(x: Any) -> bool:
    try:
        size = memoryview(x).nbytes if isinstance(x, BUFFERS) else getattr(x, "nbytes", None)
    except ValueError:  # a memoryview that was released
        return True
    return not isinstance(size, int) or size > BYTES


def _are_numbers(items: list[Any]) -> bool:
    """Whether there are only plain numbers in a list, or in the lists in it."""
    return all(_are_numbers(list(x)) if isinstance(x, (list, tuple)) else isinstance(x, (str, Number)) for x in items)


def _count(items: list[Any]) -> int:
    """How many numbers there are in a list of numbers, and in the lists in it."""
    return sum(_count(list(x)) if isinstance(x, (list, tuple)) else 1 for x in items)
