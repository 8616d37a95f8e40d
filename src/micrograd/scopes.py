"""Scopes: which module of a model made a node, so that a drawing can fold a layer into one box.

A scope is a whole number; the engines stamp it on each new node (`Value._scope`, set by `engine.set_scope`).
The names live here.
"""

from __future__ import annotations

from itertools import count

_fresh = count(1)  # 0 is "made outside any module"
_scopes: dict[int, tuple[str, int]] = {}  # scope -> (name, parent)


def new(name: str) -> int:
    """Make a scope; one without a name (a model that is part of nothing) leaves no trace in a path."""
    scope = next(_fresh)
    _scopes[scope] = (name, 0)
    return scope


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
