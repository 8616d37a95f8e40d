"""What decides a guard, a choice or a loop is rounded as in eager code, whatever was called before, in any order of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from compiled_regions import point, rows, source
from micrograd import jit, math, value_and_grad, vmap
from micrograd.compile.options import Options
from micrograd.tape.decisions import NOTHING, decisions
from micrograd.tape.tape import Loop
from micrograd.tape.text import parse
from random_programs import needs_llvm

pytestmark = needs_llvm


def inverse(ax, ay, bx, by):
    det = ax * by - ay * bx
    if det == 0:
        return 0.0 * ax
    return 1.0 / det


SINGULAR, REGULAR = (0.1, 0.3, 0.1, 0.3), (1.0, 0.0, 0.0, 1.0)


def root(a, b, c):
    d = b * b - 4 * a * c
    if d < 0:
        return 0.0 * a
    return (-b + math.sqrt(d)) / (2 * a)


def test_a_guard_does_not_depend_on_what_was_called_before():
    f = jit(inverse, wait=True)
    assert f(*REGULAR) == 1.0
    assert f(*SINGULAR) == 0.0 == jit(inverse, wait=True)(*SINGULAR)
    assert f(*REGULAR) == 1.0


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_rows_in_any_order_have_the_results_of_eager_code(order):
    points = [SINGULAR, REGULAR, (0.7, 0.1, 0.2, 0.7)]
    points = [points[k] for k in order] * 5
    got = vmap(inverse)(*(np.array(c) for c in zip(*points)))
    assert got == pytest.approx([inverse(*p) for p in points], rel=1e-14)
    assert [x == 0 for x in got] == [p == SINGULAR for p in points]


def test_a_double_root_is_found_in_every_row():
    rs = [1 / 7, 3 / 7, 5 / 7, 2 / 3, 0.1, 0.3]
    a, b, c = np.ones(6), np.array([-2 * r for r in rs]), np.array([r * r for r in rs])
    got = vmap(root)(a, b, c)
    want = [root(1.0, -2 * r, r * r) for r in rs]
    assert np.isfinite(got).all()
    assert got == pytest.approx(want, rel=1e-12)


def test_a_power_that_decides_is_not_written_as_a_product():
    """x**3 and x*x*x differ in the last bit for one x in five."""

    def f(x, cube):
        return x if x**3 == cube else -x

    for x in [0.1 * k for k in range(1, 40)]:
        g = jit(f, wait=True)
        assert g(2.0, 8.0) == 2.0  # the path of the equality is compiled
        assert g(x, x**3) == x


def test_a_function_that_decides_is_called_as_eager_code_calls_it():
    """Vector functions are off by a last bit here and there."""

    def f(x, y):
        return x if math.exp(x) <= y else -x

    xs = np.linspace(-3.0, 3.0, 997)
    ys = np.array([math.exp(float(x)) for x in xs])
    assert (vmap(f)(xs, ys) == xs).all()


CHOICE = """%0 = input 0
%1 = input 1
%2 = input 2
%3 = input 3
%4 = mul %0 %3
%5 = mul %1 %2
%6 = sub %4 %5
%7 = const 0.0
%8 = eq %6 %7
%9 = mul %0 %1
%10 = add %9 %2
%11 = pick %8 %10 %6
return %11"""


def test_a_choice_is_decided_by_the_bits_of_eager_code():
    tape = parse(CHOICE)
    want = 0.1 * 0.3 + 0.1
    assert point(tape)(SINGULAR) == pytest.approx([want], rel=1e-15)
    columns, _ = rows(tape)([np.array([x] * 9) for x in SINGULAR])
    assert columns[0] == pytest.approx([want] * 9, rel=1e-15)
    assert source(tape).source.count("call double @llvm.fma") == 1  # what is not compared is fused
    assert source(tape, options=Options(fastmath=True)).source.count("fast double") == 5


def test_which_places_decide():
    found = decisions(parse(CHOICE))
    assert found.places == set(range(9))
    guarded = parse("%0 = input 0\n%1 = mul %0 %0\n%2 = exp %1\n%3 = add %1 %2\nguard lt %2 %0 is true\nreturn %3")
    assert decisions(guarded).places == {0, 1, 2}


def test_what_is_computed_first_decides_too():
    assert decisions(parse("%0 = input 0\n%1 = mul %0 %0\n%2 = floor %1\nreturn %2")).places == {0, 1}


def test_nothing_decides_in_plain_arithmetic():
    assert decisions(parse("%0 = input 0\n%1 = mul %0 %0\n%2 = exp %1\nreturn %2")) is NOTHING


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("%4 = floor %2", {0, 1, 2}),
        ("%4 = mod %2 %3", {0, 1, 2, 3}),
        ("%4 = copysign %0 %2", {0, 1, 2}),
        ("%4 = pick %2 %0 %3", {0, 1, 2}),
        ("%4 = max %2 %3", set()),
    ],
)
def test_what_a_jump_or_a_condition_reads_decides(line, places):
    tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = mul %1 %1\n{line}\n%5 = mul %4 %4\nreturn %5")
    assert decisions(tape).places == places


CHOOSE = """%0 = input 0
%1 = input 1
%2 = mul %0 %0
%3 = mul %1 %1
%4 = lt %2 %1
%5 = choose %4 %2 %3 then {
%0 = input 0
%1 = input 1
%2 = mul %0 %0
%3 = exp %1
return %2 %3
} else {
%0 = input 0
%1 = input 1
%2 = add %0 %0
%3 = neg %1
return %2 %3
}
%6 = result %5 0
%7 = result %5 1
"""


def test_of_a_choice_the_condition_decides_and_what_is_read_of_its_results():
    found = decisions(parse(CHOOSE + "return %6 %7"))
    assert found.places == {0, 1, 2, 4} and [body.places for body in found.bodies[5]] == [set(), set()]
    first = decisions(parse(CHOOSE + "%8 = floor %6\nreturn %8 %7"))
    assert first.places == {0, 1, 2, 4, 6} and [body.places for body in first.bodies[5]] == [{0, 2}, {0, 2}]
    second = decisions(parse(CHOOSE + "%8 = floor %7\nreturn %8 %6"))
    assert second.places == {0, 1, 2, 3, 4, 7} and [body.places for body in second.bodies[5]] == [{1, 3}, {1, 3}]


def test_the_operands_of_a_choice_decide_what_its_bodies_decide_with_them():
    jump = CHOOSE.replace("%3 = exp %1", "%3 = floor %1")
    found = decisions(parse(jump + "return %6 %7"))
    assert found.places == {0, 1, 2, 3, 4} and [body.places for body in found.bodies[5]] == [{1}, set()]


COUNTED = """%0 = input 0
%1 = input 1
%2 = mul %0 %0
%3 = mul %1 %1
%4 = add %0 %1
%5 = loop 3 carry %2 %3 with %4 do {
%0 = input 0
%1 = input 1
%2 = input 2
%3 = input 3
%4 = mul %0 %3
%5 = mul %1 %2
return %4 %5
}
%6 = result %5 0
%7 = result %5 1
"""


def test_of_a_loop_that_decides_its_operands_decide_and_those_of_the_result_alone():
    nothing = decisions(parse(COUNTED + "return %6 %7"))
    assert nothing.places == set() and nothing.bodies[5][0].places == set()
    first = decisions(
        parse(COUNTED + "%8 = floor %6\nreturn %8 %7")
    )  # made of the iteration number, which is no operand
    assert first.places == {0, 2, 6} and first.bodies[5][0].places == {0, 3, 4}
    second = decisions(parse(COUNTED + "%8 = floor %7\nreturn %8 %6"))
    assert second.places == {0, 1, 3, 4, 7} and second.bodies[5][0].places == {1, 2, 5}


def test_a_result_that_a_loop_of_no_iterations_returns_unchanged_is_its_operand():
    text = COUNTED.replace("%5 = mul %1 %2\n", "%5 = const 1.0\n")
    found = decisions(parse(text + "%8 = floor %7\nreturn %8 %6"))
    assert found.places == {1, 3, 7} and found.bodies[5][0].places == {5}


def test_an_element_of_an_array_that_decides_is_made_from_the_whole_array():
    from micrograd.tape.tape import element

    tape = parse("%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = neg %2\n%4 = floor %3\nreturn %4")
    ops = list(tape.ops)
    ops[3] = element(0)  # in place of neg: what it reads decides as well
    changed = tape.remap(range(len(tape)), ops, tape.args)
    assert decisions(changed).places == {0, 1, 2, 3}


def test_a_carried_value_decides_if_the_condition_of_a_loop_is_made_from_it_some_iterations_later():
    tape = parse(
        "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = loop carry %0 %1 %2 while {\n%0 = input 0\n%1 = const 9.0\n"
        "%2 = lt %0 %1\nreturn %2\n} do {\n%0 = input 0\n%1 = input 1\n%2 = mul %0 %0\n%3 = add %2 %1\n%4 = input 2\n"
        "%5 = mul %4 %4\nreturn %1 %3 %5\n}\n%4 = result %3 2\nreturn %4"
    )
    found = decisions(tape)
    assert found.places == {0, 1}
    body, condition = found.bodies[3]
    assert body.places == {0, 1, 2, 3} and condition.places == {0, 1, 2}


FUNCTIONS = [math.sin, math.cos, math.log, math.tanh, math.atan, math.erfc, math.expm1]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_call_that_is_compared_in_a_loop_decides_as_eager_code_where_both_sides_are_equal(function):
    """The vector function is off in the last bit here and there: compared with eager code's own result, every bit matters."""

    def at_least(x, y, z):
        total = z
        for _ in range(14):
            total = total * 0.5 + x if function(x) >= y else total * 0.25 - x * z
        return total

    def equal(x, y, z):
        total = z
        for _ in range(14):
            if function(x) == y:
                total = total * 0.5 + x * z
            else:
                total = total - z
        return total

    x = np.random.default_rng(0).uniform(0.1, 3.0, 500)
    y = np.array([function(a) for a in x.tolist()])
    y[::5] = np.nextafter(y[::5], np.inf)
    y[1::5] = np.nextafter(y[1::5], -np.inf)
    z = np.linspace(-1.0, 1.0, 500)
    for f in (at_least, equal):
        batch = vmap(value_and_grad(f, (0, 2)))
        values, (by_x, by_z) = batch(x, y, z)
        assert any(isinstance(op, Loop) for v in batch.variants for op in v.trace.tape.ops)
        for k, row in enumerate(zip(x.tolist(), y.tolist(), z.tolist())):
            want, (a, b) = value_and_grad(f, (0, 2))(*row)
            assert (values[k], by_x[k], by_z[k]) == pytest.approx((want, a, b), rel=1e-11, abs=1e-13)


