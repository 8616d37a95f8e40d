"""What lies around the machine code: results that are written over, captured Values that a result shares."""

from __future__ import annotations

import copy
import gc
import pickle
import struct
import sys
import threading
import weakref
from math import inf, nan

import pytest

from micrograd import Value, engine, jit, math, no_grad, value_and_grad, vmap
from micrograd.compile.kernel import RESULT
from micrograd.errors import TraceError
from random_programs import needs_llvm

pytestmark = needs_llvm
if engine.NATIVE:
    from micrograd import _engine


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

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
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


# ---- captured Values


def leaves(n=40):
    return [Value(0.1 * k - 1.0) for k in range(n)]


ARGS = [1.0, 2.0, 3.0], 0.5


def weighted(ps, args=ARGS):
    """A loss over the parameters, compiled, that goes to machine code straight from its arguments."""

    def loss(xs, y):
        return (math.dot(ps[: len(xs)], xs) - y) ** 2 + math.sum([p * p * p for p in ps[len(xs) :]])

    f = jit(loss, wait=True)
    f(*args)
    return f


def copy_of(result):
    """The same node as one that owns its inputs."""
    return engine.node(result.data, RESULT, result._prev, result._partials)


def bits(values):
    """Of nan only that it is: which operand its sign comes from is the compiler's choice."""
    return [struct.pack("d", v.grad) if v.grad == v.grad else "nan" for v in values]


