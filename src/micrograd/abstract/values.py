"""What an abstract interpreter knows of Python's objects: values, the cells of the heap, and their shapes.

    value = Const object                     a Python object that is known now
          | Num kind place [is_int]          a number at a place of the tape: f64, i64 or bool (in cells: arrays, too);
                                             an f64 may stand for an int of Python where a bool is true
          | Ref location [index]             an object on the heap; with an index, one row of a pool
          | Tuple cls value*                 a tuple, a named tuple, a range, a slice, or an exception with its arguments
          | Closure function frame ...       a function of the program, and the frame that it was made in
          | Method name self                 a method of one of Python's own types, bound to an object
          | Union (mask value)*              one of several values; exactly one mask is true
          | UNDEF | LOST | ABSENT            an unbound variable | a value that a loop cannot carry | a key that is not there

Cells are immutable and have a layout (`key`) and values:

    list cls             the items
    columns shape cls    a list of items of one shape: an array for each place of an item, then the length
    rows shape cls       a pool of such lists of one length: the same arrays for all of them, that length, how many there are
    pool layout          a pool of objects of one layout: an array for each place of an object, how many there are
    dict keys cls        the items, ABSENT where a key may be missing
    set keys             True or ABSENT for each item that may be there
    object cls names     the attributes
    frame names          the variables of a call
    iterator how         range: start, stop, step, position | items: sequence, position | zip, enumerate ...: iterators
    generator closure    a generator that has not been started, or is held between two items
    moved                the row of a pool that the object at this location has become
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from micrograd.ir.forms import BOOL, F64, I64, Place

MOST_ALTERNATIVES = 12
LARGE = 2.0**53  # whole numbers up to here are exact as floats


class _Joins(threading.local):
    ints = False  # whether the function that this thread interprets has joined ints and floats
    lost = False  # whether an int became a float where nothing says which it is
    kept = False  # whether arrays tell them apart


joins = _Joins()


class Mark:
    """A value that is not an object of Python."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNDEF, LOST, ABSENT = Mark("UNDEF"), Mark("LOST"), Mark("ABSENT")
NUMBERS = {float: F64, int: I64, bool: BOOL}


class Value:
    """An abstract value."""

    __slots__ = ()


class Const(Value):
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and same_object(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Num(Value):
    __slots__ = ("kind", "place", "is_int")

    def __init__(self, place: Place, is_int: Place | None = None) -> None:
        self.kind, self.place, self.is_int = place.kind, place, is_int

    def __repr__(self) -> str:
        return f"Num({self.kind})"


class Ref(Value):
    __slots__ = ("location", "index")

    def __init__(self, location: int, index: Place | None = None) -> None:
        self.location, self.index = location, index

    def __repr__(self) -> str:
        return f"Ref({self.location}{'' if self.index is None else ', row'})"


class Tuple(Value):
    __slots__ = ("items", "cls")

    def __init__(self, items: Any, cls: type = tuple) -> None:
        self.items: tuple[Value, ...] = tuple(items)
        self.cls = cls

    def __repr__(self) -> str:
        return f"{self.cls.__name__}{self.items}"


class Closure(Value):
    """A function of the program. `fallback` is a function object from outside, which is a constant as well."""

    __slots__ = ("function", "frame", "defaults", "globals", "object")

    def __init__(self, function: Any, frame: int | None, defaults: dict[str, Value], space: Any, source: Any = None):
        self.function, self.frame, self.defaults, self.globals, self.object = function, frame, defaults, space, source

    def __repr__(self) -> str:
        return f"Closure({self.function.qualname})"


class Method(Value):
    """A method that is bound to an object: a name of one of Python's own types, or a Closure."""

    __slots__ = ("function", "self")

    def __init__(self, function: Any, self_: Value) -> None:
        self.function, self.self = function, self_

    def __repr__(self) -> str:
        return f"Method({self.function}, {self.self})"


class Union(Value):
    __slots__ = ("alternatives",)

    def __init__(self, alternatives: list[tuple[Place, Value]]) -> None:
        self.alternatives = alternatives

    def __repr__(self) -> str:
        return f"Union({', '.join(repr(x) for _, x in self.alternatives)})"


class Cell(Value):
    __slots__ = ("key", "values")

    def __init__(self, key: tuple[Any, ...], values: Any) -> None:
        self.key: tuple[Any, ...] = key
        self.values: tuple[Value, ...] = tuple(values)

    def __repr__(self) -> str:
        return f"Cell({self.key}, {self.values})"


NONE, TRUE, FALSE = Const(None), Const(True), Const(False)


def is_number(value: Value) -> bool:
    """Return whether a value is a number: a float, an int or a bool."""
    return isinstance(value, Num) or (isinstance(value, Const) and type(value.value) in NUMBERS)


def kind_of(value: Value) -> str:
    """Return the kind of a number."""
    return value.kind if isinstance(value, Num) else NUMBERS[type(value.value)]  # type: ignore[attr-defined]


def is_mark(value: Value, mark: Mark) -> bool:
    return isinstance(value, Const) and value.value is mark


def same_object(a: Any, b: Any) -> bool:
    """Return whether two Python objects can be told apart by no program that does not ask for identity."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return bool(a.hex() == b.hex())
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same_object, a, b))
    return bool(type(a) in (int, bool, str, bytes, range, frozenset) and a == b)


def same(a: Value, b: Value) -> bool:
    """Return whether two values are the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Const):
        return same_object(a.value, b.value)  # type: ignore[attr-defined]
    if isinstance(a, Num):
        return a.place is b.place and a.is_int is b.is_int  # type: ignore[attr-defined]
    if isinstance(a, Ref):
        return a.location == b.location and a.index is b.index  # type: ignore[attr-defined]
    if isinstance(a, Tuple):
        return a.cls is b.cls and len(a.items) == len(b.items) and all(map(same, a.items, b.items))  # type: ignore[attr-defined]
    if isinstance(a, Cell):
        return a.key == b.key and len(a.values) == len(b.values) and all(map(same, a.values, b.values))  # type: ignore[attr-defined]
    if isinstance(a, Union):
        ours, theirs = a.alternatives, b.alternatives  # type: ignore[attr-defined]
        return len(ours) == len(theirs) and all(m is n and same(x, y) for (m, x), (n, y) in zip(ours, theirs))
    if isinstance(a, Closure):
        assert isinstance(b, Closure)
        if a.function is not b.function or a.frame != b.frame or a.object is not b.object:
            return False
        return a.defaults.keys() == b.defaults.keys() and all(same(x, b.defaults[k]) for k, x in a.defaults.items())
    assert isinstance(a, Method) and isinstance(b, Method)
    return _same_function(a.function, b.function) and same(a.self, b.self)


