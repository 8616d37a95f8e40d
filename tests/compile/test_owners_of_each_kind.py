"""What a compiled method reads of its object, one kind at a time: each change is seen."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from micrograd import jit, vmap
from micrograd.engine import NATIVE
from micrograd.watch.code import is_foreign

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is no machine code")
XS = np.array([-1.0, 0.5, 2.0])
STORE = [1.5, 2.5]


def assert_seen(f: Any, change: Any) -> None:
    """The change is seen by the compiled function, over rows and at a point."""
    rows, point = vmap(f), jit(f, wait=True)
    before = [f(x) for x in XS.tolist()]
    for _ in range(3):
        assert rows(XS).tolist() == before and [point(x) for x in XS.tolist()] == before
    change()
    after = [f(x) for x in XS.tolist()]
    assert after != before
    for _ in range(3):
        assert rows(XS).tolist() == after and [point(x) for x in XS.tolist()] == after


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k: float) -> None:
        self.k = k

    def price(self, x: Any) -> Any:
        return self.k * x


def test_an_attribute_in_a_slot() -> None:
    p = Slotted(2.0)
    assert_seen(p.price, lambda: setattr(p, "k", 3.0))


def scaled(part: Any, x: Any, more: Any = None) -> Any:
    return part.k * x if more is None else part.k * x + more.k


def test_an_object_that_a_partial_hands_on() -> None:
    p, q = Slotted(2.0), Slotted(0.5)
    assert_seen(functools.partial(scaled, p), lambda: setattr(p, "k", 3.0))
    assert_seen(functools.partial(scaled, p, more=q), lambda: setattr(q, "k", -1.0))


class Lists:
    def __init__(self) -> None:
        self.knots: Any = [1.0, 2.0]
        self.rows: Any = [[1.0, 2.0], [3.0]]

    def by_class(self, x: Any) -> Any:
        return x * 2.0 if isinstance(self.knots, list) else x * 3.0

    def by_length(self, x: Any) -> Any:
        return sum([len(row) ** 2 * row[0] for row in self.rows]) * x


def test_a_list_that_becomes_a_tuple_of_the_same_numbers() -> None:
    p = Lists()
    assert_seen(p.by_class, lambda: setattr(p, "knots", tuple(p.knots)))


def test_lists_whose_numbers_are_divided_in_another_way() -> None:
    p = Lists()
    one, two, three = [x for row in p.rows for x in row]
    assert_seen(p.by_length, lambda: setattr(p, "rows", [[one], [two, three]]))


class Table:
    def __init__(self) -> None:
        self.table = {"low": 1.5, "high": 2.5}

    def price(self, x: Any) -> Any:
        return self.table["low"] * x


def test_keys_of_a_dict_that_are_exchanged() -> None:
    """The numbers are the same objects, in the same order."""
    p = Table()

    def turn() -> None:
        low, high = p.table.values()
        p.table.clear()
        p.table.update(high=low, low=high)

    assert_seen(p.price, turn)


def test_an_attribute_that_a_function_in_a_closure_reads() -> None:
    def helper(o: Any, x: Any) -> Any:
        return o.hidden_rate * x

    class Holder:
        def __init__(self) -> None:
            self.hidden_rate = 2.0

        def price(self, x: Any) -> Any:
            return helper(self, x)

    p = Holder()
    assert_seen(p.price, lambda: setattr(p, "hidden_rate", 5.0))


class Reader:
    """A class that is named in the code of a method, and reads another object."""

    def __init__(self, o: Any) -> None:
        self.o = o

    def value(self, x: Any) -> Any:
        return self.o.only_read_here * x


class Read:
    def __init__(self) -> None:
        self.only_read_here = 2.0

    def price(self, x: Any) -> Any:
        return Reader(self).value(x)


def test_an_attribute_that_the_methods_of_another_class_read() -> None:
    p = Read()
    assert_seen(p.price, lambda: setattr(p, "only_read_here", 4.0))


class Column:
    """Numbers that are kept elsewhere, and can be seen as an array."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(STORE, dtype)

    def first(self) -> float:
        return STORE[0]


class WithColumn:
    def __init__(self) -> None:
        self.column = Column()

    def price(self, x: Any) -> Any:
        return self.column.first() * x


def test_what_can_be_seen_as_an_array() -> None:
    p = WithColumn()
    try:
        assert_seen(p.price, lambda: STORE.__setitem__(0, 7.5))
    finally:
        STORE[0] = 1.5


@pytest.mark.parametrize(
    "name", ["micrograd.nn", "numpy.linalg", "torch", "logging", "json", "os.path", "_pytest.python"]
)
def test_code_that_is_none_of_the_users(name: str) -> None:
    assert is_foreign(name)


@pytest.mark.parametrize("name", ["mine", "__main__", "types", "collections", "argparse", "numpyish", None])
def test_code_that_may_be_the_users(name: str | None) -> None:
    assert not is_foreign(name)