EDGES = {
    "sqrt": lambda x, y: math.sqrt(x * x - y * y),
    "a quotient": lambda x, y: math.sqrt((2.0 * x * y - y * y - x * x) / 3.0),
    "a power": lambda x, y: (x * x + x * y - 2.0 * y * y) ** 0.5,
    "an arm": lambda x, y: math.sqrt(x * x - y * y) if y <= x else math.sqrt(max(x * x - y * y, 0.0)),
    "acos": lambda x, y: math.acos((x * x - y * y) + 1.0),
}


@pytest.mark.parametrize("f", EDGES.values(), ids=EDGES)
def test_a_difference_that_cancels_is_not_fused_before_the_edge_of_a_domain(f):
    x = np.random.default_rng(0).uniform(1.0, 50.0, 40)
    want = [value_and_grad(f)(a, a)[0] for a in x.tolist()]
    assert not np.isnan(want).any()
    for g in (vmap(f)(x, x), vmap(value_and_grad(f))(x, x)[0], [jit(f, wait=True)(a, a) for a in x.tolist()[:4]]):
        np.testing.assert_array_equal(g, want[: len(g)])


@pytest.mark.parametrize(
    ("line", "unfused"),
    [
        ("%5 = sqrt %4", set()),
        ("%5 = acos %4", {2, 3, 4}),
        ("%5 = sub %4 %2\n%6 = exp %5\n%7 = log %6", set()),
        ("%5 = sub %4 %2\n%6 = log %5", {2, 3, 4, 5}),
    ],
)
def test_sums_of_squares_are_fused_under_a_root_and_differences_are_not(line, unfused):
    last = line.rsplit("\n")[-1].split()[0]
    tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = mul %0 %0\n%3 = mul %1 %1\n%4 = add %2 %3\n{line}\nreturn {last}")
    assert decisions(tape).unfused == unfused
