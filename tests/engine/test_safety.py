"""Hand-written _backward closures, cycles, threads, reference counts, depth: what could crash or leak, and does not."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref

import pytest

from twins import FREE_THREADED, cube


class Token:
    """Something that a weak reference can watch, to hang on a node."""


class TestHandWrittenBackward:
    def test_it_mixes_with_native_nodes(self, Value):
        x = Value(2.0)
        y = cube(Value, x * 3) + x
        assert (y.data, y._prev[0]._op) == (218.0, "cube")
        y.backward()
        assert x.grad == 3 * 6.0**2 * 3 + 1
        y.backward()
        assert x.grad == 2 * (3 * 6.0**2 * 3 + 1)

    def test_as_a_method_of_the_class(self, Value, monkeypatch):
        monkeypatch.setattr(Value, "cubed", lambda self: cube(type(self), self), raising=False)
        x = Value(2.0)
        (x.cubed() * 2).backward()
        assert x.grad == 24.0

    def test_without_one_no_gradient_passes(self, Value):
        x = Value(2.0)
        y = Value(8.0, (x,), "opaque") * 2
        y.backward()
        assert (x.grad, y._prev[0].grad) == (0.0, 2.0)

    def test_it_replaces_that_of_an_op_until_it_is_deleted(self, Value):
        x = Value(2.0)
        y = x * 3
        y._backward = lambda: None
        y.backward()
        assert x.grad == 0.0
        del y._backward
        y.backward()
        assert x.grad == 3.0

    def test_on_a_leaf_it_runs_when_the_gradient_is_there(self, Value):
        x, seen = Value(2.0), []
        x._backward = lambda: seen.append(x.grad)
        (x * 3 + x).backward()
        assert seen == [4.0]

    def test_the_cycle_is_collected(self, Value):
        gc.collect()
        x = Value(2.0)
        watched = []
        for _ in range(100):
            node = cube(Value, x * 2)
            y = (node * 2).tanh()
            node.token = Token()
            watched.append(weakref.ref(node.token))
        del node, y
        gc.collect()
        assert not any(w() for w in watched)

    def test_a_chain_of_cycles_is_collected(self, Value):
        gc.collect()
        x = Value(0.5)
        y, watched = x, []
        for _ in range(50):
            y = cube(Value, y) + y * 0.5
            y.token = Token()
            watched.append(weakref.ref(y.token))
        y.backward()
        assert x.grad
        del y
        gc.collect()
        assert not any(w() for w in watched)

    def test_a_cycle_through_an_attribute_is_collected(self, Value):
        a = Value(1.0)
        b = a * 2
        a.result = b  # a -> b -> a
        b.token = Token()
        watched = weakref.ref(b.token)
        del a, b
        gc.collect()
        assert watched() is None

    def test_what_is_still_used_is_not_collected(self, Value):
        x = Value(2.0)
        y = cube(Value, x)
        gc.collect()
        y.backward()
        assert x.grad == 12.0

    def test_one_that_raises_leaves_the_graph_usable(self, Value):
        x = Value(2.0)
        a = x * 3
        b = cube(Value, a)
        c = b + a

        def no():
            raise ZeroDivisionError("not today")

        good, b._backward = b._backward, no
        with pytest.raises(ZeroDivisionError, match="not today"):
            c.backward()
        b._backward = good
        c.zero_grad()
        c.backward()
        assert (x.grad, a.grad, c.grad) == (3 * (3 * 36.0) + 3, 3 * 36.0 + 1, 1.0)

    def test_one_that_raises_keeps_what_leaves_had(self, Value):
        x = Value(2.0)
        x.grad = 5.0
        y = cube(Value, x)
        y._backward = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            y.backward()
        assert x.grad == 5.0

    def test_one_that_calls_backward_again(self, Value):
        x = Value(3.0)
        inner = x * x
        y = Value(inner.data, (x,), "outer")

        def again():
            inner.backward(y.grad)  # accumulates into x while the outer sweep runs

        y._backward = again
        z = y * 2 + x
        z.backward()
        assert x.grad == 2 * 6.0 + 1
        z.backward()
        assert x.grad == 2 * (2 * 6.0 + 1)

    def test_one_that_calls_backward_of_its_own_graph_once(self, Value):
        x = Value(2.0)
        y = x * 3
        z = y * y
        calls = []

        def again():
            if not calls:
                calls.append(1)
                z.backward()
            y._prev[0].grad += 3 * y.grad

        y._backward = again
        z.backward()
        assert calls and x.grad in (72.0, 72.0 * 2) and (y._prev[0] is x)

    def test_one_that_deletes_nodes(self, Value):
        x = Value(2.0)
        keep = [x * 3]
        keep.append(keep[0] * 2)
        keep.append(cube(Value, keep[1]))
        keep.append(keep[2] + 1)
        root = keep[3] * 1.0
        hook = keep[2]._backward

        def drop():
            keep.clear()
            gc.collect()
            hook()

        keep[2]._backward = drop
        root.backward()
        assert not keep and x.grad == 3 * 12.0**2 * 6

    def test_one_that_drops_the_root_itself(self, Value):
        x = Value(2.0)
        keep = [cube(Value, x * 1.0)]
        hook = keep[0]._backward
        keep[0]._backward = lambda: (keep.clear(), gc.collect(), hook())
        keep[0].backward()
        assert x.grad == 12.0

    def test_one_that_builds_new_nodes_on_old_ones(self, Value):
        x = Value(2.0)
        y = x * 3
        made = []
        y._backward = lambda: made.append(y * x)
        (y * 2).backward()
        made[0].zero_grad()
        del y._backward
        made[0].backward()
        assert x.grad == 12.0


class TestThreads:
    def test_two_threads_build_and_go_backward_at_once(self, Value, mgmath):
        shared, results, errors = Value(0.5), {}, []
        barrier = threading.Barrier(2)

        def work(name, scale):
            try:
                barrier.wait(timeout=60)
                totals = []
                for i in range(30):
                    x = Value(scale)
                    y = x
                    for _ in range(100):
                        y = mgmath.tanh(y * x + shared.data) + x * 0.1
                    if i % 3 == 0:
                        y = cube(Value, y)
                    y.backward()
                    totals.append((y.data, x.grad))
                results[name] = totals
            except Exception as error:  # pragma: no cover
                errors.append(error)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=work, args=(i, scale)) for i, scale in enumerate((0.3, 0.3))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert not errors and results[0] == results[1] and len(set(results[0][0::3])) == 1

    def test_graphs_made_in_one_thread_are_freed_in_another(self, Value):
        box = [Value(1.0)]
        for _ in range(5_000):
            box[0] = box[0] * 1.0 + 1.0

        def drop():
            box[0].backward()
            box.clear()

        thread = threading.Thread(target=drop)
        thread.start()
        thread.join()
        assert not box


class TestReferences:
    """Counts that come back to where they were."""

    @staticmethod
    def busy(twin):
        Value, mg = twin.Value, twin.math
        x, y = Value(0.5), Value(0.25)
        for name in twin.ops.OPS:
            op = twin.ops.OPS[name]
            if op.arity > 0:
                twin.engine.apply(op, *[x, y, x][: op.arity]).backward()
                twin.engine.apply(op, *[x, 2.0, x][: op.arity])
        for f in (mg.sum, mg.prod, mg.mean, mg.logsumexp):
            f([x, y, 1.0] * 30).backward()
        mg.dot([x, y], [y, 2.0]).backward()
        z = cube(Value, x * 2) + 1
        z.backward()
        z.zero_grad()
        z.detach()
        del z
        for bad in ("1", None, [1.0], 1j):
            for f in (lambda b: x + b, lambda b: b - x, Value, mg.exp, lambda b: mg.sum([x, b]),
                      lambda b: mg.dot([x, b], [x, x]), lambda b: x.backward(b), lambda b: Value(1.0, (x, b)),
                      lambda b: setattr(x, "data", b), lambda b: x < b):  # fmt: skip
                with pytest.raises(TypeError):
                    f(bad)
        repr(x), x._prev, (x * 2)._prev, (x * 2)._partials, (x * 2)._op, hash(x), x == y, x == "1"
        float(x), int(x), round(x, 2), bool(x), divmod(x, y), divmod(1.0, x)
        with twin.engine.no_grad():
            x * y + mg.sum([x, y])
        return x, y

    def test_they_balance(self, twin):
        watched = [twin.Value, None, True, twin.engine.apply, *twin.ops.OPS.values(), "label", "_op"]
        fresh = sys.getrefcount(twin.Value(1.0))

        def counts():
            gc.collect()
            return [sys.getrefcount(o) for o in watched]

        for _ in range(3):
            self.busy(twin)
        before = counts()
        for _ in range(20):
            x, y = self.busy(twin)
        after = counts()
        assert sys.getrefcount(x) == sys.getrefcount(y) == fresh + 1  # the local variable
        assert all(abs(a - b) < 15 for a, b in zip(after, before, strict=True)), list(zip(before, after, strict=True))

    def test_memory_does_not_grow(self, twin, small_heap):
        growth = []
        for _ in range(24):  # caches fill up at first, and the test runner allocates too
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(40):
                self.busy(twin)
            gc.collect()
            growth.append(sys.getallocatedblocks() - before)
        if FREE_THREADED:  # it frees some hundred dicts together, so that they seem to be kept until then
            assert sum(growth[1:]) < 20 * len(growth[1:]), growth
        else:
            assert min(growth) < 40, growth  # not one block each time round

    @pytest.mark.skipif(sys.getallocatedblocks() == 0, reason="PYTHONMALLOC=malloc: Python counts no blocks")
    @pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
    @pytest.mark.skipif(
        FREE_THREADED, reason="the allocator of a free-threaded Python keeps its pages for the next graph"
    )
    def test_a_graph_gives_its_memory_back(self, engine, run_python):
        program = """if True:
            import gc, os
            from micrograd import Value

            def resident():
                with open("/proc/self/statm") as f:
                    return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

            before = resident()
            y = Value(1.0)
            for _ in range(400_000):
                y = y * 1.0
            grown = resident() - before
            del y
            gc.collect()
            print(grown, resident() - before)
        """
        grown, kept = map(int, run_python(program, MICROGRAD_PURE=str(int(not engine.NATIVE))).stdout.split())
        assert grown > 30_000_000
        assert kept < 0.6 * grown  # the C twin keeps half of the most it had, for the next graph

    def test_inputs_live_as_long_as_what_is_made_from_them(self, Value):
        a = Value(2.0)
        a.token = Token()
        watched = weakref.ref(a.token)
        y = (a * 3).tanh()
        del a
        gc.collect()
        assert watched() is not None
        del y
        gc.collect()
        assert watched() is None


class TestDepth:
    """No recursion: the default recursion limit, graphs of any depth."""

    @staticmethod
    def chain(Value, nodes):
        x = Value(1.0)
        y = x
        for _ in range(nodes):
            y = y + x
        y.backward()
        assert y.data == x.grad == nodes + 1.0
        y.zero_grad()
        assert x.grad == 0.0
        del y

    @staticmethod
    def wide(Value, mg, terms):
        xs = [Value(1.0) for _ in range(terms)]
        for total in (mg.sum(xs), sum(xs)):
            total.backward()
            assert total.data == terms
        assert all(x.grad == 2.0 for x in xs)

    def test_a_deep_chain(self, Value):
        self.chain(Value, 100_000)

    def test_a_wide_sum(self, Value, mgmath):
        self.wide(Value, mgmath, 50_000)

    def test_a_deep_chain_of_hand_written_nodes(self, Value):
        x = Value(1.0)
        y = x
        for _ in range(20_000):
            out = Value(y.data + 1.0, (y,), "next")
            out._backward = lambda out=out, y=y: setattr(y, "grad", y.grad + out.grad)
            y = out
        y.backward()
        assert x.grad == 1.0
        del y, out
        gc.collect()

    @pytest.mark.slow
    def test_a_chain_of_three_million(self, Value):
        self.chain(Value, 3_000_000)

    @pytest.mark.slow
    def test_a_sum_of_a_million(self, Value, mgmath):
        self.wide(Value, mgmath, 1_000_000)