def _same_function(a: Any, b: Any) -> bool:
    return same(a, b) if isinstance(a, Value) and isinstance(b, Value) else bool(a is b or a == b)


def parts(value: Value) -> Iterator[Value]:
    """Yield the values that a value is made of."""
    if isinstance(value, Tuple):
        yield from value.items
    elif isinstance(value, Cell):
        yield from value.values
        if value.key[0] == "generator":
            yield value.key[1]
    elif isinstance(value, Union):
        for _, x in value.alternatives:
            yield x
    elif isinstance(value, Closure):
        yield from value.defaults.values()
    elif isinstance(value, Method):
        yield value.self
        if isinstance(value.function, Value):
            yield value.function


def mapped(value: Value, place: Callable[[Place], Place], ref: Callable[[Ref], Ref] | None = None) -> Value:
    """Return a value with other places, and with `ref` other references."""
    if isinstance(value, Const):
        return value
    if isinstance(value, Num):
        new, is_int = place(value.place), None if value.is_int is None else place(value.is_int)
        return value if new is value.place and is_int is value.is_int else Num(new, is_int)
    if isinstance(value, Ref):
        moved = value if ref is None else ref(value)
        if moved.index is None:
            return moved
        index = place(moved.index)
        return moved if index is moved.index else Ref(moved.location, index)
    if isinstance(value, Tuple):
        return Tuple([mapped(x, place, ref) for x in value.items], value.cls)
    if isinstance(value, Cell):
        key = value.key
        if key[0] == "generator":
            key = ("generator", mapped(key[1], place, ref), *key[2:])
        return Cell(key, [mapped(x, place, ref) for x in value.values])
    if isinstance(value, Union):
        return Union([(place(m), mapped(x, place, ref)) for m, x in value.alternatives])
    if isinstance(value, Method):
        function = value.function
        function = mapped(function, place, ref) if isinstance(function, Value) else function
        return Method(function, mapped(value.self, place, ref))
    assert isinstance(value, Closure)
    if not value.defaults:
        return value
    defaults = {name: mapped(x, place, ref) for name, x in value.defaults.items()}
    return Closure(value.function, value.frame, defaults, value.globals, value.object)


def function_parts(value: Value) -> list[Value]:
    """Return the values in a function of the program or a bound method."""
    if isinstance(value, Closure):
        return list(value.defaults.values())
    assert isinstance(value, Method)
    return [value.function, value.self] if isinstance(value.function, Value) else [value.self]


def function_of(key: tuple[Any, ...], inner: list[Value]) -> Value:
    """Return the function of a key with these values in it."""
    if key[0] == "closure":
        return Closure(key[1], key[2], dict(zip(key[5], inner)), key[3], key[4])
    return Method(inner[0], inner[1]) if key[0] == "bound" else Method(key[1], inner[0])
