"""What lies around the machine code: results that are written over, calls like the last one."""

from __future__ import annotations

import copy
import gc
import sys

import pytest

from micrograd import Value, jit, math, no_grad, value_and_grad, vmap
from random_programs import needs_llvm
from threads import together

pytestmark = needs_llvm


def product():
    f = jit(value_and_grad(lambda a, b: a * b + a, (0, 1)), wait=True)
    f(1.0, 1.0)
    return f


def wanted(a, b):
    return a * b + a, (b + 1, a)


class TestResultsAreOnesOwn:
    """A result that nobody has any longer is written over by a later call; one that somebody has never is."""

    @pytest.mark.parametrize("n", [1, 2, 3, 7])
    def test_results_that_are_kept_stay(self, n):
        f, kept = product(), []
        for i in range(40):
            kept.append(f(float(i), 2.0))
            kept = kept[-n:]
            assert kept == [wanted(float(j), 2.0) for j in range(max(0, i - n + 1), i + 1)]

    def test_parts_that_are_kept_stay(self):
        f, values, slopes, one = product(), [], [], []
        for i in range(30):
            y, grads = f(float(i), 3.0)
            match i % 3:
                case 0:
                    values.append((i, y))
                case 1:
                    slopes.append((i, grads))
                case _:
                    one.append((i, grads[1]))
            del y, grads
        assert values == [(i, wanted(float(i), 3.0)[0]) for i, _ in values]
        assert slopes == [(i, wanted(float(i), 3.0)[1]) for i, _ in slopes]
        assert one == [(i, float(i)) for i, _ in one]

    def test_a_result_may_be_an_argument_of_the_next_call(self):
        f, x = product(), 1.0
        for _ in range(10):
            x, (a, b) = f(x, 0.5)
        assert x == 1.5**10 and a == 1.5 and b == 1.5**9

    def test_a_key_of_a_dict_stays(self):
        f = product()
        table = {f(float(i), 1.0): i for i in range(20)}
        assert all(table[wanted(float(i), 1.0)] == i for i in range(20))

    def test_threads_do_not_see_each_other(self):
        f, wrong = product(), []

        def work(seed):
            for i in range(3000):
                a = float(seed * 10_000 + i)
                r = f(a, 2.0)
                if r != wanted(a, 2.0):
                    wrong.append(r)

        together(work)
        assert not wrong

    def test_another_arrangement_of_arguments_gives_another_of_results(self):
        f = jit(lambda *xs: (sum(xs), tuple(x * 2 for x in xs)), wait=True)
        for _ in range(3):
            for n in (1, 2, 3, 2):
                xs = [float(i) for i in range(1, n + 1)]
                for _ in range(3):
                    assert f(*xs) == (sum(xs), tuple(2 * x for x in xs))

    def test_references_balance(self):
        f = product()
        for _ in range(4):
            f(1.0, 2.0)
        gc.collect()
        before = sys.getallocatedblocks()
        for i in range(2000):
            y, _ = f(float(i), 2.0)
            f(y, y)
        del y, _
        gc.collect()
        assert sys.getallocatedblocks() - before < 200

    def test_the_collector_has_nothing_to_walk(self):
        y, grads = result = product()(2.0, 3.0)
        assert y == 8.0 and not gc.is_tracked(result) and not gc.is_tracked(grads)


