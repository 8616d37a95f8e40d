"""A tape that C keeps as a program of numbers: the bits of the interpreter, and its guards."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micrograd import Value, engine, grad, jit, math
from micrograd.compile import worker
from micrograd.compile.point import Interpreted
from micrograd.evidence import merged
from micrograd.ops import OPS
from micrograd.tape import interpret, passes
from micrograd.tape.builder import Builder
from micrograd.tape.interpret import program
from micrograd.tape.tape import INPUT, PICK
from micrograd.tape.trace import trace
from random_expressions import on_twin, programs

pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="there is no machine code beside the Python twin")

NAMES = ["add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sin", "tanh", "sqrt", "pow", "floor", "sign", "where",
         "max", "min", "dot", "sum", "prod", "mean", "logsumexp", "hypot", "copysign", "mod", "fma", "erf"]  # fmt: skip
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.25, 1e-300, 1e200, float("inf"), float("nan")])


class Twin:
    """This engine, for programs whose leaves are Values already."""

    from micrograd import engine, math, ops

    @staticmethod
    def Value(x):
        return x


def bits(numbers):
    return ["nan" if x != x else struct.pack("<d", x).hex() for x in numbers]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_program=programs(NAMES, NUMBERS, 16))
def test_the_bits_of_the_interpreter(given_program):
    leaves, w = list(given_program.leaves), Value(1.5)

    def f(*leaves):
        return [x * w for x in on_twin(given_program._replace(leaves=leaves), Twin)]

    found = trace(f, ("tuple", (("*",),) * len(leaves)), leaves, frozen=True)
    for tape in (found.tape, passes.adjoint(found.tape, passes.sources(found.tape, INPUT, len(leaves)))):
        run = program(tape)
        for moved in (leaves, [x * 0.5 - 1.0 for x in leaves], leaves):  # nothing is left of the call before
            assert bits(run(moved, [w])) == bits(map(float, interpret.run(tape, moved, [w.data])))


def test_a_pick_takes_one_of_two():
    b = Builder(3)
    tape = b.finish([b.emit(PICK, tuple(b.input(k) for k in range(3)))])
    run = program(tape)
    assert run([1.0, 2.0, 3.0], []) == [2.0] and run([-0.0, 2.0, 3.0], []) == [3.0]
    assert run([float("nan"), 2.0, 3.0], []) == [2.0]


@pytest.mark.parametrize("how", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("pair", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (0.0, -0.0), (float("nan"), 1.0)])
@pytest.mark.parametrize("went", [True, False])
def test_guards_are_comparisons(how, pair, went):
    b = Builder(2)
    tape = b.finish([b.input(0), b.input(1)]).copy(guards=((how, 0, 1, went),))
    holds = interpret.compare(how, *pair) is went
    found = program(tape)(list(pair), [])
    assert (found is not None) == holds and (found is None or bits(found) == bits(pair))


def chosen():
    """A choice inside of a choice, of which both arms give two results."""
    inner, outer = Builder(2), Builder(2)
    x, y = outer.input(0), outer.input(1)
    a, b = inner.input(0), inner.input(1)
    exp = inner.finish([inner.emit(OPS["exp"], (a,)), b])
    div = Builder(2)
    div = div.finish([div.emit(OPS["div"], (div.input(0), div.input(1))), div.const(3.0)])
    then = outer.finish(outer.choose(outer.emit(OPS["lt"], (x, outer.const(1.0))), [x, y], exp, div))
    swap = Builder(2)
    swap = swap.finish([swap.input(1), swap.emit(OPS["mul"], (swap.input(0), swap.input(1)))])
    b = Builder(2)
    p, q = b.choose(b.emit(OPS["gt"], (b.input(0), b.input(1))), [b.input(0), b.input(1)], then, swap)
    return b.finish([b.emit(OPS["sub"], (p, q)), q, p])


def test_choices_are_jumps():
    tape, ways = chosen(), set()
    assert tape.has_regions()
    adjoint = passes.adjoint(tape, passes.sources(tape, INPUT, 2))
    for t in (tape, adjoint):
        run = program(t)
        for x in (-2.0, 0.5, 1.0, 1.5, 3.0, float("nan")):
            for y in (-1.0, 0.0, 1.0, 1.5, float("nan")):
                found, way = run([x, y], [], True)
                assert bits(found) == bits(run([x, y], [])) == bits(map(float, interpret.run(t, [x, y])))
                if t is tape:
                    ways.add(way)
    assert len(ways) == 3


def test_arms_that_come_later_are_compared_once(monkeypatch):
    compared = []
    agrees = merged.agrees
    monkeypatch.setattr(merged, "agrees", lambda *a, **k: (k and compared.append(a[3])) or agrees(*a, **k))
    monkeypatch.setattr(worker, "in_background", lambda job: None)

    def f(x, y):
        z = x * y if x > y else x - y
        return z / y if y < x - 2.0 else z

    g = jit(f)
    for row in [(2.0, 1.0), (1.0, 2.0), (1.5, 2.0), (4.0, 1.0), (2.5, 1.0), (5.0, 1.0)]:
        assert g(*row) == f(*row)
    assert compared == [[1.0, 2.0], [4.0, 1.0]]


def test_loops_and_arrays_are_left_to_the_interpreter():
    twice = Builder(1)
    body = twice.finish([twice.emit(passes.reverse.ADD, (twice.input(0), twice.input(0)))])
    b = Builder(1)
    tape = b.finish(b.loop(body, carry=[b.input(0)], iterations=3))
    assert program(tape) is None
    assert Interpreted(tape, []).values([2.0], []) == [16.0]


def test_calls_before_there_is_machine_code_are_run_by_it(monkeypatch):
    waiting = []
    monkeypatch.setattr(worker, "in_background", waiting.append)

    def f(x, y):
        return math.sin(x) * y

    g = jit(grad(f, (0, 1)))
    first = g(2.0, 1.0)
    monkeypatch.setattr(interpret, "run", None)
    assert g(2.0, 1.0) == first == pytest.approx(grad(f, (0, 1))(2.0, 1.0), rel=1e-15)
    assert g(3.0, 1.0) == pytest.approx((np.cos(3.0), np.sin(3.0)), rel=1e-15)
    monkeypatch.undo()
    for job in waiting:
        job()
    assert g(2.0, 1.0) == first


def test_wrong_numbers_are_refused():
    b = Builder(2)
    run = program(b.finish([b.input(0), b.input(1)]))
    assert run([1, np.float32(2.0), 7.0], []) == [1.0, 2.0] and run([Value(1.0), True], []) == [1.0, 1.0]

    class Shrinking:
        def __init__(self, items):
            self.items = items

        def __float__(self):
            self.items.clear()
            return 1.0

    shrinks: list = []
    shrinks += [Shrinking(shrinks), 2.0]
    for wrong in (([1.0],), ([1.0], []), ([1.0, "a"], []), ((1.0, 2.0), []), (shrinks, [])):
        with pytest.raises((TypeError, IndexError, ValueError)):
            run(*wrong)
