"""Values among arrays: what NumPy asks of an operand that is not its own, and numbers that come as arrays of one element.

NumPy hands an operation over to `Value.__array_ufunc__` where a Value stands beside an array, and to `__array_function__`
where a function of NumPy's is called on one. The operation is then applied to each element, by the row of the op
table that it names, and the result is an array of Values. In an array of Values NumPy works by itself, with Python's
operators and the methods of the elements. Nothing here imports NumPy before NumPy has called.

>>> import numpy as np
>>> from micrograd import Value
>>> x = Value(3.0)
>>> y = np.array([1.0, 2.0]) * x + np.exp(x)
>>> y.sum().backward()
>>> round(x.grad, 6)  # 1 + 2 + 2·exp(3)
43.171074
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from micrograd import engine, math
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.values import operand

NO_ROW = "has no row in the op table"
ONLY_NUMBERS = (
    "{name} of an array of Values, at {{}}: NumPy has it for arrays of numbers only\n"
    "  Its code reads floats, so it could take the numbers alone, and the derivative would be lost.\n"
    "  Write it out with operators, np.sum, np.dot and micrograd.math, or give its derivative with micrograd.custom_vjp."
)
# The names of NumPy (and of scipy.special) for rows of the table, where they differ from the table's own.
NAMES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "float_power": "pow", "negative": "neg", "absolute": "abs", "fabs": "abs",
    "maximum": "max", "minimum": "min", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "rint": "round", "expit": "sigmoid", "gammaln": "lgamma",
    "psi": "digamma", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne",
}  # fmt: skip
# Python's operators, so that a subclass of Value that has its own is asked.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "abs": operator.abs, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def _most(x: Any, bound: Any) -> Any:
    return x if bound is None else math.max(x, bound)


def _least(x: Any, bound: Any) -> Any:
    return x if bound is None else math.min(x, bound)


# What takes more than one row, or none.
OTHERS: dict[str, Callable[..., Any]] = {
    "square": lambda x: x * x,
    "reciprocal": lambda x: math.pow(x, -1.0),
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "degrees": math.degrees,
    "rad2deg": math.degrees,
    "radians": math.radians,
    "deg2rad": math.radians,
    "logaddexp": lambda a, b: math.logsumexp([a, b]),
    "clip": lambda x, low, high: _least(_most(x, low), high),
    "divmod": lambda a, b: (math.floordiv(a, b), math.mod(a, b)),
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
    "fmax": math.fmax,
    "fmin": math.fmin,
    "modf": math.modf,
    "heaviside": lambda x, at: math.where(x == 0.0, at, math.where(x > 0.0, 1.0, math.where(x < 0.0, 0.0, math.nan))),
}
TRUTHS = ("lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite")
# The functions that only arrange, add, multiply or compare elements, so that an array of Values goes through them unharmed.
FUNCTIONS = {
    "sum", "prod", "mean", "var", "std", "cumsum", "cumprod", "max", "min", "amax", "amin", "dot", "vdot", "inner",
    "outer", "tensordot", "kron", "trace", "diff", "where", "concatenate", "stack", "hstack", "vstack", "dstack",
    "column_stack", "append", "insert", "broadcast_to", "broadcast_arrays", "reshape", "ravel", "expand_dims",
    "squeeze", "transpose", "atleast_1d", "atleast_2d", "atleast_3d", "repeat", "tile", "full_like", "copy",
    "copyto", "shape", "ndim", "size", "iscomplexobj", "isrealobj", "array_repr", "array_str", "array2string",
    "result_type", "row_stack", "einsum", "linspace", "polyval", "empty_like", "zeros_like", "ones_like",
}  # fmt: skip

LIKE = ("empty_like", "zeros_like", "ones_like")  # whoever asks for these wants an array

STACKING = {
    "concatenate",
    "stack",
    "row_stack",
    "hstack",
    "vstack",
    "dstack",
    "column_stack",
}  # of the items of their argument


@cache
def elementwise(name: str) -> Callable[..., Any] | None:
    """Return the function of numbers and Values that a ufunc of this name stands for; None where the table has none."""
    if name in OTHERS:
        return OTHERS[name]
    from micrograd.special import FUNCTIONS as special

    if name in special:
        return special[name]
    row = OPS.get(NAMES.get(name, name))
    if row is None or row.arity < 0:
        return None
    own = OPERATORS.get(row.name)
    if own is None:
        return lambda *args: engine.apply(row, *args)

    if row.name in operand.REFLECTED:  # a long double would compare itself, and ask us again
        return lambda a, b: own(a, b) if isinstance(a, Value) else OPERATORS[operand.REFLECTED[row.name]](b, a)

    def operate(a: Any, *b: Any) -> Any:  # two numbers have IEEE's result, where Python's operator would raise
        return own(a, *b) if isinstance(a, Value) or (b and isinstance(b[0], Value)) else engine.apply(row, a, *b)

    return operate


def array_ufunc(self: Value, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy calls for `array * value`, `value * array` and `np.exp(value)`."""
    import numpy as np

    if not operand.SCALARS:
        know_numpy(np)
    name = ufunc.__name__
    f = elementwise(name)
    if ufunc.types and all(set(kinds) <= set("O->") for kinds in ufunc.types):  # of np.frompyfunc, whatever its name
        return getattr(ufunc, method)(*[boxed(x, np) for x in inputs], **options)
    if f is None:
        if name in ("matmul", "matvec", "vecmat", "vecdot"):
            raise TypeError(f"np.{name} of one Value: it has no axes; multiply with *")
        name = f"np.{name}" if hasattr(np, name) else name  # or one of scipy.special's
        raise TypeError(
            f"{name} {NO_ROW}\n  micrograd.math lists what there is; micrograd.primitive adds a function with its "
            f"partials; {name} of float(v) takes the number alone, without a derivative."
        )
    if method == "__call__" and not options and all(isinstance(x, (Value, np.generic, float, int)) for x in inputs):
        return f(*[plain(x) if isinstance(x, np.generic) else x for x in inputs])  # np.float64(2) * value
    own = [getattr(type(x), "__array_ufunc__", None) for x in inputs if not isinstance(x, (Value, np.generic))]
    if any(rule not in (None, np.ndarray.__array_ufunc__) for rule in own):
        return NotImplemented  # beside a Series, for example, which knows what to do with the arrays that it holds
    for out in inputs[:1] if method == "at" else options.get("out", ()):  # np.add.at writes into its first argument
        must_hold_values(out, "Write a = a * v in place of a *= v, or convert the array first: a = a.astype(object).")
    if options.pop("dtype", None) not in (None, object, np.dtype(object)):
        raise TypeError(f"np.{name} of Values gives Values: leave dtype out")
    options = {key: x for key, x in options.items() if key not in ("casting", "order", "subok")}
    made = getattr(np.frompyfunc(f, ufunc.nin, ufunc.nout), method)
    with np.errstate(all="ignore"):  # Values are silent about nan and inf, as IEEE has them
        result = made(*[boxed(x, np) for x in inputs], **options)
    if NAMES.get(name, name) in TRUTHS and "out" not in options:
        return np.asarray(result, dtype=bool)[()]
    return _carrying(result, method == "__call__") if self._trace else result


