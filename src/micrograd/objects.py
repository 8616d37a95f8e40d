"""Objects among the arguments of a compiled function: what is in them is read in each call, never kept from the first.

    a float in an attribute           an input, as if it were an argument of its own
    an int, a str, a bool, None       part of the shape: another value is compiled on its own
    a Value                           captured by reference
    lists, tuples, dicts, objects     the same for what is in them
    arrays and tensors                part of the shape, by their contents

The function is traced on a copy of the object, in which Values stand for the floats.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from numbers import Number, Real
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from micrograd.engine import Value
from micrograd.tree import NUMBER, Remake, Shape, fixed, has, is_array

# What cannot change: it is told apart by its value or its identity alone.
CONSTANT = (
    str,
    bytes,
    bool,
    type(None),
    Number,
    type,
    Enum,
    range,
    FunctionType,
    MethodType,
    BuiltinFunctionType,
    ModuleType,
)

OWN = ("_scope",)  # a mark that modules have for drawings: no result depends on it


class Held:
    """A thing that is part of a shape as it is, and is told apart from others by identity."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x) >> 4


def flatten_object(x: Any, leaves: list[Any]) -> Shape:
    """The shape of something that is neither a number nor a container of numbers; appends the floats in it to leaves."""
    return _flatten(x, leaves, ())


def static_shape(x: Any) -> Shape:
    """The shape of a static argument: the numbers in it are a part of the shape too."""
    return _flatten(x, None, ())


def holds_numbers(x: Any) -> bool:
    """Whether an object has plain numbers in its attributes, so that a function that reads it must be given it again."""
    leaves: list[Any] = []
    return _has_int(flatten_object(x, leaves)) or bool(leaves)


def _has_int(shape: Shape) -> bool:
    if shape[0] == "fixed":
        return isinstance(shape[1], int) and not isinstance(shape[1], bool)
    if shape[0] == "held":
        return not isinstance(shape[1].x, Value) and len(shape) > 2 and shape[2] is not None
    return shape[0] not in ("*", "array") and any(_has_int(part) for part in shape[-1])


def slots_of(kind: type) -> list[str]:
    """The names of the slots of a class; one with two underscores has the name of its class before it."""
    found: list[str] = []
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            if name not in ("__dict__", "__weakref__"):
                found.append(f"_{cls.__name__.lstrip('_')}{name}" if private else name)
    return found


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object, by name: those in its __dict__, then those in slots."""
    found: dict[str, Any] = dict(getattr(x, "__dict__", {}))
    for name in slots_of(type(x)):
        if hasattr(x, name):
            found[name] = getattr(x, name)
    for name in getattr(type(x), "_derived", ()):  # of a Neuron
        found.pop(name, None)
    return found


def place_of_attributes(cls: type, names: tuple[str, ...]) -> str:
    """Where the attributes of these names are: in the "dict" of an object, in its "slots", or "" where that is not simple."""
    if cls is SimpleNamespace:
        return "dict"
    computed = _found(cls, "__getattribute__") is not vars(object)["__getattribute__"] or has(cls, "__getattr__")
    if computed or has(cls, "_derived"):
        return ""
    slots = slots_of(cls)
    if not slots:
        return "dict" if isinstance(_found(cls, "__dict__"), GetSetDescriptorType) else ""
    in_slots = tuple(slots) == names and not _found(cls, "__dict__")
    return "slots" if in_slots and all(isinstance(_found(cls, s), MemberDescriptorType) for s in slots) else ""


def _found(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _flatten(x: Any, leaves: list[Any] | None, above: tuple[int, ...]) -> Shape:
    if isinstance(x, Value):
        return "held", Held(x), None
    if leaves is not None and isinstance(x, (float, Real)) and not isinstance(x, int):
        leaves.append(x)
        return NUMBER
    if isinstance(x, CONSTANT):
        return fixed(x)
    if id(x) in above:  # a cycle
        return "held", Held(x), None
    above = (*above, id(x))
    if type(x) is list or type(x) is tuple:
        return type(x).__name__, tuple([_flatten(item, leaves, above) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return "named", type(x), tuple([_flatten(item, leaves, above) for item in x])
    if type(x) is dict:
        return "dict", tuple(x), tuple([_flatten(item, leaves, above) for item in x.values()])
    if is_array(x) or has(x, "__array__"):
        return "held", Held(x), contents(x)
    if _is_plain(x):
        found = attributes(x)
        shapes = tuple([_attribute(name, a, leaves, above) for name, a in found.items()])
        return "object", Remake(type(x), tuple(found)), shapes
    return fixed(x)


def _attribute(name: str, x: Any, leaves: list[Any] | None, above: tuple[int, ...]) -> Shape:
    return ("held", Held(x), None) if name in OWN else _flatten(x, leaves, above)


def _is_plain(x: Any) -> bool:
    """Whether an object is its attributes and nothing else: an instance of a class written in Python."""
    cls = type(x)
    if cls is SimpleNamespace:
        return True
    if not cls.__flags__ & (1 << 9) or not attributes(x):  # a class made by a class statement
        return False
    if (
        str(cls.__module__).split(".")[0] == "micrograd" and callable(x) and hasattr(x, "__wrapped__")
    ):  # jit(f), grad(f)
        return False
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def contents(x: Any) -> tuple[Any, ...]:
    """What tells arrays apart whose numbers differ, at about a gigabyte a second."""
    import numpy as np

    try:
        array = np.ascontiguousarray(np.asarray(x))
    except Exception as error:
        raise TypeError(
            f"an argument is a {type(x).__name__}, whose numbers cannot be read: {error}\n"
            "  A compiled function must see when they change. Pass them as a NumPy array or a list."
        ) from error
    if array.dtype == object:
        return tuple(
            [Held(item) if not isinstance(item, (float, int, str)) else repr(item) for item in array.ravel().tolist()]
        )
    return array.shape, str(array.dtype), hashlib.blake2b(array.tobytes(), digest_size=16).digest()
