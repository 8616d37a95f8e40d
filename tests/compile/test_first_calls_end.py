"""No first call takes minutes: the search for a tape of all paths ends, and rows whose paths do not pay run in plain Python.

The clocks are counters here: one tick for each time that they are read, or one second for each path that is compiled.
"""

from __future__ import annotations

import itertools
import math as python
import warnings

import numpy as np
import pytest

from micrograd import Value, jit, math, value_and_grad, vmap
from micrograd.compile.batch import RowsVariant
from micrograd.compile.rows_tracing import RowsTracing
from micrograd.stage import budget
from random_programs import needs_llvm

pytestmark = needs_llvm


class Ticks:
    """A clock that goes on by a tick whenever it is read."""

    def __init__(self, tick: float) -> None:
        self.tick, self.reads = tick, 0

    def __call__(self) -> float:
        self.reads += 1
        return self.reads * self.tick


@pytest.fixture
def ticks(monkeypatch):
    found = Ticks(0.01)
    monkeypatch.setattr(budget, "clock", found)
    monkeypatch.setattr(budget, "busy", found)
    return found


def told(run):
    """What a call gives, and the warnings that it gives beside it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = run()
    return result, [str(w.message) for w in found if issubclass(w.category, RuntimeWarning)]


def newton(a):
    x = a
    while True:
        x = 0.5 * (x + a / x)
        yield x, abs(x * x - a) < 1e-9


def in_a_loop(a):
    for x, done in newton(a):
        if done:
            return x


def with_next(a):
    steps = newton(a)
    while True:
        x, done = next(steps)
        if done:
            return x


def with_takewhile(a):
    return a + sum(x for x, _ in itertools.takewhile(lambda one: not one[1], newton(a)))


def with_any(a):
    return a * 2.0 if any(done for _, done in newton(a)) else a


@pytest.mark.parametrize("f", [in_a_loop, with_next, with_takewhile, with_any])
def test_an_endless_generator_is_followed_for_a_bounded_number_of_steps(f, ticks, traced_at_points):
    g = jit(f, wait=True)
    result, messages = told(lambda: g(1.7))
    assert result == pytest.approx(f(1.7), rel=1e-14)
    (message,) = messages
    assert f"{f.__name__} is compiled once for each path" in message and "test_first_calls_end.py:" in message
    line = int(message.split("test_first_calls_end.py:")[1].split()[0])
    assert newton.__code__.co_firstlineno < line < newton.__code__.co_firstlineno + 6 or line > 60
    assert ticks.reads < 10 * budget.SEARCH / ticks.tick
    again, messages = told(lambda: g(1.7001))
    assert again == pytest.approx(f(1.7001), rel=1e-14) and not messages
    gradient = jit(value_and_grad(f), wait=True)
    assert told(lambda: gradient(1.7))[0][0] == pytest.approx(f(1.7), rel=1e-14)


def test_a_search_that_ends_in_an_arm_does_not_take_the_arm_for_what_is_not_merged(ticks, traced_at_points):
    def f(a):
        b = a
        if a > 1.0:
            n = 0
            for _ in itertools.count():
                n = n + 1
                if n == 20_000:
                    break
            b = a * n
        return b

    result, messages = told(lambda: jit(f, wait=True)(1.7))
    assert result == f(1.7) and len(messages) == 1 and "following all of them took more than" in messages[0]


def test_what_ends_in_time_is_merged_without_a_word(ticks, traced_at_points):
    def f(x):
        total = 0.0
        for k in range(20):
            total = total + (x * k if x > k else x)
        return total

    g = jit(f, wait=True)
    result, messages = told(lambda: g(3.5))
    assert result == f(3.5) and not messages and "masked" in str(g.explain(3.5))


class Seconds:
    """A clock that goes on when a path is compiled, or when a row runs in plain Python."""

    def __init__(self, monkeypatch, compiling: float, plain: float) -> None:
        self.now, self.compiled, self.rows = 0.0, 0, 0
        compile_, run = RowsVariant.compile, RowsTracing._plain_numbers

        def compiled(variant, goal, *why):
            if goal not in variant.kernels:
                self.now += compiling
                self.compiled += 1
            return compile_(variant, goal, *why)

        def row(owner, rows, number):
            self.now += plain
            self.rows += 1
            return run(owner, rows, number)

        monkeypatch.setattr(RowsVariant, "compile", compiled)
        monkeypatch.setattr(RowsTracing, "_plain_numbers", row)
        monkeypatch.setattr(budget, "clock", lambda: self.now)


SOURCE = """
def many(x):
    s = x * 0.5
    if x % 2.0 >= 1.0: s = s * 3.0
    if x % 4.0 >= 2.0: s = s + x
    if x % 8.0 >= 4.0: s = s - 2.0 * x
    if x % 16.0 >= 8.0: s = s * s
    if x % 32.0 >= 16.0: s = s / (x + 1.0)
    return s
