"""Plain numbers that become Values behind a choice, where choices depend on each other in too many ways."""

import math as standard

import numpy as np
import pytest

from micrograd import grad, math, value_and_grad, vmap
from micrograd.stage.errors import Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.staged import flat, stage
from micrograd.tree import NUMBER
from random_programs import needs_llvm
from stage import test_renamed
from stage.programs import check_rows, eager, equal, staged
from stage.realistic import PROGRAMS


def common_subsequence(xs, ys):
    row = [0.0] * (len(ys) + 1)
    for x in xs:
        new = [0.0]
        for j, y in enumerate(ys):
            if abs(x - y) < 0.15:
                new.append(row[j] + math.exp(-abs(x - y)))
            else:
                new.append(max(row[j + 1], new[j]))
        row = new
    return row[-1]


def common_subsequence_of_ints(xs, ys):
    table = [[0] * (len(ys) + 1) for _ in range(len(xs) + 1)]
    for i, x in enumerate(xs, 1):
        for j, y in enumerate(ys, 1):
            if abs(x - y) < 0.15:
                table[i][j] = table[i - 1][j - 1] + (1.0 - abs(x - y))
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def edit_distance(xs, ys):
    before = [float(j) for j in range(len(ys) + 1)]
    for i, x in enumerate(xs, 1):
        now = [float(i)]
        for j, y in enumerate(ys, 1):
            if abs(x - y) < 0.15:
                now.append(before[j - 1])
            else:
                now.append(1.0 + min(before[j], now[j - 1], before[j - 1] + abs(x - y)))
        before = now
    return before[-1]


@pytest.mark.parametrize("f", [common_subsequence, common_subsequence_of_ints, edit_distance], ids=lambda f: f.__name__)
def test_tables_that_are_filled_by_comparisons_are_one_kernel(f):
    rng = np.random.default_rng(1)
    xs, ys = rng.uniform(size=(2, 30, 6))
    h = vmap(value_and_grad(f, (0, 1)))
    values, (by_x, by_y) = h(xs, ys)
    assert [v.trace.merged for v in h.variants] == [True]
    for k in range(30):
        value, slopes = value_and_grad(f, (0, 1))(xs[k].tolist(), ys[k].tolist())
        assert values[k] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose([by_x[k], by_y[k]], slopes, rtol=1e-12, atol=1e-14)
    turned = vmap(value_and_grad(f, (0, 1)))(xs[::-1], ys[::-1])[0][::-1]
    np.testing.assert_array_equal(turned, values)


def division(x, y):
    a = 0.0 if x > 0 else y
    try:
        return 1.0 / a
    except ZeroDivisionError:
        return x * 7.0


