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


def test_determinants_have_a_tape_for_each_size():
    function = importlib.import_module("det").determinant
    found = running.staged(function, (_random(4, 4),))
    given = (_random(4, 4) - 1.0,)
    assert running.equal(running.run(found, given), function(*given))
    assert any(g.how == "argument" and g.value == (4, 4) for g in found.guards)
    assert "fixed" in found.notes[-1][1]
