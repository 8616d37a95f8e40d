"""Where NumPy takes the number out of a Value without being asked to, which would lose the gradient without a word.

`float(v)` is a request. `a[0] = v` on an array of floats is none, and neither is `np.interp([v], xs, ys)`, which converts what
it is given, nor `series.mean()` of pandas, which computes them with floats. All of them call `v.__float__()`, as `float(v)`
does, so the engines look at the caller: at the instruction that it is running, and at its module. Other compiled functions that
are called directly (`a.fill(v)`, `np.asarray(values, dtype=float)`) cannot be told from `float(v)` outside of a trace.

The functions of Python's math take Values where the C engine was built (native/standard.c). The Python engine cannot reach into
them, so there they are refused, by the names in the line.

>>> import numpy as np
>>> from micrograd import Value
>>> np.zeros(2)[0:1] = Value(3.0)
Traceback (most recent call last):
    ...
TypeError: a Value is stored in an array of numbers, which would keep the number and lose the gradient
  Store the number itself: a[i] = v.data. For an array of Values: a = a.astype(object), or np.empty(n, dtype=object).
"""

from __future__ import annotations

import builtins
import dis
import math
import opcode
import sys
from typing import Any

STORES = {opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap}
# Whoever tests, prints or saves numbers wants the numbers, and np.vectorize converts where it was told to (otypes).
NUMBERS_WANTED = (
    "numpy.testing",
    "numpy.lib.npyio",
    "numpy.lib._npyio",
    "numpy.core.arrayprint",
    "numpy._core.arrayprint",
)
# Where pandas computes statistics of a Series of objects: with floats, while it adds and multiplies the objects themselves.
STATISTICS = ("pandas.core.nanops", "pandas.core.window", "pandas.core.groupby")
OF_PAIRS = ("corr", "cov", "autocorr", "corrwith")
VECTORIZE = ("_vectorize_call", "_vectorize_call_with_signature")


def refuse_unasked(frame: Any = None) -> None:
    """Raise a TypeError where the function that asks for the number of a Value stores it, or is one of NumPy's or pandas'."""
    frame = sys._getframe(1) if frame is None else frame
    module = str(frame.f_globals.get("__name__"))
    if module.startswith("numpy."):
        if not module.startswith(NUMBERS_WANTED) and frame.f_code.co_name not in VECTORIZE:
            raise TypeError(_inside_numpy(frame))
    elif module.startswith("pandas."):
        name = _outermost(frame, "pandas.").f_code.co_name
        if module.startswith(STATISTICS) or name in OF_PAIRS:
            raise TypeError(
                f"pandas takes the numbers out of the Values in {name}, which would lose their gradients\n"
                "  sum, prod, cumsum, diff and dot keep them: s.sum() / len(s) is the mean. An array of Values has more: "
                f"s.to_numpy().mean(). Of the numbers alone: s.astype(float).{name}()."
            )
    elif frame.f_code.co_code[frame.f_lasti] in STORES and not module.startswith("scipy."):
        # SciPy's functions store what the user's function returned, of which they want the number.
        raise TypeError(
            "a Value is stored in an array of numbers, which would keep the number and lose the gradient\n"
            "  Store the number itself: a[i] = v.data. For an array of Values: a = a.astype(object), or "
            "np.empty(n, dtype=object)."
        )


def refuse_math(frame: Any) -> None:
    """Raise a TypeError where a function of Python's math asks for the number of a Value: told to the Python engine alone."""
    name = _of_math(frame.f_code, frame.f_lasti, frame)
    if name:
        raise TypeError(
            f"math.{name} of a Value would take its number and lose the gradient, at "
            f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}\n"
            "  Python's own math takes Values where micrograd has its C engine, and this is the Python engine.\n"
            f"  Write `from micrograd import math` in place of `import math`, or micrograd.math.{name}."
        )


_known: dict[
    tuple[Any, int], str
] = {}  # by a code and its instruction: the function of math that is called there, or ""


def _of_math(code: Any, at: int, frame: Any) -> str:
    """The name of a function of Python's math that the line of an instruction uses, if it does not use float, too."""
    if (code, at) not in _known:
        found, line = [], None
        for step in dis.get_instructions(code):
            where: Any = getattr(step, "positions", None)
            line = step.starts_line or line if where is None else where.lineno
            if line == frame.f_lineno and isinstance(step.argval, str):
                found.append(_named(step.argval, frame))
        of_math = [x.__name__ for x in found if getattr(x, "__module__", None) == "math" and callable(x)]
        _known[code, at] = of_math[0] if of_math and float not in found else ""
    return _known[code, at]


def _named(name: str, frame: Any) -> Any:
    """What a name in a line stands for: a variable, a builtin or a function of math."""
    for names in (frame.f_locals, frame.f_globals, vars(builtins), vars(math)):
        if name in names:
            return names[name]
    return None


def formats_text(frame: Any) -> bool:
    """Whether a frame asks for numbers to write them down: `"%.3f" % x`."""
    if frame is None or frame.f_lasti < 0:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    if sys.version_info < (3, 11):
        return code[at] in (opcode.opmap["BINARY_MODULO"], opcode.opmap["INPLACE_MODULO"])
    return code[at] == opcode.opmap["BINARY_OP"] and opcode._nb_ops[code[at + 1]][1] in ("%", "%=")  # type: ignore[attr-defined]


def _outermost(frame: Any, library: str) -> Any:
    """The frame of the function of a library that the user called."""
    while frame.f_back is not None and str(frame.f_back.f_globals.get("__name__")).startswith(library):
        frame = frame.f_back
    return frame


def _inside_numpy(frame: Any) -> str:
    name = f"np.{_outermost(frame, 'numpy.').f_code.co_name}"
    return (
        f"{name} would take the numbers out of Values and lose their gradients\n"
        f"  Write it with operators and micrograd.math, or give it the numbers themselves: {name}([v.data for v in values])."
    )
