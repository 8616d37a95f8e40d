"""Objects of classes that are written in C, which a function makes for itself: a generator of random numbers with a seed."""

import random

import numpy as np
import pytest

from micrograd import math, value_and_grad, vmap
from random_programs import needs_llvm
from stage.programs import check_rows

pytestmark = needs_llvm


def drawn_for_all_rows(x, y):
    generator, total = random.Random(0), 0.0
    for _ in range(6):
        z = generator.gauss(0, 1)  # keeps every second number in an attribute
        total += x * z if x * z > y else y
    return total


def drawn_in_one_arm(x, y):
    generator, total = random.Random(0), 0.0
    for _ in range(6):
        z = generator.gauss(0, 1)
        total = total + (x * generator.gauss(0, 1) if x * z > y else y * z)
    return total


def attribute_by_row(x, y):
    generator = random.Random(0)
    generator.bias = x if x > y else 1.0
    return generator.bias * generator.gauss(0, 1) + y * generator.random()


@pytest.mark.parametrize("f, kernels", [(drawn_for_all_rows, 1), (drawn_in_one_arm, 20), (attribute_by_row, 1)])
def test_each_row_gets_what_eager_code_draws(f, kernels):
    x, y = np.random.default_rng(1).normal(size=(2, 20))
    batch = vmap(value_and_grad(f, (0, 1)))
    values, (by_x, by_y) = batch(x, y)
    assert len(list(batch.variants)) <= kernels
    for k in range(20):
        want, slopes = value_and_grad(f, (0, 1))(float(x[k]), float(y[k]))
        np.testing.assert_allclose([values[k], by_x[k], by_y[k]], [want, *slopes], rtol=1e-12, atol=1e-14)


class Moved:
    def __init__(self, x, y):
        self.x, self.y = x, y


def changed_behind_a_break(x, y):
    o = Moved(1.0, x)
    for i in range(30):
        o = Moved(o.x * math.sin(x * i), o.y + y)
        if x * i > 3.1:
            break
        o.x = math.sin(o.x + 0.1)
    return o.x + 10 * o.y


def test_an_object_that_is_changed_where_some_rows_have_left_the_loop():
    check_rows(changed_behind_a_break, "value", [(0.3, 0.1), (1.6, 0.2), (0.05, 0.3), (-0.5, 0.1), (2.2, 0.4)])
