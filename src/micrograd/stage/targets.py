"""Targets of assignments, compiled to functions of (machine, frame, value)."""

from __future__ import annotations

import ast
from typing import Any

from micrograd.stage import calls, iterate, ragged
from micrograd.stage.errors import Unsupported
from micrograd.stage.language import Store, expression
from micrograd.stage.machine import Machine
from micrograd.stage.scope import Scope
from micrograd.stage.state import Frame
from micrograd.stage.summary import Summary


def target(node: ast.expr, scope: Scope) -> Store:
    """Compile what is assigned to."""
    if isinstance(node, ast.Name):
        name, hops = node.id, scope.hops(node.id)
        if hops is None:
            raise Unsupported(f"`{name}` is assigned outside of the function")
        count = hops

        def to_variable(m: Machine, frame: Frame, value: Any) -> None:
            for _ in range(count):
                frame = frame.parent
            m.assign(frame, name, value)

        return to_variable
    if isinstance(node, (ast.Tuple, ast.List)):
        return _unpack(node, scope)
    if isinstance(node, ast.Subscript):
        owner, index = expression(node.value, scope), expression(node.slice, scope)

        def to_item(m: Machine, frame: Frame, value: Any) -> None:
            x = owner(m, frame)
            calls.each(m, lambda a, i: calls.set_item(m, a, i, m.now(value)), x, index(m, frame))

        return to_item
    if isinstance(node, ast.Attribute):
        thing, attribute = expression(node.value, scope), node.attr

        def to_attribute(m: Machine, frame: Frame, value: Any) -> None:
            calls.each(m, lambda a: calls.set_attribute(m, a, attribute, m.now(value)), thing(m, frame))

        return to_attribute
    raise Unsupported(f"an assignment to {type(node).__name__}")


def _unpack(node: Any, scope: Scope) -> Store:
    stores = [target(e.value if isinstance(e, ast.Starred) else e, scope) for e in node.elts]
    stars = [k for k, e in enumerate(node.elts) if isinstance(e, ast.Starred)]
    count = len(stores)

    def split(m: Machine, value: Any) -> list[Any]:
        found = iterate.items(m, value)
        if not stars:
            return calls.exactly(found, count)
        at, behind = stars[0], count - stars[0] - 1
        if len(found) < count - 1:
            raise ValueError("not enough values to unpack")
        middle = m.made(list(found[at : len(found) - behind]))
        return [*found[:at], middle, *found[len(found) - behind :]]

    def store(m: Machine, frame: Frame, value: Any) -> None:
        value = ragged.settle(m, m.now(value))
        if type(value) is Summary:
            parts = m.lift(lambda x: tuple(split(m, x)), value)
            items = list(parts) if type(parts) is tuple else calls.exactly([], count)
        else:
            items = split(m, value)
        for part, one in zip(stores, items):
            part(m, frame, one)

    return store
