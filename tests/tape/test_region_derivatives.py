"""Derivatives of regions: against the graph of a plain run, finite differences and mpmath, to second order and beyond."""

from __future__ import annotations

from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value
from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.passes import primal, states
from micrograd.tape.tape import INPUT, STACK, Loop, Tape
from micrograd.tape.text import parse
from random_programs import close, same
from random_regions import region_tape


@pytest.fixture
def states_alone(monkeypatch):
    """Loops have an adjoint that needs their states, also where joined tangents would be cheaper (test_joined.py)."""
    monkeypatch.setattr(primal, "joined", lambda *args: None)


def wrt(tape):
    return passes.sources(tape, INPUT, tape.inputs)


def plain(tape, xs):
    """The outputs of a plain run, and by backward() the gradient of each."""
    values = [Value(x) for x in xs]
    outputs, gradients = run(tape, values), []
    for y in outputs:
        for v in values:
            v.grad = 0.0
        if isinstance(y, Value):
            y.backward()
        gradients += [v.grad for v in values]
    return [y.data if isinstance(y, Value) else y for y in outputs] + gradients


def points(seed, inputs):
    random = Random(seed)
    return [[random.choice([0.0, 1.0, -1.0, 0.5, random.uniform(-3, 3)]) for _ in range(inputs)] for _ in range(4)]


@given(seed=st.integers(0, 10**9), depth=st.integers(1, 2))
@settings(max_examples=120, deadline=None)
def test_the_adjoint_is_that_of_a_plain_run(seed, depth):
    """Poles in arms that are not taken included: a nan is a nan in both, and nowhere else."""
    tape = region_tape(seed, depth)
    check(tape)
    swept = passes.adjoint(tape, wrt(tape))
    check(swept)
    small = passes.prune(passes.simplify(passes.prune(swept)))
    check(small)
    for xs in points(seed, tape.inputs):
        want = plain(tape, xs)
        for got in (run(swept, xs), run(small, xs)):
            assert all(close(x, y, 1e-9, 1e-11) for x, y in zip(got, want, strict=True))


@given(seed=st.integers(0, 10**9))
@settings(max_examples=50, deadline=None)
def test_the_second_order_is_that_of_a_plain_run(seed):
    tape = region_tape(seed, 2, 4)
    first = passes.prune(passes.adjoint(tape, wrt(tape)))
    second = passes.prune(passes.adjoint(first, wrt(first)))
    check(second)
    for xs in points(seed, tape.inputs):
        want = plain(first, xs)  # where a constant slope of 0 meets an infinite cotangent, backward() gives nan
        assert all(close(x, y, 1e-7, 1e-9) or y != y for x, y in zip(run(second, xs), want, strict=True))


@given(seed=st.integers(0, 10**9))
@settings(max_examples=50, deadline=None)
def test_forward_sweeps_agree_with_the_adjoint(seed):
    tape = region_tape(seed, 2, poles=False)
    count, n = len(tape.outputs), tape.inputs
    moved, seeds = tape.with_inputs(n)
    forward = passes.prune(passes.tangent(moved, wrt(tape), seeds))
    by_columns = passes.prune(passes.columns(tape, wrt(tape)))
    check(forward)
    check(by_columns)
    for xs in points(seed, n):
        want = plain(tape, xs)
        assert all(close(x, y, 1e-8, 1e-10) for x, y in zip(run(by_columns, xs), want, strict=True) if x == x)
        for k in range(n):
            got = run(forward, xs + [float(j == k) for j in range(n)])[count:]
            column = want[count + k :: n]
            assert all(close(x, y, 1e-8, 1e-10) for x, y in zip(got, column, strict=True) if x == x)


