"""A run of a function on its numbers, compared with its trace, which has run it on Values in their place.

A program can tell a Value from a number in more ways than a trace can see: an `except` catches a TypeError that only a Value
raises, `type(x)` and `hasattr` have another answer, a lookup finds nothing. Then the trace is that of another program, and its
results would be wrong without a word. So the function is run once more, on the numbers themselves, and has to give the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import nan
from typing import Any

from micrograd.engine import Value
from micrograd.evidence.rounding import close, rounding
from micrograd.evidence.twice import unsteady
from micrograd.jacobians import hessian, jacobian
from micrograd.tape import interpret
from micrograd.tape.trace import Trace, peek, run_on_numbers, trace
from micrograd.transforms import Derived, grad, value_and_grad
from micrograd.tree import NUMBER, Shape, alike, flatten, name_of, without_bools, written

SAME_ARGUMENTS = (grad, value_and_grad, jacobian, hessian)  # what they make is called as the function itself is

Arrange = Callable[[list[Any]], tuple[Sequence[Any], dict[str, Any]]]


def compare(f: Any, arrange: Arrange, found: Trace | None, given: list[Any], rows: bool) -> bool:
    """Raise a TraceError if a trace has computed something else than the function does with plain numbers.

    `arrange` makes the arguments of f, by position and by name, from a flat list of numbers, which are `given`: those of one
    of many rows, or of one point. Without a trace of these numbers, there is made one. Nothing is compared if f can only be run
    on Values, as x.relu() can, or raises an exception; False if that may be due to these numbers.
    """
    if any(isinstance(x, Value) for x in given):
        return True
    inner = f
    while isinstance(inner, Derived) and inner.made_of[0] in SAME_ARGUMENTS:
        inner = inner.made_of[1]

    def run(*numbers: Any) -> Any:
        args, kwargs = arrange(list(numbers))
        result = inner(*args, **kwargs)
        return without_bools(result) if rows else result

    values = [float(x) for x in given]
    try:
        result = run_on_numbers(run, given)
        shape, got = _flat(result)
    except (AttributeError, TypeError):
        return True
    except Exception:
        return False
    if inner is not f or found is None:
        found = trace(run, ("tuple", (NUMBER,) * len(values)), values, frozen=True, origins=None if rows else given)
    if not alike(found.shape, shape):
        as_nan = _flat(
            result, complex_is_nan=True
        )  # (-8.0)**0.5 is a complex number in Python, and nan in IEEE arithmetic
        shape, got = as_nan if alike(found.shape, as_nan[0]) else (shape, got)
    if alike(found.shape, shape):
        differ = [k for k, (a, b) in enumerate(zip(got, found.numbers)) if a != b and (a == a or b == b)]
        if not differ or _by_rounding(found, values, got, differ, _coarseness(given)):
            return True
        with_numbers, traced = [_text([numbers[k] for k in differ]) for numbers in (got, found.numbers)]
    else:
        with_numbers, traced = written(shape), written(found.shape)
    raise unsteady(
        f"{name_of(inner)} gives {traced} when it is traced, and {with_numbers} for the numbers themselves\n"
        "  It is traced on Values in place of numbers, and takes another course with them: an `except` catches an error that "
        "only a Value raises, type(x) or hasattr(x, ...) decides, or a whole number is needed.\n"
        "  Use micrograd.math in place of math, and isinstance in place of type; name the arguments that are counts, "
        "indices or keys in jit(f, static_argnums=...)."
    )


def compare_row(
    f: Any, arrange: Arrange, found: Trace, row: list[float], like: Sequence[Any] | None, rows: bool
) -> None:
    """The same for a row that takes another branch than the one at hand; `like` has numbers of the classes to be taken."""
    given: list[Any] = list(row)
    for k, x in enumerate(like or ()):
        if isinstance(x, Value):
            return
        if type(x) is float:
            continue
        if x == row[k]:
            given[k] = x
        elif type(x) is int and float(row[k]).is_integer():
            given[k] = int(row[k])
        else:
            return
    compare(f, arrange, found, given, rows)


def agrees(f: Any, arrange: Arrange, found: Trace, given: list[Any]) -> bool:
    """Return whether a trace gives what a plain run of the function gives now, derivatives included.

    True where that cannot be told: f raises an exception, or its results are arranged in another way than those of the trace.
    """

    def run(*numbers: Any) -> Any:
        args, kwargs = arrange(list(numbers))
        return f(*args, **kwargs)

    values, params = [float(x) for x in given], peek(found.captured)
    try:
        got = interpret.run(found.tape, values, params)
        shape, want = _flat(run_on_numbers(run, given))
    except Exception:
        return True
    if not alike(found.shape, shape) or len(want) != len(got):
        return True
    differ = [k for k, (a, b) in enumerate(zip(want, got)) if a != b and (a == a or b == b)]
    if not differ:
        return True
    bounds = rounding(found.tape, values, params)
    return all(close(want[k], got[k], bounds[k] * _coarseness(given)) for k in differ)


def _flat(result: Any, complex_is_nan: bool = False) -> tuple[Shape, list[float]]:
    """The shape of a result, and the numbers in it."""

    def other(x: Any, to: list[Any]) -> Shape:
        if complex_is_nan and isinstance(x, complex):
            to.append(nan)
            return NUMBER
        return flatten(x, to)

    leaves: list[Any] = []
    shape = flatten(result, leaves, other)
    return shape, peek(leaves)


def _by_rounding(found: Trace, values: list[float], got: list[float], differ: list[int], coarseness: float) -> bool:
    bounds = rounding(found.tape, values, peek(found.captured))
    return all(close(got[k], found.numbers[k], bounds[k] * coarseness) for k in differ)


def _coarseness(given: Sequence[Any]) -> float:
    """How much coarser than a float the coarsest of these numbers is: NumPy computes with a float32 in single precision."""
    np = sys.modules.get("numpy")
    if np is None:
        return 1.0
    kinds = {type(x) for x in given if isinstance(x, np.floating)}
    return max([1.0, *(float(np.finfo(kind).eps) * 2.0**52 for kind in kinds)])


def _text(numbers: list[float]) -> str:
    return ", ".join(map(repr, numbers[:3])) + (", ..." if len(numbers) > 3 else "")
