"""Products with tangents and cotangents, and transforms of transforms, against PyTorch."""

from __future__ import annotations

import math
from collections import namedtuple

import pytest

from micrograd import Value
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="transforms over arrays need NumPy")
Point = namedtuple("Point", "x y")


def f3(m, x, y, z):
    return m.exp(x) * y + m.sin(z * x)


class TestAgainstTorch:
    """Jacobians, Hessians and products with vectors of one function of five numbers."""

    A = [0.3, -1.2, 0.8, 1.5, 0.1]
    V = [1.0, 0.5, -0.25, 2.0, -1.0]

    @staticmethod
    def ours(m):
        return lambda a: [m.sin(a[0]) * a[1] + m.exp(a[2]), m.tanh(a[3] * a[4]) / (1 + a[0] ** 2), m.log(a[3]) * a[1]]

    @staticmethod
    def torchs(torch):
        return lambda a: torch.stack(
            [
                torch.sin(a[0]) * a[1] + torch.exp(a[2]),
                torch.tanh(a[3] * a[4]) / (1 + a[0] ** 2),
                torch.log(a[3]) * a[1],
            ]
        )

    def test_first_and_second_derivatives(self, mg, mgmath):
        torch = pytest.importorskip("torch", reason="compared with PyTorch")
        F = torch.autograd.functional
        f, t = self.ours(mgmath), self.torchs(torch)
        a = torch.tensor(self.A, dtype=torch.float64)
        v = torch.tensor(self.V, dtype=torch.float64)
        near = lambda x, y: np.testing.assert_allclose(np.array(x), y.numpy(), rtol=1e-12, atol=1e-13)  # noqa: E731
        near(mg.jacobian(f)(self.A), F.jacobian(t, a))
        near(mg.jacobian(lambda a: np.array(f(a)))(np.array(self.A)), F.jacobian(t, a))
        near(mg.jvp(f, (self.A,), (self.V,))[1], F.jvp(t, a, v)[1])
        u = [0.5, -2.0, 1.0]
        result, pull = mg.vjp(f, self.A)
        near(result, t(a))
        near(pull(u)[0], F.vjp(t, a, torch.tensor(u, dtype=torch.float64))[1])
        total, t_total = lambda a: sum(f(a)), lambda a: t(a).sum()
        near(mg.hessian(total)(self.A), F.hessian(t_total, a))
        near(mg.hvp(total, (self.A,), (self.V,)), F.hvp(t_total, a, v)[1])


class TestProducts:
    def test_jvp_gives_value_and_slope(self, mg, mgmath):
        assert mg.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 10.0)) == (6.0, 23.0)

    def test_vjp_pulls_many_times(self, mg):
        value, pull = mg.vjp(lambda x, y: {"p": x * y, "q": x}, 2.0, 3.0)
        assert value == {"p": 6.0, "q": 2.0}
        assert pull({"p": 1.0, "q": 0.0}) == (3.0, 2.0)
        assert pull({"p": 0.0, "q": 5.0}) == (5.0, 0.0)

    @pytest.mark.parametrize("which", ["argument", "captured"])
    def test_a_cotangent_is_pulled_back_to_where_the_result_was(self, mg, Value, which):
        """Not to where the numbers have gone since, in a step of an optimizer say."""
        x, w = Value(3.0), Value(2.0)
        _, pull = mg.vjp(lambda v: v * v * w, x)
        (g,) = pull(1.0)
        assert g.data == 12.0
        (x if which == "argument" else w).data = 5.0
        with pytest.raises(ValueError, match=r"(?s)has changed since vjp.*call vjp again"):
            pull(1.0)
        _, pull = mg.vjp(lambda v: v * w, float("nan"))
        assert pull(1.0)[0].data == w.data

    def test_a_cotangent_of_another_arrangement_is_refused(self, mg):
        _, pull = mg.vjp(lambda x: (x, x), 2.0)
        with pytest.raises(TypeError, match=r"has the structure \*, but the result has \(\*, \*\)"):
            pull(1.0)

    def test_tangents_must_match(self, mg):
        with pytest.raises(TypeError, match="same structure as the primals"):
            mg.jvp(lambda x: x, (1.0,), ([1.0],))
        with pytest.raises(TypeError, match="tuples"):
            mg.jvp(lambda x: x, 1.0, 1.0)
        with pytest.raises(TypeError, match="tuples"):
            mg.hvp(lambda x: x, [1.0], [1.0])

    def test_jacobian_of_structures(self, mg):
        j = mg.jacobian(lambda p: {"sum": p["a"] + p["b"], "list": [p["a"] * p["b"]]})({"a": 2.0, "b": 3.0})
        assert j == {"sum": {"a": 1.0, "b": 1.0}, "list": [{"a": 3.0, "b": 2.0}]}

    def test_jacobian_of_arrays_has_both_shapes(self, mg):
        j = mg.jacobian(lambda a: np.array([[a[0] * a[1], a[1]], [a[2], a[0]], [a[0], a[1]]]))(
            np.array([2.0, 3.0, 4.0])
        )
        assert j.shape == (3, 2, 3)
        assert j[0, 0].tolist() == [3.0, 2.0, 0.0]

    def test_jacobian_of_an_array_by_several_arguments(self, mg):
        """A gradient of arrays: the result's dimensions, and behind them the argument's."""
        j = mg.jacobian(lambda x, d: np.array([[x * x, x], [d["v"][0], x * d["v"][1]]]), (0, 1))
        by_x, by_d = j(3.0, {"v": np.array([5.0, 7.0]), "w": 1.0})
        assert by_x.tolist() == [[6.0, 1.0], [0.0, 7.0]]
        assert by_d["w"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert by_d["v"].tolist() == [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 3.0]]]

    def test_hessian_of_an_array_among_other_things(self, mg):
        h = mg.hessian(lambda d: d["a"] ** 2 * d["v"][0] + d["v"][1] ** 3)({"a": 3.0, "v": np.array([2.0, 5.0])})
        assert h["a"]["a"] == 4.0
        assert h["a"]["v"].tolist() == h["v"]["a"].tolist() == [6.0, 0.0]
        assert h["v"]["v"].tolist() == [[0.0, 0.0], [0.0, 30.0]]

    def test_jacobian_with_aux(self, mg):
        assert mg.jacobian(lambda x: ([x, x * x], "aux"), has_aux=True)(3.0) == ([1.0, 6.0], "aux")