def _carrying(result: Any, of_array: bool) -> Any:
    """Inside of a trace, an array or a number that goes through the functions that NumPy has for floats."""
    buffers = sys.modules.get("micrograd.values.buffers")
    if buffers is None or not engine.NATIVE:
        return result
    if isinstance(result, tuple):
        return tuple([_carrying(part, of_array) for part in result])
    return buffers.ValueScalar.of(result) if of_array and isinstance(result, Value) else buffers.carrying(result)


def must_hold_values(out: Any, way_out: str) -> None:
    """Raise where a Value would be written into an array of numbers."""
    if out.dtype.kind != "O":
        raise TypeError(f"an array of {out.dtype} cannot hold Values\n  {way_out}")


def know_numpy(np: Any) -> None:
    """Fill in what answers `np.float64(2) * value` quickly (protocols.py)."""
    for name in ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "less", "less_equal",
                 "greater", "greater_equal", "equal", "not_equal"):  # fmt: skip
        operand.UFUNCS[getattr(np, name)] = OPERATORS[NAMES.get(name, name)]
    kinds = np.floating, np.integer
    operand.SCALARS.update(t for t in np.sctypeDict.values() if issubclass(t, kinds) and t is not np.timedelta64)


def plain(x: Any) -> Any:
    """A scalar of NumPy's as Python has it: a float, where it is a real number."""
    kind = x.dtype.kind
    if kind in "mM":  # the item of a duration without a unit is a plain number
        operand.refuse(x)
    return float(x) if kind in "fiub" else complex(x) if kind == "c" else x.item()


