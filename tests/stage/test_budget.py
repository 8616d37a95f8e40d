"""The check of a merged tape before its first use: it looks for rows that are short, and interprets no more than its budget."""

import numpy as np
import pytest

from micrograd import jit, math, value_and_grad, vmap
from micrograd.evidence import arms, merged
from micrograd.stage import ahead, attempt
from micrograd.tape import interpret


def walk(x, iterations):
    k = 0.0
    while k < iterations:
        x = x - 1e-4 * math.sin(x)
        k = k + 1.0
    return x if x > 0.0 else x * 2.0


XS = np.linspace(-1.0, 1.0, 40)


@pytest.fixture
def counted(monkeypatch):
    """How many instructions are interpreted in runs of tapes, loops included; with a budget that is a tenth of the real one."""
    for module, names in ((arms, ("LOOKED", "ROW", "SHORT")), (merged, ("WORK", "ROW", "SHORT"))):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name) // 10)
    count = [0]
    real = interpret.run

    def run(tape, *args):
        count[0] += len(tape)
        return real(tape, *args)

    monkeypatch.setattr(interpret, "run", run)
    return count


@pytest.mark.parametrize("derive", [lambda f: f, value_and_grad])
def test_long_rows_are_not_interpreted_where_there_are_short_ones(counted, derive):
    iterations = np.where(np.arange(40) % 4 == 0, 4.0, 5_000.0)
    found = vmap(derive(walk))(XS, iterations)
    values = found if derive(walk) is walk else found[0]
    assert values[:2].tolist() == pytest.approx([walk(x, n) for x, n in zip(XS[:2].tolist(), iterations[:2].tolist())])
    assert counted[0] < 2 * (arms.LOOKED + merged.WORK)


def test_rows_that_are_all_long_are_looked_at_within_the_budget_and_explain_says_so(counted):
    h = vmap(value_and_grad(walk))
    h(XS, np.full(40, 5e3))
    assert counted[0] < 2 * (arms.LOOKED + merged.WORK)
    assert "not compared with plain Python" in h.explain(XS, np.full(40, 5e3))


@pytest.mark.parametrize("first", [3.0, 2e3])
def test_a_wrong_merge_is_found_on_the_short_rows_among_long_ones(monkeypatch, counted, first):
    real = attempt.stage

    def broken(*args):
        found = real(*args)
        tape = found.tape
        wrong = [(-1.0,) if op.name == "const" and a[0] == 2.0 else a for op, a in zip(tape.ops, tape.args)]
        found.tape = tape.copy(args=wrong)
        return found

    for module in (attempt, ahead):
        monkeypatch.setattr(module, "stage", broken)
    iterations = np.full(40, 2.0)
    iterations[0], iterations[5:7] = first, 2e3
    with pytest.warns(RuntimeWarning, match="please report it"):
        found = vmap(walk)(XS[:9], iterations[:9])
    assert found[1] == pytest.approx(walk(XS[1], 2.0))


def test_points_of_long_loops_give_what_plain_python_gives():
    h = jit(walk)
    for point in [(0.5, 3e3), (0.5, 3.0), (-0.5, 3e3), (-0.5, 3.0)]:
        assert h(*point) == pytest.approx(walk(*point), rel=1e-12)
