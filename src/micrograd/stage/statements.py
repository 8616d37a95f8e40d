"""Statements, compiled to functions of (machine, frame)."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable
from typing import Any

from micrograd.stage import calls, matching, outcomes
from micrograd.stage.errors import Unsupported
from micrograd.stage.expressions import BINARY, alone
from micrograd.stage.functions import definition
from micrograd.stage.generators import YIELDS
from micrograd.stage.language import STATEMENTS, Step, block, expression
from micrograd.stage.loops import loop_for, loop_while
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.operators import item
from micrograd.stage.scope import Scope
from micrograd.stage.state import Exits, Frame
from micrograd.stage.summary import UNBOUND
from micrograd.stage.targets import target


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
        return _yield(node.value, scope)
    value = expression(node.value, scope)

    def run(m: Machine, frame: Frame) -> None:
        value(m, frame)

    return run


def _yield(node: Any, scope: Scope) -> Step:
    value = alone(node.value, expression(node.value, scope)) if node.value is not None else None
    several = isinstance(node, ast.YieldFrom)

    def run(m: Machine, frame: Frame) -> None:
        if YIELDS not in frame.variables:
            raise Unsupported("a `yield` outside of a function that yields")
        given = value(m, frame) if value is not None else None
        calls.extend(m, frame.variables[YIELDS], given if several else [given])

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


STATEMENTS |= {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression, ast.If: _if,
    ast.Return: _return, ast.Break: _leave(".break"), ast.Continue: _leave(".continue"), ast.Raise: outcomes.raise_,
    ast.Assert: outcomes.assert_, ast.Try: outcomes.try_, ast.With: outcomes.with_,
    ast.Match: matching.match, ast.Delete: _delete, ast.FunctionDef: _define, ast.Import: _import, ast.ImportFrom: _import,
    ast.Pass: _nothing, ast.Nonlocal: _nothing, ast.Global: _nothing, ast.For: loop_for, ast.While: loop_while,
}  # fmt: skip
