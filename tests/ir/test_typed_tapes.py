"""The typed tape: text and back, what `check` refuses, and that the builder and the passes keep what a tape means."""

from __future__ import annotations

import re
from math import isnan

import pytest

from micrograd.ir.builder import Builder
from micrograd.ir.check import check
from micrograd.ir.dataflow import rebuilt
from micrograd.ir.forms import F64, I64, TABLE, Place, walk
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.passes import simplified
from micrograd.ir.prune import prune
from micrograd.ir.text import parse, write
from twins import MORE
from typed_tapes import random_arguments, random_tape

SEEDS = range(60 * MORE)


def outcome(tape, arguments):
    """What a run gives, as text (so that nan equals nan, and -0.0 does not equal 0.0), or the check that failed."""
    try:
        return repr(run(tape, arguments)).replace("-nan", "nan")
    except CheckFailed as failed:
        return f"check: {failed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tapes_make_sense_and_survive_their_text(seed):
    tape = random_tape(seed, checks=seed % 3 == 0)
    check(tape)
    text = write(tape)
    again = parse(text)
    check(again)
    assert write(again) == text
    for k in range(3):
        arguments = random_arguments(1000 * seed + k)
        assert outcome(again, arguments) == outcome(tape, arguments)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rebuilt_and_a_simplified_tape_give_the_same(seed):
    tape = random_tape(seed, checks=seed % 3 == 0)
    builder, yields = rebuilt(tape)
    for again in (prune(builder.finish(yields)), simplified(tape)):
        check(again)
        for k in range(3):
            arguments = random_arguments(1000 * seed + k)
            assert outcome(again, arguments) == outcome(tape, arguments)


def test_each_region_is_pruned_once_however_deep_it_is():
    b = Builder([F64] * 30)

    def inside(k):
        if k == len(b.params):
            return [b.params[0], b.emit("mul", b.params[0], b.params[1])]
        condition = b.emit("lt", b.params[k], b.const(0.0))
        return b.choose(condition, lambda: inside(k + 1), lambda: [b.params[k], b.const(2.0)])

    tape = b.finish(inside(0)[:1])
    before = outcome(tape, [-1.0] * 30)
    prune(tape)  # a billion steps, if each region looked twice at those inside of it
    check(tape)
    assert outcome(tape, [-1.0] * 30) == before
    assert not any(place.op == "mul" for place in walk(tape))  # the second result is not needed


def test_what_does_not_change_is_computed_before_a_loop():
    b = Builder(["f64[]", F64])
    xs, x = b.params

    def step(p, k):
        scale = b.emit("exp", b.emit("mul", x, x))
        return b.const(True), [b.emit("add", p[0], b.emit("mul", scale, b.emit("load", xs, k)))]

    tape = b.finish([b.loop(b.emit("size", xs), [b.const(0.0)], step)[0]])
    assert [place.op for place in tape.code] == ["size", "loop"]
    again = simplified(tape)
    assert [place.op for place in again.code] == ["size", "mul", "exp", "loop"]
    assert run(again, [[1.0, 2.0], 0.5]) == run(tape, [[1.0, 2.0], 0.5])


def in_range(factor):
    """A loop over n numbers that checks in each iteration whether the index start + factor*k is one of an array."""
    b = Builder(["f64[]", "i64", "i64"])
    x, n, start = b.params

    def step(carried, k):
        i = b.sum(start, k, factor)
        inside = b.emit("and", b.emit("ile", b.const(0), i), b.emit("ilt", i, b.emit("size", x)))
        b.check(inside, "index")
        return b.const(True), [b.emit("add", carried[0], b.emit("load", x, i))]

    return b.finish([b.loop(n, [b.const(0.0)], step)[0]])


@pytest.mark.parametrize("factor", [0, 1, -1, 2])
def test_checks_of_indices_are_made_once_before_a_loop(factor):
    tape = in_range(factor)
    made = simplified(tape)
    (loop,) = [place for place in walk(made) if place.op == "loop"]
    assert not any(place.op == "check" for place in walk(loop.bodies[0]))
    for n in range(-1, 5):
        for start in range(-4, 6):
            assert outcome(made, [[1.0, 2.0, 4.0], n, start]) == outcome(tape, [[1.0, 2.0, 4.0], n, start])


def test_a_check_stays_in_a_loop_that_may_end_before_it():
    b = Builder(["f64[]", "i64"])
    x, n = b.params

    def step(carried, k):
        b.check(b.emit("ilt", k, b.emit("size", x)), "index")
        item = b.emit("load", x, k)
        return b.emit("ne", item, b.const(0.0)), [b.emit("add", carried[0], item)]

    made = simplified(b.finish([b.loop(n, [b.const(0.0)], step)[0]]))
    assert run(made, [[1.0, 0.0], 9]) == [1.0]


