"""Generator functions.

A generator function is run from its first item to its last when the first item is asked for. That gives what Python gives,
item by item, if the function has no effect and nothing that it reads changes meanwhile. Both are checked: everything within
its reach is compared, before and after it runs and whenever an item is taken.
"""

from __future__ import annotations

import ast
from typing import Any

from micrograd.stage import iterators
from micrograd.stage.attributes import attributes
from micrograd.stage.errors import Unsupported
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.state import Frame

YIELDS = ".yields"  # the variable that holds the list of what a generator has given
MAX_REACH = 2_000  # objects that a generator may read


def only_statements(node: Any) -> bool:
    """Whether each `yield` of a function is a statement, whose value nobody asks for."""
    every = [n for n in ast.walk(node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    alone = [n.value for n in ast.walk(node) if isinstance(n, ast.Expr)]
    return all(any(n is value for value in alone) for n in every)


class Generator(iterators.Iterator):
    """What a call of a generator function gives."""

    def __init__(self, function: Any, frame: Frame) -> None:
        self.function, self.frame = function, frame
        self.items: Any = None
        self.seen: Any = None

    def advance(self, m: Machine) -> tuple[Mask, Any]:
        """Take the next item."""
        self._moves(m)
        if self.items is None:
            self._run(m)
        elif not _same(self.seen, _reach(m, self.function, self.frame)):
            raise Unsupported("a generator reads what has changed since it began")
        return self.items.advance(m)  # type: ignore[no-any-return]

    def _run(self, m: Machine) -> None:
        frame = self.frame
        before = _reach(m, self.function, frame)
        given = frame.variables[YIELDS] = m.made([])
        own = dict(frame.variables)
        frame.exits = m.enter()
        self.function.body(m, frame)
        m.meet(frame.exits, None, None)
        if m.here is FALSE:
            raise Unsupported("a generator raises an exception")
        frame.variables.clear()
        frame.variables.update(own)  # what it holds at its end is of no interest
        self.seen = _reach(m, self.function, frame)
        if not _same(before, self.seen):
            raise Unsupported("a generator changes something outside of it")
        self.items = iterators.Sequence(given)
        if id(self) in m.births:
            m.made(self.items)


def _reach(m: Machine, code: Any, frame: Frame) -> list[Any]:
    """Everything that a generator can read and somebody can change: what each of these holds."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting: list[Any] = [v for name, v in frame.variables.items() if name != YIELDS]
    parent = frame.parent
    while parent is not None:
        here = [(name, v) for name, v in parent.variables.items() if name in code.names and not name.startswith(".")]
        found += here
        waiting += [v for _, v in here]
        parent = parent.parent
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if len(seen) > MAX_REACH:
            raise Unsupported("a generator can read too much")
        if isinstance(x, (list, tuple, set, frozenset)):
            held = list(x)
        elif isinstance(x, dict):
            held = [*x, *x.values()]
        elif isinstance(x, iterators.Iterator) or (id(x) in m.births and attributes(x)):
            held = list(attributes(x).values())
        else:
            continue
        found.append((x, held))
        waiting += held
    return found


def _same(one: list[Any], two: list[Any]) -> bool:
    if len(one) != len(two):
        return False
    for (x, held), (y, other) in zip(one, two):
        if isinstance(x, str):
            if x != y or held is not other:
                return False
        elif x is not y or len(held) != len(other) or any(a is not b for a, b in zip(held, other)):
            return False
    return True
