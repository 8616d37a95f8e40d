"""Exceptions, context managers, generators, patterns and containers: merged, with the results of eager code row by row."""

import numpy as np
import pytest

from micrograd import value_and_grad, vmap
from stage import containers, exceptions, iterators

ROWS = [(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (0.2, 0.4), (0.0, 0.0), (3.0, 0.1)]


PROGRAMS = [*containers.PROGRAMS, *exceptions.PROGRAMS, *iterators.PROGRAMS]
APART = containers.APART | iterators.APART


def flat(result):
    return [result[0], *result[1]] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("order", ["value", "gradient"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("error")
def test_rows_have_the_results_of_eager_code(f, order):
    g = f if order == "value" else value_and_grad(f, (0, 1))
    for rows in (ROWS, ROWS[3:] + ROWS[:3]):
        h = vmap(g)
        found = np.stack([np.asarray(c) for c in flat(h(*np.array(rows).T))], axis=1)
        np.testing.assert_allclose(found, [[float(y) for y in flat(g(*row))] for row in rows], rtol=1e-12)
        assert all(v.trace.merged for v in h.variants) is (f not in APART)
        assert f in APART or len(list(h.variants)) <= 2
