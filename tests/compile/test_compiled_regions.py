"""Loops and choices as machine code: the bits of the interpreter with exact=True, for a point and for rows in lanes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_regions import point, rows, source
from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.interpret import run
from micrograd.tape.tape import INPUT, STACK, Tape
from micrograd.tape.text import parse
from random_programs import close, needs_llvm, same
from random_regions import region_tape

pytestmark = needs_llvm


def some_rows(seed, inputs, count=13):
    random = Random(seed)
    return [[random.choice([0.0, 1.0, -1.0, 0.5, random.uniform(-3, 3)]) for _ in range(inputs)] for _ in range(count)]


def swept(tape, order):
    for _ in range(order):
        tape = passes.prune(
            passes.adjoint(tape.copy(outputs=tape.outputs[-2:]), passes.sources(tape, INPUT, tape.inputs))
        )
    return tape


@given(seed=st.integers(0, 10**9), order=st.integers(0, 2), width=st.sampled_from([1, 2, 4, 8, 16]))
@settings(max_examples=60, deadline=None)
def test_machine_code_has_the_bits_of_the_interpreter(seed, order, width):
    """Rows go different ways, end their loops after different iterations, and do not fill the last vector."""
    tape = swept(region_tape(seed, 1 + seed % 2, 5), order)
    xs = some_rows(seed, tape.inputs)
    want = [run(tape, x) for x in xs]
    one = point(tape, exact=True)
    columns, failed = rows(tape, exact=True, width=width)([np.array(c) for c in zip(*xs)])
    assert not failed
    for r, x in enumerate(xs):
        assert all(map(same, one(x), want[r]))
        assert all(same(float(column[r]), y) for column, y in zip(columns, want[r], strict=True))


@given(seed=st.integers(0, 10**9))
@settings(max_examples=25, deadline=None)
def test_without_exact_results_differ_by_roundings_only(seed):
    """What decides a choice or the end of a loop is rounded as in eager code, so that no row goes another way."""
    tape = swept(region_tape(seed, 2, 5, poles=False), 1)
    xs = some_rows(seed, tape.inputs)
    want = [run(tape, x) for x in xs]
    one = point(tape)
    columns, _ = rows(tape)([np.array(c) for c in zip(*xs)])
    for r, x in enumerate(xs):
        tame = [k for k, y in enumerate(want[r]) if abs(y) < 1e6]
        assert all(close(one(x)[k], want[r][k], 1e-6, 1e-7) for k in tame)
        assert all(close(float(columns[k][r]), want[r][k], 1e-6, 1e-7) for k in tame)


@given(seed=st.integers(0, 10**9))
@settings(max_examples=15, deadline=None)
def test_sums_over_rows_do_not_depend_on_threads(seed):
    tape = swept(region_tape(seed, 2, 5, poles=False), 1)
    xs = some_rows(seed, tape.inputs, 3000)
    columns = [np.array(c) for c in zip(*xs)]
    one, two = (rows(tape, reduced=True, exact=True, threads=n)(columns)[0] for n in (1, 2))
    assert all(map(same, one, two))


def rk4(iterations: int) -> Tape:
    """x' = -k·sin(x) by Runge and Kutta's method: the position at the end, from x, v, k and the step h."""
    body = Builder(5)
    x, v, k, h = (body.input(n) for n in range(4))

    def do(name, *args):
        return body.emit(OPS[name], args)

    def slope(x, v):
        return v, do("neg", do("mul", k, do("sin", x)))

    def moved(a, slope, step):
        return do("add", a, do("mul", step, slope))

    half = do("mul", h, body.const(0.5))
    k1 = slope(x, v)
    k2 = slope(moved(x, k1[0], half), moved(v, k1[1], half))
    k3 = slope(moved(x, k2[0], half), moved(v, k2[1], half))
    k4 = slope(moved(x, k3[0], h), moved(v, k3[1], h))
    sixth = do("div", h, body.const(6.0))
    found = []
    for a, *ks in zip((x, v), k1, k2, k3, k4):
        middle = do("mul", body.const(2.0), do("add", ks[1], ks[2]))
        found.append(do("add", a, do("mul", sixth, do("add", do("add", ks[0], middle), ks[3]))))
    b = Builder(4)
    results = b.loop(body.finish(found), [b.input(0), b.input(1)], [b.input(2), b.input(3)], iterations=iterations)
    return b.finish(results[:1])


def test_code_does_not_grow_with_the_iterations():
    """The text of the gradient is the same for 1,000 and for 1,000,000 steps, but for the numbers in it."""
    texts = [source(rk4(n), inputs=(0, 1, 2, 3)).source for n in (1000, 1_000_000)]
    assert abs(len(texts[0].splitlines()) - len(texts[1].splitlines())) < 60


def test_a_million_steps_give_the_gradient_of_a_thousand_larger_ones():
    """The method's error is far below 1e-9 in both cases; memory for a million states is taken and given back."""
    want = point(swept(rk4(1000), 1))([1.0, 0.0, 1.0, 0.005])
    got = point(swept(rk4(1_000_000), 1))([1.0, 0.0, 1.0, 5e-6])
    assert got[:4] == pytest.approx(want[:4], rel=1e-7)


