"""Tracing: what is captured, what is guarded, and that nothing is left behind when it fails."""

from __future__ import annotations

import importlib.util
import itertools
import sys

import pytest

SINGLE = ("tuple", (("*",),))


COMPILES = True  # read by the fixture mg


@pytest.fixture
def tracing(twin):
    """micrograd.tape.trace of the twin under test."""
    return importlib.import_module("micrograd.tape.trace")


def state(engine):
    """What the thread is doing, without changing it."""
    watch = engine.set_watch(None, None)
    engine.set_watch(*watch)
    trace = engine.set_trace(0)
    engine.set_trace(trace)
    recording = engine.set_recording(True)
    engine.set_recording(recording)
    scope = engine.set_scope(0)
    engine.set_scope(scope)
    return watch, trace, recording, scope


class TestCaptured:
    def test_captured_values_are_read_at_each_call(self, mg, Value):
        w = Value(2.0)
        f = mg.jit(lambda x: w * x, wait=True)
        assert f(3.0).data == 6.0
        w.data = 10.0
        assert f(3.0).data == 30.0

    def test_backward_of_the_result_reaches_them(self, mg, Value):
        w = Value(2.0)
        f = mg.jit(lambda x: w * w * x, wait=True)
        for k in (1, 2):
            f(3.0).backward()
            assert w.grad == 12.0 * k

    def test_a_captured_node_is_taken_as_it_is(self, mg, Value):
        a = Value(2.0)
        w = a * 3
        f = mg.jit(lambda x: w * x, wait=True)
        f(5.0).backward()
        assert w.grad == 5.0
        assert a.grad == 15.0

    def test_numbers_are_constants_and_values_parameters(self, mg, Value, tracing):
        w = Value(2.0)
        found = tracing.trace(lambda x: 3 * x + w, SINGLE, [1.0], frozen=True)
        assert found.captured == [w]
        assert found.captured[0] is w
        assert [op.name for op in found.tape.ops] == ["input", "const", "mul", "param", "add"]

    def test_one_value_used_twice_is_one_parameter(self, mg, Value, tracing):
        w = Value(2.0)
        found = tracing.trace(lambda x: w * x + w * w, SINGLE, [1.0], frozen=True)
        assert len(found.captured) == 1

    def test_a_value_made_inside_is_a_parameter_too(self, mg, Value):
        f = mg.jit(lambda x: Value(2.0) * x, wait=True)
        assert [f(x).data for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]

    def test_primitives_are_written_down(self, mg, Value, tracing):
        cube = mg.primitive(lambda x, y: 3 * x * x)(lambda x: x * x * x)
        found = tracing.trace(lambda x: cube(x), SINGLE, [2.0], frozen=True)
        assert len(found.tape) == 2
        assert mg.jit(mg.grad(cube), wait=True)(2.0) == 12.0


class TestResults:
    @pytest.mark.parametrize(
        "make",
        [
            lambda x: (x, x * 2),
            lambda x: [x, [x * 2, ()]],
            lambda x: {"a": x, "b": {"c": x + 1}},
            lambda x: (x, "text", None, True),
            lambda x: 3.0,
            lambda x: (x, x, x),
            lambda x: None,
        ],
        ids=["tuple", "lists", "dicts", "with other things", "a number", "the input itself", "nothing"],
    )
    def test_results_are_arranged_as_the_function_arranges_them(self, mg, make):
        f = mg.jit(make, wait=True)
        assert f(2.0) == make(2.0)
        assert f(5.0) == make(5.0)

    def test_arrays_come_back_as_arrays(self, mg):
        np = pytest.importorskip("numpy")
        f = mg.jit(lambda a: a * 2 + 1, wait=True)
        x = np.arange(6.0).reshape(2, 3)
        assert f(x).shape == (2, 3)
        assert (f(x + 1) == (x + 1) * 2 + 1).all()


class TestGuards:
    def test_each_way_through_the_branches_is_right(self, mg):
        def f(x, y):
            if x > y:
                return x * 2
            if x == y:
                return x + 100
            return -y if not x else y

        g = mg.jit(f, wait=True)
        for _ in range(2):
            for point in [(2.0, 1.0), (1.0, 1.0), (0.0, 5.0), (1.0, 3.0), (-1.0, 3.0), (3.0, 1.0)]:
                assert g(*point) == f(*point)

    def test_loops_run_as_long_as_the_numbers_say(self, mg):
        def f(x):
            n = 0
            while x < 100:
                x, n = x * 2, n + 1
            return x + n

        g = mg.jit(f, wait=True)
        assert [g(x) for x in (1.0, 50.0, 99.0, 3.0, 1.0)] == [f(x) for x in (1.0, 50.0, 99.0, 3.0, 1.0)]

    def test_sorting_min_max_and_abs_of_the_language(self, mg):
        f = lambda a, b, c: (sorted([a, b, c]), min(a, b, c), max(a, b, c), abs(a))  # noqa: E731
        g = mg.jit(f, wait=True)
        for point in [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 3.0, 1.0), (-1.0, -1.0, 0.0)]:
            assert g(*point) == f(*point)

    def test_nan_takes_the_way_that_eager_code_takes(self, mg):
        f = lambda x: 1.0 if x < 0 else 2.0 if x >= 0 else 3.0  # noqa: E731
        g = mg.jit(f, wait=True)
        assert [g(x) for x in (-1.0, 1.0, float("nan"), -1.0)] == [1.0, 2.0, 3.0, 1.0]

    def test_branches_on_captured_values_follow_them(self, mg, Value):
        w = Value(1.0)
        g = mg.jit(lambda x: x + w if w > 0 else x - w, wait=True)
        assert g(5.0).data == 6.0
        w.data = -1.0
        assert g(5.0).data == 6.0
        w.data = 2.0
        assert g(5.0).data == 7.0

    def test_a_guard_is_written_once(self, tracing):
        found = tracing.trace(lambda x: sum(1.0 for _ in range(50) if x > 0) * x, SINGLE, [1.0], frozen=True)
        assert len(found.tape.guards) == 1


