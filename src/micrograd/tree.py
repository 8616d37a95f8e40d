"""Arguments and results: nested lists, tuples, dicts and NumPy arrays, as a flat list of numbers and a shape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from math import prod
from numbers import Number, Real
from types import SimpleNamespace
from typing import Any

from micrograd.engine import Value
from micrograd.values.operand import only_number

# A shape is hashable: ("*",) for one number, ("list", (shape, ...)), ("tuple", ...), ("named", class, (shape, ...)) for named
# tuples, ("dict", keys, (shape, ...)), ("array", (2, 3)), and ("fixed", x, ...) for what is not a number: a str, a bool, None.
# Arguments of jit may also hold objects: see objects.py. Functions are compiled once for each shape.
Shape = tuple[Any, ...]
NUMBER: Shape = ("*",)
_PLAIN = {float, int, Value}
_NUMBERS = {float, int}


class Remake:
    """How to make an object like another: its class, and the names of its attributes."""

    __slots__ = ("cls", "names")

    def __init__(self, cls: type, names: tuple[str, ...]) -> None:
        self.cls, self.names = cls, names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remake) and (other.cls, other.names) == (self.cls, self.names)

    def __hash__(self) -> int:
        return hash((self.cls, self.names))

    def rebuild(self, values: list[Any]) -> Any:
        """An object with these attributes, made without running its __init__."""
        found: Any = self.cls.__new__(self.cls) if self.cls is SimpleNamespace else object.__new__(self.cls)
        for name, x in zip(self.names, values):
            object.__setattr__(found, name, x)
        return found


class Record(Remake):
    """How to make a dataclass like another: by its constructor where that computes something, else from its fields alone."""

    def rebuild(self, values: list[Any]) -> Any:
        """A dataclass with these fields."""
        if not hasattr(self.cls, "__post_init__") or any(type(x) is _Written for x in values):
            return super().rebuild(values)
        return self.cls(**dict(zip(self.names, values)))


def is_array(x: Any) -> bool:
    """Whether x is a NumPy array; NumPy is not imported to find out."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


def by_position(x: Any) -> Any:
    """An array in place of a frame or series of pandas or Polars, which is indexed and gone through by its labels."""
    return x.to_numpy() if hasattr(x, "to_numpy") and not hasattr(x, "__dask_graph__") else x


def is_numpy_scalar(x: Any) -> bool:
    """Whether x is one number, bool or date of NumPy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic)


def is_float64(x: Any) -> bool:
    """Return whether x is a float64 of NumPy's, which is a float: what `list(array)` holds."""
    return isinstance(x, float) and type(x).__module__ == "numpy"


def is_number(x: Any) -> bool:
    """Whether x is one number or one Value."""
    if isinstance(x, (float, Value)):
        return True
    if isinstance(x, bool):
        return False
    return isinstance(x, (int, Real))


def has(x: Any, name: str) -> bool:
    """Whether x has an attribute. One whose __getattr__ raises another error has none: dicts with attribute access do that."""
    try:
        return hasattr(x, name)
    except Exception:
        return False


def name_of(f: Any) -> str:
    """The name of a function; for a callable object (a model, a partial) that of its class, since its repr may be long."""
    return str(getattr(f, "__qualname__", type(f).__name__))


def wants_function(f: Any, to: str) -> None:
    """Refuse what cannot be called when it is given, and not later when it would be used."""
    if not callable(f):
        raise TypeError(f"a function to {to} is needed, not {type(f).__name__}: {f!r}")


def refuse_masked(x: Any) -> None:
    """Refuse a masked array: it would lose its mask, and the masked numbers would count."""
    if hasattr(x, "mask"):
        raise TypeError(
            "a masked array: fill it with x.filled(number), or take the unmasked numbers with x.compressed()"
        )


def flatten(x: Any, leaves: list[Any], other: Callable[[Any, list[Any]], Shape] | None = None) -> Shape:
    """Append the numbers in x to leaves, from left to right; returns the shape that holds them.

    `other` gives the shape of what is not a number and holds none; without it, that is part of the shape as it is.
    """
    if type(x) is list or type(x) is tuple:
        if _PLAIN.issuperset(map(type, x)):  # numbers alone, as nearly all lists are: five times as fast as one by one
            leaves.extend(x)
            return type(x).__name__, (NUMBER,) * len(x)
        return type(x).__name__, tuple([flatten(item, leaves, other) for item in x])
    if is_number(x):
        leaves.append(
            x if type(x) in _PLAIN or not is_array(x) else x.item()
        )  # a number of NumPy's that carries a Value
        return NUMBER
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return "named", type(x), tuple([flatten(item, leaves, other) for item in x])
    if isinstance(x, dict):
        return "dict", tuple(x), tuple([flatten(item, leaves, other) for item in x.values()])
    if is_array(x):
        refuse_masked(x)
        if x.dtype.kind not in "fiuO":
            raise TypeError(f"an array of dtype {x.dtype} holds no real numbers: convert it with .astype(float)")
        items = x.ravel().tolist()
        if x.dtype == object and not all(is_number(item) for item in items):
            raise TypeError("an array of objects that are not numbers: convert it with .astype(float), or pass a list")
        leaves.extend(items)
        return "array", x.shape
    if hasattr(x, "__array__") and not is_numpy_scalar(x) and hasattr(x, "item"):  # of PyTorch or JAX
        found = only_number(x)
        if found is not None and not len(x.shape):
            leaves.append(found)
            return NUMBER
        if other is None:
            import numpy

            return flatten(numpy.asarray(x), leaves)
    if other is None:
        return _record(x, leaves) if hasattr(type(x), "__dataclass_fields__") else fixed(x)
    return other(x, leaves)


