"""Which variants vmap makes for rows: what it looks up again, what it withdraws, and what it says of rows that differ."""

from __future__ import annotations

import pytest

from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="rows need NumPy")

from micrograd import Value, vmap  # noqa: E402
from micrograd.compile.batch import ByVariant  # noqa: E402
from micrograd.stage import attempt  # noqa: E402
from micrograd.tape import interpret  # noqa: E402

pytestmark = [needs_llvm, pytest.mark.filterwarnings("error")]


def by_sign(x):
    return x * x if x > 0.0 else 3.0 * x


def apart_above_five(x):
    """The second arm is kept apart: what an `except` catches cannot be merged."""
    if x > 5.0:
        try:
            return len(x)
        except TypeError:
            return 7.0 * x
    return x * x if x > 1.0 else 3.0 * x


def arranged_apart(x):
    """The same after a long loop, with another arrangement of results."""
    y = 0.0
    for _ in range(20_000):
        y = y + x * 1e-3
    if x > 5.0:
        try:
            return len(x)
        except TypeError:
            return x, 2.0 * x
    return y


def at(tape, x):
    return interpret.run(tape, [x], [])[0]


def test_exact_rows_have_a_tape_for_each_path():
    h = vmap(by_sign, exact=True)
    assert h(np.array([2.0, -1.0])).tolist() == [4.0, -3.0]
    assert [v.trace.staged for v in h.variants] == [False, False]
    h = vmap(by_sign)
    assert h(np.array([2.0, -1.0])).tolist() == [4.0, -3.0]
    assert [v.trace.merged for v in h.variants] == [True]


@pytest.mark.parametrize("first", [2.0, -1.0])
def test_the_tape_of_a_row_is_that_of_its_path(first):
    h = vmap(by_sign, exact=True)
    for x in (first, 2.0, -1.0, 3.0, -2.0):
        assert at(h.tape(np.array([x])), x) == by_sign(x)
    assert len(list(h.variants)) == 2
    with pytest.raises(interpret.GuardFailed):
        at(h.tape(np.array([2.0])), -1.0)


def test_the_tape_of_a_row_is_the_merged_one_where_that_takes_it():
    h = vmap(apart_above_five)
    tape = h.tape(np.array([2.0]))
    assert [at(tape, x) for x in (2.0, 0.5)] == [4.0, 1.5]
    assert [v.trace.staged for v in h.variants] == [True]
    h = vmap(apart_above_five)
    assert at(h.tape(np.array([6.0])), 6.0) == 42.0  # the merged tape, which is made first, does not hold for this row
    assert [v.trace.staged for v in h.variants] == [True, False]


def test_a_row_that_its_own_kernel_rejects_is_interpreted(monkeypatch):
    def accepts_nothing(self, variant):
        self.remaining = np.arange(self.rows.rows) if self.remaining is None else self.remaining

    monkeypatch.setattr(ByVariant, "run", accepts_nothing)
    xs = np.array([2.0, -1.0, 3.0, -2.0])
    h = vmap(by_sign, exact=True)
    assert h(xs).tolist() == [by_sign(x) for x in xs.tolist()]
    assert len(list(h.variants)) == 2


def test_an_arrangement_that_no_row_has_is_forgotten():
    assert vmap(arranged_apart)(np.array([2.0, 3.0])).tolist() == pytest.approx([40.0, 60.0])
    a, b = vmap(arranged_apart)(np.array([7.0, 8.0]))
    assert (a.tolist(), b.tolist()) == ([7.0, 8.0], [14.0, 16.0])
    for rows in ([2.0, 7.0], [7.0, 2.0]):
        with pytest.raises(TypeError, match="arrange their results in different ways"):
            vmap(arranged_apart)(np.array(rows))


def test_arrangements_that_differ_are_told_after_paths_were_numbered_anew():
    a, b = Value(2.0), Value(3.0)

    def f(x):
        if x > 5.0:
            try:
                return len(x)
            except TypeError:
                return a * b * x if x > 7.0 else (b * x, x)
        return a * x if x > 1.0 else 3.0 * a * x

    h = vmap(f)
    assert [y.data for y in h(np.array([2.0, 0.5]))] == [4.0, 3.0]
    assert [y.data for y in h(np.array([2.0, 8.0]))] == [4.0, 48.0]
    for _ in range(2):
        with pytest.raises(TypeError, match="in different ways"):
            h(np.array([2.0, 6.0]))
    assert [y.data for y in h(np.array([8.0, 2.0]))] == [48.0, 4.0]


@pytest.mark.filterwarnings("default")
def test_a_merged_variant_that_fails_its_first_check_is_withdrawn(monkeypatch):
    """The first row is kept apart, so that the check is made on the rows that it takes later: some of them are right."""
    stage = attempt.stage

    def wrong(*args, **how):
        found = stage(*args, **how)
        changed = [(4.0,) if a == (3.0,) else a for a in found.tape.args]
        found.tape = found.tape.copy(args=changed)
        return found

    monkeypatch.setattr(attempt, "stage", wrong)
    h = vmap(apart_above_five)
    assert h(np.array([6.0])).tolist() == [42.0]
    for variant in h.variants:
        variant.trace.evidence.arms = None  # as after many calls, which are not looked at any longer
    xs = np.array([2.0, 0.5, 6.0])
    with pytest.warns(RuntimeWarning, match="please report it"):
        assert h(xs).tolist() == [4.0, 1.5, 42.0]
    assert not any(v.trace.staged for v in h.variants)
    assert h(xs).tolist() == [4.0, 1.5, 42.0]
