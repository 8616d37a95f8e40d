"""Which variable a name means: the scopes of a piece of source, before it is lowered.

A scope is a module, a class, a function or a comprehension. `analyse` walks a syntax tree once, and notes for every scope the
names that it binds, uses, and declares `global` or `nonlocal`. `Scope.find` says what a name means in a scope.

Python's rules: a name is a variable of the innermost function around it that binds it. Classes are passed over, unless
the name is used in the body of the class itself. A comprehension binds its targets, and evaluates its first iterable in the
scope around it. A name such as `__x` in a class `C` is `_C__x`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from typing import Any

CLASS_CELL = "__class__"
COMPREHENSION_NAMES = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


class Scope:
    """The names of one scope.

    kind: module, class, function, lambda, comprehension, generator expression, or closure, for the variables that a
    function from outside takes from the functions around it.

    A list, set or dict comprehension whose variables no function captures is `inline`: it has no frame of its own, and
    its variables are temporary variables of the frame around it (`renamed`).
    """

    def __init__(self, kind: str, name: str, parent: Scope | None, private: str = "") -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.private = private  # the class whose private names are mangled here
        self.qualname = name
        self.bound: dict[str, None] = {}  # in the order in which they are bound
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.used: set[str] = set()
        self.imported: set[str] = set()
        self.cells: set[str] = set()  # the variables that functions inside of it use
        self.free: set[str] = set()  # the variables of frames further out that it, or a function inside of it, uses
        self.generator = False
        self.inline = False
        self.renamed: dict[str, str] = {}
        self.first: str | None = None  # the first parameter, if it is positional

    def mangle(self, name: str) -> str:
        """Return the name that a private name in a class stands for."""
        if self.private and name.startswith("__") and not name.endswith("__") and "." not in name:
            owner = self.private.lstrip("_")
            return f"_{owner}{name}" if owner else name
        return name

    def owner(self, name: str) -> Scope | None:
        """Return the scope whose variable a name means here; None for a global variable or a builtin."""
        scope: Scope | None = self
        while scope is not None:
            if scope.kind == "class" and scope is not self:
                if name == CLASS_CELL:
                    return scope
            elif name in scope.globals:
                return None
            elif name in scope.bound:
                return None if scope.kind == "module" else scope
            scope = scope.parent
        return None

    def find(self, name: str) -> tuple[str, int] | None:
        """Return the variable that a name means, and the number of frames between; None for a global variable."""
        owner = self.owner(name)
        if owner is None:
            return None
        up, scope = 0, self
        while scope is not owner:
            up += not scope.inline
            assert scope.parent is not None
            scope = scope.parent
        return owner.renamed.get(name, name), up

    def frame(self) -> Scope:
        """Return the scope in whose frame the variables of this one are."""
        scope = self
        while scope.inline:
            assert scope.parent is not None
            scope = scope.parent
        return scope

    def function(self) -> Scope:
        """Return the innermost scope around this one that is not a comprehension; itself if it is none."""
        scope = self
        while scope.kind in ("comprehension", "generator expression"):
            assert scope.parent is not None
            scope = scope.parent
        return scope

    def inner_qualname(self, name: str) -> str:
        """Return the qualified name of a function or a class that is made here."""
        if name in self.globals or self.kind == "module":
            return name
        if self.kind == "closure":
            return self.qualname + name
        if self.kind == "comprehension" and sys.version_info >= (3, 12):
            assert self.parent is not None
            if sys.version_info >= (3, 13) or self.parent.kind != "class":  # inlined by Python, too
                return self.parent.inner_qualname(name)
        has_locals = self.kind in ("function", "lambda")
        return f"{self.qualname}.<locals>.{name}" if has_locals else f"{self.qualname}.{name}"


def analyse(tree: ast.AST, parent: Scope | None = None) -> dict[ast.AST, Scope]:
    """Return the scope of every module, class, function and comprehension in a tree, by its node."""
    walk = _Walk(parent)
    known = dict(walk.scope.bound)
    walk.visit(tree)
    if walk.scope.kind == "closure":  # the definition of a function from outside binds nothing there
        walk.scope.bound = known
    scopes = list(walk.scopes.values())
    for scope in scopes:  # the functions and generators that run later see each run of a comprehension by itself
        for name in scope.used | scope.nonlocals:
            owner = scope.owner(name)
            if owner is not None and any(s.kind != "comprehension" for s in _between(scope, owner)):
                owner.cells.add(name)
    for scope in scopes:
        scope.inline = scope.kind == "comprehension" and not scope.cells
    for scope in scopes:
        for name in scope.used | scope.nonlocals:
            owner = scope.owner(name)
            for between in _between(scope, owner) if owner is not None else ():
                if not between.inline:
                    between.free.add(name)
                    assert owner is not None
                    owner.cells.add(name)
    return walk.scopes


def _between(scope: Scope, owner: Scope) -> Iterable[Scope]:
    while scope is not owner:
        yield scope
        assert scope.parent is not None
        scope = scope.parent


class _Walk:
    """One walk over a tree, in a scope."""

    def __init__(self, scope: Scope | None) -> None:
        self.scopes: dict[ast.AST, Scope] = {}
        self.scope = scope or Scope("module", "<module>", None)

    def visit(self, node: Any) -> None:
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(self, node)
        else:
            self.inside(node)

    def inside(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def bind(self, name: str | None) -> None:
        if name is not None:
            self.scope.bound.setdefault(self.scope.mangle(name))

    def enter(self, node: ast.AST, kind: str, name: str) -> Scope:
        """Go into a new scope, and return the one around it."""
        around = self.scope
        self.scope = self.scopes[node] = Scope(kind, name, around, name if kind == "class" else around.private)
        self.scope.qualname = around.inner_qualname(name)
        return around

    # ---- names

    def name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id)
            return
        self.scope.used.add(self.scope.mangle(node.id))
        if node.id == "super" and self.scope.kind not in ("module", "class"):
            self.scope.used.add(CLASS_CELL)

    def walrus(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        target = self.scope.function()
        target.bound.setdefault(target.mangle(node.target.id))
        self.scope.used.add(target.mangle(node.target.id))  # a comprehension that assigns it uses it

    def declared(self, node: ast.Global | ast.Nonlocal) -> None:
        names = [self.scope.mangle(name) for name in node.names]
        (self.scope.globals if isinstance(node, ast.Global) else self.scope.nonlocals).update(names)

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                name = alias.asname or alias.name.split(".")[0]
                self.bind(name)
                self.scope.imported.add(self.scope.mangle(name))

    def caught(self, node: ast.ExceptHandler) -> None:
        self.bind(node.name)
        self.inside(node)

    def captured(self, node: Any) -> None:
        self.bind(node.rest if isinstance(node, ast.MatchMapping) else node.name)
        self.inside(node)

    def yielded(self, node: ast.Yield | ast.YieldFrom) -> None:
        self.scope.function().generator = True
        self.inside(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name) and not (node.simple or node.value):
            pass  # `(x): int` alone does not make x a variable
        else:
            self.visit(node.target)
        if self.scope.kind in ("module", "class"):  # a function does not evaluate them
            self.visit(node.annotation)
        self.all([node.value])

    # ---- scopes

    def module(self, node: ast.Module) -> None:
        self.scopes[node] = self.scope
        self.inside(node)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x is not None]]
        self.all((*a.defaults, *a.kw_defaults))
        if isinstance(node, ast.Lambda):
            around = self.enter(node, "lambda", "<lambda>")
        else:
            self.bind(node.name)
            self.all((*node.decorator_list, *[x.annotation for x in every], node.returns))
            around = self.enter(node, "function", node.name)
        for parameter in (*a.posonlyargs, *a.args)[:1]:
            self.scope.first = self.scope.mangle(parameter.arg)
        for parameter in every:
            self.bind(parameter.arg)
        self.all(node.body if isinstance(node.body, list) else [node.body])
        self.close(around)

    def class_(self, node: ast.ClassDef) -> None:
        self.bind(node.name)
        self.all((*node.decorator_list, *node.bases, *node.keywords))
        around = self.enter(node, "class", node.name)
        self.all(node.body)
        self.close(around)

    def comprehension(self, node: Any) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        kind = "generator expression" if isinstance(node, ast.GeneratorExp) else "comprehension"
        around = self.enter(node, kind, COMPREHENSION_NAMES[type(node)])
        self.scope.first = ".0"
        self.all((first.target, *first.ifs, *others))
        self.all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,))
        self.scope = around

    def close(self, around: Scope) -> None:
        """Go back to the scope around: what is declared global or nonlocal is not bound here."""
        for name in self.scope.globals | self.scope.nonlocals:
            self.scope.bound.pop(name, None)
        self.scope = around


_RULES: dict[type, Callable[[_Walk, Any], None]] = {
    ast.Name: _Walk.name,
    ast.NamedExpr: _Walk.walrus,
    ast.Global: _Walk.declared,
    ast.Nonlocal: _Walk.declared,
    ast.Import: _Walk.imported,
    ast.ImportFrom: _Walk.imported,
    ast.ExceptHandler: _Walk.caught,
    ast.MatchAs: _Walk.captured,
    ast.MatchStar: _Walk.captured,
    ast.MatchMapping: _Walk.captured,
    ast.Yield: _Walk.yielded,
    ast.YieldFrom: _Walk.yielded,
    ast.AnnAssign: _Walk.annotated,
    ast.Module: _Walk.module,
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.Lambda: _Walk.function,
    ast.ClassDef: _Walk.class_,
    **dict.fromkeys(COMPREHENSION_NAMES, _Walk.comprehension),
}
