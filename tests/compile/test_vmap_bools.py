"""Bools among the results of a row are numbers of a column, 1.0 and 0.0, whatever the data."""

from typing import NamedTuple

import numpy as np
import pytest

from micrograd import Value, value_and_grad, vmap

XS = np.array([-1.0, 0.5, 2.0, 5.0])


def beside(x):
    return x > 0.0, x * 2.0


def alone(x):
    return x > 0.0


def constant(x):
    return True, x


def flag(x):
    inside = False
    if 0.0 < x < 3.0:
        inside = True
    return {"inside": inside, "square": x * x}


def number_or_bool(x):
    return x if x > 1.0 else False


class Root(NamedTuple):
    x: float
    turns: int
    converged: bool


def newton(a):
    a = abs(a)
    x, turns = a, 0
    while abs(x * x - a) > 1e-9 and turns < 20:
        x, turns = 0.5 * (x + a / x), turns + 1
    return Root(x, turns, turns < 20)


def columns(result):
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("options", [{}, {"exact": True}, {"float32": True}], ids=str)
@pytest.mark.parametrize("f", [beside, alone, constant, flag, number_or_bool, newton], ids=lambda f: f.__name__)
def test_bools_are_columns_of_numbers_whatever_the_data(f, options):
    for some in (XS, XS[::-1], XS[:1], XS[2:], XS[1:2]):
        found = columns(vmap(f, **options)(some))
        want = [columns(f(x)) for x in some.tolist()]
        for k, column in enumerate(found):
            assert column.dtype == (np.float32 if "float32" in options else np.float64)
            np.testing.assert_allclose(column, [float(row[k]) for row in want], rtol=1e-6)


def test_bools_do_not_keep_paths_apart_and_can_be_added_up():
    h = vmap(beside)
    h(XS)
    assert len(list(h.variants)) == 1
    assert vmap(alone, reduce="sum")(XS) == 3.0
    assert vmap(alone, reduce="mean")(XS[:2]) == 0.5


def test_bools_of_rows_that_run_eagerly_are_numbers_too():
    rows = np.array([Value(-1.0), Value(2.0)], dtype=object)
    flags, doubled = vmap(beside)(rows)
    assert flags.tolist() == [0.0, 1.0]
    assert [v.data for v in doubled] == [-2.0, 4.0]


def test_bools_beside_a_gradient():
    def f(x):
        return x * x, x > 1.0

    (value, flags), slope = vmap(value_and_grad(f, has_aux=True))(XS)
    assert (value.tolist(), flags.tolist(), slope.tolist()) == (
        (XS**2).tolist(),
        [0.0, 0.0, 1.0, 1.0],
        (2 * XS).tolist(),
    )
