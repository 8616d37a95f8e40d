"""vmap: how rows are run: sums over them, remainders of a vector, threads, guards, and vmap inside other transforms."""

from __future__ import annotations

import pytest

from micrograd import Value, grad, jit, math, nn, no_grad, value_and_grad, vmap
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
from two_columns import X, Y, f, want  # noqa: E402

pytestmark = needs_llvm


class TestReduce:
    def test_sum_and_mean_of_numbers(self):
        assert vmap(f, reduce="sum")(X, Y) == pytest.approx(want(X, Y).sum())
        assert vmap(f, reduce="mean")(X, Y) == pytest.approx(want(X, Y).mean())

    def test_of_several_results(self):
        s, d = vmap(lambda x, y: (x + y, {"d": x - y}), reduce="sum")(X, Y)
        assert s == pytest.approx((X + Y).sum())
        assert d["d"] == pytest.approx((X - Y).sum())

    @pytest.mark.parametrize("reduce", ["sum", "mean"])
    @pytest.mark.parametrize("rows", [1, 3, 13])
    def test_parameters_get_the_gradients_of_the_eager_loop(self, reduce, rows):
        model = nn.MLP(2, [5, 1])
        scale = Value(0.7)

        def loss(x, y):
            return (1 - y * model([x, scale * x])).relu() + scale * scale

        g = vmap(loss, reduce=reduce)
        parameters = [*model.parameters(), scale]
        eager = math.sum([loss(float(x), float(y)) for x, y in zip(X[:rows], Y)]) * (1 if reduce == "sum" else 1 / rows)
        eager.backward()
        expected = [p.grad for p in parameters]
        for _ in range(2):
            for p in parameters:
                p.grad = 0.0
            out = g(X[:rows], Y[:rows])
            assert out.data == pytest.approx(eager.data, rel=1e-12)
            out.backward()
            assert [p.grad for p in parameters] == pytest.approx(expected, rel=1e-10, abs=1e-13)

    def test_uniform_values_get_gradients(self):
        w = Value(2.0)
        out = vmap(lambda x, v: x * v * v, in_axes=(0, None), reduce="sum")(X, w)
        out.backward()
        assert w.grad == pytest.approx(4.0 * X.sum(), abs=1e-12)

    def test_parameters_are_read_at_each_call(self):
        w = Value(2.0)
        g = vmap(lambda x: w * x, reduce="sum")
        assert g(Y).data == pytest.approx(2 * Y.sum())
        w.data = 5.0
        assert g(Y).data == pytest.approx(5 * Y.sum())

    def test_no_grad_gives_a_leaf(self):
        w = Value(2.0)
        g = vmap(lambda x: w * x, reduce="sum")
        g(X)
        with no_grad():
            out = g(Y)
        assert out._prev == ()
        assert out.data == pytest.approx(2 * Y.sum())

    def test_batch_size_changes_rounding_at_most(self):
        w = Value(1.5)
        x = np.linspace(0, 1, 1000)
        whole = vmap(lambda v: w * math.exp(v), reduce="mean")(x)
        for size in (1, 7, 256, 999, 1000, 5000):
            g = vmap(lambda v: w * math.exp(v), reduce="mean", batch_size=size)
            out = g(x)
            w.grad = 0.0
            out.backward()
            assert out.data == pytest.approx(whole.data, rel=1e-13)
            assert w.grad == pytest.approx(whole.data / 1.5, rel=1e-13)
            assert vmap(math.exp, batch_size=size)(x) == pytest.approx(np.exp(x))


class TestRemainders:
    @pytest.mark.parametrize("width", [2, 8, 16])
    def test_every_number_of_rows(self, width):
        w = Value(1.25)
        rows = vmap(lambda x: w * math.sin(x) if x > 0 else x - 1, width=width)
        total = vmap(lambda x: w * math.sin(x) if x > 0 else x - 1, width=width, reduce="sum")
        for n in range(1, 2 * width + 2):
            x = np.cos(np.arange(n) * 2.0)
            expected = np.where(x > 0, 1.25 * np.sin(x), x - 1)
            assert [y.data for y in rows(x)] == pytest.approx(expected, rel=1e-14), n
            with no_grad():
                assert rows(x) == pytest.approx(expected, rel=1e-14), n
            out = total(x)
            w.grad = 0.0
            out.backward()
            assert out.data == pytest.approx(expected.sum(), rel=1e-12, abs=1e-13), n
            assert w.grad == pytest.approx(np.sin(x[x > 0]).sum(), rel=1e-12, abs=1e-13), n

    def test_nothing_is_written_behind_the_last_row(self):
        out = vmap(lambda x: x * 0 + 7)(np.zeros(11))
        assert out.shape == (11,)
        assert (out == 7).all()