@pytest.mark.parametrize("single", [False, True])
def test_rows_end_their_loops_after_different_iterations(single):
    """How often a number can be halved until it is below 1, up to 1,000 times, with a derivative of what was left."""
    body = parse(
        "%0 = input 0\n%1 = const 0.5\n%2 = mul %0 %1\n%3 = input 1\n%4 = const 1.0\n%5 = add %3 %4\nreturn %2 %5"
    ).copy(inputs=3)
    test = parse("%0 = input 0\n%1 = const 1.0\n%2 = ge %0 %1\nreturn %2").copy(inputs=3)
    b = Builder(1)
    tape = b.finish(b.loop(body, [b.input(0), b.const(0.0)], condition=test))
    tape = passes.prune(passes.adjoint(tape, [0]))
    xs = np.array([2.0**k for k in range(-3, 100, 3)])
    (left, iterations, slope, none), _ = rows(tape, float32=single)([xs])
    assert iterations.tolist() == [max(0, k + 1) for k in range(-3, 100, 3)]
    assert left.tolist() == [min(x, 0.5) for x in xs]
    assert slope.tolist() == [2.0 ** -max(0, k + 1) for k in range(-3, 100, 3)] and not none.any()


def test_a_row_that_a_guard_refuses_does_not_keep_a_loop_running():
    """x must be positive by a guard; for x = 0 the loop behind it would never end."""
    body = parse("%0 = input 0\n%1 = input 1\n%2 = add %0 %1\nreturn %2").copy(inputs=3)
    test = parse("%0 = input 0\n%1 = const 10.0\n%2 = lt %0 %1\nreturn %2").copy(inputs=3)
    b = Builder(1)
    x = b.input(0)
    results = b.loop(body, [b.const(0.0)], [x], condition=test)
    tape = b.finish(results).copy(guards=[("gt", x, b.const(0.0), True)])
    tape = tape.copy(ops=b.ops, args=b.args)
    assert point(tape)([0.0]) is None
    assert point(tape)([4.0]) == [12.0]
    columns, failed = rows(tape)([np.array([1.0, 0.0, 3.0] * 7)])
    assert failed == [r for r in range(21) if r % 3 == 1]
    assert columns[0][::3].tolist() == [10.0] * 7


def test_an_array_of_arguments_is_read_where_it_lies():
    """The elements of a list of 500 arguments, every other one, from the last to the first."""
    b = Builder(500)
    over = b.append(STACK, *[b.input(k) for k in range(499, -1, -2)])
    body = parse("%0 = input 0\n%1 = const 0.5\n%2 = mul %0 %1\n%3 = input 1\n%4 = add %2 %3\nreturn %4").copy(inputs=3)
    tape = b.finish(b.loop(body, [b.const(0.0)], [], [over], iterations=250))
    text, scratch, _ = source(tape)
    assert len(text.splitlines()) < 60 and scratch == 0
    xs = [np.sin(k) for k in range(500)]
    assert point(tape, exact=True)(xs) == run(tape, xs)
    columns = [np.array([x, -x, 2 * x]) for x in xs]
    got, _ = rows(tape, exact=True)(columns)
    assert got[0].tolist() == [run(tape, [float(c[r]) for c in columns])[0] for r in range(3)]


@pytest.mark.parametrize("arm", ["sin", "mul"])
def test_a_short_arm_becomes_a_select_and_a_long_one_a_branch(arm):
    lines = ["%0 = input 0"]
    for k in range(1, 30):
        lines.append(f"%{k} = sin %{k - 1}" if arm == "sin" else f"%{k} = mul %0 %{k - 1}")
    long = parse("\n".join([*lines, "return %29"]))
    b = Builder(1)
    x = b.input(0)
    condition = b.emit(OPS["gt"], (x, b.const(0.0)))
    tape = b.finish(b.choose(condition, [x], long, parse("%0 = input 0\nreturn %0")))
    text = source(tape, rows=True).source
    assert ("br i1" in text.split("@last0")[0].split("@chunk0")[1]) == (arm == "sin")
    xs = np.linspace(-1.0, 1.0, 21)
    got, _ = rows(tape, exact=True)([xs])
    assert got[0].tolist() == [run(tape, [float(x)])[0] for x in xs]
