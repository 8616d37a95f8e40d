"""What a gradient reaches: values that one path alone uses, read twice, passed twice, or whole arrays; beside plain runs.

In most tapes a value with an infinite slope is on a path that some points do not take: 0 times infinity would be nan there.
"""

from __future__ import annotations

import itertools
import math

import pytest

from micrograd import Value
from micrograd.errors import CompileError
from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.tape import INPUT, PICK, SOURCES, pad, result
from micrograd.tape.text import parse
from random_programs import close

HEAD = "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 0.0\n%4 = gt %0 %3\n"  # sqrt has an infinite slope at 0
KEEP, SQUARE = "%0 = input 0\nreturn %0", "%0 = input 1\n%1 = mul %0 %0\nreturn %1"

SQUARES = "%0 = input 0\n%1 = input 1\n%2 = mul %1 %1\n%3 = add %0 %2\nreturn %3\n"  # the body of a sum over an array

# As many items as there are whole numbers below the first number and 0.4, at most four, filled up with zeros.
GROWING = (
    "%0 = input 0\n%1 = input 1\n%2 = loop 4 with %0 %1 while {\n%0 = input 2\n%1 = input 0\n%2 = const 0.4\n%3 = add %1 %2\n"
    "%4 = lt %0 %3\nreturn %4\n} do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = mul %1 %2\n%4 = exp %1\n%5 = add %3 %4\n"
    "return %5\n}\n%3 = result %2 0\n%4 = pad %3 4\n"
)
# The loop that makes these items, as an arm of a choice.
ITEMS = GROWING.split("%3 = result")[0] + "%3 = result %2 0\nreturn %3"


def choose(operands, then, other, rest):
    return f"{HEAD}%5 = choose %4 {operands} then {{\n{then}\n}} else {{\n{other}\n}}\n{rest}"


NO_ITERATIONS = """%0 = input 0
%1 = input 1
%2 = const 1.0
%3 = loop carry %0 with %1 while {
%0 = input 0
%1 = const 2.0
%2 = lt %0 %1
return %2
} do {
%0 = input 0
%1 = input 1
%2 = mul %1 %1
%3 = const 1.0
%4 = add %2 %3
%5 = add %0 %4
return %5
}
%4 = result %3 0
"""

