"""Value as a number: its constructor, attributes and the whole of Python's number protocol, on both twins."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import pytest

inf, nan = math.inf, math.nan


class TestConstructor:
    def test_a_leaf(self, Value):
        v = Value(2)
        assert (v.data, v.grad, v.label, v._prev, v._op) == (2.0, 0.0, "", (), "")
        assert type(v.data) is float and type(v.grad) is float

    def test_all_arguments(self, Value):
        a, b = Value(1.0), Value(2.0)
        v = Value(3.0, (a, b), "mine", label="v")
        assert (v.data, v._prev, v._op, v.label) == (3.0, (a, b), "mine", "v")
        w = Value(data=3.0, _children=[a, a], _op="mine", label="w")
        assert w._prev == (a, a) and w.label == "w"

    @pytest.mark.parametrize("number", [True, 3, -(2**60), 2.5, Fraction(1, 4), inf, -inf])
    def test_any_real_number(self, Value, number):
        assert Value(number).data == float(number)

    def test_nan_is_a_value(self, Value):
        assert math.isnan(Value(nan).data)

    @pytest.mark.parametrize("bad", ["1.0", None, [1.0], (1.0,), {}, 1j, b"1", object()])
    def test_what_is_not_a_number_is_refused(self, Value, bad):
        expected = f"a Value holds one real number .int, float or NumPy scalar., not {type(bad).__name__}: "
        with pytest.raises(TypeError, match=expected):
            Value(bad)
        v = Value(1.0)
        with pytest.raises(TypeError, match=expected):
            v.data = bad
        with pytest.raises(TypeError, match=expected):
            v.grad = bad
        assert (v.data, v.grad) == (1.0, 0.0)

    def test_the_message_shows_what_came_but_not_all_of_it(self, Value):
        with pytest.raises(TypeError, match=r"not list: \[0, 1, 2, .*\.\.\.\n") as caught:
            Value(list(range(1000)))
        assert len(str(caught.value)) < 200

    def test_a_value_is_not_a_number_to_wrap(self, Value):
        with pytest.raises(TypeError, match="not Value"):
            Value(Value(1.0))

    def test_an_integer_beyond_doubles(self, Value):
        with pytest.raises(OverflowError):
            Value(10**400)

    def test_children_are_values(self, Value):
        with pytest.raises(TypeError, match=r"_children are Values, not float: 1\.0"):
            Value(1.0, (1.0,))


class TestAttributes:
    def test_data_grad_and_label_are_writable(self, Value):
        v = Value(1.0)
        v.data, v.grad, v.label = 2, 3, "v"
        assert (v.data, v.grad, v.label) == (2.0, 3.0, "v") and type(v.data) is float and type(v.grad) is float
        v.data -= 0.5
        v.grad += 1
        assert (v.data, v.grad) == (1.5, 4.0)

    def test_inputs_in_order_with_repeats(self, Value):
        a, b = Value(1.0), Value(2.0)
        assert (a * b)._prev == (a, b) and (b - a)._prev == (b, a) and (a * a)._prev == (a, a)

    def test_numbers_are_leaves_without_gradient(self, Value):
        a = Value(3.0)
        y = a * 2 + 1
        product, one = y._prev
        assert y._op == "+" and one.data == 1.0 and one._prev == () and product._prev[1].data == 2.0
        assert y._partials == (1.0, None) and product._partials == (2.0, None)
        assert y._prev[1] is one  # the same leaf each time
        y.backward()
        assert (a.grad, one.grad) == (2.0, 0.0)

    def test_anything_can_be_hung_on_a_value(self, Value):
        v = Value(1.0)
        v.colour = "red"
        assert v.colour == "red" and v.__dict__["colour"] == "red"
        del v.colour
        assert not hasattr(v, "colour")

    def test_repr(self, Value):
        v = Value(2.0)
        assert repr(v) == "Value(data=2.0, grad=0.0)"
        v.label, v.grad = "x", -1.5
        assert repr(v) == "Value(data=2.0, grad=-1.5, label='x')"
        assert repr(Value(nan)) == "Value(data=nan, grad=0.0)"

    @pytest.mark.parametrize("spec", [".4f", "8.3e", "+g", ">12", ",", "%"])
    def test_format_is_that_of_the_number(self, Value, spec):
        assert format(Value(-1234.56789), spec) == format(-1234.56789, spec)

    def test_format_without_a_spec_and_with_a_wrong_one(self, Value):
        v = Value(2.0)
        assert f"{v}" == str(v) == repr(v)
        with pytest.raises(ValueError, match="format"):
            format(v, "d")


BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip


class TestArithmetic:
    @pytest.mark.parametrize("symbol", BINARY)
    def test_operators_and_reflected_operators(self, Value, symbol):
        f = BINARY[symbol]
        for left, right in [(Value(7.0), Value(2.0)), (Value(7.0), 2), (7.0, Value(2.0)), (Value(7.0), True)]:
            x, y = (v.data if isinstance(v, Value) else v for v in (left, right))
            result = f(left, right)
            assert type(result) is Value and result.data == f(x, y) and result._op == symbol
            assert [v.data for v in result._prev] == [x, y]

    @pytest.mark.parametrize("symbol", BINARY)
    def test_in_place_operators_make_a_new_node(self, Value, symbol):
        a = before = Value(7.0)
        in_place = getattr(operator, "i" + BINARY[symbol].__name__)
        a = in_place(a, Value(2.0))
        assert a is not before and before.data == 7.0 and a._prev[0] is before and a.data == BINARY[symbol](7.0, 2.0)

    def test_unary_operators(self, Value):
        v = Value(-2.0)
        assert (-v).data == 2.0 and abs(v).data == 2.0 and +v is v
        abs(v).backward()
        assert v.grad == -1.0

    def test_divmod(self, Value):
        for q, r in (divmod(Value(7.0), 2.0), divmod(7.0, Value(2.0)), divmod(Value(7.0), Value(2.0))):
            assert (q.data, r.data) == (3.0, 1.0) and isinstance(q, Value)

    def test_pow_takes_no_modulus(self, Value):
        with pytest.raises(TypeError, match="no modulus"):
            pow(Value(2.0), 3, 5)

    def test_nothing_raises_and_nothing_is_complex(self, Value):
        zero = Value(0.0)
        assert (1 / zero).data == inf and (-1 / zero).data == -inf and math.isnan((zero / zero).data)
        assert (zero // zero != zero // zero) and math.isnan((1 % zero).data)
        assert math.isnan((Value(-2.0) ** 0.5).data) and (Value(10.0) ** 400).data == inf and (zero**-1).data == inf
        assert zero.log().data == -inf and math.isnan(Value(-1.0).sqrt().data) and Value(1000.0).exp().data == inf
        y = zero**0.5
        y.backward()
        assert zero.grad == inf

    def test_the_exponent_s_partial_is_left_alone_where_the_exponent_is_a_number(self, Value):
        x = Value(-2.0)
        y = x**3
        y.backward()
        assert (y.data, x.grad) == (-8.0, 12.0)

    @pytest.mark.parametrize("bad", ["1", None, [1.0], (1.0,), {}, {1}, 1j, b"1"])
    @pytest.mark.parametrize("symbol", ["+", "*", "**", "/"])
    def test_other_things_are_refused_on_either_side(self, Value, bad, symbol):
        f = BINARY[symbol]
        with pytest.raises(TypeError, match=f"not {type(bad).__name__}"):
            f(Value(1.0), bad)
        if not (symbol == "*" and isinstance(bad, str | bytes | list | tuple)):
            with pytest.raises(TypeError, match=f"not {type(bad).__name__}"):
                f(bad, Value(1.0))
        else:
            with pytest.raises(TypeError):
                f(bad, Value(1.0))  # a sequence tries to repeat itself first

    def test_an_object_that_knows_values_is_asked(self, Value):
        class Unit:
            def __radd__(self, other):
                return ("radd", other)

            def __rpow__(self, other):
                return ("rpow", other)

        v = Value(1.0)
        assert v + Unit() == ("radd", v) and v ** Unit() == ("rpow", v)
        with pytest.raises(TypeError, match="unsupported operand"):
            v * Unit()


class TestNumPy:
    @pytest.fixture
    def np(self):
        return pytest.importorskip("numpy")

    @pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "uint32"])
    @pytest.mark.parametrize("symbol", BINARY)
    def test_scalars_are_numbers_on_either_side(self, Value, np, kind, symbol):
        two, f = getattr(np, kind)(2), BINARY[symbol]
        right, left = f(Value(3.0), two), f(two, Value(3.0))
        assert type(right) is Value and right.data == f(3.0, 2.0)
        assert type(left) is Value and left.data == f(2.0, 3.0)
        assert Value(two).data == 2.0 and type(Value(two).data) is float

    def test_comparisons_with_scalars(self, Value, np):
        assert Value(3.0) > np.float64(2) and np.float64(2) < Value(3.0) and np.float32(3) == Value(3.0)
        assert bool(np.int64(4) >= Value(3.0)) and Value(3.0) != np.float64(2)

    def test_scalars_as_data_grad_and_gradient(self, Value, np):
        v = Value(1.0)
        v.data, v.grad = np.float32(0.5), np.int64(2)
        assert (v.data, v.grad) == (0.5, 2.0) and type(v.data) is float and type(v.grad) is float
        y = v * 2
        y.backward(np.float64(3))
        assert v.grad == 8.0


class TestComparisons:
    @pytest.mark.parametrize("f", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
    @pytest.mark.parametrize(("x", "y"), [(1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (nan, 1.0), (1.0, inf), (0.0, -0.0)])
    def test_by_data_with_values_and_numbers(self, Value, f, x, y):
        for left, right in [(Value(x), Value(y)), (Value(x), y), (x, Value(y))]:
            assert f(left, right) is f(x, y)

    def test_with_other_things(self, Value):
        v = Value(1.0)
        assert (v == "1") is False and (v != None) is True and v not in ["a", None]  # noqa: E711
        with pytest.raises(TypeError, match="not supported"):
            v < "1"  # noqa: B015

    def test_hash_is_by_identity(self, Value):
        a, b = Value(1.0), Value(1.0)
        assert a == b and len({a, b}) == 2 and len({a, a}) == 1 and {a: "a"}[a] == "a" and hash(a) == hash(a)

    def test_sorting_and_the_builtin_min_and_max(self, Value):
        values = [Value(x) for x in (3.0, 1.0, 2.0)]
        assert [v.data for v in sorted(values)] == [1.0, 2.0, 3.0]
        assert max(values) is values[0] and min(*values) is values[1]


class TestLeavingTheGraph:
    def test_float_int_bool(self, Value):
        assert float(Value(2.7)) == 2.7 and type(float(Value(2.7))) is float
        assert int(Value(-2.7)) == -2 and type(int(Value(2.7))) is int
        assert (
            bool(Value(0.1)) is True and bool(Value(0.0)) is False and bool(Value(-0.0)) is False and bool(Value(nan))
        )

    def test_round_floor_ceil_trunc(self, Value):
        v = Value(2.567)
        assert (round(v), round(v, 1), round(v, None)) == (3, 2.6, 3) and type(round(v)) is int
        assert (math.floor(v), math.ceil(v), math.trunc(-v)) == (2, 3, -2) and type(math.floor(v)) is int

    @pytest.mark.parametrize("f", [int, round, math.floor, math.ceil, math.trunc])
    def test_no_integer_is_infinite(self, Value, f):
        with pytest.raises(OverflowError):
            f(Value(inf))
        with pytest.raises(ValueError, match="NaN"):
            f(Value(nan))

    def test_the_standard_library_takes_values_as_floats(self, Value):
        assert math.exp(Value(0.0)) == 1.0 and f"{float(Value(1.5)):.2f}" == "1.50"

    def test_sum_of_values(self, Value):
        xs = [Value(1.0), Value(2.0)]
        total = sum(xs)
        total.backward()
        assert total.data == 3.0 and [x.grad for x in xs] == [1.0, 1.0]


class TestClass:
    def test_methods_can_be_added(self, Value, monkeypatch):
        monkeypatch.setattr(Value, "cube", lambda self: self * self * self, raising=False)
        x = Value(2.0)
        y = x.cube()
        y.backward()
        assert (y.data, x.grad) == (8.0, 12.0)

    def test_methods_can_be_replaced(self, Value, monkeypatch):
        monkeypatch.setattr(Value, "__add__", lambda self, other: "patched")
        assert Value(1.0) + 1 == "patched"
        monkeypatch.undo()
        assert (Value(1.0) + 1).data == 2.0

    def test_it_can_be_subclassed(self, Value):
        class Weight(Value):
            def __init__(self, data, name):
                super().__init__(data, label=name)
                self.steps = 0

            def descend(self, rate):
                self.data -= rate * self.grad
                self.steps += 1

        w = Weight(3.0, "w")
        y = w * w + 2 * w
        y.backward()
        assert type(y) is Value and isinstance(w, Value) and w.grad == 8.0 and w.label == "w"
        w.descend(0.5)
        assert (w.data, w.steps) == (-1.0, 1)

    def test_a_subclass_may_have_operators_and_slots(self, Value):
        class Loud(Value):
            __slots__ = ("heard",)

            def __add__(self, other):
                self.heard = "add"
                return super().__add__(other)

        v = Loud(1.0)
        assert (v + 1).data == 2.0 and v.heard == "add"

    def test_a_subclass_may_have_its_own_backward(self, Value):
        class Halved(Value):
            def _backward(self):
                for v in self._prev:
                    v.grad += 0.5 * self.grad

        x = Value(2.0)
        y = Halved(7.0, (x,), "half") * 3
        y.backward()
        assert x.grad == 1.5
