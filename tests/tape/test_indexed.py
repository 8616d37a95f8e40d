"""load, bump and store: elements by an index that is computed; and fuse, which makes one loop of two that hand a list on."""

from __future__ import annotations

import pytest

from micrograd import Value
from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import Loop
from micrograd.tape.text import parse

PRODUCTS = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = stack %0 %1 %2
%4 = const 0.0
%5 = loop 3 carry %4 with %3 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = load %1 %2
  %4 = const 1.0
  %5 = add %2 %4
  %6 = load %1 %5
  %7 = mul %3 %6
  %8 = add %0 %7
  return %8
}
%6 = result %5 0
return %6"""  # x0·x1 + x1·x2 + x2·x2: an index behind the last element stands for the last one

BUMPED = """%0 = input 0
%1 = input 1
%2 = stack %0 %1
%3 = const -1.0
%4 = bump %2 %3 %1
%5 = mul %0 %1
%6 = const 1.0
%7 = bump %4 %6 %5
%8 = element %7 0
%9 = load %7 %6
%10 = mul %8 %9
return %10"""  # (x + y) · (y + x·y)

STORED = """%0 = input 0
%1 = input 1
%2 = stack %0 %1
%3 = const -1.0
%4 = mul %0 %1
%5 = store %2 %3 %4
%6 = const 1.0
%7 = load %5 %6
%8 = element %5 0
%9 = mul %7 %8
return %9"""  # y · (x·y)

IN_PLACE = """%0 = input 0
%1 = input 1
%2 = stack %0 %1 %0 %1
%3 = loop 3 carry %2 with %1 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = const 1.0
  %4 = add %2 %3
  %5 = load %0 %4
  %6 = load %0 %2
  %7 = mul %5 %6
  %8 = store %0 %4 %7
  %9 = add %5 %1
  %10 = store %8 %2 %9
  return %10
}
%4 = result %3 0
%5 = element %4 3
%6 = element %4 0
%7 = mul %5 %6
return %7"""  # (x²y²) · 2y

TWO_LOOPS = """%0 = input 0
%1 = input 1
%2 = const 3.0
%3 = loop 5 with %0 %2 while {
  %0 = input 2
  %1 = input 1
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 2
  %2 = mul %0 %1
  return %2
}
%4 = result %3 0
%5 = pad %4 5
%6 = const 0.0
%7 = loop 5 carry %6 with %5 %1 %2 while {
  %0 = input 4
  %1 = input 3
  %2 = lt %0 %1
  return %2
} do {
  %0 = input 0
  %1 = input 1
  %2 = input 4
  %3 = load %1 %2
  %4 = input 2
  %5 = mul %3 %4
  %6 = add %0 %5
  return %6
}
%8 = result %7 0
return %8"""  # y·(0 + x + 2x)


@pytest.mark.parametrize(
    ("text", "numbers", "value", "slopes"),
    [
        (PRODUCTS, [2.0, 3.0, 5.0], 46.0, [3.0, 7.0, 13.0]),
        (BUMPED, [2.0, 3.0], 45.0, [24.0, 24.0]),
        (STORED, [2.0, 3.0], 18.0, [9.0, 12.0]),
        (IN_PLACE, [2.0, 3.0], 216.0, [216.0, 216.0]),
        (TWO_LOOPS, [2.0, 3.0], 18.0, [9.0, 6.0]),
    ],
    ids=["load", "bump", "store", "store in a loop", "two loops"],
)
def test_values_and_derivatives_of_every_sweep(text, numbers, value, slopes):
    tape = parse(text)
    assert str(tape) == text
    assert run(tape, numbers) == [value]
    values = [Value(x) for x in numbers]
    run(tape, values)[0].backward()
    assert [v.grad for v in values] == slopes
    reverse = passes.adjoint(tape, range(len(numbers)))
    check(reverse)
    assert run(reverse, numbers) == [value, *slopes]
    forward = passes.columns(tape, list(range(len(numbers))))
    check(forward)
    assert run(forward, numbers) == [value, *slopes]
    twice = passes.adjoint(reverse, range(len(numbers)))
    check(twice)
    hessian = run(twice, numbers)[len(slopes) + 1 + len(slopes) :]
    assert hessian == run(passes.columns(reverse, list(range(len(numbers)))), numbers)[len(slopes) + 1 + len(slopes) :]


def loops(tape):
    return sum(isinstance(op, Loop) for op in tape.ops)


def test_fuse_makes_one_loop_of_two_and_keeps_the_bits():
    tape = parse(TWO_LOOPS)
    fused = passes.fuse(tape)
    check(fused)
    assert (loops(tape), loops(fused)) == (2, 1)
    assert run(fused, [0.1, 0.7]) == run(tape, [0.1, 0.7])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%3 = load %1 %2", "%3 = load %1 %0"),  # another item than that of the iteration
        ("%7 = loop 5 carry %6 with %5 %1 %2", "%7 = loop 5 carry %6 with %5 %1 %6"),  # another number of iterations
        ("return %8", "%9 = element %5 1\n%10 = add %8 %9\nreturn %10"),  # another reader
    ],
)
def test_fuse_leaves_loops_alone_that_do_not_fit(old, new):
    tape = parse(TWO_LOOPS.replace(old, new))
    assert loops(passes.fuse(tape)) == 2


@pytest.mark.parametrize(
    "line", ["%3 = load %0 %1", "%3 = load %2 %2", "%3 = bump %2 %1 %2", "%3 = bump %2 %1", "%3 = store %2 %1 %2"]
)
def test_an_index_into_what_is_no_array_is_refused(line):
    text = f"%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\n{line}\nreturn %0"
    with pytest.raises(ValueError, match=r"load|bump|store"):
        parse(text)
