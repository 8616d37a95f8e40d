"""Which variable a name means: one of this function, one of a function around it, or one from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from micrograd.stage.errors import Unsupported

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """The names of one function or comprehension."""

    def __init__(self, parent: Scope | None, filename: str) -> None:
        self.parent, self.filename = parent, filename
        self.own: set[str] = set()
        self.outer: set[str] = set()  # declared global
        self.shared: set[str] = set()  # own variables that a function inside assigns

    def hops(self, name: str) -> int | None:
        """How many frames up a variable is; None for one from outside of what is interpreted."""
        scope: Scope | None = self
        count = 0
        while scope is not None:
            if name in scope.outer:
                return None
            if name in scope.own:
                return count
            scope, count = scope.parent, count + 1
        return None


def scope_of(node: Any, parent: Scope | None, filename: str, yields: bool = False) -> Scope:
    """The scope of a function or lambda."""
    scope = Scope(parent, filename)
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    scope.own = {a.arg for a in every if a is not None}
    nonlocals: set[str] = set()
    for part in node.body if isinstance(node.body, list) else [node.body]:
        for inner in _own_nodes(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                scope.own.add(inner.id)
            elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                scope.own.add(inner.name)
            elif isinstance(inner, (ast.Import, ast.ImportFrom)):
                scope.own |= {(a.asname or a.name).split(".")[0] for a in inner.names}
            elif isinstance(inner, ast.Global):
                scope.outer |= set(inner.names)
            elif isinstance(inner, ast.Nonlocal):
                nonlocals |= set(inner.names)
            elif isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await)) and not yields:
                raise Unsupported("a generator or a coroutine")
            elif isinstance(inner, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and inner.name:
                scope.own.add(inner.name)
            elif isinstance(inner, ast.MatchMapping) and inner.rest:
                scope.own.add(inner.rest)
    scope.own -= nonlocals | scope.outer
    inside = [inner for part in ast.walk(node) if isinstance(part, ast.Nonlocal) for inner in part.names]
    scope.shared = scope.own & set(inside)
    return scope


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those in it, except for what is inside of other functions; of comprehensions, what `:=` assigns."""
    yield node
    if isinstance(node, FUNCTIONS):
        inside: list[ast.AST] = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        if not isinstance(node, ast.Lambda):
            inside += node.decorator_list
    elif isinstance(node, ast.ClassDef):
        inside = [*node.decorator_list, *node.bases]
    elif isinstance(node, COMPREHENSIONS):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield inner.target
        inside = [node.generators[0].iter]
    else:
        inside = list(ast.iter_child_nodes(node))
    for part in inside:
        yield from _own_nodes(part)


def comprehension_scope(node: Any, parent: Scope) -> Scope:
    """The scope of a comprehension: its targets."""
    scope = Scope(parent, parent.filename)
    assigned = {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    for generator in node.generators:
        scope.own |= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
    scope.own -= assigned
    return scope
