"""fuse: two loops that hand a list on become one, whatever else they read; loops that do not fit stay."""

from __future__ import annotations

from random import Random

import pytest

from micrograd.ops import OPS
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import LOAD, STACK, Loop, Region, Tape, pad
from micrograd.tape.text import parse

TURNS = 4


class TwoLoops:
    """A random tape with a loop that stacks a list, and another that reads it item by item, in a place of its own."""

    def __init__(self, seed: int) -> None:
        self.random, self.builder = Random(seed), Builder(6)
        self.numbers = [self.builder.input(k) for k in range(5)]
        self.bound = self.builder.input(5)
        self.arrays = [self.builder.emit(STACK, tuple(self.some(self.numbers, TURNS, TURNS))) for _ in range(3)]
        self.ends = self.random.random() < 0.5  # whether both loops have a condition

    def some(self, places: list[int], least: int = 0, most: int = 3) -> list[int]:
        return [self.random.choice(places) for _ in range(self.random.randint(least, most))]

    def mixed(self, b: Builder, places: list[int]) -> int:
        """A number made from all of these, each in a way of its own."""
        total = b.const(0.1)
        for n, p in enumerate(places):
            weighed = b.emit(OPS["mul"], (p, b.const(0.3 + 0.07 * n)))
            total = b.emit(OPS["tanh"], (b.emit(OPS["add"], (total, weighed)),))
        return total

    def loop(self, body: Tape, carry: list[int], invariants: list[int], over: list[int]) -> list[int]:
        """The results of a loop; with a condition, it ends when a quarter of the iterations passes the bound."""
        condition = None
        if self.ends:
            b = Builder(body.inputs)
            iteration = b.emit(OPS["mul"], (b.input(body.inputs - 1), b.const(0.25)))
            condition = b.finish([b.emit(OPS["lt"], (iteration, b.input(len(carry) + invariants.index(self.bound))))])
        found = self.builder.loop(body, carry, invariants, over, TURNS, condition)
        arrays = [self.builder.emit(pad(TURNS), (p,)) if self.ends else p for p in found[len(carry) :]]
        return [*found[: len(carry)], *arrays]

    def tape(self) -> Tape:
        invariants, over = [*self.some(self.numbers), self.bound], self.some(self.arrays)
        self.random.shuffle(invariants)
        b = Builder(len(invariants) + len(over) + 1)
        (made,) = self.loop(b.finish([self.mixed(b, [b.input(k) for k in range(b.inputs)])]), [], invariants, over)
        carry, over = self.some(self.numbers), self.some(self.arrays)
        invariants = [*self.some(self.numbers), *self.some(self.arrays), self.bound, made]
        self.random.shuffle(invariants)
        b = Builder(len(carry) + len(invariants) + len(over) + 1)
        iteration = b.input(b.inputs - 1)
        read = [b.input(n) for n in range(b.inputs - 1)]
        for n, a in enumerate(invariants, len(carry)):
            if a == made or a in self.arrays:
                read[n] = b.emit(LOAD, (read[n], iteration))
        mixed = self.mixed(b, [*read, iteration])
        outputs = [b.emit(OPS["mul"], (mixed, b.const(1.0 - 0.1 * n))) for n in range(len(carry))]
        stacks = not carry or self.random.random() < 0.5
        results = self.loop(b.finish(outputs + [b.emit(OPS["exp"], (mixed,))] * stacks), carry, invariants, over)
        items = [self.builder.emit(LOAD, (results[-1], self.builder.const(float(k)))) for k in range(TURNS * stacks)]
        return self.builder.finish([*results[: len(carry)], *items])


def loops(tape: Tape) -> int:
    inside = [loops(body) for op in tape.ops if isinstance(op, Region) for body in op.bodies()]
    return sum(isinstance(op, Loop) for op in tape.ops) + sum(inside)


@pytest.mark.parametrize("seed", range(80))
def test_two_loops_become_one_and_keep_the_bits(seed):
    tape = TwoLoops(seed).tape()
    check(tape)
    fused = passes.fuse(tape)
    check(fused)
    assert (loops(tape), loops(fused)) == (2, 1)
    for bound in (2.0, 0.6, 0.3, 0.0):  # all iterations, three of them, two, none
        numbers = [0.3, -0.7, 0.45, 1.1, -0.2, bound]
        assert run(fused, numbers) == run(tape, numbers)


FIRST = """%0 = input 0
%1 = input 1
%2 = loop 4 with %0 while {
%0 = input 1
%1 = input 0
%2 = lt %0 %1
return %2
} do {
%0 = input 0
%1 = input 1
%2 = mul %0 %1
return %2
}
%3 = result %2 0
%4 = pad %3 4
"""
SECOND = """%5 = loop 4 carry %1 with %4 %0 while {
%0 = input 3
%1 = input 2
%2 = lt %0 %1
return %2
} do {
%0 = input 0
%1 = input 1
%2 = input 3
%3 = load %1 %2
%4 = add %0 %3
return %4
}
%6 = result %5 0
return %6"""
WHILE = "while {\n%0 = input 1\n%1 = input 0\n%2 = lt %0 %1\nreturn %2\n}"
WHILE_TOO = "while {\n%0 = input 3\n%1 = input 2\n%2 = lt %0 %1\nreturn %2\n}"
COUNTED = FIRST.replace(WHILE + " ", "").replace("%4 = pad %3 4", "%4 = neg %1") + SECOND.replace(WHILE_TOO + " ", "").replace(
    "with %4", "with %3")  # fmt: skip


