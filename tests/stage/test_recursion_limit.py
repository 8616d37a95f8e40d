"""Staging raises the recursion limit of the process: it is put back, whatever the threads do, and it never ends the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest

from micrograd import math, vmap
from micrograd.stage import staged


def branch(x):
    return math.sin(x) if x > 0.0 else x * x


@pytest.fixture
def limit():
    before = sys.getrecursionlimit()
    yield before
    sys.setrecursionlimit(before)


def test_the_limit_is_put_back(limit):
    vmap(branch)([0.5, -0.5])
    assert sys.getrecursionlimit() == limit


def test_the_limit_is_put_back_by_the_last_of_two_threads(limit):
    """The first to come is the first to leave, so that the second one has found the raised limit."""
    entered, left = threading.Event(), threading.Event()

    def second():
        with staged._deep_calls:
            entered.set()
            assert left.wait(60)

    with staged._deep_calls:
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(60)
        assert sys.getrecursionlimit() > limit
    left.set()
    thread.join()
    assert sys.getrecursionlimit() == limit


def test_a_limit_that_somebody_else_sets_meanwhile_stays(limit):
    with staged._deep_calls:
        sys.setrecursionlimit(limit + 7_777)
    assert sys.getrecursionlimit() == limit + 7_777


def test_endless_recursion_through_c_is_an_error_and_not_the_end_of_the_process(tmp_path):
    program = textwrap.dedent("""
        from micrograd import Value, vmap

        class Odd:
            def __add__(self, other):
                return other + self
            __radd__ = __add__

        def f(x):
            if x > 0.0:
                return x * 2.0
            sorted([1, 2], key=lambda k: Odd() + Odd())
            return x

        def g(x):
            return x if x > 0.0 else max([1.0, 2.0], key=lambda k: g(x)) * x

        for program in (f, g):
            try:
                vmap(program)([0.5, 0.25, -0.5])
            except RecursionError:
                print("refused")
    """)
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused", "refused"]
