"""Rows whose paths have no tape in common for SIMD lanes: a typed tape has them all, so no path is compiled on its own."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from micrograd import Value, grad, jit, value_and_grad, vmap
from micrograd.compile.vmap import Vmap
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.filterwarnings("error")]
RANDOM = np.random.default_rng(3)
X, Y = RANDOM.uniform(0.0, 60.0, 500), RANDOM.uniform(0.1, 1.0, 500)


class Pair(NamedTuple):
    first: float
    second: float


def times(x, y):
    total = 0.0
    for i in range(int(x)):
        total += y * i
    return total


def listed(x, y):
    items = []
    for i in range(int(x)):
        items.append(math.sin(y * i))
    return sum(items)


def counted(x, y):
    state, k = y, 0
    while k < int(x):
        state = state * 0.9 + y
        k += 1
    return state


def arranged(x, y):
    total = y
    for k in range(int(x)):
        total += 0.5 * k
    return {"pair": Pair(total, x), "list": [y, (total,)]}


@pytest.fixture
def typed(monkeypatch):
    """How many rows went to a typed tape in each call."""
    rows = []
    real = Vmap._run_typed

    def run(self, given, plan, work):
        before = given.rows if work.remaining is None else len(work.remaining)
        found = real(self, given, plan, work)
        rows.append(before - len(work.remaining) if found else 0)
        return found

    monkeypatch.setattr(Vmap, "_run_typed", run)
    return rows


@pytest.mark.parametrize("f", [times, listed, counted])
def test_rows_have_the_bits_of_plain_python(f, typed):
    for threads in (1, 2):
        found = jit(vmap(f, threads=threads), exact=True)(X, Y)
        assert found.tolist() == [f(x, y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    assert sum(typed) > 500


@pytest.mark.parametrize("f", [times, listed, counted])
def test_gradients_are_those_of_eager_code(f):
    found = vmap(value_and_grad(f, 1))(X, Y)
    want = [value_and_grad(f, 1)(x, y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    np.testing.assert_allclose(np.array(found).T, np.array(want), rtol=1e-12)
    exact = vmap(grad(f, 1))(X[:40], Y[:40])
    np.testing.assert_allclose(exact, [g for _, g in want[:40]], rtol=1e-12)


def test_a_row_does_not_depend_on_the_others(typed, by_the_stage):
    order = RANDOM.permutation(len(X))
    whole, other = vmap(times)(X, Y), vmap(times)(X[order], Y[order])
    assert whole[order].tolist() == other.tolist()
    one_by_one = vmap(times)
    assert [one_by_one(X[k : k + 1], Y[k : k + 1])[0] for k in range(30)] == whole[:30].tolist()
    assert sum(typed) > 500


def test_sums_do_not_depend_on_threads_or_batches():
    sums = {vmap(listed, reduce="sum", threads=n, batch_size=b)(X, Y) for n in (1, 2) for b in (None, 100)}
    assert len(sums) == 1 and sums.pop() == pytest.approx(sum(map(listed, X.tolist(), Y.tolist())), rel=1e-12)
    mean = vmap(listed, reduce="mean")(X, Y)
    assert mean == pytest.approx(sum(map(listed, X.tolist(), Y.tolist())) / len(X), rel=1e-12)


def test_results_and_arguments_of_every_arrangement():
    found = vmap(arranged)(X, Y)
    rows = [arranged(x, y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    assert type(found["pair"]) is Pair and list(found) == ["pair", "list"] and type(found["list"][1]) is tuple
    assert found["pair"].first.tolist() == [row["pair"].first for row in rows]
    assert found["list"][1][0].tolist() == [row["list"][1][0] for row in rows]

    def f(p, z, n):
        total = 0.0
        for i in range(int(p["a"])):
            total += z[i % 3] * p["b"] * n
        return total

    grid = RANDOM.uniform(size=(3, 500))
    got = vmap(f, in_axes=(0, 1, None))({"b": Y, "a": X}, grid, 3)
    want = [f({"a": X[k], "b": Y[k]}, grid[:, k], 3) for k in range(500)]
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_a_row_that_raises_an_exception_raises_it():
    def f(x, y):
        items = [y]
        for i in range(int(x)):
            items.append(y * i)
        return items[3]

    assert vmap(f)(np.array([5.0, 9.0, 3.0]), np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(IndexError, match="list index out of range"):
        vmap(f)(np.array([5.0, 9.0, 1.0]), np.array([1.0, 2.0, 3.0]))


def test_captured_values_and_other_ways_are_as_before():
    w = Value(2.0)
    y = vmap(lambda x: sum(w * k for k in range(int(x))), reduce="sum")(X[:5])
    y.backward()
    assert w.grad == pytest.approx(sum(k for x in X[:5] for k in range(int(x))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = vmap(times, float32=True)(X[:20], Y[:20])
    np.testing.assert_allclose(single, [times(x, y) for x, y in zip(X[:20], Y[:20])], rtol=1e-5)
