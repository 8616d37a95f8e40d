"""Statements, lowered: assignment, loops, exceptions, `with`, functions, classes, imports."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable
from typing import Any

from micrograd.core.expressions import BINARY, Then
from micrograd.core.forms import (
    NAMESPACE,
    POSITIONAL_ONLY,
    RAISE,
    RETURN,
    Alloc,
    Argument,
    Block,
    Call,
    Const,
    Del,
    DelGlobal,
    DelVar,
    Finally,
    Function,
    Get,
    Handle,
    If,
    Keyword,
    Leave,
    Let,
    Loop,
    Make,
    Next,
    Node,
    Parameter,
    Position,
    Prim,
    Seq,
    Set,
    SetVar,
    Var,
    undefined,
)
from micrograd.core.patterns import Patterns
from micrograd.core.scopes import Scope
from micrograd.core.source import first_line


class _Labels:
    """The labels that `break` and `continue` leave in a loop, made where they are used."""

    def __init__(self, new: Callable[[str], str]) -> None:
        self.new = new
        self.used: dict[str, str] = {}

    def label(self, word: str) -> str:
        if word not in self.used:
            self.used[word] = self.new(word)
        return self.used[word]

    def around(self, word: str, body: Node) -> Node:
        return Block(body.at, self.used[word], body) if word in self.used else body


class Statements(Patterns):
    """Lowers the statements of a piece of source."""

    def __init__(self, file: str, scopes: dict[ast.AST, Scope], scope: Scope, future: bool) -> None:
        super().__init__(file, scopes, scope)
        self.future = future  # whether annotations are strings
        self.loops: list[_Labels] = []
        self.handled: list[str | None] = []  # the variable of each `except` around; None for a `finally`

    def body(self, statements: list[ast.stmt], at: Position) -> Node:
        lowered = [self.statement(n) for n in statements if not isinstance(n, ast.Pass)]
        return lowered[0] if len(lowered) == 1 else Seq(at, tuple(lowered))

    def statement(self, node: ast.stmt) -> Node:
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(_WORDS.get(type(node).__name__, type(node).__name__), at)
        return rule(self, node, at)

    def nothing(self, node: ast.stmt, at: Position) -> Node:
        return Const(at, None)

    def expression(self, node: ast.Expr, at: Position) -> Node:
        return Const(at, None) if isinstance(node.value, ast.Constant) else self.value(node.value)

    # ---- assignment

    def assign(self, target: ast.expr, value: Node) -> Node:
        """Lower an assignment of a value to a target."""
        at = Position(target.lineno, target.col_offset, target.end_lineno, target.end_col_offset)
        if isinstance(target, ast.Name):
            return self.write(target.id, value, at)
        if isinstance(target, ast.Attribute):
            return Set(at, "attr", value, self.value(target.value), Const(at, self.scope.mangle(target.attr)))
        if isinstance(target, ast.Subscript):
            return Set(at, "item", value, self.value(target.value), self.value(target.slice))
        assert isinstance(target, ast.Tuple | ast.List)
        stars = [isinstance(n, ast.Starred) for n in target.elts]
        before = stars.index(True) if any(stars) else len(stars)
        after = len(stars) - before - 1 if any(stars) else None
        unpacked = Prim(at, "unpack", (value, Const(at, before), Const(at, after)))

        def each(items: Node) -> Node:
            targets = [n.value if isinstance(n, ast.Starred) else n for n in target.elts]
            return Seq(at, tuple(self.assign(n, Get(at, "item", items, Const(at, i))) for i, n in enumerate(targets)))

        return self.bound(unpacked, each, at)

    def assignment(self, node: ast.Assign, at: Position) -> Node:
        if len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if not (isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)):
                return self.assign(target, self.value(value))
            starred = any(isinstance(n, ast.Starred) for n in (*target.elts, *value.elts))
            if starred or len(target.elts) != len(value.elts):
                return self.assign(target, self.value(value))
            return self._parallel(target.elts, value.elts, at)
        return self.bound(self.value(node.value), lambda v: Seq(at, tuple(self.assign(t, v) for t in node.targets)), at)

    def _parallel(self, targets: list[ast.expr], values: list[ast.expr], at: Position) -> Node:
        """Lower `a, b = b, a`, without a tuple."""

        def rest(i: int, found: tuple[Node, ...]) -> Node:
            if i == len(values):
                return Seq(at, tuple(self.assign(t, v) for t, v in zip(targets, found)))
            return self.bound(self.value(values[i]), lambda v: rest(i + 1, (*found, v)), at)

        return rest(0, ())

    def augmented(self, node: ast.AugAssign, at: Position) -> Node:
        op, target = BINARY[type(node.op)] + "=", node.target
        if isinstance(target, ast.Name):
            return self.write(target.id, Prim(at, op, (self.read(target.id, at), self.value(node.value))), at)
        how = "attr" if isinstance(target, ast.Attribute) else "item"

        def changed(obj: Node, key: Node) -> Node:
            new = Prim(at, op, (Get(at, how, obj, key), self.value(node.value)))
            return Set(at, how, new, obj, key)

        obj = self.value(target.value)
        if isinstance(target, ast.Attribute):
            return self.bound(obj, lambda o: changed(o, Const(at, self.scope.mangle(target.attr))), at)
        return self.bound(obj, lambda o: self.bound(self.value(target.slice), lambda k: changed(o, k), at), at)

    def deletion(self, node: ast.Delete, at: Position) -> Node:
        return Seq(at, tuple(self._delete(n) for n in node.targets))

    def _delete(self, target: ast.expr) -> Node:
        at = Position(target.lineno, target.col_offset, target.end_lineno, target.end_col_offset)
        if isinstance(target, ast.Name):
            return self.delete(target.id, at)
        if isinstance(target, ast.Attribute):
            return Del(at, "attr", self.value(target.value), Const(at, self.scope.mangle(target.attr)))
        if isinstance(target, ast.Subscript):
            return Del(at, "item", self.value(target.value), self.value(target.slice))
        assert isinstance(target, ast.Tuple | ast.List)
        return Seq(at, tuple(self._delete(n) for n in target.elts))

    def delete(self, name: str, at: Position) -> Node:
        name = self.scope.mangle(name)
        if self.in_namespace(name):
            # Python reports a missing name as a NameError, not as a KeyError.
            done, error, none = self.new("done"), self.new(), Const(at, None)
            item = Del(at, "item", Var(at, NAMESPACE, 0), Const(at, name))
            undefined_name = Call(at, Const(at, undefined), (Argument(Const(at, name)),))
            handled = Handle(at, Seq(at, (item, Leave(at, done, none))), error, none)
            return Block(at, done, Seq(at, (handled, Leave(at, RAISE, undefined_name))))
        found = self.scope.find(name)
        return DelGlobal(at, name) if found is None else DelVar(at, *found)

    def annotated(self, node: ast.AnnAssign, at: Position) -> Node:
        target = node.target
        steps = [] if node.value is None else [self.assign(target, self.value(node.value))]
        if node.value is None and isinstance(target, ast.Attribute | ast.Subscript):
            steps.append(self.value(target.value))
            if isinstance(target, ast.Subscript):
                steps.append(self.value(target.slice))
        if self.scope.kind in ("module", "class") and sys.version_info < (3, 14):
            if isinstance(target, ast.Name) and node.simple:
                table = self.read("__annotations__", at)
                name = Const(at, self.scope.mangle(target.id))
                steps.append(Set(at, "item", self.annotation(node.annotation), table, name))
            elif not self.future:
                steps.append(self.value(node.annotation))
        return Seq(at, tuple(steps))

    # ---- control flow

    def returned(self, node: ast.Return, at: Position) -> Node:
        return Leave(at, RETURN, self.value_or_none(node.value, at))

    def conditional_statement(self, node: ast.If, at: Position) -> Node:
        return If(at, self.test(node.test), self.body(node.body, at), self.body(node.orelse, at))

    def while_loop(self, node: ast.While, at: Position) -> Node:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def loop(end: str, body: Node) -> Node:
            return Loop(at, body if endless else If(at, self.test(node.test), body, Leave(at, end, Const(at, None))))

        return self._loop(node, at, loop)

    def for_loop(self, node: ast.For, at: Position) -> Node:
        name = self.new()
        iterable = self.value(node.iter)

        def loop(end: str, body: Node) -> Node:
            target = self.assign(node.target, Next(at, Var(at, name, 0), end))
            return Loop(at, Seq(at, (target, body)))

        return self._loop(node, at, loop, lambda inner: Let(at, name, Prim(at, "iter", (iterable,)), inner))

    def _loop(
        self, node: ast.For | ast.While, at: Position, loop: Callable[[str, Node], Node], around: Then | None = None
    ) -> Node:
        """Lower a loop: `loop` is given the label that it leaves at its end, and the lowered body."""
        labels, end = _Labels(self.new), self.new("end")
        self.loops.append(labels)
        body = labels.around("continue", self.body(node.body, at))
        self.loops.pop()
        result: Node = Block(at, end, loop(end, body))
        if around is not None:
            result = around(result)
        if node.orelse:
            result = Seq(at, (result, self.body(node.orelse, at)))
        return labels.around("break", result)

    def loop_exit(self, node: ast.Break | ast.Continue, at: Position) -> Node:
        return Leave(at, self.loops[-1].label(type(node).__name__.lower()), Const(at, None))

    # ---- exceptions

    def raised(self, node: ast.Raise, at: Position) -> Node:
        if node.exc is None:
            name = self.handled[-1] if self.handled else None
            return Leave(at, RAISE, Prim(at, "handled", ()) if name is None else Var(at, name, 0))
        operands = [self.value(n) for n in (node.exc, node.cause) if n is not None]
        return Leave(at, RAISE, Prim(at, "exception", tuple(operands)))

    def assertion(self, node: ast.Assert, at: Position) -> Node:
        if not __debug__:  # python -O leaves them out
            return Const(at, None)
        args = () if node.msg is None else (Argument(self.value(node.msg)),)
        error = Call(at, Const(at, AssertionError), args)
        return If(at, self.test(node.test), Const(at, None), Leave(at, RAISE, error))

    def tried(self, node: ast.Try, at: Position) -> Node:
        body = self.body(node.body, at)
        if node.handlers:
            error, done = self.new(), self.new("done")
            catch: Node = Leave(at, RAISE, Var(at, error, 0))
            self.handled.append(error)
            for handler in reversed(node.handlers):
                catch = self._handler(handler, error, catch)
            self.handled.pop()
            if node.orelse:
                catch = Leave(at, done, catch)
            body = Handle(at, body, error, catch)
            if node.orelse:
                body = Block(at, done, Seq(at, (body, self.body(node.orelse, at))))
        elif node.orelse:
            body = Seq(at, (body, self.body(node.orelse, at)))
        if not node.finalbody:
            return body
        self.handled.append(None)
        final = self.body(node.finalbody, at)
        self.handled.pop()
        return Finally(at, body, final)

    def _handler(self, node: ast.ExceptHandler, error: str, others: Node) -> Node:
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        body = self.body(node.body, at)
        if node.name is not None:  # Python unbinds the name at the end
            unbound = Seq(at, (self.write(node.name, Const(at, None), at), self.delete(node.name, at)))
            body = Seq(at, (self.write(node.name, Var(at, error, 0), at), Finally(at, body, unbound)))
        if node.type is None:
            return body
        return If(at, Prim(at, "catches", (Var(at, error, 0), self.value(node.type))), body, others)

    def with_(self, node: ast.With, at: Position) -> Node:
        return self._with(node, 0)

    def _with(self, node: ast.With, i: int) -> Node:
        if i == len(node.items):
            return self.body(node.body, Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
        item = node.items[i]
        e = item.context_expr
        at = Position(e.lineno, e.col_offset, e.end_lineno, e.end_col_offset)
        manager, enter, leave, ended, error = (self.new() for _ in range(5))

        def exit(*args: Node) -> Node:
            return Call(at, Var(at, leave, 0), tuple(Argument(a) for a in args))

        none, caught = Const(at, None), Var(at, error, 0)
        entered: Node = Call(at, Var(at, enter, 0), ())
        if item.optional_vars is None:
            first, inner = entered, self._with(node, i + 1)
        else:
            value = self.new()
            first = Const(at, None)
            inner = Seq(at, (self.assign(item.optional_vars, Var(at, value, 0)), self._with(node, i + 1)))
        kind = Call(at, Const(at, type), (Argument(caught),))
        suppressed = exit(kind, caught, Get(at, "attr", caught, Const(at, "__traceback__")))
        catch = Seq(
            at,
            (
                SetVar(at, ended, 0, Const(at, True)),
                If(at, suppressed, none, Leave(at, RAISE, caught)),
            ),
        )
        body: Node = Finally(
            at, Handle(at, inner, error, catch), If(at, Var(at, ended, 0), none, exit(none, none, none))
        )
        body = Let(at, ended, Const(at, False), body)
        body = Seq(at, (first, body)) if item.optional_vars is None else Let(at, value, entered, body)
        for name, method in ((leave, "__exit__"), (enter, "__enter__")):
            body = Let(at, name, Get(at, "special", Var(at, manager, 0), Const(at, method)), body)
        return Let(at, manager, self.value(item.context_expr), body)

    # ---- imports

    def imported(self, node: ast.Import, at: Position) -> Node:
        steps: list[Node] = []
        for alias in node.names:
            module: Node = Prim(at, "import", (Const(at, alias.name), Const(at, None), Const(at, 0)))
            first, *others = alias.name.split(".")
            if alias.asname is not None:
                for name in others:
                    module = Prim(at, "import from", (module, Const(at, name)))
            steps.append(self.write(alias.asname or first, module, at))
        return Seq(at, tuple(steps))

    def imported_from(self, node: ast.ImportFrom, at: Position) -> Node:
        if node.module == "__future__":
            return Const(at, None)
        names = tuple(alias.name for alias in node.names)
        module = Prim(at, "import", (Const(at, node.module or ""), Const(at, names), Const(at, node.level)))

        def each(m: Node) -> Node:
            if names == ("*",):
                return Prim(at, "import *", (m,))
            found = [(a.asname or a.name, Prim(at, "import from", (m, Const(at, a.name)))) for a in node.names]
            return Seq(at, tuple(self.write(name, value, at) for name, value in found))

        return self.bound(module, each, at)

    # ---- functions and classes

    def function_definition(self, node: ast.FunctionDef, at: Position) -> Node:
        decorators = [self.value(n) for n in node.decorator_list]
        defaults, attributes = self.defaults(node.args), self.annotations(node, at)
        made: Node = Make(at, self.definition(node, at), defaults, attributes)
        for decorator in reversed(decorators):
            made = Call(decorator.at, decorator, (Argument(made),))
        return self.write(node.name, made, at)

    def definition(self, node: ast.FunctionDef, at: Position) -> Function:
        """Return the function that a `def` makes."""
        loops, handled, self.loops, self.handled = self.loops, self.handled, [], []
        first = first_line(node)

        def body() -> Node:
            lowered = self.body(node.body, at)
            return lowered if _never_ends(node.body) else Seq(at, (lowered, Const(at, None)))

        made = self.function(self.scopes[node], at, first, self.signature(node.args), _docstring(node.body), body)
        self.loops, self.handled = loops, handled
        return made

    def annotations(self, node: ast.FunctionDef, at: Position) -> tuple[tuple[str, Node], ...]:
        """Lower the annotations of a function, as the attributes of the function object."""
        a = node.args
        stars = [[p] if p is not None else [] for p in (a.vararg, a.kwarg)]
        every = (*a.args, *a.posonlyargs, *stars[0], *a.kwonlyargs, *stars[1])  # in Python's order
        found = [(p.arg, p.annotation) for p in every if p.annotation is not None]
        if node.returns is not None:
            found.append(("return", node.returns))
        if not found or sys.version_info >= (3, 14):
            return ()
        pairs = [(Const(at, self.scope.mangle(name)), self.annotation(n)) for name, n in found]
        return (("__annotations__", Alloc(at, "dict", tuple(x for pair in pairs for x in pair))),)

    def annotation(self, node: ast.expr) -> Node:
        at = Position(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        if isinstance(node, ast.Starred):  # *args: *Ts
            one = Prim(at, "unpack", (self.value(node.value), Const(at, 1), Const(at, None)))
            return Get(at, "item", one, Const(at, 0))
        return Const(at, _as_text(node)) if self.future else self.value(node)

    def class_definition(self, node: ast.ClassDef, at: Position) -> Node:
        decorators = [self.value(n) for n in node.decorator_list]
        loops, handled, self.loops, self.handled = self.loops, self.handled, [], []
        first = first_line(node)
        namespace = (Parameter(NAMESPACE, POSITIONAL_ONLY),)
        body = self.function(self.scopes[node], at, first, namespace, None, lambda: self._class_body(node, first, at))
        self.loops, self.handled = loops, handled
        args = [Argument(Make(at, body, (), ())), Argument(Const(at, node.name))]
        for base in node.bases:
            star = isinstance(base, ast.Starred)
            args.append(Argument(self.value(base.value if isinstance(base, ast.Starred) else base), star))
        keywords = tuple(Keyword(k.arg, self.value(k.value)) for k in node.keywords)
        made: Node = Call(at, Const(at, builtins.__build_class__), tuple(args), keywords)
        for decorator in reversed(decorators):
            made = Call(decorator.at, decorator, (Argument(made),))
        return self.write(node.name, made, at)

    def _class_body(self, node: ast.ClassDef, first_line: int, at: Position) -> Node:
        def put(name: str, value: Node) -> Node:
            return Set(at, "item", value, Var(at, NAMESPACE, 0), Const(at, name))

        steps = [put("__module__", self.read("__name__", at)), put("__qualname__", Const(at, self.scope.qualname))]
        if sys.version_info >= (3, 13):
            steps.append(put("__firstlineno__", Const(at, first_line)))
        if sys.version_info < (3, 14) and _has_annotations(node.body):
            known = Prim(at, "in", (Const(at, "__annotations__"), Var(at, NAMESPACE, 0)))
            steps.append(If(at, known, Const(at, None), put("__annotations__", Alloc(at, "dict", ()))))
        doc = _docstring(node.body)
        if doc is not None:
            steps.append(put("__doc__", Const(at, doc)))
        steps.append(self.body(node.body, at))
        if sys.version_info >= (3, 13):
            steps.append(put("__static_attributes__", Const(at, _static_attributes(node))))
        return Seq(at, (*steps, Const(at, None)))

    def module(self, node: ast.Module) -> Function:
        """Lower a whole module, as a function without parameters whose variables are global."""
        at, scope = Position(1), self.scopes[node]
        steps: list[Node] = []
        doc = _docstring(node.body)
        steps.append(self.write("__doc__", Const(at, doc), at))
        if sys.version_info < (3, 14) and _has_annotations(node.body):
            table = Prim(at, "in", (Const(at, "__annotations__"), Call(at, Const(at, globals), ())))
            new = self.write("__annotations__", Alloc(at, "dict", ()), at)
            steps.append(If(at, table, Const(at, None), new))
        return self.function(
            scope, at, 1, (), None, lambda: Seq(at, (*steps, self.body(node.body, at), Const(at, None)))
        )


def _never_ends(body: list[ast.stmt]) -> bool:
    """Return whether execution never reaches the end of some statements."""
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    return isinstance(last, ast.If) and bool(last.orelse) and _never_ends(last.body) and _never_ends(last.orelse)


def _docstring(body: list[ast.stmt]) -> str | None:
    first = body[0] if body and sys.flags.optimize < 2 else None
    text = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
    return _cleaned(text) if isinstance(text, str) else None


def _cleaned(doc: str) -> str:
    """Return a docstring as Python keeps it: from 3.13 on, without its indentation."""
    if sys.version_info < (3, 13):
        return doc
    code = compile(ast.fix_missing_locations(ast.Module([ast.Expr(ast.Constant(doc))], [])), "<doc>", "exec")
    return str(code.co_consts[0])


def _as_text(node: ast.expr) -> str:
    """Return an annotation as `from __future__ import annotations` keeps it."""
    import __future__

    target = ast.AnnAssign(ast.Name("x", ast.Store()), node, None, 1)
    module = ast.fix_missing_locations(ast.Module([target], []))
    code = compile(module, "<annotation>", "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    return next(c for c in code.co_consts if isinstance(c, str) and c != "x")


def _has_annotations(body: list[ast.stmt]) -> bool:
    """Return whether a class or a module has annotations of its own, be it in an `if` or a loop."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            waiting += ast.iter_child_nodes(node)
    return False