class TestSharedInputs:
    def test_a_result_looks_like_any_node(self):
        ps = leaves()
        y = weighted(ps)(*ARGS)
        assert set(map(id, y._prev)) == set(map(id, ps)) and len(y._prev) == len(ps) == len(y._partials)
        slopes = dict(zip(map(id, y._prev), y._partials, strict=True))
        assert [slopes[id(p)] for p in ps[3:]] == pytest.approx([3 * p.data**2 for p in ps[3:]], rel=1e-12)
        assert y._op == "jit" and y.grad == 0.0

    @pytest.mark.parametrize("seed", [1.0, -2.5, 0.0, -0.0, inf, nan])
    @pytest.mark.parametrize("before", [0.0, -0.0, 0.3, -1e300, inf, nan])
    def test_backward_gives_the_bits_of_the_general_way(self, seed, before):
        ps = leaves()
        y = weighted(ps)(*ARGS)
        same = copy_of(y)
        grads = []
        for root in (y, same):
            for p in ps:
                p.grad = before
            root.grad = 7.0
            for _ in range(2):
                root.backward(seed)
            grads.append([*bits(ps), *bits([root])])
        assert grads[0] == grads[1]

    def test_under_other_nodes_too(self):
        ps = leaves()
        f = weighted(ps)
        a, b = f(*ARGS), f([0.5, 0.5, -1.0], 2.0)
        grads = []
        for x, y in ((a, b), (copy_of(a), copy_of(b))):
            for k, p in enumerate(ps):
                p.grad = 0.1 * (k % 3)
            root = x * 2 + y * x + ps[0] * ps[5]
            root.backward()
            root.backward()
            grads.append([*bits(ps), *bits([x, y])])
            root.zero_grad()
            assert {p.grad for p in [*ps, x, y]} == {0.0}
        assert grads[0] == grads[1]

    def test_several_results_have_partials_of_their_own(self):
        ps = leaves()
        f = weighted(ps)
        kept = [f([float(k), 0.0, 1.0], 0.0) for k in range(6)]
        assert len({y._partials for y in kept}) == 6
        assert [f([float(k), 0.0, 1.0], 0.0)._partials for k in range(6)] == [y._partials for y in kept]

    def test_partials_are_those_of_the_forward_point(self):
        ps = leaves()
        f = weighted(ps)
        y, other = f(*ARGS), f(*ARGS)
        other.backward()
        want = bits(ps)
        for p in ps:
            p.data, p.grad = 100.0, 0.0
        f(*ARGS)
        y.backward()
        assert bits(ps) == want

    def test_a_captured_value_with_a_history_passes_its_gradient_on(self):
        p, q = Value(0.7), Value(-0.2)
        h = (p * q).tanh()
        f = jit(lambda x: h * x + p, wait=True)
        for _ in range(3):
            p.grad = q.grad = 0.25
            y = f(3.0)
            y.backward()
            got = p.grad, q.grad, h.grad
            p.grad = q.grad = 0.25
            (h * 3.0 + p).backward()
            assert got == (p.grad, q.grad, h.grad) and y.data == pytest.approx(h.data * 3 + p.data, rel=1e-15)

    def test_a_backward_assigned_later_is_called(self):
        ps = leaves(5)
        f, called = weighted(ps), []
        f(*ARGS).backward()
        y = f(*ARGS)
        ps[1]._backward = lambda: called.append(ps[1].grad)
        y.backward()
        f(*ARGS).backward()
        assert len(called) == 2
        del ps[1]._backward
        f(*ARGS).backward()
        assert len(called) == 2
        y._backward = lambda: called.append("root")
        before = bits(ps)
        y.backward()
        assert called[2:] == ["root"] and bits(ps) == before

    def test_a_leaf_that_is_given_inputs_later_counts_as_one_no_longer(self):
        ps, source = leaves(5), Value(1.0)
        f = weighted(ps)
        f(*ARGS).backward()
        Value.__init__(ps[0], 2.0, (source,))
        ps[0]._backward = lambda: setattr(source, "grad", source.grad + ps[0].grad)
        f(*ARGS).backward()
        assert ps[0].grad != 0.0 and source.grad == ps[0].grad

    def test_a_class_of_ones_own(self):
        class Mine(Value):
            calls = 0

            def _backward(self):
                Mine.calls += 1

        class Thin(Value):
            __slots__ = ()

            def _backward(self):
                Mine.calls += 1

        p, q = Mine(2.0), Value(3.0)
        f = jit(lambda x: p * q * x, wait=True)
        f(1.0).backward()
        f(1.0).backward()
        assert (p.grad, q.grad, Mine.calls) == (6.0, 4.0, 2)
        a, b = Value(2.0), Value(3.0)
        g = jit(lambda x: a * b * x, wait=True)
        g(1.0).backward()
        try:
            a.__class__ = Thin
        except TypeError:  # an engine whose layout does not allow it
            return
        g(1.0).backward()
        assert (a.grad, Mine.calls) == (6.0, 3)

    def test_a_value_among_the_arguments(self):
        ps, x = leaves(4), Value(1.5)
        f = weighted(ps, ([x, 2.0, 3.0], 0.5))
        for _ in range(2):
            y = f([x, 2.0, 3.0], 0.5)
            assert y._prev[0] is x and len(y._prev) == 5 and y._op == "jit"
            x.grad = 0.0
            y.backward()
            assert x.grad == pytest.approx(2 * ps[0].data * (math.dot(ps[:3], [1.5, 2.0, 3.0]).data - 0.5), rel=1e-12)
        y = f([ps[0], 2.0, 3.0], 0.5)  # captured and given: twice among the inputs
        y.backward()
        assert sum(v is ps[0] for v in y._prev) == 2

    @pytest.mark.parametrize(
        "args",
        [([1, 2, 3], 1), ([1.0, 2, 3.0], 1.5), ((1.0, 2.0, 3.0), 0.5), ([1.0, 2.0], 0.5), ([1.0, 2.0, 3.0, 4.0], 0.5),
         ([[1.0], 2.0], 0.5), ([1.0, 2.0, 3.0],), (1.0, 2.0), ([True, 2.0, 3.0], 0.5)],
    )  # fmt: skip
    def test_arguments_laid_out_otherwise(self, args):
        def loss(*args):
            flat = [
                x
                for a in args
                for b in (a if isinstance(a, (list, tuple)) else [a])
                for x in (b if isinstance(b, list) else [b])
            ]
            return math.sum([p * x for p, x in zip(ps, flat, strict=False)])

        ps = leaves(8)
        f = jit(loss, wait=True)
        f(*ARGS)
        for _ in range(2):
            for one in (args, ARGS):
                assert f(*one).data == pytest.approx(loss(*one).data, rel=1e-15)

    def test_other_kinds_of_calls(self):
        ps = leaves()
        f = weighted(ps)
        want = f(*ARGS).data
        assert f(xs=ARGS[0], y=ARGS[1]).data == f(ARGS[0], y=ARGS[1]).data == want
        with no_grad():
            y = f(*ARGS)
        assert y.data == want and y._prev == ()
        with pytest.raises(OverflowError):
            f([1.0, 2.0, 10**400], 0.5)
        with pytest.raises(TraceError, match="a str and a Value in one operation"):
            f([1.0, 2.0, "3"], 0.5)
        assert f(*ARGS).data == want

    def test_a_branch_that_goes_the_other_way(self):
        p, q = Value(2.0), Value(3.0)
        f = jit(lambda x: p * x if x > 0 else q * x, wait=True)
        for x in (1.0, -1.0, 2.0, -2.0, 5.0):
            p.grad = q.grad = 0.0
            y = f(x)
            y.backward()
            assert (y.data, p.grad, q.grad) == ((2 * x, x, 0.0) if x > 0 else (3 * x, 0.0, x))

    def test_a_result_outlives_its_function(self):
        ps = leaves()
        f = weighted(ps)
        y = f(*ARGS)
        want = y._partials
        del f
        gc.collect()
        weighted(leaves())(*ARGS)
        y.backward()
        assert y._partials == want and [v.grad for v in y._prev] == list(want)

    def test_copies(self):
        ps = leaves()
        y = weighted(ps)(*ARGS)
        for other in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
            other.backward()
            assert [v.grad for v in other._prev] == list(y._partials) and {p.grad for p in ps} == {0.0}

    def test_a_cycle_through_a_captured_value_is_collected(self):
        class Mark:
            pass

        ps = leaves()
        f, mark = weighted(ps), Mark()
        gone = weakref.ref(mark)
        ps[3].mark, ps[3].result = mark, f(*ARGS)
        ps[3].result.back = ps[3]
        del ps, f, mark
        gc.collect()
        assert gone() is None

    def test_references_balance(self):
        ps = leaves()
        f = weighted(ps)
        for _ in range(3):
            f(*ARGS).backward()
        gc.collect()
        counts, blocks = [sys.getrefcount(p) for p in ps], sys.getallocatedblocks()
        for _ in range(500):
            kept = f(*ARGS)
            kept.backward()
            (kept * 2 + ps[0]).backward()
            assert len(kept._prev) == len(kept._partials) == 40
            with pytest.raises(TypeError):
                f(None, 1.0)
        del kept
        gc.collect()
        assert [sys.getrefcount(p) for p in ps] == counts
        assert sys.getallocatedblocks() - blocks < 200

    def test_many_threads(self):
        ps = leaves()
        f = weighted(ps)
        want = {k: f([float(k), 2.0, 3.0], 0.5)._partials for k in range(5)}
        wrong, made = [], []

        def work(seed):
            for i in range(300):
                y = f([float((seed + i) % 5), 2.0, 3.0], 0.5)
                if y._partials != want[(seed + i) % 5]:
                    wrong.append(y)
                made.append(y)
                if len(made) > 20:
                    made.pop(0)  # freed by whoever comes by

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


