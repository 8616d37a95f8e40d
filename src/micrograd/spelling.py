"""Rules run on text: each operation that a rule of the table performs becomes one line of another language.

page = Page("c", c_literal)
result = OPS["tanh"].partials[0](page.text("a"), page.text("y"))
page.lines          # {"fabs(a)": "t0", ...}, in the order of the steps
page.spell(result)  # the name of the last one

Rules over lists become loops: a Program is a page whose lists are Columns.

program = Program("c", c_literal, "double", "double", "Py_ssize_t", "(double)n")
result = OPS["sum"].value(Column.of(program, "x"))
program.body        # the statements, with their loops
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from typing import Any

from micrograd.ops import OPS, Op, call


class Listing:
    """What a rule wrote down so far: each distinct step once, by its spelling in one column of the table."""

    def __init__(self, column: str, literal: Callable[[float], str]) -> None:
        self.column, self.literal = column, literal
        self.lines: dict[str, str] = {}

    def text(self, name: str) -> Spelling:
        """A variable of that name."""
        return Spelling(name, self)

    def write(self, spelled: str) -> str:
        """Write one step, if it is new; returns the name of its result."""
        if spelled not in self.lines:
            self.lines[spelled] = f"t{len(self.lines)}"
        return self.lines[spelled]

    def spell(self, x: Any) -> str:
        """How this language writes an operand: the name of a text, or a number."""
        return x.name if isinstance(x, Spelling) else self.literal(float(x))


class Spelling:
    """A number in another language: running a rule on Texts writes down what the rule does."""

    def __init__(self, name: str, page: Listing) -> None:
        self.name, self.page = name, page

    def _apply(self, op: Op, args: Any) -> Any:
        page = self.page
        spelling: str = getattr(op, page.column)
        if not spelling:
            return op.value(*args)
        names = [page.spell(a) for a in args]
        spelled = spelling.format(*(f"({n})" if n.startswith("-") else n for n in names))
        return Spelling(page.write(spelled), page)

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


class LoopListing(Listing):
    """A page with loops, in a language with C's `for`: statements in `body`, in their order.

    `constant`, `variable` and `index` are the words that declare a result, a number that changes, and a whole number.
    """

    def __init__(
        self, column: str, literal: Callable[[float], str], constant: str, variable: str, index: str, count: str
    ) -> None:
        super().__init__(column, literal)
        self.constant, self.changing, self.index, self.count = constant, variable, index, count
        self.body: list[str] = []
        self.names = 0
        self.depth = 1
        self.stored = ""  # the array that a list of results is written to

    def put(self, statement: str) -> None:
        """Add one statement."""
        self.body.append("    " * self.depth + statement)

    def name(self, letter: str) -> str:
        """A name that is not in use."""
        self.names += 1
        return f"{letter}{self.names - 1}"

    def write(self, spelled: str) -> str:
        """Write one step, if it is not known where we are; returns the name of its result."""
        if spelled not in self.lines:
            self.lines[spelled] = self.name("t")
            self.put(f"{self.constant} {self.lines[spelled]} = {spelled};")
        return self.lines[spelled]

    def variable(self, start: Any) -> Spelling:
        """Declare a variable that changes."""
        name = self.name("v")
        self.put(f"{self.changing} {name} = {self.spell(start)};")
        return self.text(name)

    def loop(self, low: str, high: str, iteration: Callable[[str], None], backwards: bool = False) -> None:
        """Write a loop; `iteration` writes its body for an index. What it writes is not known behind the loop."""
        way = f"{high} - 1; i >= {low}; i--" if backwards else f"{low}; i < {high}; i++"
        self.put(f"for ({self.index} i = {way}) {{")
        before = len(self.body)
        outside, self.lines = self.lines, ChainMap({}, self.lines)  # type: ignore[assignment]
        self.depth += 1
        iteration("i")
        self.depth -= 1
        self.lines = outside
        if len(self.body) == before:
            self.body.pop()
        else:
            self.put("}")


class SpelledList:
    """A list of numbers in another language: parts with a lower and an upper bound of the index, and the element there."""

    def __init__(self, program: LoopListing, parts: list[tuple[str, str, Callable[[str], Any]]]) -> None:
        self.program, self.parts = program, parts
        self.product: Spelling | None = None  # of a list of products behind each element: where the loop keeps it

    @staticmethod
    def of(program: LoopListing, array: str) -> SpelledList:
        """The n elements of an array."""
        return SpelledList(program, [("0", "n", lambda i: program.text(f"{array}[{i}]"))])

    def __getitem__(self, key: Any) -> Any:
        """The first element, or all but the first: what rules ask for."""
        ((low, high, at),) = self.parts
        assert low == "0" and key in (0, slice(1, None))
        return at("0") if key == 0 else SpelledList(self.program, [("1", high, at)])

    def __add__(self, other: SpelledList) -> SpelledList:
        """One list behind the other."""
        ((_, end, first),), ((_, size, second),) = self.parts, other.parts
        assert end == size == "half"
        behind = ("half", "n", lambda i: second(f"{i} - half"))
        return SpelledList(self.program, [("0", "half", first), behind])

    def count_all(self) -> Spelling:
        """How many there are."""
        return self.program.text(self.program.count)

    def halves(self) -> tuple[SpelledList, SpelledList]:
        """The first half and the second."""
        ((_, _, at),) = self.parts
        self.program.put(f"{self.program.index} half = n / 2;")
        shifted = [("0", "half", lambda i: at(f"half + {i}"))]
        return SpelledList(self.program, [("0", "half", at)]), SpelledList(self.program, shifted)

    def fold(self, step: Callable[..., Any], start: Any, *more: SpelledList) -> Spelling:
        """A loop that steps a variable."""
        program, acc = self.program, self.program.variable(start)
        ((low, high, _),) = self.parts

        def iteration(i: str) -> None:
            new = step(acc, *(column.parts[0][2](i) for column in (self, *more)))
            program.put(f"{acc.name} = {program.spell(new)};")

        program.loop(low, high, iteration)
        return acc

    def each(self, step: Callable[..., Any], *more: SpelledList) -> SpelledList:
        """A loop that stores the results."""
        program, stored = self.program, self.program.stored
        behind = [column for column in (self, *more) if column.product is not None]
        for k, (low, high, _) in enumerate(self.parts):

            def iteration(i: str, k: int = k) -> None:
                new = step(*(column.parts[k][2](i) for column in (self, *more)))
                if program.spell(new) != f"{stored}[{i}]":
                    program.put(f"{stored}[{i}] = {program.spell(new)};")
                for column in behind:
                    assert column.product is not None
                    program.put(f"{column.product.name} = {program.spell(column.product * column.factor(i))};")

            program.loop(low, high, iteration, backwards=bool(behind))
        return SpelledList.of(program, stored)

    def factor(self, i: str) -> Any:
        """What the product of a list of products is multiplied by."""
        raise NotImplementedError

    def products_before(self, backwards: bool) -> SpelledList:
        """A list of products: stored, or backwards made by the loop that reads it."""
        program, product = self.program, self.program.variable(1.0)
        ((low, high, at),) = self.parts
        if backwards:
            return _Behind(program, at, product)

        def iteration(i: str) -> None:
            program.put(f"{program.stored}[{i}] = {product.name};")
            program.put(f"{product.name} = {program.spell(product * at(i))};")

        program.loop(low, high, iteration)
        return SpelledList.of(program, program.stored)


class _Behind(SpelledList):
    """For each element, the product of those behind it: the loop that reads them runs backwards, and multiplies."""

    def __init__(self, program: LoopListing, at: Callable[[str], Any], product: Spelling) -> None:
        super().__init__(program, [("0", "n", lambda i: product)])
        self.product, self.at = product, at

    def factor(self, i: str) -> Any:
        """The element itself."""
        return self.at(i)
