"""expand, simplify and the check of primitives, as texts of tapes: what is rewritten, and what stays as it is."""

from __future__ import annotations

import pytest

from micrograd.errors import CompileError
from micrograd.ops import OPS, Op
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.passes.rewriting import check_primitives
from micrograd.tape.tape import Tape
from micrograd.tape.text import parse


def everything(op: Op) -> bool:
    """Whether a machine that has every row of the table can write an op."""
    return OPS.get(op.name) is op


def power(exponent: float, *, more: str = "", returned: str = "%2") -> Tape:
    return parse(f"%0 = input 0\n%1 = const {exponent}\n%2 = pow %0 %1\n{more}return {returned}")


POWERS = {
    -1.0: "%0 = input 0\n%1 = const -1.0\n%2 = const 1.0\n%3 = div %2 %0\nreturn %3",
    2.0: "%0 = input 0\n%1 = const 2.0\n%2 = mul %0 %0\nreturn %2",
    3.0: "%0 = input 0\n%1 = const 3.0\n%2 = mul %0 %0\n%3 = mul %0 %2\nreturn %3",
    4.0: "%0 = input 0\n%1 = const 4.0\n%2 = mul %0 %0\n%3 = mul %2 %2\nreturn %3",
}


@pytest.mark.parametrize("exponent", POWERS)
def test_a_small_whole_power_is_written_with_products(exponent):
    assert str(passes.expand(power(exponent), everything, powers=True)) == POWERS[exponent]


@pytest.mark.parametrize("exponent", [-4.0, -3.0, -2.0, 0.5, 2.5, 5.0, 6.0])
def test_other_powers_stay(exponent):
    assert passes.expand(power(exponent), everything, powers=True) == power(exponent)


@pytest.mark.parametrize("exponent", POWERS)
def test_without_leave_every_power_stays(exponent):
    assert passes.expand(power(exponent), everything) == power(exponent)


@pytest.mark.parametrize("more", ["%3 = floor %2\n", "%3 = sign %2\n"])
def test_a_power_that_decides_stays(more):
    tape = power(2.0, more=more, returned="%3")
    assert passes.expand(tape, everything, powers=True) == tape


def test_a_power_that_a_guard_compares_stays():
    tape = power(2.0, more="guard lt %2 %0 is true\n")
    assert passes.expand(tape, everything, powers=True) == tape


CHOICE = """%0 = input 0
%1 = choose %0 %0 then {
%0 = input 0
%1 = const 2.0
%2 = pow %0 %1
return %2
} else {
%0 = input 0
%1 = const 3.0
%2 = pow %0 %1
return %2
}
%2 = result %1 0
"""
LOOP = """%0 = input 0
%1 = loop carry %0 while {
%0 = input 0
%1 = const 2.0
%2 = pow %0 %1
%3 = const 9.0
%4 = lt %2 %3
return %4
} do {
%0 = input 0
%1 = const 4.0
%2 = pow %0 %1
%3 = const 1.5
%4 = mul %0 %3
%5 = add %2 %4
%6 = sub %5 %2
return %6
}
%2 = result %1 0
"""
BESIDE = """%0 = input 0
%1 = loop carry %0 %0 while {
%0 = input 0
%1 = const 9.0
%2 = lt %0 %1
return %2
} do {
%0 = input 0
%1 = const 1.5
%2 = mul %0 %1
%3 = input 1
%4 = const 3.0
%5 = pow %3 %4
return %2 %5
}
%2 = result %1 1
return %2
"""


def pows(tape: Tape) -> int:
    return str(tape).count("= pow ")


def test_powers_in_the_bodies_of_a_choice_become_products_unless_its_result_decides():
    free, decided = parse(CHOICE + "return %2"), parse(CHOICE + "%3 = floor %2\nreturn %3")
    assert pows(passes.expand(free, everything, powers=True)) == 0
    assert pows(passes.expand(free, everything)) == 2
    assert passes.expand(decided, everything, powers=True) == decided


def test_powers_in_a_loop_that_its_condition_reads_stay():
    tape = parse(LOOP + "return %2")
    assert passes.expand(tape, everything, powers=True) == tape
    counted = parse(BESIDE)
    assert (
        pows(passes.expand(counted, everything, powers=True)) == 0
    )  # what is carried beside the condition decides nothing


def test_an_op_that_cannot_be_written_is_expanded_and_the_others_are_not():
    tape = parse("%0 = input 0\n%1 = sum %0 %0\n%2 = exp %1\nreturn %2")
    assert passes.expand(tape, everything) == tape
    expanded = passes.expand(tape, lambda op: op.name != "sum" and everything(op))
    assert str(expanded) == "%0 = input 0\n%1 = const 0.0\n%2 = add %0 %1\n%3 = add %0 %2\n%4 = exp %3\nreturn %4"


def test_simplify_goes_into_the_bodies_of_regions():
    text = CHOICE.replace("%2 = pow %0 %1", "%2 = pow %0 %1\n%3 = pow %0 %1\n%4 = add %2 %3").replace(
        "return %2\n}", "return %4\n}"
    )
    tape = parse(text + "return %2")
    assert pows(tape) == 4 and pows(passes.simplify(tape)) == 2


def test_simplify_allows_in_bodies_what_fastmath_allows():
    text = CHOICE.replace("%2 = pow %0 %1", "%2 = sub %0 %0")
    tape = parse(text + "return %2")
    assert str(tape).count("= sub ") == 2
    assert str(passes.simplify(tape)).count("= sub ") == 2  # inf - inf is nan, and so is nan - nan
    assert "= sub " not in str(passes.simplify(tape, fast=True))


# ---- primitives


def a_tape_of(op: Op, operands: int) -> Tape:
    builder = Builder(operands)
    return builder.finish([builder.emit(op, tuple([builder.input(k) for k in range(operands)]))])


def without_rule(*_):
    raise ValueError("this partial needs a float")


def test_a_primitive_whose_value_needs_floats_is_named():
    op = Op("halved", lambda a: float(a) / 2, [lambda a, y: 0.5])
    for wrt in ([], [0]):
        with pytest.raises(CompileError, match="primitive halved cannot be compiled"):
            check_primitives(a_tape_of(op, 1), wrt, everything)


def test_a_partial_is_checked_where_a_derivative_goes_through_it():
    op = Op("half", lambda a, b: a * 0.5 + b, [without_rule, lambda a, b, y: 1.0])
    tape = a_tape_of(op, 2)
    check_primitives(tape, [], everything)  # no derivative is asked for
    check_primitives(tape, [1], everything)
    with pytest.raises(CompileError, match="partials of the primitive half cannot be compiled"):
        check_primitives(tape, [0], everything)


def test_primitives_in_the_bodies_of_regions_are_checked_with_every_partial():
    op = Op("halved", lambda a: a * 0.5, [without_rule])
    inner = a_tape_of(op, 1)
    builder = Builder(1)
    x = builder.input(0)
    tape = builder.finish(builder.choose(x, (x,), inner, inner))
    with pytest.raises(CompileError, match="partials of the primitive halved cannot be compiled"):
        check_primitives(tape, [], everything)


def test_rows_of_the_table_are_no_primitives():
    check_primitives(a_tape_of(OPS["exp"], 1), [0], lambda op: False)  # would raise, were it expanded
