"""Typed tapes as tapes of floats, for rows: the results of plain Python to the bit, gradients of eager code, or a refusal."""

from __future__ import annotations

import math

import pytest
import test_programs_of_stage as programs

from micrograd import grad, no_grad
from micrograd.abstract import Refused
from micrograd.stage.typed_rows import trace_rows
from micrograd.tape import check, interpret, passes
from micrograd.tape.tape import INPUT
from micrograd.tape.trace import peek
from micrograd.tree import flatten, without_bools

MOST = 100_000  # instructions that a row may take here
CAPTURED = {"a Value from outside of the function is used"}  # these are params of a tape for rows
FOLLOWED = [name for name in programs.CASES if programs.REFUSED.get(name) in {None, *CAPTURED}]


def traced(function, row):
    found = trace_rows(function, lambda xs: (tuple(xs), {}), list(row), True)
    check.check(found.tape)
    return found


def run(found, row):
    """Return what the tape gives; None where its guard rejects the row."""
    try:
        run = lambda: interpret.run(found.tape, list(row), peek(found.captured))  # noqa: E731
        return [float(x) for x in interpret.counted(run, MOST)[0]]
    except interpret.GuardFailed:
        return None


def same(a, b):
    return (a != a and b != b) or (a == b and math.copysign(1.0, a) == math.copysign(1.0, b))


@pytest.mark.parametrize("name", FOLLOWED)
def test_rows_have_the_results_of_plain_python(name):
    function, rows = programs.CASES[name]
    found, held = traced(function, rows[0]), 0
    for row in rows:
        with no_grad():
            wanted = programs.outcome(lambda: without_bools(function(*row)))  # noqa: B023
        try:
            got = run(found, row)
        except interpret.TooLong:
            pytest.skip("it takes too long to be interpreted")
        if isinstance(wanted, Exception):
            assert got is None or isinstance(wanted, programs.IEEE)
        elif got is not None:
            leaves: list = []
            flatten(wanted, leaves)
            assert all(map(same, got, peek(leaves))), row
            held += 1
    assert held or any(isinstance(programs.outcome(lambda: function(*row)), Exception) for row in rows)  # noqa: B023


@pytest.mark.parametrize("name", [name for name in FOLLOWED if name.startswith(("algorithms", "realistic", "rolled"))])
def test_gradients_of_rows_are_those_of_eager_code(name):
    function, rows = programs.CASES[name]
    found = traced(function, rows[0])
    if len(found.tape.outputs) != 1:
        pytest.skip("it returns more than one number")
    wanted = tuple(range(len(rows[0])))
    derived = passes.adjoint(found.tape, passes.sources(found.tape, INPUT, len(rows[0])))
    for row in rows[:3]:
        try:
            got = run(type(found)(derived, found.captured, found.shape), row)
        except interpret.TooLong:
            pytest.skip("it takes too long to be interpreted")
        eager = programs.outcome(lambda: grad(function, wanted)(*row))  # noqa: B023
        if isinstance(eager, Exception) or got is None:
            continue
        size = max([1.0, *(abs(x) for x in eager if math.isfinite(x))])
        assert all(
            a == b or (a != a and b != b) or abs(a - b) <= (1e-4 if "heat" in name else 1e-9) * size
            for a, b in zip(got[1:], eager)
        ), row


def test_a_gradient_inside_of_the_function_is_taken_by_the_passes_of_the_tape():
    def total(x, y):
        def inner(a, b):
            while a < 20.0:
                a = a * a + b
            return a * b if b > 0 else b

        g, h = grad(inner, (0, 1))(x, y)
        return g + 2.0 * h

    found = traced(total, (1.5, 0.25))
    for row in ((1.5, 0.25), (3.0, -1.0), (30.0, 2.0)):
        assert run(found, row) == pytest.approx([total(*row)], rel=1e-12)


def test_the_size_does_not_depend_on_how_often_a_loop_runs():
    def made(n):
        def f(x, y):
            for i in range(n):
                x = x + y * i if x < 10.0 else x - 1.0
            return x

        return f

    sizes = [traced(made(n), (1.0, 2.0)).tape.size() for n in (40, 400, 4000)]
    assert len(set(sizes)) == 1


