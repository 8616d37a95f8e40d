"""Expressions as text: `(a+b)*c`, or lines such as `b=a*3; c=b+1; d=b*c`, over the table of ops and nothing else.

    program   = line { (";" | newline) line }
    line      = [ name "=" ] choice
    choice    = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum       = product { ("+" | "-") product }
    product   = signed { ("*" | "/" | "//" | "%") signed }
    signed    = ("-" | "+") signed | power
    power     = method [ "**" signed ]
    method    = atom { "." name "(" [ items ] ")" }
    atom      = number | name | name "(" [ items ] ")" | "(" choice ")" | "[" items "]"

Nothing is ever handed to `eval`: a name is one of the learner's numbers or a row of the table, and all else is an error
that points at its character.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.errors import MicrogradError
from micrograd.ops import OPS, facts

MAX_LENGTH, MAX_NODES, MAX_DEPTH = 2000, 400, 40  # what a page can still show and a person can still read

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\#[^\n]*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>=().,;\[\]\n])"
)
_INFIX = {op.symbol: op.name for op in OPS.values() if op.arity == 2 and op.symbol != op.name}
_COMPARISONS = tuple(sign for sign in _INFIX if sign[0] in "<>=!")
_NUMBERS = {"pi": math.pi, "tau": math.tau}  # unless the learner has a number of that name
_HINTS = {
    "^": "a power is written **",
    "&": "there is no such operation here",
    "{": "use ( and )",
    "'": "text has no gradient",
    '"': "text has no gradient",
    "×": "a product is written *",
    "·": "a product is written *",
    "÷": "a quotient is written /",
    "−": "a minus is written -",
}


class ExpressionError(MicrogradError, ValueError):
    """An expression that cannot be read: what is wrong, and at which character."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, max(0, min(position, len(text)))
        start = text.rfind("\n", 0, self.position) + 1
        self.line = text.count("\n", 0, start) + 1
        self.column = self.position - start + 1
        end = text.find("\n", start)
        shown = text[start : end if end >= 0 else len(text)]
        first = max(0, self.position - start - 60)  # of a long line, the part around the character
        shown = shown[first : first + 100].replace("\t", " ")
        super().__init__(f"{message}\n  {shown}\n  {' ' * (self.position - start - first)}^")

    def as_dict(self) -> dict[str, Any]:
        """The error as data for a page."""
        return {"error": self.message, "position": self.position, "line": self.line, "column": self.column}


@dataclass(slots=True)
class Term:
    """One piece of a parsed expression: a number, a name, a list, or an op over terms."""

    kind: str  # "number", "name", "list" or the name of an op
    at: int  # where it stands in the text
    number: float = 0.0
    name: str = ""
    parts: list[Term] = field(default_factory=list)


@dataclass(slots=True)
class Line:
    """`name = term`; a line without a name shows its result only."""

    name: str
    term: Term
    start: int
    end: int


class Program:
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
        given = {name: engine.number(x) for name, x in (values or {}).items()}
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
        before = engine.set_recording(True)
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
            engine.set_recording(before)
        return result if isinstance(result, Value) else Value(result)

    def _uses(self, name: str) -> bool:
        return any(term.name == name for line in self.lines for term in _names(line.term))


def parse(text: str) -> Program:
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
    return Program(text, _Parser(text).program())


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


