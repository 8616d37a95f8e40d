"""A later call with numbers of another class (an int where there was a float): the function may do something else with it."""

from fractions import Fraction

import numpy as np
import pytest

from micrograd import TraceError, Value, jit, value_and_grad, vmap
from micrograd.stage import on_numbers

TABLE = [1.0, 2.0, 3.0]


def looked_up(x, y):
    try:
        return TABLE[x] * y
    except TypeError:
        return 7.0 * y


def shifted(x, y):
    try:
        return (x << 1) * y
    except TypeError:
        return 9.0 * y


def named(x, y):
    return 2.0 * y if hasattr(x, "dtype") else 3.0 * y


def remainder(x, y):
    return x % 3 + y if x > 1 else y


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("f", [looked_up, shifted])
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: value_and_grad(f, 1)])
def test_an_int_where_there_was_a_float_is_refused_if_it_matters(f, transform, wait):
    g, plain = jit(transform(f), wait=wait), transform(f)
    for _ in range(70):  # so many that machine code answers without a look
        assert g(1.0, 2.0) == plain(1.0, 2.0)
    for x in (1, np.int64(2)):
        for _ in range(2):
            with pytest.raises(TraceError, match="for the numbers themselves"):
                g(x, 2.0)
    assert g(1.0, 2.0) == plain(1.0, 2.0)


def test_a_number_of_numpy_where_there_was_a_float():
    g = jit(named, wait=True)
    assert g(1.5, 2.0) == g(1.5, 2.0) == 6.0
    with pytest.raises(TraceError, match="for the numbers themselves"):
        g(np.float64(1.5), 2.0)


def test_an_exception_for_the_first_int_leaves_the_question_open():
    g = jit(looked_up, wait=True)
    assert g(1.0, 2.0) == 14.0
    assert g(5, 2.0) == 14.0  # IndexError in plain Python, as a Value might have: nothing to compare
    with pytest.raises(TraceError):
        g(1, 2.0)


def test_a_whole_number_that_no_float_holds():
    g = jit(remainder, wait=True)
    for _ in range(70):
        assert g(4, 2.5) == 3.5
    assert g(2**53, 2.5) == remainder(2**53, 2.5)
    for x in (2**53 + 1, -(2**53) - 1, 10**30 + 1):
        if x > 0:
            with pytest.raises(TraceError, match="a whole number is needed"):
                g(x, 2.5)
        else:
            assert g(x, 2.5) == 2.5
    assert g(4, 2.5) == 3.5


def test_other_functions_take_numbers_of_all_classes():
    g = jit(lambda x, y: x * y + y if x > 1.0 else y - x, wait=True)
    for x in (1.5, 2, 0.5, -1, np.float64(2.5), np.int32(3), np.float32(1.1), Fraction(1, 4), True, 2.5, 7):
        for _ in range(3):
            x64 = float(x)
            assert g(x, 2.0) == (x64 * 2.0 + 2.0 if x64 > 1.0 else 2.0 - x64)


def test_single_precision_is_no_other_course():
    assert jit(lambda x: x * x * x)(np.float32(1.1)) == pytest.approx(float(np.float32(1.1)) ** 3, rel=1e-15)
    with pytest.raises(TraceError):
        jit(lambda x: x * (2.0 if hasattr(x, "dtype") else 2.1))(np.float32(1.1))


@pytest.mark.parametrize("reduce", [None, "sum"])
def test_a_number_that_is_the_same_for_all_rows(reduce):
    xs = np.array([1.5, -2.0, 0.5])
    g = vmap(lambda x, n: looked_up(n, x), in_axes=(0, None), reduce=reduce)
    assert np.sum(g(xs, 1.0)) == 0.0
    for n in (1, np.int64(2)):
        for _ in range(2):
            with pytest.raises(TraceError, match="for the numbers themselves"):
                g(xs, n)
    assert np.sum(g(xs, 1.0)) == 0.0
    times = vmap(lambda x, n: x * n if n > 1 else x, in_axes=(0, None), reduce=reduce)
    for n in (2.0, 2, np.int64(2), 1, 3):
        assert np.sum(times(np.array([1.0, 2.0]), n)) == (3.0 * n if n > 1 else 3.0)


@pytest.mark.parametrize("count", [3, 80])
def test_with_captured_values(count):
    w = Value(3.0)

    def f(xs):
        try:
            return w * TABLE[xs[0]] + sum(xs)
        except TypeError:
            return w * 7.0 + sum(xs)

    g, xs = jit(f, wait=True), [1.0] * count
    for _ in range(70):
        assert g(xs).data == 21.0 + count
    with pytest.raises(TraceError, match="for the numbers themselves"):
        g([1, *xs[1:]])
    assert g(xs).data == 21.0 + count


def test_many_numbers_of_mixed_classes_are_compared_once(monkeypatch):
    compared, compare = [], on_numbers.compare
    monkeypatch.setattr(on_numbers, "compare", lambda *args: compared.append(1) or compare(*args))
    g = jit(lambda xs: sum(xs), wait=True)
    assert g([1.0] * 80) == 80.0
    for k in range(5):
        assert g([1 if (i + k) % 3 else 1.0 for i in range(80)]) == 80.0
    assert len(compared) == 2
