"""Loops that carry their tangents in place of an adjoint: against plain runs, in every case of what depends on what."""

from __future__ import annotations

from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value
from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.passes import joined as module
from micrograd.tape.passes import primal
from micrograd.tape.tape import INPUT, Loop
from micrograd.tape.text import parse
from random_programs import close
from random_regions import region_tape


@contextmanager
def always():
    """Join tangents to every loop that this can be done to; gives the list of those."""
    found, cost, joined = [], module._cost_of_adjoint, primal.joined

    def noted(*args):
        made = joined(*args)
        found.extend([] if made is None else [made])
        return made

    module._cost_of_adjoint, primal.joined = lambda *args: 1e18, noted
    try:
        yield found
    finally:
        module._cost_of_adjoint, primal.joined = cost, joined


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


def loops(tape):
    return [op for op in tape.ops if isinstance(op, Loop)]


def loop(body, how="4 carry %0 %1 with %2", condition=""):
    """A tape of three inputs whose result is a sum of what a loop of two carried values gives."""
    test = f"while {{\n{condition}\n}} " if condition else ""
    return parse(
        f"%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = loop {how} {test}do {{\n{body}\n}}\n"
        "%4 = result %3 0\n%5 = result %3 1\n%6 = mul %4 %5\nreturn %6"
    )


HEAD = "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = input 3\n"
SMALL = "%0 = input 0\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2"
TAPES = {
    "a power": loop(HEAD + "%4 = mul %0 %2\n%5 = add %1 %4\nreturn %4 %5"),
    "what is carried unchanged": loop(HEAD + "%4 = mul %0 %1\nreturn %4 %1"),
    "what is forgotten": loop(HEAD + "%4 = mul %2 %2\n%5 = add %1 %0\nreturn %4 %5"),
    "exchanged": loop(HEAD + "%4 = mul %1 %2\nreturn %4 %0"),
    "no iterations": loop(HEAD + "%4 = mul %0 %2\nreturn %4 %2", "0 carry %0 %1 with %2"),
    "a condition": loop(HEAD + "%4 = mul %0 %2\n%5 = add %1 %4\nreturn %4 %5", "carry %0 %1 with %2", SMALL),
    "both": loop(HEAD + "%4 = mul %0 %2\n%5 = add %1 %4\nreturn %4 %5", "6 carry %0 %1 with %2", SMALL),
    # In the first iteration, sqrt is of a constant, and has an infinite slope; from then on it is not.
    "a pole of what depends on nothing yet": parse(
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = const 0.0\n%4 = loop 3 carry %3 %0 with %2 do {\n"
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = sqrt %0\n%4 = mul %1 %2\n%5 = add %3 %4\nreturn %5 %4\n}\n"
        "%5 = result %4 0\n%6 = result %4 1\n%7 = mul %5 %6\nreturn %7"
    ),
    # The arm that depends on the third input is taken in some iterations, of some points.
    "a choice": loop(
        HEAD + "%4 = gt %0 %1\n%5 = choose %4 %0 %2 then {\n%0 = input 0\n%1 = input 1\n%2 = log %1\n%3 = add %0 %2\n"
        "return %3\n} else {\n%0 = input 0\n%1 = const 1.5\n%2 = mul %0 %1\nreturn %2\n}\n%6 = result %5 0\nreturn %6 %1"
    ),
    "a pick": loop(HEAD + "%4 = gt %0 %1\n%5 = sqrt %2\n%6 = pick %4 %5 %0\n%7 = mul %6 %6\nreturn %7 %1"),
    # The inner loop multiplies by what the outer one has summed up, and hands its own result on.
    "a loop inside": loop(
        HEAD + "%4 = loop 3 carry %0 with %1 %2 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = input 3\n"
        "%4 = mul %0 %1\n%5 = mul %3 %2\n%6 = add %4 %5\nreturn %6\n}\n%5 = result %4 0\n%6 = add %1 %5\nreturn %5 %6"
    ),
    "a loop inside that forgets": loop(
        HEAD + "%4 = loop 2 carry %1 %0 with %2 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = input 3\n"
        "%4 = add %2 %3\nreturn %1 %4\n}\n%5 = result %4 0\n%6 = result %4 1\nreturn %5 %6"
    ),
    "a loop inside with a condition": loop(
        HEAD + "%4 = loop 9 carry %0 with %1 while {\n%0 = input 0\n%1 = input 1\n%2 = lt %0 %1\nreturn %2\n} do {\n"
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = const 1.5\n%4 = mul %0 %3\n%5 = add %4 %3\nreturn %5\n}\n"
        "%5 = result %4 0\n%6 = mul %1 %2\nreturn %5 %6"
    ),
    # The inner sqrt is of a constant in the first iteration, with an infinite slope, and of the third input from then on.
    "a pole inside of a loop inside": loop(
        HEAD + "%4 = const 0.0\n%5 = loop 2 carry %4 with %2 do {\n%0 = input 0\n%1 = input 1\n%2 = sqrt %0\n"
        "%3 = mul %1 %1\n%4 = add %2 %3\nreturn %4\n}\n%6 = result %5 0\n%7 = mul %6 %0\nreturn %7 %1"
    ),
    "a choice inside of a loop inside": loop(
        HEAD + "%4 = loop 3 carry %0 with %1 %2 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = gt %0 %1\n"
        "%4 = choose %3 %0 %2 then {\n%0 = input 0\n%1 = input 1\n%2 = log %1\n%3 = add %0 %2\nreturn %3\n} else {\n"
        "%0 = input 0\n%1 = const 1.5\n%2 = mul %0 %1\nreturn %2\n}\n%5 = result %4 0\nreturn %5\n}\n%5 = result %4 0\n"
        "return %5 %1"
    ),
    "loops in three levels": loop(
        HEAD
        + "%4 = loop 2 carry %0 with %2 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = loop 3 carry %1 with %0 do {\n"
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = sin %0\n%4 = mul %3 %1\nreturn %4\n}\n%4 = result %3 0\n"
        "%5 = add %4 %0\nreturn %5\n}\n%5 = result %4 0\n%6 = add %1 %5\nreturn %5 %6"
    ),
    "backwards": loop(HEAD + "%4 = mul %0 %2\n%5 = add %4 %3\nreturn %5 %1", "4 reverse carry %0 %1 with %2"),
}
POINTS = [[0.5, 1.25, 2.0], [3.0, -1.0, 0.5], [1.0, 1.0, 0.0], [0.0, 0.0, 1.5], [-2.0, 2.0, -3.0], [10.0, 2.0, 4.0]]


