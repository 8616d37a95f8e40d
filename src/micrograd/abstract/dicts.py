"""Dicts and sets, whose keys are known."""

from __future__ import annotations

import collections
from typing import Any

from micrograd.abstract.copies import Copies
from micrograd.abstract.errors import Copied, Refused
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import get_named, names_of, put_named
from micrograd.abstract.values import (
    ABSENT,
    NONE,
    TRUE,
    Cell,
    Const,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
)
from micrograd.ir.forms import BOOL

CASES = 16  # the most items, or keys, among which one is chosen by comparisons


class Dicts(Copies):
    """Dicts and sets."""

    def refuse_change(self, ref: Ref) -> None:
        """Refuse to change an object of the caller, or one that a loop has copied."""
        self.refuse_copied(ref)
        if ref.location in self.outer or ref.location in self.frozen:
            raise Refused(
                "a list or an object from outside of the function is changed",
                "A compiled call leaves its arguments and what is outside as they are: change a copy, and return it.",
            )

    def refuse_copied(self, ref: Ref) -> None:
        """Refuse to change an object that was copied."""
        if ref.location in self.has_copy:
            raise Copied(ref.location, self.has_copy[ref.location])

    def new_dict(self, items: list[tuple[Value, Value]], cls: type = dict) -> Result:
        def made(keys: list[Value]) -> Result:
            cell = Cell(("dict", (), cls), ())
            for key, (_, value) in zip(keys, items):
                cell = put_named(cell, self.known_key(key), value)
            return self.new(cell)

        return self.each([key for key, _ in items], made)

    def new_set(self, items: list[Value]) -> Result:
        def made(keys: list[Value]) -> Result:
            cell = Cell(("set", ()), ())
            for key in keys:
                cell = put_named(cell, self.known_key(key), TRUE)
            return self.new(cell)

        return self.each(items, made)

    def known_key(self, key: Value) -> Any:
        """Return a key that is known now."""
        if isinstance(key, Const):
            try:
                hash(key.value)
            except TypeError as error:
                raise Refused(str(error)) from None
            return key.value
        if isinstance(key, Tuple) and key.cls is tuple and all(isinstance(x, Const | Tuple) for x in key.items):
            return tuple(self.known_key(x) for x in key.items)
        raise Refused(
            "a dict or a set with a key that is not known before the call",
            "Keys are constants of a compiled function: use a list with an index, or compare numbers.",
        )

    def key_value(self, key: Any) -> Value:
        return Tuple([self.key_value(x) for x in key]) if type(key) is tuple else self.constant(key)

    def present_items(self, cell: Cell) -> list[tuple[Any, Value]]:
        return [(k, v) for k, v in zip(names_of(cell), cell.values) if not is_mark(v, ABSENT)]

    def _item_of_dict(self, obj: Ref, cell: Cell, key: Value) -> Result:
        if is_number(key) and isinstance(key, Num):
            return self._dict_by_cases(cell, key)
        known = self.known_key(key)
        return self.split(get_named(cell, known), lambda v: self._missing(obj, cell, key) if is_mark(v, ABSENT) else v)

    def _missing(self, obj: Ref, cell: Cell, key: Value) -> Result:
        cls = cell.key[2]
        if cls is collections.defaultdict:
            factory = self.factories.get(obj.location)
            if factory is None:
                return self.raised(KeyError(self.known_key(key)))

            def put(value: Value) -> Result:
                return self.bind(self.set_item(obj, key, value), lambda _: value)

            return self.bind(self.call(factory, [], {}), put)
        if cls is collections.Counter:
            return Const(0)
        if cls is not dict and hasattr(cls, "__missing__"):
            raise Refused(f"a missing key of {cls.__name__}")
        return self.raised(KeyError(self.known_key(key)))

    def _dict_by_cases(self, cell: Cell, key: Num) -> Result:
        items = [(k, v) for k, v in self.present_items(cell) if isinstance(k, int | float)]
        if len(items) > CASES:
            raise Refused("an item of a large dict by a number that is not known", "Use a list with an index.")
        if any(isinstance(v, Union) for _, v in items):
            raise Refused("an item of a dict that may be missing, by a number that is not known")

        def case(i: int) -> Result:
            if i == len(items):
                return self.raised(KeyError("a number"))
            test = self.binary_number("==", key, Const(items[i][0]))
            assert isinstance(test, Value)
            return self.fork(self.place(test, BOOL), lambda: items[i][1], lambda: case(i + 1))

        return case(0)

    def _set_dict_item(self, obj: Ref, cell: Cell, key: Value, value: Value) -> Result:
        self.refuse_change(obj)
        known = self.known_key(key)
        old = get_named(cell, known)
        if isinstance(old, Union) and any(is_mark(x, ABSENT) for _, x in old.alternatives) and len(names_of(cell)) > 1:
            self.unordered.add(obj.location)
        if known in names_of(cell) and is_mark(old, ABSENT):
            cell = self._without(obj, cell, known)
        self.heap[obj.location] = put_named(cell, known, value)
        return NONE

    def _without(self, obj: Ref, cell: Cell, key: Any) -> Cell:
        items = [(k, v) for k, v in zip(names_of(cell), cell.values) if k != key]
        found = Cell((cell.key[0], tuple(k for k, _ in items), *cell.key[2:]), [v for _, v in items])
        self.heap[obj.location] = found
        return found
