"""Elements of arrays in machine code: sums that wait in registers, flags that are bits, indices that need no comparison.

The interpreter is the reference. With exact=True, machine code has its bits.
"""

from __future__ import annotations

from random import Random

import pytest

from compiled_regions import agrees, source
from micrograd.compile.llvm.ranges import LinearForm, Ranges
from micrograd.compile.options import Options
from micrograd.tape import passes
from micrograd.tape.text import parse
from micrograd.tape.truths import truths


def bumping(indices, length=7, how="", before="zeros", body=""):
    """A loop that adds to elements of an array: each index is a multiple of the iteration number, and a number more."""
    start = (
        "stack " + " ".join(["%2"] * length)
        if before == "zeros"
        else "stack " + " ".join(["%0", "%1"] * length)[: 3 * length]
    )
    lines = ["%0 = input 0", "%1 = input 1", "%2 = const 0.0", f"%3 = {start}"]
    lines += [
        f"%4 = loop 5 {how} carry %3 %2 with %1 do {{",
        "  %0 = input 0",
        "  %1 = input 1",
        "  %2 = input 2",
        "  %3 = input 3",
    ]
    lines += ["  %4 = const 1.5", "  %5 = add %3 %4", "  %6 = mul %5 %2"]
    place, array = 7, 0
    for multiple, offset in indices:
        lines += [f"  %{place} = const {float(multiple)}", f"  %{place + 1} = mul %3 %{place}",
                  f"  %{place + 2} = const {float(offset)}", f"  %{place + 3} = add %{place + 1} %{place + 2}",
                  f"  %{place + 4} = bump %{array} %{place + 3} %6",
                  f"  %{place + 5} = add %1 %6"]  # fmt: skip
        array, place = place + 4, place + 6
    lines += [body.format(place=place, array=array)] if body else []
    last = place if body else 1
    lines += [f"  return %{array} %{last}", "}", "%5 = result %4 0", "%6 = result %4 1"]
    lines += [f"%{7 + k} = element %5 {k}" for k in range(length)]
    return "\n".join([*lines, "return %6 " + " ".join(f"%{7 + k}" for k in range(length))])


@pytest.mark.parametrize("how", ["", "reverse"])
@pytest.mark.parametrize("before", ["zeros", "numbers"])
@pytest.mark.parametrize(
    "indices",
    [
        [(1, 0)],
        [(1, 0), (1, 1)],
        [(1, 2), (1, 0), (1, 1), (1, 1)],
        [(1, 1), (1, -1)],  # iteration 0 has no element before the first: the index is clamped
        [(1, 3)],  # nor is there one behind the last
        [(2, 0)],
        [(-1, 4)],
        [(1, 0), (-1, 4)],
        [(0, 3), (1, 0)],
        [(1, 0), (1, 2)],
    ],
)
def test_sums_into_elements_have_the_bits_of_the_interpreter(indices, before, how):
    agrees(bumping(indices, before=before, how=how))


def test_neighbouring_elements_wait_in_registers_and_others_do_not():
    windows = "%w"
    for indices, wanted in (
        ([(1, 0), (1, 1)], True),
        ([(2, 0), (2, 1)], False),
        ([(1, 0), (1, 5)], False),
        ([(1, 0), (1, 3)], False),
    ):
        text = source(parse(bumping(indices)), rows=True).source
        assert (windows in text) == wanted, indices


def test_an_array_that_the_body_also_reads_does_not_wait_in_registers():
    text = bumping([(1, 0), (1, 1)], body="  %{place} = load %{array} %3")
    assert "%w" not in source(parse(text), rows=True).source
    agrees(text)


TRIANGLE = """%0 = input 0
%1 = input 1
%2 = const 0.0
%3 = stack {zeros}
%4 = loop {outer} {how} carry %3 with %0 %1 do {{
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = input 3
  %4 = const {most}
  %5 = sub %4 %3
  %6 = loop {inner} with %5 %1 while {{
    %0 = input 0
    %1 = input 2
    %2 = {condition}
    return %2
  }} do {{
    %0 = input 1
    %1 = input 2
    %2 = mul %0 %1
    return %2
  }}
  %7 = result %6 0
  %8 = loop reverse carry %0 %2 with %3 over %7 do {{
    %0 = input 0
    %1 = input 1
    %2 = input 2
    %3 = input 3
    %4 = input 4
    %5 = const 1.0
    %6 = add %4 %5
    %7 = bump %0 %4 %3
    %8 = mul %3 %1
    %9 = bump %7 %6 %8
    return %9 %8
  }}
  %9 = result %8 0
  return %9
}}
%5 = result %4 0
{elements}
return {outputs}"""


@pytest.mark.parametrize("how", ["", "reverse"])
@pytest.mark.parametrize(
    ("outer", "inner", "most", "condition", "length"),
    [
        (4, 5, 4, "lt %1 %0", 6),
        (4, 5, 4, "gt %0 %1", 6),
        (4, 9, 4, "le %1 %0", 6),
        (6, 5, 4, "lt %1 %0", 6),  # the last iterations of the outer loop have no iteration inside
        (4, 3, 4, "lt %1 %0", 6),  # the limit ends the inner loop before its condition does
        (4, 5, 4, "ne %1 %0", 6),
        (4, 5, 4, "lt %1 %0", 3),  # indices behind the last element
    ],
)
def test_loops_in_loops_have_the_bits_of_the_interpreter(outer, inner, most, condition, length, how):
    elements = "\n".join(f"%{6 + k} = element %5 {k}" for k in range(length))
    outputs = " ".join(f"%{6 + k}" for k in range(length))
    zeros = " ".join(["%2"] * length)
    agrees(TRIANGLE.format(outer=outer, inner=inner, most=float(most), condition=condition, zeros=zeros, how=how,
                           elements=elements, outputs=outputs))  # fmt: skip