@pytest.mark.parametrize("name", TAPES)
def test_gradients_are_those_of_a_plain_run(name):
    """Gradients of points at which something is not reached are 0.0 and not nan."""
    tape = TAPES[name]
    with always() as found:
        swept = passes.adjoint(tape, wrt(tape))
        check(swept)
        assert (len(found) == 1 and not any(op.reverse for op in loops(swept))) or name == "backwards"
        first = passes.prune(swept.copy(outputs=swept.outputs[1:]))
        second = passes.adjoint(first, wrt(first))
    for xs in POINTS:
        if name == "a condition" and not (xs[0] > 0.0 and xs[2] > 1.0):
            continue  # it would not end
        want = plain(tape, xs)
        assert all(close(x, y, 1e-12, 1e-12) for x, y in zip(run(swept, xs), want, strict=True)), xs
        want = plain(first, xs)
        assert all(close(x, y, 1e-11, 1e-11) or y != y for x, y in zip(run(second, xs), want, strict=True)), xs


@pytest.mark.parametrize("name", TAPES)
def test_what_is_reached_is_told_as_the_adjoint_tells_it(name, monkeypatch):
    tape = TAPES[name]
    with always():
        with_tangents = passes.adjoint(tape, wrt(tape), told=wrt(tape))
    monkeypatch.setattr(primal, "joined", lambda *args: None)
    with_states = passes.adjoint(tape, wrt(tape), told=wrt(tape))
    for xs in POINTS:
        if name == "a condition" and not (xs[0] > 0.0 and xs[2] > 1.0):
            continue
        assert run(with_tangents, xs)[-3:] == run(with_states, xs)[-3:]


