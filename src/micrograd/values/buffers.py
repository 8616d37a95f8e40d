"""Arrays of NumPy's that carry Values: what np.zeros, np.empty and np.array make inside of a function that is traced.

`a = np.zeros(n)` makes an array of floats, which cannot hold a Value, and small-array code is written just so: `a[i] = x`,
`a[i, j] += x`, `a @ b`. While a function is differentiated or compiled, the array that NumPy makes for the user's code is a
ValueArray: an array of objects, each of which is a float of NumPy's or a Value. It goes through NumPy's own functions where
they only arrange, add and multiply elements; the elementwise ones take the row of the op table; a few of np.linalg are
written out here. What is left is refused by name, unless there is no Value in the array: then it is one of floats.

>>> import numpy as np
>>> from micrograd import Value
>>> from micrograd.values.buffers import carrying
>>> a = carrying(np.array([Value(2.0), 1.0]))
>>> a[1:] += 3.0
>>> np.sqrt(a * a)[0]
Value(data=2.0, grad=0.0)
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from micrograd import observed
from micrograd.engine import Value
from micrograd.values.callsite import calling_lines
from micrograd.values.linear import OWN
from micrograd.values.ufuncs import FUNCTIONS, ONLY_NUMBERS, clip, elementwise

MOST = 100_000  # numbers in an array; a larger one is data, which nobody writes Values into one by one
# Code of these packages makes arrays for its compiled code. What NumPy itself makes in these functions is for the caller.
OF_THEIR_OWN = {
    "micrograd",
    "numpy",
    "scipy",
    "pandas",
    "polars",
    "torch",
    "jax",
    "numba",
    "sklearn",
    "matplotlib",
    "dask",
}
PLAIN_SCIPY = (
    "scipy.stats.", "scipy.special.", "scipy._lib.", "scipy._external.", "scipy.interpolate._polyint",
)  # fmt: skip
FOR_THE_CALLER = {"ones", "eye", "identity", "full"}
_FLOATS = (np.dtype(float),)
_FLOATS_AND_OBJECTS = (np.dtype(float), np.dtype(object))
AS_THEY_ARE = {"add", "subtract", "multiply", "negative", "positive", "matmul", "equal", "not_equal", "less", "less_equal",
               "greater", "greater_equal", "logical_and", "logical_or", "logical_not"}  # fmt: skip
ARRANGING = FUNCTIONS | {
    "any", "all", "argmax", "argmin", "argsort", "flip", "fliplr", "flipud", "roll", "rollaxis", "moveaxis", "swapaxes",
    "split", "array_split", "hsplit", "vsplit", "diag", "diagonal", "triu", "tril", "cross", "take", "delete",
    "array_equal", "norm", "trapezoid", "trapz", "average", "sort", "meshgrid", "rot90", "nonzero", "flatnonzero",
    "count_nonzero", "matrix_power", "allclose", "isclose", "may_share_memory", "shares_memory", "unstack", "vander",
    "convolve", "apply_along_axis", "ptp", "select", "piecewise", "compress", "extract", "ediff1d", "multi_dot", "unique",
}  # fmt: skip
IN_PLACE = {"copyto", "fill_diagonal", "put", "place", "putmask", "put_along_axis"}


_DTYPE: Any = vars(np.ndarray)["dtype"]


class ValueArray(np.ndarray):  # type: ignore[type-arg]
    """An array of floats of which some may be Values."""

    carries_values = True

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        inputs = tuple([_bare(x) for x in inputs])
        out = options.get("out", ())
        if out:
            options["out"] = tuple([_bare(x) for x in out])
        if not any(map(holds_values, inputs)):
            numbers = [_numbers(x) for x in inputs]
            made = getattr(ufunc, method)(*numbers, **{k: v for k, v in options.items() if k != "out"})
            return _stored(made, out) if out else made
        f = elementwise(ufunc.__name__)
        of_objects = bool(ufunc.types) and all(set(kinds) <= set("O->") for kinds in ufunc.types)  # of np.frompyfunc
        if options.pop("dtype", None) not in (None, object, float, np.dtype(object), np.dtype(float)):
            raise TypeError(f"np.{ufunc.__name__} of Values gives Values: leave dtype out")
        if any(x.dtype.kind != "O" for x in options.get("out", ()) if isinstance(x, np.ndarray)):
            raise TypeError("an array of numbers cannot hold Values\n  Write a = a * v in place of a *= v.")
        by_row = (
            not of_objects
            and ufunc.__name__ not in AS_THEY_ARE
            and (method == "__call__" or ufunc.__name__ not in ("maximum", "minimum"))
        )
        if by_row and f is None:
            _refuse(f"np.{ufunc.__name__}")
        with np.errstate(all="ignore"):
            run = np.frompyfunc(f, ufunc.nin, ufunc.nout) if by_row and f is not None else ufunc
            made = getattr(run, method)(*[_boxed(x) for x in inputs], **options)
        if ufunc.__name__ in ("isnan", "isinf", "isfinite") and isinstance(made, np.ndarray):
            return made.astype(bool)
        if out:
            return out[0] if len(out) == 1 else out
        if isinstance(made, Value) and any(isinstance(x, np.ndarray) for x in inputs):
            return ValueScalar.of(made)
        return tuple(map(carrying, made)) if isinstance(made, tuple) else carrying(made)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name in IN_PLACE:
            return super().__array_function__(function, types, args, kwargs)
        if not holds_values([args, list(kwargs.values())]):
            return function(*_numbers(args), **{k: _numbers(v) for k, v in kwargs.items()})
        own = clip if name == "clip" else OWN.get(name)
        if own is not None:
            found = own(*args, **kwargs)
            return type(found)(*map(carrying, found)) if isinstance(found, tuple) else carrying(found)
        if name not in ARRANGING:
            _refuse(".".join(["np", *str(function.__module__).split(".")[1:2], name]))
        found = super().__array_function__(function, types, args, kwargs)
        return type(found)(map(carrying, found)) if type(found) in (tuple, list) else found

    @property
    def dtype(self) -> Any:
        """What the user's code is told is what it made: floats. NumPy's own code sees objects."""
        held = _DTYPE.__get__(self)
        return held if _package(sys._getframe(1)) in OF_THEIR_OWN else np.dtype(float)

    @dtype.setter
    def dtype(self, given: Any) -> None:
        _DTYPE.__set__(self, given)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The numbers as another kind; as floats and as objects, Values stay what they are."""
        if np.dtype(dtype).kind in "fO" and holds_values(self):
            return self.copy()
        return _numbers(self).astype(dtype, *args, **kwargs)

    def squeeze(self, axis: Any = None) -> Any:
        """The array without axes of length 1; in one without axes, `[()]` is the number."""
        found = super().squeeze(axis)
        return found if found.ndim else found.view(ValueScalar)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """np.round of the elements."""
        if out is not None:
            raise TypeError("round of an array that carries Values has no out: write a = a.round(n)")
        return np.round(self, decimals)

    def __float__(self) -> Any:
        """The one element: inside of a trace, float() passes a Value on."""
        if self.size != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")  # as NumPy says it
        x = self.item()
        return x if isinstance(x, Value) and x._trace else float(x)

    def tolist(self) -> Any:
        """The same as nested lists; a float of NumPy's as Python has it."""
        return _plain(np.asarray(self, dtype=object).view(np.ndarray).tolist())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.view(np.ndarray).__reduce_ex__(protocol)


