"""Expressions as text: `(a+b)*c`, or lines such as `b=a*3; c=b+1; d=b*c`, over the table of ops and nothing else.

Nothing is ever handed to `eval`: a name is one of the learner's numbers or a row of the table, and all else is an error
that points at its character (`grammar.py` has the rules).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from micrograd import engine, observed
from micrograd.engine import Value
from micrograd.learn.grammar import MAX_DEPTH, MAX_LENGTH, MAX_NODES, ExpressionError, Line, Parser, Term
from micrograd.ops import OPS, facts
from micrograd.values.operand import number

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_NODES",
    "ExpressionError",
    "ParsedExpression",
    "build",
    "parse",
    "read_values",
]

_NUMBERS = {"pi": math.pi, "tau": math.tau}  # unless the learner has a number of that name


class ParsedExpression:
    """A parsed expression. `names` are the numbers that it asks for, in order of appearance."""

    def __init__(self, text: str, lines: list[Line]) -> None:
        self.text, self.lines = text, lines
        self.names: list[str] = []
        self._asked_at: dict[str, int] = {}
        assigned: set[str] = set()
        for line in lines:
            for term in _names(line.term):
                if term.name not in assigned and term.name not in self._asked_at and term.name not in _NUMBERS:
                    self.names.append(term.name)
                    self._asked_at[term.name] = term.at
            if line.name:
                assigned.add(line.name)
        self.assigned = assigned

    def build(self, values: dict[str, float] | None = None, default: float | None = None) -> Value:
        """Run the program on real Values and return the last line's; names become labels.

        A line `a = 2` makes a leaf, and a number given for that name takes its place. A name without a number
        takes the default, and is an error where there is none.
        """
        given = {name: number(x) for name, x in (values or {}).items()}
        known: dict[str, Any] = {name: Value(x, label=name) for name, x in given.items()}
        for name in given:
            if name not in self._asked_at and name not in self.assigned and not self._uses(name):
                raise ExpressionError(f"a number is given for {name}, which the expression does not use", self.text, 0)
        for name in self.names:
            if name not in known:
                if default is None:
                    raise ExpressionError(
                        f"{name} has no number: write {name} = 1 before it, or give {name}=1",
                        self.text,
                        self._asked_at[name],
                    )
                known[name] = Value(default, label=name)
        before = observed.set_recording(True)
        try:
            result: Any = None
            for line in self.lines:
                result = _run(line.term, known, self.text)
                if isinstance(result, list):
                    raise ExpressionError("a list has no gradient: put it in sum( ) or dot( )", self.text, line.term.at)
                if line.name:
                    if line.name in given and not _is_leaf_line(result):
                        raise ExpressionError(
                            f"{line.name} is computed here, so no number can be given for it", self.text, line.start
                        )
                    result = known[line.name] if line.name in given else _labelled(result, line.name)
                    known[line.name] = result
        finally:
            observed.set_recording(before)
        return result if isinstance(result, Value) else Value(result)

    def _uses(self, name: str) -> bool:
        return any(term.name == name for line in self.lines for term in _names(line.term))


def parse(text: str) -> ParsedExpression:
    """Read an expression, or raise an ExpressionError that points at the character.

    >>> from micrograd.learn.expression import parse
    >>> root = parse("b=a*3; c=b+1; d=b*c").build({"a": 2})
    >>> root.data
    42.0
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is a text such as '(a+b)*c', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"an expression has at most {MAX_LENGTH} characters, this one has {len(text)}", text, MAX_LENGTH
        )
    return ParsedExpression(text, Parser(text).program())


def build(text: str, **values: float) -> Value:
    """Parse and run at once: `build("(a+b)*c", a=2, b=-3, c=10)`."""
    return parse(text).build(values)


# ---- running


def _names(term: Term) -> list[Term]:
    found, stack = [], [term]
    while stack:
        t = stack.pop()
        if t.kind == "name":
            found.append(t)
        stack.extend(reversed(t.parts))
    return found


def _run(term: Term, known: dict[str, Any], text: str) -> Any:
    """The value of a term; iterative, for `a + a + a + …` is as deep as it is long."""
    done: list[Any] = []
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        t, ready = stack.pop()
        if t.kind == "number":
            done.append(t.number)
        elif t.kind == "name":
            done.append(known[t.name] if t.name in known else _NUMBERS[t.name])
        elif not ready:
            stack.append((t, True))
            stack.extend((part, False) for part in reversed(t.parts))
        else:
            first = len(done) - len(t.parts)
            done[first:] = [_call(t, done[first:], text)]
    return done[0]


def _call(term: Term, parts: list[Any], text: str) -> Any:
    if term.kind == "list":
        return parts
    op = OPS[term.kind]
    try:
        return engine.apply(op, *(parts if op.arity >= 0 else [_spread(parts, "other" in facts(op))]))
    except (ValueError, TypeError) as error:
        raise ExpressionError(str(error), text, term.at) from None


def _spread(parts: list[Any], paired: bool) -> list[Any]:
    """The inputs of an n-ary op, from `sum(a, b)`, `sum([a, b])` or `dot([a, b], [c, d])`."""
    if paired:
        if len(parts) != 2 or not all(isinstance(part, list) for part in parts) or len(parts[0]) != len(parts[1]):
            raise ValueError("two lists of one length are needed: dot([a, b], [c, d])")
        return [*parts[0], *parts[1]]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], list) else parts


def _is_leaf_line(result: Any) -> bool:
    return not isinstance(result, (Value, list))


def _labelled(result: Any, name: str) -> Value:
    if not isinstance(result, Value):
        return Value(result, label=name)
    if not result.label:
        result.label = name
    return result


def read_values(words: Iterable[str]) -> dict[str, float]:
    """Numbers from a command line: ["a=2", "b=-3"] is {"a": 2.0, "b": -3.0}."""
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise ExpressionError("a number is given as name=number, such as a=2", word, 0)
        try:
            values[name] = float(text)
        except ValueError:
            raise ExpressionError(f"{name} needs a number", word, len(word) - len(text)) from None
    return values
