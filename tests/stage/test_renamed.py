"""Lists that change names in an arm: merged with work that grows with the iterations, and right whoever else holds them."""

import numpy as np
import pytest

from micrograd import value_and_grad, vmap
from stage.programs import check_rows

ROWS = [[x, y] for x in (-1.5, -0.2, 0.0, 0.7, 2.5) for y in (-2.0, 0.3, 1.1)]


def swapped(x, y):
    a, b = [x * k for k in (1.0, 2.0, 3.0)], [y, x, 1.0 * x]
    for i in range(20):
        for k in range(3):
            b[k] = a[k] * 0.9 + 0.1 * a[k - 1]
        if b[0] > b[1] + 0.01 * i:
            a, b = b, a
    return sum(a) + 2.0 * sum(b)


def new_list_and_swap(x, y):
    a, b = [x * k for k in (1.0, 2.0, 3.0)], [y, x, 1.0 * x]
    for i in range(20):
        c = [0.5 * (p + q) for p, q in zip(a, b)]
        if c[0] > c[1] + 0.01 * i:
            a, b = b, c
        else:
            b, a = a, c
    return sum(a) + 2.0 * sum(b)


def changed_after_a_swap(x, y):
    a, b = [x * k for k in (1.0, 2.0, 3.0)], [y, x, 1.0 * x]
    for i in range(20):
        if a[0] > b[1] + 0.01 * i:
            a, b = b, a
        a = [0.9 * p + 0.1 * q for p, q in zip(a, b)]
        b[0] = 0.5 * a[1]
    return sum(a) + 2.0 * sum(b)


def elimination_with_pivots(x, y):
    m = [[x, 1.0, y], [2.0 * y, x, 0.5 + x], [x * y, 0.3 - y, 2.0 * x]]
    r = [1.0 * x, y, x + y]
    for i in range(3):
        p = i
        for k in range(i + 1, 3):
            if abs(m[k][i]) > abs(m[p][i]):
                p = k
        m[i], m[p] = m[p], m[i]
        r[i], r[p] = r[p], r[i]
        for k in range(i + 1, 3):
            f = m[k][i] / (m[i][i] + 0.125)
            for j in range(i, 3):
                m[k][j] = m[k][j] - f * m[i][j]
            r[k] = r[k] - f * r[i]
    for i in (2, 1, 0):
        for j in range(i + 1, 3):
            r[i] = r[i] - m[i][j] * r[j]
        r[i] = r[i] / (m[i][i] + 0.125)
    return r[0] + 2.0 * r[1] - r[2]


def conditional_expression(x, y):
    a, b = [x, y], [y * 2.0, 1.0 * x]
    for _ in range(12):
        a, b = (b, a) if a[0] > b[1] else (a, b)
        a[0] = a[0] * 0.8 + 0.1 * b[0]
    return a[0] - 3.0 * b[1]


LINEAR = [swapped, new_list_and_swap, changed_after_a_swap, elimination_with_pivots, conditional_expression]


def alias_in_a_variable(x, y):
    a, b = [x, 1.0], [y, 2.0]
    first = a
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return first[0] + 2.0 * a[0] + 3.0 * b[0]


def alias_in_some_rows(x, y):
    a, b = [x, 1.0], [y, 2.0]
    c = a if y > 0 else b
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    c[1] = c[1] * x
    return c[0] + 2.0 * a[0] + 3.0 * b[0] + a[1] - b[1]


def alias_in_a_list(x, y):
    a, b = [x, 1.0], [y, 2.0]
    both = [a, b]
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return both[0][0] + 2.0 * a[0] + 3.0 * both[1][0]


def alias_in_a_list_of_lists(x, y):
    a, b = [x, 1.0], [y, 2.0]
    both = [[a], [b]]
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return both[0][0][0] + 2.0 * a[0] + 3.0 * both[1][0][0]


def alias_in_a_tuple(x, y):
    a, b = [x, 1.0], [y, 2.0]
    both = (a, b)
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return both[0][0] + 2.0 * a[0] + 3.0 * both[1][0]


def alias_in_a_dict(x, y):
    a, b = [x, 1.0], [y, 2.0]
    held = {"a": a, "b": b}
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return held["a"][0] + 2.0 * a[0] + 3.0 * held["b"][0]


