"""What comes from outside of the function: constants, global variables, attributes, and the guards on them."""

from __future__ import annotations

import collections
import contextlib
import enum
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from micrograd import engine
from micrograd.abstract.builtin import Builtins
from micrograd.abstract.calls import STANDARD
from micrograd.abstract.errors import Refused
from micrograd.abstract.values import NONE, TRUE, Cell, Const, Mark, Num, Ref, Tuple, Value, same_object
from micrograd.ir.forms import F64
from micrograd.watch.owners import as_bytes

_MISSING = Mark("missing")
_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, types.BuiltinFunctionType, Mark,
           types.FunctionType, type(Ellipsis), type(NotImplemented))  # fmt: skip
_NAMESPACES = {
    ("types", "SimpleNamespace"),
    ("argparse", "Namespace"),
}  # of the standard library, for the user's own data


class Changed(Exception):
    """What was read from outside is not what it was."""


class Guard(NamedTuple):
    """Something that was read from outside: the tape is right as long as it is what it was.

    how: "global" (owner: the variables of a module), "missing" (no such global variable, so that a builtin is meant),
    "cell" (owner: the cell of a closure), "attribute", "static" (owner: a class, and what its `__dict__` has), "default" and
    "code" (owner: a function), "contents" (owner: a list, a dict, a set, an array or an object; value: what it contained),
    "argument" (owner: None, name: the path of the argument).
    """

    how: str
    owner: Any
    name: Any
    value: Any

    def holds(self) -> bool:
        """Return whether it is still what it was. An argument is for the caller to compare."""
        return _same(self.now(), self.value)

    def identities(self) -> tuple[Any, ...] | None:
        """Return pairs whose identities tell that it holds, as watch.guards.unchanged compares them; None where none do.

        What the pairs have is what was compared, so that no other thread can change it in between. Raises Changed where the
        guard does not hold.
        """
        owner = self.owner
        if self.how in ("global", "missing") and type(owner) is dict:
            now = self._found(self.now())
            return owner, {self.name: None if self.how == "missing" else now}
        if self.how == "attribute" and isinstance(owner, types.ModuleType) and self.name in vars(owner):
            return vars(owner), {self.name: self._found(vars(owner)[self.name])}
        if self.how == "static":
            return self._of_classes()
        if self.how == "cell":
            return owner, (self._found(self.now()),)
        if self.how == "code":
            return owner, (self._found(self.now()), owner.__defaults__, owner.__kwdefaults__)
        if self.how == "contents" and type(owner) is list:
            return owner, self._found(tuple(owner))
        if self.how == "contents" and type(owner) is dict:
            return owner, tuple([part for pair in self._found(tuple(owner.items())) for part in pair])
        if self.how == "contents" and type(owner).__module__ == "numpy" and owner.flags.c_contiguous:
            now = as_bytes(owner)
            self._found((str(owner.dtype), owner.shape, now[: owner.nbytes]))
            return owner, now
        return None

    def _of_classes(self) -> tuple[Any, ...] | None:
        """Return the order of the bases of a class, and what they have up to the first one that has the name."""
        order = self.owner.__mro__
        pairs: list[Any] = [self.owner, order]
        for cls in order:
            raw = vars(cls).get(self.name, _MISSING)
            pairs += (cls, {self.name: None if raw is _MISSING else raw})
            if raw is not _MISSING:
                self._found(_unwrapped(raw))
                return None if raw is None else tuple(pairs)  # unchanged() takes None for a missing name
        self._found(_MISSING)
        return tuple(pairs)

    def _found(self, now: Any) -> Any:
        if not _same(now, self.value):
            raise Changed
        return now

    def now(self) -> Any:
        """Return what is there now."""
        if self.how == "global":
            return self.owner.get(self.name, _MISSING)
        if self.how == "missing":
            return _MISSING if self.name not in self.owner else None
        if self.how == "cell":
            try:
                return self.owner.cell_contents
            except ValueError:
                return _MISSING
        if self.how == "attribute":
            return getattr(self.owner, self.name, _MISSING)
        if self.how == "static":
            return _in_class(self.owner, self.name)
        if self.how == "default":
            return _default(self.owner, self.name)
        if self.how == "code":
            return self.owner.__code__
        if self.how == "contents":
            return contents(self.owner)
        return self.value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    return same_object(a, b) or (isinstance(a, types.MethodType) and bool(a == b))


