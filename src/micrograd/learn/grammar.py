"""The grammar of expressions, and the parser that reads it; an error points at its character.

program   = line { (";" | newline) line }
line      = [ name "=" ] choice
choice    = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
sum       = product { ("+" | "-") product }
product   = signed { ("*" | "/" | "//" | "%") signed }
signed    = ("-" | "+") signed | power
power     = method [ "**" signed ]
method    = atom { "." name "(" [ items ] ")" }
atom      = number | name | name "(" [ items ] ")" | "(" choice ")" | "[" items "]"
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from micrograd.errors import MicrogradError
from micrograd.ops import OPS

MAX_LENGTH, MAX_NODES, MAX_DEPTH = 2000, 400, 40  # what a page can still show and a person can still read

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\#[^\n]*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>=().,;\[\]\n])"
)
_INFIX = {op.symbol: op.name for op in OPS.values() if op.arity == 2 and op.symbol != op.name}
_COMPARISONS = tuple(sign for sign in _INFIX if sign[0] in "<>=!")
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


class Parser:
    """Reads one text: `program()` gives its lines."""

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
            if match.lastgroup == "name" and not match.group().isidentifier():  # a², and other letters that are digits
                odd = next(k for k in range(1, len(match.group()) + 1) if not match.group()[:k].isidentifier())
                raise self.error(f"{text[at + odd - 1]!r} means nothing here: a power is written **", at + odd - 1)
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
