"""Elements of arrays that are replaced, in machine code: in place where nobody reads the array as it was, else in a copy."""

from __future__ import annotations

import pytest

from compiled_regions import agrees, source
from micrograd.tape import passes
from micrograd.tape.text import parse

BODY = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = const 1.0
%4 = add %2 %3
%5 = load %0 %4
%6 = load %0 %2
%7 = mul %5 %1
%8 = add %7 %6
%9 = store %0 %4 %8
"""
HEAD = """%0 = input 0
%1 = input 1
%2 = const 0.5
%3 = stack %0 %1 %2 %0 %1 %2 %0
"""
SUMS = """%5 = result %4 0
%6 = element %5 6
%7 = element %5 2
%8 = mul %6 %7
%9 = element %3 2
%10 = add %8 %9
return %10"""
TEXTS = {
    "in place": HEAD + "%4 = loop 6 carry %3 with %1 do {\n" + BODY + "return %9\n}\n" + SUMS,
    "the element before is read afterwards": (
        HEAD + "%4 = loop 6 carry %3 with %1 do {\n" + BODY
        + "%10 = load %0 %4\n%11 = load %9 %4\n%12 = mul %10 %11\n%13 = store %9 %2 %12\nreturn %13\n}\n" + SUMS
    ),
    "two changes, of which one is dropped": (
        HEAD + "%4 = loop 6 carry %3 with %1 do {\n" + BODY
        + "%10 = store %0 %2 %7\n%11 = load %10 %2\n%12 = store %9 %2 %11\nreturn %12\n}\n" + SUMS
    ),
    "as long as each row needs": (
        HEAD + "%4 = loop 6 carry %3 with %1 while {\n%0 = input 0\n%1 = input 2\n%2 = load %0 %1\n%3 = const 2.5\n"
        "%4 = lt %2 %3\nreturn %4\n} do {\n" + BODY + "return %9\n}\n" + SUMS
    ),
    "two arrays that change places": (
        HEAD + "%4 = const 1.5\n%5 = stack %4 %4 %0 %4 %1 %4 %4\n%6 = loop 5 carry %3 %5 with %1 do {\n%0 = input 0\n"
        "%1 = input 1\n%2 = input 2\n%3 = input 3\n%4 = load %0 %3\n%5 = mul %4 %2\n%6 = store %1 %3 %5\n"
        "return %6 %0\n}\n%7 = result %6 0\n%8 = result %6 1\n%9 = element %7 4\n%10 = element %8 3\n%11 = mul %9 %10\n"
        "%12 = element %5 2\n%13 = add %11 %12\nreturn %13"
    ),
    "in one arm of a choice": (
        HEAD + "%4 = const 0.4\n%5 = gt %0 %4\n%6 = const 3.0\n%7 = choose %5 %3 %1 %6 then {\n%0 = input 0\n%1 = input 1\n"
        "%2 = input 2\n%3 = store %0 %2 %1\nreturn %3\n} else {\n%0 = input 0\nreturn %0\n}\n%8 = result %7 0\n"
        "%9 = element %8 3\n%10 = element %3 3\n%11 = mul %9 %10\nreturn %11"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_machine_code_has_the_bits_of_the_interpreter(name, order):
    tape = parse(TEXTS[name])
    for _ in range(order):
        tape = passes.prune(passes.adjoint(tape, [0, 1]))
        tape = tape.copy(outputs=tape.outputs[-2:-1])
    agrees(str(tape))


def test_an_array_that_a_loop_changes_is_not_copied_in_each_iteration():
    in_place, copied = (source(parse(TEXTS[name]), rows=True).source for name in list(TEXTS)[:2])
    assert in_place.count("store <") < copied.count("store <")


def test_the_gradient_keeps_the_elements_that_were_read_and_not_the_arrays():
    loop = passes.prune(passes.adjoint(parse(TEXTS["in place"]), [0, 1]))
    (forward, *_) = [op for op in loop.ops if op.name == "loop"]
    assert forward.results == 1 + 1  # the array behind the loop, and the one factor of a product