def test_loops_with_equal_conditions_and_loops_with_none_fit():
    for text in (FIRST + SECOND, COUNTED):
        tape = parse(text)
        check(tape)
        assert loops(tape) == 2 and loops(passes.fuse(tape)) == 1
        for numbers in ([2.5, 0.1], [-1.0, 0.2], [9.0, 0.3]):
            assert run(passes.fuse(tape), numbers) == run(tape, numbers)


DIFFERENT = {
    "another condition": ("%0 = input 3\n%1 = input 2\n%2 = lt", "%0 = input 3\n%1 = input 2\n%2 = le"),
    "a condition on another number": ("carry %1 with %4 %0", "carry %1 with %4 %1"),
    "a condition on a carried value": ("%0 = input 3\n%1 = input 2", "%0 = input 3\n%1 = input 0"),
    "a condition on the list": ("%1 = input 2\n%2 = lt %0 %1\nreturn %2", "%1 = input 1\n%2 = load %1 %0\nreturn %2"),
    "a condition of one of them": (WHILE_TOO + " ", ""),
    "other iterations": ("loop 4 with", "loop 3 with"),
    "another item": ("%3 = load %1 %2", "%3 = load %1 %0"),
    "two items": ("%4 = add %0 %3\nreturn %4", "%4 = load %1 %0\n%5 = add %3 %4\nreturn %5"),
    "the list is returned": ("return %4\n}", "return %4 %1\n}"),
    "the list is read elsewhere": ("return %6", "%7 = element %4 0\nreturn %6 %7"),
    "the list is an output": ("return %6", "return %6 %4"),
    "the shorter list is read elsewhere": ("return %6", "%7 = pad %3 5\n%8 = element %7 0\nreturn %6 %8"),
    "the loop has two results": ("%2 = mul %0 %1\nreturn %2", "%2 = mul %0 %1\nreturn %2 %0"),
}


IN_COUNTED = {
    "the first loop runs backwards": ("loop 4 with", "loop 4 reverse with"),
    "the second loop runs backwards": ("loop 4 carry", "loop 4 reverse carry"),
    "the second loop alone has a condition": ("carry %1 with %3 %0 do", f"carry %1 with %3 %0 {WHILE_TOO} do"),
    "the list is an output": ("return %6", "%7 = element %3 0\nreturn %6 %7"),
    "other iterations": ("loop 4 with", "loop 5 with"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_loops_that_do_not_fit_stay(case):
    old, new = DIFFERENT[case]
    text = FIRST + SECOND
    assert text.count(old) == 1
    tape = parse(text.replace(old, new))
    assert passes.fuse(tape) == tape and loops(tape) == 2


@pytest.mark.parametrize("case", IN_COUNTED)
def test_counted_loops_that_do_not_fit_stay(case):
    old, new = IN_COUNTED[case]
    assert COUNTED.count(old) == 1
    tape = parse(COUNTED.replace(old, new))
    check(tape)
    assert passes.fuse(tape) == tape and loops(tape) == 2


def test_a_number_that_a_loop_carries_and_no_iteration_reads_is_no_list():
    carried = COUNTED.replace("loop 4 with %0 do", "loop 4 carry %0 do").replace("load %1 %2", "exp %2")
    tape = parse(carried)
    check(tape)
    assert passes.fuse(tape) == tape and loops(tape) == 2


def test_loops_in_the_bodies_of_regions_become_one_too():
    inner = parse(FIRST + SECOND)
    builder = Builder(2)
    x, y = builder.input(0), builder.input(1)
    tape = builder.finish(builder.choose(x, (x, y), inner, inner))
    check(tape)
    fused = passes.fuse(tape)
    assert (loops(tape), loops(fused)) == (4, 2)
    assert run(fused, [3.0, 0.5]) == run(tape, [3.0, 0.5])


def test_three_loops_in_a_row_become_one():
    third = """%5 = loop 4 with %3 do {
%0 = input 0
%1 = input 1
%2 = load %0 %1
%3 = exp %2
return %3
}
%6 = result %5 0
%7 = loop 4 carry %1 with %6 %0 do {
%0 = input 0
%1 = input 1
%2 = input 3
%3 = load %1 %2
%4 = add %0 %3
return %4
}
%8 = result %7 0
return %8"""
    tape = parse(COUNTED[: COUNTED.index("%5 =")] + third)
    check(tape)
    assert (loops(tape), loops(passes.fuse(tape))) == (3, 1)
    assert run(passes.fuse(tape), [0.3, 0.7]) == run(tape, [0.3, 0.7])
