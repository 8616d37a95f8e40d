"""Which variant takes a row depends on the row alone: bits are the same in every history of calls, on every tier."""

from __future__ import annotations

import random
import sys

import pytest

from random_programs import needs_llvm
from twins import ROOT

np = pytest.importorskip("numpy", reason="rows need NumPy")
sys.path.insert(0, str(ROOT))

from fuzz import history  # noqa: E402
from fuzz.check import Failure, check  # noqa: E402
from fuzz.generate import Program, generate  # noqa: E402

from micrograd import Value, jit, math, no_grad, value_and_grad, vmap  # noqa: E402
from micrograd.compile.chain import Tracer, accepts  # noqa: E402
from micrograd.stage import ahead, attempt  # noqa: E402
from micrograd.stage.limits import Limits  # noqa: E402
from stage.unbounded import deep, grows  # noqa: E402
from threads import together  # noqa: E402

pytestmark = needs_llvm


def apart_for_nan(x0, x1, x2):
    """`in` asks whether a nan is the same object, so rows with a nan are kept apart; their path is that of other rows."""

    def h(a, b):
        if b in (a, b * b):
            return 0.0
        return a

    if x0:
        pass
    else:
        x1 += x2
    return h(x1, math.pow(x1, x1)) + x0 * x0


NAN_AND_OTHERS = np.array([
    [-0.34172226425112573, -1.3731299334069895, 0.0],
    [-1.6988620368514766, 0.8908789763847373, 0.2],
    [0.653859183110701, -0.24577486428634154, 0.0],
    [0.3333333333333333, 0.7991194587553982, 3.0],
])  # fmt: skip


def test_a_row_that_is_kept_apart_may_come_first():
    expected = vmap(apart_for_nan)(*NAN_AND_OTHERS.T)
    for first in range(4):
        h = vmap(apart_for_nan)
        order = np.roll(np.arange(4), -first)
        h(*NAN_AND_OTHERS[order[:1]].T)
        np.testing.assert_array_equal(h(*NAN_AND_OTHERS[order].T), expected[order])


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_sums_of_rows_that_two_variants_hold_for(reduce):
    scales = np.random.default_rng(0).uniform(0.5, 1.0, (1500, 1))
    rows = (NAN_AND_OTHERS[None] * scales[:, None]).reshape(-1, 3)  # three blocks, each with both kinds of rows
    expected = vmap(apart_for_nan, reduce=reduce)(*rows[np.isfinite(vmap(apart_for_nan)(*rows.T))].T)
    assert np.isfinite(expected)
    full = vmap(apart_for_nan, reduce=reduce)(*rows.T)
    for first in range(4):
        h = vmap(apart_for_nan, reduce=reduce, threads=1 + first % 2)
        h(*rows[first : first + 1].T)
        got = h(*rows.T)
        assert got == full or (np.isnan(got) and np.isnan(full))
        assert h(*rows[np.isfinite(vmap(apart_for_nan)(*rows.T))].T) == expected


def in_arms(x, y):
    p = x if x > y else y
    return p * x + p * y + x * x - y * y * p


@pytest.mark.parametrize("f", [in_arms, value_and_grad(in_arms, (0, 1))])
@pytest.mark.parametrize("recording", [True, False])
def test_points_after_calls_on_values(f, recording):
    """A call on Values makes the variant of one path, which a call on numbers must not use before the merged one."""
    r = random.Random(0)
    points = [(r.gauss(0.0, 1.0), r.gauss(0.0, 1.0)) for _ in range(40)]
    afresh, after = jit(f, wait=True), jit(f, wait=True)
    for x, y in ((1.1, 0.3), (0.3, 1.1)):
        if recording:
            after(Value(x), Value(y))
        else:
            with no_grad():
                after(Value(x), Value(y))
    assert [after(*p) for p in points] == [afresh(*p) for p in points]


def long_loop_that_may_raise(x):
    y = x
    for _ in range(20_000):
        y = y * 0.9999 + 1e-7
    if x > 5:
        raise ValueError("too large")
    return y


@pytest.mark.parametrize("wait", [True, False])
def test_a_row_that_a_long_loop_rejects_raises_what_it_raises(wait):
    """It got 0.0: the number that stands for a result which was not computed."""
    f = jit(long_loop_that_may_raise, wait=wait)
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            f(6.0)
        assert f(1.0) == pytest.approx(long_loop_that_may_raise(1.0))


def a_while_beside_a_for(x, y):
    """Whether the `while` is long depends on the row, and must not decide what becomes of the `for`."""
    while x > 1.0:
        x = x * 0.999 + y * 1e-5 * x
    s = 0.0
    for _ in range(20):
        s = s * y + x * y + math.sin(s * x)
    return s + x * y


def test_how_long_a_loop_is_in_the_first_row():
    points = [(1e9, 0.3), (2.0, 0.7), (1.5, 0.2), (0.5, 0.1)]
    f = value_and_grad(a_while_beside_a_for, (0, 1))
    expected = [jit(f, wait=True)(*p) for p in points]
    for first in range(4):
        h = jit(f, wait=True)
        order = [*range(first, 4), *range(first)]
        assert [h(*points[k]) for k in order] == [expected[k] for k in order]


