"""Functions that go once over an iterable and return one thing: sum, min, max, any, all, reduce, prod."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

_ABSENT: Any = object()
_NEW = sys.version_info >= (3, 12)
_LONG = 2**63


def any(iterable: Iterable[Any], /) -> bool:
    for item in iterable:
        if item:
            return True
    return False


def all(iterable: Iterable[Any], /) -> bool:
    for item in iterable:
        if not item:
            return False
    return True


def simple_sum(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """Return the sum as Python up to 3.11 computes it: from left to right, each addition rounded."""
    items = iter(iterable)
    _refuse_text(start)
    total = start
    for item in items:
        total = total + item
    return total


def compensated_sum(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """Return the sum as Python from 3.12 on computes it: what each addition of two floats loses is added at the end.

    Ints are added first, and compensated floats after them, as long as there is nothing else among the items.
    """
    items = iter(iterable)
    _refuse_text(start)
    total, lost = start, 0.0
    ints, floats = type(start) is int, type(start) is float
    for item in items:
        if floats and type(item) is float:
            new = total + item
            if abs(total) >= abs(item):
                lost = lost + ((total - new) + item)
            else:
                lost = lost + ((item - new) + total)
            total = new
        elif floats and isinstance(item, int) and -_LONG <= item < _LONG:
            total = total + item
        else:
            if floats:
                total = _with_lost(total, lost)
                lost = 0.0
            floats = False
            total = total + item
            if ints:
                ints = (type(item) is int or type(item) is bool) and -_LONG <= total < _LONG
                floats = type(total) is float
    return _with_lost(total, lost) if floats else total


def _with_lost(total: Any, lost: Any) -> Any:
    # An infinite or overflowed sum, of which infinities or nans have been lost, stays what it is, and so does -0.0.
    return total + lost if lost != 0.0 and lost - lost == 0.0 else total


sum = compensated_sum if _NEW else simple_sum


def _refuse_text(start: Any) -> None:
    if isinstance(start, str):
        raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
    if isinstance(start, bytes):
        raise TypeError("sum() can't sum bytes [use b''.join(seq) instead]")
    if isinstance(start, bytearray):
        raise TypeError("sum() can't sum bytearray [use b''.join(seq) instead]")


def min(first: Any, /, *others: Any, key: Callable[[Any], Any] | None = None, default: Any = _ABSENT) -> Any:
    if others and default is not _ABSENT:
        raise TypeError("Cannot specify a default for min() with multiple positional arguments")
    items = iter((first, *others) if others else first)
    for best in items:
        break
    else:
        if default is not _ABSENT:
            return default
        raise ValueError("min() iterable argument is empty" if _NEW else "min() arg is an empty sequence")
    if key is None:
        for item in items:
            if item < best:
                best = item
        return best
    best_key = key(best)
    for item in items:
        item_key = key(item)
        if item_key < best_key:
            best, best_key = item, item_key
    return best


def max(first: Any, /, *others: Any, key: Callable[[Any], Any] | None = None, default: Any = _ABSENT) -> Any:
    if others and default is not _ABSENT:
        raise TypeError("Cannot specify a default for max() with multiple positional arguments")
    items = iter((first, *others) if others else first)
    for best in items:
        break
    else:
        if default is not _ABSENT:
            return default
        raise ValueError("max() iterable argument is empty" if _NEW else "max() arg is an empty sequence")
    if key is None:
        for item in items:
            if item > best:
                best = item
        return best
    best_key = key(best)
    for item in items:
        item_key = key(item)
        if item_key > best_key:
            best, best_key = item, item_key
    return best


def reduce(function: Callable[[Any, Any], Any], iterable: Iterable[Any], initial: Any = _ABSENT, /) -> Any:
    try:
        items = iter(iterable)
    except TypeError:
        raise TypeError("reduce() arg 2 must support iteration") from None
    result = initial
    if initial is _ABSENT:
        for result in items:
            break
        else:
            raise TypeError("reduce() of empty iterable with no initial value")
    for item in items:
        result = function(result, item)
    return result


def prod(iterable: Iterable[Any], /, *, start: Any = 1) -> Any:
    result = start
    for item in iterable:
        result = result * item
    return result