TAPES = {
    "the first arm alone": choose("%2 %0", KEEP, SQUARE, "%6 = result %5 0\nreturn %6"),
    "the second arm alone": choose("%2 %0", SQUARE, KEEP, "%6 = result %5 0\nreturn %6"),
    "both arms": choose("%2 %0", "%0 = input 0\n%1 = exp %0\nreturn %1", KEEP, "%6 = result %5 0\nreturn %6"),
    "an operand twice": choose(
        "%2 %2", "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\nreturn %2", "%0 = input 0\nreturn %0",
        "%6 = result %5 0\n%7 = mul %6 %2\n%8 = add %7 %0\nreturn %8"),
    "an operand twice, and once more behind it": choose(
        "%0 %0", "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\nreturn %2", "%0 = input 1\nreturn %0",
        "%6 = result %5 0\n%7 = mul %6 %0\n%8 = exp %0\n%9 = add %7 %8\nreturn %9"),
    "a result read twice, on two paths": choose(
        "%2 %0", KEEP, SQUARE,
        "%6 = result %5 0\n%7 = result %5 0\n%8 = const 2.0\n%9 = gt %0 %8\n%10 = pick %9 %6 %0\n"
        "%11 = const -2.0\n%12 = gt %0 %11\n%13 = pick %12 %0 %7\n%14 = mul %10 %13\nreturn %14"),
    "arrays": choose(
        "%2 %0", "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\nreturn %2",
        "%0 = input 1\n%1 = mul %0 %0\n%2 = stack %0 %1\nreturn %2",
        "%6 = result %5 0\n%7 = element %6 0\n%8 = element %6 1\n%9 = mul %7 %8\nreturn %9"),
    "one of two arrays": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 0.0\n%4 = gt %0 %3\n%5 = stack %2 %0\n%6 = mul %0 %0\n"
        "%7 = stack %0 %6\n%8 = choose %4 %5 %7 then {\n%0 = input 0\nreturn %0\n} else {\n%0 = input 1\nreturn %0\n}\n"
        "%9 = result %8 0\n%10 = element %9 0\n%11 = element %9 1\n%12 = mul %10 %11\n%13 = add %12 %0\nreturn %13"),
    "one of two arrays, the other way round": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 0.0\n%4 = gt %0 %3\n%5 = stack %2 %0\n%6 = mul %0 %0\n"
        "%7 = stack %0 %6\n%8 = choose %4 %5 %7 then {\n%0 = input 1\nreturn %0\n} else {\n%0 = input 0\nreturn %0\n}\n"
        "%9 = result %8 0\n%10 = element %9 0\n%11 = element %9 1\n%12 = mul %10 %11\nreturn %12"),
    "an array in one arm, an element of it in the other": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 0.0\n%4 = gt %0 %3\n%5 = stack %2 %0\n"
        "%6 = choose %4 %5 then {\n%0 = input 0\nreturn %0\n} else {\n%0 = input 0\n%1 = element %0 1\n%2 = stack %1 %1\n"
        "return %2\n}\n%7 = result %6 0\n%8 = element %7 0\n%9 = element %7 1\n%10 = mul %8 %9\nreturn %10"),
    "an array that is changed at an index": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 1.0\n%4 = stack %0 %1\n%5 = exp %0\n%6 = bump %4 %3 %5\n"
        "%7 = load %6 %3\n%8 = const 0.0\n%9 = load %6 %8\n%10 = mul %7 %9\nreturn %10"),
    "an array of which an element is replaced": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 1.0\n%4 = stack %0 %2\n%5 = exp %0\n%6 = store %4 %3 %5\n"
        "%7 = load %6 %3\n%8 = const 0.0\n%9 = load %6 %8\n%10 = mul %7 %9\nreturn %10"),
    "an array that is changed at an index, on one path": (
        "%0 = input 0\n%1 = input 1\n%2 = sqrt %1\n%3 = const 1.0\n%4 = stack %0 %0\n%5 = bump %4 %3 %2\n"
        "%6 = const 0.0\n%7 = gt %0 %6\n%8 = load %5 %3\n%9 = pick %7 %8 %0\nreturn %9"),
    "an element that is read twice": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = stack %2 %1\n%4 = element %3 0\n%5 = element %3 0\n%6 = element %3 1\n"
        "%7 = mul %4 %5\n%8 = mul %7 %6\nreturn %8"),
    "an element that is read twice, on two paths": (
        f"{HEAD}%5 = stack %0 %2\n%6 = element %5 1\n%7 = element %5 1\n%8 = pick %4 %6 %0\n%9 = const 2.0\n%10 = gt %0 %9\n"
        "%11 = pick %10 %7 %1\n%12 = mul %8 %11\nreturn %12"),
    "a row of a table that is read twice": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = stack %0 %1\n%4 = stack %3 %3\n%5 = element %4 0\n%6 = element %4 0\n"
        "%7 = element %5 0\n%8 = element %6 1\n%9 = element %4 1\n%10 = element %9 0\n%11 = mul %7 %8\n"
        "%12 = mul %11 %10\nreturn %12"),
    "a table of which one row is read": (
        "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\n%3 = stack %1 %1\n%4 = stack %2 %3\n%5 = element %4 0\n"
        "%6 = element %5 0\n%7 = element %5 1\n%8 = mul %6 %7\nreturn %8"),
    "a row of a table by a number": (
        "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\n%3 = stack %1 %0\n%4 = stack %2 %3\n%5 = const 1.0\n%6 = load %4 %5\n"
        "%7 = element %6 0\n%8 = element %6 1\n%9 = mul %7 %7\n%10 = add %9 %8\nreturn %10"),
    "a row of a table by a number, read as a whole": (
        "%0 = input 0\n%1 = input 1\n%2 = stack %0 %1\n%3 = stack %1 %0\n%4 = stack %2 %3\n%5 = const 1.0\n%6 = load %4 %5\n"
        f"%7 = loop 2 carry %0 over %6 do {{\n{SQUARES}}}\n%8 = result %7 0\nreturn %8"),
    "a list as long as a number says": (
        f"{GROWING}%5 = element %4 0\n%6 = element %4 2\n%7 = add %5 %6\n%8 = mul %7 %1\nreturn %8"),
    "a list as long as a number says, read as a whole": (
        f"{GROWING}%5 = loop 4 carry %0 over %4 do {{\n{SQUARES}}}\n%6 = result %5 0\nreturn %6"),
    "an array that is changed at an index and read as a whole": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %1\n%3 = const 1.0\n%4 = stack %0 %1\n%5 = bump %4 %3 %2\n"
        f"%6 = loop 2 carry %3 over %5 do {{\n{SQUARES}}}\n%7 = result %6 0\nreturn %7"),
    "one of two arrays, read as a whole": (
        f"{HEAD}%5 = stack %2 %0\n%6 = stack %0 %0\n%7 = choose %4 %5 %6 then {{\n%0 = input 0\nreturn %0\n}} else {{\n"
        f"%0 = input 1\nreturn %0\n}}\n%8 = result %7 0\n%9 = loop 2 carry %3 over %8 do {{\n{SQUARES}}}\n"
        "%10 = result %9 0\nreturn %10"),
    "a value that a loop of no iterations would use": NO_ITERATIONS + "%5 = mul %4 %1\nreturn %5",
    "a carried value that no iteration changes, before one that does": (
        "%0 = input 0\n%1 = input 1\n%2 = const 4.1\n%3 = loop carry %1 %0 %2 while {\n%0 = input 1\n%1 = input 2\n"
        "%2 = lt %0 %1\nreturn %2\n} do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = mul %0 %0\n%4 = const 1.0\n"
        "%5 = add %3 %4\n%6 = add %1 %5\nreturn %0 %6 %2\n}\n%4 = result %3 1\n%5 = result %3 0\n%6 = mul %4 %5\nreturn %6"),
    "an array of arrays": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = stack %0 %1\n%4 = stack %1 %2\n%5 = stack %3 %4\n%6 = const 1.0\n"
        "%7 = loop 2 carry %6 with %0 over %5 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = const 0.0\n%4 = gt %1 %3\n"
        "%5 = choose %4 %2 then {\n%0 = input 0\nreturn %0\n} else {\n%0 = const 0.5\n%1 = const 0.25\n%2 = stack %0 %1\n"
        "return %2\n}\n%6 = result %5 0\n%7 = element %6 0\n%8 = element %6 1\n%9 = mul %7 %8\n%10 = mul %0 %9\n"
        "%11 = add %10 %1\nreturn %11\n}\n%8 = result %7 0\nreturn %8"),
    "a value that a loop over no items would use": (
        f"{GROWING.split('%4 = pad')[0]}%4 = sqrt %1\n%5 = loop carry %0 with %4 over %3 do {{\n%0 = input 0\n%1 = input 1\n"
        "%2 = input 2\n%3 = mul %1 %2\n%4 = add %0 %3\nreturn %4\n}\n%6 = result %5 0\nreturn %6"),
    "two carried values, one of them with a cotangent of 0": (
        "%0 = input 0\n%1 = input 1\n%2 = const 0.0\n%3 = loop 2 carry %0 %1 do {\n%0 = input 0\n%1 = input 1\n%2 = sin %0\n"
        "%3 = mul %1 %1\nreturn %2 %3\n}\n%4 = result %3 0\n%5 = result %3 1\n%6 = mul %4 %2\n%7 = add %6 %5\nreturn %7"),
    "a loop on one path alone": (
        f"{HEAD}%5 = loop 2 carry %1 do {{\n%0 = input 0\n%1 = sqrt %0\nreturn %1\n}}\n%6 = result %5 0\n"
        "%7 = pick %4 %6 %0\nreturn %7"),
    "what a loop takes is computed before": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = mul %1 %1\n%4 = cos %0\n%5 = stack %4 %2\n"
        "%6 = loop 2 carry %2 with %3 over %5 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = mul %0 %2\n"
        "%4 = add %3 %1\nreturn %4\n}\n%7 = result %6 0\nreturn %7"),
    "an array that a loop reads, and one element of it behind the loop": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = exp %1\n%4 = stack %2 %3\n%5 = loop 2 carry %0 with %4 do {\n"
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = load %1 %2\n%4 = add %0 %3\nreturn %4\n}\n%6 = result %5 0\n"
        "%7 = const 0.0\n%8 = load %4 %7\n%9 = mul %6 %8\nreturn %9"),
    "an array that a loop reads, and one element of it by its number": (
        "%0 = input 0\n%1 = input 1\n%2 = exp %0\n%3 = exp %1\n%4 = stack %2 %3\n%5 = loop 2 carry %0 with %4 do {\n"
        "%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = load %1 %2\n%4 = add %0 %3\nreturn %4\n}\n%6 = result %5 0\n"
        "%7 = element %4 1\n%8 = mul %6 %7\n%9 = const 0.0\n%10 = load %4 %9\n%11 = mul %8 %10\nreturn %11"),
    "a value that one path of an iteration uses": (
        f"{HEAD}%5 = loop 2 carry %0 with %2 %4 do {{\n%0 = input 0\n%1 = input 1\n%2 = input 2\n%3 = pick %2 %1 %0\n"
        "return %3\n}\n%6 = result %5 0\nreturn %6"),
    "a value that a loop takes twice, used behind it too": (
        "%0 = input 0\n%1 = input 1\n%2 = loop 2 carry %0 with %1 %1 do {\n%0 = input 0\n%1 = input 1\n%2 = input 2\n"
        "%3 = mul %0 %1\n%4 = add %3 %2\nreturn %4\n}\n%3 = result %2 0\n%4 = mul %3 %1\nreturn %4"),
    "a value that a loop with a limit would use, and takes no iteration": (
        f"{HEAD}%5 = loop 4 carry %0 with %2 while {{\n%0 = input 0\n%1 = const 2.0\n%2 = gt %0 %1\nreturn %2\n}} do {{\n"
        "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\nreturn %2\n}\n%6 = result %5 0\nreturn %6"),
    "a value that a loop takes and does not use": (
        f"{HEAD}%5 = loop 2 carry %0 with %2 do {{\n%0 = input 0\n%1 = input 1\n%2 = const 0.0\n%3 = gt %1 %2\n%4 = exp %0\n"
        "%5 = pick %3 %4 %4\nreturn %5\n}\n%6 = result %5 0\n%7 = pick %4 %2 %6\nreturn %7"),
    "products that one of two picks takes, and both": (
        f"{HEAD}%5 = mul %2 %0\n%6 = pick %4 %5 %0\n%7 = const 0.3\n%8 = gt %1 %7\n%9 = mul %6 %2\n%10 = pick %8 %1 %9\n"
        "%11 = sin %10\n%12 = pick %4 %11 %10\nreturn %12"),
    "a product that a pick takes, used without it too": (
        f"{HEAD}%5 = mul %0 %1\n%6 = mul %5 %2\n%7 = pick %4 %6 %5\n%8 = exp %7\n%9 = add %8 %5\nreturn %9"),
    "the same, used before it too": NO_ITERATIONS + "%5 = add %4 %1\n%6 = pick %4 %5 %1\nreturn %6",
}  # fmt: skip
POINTS = [
    *itertools.product((-3.0, -1.0, 1.0, 3.0), (0.0, 0.25, 4.0)),
    (1.5, -0.5),
    (2.5, 0.5),
    (0.0, 0.25),
    (0.0, 4.0),
]


