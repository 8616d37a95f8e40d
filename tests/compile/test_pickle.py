"""Compiled functions in other processes: pickled, copied, forked."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
from pathlib import Path

import pytest

import compiled_module
from micrograd import jit
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
kernel = importlib.import_module("micrograd.compile.kernel")
jitting = importlib.import_module("micrograd.compile.jit")
ways = importlib.import_module("micrograd.compile.variants")
pytestmark = needs_llvm


class TestPickle:
    def test_round_trips(self):
        for f in (compiled_module.decorated, jit(compiled_module.plain), jit(compiled_module.plain, exact=True)):
            f(1.0, 2.0)
            again = pickle.loads(pickle.dumps(f))
            assert again(0.5, 3.0) == f(0.5, 3.0)
        assert pickle.loads(pickle.dumps(compiled_module.decorated)) is compiled_module.decorated
        assert pickle.loads(pickle.dumps(jit(compiled_module.plain, exact=True))).options.exact

    @pytest.mark.parametrize("f", compiled_module.MADE, ids=repr)
    def test_what_is_made_of_importable_names_round_trips(self, f):
        args = (0.5,) if isinstance(getattr(f, "f", None), functools.partial) else (0.5, 3.0)
        again = pickle.loads(pickle.dumps(f))
        assert repr(again) == repr(f)
        assert again(*args) == f(*args)

    @pytest.mark.parametrize("f", compiled_module.ROWS, ids=repr)
    def test_rows_round_trip(self, f):
        np = pytest.importorskip("numpy")
        args = np.array([0.5, -1.0]), 3.0 if f.in_axes == (0, None) else np.array([3.0, 4.0])
        again = pickle.loads(pickle.dumps(f))
        assert np.array_equal(again(*args), f(*args))
        assert again.options == f.options
        assert (again.threads, again.reduce) == (f.threads, f.reduce)

    @pytest.mark.parametrize("name", ["decorated", "square_slope", "cube_slope", "each_square"])
    def test_a_decorated_function_is_found_by_its_name(self, name):
        f = getattr(compiled_module, name)
        assert pickle.loads(pickle.dumps(f)) is f

    def test_a_function_without_a_name_is_refused(self):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(jit(lambda x: x))

    def test_another_process_can_use_it(self, run_python, monkeypatch):
        f = jit(compiled_module.plain, wait=True)
        text = pickle.dumps([f, compiled_module.decorated]).hex()
        here = str(Path(__file__).parents[1])
        program = (
            f"import sys, pickle; sys.path.insert(0, {here!r})\n"
            f"f, g = pickle.loads(bytes.fromhex({text!r}))\n"
            "print(repr([f(0.5, 3.0), f(-1.0, 2.0), g(0.5, 3.0)]))"
        )
        assert eval(run_python(program).stdout) == [f(0.5, 3.0), f(-1.0, 2.0), compiled_module.decorated(0.5, 3.0)]

    def test_a_pool_of_processes(self, run_python):
        """Started afresh, as on every platform: the function goes over by pickle."""
        here = str(Path(__file__).parents[1])
        program = f"""
import sys; sys.path.insert(0, {here!r})
import multiprocessing, compiled_module
from micrograd import jit
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.starmap(jit(compiled_module.plain), [(1.0, 2.0), (-1.0, 2.0)]))
"""
        from math import sin

        assert eval(run_python(program).stdout) == pytest.approx([sin(1.0) * 2, 2.0])

    def test_a_forked_process_compiles_on(self, run_python):
        program = """
import os
from micrograd import jit
f = jit(lambda x: x * 2, wait=True)
f(1.0)
from micrograd.compile import worker
from llvmlite import binding
lock = binding.ffi.lib._lock._lock
import threading
lock.acquire()  # as a thread of another package may hold it
child = os.fork()
if child == 0:
    done = threading.Event()
    worker.in_background(done.set)
    os._exit(0 if done.wait(30) and jit(lambda x: x * 3, wait=True)(2.0) == 6.0 else 1)
lock.release()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        if not hasattr(os, "fork"):
            pytest.skip("no fork on this platform")
        assert run_python(program).stdout.strip() == "0"
