"""How a call is recognized: keys, static arguments, methods, and the arrangement of results."""

from __future__ import annotations

import functools
from collections import namedtuple
from itertools import repeat

import pytest

from micrograd import Value, engine
from micrograd.compile.signature import (
    Fixed,
    KnownShape,
    Static,
    lay_flat,
    layout_of,
    split_method,
    static_arguments,
    template_of,
    values_among,
)
from micrograd.tree import flatten

Pair = namedtuple("Pair", "a b")
NESTED = [1.0, (1.0, 2.0), [1.0, 2.0], ([1.0], (2.0, [3.0, 4.0])), (), []]


@pytest.mark.skipif(not engine.NATIVE, reason="the C engine makes these keys")
@pytest.mark.parametrize("x", NESTED, ids=str)
def test_the_key_of_a_shape_is_that_of_its_numbers(x):
    leaves: list[float] = []
    shape = flatten(x, leaves)
    again: list[float] = []
    call = ("tuple", (("tuple", (shape,)), ("dict", (), ())))
    assert layout_of(call, repeat(b"*"), ()) == (lay_flat((x,), again), (), (), None) and again == leaves


def test_other_arguments_have_no_key():
    for x in ({"a": 1.0}, [1.0, {"a": 1.0}]):
        assert lay_flat(x, []) is None


def test_values_are_found_by_their_place():
    assert values_among([1.0, Value(1.0), 2, Value(3.0)]) == (1, 3) and values_among([1.0]) == ()


def test_a_known_shape_is_equal_to_the_shape_and_remembers_which_are_values():
    leaves = [1.0, Value(2.0)]
    shape = ("tuple", (("*",), ("*",)))
    known = KnownShape(shape, leaves)
    assert known == shape and hash(known) == hash(shape) and known.values == (1,)
    assert {shape: 1}[known] == 1


def two(a, b, /, c, *, d=0):
    return a


@pytest.mark.parametrize(
    ("numbers", "front", "names"),
    [((0,), (0,), {"a"}), ((1, 2), (1, 2), {"b", "c"}), ((-1,), (2,), {"c"}), ((-3,), (0,), {"a"}), ((), (), set())],
)
def test_static_arguments_are_counted_from_the_front(numbers, front, names):
    assert static_arguments(two, Static(numbers, ())) == (front, names)


@pytest.mark.parametrize("number", [3, -4])
def test_a_static_argument_that_is_not_there_is_an_error(number):
    with pytest.raises(ValueError, match=f"static_argnums has {number}, but two takes 3 arguments"):
        static_arguments(two, Static((number,), ()))


def test_static_arguments_of_functions_that_take_any_or_do_not_say():
    def many(*xs):
        return xs

    def silent(x):
        return x

    silent.__signature__ = "what inspect cannot read"
    assert static_arguments(many, Static((5,), ())) == static_arguments(silent, Static((5,), ())) == ((5,), set())


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def times(self, x):
        return self.factor * x

    def __call__(self, x):
        return self.factor * x

    @classmethod
    def made(cls, x):
        return x


def test_a_method_of_an_object_with_numbers_becomes_a_function_of_both():
    one = Scaled(2.0)
    function, bound = split_method(one.times)
    assert function is Scaled.times and bound == (one,)
    function, bound = split_method(one)
    assert function is Scaled.__call__ and bound == (one,)


def test_other_functions_stay_as_they_are():
    without = Scaled(Value(2.0))
    wrapped = functools.wraps(two)(Scaled(2.0))
    for f in (two, without.times, without, Scaled.made, abs, wrapped, functools.partial(two, 1)):
        assert split_method(f) == (f, ())


def test_results_are_arranged_by_a_template():
    def places():
        return iter(range(10))

    number = ("*",)
    assert template_of(number, places()) == 0
    assert template_of(("tuple", (number, ("list", (number, number)))), places()) == (0, [1, 2])
    assert template_of(("dict", ("a", "b"), (number, ("tuple", (number,)))), places()) == {"a": 0, "b": (1,)}
    fixed = template_of(("tuple", (("fixed", "text"), number)), places())
    assert isinstance(fixed[0], Fixed) and fixed[0].x == "text" and fixed[1] == 0
    none, make, as_bytes, parts = template_of(("array", (2, 1)), places())
    assert (none, as_bytes, parts) == (None, True, (0, 1)) and make(bytes(16)).tolist() == [[0.0], [0.0]]
    assert template_of(("named", Pair, (number, number)), places()) == (None, Pair, False, (0, 1))
    held, empty = ("held", 1, None), ("array", (0, 3))
    for other in (held, ("tuple", (number, held)), ("dict", ("a",), (held,)), ("list", (held,)), empty):
        assert template_of(other, places()) is None
    assert template_of(("array", (2,)), iter([0, Fixed(1)])) is None


@pytest.mark.skipif(not engine.NATIVE, reason="the Python function reads before it writes")
def test_the_leaves_cannot_be_a_part_of_what_is_laid_out():
    leaves: list[object] = [1.0, 2.0]
    for x in (leaves, [0.0, (leaves,)]):
        with pytest.raises(ValueError, match="the list of leaves is a part of what is laid out"):
            lay_flat(x, leaves)
