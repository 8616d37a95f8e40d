"""A learner's graph as a graph of real Values, so that the package's drawings can show it."""

from __future__ import annotations

from typing import Any

from micrograd import Value
from micrograd.learn.workshop.programs import Fault


def mirror(root: Any) -> dict[int, Value]:
    """A copy of the graph behind root: id of the learner's node -> real Value with the same data, operands and grad."""
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
    return copies
