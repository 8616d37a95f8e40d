"""docs/from-micrograd.md: what works as in micrograd, and every intended difference that the page lists."""

from __future__ import annotations

import re

import pytest

import micrograd
from twins import ROOT


def test_the_names_of_the_original_are_there():
    from micrograd import MLP, Layer, Neuron
    from micrograd.engine import Value

    names: dict = {}
    exec("from micrograd.nn import *", names)
    assert (names["MLP"], names["Layer"], names["Neuron"]) == (MLP, Layer, Neuron)
    assert micrograd.Value is Value


def test_numbers_are_compared_and_objects_are_hashed(Value):
    a, b = Value(2.0), Value(2.0)
    assert a == b and b in [a] and a is not b
    assert len({a, b}) == 2 and {a: 1}.get(b) is None


def test_inputs_are_an_ordered_tuple_with_repeats(Value):
    a, b = Value(2.0), Value(3.0)
    assert (b - a)._prev == (b, a) and len((a * a)._prev) == 2
    assert isinstance((a * b)._prev, tuple)


def test_op_names_are_those_of_the_table(Value):
    a = Value(2.0)
    assert (a.relu()._op, (a**2)._op, (a + 1)._op, (a * 2)._op) == ("relu", "**", "+", "*")


def test_constants_get_no_gradient(Value):
    a = Value(3.0)
    y = 2 * a
    y.backward()
    assert a.grad == 2.0
    assert [v.grad for v in y._prev if v is not a] == [0.0]


def test_partials_are_taken_in_the_forward_pass(Value):
    a, b = Value(2.0), Value(5.0)
    y = a * b
    b.data = 100.0
    y.backward()
    assert a.grad == 5.0


def test_a_second_backward_doubles_leaves_exactly(Value):
    a = Value(3.0)
    b = a * a
    y = b * a
    y.backward()
    once, between = a.grad, b.grad
    y.backward()
    assert a.grad == 2 * once and b.grad == between


def test_truth_kind_and_ieee(Value):
    assert not Value(0.0) and Value(0.5)
    assert type(Value(2).data) is float
    assert Value(0.0).log().data == float("-inf") and (1 / Value(0.0)).data == float("inf")


def test_the_length_of_an_input_is_checked():
    from micrograd.nn import MLP

    with pytest.raises(ValueError):
        MLP(3, [2, 1])([1.0, 2.0])


PINNED = {  # the first column of the page's table -> the test of that row
    "`a == b`": test_numbers_are_compared_and_objects_are_hashed,
    "`hash(v)`": test_numbers_are_compared_and_objects_are_hashed,
    "`v._prev`": test_inputs_are_an_ordered_tuple_with_repeats,
    "`v._op`": test_op_names_are_those_of_the_table,
    "a number in `2 * v`": test_constants_get_no_gradient,
    "local derivatives": test_partials_are_taken_in_the_forward_pass,
    "a second `backward()`": test_a_second_backward_doubles_leaves_exactly,
    "`bool(Value(0.0))`": test_truth_kind_and_ieee,
    "`Value(2).data`": test_truth_kind_and_ieee,
    "`Value(0.0).log()`, `1 / Value(0.0)`": test_truth_kind_and_ieee,
    "`model([1.0])` with the wrong length": test_the_length_of_an_input_is_checked,
}


def test_each_difference_on_the_page_has_a_test():
    text = (ROOT / "docs" / "from-micrograd.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)
    assert rows[0] == "---" and set(rows[1:]) == set(PINNED)


def test_a_label_in_the_place_of_the_inputs_explains_itself(Value):
    with pytest.raises(TypeError, match=r"Value\(10.0, 'a'\).*\n  Give a name by keyword: Value\(10.0, label='a'\)"):
        Value(10.0, "a")


def test_nonlin_after_construction_reaches_the_model():
    from micrograd.nn import MLP, Neuron

    neuron = Neuron(2)
    neuron.w[0].data, neuron.w[1].data = -1.0, -1.0
    assert neuron([1.0, 1.0]).data == 0.0
    neuron.nonlin = False
    assert neuron([1.0, 1.0]).data == -2.0 and repr(neuron) == "LinearNeuron(2)"
    neuron.nonlin = True
    assert neuron([1.0, 1.0]).data == 0.0 and repr(neuron) == "ReLUNeuron(2)"
    model = MLP(1, [1, 1])
    assert model.layers[1].neurons[0].nonlin is False and repr(model.layers[1].neurons[0]) == "LinearNeuron(1)"


def test_a_subclass_of_neuron_with_its_own_init():
    from micrograd import Neuron, Value

    class Ones(Neuron):
        def __init__(self, nin, nonlin=True):
            self.w = [Value(1.0) for _ in range(nin)]
            self.b = Value(-5.0)
            self.nonlin = nonlin

    assert Ones(2)([1.0, 2.0]).data == 0.0
    assert Ones(2, nonlin=False)([1.0, 2.0]).data == -2.0

    class Plain(Neuron):
        def __init__(self):
            self.w, self.b = [Value(-1.0)], Value(0.0)

    assert Plain()([1.0]).data == 0.0


def test_a_relu_of_ones_own_reaches_the_model(monkeypatch):
    from micrograd import MLP, Value

    model = MLP(2, [3, 1], rng=0)
    before = model([1.0, -2.0]).data
    monkeypatch.setattr(Value, "relu", lambda self: self * 3.0)
    leaky = model([1.0, -2.0]).data
    monkeypatch.undo()
    assert leaky != before and model([1.0, -2.0]).data == before


def test_a_function_that_is_compiled_later_has_it_too(monkeypatch):
    from micrograd import MLP, Value, jit

    pytest.importorskip("llvmlite")
    model = MLP(2, [3, 1], rng=0)
    before = jit(model)
    old = before([1.0, -2.0]).data
    monkeypatch.setattr(Value, "relu", lambda self: self * 3.0)
    assert jit(model)([1.0, -2.0]).data == pytest.approx(model([1.0, -2.0]).data, rel=1e-14)
    assert model([1.0, -2.0]).data != old == before([1.0, -2.0]).data  # as the page says
