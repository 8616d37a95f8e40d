"""engine.py by itself, as a learner reads it and copies it: what it says of Value holds without the rest of the package."""

from __future__ import annotations

import importlib.util
import math as stdlib
import operator
import sys

import pytest

from micrograd.ops import OPS
from twins import PACKAGE


def load():
    """The file under another name, so that it does not take what the package runs in its place."""
    spec = importlib.util.spec_from_file_location("engine_alone", PACKAGE / "engine.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine_alone"] = module  # dataclasses and pickle look there
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["engine_alone"]
    return module


alone = load()
Value, apply = alone.Value, alone.apply


def test_it_is_not_what_the_package_runs():
    from micrograd import engine

    assert alone.NATIVE is False and Value is not engine.Value


def test_a_detached_value_is_a_leaf_with_the_same_data():
    x = Value(3.0)
    y = (x * x).detach()
    assert isinstance(y, Value) and (y.data, y._prev) == (9.0, ())


def test_nothing_is_recorded_under_no_grad_and_the_former_state_comes_back():
    x = Value(3.0)
    with alone.no_grad():
        assert (x * x)._prev == ()
        with alone.no_grad():
            assert (x * x)._prev == ()
        assert (x * x).data == 9.0 and (x * x)._prev == ()
    with pytest.raises(KeyError), alone.no_grad():
        raise KeyError
    assert (x * x)._prev == (x, x)

    @alone.no_grad()
    def square(a):
        """Its square."""
        return a * a

    assert square(x)._prev == () and square.__name__ == "square"
    assert (x * x)._prev == (x, x)


def test_the_switch_says_what_it_was():
    assert alone.set_recording(False) is True and alone.set_recording(True) is False


@pytest.mark.parametrize("other", [1.0, 2.0, 3.0, 2, True, stdlib.nan, stdlib.inf])
def test_comparisons_are_those_of_the_numbers(other):
    x = Value(2.0)
    for right in (other, Value(other)):
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            compare = getattr(operator, name)
            assert compare(x, right) is compare(2.0, other)
    assert (other < x, other >= x, other == x) == (other < 2.0, other >= 2.0, other == 2.0)
    assert type(x < other) is bool


def test_what_is_no_number_is_not_equal_and_has_no_order():
    x = Value(2.0)
    assert x != "2.0" and x not in (None, [])
    assert Value.__eq__(x, "2.0") is NotImplemented and Value.__lt__(x, [2.0]) is NotImplemented
    with pytest.raises(TypeError):
        _ = x < "a"


def test_the_truth_of_a_value_is_that_of_its_number():
    assert [bool(Value(number)) for number in (0.0, -0.0, 1.0, -2.0, stdlib.nan)] == [False, False, True, True, True]


def test_numbers_come_out_as_they_do_of_a_float():
    x = Value(-2.675)
    assert (float(x), int(x), round(x), round(x, 2)) == (-2.675, -2, -3, round(-2.675, 2))
    assert (stdlib.floor(x), stdlib.ceil(x), stdlib.trunc(x)) == (-3, -2, -2)


def test_an_array_is_left_to_numpy_and_another_object_to_its_own_operators():
    np = pytest.importorskip("numpy")
    x, array = Value(2.0), np.array([1.0, 3.0])
    assert Value.__add__(x, array) is NotImplemented and Value.__radd__(x, array) is NotImplemented
    assert Value.__lt__(x, array) is NotImplemented and Value.__eq__(x, array) is NotImplemented
    assert Value.__add__(x, np.float64(1.0)).data == 3.0 and (x < np.float64(3.0)) is True

    class Other:
        def __radd__(self, left):
            return "added"

    assert x + Other() == "added"
    for wrong in ("a", None, [1.0]):
        with pytest.raises(TypeError):
            _ = x + wrong


def test_functions_of_one_and_two_inputs_are_methods_and_operators_are_not():
    x = Value(0.5)
    assert x.exp().data == stdlib.exp(0.5) and x.atan2(2.0).data == stdlib.atan2(0.5, 2.0)
    assert x.leaky_relu().data == 0.5 and Value(-2.0).leaky_relu().data == -0.02
    assert Value.exp.__name__ == "exp" and "exp" in Value.exp.__doc__
    for name in ("add", "mul", "lt", "where", "sum", "philox"):
        assert not hasattr(Value, name), name
    assert {op.name for op in OPS.values() if op.arity in (1, 2) and op.symbol == op.name} <= set(vars(Value))


def test_apply_counts_the_inputs_and_fills_in_defaults():
    x = Value(-2.0)
    assert apply(OPS["leaky_relu"], x).data == -0.02 and apply(OPS["leaky_relu"], x, 0.5).data == -1.0
    assert apply(OPS["exp"], 0.0) == 1.0 and apply(OPS["sum"], [x, 1.0, 4.0]).data == 3.0
    assert apply(OPS["sum"], []) == 0.0
    for args, says in [
        ((OPS["exp"],), r"exp\(\) takes 1 input, got 0"),
        ((OPS["exp"], x, x), r"exp\(\) takes 1 input, got 2"),
        ((OPS["add"], x), r"add\(\) takes 2 inputs, got 1"),
        ((OPS["leaky_relu"], x, 0.1, 0.2), r"takes 2 inputs, got 3"),
        ((OPS["sum"], x, x), r"sum\(\) takes one list, got 2"),
        ((OPS["sum"],), r"sum\(\) takes one list, got 0"),
    ]:
        with pytest.raises(TypeError, match=says):
            apply(*args)


def test_another_operand_is_asked_what_an_op_of_it_is():
    class Place:
        def _apply(self, op, args):
            return op.name, args

    place, x = Place(), Value(1.0)
    assert apply(OPS["mul"], x, place) == ("mul", (x, place))
    assert apply(OPS["sum"], [2.0, place]) == ("sum", ([2.0, place],))
    with pytest.raises(TypeError):
        apply(OPS["mul"], x, "a")


def test_gradients_of_a_node_are_those_of_its_values_and_nothing_for_a_number():
    x = Value(3.0)
    y = x * 2.0
    y.backward()
    y.backward(0.5)
    assert (x.grad, y.grad, y._partials) == (3.0, 0.5, (2.0, None))
    y.zero_grad()
    assert (x.grad, y.grad) == (0.0, 0.0)
    with pytest.raises(ValueError, match="one slope for each input"):
        alone.node(1.0, OPS["mul"], [x, x], [1.0])


def test_a_backward_that_raises_changes_no_gradient():
    x = Value(3.0)
    y = x * x
    y.backward()
    z = y * 2.0

    def broken():
        raise RuntimeError

    y._backward = broken
    with pytest.raises(RuntimeError):
        z.backward()
    assert (x.grad, y.grad, z.grad) == (6.0, 1.0, 0.0)
