"""int(x), round(x), math.floor(x) and their like: whole numbers that differ by row, and items of lists by such an index.

In eager code they are plain numbers, on which no derivative depends. Here they are numbers of the tape that are made by a step,
which has no slope. A row whose number is too large to be exact, or is none (int() of it raises an exception), is lost.

An item of a list by such an index is found by comparing the index with the number of each item: of a short list by a choice
for each item, of a long list of numbers by a loop in the tape. A row whose index is outside of the list is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage import mixed, special
from micrograd.stage.errors import Unsupported
from micrograd.stage.join import join, join_values
from micrograd.stage.lanes import Lane, lose, plain
from micrograd.stage.masks import FALSE
from micrograd.stage.nodes import node_of, result_of
from micrograd.stage.packed import ANY, FLOATS, MIXED, Packed, pack, packed
from micrograd.tape.builder import Builder
from micrograd.tape.tape import LOAD, PICK, Loop
from micrograd.tree import is_array

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

LARGEST = 2**36  # such numbers can be multiplied by others of up to 2**17, and stay exact
SHORT = 8  # numbers of a list up to which there is a choice for each of them
MOST = 32  # other things in a list, up to which there is a choice for each of them
LONGEST = 4096  # numbers of a list that a loop looks at: a row that looks at more would take longer than plain Python


def _conversion(f: Callable[..., Any], how: str) -> Callable[..., Any]:
    """The rule of a function that makes a number whole by the op `how`."""

    def of(m: Machine, *args: Any) -> Any:
        mixed.refuse(m, *args)
        special.refuse(m, *args)
        return m.lift(partial(to_int, m, f, how) if len(args) == 1 else f, *args)

    return of


def to_int(m: Machine, f: Callable[..., Any], how: str, x: Any) -> Any:
    """f(x), which is made by the op `how` where x is a number of the tape."""
    if type(x) is Lane and x.kind is int:
        return x
    number = plain(x)
    if not isinstance(number, Value):
        return f(x)
    exact = m.masks.compare("lt", abs(number), float(LARGEST))
    lose(m, m.masks.negate(exact), f"a whole number is made from more than {LARGEST:,}, or from no number")
    step = engine.apply(OPS["add"], engine.apply(OPS[how], number), 0.0)  # 0 has no sign
    return Lane(int, step, most=LARGEST)


RULES: dict[Any, Callable[..., Any]] = {
    int: _conversion(int, "trunc"),
    math.trunc: _conversion(math.trunc, "trunc"),
    math.floor: _conversion(math.floor, "floor"),
    math.ceil: _conversion(math.ceil, "ceil"),
}


def differs_by_row(index: Any) -> bool:
    """Whether an index is a whole number that may differ by row: one that is not made from the iteration numbers of loops."""
    return type(index) is Lane and index.kind is int and index.terms is None and index.within is None


def item(m: Machine, x: Any, index: Lane) -> Any:
    """x[index], where the index is any whole number."""
    array = packed(x)
    if array is not None:
        if type(array.length) is not int or type(array.start) is not int:
            raise Unsupported("an index that differs by row, of a list whose length changes")
        return _searched(m, array, _position(m, index, array.length))
    if (
        is_array(x) and x.ndim == 1 and x.dtype.str in ("<f8", ">f8")
    ):  # other numbers of NumPy have an arithmetic of their own
        x = [float(number) for number in x.tolist()]
    if type(x) not in (list, tuple) or not x:
        raise Unsupported("an index that differs by row, of something else than a list")
    ints = all(type(y) is int for y in x)
    numbers = ints or all(isinstance(y, Value) or _is_float(y) for y in map(m.now, x))
    if len(x) > (LONGEST if numbers else MOST):
        raise Unsupported(f"an index that differs by row, of a list of {len(x):,} {'numbers' if numbers else 'things'}")
    at = _position(m, index, len(x))
    if ints and len(x) > SHORT:
        return _searched_int(m, x, at)
    if numbers and len(x) > SHORT:
        return _searched(m, pack(m, list(x) if type(x) is tuple else x), at)
    entries, rest = [], m.here
    for k, y in enumerate(x[:-1]):
        rows = m.masks.both_of(rest, m.masks.compare("eq", at, float(k)))
        rest = m.masks.without(rest, rows)
        entries.append((rows, None, m.now(y)))
    return join(m, [e for e in [*entries, (rest, None, m.now(x[-1]))] if e[0] is not FALSE])


def _is_float(x: Any) -> bool:
    """Whether x is a plain float."""
    return isinstance(x, float) or (type(x) is Lane and x.kind is float)


def _position(m: Machine, index: Lane, length: int) -> Any:
    """Which item an index is that of, counted from the first one. Rows in which it is outside of the list are lost."""
    at = index.value
    below = m.masks.compare("lt", at, 0.0)
    negative, others = m.masks.both_of(m.here, below), m.masks.without(m.here, below)
    from_end = engine.apply(OPS["add"], at, float(length))
    if others is FALSE:
        at = from_end
    elif negative is not FALSE:
        at = join_values(m, [(negative, None, from_end), (others, None, at)])
    outside = m.masks.either(m.masks.compare("lt", at, 0.0), m.masks.compare("ge", at, float(length)))
    lose(m, outside, "an index is outside of a list")
    return at


def _searched_int(m: Machine, x: Any, at: Any) -> Any:
    """The item of a list of ints, which is an int as well."""
    most = max(map(abs, x))
    if most >= LARGEST:
        raise Unsupported("an index that differs by row, of a list with a very large int")
    key = id(x), "ints"
    known = m.stacks.get(key)
    if known is None or known[1] != list(x):
        known = m.stacks[key] = x, list(x), [float(y) for y in x]
    return Lane(int, plain(_searched(m, pack(m, known[2]), at)), most=most)


def _searched(m: Machine, p: Packed, at: Any) -> Any:
    """The item of an array that a loop over all of them finds."""
    b = Builder(4)
    found, array, wanted, number = (b.input(k) for k in range(4))
    step = number if p.step == 1 else b.emit(OPS["mul"], (number, b.const(float(p.step))))
    x = b.emit(LOAD, (array, b.emit(OPS["add"], (step, b.const(float(p.start)))) if p.start else step))
    body = b.finish([b.emit(PICK, (b.emit(OPS["eq"], (wanted, number)), x, found))])
    region = node_of(Loop(body, 1, 2, p.length), [0.0, p.array, at])
    numbers, k = getattr(p.array, "_numbers", None), at._data if isinstance(at, Value) else at
    y = numbers[p.start + p.step * int(k)] if numbers is not None and 0 <= k < p.length else 0.0
    region.__dict__["_numbers"] = [y]
    result = result_of(region, 0, y)
    if p.of in (MIXED, ANY):
        mixed.mark(m, result, ints=p.of is ANY)
    return Lane(float, result) if p.of is FLOATS else result


__all__ = ["RULES", "differs_by_row", "item", "to_int"]