def test_an_index_that_only_grows_is_never_negative():
    b = Builder(["f64[]", "i64"])
    x, n = b.params

    def step(carried, k):
        i = carried[1]
        at = b.emit("select", b.emit("ilt", i, b.const(0)), b.sum(i, b.emit("size", x)), i)
        return b.const(True), [b.emit("add", carried[0], b.emit("load", x, at)), b.sum(i, k)]

    made = simplified(b.finish([b.loop(n, [b.const(0.0), b.const(0)], step)[0]]))
    assert not any(place.op == "select" for place in walk(made))
    assert run(made, [[1.0, 2.0, 4.0, 8.0], 4]) == [1.0 + 1.0 + 2.0 + 8.0]


def test_nothing_leaves_an_arm_that_is_not_taken():
    b = Builder([F64])
    (x,) = b.params

    def step(p, k):
        (y,) = b.choose(b.emit("gt", x, b.const(0.0)), lambda: [b.emit("log", x)], lambda: [x])
        return b.const(True), [b.emit("add", p[0], y)]

    again = simplified(b.finish([b.loop(b.const(3), [b.const(0.0)], step)[0]]))
    assert "log" not in [place.op for place in again.code]


def test_the_random_tapes_contain_every_form():
    found = {place.op for seed in SEEDS for place in walk(random_tape(seed, checks=True))}
    assert found >= {"if", "loop", "check", "load", "store", "bump", "append", "slice", "size", "array", "fill", "grow"}
    assert {"iadd", "isub", "imul", "imod", "ifloordiv", "imin", "and", "or", "not", "select", "float", "int"} <= found
    assert len(found & set(TABLE)) > 35


def test_the_text_of_a_tape_is_its_grammar():
    b = Builder(["f64[]"])
    (xs,) = b.params
    total, _ = b.loop(
        b.emit("size", xs),
        [b.const(0.0)],
        lambda p, k: (b.const(True), [b.emit("add", p[0], b.emit("load", xs, k))]),
    )
    tape = b.finish([total])
    assert re.sub(r"\s+", " ", write(tape)).startswith("tape(%0: f64[]) {")
    assert run(parse(write(tape)), [[1.0, 2.0, 4.5]]) == [7.5]
    assert "loop times %" in write(tape) and "load %0 %" in write(tape)


def test_a_while_loop_makes_one_iteration_at_least_and_a_counted_one_may_make_none():
    b = Builder([I64])
    one = b.loop(None, [b.const(1.0)], lambda p, k: (b.const(False), [b.emit("add", p[0], p[0])]))
    none = b.loop(b.params[0], [b.const(1.0)], lambda p, k: (b.const(True), [b.emit("add", p[0], p[0])]))
    tape = b.finish([*one, *none])
    assert run(tape, [0]) == [2.0, 1, 1.0, 0]
    assert run(tape, [3]) == [2.0, 1, 8.0, 3]


def test_items_that_were_reserved_cannot_be_used_before_they_are_stored():
    b = Builder(["f64[]"])
    grown = b.emit("grow", b.params[0], b.const(1))
    tape = b.finish([b.emit("neg", b.emit("load", grown, b.const(1)))])
    with pytest.raises(TypeError):
        run(tape, [[1.0]])


def test_a_cotangent_that_was_never_given_is_minus_zero():
    value = TABLE["reached"].value
    assert not value(-0.0)
    assert all(map(value, (0.0, 1.0, -1.0, float("inf"), float("-inf"))))
    assert isnan(float("nan")) and value(float("nan"))


@pytest.mark.parametrize(
    "break_it",
    [
        lambda b: b.append(Place("add", (b.params[0], b.params[1]), F64)),
        lambda b: b.append(Place("load", (b.params[2], b.params[0]), F64)),
        lambda b: b.append(Place("store", (b.params[2], b.params[1], b.params[1]), "f64[]")),
        lambda b: b.append(Place("check", (b.params[0],), "", "no bool")),
        lambda b: b.append(Place("neg", (Place("param", (), F64),), F64)),
        lambda b: b.append(Place("grow", (b.params[2], b.params[0]), "f64[]")),
        lambda b: b.append(Place("nothing", (), F64)),
    ],
    ids=["kinds of add", "index", "item", "check", "not defined", "length", "no such op"],
)
def test_a_tape_that_makes_no_sense_is_refused(break_it):
    b = Builder([F64, I64, "f64[]"])
    break_it(b)
    with pytest.raises(ValueError):
        check(b.finish([]))


@pytest.mark.parametrize("text", ["nothing", "tape(%0: f64) {", "tape() {\n  what is this\n}"])
def test_a_text_that_is_no_tape_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)