def _in_class(cls: type, name: str) -> Any:
    for owner in cls.__mro__:
        if name in vars(owner):
            return _unwrapped(vars(owner)[name])
    return _MISSING


def _unwrapped(found: Any) -> Any:
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


def _default(function: types.FunctionType, name: str) -> Any:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    found = dict(zip(positional[len(positional) - len(values) :], values)) | (function.__kwdefaults__ or {})
    return found.get(name, _MISSING)


def contents(x: Any) -> Any:
    """Return what an object contains, as a tuple that can be compared."""
    if isinstance(x, dict):
        return tuple(x.items())
    if isinstance(x, list | collections.deque | set | frozenset):
        return tuple(x)
    if type(x).__module__ == "numpy":
        return (str(x.dtype), x.shape, x.tobytes())
    return tuple(vars(x).items()) if hasattr(x, "__dict__") else ()


class Outside(Builtins):
    """Reads what is outside."""

    def globals_of(self, frame: int) -> Any:
        return self.frames[frame].names

    def note_missing(self, space: dict[str, Any], name: str) -> None:
        self.guard("missing", space, name, _MISSING)

    def guard(self, how: str, owner: Any, name: Any, value: Any) -> None:
        """Write down what was read. Raise Changed where it was read before, and was something else: a thread has changed it."""
        found = self.guards.setdefault((how, id(owner), name), Guard(how, owner, name, value))
        if not _same(found.value, value):
            raise Changed

    def read_from_outside(self, how: str, owner: Any, name: Any, x: Any) -> Value:
        held = (
            how == "attribute"
            and not isinstance(owner, type | types.ModuleType)
            and name in getattr(owner, "__dict__", ())
        )
        if held or not _is_standard(owner, how):
            self.guard(how, owner, name, x)
        return self.constant(x)

    def constant(self, x: Any) -> Value:
        """Return a Python object as a value: lists, dicts and objects become cells, once."""
        if type(x).__module__ == "numpy" and getattr(x, "shape", None) == () and hasattr(x, "item"):
            return Const(x.item())
        if isinstance(x, _SIMPLE):
            return Const(x)
        if isinstance(x, tuple):
            return Tuple([self.constant(y) for y in x], type(x))
        if isinstance(x, range):
            return Tuple([Const(x.start), Const(x.stop), Const(x.step)], range)
        if isinstance(x, slice):
            return Tuple([self.constant(y) for y in (x.start, x.stop, x.step)], slice)
        known = self.imported.get(id(x))
        if known is None and self.captures is not None and isinstance(x, engine.Value):
            known = self.imported[id(x)] = Num(self.b.param(F64, outermost=True)), x
            self.captures.append(x)
        if known is not None:
            ref, _ = known
            if isinstance(ref, Num):
                return ref
            assert isinstance(ref, Ref)
            if ref.location in self.given:  # what is read here is passed as an argument, too
                self.guard("argument", None, (*self.given[ref.location][0], ("object", None)), x)
            if ref.location not in self.heap:
                self.show_everywhere(ref.location, self.first_cells[ref.location])
            return ref
        if not self._is_container(x):
            return Const(x)
        return self._imported(x)

    def _is_container(self, x: Any) -> bool:
        if isinstance(x, list | dict | set | frozenset | collections.deque):
            return True
        cls = type(x)
        if cls.__module__ == "numpy":
            return cls.__name__ == "ndarray"
        if cls.__name__ == "Value" and cls.__module__.startswith("micrograd"):
            raise Refused("a Value from outside of the function is used", "Pass it in as an argument.")
        if isinstance(x, BaseException | types.MethodType | property | enum.Enum):
            return False
        if callable(x) and cls.__module__ in STANDARD:
            return False
        if (cls.__module__, cls.__name__) in _NAMESPACES:
            return True
        return hasattr(x, "__dict__") and cls.__module__.split(".")[0] not in STANDARD

    def place_outside(self, x: Any) -> Ref:
        """Return a new location for an object from outside."""
        ref = Ref(-1 - len(self.outer))
        self.outer.append(ref.location)
        self.imported[id(x)] = ref, x
        return ref

    def show_everywhere(self, at: int, cell: Value) -> None:
        """Put an object from outside onto the heap: it was there before any loop began."""
        old = self.first_cells.get(at)
        self.first_cells[at] = cell
        for heap in (self.heap, *self.rolls):
            if heap.get(at, old) is old:
                heap[at] = cell

    def _imported(self, x: Any) -> Ref:
        with self._whole():
            ref = self.place_outside(x)
            self.show_everywhere(ref.location, Cell(("list", list), ()))  # it may contain itself
            found = contents(x)  # read once: another thread may change it at any moment
            self.guard("contents", x, "", found)
            self.show_everywhere(ref.location, self._cell_of(x, found))
        return ref

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Forget the objects from outside that are read in the block, if one of them cannot be read to its end."""
        count = len(self.imported)
        try:
            yield
        except BaseException:
            for key in list(self.imported)[count:]:
                del self.imported[key]
            raise

    def _cell_of(self, x: Any, found: Any) -> Cell:
        """Return the cell of an object that had these contents."""
        if isinstance(x, set | frozenset):
            return Cell(("set", found), [TRUE] * len(found))
        if isinstance(x, list | collections.deque):
            if getattr(x, "maxlen", None) is not None:
                raise Refused("a deque with a maximal length")
            return Cell(("list", type(x)), list(map(self.constant, found)))
        if type(x).__module__ == "numpy":
            if str(x.dtype) not in ("float64", "int64"):  # others have an arithmetic of their own
                raise Refused(f"a NumPy array of {x.dtype}")
            dtype, shape, data = found
            held = sys.modules["numpy"].frombuffer(data, dtype).reshape(shape)
            items = list(held) if held.ndim > 1 else held.tolist()
            return Cell(("list", type(x)), list(map(self.constant, items)))
        keys, values = tuple(key for key, _ in found), [self.constant(y) for _, y in found]
        return Cell(("dict", keys, type(x)) if isinstance(x, dict) else ("object", type(x), keys), values)

    def frame_from_outside(self, function: types.FunctionType) -> int | None:
        """Return the frame with the variables that a function object takes from functions around it."""
        if not function.__closure__:
            return self.module_frame(function)
        known = self.imported.get(id(function.__closure__))
        if known is not None and isinstance(known[0], Ref):
            at = known[0].location
            if at not in self.heap:
                self.show_everywhere(at, self.first_cells[at])
            return at
        with self._whole():
            ref = self.place_outside(function.__closure__)
            self.frames[ref.location] = self.space(function.__globals__)
            names = function.__code__.co_freevars
            self.show_everywhere(ref.location, Cell(("frame", names, None), [NONE] * len(names)))
            values = []
            for name, cell in zip(names, function.__closure__):
                try:
                    values.append(self.read_from_outside("cell", cell, name, cell.cell_contents))
                except ValueError:
                    raise Refused(f"the variable {name} of a function around is unbound") from None
            self.show_everywhere(ref.location, Cell(("frame", names, None), values))
        return ref.location

    def module_frame(self, function: types.FunctionType) -> int | None:
        return None


def _is_standard(owner: Any, how: str) -> bool:
    """Return whether something belongs to Python or to this package, which do not change."""
    if how == "cell":
        return False
    if how == "global":
        return str(owner.get("__name__", "")).split(".")[0] in STANDARD
    if isinstance(owner, types.ModuleType):
        return owner.__name__.split(".")[0] in STANDARD
    module = getattr(owner, "__module__", None) or type(owner).__module__
    return str(module).split(".")[0] in STANDARD