def by_graph(tape, xs):
    """Value and gradient of a plain run on Values: what is not on the path is not in the graph."""
    values = [Value(x) for x in xs]
    (y,) = run(tape, values)
    y.backward()
    return [y.data, *(v.grad for v in values)]


@pytest.mark.parametrize("name", TAPES)
def test_the_adjoint_is_that_of_a_plain_run(name):
    tape = parse(TAPES[name])
    check(tape)
    swept = passes.adjoint(tape, [0, 1])
    check(swept)
    small, exact = passes.prune(passes.simplify(passes.prune(swept))), passes.adjoint(tape, [0, 1], exact=True)
    forward, moved = passes.columns(tape, [0, 1]), passes.prune(passes.hoist(swept))
    before = passes.adjoint(passes.hoist(tape), passes.sources(passes.hoist(tape), INPUT, 2))
    for other in (exact, forward, moved, before):
        check(other)
    seen = 0
    for xs in POINTS:
        want = by_graph(tape, xs)
        seen += all(x == x for x in want)
        for found in (swept, small, exact, moved, before):
            got = run(found, xs)
            assert all(close(x, y, 1e-12, 1e-14) for x, y in zip(got, want, strict=True)), (xs, got, want)
        if all(map(math.isfinite, want)) and xs[1]:  # forward, every slope on the way takes part
            assert run(forward, xs) == pytest.approx(want, rel=1e-12, abs=1e-14)
    assert seen > 4