def logistic(iterations: int) -> Tape:
    """x → r·x·(1 - x), so many times."""
    body = parse(
        "%0 = input 0\n%1 = input 1\n%2 = const 1.0\n%3 = sub %2 %0\n%4 = mul %0 %3\n%5 = mul %1 %4\nreturn %5"
    ).copy(inputs=3)
    b = Builder(2)
    return b.finish(b.loop(body, [b.input(0)], [b.input(1)], iterations=iterations))


def test_the_direction_of_a_forward_sweep_may_be_computed_by_the_tape():
    """The logistic map, x → r·x·(1 - x) twice, in the direction (2r, 2r): the seed is an instruction of the tape."""
    swept = logistic(2)
    b = Builder(2)
    places = b.copy(swept)
    seed = b.emit(OPS["mul"], (b.input(1), b.const(2.0)))
    tape = b.finish([places[swept.outputs[0]], seed])
    found = run(passes.tangent(tape, wrt(tape), [tape.outputs[1]] * 2), [0.3, 2.5])
    slopes = run(passes.adjoint(swept, wrt(swept)), [0.3, 2.5])
    assert found[0] == slopes[0] and found[2] == pytest.approx((slopes[1] + slopes[2]) * 5.0, rel=1e-12)
    assert found[3] == 10.0


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_order_of_a_loop_is_right_to_the_last_digits(order):
    """d/dx, d/dr, d/dx … of the logistic map after 6 iterations, against mpmath."""
    tape = logistic(6)
    for k in range(order):
        swept = passes.adjoint(tape.copy(outputs=tape.outputs[-1:]), wrt(tape))
        tape = passes.prune(swept.copy(outputs=(swept.outputs[1 + k % 2],)))
    found = run(tape, [0.3, 2.5])[0]

    def f(x, r):
        for _ in range(6):
            x = r * x * (1 - x)
        return x

    with mpmath.workdps(60):
        want = mpmath.diff(
            f, (mpmath.mpf("0.3"), mpmath.mpf("2.5")), ((order + 1) // 2, order // 2), h=mpmath.mpf(10) ** -9
        )
    assert found == pytest.approx(float(want), rel=1e-6)


@pytest.mark.usefixtures("states_alone")
def test_the_adjoint_of_a_loop_is_a_loop_of_the_same_size():
    short, long = (passes.prune(passes.adjoint(logistic(n), [0, 1])) for n in (10, 1_000_000))
    assert str(short).replace("loop 10 ", "loop 1000000 ") == str(long)
    loops = [op for op in long.ops if isinstance(op, Loop)]
    assert [op.reverse for op in loops] == [False, True]
    assert loops[0].results == 2  # the value, and the one carried state by iterations


def test_what_one_arm_alone_uses_gets_nothing_from_the_other_though_it_was_made_before():
    """l = log(y) before the `if`: at y = 0 its slope is inf, and 0 · inf would be nan."""
    tape = parse(
        "%0 = input 0\n%1 = input 1\n%2 = log %1\n%3 = const 0.0\n%4 = gt %0 %3\n"
        "%5 = choose %4 %2 %0 then {\n%0 = input 0\nreturn %0\n} else {\n%0 = input 1\n%1 = mul %0 %0\nreturn %1\n}\n"
        "%6 = result %5 0\nreturn %6"
    )
    swept = passes.adjoint(tape, [0, 1])
    assert run(swept, [-3.0, 0.0]) == [9.0, -6.0, 0.0]
    assert run(swept, [3.0, 4.0])[1:] == [0.0, 0.25]
    second = passes.adjoint(swept.copy(outputs=swept.outputs[1:]), [0, 1])
    assert run(second, [-3.0, 0.0])[2:] == [2.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("op", [name for name, op in OPS.items() if op.arity == 1])
@pytest.mark.parametrize("x", [0.0, -1.0, 1.0, 800.0])
def test_no_pole_of_an_untaken_arm_reaches_a_gradient(op, x):
    """Whatever the op and its partials give there, in the first order and in the second."""
    tape = parse(
        f"%0 = input 0\n%1 = const 1000.0\n%2 = gt %0 %1\n%3 = {op} %0\n"
        f"%4 = choose %2 %0 %3 then {{\n%0 = input 0\n%1 = input 1\n%2 = {op} %0\n%3 = mul %2 %1\nreturn %3\n}} else {{\n"
        "%0 = input 0\n%1 = mul %0 %0\nreturn %1\n}\n%5 = result %4 0\nreturn %5"
    )
    first = passes.adjoint(tape, [0])
    second = passes.adjoint(first.copy(outputs=first.outputs[1:]), [0])
    assert run(first, [x]) == [x * x, 2 * x]
    assert run(second, [x])[1] == 2.0


def test_elements_past_an_early_end_get_nothing():
    """A loop over logarithms that ends before it comes to log(0)."""
    b = Builder(3)
    logs = b.append(STACK, *[b.append(OPS["log"], b.input(k)) for k in range(3)])
    test = parse("%0 = input 2\n%1 = const 1.0\n%2 = lt %0 %1\nreturn %2").copy(inputs=3)
    body = parse("%0 = input 0\n%1 = input 1\n%2 = add %0 %1\nreturn %2").copy(inputs=3)
    tape = b.finish(b.loop(body, [b.const(0.0)], [], [logs], 3, test))
    assert run(passes.adjoint(tape, wrt(tape)), [2.0, 0.0, 0.0]) == pytest.approx([0.6931471805599453, 0.5, 0.0, 0.0])


def test_the_last_iteration_may_make_what_nobody_uses():
    """x is made from sqrt(x) in each iteration; that of the last iteration is not used, and its slope may be inf."""
    body = parse(
        "%0 = input 0\n%1 = input 1\n%2 = add %1 %0\n%3 = const 1.0\n%4 = sub %0 %3\n%5 = sqrt %4\nreturn %5 %2"
    ).copy(inputs=3)
    b = Builder(1)
    tape = b.finish(b.loop(body, [b.input(0), b.const(0.0)], iterations=2)[1:])
    assert run(passes.adjoint(tape, [0]), [2.0]) == plain(tape, [2.0]) == [3.0, 1.5]


@given(seed=st.integers(0, 10**9), depth=st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_hoist_and_checkpoint_change_no_result(seed, depth):
    tape = region_tape(seed, depth)
    swept = passes.prune(passes.adjoint(tape, wrt(tape)))
    hoisted, nested = passes.hoist(tape), passes.checkpoint(tape, 2)
    after = passes.prune(passes.hoist(swept))
    before = [passes.prune(passes.adjoint(t, wrt(t))) for t in (hoisted, nested)]
    for new in (hoisted, nested, after, *before):
        check(new)
    for xs in points(seed, tape.inputs):
        assert all(map(same, run(hoisted, xs), run(tape, xs)))
        assert all(map(same, run(nested, xs), run(tape, xs)))
        assert all(map(same, run(after, xs), run(swept, xs)))
        for new in before:
            assert all(close(x, y, 1e-9, 1e-11) for x, y in zip(run(new, xs), run(swept, xs), strict=True))


def test_what_is_the_same_in_all_iterations_is_computed_once_and_constants_go_inside():
    body = parse(
        "%0 = input 0\n%1 = input 1\n%2 = exp %1\n%3 = input 2\n%4 = mul %2 %3\n%5 = mul %0 %4\n%6 = input 3\nreturn %5 %6"
    ).copy(inputs=5)
    b = Builder(2)
    k = b.input(1)
    results = b.loop(body.copy(outputs=(5, 6)), [b.input(0)], [k, b.const(2.0), k], iterations=9)
    tape = passes.prune(passes.hoist(b.finish(results[:1])))
    loop = next(op for op in tape.ops if isinstance(op, Loop))
    assert [op.name for op in loop.body.ops] == ["input", "input", "mul"]
    assert sorted(op.name for op in tape.ops[:5]) == ["const", "exp", "input", "input", "mul"]


@pytest.mark.usefixtures("states_alone")
def test_checkpoints_keep_the_square_root_of_the_states():
    tape = passes.checkpoint(logistic(1_000_003), 1000)
    swept = passes.prune(passes.adjoint(tape, [0, 1]))

    def longest(tape):
        loops = [op for op in tape.ops if isinstance(op, Loop)]
        return max(
            [op.iterations for op in loops if op.results > op.carried] + [longest(op.body) for op in loops], default=0
        )

    assert longest(swept) <= 1100
    assert longest(passes.prune(passes.adjoint(logistic(1_000_003), [0, 1]))) == 1_000_003
    short = passes.checkpoint(logistic(7), 2)
    assert run(short, [0.3, 2.5]) == run(logistic(7), [0.3, 2.5])


def test_a_loop_over_an_array_keeps_the_square_root_of_the_states_too():
    iterations = 1003
    inner = Builder(3)
    x, w = inner.input(0), inner.input(1)
    grown = inner.emit(OPS["sin"], (inner.emit(OPS["add"], (inner.emit(OPS["mul"], (x, w)), inner.input(2))),))
    b = Builder(iterations + 1)
    weights = b.emit(STACK, tuple(b.input(k + 1) for k in range(iterations)))
    tape = b.finish(b.loop(inner.finish([grown]), [b.input(0)], over=[weights], iterations=iterations))
    nested = passes.checkpoint(tape, 100)
    check(nested)
    assert max(op.iterations for op in nested.ops if isinstance(op, Loop)) < 40
    xs = [0.3] + [0.5 + 0.0003 * k for k in range(iterations)]
    assert run(nested, xs) == run(tape, xs)
    some = [0, 1, 500, iterations]
    swept, other = (passes.prune(passes.adjoint(t, [wrt(t)[k] for k in some])) for t in (nested, tape))
    check(swept)
    assert all(close(x, y, 1e-12, 1e-14) for x, y in zip(run(swept, xs), run(other, xs), strict=True))


def a_while(functions):
    """x and y while x < 0.9: y becomes y·exp(x) less what these functions make of it."""
    calls = [f"  %{4 + k} = {name} %{3 + k}" for k, name in enumerate(functions)]
    n = 4 + len(functions)
    return parse(
        f"""
%0 = input 0
%1 = input 1
%2 = loop carry %0 %1 while {{
  %0 = input 0
  %1 = const 0.9
  %2 = lt %0 %1
  return %2
}} do {{
  %0 = input 0
  %1 = input 1
  %2 = exp %0
  %3 = mul %2 %1
{chr(10).join(calls)}
  %{n} = const 0.1
  %{n + 1} = mul %{n - 1} %{n}
  %{n + 2} = add %0 %{n}
  %{n + 3} = sub %3 %{n + 1}
  return %{n + 2} %{n + 3}
}}
%3 = result %2 0
%4 = result %2 1
%5 = mul %3 %4
return %5
""".strip()
    )


@pytest.mark.parametrize(("functions", "kept"), [(["sin"], 2), (["sin", "cos", "tan"], 0)])
@pytest.mark.usefixtures("states_alone")
def test_a_while_loop_keeps_results_of_functions_where_they_are_no_more_than_its_carried_values(functions, kept):
    tape = a_while(functions)
    loop = next(op for op in tape.ops if isinstance(op, Loop))
    assert len(states.kept(loop, [()] * loop.carried).places) == kept
    swept = passes.prune(passes.adjoint(tape, wrt(tape)))
    back = next(op for op in swept.ops if isinstance(op, Loop) and op.reverse)
    assert ("exp" in {op.name for op in back.body.ops}) == (not kept)
    for xs in ([0.2, 0.7], [-1.0, 1.5], [1.0, 3.0]):
        assert all(close(x, y, 1e-11, 1e-13) for x, y in zip(run(swept, xs), plain(tape, xs), strict=True))
