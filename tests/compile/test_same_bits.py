"""A result depends on the arguments alone: not on history, row order, threads, batch_size, memory layout or tier."""

from __future__ import annotations

import itertools
import random

import pytest

from background import settle
from micrograd import Value, jit, math, value_and_grad, vmap
from micrograd.compile import worker
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm

ROWS = 5000
X = np.random.default_rng(0).normal(size=ROWS)
Y = np.random.default_rng(1).normal(size=ROWS)


def smooth(w, x, y):
    s = x * y + 0.3 * w
    for k in range(6):
        s = s * x + y * math.sin(s) - 0.1 * k * w * s
    return s


def branching(w, x, y):
    """Nine paths."""
    a = x * y - w * x
    b = w * x * x if a > 0.4 else a * w if a > -0.4 else w - a
    c = b * y - x
    return b * c if c > 0.5 else c * w + b if c > -0.5 else math.exp(-c * c) * w


def total(f, x, y, reduce="sum", **options):
    """Sum and gradient, in hexadecimal: what a test can compare to the bit."""
    w = Value(0.7)
    result = vmap(lambda x, y: f(w, x, y), reduce=reduce, **options)(x, y)
    result.backward()
    return result.data.hex(), w.grad.hex()


@pytest.mark.parametrize("f", [smooth, branching])
class TestSums:
    @pytest.mark.parametrize("reduce", ["sum", "mean"])
    def test_batch_size_changes_no_bit(self, f, reduce):
        want = total(f, X, Y, reduce)
        for size in (1, 7, 100, 2047, 2048, 2049, 4096, ROWS - 1, ROWS, 10 * ROWS):
            assert total(f, X, Y, reduce, batch_size=size) == want

    @pytest.mark.parametrize("options", [{}, {"exact": True}, {"fastmath": True}, {"float32": True}])
    def test_threads_change_no_bit(self, f, options):
        assert len({total(f, X, Y, threads=n, **options) for n in (1, 2, 7)}) == 1

    def test_memory_layout_changes_no_bit(self, f, monkeypatch):
        for pack in (65_536, 1):  # rows in lanes, and row after row
            monkeypatch.setattr(TUNING, "pack_rows", pack)
            monkeypatch.setattr(TUNING, "pack_rows_cost", 10.0)
            both = np.stack([X, Y], axis=1)  # strided columns are copied 512 rows at a time
            assert total(f, both[:, 0], both[:, 1]) == total(f, X, Y)

    def test_the_paths_found_before_change_no_bit(self, f):
        want = total(f, X, Y)
        for seed in range(6):
            w = Value(0.7)
            g = vmap(lambda x, y, w=w: f(w, x, y), reduce="sum")
            order = np.random.default_rng(seed).permutation(ROWS)
            for first in range(3):  # other rows come first, and find the paths in another order
                g(X[order[first * 9 :]], Y[order[first * 9 :]])
            result = g(X, Y)
            result.backward()
            assert (result.data.hex(), w.grad.hex()) == want

    def test_blocks_can_be_summed_apart(self, f):
        from micrograd.compile.backend import BLOCK

        parts = [
            [float.fromhex(x) for x in total(f, X[i : i + BLOCK], Y[i : i + BLOCK])] for i in range(0, ROWS, BLOCK)
        ]
        sums = [0.0, 0.0]
        for part in parts:
            sums = [a + b for a, b in zip(sums, part)]
        assert tuple(x.hex() for x in sums) == total(f, X, Y)


@pytest.mark.parametrize("exact", [False, True])
def test_a_row_does_not_depend_on_its_neighbours(exact):
    rows = vmap(lambda x, y: branching(0.7, x, y), exact=exact)
    want = rows(X, Y)
    order = np.random.default_rng(3).permutation(ROWS)
    assert (vmap(lambda x, y: branching(0.7, x, y), exact=exact)(X[order], Y[order]) == want[order]).all()
    for r in (0, 17, ROWS - 1):
        assert rows(X[r : r + 1], Y[r : r + 1])[0] == want[r]
    if exact:
        assert want.tolist() == [branching(0.7, x, y) for x, y in zip(X.tolist(), Y.tolist())]