class TestThreads:
    @pytest.mark.parametrize("guarded", [False, True])
    def test_one_and_many_threads_give_the_same_bits(self, guarded):
        x = np.sin(np.arange(50_000) * 1.7)
        w = Value(0.3)

        def g(v):
            return w * math.exp(v) if not guarded or v > 0 else w * v

        results = []
        for threads in (1, 2, 3, None):
            out = vmap(g, reduce="mean", threads=threads)(x)
            w.grad = 0.0
            out.backward()
            with no_grad():
                results.append((out.data, w.grad, vmap(g, threads=threads)(x).tobytes()))
        assert all(r == results[0] for r in results)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_ctrl_c_ends_a_long_call(self, threads, run_python):
        """One that would go on for hours; the rows after it are right again."""
        done = run_python(
            "import signal, numpy as np\n"
            "from micrograd import math, vmap\n"
            f"f = vmap(lambda x: math.sum([math.pow(x, k + 0.5) for k in range(500)]), reduce='sum', threads={threads})\n"
            "before = f(np.ones(5000))\n"
            "def wish(*_):\n"
            "    raise KeyboardInterrupt\n"
            "signal.signal(signal.SIGALRM, wish)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
            "try:\n"
            "    f(np.broadcast_to(1.0, 2_000_000_000))\n"
            "except KeyboardInterrupt:\n"
            "    print(f(np.ones(5000)) == before)\n"
        )
        assert done.stdout == "True\n"

    def test_many_callers_at_once(self):
        from concurrent.futures import ThreadPoolExecutor

        g = vmap(lambda x: math.sin(x) * 2 if x > 0 else x, threads=2)
        x = np.sin(np.arange(20_000.0))
        expected = np.where(x > 0, np.sin(x) * 2, x)
        with ThreadPoolExecutor(4) as pool:
            for out in pool.map(lambda k: g(x[k:]), range(8)):
                assert out == pytest.approx(expected[-len(out) :])


class TestGuards:
    def test_rows_go_their_own_ways(self):
        def g(x, y):
            if x > y:
                return x * 2
            while x < 0:
                x = x + y
            return x if y > 1 else -y

        x, y = np.sin(np.arange(100) * 1.3) * 2, np.abs(np.cos(np.arange(100) * 0.7)) + 0.3
        out = vmap(g)(x, y)
        assert out == pytest.approx([g(float(a), float(b)) for a, b in zip(x, y)], rel=1e-13)
        slopes = vmap(grad(g, 1))(x, y)
        assert slopes == pytest.approx([grad(g, 1)(float(a), float(b)) for a, b in zip(x, y)], rel=1e-13)

    def test_ways_that_meet_different_parameters(self):
        a, b, c = Value(2.0), Value(3.0), Value(5.0)
        g = vmap(lambda x: a * x if x > 0.5 else b * x * x if x > 0 else c + x * a, reduce="sum")
        x = np.linspace(-1, 1, 21)
        for _ in range(2):
            for v in (a, b, c):
                v.grad = 0.0
            out = g(x)
            out.backward()
            high, mid, low = x[x > 0.5], x[(x > 0) & (x <= 0.5)], x[x <= 0]
            assert out.data == pytest.approx(2 * high.sum() + 3 * (mid**2).sum() + 5 * len(low) + 2 * low.sum())
            assert a.grad == pytest.approx(high.sum() + low.sum())
            assert b.grad == pytest.approx((mid**2).sum())
            assert c.grad == len(low)

    def test_results_of_another_arrangement_are_not_mixed(self):
        g = vmap(lambda x: (x, x) if x > 0 else x)
        with pytest.raises(TypeError, match="in different ways"):
            g(np.array([1.0, -1.0]))

    @pytest.mark.parametrize("reduce", [None, "sum"])
    def test_nor_in_an_outer_trace(self, reduce):
        rows = vmap(lambda w, x: {"a": w * x} if x > 0 else {"b": w * x}, in_axes=(None, 0), reduce=reduce)
        for g in (
            lambda w: rows(w, np.array([1.0, -1.0]))["b"],
            lambda w: rows(1.0, np.array([1.0, Value(-1.0)]))["b"],
        ):
            with pytest.raises(TypeError, match=r"in different ways: {'a': \*}, and in row 1 {'b': \*}"):
                grad(g)(1.0)