FLAGGED = """%0 = input 0
%1 = input 1
%2 = const 0.0
%3 = stack %2 %2 %2 %2
%4 = loop 4 carry %3 with %0 do {{
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = const 1.0
  %4 = lt %2 %1
  %5 = neg %4
  %6 = bump %0 %2 {first}
  %7 = const 0.0
  %8 = bump %6 %7 {second}
  return %8
}}
%5 = result %4 0
%6 = loop 4 with %0 %1 over %5 do {{
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = pick %2 %0 %1
  return {out}
}}
%7 = result %6 0
%8 = element %7 0
%9 = element %7 1
%10 = element %7 3
return %8 %9 %10"""


@pytest.mark.parametrize(
    ("first", "second", "out", "bits"),
    [
        ("%4", "%4", "%3", True),
        ("%5", "%4", "%3", False),  # -1 and 1 cancel out: the truth of the sum is not that of its parts
        ("%4", "%4", "%2", False),  # how large it is matters
        ("%1", "%4", "%3", False),  # the input may be negative, or nan
    ],
)
def test_flags_are_bits_only_where_nothing_but_the_truth_is_used_of_sums_that_cannot_cancel(first, second, out, bits):
    text = FLAGGED.format(first=first, second=second, out=out)
    tape = parse(text)
    assert ("store i8" in source(tape, rows=True, options=Options(width=8)).source) == bits
    agrees(text)


def test_carried_flags_that_are_returned_too_stay_numbers():
    text = """%0 = input 0
%1 = input 1
%2 = const 0.0
%3 = loop 5 carry %2 %0 with %1 do {
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = lt %1 %2
  %4 = const 1.0
  %5 = pick %0 %4 %3
  %6 = sub %1 %2
  %7 = pick %5 %6 %1
  return %5 %7
}
%4 = result %3 0
%5 = result %3 1
%6 = pick %4 %5 %0
return %6"""
    agrees(text)
    assert 4 in truths(parse(text)).places
    returned = text.replace("return %6\n", "").removesuffix("return %6") + "return %6 %4"
    assert 4 not in truths(parse(returned)).places
    agrees(returned)


def test_limits_of_loops_in_loops():
    r = Ranges()
    r.variable("%n", [LinearForm(199)])
    r.variable("%k", [LinearForm(200), LinearForm(199, (("%n", -1),))])  # k in range(200 - n), and at most 200
    index = LinearForm(201, (("%k", 2), ("%n", -1)))  # 2k - n + 201
    assert r.lowest(index) == 2
    assert r.highest(index) == 599
    assert (
        r.highest(LinearForm(1, (("%k", 1), ("%n", 1)))) == 200
    )  # k + n + 1 is at most 200, though k and n alone pass 100
    assert r.highest(LinearForm(0, (("%other", 1),))) is None
    assert r.lowest(LinearForm(0, (("%other", -1),))) is None


def test_random_stencils_and_their_derivatives_have_the_bits_of_the_interpreter():
    """Loops that read a list at several places; their adjoint adds to elements of its cotangent, and of its flags."""
    for seed in range(12):
        r = Random(seed)
        length, iterations = r.randint(2, 9), r.randint(1, 6)
        lines = [
            "%0 = input 0",
            "%1 = input 1",
            "%2 = mul %0 %1",
            "%3 = stack " + " ".join(r.choice(["%0", "%1", "%2"]) for _ in range(length)),
        ]
        lines += [f"%4 = loop {iterations} {r.choice(['', 'reverse'])} carry %0 with %3 %1 do {{", "  %0 = input 0",
                  "  %1 = input 1", "  %2 = input 2", "  %3 = input 3"]  # fmt: skip
        place, numbers = 4, [0, 2]
        for _ in range(r.randint(1, 4)):
            multiple, offset = r.choice([1, 1, 1, 2, -1]), r.randint(-1, 3)
            lines += [f"  %{place} = const {float(multiple)}", f"  %{place + 1} = mul %3 %{place}",
                      f"  %{place + 2} = const {float(offset)}", f"  %{place + 3} = add %{place + 1} %{place + 2}",
                      f"  %{place + 4} = load %1 %{place + 3}",
                      f"  %{place + 5} = lt %{place + 4} %0",
                      f"  %{place + 6} = {r.choice(['mul', 'add', 'sub'])} %{place + 4} %{r.choice(numbers)}",
                      f"  %{place + 7} = pick %{place + 5} %{place + 6} %{r.choice(numbers)}"]  # fmt: skip
            numbers.append(place + 7)
            place += 8
        lines += [
            f"  %{place} = log %{numbers[-1]}",
            f"  %{place + 1} = lt %2 %{numbers[-1]}",
            f"  %{place + 2} = pick %{place + 1} %{place} %0",
        ]
        lines += [f"  return %{place + 2}", "}", "%5 = result %4 0", "return %5"]
        tape = parse("\n".join(lines))
        for swept in (passes.adjoint(tape, [0, 1]), passes.hoist(passes.adjoint(tape, [0, 1]))):
            agrees(str(swept))
