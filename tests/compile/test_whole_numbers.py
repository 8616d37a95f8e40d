"""int(x), round(x) and math.floor(x) of a Value decide which path a compiled function takes, as a comparison does."""

import math

import numpy as np
import pytest

from micrograd import grad, jit, value_and_grad, vmap

TABLE = [1.0, 2.5, 0.5, 4.0, 3.0]


def interpolated(x, y):
    i = int(x)
    return TABLE[i] * y + (TABLE[i + 1] - TABLE[i]) * (x - i)


def powers(x, y):
    return sum([y**k for k in range(round(x))], 0.0) * x


def all_of_them(x, y):
    return math.floor(x) * y + math.ceil(x * y) * x + math.trunc(y) % 2 * x + round(x * 2) * y


ROWS = [(0.0, 0.5), (0.5, -1.5), (1.5, 2.5), (2.5, 1.0), (3.25, -0.0), (0.999999, 3.5), (3.999, 1.25), (1.0, 7.0)]


@pytest.mark.parametrize("f", [interpolated, powers, all_of_them])
def test_results_are_those_of_eager_code_whatever_the_order_of_rows(f):
    g = value_and_grad(f, (0, 1))
    wanted = [(float(v), *map(float, slopes)) for v, slopes in (g(*row) for row in ROWS)]
    compiled = jit(g, wait=True)
    for _ in range(2):
        found = [(v, *slopes) for v, slopes in (compiled(*row) for row in ROWS)]
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    for first in range(0, len(ROWS), 3):
        rows = np.array(ROWS[first:] + ROWS[:first])
        values, slopes = vmap(g)(*rows.T)
        np.testing.assert_allclose(np.stack([values, *slopes], axis=1), np.roll(wanted, -first, axis=0), rtol=1e-14)


def test_a_negative_number_is_truncated_towards_zero():
    f = vmap(lambda x: int(x) * 10.0 + x)
    np.testing.assert_array_equal(f(np.array([-0.5, 0.5, -1.5, 1.5])), [-0.5, 0.5, -11.5, 11.5])


@pytest.mark.parametrize(("x", "error"), [(math.nan, ValueError), (math.inf, OverflowError)])
def test_what_has_no_whole_number_is_the_error_of_eager_code(x, error):
    def f(x):
        return int(x) * x

    for call in (f, jit(f), jit(grad(f))):
        with pytest.raises(error, match="cannot convert float"):
            call(x)
    compiled = jit(f, wait=True)
    assert compiled(2.5) == 5.0
    with pytest.raises(error):
        compiled(x)
    with pytest.raises(error):
        vmap(f)(np.array([1.0, 2.0, x]))


def test_an_error_that_is_caught_decides_too():
    @jit
    def f(x):
        try:
            return int(x) * x
        except (ValueError, OverflowError):
            return -1.0 * x

    for x in (math.nan, 2.5, math.inf, -math.inf, math.nan, 3.0):
        wanted = x * int(x) if math.isfinite(x) else -x
        assert f(x) == wanted or (x != x and f(x) != f(x))


def test_digits_are_those_of_python():
    f = jit(lambda x: round(x, 2) * x, wait=True)
    assert [f(x) for x in (2.567, -0.125, 1e9)] == [round(x, 2) * x for x in (2.567, -0.125, 1e9)]


def passed(x):
    count = 0
    for limit in range(5):
        if x > limit:
            count += 1
    return count


@pytest.mark.parametrize(
    "f",
    [lambda x: 3 if x > 0 else x, lambda x: [x, 1 if x > 2 else 2], passed],
    ids=["or a number", "in a list", "counted"],
)
def test_a_result_that_is_whole_in_some_rows_keeps_its_type(f):
    compiled = jit(f)
    for x in (1.5, -1.0, 3.5):
        assert repr(compiled(x)) == repr(f(x))
