"""The forms that the variables of a rolled loop take: Values, a few constants, plain numbers that change, lists of such."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from micrograd.engine import Value
from micrograd.stage.errors import NotYet, StaleRead, Unsupported
from micrograd.stage.join import constant_key, join, number
from micrograd.stage.lanes import CARRIED, Lane, plain
from micrograd.stage.machine import Machine
from micrograd.stage.masks import TRUE
from micrograd.stage.packed import packed
from micrograd.stage.row import Row, is_long, is_plain_row
from micrograd.stage.summary import STALE, Summary

FEW = {int: 3, float: 4}  # numbers that a variable may take as constants, by their type
OTHERS = 9


class Form:
    """What a variable may hold at the beginning of an iteration."""

    def __init__(self, fresh: bool = False, roll: Any = None) -> None:
        self.fresh = (
            fresh  # whether each iteration assigns it before it reads it: then this is what it holds at the end
        )
        self.roll = roll  # the loop, where its long lists are arrays
        self.row: Row | None = None  # of a list that is an array
        self.constants: list[Any] = []
        self.value = False  # a Value
        self.lane: type | None = None  # a plain number that changes
        self.parts: list[Form] | None = None  # of a list or tuple of one length: the forms of its items
        self.kind: type = tuple

    def admit(self, x: Any) -> bool:
        """Let a variable hold x too; whether that is new."""
        if type(x) is Summary:
            news = [self.admit(y) for _, y in x.alternatives]  # all of them
            return any(news)
        if x is STALE:
            raise StaleRead
        if self.row is not None or packed(x) is not None or (self.roll is not None and is_long(x)):
            if self.row is None:
                begun = [c for c in self.constants if is_plain_row(c)]
                self.constants = [c for c in self.constants if all(c is not b for b in begun)]
                if self.roll is None or self.constants or self.value or self.lane is not None or self.parts is not None:
                    raise Unsupported(
                        "a variable holds a long list, or a list whose length changes, and something else"
                    )
                self.row = Row(self.roll, self.fresh)
                for c in begun:
                    self.row.admit(c)
            return self.row.admit(x)
        if self.parts is not None or holds_numbers(x):
            return self.admit_items(x)
        if isinstance(x, Value):
            new, self.value = not self.value, True
        elif type(x) is Lane:
            new = self.lane is not x.kind
            self._widen(x.kind)
        elif self.lane is type(x):
            new = False
        else:
            new = constant_key(x) not in [constant_key(c) for c in self.constants]
            if new:
                self.constants.append(x)
                if sum(type(c) is type(x) for c in self.constants) > FEW.get(type(x), OTHERS):
                    self._widen(type(x))
        return new

    def admit_items(self, x: Any) -> bool:
        """Let a variable hold this list or tuple too; whether that is new."""
        items: list[Any] = list(x) if type(x) in (list, tuple) else []
        if self.parts is None:
            if self.constants or self.value or self.lane is not None:
                raise NotYet
            self.parts, self.kind = [Form() for _ in items], type(x)
        elif type(x) is not self.kind or len(items) != len(self.parts):
            raise Unsupported("a variable holds lists of different lengths, or a list and something else")
        news = [part.admit(item) for part, item in zip(self.parts, items)]
        return any(news)

    def leaves(self) -> list[Form]:
        """The forms of the numbers in it."""
        if self.row is not None:
            return []
        return [self] if self.parts is None else [leaf for part in self.parts for leaf in part.leaves()]

    def _widen(self, kind: type) -> None:
        """Let a variable hold any number of this type."""
        if kind not in (int, float):
            raise Unsupported("a variable holds too many different things from one iteration to the next")
        if self.lane not in (None, kind):
            raise Unsupported("a variable is an int in one iteration and a float in another")
        self.lane = kind
        self.constants = [c for c in self.constants if type(c) is not kind]

    @property
    def fixed(self) -> bool:
        return not self.value and self.lane is None and len(self.constants) == 1

    @property
    def count(self) -> int:
        """How many numbers are carried for the variable."""
        if self.row is not None:
            return 1
        if self.parts is not None:
            return sum([part.count for part in self.parts])
        return 0 if self.fixed else self.value + (self.lane is not None) + self.coded

    @property
    def coded(self) -> bool:
        """Whether a number must say which of the alternatives it is."""
        return len(self.constants) + self.value + (self.lane is not None) > 1

    def _of_lane(self, x: Any) -> bool:
        return type(x) is Lane or (self.lane is not None and type(x) is self.lane)

    def _code(self, x: Any) -> float:
        if isinstance(x, Value):
            return -1.0
        if self._of_lane(x):
            return -2.0
        return float([constant_key(c) for c in self.constants].index(constant_key(x)))

    def carried(self, m: Machine, x: Any) -> list[Any]:
        """What is carried for a variable that holds x: its number, and which of the alternatives it is."""
        if self.row is not None:
            return [self.row.array(m, x)]
        if self.parts is not None:
            return self._carried_items(m, x)
        if self.fixed:
            return []
        parts = x.alternatives if type(x) is Summary else [(TRUE, x)]
        found: list[Any] = []
        if self.value:
            values = [(mask, None, y) for mask, y in parts if isinstance(y, Value)]
            found.append(join(m, values) if values else 0.0)  # type: ignore[arg-type]
        if self.lane is not None:
            plains = [(mask, plain(y)) for mask, y in parts if self._of_lane(y)]
            plains = [(mask, y if isinstance(y, Value) else float(y)) for mask, y in plains]
            found.append(0.0 if not plains else plains[0][1] if len(plains) == 1 else number(m, Summary(plains)))
        if self.coded:
            code = join(m, [(mask, None, self._code(y)) for mask, y in parts])
            found.append(number(m, code))
        return found

    def _carried_items(self, m: Machine, x: Any) -> list[Any]:
        assert self.parts is not None
        found: list[Any] = []
        for k, part in enumerate(self.parts):
            item = join(m, [(mask, None, y[k]) for mask, y in x.alternatives]) if type(x) is Summary else x[k]
            found += part.carried(m, item)
        return found

    def rebuilt(self, m: Machine, carried: list[Any], inside: bool = False) -> Any:
        """What a variable holds, from what is carried for it; inside of the loop, at the beginning of an iteration.

        A list is a new one. Inside, it may not be changed: outside it may have other names.
        """
        if self.row is not None:
            return self.row.rebuilt(m, carried[0], inside)
        if self.parts is not None:
            items, at = [], 0
            for part in self.parts:
                items.append(part.rebuilt(m, carried[at : at + part.count], inside))
                at += part.count
            return m.made(items) if self.kind is list and not inside else self.kind(items)
        if self.fixed:
            return self.constants[0]
        given = list(carried)
        others: list[tuple[float, Any]] = []
        if self.value:
            others.append((-1.0, given.pop(0)))
        if self.lane is not None:
            others.append((-2.0, Lane(self.lane, given.pop(0), more=0 if inside else None)))
        if not self.coded:
            return others[0][1]
        alternatives, rest = [], TRUE
        choices = [(float(k), c) for k, c in enumerate(self.constants)] + others
        for code, c in choices[:-1]:
            mask = m.masks.compare("eq", given[0], code)
            alternatives.append((mask, c))
            rest = m.masks.without(rest, mask)
        return Summary([*alternatives, (rest, choices[-1][1])])


def holds_numbers(x: Any) -> bool:
    """Whether a list or tuple has Values in it, or numbers that change from one iteration to the next."""
    if type(x) not in (list, tuple):
        return False
    return any(isinstance(item, (Value, Summary)) or holds_numbers(item) for item in x)


def lists_in(x: Any) -> Iterator[Any]:
    """The lists in what a variable holds."""
    if type(x) is Summary:
        for _, y in x.alternatives:
            yield from lists_in(y)
    elif holds_numbers(x):
        if type(x) is list:
            yield x
        for item in x:
            yield from lists_in(item)


def growth(x: Any, fresh: bool) -> int:
    """By how much a whole number that is carried grows in an iteration, at most.

    One that is `fresh`, such as the counter of a loop inside, does not grow: each iteration assigns it before reading it.
    """
    if type(x) is Summary:
        return max([growth(y, fresh) for _, y in x.alternatives], default=0)
    if type(x) in (list, tuple):
        return max([growth(item, fresh) for item in x], default=0)
    if type(x) is not Lane or x.kind is not int:
        return 0
    if fresh or x.terms is not None:
        if x.most > CARRIED:
            raise Unsupported("a whole number that is carried from one iteration to the next becomes too large")
        return 0
    if x.more is None:
        raise Unsupported("a whole number that is carried from one iteration to the next does not grow by a constant")
    return abs(x.more)
