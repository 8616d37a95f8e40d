"""The attributes of objects of the user's classes, in a dict or in slots, without the special methods of their classes."""

from __future__ import annotations

import contextlib
from types import FunctionType, MemberDescriptorType
from typing import Any

from micrograd.core.remembered import per_object


def slots(kind: Any) -> dict[str, Any]:
    """The slots of a class: their names, and what reads and assigns each of them."""
    return _slots(kind) if _has_slots(kind) else {}


@per_object
def _has_slots(kind: Any) -> bool:
    return bool(_slots(kind))


def _slots(kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for k in reversed(kind.__mro__):
        if "__slots__" not in vars(k):  # a class of C has members that look the same
            continue
        found.update({name: d for name, d in vars(k).items() if type(d) is MemberDescriptorType})
    return found


def attributes(x: Any) -> dict[str, Any]:
    """The attributes that an object itself holds, as a copy: those in slots, then the others."""
    found: dict[str, Any] = {}
    for name, slot in slots(type(x)).items():
        try:
            found[name] = slot.__get__(x)
        except AttributeError:  # not assigned, or deleted
            continue
    found.update(getattr(x, "__dict__", {}))
    return found


def keeps(x: Any, name: str) -> bool:
    """Whether an object has room for an attribute, and its class does not decide what an assignment does."""
    if name in slots(type(x)):
        return True
    by_class = next((vars(k)[name] for k in type(x).__mro__ if name in vars(k)), None)
    return hasattr(x, "__dict__") and not hasattr(by_class, "__set__")


def put(x: Any, name: str, value: Any) -> None:
    """Let an object hold an attribute."""
    slot = slots(type(x)).get(name)
    if slot is not None:
        slot.__set__(x, value)
    else:
        vars(x)[name] = value


def replace(x: Any, held: dict[str, Any]) -> None:
    """Let an object hold these attributes and no others."""
    for name, slot in slots(type(x)).items():
        if name in held:
            slot.__set__(x, held[name])
            continue
        with contextlib.suppress(AttributeError):  # it is not there
            slot.__delete__(x)
    others = getattr(x, "__dict__", None)
    if others is not None:
        kept = slots(type(x))
        others.clear()
        others.update({name: value for name, value in held.items() if name not in kept})


def is_generated(f: Any) -> bool:
    """Whether a method was made by `dataclass`, from a text that is not kept."""
    return type(f) is FunctionType and f.__code__.co_filename == "<string>"


__all__ = ["attributes", "is_generated", "keeps", "put", "replace", "slots"]
