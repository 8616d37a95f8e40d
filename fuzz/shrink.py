"""A shorter program that still fails: statements and operands are dropped one by one, as long as the failure stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fuzz.generate import Program


def shrink(program: Program, fails: Callable[[Program], bool], most: int = 400) -> Program:
    """The smallest program that was found within so many tries."""
    tries = 0
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            tries += 1
            if tries > most:
                return program
            if fails(smaller):
                program, changed = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    for body in _blocks(program.body):
        if body and body[-1][0] == "return":
            yield program._replace(body=body)


def _blocks(body: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Every block that is a little smaller: a statement less, a loop's body in its place, a simpler statement."""
    for i, s in enumerate(body):
        before, after = body[:i], body[i + 1 :]
        if after:
            yield before + after
        for inner in s:
            if _is_block(inner):
                yield before + inner + after
        for k, part in enumerate(s):
            if _is_block(part):
                for smaller in _blocks(part):
                    yield (*before, (*s[:k], smaller, *s[k + 1 :]), *after)
            elif isinstance(part, tuple) or (isinstance(part, str) and s[0] in ("set", "return") and k == len(s) - 1):
                for e in _expressions(part):
                    yield (*before, (*s[:k], e, *s[k + 1 :]), *after)
        if s[0] == "for" and s[1] > 1:
            yield (*before, ("for", s[1] - 1, s[2]), *after)


def _is_block(x: Any) -> bool:
    return isinstance(x, tuple) and bool(x) and isinstance(x[0], tuple)


def _expressions(e: Any) -> Iterator[Any]:
    if not isinstance(e, tuple):
        if e != "x0" and isinstance(e, str):
            yield "x0"
        return
    yield from (a for a in e[1:] if not isinstance(a, tuple) or a[0] not in ("lt", "le", "gt", "ge", "eq", "ne"))
    for k, a in enumerate(e[1:], 1):
        for smaller in _expressions(a):
            yield (*e[:k], smaller, *e[k + 1 :])
