"""Functions that stand in for others, in a pickle: by their name where they have one, else by what they are made of."""

from __future__ import annotations

import sys
from typing import Any


def by_name(thing: Any, f: Any) -> tuple[Any, ...] | None:
    """What `__reduce__` gives for a thing that took f's name, as a decorator's result does; None where it did not."""
    module, path = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
    if module is None or path is None or _follow(sys.modules.get(module), path) is not thing:
        return None
    return find, (module, path)


def attribute_of(thing: Any, name: str) -> Any:
    """What a thing made of a function has from it, as it is now: the parameters of a model that was compiled."""
    if name.startswith("__") or "f" not in thing.__dict__:
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")
    return getattr(thing.f, name)


def find(module: str, path: str) -> Any:
    """The thing of that name."""
    import importlib

    return _follow(importlib.import_module(module), path)


def _follow(found: Any, path: str) -> Any:
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
