"""Objects among the arguments: what is in them is read in each call, never kept from the first."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import pytest

from micrograd import TraceError, Value, jit, math, nn, value_and_grad, vmap
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


@dataclass
class Market:
    vol: float
    rate: float = 0.05
    days: int = 3
    name: str = "x"
    curve: list = field(default_factory=lambda: [1.0, 2.0])


@dataclass(frozen=True)
class Frozen:
    vol: float


@dataclass
class Slotted:
    __slots__ = ("vol",)
    vol: float


class Simple:
    def __init__(self, vol):
        self.vol = vol

    def twice(self):
        return 2.0 * self.vol


class Model:
    def __init__(self, k):
        self.k = k

    @jit
    def decorated(self, x):
        return self.k * x

    def method(self, x):
        return self.k * x

    def __call__(self, x):
        return self.k * x


def price(p, x):
    return p.vol * x


@pytest.mark.parametrize("make", [Market, Simple, Slotted])
@pytest.mark.parametrize("wait", [False, True])
def test_an_attribute_that_changes_is_seen(make, wait):
    f, p = jit(price, wait=wait), make(0.2)
    assert f(p, 2.0) == 0.4
    for vol in (0.3, -1.0, 7, np.float64(0.25)):
        p.vol = vol
        assert f(p, 2.0) == f(p=p, x=2.0) == vol * 2.0


def test_floats_are_inputs_and_are_compiled_once():
    f, p = jit(price, wait=True), Market(0.2)
    for k in range(10):
        p.vol, p.rate = 0.1 * k, 0.3 * k
        assert f(p, 2.0) == p.vol * 2.0
    assert len(list(f.variants)) == 1
    assert f(Market(0.9), 2.0) == 1.8
    assert f(Frozen(0.5), 2.0) == 1.0
    assert len(list(f.variants)) == 2


def test_ints_strings_and_the_like_choose_what_is_compiled():
    def f(p, x):
        for _ in range(p.days):
            x = x * 2.0
        return x if p.name == "x" else -x

    g, p = jit(f, wait=True), Market(0.2)
    assert g(p, 1.0) == 8.0
    p.days = 5
    assert g(p, 1.0) == 32.0
    p.name = "y"
    assert g(p, 1.0) == -32.0


def test_lists_and_objects_inside():
    def f(p, x):
        return sum(p.curve) * x + p.inner.twice()

    g, p = jit(f, wait=True), Market(0.2)
    p.inner = Simple(3.0)
    assert g(p, 2.0) == 12.0
    p.curve[1] = 5.0
    p.inner.vol = 4.0
    assert g(p, 2.0) == 20.0
    p.curve.append(1.0)
    assert g(p, 2.0) == 22.0


@pytest.mark.parametrize("wait", [False, True])
def test_an_array_in_an_object_changed_in_place(wait):
    class Data:
        def __init__(self):
            self.table = np.array([1.0, 2.0])

    g, d = jit(lambda d, x: d.table[1] * x, wait=wait), Data()
    assert g(d, 3.0) == 6.0
    d.table[1] = 5.0
    assert g(d, 3.0) == 15.0


class Tensor:
    """What a tensor of another library looks like: it has an identity, an `__array__`, and numbers that change in place."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers):
        self._numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self._numbers)

    def __getitem__(self, k):
        return self._numbers[k]


@pytest.mark.parametrize("options", [{}, {"static_argnums": 0}])
def test_a_tensor_changed_in_place(options):
    g, t = jit(lambda t, x: t[0] * x, wait=True, **options), Tensor([2.0])
    assert g(t, 3.0) == 6.0
    t._numbers[0] = 4.0
    assert g(t, 3.0) == 12.0


def test_a_torch_tensor_changed_in_place():
    torch = pytest.importorskip("torch")
    g, t = jit(lambda t, x: float(t[0]) * x, wait=True), torch.tensor([2.0])
    assert g(t, 3.0) == 6.0
    t[0] = 4.0
    assert g(t, 3.0) == 12.0


def test_static_objects_are_looked_at_too():
    g, p = jit(price, wait=True, static_argnums=0), Market(0.2)
    assert g(p, 2.0) == 0.4
    p.vol = 0.3
    assert g(p, 2.0) == 0.6


@pytest.mark.parametrize("how", ["decorated", "method", "__call__"])
def test_self(how):
    m = Model(2.0)
    f = m.decorated if how == "decorated" else jit(m.method if how == "method" else m, wait=True)
    assert f(3.0) == 6.0
    m.k = 5.0
    assert f(3.0) == 15.0
    m.k = 7
    assert f(3.0) == 21.0


def test_static_arguments_of_a_method_are_counted_without_self():
    class Power:
        scale = 1.0

        def __init__(self):
            self.k = 2.0

        def f(self, x, n):
            return self.k * x**n

    m = Power()
    g = jit(m.f, static_argnums=1, wait=True)
    assert (g(3.0, 2), g(3.0, n=3)) == (18.0, 54.0)


def test_a_function_that_changes_the_object_is_refused():
    def f(p, x):
        p.vol = 2.0 * x
        return x

    with pytest.raises(TraceError, match="`vol` of a Market is assigned inside a compiled function"):
        jit(f, wait=True)(Market(0.2), 1.0)


def test_values_in_an_object_are_captured_by_reference():
    model = nn.MLP(2, [3, 1])
    f = jit(lambda m, x: m([x, 1.0]), wait=True)
    y = f(model, 0.5)
    y.backward()
    w = model.parameters()[0]
    assert y.data == pytest.approx(model([0.5, 1.0]).data, rel=1e-14)
    w.data += 1.0
    assert f(model, 0.5).data == pytest.approx(model([0.5, 1.0]).data, rel=1e-14)
    model.layers[0].neurons[0].w[0] = Value(9.0)  # another Value in its place
    assert f(model, 0.5).data == pytest.approx(model([0.5, 1.0]).data, rel=1e-14)


def test_a_model_without_numbers_is_called_as_before():
    """Its parameters are Values, captured by reference: the training step goes straight to machine code."""
    model = nn.MLP(2, [3, 1])
    assert jit(model).bound == ()


def test_rows_with_an_object_that_is_the_same_in_all():
    f, p = vmap(price, in_axes=(None, 0)), Market(0.2)
    assert f(p, np.array([1.0, 2.0])).tolist() == [0.2, 0.4]
    p.vol = 0.5
    assert f(p, np.array([1.0, 2.0])).tolist() == [0.5, 1.0]


def test_a_derivative_with_an_object_beside():
    f, p = jit(value_and_grad(lambda x, p: p.vol * x * x), wait=True), Market(0.5)
    assert f(3.0, p) == (4.5, 3.0)
    p.vol = 1.0
    assert f(3.0, p) == (9.0, 6.0)


def test_cycles_and_strange_things_are_told_apart_by_identity():
    class Color(enum.Enum):
        RED = 1

    p = Simple(2.0)
    p.me, p.color, p.function = p, Color.RED, math.sin
    f = jit(lambda p, x: p.vol * p.function(x), wait=True)
    assert f(p, 0.5) == 2.0 * math.sin(0.5)
    p.function = math.cos
    assert f(p, 0.5) == 2.0 * math.cos(0.5)