def _static_attributes(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the attributes that the methods of a class assign to `self`."""
    found: dict[str, None] = {}
    waiting: list[ast.AST] = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    while waiting:
        n = waiting.pop()
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and getattr(n.value, "id", "") == "self":
            found[n.attr] = None
        if not isinstance(n, ast.ClassDef):
            waiting += ast.iter_child_nodes(n)
    return tuple(sorted(found))


_WORDS = {
    "AsyncFunctionDef": "an asynchronous function",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "TryStar": "`except*`",
    "TypeAlias": "a `type` statement",
}
_STATEMENTS: dict[type, Callable[[Statements, Any, Position], Node]] = {
    ast.Pass: Statements.nothing,
    ast.Global: Statements.nothing,
    ast.Nonlocal: Statements.nothing,
    ast.Expr: Statements.expression,
    ast.Assign: Statements.assignment,
    ast.AugAssign: Statements.augmented,
    ast.AnnAssign: Statements.annotated,
    ast.Delete: Statements.deletion,
    ast.Return: Statements.returned,
    ast.If: Statements.conditional_statement,
    ast.While: Statements.while_loop,
    ast.For: Statements.for_loop,
    ast.Break: Statements.loop_exit,
    ast.Continue: Statements.loop_exit,
    ast.Raise: Statements.raised,
    ast.Assert: Statements.assertion,
    ast.Try: Statements.tried,
    ast.With: Statements.with_,
    ast.Match: Statements.match,
    ast.Import: Statements.imported,
    ast.ImportFrom: Statements.imported_from,
    ast.FunctionDef: Statements.function_definition,
    ast.ClassDef: Statements.class_definition,
}
