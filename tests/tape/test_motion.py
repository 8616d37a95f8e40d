"""hoist: what moves out of a loop or into the bodies of regions, as text; and every bit of the results stays."""

from __future__ import annotations

import pytest

from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.passes import motion
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

# Two carried values are equal in all iterations, and a third one begins as they do but is not; the condition reads the second.
TWINS = """%0 = input 0
%1 = input 1
%2 = const 0.0
%3 = loop carry %2 %0 %2 %2 with %1 while {
  %0 = input 2
  %1 = input 4
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = input 4
  %5 = const 0.25
  %6 = add %0 %5
  %7 = mul %1 %4
  %8 = add %2 %5
  %9 = sub %3 %5
  return %6 %7 %8 %9 %8
}
%4 = result %3 0
%5 = result %3 1
%6 = result %3 2
%7 = result %3 3
%8 = result %3 4
%9 = pad %8 3
%10 = element %9 1
return %4 %5 %6 %7 %10"""
ONE_TWIN = """%0 = input 0
%1 = input 1
%2 = const 0.0
%3 = loop carry %2 %0 %2 with %1 while {
  %0 = input 0
  %1 = input 3
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = const 0.25
  %5 = add %0 %4
  %6 = mul %1 %3
  %7 = sub %2 %4
  return %5 %6 %7 %5
}
%4 = result %3 0
%5 = result %3 1
%6 = result %3 2
%7 = result %3 3
%8 = pad %7 3
%9 = element %8 1
return %4 %5 %4 %6 %9"""
# Each of the first two begins as the other, but is made from another third or fourth one, which differ after one iteration.
DIFFERENT = """%0 = input 0
%1 = input 1
%2 = loop 3 carry %0 %0 %1 %1 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = mul %0 %2
  %5 = mul %1 %3
  %6 = exp %2
  %7 = sin %3
  return %4 %5 %6 %7
}
%3 = result %2 0
%4 = result %2 1
%5 = result %2 2
%6 = result %2 3
return %3 %4 %5 %6"""
SIGNS = """%0 = input 0
%1 = const 0.0
%2 = const -0.0
%3 = loop 2 carry %1 %2 do {
  %0 = input 0
  %1 = input 1
  %2 = neg %0
  %3 = neg %1
  return %2 %3
}
%4 = result %3 0
%5 = result %3 1
%6 = copysign %0 %4
%7 = copysign %0 %5
return %6 %7"""

CASES = {
    "equal carried values": (TWINS, ONE_TWIN),
    "carried values that begin alike": (DIFFERENT, DIFFERENT),
    "zeros with different signs": (SIGNS, SIGNS),
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
        assert repr(run(found, numbers)) == repr(run(inside, numbers))


@pytest.mark.parametrize(
    ("case", "operands"), [("a chain", 3), ("what no iteration changes", 4), ("arrays", 3), ("constants", 2)]
)
def test_a_loop_takes_nothing_more_than_it_reads(case, operands):
    """Its own operands, and the last of each chain that moved."""
    found = passes.hoist(parse(CASES[case][0]))
    assert [len(args) for op, args in zip(found.ops, found.args) if isinstance(op, Loop)] == [operands]


def test_a_search_for_equal_values_that_takes_too_long_finds_none(monkeypatch):
    monkeypatch.setattr(motion, "ROUNDS", 1)  # the second would find that nothing changes any more
    found = passes.prune(passes.hoist(parse(DIFFERENT)))
    assert repr(run(found, [0.3, 0.7])) == repr(run(parse(DIFFERENT), [0.3, 0.7]))
    assert [len(args) for op, args in zip(found.ops, found.args) if isinstance(op, Loop)] == [4]


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
