"""@primitive: an op of the user's own."""

from __future__ import annotations

import copy
import math
import pickle

import pytest


@pytest.fixture
def primitive(twin):
    return twin.package.primitive


@pytest.fixture
def cube(primitive):
    @primitive(lambda x, y: 3 * x * x)
    def cube(x):
        """x three times."""
        return x * x * x

    return cube


class TestUse:
    def test_a_number_in_gives_a_number_out(self, cube):
        assert cube(2.0) == 8.0 and type(cube(2.0)) is float and cube(2) == 8

    def test_a_value_in_gives_one_node(self, Value, cube):
        x = Value(2.0)
        y = cube(x)
        y.backward()
        assert type(y) is Value and (y.data, y._op, y._prev, y._partials, x.grad) == (8.0, "cube", (x,), (12.0,), 12.0)

    def test_it_mixes_with_the_ops_of_the_table(self, Value, mgmath, cube):
        x = Value(0.5)
        y = mgmath.exp(cube(x * 2) + 1) * x
        y.backward()
        assert x.grad == pytest.approx(math.exp(2.0) + 0.5 * math.exp(2.0) * 3 * 2)

    def test_two_inputs_have_two_partials(self, Value, primitive):
        @primitive(lambda a, b, y: 2 * a * b, lambda a, b, y: a * a, name="a²b")
        def weight(a, b):
            return a * a * b

        a, b = Value(3.0), Value(5.0)
        y = weight(a, b)
        y.backward()
        assert (y.data, y._op, a.grad, b.grad) == (45.0, "a²b", 30.0, 9.0)
        a.grad = 0.0
        weight(a, 2.0).backward()
        assert a.grad == 12.0
        assert weight(a, 2.0)._partials == (12.0, None)

    def test_the_partial_sees_the_output(self, Value, primitive):
        @primitive(lambda x, y: y)
        def e_to(x):
            return math.exp(x)

        x = Value(1.0)
        e_to(x).backward()
        assert x.grad == math.e

    def test_only_the_partials_of_values_matter(self, Value, primitive):
        @primitive(lambda a, b, y: 1.0, lambda a, b, y: math.nan)
        def first(a, b):
            return a

        x = Value(1.0)
        first(x, 2.0).backward()
        assert x.grad == 1.0

    def test_many(self, Value, cube):
        x = Value(1.0)
        y = x
        for _ in range(1000):
            y = cube(y)
        y.backward()
        assert y.data == 1.0 and x.grad == math.inf

    def test_no_grad(self, engine, Value, cube):
        with engine.no_grad():
            assert cube(Value(2.0))._prev == ()

    def test_names_and_docs(self, cube):
        assert cube.__name__ == "cube" and cube.__doc__ == "x three times." and cube.__wrapped__(2.0) == 8.0
        assert repr(cube) == "<primitive cube of 1 input>"

    def test_copies_can_go_backward(self, Value, cube):
        y = cube(Value(2.0)) * 2
        for new in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y), copy.copy(y)):
            new.zero_grad()
            new.backward()
            assert new._prev[0]._op == "cube" and new._prev[0]._prev[0].grad == 24.0

    def test_both_twins_agree(self, twins):
        results = []
        for twin in twins:

            @twin.package.primitive(lambda a, b, y: math.cos(a) * b, lambda a, b, y: math.sin(a))
            def wave(a, b):
                return math.sin(a) * b

            a, b = twin.Value(0.7), twin.Value(1.3)
            y = wave(a, b) * wave(b, a)
            y.backward()
            results.append((y.data, a.grad, b.grad))
        assert results[0] == results[1]


class TestMistakes:
    def test_a_partial_is_missing(self, primitive):
        with pytest.raises(TypeError, match=r"area has 2 inputs and 1 partials were given: write @primitive\(d0, d1\)"):

            @primitive(lambda a, b, y: b)
            def area(a, b):
                return a * b

    def test_the_parentheses_are_missing(self, primitive):
        with pytest.raises(TypeError, match=r"@primitive needs the partials: write @primitive\(lambda x, y: "):

            @primitive
            def cube(x):
                return x * x * x

    @pytest.mark.parametrize("args", [(), (1.0, 2.0)])
    def test_a_wrong_count_of_inputs(self, cube, args):
        with pytest.raises(TypeError, match=f"cube\\(\\) takes 1 input, got {len(args)}"):
            cube(*args)

    def test_a_wrong_type(self, cube):
        with pytest.raises(TypeError, match="not str"):
            cube("2")

    def test_an_error_inside_comes_out(self, Value, primitive):
        @primitive(lambda x, y: 1 / 0)
        def strange(x):
            return x

        with pytest.raises(ZeroDivisionError):
            strange(Value(1.0))
