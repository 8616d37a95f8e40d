"""What the merger cannot do is never an exception that the program itself catches."""

from __future__ import annotations

import pytest

from micrograd import Value, grad, jit, math
from micrograd.stage.packed import Forgotten
from micrograd.stage.summary import is_own

LONG = 124


def derivative_of_an_array_from_outside(x, y):
    if x > 0:
        return x
    numbers = [y * k for k in range(LONG)]
    try:
        return grad(lambda t: sum(numbers) * t)(x)
    except ValueError:
        return 0.0 * x


def count_handed_to_a_function(x, y):
    if x > 0:
        return x
    n = 0
    for _ in range(LONG):
        n += 1
        y = math.sin(y)
    try:
        return math.sum([n, y])
    except TypeError:
        return 0.0 * x


def caught_where_it_is_no_statement(x, y):
    numbers = [y * k for k in range(LONG)]
    try:
        return x if x > 0 else grad(lambda t: sum(numbers) * t)(x)
    except Exception:
        return 0.0 * x


@pytest.mark.parametrize(
    "f", [derivative_of_an_array_from_outside, count_handed_to_a_function, caught_where_it_is_no_statement]
)
def test_the_program_does_not_catch_what_the_merger_raises(f):
    compiled = jit(f, wait=True)
    for row in [(0.7, 0.3), (-0.8, 0.4), (0.9, 0.5), (-3.0, 0.6)]:
        assert compiled(*row) == pytest.approx(f(*row), rel=1e-12)


def test_an_error_about_an_object_of_the_merger_is_its_own():
    def raised(run):
        try:
            run()
        except Exception as error:
            return error

    assert is_own(raised(lambda: Forgotten([]).missing)) and is_own(raised(lambda: Value(Forgotten([]))))
    assert not is_own(raised(lambda: [].missing)) and not is_own(raised(lambda: {}["Forgetful"]))
