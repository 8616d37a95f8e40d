"""Scopes: which module of a model made a node, so that a drawing can fold a layer into one box.

A scope is a whole number; the engines stamp it on each new node (`Value._scope`, set by `observed.set_scope`).
The names live here. A scope is given back when neither its module nor a node with its stamp is alive: a program that makes
models for hours does not run out of numbers, and keeps no names of models that are gone.
"""

from __future__ import annotations

import weakref
from typing import Any

from micrograd import observed

_scopes: dict[int, tuple[str, int]] = {}  # scope -> (name, parent); 0 is "made outside any module"
_owners: dict[int, weakref.ref[Any]] = {}
_free: list[int] = []
_next = 1
_look_at = 100_000  # how many there are before those that are not in use are looked for


def new(name: str, owner: Any = None) -> int:
    """Make a scope for a module; one without a name (a model that is part of nothing) leaves no trace in a path."""
    global _next, _look_at
    if not _free and _next > min(_look_at, observed.MAX_SCOPE):
        give_back()
        _look_at = max(100_000, 2 * len(_scopes))
    if _free:
        scope = _free.pop()
    elif _next <= observed.MAX_SCOPE:
        scope, _next = _next, _next + 1
    else:
        raise OverflowError(
            f"more than {observed.MAX_SCOPE:,} modules are alive at once\n"
            "  Each of them has a number that its nodes are stamped with, and there are no more numbers.\n"
            "  Delete models that are not used any more, together with the results that were computed with them."
        )
    _scopes[scope] = (name, 0)
    if owner is not None:
        _owners[scope] = weakref.ref(owner)
    return scope


def give_back() -> None:
    """Free the scopes of which neither the module nor a node is alive."""
    used = observed.scopes_in_use()
    used |= {scope for scope in _scopes if scope not in _owners or _owners[scope]() is not None}
    for scope in list(used):
        used.update(_ancestry(scope))
    for scope in [s for s in _scopes if s not in used]:
        del _scopes[scope]
        _owners.pop(scope, None)
        _free.append(scope)


def adopt(child: int, parent: int, name: str) -> None:
    """Name a scope and put it inside another."""
    if child in _ancestry(parent):
        raise ValueError(f"scope {child} contains scope {parent}, so it cannot be put inside it")
    _scopes[child] = (name, parent)


def path(scope: int) -> tuple[str, ...]:
    """The names from the outside in, such as ("layer 0", "neuron 3"); () for 0."""
    names = [_scopes[s][0] for s in _ancestry(scope)]
    return tuple(name for name in reversed(names) if name)


def _ancestry(scope: int) -> list[int]:
    """The scope and what it is in, from the inside out."""
    inside_out = []
    while scope in _scopes:
        inside_out.append(scope)
        scope = _scopes[scope][1]
    return inside_out
