"""Functions that yield: generators, and those that contextlib.contextmanager makes a context manager of.

A generator function is run from its first item to its last when the first item is asked for. That gives what Python gives,
item by item, if the function has no effect and nothing that it reads changes meanwhile. Both are checked: everything within
its reach is compared, before and after it runs and whenever an item is taken.
"""

from __future__ import annotations

import ast
import contextlib
from typing import Any

from micrograd.stage import iterators, ragged
from micrograd.stage.errors import Unsupported
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.scope import Scope
from micrograd.stage.state import Exits, Frame

YIELDS = ".yields"  # the variable that holds the list of what a generator has given
MAX_REACH = 2_000  # objects that a generator may read


def code() -> None:
    """A function, for its type."""


@contextlib.contextmanager
def _example() -> Any:
    yield


HELPER = _example.__code__  # of the function that contextmanager puts in the place of another


def only_statements(node: Any) -> bool:
    """Whether each `yield` of a function is a statement, whose value nobody asks for."""
    every = [n for n in ast.walk(node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    alone = [n.value for n in ast.walk(node) if isinstance(n, ast.Expr)]
    return all(any(n is value for value in alone) for n in every)


def yield_(node: Any, scope: Scope) -> Any:
    """Compile `yield` as a statement."""
    from micrograd.stage import calls
    from micrograd.stage.expressions import alone, expression

    value = alone(node.value, expression(node.value, scope)) if node.value is not None else None
    several = isinstance(node, ast.YieldFrom)

    def run(m: Machine, frame: Frame) -> None:
        if YIELDS not in frame.variables:
            raise Unsupported("a `yield` outside of a function that yields")
        given = value(m, frame) if value is not None else None
        calls.extend(m, frame.variables[YIELDS], given if several else [given])

    return run


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


def makes(function: Any, generator: Generator) -> bool:
    """Whether a call of this function made the generator, so that nobody else holds it yet."""
    from micrograd.stage.functions import _compiled

    code = getattr(function, "code", None) or _compiled.get(getattr(function, "__code__", None))
    return code is generator.function


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
        elif isinstance(x, iterators.Iterator) or (id(x) in m.births and hasattr(x, "__dict__")):
            held = list(vars(x).values())
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


class Managed:
    """A context manager that contextlib.contextmanager makes of a function: what is before its `yield`, and what is behind."""

    def __init__(self, m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        from micrograd.stage.expressions import expression
        from micrograd.stage.functions import Code, bind, looker
        from micrograd.stage.scope import scope_of
        from micrograd.stage.source import tree_of
        from micrograd.stage.statements import block

        tree: Any = tree_of(function)
        body, self.always = list(tree.body), False
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        at = next((k for k, s in enumerate(body) if _yields(s) or isinstance(s, ast.Try)), None)
        if at is None:
            raise Unsupported("a context manager whose `yield` is inside of something")
        middle, after = body[at], body[at + 1 :]
        if isinstance(middle, ast.Try):
            last = middle.finalbody
            if after or middle.handlers or middle.orelse or len(middle.body) != 1 or not _yields(middle.body[0]):
                raise Unsupported("a context manager whose `yield` is inside of something")
            self.always = True
            middle, after = middle.body[0], last
        rest = [*body[:at], *after]
        if any(isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom)) for s in rest for n in ast.walk(s)):
            raise Unsupported("a context manager that returns or yields several times")
        filename = function.__code__.co_filename
        scope = scope_of(tree, None, filename, yields=True)
        given: Any = middle.value  # type: ignore[attr-defined]
        self.value = expression(given.value, scope) if given.value is not None else None
        self.before, self.after = block(body[:at], scope), block(after, scope)
        signature = Code(tree, None, filename, function.__qualname__, yields=True)
        self.frame = Frame(signature, None, looker(function), m.here, m.level)
        bind(
            m,
            signature,
            self.frame,
            args,
            kwargs,
            list(function.__defaults__ or ()),
            dict(function.__kwdefaults__ or {}),
        )

    def begin(self, m: Machine) -> Any:
        """What `with` binds to its target."""
        self.frame.exits = Exits(len(m.journals), m.here)
        self.before(m, self.frame)
        if m.here is FALSE:
            raise Unsupported("a context manager raises an exception")
        return self.value(m, self.frame) if self.value is not None else None

    def end(self, m: Machine, error: Any) -> None:
        """Behind the block; after an exception, only what stands in a `finally`."""
        if error is None or self.always:
            self.after(m, self.frame)


def _yields(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield)


__all__ = ["Generator", "Managed", "only_statements", "ragged", "yield_"]