def boxed(x: Any, np: Any) -> Any:
    """Put a Value into an array without axes, so that NumPy does not ask us again; complex numbers are refused."""
    if not isinstance(x, Value):
        return operand.refuse(x) if getattr(getattr(x, "dtype", None), "kind", "") == "c" else x
    box = np.empty((), dtype=object)
    box[()] = x
    return box


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """What np.clip is where one of its arguments is a Value."""
    import numpy as np

    low, high = a_min if min is None else min, a_max if max is None else max
    each = np.frompyfunc(OTHERS["clip"], 3, 1)
    return each(*[boxed(x, np) for x in (a, low, high)], **({} if out is None else {"out": out}))


def numbers_only(error: BaseException) -> str | None:
    """What to say where NumPy has refused an array of Values, with {} for the user's line; None for errors of other kinds.

    In an array NumPy asks none of its elements: what has no loop for objects, as np.linalg.det, is refused in words on dtypes.
    """
    if not isinstance(error, (TypeError, AttributeError)) and "numpy.object_" not in str(error):
        return None
    text, frames, at = str(error), [], error.__traceback__
    while at is not None:
        frames.append(at.tb_frame)
        at = at.tb_next
    inside = [f for f in frames if str(f.f_globals.get("__name__")).startswith("numpy.")]
    if isinstance(error, AttributeError):
        if not inside or inside[-1] is not frames[-1] or " object has no attribute " not in text:
            return None
    elif not any(
        part in text
        for part in ("dtype('O')", "not supported for the input types", "loop of ufunc does not", "not inexact")
    ):
        return None
    if inside:
        # Before NumPy 1.25 a dispatcher of another module, with the name of the function, calls it.
        name = inside[0].f_code.co_name
        modules = [f.f_globals["__name__"] for f in inside if f.f_code.co_name == name]
        name = f"np.{'linalg.' if any('.linalg' in m for m in modules) else ''}{name}"
    else:
        found = re.search(r"ufunc '(\w+)'", text)
        name = f"np.{found[1]}" if found else "a function of NumPy's"
    name = name.replace("{", "{{").replace("}", "}}")
    return ONLY_NUMBERS.format(name=name)


def array_function(self: Value, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for `np.sum(value)`, `np.where(mask, value, 0.0)` and the like."""
    import numpy as np

    name = function.__name__
    if name == "clip":
        return clip(*args, **kwargs)
    from micrograd.values.linear import OWN

    if name in OWN:
        return OWN[name](*args, **kwargs)
    if name not in FUNCTIONS:
        raise TypeError(
            f"np.{name} would take the number out of a Value and lose its gradient\n"
            "  Write it with micrograd.math, or give the number itself: float(v) in place of v."
        )

    def inside(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)([inside(item) for item in x])
        return boxed(x, np)

    if name in STACKING and args and isinstance(args[0], np.ndarray):  # NumPy has asked the Values in the array
        args = (list(args[0]), *args[1:])

    if name == "copyto":  # np.full and np.full_like come here with casting="unsafe"
        if args[0].dtype.kind != "O":
            float(self)  # in a trace this is an error that names the user's line
        must_hold_values(args[0], "Write float(v) where the number is meant; dtype=object makes an array of Values.")
    if name == "insert" and not isinstance(args[0], Value):  # it would convert the Value to the dtype of the array
        args = (np.asarray(args[0], dtype=object), *args[1:])
    result = function(*[inside(a) for a in args], **{key: inside(a) for key, a in kwargs.items()})
    if isinstance(result, np.ndarray) and result.ndim == 0 and name not in LIKE:
        return result[()]
    return _carrying(result, False) if self._trace else result
