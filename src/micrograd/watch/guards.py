"""Guards: whether what a compiled function has read from outside is as it was when it was traced.

A trace is replayed, so it knows nothing of a layer that is added later, of a name that stands for something else, or of a list
that has changed. A Watch over such things tells, before each call and mostly in C (native/structure.c), whether they are as
they were; if not, the function is traced again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import zip_longest
from operator import is_
from types import CellType, FunctionType
from typing import Any

from micrograd.engine import NATIVE, Value
from micrograd.tree import is_array
from micrograd.watch.code import parts_of, read
from micrograd.watch.modules import CHANGES, Structured, asked
from micrograd.watch.owners import as_bytes
from micrograd.watch.reach import BUFFERS

DATA = 256  # plain numbers in a list of a module, from which on owners.py looks at it, if the code can read it


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


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
