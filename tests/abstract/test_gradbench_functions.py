"""The functions of GradBench's twelve evals as typed tapes: the results of plain Python, to the bit."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import running

TOOL = Path(__file__).resolve().parents[2] / "benchmarks" / "gradbench" / "tool"
np = pytest.importorskip("numpy")


def _random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def _gmm(n):
    k = n + 1
    independent = {"alpha": _random(k), "mu": _random(k, n), "q": _random(k, n), "l": _random(k, n * (n - 1) // 2)}
    return independent, _random(n + 2, n), 2, 0.7


CASES = {
    ("lse", "logsumexp"): lambda n: (_random(n),),
    ("llsq", "half_sum_of_squares"): lambda n: (_random(n), n + 3),
    ("kmeans", "total_distance"): lambda n: (_random(n + 4, n), _random(n - 2, n)),
    ("gmm", "log_posterior"): _gmm,
    ("ode", "solve"): lambda n: (_random(n), n),
    ("ode", "last"): lambda n: (_random(n), n),
    ("lstm", "loss"): lambda n: (_random(4, 4 * n), _random(3, n), _random(4, n), _random(n + 1, n)),
    ("ba", "reprojection_error"): lambda n: (_random(11), _random(3), 0.3, _random(2)),
    ("ba", "weight_error"): lambda n: (0.1 * n,),
    ("saddle", "f"): lambda n: (_random(2), _random(2)),
}


@pytest.fixture(scope="module", autouse=True)
def tool():
    sys.path.insert(0, str(TOOL))
    yield
    sys.path.remove(str(TOOL))


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_one_tape_serves_all_sizes(case):
    module, name = case
    function, arguments = getattr(importlib.import_module(module), name), CASES[case]
    found = running.staged(function, arguments(9))
    for n in (9, 5, 12):
        given = arguments(n)
        wanted = function(*given)
        assert running.equal(running.run(found, given), wanted)


@pytest.mark.parametrize("n", [2, 4, 6, 7])
def test_determinants_have_a_tape_for_each_size(n):
    function = importlib.import_module("det").determinant
    found = running.staged(function, (_random(n, n),))
    given = (_random(n, n) - 1.0,)
    assert running.equal(running.run(found, given), function(*given))
    assert {g.value for g in found.guards if g.how == "argument"} >= {n}
    assert "fixed" in found.notes[-1][1]
    assert len(found.tape) < 60 * n  # the depth of the recursion, and not the number of minors


def test_the_matrices_of_bones_may_be_products_or_not():
    """One of two lists of lists is appended: both move into the pool, and a number says which of them it is."""
    ht = importlib.import_module("ht")

    def moved(parents, bases):
        absolutes = []
        for parent, base in zip(parents, bases):
            absolutes.append([list(row) for row in base] if parent == -1 else ht.product(absolutes[parent], base))
        return sum(sum(row) for absolute in absolutes for row in absolute)

    parents = [-1, 0, 1, 1, 0, 4, 5, 4, -1, 8]
    found = running.staged(moved, (parents, _random(10, 3, 3)))
    for n in (10, 4, 2):
        given = parents[:n], _random(n, 3, 3)
        assert running.equal(running.run(found, given), moved(*given))


@pytest.mark.slow
@pytest.mark.parametrize("vertices", [30, 90])
def test_a_hand_has_one_tape_for_all_vertices_and_points(vertices):
    ht = importlib.import_module("ht")
    inputs = pytest.importorskip("benchmarks.gradbench.inputs")
    given = [ht.arguments(inputs.ht(n, vertices=v, triangles=9)) for n, v in ((11, 20), (vertices // 3, vertices))]
    found = running.staged(ht.differences, given[0])
    assert len(found.tape) < 1_500
    assert running.equal(running.run(found, given[1], 10**8), ht.differences(*given[1]))
