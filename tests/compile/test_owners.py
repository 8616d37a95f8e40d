"""A compiled method sees what its object has in each call: jit, vmap and the transforms, one inside of another."""

from __future__ import annotations

import functools
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from micrograd import Value, grad, jit, math, nn, value_and_grad, vmap
from micrograd.engine import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="there is no machine code")
XS = np.array([-1.0, 0.5, 2.0])


class Part:
    __slots__ = ("share",)

    def __init__(self) -> None:
        self.share = 0.25


class Pricer:
    """All kinds of attributes that a method may read, and one that it does not."""

    def __init__(self) -> None:
        self.scale, self.sign, self.mode, self.clip = 2.0, 1, "square", False
        self.knots, self.table, self.array = [1.0, 2.0], {"low": 0.5}, np.array([0.1, 0.2])
        self.inner, self.part = SimpleNamespace(rate=0.3), Part()
        self.weight = Value(1.5)
        self.losses: list[float] = []

    @property
    def shift(self) -> float:
        return self.knots[0] + self.inner.rate

    def price(self, x: Any) -> Any:
        y = self.scale * self.sign * x + self.shift * self.array[1] + self.table["low"] * self.part.share * x
        if self.clip and x > 0.0:
            y = y * 0.0
        return y * y if self.mode == "square" else math.sin(y)

    def weighted(self, x: Any) -> Any:
        return self.weight * self.price(x)

    def __call__(self, x: Any) -> Any:
        return self.price(x)


def points(f: Any) -> Any:
    return lambda xs: [f(float(x)) for x in xs]


def first_row(f: Any) -> Any:
    return lambda xs: [f(xs[:1])]


def slopes(f: Any) -> Any:
    return lambda x: f(x)[1]


MAKERS: dict[str, Any] = {
    "vmap": lambda p: (vmap(p.price), p.price),
    "vmap, called": lambda p: (vmap(p), p.price),
    "vmap of jit": lambda p: (vmap(jit(p.price)), p.price),
    "vmap of grad": lambda p: (vmap(grad(p.price)), grad(p.price)),
    "vmap of partial": lambda p: (vmap(functools.partial(p.price)), p.price),
    "vmap, summed": lambda p: (first_row(vmap(p.price, reduce="sum")), p.price),
    "jit": lambda p: (points(jit(p.price, wait=True)), p.price),
    "jit of grad": lambda p: (points(jit(grad(p.price))), grad(p.price)),
    "jit of value_and_grad": lambda p: (points(slopes(jit(value_and_grad(p.price)))), grad(p.price)),
    "jit of partial": lambda p: (points(jit(functools.partial(p.price))), p.price),
}

CHANGES: list[Any] = [
    lambda p: setattr(p, "scale", 5.0),
    lambda p: setattr(p, "sign", -1),
    lambda p: setattr(p, "mode", "sine"),
    lambda p: setattr(p, "clip", True),
    lambda p: p.knots.__setitem__(0, 3.0),
    lambda p: p.table.update(low=-2.0),
    lambda p: p.array.__setitem__(1, 4.0),
    lambda p: setattr(p.inner, "rate", -0.7),
    lambda p: setattr(p.part, "share", 9.0),
]


@pytest.mark.parametrize("name", MAKERS)
def test_attributes_that_change_are_seen(name: str) -> None:
    pricer = Pricer()
    compiled, plain = MAKERS[name](pricer)
    for change in [lambda p: None, *CHANGES]:
        change(pricer)
        got = compiled(XS)
        assert np.allclose(got, [plain(float(x)) for x in XS[: len(got)]], rtol=1e-12)


def test_a_parameter_that_is_replaced_is_seen() -> None:
    pricer = Pricer()
    loss = vmap(pricer.weighted, reduce="sum")
    loss(XS)
    pricer.weight = Value(-2.0)
    loss(XS).backward()
    assert np.isclose(pricer.weight.grad, sum(pricer.price(float(x)) for x in XS), rtol=1e-12)


def test_what_the_method_does_not_read_is_no_reason_to_trace() -> None:
    pricer = Pricer()
    f = vmap(pricer.price)
    f(XS)
    before: Any = f.variants  # type: ignore[attr-defined]
    pricer.losses.append(1.0)
    f(XS)
    pricer.losses = []
    f(XS)
    assert f.variants is before  # type: ignore[attr-defined]


def test_an_object_with_a_deque_or_an_array_of_numbers() -> None:
    class Mean:
        def __init__(self) -> None:
            self.window, self.bias = deque([1.0, 2.0]), 0.5

        def of(self, x: Any) -> Any:
            return sum(self.window) * x + self.bias

    mean = Mean()
    compiled = points(jit(mean.of)), vmap(mean.of)
    for number in (3.0, 4.0):
        mean.window.append(number)
        for f in compiled:
            assert np.array_equal(f(XS), [mean.of(x) for x in XS])


