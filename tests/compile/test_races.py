"""What another thread changes while a function is traced is never kept for good."""

from __future__ import annotations

import importlib.util
import random
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="functions are compiled")

from micrograd import TraceError, jit, vmap
from micrograd.abstract.machine import Machine
from micrograd.abstract.outside import Changed
from micrograd.compile.variants import Variants
from micrograd.compile.worker import Threads
from micrograd.ir.builder import Builder

RACES = Path(__file__).parent.parent.parent / "tools" / "races.py"


@pytest.fixture
def another_thread():
    """A thread that waits all the time."""
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    waiting.start()
    yield
    stop.set()
    waiting.join()


@pytest.mark.skipif(not RACES.exists(), reason="the commands of a clone are not here")
def test_no_number_of_a_race_is_kept():
    spec = importlib.util.spec_from_file_location("races", RACES)
    races = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(races)
    choose, found = random.Random(0), Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of functions that are traced again and again
        for program in races.PROGRAMS:
            for way in ("jit", "jit, exact", "rows"):
                found += races.race(program, way, choose)
    assert found["right"] == 3 * 3 * len(races.PROGRAMS) and not found["blamed the function"]


@pytest.mark.parametrize("compiled", [jit, vmap])
def test_what_is_assigned_after_a_function_was_traced_counts_in_the_same_call(compiled, another_thread, monkeypatch):
    """The assignment is made at the moment at which another thread could make it: the number is read, and not yet watched."""
    c, read, moments = SimpleNamespace(k=2.0), Variants.read, iter([False, True])

    def assigning(self, f, modules):
        if next(moments, False):
            c.k = 5.0
        read(self, f, modules)

    monkeypatch.setattr(Variants, "read", assigning)
    g, x = compiled(lambda a: a * c.k + 1.0), 3.0 if compiled is jit else np.array([3.0])
    assert g(x) == g(x) == 16.0 and next(moments, None) is None


def test_what_changes_in_every_run_is_named(another_thread):
    c = SimpleNamespace(k=0.0)

    def f(a):
        c.k += 1.0
        return a * c.k

    with pytest.raises(TraceError, match="another thread"):
        jit(f)(3.0)


def test_a_waiting_thread_costs_no_trace(another_thread, monkeypatch):
    begun, begin = [], Variants.begin
    monkeypatch.setattr(Variants, "begin", lambda self, f, code: (begun.append(f), begin(self, f, code)))
    c = SimpleNamespace(k=2.0)
    g = jit(lambda a: a * c.k + 1.0)
    assert [g(3.0), g(4.0), g(5.0)] == [7.0, 9.0, 11.0] and len(begun) == 1


@pytest.mark.parametrize("compiled", [jit, vmap])
def test_a_number_that_was_there_during_every_trace_alone_is_not_kept(compiled, another_thread, monkeypatch):
    """Another thread assigns 5 after each look at what is there, and 2 again before the next one."""
    before, during = 2.0, 5.0
    c, x = SimpleNamespace(k=before), 3.0 if compiled is jit else np.array([3.0])
    begin, doubtful = Variants.begin, Variants.doubtful

    def begun(self, f, code):
        c.k = before
        begin(self, f, code)
        c.k = during

    def asked(self, agrees):
        c.k = before
        return doubtful(self, agrees)

    g = compiled(lambda a: a * c.k + 1.0)
    with monkeypatch.context() as patched:
        patched.setattr(Threads, "rested", lambda self: False)
        patched.setattr(Variants, "begin", begun)
        patched.setattr(Variants, "doubtful", asked)
        g(x)
    c.k = before
    assert g(x) == g(x) == 7.0


def test_what_is_read_twice_is_the_same_both_times():
    machine, names = Machine(Builder()), {"k": 1.0}
    machine.guard("global", names, "k", 1.0)
    machine.guard("global", names, "k", 1.0)
    with pytest.raises(Changed):
        machine.guard("global", names, "k", 2.0)