class TestFailures:
    def test_an_exception_in_the_function_leaves_no_trace(self, mg, engine):
        before = state(engine)

        def f(x):
            y = x * 2
            raise KeyError("mine", y > 0)

        for wrap in (mg.jit, mg.grad, mg.jacobian, lambda g: mg.grad(mg.jit(g)), lambda g: mg.jit(mg.grad(mg.grad(g)))):
            with pytest.raises(KeyError, match="mine"):
                wrap(f)(1.0)
            assert state(engine) == before

    def test_an_exception_with_a_value_in_it_shows_the_number(self, mg):
        def f(x):
            raise KeyError(x)

        for wrap in (mg.jit, mg.grad, lambda g: mg.jit(mg.grad(g))):
            with pytest.raises(KeyError, match=r"^1\.5$"):
                wrap(f)(1.5)

    def test_it_may_succeed_the_next_time(self, mg):
        fail = [True]

        def f(x):
            if fail[0]:
                raise ValueError("not yet")
            return x * 2

        g = mg.jit(f, wait=True)
        with pytest.raises(ValueError, match="not yet"):
            g(1.0)
        fail[0] = False
        assert g(1.0) == 2.0
        assert g(3.0) == 6.0

    def test_an_exception_along_a_new_way_leaves_the_old_ones(self, mg, engine):
        def f(x):
            if x < 0:
                raise ValueError("negative")
            return x * 2

        g = mg.jit(f, wait=True)
        assert g(1.0) == 2.0
        before = state(engine)
        for _ in range(2):
            with pytest.raises(ValueError, match="negative"):
                g(-1.0)
            assert state(engine) == before
        assert g(4.0) == 8.0

    def test_tracing_inside_no_grad_sees_everything(self, mg, engine):
        f = mg.jit(lambda x: x * x, wait=True)
        before = state(engine)
        with mg.no_grad():
            assert float(f(3.0)) == 9.0
        assert state(engine) == before
        assert f(4.0) == 16.0

    def test_a_trace_error_leaves_no_trace(self, mg, engine):
        before = state(engine)
        with pytest.raises(mg.TraceError):
            mg.jit(lambda x: x.data * x)(1.0)
        assert state(engine) == before


class TestRecursion:
    def test_a_recursive_function(self, mg):
        @mg.jit(wait=True)
        def power(x, n):
            return x if n <= 1 else x * power(x, n - 1)

        assert power(2.0, 5.0) == 32.0
        assert power(3.0, 5.0) == 243.0
        assert power(3.0, 2.0) == 9.0

    def test_a_compiled_function_inside_another_is_part_of_it(self, mg, tracing):
        inner = mg.jit(lambda x: x * x)
        tape = mg.jit(lambda x: inner(x) + 1).tape(2.0)
        assert [op.name for op in tape.ops] == ["input", "mul", "const", "add"]

    def test_depth_is_no_matter(self, mg):
        def f(x):
            y = x
            for _ in range(3 * sys.getrecursionlimit()):
                y = y * 1.0001 + 0.001
            return y

        want = f(1.0)
        assert mg.jit(f, wait=True)(1.0) == pytest.approx(want, rel=1e-12)
        assert mg.grad(f)(1.0) == pytest.approx(1.0001 ** (3 * sys.getrecursionlimit()), rel=1e-9)


class TestCost:
    def test_the_function_runs_three_times_and_no_more(self, mg):
        runs = itertools.count()  # not a container: a side effect that a trace cannot see

        def double(x):
            next(runs)
            return x * 2

        f = mg.jit(double, wait=True)
        for x in (1.0, 2.0, 3.0, 4.0):
            assert f(x) == 2 * x
        # Traced, once more to see whether it does the same again, and on the number itself, which has to give the same.
        assert next(runs) == 3

    def test_a_trace_holds_one_instruction_for_each_op(self, tracing):
        """Its cost is linear: nothing is written twice, however often a value is used."""

        def f(x):
            y = x
            for _ in range(2000):
                y = y * y
            return y

        assert len(tracing.trace(f, SINGLE, [1.0], frozen=True).tape) == 2001

    @pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacobian", "hessian"])
    def test_the_second_run_sweeps_nothing_anew(self, mg, monkeypatch, transform):
        sweeps = []
        for name in ("adjoint", "columns"):
            sweep = getattr(mg.tape.passes, name)
            monkeypatch.setattr(
                mg.tape.passes, name, lambda *args, sweep=sweep: [sweeps.append(len(args[0])), sweep(*args)][1]
            )
        f = getattr(mg, transform)(lambda x: mg.math.sin(x) * x * x)
        mg.tape.trace.trace(f, ("tuple", (("*",),)), [0.7], frozen=True)
        once = len(sweeps)
        assert once > 0
        assert mg.jit(f)(0.7) == f(0.7)
        assert len(sweeps) == 2 * once  # in the trace of jit; the eager call takes the tapes that were swept before

    def test_what_two_runs_do_differently_is_found_behind_a_sweep_too(self, mg):
        runs = itertools.count()

        def f(x):
            return x * x if next(runs) % 2 else x * x * x

        with pytest.raises(mg.errors.TraceError, match="computes something else when it is run again"):
            mg.jit(mg.grad(f))(2.0)
