"""What may stand beside a Value: numbers, and things that know by themselves what to do. native/operand.c is its twin."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# What `np.float64(2) * value` needs, which loops over the numbers of arrays are full of: ufunc -> Python's operator, and the
# types of NumPy's scalars. arrays.py fills them in, once NumPy is there.
UFUNCS: dict[Any, Any] = {}
SCALARS: set[type] = set()
BUILTIN_CONTAINERS = (str, bytes, list, tuple, dict, set, complex, type(None))
REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}  # a < b is b > a


def number(x: Any) -> float:
    """Take a real number as a float; anything else is a TypeError."""
    if type(x) is float:  # nearly always
        return x
    if isinstance(x, (float, int)):
        return float(x)
    from numbers import Real  # NumPy's scalars and fractions are Real; arrays, strings and complex numbers are not

    if isinstance(x, Real):
        return float(x)
    if hasattr(x, "__array__"):
        found = only_number(x)
        if found is not None:
            return found
    refuse(x)


def bound(how: str, x: Any) -> float | None:
    """Return the float that stands for x in `value <how> x`; None where x is no real number.

    A whole number beyond 2**53, a Fraction or a Decimal lies between two floats, as a rule. The answer for every float is then
    that of the exact number, as Python's own comparisons have it, with the float above it for lt and ge, with the one below for
    le and gt. None is equal to it, so nan stands for it in eq and ne.
    """
    if issubclass(type(x), float):
        return float(x)
    if has_axes(x):
        return None
    import sys
    from math import inf, nan, nextafter
    from numbers import Integral, Real

    decimal = sys.modules.get("decimal")
    if not isinstance(x, (int, Real)) and not (decimal is not None and isinstance(x, decimal.Decimal)):
        return only_number(x) if hasattr(x, "__array__") else None
    if isinstance(x, Integral):
        x = int(x)  # of NumPy, which would round it in a comparison
    try:
        nearest = float(x)
    except OverflowError:
        nearest = inf if x > 0 else -inf
    if nearest == x or nearest != nearest:
        return nearest
    if how in ("eq", "ne"):
        return nan
    if how in ("lt", "ge"):
        return nearest if nearest > x else nextafter(nearest, inf)
    return nearest if nearest < x else nextafter(nearest, -inf)


def only_number(x: Any) -> float | None:
    """Return the number in an array of one element, of NumPy, PyTorch or JAX; None where x is no such array."""
    import sys
    from math import prod
    from numbers import Real

    item, shape = getattr(x, "item", None), getattr(x, "shape", None)
    if item is None or shape is None or prod(shape) != 1:
        return None
    if getattr(x, "requires_grad", False) is True:
        raise TypeError(
            "a tensor of PyTorch that requires a gradient, which would not reach it through a Value\n"
            "  Give its number with x.item(), or let PyTorch call the function: micrograd.to_torch(f)."
        )
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(x, jax.core.Tracer):
        raise TypeError(
            "a number that JAX is tracing, whose derivative would not pass through a Value\n"
            "  Let JAX call the function: micrograd.to_jax(f)."
        )
    if hasattr(x, "mask") or getattr(getattr(x, "dtype", None), "kind", None) in ("m", "M"):
        return None
    found = item()
    return float(found) if isinstance(found, (float, int, Real)) else None


def refuse(x: Any) -> NoReturn:
    """Raise the TypeError for something that is no number, with the way out."""
    way_out = ""
    if isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
        way_out = "\n  Compute with its real and its imaginary part, as two Values."
    elif has_axes(x) and not x.ndim and hasattr(x.item(), "backward"):
        way_out = "\n  Take the Value out of the array: x[()]."
    elif hasattr(x, "__array__"):
        way_out = "\n  Make a list, [Value(x) for x in array], or compute with an array of NumPy's: array * value."
    elif isinstance(x, (list, tuple)):
        way_out = "\n  Take its items one by one: [value * x for x in items]."
    elif isinstance(x, str):
        way_out = "\n  Convert it with float(x)."
    name = type(x).__name__
    raise TypeError(f"a Value holds one real number (int, float or NumPy scalar), not {name}: {brief(x)}{way_out}")


def brief(x: Any) -> str:
    """The repr of something, cut short for a message."""
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


def no_name(data: Any, name: str) -> NoReturn:
    """Refuse Value(10.0, "a"), where a name stands in the place of the inputs."""
    raise TypeError(
        f"Value({brief(data)}, {name!r}): the second argument is a tuple of the nodes that this one is made from\n"
        f"  Give a name by keyword: Value({brief(data)}, label={name!r})."
    )


def no_requires_grad(*_: Any) -> NoReturn:
    """Refuse PyTorch's way to freeze a parameter, which would be an attribute that nothing reads."""
    raise AttributeError(
        "a Value has no requires_grad, since it always has a gradient: optimizer.freeze([p]) leaves a parameter as it is, "
        "optimizer.unfreeze([p]) ends that, and x.detach() lets no gradient through"
    )


def has_axes(x: Any) -> bool:
    """Whether x is an array of NumPy's, with axes or of objects: it asks for the result of each element (arrays.py)."""
    if not hasattr(x, "__array_ufunc__"):
        return False
    if getattr(x, "ndim", 0) or getattr(x, "carries_values", False):
        return True
    return bool(getattr(getattr(x, "dtype", None), "hasobject", False))


def foreign(x: Any) -> bool:
    """Whether x may know by itself what `value + x` is; plain containers do not, nor do tensors."""
    return has_axes(x) or not (isinstance(x, BUILTIN_CONTAINERS) or hasattr(x, "__array__"))


def reflects(x: Any, name: str) -> bool:
    """Whether the class of x is made from a container and has the method for `value <op> x`: a vector that is a named tuple."""
    method = "__rtruediv__" if name == "div" else f"__r{name}__"
    classes = type(x).__mro__ if isinstance(x, BUILTIN_CONTAINERS) and not isinstance(x, complex) else ()
    return any(method in vars(c) for c in classes if c.__module__ != "builtins")