@pytest.mark.parametrize("f", [grows, deep])
@pytest.mark.filterwarnings("error")
def test_loops_that_are_written_out_further_for_some_rows(f):
    g = value_and_grad(f)
    xs = np.array([0.02, 3.0, 0.5, 45.0, 0.011, 7.0, 60.0, 1.1, 0.005, 22.0, 0.3, 1e-4])
    whole = vmap(g)
    expected = np.stack(whole(xs))
    np.testing.assert_allclose(expected.T, [g(x) for x in xs.tolist()], rtol=1e-12)
    levels = [v.tape for v in whole.variants]
    assert len(levels) == 2 and all(v.trace.merged for v in whole.variants)
    total = vmap(lambda x: g(x)[1], reduce="sum")(np.tile(xs, 9))
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(xs))
        h = vmap(g)
        np.testing.assert_array_equal(np.stack([np.ravel(h(xs[[k]])) for k in order], axis=1), expected[:, order])
        summed = vmap(lambda x: g(x)[1], reduce="sum")
        summed(xs[order[:1]])
        assert summed(np.tile(xs, 9)) == total
        point = jit(g, wait=True)
        afresh = {k: jit(g, wait=True)(xs[k]) for k in order[:2].tolist()}
        for k in order.tolist():
            assert point(xs[k]) == afresh.get(k, point(xs[k]))


def long_and_growing(x):
    y = x
    for _ in range(3000):
        y = y * 0.9999 + 1e-7
    items = [x]
    while items[-1] < 50:
        items.append(items[-1] * 1.5 + y)
    return sum(items)


def test_a_level_that_cannot_be_staged_ends_the_levels(monkeypatch):
    """Rows that need it are then traced along their own paths; the levels before it are as they were."""
    rolled = ahead.rolled
    asked = []

    def up_to_level_0(*args):
        limits = next(a for a in args if isinstance(a, Limits))
        asked.append(limits.level)
        return rolled(*args) if limits.level == 0 else None

    monkeypatch.setattr(ahead, "rolled", up_to_level_0)
    xs = np.array([40.0, 1e-3, 30.0, 2e-3])
    for order in ([0, 1, 2, 3], [1, 3, 0, 2]):
        asked.clear()
        h = vmap(long_and_growing)
        np.testing.assert_allclose(h(xs[order]), [long_and_growing(x) for x in xs[order].tolist()], rtol=1e-9)
        assert asked == [0, 1]
        assert [v.trace.staged for v in h.variants] == [True, False, False]


def test_other_kinds_of_numbers_have_variants_of_their_own():
    def f(x, y):
        if isinstance(x, int):
            return x * y + y * y if x > y else x * x * y + 0.1 * y
        return x * y * 3.0 + y * y if x > y else x * x * y + 0.3 * y

    points = [(1, 0.7), (0.9, 0.4), (2, 3.3), (0.2, 0.9), (True, 0.3)]
    expected = [jit(f, wait=True)(*p) for p in points]
    for seed in range(5):
        order = random.Random(seed).sample(range(5), 5)
        h = jit(f, wait=True)
        assert [h(*points[k]) for k in order] == [expected[k] for k in order]


def test_threads_that_call_a_new_function_at_once():
    points = [tuple(row) for row in NAN_AND_OTHERS.tolist()]
    expected = [jit(apart_for_nan, wait=True)(*p) for p in points]
    for _ in range(3):
        h = jit(apart_for_nan, wait=True)
        np.testing.assert_array_equal(together(lambda k, h=h: h(*points[k])), expected)


def test_a_merged_variant_is_checked_on_the_first_row_that_it_takes(monkeypatch):
    """A row that is kept apart comes first, so that there was nothing to check; a defect is seen all the same."""
    stage = attempt.stage

    def broken(*args, **how):
        found = stage(*args, **how)
        last = found.tape.outputs[0]
        found.tape = found.tape.copy(outputs=(found.tape.args[last][0],))
        return found

    monkeypatch.setattr(attempt, "stage", broken)
    rows, point = vmap(apart_for_nan), jit(apart_for_nan, wait=True)
    for call in (lambda row: rows(*np.array([row]).T)[0], lambda row: point(*row)):
        first, row = NAN_AND_OTHERS[0].tolist(), NAN_AND_OTHERS[3].tolist()
        call(first)
        with pytest.warns(RuntimeWarning, match="please report it"):
            assert call(row) == pytest.approx(apart_for_nan(*row))
        assert call(row) == pytest.approx(apart_for_nan(*row))


# ---- random programs


@pytest.mark.parametrize("seed", [413200, 1000, 1001, *range(1003, 1010)])
def test_random_programs_in_random_histories(seed):
    check(generate(seed), random.Random(seed), False, every=1000, histories=True)


def test_the_fuzzer_sees_rows_that_history_gives_to_one_variant_or_another(monkeypatch):
    """As before: a merged trace that rejects the first row is not kept, and the path of that row serves others."""
    keep = Tracer.next

    def forget(self, chain):
        found = keep(self, chain)
        return found if found is not None and accepts(found, self.checker.values) else None

    text = (
        "def f(x0, x1, x2):\n    def h(a, b):\n        if b in (a, b * b):\n            return 0.0\n        return a\n"
        "    if x0:\n        pass\n    else:\n        x1 += x2\n    return h(x1, m.pow(x1, x1)) + x0 * x0\n"
    )
    rows = NAN_AND_OTHERS.tolist()

    def batches():
        for seed in range(6):
            history.batches_agree(Program(3, (), text, False), rows, random.Random(seed), False)

    batches()
    monkeypatch.setattr(Tracer, "next", forget)
    with pytest.raises(Failure, match="in batches"):
        batches()
