"""A learner's graph as a graph of real Values, so that the package's drawings can show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import Value
from micrograd.learn.workshop.programs import Fault


def mirror(root: Any, *, live: bool = False) -> dict[int, Value]:
    """A copy of the graph behind root: id of the learner's node -> real Value with the same data, operands and grad.

    The nodes of a live copy pass on gradients by the learner's own rules.
    """
    copies: dict[int, Value] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [child for child in node._prev if id(child) not in copies]
        if missing:
            if len(stack) > 1_000_000:
                raise Fault("The graph has no end: a node is among its own operands.")
            stack.extend(missing)
            continue
        stack.pop()
        if id(node) not in copies:
            copy = Value(node.data, tuple(copies[id(child)] for child in node._prev), node._op)
            copy.grad = node.grad
            copies[id(node)] = copy
            if live and node._prev:
                copy._backward = _rule_of(node, copies)  # type: ignore[method-assign]
    return copies


def _rule_of(node: Any, copies: dict[int, Value]) -> Callable[[], None]:
    """The learner's rule of one node, acting on the gradients of the copies."""
    family = [node, *node._prev]

    def push() -> None:
        for one in family:
            one.grad = copies[id(one)].grad
        node._backward()
        for one in node._prev:
            copies[id(one)].grad = one.grad

    return push
