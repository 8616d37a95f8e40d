"""grad and its relatives: arguments of every arrangement, nesting, composition, against mpmath and PyTorch."""

from __future__ import annotations

import struct
from collections import namedtuple
from fractions import Fraction

import mpmath
import pytest

np = pytest.importorskip("numpy", reason="transforms over arrays need NumPy")
Point = namedtuple("Point", "x y")


def f3(m, x, y, z):
    return m.exp(x) * y + m.sin(z * x)


class TestArguments:
    def test_argnums_choose_what_to_differentiate(self, mg):
        f = lambda x, y: x * x * y  # noqa: E731
        assert mg.grad(f)(3.0, 2.0) == 12.0
        assert mg.grad(f, 1)(3.0, 2.0) == 9.0
        assert mg.grad(f, (0, 1))(3.0, 2.0) == (12.0, 9.0)
        assert mg.grad(f, (1, 0))(3.0, 2.0) == (9.0, 12.0)
        assert mg.grad(f, -1)(3.0, 2.0) == 9.0

    def test_an_argument_that_did_not_come_is_named(self, mg):
        with pytest.raises(TypeError, match="asks for argument 2, but 1 were given"):
            mg.grad(lambda x: x, 2)(1.0)

    def test_gradients_are_arranged_as_the_arguments(self, mg):
        f = lambda p: p["w"][0] * p["w"][1] + p["b"] ** 2 + p["t"][0][0] * 3  # noqa: E731
        g = mg.grad(f)({"w": [2.0, 5.0], "b": 3.0, "t": ((1.0,),)})
        assert g == {"w": [5.0, 2.0], "b": 6.0, "t": ((3.0,),)}

    def test_named_tuples_come_back_as_they_were(self, mg):
        g = mg.grad(lambda p: p.x * p.y)(Point(2.0, 3.0))
        assert g == Point(3.0, 2.0)
        assert type(g) is Point

    def test_arrays_give_arrays(self, mg):
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        g = mg.grad(lambda a: (a * a).sum())(x)
        assert g.shape == (2, 2)
        assert (g == 2 * x).all()

    @pytest.mark.parametrize("x", [3, np.float32(3), np.int64(3), 3.0])
    def test_any_real_number_is_an_argument(self, mg, x):
        assert mg.grad(lambda v: v * v)(x) == 6.0

    def test_other_arguments_pass_through(self, mg):
        f = lambda x, name, n: x**n if name == "power" else x  # noqa: E731
        assert mg.grad(f)(2.0, "power", 3) == 12.0
        assert mg.grad(lambda x, scale=1.0: x * scale)(2.0, scale=4.0) == 4.0

    def test_has_aux_hands_the_rest_through(self, mg):
        f = lambda x: (x * x, {"twice": 2, "x": "any"})  # noqa: E731
        assert mg.grad(f, has_aux=True)(3.0) == (6.0, {"twice": 2, "x": "any"})
        assert mg.value_and_grad(f, has_aux=True)(3.0) == ((9.0, {"twice": 2, "x": "any"}), 6.0)
        with pytest.raises(TypeError, match="returns \\(result, aux\\)"):
            mg.grad(lambda x: x, has_aux=True)(1.0)

    def test_aux_is_what_this_call_computed(self, mg, Value):
        """In numbers where numbers came in, connected where Values did, and differentiable from outside."""
        f = mg.value_and_grad(lambda x: (x * x, {"thrice": 3 * x, "x": x, "n": 2}), has_aux=True)
        value, slope = f(2.0)
        assert (value, slope) == ((4.0, {"thrice": 6.0, "x": 2.0, "n": 2}), 4.0)
        assert type(value[1]["thrice"]) is type(value[1]["x"]) is float
        v = Value(2.0)
        f(v)[0][1]["thrice"].backward()
        assert v.grad == 3.0
        assert mg.grad(lambda x: f(x)[0][1]["thrice"] * x)(2.0) == 12.0
        third = mg.grad(mg.grad(lambda x: (x**3, x * x), has_aux=True), has_aux=True)
        assert third(2.0) == (12.0, 4.0)

    def test_aux_comes_last(self, mg):
        def f(x):
            return x**3, ["beside", x * x]

        beside = ["beside", 4.0]
        assert mg.hessian(f, has_aux=True)(2.0) == (12.0, beside)
        assert mg.jvp(f, (2.0,), (10.0,), has_aux=True) == (8.0, 120.0, beside)
        value, pull, aux = mg.vjp(f, 2.0, has_aux=True)
        assert (value, pull(10.0), aux) == (8.0, (120.0,), beside)
        assert mg.hvp(f, (2.0,), (10.0,), has_aux=True) == (120.0, beside)

    def test_it_says_what_it_is(self, mg):
        assert repr(mg.grad(f3)) == "<grad of f3>"
        assert mg.jacobian(f3).__name__ == "f3"

    def test_methods(self, mg):
        class Model:
            scale = 3.0
            area = mg.grad(lambda self, x: self.scale * x * x, argnums=1)

        assert Model().area(2.0) == 12.0

    def test_aux_keeps_what_holds_no_values(self, mg):
        labels = np.array([1, 2])
        assert mg.grad(lambda x: (x, labels), has_aux=True)(1.0)[1] is labels

    @pytest.mark.parametrize("x", [True, "abc", None, {1.0}, type("Own", (list,), {})([1.0, 2.0])])
    def test_an_argument_without_numbers_is_refused(self, mg, x):
        with pytest.raises(TypeError, match=r"argument 0 is a \w+, which holds no numbers.*argnums"):
            mg.grad(lambda _: 1.0)(x)

    def test_an_array_of_other_things_is_refused(self, mg):
        for transform in (mg.grad, mg.jit):
            with pytest.raises(TypeError, match="objects that are not numbers"):
                transform(lambda a: a[0])(np.array([1.0, None], object))

    def test_complex_numbers_are_refused(self, mg):
        for x in (1j, [1.0, 1j]):
            with pytest.raises(TypeError, match="with respect to real numbers; pass the real and the imaginary part"):
                mg.grad(lambda z: 1.0)(x)

    def test_a_number_that_passes_through_comes_out_as_a_float(self, mg):
        for x in (3, Fraction(3), np.float32(3)):
            found = [
                mg.value_and_grad(lambda x: x)(x)[0],
                *mg.jvp(lambda x: x, (x,), (x,)),
                *mg.vjp(lambda x: x, x)[1](x),
            ]
            assert found == [3.0] * 4
            assert {type(y) for y in found} == {float}

    def test_a_value_kept_from_inside_has_no_derivative_and_is_refused(self, mg):
        for kept in (lambda y: y * y, lambda y: y):

            def f(x, kept=kept):
                seen = []

                def cube(y):
                    seen.append(kept(y))
                    return y**3

                return mg.grad(cube)(x) + seen[0]

            for transform in (mg.grad, mg.jit):
                with pytest.raises(mg.TraceError, match=r"(?s)kept by a function given to grad.*has_aux=True"):
                    transform(f)(2.0)

    def test_grad_wants_one_number(self, mg):
        with pytest.raises(TypeError, match="function that returns one number, not tuple of 2 numbers"):
            mg.grad(lambda x: (x, x))(1.0)
        with pytest.raises(TypeError, match="use jacobian"):
            mg.grad(lambda x: None)(1.0)

    def test_a_result_that_does_not_depend_has_gradient_zero(self, mg):
        assert mg.grad(lambda x: 3.0)(1.0) == 0.0
        assert mg.grad(lambda x, y: y * 2)(1.0, 2.0) == 0.0


