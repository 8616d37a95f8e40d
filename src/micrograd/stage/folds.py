"""sum(), min(), max(), any() and all() of long generator expressions: called as functions with a loop, which may be rolled.

`sum(x * k for k in range(n) if k % 2)` is interpreted as a call of a function inside of the one that it stands in:

    def sum(items, start, plus):
        total = start
        for k in items:
            if k % 2:
                total = plus(total, x * k)
        return total

So a generator expression is rolled where that loop would be, and for the same reasons.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from micrograd.stage.functions import definition, enter
from micrograd.stage.items import left
from micrograd.stage.iterate import VERY_LONG, Comprehension, iterator
from micrograd.stage.language import PLUS, Run
from micrograd.stage.machine import Machine
from micrograd.stage.packed import LONG
from micrograd.stage.scope import Scope

# `each` stands for the loops of the generator expression, and `item` for what it gives.
_FUNCTIONS = {
    "sum": """
def sum(items, start, plus):
    total = start
    with each:
        total = plus(total, item)
    return total
""",
    "any": """
def any(items):
    with each:
        if item:
            return True
    return False
""",
    "all": """
def all(items):
    with each:
        if not item:
            return False
    return True
""",
    "min": """
def min(items):
    empty = True
    with each:
        new = item
        if empty:
            best = new
            empty = False
        elif new < best:
            best = new
    if empty:
        raise ValueError("min() arg is an empty sequence")
    return best
""",
}
_FUNCTIONS["max"] = _FUNCTIONS["min"].replace("min", "max").replace("new < best", "new > best")


class Folds:
    """The functions that a generator expression may be consumed by, compiled when they are first asked for."""

    def __init__(self, node: ast.GeneratorExp, scope: Scope) -> None:
        self.node, self.scope = node, scope
        self.made: dict[str, Run] = {}
        # `x := ...` in a generator expression assigns a variable of the function around it.
        self.possible = not any(isinstance(n, (ast.NamedExpr, ast.Await)) for n in ast.walk(node))

    def function(self, name: str) -> Run:
        """The definition of a fold, compiled."""
        if name not in self.made:
            self.made[name] = definition(self._written(name), self.scope)
        return self.made[name]

    def _written(self, name: str) -> ast.FunctionDef:
        found = ast.parse(_FUNCTIONS[name]).body[0]
        assert isinstance(found, ast.FunctionDef)
        for part in ast.walk(found):  # no variable of the user's has a dot in its name
            if isinstance(part, ast.Name) and part.id != "ValueError":
                part.id = "." + part.id
            elif isinstance(part, ast.arg):
                part.arg = "." + part.arg
            if hasattr(part, "lineno"):
                ast.copy_location(part, self.node)
        element = copy.deepcopy(self.node.elt)
        place = next(k for k, part in enumerate(found.body) if isinstance(part, ast.With))
        inside: list[Any] = [_Spliced(element).visit(part) for part in found.body[place].body]  # type: ignore[attr-defined]
        for k, g in reversed(list(enumerate(self.node.generators))):
            for test in reversed(g.ifs):
                inside = [ast.copy_location(ast.If(test, inside, []), self.node)]
            source = g.iter if k else ast.copy_location(ast.Name(".items", ast.Load()), self.node)
            inside = [ast.copy_location(ast.For(g.target, source, inside, []), self.node)]
        found.body[place : place + 1] = inside
        return found


class _Spliced(ast.NodeTransformer):
    def __init__(self, element: ast.expr) -> None:
        self.element = element

    def visit_Name(self, node: ast.Name) -> Any:
        return self.element if node.id == ".item" else node


def fold(m: Machine, source: Comprehension, f: Any, rest: list[Any]) -> Any:
    """f(source, *rest) by a call with a loop, if f is one of these; None where there are few items, which are written out."""
    if f not in (sum, min, max, any, all) or len(rest) > (f is sum):
        return None
    if source.folds is None or not source.folds.possible or source.used:
        return None
    first = source.first = iterator(m, source.first)
    if len(source.loops) == 1 and left(first) < (VERY_LONG if m.rolling is None else LONG):
        return None
    source.used = True
    function = source.folds.function(f.__name__)(m, source.outer)
    more = [*(rest or [0]), PLUS] if f is sum else []
    return m.now(enter(m, function, [first, *more], {}))


__all__ = ["Folds", "fold"]
