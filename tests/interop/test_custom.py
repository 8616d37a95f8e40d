"""custom_vjp and remat: rules for whole functions, with JAX as the oracle."""

from __future__ import annotations

import gc

import pytest

from interop.wrong_rule import scaled
from micrograd import (
    Value,
    custom_vjp,
    grad,
    jit,
    jvp,
    math,
    no_grad,
    remat,
    value_and_grad,
    vjp,
    vmap,
)
from random_programs import needs_llvm

np = pytest.importorskip("numpy")


class TestCustomVjp:
    def test_the_rule_is_used_everywhere(self, twin):
        import importlib

        package = importlib.import_module("micrograd")
        f = package.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, c: (3.0 * c * kept[1], c * kept[0]))
        x, y = twin.Value(2.0), twin.Value(5.0)
        f(x, y).backward()
        assert (x.grad, y.grad) == (15.0, 2.0)
        assert f(2.0, 5.0) == 10.0
        assert package.grad(f, (0, 1))(2.0, 5.0) == (15.0, 2.0)
        assert package.jvp(f, (2.0, 5.0), (1.0, 1.0)) == (10.0, 17.0)
        assert package.grad(package.grad(f), 1)(2.0, 5.0) == 3.0  # the derivative of the rule

    @needs_llvm
    def test_compiled_and_over_rows(self):
        f = scaled()
        g = grad(lambda x, y: f(x, y)["product"], (0, 1))
        assert jit(g, wait=True)(2.0, 5.0) == (15.0, 2.0)
        a, b = vmap(g)(np.array([2.0, 3.0]), np.array([5.0, 7.0]))
        assert a.tolist() == [15.0, 21.0] and b.tolist() == [2.0, 3.0]
        w = Value(2.0)
        jit(lambda y: f(w, y)["product"], wait=True)(5.0).backward()
        assert w.grad == 15.0
        w.grad = 0.0
        vmap(lambda y: f(w, y)["product"], reduce="sum")(np.array([5.0, 7.0])).backward()
        assert w.grad == 36.0

    def test_inside_a_branch_and_a_loop(self):
        f = scaled()

        def walk(x):
            for _ in range(3):
                if x > 1.0:
                    x = f(x, 2.0)["product"]
            return x

        assert jit(value_and_grad(walk), wait=True)(2.0) == value_and_grad(walk)(2.0) == (16.0, 216.0)

    def test_against_jax(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)

        def rule(make, m):
            f = make(lambda x, y: m.log(1.0 + m.exp(x)) * y)
            f.defvjp(
                lambda x, y: (m.log(1.0 + m.exp(x)) * y, (x, y)),
                lambda kept, c: (c * kept[1] / (1.0 + m.exp(-kept[0])), c * m.log(1.0 + m.exp(kept[0]))),
            )
            return f

        ours, theirs = rule(custom_vjp, math), rule(jax.custom_vjp, jax.numpy)
        assert grad(ours, (0, 1))(0.4, 3.0) == pytest.approx(
            [float(x) for x in jax.grad(theirs, (0, 1))(0.4, 3.0)], rel=1e-14
        )
        assert grad(grad(ours))(0.4, 3.0) == pytest.approx(float(jax.grad(jax.grad(theirs))(0.4, 3.0)), rel=1e-13)

    def test_a_slope_that_is_not_finite_inside_does_no_harm(self):
        f = custom_vjp(lambda x: math.sqrt(x))
        f.defvjp(lambda x: (math.sqrt(x), x), lambda x, c: (c * 7.0,))
        x = Value(0.0)
        f(x).backward()
        assert x.grad == 7.0 and grad(f)(0.0) == 7.0

    def test_none_stands_for_zero_and_structures_are_checked(self):
        f = custom_vjp(lambda xs, k: xs[0] * xs[1] * k)
        f.defvjp(lambda xs, k: (xs[0] * xs[1] * k, xs), lambda xs, c: ([c * xs[1], c * xs[0]], None))
        assert grad(f, (0, 1))([2.0, 3.0], 1.0) == ([3.0, 2.0], 0.0)
        f.defvjp(lambda xs, k: (xs[0], None), lambda _, c: (c, None))
        with pytest.raises(TypeError, match="argument 0 a cotangent of another structure"):
            grad(f)([2.0, 3.0], 1.0)
        f.defvjp(lambda xs, k: (xs[0], None), lambda _, c: c)
        with pytest.raises(TypeError, match="for each of its 2 arguments"):
            grad(f)([2.0, 3.0], 1.0)
        f.defvjp(lambda xs, k: xs[0], lambda _, c: c)
        with pytest.raises(TypeError, match=r"returns \(result, kept\)"):
            grad(f)([2.0, 3.0], 1.0)
        with pytest.raises(TypeError, match=r"has no rule yet: set it with"):
            custom_vjp(lambda x: x)(1.0)

    @pytest.mark.parametrize(
        "rule",
        [
            lambda c: math.max(-5.0, math.min(5.0, c)),
            lambda c: math.max(c, 0.0),
            lambda c: c + 1.0,
            lambda c: math.sign(c),
            lambda c: c * c,
        ],
    )
    def test_a_rule_that_is_not_linear_is_refused(self, rule):
        f = custom_vjp(lambda x: x * 2.0)
        f.defvjp(lambda x: (x * 2.0, None), lambda _, c: (rule(c),))
        for call in (lambda: f(Value(1.0)), lambda: grad(f)(1.0), lambda: jit(grad(f), wait=True)(1.0)):
            with pytest.raises(ValueError, match="is not linear in the cotangent"):
                call()

    def test_a_method(self):
        class Model:
            def __init__(self):
                self.k = 2.0

            @custom_vjp
            def f(self, x):
                return self.k * x

        Model.f.defvjp(lambda self, x: (self.k * x, None), lambda _, c: (None, 5.0 * c))
        assert Model().f(3.0) == 6.0 and grad(Model().f)(3.0) == 5.0
        assert repr(Model.f).startswith("<custom_vjp of")


