"""The adjoint of typed tapes: the gradients of eager code, where poles, unused arms, empty loops and unread items lie about."""

from __future__ import annotations

import math
from random import Random

import pytest

from eager_tapes import gradient
from micrograd.ir.builder import Builder
from micrograd.ir.check import check
from micrograd.ir.forms import walk
from micrograd.ir.forward import tangents
from micrograd.ir.interpret import run
from micrograd.ir.passes import simplified
from micrograd.ir.reverse import adjoint
from twins import MORE
from typed_tapes import random_arguments, random_tape

WRT = [0, 1, 2, 3]


def same(found, expected, scale=1e-9):
    """Whether two gradients agree: nan with nan, inf with inf, numbers up to rounding."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(same(x, y, scale) for x, y in zip(found, expected, strict=True))
    if not math.isfinite(expected):
        return repr(found) == repr(expected)
    return math.isclose(found, expected, rel_tol=scale, abs_tol=1e-9 * scale)


@pytest.mark.parametrize("seed", range(60 * MORE))
def test_random_tapes_have_the_gradients_of_eager_code(seed):
    tape = random_tape(seed)
    of = seed % 2
    made = adjoint(tape, WRT, [of])
    check(made)
    for k in range(3):
        arguments = random_arguments(1000 * seed + k)
        values, expected = gradient(tape, arguments, of, WRT)
        found = run(made, arguments)
        assert repr(found[: len(values)]).replace("-nan", "nan") == repr(values).replace("-nan", "nan")
        assert same(found[len(values) :], expected), (found[len(values) :], expected)


def flat(values):
    """The numbers in numbers and lists of numbers, one after the other."""
    return [x for v in values for x in (v if isinstance(v, list) else [v])]


def directions(seed, arguments, count=1):
    """Tangents of the arguments WRT, for so many directions."""
    random = Random(seed)
    one = lambda x: [random.uniform(-1, 1) for _ in x] if isinstance(x, list) else random.uniform(-1, 1)  # noqa: E731
    return [[one(arguments[k]) for k in WRT] for _ in range(count)]


def product(xs, ys):
    return sum(x * y for x, y in zip(flat(xs), flat(ys), strict=True))


@pytest.mark.parametrize("seed", range(60 * MORE))
def test_tangents_agree_with_gradients(seed):
    tape = random_tape(seed, poles=False)
    of = seed % 2
    forward, back = tangents(tape, WRT, [of], 2), adjoint(tape, WRT, [of])
    check(forward)
    count = len(tape.yields)
    for k in range(2):
        arguments = random_arguments(1000 * seed + k)
        two = directions(seed, arguments, 2)
        grad = run(back, arguments)[count:]
        found = run(forward, [*arguments, *two[0], *two[1]])[count:]
        for dot, direction in zip(found, two, strict=True):
            assert math.isclose(dot, product(grad, direction), rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(20 * MORE))
def test_seeds_and_tangents_of_arrays_are_transposed_to_each_other(seed):
    tape = random_tape(seed, poles=False)
    of = [0, 1, 2]
    forward, back = tangents(tape, WRT, of), adjoint(tape, WRT, of, seeded=True)
    check(back)
    arguments = random_arguments(seed)
    count, random = len(tape.yields), Random(seed)
    seeds = [random.uniform(-1, 1), random.uniform(-1, 1), [random.uniform(-1, 1) for _ in run(tape, arguments)[2]]]
    (direction,) = directions(seed, arguments)
    left = product(run(forward, [*arguments, *direction])[count:], seeds)
    right = product(run(back, [*arguments, *seeds])[count:], direction)
    assert math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(8 * MORE))
def test_the_second_and_third_order_agree_in_every_mode(seed):
    """Of f along u, v and w: the tangents of tangents of tangents, and what has a reverse sweep at one or two orders."""
    tape = random_tape(seed, poles=False)
    count = len(tape.yields)
    arguments = random_arguments(seed)
    u, v, w = directions(seed, arguments, 3)

    def along(made, given, direction):
        """Tangents of the gradients that a tape has after its first results."""
        of = list(range(count, len(made.yields)))
        found = run(tangents(made, WRT, of), [*given, *direction])
        return found[len(made.yields) :]

    one = tangents(tape, WRT, [0])
    two = tangents(one, WRT, [count])
    second = run(two, [*arguments, *u, *v])[-1]
    third = run(tangents(two, WRT, [len(two.yields) - 1]), [*arguments, *u, *v, *w])[-1]
    back = adjoint(tape, WRT, [0])
    check(back)
    assert close(product(along(back, arguments, u), v), second)
    over = adjoint(one, WRT, [count])
    assert close(product(run(over, [*arguments, *u])[len(one.yields) :], v), second)
    twice = adjoint(back, WRT, list(range(count, count + 4)), seeded=True)
    check(twice)
    assert close(product(run(twice, [*arguments, *u])[len(back.yields) :], v), second)
    thrice = tangents(twice, WRT, list(range(len(back.yields), len(twice.yields))))
    assert close(product(run(thrice, [*arguments, *u, *v])[len(twice.yields) :], w), third)


def close(x, y):
    return math.isclose(x, y, rel_tol=1e-7, abs_tol=1e-9)


def test_the_item_that_a_selection_did_not_take_gets_no_gradient():
    b = Builder(["f64[]", "i64"])
    x, n = b.params

    def step(carried, k):
        item = b.emit("load", x, k)
        return b.const(True), [b.emit("select", b.emit("gt", item, carried[0]), item, carried[0])]

    tape = b.finish([b.loop(n, [b.emit("load", x, b.const(0))], step)[0]])
    made = adjoint(tape, [0])
    assert run(made, [[1.0, 5.0, 2.0, 5.0, 3.0], 5]) == [5.0, [0.0, 1.0, 0.0, 0.0, 0.0]]
    assert run(made, [[2.0] * 4, 4]) == [2.0, [1.0, 0.0, 0.0, 0.0]]


def largest(choose, second=False):
    """The largest number, with the one that was the largest before it if that is asked for, times 2."""
    b = Builder(["f64[]", "i64"])
    x, n = b.params

    def step(carried, k):
        item = b.emit("load", x, k)
        larger = b.emit("gt", item, carried[0])
        new = [item, carried[0]] if second else [item]
        if choose:
            return b.const(True), b.choose(larger, lambda: new, lambda: carried)
        return b.const(True), [b.emit("select", larger, *pair) for pair in zip(new, carried, strict=True)]

    start = [b.emit("load", x, b.const(0))]
    found = b.loop(n, [*start, b.const(0.5)] if second else start, step)
    return b.finish([b.emit("mul", found[1 if second else 0], b.const(2.0))])


@pytest.mark.parametrize("choose", [False, True])
def test_the_sweep_makes_only_the_iteration_that_a_loop_chose(choose):
    made = adjoint(largest(choose), [0])
    check(made)
    loops = [place for place in walk(made) if place.op == "loop"]
    assert len(loops) == 1, "the sweep has a loop over numbers that were not chosen"
    assert run(made, [[1.0, 5.0, 2.0, 5.0, 3.0], 5]) == [10.0, [0.0, 2.0, 0.0, 0.0, 0.0]]
    assert run(made, [[1.0, 5.0, 7.0], 1]) == [2.0, [2.0, 0.0, 0.0]]
    assert run(made, [[1.0, math.nan, 7.0], 3]) == [14.0, [0.0, 0.0, 2.0]]


@pytest.mark.parametrize("choose", [False, True])
def test_a_number_that_is_handed_on_between_choices_keeps_its_gradient(choose):
    made = adjoint(largest(choose, second=True), [0])
    assert run(made, [[1.0, 5.0, 2.0, 7.0, 3.0], 5]) == [10.0, [0.0, 2.0, 0.0, 0.0, 0.0]]
    assert run(made, [[1.0, 0.0], 2]) == [1.0, [0.0, 0.0]]


def powers(terms, decay, start=0.25):
    """Σ over i of the squares of terms that a loop inside makes; with `decay`, each sum is changed before the next."""
    b = Builder(["f64[]", "f64", "i64"])
    x, y, n = b.params

    def outer(carried, i):
        total, scale = carried[0], carried[-1]

        def power(inner, j):
            item = b.emit("mul", b.emit("load", x, j), inner[0])
            return b.const(True), [
                b.emit("add", item, b.emit("mul", y, b.emit("float", i))),
                b.emit("append", inner[1], item),
            ]

        first = scale if terms == "carried" else b.emit("exp", y) if terms == "exp" else y
        size = b.emit("size", x)
        last, items, _ = b.loop(size, [first, b.const([], "f64[]")], power)

        def product(inner, j):
            item = b.emit("load", items, j)
            return b.const(True), [b.emit("add", inner[0], b.emit("mul", item, item))]

        found = b.emit("add", b.loop(size, [b.const(0.0)], product)[0], last)
        if decay:
            total = b.emit("mul", total, b.emit("sin", total))
        return b.const(True), [b.emit("add", total, found), b.emit("mul", scale, y)]

    results = b.loop(n, [b.const(start), y], outer)
    return b.finish([results[0]])


@pytest.mark.parametrize("terms", ["plain", "carried", "exp"])
@pytest.mark.parametrize("decay", [False, True])
def test_inner_loops_are_run_again_or_swept_at_once_in_place_of_records(terms, decay):
    tape = powers(terms, decay)
    made = simplified(adjoint(simplified(tape), [0, 1]))
    check(made)
    for n in range(5):
        arguments = [[0.5, -0.25, 1.5][: 1 + n % 3], 0.75, n]
        values, expected = gradient(tape, arguments, 0, [0, 1])
        found = run(made, arguments)
        assert found[:1] == values
        assert same(found[1:], expected)
    for place in walk(made):  # no array has an item for each iteration of both loops
        assert not (place.op == "grow" and place.args[1].op == "imul")


def test_a_sum_is_swept_back_in_the_loop_that_makes_it():
    b = Builder(["f64[]", "i64"])
    x, n = b.params

    def step(carried, k):
        return b.const(True), [b.emit("add", carried[0], b.emit("exp", b.emit("load", x, k)))]

    tape = b.finish([b.loop(n, [b.const(0.5)], step)[0]])
    made = simplified(adjoint(tape, [0]))
    assert len([place for place in walk(made) if place.op == "loop"]) == 1
    assert run(made, [[0.0, 1.0], 2]) == [0.5 + 1.0 + math.e, [1.0, math.e]]
    assert run(made, [[0.0], 0]) == [0.5, [0.0]]