# ---- reading


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.nodes = self.depth = self.open = self.i = 0
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                hint = _HINTS.get(text[at])
                raise self.error(f"{text[at]!r} means nothing here" + (f": {hint}" if hint else ""), at)
            if match.lastgroup != "space":
                self.tokens.append((match.lastgroup or "", match.group(), at))
            at = match.end()
        self.tokens.append(("end", "", len(text)))

    def error(self, message: str, at: int) -> ExpressionError:
        return ExpressionError(message, self.text, at)

    def peek(self) -> tuple[str, str, int]:
        while self.open and self.tokens[self.i][1] == "\n":  # inside brackets a line may be broken
            self.i += 1
        return self.tokens[self.i]

    def take(self) -> tuple[str, str, int]:
        token = self.peek()
        self.i += token[0] != "end"
        return token

    def found(self, sign: str) -> bool:
        kind, token, _ = self.peek()
        if kind == "sign" and token == sign:
            self.i += 1
            return True
        return False

    def expect(self, sign: str, opened_at: int) -> None:
        if not self.found(sign):
            kind, token, at = self.peek()
            got = "the end" if kind == "end" else repr(token)
            opening = {")": "(", "]": "["}[sign]
            raise self.error(f"expected {sign!r} for the {opening!r} at character {opened_at + 1}, got {got}", at)

    def term(self, kind: str, at: int, parts: list[Term]) -> Term:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.error(f"an expression has at most {MAX_NODES} operations and numbers", at)
        if kind == "list" or (kind in OPS and OPS[kind].arity >= 0):
            for part in parts:
                if part.kind == "list":
                    raise self.error("a list stands in sum, mean, prod, dot or logsumexp only, not here", part.at)
        return Term(kind, at, parts=parts)

    def deeper(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"brackets and signs are nested deeper than {MAX_DEPTH}", at)

    def program(self) -> list[Line]:
        lines: list[Line] = []
        while True:
            while self.found(";") or self.found("\n"):
                pass
            kind, token, at = self.peek()
            if kind == "end":
                break
            name = ""
            if kind == "name" and self.tokens[self.i + 1][1] == "=":
                if token in OPS:
                    raise self.error(f"{token} is an operation: choose another name", at)
                name = token
                self.i += 2
            term = self.choice()
            end = self.peek()
            if end[0] != "end" and end[1] not in (";", "\n"):
                raise self.error(self._unexpected(end), end[2])
            lines.append(Line(name, term, at, end[2]))
        if not lines:
            raise self.error("the expression is empty: try (a+b)*c", 0)
        return lines

    def _unexpected(self, token: tuple[str, str, int]) -> str:
        if token[1] == "=":
            return "'=' stands after one name, at the start of a line; a comparison is written =="
        if token[1] in (")", "]"):
            return f"this {token[1]!r} closes nothing"
        if token[0] in ("name", "number") or token[1] == "(":
            return f"an operation is missing before {token[1]!r}: a product is written *"
        return f"{token[1]!r} was not expected here"

    def choice(self) -> Term:
        left = self.sum()
        kind, token, at = self.peek()
        if kind == "sign" and token in _COMPARISONS:
            self.i += 1
            left = self.term(_INFIX[token], at, [left, self.sum()])
            kind, token, at = self.peek()
            if kind == "sign" and token in _COMPARISONS:
                raise self.error("comparisons do not chain: write (a < b) * (b < c)", at)
        return left

    def sum(self) -> Term:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Term:
        return self.chain(("*", "/", "//", "%"), self.signed)

    def chain(self, signs: tuple[str, ...], operand: Any) -> Term:
        left: Term = operand()
        while True:
            kind, token, at = self.peek()
            if kind != "sign" or token not in signs:
                return left
            self.i += 1
            left = self.term(_INFIX[token], at, [left, operand()])

    def signed(self) -> Term:
        kind, token, at = self.peek()
        if kind == "sign" and token in ("-", "+"):
            self.i += 1
            self.deeper(at)
            inner = self.signed()
            self.depth -= 1
            if token == "+":
                return inner
            if inner.kind == "number":
                inner.number, inner.at = -inner.number, at
                return inner
            return self.term("neg", at, [inner])
        return self.power()

    def power(self) -> Term:
        base = self.method()
        _, _, at = self.peek()
        if self.found("**"):
            self.deeper(at)
            base = self.term("pow", at, [base, self.signed()])
            self.depth -= 1
        return base

    def method(self) -> Term:
        term = self.atom()
        while self.found("."):
            kind, name, at = self.take()
            if kind != "name":
                raise self.error("after '.' the name of an operation is needed, such as .tanh()", at)
            opened = self.peek()[2]
            if not self.found("("):
                raise self.error(f"write {name}() with brackets", opened)
            term = self.call(name, at, opened, [term])
        return term

    def atom(self) -> Term:
        kind, token, at = self.take()
        if kind == "number":
            term = self.term("number", at, [])
            term.number = float(token)
            return term
        if kind == "name":
            opened = self.peek()[2]
            if self.found("("):
                return self.call(token, at, opened, [])
            if token in OPS:
                raise self.error(f"{token} is an operation: write {token}( )", at)
            term = self.term("name", at, [])
            term.name = token
            return term
        if token in ("(", "["):
            self.deeper(at)
            self.open += 1
            parts = [self.choice()] if token == "(" else self.items("]")
            self.expect(")" if token == "(" else "]", at)
            self.open -= 1
            self.depth -= 1
            return parts[0] if token == "(" else self.term("list", at, parts)
        if kind == "end" or token in ("\n", ";"):
            raise self.error("something is missing here: a name, a number or (", at)
        raise self.error(f"a name, a number or ( is needed here, not {token!r}", at)

    def items(self, closing: str) -> list[Term]:
        parts: list[Term] = []
        while self.peek()[1] != closing:
            parts.append(self.choice())
            if not self.found(","):
                break
        return parts

    def call(self, name: str, at: int, opened: int, parts: list[Term]) -> Term:
        if name not in OPS:
            raise self.error(f"there is no operation {name}{_nearest(name)}", at)
        self.deeper(at)
        self.open += 1
        parts = parts + self.items(")")
        self.expect(")", opened)
        self.open -= 1
        self.depth -= 1
        op = OPS[name]
        least = op.arity - len(op.defaults)
        if op.arity >= 0 and not least <= len(parts) <= op.arity:
            raise self.error(f"{name} takes {op.arity} input{'s'[: op.arity != 1]}, got {len(parts)}", at)
        return self.term(name, at, parts)


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), OPS, 1)
    return f": did you mean {close[0]}?" if close else f" (there are {', '.join(list(OPS)[:12])} …)"


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