class TestRemat:
    def test_gradients_are_those_of_the_function(self, twin):
        import importlib

        package = importlib.import_module("micrograd")
        m, w = package.math, twin.Value(1.5)

        def f(x, y):
            return m.sin(x * w) * y + w, x * y * y

        results = []
        for g in (f, package.remat(f)):
            w.grad = 0.0
            a, b = twin.Value(2.0), twin.Value(3.0)
            first, second = g(a * a, b)
            (first * 2.0 + second).backward()
            results.append((first.data, second.data, a.grad, b.grad, w.grad))
        assert results[0] == pytest.approx(results[1], rel=1e-15)

    def test_the_steps_in_between_are_not_kept(self):
        def chain(x):
            for _ in range(2000):
                x = x * 0.999
            return x

        gc.collect()
        x = Value(2.0)
        y = remat(chain)(x)
        assert y._prev == (x,)
        gc.collect()
        assert sum(type(v) is Value for v in gc.get_objects()) < 1500
        y.backward()
        z = Value(2.0)
        chain(z).backward()
        assert x.grad == pytest.approx(z.grad, rel=1e-12)

    def test_a_chain_of_segments(self):
        step = remat(lambda x: math.tanh(x * 1.1) + 0.1 * x)
        plain = lambda x: math.tanh(x * 1.1) + 0.1 * x  # noqa: E731
        grads = []
        for f in (step, plain):
            v = x = Value(0.7)
            for _ in range(5):
                v = f(v)
            v.backward()
            grads.append(x.grad)
        assert grads[0] == pytest.approx(grads[1], rel=1e-14)

    @needs_llvm
    def test_inside_transforms_and_compiled_functions(self):
        f = remat(lambda x: math.sin(x) * x)
        assert grad(grad(f))(0.5) == grad(grad(f.__wrapped__))(0.5)
        assert jit(grad(f), wait=True)(0.5) == pytest.approx(grad(f)(0.5), rel=1e-15)
        assert vmap(f)(np.array([0.5])).tolist() == pytest.approx([float(np.sin(0.5) * 0.5)])
        assert vjp(f, 0.5)[1](1.0) == (grad(f)(0.5),) and f(0.5) == math.sin(0.5) * 0.5

    def test_nothing_is_recorded_in_no_grad(self):
        with no_grad():
            assert remat(lambda x: x * x)(Value(3.0))._prev == ()

    def test_one_value_in_several_places(self):
        grads = []
        for wrap in (lambda f: f, remat):
            w, x = Value(1.5), Value(2.0)
            f = wrap(lambda a, b, w=w: math.sin(a * w) * b * w)
            total = f(x, x) + f(w, x) + f(x, 2.0)
            total.backward()
            total.backward()
            grads.append((x.grad, w.grad))
        assert grads[0] == pytest.approx(grads[1], rel=1e-14)

    def test_numbers_that_change_in_between_are_refused(self):
        x = Value(2.0)
        y = remat(lambda x: x * x)(x)
        x.data = 3.0
        with pytest.raises(ValueError, match="has changed since remat"):
            y.backward()


class TestARuleThatCallsItsFunction:
    """As the examples of jax.custom_vjp do: `return f(x), kept`, and the derivative of exp by exp."""

    def make(self):
        @custom_vjp
        def growth(x):
            return math.exp(math.floor(x) + (x - math.floor(x)))  # its code has the derivative of exp, or nearly

        @custom_vjp
        def steps(x, y):
            return math.floor(x) * y  # the rule takes the slope of x for that of its steps

        growth.defvjp(lambda x: (growth(x), x), lambda x, c: (growth(x) * c,))
        steps.defvjp(lambda x, y: (steps(x, y), (x, y)), lambda kept, c: (kept[1] * c, steps(kept[0], 1.0) * c))
        return growth, steps

    def test_in_eager_code(self):
        growth, steps = self.make()
        x, y = Value(1.5), Value(2.0)
        (growth(x) + steps(x, y)).backward()
        assert (x.grad, y.grad) == (pytest.approx(math.exp(1.5) + 2.0), 1.0)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_in_transforms_of_each_order(self, order):
        f = self.make()[0]
        for _ in range(order):
            f = grad(f)
        assert f(1.5) == pytest.approx(math.exp(1.5), rel=1e-12)

    def test_the_rule_holds_where_the_rule_calls_it(self):
        """The slope by y is steps(x, 1), whose slope by x is 1 by the rule, and 0 by its code."""
        steps = self.make()[1]
        assert grad(steps, (0, 1))(1.5, 2.0) == (2.0, 1.0)
        assert grad(grad(steps, 1), 0)(1.5, 2.0) == 1.0

    @needs_llvm
    def test_in_compiled_functions_and_by_rows(self):
        growth, steps = self.make()
        assert jit(grad(steps, (0, 1)), wait=True)(1.5, 2.0) == (2.0, 1.0)
        assert vmap(grad(growth))(np.array([0.5, 1.5])).tolist() == pytest.approx([math.exp(0.5), math.exp(1.5)])
        assert jvp(steps, (1.5, 2.0), (1.0, 0.0)) == (2.0, 2.0)
