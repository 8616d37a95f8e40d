"""A loop that is not a loop of the compiled code, and costs much: one warning with the line, the reason and the way out."""

from __future__ import annotations

import warnings

import pytest

from micrograd import Value, grad, jit, value_and_grad
from micrograd.compile import explain
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

pytestmark = needs_llvm


def memo(x):
    known = {0: x}
    for k in range(1, 700):
        known[k] = known[k - 1] * 0.5 + x
    return known[699]


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(w.message) for w in caught if w.category is RuntimeWarning]


def test_a_loop_that_is_written_out_is_named_once(monkeypatch):
    monkeypatch.setattr(explain, "LARGE", 1000)
    f = jit(value_and_grad(memo), wait=True)
    _, messages = told(lambda: f(1.5))
    (message,) = messages
    line = memo.__code__.co_firstlineno + 3
    assert "instructions" in message and "is written out" in message
    assert f"a key that is not known before the call, at test_warnings_of_loops.py:{line}" in message
    assert "use a list with an index" in message
    assert not told(lambda: (f(2.5), f(1.5), f(1)))[1]
    assert f"a key that is not known before the call, at test_warnings_of_loops.py:{line}" in str(f.explain(1.5))


def test_the_reason_may_be_how_it_is_called(monkeypatch):
    monkeypatch.setattr(explain, "LARGE", 100)
    monkeypatch.setattr(TUNING, "rolled_work", 10**6)  # else the trace has a loop

    def f(x, *, n):
        for _ in range(200):
            x = x * 0.5 + n
        return x

    _, (message,) = told(lambda: jit(f, wait=True)(1.0, n=2.0))
    assert "arguments are given by name" in message and "by position" in message

    def g(x):
        for _ in range(200):
            x = x * 0.5 + 1.0
        return x

    _, (message,) = told(lambda: jit(value_and_grad(g), exact=True, wait=True)(1.0))
    assert "exact=True" in message and "Leave exact=True out" in message


def test_there_is_none_where_a_loop_is_a_loop_or_nothing_can_be_done(monkeypatch):
    monkeypatch.setattr(explain, "LARGE", 100)
    w = Value(2.0)

    def captured(x):
        for _ in range(200):
            x = x * 0.5 + w
        return x

    def rolled(x):
        for _ in range(5000):
            x = x * 0.5 + 1.0
        return x

    assert not told(lambda: jit(captured, wait=True)(1.0))[1]
    assert not told(lambda: jit(grad(rolled), wait=True)(1.0))[1]


def test_arguments_by_name_are_those_by_position():
    def f(x, n, m=2):
        for _ in range(n):
            x = x * 0.5 + m
        return x

    compiled = jit(f)
    assert "a typed tape" in str(compiled.explain(1.0, n=3))
    assert compiled(1.0, n=3) == compiled(x=1.0, n=3) == compiled(n=3, x=1.0) == f(1.0, 3)
    assert compiled(1.0, 3, m=4) == compiled(1.0, m=4, n=3) == f(1.0, 3, 4)
    assert jit(grad(f))(2.0, n=4) == 0.5**4
    for kwargs in [{"n": 3, "k": 1}, {"k": 3}]:
        with pytest.raises(TypeError):
            compiled(1.0, **kwargs)
    with pytest.raises(TypeError):
        compiled(1.0, 3, x=2.0)
