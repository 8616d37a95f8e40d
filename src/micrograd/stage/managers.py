"""Context managers that contextlib.contextmanager makes of functions."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.functions import Code, bind, looker
from micrograd.stage.language import block, expression
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.scope import scope_of
from micrograd.stage.source import tree_of
from micrograd.stage.state import Exits, Frame


@contextlib.contextmanager
def _example() -> Any:
    yield


HELPER = _example.__code__  # of the function that contextmanager puts in the place of another


class Managed:
    """A context manager that contextlib.contextmanager makes of a function: what is before its `yield`, and what is behind."""

    def __init__(self, m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
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