POINTS = [(x, y) for x, y in zip(X[:12].tolist(), Y[:12].tolist())]
FUNCTIONS = {
    "smooth": lambda x, y: smooth(0.7, x, y),
    "branching": lambda x, y: branching(0.7, x, y),
    "gradient": value_and_grad(lambda x, y: smooth(0.7, x, y), (0, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
class TestTiers:
    """Twenty runs of each mode that promises bits: whichever call is answered by whichever tier, in whatever order."""

    def twenty(self, make, run=lambda f, p: f(*p)):
        found: dict = {}
        for seed in range(20):
            f = make()
            points = POINTS * 2
            random.Random(seed).shuffle(points)
            for p in points:
                found.setdefault(p, set()).add(repr(run(f, p)))
        assert all(len(results) == 1 for results in found.values())
        return {p: next(iter(results)) for p, results in found.items()}

    def test_wait(self, name):
        self.twenty(lambda: jit(FUNCTIONS[name], wait=True))

    def test_exact_in_the_background(self, name):
        found = self.twenty(lambda: jit(FUNCTIONS[name], exact=True))
        if name != "gradient":
            assert found == {p: repr(FUNCTIONS[name](*p)) for p in POINTS}

    def test_compile_first(self, name):
        def run(f, p):
            with worker.compile_first():
                return f(*p)

        waiting = self.twenty(lambda: jit(FUNCTIONS[name], wait=True))
        assert self.twenty(lambda: jit(FUNCTIONS[name]), run) == waiting

    def test_compile_first_waits_for_what_is_being_compiled(self, name):
        for p in POINTS[:3]:
            f = jit(FUNCTIONS[name])
            f(*p)  # asks for code in the background
            with worker.compile_first():
                assert repr(f(*p)) == repr(jit(FUNCTIONS[name], wait=True)(*p))

    def test_rows(self, name):
        def run(f, p):
            return [
                x.tolist() if hasattr(x, "tolist") else x
                for x in np.atleast_1d(f(np.array([p[0]]), np.array([p[1]]))[0])
            ]

        self.twenty(lambda: vmap(FUNCTIONS[name]), run)


def test_long_rows_round_alike_before_and_after_they_are_optimized(monkeypatch):
    monkeypatch.setattr(TUNING, "long_text", 10)  # a text that is compiled quickly first, where that is allowed
    for exact in (False, True):
        f = vmap(lambda x, y: smooth(0.7, x, y), exact=exact)
        first = f(X, Y)
        settle()
        assert (f(X, Y) == first).all()


def test_values_and_gradients_of_a_step_have_the_bits_of_the_first(monkeypatch):
    """A captured Value, as in training: twenty runs of some steps end with the same number."""
    ends = set()
    for _ in range(20):
        w = Value(0.7)
        step = jit(lambda x, y, w=w: branching(w, x, y))
        with worker.compile_first():
            for x, y in itertools.islice(POINTS, 6):
                w.grad = 0.0
                step(x, y).backward()
                w.data -= 0.1 * w.grad
        ends.add(w.data.hex())
    assert len(ends) == 1


@pytest.mark.parametrize("mode", [{}, {"exact": True}, {"wait": True}, {"fastmath": True}])
def test_twenty_fits_with_a_compiled_objective_end_alike(mode):
    from micrograd import losses, nn, optim, train

    x = np.linspace(-1.0, 1.0, 12)
    ends = set()
    for _ in range(20):
        random.seed(3)
        model = nn.MLP(1, [4, 1])

        def row(a, b, model=model):
            error = model([a]) - b
            return error * error if error > 0 else 2.0 * error * error

        objective = jit(lambda xs, ys, row=row: math.sum([row(a, b) for a, b in zip(xs, ys)]), **mode)
        train.fit(model, (x.tolist(), (x * x).tolist()), losses.mse, optim.SGD(model.parameters(), 0.01), epochs=2,
                  batch_size=4, rng=1, objective=objective, quiet=True)  # fmt: skip
        ends.add(tuple(p.data.hex() for p in model.parameters()))
    assert len(ends) == 1
