"""Options and structures that people know from JAX: static_argnames, has_aux, holomorphic, dataclasses, shapes of draws."""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

import micrograd
from micrograd import (
    Value,
    check_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    linearize,
    math,
    random,
    value_and_grad,
    vjp,
    vmap,
)
from micrograd.engine import NATIVE

compiles = pytest.mark.skipif(not NATIVE, reason="needs the C engine")


def power(x, n, *, times=1):
    return sum([x**n for _ in range(times)])


@compiles
class TestStaticArgnames:
    @pytest.mark.parametrize("names", ["n", ("n",), ["n"], ("n", "times")])
    def test_an_argument_is_static_by_its_name_however_it_is_given(self, names):
        f = jit(power, static_argnames=names, wait=True)
        assert [f(2.0, 3), f(2.0, n=4), f(2.0, 3)] == [8.0, 16.0, 8.0]

    def test_one_that_is_given_by_name_alone(self):
        f = jit(power, static_argnames="times", static_argnums=1, wait=True)
        assert [f(2.0, 3, times=k) for k in (1, 5, 2)] == [8.0, 40.0, 16.0]

    def test_it_is_kept_by_pickles(self):
        f = jit(power, static_argnames=("n", "times"))
        assert pickle.loads(pickle.dumps(f))(2.0, 3, times=2) == 16.0

    def test_functions_that_take_any_names(self):
        f = jit(lambda x, **how: x * len(range(how["n"])), static_argnames="n", wait=True)
        assert f(2.0, n=3) == 6.0

    @pytest.mark.parametrize("wrong", ["m", ("n", "m")])
    def test_a_name_that_is_not_there_is_an_error(self, wrong):
        with pytest.raises(ValueError, match="static_argnames has 'm', but the arguments of power are"):
            jit(power, static_argnames=wrong)

    def test_a_number_is_no_name(self):
        with pytest.raises(TypeError, match="static_argnames=1: it must be the name of an argument"):
            jit(power, static_argnames=1)


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacobian, jacfwd, jacrev, hessian])
def test_holomorphic_is_refused_with_the_way_out(transform):
    assert transform(lambda x: x * x, holomorphic=False)(3.0) is not None
    with pytest.raises(TypeError, match="holomorphic=True: derivatives are taken with respect to real numbers"):
        transform(lambda x: x * x, holomorphic=True)


def test_linearize_hands_on_what_the_function_returns_beside_its_result():
    y, push, aux = linearize(lambda x: (x**3, {"double": 2.0 * x}), 2.0, has_aux=True)
    assert (y, push(10.0), aux) == (8.0, 120.0, {"double": 4.0})


@dataclass
class Pair:
    a: float
    b: float


@dataclass
class Counted:
    n: int


@dataclass(frozen=True)
class Settings:
    scale: float
    weights: list
    steps: int = 2
    name: str = "s"


@dataclass(frozen=True, slots=True)
class Slotted:
    a: float
    inner: Pair


@dataclass
class Rectangle:
    width: float
    height: float
    area: float = field(init=False)

    def __post_init__(self):
        self.area = self.width * self.height


def total(s):
    return sum([s.scale * w * w for _ in range(s.steps) for w in s.weights])