class ValueScalar(ValueArray):
    """What a function of NumPy's gives for an array without axes: a number with the methods of an array, as np.float64 is.

    Code for numbers and arrays alike begins with `x = np.asarray(x)`, and calls `.sum()` and `.squeeze()` of what it computes.
    A number does not change: after `b = a; b += 1.0`, a is what it was. What is made of it (`.reshape(1)`) is an array.
    """

    is_scalar = False

    @staticmethod
    def of(x: Value) -> ValueScalar:
        """Return such a number."""
        made: ValueScalar = _boxed(x).view(ValueScalar)
        made.is_scalar = True
        return made

    def __getattr__(self, name: str) -> Any:
        if not self.is_scalar:
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return getattr(self.item(), name)

    @property
    def __class__(self) -> Any:
        return np.float64 if self.is_scalar else ValueScalar

    @__class__.setter
    def __class__(self, cls: Any) -> None:
        raise TypeError("__class__ assignment of a number")

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return ValueScalar.of(found) if isinstance(found, Value) and type(place) is tuple and not place else found

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.is_scalar else self.view(ValueArray), spec)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.item())

    def __round__(self, digits: Any = None) -> Any:
        return round(self.item()) if digits is None else round(self.item(), digits)

    def __floor__(self) -> Any:
        return math.floor(self.item())

    def __ceil__(self) -> Any:
        return math.ceil(self.item())

    def __trunc__(self) -> Any:
        return math.trunc(self.item())

    def __setitem__(self, place: Any, x: Any) -> None:
        if self.is_scalar:
            raise TypeError("'numpy.float64' object does not support item assignment")
        super().__setitem__(place, x)


def _in_place(name: str, operation: Any) -> None:
    in_array = getattr(np.ndarray, name)

    def change(self: ValueScalar, x: Any) -> Any:
        return operation(self, x) if self.is_scalar else in_array(self, x)

    setattr(ValueScalar, name, change)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _in_place(f"__i{_name}__", getattr(operator, _name))


