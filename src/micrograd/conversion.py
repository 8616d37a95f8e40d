"""Where NumPy takes the number out of a Value without being asked to, which would lose the gradient without a word.

`float(v)` is a request. `a[0] = v` on an array of floats is none, and neither is `np.interp([v], xs, ys)`, which converts what
it is given. Both call `v.__float__()` as `float(v)` does, so the engines look at the caller: at the instruction that it is
running, and at its module. Compiled functions that are called directly (`math.exp(v)`, `a.fill(v)`,
`np.asarray(values, dtype=float)`) cannot be told from `float(v)`.

>>> import numpy as np
>>> from micrograd import Value
>>> np.zeros(2)[0:1] = Value(3.0)
Traceback (most recent call last):
    ...
TypeError: a Value is stored in an array of numbers, which would keep the number and lose the gradient
  Store the number itself: a[i] = v.data. For an array of Values: a = a.astype(object), or np.empty(n, dtype=object).
"""

from __future__ import annotations

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
VECTORIZE = ("_vectorize_call", "_vectorize_call_with_signature")


def refuse_unasked(frame: Any = None) -> None:
    """Raise a TypeError where the function that asks for the number of a Value did so by storing it, or is NumPy's."""
    frame = sys._getframe(1) if frame is None else frame
    module = str(frame.f_globals.get("__name__"))
    if module.startswith("numpy."):
        if not module.startswith(NUMBERS_WANTED) and frame.f_code.co_name not in VECTORIZE:
            raise TypeError(_inside_numpy(frame))
    elif frame.f_code.co_code[frame.f_lasti] in STORES and not module.startswith("scipy."):
        # SciPy's functions store what the user's function returned, of which they want the number.
        raise TypeError(
            "a Value is stored in an array of numbers, which would keep the number and lose the gradient\n"
            "  Store the number itself: a[i] = v.data. For an array of Values: a = a.astype(object), or "
            "np.empty(n, dtype=object)."
        )


def _inside_numpy(frame: Any) -> str:
    while frame.f_back is not None and str(frame.f_back.f_globals.get("__name__")).startswith("numpy."):
        frame = frame.f_back
    name = f"np.{frame.f_code.co_name}"
    return (
        f"{name} would take the numbers out of Values and lose their gradients\n"
        f"  Write it with operators and micrograd.math, or give it the numbers themselves: {name}([v.data for v in values])."
    )
