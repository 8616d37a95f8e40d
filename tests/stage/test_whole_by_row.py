"""int(x), round(x), math.floor(x): whole numbers that differ by row, and items of lists by such an index, are merged."""

from __future__ import annotations

import math as standard
import warnings

import numpy as np
import pytest

from micrograd import Value, grad, jit, value_and_grad, vmap
from micrograd import math as m
from micrograd.stage.errors import Unsupported
from micrograd.stage.staged import stage
from random_programs import needs_llvm
from stage import programs
from stage.test_changed_lists import PAIR

LONG = [float(k * k % 17) for k in range(40)]
SHORT = [1.0, -4.0, 9.0, 0.25, 2.0]
PAIRS = [(1.0, 2.0), (3.0, -4.0), (5.0, 6.0)]
GRID = [[float(i * 7 + j) for j in range(6)] for i in range(6)]
WHOLE = [k * 7 % 40 for k in range(40)]
ARRAY = np.linspace(-1.0, 1.0, 40)
PARAMETERS = [Value(0.3 * k + 1.0) for k in range(40)]


def interpolated(x, y):
    i = int(x)
    return LONG[i] + (x - i) * (LONG[i + 1] - LONG[i]) * y


def interpolated_values(x, y):
    knots = [y * y * k for k in range(40)]
    i = standard.floor(x)
    return knots[i] * (1 - (x - i)) + knots[i + 1] * (x - i)


def from_the_end(x, y):
    return LONG[-int(x) - 1] * x + SHORT[-1 - int(x) % 5] * y


def short(x, y):
    return SHORT[round(x) % 5] * x * y


def rows_of_pairs(x, y):
    a, b = PAIRS[int(x) % 3]
    return a * x + b * y


def grid(x, y):
    return GRID[int(x) % 6][int(y) % 6] * x * y


def of_an_array(x, y):
    return ARRAY[int(x)] * x * y


def of_parameters(x, y):
    return PARAMETERS[int(x)] * x * y


def parity(x, y):
    return x * y if int(x) % 2 == 0 else -x


def steps(x, y):
    n = int(x)
    if n < 3:
        return x * n
    return y * n if n in (5, 7, 11) else x + n


def zero_without_a_sign(x, y):
    return m.copysign(1.0, int(x) * 1.0) * x + m.atan2(0.0 * int(-0.4 * x / (x + 1.0)), -1.0) * y


