"""Powers keep the bits of the C library's pow where bits are promised: with exact=True, and in what decides a branch."""

from __future__ import annotations

import math as python
import random

import numpy as np
import pytest

from micrograd import Value, jit, value_and_grad, vmap
from random_programs import needs_llvm, same

pytestmark = needs_llvm

SPECIAL = [0.0, -0.0, 5e-324, 1e-160, 1e-41, 1e-9, 1.0, 2.0, 0.5, 3.0, 1e9, 1e41, 1e154, 1e155, 1e308, python.inf, -python.inf,
           python.nan, 2.0**0.5, python.nextafter(2.0**0.5, 0.0), 0.5**0.5]  # fmt: skip


def spread(count):
    rng = random.Random(5)
    some = [rng.uniform(-5.0, 5.0) for _ in range(count)]
    return np.array(some + [rng.uniform(-1.0, 1.0) * 10.0 ** rng.uniform(-60, 60) for _ in range(count)] + SPECIAL)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("exponent", [2, 0.5, -1, -0.5, 3])
def test_powers_of_rows_have_the_bits_of_eager_code(exponent, width):
    xs = spread(5000)
    got = vmap(lambda x: x**exponent, exact=True, width=width)(xs)
    assert all(same(float(y), (Value(float(x)) ** exponent).data) for x, y in zip(xs, got))


@pytest.mark.parametrize("exponent", [2, 0.5, -1])
def test_powers_at_a_point_have_the_bits_of_eager_code(exponent):
    f = jit(value_and_grad(lambda x: x**exponent), exact=True, wait=True)
    for x in spread(3000).tolist():
        v = Value(x)
        y = v**exponent
        y.backward()
        value, slope = f(x)
        assert same(value, y.data)
        assert same(slope + 0.0, v.grad)  # a leaf adds to its 0.0


def rounded_otherwise(exponent, product):
    """A number whose power by the library is not the correctly rounded one, or None."""
    rng = random.Random(3)
    for _ in range(200_000):
        x = rng.uniform(0.1, 5.0)
        if x**exponent != product(x):
            return x
    return None


@pytest.mark.parametrize("inside_a_loop", [False, True])
@pytest.mark.parametrize(
    ("exponent", "product"), [(2, lambda x: x * x), (0.5, python.sqrt), (-1, lambda x: 1.0 / x)], ids=["2", "0.5", "-1"]
)
def test_a_branch_decided_by_a_power_goes_as_in_eager_code(exponent, product, inside_a_loop):
    x = rounded_otherwise(exponent, product)
    if x is None:
        pytest.skip("this machine's pow rounds these powers correctly")
    limit = x**exponent

    def f(x, limit):
        for _ in range(3 if inside_a_loop else 1):
            if x**exponent + 0.0 == limit:
                return 3.0 * x
            limit = limit + 1.0
        return 0.0 * x

    assert vmap(f)(np.full(37, x), np.full(37, limit)).tolist() == [3.0 * x] * 37
    assert jit(f, wait=True)(x, limit) == 3.0 * x
