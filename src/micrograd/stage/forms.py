"""The forms that the variables of a rolled loop take: Values, a few constants, plain numbers that change, lists of such."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage.counters import Counter
from micrograd.stage.errors import NotYet, StaleRead, Unsupported
from micrograd.stage.instances import (
    DEEP,
    Shape,
    alternatives,
    is_named,
    is_plain_class,
    made_here,
    stand_in,
    structure,
)
from micrograd.stage.join import constant_key, join, number
from micrograd.stage.lanes import CARRIED, Lane, plain
from micrograd.stage.machine import Machine
from micrograd.stage.masks import TRUE, Mask
from micrograd.stage.packed import packed
from micrograd.stage.row import Row, is_long, is_plain_row
from micrograd.stage.summary import STALE, Summary

if TYPE_CHECKING:
    from micrograd.stage.roll import Roll

FEW = {int: 3, float: 4}  # numbers that a variable may take as constants, by their type
OTHERS = 9


class Form:
    """What a variable may hold at the beginning of an iteration."""

    def __init__(self, roll: Roll, fresh: bool = False, arrays: bool = False, inside: int = 0) -> None:
        self.roll, self.m = roll, roll.m
        self.fresh = (
            fresh  # whether each iteration assigns it before it reads it: then this is what it holds at the end
        )
        self.arrays = arrays  # whether its long lists are arrays
        self.inside = inside  # in how many objects it is that are carried item by item
        self.row: Row | None = None  # of a list that is an array
        self.constants: list[Any] = []
        self.value = False  # a Value
        self.lane: type | None = None  # a plain number that changes
        self.counter: Counter | None = None  # of an int that grows by the same number in each iteration
        self.parts: list[Form] | None = None  # of a list, tuple or object of one shape: the forms of its items
        self.shape = Shape(tuple, 0)
        self.taken: list[Any] = []  # objects and lists from outside that are carried item by item

    def admit(self, x: Any, entry: bool = False) -> bool:
        """Let a variable hold x too; whether that is new. `entry` is for what it holds before the loop."""
        if type(x) is Summary:
            news = [self.admit(y, entry) for _, y in x.alternatives]  # all of them
            return any(news)
        if x is STALE:
            raise StaleRead
        if self.inside and self.parts is None and self.roll.changes(x):
            return self._admit_constant(x)  # it is carried on its own
        if self.row is not None or packed(x) is not None or (self.arrays and is_long(x)):
            return self._admit_row(x)
        if self.parts is not None and _is_container(x):
            return self.admit_items(x, entry)
        if holds_numbers(x) and not (self.inside and type(x) is list):
            return self.admit_items(x, entry)
        if not entry and _is_container(x) and made_here(self.m, x):
            return self._take_apart(x)
        if isinstance(x, Value):
            new, self.value = not self.value, True
        elif type(x) is Lane:
            new = self.lane is not x.kind
            self._widen(x.kind)
        elif self.lane is type(x):
            new = False
        else:
            new = self._admit_constant(x)
        return new

    def _admit_constant(self, x: Any) -> bool:
        new = constant_key(x) not in [constant_key(c) for c in self.constants]
        if new:
            self.constants.append(x)
            if sum(type(c) is type(x) for c in self.constants) > FEW.get(type(x), OTHERS):
                self._widen(type(x))
        return new

    def _admit_row(self, x: Any) -> bool:
        if self.row is None:
            begun = [c for c in self.constants if is_plain_row(c)]
            self.constants = [c for c in self.constants if all(c is not b for b in begun)]
            if not self.arrays or self.constants or self.value or self.lane is not None or self.parts is not None:
                raise Unsupported("a variable holds a long list, or a list whose length changes, and something else")
            self.row = Row(self.roll, self.fresh)
            for c in begun:
                self.row.admit(c)
        return self.row.admit(x)

    def _take_apart(self, x: Any) -> bool:
        """Carry the items of an object that this iteration has made, and of those that the variable held before."""
        found = structure(x)
        begun = [structure(c) for c in self.constants]
        if found is None:
            raise Unsupported(f"a {type(x).__name__} is made in each iteration")
        if any(_is_container(c) and (one is None or one[0] != found[0]) for c, one in zip(self.constants, begun)):
            raise NotYet  # perhaps the variable holds objects of one class from the next iteration on
        before, self.constants = self.constants, [c for c in self.constants if not _is_container(c)]
        self._open(found[0])
        for c in before:
            self.admit(c, True)
        self.admit_items(x)
        return True

    def _open(self, shape: Shape) -> None:
        if self.value or self.lane is not None:
            raise Unsupported("a variable holds a number or an object")
        inside = self.inside + (self.inside > 0 or shape.kind not in (list, tuple))
        if inside > DEEP:
            raise Unsupported("objects refer to each other in too many steps")
        count = shape.keys if type(shape.keys) is int else len(shape.keys)
        self.parts, self.shape = [Form(self.roll, inside=inside) for _ in range(count)], shape

    def admit_items(self, x: Any, entry: bool = False) -> bool:
        """Let a variable hold this list, tuple or object too; whether that is new."""
        found = structure(x)
        if self.parts is None:
            if any(map(_is_container, self.constants)) or self.value or self.lane is not None or found is None:
                raise NotYet
            self._open(found[0])
        assert self.parts is not None
        if found is None or found[0] != self.shape:
            raise Unsupported("a variable holds lists of different lengths, or objects of different classes")
        if self.is_copied and not made_here(self.m, x):
            self.taken.append(x)
        news = [part.admit(item, entry) for part, item in zip(self.parts, found[1])]
        return any(news)

    @property
    def is_copied(self) -> bool:
        """Whether an object, or a list in an object, of which a copy stands in each iteration."""
        return self.parts is not None and (self.inside > 0 or self.shape.kind is not list) and not _fixed(self.shape)

    @property
    def becomes(self) -> bool:
        """Whether a constant becomes a Value or an object, perhaps only in the first iteration."""
        return self.row is None and self.coded and (self.value or self.parts is not None)

    def all(self) -> Iterator[Form]:
        """This form, and those of all items."""
        yield self
        for part in self.parts or ():
            yield from part.all()

    def containers(self, x: Any) -> Iterator[tuple[Form, Any]]:
        """The lists and objects in what a variable holds that are carried item by item or as arrays, and their forms."""
        if self.parts is None and self.row is None:
            return
        for y in [y for y in alternatives(x) if _is_container(y)]:
            if not _fixed(Shape(type(y), 0)):
                yield self, y
            for part, item in zip(self.parts or (), self._items(y)):
                yield from part.containers(item)

    def growth(self, x: Any, fresh: bool) -> int:
        """By how much a whole number in what a variable holds grows in an iteration, at most."""
        if self.parts is None:
            return growth(x, fresh)
        items = [(part, item) for y in alternatives(x) for part, item in zip(self.parts, self._items(y))]
        return max([part.growth(item, fresh) for part, item in items], default=0)

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
        return not self.value and self.lane is None and self.parts is None and len(self.constants) == 1

    @property
    def count(self) -> int:
        """How many numbers are carried for the variable."""
        if self.row is not None:
            return 1
        inside = sum([part.count for part in self.parts or ()])
        return 0 if self.fixed else inside + self.value + (self.lane is not None) + self.coded

    @property
    def coded(self) -> bool:
        """Whether a number must say which of the alternatives it is."""
        return len(self.constants) + self.value + (self.lane is not None) + (self.parts is not None) > 1

    def _of_lane(self, x: Any) -> bool:
        return type(x) is Lane or (self.lane is not None and type(x) is self.lane)

    def _code(self, x: Any) -> float:
        if isinstance(x, Value):
            return -1.0
        if self._of_lane(x):
            return -2.0
        if self.parts is not None and _is_container(x):
            return -3.0
        return float([constant_key(c) for c in self.constants].index(constant_key(x)))

    def carried(self, m: Machine, x: Any) -> list[Any]:
        """What is carried for a variable that holds x: its number, and which of the alternatives it is."""
        if self.row is not None:
            return [self.row.array(m, x)]
        if self.fixed:
            return []
        parts = x.alternatives if type(x) is Summary else [(TRUE, x)]
        found: list[Any] = [] if self.parts is None else self._carried_items(m, parts)
        if self.value:
            values = [(mask, None, y) for mask, y in parts if isinstance(y, Value)]
            found.append(join(m, values) if values else 0.0)  # type: ignore[arg-type]
        if self.lane is not None:
            plains = [(mask, plain(y)) for mask, y in parts if self._of_lane(y)]
            if any(type(y) is int and abs(y) > CARRIED for _, y in plains):
                raise Unsupported("a whole number that is carried from one iteration to the next is too large")
            plains = [(mask, y if isinstance(y, Value) else float(y)) for mask, y in plains]
            found.append(0.0 if not plains else plains[0][1] if len(plains) == 1 else number(m, Summary(plains)))
        if self.coded:
            code = join(m, [(mask, None, self._code(y)) for mask, y in parts])
            found.append(number(m, code))
        return found

    def _carried_items(self, m: Machine, parts: list[tuple[Mask, Any]]) -> list[Any]:
        assert self.parts is not None
        found: list[Any] = []
        several = [(mask, self._items(y)) for mask, y in parts if _is_container(y)]
        for k, part in enumerate(self.parts):
            if several:
                found += part.carried(m, join(m, [(mask, None, items[k]) for mask, items in several]))
            else:
                found += [0.0] * part.count
        return found

    def _items(self, x: Any) -> list[Any]:
        """The items of a container that is carried item by item."""
        found = structure(x) if self.parts is not None and _is_container(x) else None
        return [] if found is None else found[1]

    def rebuilt(self, m: Machine, carried: list[Any], inside: bool = False) -> Any:
        """What a variable holds, from what is carried for it; inside of the loop, at the beginning of an iteration.

        A list or an object is a new one. Inside, it may not be changed: outside it may have other names.
        """
        if self.row is not None:
            return self.row.rebuilt(m, carried[0], inside)
        if self.fixed:
            return self.constants[0]
        given = list(carried)
        others: list[tuple[float, Any]] = []
        if self.parts is not None:
            others.append((-3.0, self._made(m, given, inside)))
        if self.value:
            others.append((-1.0, given.pop(0)))
        if self.lane is not None:
            number = given.pop(0)
            known = None
            if self.counter is not None:
                known = self.counter.now(m, self.roll, number) if inside else self.counter.behind(m, self.roll)
            others.append((-2.0, Lane(self.lane, number, more=0 if inside else None) if known is None else known))
        if not self.coded:
            return others[0][1]
        alternatives, rest = [], TRUE
        choices = [(float(k), c) for k, c in enumerate(self.constants)] + others
        for code, c in choices[:-1]:
            mask = m.masks.compare("eq", given[0], code)
            alternatives.append((mask, c))
            rest = m.masks.without(rest, mask)
        return Summary([*alternatives, (rest, choices[-1][1])])

    def _made(self, m: Machine, given: list[Any], inside: bool) -> Any:
        """A list, tuple or object from what is carried for its items, which is taken from `given`."""
        assert self.parts is not None
        items = []
        for part in self.parts:
            items.append(part.rebuilt(m, given[: part.count], inside))
            del given[: part.count]
        made = self.shape.make(items)
        if self.is_copied:
            return m.made(made) if self.roll.owns and not inside else stand_in(m, made, self.roll.key, inside)
        return m.made(made) if self.shape.kind is list and not inside else made


def holds_numbers(x: Any) -> bool:
    """Whether a list or tuple has Values in it, or numbers that change from one iteration to the next."""
    if type(x) not in (list, tuple) and not is_named(x):
        return False
    return any(isinstance(item, (Value, Summary)) or holds_numbers(item) for item in x)


def _is_container(x: Any) -> bool:
    return type(x) in (list, tuple, dict) or is_named(x) or is_plain_class(type(x))


def _fixed(shape: Shape) -> bool:
    """Whether objects of this shape cannot be changed, and nobody is told which one it is."""
    return issubclass(shape.kind, tuple)


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
    if x.most <= CARRIED:  # whatever the iteration was given
        return 0
    if x.more is None:
        raise Unsupported("a whole number that is carried from one iteration to the next does not grow by a constant")
    return abs(x.more)
