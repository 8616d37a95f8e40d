"""Regions: a loop and a choice on the tape; they print, parse, are checked, and run as plain Python would."""

from __future__ import annotations

import pickle

import pytest

from micrograd import Value
from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.check import check, shapes
from micrograd.tape.interpret import run
from micrograd.tape.tape import INPUT, STACK, Loop, Tape
from micrograd.tape.text import parse

POWER = """%0 = input 0
%1 = input 1
%2 = const 1.0
%3 = loop 5 carry %2 with %0 do {
  %0 = input 0
  %1 = input 1
  %2 = mul %0 %1
  return %2
}
%4 = result %3 0
%5 = mul %4 %1
return %5"""

HORNER = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = input 3
%4 = stack %1 %2 %3
%5 = const 0.0
%6 = loop 3 carry %5 with %0 over %4 do {
  %0 = input 0
  %1 = input 1
  %2 = mul %0 %1
  %3 = input 2
  %4 = add %2 %3
  %5 = input 3
  %6 = mul %4 %5
  return %4 %6
}
%7 = result %6 0
%8 = result %6 1
%9 = element %8 2
return %7 %9"""

HALVES = """%0 = input 0
%1 = const 0.0
%2 = loop carry %0 %1 while {
  %0 = input 0
  %1 = const 1.0
  %2 = gt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = const 0.5
  %2 = mul %0 %1
  %3 = input 1
  %4 = const 1.0
  %5 = add %3 %4
  return %2 %5 %0
}
%3 = result %2 0
%4 = result %2 1
%5 = result %2 2
%6 = loop reverse carry %1 over %5 do {
  %0 = input 0
  %1 = input 1
  %2 = add %0 %1
  return %2
}
%7 = result %6 0
return %3 %4 %7"""

ARMS = """%0 = input 0
%1 = const 0.0
%2 = gt %0 %1
%3 = choose %2 %0 then {
  %0 = input 0
  %1 = log %0
  return %1
} else {
  %0 = input 0
  %1 = neg %0
  return %1
}
%4 = result %3 0
%5 = pick %2 %4 %0
return %5"""

EXAMPLES = {
    "power": (POWER, [3.0, 2.0], [486.0]),
    "horner": (HORNER, [2.0, 1.0, 3.0, 5.0], [15.0, 30.0]),
    "halves": (HALVES, [10.0], [0.625, 4.0, 10 + 5 + 2.5 + 1.25]),
    "no iteration at all": (HALVES, [0.5], [0.5, 0.0, 0.0]),
    "then": (ARMS, [1.0], [0.0]),
    "else": (ARMS, [-2.0], [-2.0]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_regions_run_as_plain_python_would(name):
    text, xs, want = EXAMPLES[name]
    assert run(parse(text), xs) == want


@pytest.mark.parametrize("text", [POWER, HORNER, HALVES, ARMS])
def test_regions_print_what_they_were_parsed_from(text):
    tape = parse(text)
    assert str(tape) == text
    assert parse(text) == tape and hash(parse(text)) == hash(tape)
    assert pickle.loads(pickle.dumps(tape)) == tape


@pytest.mark.parametrize("text", [POWER, HORNER, HALVES, ARMS])
@pytest.mark.parametrize("name", ["simplify", "prune", "gather", "join"])
def test_every_pass_keeps_regions(name, text):
    tape = parse(text)
    new = getattr(passes, name)(tape)
    check(new)
    for x in (-1.5, 0.5, 2.0, 9.0):
        xs = [x] * tape.inputs
        assert run(new, xs) == run(tape, xs)


def test_a_tape_does_not_change():
    tape = parse(POWER)
    with pytest.raises(AttributeError):
        tape.outputs = ()
    assert tape.copy(outputs=(0,)).outputs == (0,) and tape.outputs == (5,)


def test_results_and_operands_that_nobody_needs_are_dropped():
    body = parse("%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = mul %0 %2\n%4 = exp %1\n%5 = input 3\nreturn %3 %4 %1")
    b = Builder(3)
    x, y, z = (b.source(INPUT, k) for k in range(3))
    kept, *_ = b.loop(body.copy(inputs=4), [x, y], [z], iterations=4)
    tape = passes.prune(b.finish([kept]))
    check(tape)
    assert "exp" not in str(tape) and "carry %0 with %1 do" in str(tape)
    assert run(tape, [3.0, 0.0, 2.0]) == [48.0]


def test_what_two_equal_regions_do_is_done_once():
    twice = POWER.replace(
        "%5 = mul",
        "%5 = loop 5 carry %2 with %0 do {\n  %0 = input 0\n  %1 = input 1\n  %2 = mul %0 %1\n"
        "  return %2\n}\n%6 = result %5 0\n%7 = add %4 %6\n%8 = mul",
    )
    twice = twice.replace("return %5", "return %7")  # fmt: skip
    assert str(passes.simplify(parse(twice))).count("loop") == 1


def test_a_loop_on_values_leaves_the_graph_of_its_iterations():
    x = Value(3.0)
    y = run(parse(POWER), [x, 1.0])[0]
    y.backward()
    assert x.grad == 5 * 3.0**4


def test_arrays_have_shapes():
    tape = parse(HALVES)
    assert shapes(tape)[5] == (None,)
    b = Builder(4)
    rows = [b.emit(STACK, (b.input(2 * k), b.input(2 * k + 1))) for k in range(2)]
    assert shapes(b.finish([b.emit(STACK, tuple(rows))]))[-1] == (2, 2)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("%4 = result %3 0", "%4 = result %3 1", "no result 1"),
        ("%4 = result %3 0", "%4 = result %0 0", "takes one region"),
        ("%5 = mul %4 %1", "%5 = mul %3 %1", "takes numbers"),
        ("return %5", "return %3", "is a region"),
        ("loop 5 carry %2 with %0", "loop carry %2 with %0", "a number of iterations, a condition"),
        ("loop 5 carry %2 with %0", "loop 5 carry %2 over %0", "runs over arrays of 5"),
        ("loop 5 carry %2 with %0", "loop 5 with %2 with %0", "mul takes numbers"),
        ("  return %2", "  return", "carried values first"),
        ("  return %2", "  guard lt %0 %1 is true\n  return %2", "neither params nor guards"),
        ("  %1 = input 1", "  %1 = param 0", "neither params nor guards"),
        ("  %1 = input 1", "  %1 = input 7", "inputs"),
    ],
)
def test_the_checker_refuses_regions_that_make_no_sense(old, new, reason):
    assert POWER.replace(old, new) != POWER
    with pytest.raises(ValueError, match=reason):
        parse(POWER.replace(old, new))


@pytest.mark.parametrize("cut", range(1, len(ARMS.splitlines())))
def test_a_region_that_ends_too_early_is_refused(cut):
    lines = ARMS.splitlines()
    with pytest.raises(ValueError, match=r"line|takes|returned|bodies"):
        parse("\n".join([*lines[: cut - 1], *lines[cut:]]))


def test_a_tape_can_be_written_into_another():
    b = Builder(1)
    (y,) = b.inline(parse(ARMS), [b.emit(OPS["exp"], (b.input(0),))])
    assert run(b.finish([y]), [0.5]) == [0.5]
    assert isinstance(b.finish([y]), Tape)


def test_a_loop_over_arrays_of_one_loop_keeps_no_array_for_its_length_alone():
    """Those that another loop has made, or nobody knows who, may have other lengths."""
    text = """
