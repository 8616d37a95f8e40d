"""Along which axis the rows run: of each argument of vmap (in_axes), and of its result (out_axes).

An axis is a whole number, or None for what is the same in all rows. A dict, list or tuple of axes is for an argument that is
such a structure itself; one axis stands for all arrays in the structure that it is given for.
"""

from __future__ import annotations

from typing import Any

from micrograd.tree import is_array


def checked(name: str, axes: Any) -> Any:
    """The axes as they are given, with a tuple for a list at the top."""
    for axis in _leaves(axes):
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError(
                f"{name}={axes!r}: an axis is a whole number, or None for what is the same in all rows; a tuple has one for "
                "each argument, and a dict, list or tuple in it one for each part of an argument"
            )
    return tuple(axes) if isinstance(axes, list) else axes


def _leaves(axes: Any) -> list[Any]:
    if isinstance(axes, dict):
        return [leaf for part in axes.values() for leaf in _leaves(part)]
    if isinstance(axes, (list, tuple)):
        return [leaf for part in axes for leaf in _leaves(part)]
    return [axes]


def parts(x: Any, axes: Any, what: str) -> list[tuple[Any, Any]]:
    """The parts of a structure, each with its axes; TypeError where the two do not fit."""
    if isinstance(axes, dict):
        fits = isinstance(x, dict) and set(x) == set(axes)
        found = [(item, axes[key]) for key, item in x.items()] if fits else []
    else:
        fits = isinstance(x, (list, tuple)) and len(x) == len(axes)
        found = list(zip(x, axes)) if fits else []
    if not fits:
        held = (
            f"the keys {sorted(map(str, x))}"
            if isinstance(x, dict)
            else f"{len(x)} items"
            if hasattr(x, "__len__")
            else ""
        )
        raise TypeError(f"{what} is a {type(x).__name__} {held and 'of '}{held}, and its axes are {axes!r}")
    return found


def place_rows(result: Any, axes: Any, what: str = "the result") -> Any:
    """Move the rows of a result, which run along axis 0 of its arrays, to where `axes` says."""
    if isinstance(axes, (dict, list, tuple)):
        items = [place_rows(item, axis, f"a part of {what}") for item, axis in parts(result, axes, what)]
        return like(result, items)
    if is_array(result) or hasattr(result, "__dask_graph__"):  # NumPy's functions work on arrays of Dask too
        import numpy as np

        if axes is None:
            if not bool(np.all(result == result[:1])):
                raise ValueError(f"out_axes=None for {what}, which is not the same in all rows: give an axis")
            return result[0]
        if not -result.ndim <= axes < result.ndim:
            raise ValueError(
                f"{what} has {result.ndim} axes with that of the rows, so these cannot lie along axis {axes}"
            )
        return np.moveaxis(result, 0, axes)
    if isinstance(result, (dict, list, tuple)):
        items = [place_rows(x, axes, what) for x in (result.values() if isinstance(result, dict) else result)]
        return like(result, items)
    return result


def like(x: Any, items: list[Any]) -> Any:
    """A structure like x, of other items."""
    if isinstance(x, dict):
        return dict(zip(x, items))
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