def _record(x: Any, leaves: list[Any]) -> Shape:
    """The shape of a dataclass: fields hold numbers, but one that is declared as an int, a bool or a text configures it.

    A dataclass that cannot be made again from its fields alone holds no numbers.
    """
    cls = type(x)
    declared = [f for f in sys.modules["dataclasses"].fields(x) if f.init]
    names = tuple([f.name for f in declared])
    computes = hasattr(cls, "__post_init__")
    if not all(has(x, name) for name in names) or (not computes and getattr(x, "__dict__", {}).keys() - set(names)):
        return fixed(x)
    numbers: list[Any] = []
    parts = [(f.type in _CONFIGURING, getattr(x, f.name)) for f in declared]
    shape: Shape = (
        "object",
        Record(cls, names),
        tuple([fixed(a) if apart else flatten(a, numbers) for apart, a in parts]),
    )
    if not numbers and any(apart for apart, _ in parts):  # it configures a function, and holds nothing else
        return fixed(x)
    if computes and not _is_made_again(x, shape, numbers):
        return fixed(x)
    leaves.extend(numbers)
    return shape


def _is_made_again(x: Any, shape: Shape, numbers: list[Any]) -> bool:
    """Whether the constructor gives a dataclass with the attributes of this one."""
    found: list[list[Any]] = []
    try:
        for one in (x, unflatten(shape, iter(numbers))):
            names = {*getattr(one, "__dict__", {}), *[f.name for f in sys.modules["dataclasses"].fields(one)]}
            held: list[Any] = []
            parts = [(name, flatten(getattr(one, name), held)) for name in sorted(names)]
            found.append([parts, [v._data if isinstance(v, Value) else v for v in held]])
    except Exception:  # of the constructor, or an attribute that is not there
        return False
    return found[0] == found[1]


_CONFIGURING = (int, bool, str, "int", "bool", "str")


