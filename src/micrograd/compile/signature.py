"""How a call is recognized: the shape of its arguments, which of them are static, and how its results are arranged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from micrograd import engine
from micrograd.engine import Value
from micrograd.objects import flatten_object, holds_numbers, place_of_attributes
from micrograd.tree import Shape, is_array, name_of, size

if engine.NATIVE:
    from micrograd._engine import lay_flat as _lay_flat

# How a part of a layout begins (native/layout.c).
OPENING = {
    "list": b"[",
    "tuple": b"(",
    "dict": b"{",
    "named": b"n",
    "object by its dict": b"o",
    "object by its slots": b"s",
}


def lay_flat(x: Any, leaves: list[Any]) -> bytes | None:
    """A key for nested lists and tuples of numbers, which are appended to leaves; None if they contain anything else."""
    key: bytes | None = _lay_flat(x, leaves) if engine.NATIVE else None
    return key


def values_among(leaves: list[Any]) -> tuple[int, ...]:
    """Which of the numbers are Values."""
    return tuple([i for i, x in enumerate(leaves) if isinstance(x, Value)])


def numbers_in(args: Sequence[Any]) -> int:
    """Return about how many numbers the arguments hold; only the first item of a list is looked at."""
    count = 0
    for x in args:
        if is_array(x):
            count += x.size
        elif (type(x) is list or type(x) is tuple) and x:
            count += len(x) * (1 if type(x[0]) is float else numbers_in(x[:1]) or 1)
        elif type(x) is dict:
            count += numbers_in(tuple(x.values()))
    return count


class KnownShape(tuple[Any, ...]):
    """A shape that remembers its hash (that of a nested tuple is computed each time), and which leaves are Values."""

    _hash: int
    values: tuple[int, ...]

    def __new__(cls, shape: Shape, leaves: list[Any]) -> KnownShape:
        self = super().__new__(cls, shape)
        self._hash = tuple.__hash__(self)
        self.values = values_among(leaves)
        return self

    def __hash__(self) -> int:
        return self._hash


class Fixed:
    """A part of a result that is not a number: the same in each call."""

    def __init__(self, x: Any) -> None:
        self.x = x


class Static(NamedTuple):
    """Which arguments are static: by number, as static_argnums says, and by name."""

    numbers: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, numbers: Any, names: Any) -> Static:
        """What the options static_argnums and static_argnames say; each may be one, or several."""
        by_number = tuple(numbers) if isinstance(numbers, (tuple, list)) else (numbers,)
        if not all(isinstance(n, int) for n in by_number):
            raise TypeError(
                f"static_argnums={numbers!r}: it must be the number of an argument, counted from 0, or a tuple of them"
            )
        by_name = tuple(names) if isinstance(names, (tuple, list)) else (names,)
        if not all(isinstance(name, str) for name in by_name):
            raise TypeError(f"static_argnames={names!r}: it must be the name of an argument, or a tuple of names")
        return cls(by_number, by_name)


NOTHING = Static((), ())


def static_arguments(f: Any, static: Static) -> tuple[tuple[int, ...], set[str]]:
    """Static arguments by number, counted from the front, and by the names under which they may be given."""
    from inspect import Parameter, signature

    numbers, names = static
    try:
        parameters = list(signature(f).parameters.values())
    except (TypeError, ValueError):  # a function written in C that does not say
        return numbers, set(names)
    kinds = [p.kind for p in parameters]
    known = {p.name for p in parameters if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)}
    for name in names:
        if name not in known and Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(f"static_argnames has {name!r}, but the arguments of {name_of(f)} are {', '.join(known)}")
    places = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    by_name = tuple([i for i, p in enumerate(places) if p.name in names])
    if Parameter.VAR_POSITIONAL in kinds:
        return (*numbers, *by_name), set(names)
    for n in numbers:
        if not -len(places) <= n < len(places):
            raise ValueError(f"static_argnums has {n}, but {name_of(f)} takes {len(places)} arguments")
    front = tuple(dict.fromkeys([n % len(places) for n in numbers] + list(by_name)))
    return front, {places[n].name for n in front}.union(names)


def split_method(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a method or a callable object into a function and its first argument, if that holds plain numbers.

    They are then read in each call, like those of any argument. An object without numbers, such as a model whose parameters are
    Values, is left as it is: its Values are captured by reference, which is faster, and the rest of it is watched.
    """
    if isinstance(f, MethodType):
        owner, function = f.__self__, f.__func__
    elif callable(f) and isinstance(type(f).__call__, FunctionType) and not hasattr(f, "__wrapped__"):
        owner, function = f, type(f).__call__
    else:
        return f, ()
    if isinstance(owner, type) or not holds_numbers(owner):
        return f, ()
    try:
        hash(flatten_object(owner, []))
    except (TypeError, ValueError):  # a deque or a set is in it: then the object is watched, see owners.py
        return f, ()
    return function, (owner,)


