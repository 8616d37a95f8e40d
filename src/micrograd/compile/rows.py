"""The arguments of a call of vmap: what varies by row, what does not, and how both are arranged."""

from __future__ import annotations

import sys
from importlib import import_module
from math import prod
from typing import Any

from micrograd import install
from micrograd.compile import axes as axes_of
from micrograd.compile.cuda import device_array
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.evidence.compared import classes_of
from micrograd.objects import flatten_object, static_shape
from micrograd.signals import interrupted_later
from micrograd.tape.trace import peek
from micrograd.tree import NUMBER, Shape, flatten, is_array, not_told_apart, refuse_masked, unflatten

MOST = 1_000_000  # rows that are looked at, to find those that take rare arms


class Rows:
    """The arguments of one call: columns that differ by row, numbers that do not, and how they are arranged."""

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, static: tuple[int, ...] = (),
        may_be_empty: bool = False,
    ) -> None:  # fmt: skip
        try:
            if "numpy" not in sys.modules:
                with interrupted_later():  # NumPy cannot be imported again after an import that was interrupted
                    import_module("numpy")
            import numpy as np
        except ImportError as reason:
            raise CompileError(install.why_not("vmap", "NumPy", reason, "jit")) from None

        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise TypeError(f"in_axes={in_axes!r} is for {len(axes)} arguments, but {len(args)} were given")
        self.arrays: list[Any] = []
        self.axes: list[int] = []
        self.uniform: list[Any] = []
        self.on_device: list[
            tuple[Any, device_array.DeviceArray]
        ] = []  # arrays on a GPU, as they were given and as we see them
        self.by_eager = False  # an array of Values: part of an outer graph
        self.np = np
        parts: list[Any] = []
        taken = {n % len(args) for n in static if -len(args) <= n < len(args)}
        for i, (a, axis) in enumerate(zip(args, axes)):
            if i in taken:
                if axis is not None:
                    raise TypeError(f"argument {i} is static, so it is the same in all rows: give in_axes=None for it")
                parts.append(("uniform", static_shape(a)))
            else:
                parts.append(self._part(a, axis, f"argument {i}"))
        for name, a in kwargs.items():
            parts.append(("rows", self._take(a, 0, f"argument {name!r}")))
        self.names = tuple(kwargs)
        self.key = tuple(parts), self.names, classes_of(self.uniform)
        try:
            hash(self.key)
        except (TypeError, ValueError):
            raise not_told_apart(("tuple", tuple(_shapes(parts))), "an argument") from None
        if not self.arrays:
            raise TypeError("vmap needs an argument with rows: a NumPy array, or a list or dict of them")
        self.rows = self.arrays[0].shape[self.axes[0]]
        for a, axis in zip(self.arrays, self.axes):
            if a.shape[axis] != self.rows:
                raise ValueError(f"the arguments have different numbers of rows: {self.rows} and {a.shape[axis]}")
        if self.rows == 0 and not may_be_empty:
            raise ValueError("the batch is empty: there is no row to compile the function for")

    def _part(self, a: Any, axis: Any, what: str) -> tuple[Any, ...]:
        """How an argument is arranged: ("uniform", shape), ("rows", shape), or a structure of these."""
        if axis is None:
            return "uniform", flatten(a, self.uniform, flatten_object)
        if isinstance(axis, int):
            return "rows", self._take(a, axis, what)
        inner = tuple([self._part(x, part, f"a part of {what}") for x, part in axes_of.parts(a, axis, what)])
        if isinstance(a, dict):
            return "dict", tuple(a), inner
        return ("named", type(a), inner) if hasattr(a, "_fields") else (type(a).__name__, inner)

    def _take(self, a: Any, axis: int, what: str) -> Shape:
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return "named", type(a), tuple([self._take(x, axis, what) for x in a])
        if isinstance(a, (list, tuple)) and _holds_more(a):
            if any(isinstance(x, (list, tuple)) and not _holds_more(x) for x in a):
                raise TypeError(
                    f"{what} is a {type(a).__name__} of lists of numbers, which may be meant as rows or as columns\n"
                    "  Give rows as one array, np.array(x), and columns as a list of arrays."
                )
            _refuse_square(a, axis, what)
            return type(a).__name__, tuple([self._take(x, axis, what) for x in a])
        if isinstance(a, dict):
            return "dict", tuple(a), tuple([self._take(x, axis, what) for x in a.values()])
        array: Any = a if is_array(a) else device_array.taken(a)
        if array is None:
            array = self.np.asarray(a)
        elif array is not a or isinstance(array, device_array.DeviceArray):
            self.on_device.append((a, array))
        refuse_masked(array)
        if array.dtype == object:
            if not all(isinstance(x, (Value, float, int)) for x in array.ravel()):
                raise TypeError(_no_rows(a, array, what))
            self.by_eager = True
        elif (
            array.dtype.kind not in "fiub"
            or array.dtype.itemsize > 8
            or array.dtype == self.np.float16
            or not array.dtype.isnative
        ):
            if array.dtype.kind not in "fiub":
                raise TypeError(f"{what} has dtype {array.dtype}, which is not a real number type")
            array = array.astype(float)
        refuse_axis(array.ndim, axis, what)
        axis %= array.ndim
        self.arrays.append(array)
        self.axes.append(axis)
        row_shape = array.shape[:axis] + array.shape[axis + 1 :]
        return ("array", row_shape) if row_shape else NUMBER

    def row(self, r: int) -> list[Any]:
        """The numbers of one row, then the uniform ones. Of an empty batch, they are made up."""
        numbers: list[Any] = []
        for a, axis in zip(self.arrays, self.axes):
            if self.rows == 0:
                numbers += [0.5] * prod(a.shape[:axis] + a.shape[axis:][1:])
                continue
            numbers += self.np.ravel(self.np.take(a, r, axis)).tolist()
        return numbers + self.uniform

    def spread(self, count: int) -> list[list[float]]:
        """The numbers of some rows, evenly spaced."""
        return [peek(self.row(r)) for r in range(0, self.rows, max(1, self.rows // count))]

    def surveyed(self, most: int, took: Any = None) -> list[Any]:
        """The numbers of at most so many rows, evenly spaced (of those that `took` lists): arrays, and floats for all rows."""
        if self.by_eager:
            return []
        index = self.np.arange(self.rows) if took is None else took
        index = index[:: max(1, -(-len(index) // min(most, MOST)))]
        found: list[Any] = []
        for a, axis in zip(self.arrays, self.axes):
            some = self.np.moveaxis(self.np.take(a, index, axis), axis, 0).reshape(len(index), -1).astype(float)
            found += list(some.T)
        return found + [float(x) for x in peek(self.uniform)]

    def varying(self) -> int:
        """How many numbers vary by row."""
        return sum([a.size // self.rows for a in self.arrays])

    def select(self, index: Any) -> tuple[Any, ...]:
        """The arrays with these rows alone."""
        return tuple([self.np.take(a, index, axis) for a, axis in zip(self.arrays, self.axes)])

    def slice(self, start: int, stop: int) -> tuple[Any, ...]:
        """The arrays with the rows from start to stop, without a copy."""
        if start == 0 and stop == self.rows:
            return tuple(self.arrays)
        return tuple([a[(slice(None),) * axis + (slice(start, stop),)] for a, axis in zip(self.arrays, self.axes)])

    def arrange(self, leaves: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the function for one row, by position and by name, from its numbers (or Values)."""
        varying, uniform = iter(leaves), iter(leaves[len(leaves) - len(self.uniform) :])

        def build(part: Any) -> Any:
            if part[0] in ("rows", "uniform"):
                return unflatten(part[1], varying if part[0] == "rows" else uniform)
            inner = [build(x) for x in part[-1]]
            if part[0] == "dict":
                return dict(zip(part[1], inner))
            return part[1](*inner) if part[0] == "named" else tuple(inner) if part[0] == "tuple" else inner

        args = [build(part) for part in self.key[0]]
        count = len(args) - len(self.names)
        return args[:count], dict(zip(self.names, args[count:]))


def _shapes(parts: Any) -> list[Shape]:
    """The shapes in the arrangement of arguments."""
    found: list[Shape] = []
    for part in parts:
        found += [part[1]] if part[0] in ("rows", "uniform") else _shapes(part[-1])
    return found


def refuse_axis(dimensions: int, axis: int, what: str) -> None:
    """Refuse an array of so many dimensions that has no rows along an axis."""
    if dimensions == 0:
        raise TypeError(f"{what} is one number and has no rows: give in_axes=None for it, by its position")
    if not -dimensions <= axis < dimensions:
        raise ValueError(f"{what} has {dimensions} axes, so its rows cannot lie along axis {axis}")


def _no_rows(a: Any, array: Any, what: str) -> str:
    """What to say of an argument that holds something else than numbers."""
    if is_array(a):
        return f"{what} is an array of objects, not of numbers: convert it with .astype(float)"
    odd = next(x for x in array.ravel() if not isinstance(x, (Value, float, int)))
    given = f"a {type(a).__name__}" if odd is a else f"a {type(a).__name__} with a {type(odd).__name__} in it"
    return (
        f"{what} is {given}, which has no rows\n"
        "  Give an array for each number that varies: in a dict, a list, a tuple or a named tuple. in_axes=None is for what is "
        "the same in all rows."
    )


def _holds_more(a: Any) -> bool:
    """Whether a list or tuple has arrays or containers in it: otherwise it is a column of numbers."""
    return any(is_array(x) or isinstance(x, (list, tuple, dict)) or device_array.taken(x) is not None for x in a)


def _refuse_square(a: Any, axis: int, what: str) -> None:
    """Refuse n arrays of n rows each: read as columns they would be the transpose of what they are as rows."""
    n = len(a)
    alike = all(is_array(x) and -x.ndim <= axis < x.ndim and x.shape == a[0].shape for x in a)
    if n > 1 and alike and a[0].shape[axis] == n:
        raise TypeError(
            f"{what} is a {type(a).__name__} of {n} arrays with {n} rows each, which may be meant as rows or as columns\n"
            "  Give rows as one array, np.stack(x), and columns as a dict of arrays or as one array, np.stack(x, axis=1)."
        )
