"""Iterators over sequences, ranges and dicts: one item after the other, and how many are left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.abstract.errors import Refused, Unrollable
from micrograd.abstract.items import Sequences
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import names_of
from micrograd.abstract.values import (
    ABSENT,
    TRUE,
    Cell,
    Const,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
)
from micrograd.core.forms import RAISE
from micrograd.ir.forms import I64


def _arguments(n: int) -> str:
    return "argument 1" if n == 1 else f"arguments 1-{n}"


class Iterators(Sequences):
    """Iterators."""

    def iterate(self, value: Value) -> Result:
        """Return an iterator over something, for `for`."""
        return self.split(value, self._iterate_one)

    def _iterator(self, how: str, *values: Value) -> Ref:
        return self.new(Cell(("iterator", how), values))

    def _iterate_one(self, value: Value) -> Result:
        if isinstance(value, Tuple):
            if value.cls is range:
                return self._iterator("range", *value.items, Const(0))
            if value.cls is slice or issubclass(value.cls, BaseException):
                return self.raised(TypeError(f"'{value.cls.__name__}' object is not iterable"))
            return self._iterator("items", self.new(Cell(("list", list), value.items)), Const(0))
        if isinstance(value, Const):
            try:
                items = list(iter(value.value))
            except TypeError as error:
                return self.raised(error)
            return self._iterator("items", self.new(Cell(("list", list), [self.constant(x) for x in items])), Const(0))
        if not isinstance(value, Ref):
            return self.raised(TypeError("object is not iterable"))
        cell = self.cell(value)
        how = cell.key[0]
        if how in ("iterator", "generator"):
            return value
        if self.is_sequence(value):
            return self._iterator("items", value, Const(0))
        if how in ("dict", "set"):
            return self._iterate_keys(value, cell, "keys")
        if how == "view":
            source = self.resolved(cell.values[0])
            assert isinstance(source, Ref)
            return self.split(source, lambda d: self._iterate_keys(d, self.cell(d), cell.key[1]))  # type: ignore[arg-type]
        if how in ("object", "pool"):
            cls = self.class_of(value)
            if hasattr(cls, "__iter__"):
                return self.bind(
                    self.special(value, "__iter__"), lambda f: self.bind(self.call(f, [], {}), self.iterate)
                )
            if hasattr(cls, "__getitem__"):
                raise Refused("an iteration over an object by __getitem__")
        return self.raised(TypeError(f"'{self.class_of(value).__name__}' object is not iterable"))

    def _iterate_keys(self, ref: Ref, cell: Cell, what: str) -> Result:
        if ref.location in self.unordered:
            raise Refused("an iteration over a dict whose keys were set in an order that is not known")
        if cell.key[0] == "set" and len(cell.values) > 1:
            names = names_of(cell)
            if not all(type(k) in (int, bool) for k in names):
                raise Refused("an iteration over a set", "Its order is not defined: use a list or a dict.")
            cell = _in_set_order(cell)
        count = self.count(ref)
        assert count is not None

        def made(keys: list[Value]) -> Result:
            listed = self.new(Cell(("list", list), keys))
            return self.new(Cell(("iterator", "view", what), (listed, Const(0), ref, count)))

        return self.with_keys(cell, made)

    def with_keys(self, cell: Cell, then: Callable[[list[Value]], Result]) -> Result:
        """Go on with the keys that a dict or a set has."""
        names = names_of(cell)

        def rest(i: int, found: list[Value]) -> Result:
            while i < len(names):
                x = cell.values[i]
                key = self.key_value(names[i])
                if isinstance(x, Union):

                    def one(y: Value, i: int = i, key: Value = key, found: list[Value] = found) -> Result:
                        return rest(i + 1, found if is_mark(y, ABSENT) else [*found, key])

                    return self.split(x, one)
                if not is_mark(x, ABSENT):
                    found = [*found, key]
                i += 1
            return then(found)

        return rest(0, [])

    def remaining(self, iterator: Value) -> Value | None:
        """Return how many items an iterator still has, at most 0 at its end; None where that is not known."""
        iterator = self.resolved(iterator)
        if not isinstance(iterator, Ref) or not isinstance(self.heap.get(iterator.location), Cell):
            return None
        cell = self.cell(iterator)
        if cell.key[0] == "generator":
            source = self.source_of(iterator)
            return None if source is None else self.remaining(source)
        if cell.key[0] != "iterator":
            return None
        how = cell.key[1]
        if how == "range":
            start, stop, step, position = cell.values
            if all(isinstance(x, Const) for x in (start, stop, step)):
                count: Value = Const(len(range(start.value, stop.value, step.value)))  # type: ignore[attr-defined]
            else:
                count = self.range_count(start, stop, step)
            return self.minus(count, position)
        if how == "items":
            sequence = self.resolved(cell.values[0])
            if isinstance(sequence, Ref) and isinstance(self.heap[sequence.location], Union):
                return None
            found = self.count(sequence)
            return None if found is None else self.minus(found, cell.values[1])
        if how == "view":
            keys = self.count(cell.values[0])
            assert keys is not None
            return self.minus(keys, cell.values[1])
        if how == "reversed":
            return self.plus(cell.values[1], 1)
        if how in ("zip", "enumerate"):
            counts = [self.remaining(x) for x in (cell.values if how == "zip" else cell.values[:1])]
            if not counts or any(c is None for c in counts):
                return None
            return self.least([c for c in counts if c is not None], "<")
        if how == "strict":  # a counted loop does not ask what comes at the end
            first, *others = map(self.remaining, cell.values)
            return first if all(self._same_count(first, n) for n in others) else None
        return None

    def _same_count(self, a: Value | None, b: Value | None) -> bool:
        """Return whether two counts are known to be equal."""
        if a is None or b is None:
            return False
        known = self.b.known
        difference = known.of(self.place(a, I64)).plus(known.of(self.place(b, I64)), -1)
        return known.positive(difference) and known.positive(difference.negated())

    def zipped_strictly(self, iterators: list[Value]) -> Result:
        """Return the iterator of `zip` with strict=True. A call with counts that differ now is left to Python."""
        counts = [self.remaining(x) for x in iterators]

        def rest(i: int) -> Result:
            if i == len(iterators):
                return self._iterator("strict", *iterators)
            a, b = counts[0], counts[i]
            if a is None or b is None:
                return rest(i + 1)
            other = self.b.emit("not", self.b.emit("ieq", self.place(a, I64), self.place(b, I64)))
            return self.unless(other, ValueError(f"zip() argument {i + 1} has another length"), lambda: rest(i + 1))

        return rest(1)

    def source_of(self, generator: Ref) -> Value | None:
        """Return the iterator that a generator takes one item from for each of its own; None where there is none."""
        raise NotImplementedError

    def next(self, iterator: Value, end: Callable[[], Result]) -> Result:
        return self.split(iterator, lambda it: self._next(it, end))

    def _next(self, iterator: Value, end: Callable[[], Result]) -> Result:
        if not isinstance(iterator, Ref):
            return self.raised(TypeError("object is not an iterator"))
        cell = self.cell(iterator)
        if cell.key[0] == "generator":
            return self.step_generator(iterator, end)
        if cell.key[0] in ("object", "pool"):
            return self._next_of_object(iterator, end)
        if cell.key[0] != "iterator":
            return self.raised(TypeError("object is not an iterator"))
        how = cell.key[1]
        if how == "zip":
            return self._next_of_each(list(cell.values), [], end)
        if how == "strict":
            return self._next_of_all(list(cell.values), [], end)
        if how == "enumerate":
            return self._next_of_enumerate(iterator, cell, end)
        if how == "range":
            return self._next_of_range(iterator, cell, end)
        if how == "ended":
            return end()
        if how == "view":
            return self._next_of_view(iterator, cell, end)
        if how == "reversed":
            sequence, position = cell.values

            def before() -> Result:
                moved = Cell(cell.key, (sequence, self.plus(position, -1)))
                self.heap[iterator.location] = moved
                return self.item(sequence, position)

            return self.fork(self.b.emit("ile", self.b.const(0), self.place(position, I64)), before, end)
        assert how == "items"
        return self.split(cell.values[0], lambda sequence: self._next_item(iterator, cell, sequence, end))

    def _next_item(self, iterator: Ref, cell: Cell, sequence: Value, end: Callable[[], Result]) -> Result:
        position, count = cell.values[1], self.count(sequence)
        assert count is not None

        def go() -> Result:
            self.heap[iterator.location] = Cell(cell.key, (cell.values[0], self.plus(position, 1)))
            return self.item(sequence, position)

        def ended() -> Result:
            if isinstance(position, Const) and isinstance(count, Const):
                self.heap[iterator.location] = Cell(("iterator", "ended"), ())
            return end()

        return self.fork(self.b.emit("ilt", self.place(position, I64), self.place(count, I64)), go, ended)

    def _next_of_view(self, iterator: Ref, cell: Cell, end: Callable[[], Result]) -> Result:
        """Return the next key, value or item of a dict, whose size must not change meanwhile."""
        listed, position, source, size = cell.values
        count = self.count(source)
        keys = self.cell(listed)
        if not isinstance(position, Const):
            raise Unrollable("a loop over a dict or a set")
        assert count is not None
        changed = self.b.emit("not", self.b.emit("ieq", self.place(count, I64), self.place(size, I64)))

        def go() -> Result:
            if position.value >= len(keys.values):
                self.heap[iterator.location] = Cell(("iterator", "ended"), ())
                return end()
            self.heap[iterator.location] = Cell(cell.key, (listed, Const(position.value + 1), source, size))
            key: Value = keys.values[position.value]
            if cell.key[2] == "keys":
                return key
            assert isinstance(source, Ref)
            value = self._item_of_dict(source, self.cell(source), key)
            return value if cell.key[2] == "values" else self.bind(value, lambda v: Tuple([key, v]))

        return self.unless(changed, RuntimeError("dictionary changed size during iteration"), go)

    def _next_of_range(self, iterator: Ref, cell: Cell, end: Callable[[], Result]) -> Result:
        start, stop, step, position = cell.values
        offset = self.whole("imul", self.place(position, I64), self.place(step, I64))
        value = self.whole("iadd", self.place(start, I64), offset)
        limit = self.place(stop, I64)
        if not isinstance(step, Const):
            count = self.place(self.range_count(start, stop, step), I64)
            test = self.b.emit("ilt", self.place(position, I64), count)
        else:
            test = self.b.emit("ilt", value, limit) if step.value > 0 else self.b.emit("ilt", limit, value)

        def go() -> Result:
            self.heap[iterator.location] = Cell(cell.key, (start, stop, step, self.plus(position, 1)))
            return self.value(value)

        return self.fork(test, go, end)

    def _next_of_each(self, iterators: list[Value], found: list[Value], end: Callable[[], Result]) -> Result:
        if len(found) == len(iterators):
            return Tuple(found)
        if not iterators:
            return end()
        item = self.next(iterators[len(found)], end)
        return self.bind(item, lambda x: self._next_of_each(iterators, [*found, x], end))

    def _next_of_all(self, iterators: list[Value], found: list[Value], end: Callable[[], Result]) -> Result:
        """Return the next item of each of several iterators, which must end together."""
        n = len(found)
        if n == len(iterators):
            return Tuple(found)

        def ended(i: int = 1) -> Result:
            if n:
                return self.raised(ValueError(f"zip() argument {n + 1} is shorter than {_arguments(n)}"))
            if i == len(iterators):
                return end()
            longer = ValueError(f"zip() argument {i + 1} is longer than {_arguments(i)}")
            return self.bind(self.next(iterators[i], lambda: ended(i + 1)), lambda _: self.raised(longer))

        return self.bind(self.next(iterators[n], ended), lambda x: self._next_of_all(iterators, [*found, x], end))

    def _next_of_enumerate(self, iterator: Ref, cell: Cell, end: Callable[[], Result]) -> Result:
        def got(item: Value) -> Result:
            self.heap[iterator.location] = Cell(cell.key, (cell.values[0], self.plus(cell.values[1], 1)))
            return Tuple([cell.values[1], item])

        return self.bind(self.next(cell.values[0], end), got)

    def _next_of_object(self, iterator: Ref, end: Callable[[], Result]) -> Result:
        self.catching += 1
        try:
            result = self.bind(self.special(iterator, "__next__"), lambda f: self.call(f, [], {}))
        finally:
            self.catching -= 1
        return self.catch(result, StopIteration, lambda _: end())

    def catch(self, result: Result, kind: type[BaseException], then: Callable[[Value], Result]) -> Result:
        """Go on in another way where an exception of some kind is raised."""
        if isinstance(result, Value):
            return result
        ways = self.ways(result)
        raised = ways.pop(RAISE, None)
        if raised is None:
            return self._finish(ways)

        def caught() -> Result:
            self.heap = dict(raised.heap)
            if issubclass(self.class_of(raised.value), kind):
                return then(raised.value)
            return self.leave(RAISE, raised.value)

        if not ways:
            return caught()
        if len(ways) == 1:
            for way in ways.values():
                way.flag = self.true
        return self.fork(raised.flag, caught, lambda: self._finish(ways))

    def step_generator(self, generator: Ref, end: Callable[[], Result]) -> Result:
        raise NotImplementedError


def _in_set_order(cell: Cell) -> Cell:
    """Return a set of small ints in the order in which Python iterates over it, where that is certain."""
    names = names_of(cell)
    if any(isinstance(x, Union) for x in cell.values):
        raise Refused("an iteration over a set whose items differ", "Its order is not defined: use a list or a dict.")
    made: set[Any] = set()
    for name, x in zip(names, cell.values):
        if not is_mark(x, ABSENT):
            made.add(name)
    order = tuple(made)
    return Cell(("set", order), [TRUE] * len(order))
