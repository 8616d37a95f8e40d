"""A function that catches an error of arithmetic goes on as it does with plain numbers, also where Values follow IEEE."""

import contextlib
import linecache
import math
import operator

import numpy as np
import pytest

from micrograd import TraceError, Value, grad, hessian, jit, value_and_grad, vmap
from micrograd.stage.staged import stage


def divide(x, y):
    return x / y


class Ratio:
    def of(self, x, y):
        try:
            return x / y
        except ZeroDivisionError:
            return x * 3.0


class Number:
    def __init__(self, x):
        self.x = x

    def __truediv__(self, other):
        return Number(self.x / other.x)


RATIO = Ratio()
BY_NAME = {"ratio": RATIO.of}


def quotient(x, y):
    try:
        return x / y
    except ZeroDivisionError:
        return x - 1.0


def whole_quotient_and_rest(x, y):
    try:
        return x // y + x % y
    except ArithmeticError:
        return x * 3.0


def both_at_once(x, y):
    try:
        whole, rest = divmod(x, y)
    except ZeroDivisionError:
        return -x
    return whole * rest + x


def power(x, y):
    try:
        return abs(x) ** y
    except ZeroDivisionError:
        return x + 5.0
    except OverflowError:
        return y + 7.0


def anything(x, y):
    try:
        return pow(abs(x), y) + operator.truediv(x, y)
    except Exception as error:
        return y + len(type(error).__name__)


def bare(x, y):
    try:
        return (Number(x) / Number(y)).x
    except:  # noqa: E722
        return 4.0 * x


def suppressed(x, y):
    with contextlib.suppress(ZeroDivisionError):
        return x / y
    return x * 2.0


def in_a_loop(x, y):
    total = 0.0
    for k in range(-3, 4):
        try:
            total = total + x / (y * k)
        except ZeroDivisionError:
            total = total + 0.5 * x
            continue
        finally:
            total = total * 0.9
    return total


def in_a_helper(x, y):
    try:
        return divide(x, y) + divide(y, x)
    except ZeroDivisionError:
        return x + y


def in_a_method(x, y):
    return RATIO.of(x, y) + BY_NAME["ratio"](y, x)


def of_an_inner_try(x, y):
    try:
        try:
            found = 1.0 / x
        except KeyError:
            found = 5.0
        return found / y
    except ZeroDivisionError:
        return x + y


def of_no_use(x, y):
    try:
        1 / x
    except ZeroDivisionError:
        return y
    return x


def raised_again(x, y):
    try:
        try:
            return x / y
        except ZeroDivisionError as error:
            raise ValueError("no quotient") from error
    except ValueError:
        return x * 6.0


def in_a_sum(x, y):
    try:
        return sum(x / (y - k) for k in range(3))
    except ZeroDivisionError:
        return 0.1 * x


def under_an_inner_derivative(x, y):
    def inner(v):
        try:
            return v / y
        except ZeroDivisionError:
            return v * v

    return grad(inner)(x) + x


def of_whole_numbers(x, y):
    try:
        found = int(x) // int(y)
    except ZeroDivisionError:
        found = 9
    return found * x


def by_zero_itself(x, y):
    try:
        return x / y if y > 1.0 else x / 0.0
    except ZeroDivisionError:
        return 9.0 * x


FUNCTIONS = [quotient, whole_quotient_and_rest, both_at_once, power, anything, bare, suppressed, in_a_loop, in_a_helper,
             in_a_method, of_an_inner_try, of_no_use, raised_again, in_a_sum, under_an_inner_derivative, of_whole_numbers,
             by_zero_itself]  # fmt: skip
ROWS = [(1.0, 2.0), (1.0, 0.0), (0.0, 0.0), (-3.0, -0.0), (2.0, -1.5), (1e200, 3.0), (0.0, -1.0), (5.0, 1.0)]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [1, -1], ids=["", "reversed"])
def test_each_row_is_that_of_plain_python(f, order):
    rows = ROWS[::order]
    columns = np.array(rows).T
    want = [float(f(*row)) for row in rows]
    at_points, exact = jit(f), jit(f, exact=True, wait=True)
    for _ in range(2):
        assert [at_points(*row) for row in rows] == pytest.approx(want, rel=1e-14)
        assert [exact(*row) for row in rows] == want
    assert vmap(f)(*columns).tolist() == pytest.approx(want, rel=1e-14)
    assert vmap(f, exact=True)(*columns).tolist() == want
    if f is of_whole_numbers:
        # An int of 1e200 has all of its digits: no derivative is taken of a program that makes one.
        with pytest.raises(TraceError, match="with all digits of a Value"):
            vmap(value_and_grad(f))(*columns)
        rows = [row for row in rows if row[0] < 2.0**52]
        columns, want = np.array(rows).T, [float(f(*row)) for row in rows]
    value, by_x = vmap(value_and_grad(f))(*columns)
    assert value.tolist() == pytest.approx(want, rel=1e-14)
    slopes = [value_and_grad(f)(*row) for row in rows]
    assert [v for v, _ in slopes] == want
    assert by_x.tolist() == pytest.approx([d for _, d in slopes], rel=1e-12)