def division_by_a_sum(x, y):
    a, b = (1.0, 2.0) if x > 0 else (y, x)
    c = a - b + 1.0
    try:
        return (3.0 / c + a // (b - 2.0 + y * 0.0)) * 2.0
    except ZeroDivisionError:
        return x * 7.0


def power(x, y):
    a = 1e200 if x > 0 else y
    try:
        return a**2
    except OverflowError:
        return x


def class_of(x, y):
    a = 0.5 if x > 0 else y
    return x if isinstance(a, float) else a * 2.0


def identity(x, y):
    a = 0.5 if x > 0 else y
    b = a if y > 0 else x
    return x * 3.0 if a is b else y


def attribute(x, y):
    a = 0.5 if x > 0 else y
    try:
        return a.exp()
    except AttributeError:
        return x * 5.0


def index(x, y):
    a = 1 if x > 0 else y
    try:
        return [x, y * 2.0][a]
    except TypeError:
        return a * 5.0


def large_whole_numbers(x, y):
    n = 3 if x > 0 else y
    for _ in range(40):
        n = n * 3
    return n % 7 + x if x > 0 else n * 1e-30


def doubled_whole_numbers(x, y):
    n = 3 if x > 0 else y
    for _ in range(60):
        n = n + n
    n = n + 1
    return (n - 3 * 2**60) * x if x > 0 else n * 1e-30


def rounding_of_plain_numbers(x, y):
    a = 2.5 if x > 0 else y
    b = 4.0 if x > 0 else y * y
    return math.floor(a) + standard.sqrt(b) * x if x > 0 else a + b


def sums(x, y):
    items = [0.1 if x > 0 else y, 0.2, 0.3 if y > 0 else x, 1e16, -1e16]
    return sum(items) + sum(items[:2])


def slope_at_a_plain_number(x, y):
    a = 0.5 if x > 0 else y
    return grad(lambda z: z * z * a)(a) + (x if a else y)


def text(x, y):
    a = 0.5 if x > 0 else y
    return len(str(a)) * x if x > 0 else y


TRAPS = [division, division_by_a_sum, power, class_of, identity, attribute, index, large_whole_numbers, doubled_whole_numbers,
         rounding_of_plain_numbers, sums, slope_at_a_plain_number, text]  # fmt: skip
EVERY = [(f, test_renamed.ROWS) for f in [*TRAPS, *test_renamed.TRAPS]]
EVERY += [(f, [list(row) for row in rows]) for f, rows, _ in PROGRAMS.values()]


@pytest.mark.parametrize(("f", "rows"), EVERY, ids=[f.__name__ for f, _ in EVERY])
def test_each_row_is_that_of_eager_code_or_has_a_tape_of_its_own(f, rows):
    width = len(rows[0])
    for g in (f, value_and_grad(f, tuple(range(width)))):
        try:
            found = stage(g, flat(("tuple", (NUMBER,) * width)), rows[0], limits=Limits(coarse=True))
        except Unsupported:
            continue
        for row in rows:
            got = staged(found, row)
            if got is not None:
                want = eager(g, row)
                assert not isinstance(want, str), (row, got, want)
                assert all(equal(a, b, exact=g is f) for a, b in zip(got, want)), (row, got, want)


def item_that_is_a_text_elsewhere(x, y):
    items = [x, y]
    if x > 0:
        items[0] = "none"
    if x > 0:
        return y
    return math.prod([items[0], y]) + math.logsumexp(items)


def count_of_a_loop(x, y):
    count = 0
    for _ in range(30):
        count += 1
        x = math.sin(x)
    return count


@pytest.mark.parametrize("f", [item_that_is_a_text_elsewhere, count_of_a_loop])
def test_a_number_is_that_of_the_rows_that_are_here(f):
    """Handed to a function that is not interpreted, or returned: what other rows have does not matter."""
    check_rows(f, "value", [(0.7, 0.3), (-0.7, 0.3), (0.0, -2.0)])


def _partly(x):
    found = [0] * 40
    for i in range(40):
        if x > i * 0.1:
            found[i] = x * (i + 1)
    return found


def negated(x, y):
    found = _partly(x)
    return math.atan2(-found[30] * y, -1.0) + math.atan2(-2 * found[20], -1.0) * x


def negated_in_a_loop(x, y):
    found, total = _partly(x), y
    for i in range(40):
        total = total * 0.9 + math.copysign(y, -found[i])
    return total


def copied(x, y):
    found, total = [1.0] * 40, y
    for i, v in enumerate(_partly(x)):
        found[i] = v
    for i in range(40):
        total = total * 0.9 + (x if isinstance(found[i], int) else y)
    return total


def looked_up(x, y):
    return math.copysign(x, -_partly(x)[int(y)])


@pytest.mark.parametrize("f", [negated, negated_in_a_loop, copied, looked_up], ids=lambda f: f.__name__)
@pytest.mark.parametrize("derived", [lambda f: f, lambda f: value_and_grad(f, (0, 1))], ids=["value", "gradient"])
def test_an_int_in_a_list_of_values_is_told_from_a_float(f, derived):
    rows = [[5.0, 1.5], [0.05, 2.0], [1.75, 17.25], [-1.0, 3.0], [2.0, 25.5]]
    for first in (rows[0], rows[1]):
        try:
            found = stage(derived(f), flat(("tuple", (NUMBER, NUMBER))), first)
        except Unsupported:
            continue
        for row in rows:
            got = staged(found, row)  # None: the row runs on its own
            assert got is None or all(map(equal, got, eager(derived(f), row), [True] * len(got))), row


@needs_llvm
def test_an_int_that_is_left_in_a_list_in_a_late_batch():
    h = vmap(negated)
    for _ in range(10):
        h(np.array([5.0, 6.0]), np.array([1.5, 2.5]))
    assert h(np.array([5.0, 1.0]), np.array([1.5, 2.5])).tolist() == [negated(5.0, 1.5), negated(1.0, 2.5)]