def alias_that_may_be_none(x, y):
    a, b, c = [x, 1.0], [y, 2.0], None
    if y > 0:
        c = a
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return a[0] + 3.0 * b[0] + (0.5 if c is None else c[0] * 2.0)


def alias_in_a_closure(x, y):
    a, b = [x, 1.0], [y, 2.0]

    def change(held=a):
        held[0] = held[0] * 3.0

    if x > y:
        a, b = b, a
    change()
    a[0] = a[0] + 10.0
    return a[0] + 3.0 * b[0]


def _change(a, b, x, y):
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return a[0]


def alias_of_a_caller(x, y):
    a, b = [x, 1.0], [y, 2.0]
    c = _change(a, b, x, y)
    return c + a[0] + 3.0 * b[0]


class Holder:
    def __init__(self, held):
        self.held = held


def alias_in_an_object(x, y):
    a, b = [x, 1.0], [y, 2.0]
    h = Holder(a)
    if x > y:
        a, b = b, a
    a[0] = a[0] + 10.0
    return h.held[0] + 2.0 * a[0] + 3.0 * b[0]


def alias_of_an_iterator(x, y):
    a, b = [x, 1.0, 2.0], [y, 2.0, 5.0]
    total = 0.0
    for item in a:
        if x > y:
            a, b = b, a
        a[2] = a[2] + item
        total = total + item * 0.5
    return total + a[2] + 2.0 * b[2]


def swapped_back_after_a_break(x, y):
    a, b = [x, 1.0], [y, 2.0]
    for i in range(6):
        if a[0] > b[0] + i:
            a, b = b, a
        a[0] = a[0] + 0.5
        if a[0] > 3.0:
            break
        if b[1] > 4.0:
            continue
        b[1] = b[1] + a[0]
    a[1] = a[1] * 2.0
    return a[0] + 2.0 * a[1] + 3.0 * b[0] + 4.0 * b[1]


def swapped_in_nested_arms(x, y):
    a, b, c = [x, 1.0], [y, 2.0], [x * y, 3.0]
    if x > 0:
        if y > 0:
            a, b = b, a
        else:
            b, c = c, b
        a[0] = a[0] + 1.0
    elif x > y:
        a, c = c, a
    b[0] = b[0] * 2.0
    return a[0] + 2.0 * b[0] + 3.0 * c[0] + (4.0 if a is b else 5.0)


def same_list_in_some_rows(x, y):
    a, b = [x, 1.0], [y, 2.0]
    if x > y:
        b = a
    a[0] = a[0] + 1.0
    b[1] = b[1] * x
    return a[0] + 2.0 * b[0] + 3.0 * a[1] + (10.0 if a is b else 0.0)


def rows_of_a_matrix_with_another_name(x, y):
    m = [[x, 1.0], [y, 2.0]]
    first = m[0]
    if x > y:
        m[0], m[1] = m[1], m[0]
    m[0][0] = m[0][0] + 1.0
    return first[0] + 2.0 * m[0][0] + 3.0 * m[1][0]


TRAPS = [alias_in_a_variable, alias_in_some_rows, alias_in_a_list, alias_in_a_list_of_lists, alias_in_a_tuple, alias_in_a_dict,
         alias_that_may_be_none, alias_in_a_closure, alias_of_a_caller, alias_in_an_object, alias_of_an_iterator,
         swapped_back_after_a_break, swapped_in_nested_arms, same_list_in_some_rows,
         rows_of_a_matrix_with_another_name]  # fmt: skip


@pytest.mark.parametrize("derived", ["value", "gradient"])
@pytest.mark.parametrize("f", [*LINEAR, *TRAPS], ids=lambda f: f.__name__)
def test_each_row_is_that_of_eager_code(f, derived):
    check_rows(f, derived, ROWS)


@pytest.mark.parametrize("f", LINEAR, ids=lambda f: f.__name__)
def test_the_work_grows_with_the_iterations_only(f):
    xs, ys = np.array(ROWS).T
    h = vmap(value_and_grad(f, (0, 1)))
    values = h(xs, ys)[0]
    assert len(list(h.variants)) == 1
    assert len(h.tape(xs, ys)) < 5_000
    assert values.tolist() == pytest.approx([f(x, y) for x, y in ROWS], rel=1e-9)
