"""`match`: patterns as questions that are asked one after the other."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from micrograd.stage import calls, iterate, ragged
from micrograd.stage.errors import Unsupported
from micrograd.stage.expressions import expression
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.operators import choose, compare
from micrograd.stage.scope import Scope
from micrograd.stage.state import Frame
from micrograd.stage.summary import Summary

Ask = Callable[[Machine, Frame, Any], Any]  # whether the subject matches, as a bool or a Summary of bools


def match(node: Any, scope: Scope) -> Any:
    """Compile `match`."""
    from micrograd.stage.statements import block

    subject = expression(node.subject, scope)
    cases = [(pattern(c.pattern, scope), expression(c.guard, scope) if c.guard is not None else None, block(c.body, scope))
             for c in node.cases]  # fmt: skip

    def run(m: Machine, frame: Frame) -> None:
        attempt(m, frame, subject(m, frame), 0)

    def attempt(m: Machine, frame: Frame, x: Any, k: int) -> None:
        if k == len(cases):
            return
        ask, guard, body = cases[k]
        answer = ask(m, frame, m.now(x))
        if guard is not None:
            wanted = guard
            answer = choose(m, m.truth(answer), lambda: wanted(m, frame), lambda: False)
        yes = m.truth(answer)
        no = m.masks.without(m.here, yes)
        if no is FALSE:
            body(m, frame)
        elif yes is FALSE:
            attempt(m, frame, x, k + 1)
        else:
            m.merged()
            m.fork([(yes, lambda: body(m, frame)), (no, lambda: attempt(m, frame, x, k + 1))])

    return run


def pattern(node: Any, scope: Scope) -> Ask:
    """Compile a pattern."""
    from micrograd.stage.statements import target

    if isinstance(node, ast.MatchValue):
        value = expression(node.value, scope)
        return lambda m, frame, x: compare(m, ast.Eq, m.now(x), value(m, frame))
    if isinstance(node, ast.MatchSingleton):
        return lambda m, frame, x: compare(m, ast.Is, m.now(x), node.value)
    if isinstance(node, ast.MatchAs):
        inner = pattern(node.pattern, scope) if node.pattern is not None else None
        store = target(ast.Name(node.name, ast.Store()), scope) if node.name is not None else None

        def named(m: Machine, frame: Frame, x: Any) -> Any:
            if inner is None:
                if store is not None:
                    store(m, frame, m.now(x))
                return True

            def bind() -> bool:
                if store is not None:
                    store(m, frame, m.now(x))
                return True

            return choose(m, m.truth(inner(m, frame, x)), bind, lambda: False)

        return named
    if isinstance(node, ast.MatchOr):
        parts = [pattern(p, scope) for p in node.patterns]

        def either(m: Machine, frame: Frame, x: Any, k: int = 0) -> Any:
            if k == len(parts) - 1:
                return parts[k](m, frame, x)
            return choose(m, m.truth(parts[k](m, frame, x)), lambda: True, lambda: either(m, frame, m.now(x), k + 1))

        return either
    if isinstance(node, ast.MatchSequence) and not any(isinstance(p, ast.MatchStar) for p in node.patterns):
        return _sequence([pattern(p, scope) for p in node.patterns])
    if isinstance(node, ast.MatchClass) and not node.patterns and not node.kwd_patterns:
        kind = expression(node.cls, scope)
        return lambda m, frame, x: calls.call(m, isinstance, [m.now(x), kind(m, frame)], {})
    raise Unsupported(f"a pattern of the kind {type(node).__name__}")


def _sequence(parts: list[Ask]) -> Ask:
    def ask(m: Machine, frame: Frame, x: Any) -> Any:
        x = ragged.settle(m, m.now(x))
        fits = m.lift(lambda y: isinstance(y, (list, tuple, range)) and len(y) == len(parts), x)

        def inside(k: int = 0) -> Any:
            if k == len(parts):
                return True
            seen = ragged.settle(m, m.now(x))
            if type(seen) is Summary and any(not isinstance(y, (list, tuple, range)) for _, y in seen.alternatives):
                raise Unsupported("a pattern of a sequence for what differs by row")
            item = iterate.items(m, seen)[k]
            return choose(m, m.truth(parts[k](m, frame, item)), lambda: inside(k + 1), lambda: False)

        return choose(m, m.truth(fits), inside, lambda: False)

    return ask
