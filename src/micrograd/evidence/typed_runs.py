"""A typed kernel beside plain Python and eager code, at the arguments of one call.

Each of them has a second: how long it takes is estimated from the time of the kernel, and where it takes longer it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import isfinite
from typing import Any

from micrograd.abstract import Refused
from micrograd.tree import flatten, is_array

AT_MOST = 1.0  # seconds for a comparison, which are estimated from the time of the kernel
SLOWER = 200  # plain Python takes at most so many times as long as a kernel, in the programs of benchmarks/gradbench
SLOWER_EAGER = 1000  # the same for gradients by Values
_COUNTED = (list, tuple)


class Wrong(Exception):
    """A typed tape gives another result than plain Python, or than eager code."""


class Undecided(Exception):
    """These arguments tell nothing: the function raises an exception for them, or takes long."""


class Oracle:
    """Plain Python and eager code, for copies of the arguments of a call that took a kernel so many seconds."""

    def __init__(self, function: Callable[..., Any], copied: Callable[[], Any], took: float, derives: bool) -> None:
        self.function, self.copied, self.took, self.derives = function, copied, took, bool(derives)

    def affords(self, times: float) -> bool:
        """Return whether what is so many times slower than the kernel takes little time."""
        return self.took * times <= AT_MOST

    def plain(self) -> Any:
        """Return what plain Python gives; note how long that takes, in place of the kernel."""
        start = time.perf_counter()
        try:
            return self.function(*self.copied())
        except (ArithmeticError, ValueError):  # log(0.0), 1.0 / 0.0: compiled functions follow IEEE 754
            raise Undecided from None
        except Exception as error:
            raise Refused(f"plain Python raises {type(error).__name__}: {error}") from None
        finally:
            self.took_plain = time.perf_counter() - start

    def eager(self, derivative: Callable[..., Any]) -> Any:
        """Return a derivative by eager code."""
        try:
            return derivative(*self.copied())
        except Exception as error:
            raise Refused(f"eager code raises {type(error).__name__}: {error}") from None


def require(right: bool, oracle: str) -> None:
    """Raise Wrong where a kernel does not give what an oracle gives."""
    if not right:
        raise Wrong(
            f"the typed tape gives another result than {oracle}\n"
            "  This is a bug in micrograd; please report it. The function is traced instead."
        )


def near(a: Any, b: Any) -> bool:
    """Return whether two gradients agree within what rounding may do."""
    x: list[Any] = []
    y: list[Any] = []
    if flatten(a, x) != flatten(b, y):
        return False
    size = max([abs(v) for v in y if isfinite(v)], default=0.0)
    return all(u == v or (u != u and v != v) or abs(u - v) <= 1e-6 * size for u, v in zip(x, y))


def equal(a: Any, b: Any) -> bool:
    """Return whether two results have the same structure and the same bits; a nan is equal to a nan."""
    if is_array(a) or is_array(b):
        import numpy as np

        return (
            is_array(a) and is_array(b) and a.shape == b.shape and equal(np.asarray(a).tolist(), np.asarray(b).tolist())
        )
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, _COUNTED) and isinstance(b, _COUNTED):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(b, (float, int)):
        return type(a) is type(getattr(b, "item", lambda: b)()) and (repr(a) == repr(getattr(b, "item", lambda: b)()))
    if hasattr(b, "item") and getattr(b, "shape", None) == ():
        return repr(a) == repr(b.item())
    return bool(a is b or a == b)
