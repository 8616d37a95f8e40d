"""Elements of arrays that nobody reads are not written; whatever might be read is.

Rows are computed one after the other in the same memory: what one row leaves behind the end of a list is garbage to the next.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from compiled_regions import rows
from micrograd import math, value_and_grad, vmap
from micrograd.compile.llvm.unread import unread
from micrograd.tape import passes
from micrograd.tape.check import check
from micrograd.tape.interpret import run
from micrograd.tape.text import parse

SHRINKING = """%0 = input 0
%1 = input 1
%2 = mul %0 %1
%3 = stack %0 %1 %2 %0 %1 %2
%4 = loop {outer} {how} carry %3 with %0 do {{
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = const {most}
  %4 = sub %3 %2
  %5 = loop {limit} with %4 %0 %1 while {{
    %0 = input 0
    %1 = input 3
    %2 = {condition}
    return %2
  }} do {{
    %0 = input 1
    %1 = input 2
    %2 = input 3
    %3 = const {first}
    %4 = add %2 %3
    %5 = load %0 %4
    %6 = const {second}
    %7 = add %2 %6
    %8 = load %0 %7
    %9 = mul %1 %5
    %10 = lt %9 %8
    %11 = add %9 %8
    %12 = pick %10 %11 %5
    return %12
  }}
  %6 = result %5 0
  %7 = pad %6 6
  {inside}
  return {array} %0
}}
%5 = result %4 0
%6 = result %4 1
{behind}"""
GOOD = {"outer": 5, "how": "", "most": 5.0, "limit": 6, "condition": "lt %1 %0", "first": 0.0, "second": 1.0,
        "inside": "%8 = const 0.0", "array": "%7", "behind": "%7 = element %5 0\nreturn %7"}  # fmt: skip
SUM_OF_ALL = """%7 = const 0.0
%8 = loop 6 carry %7 over %5 do {
  %0 = input 0
  %1 = input 1
  %2 = add %0 %1
  return %2
}
%9 = result %8 0
return %9"""
SUM_OF_STATES = """%7 = const 0.0
%8 = loop 5 carry %7 over %6 do {{
  %0 = input 0
  %1 = input 1
  %2 = input 2
  %3 = const {index}
  %4 = {element}
  %5 = load %1 %4
  %6 = add %0 %5
  return %6
}}
%9 = result %8 0
return %9"""


def shrinking(**changes):
    tape = parse(SHRINKING.format(**{**GOOD, **changes}))
    check(tape)
    return tape


def agrees(tape):
    """Rows have the bits of the interpreter, whatever the rows before them have left in memory."""
    xs = [(x, y) for x, y in product((0.5, -3.0, 7.0, 1e30), (1.25, -0.5, 11.0))]
    want = [run(tape, x) for x in xs]
    for width in (1, 8):
        found, bad = rows(tape, exact=True, width=width)([np.array(c) for c in zip(*xs)])
        assert not bad
        for r, wanted in enumerate(want):
            assert all(float(c[r]) == y or (y != y and c[r] != c[r]) for c, y in zip(found, wanted)), (width, xs[r])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"first": 1.0, "second": 0.0},
        {"outer": 3, "behind": "%7 = element %5 2\nreturn %7"},  # three elements are there after the last iteration
        {"most": 4.0, "limit": 4, "outer": 4},
        {"behind": SUM_OF_STATES.format(index=5.0, element="sub %3 %2")},  # the last element that each state has
        {"behind": SUM_OF_STATES.format(index=0.0, element="add %3 %3")},  # the first one
    ],
)  # fmt: skip
def test_zeros_that_nobody_reads_are_not_written(changes):
    tape = shrinking(**changes)
    assert unread(tape) == {(4, 7, -1)}
    agrees(tape)
    agrees(passes.adjoint(tape, [0, 1]))


@pytest.mark.parametrize(
    "changes",
    [
        {"second": 2.0},  # behind the last element
        {"first": -1.0},  # before the first one: clamped
        {"most": 6.0},  # longer than the list at the beginning: clamped
        {"outer": 6},  # the list is empty after the last iteration
        {"limit": 3},  # the limit ends the inner loop, and not its condition
        {"condition": "le %1 %0"},
        {"condition": "ne %1 %0"},
        {"how": "reverse"},  # the list becomes longer: what an iteration reads is not there yet
        {"behind": "%7 = element %5 1\nreturn %7"},
        {"behind": "%7 = const 3.0\n%8 = load %5 %7\nreturn %8"},
        {"behind": SUM_OF_ALL},
        {"behind": SUM_OF_STATES.format(index=5.0, element="add %3 %3")},
        {"behind": "%7 = stack %5 %5\n%8 = element %7 1\n%9 = element %8 2\nreturn %9"},
        {"behind": "%7 = const 0.0\n%8 = bump %5 %7 %1\n%9 = element %8 0\nreturn %9"},
        {"behind": "%7 = element %5 0\n%8 = choose %0 %5 then {\n  %0 = input 0\n  %1 = element %0 4\n  return %1\n} else {\n"
                   "  %0 = input 0\n  %1 = element %0 0\n  return %1\n}\n%9 = result %8 0\nreturn %7 %9"},
        {"inside": "%8 = const 3.0\n  %9 = bump %7 %8 %1", "array": "%9"},  # what is behind the end is changed, and lives on
    ],
)  # fmt: skip
def test_zeros_that_are_read_are_written(changes):
    tape = shrinking(**changes)
    assert unread(tape) == set()
    agrees(tape)
    agrees(passes.adjoint(tape, [0, 1]))


def test_a_list_that_is_handed_on_unchanged_in_the_end_is_filled():
    """Two carried lists that exchange their places: what the one reads is not what it made."""
    text = (
        SHRINKING.format(**GOOD)
        .replace("carry %3 with", "carry %3 %3 with")
        .replace("return %7 %0", "return %10 %7 %0")
    )
    text = text.replace(
        "  %1 = input 1\n  %2 = input 2\n  %3 = const 5.0", "  %1 = input 2\n  %2 = input 3\n  %3 = const 5.0"
    )
    text = text.replace("  %8 = const 0.0", "  %8 = const 0.0\n  %9 = const 0.0\n  %10 = input 1").replace(
        "%6 = result %4 1", "%6 = result %4 2"
    )
    tape = parse(text)
    check(tape)
    agrees(tape)
    agrees(passes.adjoint(tape, [0, 1]))


def shorter(s, up, down):
    """The sum of a list that has become shorter, as far as it goes."""
    values = [s * (0.1 * k - 1.0) for k in range(30)]
    for n in range(29, 3, -1):
        values = [max(up * values[k + 1] + down * values[k], math.sin(s * k)) for k in range(n)]
    return sum(values)


def last_of_all(s, up, down):
    values = [s * (0.1 * k - 1.0) for k in range(30)]
    for n in range(29, 0, -1):
        values = [max(up * values[k + 1] + down * values[k], math.sin(s * k)) for k in range(n)]
    return values[0]


def longer(s, up, down):
    values = [s * (0.1 * k - 1.0) for k in range(26)]
    for n in range(26, 40):
        values = [up * values[min(k, n - 1)] + down * max(values[0], s) for k in range(n + 1)]
    return values[0] + values[39]


@pytest.mark.parametrize("f", [shorter, last_of_all, longer])
def test_lists_have_the_gradients_of_eager_code(f):
    r = np.random.default_rng(3)
    columns = [r.uniform(0.2, 0.9, 11) for _ in range(3)]
    g = value_and_grad(f, (0, 1, 2))
    values, slopes = vmap(g)(*columns)
    for i, row in enumerate(zip(*columns)):
        value, partials = g(*map(float, row))
        assert values[i] == pytest.approx(value, rel=1e-12)
        assert [float(d[i]) for d in slopes] == pytest.approx([float(p) for p in partials], rel=1e-10)
