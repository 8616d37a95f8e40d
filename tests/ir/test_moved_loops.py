"""Loops that do the same in each iteration of a loop around them are moved in front of it, where that changes nothing."""

from __future__ import annotations

import pytest

from micrograd.ir.builder import Builder
from micrograd.ir.check import check
from micrograd.ir.forms import I64, walk
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.passes import gradient, simplified
from typed_tapes import random_arguments, random_tape


def total(b, xs, times=None, before=0.0, text=None):
    """Return the sum of an array, or of its first items."""

    def step(p, k):
        if text is not None:
            b.check(b.emit("ilt", k, b.emit("size", xs)), text)
        return b.const(True), [b.emit("add", p[0], b.emit("load", xs, k))]

    return b.loop(b.emit("size", xs) if times is None else times, [b.const(before)], step)[0]


def shares(b, xs, n, inner):
    """Return a tape of the sum of x[k % size] / inner() over k."""

    def step(p, k):
        item = b.emit("load", xs, b.emit("imod", k, b.emit("size", xs)))
        return b.const(True), [b.emit("add", p[0], b.emit("div", item, inner(p, k)))]

    return b.finish([b.loop(n, [b.const(0.0)], step)[0]])


def loops_inside(tape):
    return sum(p.op == "loop" for place in walk(tape) if place.op == "loop" for p in walk(place.bodies[0]))


def outcome(tape, arguments):
    try:
        return repr(run(tape, arguments)).replace("-nan", "nan")
    except CheckFailed as failed:
        return f"check: {failed}"


def test_a_sum_that_is_the_same_in_all_iterations_is_computed_once():
    b = Builder(["f64[]", I64])
    xs, n = b.params
    tape = shares(b, xs, n, lambda p, k: total(b, xs))
    made = simplified(tape)
    check(made)
    assert loops_inside(tape) == 1 and loops_inside(made) == 0
    assert loops_inside(gradient(tape, [0])) == 0
    for n in range(-1, 4):
        assert outcome(made, [[1.0, 2.5, -3.0], n]) == outcome(tape, [[1.0, 2.5, -3.0], n])


@pytest.mark.parametrize("items", [1, 3])
def test_it_does_nothing_where_there_is_no_iteration(items):
    b = Builder(["f64[]", I64, I64])
    xs, n, m = b.params
    made = simplified(shares(b, xs, n, lambda p, k: total(b, xs, m, text="past the end")))
    assert loops_inside(made) == 0
    assert run(made, [[1.0] * items, 0, 9]) == [0.0]  # the loop that was moved would read past the end
    assert outcome(made, [[1.0] * items, 1, 9]) == "check: past the end"


def test_an_array_that_is_only_read_is_computed_once():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def inner(p, k):
        room = b.emit("fill", b.emit("size", xs), b.const(0.0))

        def step(q, j):
            return b.const(True), [b.emit("store", q[0], j, b.emit("exp", b.emit("load", xs, j)))]

        weights = b.loop(b.emit("size", xs), [room], step, [0])[0]
        return b.emit("load", weights, b.emit("imod", k, b.emit("size", xs)))

    tape = shares(b, xs, n, inner)
    made = simplified(tape)
    check(made)
    assert loops_inside(made) == 0
    for n in range(4):
        assert outcome(made, [[1.0, 2.5, -3.0], n]) == outcome(tape, [[1.0, 2.5, -3.0], n])


def test_an_array_that_is_changed_is_made_in_each_iteration():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def inner(p, k):
        room = b.emit("fill", b.emit("size", xs), b.const(2.0))
        filled = b.loop(
            b.emit("size", xs), [room], lambda q, j: (b.const(True), [b.emit("store", q[0], j, b.emit("load", xs, j))]), [0]
        )[0]  # fmt: skip
        changed = b.emit("store", filled, b.const(0), p[0])
        return b.emit("load", changed, b.emit("imod", k, b.emit("size", xs)))

    assert loops_inside(simplified(shares(b, xs, n, inner))) == 1


def test_a_loop_stays_behind_a_check_and_in_an_arm():
    def checked(b, xs, k):
        b.check(b.emit("ne", b.emit("load", xs, k), b.const(0.0)), "zero")
        return total(b, xs)

    def in_an_arm(b, xs, k):
        return b.choose(b.emit("ilt", k, b.const(2)), lambda: [total(b, xs)], lambda: [b.const(1.0)])[0]

    for make in (checked, in_an_arm):
        b = Builder(["f64[]", I64])
        xs, n = b.params
        tape = shares(b, xs, n, lambda p, k: make(b, xs, k))  # noqa: B023
        made = simplified(tape)
        assert loops_inside(made) == 1
        for arguments in ([[1.0, 2.0], 2], [[1.0, 0.0], 2], [[0.0], 0]):
            assert outcome(made, arguments) == outcome(tape, arguments)


def test_a_loop_leaves_several_loops_and_one_that_ends_by_a_flag():
    b = Builder(["f64[]", I64])
    xs, n = b.params

    def outer(p, k):
        def middle(q, j):
            s = total(b, xs)
            return b.emit("lt", q[0], b.const(50.0)), [b.emit("add", q[0], b.emit("mul", s, b.number(j)))]

        return b.const(True), [b.loop(None, [p[0]], middle)[0]]

    tape = b.finish([b.loop(n, [b.const(0.0)], outer)[0]])
    made = simplified(tape)
    check(made)
    (loop,) = [place for place in made.code if place.op == "loop" and "loop" in [p.op for p in walk(place.bodies[0])]]
    assert loops_inside(made) == 1 and loop.bodies
    for n in range(-1, 4):
        assert outcome(made, [[1.0, 2.5, -3.0], n]) == outcome(tape, [[1.0, 2.5, -3.0], n])


def test_random_tapes_have_loops_that_move():
    moved = 0
    for seed in range(40):
        tape = random_tape(seed, checks=seed % 3 == 0)
        made = simplified(tape)
        moved += loops_inside(made) < loops_inside(tape)
        for k in range(2):
            assert outcome(made, random_arguments(k)) == outcome(tape, random_arguments(k))
    assert moved > 5
