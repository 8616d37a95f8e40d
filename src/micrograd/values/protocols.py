"""What both twins of Value answer to NumPy, to code for floats and to subclasses: set on the class here, once for both."""

from __future__ import annotations

from micrograd.engine import Value, apply
from micrograd.ops import OPS
from micrograd.values.operand import SCALARS, UFUNCS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __array_ufunc__(self: Value, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    operator = UFUNCS.get(ufunc)
    if (
        operator is not None
        and type(inputs[0]) in SCALARS
        and inputs[1] is self
        and not options
        and method == "__call__"
    ):
        return operator(float(inputs[0]), self)
    from micrograd.values.ufuncs import array_ufunc

    return array_ufunc(self, ufunc, method, *inputs, **options)


def __array_function__(self: Value, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    from micrograd.values.ufuncs import array_function

    return array_function(self, function, types, args, kwargs)


def _mask(self: Value) -> Any:
    """Refuse masked arrays, which ask for this: numpy.ma would take the attribute `_data` and lose the graph."""
    import sys

    if str(sys._getframe(1).f_globals.get("__name__")).startswith("numpy.ma"):
        raise TypeError(
            "a masked array beside a Value: its mask would hide derivatives\n"
            "  Fill it with x.filled(number), or take the unmasked numbers with x.compressed()."
        )
    raise AttributeError("_mask")


# ---- what Python's float has beside its operators. There is no as_integer_ratio: statistics and fractions would take
# the number by it, and lose the derivative.


def _real(self: Value) -> Value:
    """This value: it is a real number."""
    return self


def _imag(self: Value) -> float:
    """0.0: a Value is a real number."""
    return 0.0


def is_integer(self: Value) -> bool:
    """Whether the number is whole, as float.is_integer() tells it."""
    return abs(self) < float("inf") and self == apply(OPS["trunc"], self)


def hex(self: Value) -> str:
    """The number in hexadecimal, as float.hex() writes it."""
    return self.data.hex()


def _of_int(name: str) -> Any:
    def ask(self: Value) -> Any:
        ask_whole(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    return property(ask)


def ask_whole(v: Any) -> None:
    """Tell a trace that a whole number is wanted, whatever the function makes of the exception that follows."""
    from contextlib import suppress

    with suppress(TypeError):
        v.__index__()


def _numerator(self: Value) -> Any:
    """Refuse Decimal, which takes a whole number by this in `Decimal("0.5") < x`, where x stands for an int in a trace."""
    raise AttributeError(
        "a Value has no numerator, by which decimal.Decimal compares itself with whole numbers\n"
        "  Write x > Decimal(...) in place of Decimal(...) < x, or pass a float, such as 3.0 for 3."
    )


OF_INT = ("bit_count", "bit_length", "denominator", "to_bytes")  # what an int has beside its operators

# ---- subclasses: micrograd defines these operators by __add__ and __mul__, so code that overrides those two relies on it


def _reciprocal(x: Any) -> Any:
    return x**-1.0 if isinstance(x, Value) else apply(OPS["pow"], x, -1.0)  # of 0 too, by IEEE


DERIVED: dict[str, dict[str, Any]] = {
    "__mul__": {
        "__neg__": lambda self: self * -1.0,
        "__rmul__": lambda self, other: self * other,
        "__truediv__": lambda self, other: self * _reciprocal(other),
        "__rtruediv__": lambda self, other: self**-1.0 * other,
    },
    "__add__": {
        "__radd__": lambda self, other: self + other,
        "__sub__": lambda self, other: self + (-other),
        "__rsub__": lambda self, other: (-self) + other,
    },
}


def __init_subclass__(cls: Any, /, **options: Any) -> None:
    """Derive the other operators of a subclass from its own __add__ and __mul__, where it has no other."""
    super(Value, cls).__init_subclass__(**options)
    for base, derived in DERIVED.items():
        if getattr(cls, base) is getattr(Value, base):
            continue
        for name, rule in derived.items():
            if getattr(cls, name) is getattr(Value, name):
                setattr(cls, name, rule)


# ---- what NumPy looks for in the elements of an array of objects: np.arctan(array of Values) calls .arctan()

METHODS = ("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "rint", "fabs", "degrees", "rad2deg",
           "radians", "deg2rad", "conjugate")  # fmt: skip


def _method(name: str) -> Any:
    def method(self: Value, *args: Any) -> Any:
        from micrograd.values.ufuncs import elementwise

        return elementwise(name)(self, *args)  # type: ignore[misc]

    method.__name__, method.__doc__ = name, f"np.{name} of this value, as a new node."
    return method


DOC = """A number that remembers how it was made: its `data`, its gradient `grad`, and the op and inputs that made it.

Operators and the functions of `micrograd.math` make new Values. `backward()` fills in the gradients of all that a Value was
made from; those of leaves accumulate until they are set to zero.

>>> from micrograd import Value
>>> a, b = Value(2.0, label="a"), Value(-3.0)
>>> c = a * b + a**2
>>> c.backward()
>>> c.data, a.grad, b.grad
(-2.0, 1.0, 2.0)
>>> a
Value(data=2.0, grad=1.0, label='a')

- data: a real number; arrays of one element and the scalars of NumPy, PyTorch and JAX are numbers too.
- _children, _op: for nodes that are made by hand: the inputs, and the name of the op or the local derivatives.
- label: a name, for drawings.
"""


def attach() -> None:
    """Set all of this on the class."""
    Value.__doc__ = DOC
    for function in (__array_ufunc__, __array_function__, is_integer, hex, *map(_method, METHODS)):
        setattr(Value, function.__name__, function)
    for name in OF_INT:
        setattr(Value, name, _of_int(name))
    for name, rule in (("_mask", _mask), ("real", _real), ("imag", _imag), ("numerator", _numerator)):
        setattr(Value, name, property(rule))
    setattr(Value, "__init_subclass__", classmethod(__init_subclass__))  # noqa: B010
