"""What depends on what: the places, inputs and results that a derivative goes through."""

from __future__ import annotations

import pytest

from micrograd.observed import STOP
from micrograd.ops import OPS
from micrograd.tape.builder import Builder
from micrograd.tape.passes.derivatives import (
    active_inputs,
    active_places,
    active_results,
    connected,
    input_places,
    sources,
    visiting_order,
)
from micrograd.tape.tape import INPUT, PARAM, Region, Tape
from micrograd.tape.text import parse

STRAIGHT = (
    "%0 = input 0\n%1 = input 1\n%2 = param 0\n%3 = exp %0\n%4 = mul %1 %1\n%5 = add %3 %2\n%6 = const 1.0\n%7 = neg %6\n"
    "return %5 %4"
)


def which(flags):
    return [i for i, flag in enumerate(flags) if flag]


@pytest.mark.parametrize(
    ("wrt", "places"),
    [([0], [0, 3, 5]), ([1], [1, 4]), ([2], [2, 5]), ([0, 1], [0, 1, 3, 4, 5]), ([None, 1], [1, 4]), ([], [])],
)
def test_places_that_depend_on_others(wrt, places):
    assert which(active_places(parse(STRAIGHT), wrt)) == places


def test_nothing_depends_on_what_is_behind_stop_gradient():
    builder = Builder(1)
    x = builder.input(0)
    stopped = builder.append(STOP, x)
    tape = builder.finish([builder.append(OPS["mul"], stopped, x), builder.append(OPS["exp"], stopped)])
    assert which(active_places(tape, [0])) == [0, 2]


@pytest.mark.parametrize(("inputs", "places"), [([], [2, 5]), ([0], [0, 2, 3, 5]), ([1], [1, 2, 4, 5])])
def test_places_connected_to_inputs_and_to_every_parameter(inputs, places):
    assert which(connected(parse(STRAIGHT), inputs)) == places


def test_sources_are_found_by_their_number():
    tape = parse(STRAIGHT)
    assert sources(tape, INPUT, 3) == [0, 1, None] and sources(tape, PARAM, 1) == [2]
    assert input_places(tape, [False, True]) == [1] and input_places(tape, [True, True]) == [0, 1]


CHOICE = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = choose %0 %1 %2 then {
%0 = input 0
%1 = const 2.0
return %0 %1
} else {
%0 = input 0
%1 = input 1
return %0 %1
}
%4 = result %3 0
%5 = result %3 1
return %4 %5"""


def region(tape: Tape) -> Region:
    (found,) = [op for op in tape.ops if isinstance(op, Region)]
    return found


@pytest.mark.parametrize(("wrt", "places"), [([0], [0]), ([1], [1, 3, 4]), ([2], [2, 3, 5]), ([1, 2], [1, 2, 3, 4, 5])])
def test_results_of_a_choice_depend_on_what_one_of_its_arms_reads(wrt, places):
    tape = parse(CHOICE)
    assert which(active_places(tape, wrt)) == places
    assert active_inputs(region(tape), [False, True, False]) == [True, False]
    assert active_results(region(tape), [False, False, True]) == [False, True]
    assert active_results(region(tape), [False, False, False]) == [False, False]


# The first carried value becomes the second one, and that the third, one iteration later each; the array is made of the second.
HANDED_ON = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = input 3
%4 = loop 3 carry %0 %1 %2 with %3 do {
%0 = input 0
%1 = input 1
%2 = input 3
%3 = input 4
%4 = mul %3 %3
return %2 %0 %1 %1 %4
}
%5 = result %4 0
%6 = result %4 1
%7 = result %4 2
%8 = result %4 3
%9 = result %4 4
%10 = element %8 0
%11 = element %9 0
return %5 %6 %7 %10 %11"""


@pytest.mark.parametrize(
    ("wrt", "results"),
    [
        (0, [True, True, True, True, False]),
        (1, [False, True, True, True, False]),
        (2, [False, False, True, False, False]),
        (3, [True, True, True, True, False]),
    ],
)
def test_what_a_iteration_hands_on_makes_the_next_iteration_depend(wrt, results):
    tape = parse(HANDED_ON)
    given = [k == wrt for k in range(4)]
    assert active_results(region(tape), given) == results
    active = active_places(tape, [wrt])
    assert active[5:10] == results and active[4] and active[10:12] == results[3:]


def test_no_result_depends_on_what_the_condition_of_a_loop_reads():
    tape = parse(
        "%0 = input 0\n%1 = input 1\n%2 = loop carry %0 %1 while {\n%0 = input 1\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2\n}"
        " do {\n%0 = input 0\n%1 = exp %0\n%2 = input 1\n%3 = add %2 %2\nreturn %1 %3\n}\n%3 = result %2 0\n"
        "%4 = result %2 1\nreturn %3 %4"
    )
    assert active_results(region(tape), [False, True]) == [False, True]
    assert active_results(region(tape), [True, False]) == [True, False]


def test_inputs_of_a_loop_that_depend_after_some_iterations():
    found = active_inputs(region(parse(HANDED_ON)), [True, False, False, False])
    assert found == [True, True, True, False, False]  # the number of the iteration never does


def test_the_visiting_order_is_that_of_the_engine():
    tape = parse("%0 = input 0\n%1 = input 1\n%2 = exp %1\n%3 = mul %2 %0\n%4 = neg %0\n%5 = add %4 %3\nreturn %5")
    assert visiting_order(tape, 5) == [0, 4, 1, 2, 3, 5]
    assert visiting_order(tape, 3) == [1, 2, 0, 3]
