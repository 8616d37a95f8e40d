"""Rules run on text: each operation that a rule of the table performs becomes one line of another language.

page = Page("c", c_literal)
result = OPS["tanh"].partials[0](page.text("a"), page.text("y"))
page.lines          # {"fabs(a)": "t0", ...}, in the order of the steps
page.spell(result)  # the name of the last one
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.ops import OPS, Op, call


class Page:
    """What a rule wrote down so far: each distinct step once, by its spelling in one column of the table."""

    def __init__(self, column: str, literal: Callable[[float], str]) -> None:
        self.column, self.literal = column, literal
        self.lines: dict[str, str] = {}

    def text(self, name: str) -> Text:
        """A variable of that name."""
        return Text(name, self)

    def spell(self, x: Any) -> str:
        """How this language writes an operand: the name of a text, or a number."""
        return x.name if isinstance(x, Text) else self.literal(float(x))


class Text:
    """A number in another language: running a rule on Texts writes down what the rule does."""

    def __init__(self, name: str, page: Page) -> None:
        self.name, self.page = name, page

    def _apply(self, op: Op, args: Any) -> Any:
        page = self.page
        spelling: str = getattr(op, page.column)
        if not spelling:
            return op.value(*args)
        names = [page.spell(a) for a in args]
        spelled = spelling.format(*(f"({n})" if n.startswith("-") else n for n in names))
        if spelled not in page.lines:
            page.lines[spelled] = f"t{len(page.lines)}"
        return Text(page.lines[spelled], page)

    def __add__(self, o: Any) -> Any:
        return call(OPS["add"], self, o)

    def __radd__(self, o: Any) -> Any:
        return call(OPS["add"], o, self)

    def __sub__(self, o: Any) -> Any:
        return call(OPS["sub"], self, o)

    def __rsub__(self, o: Any) -> Any:
        return call(OPS["sub"], o, self)

    def __mul__(self, o: Any) -> Any:
        return call(OPS["mul"], self, o)

    def __rmul__(self, o: Any) -> Any:
        return call(OPS["mul"], o, self)

    def __neg__(self) -> Any:
        return call(OPS["neg"], self)
