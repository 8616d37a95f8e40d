"""Eager transforms at one point sweep over the graph itself: the bits of the sweeps over a tape, and all of their checks."""

from __future__ import annotations

import struct
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from random_expressions import on_twin, programs

NAMES = ["add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sin", "tanh", "sqrt", "pow", "floor", "sign", "where",
         "max", "min", "dot", "sum", "prod", "hypot", "copysign", "mod", "relu", "lt"]  # fmt: skip
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.25, 1e-300, 1e200, float("inf"), float("nan")])


def bits(numbers):
    return ["nan" if x != x else struct.pack("<d", x).hex() for x in map(float, numbers)]


def by_tape(mg, f, leaves, sweep):
    """The results of f and their derivatives, by a sweep over its tape."""
    passes = mg.tape.passes
    shape = ("tuple", (("*",),) * len(leaves))
    found = mg.tape.trace.trace(f, shape, list(leaves), frozen=False)
    where = passes.sources(found.tape, mg.tape.tape.INPUT, len(leaves))
    return mg.tape.interpret.run(passes.prune(sweep(found.tape, where)), list(leaves), [])


class TestTheSameBits:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(program=programs(NAMES, NUMBERS, 12))
    def test_as_the_sweeps_over_the_tape(self, mg, program):
        def f(*leaves):
            moved = program._replace(leaves=leaves)
            return on_twin_of(mg, moved)

        n = len(program.leaves)
        for transform, sweep in ((mg.jacrev, mg.tape.passes.adjoint), (mg.jacfwd, mg.tape.passes.columns)):
            rows = transform(f, tuple(range(n)))(*program.leaves)
            want = by_tape(mg, f, program.leaves, sweep)
            assert bits(x for row in rows for x in row) == bits(want[len(rows) :])

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(program=programs(NAMES, NUMBERS, 12))
    def test_of_a_direction(self, mg, program):
        def f(*leaves):
            return on_twin_of(mg, program._replace(leaves=leaves))

        n = len(program.leaves)
        direction = tuple(0.5 * k - 1.0 for k in range(n))
        values, moved = mg.jvp(f, program.leaves, direction)
        passes = mg.tape.passes
        found = mg.tape.trace.trace(f, ("tuple", (("*",),) * n), list(program.leaves), frozen=False)
        tape, seeds = found.tape.with_inputs(n)
        where = passes.sources(tape, mg.tape.tape.INPUT, tape.inputs)[:n]
        want = mg.tape.interpret.run(
            passes.prune(passes.tangent(tape, where, seeds)), [*program.leaves, *direction], []
        )
        assert bits([*values, *moved]) == bits(want)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(program=programs(NAMES, NUMBERS, 12))
    def test_of_a_cotangent_and_of_a_linear_function(self, mg, program):
        def f(*leaves):
            results = on_twin_of(mg, program._replace(leaves=leaves))
            return [*results, results[0], leaves[0], 2.5]  # one result twice, an input, a constant

        n, passes = len(program.leaves), mg.tape.passes
        found = mg.tape.trace.trace(f, ("tuple", (("*",),) * n), list(program.leaves), frozen=False)
        m = len(found.tape.outputs)
        cotangent, direction = [0.5 * k - 1.0 for k in range(m)], [1.5 - k for k in range(n)]
        for sweep, along, transform in (
            (passes.adjoint, cotangent, lambda: mg.vjp(f, *program.leaves)[1](cotangent)),
            (passes.tangent, direction, lambda: mg.linearize(f, *program.leaves)[1](*direction)),
        ):
            tape, seeds = found.tape.with_inputs(len(along))
            where = passes.sources(tape, mg.tape.tape.INPUT, tape.inputs)[:n]
            want = mg.tape.interpret.run(passes.prune(sweep(tape, where, seeds)), [*program.leaves, *along], [])
            assert bits(transform()) == bits(want[m:])


def on_twin_of(mg, program):
    class Twin:
        math, engine, ops = mg.math, mg.engine, mg.ops

        @staticmethod
        def Value(x):
            return x

    return on_twin(program, Twin)[len(program.leaves) :]


class TestNoPasses:
    @pytest.fixture
    def no_tape(self, mg, monkeypatch):
        """A graph that is written down as a tape is an error from here on."""

        assert mg.grad(lambda x: x)(1.0) == 1.0  # all modules are there

        def written(*_):
            raise AssertionError("written down as a tape")

        monkeypatch.setattr(mg.tape.trace, "_write_down", written)

    def test_at_one_point(self, mg, mgmath, no_tape):
        m = mgmath
        assert mg.grad(lambda x: m.sin(x) * x)(0.0) == 0.0
        assert mg.value_and_grad(lambda p: p["a"] * p["b"] ** 2)({"a": 2.0, "b": 3.0}) == (18.0, {"a": 9.0, "b": 12.0})
        assert mg.value_and_grad(lambda x, y, z: x * y - z, (2, 0))(2, 3, 4.0) == (2.0, (-1.0, 3.0))
        assert mg.jacobian(lambda x: [x[0] * x[1], x[1], 5.0])([2.0, 3.0]) == [[3.0, 2.0], [0.0, 1.0], [0.0, 0.0]]
        assert mg.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0)) == (6.0, 3.0)
        assert mg.grad(lambda x: (x * x, {"x": x, "twice": 2 * x}), has_aux=True)(3.0) == (
            6.0,
            {"x": 3.0, "twice": 6.0},
        )
        assert mg.grad(lambda x: 3.0)(1.0) == 0.0
        assert mg.grad(lambda x: x)(1.0) == 1.0
        y, pull = mg.vjp(lambda x, y: (x * y, x), 2.0, 3.0)
        assert y == (6.0, 2.0) and pull((1.0, 10.0)) == (13.0, 2.0) and pull((0.0, 1.0)) == (1.0, 0.0)
        y, push = mg.linearize(lambda x: x**3, 2.0)
        assert (y, push(1.0), push(10.0)) == (8.0, 12.0, 120.0)

    def test_of_a_primitive(self, mg, no_tape):
        cube = mg.primitive(lambda x, y: 3 * x * x)(lambda x: x * x * x)
        assert mg.grad(lambda x: 2.0 * cube(x))(2.0) == 24.0

    def test_nothing_passes_a_step_or_stop_gradient(self, mg, mgmath, no_tape):
        assert mg.grad(lambda x: mgmath.floor(mgmath.sqrt(x)) + x)(0.0) == 1.0  # sqrt has an infinite slope there
        assert mg.grad(lambda x: mgmath.stop_gradient(mgmath.sqrt(x)) * x)(0.0) == 0.0
        assert mg.grad(lambda x: mgmath.sqrt(x).detach() + x)(0.0) == 1.0


