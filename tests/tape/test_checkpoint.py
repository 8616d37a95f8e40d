"""checkpoint: which loops become loops in a loop, and that they give the same bits."""

from __future__ import annotations

import pytest

from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import Loop, Region, Tape
from micrograd.tape.text import parse

GROW = "%0 = input 0\n%1 = input 1\n%2 = bump %0 %1 %1\nreturn %2\n"  # adds k to element k in iteration k


def depth(tape: Tape) -> int:
    """How deep loops lie in loops."""
    return max(
        [isinstance(op, Loop) + max(map(depth, op.bodies())) for op in tape.ops if isinstance(op, Region)], default=0
    )


def loops(iterations: int, head: str, body: str, tail: str) -> Tape:
    return parse(f"{head}%9 = loop {iterations} {body}%10 = result %9 0\n{tail}")


HEAD = "".join(f"%{k} = input {k}\n" for k in range(8))
NUMBERS = [0.3, 1.7, -0.2, 0.9, 2.2, -1.3, 0.4, 0.6]


def over_numbers(iterations: int) -> Tape:
    """Carries a number, reads an invariant, an array of as many items, and the number of the iteration."""
    items = " ".join(f"%{k % 8}" for k in range(iterations))
    body = "carry %0 with %1 over %8 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = input 3\n"
    body += "%4 = mul %0 %1\n%5 = add %4 %2\n"
    return loops(
        iterations, f"{HEAD}%8 = stack {items}\n", body + "%6 = mul %5 %3\n%7 = tanh %6\nreturn %7\n}\n", "return %10"
    )


@pytest.mark.parametrize("iterations", [*range(2, 20), 100, 101, 110, 120])
@pytest.mark.parametrize("most", [1, 9])
def test_a_loop_of_more_iteration_than_are_kept_becomes_a_loop_of_loops(iterations, most):
    tape = over_numbers(iterations)
    nested = passes.checkpoint(tape, most)
    check(nested)
    assert run(nested, NUMBERS) == run(tape, NUMBERS)
    assert depth(nested) == (1 if iterations <= most else 2)
    outer = [op for op in nested.ops if isinstance(op, Loop)]
    if iterations > most:
        inner = int(iterations**0.5)
        assert [op.iterations for op in outer] == [iterations // inner] + [iterations % inner] * (
            iterations % inner > 0
        )
        assert [op.iterations for op in outer[0].body.ops if isinstance(op, Loop)] == [inner]


def test_an_array_counts_with_all_its_numbers():
    tape = loops(
        5, f"{HEAD}%8 = stack %0 %1 %2 %3 %4 %5\n", f"carry %8 do {{\n{GROW}}}\n", "%11 = element %10 3\nreturn %11"
    )
    check(tape)
    assert depth(passes.checkpoint(tape, 29)) == 2 and depth(passes.checkpoint(tape, 30)) == 1
    assert run(passes.checkpoint(tape, 29), NUMBERS) == run(tape, NUMBERS)


CHOICE = (
    f"{HEAD}%8 = stack %0 %1 %2 %3 %4 %5\n%9 = choose %0 %8 %1 then {{\n%0 = input 0\n%1 = loop 5 carry %0 do {{\n{GROW}}}\n"
    "%2 = result %1 0\n%3 = element %2 2\nreturn %3\n} else {\n%0 = input 1\nreturn %0\n}\n%10 = result %9 0\n%11 = const 0.5\n"
    "%12 = mul %10 %11\nreturn %12"
)
ROWS = (
    f"{HEAD}%8 = stack %0 %1 %2 %3 %4 %5\n%9 = stack %8 %8\n%10 = loop 2 carry %0 over %9 do {{\n%0 = input 0\n%1 = input 1\n"
    f"%2 = loop 5 carry %1 do {{\n{GROW}}}\n%3 = result %2 0\n%4 = element %3 2\n%5 = add %0 %4\nreturn %5\n}}\n"
    "%11 = result %10 0\nreturn %11"
)


@pytest.mark.parametrize(("text", "deep"), [(CHOICE, 1), (ROWS, 2)], ids=["a choice", "a loop over arrays"])
def test_arrays_inside_of_regions_count_with_all_their_numbers_too(text, deep):
    tape = parse(text)
    check(tape)
    assert depth(tape) == deep
    assert depth(passes.checkpoint(tape, 29)) == deep + 1 and depth(passes.checkpoint(tape, 30)) == deep
    assert run(passes.checkpoint(tape, 29), NUMBERS) == run(tape, NUMBERS)


STACKS = "carry %0 do {\n%0 = input 0\n%1 = exp %0\nreturn %1 %0\n}\n"
DOUBLE = "do {\n%0 = input 0\n%1 = add %0 %0\nreturn %1\n}\n"
ENDS = "carry %0 while {\n%0 = input 0\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2\n} " + DOUBLE
MADE = "%8 = loop 6 with %0 do {\n%0 = input 1\n%1 = neg %0\nreturn %1\n}\n"


@pytest.mark.parametrize(
    "tape",
    [
        parse(f"{HEAD}%8 = loop 6 {STACKS}%9 = result %8 0\nreturn %9"),
        parse(f"{HEAD}%8 = loop 6 {ENDS}%9 = result %8 0\nreturn %9"),
        parse(f"{HEAD}%8 = loop 6 reverse carry %0 {DOUBLE}%9 = result %8 0\nreturn %9"),
        parse(f"{HEAD}{MADE}%9 = result %8 0\n%10 = loop 6 carry %0 over %9 do {{\n%0 = input 0\n%1 = input 1\n%2 = add %0 %1\n"
              "return %2\n}\n%11 = result %10 0\nreturn %11"),
    ],
    ids=["stacks a list", "has a condition", "runs backwards", "reads an array that another loop made"],
)  # fmt: skip
def test_loops_that_cannot_be_cut_stay(tape):
    check(tape)
    assert depth(passes.checkpoint(tape, 0)) == 1
    assert run(passes.checkpoint(tape, 0), NUMBERS) == run(tape, NUMBERS)


def test_a_tape_without_regions_is_returned_as_it_is():
    tape = parse("%0 = input 0\n%1 = exp %0\nreturn %1")
    assert passes.checkpoint(tape, 1) is tape