%0 = input 0
%1 = loop carry %0 while {{
  %0 = input 0
  %1 = const 3.0
  %2 = lt %0 %1
  return %2
}} do {{
  %0 = input 0
  %1 = const 1.0
  %2 = add %0 %1
  %3 = input 1
  return %2 %3 %0
}}
%2 = result %1 1
%3 = result %1 2
%4 = stack %0 %0 %0 %0
%5 = const 0.0
%6 = loop carry %5 over %2 %{other} do {{
  %0 = input 0
  %1 = input 2
  %2 = add %0 %1
  return %2
}}
%7 = result %6 0
return %7
""".strip()
    for other, arrays in ((3, 1), (4, 2)):
        tape = passes.prune(parse(text.format(other=other)))
        check(tape)
        second = [op for op in tape.ops if isinstance(op, Loop)][1]
        assert second.elements == arrays
        assert run(tape, [0.5]) == [0.5 + 1.5 + 2.5 if other == 3 else 1.5]


def test_regions_that_differ_in_the_sign_of_a_zero_are_different():
    loop = """%{at} = loop 3 carry %0 do {{
  %0 = input 0
  %1 = const {zero}
  %2 = mul %0 %1
  return %2
}}
%{after} = result %{at} 0"""
    text = "\n".join(
        [
            "%0 = input 0",
            loop.format(at=1, after=2, zero="0.0"),
            loop.format(at=3, after=4, zero="-0.0"),
            "return %2 %4",
        ]
    )
    tape = parse(text)
    assert tape.ops[1] != tape.ops[3]
    assert tape.ops[1] == parse(text).ops[1]
    assert str(run(passes.prune(tape), [-1.0])) == str(run(tape, [-1.0])) == "[-0.0, 0.0]"
    assert str(run(passes.prune(tape), [1.0])) == "[0.0, -0.0]"