class TestInOtherThings:
    def test_jit_of_vmap_is_vmap(self):
        w = Value(2.0)
        g = jit(vmap(lambda x: w * x * x, reduce="mean"))
        out = g(X)
        out.backward()
        assert out.data == pytest.approx(2 * (X**2).mean())
        assert w.grad == pytest.approx((X**2).mean())

    def test_vmap_of_jit(self):
        assert vmap(jit(f))(X, Y) == pytest.approx(want(X, Y))
        assert vmap(jit(f, exact=True), exact=True)(X, Y) == pytest.approx(want(X, Y))

    def test_arrays_of_values_are_part_of_the_graph(self):
        xs = np.array([Value(float(x)) for x in X], dtype=object)
        out = vmap(lambda x: x * x, reduce="sum")(xs)
        out.backward()
        assert [x.grad for x in xs] == pytest.approx(2 * X)

    @pytest.mark.parametrize("dtype", [int, bool, "f4", object])
    def test_rows_are_floats_inside_another_trace_too(self, dtype):
        kinds = set()
        rows = vmap(lambda w, x: kinds.add(type(x)) or w * x, in_axes=(None, 0), reduce="sum")
        assert grad(lambda w: rows(w, np.array([0, 1], dtype)))(1.0) == 1.0
        assert kinds == {float}

    def test_inside_another_trace(self):
        g = jit(lambda a: vmap(lambda x: x * x, reduce="sum")(a) * 2, wait=True)
        assert g(X) == pytest.approx(2 * (X**2).sum())

    def test_float32_gives_float32(self):
        out = vmap(f, float32=True)(X.astype("f4"), Y.astype("f4"))
        assert out.dtype == np.float32
        assert out == pytest.approx(want(X, Y), rel=1e-5)

    def test_value_and_grad(self):
        ys, (gx, gy) = vmap(value_and_grad(f, (0, 1)))(X, Y)
        assert ys == pytest.approx(want(X, Y))
        assert gx == pytest.approx(np.exp(X) * Y + 1)
        assert gy == pytest.approx(np.exp(X))

    def test_tape_and_source(self):
        g = vmap(f)
        assert "exp" in str(g.tape(X, Y))
        assert "x double>" in g.source(X, Y)


class TestRoundedGuards:
    """Rows at which a comparison is decided by a rounding: eager code says where they go."""

    XS = np.linspace(0.5, 3.0, 150)

    @pytest.mark.parametrize("name", ["exp", "sin", "log", "tanh"])
    @pytest.mark.parametrize("options", [{}, {"float32": True}, {"batch_size": 40}], ids=repr)
    def test_every_row_has_its_result(self, name, options):
        op = getattr(math, name)
        ys = np.array([op(x) for x in self.XS.tolist()])
        f = vmap(lambda x, y: x if op(x) > y else -x, **options)
        found = f(self.XS, ys)
        assert found == pytest.approx(-self.XS, rel=1e-6)
        assert len(list(f.variants)) == 1

    def test_sums_and_gradients(self):
        w = Value(2.0)
        ys = np.array([math.exp(x) for x in self.XS.tolist()])

        def f(x, y):
            start = Value(0.0)  # made inside, so a new one in each run
            return start + w * (x if math.exp(x) > y else 3 * x)

        total = vmap(f, reduce="sum")(self.XS, ys)
        total.backward()
        assert total.data == pytest.approx(6 * self.XS.sum())
        assert w.grad == pytest.approx(3 * self.XS.sum())