def test_the_slope_is_that_of_the_branch_that_was_taken():
    assert grad(quotient)(1.0, 0.0) == grad(quotient, 0)(-3.0, -0.0) == 1.0
    assert grad(power, 1)(1e200, 3.0) == 1.0
    assert grad(in_a_helper, 1)(2.0, 0.0) == 1.0
    assert hessian(lambda v: quotient(v[0], v[1]))([1.0, 0.0]) == [[0.0, 0.0], [0.0, 0.0]]
    assert vmap(grad(grad(quotient, 1), 1))(np.ones(2), np.array([0.0, 2.0])).tolist() == [0.0, 0.25]


def test_rows_that_catch_an_error_are_merged_with_the_others():
    for f in (quotient, suppressed, in_a_loop, in_a_helper, in_a_method):
        found = stage(f, lambda numbers: (numbers, {}), [1.0, 2.0])
        assert found.merged and not found.tape.guards


def many_quotients(x, y):
    for k in range(400):
        x = x / (y + k) + 1.0
    return x


def around_a_long_loop(x, y):
    try:
        return many_quotients(x, y)
    except Exception:
        return 5.0 * x


def inside_a_long_loop(x, y):
    for k in range(400):
        try:
            x = x / (y + k) + 1.0
        except ZeroDivisionError:
            x = 5.0 * x
    return x


def inside_a_while(x, y):
    try:
        while x > 0.5:
            x = x - 0.25 / (x - y)
    except ZeroDivisionError:
        return 3.0 * x
    return x


@pytest.mark.parametrize("f", [around_a_long_loop, inside_a_long_loop, inside_a_while], ids=lambda f: f.__name__)
def test_loops_that_stay_loops(f):
    rows = [(1.0, 0.25), (2.0, -7.0), (1.0, 1.0), (3.0, -399.0), (1.0, -2.5)]
    want = [f(*row) for row in rows]
    compiled = jit(f, wait=True)
    assert [compiled(*row) for row in rows] == pytest.approx(want, rel=1e-13)
    value, by_x = vmap(value_and_grad(f))(*np.array(rows).T)
    assert value.tolist() == pytest.approx(want, rel=1e-13)
    assert by_x.tolist() == pytest.approx([grad(f)(*row) for row in rows], rel=1e-10)


def test_an_error_that_nothing_catches_follows_ieee():
    def caught_by_others(x, y):
        try:
            return x / y
        except (KeyError, ValueError):
            return x

    def behind(x, y):
        try:
            x = x + 1.0
        except ZeroDivisionError:
            x = 0.0
        return x / y

    for f in (divide, caught_by_others, behind):
        assert jit(f)(1.0, 0.0) == vmap(f)(np.ones(1), np.zeros(1))[0] == math.inf


def test_values_and_numbers_of_numpy_raise_nothing():
    w = Value(0.0)

    def by_a_parameter(x):
        try:
            return x / w
        except ZeroDivisionError:
            return x

    assert quotient(Value(1.0), Value(0.0)).data == math.inf
    assert jit(quotient)(Value(1.0), Value(0.0)).data == math.inf
    assert jit(by_a_parameter)(1.0).data == by_a_parameter(1.0).data == math.inf
    with np.errstate(divide="ignore"):
        compiled = jit(quotient)
        assert compiled(np.float64(1.0), np.float64(0.0)) == math.inf
        assert compiled(1.0, 0.0) == 0.0


@pytest.mark.filterwarnings("ignore:f is compiled once for each path:RuntimeWarning")
@pytest.mark.parametrize("text", ["", "def g(x):\n    return x\n"])  # that of another piece of code by the same name
def test_code_without_a_source(text, monkeypatch):
    names: dict = {}
    if text:
        monkeypatch.setitem(linecache.cache, "<string>", (len(text), None, text.splitlines(True), "<string>"))
    exec("def f(x, y):\n    try:\n        return x / y\n    except ZeroDivisionError:\n        return 7.0 * x\n", names)
    compiled = jit(names["f"])
    assert [compiled(1.0, 2.0), compiled(1.0, 0.0), compiled(2.0, -0.0)] == [0.5, 7.0, 14.0]