def test_a_list_that_becomes_longer_in_each_iteration_is_an_array():
    def f(x, y):
        seen = [y]
        for i in range(40):
            seen.append(seen[i] * 0.5 + x)
        return seen[-1] + seen[int(abs(x)) % 3]

    found = traced(f, (0.5, 1.0))
    assert found.tape.size() < 400
    for row in ((0.5, 1.0), (2.25, -3.0), (-7.5, 0.0)):
        assert run(found, row) == [f(*row)]


def test_an_int_is_no_negative_zero():
    def f(x):
        return 1.0 / (int(x) * -3 + 0.0) if int(x) else 0.0 * int(x) * -1

    found = traced(f, (0.5,))
    for x in (-0.5, 0.5, 2.5):
        (got,) = run(found, (x,))
        assert same(got, f(x))


def test_a_row_that_raises_is_rejected_also_in_a_loop():
    def f(x, y):
        for i in range(30):
            if x > i:
                raise ValueError("too large")
            x = x * 0.5
        return x + y

    found = traced(f, (-1.0, 2.0))
    assert run(found, (-1.0, 2.0)) == [f(-1.0, 2.0)]
    assert run(found, (3.0, 2.0)) is None


def test_a_list_whose_size_differs_by_row_is_refused_where_it_is_returned():
    def f(x, y):
        return [x] if x > 0 else [x, y]

    with pytest.raises(Refused):
        traced(f, (1.0, 2.0))


def test_items_of_tables_and_by_counters_are_loaded_and_not_searched_for():
    def made(n):
        def f(x, y):
            grid, k = [[x * 0.1] * n for _ in range(n)], 0
            while k < n:
                for j in range(1, n):
                    grid[k][j] = grid[k - 1][j] * 0.5 + grid[k][j - 1] * y
                k += 1
            return grid[n - 1][n - 1] + grid[-2][0]

        return f

    f = made(15)
    found = traced(f, (0.5, 0.25))
    assert "loop 15" in str(found.tape) and "= eq " not in str(found.tape)  # which a search asks of each item
    (got,), _ = interpret.counted(lambda: interpret.run(found.tape, [1.5, -0.75], []), 10 * MOST)
    assert got == f(1.5, -0.75)


def grows(x):
    items = [x]
    while items[-1] < 50:
        items.append(items[-1] * 1.25 + items[-1] * 0.01 * x)
    return sum(items) * x + len(items)


def deep(x):
    def halve(v, depth):
        return v * depth if v < 0.01 else halve(v * 0.75, depth + 1) * 1.01

    return halve(x, 0)


@pytest.mark.parametrize(("function", "short", "long"), [(grows, 30.0, 2.0), (deep, 0.05, 3.0)])
def test_what_repeats_as_often_as_a_row_says_is_written_out_four_times_as_far_with_each_level(function, short, long):
    sizes = []
    for level, rows in ((0, [short]), (1, [short, long])):
        found = trace_rows(function, lambda xs: (tuple(xs), {}), [short], True, level=level)
        check.check(found.tape)
        assert found.bounded and found.merged
        assert [run(found, [row]) for row in rows] == [[function(row)] for row in rows]
        assert (run(found, [long]) is None) == (level == 0)
        sizes.append(found.tape.size())
    assert sizes[0] < sizes[1]


def test_rows_that_take_an_arm_which_is_not_followed_are_rejected_and_no_others():
    def f(x, y):
        if x > 2.0:
            print("far")
        return x * y if y > 0.0 else x - y

    with pytest.raises(Refused, match="print"):
        traced(f, (1.0, 2.0))
    found = trace_rows(f, lambda xs: (tuple(xs), {}), [1.0, 2.0], True, leaves_arms=True)
    assert not found.bounded and any("print" in why for why in found.notes.values())
    assert run(found, (3.0, 2.0)) is None
    for row in ((1.0, 2.0), (2.0, -2.0), (math.nan, 1.0)):
        got, wanted = run(found, row), f(*row)
        assert got is not None and same(got[0], wanted)


def test_a_number_is_looked_for_in_a_list_by_its_value_and_a_nan_is_left_to_python():
    def f(x, y):
        return x + [y, 2.0, x].index(x) if x in (1.0, y, 3.0) else y

    found = traced(f, (1.0, 2.0))
    for row in ((1.0, 2.0), (5.0, 5.0), (3.0, 4.0), (0.5, 4.0), (-0.0, 0.0)):
        assert run(found, row) == [f(*row)]
    assert run(found, (math.nan, 1.0)) is None
