"""hoist: what moves out of a loop or into the bodies of regions, as text; and every bit of the results stays."""

from __future__ import annotations

import pytest

from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import Loop
from micrograd.tape.text import parse

# A chain of two instructions on an invariant: both move, and the loop takes the last of them alone.
CHAIN = """%0 = input 0
%1 = input 1
%2 = loop 3 carry %0 with %1 do {
  %0 = input 0
  %1 = input 1
  %2 = exp %1
  %3 = neg %2
  %4 = mul %0 %3
  return %4
}
%3 = result %2 0
return %3"""
CHAIN_OUTSIDE = """%0 = input 0
%1 = input 1
%2 = exp %1
%3 = neg %2
%4 = loop 3 carry %0 with %3 do {
  %0 = input 0
  %1 = input 1
  %2 = mul %0 %1
  return %2
}
%5 = result %4 0
return %5"""

# The second carried value is never changed, and a factor is a constant: the condition and the body see both.
KEPT = """%0 = input 0
%1 = input 1
%2 = const 0.5
%3 = loop carry %1 %0 with %2 while {
  %0 = input 1
  %1 = input 0
  %2 = exp %1
  %3 = lt %0 %2
  return %3
} do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = add %0 %2
  %4 = add %1 %3
  return %0 %4
}
%4 = result %3 0
%5 = result %3 1
return %4 %5"""
KEPT_OUTSIDE = """%0 = input 0
%1 = input 1
%2 = const 0.5
%3 = add %1 %2
%4 = exp %1
%5 = loop carry %0 with %3 %4 while {
  %0 = input 0
  %1 = input 2
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 1
  %2 = add %0 %1
  return %2
}
%6 = result %5 0
return %1 %6"""

# What an iteration stacks, what it reads of an array, and the number of the iteration stay inside, behind the new invariants.
STACKED = """%0 = input 0
%1 = input 1
%2 = stack %0 %1
%3 = loop 2 with %0 over %2 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = exp %0
  %4 = add %3 %1
  %5 = mul %4 %2
  return %5
}
%4 = result %3 0
%5 = element %4 1
return %5"""
STACKED_OUTSIDE = """%0 = input 0
%1 = input 1
%2 = stack %0 %1
%3 = exp %0
%4 = loop 2 with %3 over %2 do {
  %0 = input 1
  %1 = input 2
  %2 = input 0
  %3 = add %2 %0
  %4 = mul %3 %1
  return %4
}
%5 = result %4 0
%6 = element %5 1
return %6"""

# The constants come before an invariant that the condition reads; one of them is also the number of a place.
NUMBERS = """%0 = input 0
%1 = input 1
%2 = const 0.25
%3 = loop carry %0 with %2 %1 while {
  %0 = input 0
  %1 = input 2
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 2
  %2 = const 1.0
  %3 = input 1
  %4 = add %0 %2
  %5 = mul %4 %3
  %6 = add %0 %5
  %7 = add %6 %1
  return %7
}
%4 = result %3 0
return %4"""
NUMBERS_INSIDE = """%0 = input 0
%1 = input 1
%2 = loop carry %0 with %1 while {
  %0 = input 0
  %1 = input 1
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 1
  %2 = const 1.0
  %3 = const 0.25
  %4 = add %0 %2
  %5 = mul %4 %3
  %6 = add %0 %5
  %7 = add %6 %1
  return %7
}
%3 = result %2 0
return %3"""

CASES = {
    "constants": (NUMBERS, NUMBERS_INSIDE),
    "a chain": (CHAIN, CHAIN_OUTSIDE),
    "what no iteration changes": (KEPT, KEPT_OUTSIDE),
    "arrays": (STACKED, STACKED_OUTSIDE),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_the_same_in_all_iteration_is_made_outside(case):
    inside, outside = (parse(text) for text in CASES[case])
    check(inside)
    found = passes.prune(passes.hoist(inside))
    check(found)
    assert passes.prune(passes.simplify(found)) == passes.prune(passes.simplify(outside))
    for numbers in ([0.3, 0.7], [-1.1, 0.4]):
        assert run(found, numbers) == run(inside, numbers)


@pytest.mark.parametrize(
    ("case", "operands"), [("a chain", 3), ("what no iteration changes", 4), ("arrays", 3), ("constants", 2)]
)
def test_a_loop_takes_nothing_more_than_it_reads(case, operands):
    """Its own operands, and the last of each chain that moved."""
    found = passes.hoist(parse(CASES[case][0]))
    assert [len(args) for op, args in zip(found.ops, found.args) if isinstance(op, Loop)] == [operands]


def test_a_choice_by_a_constant_is_the_arm_that_it_takes():
    text = (
        "%0 = input 0\n%1 = const {}\n%2 = const 3.0\n%3 = choose %1 %0 %2 then {{\n%0 = input 0\n%1 = input 1\n"
        "%2 = mul %0 %1\nreturn %2\n}} else {{\n%0 = input 0\n%1 = input 1\n%2 = sub %0 %1\nreturn %2\n}}\n"
        "%4 = result %3 0\nreturn %4"
    )
    for condition, expected in ((1.0, 6.0), (2.0, 6.0), (0.0, -1.0)):
        found = passes.prune(passes.hoist(parse(text.format(condition))))
        assert not found.has_regions() and run(found, [2.0]) == [expected]


def test_a_constant_operand_is_written_into_the_arms():
    tape = parse(
        "%0 = input 0\n%1 = const 3.0\n%2 = choose %0 %1 %0 then {\n%0 = input 0\n%1 = neg %0\nreturn %1\n} else {\n"
        "%0 = input 1\n%1 = input 0\n%2 = mul %0 %1\nreturn %2\n}\n%3 = result %2 0\nreturn %3"
    )
    found = passes.prune(passes.simplify(passes.hoist(tape)))
    assert str(found) == (
        "%0 = input 0\n%1 = choose %0 %0 then {\n  %0 = const -3.0\n  return %0\n} else {\n  %0 = input 0\n  %1 = const 3.0\n"
        "  %2 = mul %0 %1\n  return %2\n}\n%2 = result %1 0\nreturn %2"
    )
    assert [run(t, [x]) for x in (2.0, 0.0) for t in (found, tape)] == [[-3.0], [-3.0], [0.0], [0.0]]
