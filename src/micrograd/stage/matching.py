"""`match`: patterns as questions that are asked one after the other."""

from __future__ import annotations

import ast
from collections import abc
from collections.abc import Callable
from typing import Any

from micrograd.stage import calls, ragged
from micrograd.stage.errors import Unsupported
from micrograd.stage.language import block, expression
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE
from micrograd.stage.operators import choose, compare
from micrograd.stage.scope import Scope
from micrograd.stage.state import Frame
from micrograd.stage.targets import target

Ask = Callable[[Machine, Frame, Any], Any]  # whether the subject matches, as a bool or a Summary of bools


def match(node: Any, scope: Scope) -> Any:
    """Compile `match`."""
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
    if isinstance(node, ast.MatchSequence):
        return _sequence(node.patterns, scope)
    if isinstance(node, ast.MatchMapping):
        return _mapping(node, scope)
    if isinstance(node, ast.MatchClass):
        return _class(node, scope)
    raise Unsupported(f"a pattern of the kind {type(node).__name__}")


def _all_of(m: Machine, frame: Frame, parts: list[tuple[Ask, Callable[[], Any]]], k: int = 0) -> Any:
    """Whether each pattern matches what is found for it, asked from left to right until one does not."""
    if k == len(parts):
        return True
    ask, find = parts[k]
    found = ask(m, frame, find())
    return choose(m, m.truth(found), lambda: _all_of(m, frame, parts, k + 1), lambda: False)


def _known(x: Any, kind: type, classes: tuple[type, ...]) -> None:
    """Refuse sequences and mappings of other classes than Python's own."""
    if isinstance(x, kind) and not isinstance(x, classes):
        raise Unsupported(f"a pattern for a {type(x).__name__}")


def _sequence(patterns: list[Any], scope: Scope) -> Ask:
    """[a, b, *rest]"""
    stars = [k for k, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    plain = [None if k in stars else pattern(p, scope) for k, p in enumerate(patterns)]
    name = patterns[stars[0]].name if stars else None
    store = target(ast.Name(name, ast.Store()), scope) if name is not None else None
    least = len(patterns) - len(stars)

    def ask(m: Machine, frame: Frame, x: Any) -> Any:
        x = ragged.settle(m, m.now(x))

        def fits(y: Any) -> bool:
            _known(y, abc.Sequence, (list, tuple, range, str, bytes))
            return isinstance(y, (list, tuple, range)) and (len(y) >= least if stars else len(y) == least)

        def found(pick: Callable[[Any], Any]) -> Any:
            return m.lift(pick, ragged.settle(m, m.now(x)))

        def starred(m: Machine, frame: Frame, rest: Any) -> Any:
            if store is not None:
                store(m, frame, rest)
            return True

        def between(y: Any) -> Any:
            return m.made(list(y[stars[0] : len(y) - len(patterns) + stars[0] + 1]))

        parts: list[tuple[Ask, Callable[[], Any]]] = []
        for k, part in enumerate(plain):
            at = k - len(patterns) if stars and k > stars[0] else k
            if part is None:
                parts.append((starred, lambda: found(between)))
            else:
                parts.append((part, lambda at=at: found(lambda y: y[at])))  # type: ignore[misc]
        return choose(m, m.truth(m.lift(fits, x)), lambda: _all_of(m, frame, parts), lambda: False)

    return ask


def _mapping(node: Any, scope: Scope) -> Ask:
    """{"key": a, **rest}"""
    keys = [expression(k, scope) for k in node.keys]
    patterns = [pattern(p, scope) for p in node.patterns]
    store = target(ast.Name(node.rest, ast.Store()), scope) if node.rest is not None else None

    def ask(m: Machine, frame: Frame, x: Any) -> Any:
        wanted = [key(m, frame) for key in keys]

        def seen() -> Any:
            return ragged.settle(m, m.now(x))

        def fits(y: Any) -> bool:
            _known(y, abc.Mapping, (dict,))
            return isinstance(y, dict) and all(key in y for key in wanted)

        def rest(m: Machine, frame: Frame, found: Any) -> Any:
            if store is not None:
                store(m, frame, found)
            return True

        def others(y: Any) -> Any:
            return m.made({key: item for key, item in y.items() if key not in wanted})

        parts: list[tuple[Ask, Callable[[], Any]]] = [
            (part, lambda key=key: m.lift(lambda y: y[key], seen()))  # type: ignore[misc]
            for part, key in zip(patterns, wanted)
        ]
        parts.append((rest, lambda: m.lift(others, seen())))
        return choose(m, m.truth(m.lift(fits, seen())), lambda: _all_of(m, frame, parts), lambda: False)

    return ask


ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)  # int(x) binds the number itself


def _class(node: Any, scope: Scope) -> Ask:
    """Point(a, y=b)"""
    kind = expression(node.cls, scope)
    positional = [pattern(p, scope) for p in node.patterns]
    named = [(name, pattern(p, scope)) for name, p in zip(node.kwd_attrs, node.kwd_patterns)]

    def ask(m: Machine, frame: Frame, x: Any) -> Any:
        cls = kind(m, frame)
        itself = isinstance(cls, type) and issubclass(cls, ITSELF) and not hasattr(cls, "__match_args__")
        names = [None] if itself and len(positional) == 1 else list(getattr(cls, "__match_args__", ()))
        if len(positional) > len(names):
            raise TypeError(f"{cls.__name__}() accepts {len(names)} positional sub-patterns ({len(positional)} given)")

        def attribute(y: Any, name: Any) -> Any:
            if name is None:
                return y
            if type(getattr(type(y), name, None)) is not property and not hasattr(y, name):
                raise Unsupported("a pattern of a class with an attribute that an object lacks")
            return calls.attribute(m, y, name)

        parts: list[tuple[Ask, Callable[[], Any]]] = [
            (part, lambda name=name: m.lift(lambda y: attribute(y, name), m.now(x)))  # type: ignore[misc]
            for name, part in [*zip(names, positional), *named]
        ]
        fits = calls.call(m, isinstance, [m.now(x), cls], {})
        return choose(m, m.truth(fits), lambda: _all_of(m, frame, parts), lambda: False)

    return ask
