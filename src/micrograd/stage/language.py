"""The tables of the language: how statements and expressions are compiled, and which builtins have rules.

An interpreter is recursive: statements contain expressions, expressions call functions, and functions contain statements.
Each part compiles what is inside of it by `block`, `statement` or `expression`, which look up the tables here. The modules
that contain the rules fill the tables when they are imported: expressions.py, statements.py and builtin.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd.stage import budget, renamed
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.machine import MAX_STATEMENTS, OWN, Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.scope import Scope
from micrograd.stage.state import Frame
from micrograd.stage.summary import is_own

PACKAGE = str(Path(__file__).resolve().parents[1])

Run = Callable[[Machine, Frame], Any]  # a compiled expression
Step = Callable[[Machine, Frame], None]  # a compiled statement
Store = Callable[[Machine, Frame, Any], None]  # a compiled target of an assignment

EXPRESSIONS: dict[type, Callable[[Any, Scope], Run]] = {}
STATEMENTS: dict[type, Callable[[Any, Scope], Step]] = {}
BUILTINS: dict[
    Any, Callable[..., Any]
] = {}  # what a call of a builtin does, as a function of the machine and the arguments


class Internal:
    """A function that only code of ours calls, by the rule that BUILTINS has for it."""


PLUS = Internal()  # one addition of sum()


def expression(node: ast.expr, scope: Scope) -> Run:
    """Compile an expression."""
    make = EXPRESSIONS.get(type(node))
    if make is None:
        reason = f"{type(node).__name__} is not merged"

        def refuse(m: Machine, frame: Frame) -> Any:
            raise Unsupported(reason)

        return refuse
    return make(node, scope)


def block(body: list[ast.stmt], scope: Scope) -> Step:
    """Compile statements one after the other."""
    name = Path(scope.filename).name
    if scope.filename.startswith(PACKAGE):
        name = OWN + name
    steps = [(f"{name}:{s.lineno}", statement(s, scope)) for s in body]
    own = name.startswith(OWN)

    def run(m: Machine, frame: Frame) -> None:
        for line, step in steps:
            m.line = line
            if not own:
                m.users_line = line
            m.statements += 1
            if not m.statements & 15:
                budget.look(m.users_line)
            if m.statements > (MAX_STATEMENTS if m.rolled else m.limits.statements):
                raise Unsupported("the program is too long to merge its paths")
            here, journals, around, depth = m.here, len(m.journals), m.bystanders, m.depth
            try:
                step(m, frame)
            except (Exception, Lost) as why:
                if m.handler() is None:
                    raise
                if type(why) is not Lost and is_own(why):
                    raise Unsupported(f"{type(why).__name__}: {why}") from why
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
    make = STATEMENTS.get(type(node))
    reason = f"`{type(node).__name__.lower()}` is not merged"
    if make is not None:
        try:
            return make(node, scope)
        except Unsupported as why:
            reason = str(why)

    def refuse(m: Machine, frame: Frame) -> None:
        raise Unsupported(reason)

    return refuse