def test_what_cannot_be_told_apart_is_named() -> None:
    for thing, name in (
        ({1.0}, "set"),
        (memoryview(bytearray(1)), "memoryview"),
        ([np.ones(2), deque([1.0])], "deque"),
    ):
        with pytest.raises(TypeError, match=f"holds a {name}, which is neither a number nor hashable"):
            jit(lambda thing, x: x)(thing, 1.0)
        with pytest.raises(TypeError, match=f"holds a {name}, which is neither a number nor hashable"):
            vmap(lambda thing, x: x, in_axes=(None, 0))(thing, XS)


def test_a_namespace_is_an_argument_like_any_object() -> None:
    f, at = jit(lambda p, x: p.rate * x), SimpleNamespace(rate=2.0)
    assert f(at, 3.0) == 6.0
    at.rate = 5.0
    assert f(at, 3.0) == 15.0
    assert vmap(lambda p, x: p.rate * x, in_axes=(None, 0))(at, XS).tolist() == (5.0 * XS).tolist()


def test_the_sign_of_a_zero_is_seen() -> None:
    class Turn:
        zero = 0.0

        def angle(self, x: Any) -> Any:
            return math.atan2(self.zero * x, -1.0)

    turn = Turn()
    turn.zero = 0.0
    f = vmap(turn.angle)
    assert f(np.array([1.0]))[0] > 3.0
    turn.zero = -0.0
    assert f(np.array([1.0]))[0] < -3.0


class Net(nn.Module):
    """A module with what a watch over public attributes alone does not see."""

    def __init__(self) -> None:
        self.weight = Value(1.5)
        self._hidden, self.inner, self.array = 2.0, SimpleNamespace(rate=0.5), np.array([1.0, 3.0])

    def __call__(self, x: Any) -> Any:
        return self.weight * x * self._hidden * self.inner.rate * float(self.array[1])


def test_a_module_of_the_user_is_seen_as_a_whole() -> None:
    net = Net()
    f = vmap(lambda x: net(x) if x > 0.0 else x, reduce="sum")
    for change in (
        lambda: None,
        lambda: setattr(net, "_hidden", 3.0),
        lambda: setattr(net.inner, "rate", 7.0),
        lambda: net.array.__setitem__(1, -2.0),
    ):
        change()
        assert np.isclose(f(XS).data, sum((net(x).data if x > 0.0 else x) for x in XS.tolist()), rtol=1e-12)


def test_a_table_of_objects_is_compared_by_what_is_in_it() -> None:
    class Table:
        """As a data frame is: no array, but NumPy can read it."""

        def __init__(self) -> None:
            self.cells = ["a", 2.0, Value(3.0)]

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array(self.cells, dtype=object)

    class Reader:
        def __init__(self) -> None:
            self.table = Table()

        def of(self, x: Any) -> Any:
            return self.table.cells[1] * x

    reader = Reader()
    f = vmap(reader.of)
    f(XS)
    before: Any = f.variants  # type: ignore[attr-defined]
    f(XS)
    assert f.variants is before  # type: ignore[attr-defined]
    reader.table.cells[1] = 5.0
    assert f(XS)[2] == 10.0


def test_an_attribute_that_is_new() -> None:
    class Bare:
        rate = 2.0

        def of(self, x: Any) -> Any:
            return self.rate * x

    bare = Bare()
    compiled = points(jit(bare.of)), vmap(bare.of)
    assert [f(XS)[2] for f in compiled] == [4.0, 4.0]
    bare.rate = 5.0
    assert [f(XS)[2] for f in compiled] == [10.0, 10.0]


class Rate:
    __match_args__ = ("level",)


class Matching:
    """Reads attributes whose names stand in patterns and formats alone; nothing here is a method that assigns them."""

    def by_name(self, x: Any) -> Any:
        match self:
            case Matching(rate=Rate(level=found), factor=factor):
                return found * x * factor

    def by_place(self, x: Any) -> Any:
        match self.rate:
            case Rate(found):
                return found * x

    def by_format(self, x: Any) -> Any:
        return float("{.level}".format(self.rate)) * x  # noqa: UP032


@pytest.mark.parametrize("method", ["by_name", "by_place", "by_format"])
def test_attributes_that_are_named_in_patterns_and_formats(method: str) -> None:
    one: Any = Matching()
    one.rate, one.factor = Rate(), 1.0
    one.rate.level = 2.0
    f = vmap(getattr(one, method))
    assert f(XS)[2] == 4.0
    one.rate.level = 5.0
    assert f(XS)[2] == 10.0


def test_functions_and_classes_that_do_not_say_where_they_are_from():
    space: dict[str, Any] = {}
    exec(
        "def h(x): return x * x\nclass C:\n  k = 2.0\n  def of(self, x): return self.k * h(x)\n"
        "c = C()\ndef f(x): return c.of(x)",
        space,
    )
    for x in (space["h"], space["C"], space["C"].of, space["f"]):
        x.__module__ = None
    for f in (jit(space["f"]), jit(space["c"].of), vmap(space["f"]), vmap(space["c"].of)):
        assert np.all(f(XS) == 2.0 * XS * XS) if "vmap" in repr(f) else f(3.0) == 18.0
    space["C"].k = 5.0
    assert jit(space["f"])(1.0) == 5.0
