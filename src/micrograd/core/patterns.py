"""The match statement, lowered.

A case whose pattern is one test, such as `0`, `1 | 2` or a name, is an `if` around the cases after it. Any other pattern is a
nest of tests around the statements of the case, which leave the label of the whole match statement at their end; where a test
fails, execution goes on after the nest, with the next case. Names are bound once the whole pattern has matched, before the
guard.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from micrograd.core.expressions import Expressions
from micrograd.core.forms import (
    Alloc,
    Argument,
    Block,
    Call,
    Const,
    Del,
    Get,
    If,
    Leave,
    Let,
    Node,
    Position,
    Prim,
    Seq,
    SetVar,
    Var,
)

Captures = dict[str, Node]
Matched = Callable[[], Node]  # lowers what is done where a pattern has matched


class Patterns(Expressions):
    """Lowers match statements."""

    def body(self, statements: list[ast.stmt], at: Position) -> Node:
        """Lower statements."""
        raise NotImplementedError

    def match(self, node: ast.Match, at: Position) -> Node:
        done = self.new("done")
        leave = Leave(at, done, Const(at, None))

        def cases(i: int, subject: Node) -> Node:
            if i == len(node.cases):
                return Const(at, None)
            case = node.cases[i]
            captures: Captures = {}
            test = self._test(case.pattern, subject, captures)
            if test is None:
                nest = self.pattern(case.pattern, subject, captures, lambda: matched(case, captures))
                return Seq(at, (nest, cases(i + 1, subject)))
            bound = self._bind(captures, at)
            if case.guard is not None:
                guard = Seq(at, (*bound, self.test(case.guard))) if bound else self.test(case.guard)
                test = guard if isinstance(test, Const) else If(at, test, guard, Const(at, False))
                bound = ()
            body = Seq(at, (*bound, self.body(case.body, at))) if bound else self.body(case.body, at)
            return body if isinstance(test, Const) else If(at, test, body, cases(i + 1, subject))

        def matched(case: ast.match_case, captures: Captures) -> Node:
            body: Node = Seq(at, (self.body(case.body, at), leave))
            if case.guard is not None:
                body = If(at, self.test(case.guard), body, Const(at, None))
            return Seq(at, (*self._bind(captures, at), body))

        return self.bound(self.value(node.subject), lambda v: Block(at, done, cases(0, v)), at)

    def _bind(self, captures: Captures, at: Position) -> tuple[Node, ...]:
        return tuple(self.write(name, value, at) for name, value in captures.items())

    def _test(self, p: ast.pattern, subject: Node, captures: Captures) -> Node | None:
        """Lower a pattern that is one test; return None for any other one, and a constant for one that always matches."""
        while isinstance(p, ast.MatchAs) and p.name is not None:
            captures[p.name] = subject
            if p.pattern is None:
                return Const(_at(p), True)
            p = p.pattern
        return self._plain(p, subject) if _is_plain(p) else None

    def _plain(self, p: ast.pattern, subject: Node) -> Node:
        at = _at(p)
        if isinstance(p, ast.MatchValue):
            return Prim(at, "==", (subject, self.value(p.value)))
        if isinstance(p, ast.MatchSingleton):
            return Prim(at, "is", (subject, Const(at, p.value)))
        if isinstance(p, ast.MatchOr):
            *firsts, result = [self._plain(q, subject) for q in p.patterns]
            for first in reversed(firsts):
                result = If(at, first, Const(at, True), result)
            return result
        return Const(at, True)

    def pattern(self, p: ast.pattern, subject: Node, captures: Captures, then: Matched) -> Node:
        """Lower a pattern: where it matches, its names are in `captures`, and what `then` lowers is done."""
        at = _at(p)
        if _is_plain(p):
            return self._nest([self._plain(p, subject)], then, at)
        if isinstance(p, ast.MatchAs):
            assert p.name is not None
            if p.pattern is None:
                captures[p.name] = subject
                return then()
            return self.pattern(p.pattern, subject, captures, lambda: self._named(p, subject, captures, then))
        if isinstance(p, ast.MatchStar):
            assert p.name is not None
            captures[p.name] = subject
            return then()
        if isinstance(p, ast.MatchOr):
            return self._alternatives(p, subject, captures, then)
        if isinstance(p, ast.MatchSequence):
            return self._sequence(p, subject, captures, then)
        if isinstance(p, ast.MatchMapping):
            return self._mapping(p, subject, captures, then)
        assert isinstance(p, ast.MatchClass)
        return self._class(p, subject, captures, then)

    def _named(self, p: ast.MatchAs, subject: Node, captures: Captures, then: Matched) -> Node:
        assert p.name is not None
        captures[p.name] = subject
        return then()

    def _nest(self, tests: list[Node], then: Matched, at: Position) -> Node:
        result = then()
        for test in reversed(tests):
            if not (isinstance(test, Const) and test.value is True):
                result = If(at, test, result, Const(at, None))
        return result

    def _alternatives(self, p: ast.MatchOr, subject: Node, captures: Captures, then: Matched) -> Node:
        """Lower `p | q`: each pattern puts what it captures into the same temporary variables."""
        at, matched = _at(p), self.new("matched")
        temporary: dict[str, str] = {}
        tries: list[Node] = []
        for q in p.patterns:
            found: Captures = {}

            def store(found: Captures = found) -> Node:
                for name in found:
                    if name not in temporary:
                        temporary[name] = self.new()
                stores = tuple(SetVar(at, temporary[name], 0, value) for name, value in found.items())
                return Seq(at, (*stores, Leave(at, matched, Const(at, True))))

            tries.append(self.pattern(q, subject, found, store))
        test = Block(at, matched, Seq(at, (*tries, Const(at, False))))
        captures.update({name: Var(at, variable, 0) for name, variable in temporary.items()})
        result = self._nest([test], then, at)
        for variable in temporary.values():
            result = Let(at, variable, None, result)
        return result

    def _each(self, patterns: list[tuple[ast.pattern, Node]], captures: Captures, then: Matched) -> Node:
        """Lower several patterns, each for a part of the subject."""
        rest = [(p, part) for p, part in patterns if not _is_wildcard(p)]
        if not rest:
            return then()
        (p, part), *others = rest
        return self.bound(
            part, lambda v: self.pattern(p, v, captures, lambda: self._each(others, captures, then)), part.at
        )

    def _length(self, subject: Node, at: Position) -> Node:
        return Call(at, Const(at, len), (Argument(subject),))

    def _sequence(self, p: ast.MatchSequence, subject: Node, captures: Captures, then: Matched) -> Node:
        at, size = _at(p), len(p.patterns)
        stars = [isinstance(q, ast.MatchStar) for q in p.patterns]
        star = stars.index(True) if any(stars) else None
        tests: list[Node] = [Prim(at, "is sequence", (subject,))]
        if star is None:
            tests.append(Prim(at, "==", (self._length(subject, at), Const(at, size))))
        elif size > 1:
            tests.append(Prim(at, ">=", (self._length(subject, at), Const(at, size - 1))))
        if all(_is_wildcard(q) for q in p.patterns):
            return self._nest(tests, then, at)

        def item(i: int) -> Node:
            if star is None or i < star:
                return Get(at, "item", subject, Const(at, i))
            return Get(at, "item", subject, Prim(at, "-", (self._length(subject, at), Const(at, size - i))))

        if star is not None and _is_wildcard(p.patterns[star]):  # Python takes the items that it needs, one by one
            parts = [(q, item(i)) for i, q in enumerate(p.patterns) if i != star]
            return self._nest(tests, lambda: self._each(parts, captures, then), at)
        before, after = (size, None) if star is None else (star, size - star - 1)
        unpacked = Prim(at, "unpack", (subject, Const(at, before), Const(at, after)))

        def each(items: Node) -> Node:
            parts = [(q, Get(at, "item", items, Const(at, i))) for i, q in enumerate(p.patterns)]
            return self._each(parts, captures, then)  # type: ignore[arg-type]

        return self._nest(tests, lambda: self.bound(unpacked, each, at), at)

    def _mapping(self, p: ast.MatchMapping, subject: Node, captures: Captures, then: Matched) -> Node:
        at, size = _at(p), len(p.keys)
        tests: list[Node] = [Prim(at, "is mapping", (subject,))]
        if size:
            tests.append(Prim(at, ">=", (self._length(subject, at), Const(at, size))))

        def rest(keys: Node) -> Node:
            """Lower `**rest`: the items whose keys are not in the pattern."""
            if p.rest is None:
                return then()
            name = self.new()
            captures[p.rest] = made = Var(at, name, 0)
            steps: list[Node] = [Prim(at, "merge", (made, subject))]
            steps += [Del(at, "item", made, Get(at, "item", keys, Const(at, i))) for i in range(size)]
            return Let(at, name, Alloc(at, "dict", ()), Seq(at, (*steps, then())))

        def matched(keys: Node, values: Node) -> Node:
            parts = [(q, Get(at, "item", values, Const(at, i))) for i, q in enumerate(p.patterns)]
            found = Prim(at, "is not", (values, Const(at, None)))
            return self._nest([found], lambda: self._each(parts, captures, lambda: rest(keys)), at)  # type: ignore[arg-type]

        def keyed() -> Node:
            if not size:
                return rest(Const(at, ()))
            keys = Alloc(at, "tuple", tuple(self.value(k) for k in p.keys))

            def values(k: Node) -> Node:
                return self.bound(Prim(at, "match keys", (subject, k)), lambda v: matched(k, v), at)

            return self.bound(keys, values, at)

        return self._nest(tests, keyed, at)

    def _class(self, p: ast.MatchClass, subject: Node, captures: Captures, then: Matched) -> Node:
        at = _at(p)
        count, names = Const(at, len(p.patterns)), Const(at, tuple(p.kwd_attrs))
        attributes = Prim(at, "match class", (subject, self.value(p.cls), count, names))
        patterns = [*p.patterns, *p.kwd_patterns]

        def matched(values: Node) -> Node:
            parts = [(q, Get(at, "item", values, Const(at, i))) for i, q in enumerate(patterns)]
            found = Prim(at, "is not", (values, Const(at, None)))
            return self._nest([found], lambda: self._each(parts, captures, then), at)  # type: ignore[arg-type]

        return self.bound(attributes, matched, at)


def _at(p: ast.pattern) -> Position:
    return Position(p.lineno, p.col_offset, p.end_lineno, p.end_col_offset)


def _is_wildcard(p: ast.pattern) -> bool:
    return isinstance(p, ast.MatchAs | ast.MatchStar) and p.name is None and getattr(p, "pattern", None) is None


def _is_plain(p: ast.pattern) -> bool:
    """Return whether a pattern is one test, and captures nothing."""
    if isinstance(p, ast.MatchOr):
        return all(_is_plain(q) for q in p.patterns)
    return isinstance(p, ast.MatchValue | ast.MatchSingleton) or _is_wildcard(p)