def test_a_factor_of_what_is_picked_by_its_reach_is_not_picked_before():
    """As pick(flag, slope * pick(flag, g, 0), 0) every product of a chain would take a pick more."""
    tape = parse(f"{HEAD}%5 = mul %2 %0\n%6 = exp %5\n%7 = mul %6 %2\n%8 = pick %4 %7 %0\n%9 = sin %8\nreturn %9")
    swept = passes.prune(passes.adjoint(tape, [0, 1]))
    products = [args for op, args in zip(swept.ops, swept.args) if op.name == "mul"]
    assert len(products) == 8 and not any(swept.ops[a] is PICK for args in products for a in args)


@pytest.mark.parametrize("name", TAPES)
def test_the_second_adjoint_is_the_slope_of_the_first(name):
    """By differences, at points away from the edges and the poles."""
    first = passes.adjoint(parse(TAPES[name]), [0, 1])
    slopes = first.copy(outputs=first.outputs[1:])
    second = passes.adjoint(slopes, [0, 1])
    check(second)
    for x, y in ((-3.0, 4.0), (-1.0, 0.25), (1.0, 0.25), (3.0, 4.0), (1.5, 0.5)):
        got, h = run(second, [x, y])[2:], 1e-5
        for k, (dx, dy) in enumerate(((h, 0.0), (0.0, h))):
            above, below = run(slopes, [x + dx, y + dy]), run(slopes, [x - dx, y - dy])
            want = [(a - b) / (2 * h) for a, b in zip(above, below)]
            assert [got[k], got[2 + k]] == pytest.approx(want, rel=1e-6, abs=1e-7), (x, y)