class TestValues:
    def test_values_in_give_values_out_and_a_graph(self, mg, Value):
        x = Value(3.0)
        g = mg.grad(lambda v: v**3)(x)
        assert isinstance(g, Value)
        assert g.data == 27.0
        g.backward()
        assert x.grad == 18.0

    def test_captured_values_stay_connected(self, mg, Value):
        w = Value(5.0)
        g = mg.grad(lambda x: w * x * x)(3.0)
        assert g.data == 30.0
        g.backward()
        assert w.grad == 6.0

    def test_nothing_is_left_in_the_gradients_of_the_arguments(self, mg, Value):
        x, w = Value(3.0), Value(2.0)
        mg.grad(lambda v: w * v * v)(x)
        assert x.grad == w.grad == 0.0

    def test_branches_are_those_of_the_numbers(self, mg):
        f = lambda x: x * x if x > 0 else -x  # noqa: E731
        assert mg.grad(f)(3.0) == 6.0
        assert mg.grad(f)(-3.0) == -1.0

    def test_reading_a_number_is_as_harmless_as_in_eager_code(self, mg):
        assert mg.grad(lambda x: x * x.data)(3.0) == 3.0
        assert mg.grad(lambda x: x.detach() * x)(3.0) == 3.0

    @pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacobian", "hessian"])
    def test_a_number_that_compiled_code_takes_is_an_error_at_the_user_s_line(self, mg, transform):
        f = getattr(mg, transform)(lambda x: x * struct.unpack("d", struct.pack("d", x))[0])
        with pytest.raises(mg.TraceError, match=r"(?s)takes the number of a Value, at test_transforms.py:\d+.*x\.data"):
            f(0.0)

    def test_float_of_a_captured_value_is_no_mistake(self, mg, Value):
        w = Value(2.0)
        assert mg.grad(lambda x: x * float(w))(3.0) == 2.0

    def test_no_grad_outside_does_not_reach_in(self, mg):
        with mg.no_grad():
            assert mg.grad(lambda x: x * x)(3.0) == 6.0


