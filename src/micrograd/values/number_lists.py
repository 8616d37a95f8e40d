"""The numbers in nested lists, arrays and tensors, as the losses read predictions and targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from micrograd.engine import Value
from micrograd.tree import by_position


def flat(xs: Any) -> Iterator[Any]:
    """Give the items of nested lists, arrays or tensors in order; anything else is one item."""
    if isinstance(xs, (Value, str)):
        yield xs
        return
    _refuse_names(xs)
    xs = by_position(xs)
    if hasattr(xs, "tolist"):  # an array or a tensor, also one without axes
        xs = xs.tolist()
    if not hasattr(xs, "__iter__"):
        yield xs
    else:
        for x in xs:
            yield from flat(x)


def _refuse_names(xs: Any) -> None:
    if isinstance(xs, (dict, set, str)):
        raise TypeError(
            f"a loss takes numbers in lists or arrays, not a {type(xs).__name__}: {str(xs)[:60]}; give it the part that counts"
        )


def rows_of(xs: Any) -> Iterator[list[Any]]:
    """Give the innermost lists of nested lists in order."""
    _refuse_names(xs)
    xs = by_position(xs)
    items = xs.tolist() if hasattr(xs, "tolist") else list(xs)
    if items and not isinstance(items[0], Value) and hasattr(items[0], "__iter__"):
        for item in items:
            yield from rows_of(item)
    else:
        yield items
