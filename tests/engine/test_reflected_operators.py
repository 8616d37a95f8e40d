"""A class that is made from a container says itself what `value * x` is, as it does for a float."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

from micrograd import Value, jit, value_and_grad, vmap


class Vec(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    def __rmul__(self, k):
        return Vec(k * self.x, k * self.y)


class Items(list):
    def __radd__(self, k):
        return k + sum(self)

    def __rsub__(self, k):
        return k - sum(self)

    def __rtruediv__(self, k):
        return k / sum(self)

    def __rfloordiv__(self, k):
        return k // len(self)

    def __rmod__(self, k):
        return k % len(self)

    def __rpow__(self, k):
        return k ** len(self)


class Named(dict):
    def __rmul__(self, k):
        return k * self["a"]


def vectors(x, y):
    v = x * Vec(1.0, y) + Vec(y, x) * 2.0
    return v.x * v.y


def branches(x, y):
    v = x * Vec(1.0, y) if x > y else y * Vec(x, 2.0)
    return v.x - 3.0 * v.y


def every_operator(x, y):
    items = Items([y, 2.0])
    return (x + items) + (x - items) * (x / items) + x // items + x % items + x**items


def of_a_dict(x, y):
    return x * Named(a=y)


@pytest.mark.parametrize("f", [vectors, branches, every_operator, of_a_dict], ids=lambda f: f.__name__)
def test_the_class_says_what_the_operator_gives(f):
    rows = [(1.5, 2.0), (3.0, 0.5)]
    for row in rows:
        assert f(*map(Value, row)).data == f(*row) == jit(f, exact=True, wait=True)(*row)
        x, y = map(Value, row)
        f(x, y).backward()
        assert value_and_grad(f, (0, 1))(*row)[1] == pytest.approx((x.grad, y.grad), rel=1e-14)
    assert vmap(f)(*np.array(rows).T).tolist() == pytest.approx([f(*row) for row in rows], rel=1e-14)


def test_a_container_without_such_a_method_is_refused():
    point = namedtuple("point", "x y")(1.0, 2.0)
    for other in ([1.0], (1.0,), {"a": 1.0}, "abc", point):
        with pytest.raises(TypeError, match="a Value holds one real number"):
            Value(2.0) * other
        with pytest.raises(TypeError, match="a Value holds one real number"):
            Value(2.0) % other
    with pytest.raises(TypeError):
        Value(2.0) - Vec(1.0, 2.0)