class TestDataclasses:
    def test_a_gradient_is_such_a_dataclass(self):
        assert grad(lambda p: p.a * p.b**2)(Pair(2.0, 3.0)) == Pair(9.0, 12.0)
        assert grad(lambda s: s.a * s.inner.b)(Slotted(2.0, Pair(5.0, 3.0))) == Slotted(3.0, Pair(0.0, 2.0))

    def test_whole_numbers_in_a_field_of_floats_count(self):
        assert grad(lambda p: p.a * p.b**2)(Pair(2, 3)) == Pair(9.0, 12.0)

    def test_fields_that_configure_stay_as_they_are(self):
        assert grad(total)(Settings(0.5, [1.0, 3.0])) == Settings(20.0, [2.0, 6.0])

    def test_what_a_constructor_computes_is_computed_again(self):
        found = grad(lambda r: r.area * r.width)(Rectangle(2.0, 3.0))
        assert (found.width, found.height) == (12.0, 4.0)

    def test_one_that_was_changed_behind_its_constructor_is_refused(self):
        r = Rectangle(2.0, 3.0)
        r.area = 100.0
        with pytest.raises(TypeError, match="argument 0 is a Rectangle, which holds no numbers to differentiate by"):
            grad(lambda r: r.area)(r)

    def test_one_with_further_attributes_is_refused(self):
        p = Pair(2.0, 3.0)
        p.product = 6.0
        with pytest.raises(TypeError, match="argument 0 is a Pair, which holds no numbers to differentiate by"):
            grad(lambda p: p.product)(p)

    def test_higher_derivatives(self):
        second = hessian(lambda p: p.a**2 * p.b**3)(Pair(2.0, 3.0))
        assert second == Pair(Pair(54.0, 108.0), Pair(108.0, 72.0))
        assert hvp(lambda p: p.a**2 * p.b**3, (Pair(2.0, 3.0),), (Pair(1.0, 0.0),)) == Pair(54.0, 108.0)
        third = grad(lambda p: grad(lambda q: grad(lambda r: r.a**4 * r.b)(q).a)(p).a)(Pair(2.0, 3.0))
        assert third == Pair(144.0, 24.0 * 2.0)

    def test_functions_that_return_one(self):
        assert jvp(lambda p: Pair(p.a * p.b, p.a), (Pair(2.0, 3.0),), (Pair(1.0, 0.0),)) == (
            Pair(6.0, 2.0),
            Pair(3.0, 1.0),
        )
        y, pull = vjp(lambda p: Pair(p.a * p.b, p.a), Pair(2.0, 3.0))
        assert (y, pull(Pair(1.0, 10.0))) == (Pair(6.0, 2.0), (Pair(13.0, 2.0),))
        assert jacobian(lambda x: Pair(x * x, 3.0 * x))(2.0) == Pair(4.0, 3.0)

    def test_numbers_of_the_auxiliary_result_are_numbers(self):
        (value, aux), g = value_and_grad(lambda p: (p.a * p.b, Pair(p.a, p.b + 1.0)), has_aux=True)(Pair(2.0, 3.0))
        assert (value, aux, g) == (6.0, Pair(2.0, 4.0), Pair(3.0, 2.0))
        assert type(aux.b) is float

    def test_one_that_only_configures_is_refused(self):
        with pytest.raises(TypeError, match="argument 0 is a Counted, which holds no numbers to differentiate by"):
            grad(lambda c: c.n * 2.0)(Counted(2))

    def test_finite_differences(self):
        check_grad(lambda p: p.a**2 * p.b, Pair(2.0, 3.0))

    def test_values_in_fields(self):
        p = Pair(Value(2.0), 3.0)
        found = grad(lambda p: p.a**2 * p.b)(p)
        found.a.backward()
        assert (found.a.data, p.a.grad) == (12.0, 6.0)

    @compiles
    def test_compiled(self):
        g = jit(value_and_grad(total), wait=True)
        for x in (0.5, 2.0):
            assert g(Settings(x, [1.0, 3.0])) == (20.0 * x, Settings(20.0, [4.0 * x, 12.0 * x]))
        assert g(Settings(0.5, [1.0, 3.0], steps=3))[0] == 15.0
        assert jit(lambda x: Pair(x * x, 3.0 * x), wait=True)(2.0) == Pair(4.0, 6.0)
        assert jit(grad(lambda r: r.area * r.width), wait=True)(Rectangle(2.0, 3.0)).width == 12.0

    @compiles
    def test_branches_may_return_different_ones(self):
        f = jit(lambda x: Pair(x, 1.0) if x > 0.0 else Pair(0.0, -x), wait=True)
        assert [f(2.0), f(-3.0), f(4.0)] == [Pair(2.0, 1.0), Pair(0.0, 3.0), Pair(4.0, 1.0)]

    @compiles
    def test_bools_and_choices_in_fields(self):
        f = jit(lambda x: Pair(x > 1.0, x * x if x > 0.0 else -x), wait=True)
        assert [f(2.0), f(-3.0), f(0.5)] == [Pair(True, 4.0), Pair(False, 3.0), Pair(False, 0.25)]
        assert type(f(2.0).a) is bool

    @compiles
    def test_rows(self):
        found = vmap(lambda x: Pair(x * x, x > 1.0))(np.arange(3.0))
        assert (found.a.tolist(), found.b.tolist()) == ([0.0, 1.0, 4.0], [0.0, 0.0, 1.0])
        by = vmap(lambda x, y: grad(lambda p: p.a * p.b**2)(Pair(x, y)))(np.arange(3.0), np.arange(3.0))
        assert (by.a.tolist(), by.b.tolist()) == ([0.0, 1.0, 4.0], [0.0, 2.0, 8.0])


@pytest.mark.parametrize("draw", [random.normal, random.uniform])
@pytest.mark.parametrize("shape", [(3,), (2, 3), [4], ()])
def test_a_shape_for_random_numbers_is_refused_with_the_way_out(draw, shape):
    with pytest.raises(TypeError, match=rf"random.{draw.__name__} draws one number, .* but a shape"):
        draw(random.key(0), shape)


@compiles
def test_rows_are_a_tuple_of_axes_by_position():
    assert vmap(lambda x, y: x * y, (0, None))(np.arange(3.0), 2.0).tolist() == [0.0, 2.0, 4.0]


def test_dir_of_math_has_the_public_names_alone():
    assert dir(math) == sorted(math.__all__)


@pytest.mark.parametrize("option", ["in_axes", "out_axes", "reduce", "threads", "device", "client", "float32"])
def test_the_docstring_of_vmap_has_all_options(option):
    assert f"- {option}:" in micrograd.vmap.__doc__
