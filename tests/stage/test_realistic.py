"""Programs as people write them: eager code's results row by row, whatever the order of rows and the history of calls."""

import warnings

import numpy as np
import pytest

from micrograd import Value, grad, jit, no_grad, value_and_grad, vmap
from stage.realistic import PROGRAMS

ORDERS = ("value", "gradient", pytest.param("second", marks=pytest.mark.slow))


def derived(f, order):
    count = len(PROGRAMS[f.__name__][1][0])

    def slopes(*args):
        total = 0.0
        for k, g in enumerate(grad(f, tuple(range(count)))(*args), 1):
            total = total + k * g
        return total

    every = tuple(range(count))
    return {"value": f, "gradient": value_and_grad(f, every), "second": value_and_grad(slopes, every)}[order]


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, (tuple, list)) else [x]


def eager(g, rows):
    with no_grad():
        return np.array([[float(y.data if isinstance(y, Value) else y) for y in flat(g(*row))] for row in rows])


def batch(h, rows):
    with no_grad():
        return np.stack(flat(h(*np.array(rows).T)), axis=1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_have_the_results_of_eager_code(name, order):
    f, rows, _ = PROGRAMS[name]
    g = derived(f, order)
    wanted = eager(g, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of the check of a merged tape, above all
        for first in (0, len(rows) // 2) if order != "second" else (0,):
            h = vmap(g)
            found = batch(h, rows[first:] + rows[:first])
            np.testing.assert_allclose(found, np.roll(wanted, -first, axis=0), rtol=1e-11, atol=1e-13)
            assert [v.trace.merged for v in h.variants] == [True]
        shuffled = np.random.default_rng(len(rows)).permutation(len(rows))
        again = batch(h, [rows[k] for k in shuffled])
        np.testing.assert_array_equal(again, np.roll(found, first, axis=0)[shuffled])
        if order == "second":
            return
        alone = vmap(g)
        one_by_one = np.concatenate([batch(alone, [row]) for row in rows])
        np.testing.assert_array_equal(one_by_one, np.roll(found, first, axis=0))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exact_float32_and_points(name):
    f, rows, _ = PROGRAMS[name]
    g = derived(f, "gradient")
    wanted = eager(g, rows)
    np.testing.assert_array_equal(batch(vmap(g, exact=True), rows), wanted)
    single = batch(vmap(g, float32=True), rows)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wanted, rtol=1e-5, atol=1e-6)
    point = jit(g, wait=True)
    np.testing.assert_allclose(eager(point, rows), wanted, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(eager(point, rows[::-1]), wanted[::-1], rtol=1e-11, atol=1e-13)
