"""jacfwd, jacrev, linearize, axes of structures, and functions as text; with JAX as the oracle."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import pytest

from interop.wrong_rule import scaled
from micrograd import (
    MicrogradError,
    Value,
    export_text,
    grad,
    hessian,
    import_text,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    linearize,
    math,
    primitive,
    vmap,
)
from random_programs import needs_llvm

np = pytest.importorskip("numpy")


def program(x, m):
    """Three results of four numbers, in the functions of a module m."""
    return [m.sin(x[0]) * x[1], m.exp(x[2] * x[0]) + x[3], x[1] * x[1] * x[2] + m.tanh(x[3])]


AT = [0.3, -1.2, 0.7, 0.4]


class TestJacobians:
    @pytest.fixture
    def expected(self):
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        f = lambda x: jax.numpy.array(program(x, jax.numpy))  # noqa: E731
        return np.asarray(jax.jacfwd(f)(jax.numpy.array(AT)))

    @pytest.mark.parametrize("how", [jacfwd, jacrev, jacobian])
    def test_against_jax(self, how, expected):
        f = lambda x: program(x, math)  # noqa: E731
        assert np.array(how(f)(AT)) == pytest.approx(expected, rel=1e-14)
        assert jacobian(f, sparse=True)(np.array(AT)).toarray() == pytest.approx(expected, rel=1e-14)

    @needs_llvm
    @pytest.mark.parametrize("how", [jacfwd, jacrev])
    def test_compiled_over_rows_and_nested(self, how):
        f = lambda x, y: [x * y, math.sin(x)]  # noqa: E731
        assert jit(how(f), wait=True)(2.0, 3.0) == pytest.approx(jacobian(f)(2.0, 3.0), rel=1e-14)
        a, b = vmap(how(f))(np.array([2.0, 1.0]), np.array([3.0, 5.0]))
        assert a.tolist() == [3.0, 5.0] and b == pytest.approx(np.cos([2.0, 1.0]))
        assert how(how(lambda x: x**4))(2.0) == 48.0 and grad(lambda x: how(f)(x, 3.0)[1])(1.0) == pytest.approx(
            -np.sin(1.0)
        )

    def test_structures_and_aux(self):
        f = lambda p: ({"u": p["a"] * p["b"]}, "aux")  # noqa: E731
        for how in (jacfwd, jacrev):
            assert how(f, has_aux=True)({"a": 2.0, "b": 3.0}) == ({"u": {"a": 3.0, "b": 2.0}}, "aux")
        assert repr(jacfwd(math.sin)).startswith("<jacfwd of")
        assert pickle.loads(pickle.dumps(jacrev(program))).made_of[0] is jacrev

    def test_sparse_by_another_argument(self):
        f = lambda a, x: [a * x[0], x[1] ** 2]  # noqa: E731
        assert jacobian(f, 1, sparse=True)(3.0, [1.0, 2.0]).toarray().tolist() == [[3.0, 0.0], [0.0, 4.0]]
        assert hessian(lambda x: x[0] * x[1], sparse=True)([1.0, 2.0]).toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]
        with pytest.raises(TypeError, match="with respect to one argument"):
            jacobian(f, (0, 1), sparse=True)
        with pytest.raises(TypeError, match="do not go together"):
            jacobian(f, has_aux=True, sparse=True)


class TestLinearize:
    def test_is_jvp_at_a_point(self):
        f = lambda x: program(x, math)  # noqa: E731
        y, push = linearize(f, AT)
        for tangent in ([1.0, 0.0, 0.0, 0.0], [0.5, -1.0, 2.0, 3.0]):
            assert (y, push(tangent)) == jvp(f, (AT,), (tangent,))

    def test_of_values_it_has_a_gradient(self):
        x = Value(2.0)
        y, push = linearize(lambda x: x**3, x)
        push(1.0).backward()
        assert (y.data, x.grad) == (8.0, 12.0)
        x.data = 5.0
        with pytest.raises(ValueError, match="has changed since linearize"):
            push(1.0)

    @needs_llvm
    def test_inside_transforms_and_compiled_functions(self):
        f = lambda x: linearize(lambda t: t**3, x)[1](1.0)  # noqa: E731
        assert grad(f)(2.0) == 12.0 and jit(f, wait=True)(2.0) == 12.0 and vmap(f)(np.array([2.0])).tolist() == [12.0]
        with pytest.raises(TypeError, match="same structure as the primals"):
            linearize(f, 2.0)[1]([1.0])


class Point(NamedTuple):
    x: float
    y: float


@needs_llvm
class TestAxes:
    X = np.arange(6.0).reshape(2, 3)

    def test_in_axes_of_structures(self):
        f = lambda p, c, k: p["a"] * p["b"] + c[0] * c[1].x + k  # noqa: E731
        axes = {"a": 0, "b": None}, [None, Point(0, None)], 0
        args = {"a": np.array([1.0, 2.0]), "b": 10.0}, [2.0, Point(np.array([1.0, 5.0]), 7.0)], np.array([0.5, 0.25])
        assert vmap(f, in_axes=axes)(*args).tolist() == [12.5, 30.25]
        assert pickle.loads(pickle.dumps(vmap(program, in_axes=({"a": 0},)))).in_axes == ({"a": 0},)

    def test_gradients_of_values_inside_structures(self):
        w = Value(3.0)
        total = vmap(lambda p: p["w"] * p["x"], in_axes=({"w": None, "x": 0},), reduce="sum")(
            {"w": w, "x": np.array([1.0, 2.0])}
        )
        total.backward()
        assert (total.data, w.grad) == (9.0, 3.0)

    def test_axes_inside(self):
        f = lambda p: p["m"][0] - p["v"]  # noqa: E731
        found = vmap(f, in_axes=({"m": 1, "v": 0},))({"m": self.X, "v": np.ones(3)})
        assert found.tolist() == (self.X[0] - 1.0).tolist()

    def test_against_jax(self):
        jax = pytest.importorskip("jax")
        f = lambda p, y: {"u": p["a"] * y, "v": (p["b"] + y, y * 2.0)}  # noqa: E731
        arguments = {"a": self.X, "b": np.ones(3)}, self.X.T
        how = {"in_axes": ({"a": 0, "b": None}, 1), "out_axes": {"u": 1, "v": (0, 1)}}
        ours, theirs = vmap(f, **how)(*arguments), jax.vmap(f, **how)(*arguments)
        for a, b in ((ours["u"], theirs["u"]), (ours["v"][0], theirs["v"][0]), (ours["v"][1], theirs["v"][1])):
            assert a.shape == b.shape and a == pytest.approx(np.asarray(b), rel=1e-6)

    def test_out_axes(self):
        assert vmap(lambda r: r * 2.0, out_axes=1)(self.X).tolist() == (2.0 * self.X.T).tolist()
        assert vmap(lambda r: r * 2.0, out_axes=-1)(self.X).shape == (3, 2)
        both = vmap(lambda r: (r, 1.0 + 0.0 * r[0]), out_axes=(1, None))(self.X)
        assert both[0].tolist() == self.X.T.tolist() and both[1] == 1.0
        assert jit(vmap(lambda r: r, out_axes=1))(self.X).shape == (3, 2)
        assert grad(lambda k: vmap(lambda r: r * k, out_axes=1)(self.X)[0, 1])(2.0) == 3.0

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ({"in_axes": ({"b": 0},)}, "argument 0 is a ndarray of 2 items, and its axes are"),
            ({"in_axes": (True,)}, "an axis is a whole number"),
            ({"in_axes": ({"a": "0"},)}, "an axis is a whole number"),
            ({"out_axes": 3}, "cannot lie along axis 3"),
            ({"out_axes": {"u": 0}}, "the result is a ndarray"),
            ({"out_axes": None}, "not the same in all rows"),
            ({"out_axes": 1, "reduce": "sum"}, "the result has no rows"),
        ],
    )
    def test_axes_that_do_not_fit(self, how, message):
        with pytest.raises((TypeError, ValueError), match=message):
            vmap(lambda r: r * 1.0, **how)(self.X)


class TestText:
    W = Value(1.5)

    def function(self, p):
        total = self.W * math.sin(p["x"][0])
        for k in range(3):
            total = total + math.exp(p["x"][1] * k / 10.0)
        return [total, (p["y"] if p["y"] > 0.0 else -p["y"], 0.1)]

    def test_and_back(self):
        at = {"x": [0.3, 0.7], "y": 2.0}
        text = export_text(self.function, at)
        assert text.startswith("micrograd tape 1\n")
        g = import_text(text)
        assert g(at) == [float(self.function(at)[0]), (2.0, 0.1)]
        assert export_text(g, at).split("\n%0")[1].count("\n") == text.split("\n%0")[1].count("\n")
        h = lambda f: grad(lambda p: f(p)[0])  # noqa: E731
        a, b = h(g)(at), h(self.function)(at)
        assert a["x"] == pytest.approx([float(v) for v in b["x"]], rel=1e-15)

    @needs_llvm
    def test_what_is_read_can_be_compiled_and_differentiated_again(self):
        g = import_text(export_text(lambda x, y: x**3 * y, 2.0, 5.0))
        assert jit(g, wait=True)(2.0, 5.0) == 40.0 and grad(grad(g))(2.0, 5.0) == 60.0
        assert vmap(g)(np.array([1.0, 2.0]), np.array([5.0, 5.0])).tolist() == [5.0, 40.0]

    def test_loops_stay_loops(self):
        def power(x):
            y = x
            while y < 100.0:
                y = y * x
            return y

        text = export_text(power, 3.0)
        g = import_text(text)
        assert g(3.0) == 243.0

    def test_another_path_is_refused(self):
        g = import_text(export_text(lambda x: x if x > 0.0 else [x][0] * 2.0, 1.0))
        try:
            assert g(-1.0) == -2.0  # where both paths were merged into the tape
        except MicrogradError as error:
            assert "take another path" in str(error)

    def test_primitives_and_rules_are_written_in_ops_of_the_table(self):
        @primitive(lambda x, y: 3 * x * x)
        def cube(x):
            return x * x * x

        f = scaled()
        g = import_text(export_text(lambda x: cube(x) + f(x, 2.0)["product"], 2.0))
        assert g(2.0) == 12.0

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda t: t.replace("tape 1", "tape 2", 1), "version 2 of the format"),
            (lambda t: "hello", "not the text of a tape"),
            (lambda t: "", "not the text of a tape"),
            (lambda t: t.replace("arguments", "argument", 1), "cannot be read"),
            (lambda t: t.replace('"*"', '["heap", []]', 1), "cannot be read"),
            (lambda t: t.replace("mul", "mull"), "line .* cannot be read"),
            (lambda t: t.replace("input 0", "param 3"), "reads 4 params"),
        ],
    )
    def test_damaged_text_is_refused(self, change, message):
        with pytest.raises(ValueError, match=message):
            import_text(change(export_text(lambda x, y: x * y, 2.0, 3.0)))

    def test_arguments_of_another_arrangement_are_refused(self):
        with pytest.raises(TypeError, match=r"arranged as \(\[\*\],\), and the text is for \(\*,\)"):
            import_text(export_text(lambda x: x * x, 2.0))([1.0])

    def test_what_json_does_not_have(self):
        with pytest.raises(MicrogradError, match="takes or returns"):
            export_text(lambda p: p.x * p.y, Point(1.0, 2.0))
