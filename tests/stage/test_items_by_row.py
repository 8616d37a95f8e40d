"""Items of lists of each kind by an index that differs by row: the tape is valid, and gives what eager code gives."""

from __future__ import annotations

import math as standard

import pytest

from micrograd import grad, value_and_grad
from micrograd.stage import whole
from micrograd.stage.errors import Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from micrograd.tape.check import check
from stage import programs
from stage.test_changed_lists import PAIR

LONG = [float(k * k % 17) for k in range(40)]  # with zeros
SHORT = [1.0, -4.0, 9.0, 0.25, 2.0]
FLAGS = [True, 1.0, False, 0.0] * 5
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
ROWS = [[3.7, 1.5], [0.0, 0.3], [0.5, 2.0], [2.5, 1.0], [11.99, 0.7], [7.0, -1.5], [-1.5, 0.5], [-3.25, 2.0]]


def made(x, y):
    u = []
    for k in range(40):
        u.append(y * k + x)
    return u


def of_a_list_that_a_loop_makes(x, y):
    return made(x, y)[int(x)] * y


def of_its_parts(x, y):
    u = made(x, y)
    i = int(x)
    return u[3:][i] + 2.0 * u[::-1][i] + 3.0 * u[5:20][i] + 4.0 * u[4:][::-1][i]


def of_floats(x, y):
    return (1.0 / LONG[int(x)]) * y


def of_floats_and_values(x, y):
    u = [0.0] * 30
    for k in range(0, 30, 3):
        u[k] = x * k
    return u[int(x)] * y + u[int(x) % 7] * x


def of_floats_and_values_in_a_division(x, y):
    u = [0.0, 2.0, x, y] * 10
    return y + 1.0 / u[int(x)]  # of a plain 0.0, an error in plain Python


def of_a_tuple(x, y):
    return tuple(LONG)[int(x)] * y + (x, y, x * y, *LONG)[int(x) % 11] * x


def of_truths(x, y):
    found = FLAGS[int(x)]
    return x if found is True else y if found is False else x * y + found


def of_words(x, y):
    return x * y if WORDS[int(x)] in ("d", "a", "i") else y


def behind_a_question(x, y):
    i = int(x)
    if i < 0:
        return SHORT[i] * x + LONG[i] * y
    return SHORT[i % 5] * y


def of_counters(x, y):
    total = x
    for i in range(50):
        total = total * 0.5 + LONG[int(i) % 40] * y + standard.floor(i) * 0.01
    return total


def of_constants(x, y):
    return LONG[int("7")] * x + int(True) * y + int(2.75) * LONG[int(x)] + standard.ceil(-0.5) * y


FUNCTIONS = [of_a_list_that_a_loop_makes, of_its_parts, of_floats, of_floats_and_values,  of_a_tuple, of_truths, of_words,
             behind_a_question, of_counters, of_constants]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("iterations", [1000, 3])
@pytest.mark.parametrize("derived", ["value", "gradient"])
def test_one_tape_gives_what_eager_code_gives(f, iterations, derived):
    g = f if derived == "value" else value_and_grad(f, (0, 1))
    checked = 0
    for first in (ROWS[0], ROWS[2], ROWS[6]):
        want = programs.eager(g, first)
        if isinstance(want, str):
            continue
        found = stage(g, PAIR, first, limits=Limits(iterations=iterations))
        check(found.tape)
        if iterations == 3 and f in (of_counters, of_a_list_that_a_loop_makes):
            assert any("a loop in the tape" in note for note in found.notes.values())
        assert all(programs.equal(a, b, exact=derived == "value") for a, b in zip(found.numbers, want)), found.numbers
        for row in ROWS:
            got, want = programs.staged(found, row), programs.eager(g, row)
            if isinstance(want, str):
                assert got is None, (row, got, want)  # a row that raises an exception is lost
            else:
                assert got is not None, row
                checked += 1
                assert all(programs.equal(a, b, exact=derived == "value") for a, b in zip(got, want)), (row, got, want)
    assert checked >= 4


def test_the_second_derivative():
    for f in (of_a_list_that_a_loop_makes, of_floats_and_values):
        programs.check_rows(grad(f), "value", ROWS[:3])


class Whole:
    def __init__(self, x):
        self.x = x

    def __int__(self):
        return 2

    def __floor__(self):
        return 3


@pytest.mark.parametrize("function", [int, standard.floor])
def test_an_object_with_a_method_of_its_own_is_not_taken_for_a_number(function):
    def f(x, y):
        return LONG[function(Whole(x))] * y if x > 0 else y

    try:
        found = stage(f, PAIR, ROWS[0])
    except Unsupported:
        return
    assert programs.staged(found, ROWS[0]) in (None, [f(*ROWS[0])])  # the row is lost, or right
    assert programs.staged(found, ROWS[6]) == [f(*ROWS[6])]


def test_a_list_whose_length_differs_by_row():
    def f(x, y):
        u = [x]
        for k in range(60):
            if y * k < 5.0:
                u.append(x * k)
        return u[int(x)] * y

    try:
        found = stage(f, PAIR, ROWS[0], limits=Limits(iterations=3))
    except Unsupported:
        return
    for row in ROWS:
        got, want = programs.staged(found, row), programs.eager(f, row)
        assert got is None or got == want


def test_a_list_of_many_other_things_is_refused():
    words = ["w"] * (whole.MOST + 1)
    for count, fits in ((whole.MOST, True), (whole.MOST + 1, False)):
        some = words[:count]

        def f(x, y, some=some):
            return x if some[int(x)] == "w" else y

        if fits:
            stage(f, PAIR, ROWS[0])
            continue
        with pytest.raises(Unsupported, match="33 things"):
            stage(f, PAIR, ROWS[0])


def test_an_empty_list_and_a_word_are_no_lists_of_items():
    for x in ([], "word", {0: 1.0}):
        with pytest.raises(Unsupported):
            stage(lambda a, b, x=x: x[int(a)] * b, PAIR, ROWS[0])


def test_a_number_that_may_be_a_plain_one_is_no_index():
    """Where numbers and Values behind a choice become one Value (see mixed.py)."""

    def f(x, y):
        z = x * y if x > 0 else 0.0
        return LONG[int(z)] * y

    with pytest.raises(Unsupported):
        stage(f, PAIR, ROWS[0], limits=Limits(coarse=True))


def test_an_item_that_may_be_a_plain_number_is_not_divided_by():
    with pytest.raises(Unsupported, match="of which some are plain ones"):
        stage(of_floats_and_values_in_a_division, PAIR, ROWS[0])
