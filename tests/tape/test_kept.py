"""What a forward loop keeps for the reverse loop: results of functions, outcomes of comparisons, elements of changed arrays."""

from __future__ import annotations

import pytest

from micrograd.tape import passes
from micrograd.tape.check import shapes
from micrograd.tape.passes import primal
from micrograd.tape.passes.states import KEPT, kept, with_states
from micrograd.tape.text import parse

# carry x, with y: exp(x) is used, sin(y) and cos(x) are compared alone, tan(y) is compared and used.
CALLS = """%0 = input 0
%1 = input 1
%2 = exp %0
%3 = sin %1
%4 = cos %0
%5 = tan %1
%6 = lt %3 %0
%7 = gt %1 %4
%8 = gt %5 %0
%9 = le %0 %1
%10 = mul %2 %5
%11 = mul %6 %7
%12 = mul %8 %9
%13 = add %10 %11
%14 = add %13 %12
return %14"""
USED, OUTCOMES = [2, 5], [6, 7]


def loop(body, head="%0 = input 0\n%1 = input 1", how="3 carry %0 with %1"):
    """The loop of a tape around a body, and the shapes of its operands."""
    count = head.count("\n") + 1
    tape = parse(
        f"{head}\n%{count} = loop {how} do {{\n{body}\n}}\n%{count + 1} = result %{count} 0\nreturn %{count + 1}"
    )
    found = shapes(tape)
    return tape.ops[count], [found[a] for a in tape.args[count]]


def places(*args, **how):
    """What is kept of each iteration of a loop."""
    return kept(*loop(*args, **how)).places


def test_results_of_functions_and_outcomes_are_kept():
    assert places(CALLS) == USED + OUTCOMES


@pytest.mark.parametrize(("iterations", "expected"), [(KEPT, USED + OUTCOMES), (KEPT + 1, [])])
def test_a_loop_of_many_iterations_keeps_carried_values_alone(iterations, expected):
    assert KEPT == 4096
    assert places(CALLS, how=f"{iterations} carry %0 with %1") == expected


def test_a_loop_of_unknown_length_keeps_no_more_than_its_carried_values():
    test = "while {\n%0 = input 0\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2\n}"
    one, two = (CALLS.replace("return %14", f"return {'%14 ' * n}".strip()) for n in (1, 4))
    assert places(one, how=f"carry %0 with %1 {test}") == []
    # With four carried values the four numbers are as many.
    four = two.replace("%1 = input 1", "%1 = input 4")
    assert places(four, how=f"carry %0 %0 %0 %0 with %1 {test}") == USED + OUTCOMES


def test_a_result_that_the_body_returns_is_kept():
    assert places("%0 = input 0\n%1 = sin %0\n%2 = lt %1 %0\nreturn %1") == [1]


# carry a list and a number, with another list: element i of the first is replaced, and both are read.
CHANGED = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = input 3
%4 = load %0 %3
%5 = load %2 %3
%6 = mul %4 %5
%7 = store %0 %3 %6
%8 = load %7 %1
%9 = add %1 %8
return %7 %9"""
LISTS = "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\n%3 = stack %1 %0"
OVER = "3 carry %2 %0 with %3"


def test_elements_that_are_read_are_kept_and_not_the_list():
    op, given = loop(CHANGED, LISTS, OVER)
    assert places(CHANGED, LISTS, OVER) == [4, 8]
    more = with_states(op, given).results - op.results
    assert more == 2 + 1 + 2  # the carried values, the number of the iteration, two elements


def test_also_of_a_loop_of_many_iterations():
    assert places(CHANGED, LISTS, OVER.replace("3 carry", "5000 carry")) == [4, 8]


@pytest.mark.parametrize(
    ("what", "old", "new", "expected"),
    [
        ("without a store", "%7 = store %0 %3 %6", "%7 = bump %0 %3 %6", []),
        ("a list that is not read", "%4 = load %0 %3", "%4 = load %2 %3", [8]),
        ("the second list replaced", "%7 = store %0 %3 %6", "%7 = store %0 %3 %4", [4, 8]),
    ],
)
def test_of_other_bodies(what, old, new, expected):
    assert places(CHANGED.replace(old, new), LISTS, OVER) == expected


@pytest.mark.parametrize("read", ["%0", "%7"])
def test_a_list_that_is_also_read_as_a_whole_is_kept(read):
    """Before or after it is changed; the other list of the body is not."""
    body = (
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = load %0 %2\n%4 = load %1 %2\n%5 = store %1 %2 %3\n"
        "%6 = mul %3 %4\n%7 = store %0 %2 %6\n"
        f"%8 = loop 2 carry %6 over {read} do {{\n%0 = input 0\n%1 = input 1\n%2 = add %0 %1\nreturn %2\n}}\n"
        "%9 = result %8 0\n%10 = store %7 %2 %9\nreturn %10 %5"
    )
    assert places(body, LISTS, "2 carry %2 %3") == [4]


def test_a_list_with_an_item_that_is_read_by_a_constant_place_is_kept():
    body = (
        "%0 = input 0\n%1 = input 1\n%2 = load %0 %1\n%3 = element %0 1\n%4 = mul %2 %3\n%5 = store %0 %1 %4\nreturn %5"
    )
    found = kept(*loop(body, "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1", "2 carry %2"))
    assert (found.places, found.loops, found.whole) == ([], {}, {0})


def test_a_carried_list_that_the_body_leaves_alone_has_no_elements_to_keep():
    body = "%0 = input 0\n%1 = input 2\n%2 = load %0 %1\n%3 = store %0 %1 %2\n%4 = const 0.5\nreturn %3 %4"
    assert places(body, LISTS, "2 carry %2 %0") == [2]


def test_the_sum_for_an_invariant_goes_on_inside_the_loop(monkeypatch):
    """What a value has been given behind the loop is where its sum in the loop begins: nothing is added after the loop."""
    body = "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\nreturn %2"
    tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = loop 3 carry %0 with %1 do {{\n{body}\n}}\n%3 = result %2 0\n"
                 "%4 = mul %3 %1\nreturn %4")  # fmt: skip
    monkeypatch.setattr(primal, "joined", lambda *args: None)  # joined tangents would be cheaper here
    swept = passes.prune(passes.adjoint(tape, [0, 1]))
    assert "add" not in [op.name for op in swept.ops]
