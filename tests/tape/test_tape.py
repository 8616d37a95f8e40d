"""The tape as text: it prints, it parses, and a tape that makes no sense is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, jit, math
from micrograd.ops import OPS
from micrograd.tape.check import check
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape
from micrograd.tape.text import parse
from micrograd.tape.trace import trace
from random_programs import Package, numbers, programs

EXAMPLE = """%0 = input 0
%1 = param 0
%2 = const -0.0
%3 = mul %0 %1
%4 = add %3 %2
guard lt %0 %2 is false
return %4 %0"""


def test_a_tape_prints_what_it_was_parsed_from():
    assert str(parse(EXAMPLE)) == EXAMPLE


def test_a_tape_in_a_prompt_is_one_line():
    assert repr(parse(EXAMPLE)) == "<tape of 5 instructions: print it to see them>"


def test_what_a_function_computes_is_what_its_tape_shows():
    w = Value(3.0)
    assert str(jit(lambda x: w * x + 2).tape(1.0)) == "\n".join(
        ["%0 = input 0", "%1 = param 0", "%2 = mul %1 %0", "%3 = const 2.0", "%4 = add %2 %3", "return %4"]
    )


def test_a_comparison_is_a_guard():
    tape = jit(lambda x: x if x > 1 else -x, exact=True).tape(2.0)
    assert "guard gt %0 %1 is true" in str(tape)
    assert "guard gt %0 %2 is false" in str(jit(lambda x: x if x > 1 else -x, exact=True).tape(0.0))


@given(data=st.data())
@settings(max_examples=40)
def test_print_and_parse_are_inverse(data):
    program = data.draw(programs(tame=False))
    xs = [data.draw(numbers(False)) for _ in range(program.inputs)]
    params = [Value(data.draw(numbers(False))) for _ in range(program.params)]
    found = trace(lambda *a: program.run(Package(), a, params), ("tuple", (("*",),) * len(xs)), xs, frozen=True)
    check(found.tape)
    again = parse(str(found.tape))
    assert str(again) == str(found.tape)
    assert [op.name for op in again.ops] == [op.name for op in found.tape.ops]


@pytest.mark.parametrize("number", [0.1, -0.0, 1e-300, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, 1 / 3])
def test_constants_keep_their_bits(number):
    tape = parse(f"%0 = const {number!r}\nreturn %0")
    assert repr(tape.args[0][0]) == repr(number)


@pytest.mark.parametrize(
    "text",
    [
        "%0 = frobnicate 1",
        "%1 = input 0",
        "%0 = input x",
        "%0 input 0",
        "%0 = const",
        "%0 = input 0\nguard lt %0",
        "%0 = input 0\nguard lt %0 %0 is maybe",
        "return %x",
        "%0 = const one",
    ],
)
def test_a_line_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError, match=r"line|no such"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("%0 = input 0\n%1 = add %0 %1\nreturn %1", "not an earlier place"),
        ("%0 = input 0\n%1 = add %0 %5\nreturn %1", "not an earlier place"),
        ("%0 = input 0\n%1 = add %0\nreturn %1", "takes 2 operands, not 1"),
        ("%0 = input 0\n%1 = exp %0 %0\nreturn %1", "takes 1 operands, not 2"),
        ("%0 = input 0\nreturn %7", "no such place"),
        ("%0 = input 0\nguard lt %0 %9 is true\nreturn %0", "no such place"),
        ("%0 = input -1\nreturn %0", "no such input"),
        ("%0 = input 0\nguard add %0 %0 is true\nreturn %0", "a guard is one of lt, le"),
    ],
)
def test_the_checker_refuses_what_makes_no_sense(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_the_checker_knows_how_many_inputs_and_params_there_are():
    for op in (INPUT, PARAM):
        with pytest.raises(ValueError, match=f"no such {op.name}"):
            check(Tape(1, 1, (op,), ((1,),)))
    check(Tape(0, 0, (CONST, OPS["sum"]), ((1.0,), (0, 0, 0))))


@pytest.mark.parametrize("line", ["%0 = input", "%0 = input 0 1", "%0 = const", "%0 = param", "%0 =", "%0"])
def test_a_source_without_its_operand_is_refused_by_line(line):
    with pytest.raises(ValueError, match="line 1 of the tape cannot be read"):
        parse(f"{line}\nreturn %0")