@pytest.mark.parametrize("name", ["the first arm alone", "the second arm alone", "one of two arrays"])
def test_no_infinite_slope_of_another_path_reaches_a_second_derivative(name):
    first = passes.adjoint(parse(TAPES[name]), [0, 1])
    second = passes.adjoint(first.copy(outputs=first.outputs[1:]), [0, 1])
    taken = [xs for xs in ((-3.0, 0.0), (3.0, 0.0)) if all(x == x and abs(x) < 1e9 for x in run(first, xs))]
    assert len(taken) == 1
    assert all(x == x and abs(x) < 1e9 for x in run(second, taken[0]))


def test_the_adjoint_of_a_padded_list_does_not_keep_the_list():
    """Of a list that a loop makes, only the length is read again; the loop keeps the numbers of its iterations anyway."""
    body = "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\nreturn %2 %2\n"
    test = "%0 = input 0\n%1 = const 9.0\n%2 = lt %0 %1\nreturn %2\n"
    tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = loop 4 carry %0 with %1 while {{\n{test}}} do {{\n{body}}}\n"
                 "%3 = result %2 1\n%4 = pad %3 4\n%5 = element %4 1\nreturn %5")  # fmt: skip
    swept = passes.adjoint(tape, [0, 1])
    assert run(swept, [2.0, 3.0]) == [18.0, 9.0, 12.0]
    items = next(i for i, op in enumerate(swept.ops) if op is result(1))
    assert [str(op) for op, args in zip(swept.ops, swept.args) if op not in SOURCES and items in args] == [str(pad(4))]


def test_a_padded_list_of_one_arm_or_of_the_other():
    """Its length is that of the list which the choice gives; the second derivative is refused."""
    rest = "%6 = result %5 0\n%7 = pad %6 4\n%8 = element %7 0\n%9 = element %7 1\n%10 = mul %8 %9\n"
    rest += "%11 = add %10 %1\nreturn %11"
    tape = parse(choose("%0 %1", ITEMS, ITEMS.replace("mul %1 %2", "sub %1 %2"), rest))
    swept = passes.adjoint(tape, [0, 1])
    check(swept)
    for xs in POINTS:
        assert run(swept, xs) == pytest.approx(by_graph(tape, xs), rel=1e-12, abs=0.0)
    with pytest.raises(CompileError, match="a list whose length depends on the numbers"):
        passes.adjoint(swept, [0, 1])
