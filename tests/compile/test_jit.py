"""jit: the same function as machine code, whichever way it is called."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import compiled_module
from background import settle
from micrograd import CompileError, Value, grad, jit, math, nn, no_grad, primitive, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
pytestmark = needs_llvm


class TestInEagerCode:
    @pytest.mark.parametrize("exact", [False, True])
    def test_several_results_and_captured_parameters_get_their_gradients(self, exact):
        w, b = Value(2.0), Value(-1.0)

        def f(x, y):
            h = math.tanh(w * x + b)
            return h * y, {"other": h + b * b, "plain": x}

        compiled = jit(f, wait=True, exact=exact)
        for x0, y0 in [(0.3, 1.5), (1.0, 2.0)]:
            grads = []
            for g in (f, compiled):
                x, y = Value(x0), Value(y0)
                for v in (w, b):
                    v.grad = 0.0
                first, rest = g(x, y)
                (first * 2 + rest["other"] * rest["plain"]).backward()
                grads.append([v.grad for v in (x, y, w, b)])
            assert grads[1] == pytest.approx(grads[0], rel=1e-14)
            if exact:
                assert first.data == f(x, y)[0].data

    def test_only_some_of_the_arguments_are_values(self):
        f = jit(lambda x, y: x * y * y, wait=True)
        y = Value(3.0)
        f(2.0, y).backward()
        assert y.grad == 12.0
        x = Value(2.0)
        out = f(x, y)
        out.backward()
        assert (x.grad, y.grad) == (9.0, 24.0)

    def test_methods(self):
        one, two = compiled_module.Model(2.0), compiled_module.Model(3.0)
        for _ in range(2):
            assert one.area(2.0, 5.0) == 20.0
            assert two.area(2.0, 5.0) == 30.0
        settle()
        assert one.area(3.0, 5.0) == 30.0
        assert compiled_module.Model.area(one, 1.0, 1.0) == 2.0

    def test_a_number_gives_a_number_and_a_value_a_value(self):
        f = jit(lambda x: x * x, wait=True)
        assert type(f(2.0)) is float
        assert type(f(Value(2.0))) is Value

    def test_a_constant_stays_a_number_in_every_call(self):
        w = Value(1.0)
        f = jit(lambda x: (x * 2, 5.0 if w > 0 else 6.0), wait=True)
        g = jit(lambda x: 5.0 if w > 0 else 6.0, wait=True)
        for _ in range(3):
            assert [type(y) for y in f(Value(1.0))] == [Value, float]
            assert [type(g(x)) for x in (1.0, Value(1.0))] == [float, float]
            with no_grad():
                assert type(f(Value(1.0))[1]) is float

    @pytest.mark.parametrize(
        "x", [3, -7, True, None, "text", 2.5, -0.0, Fraction(1, 3), 10**30, 1j, np.True_, np.int8(3)]
    )
    @pytest.mark.parametrize("wait", [True, False])
    def test_what_is_no_value_in_eager_code_is_the_same_thing_in_every_call(self, x, wait):
        weight = Value(2.0)
        for f in (
            lambda _: x,
            lambda y: (y * 2.0, [x], {"x": x}),
            lambda y: (weight * y, x),
            lambda y: x if y > 0.0 else (x, y * weight),
        ):
            g = jit(f, wait=wait)
            for y in (1.0, 1.0, -2.0, 1.0, -2.0):
                assert repr(g(y)) == repr(f(y))
            settle()
            for y in (1.0, -2.0, 3.0):
                assert repr(g(y)) == repr(f(y))
                with no_grad():
                    assert repr(g(y)) == repr(f(y))

    @pytest.mark.parametrize("wait", [True, False])
    def test_a_result_without_a_value_behind_it_is_a_number_in_every_call(self, wait):
        w = Value(2.0)
        for f in (
            lambda x, y: (w * x, y * 2.0, x),
            lambda x, y: x * y if w > 0.0 else w * y,
            lambda x, y: {"with": x * w, "without": y},
        ):
            for args in ((1.0, 2.0), (1.0, Value(2.0)), (Value(3.0), 0.5)):
                g = jit(f, wait=wait)
                for _ in range(3):
                    assert repr(g(*args)) == repr(f(*args))
                settle()
                assert repr(g(*args)) == repr(f(*args))
                with no_grad():
                    assert repr(g(*args)) == repr(f(*args))

    def test_whole_numbers_are_computed_with_as_floats_in_every_call(self):
        f = jit(lambda x: [x, x + 1])
        assert repr([f(2), f(2), settle(), f(2), f(2)]) == repr([[2.0, 3.0], [2.0, 3.0], None, [2.0, 3.0], [2.0, 3.0]])

    def test_no_grad_gives_leaves(self):
        w = Value(3.0)
        f = jit(lambda x: w * x, wait=True)
        with no_grad():
            y = f(2.0)
            z = f(Value(2.0))
        assert (y.data, z.data) == (6.0, 6.0)
        assert y._prev == z._prev == ()

    def test_training_a_network_goes_as_in_eager_code(self):
        def losses(compile_it):
            model = nn.MLP(2, [4, 1])
            for i, p in enumerate(model.parameters()):
                p.data = ((i * 37) % 17 - 8) / 10
            f = lambda x, y, t: (model([x, y]) - t) ** 2  # noqa: E731
            f = jit(f, wait=True) if compile_it else f
            seen = []
            for step in range(6):
                loss = f(0.1 * step, 0.3, 1.0)
                model.zero_grad()
                loss.backward()
                for p in model.parameters():
                    p.data -= 0.05 * p.grad
                seen.append(loss.data)
            return seen

        assert losses(True) == pytest.approx(losses(False), rel=1e-12)

    def test_branches_with_gradients(self):
        w = Value(2.0)
        f = jit(lambda x: w * x if x > 0 else w * w * x, wait=True)
        for x, g in ((3.0, 3.0), (-3.0, -12.0), (1.0, 1.0), (-1.0, -4.0)):
            w.grad = 0.0
            f(x).backward()
            assert w.grad == g


class TestRoundedGuards:
    """A comparison of numbers that are equal but for a rounding may go one way in eager code and another in machine code."""

    @staticmethod
    def f(x, y):
        return x if x * x - y > 1e-20 else 3 * y  # x * x - y is fused: not 0, where y is x * x

    XS = [0.1 + 0.007 * i for i in range(100)]

    def test_a_way_is_compiled_once_however_often_its_code_refuses(self):
        g, xs = jit(self.f, wait=True), self.XS
        assert [g(x, x * x) for x in xs] == [3 * (x * x) for x in xs]
        assert len(list(g.variants)) == 1

    def test_with_gradients(self):
        g, w = jit(lambda x, y: w * self.f(x, y), wait=True), Value(2.0)
        for x in self.XS:
            y = Value(x * x)
            g(x, y).backward()
            assert y.grad == 6.0
        assert w.grad == pytest.approx(sum(3 * x * x for x in self.XS))
        assert len(list(g.variants)) == 1


def foreign(x):
    """Return x by a function that takes floats alone."""
    return float.fromhex("0x1") * float(x)


class TestPrimitives:
    def test_one_that_is_written_in_the_tables_operations_compiles(self):
        @primitive(lambda x, y: 2 * x * math.exp(x * x))
        def bump(x):
            return math.exp(x * x)

        f = jit(value_and_grad(lambda x: bump(x) * 3), wait=True)
        for x in (0.5, 1.0):
            e = math.exp(x * x)
            assert f(x) == pytest.approx((3 * e, 6 * x * e), rel=1e-14)

    def test_one_that_is_not_says_so(self):
        @primitive(lambda x, y: foreign(x))
        def gamma(x):
            return foreign(x)

        with pytest.raises(
            CompileError, match=r"(?s)the primitive gamma cannot be compiled.*functions of micrograd.math"
        ):
            jit(lambda x: gamma(x) * 2, wait=True)(1.5)

    def test_one_that_is_not_says_so_in_each_call(self):
        f = jit(primitive(lambda x, y: x)(foreign), wait=True)
        for _ in range(2):
            with pytest.raises(CompileError, match="cannot be compiled"):
                f(1.5)

    def test_without_wait_the_first_call_says_so_too(self):
        gamma = primitive(lambda x, y: y)(foreign)
        f = jit(lambda x: gamma(x) * 2)
        for _ in range(2):
            with pytest.raises(CompileError, match="the primitive foreign cannot be compiled"):
                f(1.5)

    @pytest.mark.parametrize(
        "value",
        [
            lambda x: 1.0 / x if x else 0.0,
            lambda x: 0.0 if x == 0.0 else 1.0 / x,
            lambda x: 1.0 / x if x != 0.0 else 0.0,
            lambda x: 0.0 if x in (0.0,) else 1.0 / x,
            lambda x: {0.0: 0.0}[x] if x in {0.0} else 1.0 / x,
            lambda x: 1.0 / x if x > 0.0 or x < 0.0 else 0.0,
        ],
    )
    def test_one_that_decides_by_its_input_says_so(self, value):
        """On a tape the number is not known: an `if` would go one way for all."""
        by_value = primitive(lambda x, y: -y * y)(value)
        by_partial = primitive(lambda x, y: -value(x) * value(x))(lambda x: 1.0 / x)
        for f in (
            jit(by_value, wait=True),
            jit(by_value),
            jit(grad(by_partial)),
            grad(grad(by_partial)),
            vmap(by_value),
        ):
            with pytest.raises(CompileError, match=r"not known yet; micrograd.math.where"):
                f(np.ones(3) if hasattr(f, "in_axes") else 2.0)
        assert by_value(0.0) == 0.0
        assert grad(by_partial)(2.0) == -0.25  # at one point the partial runs on numbers, as for backward()

    def test_only_partials_that_are_needed_must_be_compiled(self):
        f = jit(primitive(lambda x, y: foreign(x))(lambda x: math.sin(x)))
        assert f(1.5) == math.sin(1.5)
        with pytest.raises(CompileError, match="the partials of the primitive <lambda> cannot be compiled"):
            f(Value(1.5))

    def test_without_wait_what_cannot_be_compiled_goes_on_in_python_and_says_so_once(self, monkeypatch):
        monkeypatch.setattr(TUNING, "max_instructions", 1)
        f = jit(lambda x: math.exp(x) * 2)
        assert f(1.5) == math.exp(1.5) * 2
        settle()
        with pytest.warns(
            RuntimeWarning, match=r"(?s)runs in Python, which is slow: the tape has \d instructions"
        ) as told:
            assert f(1.5) == math.exp(1.5) * 2
        assert told[0].filename == __file__
        assert f(2.5) == math.exp(2.5) * 2

    def test_partials_that_are_not_say_so(self):
        @primitive(lambda x, y: foreign(x))
        def sine(x):
            return math.sin(x)

        with pytest.raises(CompileError, match="the partials of the primitive sine cannot be compiled"):
            jit(grad(sine), wait=True)(1.5)


class TestThreads:
    def test_one_function_called_by_many_threads_at_once(self):
        f = jit(value_and_grad(lambda x, n: (math.exp(x) if x > 0 else x * x) * n))
        want = {i: ((math.exp(i / 50 - 1) if i > 50 else (i / 50 - 1) ** 2) * 3) for i in range(100)}
        barrier = threading.Barrier(8)

        def work(k):
            barrier.wait(30)
            return [(i, f(i / 50 - 1, 3.0)[0]) for i in range(k, 100)]

        with ThreadPoolExecutor(8) as pool:
            for part in pool.map(work, range(8)):
                for i, y in part:
                    assert y == pytest.approx(want[i], rel=1e-13)

    def test_each_thread_traces_for_itself(self):
        def work(k):
            f = jit(grad(lambda x: math.sin(x * k)), wait=True)
            return [f(0.1 * i) for i in range(20)] == pytest.approx([k * math.cos(0.1 * i * k) for i in range(20)])

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(1, 9)))


class TestLargeTapes:
    @pytest.fixture(autouse=True)
    def iterations_are_written_out(self, monkeypatch, traced_at_points):
        monkeypatch.setattr(TUNING, "rolled_work", 10**9)

    @staticmethod
    def long(n):
        def f(x, y):
            for i in range(n):
                x = x * 0.999 + y if i % 2 else x - 0.001 * y
            return x

        return f

    def test_a_tape_over_the_limit_is_refused_with_a_message(self, monkeypatch):
        monkeypatch.setattr(TUNING, "max_instructions", 1000)
        with pytest.raises(
            CompileError, match=r"(?s)the tape has [0-9,]+ instructions.*the limit is 1,000.*one row with vmap"
        ):
            jit(self.long(1000), wait=True)(1.0, 2.0)
        assert jit(self.long(100), wait=True)(1.0, 2.0) == pytest.approx(self.long(100)(1.0, 2.0))

    def test_the_limit_leaves_half_of_the_memory(self, run_python):
        program = (
            "import os\n"
            "os.sysconf = {'SC_PHYS_PAGES': 732422, 'SC_PAGE_SIZE': 4096}.__getitem__\n"
            "from micrograd.compile.tuning import TUNING\n"
            "print(TUNING.max_instructions)\n"
        )
        assert run_python(program).stdout == "1000000\n"

    def test_without_wait_the_interpreter_goes_on(self, monkeypatch):
        monkeypatch.setattr(TUNING, "max_instructions", 100)
        f = jit(self.long(200))
        assert f(1.0, 2.0) == self.long(200)(1.0, 2.0)
        settle()
        with pytest.warns(RuntimeWarning, match="the limit is 100"):
            assert f(1.0, 2.0) == self.long(200)(1.0, 2.0)

    def test_long_tapes_are_cut_into_pieces(self):
        f = jit(value_and_grad(self.long(3000), (0, 1)), wait=True)
        f(1.0, 2.0)
        y, (gx, gy) = f(0.5, 0.25)
        want, (wx, wy) = value_and_grad(self.long(3000), (0, 1))(0.5, 0.25)
        assert (y, gx, gy) == pytest.approx((want, wx, wy), rel=1e-10)

    @pytest.mark.slow
    def test_a_hundred_thousand_instructions(self):
        n = 50_000
        f = jit(self.long(n), wait=True)
        assert len(f.tape(1.0, 2.0)) > 100_000
        with pytest.warns(RuntimeWarning, match="a loop in it is written out"):
            assert f(1.0, 2.0) == pytest.approx(self.long(n)(1.0, 2.0), rel=1e-9)
        assert f(3.0, 2.0) == pytest.approx(self.long(n)(3.0, 2.0), rel=1e-9)


def test_the_python_twin_has_jit_too(run_python):
    program = (
        "from micrograd import jit, grad; f = jit(grad(lambda x: x**3 if x > 0 else x)); print(f(2.0), f(-1.0), f(3.0))"
    )
    assert run_python(program, MICROGRAD_PURE="1").stdout.split() == ["12.0", "1.0", "27.0"]


def test_options_for_rows_are_refused_for_a_point():
    for options in ({"float32": True}, {"width": 4}):
        with pytest.raises(ValueError, match="for rows"):
            jit(lambda x: x, **options)