@needs_llvm
class TestComposition:
    """With jit and vmap, in either order."""

    def f(self, x, y):
        from micrograd import math as m

        return m.exp(x) * y + (m.sin(x) if x > y else x * y * y)

    XS, YS = [0.5, 2.0, -1.0, 0.1], [1.0, 1.5, -2.0, 0.05]

    def points(self):
        return list(zip(self.XS, self.YS))

    def test_jit_of_grad_and_grad_of_jit(self):
        from micrograd import grad, hessian, jit

        plain = grad(self.f, (0, 1))
        for one in (
            jit(plain, wait=True),
            grad(jit(self.f, wait=True), (0, 1)),
            jit(grad(jit(self.f), (0, 1)), wait=True),
        ):
            for x, y in self.points():
                assert one(x, y) == pytest.approx(plain(x, y), rel=1e-13)
        twice = hessian(self.f, (0, 1))
        for one in (jit(twice, wait=True), jit(hessian(jit(self.f), (0, 1)), wait=True)):
            for x, y in self.points():
                assert np.array(one(x, y)) == pytest.approx(np.array(twice(x, y)), rel=1e-12)

    def test_vmap_of_grad_of_any_order(self):
        from micrograd import grad, jit, vmap

        g = lambda x: x**4 + math.pi * x  # noqa: E731
        xs = np.array(self.XS)
        for wrap in (lambda h: h, jit, lambda h: jit(h, wait=True)):
            assert vmap(wrap(grad(g)))(xs) == pytest.approx(4 * xs**3 + math.pi)
            assert vmap(grad(grad(wrap(g))))(xs) == pytest.approx(12 * xs**2)
            assert vmap(grad(grad(grad(g))))(xs) == pytest.approx(24 * xs)

    def test_grad_of_vmap_and_jit_of_that(self):
        from micrograd import grad, jit, vmap

        rows = vmap(self.f, reduce="sum")
        xs, ys = np.array(self.XS), np.array(self.YS)
        want = [grad(self.f, (0, 1))(x, y) for x, y in self.points()]
        for one in (grad(rows, (0, 1)), jit(grad(rows, (0, 1)), wait=True)):
            gx, gy = one(xs, ys)
            assert gx == pytest.approx([w[0] for w in want], rel=1e-13)
            assert gy == pytest.approx([w[1] for w in want], rel=1e-13)

    def test_aux_of_a_compiled_gradient_is_computed_anew(self):
        from micrograd import jit, value_and_grad, vmap

        f = value_and_grad(lambda x: (x * x, [3 * x, "text"]), has_aux=True)
        g = jit(f, wait=True)
        assert [g(x) for x in (2.0, 5.0)] == [((4.0, [6.0, "text"]), 4.0), ((25.0, [15.0, "text"]), 10.0)]
        (_, (thrice, text)), _ = vmap(f)(np.array([1.0, 2.0, 3.0]))
        assert (thrice.tolist(), text) == ([3.0, 6.0, 9.0], "text")

    def test_jvp_hvp_and_jacobian_compile(self):
        from micrograd import hvp, jacobian, jit, jvp

        push = lambda x, y: jvp(self.f, (x, y), (1.0, 2.0))  # noqa: E731
        second = lambda x, y: hvp(self.f, (x, y), (1.0, 2.0))  # noqa: E731
        table = lambda x, y: jacobian(lambda a: [self.f(a[0], a[1]), a[0] * a[1]])([x, y])  # noqa: E731
        for f in (push, second, table):
            compiled = jit(f, wait=True)
            for x, y in self.points():
                assert np.array(compiled(x, y)) == pytest.approx(np.array(f(x, y)), rel=1e-12)

    def test_a_compiled_gradient_goes_backward(self):
        from micrograd import grad, jit

        x = Value(0.7)
        jit(grad(lambda v: v**4), wait=True)(x).backward()
        assert x.grad == pytest.approx(12 * 0.49)