def _plain(x: Any) -> Any:
    return [_plain(i) for i in x] if isinstance(x, list) else float(x) if isinstance(x, np.floating) else x


def _bare(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, ValueArray) else x


def _boxed(x: Any) -> Any:
    if not isinstance(x, Value):
        return x
    box = np.empty((), dtype=object)
    box[()] = x
    return box


def holds_values(x: Any) -> bool:
    """Whether there is a Value in an array, or in lists of arrays."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_values, x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O" and any(isinstance(i, Value) for i in x.ravel().view(np.ndarray).tolist())
    return isinstance(x, Value)


def _numbers(x: Any) -> Any:
    """The same with arrays of floats, where there are arrays of objects without Values."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)([_numbers(i) for i in x])
    if isinstance(x, ValueArray) or (isinstance(x, np.ndarray) and x.dtype.kind == "O"):
        return x.view(np.ndarray).astype(float)
    return x


def _stored(made: Any, out: Any) -> Any:
    for x, y in zip(out, made if isinstance(made, tuple) else (made,)):
        x[...] = y
    return out[0] if len(out) == 1 else out


def _refuse(name: str) -> None:
    raise TypeError(ONLY_NUMBERS.format(name=name).format(calling_lines()))


made = 0  # how many arrays of this class there were: testing.check asks, since BLAS rounds in its own way


def carrying(x: Any) -> Any:
    """An array of objects as one that carries Values, if it holds numbers and Values alone; all else as it is."""
    global made
    if type(x) is not np.ndarray or x.dtype.kind != "O":
        return x
    for k, item in enumerate(x.flat):
        if type(item) in (float, int):
            x.flat[k] = np.float64(item)
        elif not isinstance(item, (Value, np.floating)):
            return x
    made += 1
    return x.view(ValueArray)


# ---- what NumPy is asked to make


def make(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What np.zeros and the like make in a trace; NotImplemented where that is an array as outside."""
    frame: Any = sys._getframe(1)
    package = _package(frame)
    if package == "numpy" and frame.f_code.co_name in FOR_THE_CALLER:
        frame = frame.f_back
        package = _package(frame)
    in_scipy = package == "scipy" and _plain_scipy(frame, name)
    if package in OF_THEIR_OWN and not in_scipy:
        return NotImplemented
    if name.endswith("_like"):
        return _like(name, *args) if not kwargs and type(args[0]) is np.ndarray else NotImplemented
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    try:
        if dtype is not None and np.dtype(dtype) not in (_FLOATS_AND_OBJECTS if in_scipy else _FLOATS):
            return NotImplemented
    except TypeError:
        return NotImplemented
    function = getattr(np, name)
    if name in ("zeros", "empty"):
        others = {k for k, v in kwargs.items() if k not in ("shape", "dtype", "order") and v not in (None, "cpu")}
        return NotImplemented if others or len(args) > 3 else _filled(args[0] if args else kwargs["shape"], 0.0)
    given = args[0] if args else kwargs.get("object", kwargs.get("a"))
    if not holds_values(given):
        return NotImplemented
    if isinstance(given, np.ndarray):
        return carrying(given.copy() if name == "array" and kwargs.get("copy", True) is True else _bare(given))
    options = {k: v for k, v in kwargs.items() if k not in ("dtype", "object", "a", "copy")}
    return carrying(_bare(function(given, dtype=object, **options)))


def _filled(shape: Any, number: Any) -> Any:
    """An array of floats that may take Values; NotImplemented for a large one."""
    shape = tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    if not 0 < math.prod(shape) <= MOST:
        return NotImplemented
    held = np.empty(shape, dtype=object)
    held.fill(np.float64(number))
    return held.view(ValueArray)


def _like(name: str, given: Any, number: Any = 0.0, *more: Any) -> Any:
    if given.dtype != np.dtype(float) or more or (name != "full_like" and number != 0.0):
        return NotImplemented
    if isinstance(number, Value):
        held = _filled(given.shape, 0.0)
        held[...] = number
        return held
    return _filled(given.shape, 1.0 if name == "ones_like" else number)


def _plain_scipy(frame: Any, name: str) -> bool:
    """Whether SciPy's plain Python makes an array, which goes to ufuncs: distributions, functions made of other functions."""
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(PLAIN_SCIPY) or (name == "asarray" and module == "scipy.interpolate._interpolate")


def _package(frame: Any) -> str:
    return str(frame.f_globals.get("__name__")).split(".")[0] if frame is not None else ""


# ---- from here on, NumPy asks

if observed.NATIVE:
    from micrograd._engine import extend_makers, set_arrays

    extend_makers(vars(np), make)
    set_arrays(np.ndarray, np.empty, ValueArray)

__all__ = ["ValueArray", "carrying", "holds_values", "make"]
