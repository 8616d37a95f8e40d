"""When a compiled function is interpreted, and when machine code takes over."""

from __future__ import annotations

import _thread
import importlib
import itertools
import threading

import pytest

import compiled_module
from background import settle
from micrograd import Value, jit, math
from micrograd.compile.llvm import LLVM
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
worker = importlib.import_module("micrograd.compile.worker")
point = importlib.import_module("micrograd.compile.point")
pytestmark = needs_llvm


class TestTiers:
    def test_the_first_result_comes_at_once_and_machine_code_later(self, monkeypatch):
        held, jobs = [], []
        monkeypatch.setattr(worker, "in_background", jobs.append)
        values = point.Interpreted.values
        monkeypatch.setattr(point.Interpreted, "values", lambda *a: held.append(1) or values(*a))
        f = jit(lambda x: math.exp(x) * 2)
        want = [math.exp(x) * 2 for x in (0.0, 1.0, 2.0)]
        assert [f(x) for x in (0.0, 1.0)] == want[:2]
        assert len(held) == 2  # both were interpreted: nothing is compiled yet
        assert len(jobs) == 1  # and asked for once
        jobs[0]()
        assert f(2.0) == want[2]
        assert len(held) == 2

    @pytest.mark.parametrize("options", [{}, {"exact": True}])
    @pytest.mark.parametrize("value", [False, True])
    def test_machine_code_changes_no_bit(self, monkeypatch, options, value):
        def lorenz(x, y, z):
            x, y, z = step(*step(*step(*step(*step(x, y, z)))))
            return math.tanh(x) + y * z, math.sin(z) ** 3 - math.exp(-x * x)

        def step(x, y, z):
            return x + 0.01 * (10 * (y - x)), y + 0.01 * (x * (28 - z) - y), z + 0.01 * (x * y - 8 / 3 * z)

        def numbers(at, f):
            given = [Value(a) if value else a for a in at]
            found = []
            for result in f(*given):
                found.append(float(result))
                if value:
                    for x in given:
                        x.grad = 0.0
                    result.backward()
                    found += [x.grad for x in given]
            return [x.hex() for x in found]

        jobs = []
        points = [(1.0 + 0.1 * k, 2.0 - 0.3 * k, 20.0 + k) for k in range(5)]
        with monkeypatch.context() as patch:
            patch.setattr(worker, "in_background", jobs.append)
            f = jit(lorenz, **options)
            before = [numbers(at, f) for at in points]
            (variant,) = f.variants
            assert not variant.kernels
            for job in jobs:
                job()
        assert [numbers(at, f) for at in points] == before
        assert variant.kernels
        (eager,) = [numbers(at, lorenz) for at in points[:1]]
        assert (before[0] == eager) == bool(options)  # else products are fused with sums

    def test_the_switch_happens_by_itself(self):
        f = jit(lambda x: x * x + 1)
        assert f(2.0) == 5.0
        settle()
        (variant,) = f.variants
        assert len(variant.kernels) == 1
        assert f(3.0) == 10.0

    def test_a_job_that_fails_does_not_stop_the_others(self, monkeypatch):
        told = []
        monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
        worker.in_background(lambda: 1 // 0)
        settle()
        assert told == [ZeroDivisionError]

    def test_wait_compiles_in_the_first_call(self):
        f = jit(lambda x: x * x + 1, wait=True)
        f(2.0)
        (variant,) = f.variants
        assert len(variant.kernels) == 1

    def test_an_interrupted_compilation_is_begun_anew(self, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        f = jit(lambda x: x * 2, wait=True)
        with monkeypatch.context() as patch:
            patch.setattr(LLVM, "compile", interrupt)
            with pytest.raises(KeyboardInterrupt):
                f(1.0)
        assert f(1.0) == 2.0
        [variant] = f.variants
        assert len(variant.kernels) == 1

    def test_code_is_made_once_for_each_arrangement_of_the_arguments(self):
        runs = itertools.count()

        def first(x):
            next(runs)
            return x[0] if isinstance(x, list) else x

        f = jit(first, wait=True)
        for x in (1.0, 2.0, 3, [1.0], [2.0], [1.0, 2.0], [3.0, 4.0]):
            f(x)
        assert len(list(f.variants)) == 3
        # isinstance() may tell 3 from 3.0: it is traced too, and found to be the same. Each trace takes three runs.
        assert next(runs) == 3 * (3 + 1)

    def test_tape_and_source_show_what_runs(self):
        f = jit(lambda x: math.exp(x) * 2)
        assert "exp %0" in str(f.tape(1.0))
        assert "define i32 @kernel" in f.source(1.0)
        assert "@exp" in f.source(1.0)

    def test_it_says_what_it_is(self):
        assert "plain" in repr(jit(compiled_module.plain))
        assert jit(compiled_module.plain).__name__ == "plain"
        assert jit(compiled_module.plain).__module__ == "compiled_module"
        assert jit(compiled_module.plain).__doc__ == compiled_module.plain.__doc__ != None  # noqa: E711


class TestWithoutAThread:
    """Where no thread can be started, a function is compiled in the call that would have asked the thread."""

    @pytest.fixture(autouse=True)
    def no_thread(self, monkeypatch):
        def refuse(*_):
            raise RuntimeError("can't start new thread")

        for thread in (worker._background, worker._llvm):
            monkeypatch.setattr(thread, "ident", None)
        monkeypatch.setattr(_thread, "start_new_thread", refuse)

    def test_the_first_call_compiles(self):
        f = jit(lambda x: x * x + 1)
        assert [f(2.0), f(3.0)] == [5.0, 10.0]
        (variant,) = f.variants
        assert len(variant.kernels) == 1

    def test_a_job_that_fails_is_reported(self, monkeypatch):
        told = []
        monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
        worker.in_background(lambda: 1 // 0)
        assert told == [ZeroDivisionError]
