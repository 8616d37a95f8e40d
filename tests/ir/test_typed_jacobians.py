"""Jacobians of typed tapes, by columns and by rows: the rows of eager code, beside poles, unused arms and unread items."""

from __future__ import annotations

import math

import pytest

from eager_tapes import gradient
from micrograd.ir.check import check
from micrograd.ir.forms import I64, Place
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.pattern import pattern, reads_numbers
from micrograd.ir.sweeps import NOT_A_NUMBER, Rows, by_columns, by_rows
from micrograd.ir.text import parse
from twins import MORE
from typed_tapes import random_arguments, random_tape

WRT = [0, 1, 2, 3]
OF = [Rows(0), Rows(2, 1, (3,)), Rows(1)]


def random_program(seed, **how):
    """A random tape of two numbers and an array, whose size it yields as well."""
    tape = random_tape(seed, **how)
    tape.yields = tape.yields[:3]
    size = Place("size", (tape.yields[2],), I64)
    tape.code.append(size)
    tape.yields.append(size)
    return tape


def expected(tape, arguments):
    """The rows of the Jacobian by eager reverse sweeps, one for each number of the results."""
    rows = []
    count = run(tape, arguments)[3]
    for number, item in [(0, None), *((2, i) for i in range(count)), (1, None)]:
        found = gradient(tape, arguments, number, WRT, item)[1]
        rows += [x for part in found for x in (part if isinstance(part, list) else [part])]
    return rows


def same(found, wanted):
    return len(found) == len(wanted) and all(
        repr(x) == repr(y) if not math.isfinite(y) else math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)
        for x, y in zip(found, wanted)
    )


@pytest.mark.parametrize("seed", range(40 * MORE))
def test_by_rows_has_the_gradients_of_eager_code(seed):
    tape = random_program(seed)
    made = by_rows(tape, WRT, OF)
    check(made)
    for k in range(2):
        arguments = random_arguments(1000 * seed + k)
        assert same(run(made, arguments)[-1], expected(tape, arguments))


@pytest.mark.parametrize("at_once", [1, 3, 8])
@pytest.mark.parametrize("seed", range(20 * MORE))
def test_by_columns_has_the_gradients_of_eager_code_or_ends(seed, at_once):
    tape = random_program(seed, poles=seed % 2 == 0)
    made = by_columns(tape, WRT, OF, at_once)
    check(made)
    for k in range(2):
        arguments = random_arguments(1000 * seed + k)
        wanted = expected(tape, arguments)
        columns = sum(len(arguments[n]) if isinstance(arguments[n], list) else 1 for n in WRT)
        width = -(-columns // at_once) * at_once
        try:
            padded = run(made, arguments)[-1]
        except CheckFailed as failed:
            assert str(failed) == NOT_A_NUMBER and seed % 2 == 0
            continue
        found = [x for start in range(0, len(padded), width) for x in padded[start : start + columns]]
        assert same(found, wanted)


@pytest.mark.parametrize("seed", range(20 * MORE))
def test_coloured_columns_are_sums_of_the_columns_of_a_colour(seed):
    tape = random_program(seed, poles=False)
    made = by_columns(tape, WRT, OF, 2, coloured=True)
    check(made)
    arguments = random_arguments(seed)
    columns = sum(len(arguments[n]) if isinstance(arguments[n], list) else 1 for n in WRT)
    wanted = expected(tape, arguments)
    colours = [(7 * c + seed) % 3 for c in range(columns)]
    sums = []
    for start in range(0, len(wanted), columns):
        row = wanted[start : start + columns]
        sums += [sum(x for x, own in zip(row, colours) if own == colour) for colour in range(3)] + [0.0]
    places = [(5 * k + seed) % len(sums) for k in range(9)]
    assert same(run(made, [*arguments, 3, colours, places])[-1], [sums[at] for at in places])


@pytest.mark.parametrize("seed", range(20 * MORE))
def test_chosen_rows_are_rows_of_the_jacobian(seed):
    tape = random_program(seed)
    made = by_rows(tape, WRT, OF, chosen=True)
    check(made)
    arguments = random_arguments(seed)
    wanted = expected(tape, arguments)
    rows = run(tape, arguments)[3] + 2
    width = len(wanted) // rows
    chosen = [(3 * k + seed) % rows for k in range(4)]
    found = run(made, [*arguments, chosen])[-1]
    assert same(found, [x for r in chosen for x in wanted[r * width : (r + 1) * width]])


@pytest.mark.parametrize("seed", range(60 * MORE))
def test_the_pattern_has_every_entry_that_is_not_zero_at_any_numbers(seed):
    """Where the pattern reads no numbers, it holds for others as well."""
    tape = random_program(seed, poles=False)
    made = pattern(tape, WRT, OF)
    check(made)
    arguments = random_arguments(seed)
    words, end = [], 0
    for k in WRT:
        if isinstance(arguments[k], list):
            words.append([1 << (end + i) for i in range(len(arguments[k]))])
            end += len(arguments[k])
        else:
            words.append(1 << end)
            end += 1
    rows = run(made, [*arguments, *words])[-1]
    for shift in (0.0, 0.37, -1.3):
        moved = [
            [x + shift for x in a] if p.kind == "f64[]" else a + shift if p.kind == "f64" else a
            for a, p in zip(arguments, tape.params)
        ]
        if shift and reads_numbers(made, len(tape.params)):
            assert len(rows) == run(tape, arguments)[3] + 2
            break
        wanted = expected(tape, moved)
        assert len(wanted) == len(rows) * end
        for k, slope in enumerate(wanted):
            assert slope == 0.0 or rows[k // end] >> k % end & 1


def test_a_comparison_of_numbers_does_not_decide_the_pattern():
    tape = parse("""
        tape(%x: f64, %y: f64) {
          %c: bool = lt %x %y
          %z: f64 = if %c () {
            %a: f64 = mul %x %x
            yield %a
          } else () {
            yield %y
          }
          yield %z
        }""")
    made = pattern(tape, [0, 1], [Rows(0)])
    assert run(made, [1.0, 2.0, 1, 2]) == [[3]]
    assert not reads_numbers(made, 2)
