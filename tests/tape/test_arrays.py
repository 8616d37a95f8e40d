"""Reach, flags, and what sweeps do to numbers and to arrays alike."""

from __future__ import annotations

import pytest

from micrograd.errors import CompileError
from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.passes.arrays import (
    cut,
    either,
    elementwise,
    filled,
    flag,
    inputs_at,
    is_flag,
    known,
    single_inputs,
)
from micrograd.tape.tape import STACK, Loop, element
from micrograd.tape.text import parse


def test_only_reach_that_depends_on_the_numbers_is_a_flag():
    assert [is_flag(r) for r in (None, True, 0, 1, 5)] == [False, False, True, True, True]


TWICE = "%0 = input 0\n%1 = input 0\n%2 = input 1\n%3 = param 0\n%4 = mul %0 %1\n%5 = add %2 %3\n%6 = sub %4 %1\nreturn %5 %6"


def test_an_input_at_two_places_gets_one():
    tape = parse(TWICE).copy(guards=[("lt", 1, 2, True)])
    single = single_inputs(tape)
    assert str(single) == (
        "%0 = input 0\n%1 = input 1\n%2 = param 0\n%3 = mul %0 %0\n%4 = add %1 %2\n%5 = sub %3 %0\nguard lt %0 %1 is true\n"
        "return %4 %5"
    )
    assert (single.inputs, single.params) == (2, 1) and single_inputs(single) is single
    assert inputs_at(single) == {0: 0, 1: 1}


def test_a_body_that_has_an_input_at_two_places_has_the_derivative_of_both():
    body = "%0 = input 0\n%1 = input 0\n%2 = mul %0 %1\nreturn %2\n"
    tape = parse(f"%0 = input 0\n%1 = choose %0 %0 then {{\n{body}}} else {{\n{body}}}\n%2 = result %1 0\nreturn %2")
    for x in (3.0, -2.0):
        assert run(passes.adjoint(tape, [0]), [x]) == [x * x, 2 * x]


def test_flags_are_numbers_or_arrays_of_them():
    b = Builder(1)
    x = b.input(0)
    assert [b.number(flag(b, r)) for r in (None, True)] == [0.0, 1.0] and flag(b, x) == x
    shown = [flag(b, None, (2,)), flag(b, True, (3,)), filled(b, -0.5, (2, 2))]
    assert [run(b.finish([p]), [0.0]) for p in shown] == [[[0.0] * 2], [[1.0] * 3], [[[-0.5] * 2] * 2]]
    assert known(b, b.const(1.0)) is True
    assert known(b, b.const(0.0)) == b.const(0.0) and known(b, x) == x and known(b, b.const(2.0)) == b.const(2.0)


def test_an_array_of_a_length_that_is_not_known_cannot_be_filled():
    with pytest.raises(CompileError, match="list whose length depends on the numbers"):
        filled(Builder(), 0.0, (None,))


def test_reached_by_one_way_or_by_the_other():
    b = Builder(4)
    x, y = b.input(0), b.input(1)
    assert either(b, True, x) is True and either(b, x, True) is True and either(b, None, True) is True
    assert either(b, None, x) == x and either(b, x, x) == x and is_flag(either(b, None, 1))
    both = b.finish([int(either(b, x, y))])
    assert [run(both, [p, q, 0.0, 0.0]) for p, q in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))] == [
        [0.0],
        [1.0],
        [1.0],
        [1.0],
    ]
    inputs = [b.input(k) for k in range(4)]
    one, two = b.emit(STACK, (*inputs[:2],)), b.emit(STACK, (*inputs[2:],))
    nested = [b.emit(STACK, (p, q)) for p, q in ((one, two), (two, two))]
    arrays = [int(either(b, one, two, (2,))), int(either(b, *nested, (2, 2)))]
    found = [b.emit(element(k), (arrays[0],)) for k in range(2)]
    found += [b.emit(element(k), (b.emit(element(j), (arrays[1],)),)) for j in range(2) for k in range(2)]
    tape = b.finish(found)
    check(tape)
    assert run(tape, [0.0, 1.0, 0.0, 0.0]) == [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    assert run(tape, [1.0, 0.0, 0.0, 1.0]) == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]


def test_an_op_over_arrays_of_arrays():
    b = Builder(4)
    rows = [b.emit(STACK, (b.input(0), b.input(1))), b.emit(STACK, (b.input(2), b.input(3)))]
    one, two = b.emit(STACK, tuple(rows)), b.emit(STACK, (rows[1], rows[0]))
    results = [elementwise(b, OPS["sub"], (one, two), (2, 2)), elementwise(b, OPS["neg"], (rows[0],), (2,))]
    check(b.finish([b.emit(element(0), (b.emit(element(0), (results[0],)),)), b.emit(element(0), (results[1],))]))
    tape = b.finish(results)
    assert run(tape, [1.0, 2.0, 10.0, 20.0]) == [[[-9.0, -18.0], [9.0, 18.0]], [-1.0, -2.0]]
    assert all(op.iterations == 2 for op in tape.ops if isinstance(op, Loop))


def test_an_array_is_cut_to_the_length_of_another():
    b = Builder(4)
    xs = [b.input(k) for k in range(4)]
    tape = b.finish([cut(b, b.emit(STACK, tuple(xs)), b.emit(STACK, (xs[3], xs[3])))])
    assert [op.elements for op in tape.ops if isinstance(op, Loop)] == [2]
    assert run(tape, [1.0, 2.0, 3.0, 4.0]) == [[1.0, 2.0]]
