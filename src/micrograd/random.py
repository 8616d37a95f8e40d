"""Random numbers that are the same everywhere: each draw is a pure function of a key, a row and the number of the draw.

    >>> from micrograd import random
    >>> key = random.key(0)
    >>> random.uniform(key, draw=0), random.uniform(key, draw=1)
    (0.3990464708489645, 0.7357127844834425)
    >>> random.normal(key, 100.0, 15.0, draw=7)
    103.98027308069854

There is no generator that changes from draw to draw, so the order of calls does not matter: eager code, compiled code, SIMD
lanes, threads and the machines of a cluster draw the same numbers, to the bit. Inside a compiled function a draw is an op like
any other. The generator is Philox 4×32-10; normals are its uniforms through the inverse of the normal distribution.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, overload

from micrograd import engine
from micrograd.ops import OPS
from micrograd.philox import EXACT
from micrograd.tree import is_numpy_scalar

if TYPE_CHECKING:
    from micrograd.engine import Value

    Number = Value | float

__all__ = ["fold_in", "key", "normal", "split", "uniform"]

_PHILOX, _NORMAL, _FLOOR, _WHERE, _GE = (OPS[name] for name in ("philox", "normal", "floor", "where", "ge"))
_OF_KEYS = -1.0  # the number of the draw that makes a new key, apart from those of random numbers


def key(seed: int) -> float:
    """Make a key from a seed: a whole number from 0 to 2**53 - 1. The same seed gives the same random numbers everywhere.

    >>> key(42)
    42.0
    """
    if isinstance(seed, (bool, engine.Value)) or not hasattr(seed, "__index__"):
        raise TypeError(f"a seed is a whole number, not {type(seed).__name__}: {seed!r}")
    if not 0 <= (number := seed.__index__()) < EXACT:
        raise ValueError(f"seed={seed!r}: a seed is a whole number from 0 to 2**53 - 1")
    return float(number)


def split(key: Any, count: int = 2) -> list[Any]:
    """Make `count` new keys from one, whose random numbers are independent of each other and of those of the old key.

    >>> left, right = split(key(0))
    >>> left == right
    False
    """
    if isinstance(count, (bool, engine.Value)) or not hasattr(count, "__index__") or count < 1:
        raise ValueError(f"count={count!r}: the number of keys is a whole number, at least 1")
    return [fold_in(key, k) for k in range(count)]


def fold_in(key: Any, number: Any) -> Any:
    """Make a new key from a key and a whole number, such as the number of a training step or of a worker.

    >>> fold_in(key(0), 3) == split(key(0), 4)[3]
    True
    """
    return engine.apply(_FLOOR, EXACT * _fraction(key, number, _OF_KEYS, "number"))


@overload
def uniform(key: float, low: float = 0.0, high: float = 1.0, *, draw: float = 0, row: float = 0) -> float: ...  # type: ignore[overload-overlap]
@overload
def uniform(key: Number, low: Number = 0.0, high: Number = 1.0, *, draw: Number = 0, row: Number = 0) -> Value: ...
def uniform(key: Any, low: Any = 0.0, high: Any = 1.0, *, draw: Any = 0, row: Any = 0) -> Any:
    """Draw a number that is evenly distributed in [low, high).

    `draw` counts the draws of one row, `row` the rows of a batch (a column of `numpy.arange(rows)` under vmap); both are whole
    numbers from 0 on. The derivatives with respect to low and high are those of low + (high - low)·u.
    """
    _one_number("uniform", low, high)
    u = _from_0(draw, _fraction(key, row, _checked(draw, "draw"), "row"))
    if type(low) in (int, float) and low == 0.0 and type(high) in (int, float):
        return u if high == 1.0 else high * u
    return low + (high - low) * u


@overload
def normal(key: float, mean: float = 0.0, std: float = 1.0, *, draw: float = 0, row: float = 0) -> float: ...  # type: ignore[overload-overlap]
@overload
def normal(key: Number, mean: Number = 0.0, std: Number = 1.0, *, draw: Number = 0, row: Number = 0) -> Value: ...
def normal(key: Any, mean: Any = 0.0, std: Any = 1.0, *, draw: Any = 0, row: Any = 0) -> Any:
    """Draw a normally distributed number: mean + std·z, with its derivatives with respect to mean and std.

    `draw` counts the draws of one row, `row` the rows of a batch, as in `uniform`.

    >>> from micrograd import Value
    >>> spread = Value(2.0)
    >>> z = normal(key(0), 0.0, spread, draw=5)
    >>> z.backward()
    >>> spread.grad == normal(key(0), draw=5)
    True
    """
    _one_number("normal", mean, std)
    z = _from_0(draw, engine.apply(_NORMAL, _checked(key, "key"), _checked(row, "row"), _checked(draw, "draw")))
    if type(mean) in (int, float) and mean == 0.0:
        return z if type(std) in (int, float) and std == 1.0 else std * z
    return mean + std * z


def _fraction(key: Any, row: Any, draw: Any, name: str) -> Any:
    return engine.apply(_PHILOX, _checked(key, "key"), _checked(row, name), draw)


def _one_number(name: str, *settings: Any) -> None:
    """Refuse the shape that NumPy's and JAX's functions take."""
    for x in settings:
        if isinstance(x, (tuple, list)):
            raise TypeError(
                f"random.{name} draws one number, and {x!r} is not a number but a shape\n"
                f"  Write [random.{name}(key, draw=i) for i in range(n)] for n numbers; "
                f"vmap(lambda i: random.{name}(key, draw=i))(numpy.arange(n)) is an array of them."
            )


def _is_plain(x: Any) -> bool:
    return type(x) is float or type(x) is int or is_numpy_scalar(x)


def _from_0(draw: Any, number: Any) -> Any:
    """What a draw gave; nan where its number is a Value below 0: the op itself takes -1, for the draw that makes keys."""
    return number if _is_plain(draw) else engine.apply(_WHERE, engine.apply(_GE, draw, 0.0), number, nan)


def _checked(x: Any, name: str) -> Any:
    """The argument, if it can be counted with; a Value that is no whole number from 0 on gives nan where it is computed."""
    if _is_plain(x):
        if not 0 <= x < EXACT or x != int(x):
            what = "micrograd.random.key(seed) makes one" if name == "key" else "it counts from 0"
            raise ValueError(f"{name}={x!r}: it must be a whole number from 0 to 2**53 - 1 ({what})")
        return float(x)
    return x


def __getattr__(name: str) -> Any:
    """Explain the names of Python's own random, which `from micrograd import *` takes the place of."""
    import random

    fact = f"module {__name__!r} has no attribute {name!r}"
    if name.startswith("_") or not hasattr(random, name):
        raise AttributeError(fact)
    raise AttributeError(
        f"{fact}\n  Python's own random has it: write `import random` below `from micrograd import *`."
    )