@given(seed=st.integers(0, 10**9), depth=st.integers(1, 2))
@settings(max_examples=100, deadline=None)
def test_random_loops(seed, depth):
    tape = region_tape(seed, depth)
    with always():
        swept = passes.adjoint(tape, wrt(tape))
    small = passes.prune(passes.simplify(passes.prune(swept)))
    check(small)
    random = Random(seed)
    for _ in range(4):
        xs = [random.choice([0.0, 1.0, -1.0, 0.5, random.uniform(-3, 3)]) for _ in range(tape.inputs)]
        want = plain(tape, xs)
        assert all(close(x, y, 1e-9, 1e-11) for x, y in zip(run(small, xs), want, strict=True))


def test_tangents_are_joined_where_they_are_cheaper():
    """The product of many prices by two numbers; and a system of four numbers by all of eight, which has an adjoint."""
    price = TAPES["a power"]
    assert not any(op.reverse for op in loops(passes.adjoint(price, wrt(price))))
    inputs = "\n".join(f"%{k} = input {k}" for k in range(8))
    mixed = "\n".join(
        f"%{8 + 4 * k + j} = {'mul' if j % 2 else 'add'} %{k if j == 0 else 7 + 4 * k + j} %{(k + j + 1) % 8}"
        for k in range(4)
        for j in range(4)
    )
    body = f"{inputs}\n{mixed}\nreturn %11 %15 %19 %23"
    system = parse(
        f"{inputs}\n%8 = loop 9 carry %0 %1 %2 %3 with %4 %5 %6 %7 do {{\n{body}\n}}\n%9 = result %8 0\nreturn %9"
    )
    swept = passes.prune(passes.adjoint(system, wrt(system)))
    assert any(op.reverse for op in loops(swept))


def test_one_loop_is_enough_for_many_numbers_outside():
    """Only what enters the loop counts: here two numbers, which are made from all eight."""
    inputs = "\n".join(f"%{k} = input {k}" for k in range(8))
    sums = "\n".join(f"%{8 + k} = add %{k} %{k + 7 if k else 1}" for k in range(7))
    tape = parse(
        f"{inputs}\n{sums}\n%15 = mul %14 %0\n%16 = loop 5 carry %14 with %15 do {{\n%0 = input 0\n%1 = input 1\n%2 = sin %1\n"
        "%3 = mul %0 %2\nreturn %3\n}\n%17 = result %16 0\nreturn %17"
    )
    swept = passes.prune(passes.adjoint(tape, wrt(tape)))
    assert [op.carried for op in loops(swept)] == [4]  # the value, two tangents, and whether the second one is there
    xs = [0.1 * k for k in range(8)]
    assert all(close(x, y, 1e-12, 1e-12) for x, y in zip(run(swept, xs), plain(tape, xs), strict=True))


def test_no_state_is_kept_of_a_loop_without_a_bound():
    tape = TAPES["a condition"]
    swept = passes.prune(passes.adjoint(tape, wrt(tape)))
    (one,) = loops(swept)
    assert one.results == one.carried


def test_loops_inside_of_loops_are_joined_where_that_is_cheaper():
    """An inner loop of many iterations, and a few numbers: nothing is kept of any iteration."""
    inner = "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = mul %0 %1\n%4 = add %3 %1\nreturn %4"
    tape = loop(HEAD + f"%4 = loop 50 carry %0 with %2 do {{\n{inner}\n}}\n%5 = result %4 0\nreturn %5 %1")
    swept = passes.prune(passes.adjoint(tape, wrt(tape)))
    assert len(loops(swept)) == 1
    (outer,) = loops(swept)
    (nested,) = loops(outer.body)
    assert outer.results == outer.carried and nested.results == nested.carried and not (outer.reverse or nested.reverse)
    xs = [0.3, 0.2, 0.9]
    assert all(close(x, y, 1e-12, 1e-12) for x, y in zip(run(swept, xs), plain(tape, xs), strict=True))


def test_forward_mode_by_several_numbers_is_one_loop():
    """And not one for each direction, as columns without joined tangents are."""
    tape = TAPES["a power"].copy(outputs=TAPES["a power"].outputs * 2)
    swept = passes.prune(passes.columns(tape, wrt(tape)))
    assert len(loops(swept)) == 1
    for xs in POINTS:
        assert all(close(x, y, 1e-12, 1e-12) for x, y in zip(run(swept, xs), plain(tape, xs), strict=True))
