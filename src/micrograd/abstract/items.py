"""Items, slices, iterators: what sequences, dicts and sets can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.abstract.columns import fits, lub_of_items
from micrograd.abstract.dicts import CASES, Dicts
from micrograd.abstract.errors import Refused, Restart, Unrollable
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import get_named, shape_of
from micrograd.abstract.values import (
    ABSENT,
    NONE,
    Cell,
    Closure,
    Const,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
    kind_of,
)
from micrograd.core.operations import OPERATIONS
from micrograd.core.prelude import sequences
from micrograd.ir.forms import BOOL, F64, I64, Place

SEQUENCES = ("list", "columns", "rows")
OUT_OF_RANGE = "list index out of range"


class Sequences(Dicts):
    """Containers."""

    def is_sequence(self, value: Value) -> bool:
        """Return whether a value is a list, or one that can be used like a list."""
        if isinstance(value, Tuple):
            return value.cls not in (slice,) and not issubclass(value.cls, BaseException)
        if not isinstance(value, Ref):
            return False
        cell = self.heap.get(value.location)
        if not isinstance(cell, Cell):
            return False
        return cell.key[0] in SEQUENCES or (cell.key[0] == "pool" and cell.key[1].key[0] == "list")

    # ---- length

    def length(self, value: Value) -> Result:
        return self.split(value, self._length)

    def _length(self, value: Value) -> Result:
        found = self.count(value)
        if found is not None:
            return found
        if isinstance(value, Const):
            return self.run(len, value.value)
        if isinstance(value, Ref) and self.cell(value).key[0] in ("object", "pool"):
            return self.bind(self.special(value, "__len__"), lambda f: self.call(f, [], {}))
        return self.raised(TypeError("object has no len()"))

    def count(self, value: Value) -> Value | None:
        """Return how many items a container has; None for what is not one."""
        if isinstance(value, Tuple):
            if value.cls is range:
                return self._range_length(value)
            return Const(len(value.items))
        if not isinstance(value, Ref):
            return None
        cell = self.cell(value)
        how = cell.key[0]
        if how == "list":
            return Const(len(cell.values))
        if how == "columns":
            return cell.values[-1]
        if how == "rows":
            return cell.values[-2]
        if how == "pool" and cell.key[1].key[0] == "list":
            return Const(len(cell.key[1].shapes))
        if how == "view":
            return self.count(self.resolved(cell.values[0]))
        if how in ("dict", "set"):
            total: Value = Const(0)
            for x in cell.values:
                if isinstance(x, Union):
                    there = self.true
                    for m, y in x.alternatives:
                        if is_mark(y, ABSENT):
                            there = self.b.emit("not", m)
                    total = self.value(self.whole("iadd", self.place(total, I64), self.b.emit("count", there)))
                elif not is_mark(x, ABSENT):
                    total = self.plus(total, 1)
            return total
        return None

    def _range_length(self, value: Tuple) -> Value:
        start, stop, step = value.items
        if all(isinstance(x, Const) for x in value.items):
            return Const(len(range(*[x.value for x in value.items])))  # type: ignore[attr-defined]
        raw = self.range_count(start, stop, step)
        found = self.b.emit("imax", self.place(raw, I64), self.b.const(0))
        self.bounds.setdefault(found, 2.0**53)
        self.b.known.at_least(found, 0)
        return self.value(found)

    def range_count(self, start: Value, stop: Value, step: Value) -> Value:
        """Return how many numbers a range has; a negative number stands for none."""
        if not isinstance(step, Const):
            return self._range_count_by_step(start, stop, self.place(step, I64))
        s = step.value
        low, high = (start, stop) if s > 0 else (stop, start)
        gap = self.minus(high, low)
        if abs(s) == 1:
            return gap
        rounded = self.plus(gap, abs(s) - 1)
        return self.value(self.divided("//", self.place(rounded, I64), self.b.const(abs(s))))

    def _range_count_by_step(self, start: Value, stop: Value, step: Place) -> Value:
        """Return how many numbers a range has whose step is not known; one that is not above 0 is left to Python."""
        emit, known = self.b.emit, self.b.known
        upward = emit("ilt", self.b.const(0), step)
        if self.b.decided(upward) is not True:
            self.b.check(upward, "a range whose step is not known, and is not above 0")
        gap = self.place(self.minus(stop, start), I64)
        rounded = self.whole("iadd", gap, self.whole("iadd", step, self.b.const(-1)))
        found = self.divided("//", rounded, step)
        known.of(found)
        return self.value(found)

    def is_of_arguments(self, count: Place) -> bool:
        """Return whether a length is one of an argument, give or take a constant; unrolling a loop does not tell it."""
        known, b = self.b.known, self.b
        terms = [known.places.get(number) for number, _ in known.of(count).terms]
        return all(t is not None and t in b.tape.params for t in terms)

    # ---- one item

    def in_range(self, key: Value, count: Value, text: str, then: Callable[[Place], Result]) -> Result:
        """Go on with an index that is in range; negative ones count from the end."""
        if not is_number(key) or kind_of(key) == F64:
            return self.raised(TypeError("list indices must be integers or slices"))
        emit, known = self.b.emit, self.b.known
        i, n, zero = self.place(key, I64), self.place(count, I64), self.b.const(0)
        negative = emit("ilt", i, zero)
        if self.b.decided(negative) is True:
            i = self.whole("iadd", i, n)
        elif self.b.decided(negative) is None:
            i = self.select(negative, self.whole("iadd", i, n), i)
        good = emit("and", emit("ile", zero, i), emit("ilt", i, n))
        known.of(i)
        return self.unless(emit("not", good), IndexError(text), lambda: then(i))

    def item(self, obj: Value, key: Value) -> Result:
        return self.each([obj, key], lambda both: self._item(*both))

    def _item(self, obj: Value, key: Value) -> Result:
        if isinstance(key, Tuple) and key.cls is slice:
            return self.slice_of(obj, key)
        if isinstance(obj, Const):
            return self._item_of_constant(obj, key)
        if isinstance(obj, Tuple):
            return self._item_of_tuple(obj, key)
        if not isinstance(obj, Ref):
            return self.raised(TypeError("object is not subscriptable"))
        cell = self.cell(obj)
        how = cell.key[0]
        if isinstance(key, Tuple) and how in SEQUENCES and self._is_array(cell):
            return self._item_of_array(obj, list(key.items))
        if how == "list":
            if isinstance(key, Const):
                return self._known_item(cell.values, key, OUT_OF_RANGE)
            return self._item_of_list(obj, key)
        if how in ("columns", "rows"):
            count = self.count(obj)
            assert count is not None
            return self.in_range(key, count, OUT_OF_RANGE, lambda i: self.column_item(obj, i))
        if how == "pool" and cell.key[1].key[0] == "list":
            assert obj.index is not None
            row = self.load(cell, obj.index)
            assert isinstance(row, Cell)
            if isinstance(key, Const):
                return self._known_item(row.values, key, OUT_OF_RANGE)
            return self._by_cases(list(row.values), key)
        if how == "dict":
            return self._item_of_dict(obj, cell, key)
        if how in ("object", "pool"):
            return self.bind(self.special(obj, "__getitem__"), lambda f: self.call(f, [key], {}))
        return self.raised(TypeError(f"a {how} is not subscriptable"))

    def _is_array(self, cell: Cell) -> bool:
        return cell.key[-1].__name__ == "ndarray" if isinstance(cell.key[-1], type) else False

    def _item_of_array(self, obj: Value, keys: list[Value]) -> Result:
        if not keys:
            return obj
        return self.bind(self.item(obj, keys[0]), lambda row: self._item_of_array(row, keys[1:]))

    def _known_item(self, items: Any, key: Const, text: str) -> Result:
        try:
            return items[key.value]  # type: ignore[no-any-return]
        except IndexError:
            return self.raised(IndexError(text))
        except TypeError as error:
            return self.raised(error)

    def _item_of_constant(self, obj: Const, key: Value) -> Result:
        if isinstance(key, Const):
            return self.run(
                OPERATIONS["getitem"] if "getitem" in OPERATIONS else lambda a, b: a[b], obj.value, key.value
            )
        if isinstance(obj.value, str | bytes) and is_number(key):
            return self._by_cases([Const(x) for x in obj.value], key)
        raise Refused(f"an item of {type(obj.value).__name__} by a number that is not known")

    def _item_of_tuple(self, obj: Tuple, key: Value) -> Result:
        if obj.cls is range:
            start, _stop, step = obj.items
            count = self._range_length(obj)

            def go(i: Place) -> Result:
                offset = self.whole("imul", i, self.place(step, I64))
                return self.value(self.whole("iadd", self.place(start, I64), offset))

            return self.in_range(key, count, "range object index out of range", go)
        if isinstance(key, Const):
            return self._known_item(obj.items, key, "tuple index out of range")
        return self._item_of_list(self.new(Cell(("list", obj.cls), obj.items)), key)

    def _item_of_list(self, ref: Ref, key: Value) -> Result:
        """Return the item of a list by a number that is not known."""
        if not is_number(key) or kind_of(key) == F64:
            return self.raised(TypeError("list indices must be integers or slices"))
        items = [self.resolved(x) for x in self.cell(ref).values]
        if not items:
            return self.raised(IndexError(OUT_OF_RANGE))
        if len(items) <= CASES and (any(isinstance(x, Closure | Const) and not is_number(x) for x in items)):
            return self._by_cases(items, key)
        try:
            self.need_columns(ref)
        except Unrollable:
            if len(items) > CASES:
                raise
            return self._by_cases(items, key)
        return self._item(ref, key)

    def _by_cases(self, items: list[Value], key: Value) -> Result:
        """Return an item by comparing its number with each one that it may be."""
        n = len(items)

        def case(i: Place, k: int) -> Result:
            if k == n - 1:
                return items[k]
            return self.fork(self.b.emit("ieq", i, self.b.const(k)), lambda: items[k], lambda: case(i, k + 1))

        return self.in_range(key, Const(n), OUT_OF_RANGE, lambda i: case(i, 0))

    def set_item(self, obj: Value, key: Value, value: Value) -> Result:
        return self.each([obj, key], lambda both: self._set_item(both[0], both[1], value))

    def _set_item(self, obj: Value, key: Value, value: Value) -> Result:
        if not isinstance(obj, Ref):
            return self.raised(TypeError("object does not support item assignment"))
        cell = self.cell(obj)
        how = cell.key[0]
        if how in ("list", "columns", "rows", "dict", "set"):
            self.refuse_change(obj)
            if cell.key[-1] is tuple:
                return self.raised(TypeError("'tuple' object does not support item assignment"))
        if isinstance(key, Tuple) and key.cls is slice:
            return self.call_method(list, "%set_slice", obj, [key, value])
        if how == "list":
            if isinstance(key, Const):
                return self._set_known_item(obj, cell, key, value)
            if not is_number(key) or kind_of(key) == F64:
                return self.raised(TypeError("list indices must be integers or slices"))
            self.need_columns(obj)
            return self._set_item(obj, key, value)
        if how in ("columns", "rows"):
            value = self._one(value)
            count = self.count(obj)
            assert count is not None
            text = "list assignment index out of range"
            return self.in_range(key, count, text, lambda i: self.store_column_item(obj, i, value))
        if how == "dict":
            return self._set_dict_item(obj, cell, key, value)
        if how in ("object", "pool"):
            return self.bind(self.special(obj, "__setitem__"), lambda f: self.call(f, [key, value], {}))
        return self.raised(TypeError("object does not support item assignment"))

    def _one(self, value: Value) -> Value:
        """Return a value that is one number, where it is always a number."""
        value = self.resolved(value)
        if isinstance(value, Union) and all(is_number(x) for _, x in value.alternatives):
            return self.number_or_refuse(value, "an item")
        return value

    def _set_known_item(self, obj: Ref, cell: Cell, key: Const, value: Value) -> Result:
        items = list(cell.values)
        try:
            items[key.value] = value
        except (IndexError, TypeError) as error:
            return self.raised(error)
        self.heap[obj.location] = Cell(cell.key, items)
        return NONE

    def delete_item(self, obj: Value, key: Value) -> Result:
        def go(both: list[Value]) -> Result:
            obj, key = both
            if not isinstance(obj, Ref):
                return self.raised(TypeError("object does not support item deletion"))
            cell = self.cell(obj)
            if cell.key[0] in ("object", "pool"):
                return self.bind(self.special(obj, "__delitem__"), lambda f: self.call(f, [key], {}))
            self.refuse_change(obj)
            if cell.key[0] == "dict" and isinstance(key, Const):
                found = get_named(cell, key.value)
                if isinstance(found, Union) and any(is_mark(x, ABSENT) for _, x in found.alternatives):
                    raise Refused("a key that may be missing is deleted")
                if is_mark(found, ABSENT):
                    return self.raised(KeyError(key.value))
                self._without(obj, cell, key.value)
                return NONE
            if isinstance(key, Tuple) and key.cls is slice:
                return self.call_method(list, "%delete_slice", obj, [key])
            if cell.key[0] == "list" and isinstance(key, Const):
                items = list(cell.values)
                try:
                    del items[key.value]
                except (IndexError, TypeError) as error:
                    return self.raised(error)
                self.heap[obj.location] = Cell(cell.key, items)
                return NONE
            return self.call_method(list, "%delete_item", obj, [key])

        return self.each([obj, key], go)

    def call_method(self, cls: type, name: str, obj: Value, args: list[Value]) -> Result:
        """Do what the prelude says of a method."""
        raise NotImplementedError

    def contains(self, container: Value, x: Value) -> Result:
        """Return whether something is in a container."""
        if isinstance(container, Const):
            if isinstance(x, Const):
                return self.run(lambda a, b: a in b, x.value, container.value)
            raise Refused("`in` of a number that is not known")
        if isinstance(container, Ref):
            cell = self.cell(container)
            if cell.key == ("view", "keys"):
                return self.contains(self.resolved(cell.values[0]), x)
            if cell.key[0] in ("dict", "set"):
                if isinstance(x, Num):
                    return self._contains_number(cell, x)
                return self.split(get_named(cell, self.known_key(x)), lambda v: Const(not is_mark(v, ABSENT)))
            is_object = cell.key[0] in ("object", "pool") and not self.is_sequence(container)
            if is_object and hasattr(self.class_of(container), "__contains__"):
                found = self.bind(self.special(container, "__contains__"), lambda f: self.call(f, [x], {}))
                return self.bind(found, lambda v: self.truth(v, self.value))
        if isinstance(container, Tuple) and container.cls is range:
            return self._range_contains(container, x)
        return self.call_method(list, "__contains__", container, [x])

    def _contains_number(self, cell: Cell, x: Num) -> Result:
        found = self.false
        for k, v in self.present_items(cell):
            if isinstance(k, int | float):
                if isinstance(v, Union):
                    raise Refused("`in` of a container whose items differ")
                test = self.binary_number("==", x, Const(k))
                assert isinstance(test, Value)
                found = self.b.emit("or", found, self.place(test, BOOL))
        return self.value(found)

    def _range_contains(self, container: Tuple, x: Value) -> Result:
        start, stop, step = container.items
        if all(isinstance(v, Const) for v in (*container.items, x)):
            return Const(x.value in range(start.value, stop.value, step.value))  # type: ignore[attr-defined]
        if not (isinstance(step, Const) and step.value == 1 and is_number(x) and kind_of(x) == I64):
            raise Refused("`in` of a range that is not known")
        emit = self.b.emit
        low, high, p = (self.place(v, I64) for v in (start, stop, x))
        return self.value(emit("and", emit("ile", low, p), emit("ilt", p, high)))

    # ---- slices

    def slice_of(self, obj: Value, part: Tuple) -> Result:
        if isinstance(obj, Const):
            if all(isinstance(x, Const) for x in part.items):
                key = slice(*[x.value for x in part.items])  # type: ignore[attr-defined]
                return self.run(lambda a, b: a[b], obj.value, key)
            raise Refused("a slice of text by numbers that are not known")
        if isinstance(obj, Ref) and not self.is_sequence(obj):
            return self.bind(self.special(obj, "__getitem__"), lambda f: self.call(f, [part], {}))
        if isinstance(obj, Tuple) and obj.cls is range:
            raise Refused("a slice of a range")
        return self.each(list(part.items), lambda bounds: self._slice(obj, bounds))

    def _slice(self, obj: Value, bounds: list[Value]) -> Result:
        known = all(isinstance(x, Const) for x in bounds)
        key = Tuple(bounds, slice)
        if known:
            numbers = slice(*[x.value for x in bounds])  # type: ignore[attr-defined]
            if isinstance(obj, Tuple):
                return Tuple(obj.items[numbers])
            cell = self.cell(obj)
            if cell.key[0] == "list":
                return self.new(Cell(cell.key, cell.values[numbers]))
            if cell.key[0] == "pool":
                assert isinstance(obj, Ref) and obj.index is not None
                row = self.load(cell, obj.index)
                assert isinstance(row, Cell)
                return self.new(Cell(row.key, row.values[numbers]))
        step = bounds[2]
        if isinstance(step, Const) and step.value in (None, 1):
            ref = obj if isinstance(obj, Ref) else self.new(Cell(("list", tuple), obj.items))  # type: ignore[attr-defined]
            if self.cell(ref).key[0] == "list":
                self.need_columns(ref)
            if self.cell(ref).key[0] in ("columns", "rows"):
                return self._part(ref, bounds[0], bounds[1])
        return self.call_method(list, "%get_slice", obj, [key])

    def _part(self, ref: Ref, low: Value, high: Value) -> Result:
        for x in (low, high):
            if not (isinstance(x, Const) and x.value is None) and (not is_number(x) or kind_of(x) == F64):
                return self.raised(TypeError("slice indices must be integers or None or have an __index__ method"))
        count = self.count(ref)
        assert count is not None
        n = self.place(count, I64)
        start, stop = self._clipped(low, n, self.b.const(0)), self._clipped(high, n, n)
        known = self.b.known
        size = self.whole("isub", stop, start)
        if not known.positive(known.of(size)):
            size = self.b.emit("imax", size, self.b.const(0))
            self.bounds.setdefault(size, 2.0**48)
            known.at_least(size, 0)
        return self.part(ref, start, size)

    def _clipped(self, bound: Value, n: Place, default: Place) -> Place:
        """Return a bound of a slice as a number between 0 and the length."""
        if isinstance(bound, Const) and bound.value is None:
            return default
        known, zero = self.b.known, self.b.const(0)
        p = self.place(bound, I64)
        if not known.positive(known.of(p)):
            from_end = self.whole("iadd", p, n)
            if isinstance(bound, Const) or known.positive(known.of(p).negated()):
                p = from_end
            else:
                p = self.select(self.b.emit("ilt", p, zero), from_end, p)
            if not known.positive(known.of(p)):
                p = self.whole_least("imax", self.value(p), Const(0))
        if not known.positive(known.of(n).plus(known.of(p), -1)):
            p = self.whole_least("imin", self.value(p), self.value(n))
        return p

    # ---- lists

    def append(self, obj: Ref, value: Value) -> Result:
        cell = self.cell(obj)
        self.refuse_change(obj)
        if cell.key[0] == "list":
            self.heap[obj.location] = Cell(cell.key, (*cell.values, value))
            return NONE
        if cell.key[0] != "columns":
            raise Unrollable("the rows of a list become longer")
        value = self.adopted(self._one(value), cell.key[1])
        cell = self.cell(obj)

        if not fits(shape_of(value), cell.key[1]):
            at, shape = obj.location, lub_of_items(cell.key[1], shape_of(value))
            if any(at in heap for heap in self.rolls):
                raise Restart(at, lambda: self.become_columns(at, shape))
            self.become_columns(at, shape)
            cell = self.cell(obj)
        self.heap[obj.location] = self.appended(cell, value)
        return NONE

    def pop_last(self, obj: Ref) -> Result:
        cell = self.cell(obj)
        self.refuse_change(obj)
        if cell.key[0] == "list":
            if not cell.values:
                return self.raised(IndexError("pop from empty list"))
            self.heap[obj.location] = Cell(cell.key, cell.values[:-1])
            return cell.values[-1]
        if cell.key[0] != "columns":
            raise Unrollable("the rows of a list become shorter")
        n = self.place(cell.values[-1], I64)

        def go() -> Result:
            last = self.whole("iadd", n, self.b.const(-1))
            item = self.load(cell, last)
            rest = self.part(obj, self.b.const(0), last)
            self.heap[obj.location] = Cell(cell.key, self.cell(rest).values)
            return item

        return self.unless(self.b.emit("ile", n, self.b.const(0)), IndexError("pop from empty list"), go)

    def copied(self, value: Value, cls: type) -> Value | None:
        """Return a list or a tuple of the items of a sequence; None where they must be taken one by one."""
        if isinstance(value, Tuple) and value.cls is not range:
            return Tuple(value.items) if cls is tuple else self.new(Cell(("list", list), value.items))
        if not isinstance(value, Ref):
            return None
        cell = self.cell(value)
        if cell.key[0] == "list":
            return Tuple(cell.values) if cls is tuple else self.new(Cell(("list", cls), cell.values))
        if cell.key[0] == "pool" and self.is_sequence(value):
            assert value.index is not None
            row = self.load(cell, value.index)
            assert isinstance(row, Cell)
            return Tuple(row.values) if cls is tuple else self.new(Cell(("list", cls), row.values))
        if cell.key[0] in ("columns", "rows"):
            count = self.count(value)
            assert count is not None
            found = self.part(value, self.b.const(0), self.place(count, I64))
            made = self.cell(found)
            self.heap[found.location] = Cell((*made.key[:2], cls), made.values)
            return found
        return None

    def listed(self, value: Value, then: Callable[[list[Value]], Result]) -> Result:
        """Go on with the items of something whose length is known."""

        def one(value: Value) -> Result:
            if isinstance(value, Tuple) and value.cls is not range:
                return then(list(value.items))
            if isinstance(value, Const):
                try:
                    return then([self.constant(x) for x in value.value])
                except TypeError as error:
                    return self.raised(error)
            if isinstance(value, Ref):
                cell = self.cell(value)
                if cell.key[0] == "list":
                    return then(list(cell.values))
                count = self.count(value) if self.is_sequence(value) else None
                if isinstance(count, Const):
                    return self._items_of(value, count.value, then)
                if cell.key[0] in ("dict", "set", "view"):
                    return self.bind(self.iterate(value), lambda it: self._listed_by_prelude(it, then))
                if isinstance(count, Num):
                    fact = "the items of a list whose length is not known are needed one by one"
                    raise Refused(fact) if self.is_of_arguments(count.place) else Unrollable(fact)
            return self._listed_by_prelude(value, then)

        return self.split(value, one)

    def _items_of(self, value: Value, n: int, then: Callable[[list[Value]], Result]) -> Result:
        def rest(i: int, found: list[Value]) -> Result:
            if i == n:
                return then(found)
            return self.bind(self._item(value, Const(i)), lambda x: rest(i + 1, [*found, x]))

        return rest(0, [])

    def _listed_by_prelude(self, value: Value, then: Callable[[list[Value]], Result]) -> Result:
        def made(found: Value) -> Result:
            if isinstance(found, Ref) and isinstance(self.heap[found.location], Cell):
                cell = self.cell(found)
                if cell.key[0] == "list" or isinstance(self.count(found), Const):
                    return self.listed(found, then)
                raise Unrollable("the items of something whose length is not known are needed one by one")
            return self.listed(found, then)

        return self.bind(self.call_python(sequences.new_list, [value]), made)