"""
many_in: dict = {}
exec(SOURCE, many_in)  # whose source cannot be read, so that its paths are compiled one by one
many = many_in["many"]


@pytest.mark.parametrize("exact", [False, True])
def test_rows_of_many_paths_are_run_plainly_when_compiling_does_not_pay(monkeypatch, exact):
    seconds = Seconds(monkeypatch, compiling=1.0, plain=0.0)
    xs = np.arange(64.0)
    g = vmap(many, exact=exact)
    result, messages = told(lambda: g(xs))
    assert result.tolist() == pytest.approx([many(x) for x in xs.tolist()], rel=1e-15)
    assert seconds.compiled == 3  # 2.5 seconds, and the path with which they were exceeded
    late = [m for m in messages if "run in plain Python" in m]
    assert len(late) == 1 and "<string>:" in late[0] and "58 rows that are left" in late[0]
    again, messages = told(lambda: g(xs))
    assert again.tolist() == result.tolist() and not messages and seconds.compiled == 3


def test_paths_are_compiled_as_long_as_that_pays(monkeypatch):
    seconds = Seconds(monkeypatch, compiling=1.0, plain=0.6)
    xs = np.arange(64.0)
    g = vmap(many)
    result, messages = told(lambda: g(xs))
    assert result.tolist() == pytest.approx([many(x) for x in xs.tolist()], rel=1e-15)
    assert seconds.compiled == 32 and not [m for m in messages if "run in plain Python" in m]


@pytest.mark.parametrize("reduce", [None, "sum", "mean"])
def test_rows_that_are_run_plainly_have_their_gradients_and_sums(monkeypatch, reduce):
    w, v = Value(0.75), Value(0.75)
    xs = np.arange(48.0)
    g = vmap(lambda x: many(x) * w * w, reduce=reduce)
    plain = [many(x) * v * v for x in xs.tolist()]
    want = math.sum(plain) if reduce != "mean" else math.mean(plain)
    Seconds(monkeypatch, compiling=1.0, plain=0.0)
    found, messages = told(lambda: g(xs))
    assert any("run in plain Python" in m for m in messages)
    found = math.sum(list(found)) if reduce is None else found
    found.backward()
    want.backward()
    assert found.data == pytest.approx(want.data, rel=1e-14) and w.grad == pytest.approx(v.grad, rel=1e-14)


def test_a_plain_row_follows_the_conventions_of_a_compiled_one(monkeypatch):
    """A division by zero is infinite, and a root of a negative number is nan, where plain Python raises or is complex."""
    poles: dict = {}
    exec(SOURCE.replace("s = x * 0.5", "s = 1.0 / (x - 40.0) + (50.5 - x) ** 0.5"), poles)
    Seconds(monkeypatch, compiling=1.0, plain=0.0)
    xs = np.arange(64.0)
    found, _ = told(lambda: vmap(poles["many"])(xs))
    want = vmap(poles["many"], exact=True)(xs[40:41])[0]
    assert (
        found[40] == want and python.isinf(found[40]) and np.isnan(found[51:]).all() and not np.isnan(found[:40]).any()
    )


def test_an_error_in_a_plain_row_names_the_row(monkeypatch):
    failing: dict = {}
    exec(SOURCE.replace("return s", "if x == 60.0: raise LookupError('no')\n    return s"), failing)
    Seconds(monkeypatch, compiling=1.0, plain=0.0)
    with pytest.raises(LookupError) as error, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vmap(failing["many"])(np.arange(64.0))
    assert "in row 60" in str(getattr(error.value, "__notes__", error.value))


def test_loops_over_the_size_of_a_number_end(monkeypatch):
    def count(x):
        total = 0.0
        for k in range(int(x)):
            total = total + math.sin(x * k)
        return total

    seconds = Seconds(monkeypatch, compiling=1.0, plain=0.0)
    xs = np.array([5.0 + k % 97 for k in range(200)])
    found, messages = told(lambda: vmap(count)(xs))
    assert found.tolist() == pytest.approx([count(x) for x in xs.tolist()], rel=1e-12)
    assert seconds.compiled <= 4 and sum("run in plain Python" in m for m in messages) <= 1
