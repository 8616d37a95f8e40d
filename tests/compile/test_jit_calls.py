"""jit: the arguments of a call, and how they choose the code."""

from __future__ import annotations

from collections import deque
from decimal import Decimal

import pytest

import blocks
from micrograd import Value, grad, jit, math, nn, value_and_grad, vmap
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
pytestmark = needs_llvm


class TestCalls:
    def test_keywords_and_defaults(self):
        f = jit(lambda x, y=2.0, *, z=3.0: x + 10 * y + 100 * z, wait=True)
        assert f(1.0) == 321.0
        assert f(1.0, 5.0) == 351.0
        assert f(1.0, y=5.0) == 351.0
        assert f(x=1.0, z=4.0) == 421.0

    def test_the_arguments_of_a_call_are_checked_as_in_python(self):
        f = jit(lambda x: x, wait=True)
        assert f(1.0) == 1.0
        with pytest.raises(TypeError):
            f()
        with pytest.raises(TypeError):
            f(1.0, 2.0)

    @pytest.mark.parametrize("x", [2, 2.0, True, "np.float32", "np.int64"])
    def test_numbers_of_every_kind(self, x):
        np = pytest.importorskip("numpy")
        x = {"np.float32": np.float32(2), "np.int64": np.int64(2)}.get(x, x)
        f = jit(lambda v: v * 3.0, wait=True)
        assert f(1.0) == 3.0
        assert f(x) == float(x) * 3.0

    def test_other_things_among_the_arguments_choose_the_code(self):
        f = jit(lambda x, how: math.exp(x) if how == "exp" else -x, wait=True)
        assert f(0.0, "exp") == 1.0
        assert f(2.0, "neg") == -2.0
        assert f(0.0, "exp") == 1.0

    def test_equal_things_among_the_arguments_are_not_the_same(self):
        f = jit(lambda x, what: (x * 2, what), wait=True)
        for what in (True, 1 + 0j, Decimal(1), Decimal("1.0"), complex(0.0, -0.0), 0j, False, "1", None):
            assert repr(f(1.0, what)) == repr((2.0, what))

    def test_what_is_neither_number_nor_hashable_is_refused(self):
        for thing in ({1, 2}, deque([1.0]), type("Own", (list,), {})([1.0])):
            for given in (thing, [thing], {"a": (1.0, thing)}):
                kind = type(thing).__name__
                with pytest.raises(
                    TypeError, match=rf"holds a {kind}, which is neither a number nor hashable.*in lists"
                ):
                    jit(lambda x, s: x)(1.0, given)
                with pytest.raises(
                    TypeError, match=rf"holds a {kind}, which is neither a number nor hashable.*in lists"
                ):
                    vmap(lambda x, s: x, in_axes=(0, None))(np.ones(2), given)

    def test_static_arguments_that_are_equal_are_not_the_same(self):
        f = jit(lambda x, n: math.floor(x) / n if n == 0 else (x, type(n)), static_argnums=-1, wait=True)
        assert [f(1.0, n) for n in (0.0, -0.0)] == [math.inf, -math.inf]
        assert [f(1.0, n)[1] for n in (1, 1.0, True)] == [int, float, bool]

    def test_a_static_tuple_of_values_is_compiled_once(self):
        w, v = Value(2.0), Value(3.0)
        f = jit(lambda x, pair: x * pair[0] + pair[1], static_argnums=1, wait=True)
        for k in range(3):
            w.data = float(k)
            assert f(2.0, (w, v)).data == 2.0 * k + 3.0
        assert len(list(f.variants)) == 1
        assert repr([f(1.0, (n, 0)) for n in (1, 1.0, True)]) == "[1.0, 1.0, 1.0]"
        assert len(list(f.variants)) == 4

    def test_static_arguments_are_taken_as_they_are(self):
        f = jit(lambda x, n: sum([x] * n), static_argnums=(1,), wait=True)
        assert [f(1.5, n) for n in (1, 2, 3, 2)] == [1.5, 3.0, 4.5, 3.0]
        assert len(list(f.variants)) == 3

    def test_static_arguments_may_be_given_by_name(self):
        f = jit(lambda x, n=2, *, scale=1.0: sum([x * scale] * n), static_argnums=1, wait=True)
        for _ in range(2):
            assert [f(1.5, n=3), f(1.5, 3), f(1.5), f(x=1.5, n=3), f(1.5, scale=2.0, n=1)] == [4.5, 4.5, 3.0, 4.5, 3.0]

    @pytest.mark.parametrize("positions", ["n", None, 1.0, ("n",)])
    def test_what_is_no_position_is_refused(self, positions):
        with pytest.raises(TypeError, match=r"static_argnums=.*: it must be the number of an argument"):
            jit(lambda x, n: x, static_argnums=positions)

    @pytest.mark.parametrize("make", [jit, grad, value_and_grad])
    def test_arguments_of_any_name(self, make):
        def f(x, self=1.0, args=1.0, kwargs=1.0, f=1.0):
            return x * self * args * kwargs * f

        assert make(f)(2.0, self=3.0, args=5.0, kwargs=7.0, f=11.0) == make(f)(2.0, 3.0, 5.0, 7.0, 11.0)
        assert vmap(f)(np.ones(2), self=np.ones(2)).tolist() == [1.0, 1.0]

    def test_many_arguments_and_many_results(self):
        f = jit(lambda *xs: [x * i for i, x in enumerate(xs)], wait=True)
        xs = [float(i) for i in range(100)]
        for _ in range(2):
            assert f(*xs) == [x * i for i, x in enumerate(xs)]

    @pytest.mark.parametrize("make", [jit, vmap, lambda f: jit(vmap(f))])
    def test_attributes_are_those_of_the_function(self, make):
        class Model(nn.Module):
            def __init__(self):
                self.call = self.f = self.variants = self.repeat = self.tape = Value(2.0)
                self.width = 1

            def __call__(self, x):
                return self.call * x

        model = Model()
        compiled = make(model)
        got = compiled(3.0).data if make is jit else compiled(np.array([3.0]))[0]
        assert got == 6.0
        assert compiled.parameters() == model.parameters()
        model.width = 2
        assert compiled.width == 2
        with pytest.raises(AttributeError, match="no attribute 'depth'"):
            compiled.depth  # noqa: B018


@needs_llvm
def test_a_function_without_a_module():
    """What exec makes where the globals have no __name__, as doctest does."""
    scope: dict = {"__name__": None}
    blocks.run("def f(x):\n    for _ in range(3):\n        x = x * 2.0\n    return x if x > 1.0 else -x", "test", scope)
    assert scope["f"].__module__ is None
    assert jit(scope["f"], wait=True)(1.0) == 8.0 and grad(scope["f"])(1.0) == 8.0


def test_dir_shows_what_a_compiled_function_offers_and_no_internals():
    def f(x):
        return x * x

    for made in (jit(f), jit(value_and_grad(f)), vmap(f), vmap(grad(f)), jit(vmap(f)), jit(grad(grad(f)))):
        assert {name for name in dir(made) if not name.startswith("_")} == {"tape", "source", "explain"}
    assert [name for name in dir(grad(f)) if not name.startswith("_")] == []
    model = nn.MLP(2, [3, 1], rng=0)
    assert {"layers", "tape", "source", "explain"} <= set(dir(jit(model)))
