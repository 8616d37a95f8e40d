"""Of which places only the truth is used: a run in which they are 1.0 or 0.0 gives the same bits; and which they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd.engine import apply
from micrograd.tape import passes
from micrograd.tape.interpret import run
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PICK,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
)
from micrograd.tape.text import parse
from micrograd.tape.truths import NOTHING, truths
from random_programs import same
from random_regions import region_tape


def truth(x):
    """1.0 where a number is not 0.0, of each item of a list."""
    return [truth(y) for y in x] if isinstance(x, list) else float(x != 0.0)


def run_on_truths(tape, inputs, known):
    """The outputs of a tape, where each number of which only the truth is used is 1.0 or 0.0."""
    values = []
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        given = args if op in SOURCES else [values[a] for a in args]
        if op is CONST or op is INPUT:
            y = args[0] if op is CONST else inputs[args[0]]
        elif op is PICK:
            y = given[1] if given[0] else given[2]
        elif isinstance(op, Projection):
            y = [*given[0], *[0.0] * (op.number - len(given[0]))] if op.name == "pad" else given[0][op.number]
        elif op is STACK:
            y = given
        elif op in (LOAD, STORE, BUMP):
            k = min(max(int(given[1]), 0), len(given[0]) - 1)
            y = given[0][k]
            if op is not LOAD:
                y = [*given[0][:k], given[2] if op is STORE else _plus(y, given[2]), *given[0][k + 1 :]]
        elif isinstance(op, Choose):
            body = 0 if given[0] else 1
            y = run_on_truths(op.bodies()[body], given[1:], known.bodies[i][body])
        elif isinstance(op, Loop):
            asked, do = op.condition, known.bodies[i]
            y = op.run(
                given,
                lambda xs, asked=asked, do=do: asked is None or bool(run_on_truths(asked, xs, do[1])[0]),
                lambda xs, body=op.body, do=do: run_on_truths(body, xs, do[0]),
            )
        else:
            y = apply(op, given) if op.arity < 0 else apply(op, *given)
        values.append(truth(y) if i in known.places and not isinstance(op, Region) else y)
    return [values[o] for o in tape.outputs]


def _plus(a, b):
    return [_plus(x, y) for x, y in zip(a, b)] if isinstance(a, list) else a + b


def points(seed, inputs):
    numbers = [0.0, 1.0, -1.0, 0.5, -2.25, 3.0]
    return [[numbers[(seed // 7**k + k * n) % len(numbers)] for k in range(inputs)] for n in range(3)]


@given(seed=st.integers(0, 10**9), depth=st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_the_truth_of_these_places_is_enough(seed, depth):
    tape = region_tape(seed, depth)
    swept = passes.prune(passes.adjoint(tape, passes.sources(tape, INPUT, tape.inputs)))
    for t in (tape, swept):
        known = truths(t)
        for xs in points(seed, t.inputs):
            assert all(same(x, y) for x, y in zip(run_on_truths(t, xs, known), run(t, xs), strict=True))


def test_a_tape_of_numbers_alone_has_none():
    assert truths(parse("%0 = input 0\n%1 = pick %0 %0 %0\nreturn %1")) is NOTHING


HEAD = "%0 = input 0\n%1 = input 1\n%2 = const 1.0\n%3 = const -1.0\n%4 = gt %0 %1\n"
TWO = HEAD + "%5 = stack %2 %4\n"


@pytest.mark.parametrize(
    ("what", "text", "expected"),
    [
        ("the condition of pick", TWO + "%6 = element %5 1\n%7 = pick %6 %0 %1\nreturn %7", {2, 3, 4, 5, 6}),
        ("the condition of where", TWO + "%6 = element %5 1\n%7 = where %6 %0 %1\nreturn %7", {2, 3, 4, 5, 6}),
        ("a result", TWO + "%6 = element %5 1\nreturn %6", {3}),
        ("a guard", TWO + "%6 = element %5 1\n%7 = pick %6 %0 %1\nguard lt %6 %0 is true\nreturn %7", {3}),
        ("a number of a rule", TWO + "%6 = element %5 1\n%7 = mul %6 %0\nreturn %7", {3}),
        ("an arm of pick", TWO + "%6 = element %5 1\n%7 = pick %0 %6 %1\nreturn %7", {3}),
        ("an arm of pick that is a condition", TWO + "%6 = element %5 0\n%7 = pick %3 %6 %4\n%8 = pick %7 %0 %1\nreturn %8",
         {2, 3, 4, 5, 6, 7}),
        ("an arm of where that is a condition", TWO + "%6 = element %5 1\n%7 = where %3 %6 %2\n%8 = pick %7 %0 %1\nreturn %8",
         {3, 7}),
        ("an element by an index", TWO + "%6 = load %5 %3\n%7 = pick %6 %0 %1\nreturn %7", {2, 4, 5, 6}),
        ("an index", TWO + "%6 = load %5 %2\nreturn %6", {3}),
        ("an element that is replaced", TWO + "%6 = store %5 %3 %3\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8",
         {2, 4, 5, 6, 7}),
        ("what replaces it", TWO + "%6 = store %5 %2 %3\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8",
         {3, 4, 5, 6, 7}),
        ("a replaced element that is returned", TWO + "%6 = store %5 %2 %3\n%7 = element %6 0\nreturn %7", set()),
        ("a sum of numbers that are never negative",
         TWO + "%6 = bump %5 %3 %4\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8", {2, 4, 5, 6, 7}),
        ("a sum with a negative number", TWO + "%6 = bump %5 %2 %3\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8", {6, 7}),
        ("a sum with a number of any sign", TWO + "%6 = bump %5 %2 %0\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8",
         {3, 6, 7}),
        ("a sum for a list of any sign",
         HEAD + "%5 = stack %2 %3\n%6 = bump %5 %2 %4\n%7 = element %6 0\n%8 = pick %7 %0 %1\nreturn %8", {6, 7}),
        ("a sum that is returned", TWO + "%6 = bump %5 %2 %4\n%7 = element %6 0\nreturn %7", {3}),
    ],
)  # fmt: skip
def test_what_asks_for_the_truth_alone(what, text, expected):
    found = truths(parse(text))
    unread = {i for i in (2, 3, 4) if f"%{i} " not in text.split("gt %0 %1\n")[1].replace("\n", " ") + " "}
    assert found.places - unread == expected - unread
    assert found.bodies == {}


@pytest.mark.parametrize(
    ("source", "passes_on"),
    [
        ("%6 = stack %4 %4\n%7 = element %6 0", True), ("%6 = stack %4 %0\n%7 = element %6 0", False),
        ("%6 = pick %0 %2 %4\n%7 = pick %0 %6 %6", True), ("%6 = pick %0 %2 %3\n%7 = pick %0 %6 %6", False),
        ("%6 = pick %0 %3 %2\n%7 = pick %0 %6 %6", False),
        ("%6 = stack %4 %2\n%7 = load %6 %3", True), ("%6 = stack %4 %1\n%7 = load %6 %3", False),
        ("%6 = pick %0 %3 %3\n%7 = load %5 %2", True), ("%6 = pick %0 %3 %3\n%7 = element %5 0", True),
        ("%6 = bump %5 %3 %4\n%7 = element %6 0", True), ("%6 = bump %5 %3 %0\n%7 = element %6 0", False),
        ("%6 = store %5 %3 %4\n%7 = element %6 0", True), ("%6 = store %5 %3 %0\n%7 = element %6 0", False),
        ("%6 = const 0.0\n%7 = pick %0 %6 %6", True), ("%6 = const nan\n%7 = pick %0 %6 %6", False),
        ("%6 = add %2 %2\n%7 = pick %0 %6 %6", False), ("%6 = le %0 %2\n%7 = pick %0 %6 %6", True),
    ],
)  # fmt: skip
def test_what_is_never_negative_may_be_added(source, passes_on):
    """The truth of a sum is that of its parts, if none of them is negative: %8 adds %7 to an item of a list of such numbers."""
    text = TWO + source + "\n%8 = bump %5 %2 %7\n%9 = element %8 0\n%10 = pick %9 %0 %1\nreturn %10"
    assert (7 in truths(parse(text)).places) == passes_on


def of_loop(body, carried="%2 %0", result=1, how="", more=""):
    """What is known of a loop of three iterations, and of its bodies."""
    text = f"{HEAD}%5 = loop 3 carry {carried} {how}do {{\n{body}\n}}\n%6 = result %5 {result}\n{more or 'return %6'}"
    found = truths(parse(text))
    return found.places, [b.places for b in found.bodies[5]]


def test_a_flag_that_a_loop_carries():
    outside, (inside,) = of_loop(
        "%0 = input 0\n%1 = input 1\n%2 = mul %1 %1\n%3 = pick %0 %2 %1\n%4 = gt %3 %1\n%5 = pick %4 %0 %4\nreturn %5 %3"
    )
    assert 2 in outside and 0 not in outside
    assert inside == {0, 4, 5}


def test_a_value_that_a_later_iteration_uses_is_used():
    """The first carried value becomes the second one after an iteration, and what is added after two."""
    outside, (inside,) = of_loop(
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = add %2 %1\nreturn %0 %0 %3", "%2 %4 %0", result=2
    )
    assert not {0, 2, 4} & outside
    assert inside == set()


def test_a_result_that_is_read_is_used_in_all_iterations():
    outside, (inside,) = of_loop("%0 = input 0\n%1 = input 1\n%2 = pick %0 %1 %1\nreturn %0 %2", "%2 %3", result=0)
    assert inside == {1, 2}  # the other one is carried for nothing
    assert 2 not in outside and 3 in outside


def test_a_result_that_is_a_condition():
    more = "%7 = pick %6 %0 %1\nreturn %7"
    outside, (inside,) = of_loop("%0 = input 0\n%1 = input 1\nreturn %0 %1", result=0, more=more)
    assert inside == {0, 1}
    assert {2, 5, 6} <= outside and 0 not in outside


def test_what_the_condition_of_a_loop_compares_is_used():
    asks = "while {\n%0 = input 1\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2\n} "
    outside, (inside, condition) = of_loop(
        "%0 = input 0\n%1 = input 1\n%2 = pick %0 %1 %1\nreturn %0 %2", result=0, how=asks,
        more="%7 = pick %6 %0 %1\nreturn %7",
    )  # fmt: skip
    assert inside == {0} and condition == set()
    assert 2 in outside and 0 not in outside


def test_an_invariant_and_an_item_that_are_conditions():
    body = "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = pick %1 %0 %2\n%4 = input 3\n%5 = add %3 %4\nreturn %5"
    text = f"{HEAD}%5 = stack %4 %4 %4\n%6 = loop 3 carry %0 with %2 over %5 do {{\n{body}\n}}\n%7 = result %6 0\nreturn %7"
    found = truths(parse(text))
    assert 2 in found.places and not {0, 4, 5} & found.places
    assert found.bodies[6][0].places == {1}
    turned = truths(parse(text.replace("pick %1 %0 %2", "pick %2 %0 %1")))
    assert {4, 5} <= turned.places and 2 not in turned.places


def test_a_carried_sum_of_flags():
    """A sum in each iteration passes the question on only where the number that the loop begins with is not negative, too."""
    for first, negative in (("%2", False), ("%3", True)):
        body = "%0 = input 0\n%1 = input 1\n%2 = gt %1 %1\n%3 = input 2\n%4 = bump %0 %3 %2\nreturn %4 %1"
        text = (
            f"{HEAD}%5 = stack {first} {first}\n%6 = loop 3 carry %5 %0 do {{\n{body}\n}}\n%7 = result %6 0\n"
            "%8 = element %7 1\n%9 = pick %8 %0 %1\nreturn %9"
        )
        found = truths(parse(text))
        assert (5 in found.places) != negative
        assert found.bodies[6][0].places == (set() if negative else {0, 2, 4})


def test_the_number_of_an_iteration_is_never_negative():
    body = "%0 = input 0\n%1 = input 1\n%2 = bump %0 %1 %1\nreturn %2"
    text = (
        f"{TWO}%6 = loop 3 carry %5 do {{\n{body}\n}}\n%7 = result %6 0\n"
        "%8 = element %7 1\n%9 = pick %8 %0 %1\nreturn %9"
    )
    found = truths(parse(text))
    assert 5 in found.places and found.bodies[6][0].places == {0, 2}


def test_a_carried_value_that_becomes_negative_later():
    """What is carried behind another value is as that one was an iteration before."""
    body = (
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = input 3\n%4 = bump %0 %3 %1\n%5 = const -1.0\nreturn %4 %2 %5"
    )
    text = (
        f"{HEAD}%5 = stack %2 %2\n%6 = loop 3 carry %5 %2 %4 do {{\n{body}\n}}\n%7 = result %6 0\n"
        "%8 = element %7 1\n%9 = pick %8 %0 %1\nreturn %9"
    )
    found = truths(parse(text))
    assert not {2, 4, 5} & found.places and found.bodies[6][0].places == set()


def test_a_choice_uses_its_operands_and_asks_for_the_truth_of_its_condition():
    arm = "%0 = input 0\n%1 = input 1\n%2 = {}\nreturn %2"
    for one, two, good in (("gt %0 %1", "const 1.0", True), ("gt %0 %1", "const -1.0", False),
                           ("add %0 %1", "const 1.0", False)):  # fmt: skip
        text = (
            f"{TWO}%6 = choose %4 %0 %2 then {{\n{arm.format(one)}\n}} else {{\n{arm.format(two)}\n}}\n%7 = result %6 0\n"
            "%8 = bump %5 %3 %7\n%9 = element %8 0\n%10 = pick %9 %0 %1\nreturn %10"
        )
        found = truths(parse(text))
        assert (7 in found.places) == good and (5 in found.places) == good
        assert not {0, 2} & found.places and [b.places for b in found.bodies[6]] == [set(), {0, 1}]


def test_the_results_of_a_choice_that_are_never_negative():
    """Of each arm the operands behind the condition count."""
    arm = "%0 = input 0\n%1 = input 1\nreturn %{} %1"
    text = (
        f"{TWO}%6 = choose %3 %2 %0 then {{\n{arm.format(0)}\n}} else {{\n{arm.format(0)}\n}}\n%7 = result %6 0\n"
        "%8 = bump %5 %3 %7\n%9 = element %8 0\n%10 = pick %9 %0 %1\nreturn %10"
    )
    assert 7 in truths(parse(text)).places
    assert 7 not in truths(parse(text.replace("result %6 0", "result %6 1"))).places
