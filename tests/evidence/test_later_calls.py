"""jit at one point: an arm is compared with plain Python when a call first takes it, not only in the first call."""

import warnings

import pytest

from micrograd import jit, value_and_grad, vmap
from micrograd.compile.jit import Jit
from micrograd.evidence import compared as evidence
from micrograd.evidence import merged
from micrograd.stage import ahead, attempt
from micrograd.tape import interpret
from micrograd.tape.tape import CONST

pytestmark = pytest.mark.usefixtures("traced_at_points")


def piecewise(x):
    if x > 0.0:
        return 2.0 * x
    return 3.0 * x


def in_a_loop(x):
    for _ in range(40):
        x = 0.5 * x + 1.0 if x > 1.0 else x + 0.125
    return 3.0 * x if x > 100.0 else x


@pytest.fixture
def wrong_constant(monkeypatch):
    """Staged tapes have 4.0 in place of 3.0."""
    stage = attempt.stage

    def staged(*args, **how):
        found = stage(*args, **how)
        tape = found.tape
        wrong = [(4.0,) if op is CONST and a == (3.0,) else a for op, a in zip(tape.ops, tape.args)]
        found.tape = tape.copy(args=wrong)
        return found

    for module in (attempt, ahead):
        monkeypatch.setattr(module, "stage", staged)


def note_comparisons(rows, monkeypatch):
    """Note the rows that are compared in later calls than the first."""
    agrees = merged.agrees
    monkeypatch.setattr(merged, "agrees", lambda *a, **how: (how and rows.append(a[3])) or agrees(*a, **how))


@pytest.mark.parametrize("wait", [False, True])
def test_a_wrong_arm_is_noticed_in_the_call_that_takes_it(wrong_constant, wait):
    f = jit(piecewise, wait=wait)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    with pytest.warns(
        RuntimeWarning, match="merged paths of piecewise give.*-4.0.*\n.*one by one.*\n.*has changed since"
    ):
        assert f(-1.0) == -3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(x) for x in (1.0, -2.0)] == [2.0, -6.0]


def test_so_is_a_wrong_gradient(wrong_constant):
    f = jit(value_and_grad(piecewise))
    assert f(1.0) == (2.0, 2.0)
    with pytest.warns(RuntimeWarning, match="please report it"):
        assert f(-1.0) == (-3.0, 3.0)


def test_a_wrong_arm_in_the_last_call_that_is_looked_at_is_not_kept(wrong_constant, monkeypatch):
    installed = []
    monkeypatch.setattr(Jit, "_install", lambda self, shape, variant: installed.append(variant))
    f = jit(piecewise, wait=True)
    assert f(1.0) == 2.0
    (variant,) = f.variants
    variant.trace.evidence.arms.budget.left = 1e-9
    installed.clear()
    with pytest.warns(RuntimeWarning, match="please report it"):
        assert f(-1.0) == -3.0
    assert variant not in installed
    assert [f(x) for x in (-1.0, -2.0, 3.0)] == [-3.0, -6.0, 6.0]


def test_each_arm_is_compared_once_and_the_looks_come_to_an_end(monkeypatch):
    compared, looked = [], []
    monkeypatch.setattr(evidence, "clock", lambda: len(looked) * evidence.LOOKING / 100)  # a hundred take that time
    holds = merged._holds
    note_comparisons(compared, monkeypatch)
    monkeypatch.setattr(merged, "_holds", lambda *a: looked.append(a[-1]) or holds(*a))
    for f, rows in ((piecewise, (1.0, 2.0, -1.0, -2.0, 0.0)), (in_a_loop, (0.0, 3.0, 0.5, 1e15))):
        compiled = jit(f, wait=True)
        compared.clear()
        looked.clear()
        for _ in range(64):
            assert [compiled(x) for x in rows] == [f(x) for x in rows]
        assert len(compared) == 1
        assert 100 <= len(looked) <= 101


@pytest.mark.parametrize("reduce", [None, "sum"])
def test_a_wrong_arm_is_noticed_in_the_batch_that_has_it(wrong_constant, reduce):
    np = pytest.importorskip("numpy")
    f = vmap(piecewise, reduce=reduce)
    some = np.linspace(1.0, 2.0, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert np.sum(f(some)) == pytest.approx(2.0 * some.sum())
    some[33] = -1.0
    with pytest.warns(RuntimeWarning, match="merged paths of piecewise give"):
        assert np.sum(f(some)) == pytest.approx(2.0 * (some.sum() + 1.0) - 3.0)


def test_batches_are_looked_at_for_some_calls(monkeypatch):
    np = pytest.importorskip("numpy")
    compared, surveys = [], []
    note_comparisons(compared, monkeypatch)
    rare = merged.rare
    monkeypatch.setattr(merged, "rare", lambda *a: surveys.append(1) or rare(*a))
    monkeypatch.setattr(evidence, "clock", lambda: len(surveys) * evidence.OF_ROWS / 5)
    f, rows = vmap(in_a_loop), np.linspace(-1.0, 3.0, 40)
    for k in range(12):
        some = np.append(rows, [1e15] * (k == 3))
        assert f(some).tolist() == [in_a_loop(float(x)) for x in some]
    assert compared == [[1e15]]
    assert all(v.trace.evidence.arms is None for v in f.variants)


class TestTheBudget:
    """A look has a budget: it ends where a row takes too long, and where all rows together do."""

    @pytest.fixture
    def looked_at(self):
        compiled = jit(piecewise, wait=True)
        assert compiled(1.0) == 2.0
        (variant,) = compiled.variants
        return variant.trace, variant.trace.evidence.arms

    def look(self, trace, arms, x):
        return merged.holds_at(piecewise, lambda flat: (tuple(flat), {}), trace, arms, [x])

    def test_a_comparison_costs_its_time(self, looked_at, monkeypatch):
        trace, arms = looked_at
        now = [0.0]
        monkeypatch.setattr(evidence, "clock", lambda: now[0])
        monkeypatch.setattr(merged, "agrees", lambda *_, **how: (now.append(now.pop() + 0.01), 1000) and (None, 1000))
        arms.budget.left = 0.02
        assert self.look(trace, arms, -1.0)
        assert arms.budget.left == 0.01 and trace.evidence.arms is arms
        arms.seen.clear()
        arms.ways.clear()
        assert self.look(trace, arms, -1.0)
        assert arms.budget.left == 0.0 and trace.evidence.arms is None

    def test_a_row_that_takes_too_long_ends_it(self, looked_at, monkeypatch):
        def outcomes(*_):
            raise interpret.TooLong

        trace, arms = looked_at
        monkeypatch.setattr(merged, "outcomes", outcomes)
        assert self.look(trace, arms, -1.0)
        assert trace.evidence.arms is None

    def test_no_row_is_looked_at_when_it_is_used_up(self, looked_at, monkeypatch):
        trace, arms = looked_at
        monkeypatch.setattr(merged, "outcomes", lambda *_: pytest.fail("it is looked at"))
        arms.budget.left = 0.0
        assert self.look(trace, arms, -1.0)
