"""Loops that change tables and make objects, in threads, pickles, other processes, second orders and sums of rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from micrograd import Value, check_grad, grad, jit, value_and_grad, vmap
from random_programs import needs_llvm
from stage import long_loops
from threads import together
from twins import PACKAGE

pytestmark = needs_llvm
X, Y = np.array([0.71, 1.6, 2.5]), np.array([0.3, -0.4, 0.9])

each = pytest.mark.parametrize("f", long_loops.PROGRAMS)


def rows_of(g):
    """What eager code gives, row by row: a value and two derivatives."""
    return np.array([[v, *slopes] for v, slopes in (g(float(x), float(y)) for x, y in zip(X, Y))]).T


def columns(found):
    return np.array([found[0], *found[1]])


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


@each
def test_threads_that_compile_it_at_the_same_time_get_the_same_numbers(f):
    g = value_and_grad(f, (0, 1))
    shared = vmap(g)
    found = together(lambda k: columns((shared if k else vmap(g))(X, Y)), 3)
    close(found[0], rows_of(g))
    assert all(np.array_equal(found[0], other) for other in found)


@each
def test_a_pickle_of_the_compiled_function_computes_the_same(f):
    g = value_and_grad(f, (0, 1))
    compiled = vmap(g)
    want = columns(compiled(X, Y))
    other = pickle.loads(pickle.dumps(compiled))
    assert np.array_equal(columns(other(X, Y)), want)
    assert "a loop in the tape" in other.explain(X, Y)


PROGRAM = """
import micrograd.compile.cache as cache
import numpy as np
from micrograd import value_and_grad, vmap
from stage import long_loops
loaded, load = [], cache.load
cache.load = lambda key: (lambda code: (loaded.append(key) if code else None, code)[1])(load(key))
for f in long_loops.PROGRAMS:
    value, slopes = vmap(value_and_grad(f, (0, 1)))(np.array([0.7, 1.6]), np.array([0.3, -0.4]))
    print(*[x.hex() for column in (value, *slopes) for x in column.tolist()])
print(len(loaded) >= len(long_loops.PROGRAMS))
"""


def test_another_process_takes_its_machine_code_from_the_disk(run_python, tmp_path):
    tests = PACKAGE.parents[1] / "tests"
    how = {"MICROGRAD_CACHE": str(tmp_path / "kernels"), "PYTHONPATH": f"{PACKAGE.parent}:{tests}"}
    first, second = (run_python(PROGRAM, **how).stdout.split("\n") for _ in range(2))
    assert first[:2] == second[:2] and all(first[:2])
    assert (first[2], second[2]) == ("False", "True")


@each
def test_the_second_order_is_that_of_eager_code(f):
    def slope(x, y):
        a, b = grad(f, (0, 1))(x, y)
        return a * 1.5 + b

    g = value_and_grad(slope, (0, 1))
    batch = vmap(g)
    close(columns(batch(X, Y)), rows_of(g))
    assert len(list(batch.variants)) == 1
    assert check_grad(jit(f), X[0], Y[0])


@each
def test_a_sum_over_rows_is_the_sum_of_the_rows(f):
    g = value_and_grad(f, (0, 1))
    close(columns(vmap(g, reduce="sum")(X, Y)), np.sum(rows_of(g), axis=1))


@each
def test_captured_values_get_their_gradients(f):
    weight = Value(1.25)
    g = vmap(lambda x, y: weight * f(x, y) * weight, reduce="sum")
    total = g(X, Y)
    total.backward()
    values = rows_of(value_and_grad(f, (0, 1)))[0]
    close([total.data, weight.grad], [weight.data**2 * values.sum(), 2.0 * weight.data * values.sum()])