class TestHigherOrders:
    CASES = {
        "x**5": (lambda m, x: x**5, lambda x: x**5),
        "sin·exp": (lambda m, x: m.sin(x) * m.exp(x), lambda x: mpmath.sin(x) * mpmath.exp(x)),
        "tanh": (lambda m, x: m.tanh(x), mpmath.tanh),
        "log1p": (lambda m, x: m.log1p(x), mpmath.log1p),
        "sigmoid": (lambda m, x: m.sigmoid(x), lambda x: 1 / (1 + mpmath.exp(-x))),
        "gelu": (lambda m, x: m.gelu(x), lambda x: x * mpmath.ncdf(x)),
        "silu": (lambda m, x: m.silu(x), lambda x: x / (1 + mpmath.exp(-x))),
        "softplus": (lambda m, x: m.softplus(x), lambda x: mpmath.log1p(mpmath.exp(x))),
        "erf": (lambda m, x: m.erf(x), mpmath.erf),
        "atan": (lambda m, x: m.atan(x), mpmath.atan),
        "asin": (lambda m, x: m.asin(x / 3), lambda x: mpmath.asin(x / 3)),
        "sqrt": (lambda m, x: m.sqrt(1 + x * x), lambda x: mpmath.sqrt(1 + x * x)),
        "x**x": (lambda m, x: x**x, lambda x: x**x),
        "hypot": (lambda m, x: m.hypot(x, 2.0), lambda x: mpmath.hypot(x, 2)),
        "logsumexp": (lambda m, x: m.logsumexp([x, 2 * x]), lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(2 * x))),
        "prod": (lambda m, x: m.prod([x, x + 1, m.sin(x)]), lambda x: x * (x + 1) * mpmath.sin(x)),
        "elu": (lambda m, x: m.elu(-x, 0.5), lambda x: mpmath.expm1(-x) / 2),
    }  # fmt: skip

    @pytest.mark.thread_unsafe(reason="mpmath has one precision for all threads")
    @pytest.mark.parametrize("name", CASES)
    def test_orders_one_to_three_against_mpmath(self, mg, mgmath, name):
        ours, theirs = self.CASES[name]
        derivative = lambda x: ours(mgmath, x)  # noqa: E731
        for order in (1, 2, 3):
            derivative = mg.grad(derivative)
            for x in (0.3, 1.7):
                with mpmath.workdps(40):
                    want = float(mpmath.diff(theirs, mpmath.mpf(x), order))
                assert derivative(x) == pytest.approx(want, rel=1e-11, abs=1e-12), order

    def test_reverse_over_forward_and_forward_over_reverse_agree(self, mg, mgmath):
        f = lambda x, y: f3(mgmath, x, y, x * y)  # noqa: E731
        v = (0.3, -1.2)
        over_reverse = mg.hvp(f, (0.5, 2.0), v)
        slope = lambda x, y: mg.jvp(f, (x, y), v)[1]  # noqa: E731
        assert mg.grad(slope, (0, 1))(0.5, 2.0) == pytest.approx(over_reverse, rel=1e-13)
        h = mg.hessian(f, (0, 1))(0.5, 2.0)
        assert [h[0][0] * v[0] + h[0][1] * v[1], h[1][0] * v[0] + h[1][1] * v[1]] == pytest.approx(
            over_reverse, rel=1e-13
        )