def layout_of(shape: Shape, marks: Iterator[bytes | type], bound: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """How the C side finds the numbers of a call of this shape (native/layout.c); None where it cannot.

    There is a mark for each number. `bound` has what comes before the arguments: the object whose method is called.
    """
    positional, named = shape[1]
    refs: list[Any] = []
    parts = [_key_of(part, marks, refs) for part in (*positional[1], *named[2])]
    key = _joined(b"(", parts)
    return None if key is None else (key, tuple(refs), named[1], *(bound or (None,)))


def _key_of(shape: Shape, marks: Iterator[bytes | type], refs: list[Any]) -> bytes | None:
    kind = shape[0]
    if kind == "*":
        mark = next(marks, None)
        if isinstance(mark, type):
            refs.append(mark)
            return b"t"
        return mark
    if kind == "fixed":
        refs.append(shape[1])
        return b"="
    if kind == "array":
        import numpy as np

        refs += [np.ndarray, shape[1]]
        found = [next(marks, None) for _ in range(size(shape))]
        return _joined(b"a", [None if isinstance(mark, type) else mark for mark in found])
    if kind in ("dict", "named"):
        refs.append(shape[1])  # the keys, or the class
    elif kind == "object":
        refs += [shape[1].cls, shape[1].names]
        kind = f"object by its {place_of_attributes(*refs[-2:])}"
    if kind not in OPENING:
        return None
    return _joined(OPENING[kind], [_key_of(part, marks, refs) for part in shape[-1]])


def _joined(opening: bytes, parts: list[bytes | None]) -> bytes | None:
    known = [part for part in parts if part is not None]
    return b"".join([opening, *known, b"]"]) if len(known) == len(parts) else None


def template_of(shape: Shape, places: Any) -> Any:
    """How the C side arranges results (native/arrange.c); None where it cannot.

    An array is (None, the function that makes it, True, places), and a named tuple (None, its class, False, templates).
    """
    if shape[0] == "*":
        return next(places)
    if shape[0] == "array":
        parts = [next(places) for _ in range(size(shape))]
        simple = bool(parts) and all(type(k) is int for k in parts)
        return (None, partial(array_of_bytes, shape[1]), True, tuple(parts)) if simple else None
    if shape[0] == "fixed":
        return Fixed(shape[1])
    if shape[0] not in ("tuple", "list", "named", "dict"):
        return None
    parts = [template_of(s, places) for s in shape[-1]]
    if None in parts:
        return None
    if shape[0] == "dict":
        return dict(zip(shape[1], parts))
    if shape[0] == "named":
        return None, shape[1], False, tuple(parts)
    return parts if shape[0] == "list" else tuple(parts)


def array_of_bytes(dimensions: tuple[int, ...], numbers: bytes | bytearray) -> Any:
    import numpy as np

    array = np.frombuffer(numbers).reshape(dimensions)
    return array if isinstance(numbers, bytearray) else array.copy()  # those of a bytearray can be written to
