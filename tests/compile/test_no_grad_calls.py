"""Compiled functions under no_grad: straight to machine code, as with gradients, and results without a graph."""

from __future__ import annotations

import sys

import pytest

from micrograd import Value, detect_anomaly, engine, jit, math, no_grad
from random_programs import needs_llvm
from threads import together

pytestmark = [needs_llvm, pytest.mark.skipif(not engine.NATIVE, reason="machine code needs the C engine")]


def entered(call):
    """The Python functions that a call enters."""
    seen, before = [], sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen[1:]  # without the call itself


def loss_over(ps):
    def loss(xs, y):
        return (math.dot(ps, xs) - y) ** 2

    return loss


@pytest.fixture
def ps():
    return [Value(0.5), Value(-1.0), Value(2.0)]


XS = [1.0, 2.0, 3.0]


def test_no_python_function_is_entered(ps):
    f, g = jit(loss_over(ps), wait=True), jit(lambda x, y: x * y + 1.0, wait=True)
    f(XS, 0.5).backward()
    g(2.0, 3.0)
    with no_grad():
        f(XS, 0.5)
        g(2.0, 3.0)
        assert entered(lambda: f(XS, 0.5)) == []
        assert entered(lambda: g(2.0, 3.0)) == []
        assert g(2.0, 3.0) == 7.0
    assert entered(lambda: f(XS, 0.5)) == []


def test_results_have_no_graph(ps):
    f = jit(loss_over(ps), wait=True)
    want = loss_over(ps)(XS, 0.5).data
    for _ in range(3):
        with no_grad():
            y = f(XS, 0.5)
            assert type(y) is Value and y.data == pytest.approx(want, rel=1e-15) and y._prev == () and y._op == ""
            y.backward()
            assert y.grad == 1.0 and [p.grad for p in ps] == [0.0, 0.0, 0.0]
        z = f(XS, 0.5)
        assert len(z._prev) == 3 and z.data == y.data


def test_the_numbers_are_those_of_now(ps):
    f = jit(loss_over(ps), wait=True)
    for k in range(5):
        ps[k % 3].data += 0.25
        with no_grad():
            assert f(XS, 0.5).data == pytest.approx(loss_over(ps)(XS, 0.5).data, rel=1e-15)
        assert f(XS, 0.5).data == pytest.approx(loss_over(ps)(XS, 0.5).data, rel=1e-15)


@pytest.mark.parametrize("first", [True, False], ids=["no_grad first", "gradients first"])
def test_other_arguments_and_other_paths(ps, first):
    def branching(x):
        return ps[0] * x if x > 0.0 else math.exp(x) * ps[1]

    f = jit(branching, wait=True)
    for k in range(6):
        recorded = first == bool(k % 2)
        for x in (1.5, -1.5, 2.0, -0.5):
            if recorded:
                y = f(x)
                assert y._prev
            else:
                with no_grad():
                    y = f(x)
                    assert not y._prev
            assert y.data == pytest.approx(branching(x).data, rel=1e-15)
    g = jit(loss_over(ps), wait=True)
    with no_grad():
        for xs in (XS, [2, 3, 4], tuple(XS), [Value(1.0), 2.0, 3.0]):
            assert g(xs, 0.5).data == pytest.approx(loss_over(ps)(xs, 0.5).data, rel=1e-15)


def test_results_that_are_no_values(ps):
    """A result that depends on no Value is a number, as in eager code."""
    f = jit(lambda x: x * 2.0 if x > 0.0 else ps[0] * x, wait=True)
    for _ in range(3):
        with no_grad():
            assert (type(f(3.0)), f(3.0)) == (float, 6.0)
            assert (type(f(-3.0)), f(-3.0).data) == (Value, -1.5)


def test_inside_traces_and_watches(ps):
    f = jit(loss_over(ps), wait=True)
    with no_grad():
        f(XS, 0.5)
    with no_grad(), detect_anomaly():
        assert f(XS, 0.5).data == loss_over(ps)(XS, 0.5).data
    outer = jit(lambda x: f([x, 2.0, 3.0], 0.5) * 2.0, wait=True)
    with no_grad():
        for x in (1.0, 3.0):
            assert outer(x).data == pytest.approx(2.0 * loss_over(ps)([x, 2.0, 3.0], 0.5).data, rel=1e-15)


def test_threads_of_both_kinds(ps):
    f = jit(loss_over(ps), wait=True)
    f(XS, 0.5)
    with no_grad():
        f(XS, 0.5)
    wrong = []

    def work(k):
        for _ in range(500):
            if k % 2:
                wrong.extend([1] * (len(f(XS, 0.5)._prev) != 3))
            else:
                with no_grad():
                    wrong.extend([1] * (f(XS, 0.5)._prev != ()))

    together(work)
    assert not wrong
