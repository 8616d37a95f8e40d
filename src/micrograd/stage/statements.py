"""Statements, compiled to functions of (machine, frame)."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd.stage import calls, iterate, managers, matching, outcomes, ragged, renamed
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.expressions import BINARY, expression
from micrograd.stage.functions import definition
from micrograd.stage.loops import loop_for, loop_while
from micrograd.stage.machine import MAX_STATEMENTS, OWN, Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.operators import binary, item
from micrograd.stage.scope import Scope
from micrograd.stage.state import Exits, Frame
from micrograd.stage.summary import UNBOUND, Summary

PACKAGE = str(Path(__file__).resolve().parents[1])

Step = Callable[[Machine, Frame], None]
Store = Callable[[Machine, Frame, Any], None]


def block(body: list[ast.stmt], scope: Scope) -> Step:
    """Compile statements one after the other."""
    name = Path(scope.filename).name
    if scope.filename.startswith(PACKAGE):
        name = OWN + name
    steps = [(f"{name}:{s.lineno}", statement(s, scope)) for s in body]

    def run(m: Machine, frame: Frame) -> None:
        for line, step in steps:
            m.line = line
            m.statements += 1
            if m.statements > (MAX_STATEMENTS if m.rolled else m.limits.statements):
                raise Unsupported("the program is too long to merge its paths")
            here, journals, around, depth = m.here, len(m.journals), m.bystanders, m.depth
            try:
                step(m, frame)
            except (Exception, Lost) as why:
                if m.handler() is None:
                    raise
                m.bystanders, m.depth = around, depth
                m.interrupted(here, why, journals)
            if m.handlers:
                m.here = m.uncaught(m.here)
            if m.here is FALSE:
                return
            if m.renamed:
                renamed.replace(m, frame)

    return run


def statement(node: ast.stmt, scope: Scope) -> Step:
    """Compile one statement; what is not merged fails when it is met, and not before."""
    make = _STATEMENTS.get(type(node))
    reason = f"`{type(node).__name__.lower()}` is not merged"
    if make is not None:
        try:
            return make(node, scope)
        except Unsupported as why:
            reason = str(why)

    def refuse(m: Machine, frame: Frame) -> None:
        raise Unsupported(reason)

    return refuse


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


def _assign(node: Any, scope: Scope) -> Step:
    value = expression(node.value, scope)
    stores = [target(t, scope) for t in node.targets]

    def run(m: Machine, frame: Frame) -> None:
        x = value(m, frame)
        for store in stores:
            store(m, frame, x)

    return run


def _annotated(node: Any, scope: Scope) -> Step:
    if node.value is None:
        return lambda m, frame: None
    value, store = expression(node.value, scope), target(node.target, scope)
    return lambda m, frame: store(m, frame, value(m, frame))


def _augmented(node: Any, scope: Scope) -> Step:
    op = BINARY[type(node.op)]
    value = expression(node.value, scope)
    where = node.target
    if isinstance(where, ast.Name):
        read: Any = expression(ast.copy_location(ast.Name(where.id, ast.Load()), where), scope)
        store = target(where, scope)

        def to_variable(m: Machine, frame: Frame) -> None:
            old = read(m, frame)
            store(m, frame, calls.in_place(m, op, old, value(m, frame)))

        return to_variable
    owner = expression(where.value, scope)
    if isinstance(where, ast.Subscript):
        index = expression(where.slice, scope)

        def to_item(m: Machine, frame: Frame) -> None:
            x, i, v = owner(m, frame), index(m, frame), None
            v = value(m, frame)
            calls.each(
                m, lambda a, k: calls.set_item(m, a, k, calls.in_place(m, op, m.now(item(m, a, k)), m.now(v))), x, i
            )

        return to_item
    name = where.attr

    def to_attribute(m: Machine, frame: Frame) -> None:
        x = owner(m, frame)
        v = value(m, frame)

        def change(a: Any) -> None:
            calls.set_attribute(m, a, name, calls.in_place(m, op, m.now(calls.attribute(m, a, name)), m.now(v)))

        calls.each(m, change, x)

    return to_attribute


def _expression(node: Any, scope: Scope) -> Step:
    if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
        found: Step = managers.yield_(node.value, scope)
        return found
    value = expression(node.value, scope)

    def run(m: Machine, frame: Frame) -> None:
        value(m, frame)

    return run


def _if(node: Any, scope: Scope) -> Step:
    test, body, orelse = expression(node.test, scope), block(node.body, scope), block(node.orelse, scope)

    def run(m: Machine, frame: Frame) -> None:
        mask = m.truth(test(m, frame))
        no = m.masks.without(m.here, mask)
        if no is FALSE:
            body(m, frame)
        elif mask is FALSE:
            orelse(m, frame)
        else:
            m.merged()
            m.fork([(mask, lambda: body(m, frame)), (no, lambda: orelse(m, frame))])

    return run


def _return(node: Any, scope: Scope) -> Step:
    value = expression(node.value, scope) if node.value is not None else None

    def run(m: Machine, frame: Frame) -> None:
        result = value(m, frame) if value is not None else None
        assert frame.exits is not None
        m.leave(frame.exits, result, None if frame.captured else frame)

    return run


def _leave(which: str) -> Callable[[Any, Scope], Step]:
    def make(node: Any, scope: Scope) -> Step:
        def run(m: Machine, frame: Frame) -> None:
            exits: Exits = frame.variables[which]
            m.leave(exits)

        return run

    return make


def _delete(node: Any, scope: Scope) -> Step:
    steps = [_delete_one(t, scope) for t in node.targets]

    def run(m: Machine, frame: Frame) -> None:
        for step in steps:
            step(m, frame)

    return run


def _delete_one(node: Any, scope: Scope) -> Step:
    if isinstance(node, ast.Name):
        store = target(ast.Name(node.id, ast.Store()), scope)
        return lambda m, frame: store(m, frame, UNBOUND)
    if not isinstance(node, ast.Subscript):
        raise Unsupported("an attribute is deleted")
    owner, index = expression(node.value, scope), expression(node.slice, scope)

    def run(m: Machine, frame: Frame) -> None:
        x = owner(m, frame)
        calls.each(m, lambda a, k: calls.change(m, a, lambda y: operator.delitem(y, k)), x, index(m, frame))

    return run


def _define(node: Any, scope: Scope) -> Step:
    make, store = definition(node, scope), target(ast.Name(node.name, ast.Store()), scope)
    return lambda m, frame: store(m, frame, make(m, frame))


def _import(node: Any, scope: Scope) -> Step:
    code = compile(ast.Module([node], []), scope.filename, "exec")
    names = [(a.asname or a.name).split(".")[0] for a in node.names]
    stores = [target(ast.Name(name, ast.Store()), scope) for name in names]

    def run(m: Machine, frame: Frame) -> None:
        found: dict[str, Any] = {"__name__": frame.lookup("__name__")}
        with contextlib.suppress(NameError):
            found["__package__"] = frame.lookup("__package__")
        exec(code, found)
        for name, store in zip(names, stores):
            store(m, frame, found[name])

    return run


def _nothing(node: Any, scope: Scope) -> Step:
    return lambda m, frame: None


_STATEMENTS: dict[type, Callable[[Any, Scope], Step]] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression, ast.If: _if,
    ast.Return: _return, ast.Break: _leave(".break"), ast.Continue: _leave(".continue"), ast.Raise: outcomes.raise_,
    ast.Assert: outcomes.assert_, ast.Try: outcomes.try_, ast.With: outcomes.with_,
    ast.Match: matching.match, ast.Delete: _delete, ast.FunctionDef: _define, ast.Import: _import, ast.ImportFrom: _import,
    ast.Pass: _nothing, ast.Nonlocal: _nothing, ast.Global: _nothing, ast.For: loop_for, ast.While: loop_while,
}  # fmt: skip

__all__ = ["binary", "block", "statement", "target"]