def without_bools(x: Any) -> Any:
    """The result of one row with 1.0 and 0.0 in place of True and False, so that each of them is a number of a column."""
    if isinstance(x, bool) or (is_numpy_scalar(x) and x.dtype.kind == "b"):
        return float(x)
    if type(x) is list or type(x) is tuple:
        return x if _PLAIN.issuperset(map(type, x)) else type(x)([without_bools(item) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[without_bools(item) for item in x])
    if isinstance(x, dict):
        return {key: without_bools(item) for key, item in x.items()}
    if hasattr(type(x), "__dataclass_fields__") and not hasattr(type(x), "__post_init__"):
        names = tuple([f.name for f in sys.modules["dataclasses"].fields(x)])
        return Record(type(x), names).rebuild([without_bools(getattr(x, name)) for name in names])
    return x


def fixed(x: Any) -> Shape:
    """The shape of something that is not a number, or is to be taken as it is."""
    return "fixed", x, _kind(x)


def _kind(x: Any) -> tuple[Any, ...]:
    """What tells equal constants apart: 1, 1.0, True and 1+0j are equal, and so are 0.0 and -0.0, but each is compiled on its
    own."""
    if isinstance(x, tuple):
        return type(x), *map(_kind, x)
    return type(x), repr(x) if isinstance(x, Number) else ""


def alike(one: Shape, two: Shape) -> bool:
    """Whether two shapes hold the same constants between as many numbers; those of NumPy count as those of Python do.

    An array without axes is a number: np.where(c, 1.0, 2.0) gives one for numbers, and a Value for Values.
    """
    one, two = [NUMBER if shape == ("array", ()) else shape for shape in (one, two)]
    if one[0] == two[0] == "fixed":
        a, b = [x.item() if is_numpy_scalar(x) else x for x in (one[1], two[1])]
        return type(a) is type(b) and bool(a is b or a == b or repr(a) == repr(b))
    if one[0] != two[0] or len(one) != len(two) or one[0] in ("*", "array", "held"):
        return one == two
    return one[1:-1] == two[1:-1] and len(one[-1]) == len(two[-1]) and all(map(alike, one[-1], two[-1]))


def unflatten(shape: Shape, leaves: Any) -> Any:
    """Rebuild what has this shape; `leaves` is an iterator of numbers or Values."""
    if shape[0] == "list" or shape[0] == "tuple":
        parts = shape[1]
        if parts.count(NUMBER) == len(parts):  # numbers alone, as nearly all lists are
            items = list(islice(leaves, len(parts)))
        else:
            items = [unflatten(part, leaves) for part in parts]
        return items if shape[0] == "list" else tuple(items)
    return rebuild(shape, leaves.__next__, lambda dimensions: _array(dimensions, leaves))


def rebuild(shape: Shape, number: Callable[[], Any], array: Callable[[tuple[int, ...]], Any]) -> Any:
    """Rebuild what has this shape, with number() for each number and array(dimensions) for each array, from left to right."""
    kind = shape[0]
    if kind == "*":
        return number()
    if kind == "list":
        return [rebuild(s, number, array) for s in shape[1]]
    if kind == "tuple":
        return tuple([rebuild(s, number, array) for s in shape[1]])
    if kind == "named":
        return shape[1](*[rebuild(s, number, array) for s in shape[2]])
    if kind == "dict":
        return dict(zip(shape[1], [rebuild(s, number, array) for s in shape[2]], strict=True))
    if kind == "object":
        return shape[1].rebuild([rebuild(s, number, array) for s in shape[2]])
    if kind == "held":
        return shape[1].x
    return array(shape[1]) if kind == "array" else shape[1]


def _array(dimensions: tuple[int, ...], leaves: Any) -> Any:
    import numpy as np

    items = [next(leaves) for _ in range(prod(dimensions))]
    if any(isinstance(x, Value) for x in items):
        array = np.empty(len(items), dtype=object)
        array[:] = items
        if any(isinstance(x, Value) and x._trace for x in items):  # inside a function that is traced
            from micrograd.values.buffers import ValueArray

            return array.reshape(dimensions).view(ValueArray)
        return array.reshape(dimensions)
    return np.array(items, dtype=float).reshape(dimensions)


def size(shape: Shape) -> int:
    """How many numbers a shape holds."""
    if shape[0] == "*":
        return 1
    if shape[0] == "array":
        return prod(shape[1])
    return 0 if shape[0] in ("fixed", "held") else sum(size(part) for part in shape[-1])


def has_values(numbers: list[Any]) -> bool:
    """Whether there is a Value among numbers."""
    return not _NUMBERS.issuperset(map(type, numbers)) and any(isinstance(x, Value) for x in numbers)


def as_floats(numbers: Iterable[Any]) -> list[Any]:
    """Convert numbers to floats, as results are; Values stay what they are."""
    numbers = list(numbers)
    if {float}.issuperset(map(type, numbers)):
        return numbers
    return [x if isinstance(x, Value) else float(x) for x in numbers]


def fixed_parts(shape: Shape, held: bool = True) -> list[Any]:
    """The constants that a shape holds beside numbers; with `held`, those too that are told apart by identity."""
    if shape[0] == "fixed":
        return [shape[1]]
    if shape[0] == "held":
        return [shape[1].x] if held else []
    if shape[0] in ("*", "array") or shape[-1].count(NUMBER) == len(shape[-1]):
        return []
    return [x for part in shape[-1] for x in fixed_parts(part, held)]


def not_told_apart(shape: Shape, what: str) -> TypeError:
    """The error for a shape that is not hashable, because it holds a set, for example."""
    kind = next((type(x).__name__ for x in fixed_parts(shape, held=False) if not _is_hashable(x)), "thing")
    return TypeError(
        f"{what} holds a {kind}, which is neither a number nor hashable, so calls cannot be told apart by it: "
        "numbers come in lists, tuples, dicts and NumPy arrays"
    )


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except (TypeError, ValueError):  # ValueError: a memoryview of what can be changed
        return False
    return True


class _Written(str):
    __repr__ = str.__str__


def written(shape: Shape) -> str:
    """A shape in Python notation, with a star for each number."""
    text = repr(rebuild(shape, lambda: _Written("*"), lambda dimensions: _Written(f"array{list(dimensions)}")))
    return text if len(text) <= 100 else text[:97] + "..."


def map_values(x: Any, change: Callable[[Value], Any]) -> Any:
    """Replace each Value in nested lists, tuples, dicts and arrays by change(value); everything else stays as it is."""
    if isinstance(x, Value):
        return change(x)
    if type(x) is list or type(x) is tuple:
        return type(x)([map_values(item, change) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[map_values(item, change) for item in x])
    if isinstance(x, dict):
        return {key: map_values(item, change) for key, item in x.items()}
    if is_array(x) and x.dtype == object:
        shape: Shape = "array", x.shape
        return unflatten(shape, iter([map_values(item, change) for item in x.ravel()]))
    if hasattr(type(x), "__dataclass_fields__"):
        leaves: list[Any] = []
        shape = flatten(x, leaves)
        if shape[0] == "object":
            return unflatten(shape, iter([map_values(item, change) for item in leaves]))
    return x