def products_without_a_sign(x, y):
    i = int(x)
    return m.atan2(-i * y, -1.0) + m.atan2(i // -3 * y, -1.0) * x + m.atan2(i % 5 * (i - 20) * 1.0, -1.0) * y


def power(x, y):
    return x ** int(x * 0.1) * y ** round(y)


def bits(x, y):
    n = int(x)
    return (n & 7) * x + (n >> 2) * y + (n << 3)


def divided(x, y):
    return (int(x) // 4) * x + (int(x) % -3) * y + int(x) / 7


def bounded(x, y):
    i = max(0, min(round(x + y), 38))
    return LONG[i + 1] * x * y


def one_or_another(x, y):
    i = int(x) if y > 1.0 else 2
    return LONG[i] * x * y


def twice(x, y):
    return LONG[int(LONG[int(x) % 7])] * x * y


def in_a_list(x, y):
    found = [int(x + k) for k in range(4)]
    return sum(found) * x + found[2] * y


def in_a_loop(x, y):
    total = x
    for _ in range(60):
        i = int(total) % 40
        total = total * 0.9 + 0.1 * LONG[i] * y
    return total


def inside_a_derivative(x, y):
    return grad(lambda t: LONG[int(t)] * t * t + int(t) * t * y)(x) * x


def in_a_condition(x, y):
    s, n = x, 0
    while s < 30.0 and n < 50:
        s = s * 1.1 + LONG[int(s)] * 0.01 * y
        n += 1
    return s


def in_a_sum(x, y):
    return m.sum([int(x), y, round(x, 1)]) * m.dot([x, int(y)], [int(x), y]) + m.max([y, int(x)])


def of_ints(x, y):
    i = WHOLE[int(x)]
    return LONG[i] * y + WHOLE[WHOLE[int(x) % 9] % 12] // 2 * x + m.copysign(1.0, -i) + isinstance(i, int)


def of_ints_and_floats(x, y):
    v = [x, y, 0, 4, 5.0, 6, 0.0, 8, 9, 10, 11, 12][int(x) % 12]
    return (y if isinstance(v, int) else v) + m.copysign(1.0, -v)


MERGED = [
    interpolated, interpolated_values, from_the_end, short, rows_of_pairs, grid, of_an_array, of_parameters, parity, steps,
    zero_without_a_sign, products_without_a_sign, power, bits, divided, bounded, one_or_another, twice, in_a_list, in_a_loop,
    inside_a_derivative, in_a_condition, in_a_sum, of_ints, of_ints_and_floats,
]  # fmt: skip
ROWS = [[x, y] for x, y in zip([3.7, 0.0, 0.5, 2.5, 1.0, 11.99, 38.5, 7.0, 29.25, 5.0], [1.5, 0.3, 2.0, 1.0, 0.7] * 2)]
ROWS += [[-0.0, 1.25], [-0.4, 1.75], [0.9999999999999999, 2.25]]


@pytest.mark.parametrize("f", MERGED)
@pytest.mark.parametrize("derived", ["value", "gradient"])
def test_one_tape_gives_what_eager_code_gives(f, derived):
    rows = [row for row in ROWS if not isinstance(programs.eager(f, row), str)]
    assert len(rows) >= 10
    programs.check_rows(f, derived, rows)


@needs_llvm
@pytest.mark.parametrize("f", [interpolated, interpolated_values, grid, in_a_loop, steps])
def test_one_kernel_computes_all_rows(f):
    rows = [row for row in ROWS if not isinstance(programs.eager(f, row), str)]
    compiled = vmap(value_and_grad(f, (0, 1)))
    want = [programs.eager(value_and_grad(f, (0, 1)), row) for row in rows]
    for order in (1, -1):
        y, slopes = compiled(*np.array(rows[::order]).T)
        for got, expected in zip(zip(y, *slopes), want[::order]):
            assert list(got) == pytest.approx(expected, rel=1e-12)
    assert len(list(compiled.variants)) == 1
    second = vmap(grad(grad(f)))(*np.array(rows).T)
    assert list(second) == pytest.approx([grad(grad(f))(*row) for row in rows], rel=1e-12)
    of_a_point = jit(value_and_grad(f, (0, 1)))
    for row, expected in zip(rows, want):
        y, slopes = of_a_point(*row)
        assert [y, *slopes] == pytest.approx(expected, rel=1e-12)


@needs_llvm
@pytest.mark.parametrize(
    ("bad", "error"), [(40.0, IndexError), (float("nan"), ValueError), (float("inf"), OverflowError)]
)
def test_a_row_that_raises_does_so_with_its_number(bad, error):
    compiled = vmap(lambda x: LONG[int(x)] * x)
    assert list(compiled(np.array([3.0, -2.0]))) == [LONG[3] * 3.0, LONG[-2] * -2.0]
    with pytest.raises(error) as found:
        compiled(np.array([3.0, 1.0, bad, 2.0]))
    assert "row 2" in " ".join([str(found.value), *getattr(found.value, "__notes__", [])])


@needs_llvm
def test_numbers_that_are_too_large_run_on_their_own():
    xs = np.array([3.5, 2.0**40 + 0.5, -(2.0**60), 7.25])
    assert list(vmap(lambda x: int(x) * 2.0 + x)(xs)) == [int(x) * 2.0 + x for x in xs.tolist()]


@needs_llvm
def test_a_zero_in_a_late_call_has_no_sign():
    def angle(x, y):
        return m.atan2(-int(x) * y, -1.0)

    f = jit(angle, wait=True)
    for k in range(100):
        f(5.0 + k, 1.5)
    assert f(0.5, 1.5) == angle(0.5, 1.5) == standard.pi


@needs_llvm
def test_an_int_among_other_numbers_is_one_in_a_late_batch():
    def found(x, y):
        v = [x, y, 0, 4, 5, 6, 7, 8, 9, 10][int(x)]
        return y if isinstance(v, int) else v * 2.0

    f = vmap(found)
    for _ in range(10):
        f(np.array([0.5, 1.5]), np.array([1.5, 2.5]))
    assert f(np.array([0.5, 2.5]), np.array([1.5, 1.5])).tolist() == [1.0, 1.5]


@needs_llvm
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
def test_numbers_of_other_arrays_have_an_arithmetic_of_their_own(dtype):
    array = np.array([0.1, 200, 3, 17, 0, 5, 6.7, 99, 250, 31]).astype(dtype)

    def f(x, y):
        a, b = array[int(x)], array[int(y)]
        return x * (a * b + a) + y

    xs, ys = np.array([1.5, 6.5, 4.0, 3.0, 8.25]), np.array([2.5, 7.0, 0.5, 1.0, 6.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "overflow encountered")
        assert vmap(f)(xs, ys).tolist() == [f(Value(x), Value(y)).data for x, y in zip(xs.tolist(), ys.tolist())]


@needs_llvm
def test_a_result_that_is_whole_stays_an_int():
    f = jit(lambda x: int(x))
    assert [(f(x), type(f(x))) for x in (2.5, -3.5)] == [(2, int), (-3, int)]


def test_what_needs_the_number_itself_is_kept_apart():
    def keys(x, y):
        return {1: x, 2: y}[int(x)]

    def count(x, y):
        return sum([y for _ in range(int(x))])

    many = [float(k) for k in range(5000)]

    def of_many(x, y):
        return many[int(x)] * y

    def assigned(x, y):
        found = [x, y, x]
        found[int(x)] = y
        return found[1]

    def caught(x, y):
        try:
            return standard.fsum([int(x), 1.0]) * y
        except TypeError:
            return y

    for f in (
        keys,
        caught,
        count,
        assigned,
        lambda x, y: float(str(int(x))) * y,
        lambda x, y: sum(LONG[: int(x)]) * y,
        of_many,
    ):
        with pytest.raises(Unsupported):
            stage(f, PAIR, [1.5, 2.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert vmap(f)(np.array([1.5, 2.5]), np.array([2.0, 3.0])).tolist() == [f(1.5, 2.0), f(2.5, 3.0)]
