"""adjoint on tapes without regions: seeds, places that are not asked for, and the bits of backward()."""

from __future__ import annotations

import math

import pytest

from micrograd import Value
from micrograd.tape import passes
from micrograd.tape.interpret import run
from micrograd.tape.text import parse

TWO = "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = exp %0\n%4 = const 3.0\n%5 = const 5.0\nreturn %2 %3"


def test_each_output_has_its_gradients():
    e = math.exp(2.0)
    assert run(passes.adjoint(parse(TWO), [0, 1]), [2.0, 7.0]) == [14.0, e, 7.0, 2.0, e, 0.0]
    assert run(passes.adjoint(parse(TWO), [1, None]), [2.0, 7.0]) == [14.0, e, 2.0, 0.0, 0.0, 0.0]


def test_with_seeds_there_is_one_gradient_of_the_weighed_sum():
    e = math.exp(2.0)
    assert run(passes.adjoint(parse(TWO), [0, 1], seeds=[4, 5]), [2.0, 7.0]) == [14.0, e, 3.0 * 7.0 + 5.0 * e, 6.0]
    twice = parse(TWO.replace("return %2 %3", "return %2 %2"))
    assert run(passes.adjoint(twice, [1], seeds=[4, 5]), [2.0, 7.0]) == [14.0, 14.0, 16.0]
    assert run(passes.adjoint(twice, [1]), [2.0, 7.0]) == [14.0, 14.0, 2.0, 2.0]


def test_a_tape_without_outputs_has_no_gradients():
    assert run(passes.adjoint(parse("%0 = input 0\nreturn"), [0]), [1.0]) == []


HEAD = "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = sin %0\n%4 = mul %0 %1\n%5 = tanh %1\n"
ROUNDED = [  # three parts and more are added, in another order than that of the tape
    HEAD + "%6 = add %3 %4\n%7 = add %6 %2\nreturn %7",
    HEAD + "%6 = mul %5 %4\n%7 = mul %6 %2\n%8 = add %7 %3\nreturn %8",
    HEAD + "%6 = mul %3 %0\n%7 = add %6 %5\n%8 = mul %7 %4\n%9 = mul %8 %2\nreturn %9",
]
SIGNS = [  # the parts of a gradient are -0.0, and floor and sign have the slope 0
    "%0 = input 0\n%1 = input 1\n%2 = const -0.0\n%3 = mul %0 %2\n%4 = mul %1 %2\n%5 = add %3 %4\nreturn %5",
    "%0 = input 0\n%1 = input 1\n%2 = const -0.0\n%3 = mul %0 %2\n%4 = pick %1 %3 %1\nreturn %4",
    "%0 = input 0\n%1 = input 1\n%2 = floor %0\n%3 = neg %2\n%4 = mul %3 %1\nreturn %4",
    "%0 = input 0\n%1 = input 1\n%2 = sign %0\n%3 = mul %2 %2\n%4 = sub %1 %3\nreturn %4",
    # where and copysign are steps in one of their inputs, which is the square root of 0 or of a negative number, too
    HEAD + "%6 = const 0.1\n%7 = sub %0 %6\n%8 = sqrt %7\n%9 = where %8 %4 %3\nreturn %9",
    HEAD + "%6 = const 0.1\n%7 = sub %0 %6\n%8 = sqrt %7\n%9 = copysign %4 %8\n%10 = mul %9 %8\nreturn %10",
]


@pytest.mark.parametrize("text", ROUNDED + SIGNS)
def test_exact_gradients_have_the_bits_of_backward(text):
    """In the order of backward(), and from 0.0 on: the sign of a zero is that of the engine."""
    tape = parse(text)
    found = passes.adjoint(tape, [0, 1], exact=True)
    for k in range(40):
        xs = [0.1 + 0.37 * k, 0.7 - 0.23 * k]
        values = [Value(x) for x in xs]
        (y,) = run(tape, values)
        y.backward()
        want = [y.data, *(v.grad for v in values)]
        assert [x.hex() for x in run(found, xs)] == [x.hex() for x in want]


def test_a_slope_of_zero_hands_nothing_on():
    """Not even where what it would be multiplied by is infinite, forward or in reverse."""
    tape = parse("%0 = input 0\n%1 = floor %0\n%2 = const inf\n%3 = mul %1 %2\nreturn %3")
    assert run(passes.adjoint(tape, [0]), [1.5]) == [math.inf, 0.0]
    for op in ("where %0 %1 %2", "copysign %1 %0"):
        tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = const inf\n%3 = {op}\n%4 = mul %3 %2\nreturn %4")
        for found in (
            passes.adjoint(tape, [0, 1]),
            passes.adjoint(tape, [0, 1], exact=True),
            passes.columns(tape, [0, 1]),
        ):
            assert run(found, [1.5, 2.0]) == [math.inf, 0.0, math.inf]


def test_what_a_step_alone_reads_gets_nothing():
    """The square root has an infinite slope at 0."""
    tape = parse("%0 = input 0\n%1 = input 1\n%2 = sqrt %0\n%3 = where %2 %1 %1\nreturn %3")
    for exact in (False, True):
        assert run(passes.adjoint(tape, [0, 1], exact=exact), [0.0, 2.0]) == [2.0, 0.0, 1.0]