class TestRowsAgain:
    """Arrays like those of the last call go to its machine code without a second look; any others are looked at."""

    def setup_method(self):
        self.np = pytest.importorskip("numpy")
        self.p, self.q = Value(2.0), Value(-1.0)

    def function(self, **options):
        return jit(vmap(lambda x, y: self.p * x[0] * x[1] + self.q * y, reduce="sum", **options))

    def check(self, f, X, y):
        result = f(X, y)
        X, y = (self.np.asarray(a, dtype=float) for a in (X, y))
        self.p.grad = self.q.grad = 0.0
        result.backward()
        want = float((X[:, 0] * X[:, 1]).sum()), float(y.sum())
        assert (self.p.grad, self.q.grad) == pytest.approx(want, rel=1e-12)
        assert result.data == pytest.approx(self.p.data * want[0] + self.q.data * want[1], rel=1e-12, abs=1e-12)

    def arrays(self, n=20):
        return self.np.linspace(0.0, 1.0, 2 * n).reshape(n, 2), self.np.linspace(-1.0, 2.0, n)

    def test_other_arrays_are_seen(self):
        np, f = self.np, self.function()
        X, y = self.arrays()
        for _ in range(2):
            self.check(f, X, y)
        assert f.repeat is not None and f.repeat(X, y).data == f(X, y).data
        for others in (
            (X.astype("f4"), y),
            ((X * 10).astype(int), y),
            (X.astype(">f8"), y),
            (X, y > 0),
            (np.asfortranarray(X), y[::-1]),
            (X[::2], y[::2]),
            (np.hstack([X, X])[:, ::2], y),
            (X[:1], y[:1]),
            self.arrays(5000),
            (X.view(type("Mine", (np.ndarray,), {})), y),
        ):
            self.check(f, X, y)
            self.check(f, *others)
            self.check(f, *others)

    def test_what_does_not_fit_is_refused_as_ever(self):
        np, f = self.np, self.function()
        X, y = self.arrays()
        self.check(f, X, y)
        self.check(f, X, y)
        known = f.repeat
        assert known(X[:3], y) is known(X) is known(X, y, y) is known(X.reshape(-1), y) is known(X, None) is None
        assert known(X[:0], y[:0]) is known(np.hstack([X, X]), y) is known(X, y.astype(object)) is None
        for wrong in ((X[:3], y), (X,), (X, y, y), (X, y.astype(str))):
            with pytest.raises((TypeError, ValueError)):
                f(*wrong)
        self.check(f, X, y)

    def test_no_gradient_is_made_where_none_is_recorded(self):
        f, (X, y) = self.function(), self.arrays()
        self.check(f, X, y)
        with no_grad():
            assert f(X, y)._prev == ()
        self.check(f, X, y)

    def test_calls_without_gradients_are_answered_in_c_too(self):
        f, (X, y) = self.function(), self.arrays()
        self.check(f, X, y)
        with no_grad():
            first = f(X, y)
            known = f.repeat_number
            again = known(X, y)
            assert type(again) is Value and again._prev == () and again.data == first.data == f(X, y).data
            self.p.data = 7.0
            changed = f(X, y)
            assert changed.data == known(X, y).data != first.data
            assert known(X[:3], y) is known(X) is known(X, None) is known(X.astype("f4"), y) is None
            assert f(X[::-1], y[::-1]).data == f.repeat_number(X[::-1], y[::-1]).data
        assert known(X, y) is None  # a gradient is wanted here
        assert f(X, y).data == pytest.approx(changed.data, rel=1e-14)
        self.check(f, X, y)

    def test_a_mean_without_any_value_is_a_number(self):
        f = jit(vmap(lambda x, y: x[0] * x[1] + y, reduce="mean"))
        X, y = self.arrays()
        first = f(X, y)
        with no_grad():
            assert f(X, y) == first == f.repeat_number(X, y)
        assert type(first) is type(f(X, y)) is float
        assert first == f.repeat_number(X, y) == pytest.approx(float((X[:, 0] * X[:, 1] + y).mean()), rel=1e-14)
        assert f.repeat is None

    def test_calls_inside_a_trace_go_the_general_way(self):
        f, g = self.function(), jit(vmap(lambda x, y: x[0] + y, reduce="sum"))
        X, y = self.arrays()
        with no_grad():
            want = f(X, y).data + g(X, y)
            assert jit(lambda a: f(X, y) + g(X, y) + a)(2.0).data == pytest.approx(want + 2.0, rel=1e-14)
            assert f.repeat_number is not None and g.repeat_number is not None

    def test_each_call_without_gradients_looks_for_new_code(self):
        f, (X, y) = self.function(), self.arrays()
        with no_grad():
            f(X, y)
            before = f.repeat_number
            (variant,) = f.variants
            (kernel,) = variant.kernels.values()
            kernel.code = copy.copy(kernel.code)
            assert before(X, y) is None and f(X, y).data == f.repeat_number(X, y).data

    def test_results_by_row_and_several_sums_have_no_such_call(self):
        X, y = self.arrays()
        for f in (vmap(lambda x, y: self.p * x[0] * y), vmap(lambda x, y: (self.p * x[0], y), reduce="sum"),
                  vmap(lambda x, y: self.p * x[0] * y, reduce="sum", batch_size=2048)):  # fmt: skip
            with no_grad():
                f(X, y)
            assert f.repeat_number is None

    def test_new_code_is_used(self):
        f, (X, y) = self.function(), self.arrays()
        self.check(f, X, y)
        before = f.repeat
        (variant,) = f.variants
        (kernel,) = variant.kernels.values()
        kernel.code = copy.copy(kernel.code)  # as when better code is there
        assert before(X, y) is None
        self.check(f, X, y)
        assert f.repeat is not before and f.repeat(X, y) is not None

    def test_branches_go_the_general_way(self):
        f = jit(vmap(lambda x: self.p * x if x > 0 else self.q * x, reduce="sum"), exact=True)
        for _ in range(3):
            assert f(self.np.array([1.0, -1.0, 3.0])).data == 9.0
        assert f.repeat is None

    def test_many_arguments(self):
        f = jit(vmap(lambda *xs: math.sum(xs) * self.p, reduce="mean"))
        for n in (16, 17):
            columns = [self.np.array([1.0, 3.0])] * n
            for _ in range(3):
                assert f(*columns).data == 4.0 * n
            assert (f.repeat is not None and f.repeat(*columns) is not None) == (n == 16)

    def test_references_balance(self):
        f, (X, y) = self.function(), self.arrays()
        for _ in range(3):
            f(X, y).backward()
        with no_grad():
            f(X, y)
        watched = [X, y, self.p, self.q, f.repeat, f.repeat_number, None]
        gc.collect()
        before, blocks = [sys.getrefcount(x) for x in watched], sys.getallocatedblocks()
        for _ in range(300):
            f(X, y).backward()
            f.repeat(X, y[:1])
            f.repeat(X, None)
            with no_grad():
                f.repeat_number(X, y)
                f.repeat_number(X, None)
        gc.collect()
        after = [sys.getrefcount(x) for x in watched]
        assert after[:-1] == before[:-1] and abs(after[-1] - before[-1]) < 50
        assert sys.getallocatedblocks() - blocks < 100