class TestTheList:
    """_engine.captured: the Values as machine code reads them."""

    def test_each_value_is_in_it_once_and_has_no_class_of_its_own(self):
        class Mine(Value):
            pass

        p, q = Value(1.0), Value(2.0)
        for refused in ([p, q, p], [p, Mine(1.0)], [p, 1.0]):
            assert _engine.captured(refused) is refused
        assert len(_engine.captured([p, q])) == 2 and len(_engine.captured([])) == 0
        assert _engine.captured([p, q, p]) == [p, q, p]  # no mark was left behind
        with pytest.raises(TypeError):
            _engine.captured((p,))
        with pytest.raises(TypeError):
            type(_engine.captured([p]))()

    def test_it_holds_what_is_in_it(self):
        p = Value(1.0)
        before = sys.getrefcount(p)
        kept = _engine.captured([p])
        assert sys.getrefcount(p) == before + 1 and gc.get_referents(kept)[-1] is p
        del kept
        assert sys.getrefcount(p) == before


class TestRows:
    @pytest.mark.parametrize("float32", [False, True])
    def test_the_node_of_a_batch_is_shared_and_adds_up_alike(self, float32):
        np = pytest.importorskip("numpy")
        ps = leaves(12)
        f = jit(
            vmap(lambda x, y: (math.dot(ps[:2], x) - y) ** 2 * ps[2] + math.sum(ps[3:]), reduce="mean"), float32=float32
        )
        X, y = np.linspace(0.0, 1.0, 40).reshape(20, 2), np.linspace(-1.0, 1.0, 20)
        first = f(X, y)
        for _ in range(3):  # the second and later calls go the short way
            again = f(X, y)
            assert again.data == first.data and again._partials == first._partials
        assert set(map(id, again._prev)) == set(map(id, ps))
        grads = []
        for root in (again, copy_of(again)):
            for p in ps:
                p.grad = 0.5
            root.backward()
            root.backward()
            grads.append(bits(ps))
        assert grads[0] == grads[1]

    def test_data_that_changes_is_read_anew(self):
        np = pytest.importorskip("numpy")
        p = Value(2.0)
        f = jit(vmap(lambda x: p * x, reduce="sum"))
        for k in range(5):
            p.data = float(k)
            y = f(np.array([1.0, 2.0]))
            p.grad = 0.0
            y.backward()
            assert (y.data, p.grad) == (3.0 * k, 3.0)


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
        assert f.known is not None and f.known(X, y).data == f(X, y).data
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
        known = f.known
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

    def test_new_code_is_used(self):
        f, (X, y) = self.function(), self.arrays()
        self.check(f, X, y)
        before = f.known
        (path,) = [path for paths in f.paths.values() for path in paths]
        path.codes.clear()  # as when a row has met more Values
        assert before(X, y) is None
        self.check(f, X, y)
        assert f.known is not before and f.known(X, y) is not None

    def test_branches_go_the_general_way(self):
        f = jit(vmap(lambda x: self.p * x if x > 0 else self.q * x, reduce="sum"))
        for _ in range(3):
            assert f(self.np.array([1.0, -1.0, 3.0])).data == 9.0
        assert f.known is None

    def test_many_arguments(self):
        f = jit(vmap(lambda *xs: math.sum(xs) * self.p, reduce="mean"))
        for n in (16, 17):
            columns = [self.np.array([1.0, 3.0])] * n
            for _ in range(3):
                assert f(*columns).data == 4.0 * n
            assert (f.known is not None and f.known(*columns) is not None) == (n == 16)

    def test_references_balance(self):
        f, (X, y) = self.function(), self.arrays()
        for _ in range(3):
            f(X, y).backward()
        watched = [X, y, self.p, self.q, f.known, None]
        gc.collect()
        before, blocks = [sys.getrefcount(x) for x in watched], sys.getallocatedblocks()
        for _ in range(300):
            f(X, y).backward()
            f.known(X, y[:1])
            f.known(X, None)
        gc.collect()
        after = [sys.getrefcount(x) for x in watched]
        assert after[:-1] == before[:-1] and abs(after[-1] - before[-1]) < 50
        assert sys.getallocatedblocks() - blocks < 100
