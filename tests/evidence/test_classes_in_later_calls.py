"""A later call with numbers of another class (an int where there was a float): the function may do something else with it."""

from fractions import Fraction

import numpy as np
import pytest

from micrograd import TraceError, Value, jit, value_and_grad, vmap
from micrograd.evidence import compared as evidence
from micrograd.evidence import plain_runs

MANY = 64
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
            with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
                g(x, 2.0)
    assert g(1.0, 2.0) == plain(1.0, 2.0)


def test_a_number_of_numpy_where_there_was_a_float():
    g = jit(named, wait=True)
    assert g(1.5, 2.0) == g(1.5, 2.0) == 6.0
    with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
        g(np.float64(1.5), 2.0)


def test_an_exception_for_the_first_int_leaves_the_question_open():
    g = jit(looked_up, wait=True)
    assert g(1.0, 2.0) == 14.0
    for x in (5, 1):  # the first one is an IndexError in plain Python, so that nothing is compared
        with pytest.raises(TraceError):
            g(x, 2.0)


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
    assert np.sum(g(xs, 1.5)) == 0.0
    for n in (1, np.int64(2)):
        for _ in range(2):
            with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
                g(xs, n)
    assert np.sum(g(xs, 1.5)) == 0.0
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
    with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
        g([1, *xs[1:]])
    assert g(xs).data == 21.0 + count


@pytest.mark.parametrize("count", [12, 80])
def test_many_arrangements_of_classes_are_compared_for_some_time(monkeypatch, count):
    compared, compare = [], plain_runs.compare
    monkeypatch.setattr(plain_runs, "compare", lambda *args: compared.append(1) or compare(*args))
    monkeypatch.setattr(evidence, "clock", lambda: len(compared) * evidence.COMPARING / MANY)  # so many take that time
    g = jit(lambda xs: sum(xs), wait=True)
    for k in range(200):
        for _ in range(2):
            assert g([1 if (k >> i) & 1 else 1.0 for i in range(count)]) == count
    later = 1 if count == 12 else 0  # one number is an int for the first time when that time is over
    assert len(compared) == 1 + MANY + later  # the one of the first call is not counted


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_an_int_beside_another_one_is_not_known_from_each_of_them(exact, wait):
    def product(x, y, z):
        try:
            return TABLE[x * y] * z
        except TypeError:
            return 7.0 * z

    g = jit(product, wait=wait, exact=exact)
    for x, y in ((1.0, 2.0), (1, 2.0), (1.0, 2)) * 40:
        assert g(x, y, 2.0) == 14.0
    for _ in range(3):
        with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
            g(1, 2, 2.0)
    assert g(1, 2.0, 2.0) == 14.0


def by_sign(x, n):
    if x > 0.0:
        try:
            return TABLE[n] * x
        except TypeError:
            return 7.0 * x
    return n * x


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("exact", [False, True])  # with a tape for each path, and with one for all of them
@pytest.mark.parametrize("number", [int, np.int64])
def test_what_is_known_of_one_path_is_not_known_of_another(exact, wait, number):
    one = number(1)
    for calls in (
        [(1.0, 1.0), (-1.0, one)], [(-1.0, one), (1.0, 1.0)], [(-1.0, 1.0), (-1.0, one), (1.0, 1.0)] * 70,
        [(-1.0, one)],
    ):  # fmt: skip
        g = jit(by_sign, wait=wait, exact=exact)
        for x, n in calls:
            assert g(x, n) == by_sign(x, n)
        for _ in range(2):
            with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
                g(1.0, one)


@pytest.mark.parametrize("wait", [False, True])
def test_a_path_that_is_first_taken_with_another_number(wait):
    """The arm of a tape for all paths is compared on the number of the call that takes it first, with its class."""

    def f(x, n):
        return n * x if x < 0.0 else n**2000 % 7 * x  # in floats, 2**2000 is infinite

    g = jit(f, wait=wait)
    assert g(-1.0, 1) == -1.0
    with pytest.raises(TraceError, match=r"gives nan when it is traced, and 4\.0 for the numbers themselves"):
        g(1.0, 2)

    def h(x, n):
        return n * x if x < 0.0 else 2.0 * n

    g = jit(h, wait=wait)
    assert g(-1.0, 1) == -1.0
    assert g(1.0, 2.5) == 5.0


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", [int, np.int64])
def test_rows_of_another_path_than_the_first_one(exact, number):
    below, above, mixed = np.array([-1.0, -2.0]), np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    for calls in ([(above, 1.5), (below, 1)], [(below, 1), (above, 1.5)], [(mixed, 1.5), (below, 1)], [(below, 1)]):
        g = vmap(by_sign, in_axes=(0, None), exact=exact)
        for xs, n in calls:
            n = number(n) if n == 1 and type(n) is int else n
            assert g(xs, n).tolist() == [by_sign(x, n) for x in xs.tolist()]
        for xs in (above, mixed):
            with pytest.raises(TraceError, match=r"for the numbers themselves|whole numbers? wanted"):
                g(xs, number(1))


def test_rows_with_a_whole_number_that_no_float_holds():
    g = vmap(lambda x, n: remainder(n, x), in_axes=(0, None))
    xs = np.array([1.5, 2.5])
    assert g(xs, 4).tolist() == [2.5, 3.5]
    for _ in range(2):
        with pytest.raises(TraceError, match="a whole number is needed"):
            g(xs, 2**53 + 1)
    assert g(xs, 2**53).tolist() == [remainder(2**53, x) for x in xs.tolist()]


def test_many_arms_are_compared_with_numbers_of_each_class(monkeypatch):
    """Of one tape for all paths: each of them once for ints and once for floats, and then no more."""
    compared, compare = [], plain_runs.compare
    monkeypatch.setattr(plain_runs, "compare", lambda *args: compared.append(type(args[3][1])) or compare(*args))

    def f(x, n):
        y = x * n if x > 1.0 else x + n
        return y * y if x > 2.0 else y

    g = jit(f, wait=True)
    for _ in range(40):
        for n in (2.0, 2):
            for x in (0.5, 1.5, 2.5):
                assert g(x, n) == f(x, n)
    assert compared.count(int) == 3
    assert 3 <= compared.count(float) <= 5  # also when it is traced, and when it is merged