class TestTheSameAnswers:
    def test_values_from_outside_are_captured(self, mg):
        w = mg.Value(3.0)
        found = mg.grad(lambda x: w * x * x)(2.0)
        assert isinstance(found, mg.Value) and found.data == 12.0
        found.backward()
        assert w.grad == 4.0

    def test_a_value_in_gives_a_value(self, mg):
        x = mg.Value(2.0)
        slope = mg.grad(lambda x: x**3)(x)
        slope.backward()
        assert (slope.data, x.grad) == (12.0, 12.0)

    def test_derivatives_inside_of_derivatives(self, mg, mgmath):
        """The perturbations of two nested derivatives are not confused."""
        assert mg.grad(lambda x: x * mg.grad(lambda y: x + y)(1.0))(1.0) == 1.0
        assert mg.grad(lambda x: x * mg.jvp(lambda y: x * y, (2.0,), (1.0,))[1])(3.0) == 6.0
        assert mg.jvp(lambda x: x * mg.grad(lambda y: x * y * y)(x), (3.0,), (1.0,)) == (54.0, 54.0)
        assert mg.hessian(lambda x: x[0] ** 2 * x[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]
        assert mg.grad(mg.grad(mg.grad(lambda x: mgmath.sin(x))))(0.0) == -1.0

    def test_cotangents_that_are_values(self, mg):
        _, pull = mg.vjp(lambda x: x**3, 2.0)
        assert pull(2.0) == (24.0,)
        v = mg.Value(3.0)
        (g,) = pull(v)
        g.backward()
        assert (g.data, v.grad, pull(2.0)) == (36.0, 12.0, (24.0,))
        assert mg.grad(lambda c: pull(c)[0] * c)(5.0) == 120.0
        w = mg.Value(4.0)
        y, pull = mg.vjp(lambda x: x * w, 2.0)
        assert (y.data, pull(1.0)[0].data) == (8.0, 4.0)
        w.data = 5.0
        with pytest.raises(ValueError, match="has changed since vjp"):
            pull(1.0)

    def test_a_hand_written_rule_is_refused_as_before(self, mg):
        def f(x):
            out = mg.Value(x.data * 2, (x,), "twice")
            out._backward = lambda: None
            return out

        with pytest.raises(mg.TraceError, match="hand-written _backward"):
            mg.grad(f)(1.0)

    def test_the_graph_is_left_as_it_was(self, mg):
        kept = []

        def f(x):
            y = x * x
            y.grad = 7.0
            kept.append(y)
            return y * x

        assert mg.grad(f)(2.0) == 12.0
        assert [y.grad for y in kept] == [7.0]

    def test_f_runs_once(self, mg):
        runs = []
        w = mg.Value(1.0)
        mg.grad(lambda x: runs.append(1) or x * x)(2.0)
        mg.grad(lambda x: runs.append(1) or x * w)(2.0)  # which is left to the tape
        assert len(runs) == 2

    def test_a_number_that_is_taken_is_an_error_and_comparisons_are_not(self, mg):
        with pytest.raises(mg.TraceError, match=r"takes the number of a Value, at test_eager_sweeps"):
            mg.grad(lambda x: x * complex(x).real)(3.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert mg.grad(lambda x: x * x if x > 1 and x else x)(3.0) == 6.0
            assert mg.grad(lambda x: x * int(x) + round(x))(3.0) == 3.0

    def test_an_error_of_arithmetic_is_raised_where_it_is_caught(self, mg):
        def f(x, y):
            try:
                return x / y
            except ZeroDivisionError:
                return 5.0 * x

        assert mg.grad(f)(2.0, 0.0) == 5.0
        assert mg.grad(f)(2.0, 4.0) == 0.25

        def g(x):
            try:
                return x**-1.0
            except ZeroDivisionError:
                return 3.0 * x

        assert mg.grad(g)(0.0) == 3.0
        assert mg.grad(g)(1.0) == -1.0

        def h(x):
            try:
                return x**2.0
            except OverflowError:
                return 3.0 * x

        assert mg.grad(h)(1e200) == 3.0
        assert mg.grad(h)(2.0) == 4.0

    def test_after_an_exception_nothing_is_watched(self, mg):
        def f(x):
            raise KeyError("no")

        with pytest.raises(KeyError):
            mg.grad(f)(1.0)
        told = []
        before = mg.observed.set_watch(lambda how, *_: told.append(how), None)
        try:
            assert mg.Value(1.0) < 2.0
        finally:
            mg.observed.set_watch(*before)
        assert told == ["lt"]

    def test_anomalies_are_found(self, mg, mgmath):
        with mg.detect_anomaly(), pytest.raises(mg.AnomalyError, match="sqrt"):
            mg.grad(lambda x: mgmath.sqrt(x) * 0.0)(0.0)
