"""Loops that change lists: they stay loops where that is right, and give what eager code gives in any case."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from micrograd import Value, grad, jit, value_and_grad, vmap
from micrograd.stage.errors import Unsupported
from micrograd.stage.staged import flat, stage
from micrograd.tape import interpret
from micrograd.tape.tape import SOURCES, Region
from micrograd.tree import NUMBER, flatten
from stage import algorithms, changed_lists, grown_lists, programs

ROWS = [[0.7, 0.3], [0.9, -0.2], [-1.1, 0.45], [2.0, 0.0], [0.0, 1.5], [float("nan"), 0.5], [0.3, float("inf")]]
STABLE = [[0.7, 0.3], [1.1, 0.25], [float("nan"), 0.25]]  # no algorithm makes rounding errors large there
PAIR = flat(("tuple", (NUMBER, NUMBER)))
PROGRAMS = {f.__name__: f for f in [*changed_lists.PROGRAMS, *grown_lists.PROGRAMS]}
UNROLLED = {
    "over_itself": "the list that the loop runs over is changed",
    "over_itself2": "the list that the loop runs over is changed",
    "zip_self": "the list that the loop runs over is changed",
    "swap_lists_alias": "a list of an earlier iteration, or from outside, is given another name",
    "rebind_same": "a list that is changed is given another name",
    "append_if": "the length of a list differs by row",
    "append_break": "the length of a list changes in a loop that ends in different iterations",
    "iterator_kept": "was made before the loop is changed in it",
    "insert": "a list whose length changes from one iteration to the next is read as a whole",
}


def single(f):
    """A function with one result."""

    def total(x, y):
        found = f(x, y)
        return found[0] + found[1] * found[2] if isinstance(found, tuple) else found

    return total


def slope(f):
    """A function of first derivatives."""

    def total(x, y):
        a, b = grad(f, (0, 1))(x, y)
        return a + 2.0 * b

    return total


def numbers(found):
    leaves = []
    flatten(found, leaves)
    return [float(v.data if isinstance(v, Value) else v) for v in leaves]


def plain(g, row):
    """What eager code gives, or the class of what it raises."""
    try:
        return numbers(g(*map(Value, row)))
    except Exception as error:
        return type(error)


def compare(g, exact, rows=ROWS, limits=None):
    """Whether a tape could be staged; each row of it gives what eager code gives."""
    try:
        found = stage(g, PAIR, ROWS[0], limits=limits)
    except (Unsupported, Exception):
        return None
    for row in rows:
        want = plain(g, row)
        try:
            got = interpret.run(found.tape, row, [v.data for v in found.captured])
        except interpret.GuardFailed:
            continue
        assert not isinstance(want, type), (row, want)
        assert len(want) == len(got) and all(programs.equal(a, float(b), exact) for a, b in zip(want, got)), (
            row,
            want,
            got,
        )
    return found


ORDERS = ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ORDERS)
def test_a_loop_that_changes_a_list_gives_what_eager_code_gives(name, order):
    f = single(PROGRAMS[name])
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    compare(g, order == "value")


@pytest.mark.parametrize("name", UNROLLED)
def test_a_loop_that_cannot_be_rolled_says_why(name):
    found = stage(PROGRAMS[name], PAIR, ROWS[0])
    assert any("unrolled" in note and UNROLLED[name] in note for note in found.notes.values()), found.notes


@pytest.mark.parametrize("name", ["out_of_range", "read_out_of_range", "pop_too_many"])
def test_an_index_outside_of_a_list_raises_as_in_eager_code(name):
    with pytest.raises(IndexError) as want:
        PROGRAMS[name](0.5, 0.5)
    for f in (jit(PROGRAMS[name]), vmap(PROGRAMS[name])):
        with pytest.raises(IndexError, match=str(want.value)):
            f(*([0.5, 0.5] if f.__class__.__name__ == "jit" else np.array([[0.5], [0.5]])))


def size(tape):
    """How many instructions there are, without inputs and constants."""
    inside = [size(body) for op in tape.ops if isinstance(op, Region) for body in op.bodies()]
    return sum(op not in SOURCES for op in tape.ops) + sum(inside)


@pytest.mark.parametrize("name", algorithms.ALGORITHMS)
def test_the_tape_does_not_grow_with_the_lists(name):
    make = algorithms.ALGORITHMS[name]
    sizes = []
    for n in (110, 220):
        found = stage(value_and_grad(make(n), (0, 1)), PAIR, [0.7, 0.3])
        assert not any("unrolled" in note for note in found.notes.values() if "loop of 4 " not in note), found.notes
        sizes.append(size(found.tape))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", algorithms.ALGORITHMS)
@pytest.mark.parametrize("order", ORDERS)
def test_an_algorithm_on_lists_gives_what_eager_code_gives(name, order):
    f = algorithms.ALGORITHMS[name](13 if order == "second" else 26)
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    assert compare(g, order == "value", STABLE) is not None


@pytest.mark.parametrize("name", ["bubble", "swap_lists", "append_pop", "break_mid", "partly_written", "nested_comp"])
def test_machine_code_of_a_loop_that_changes_a_list(name):
    f = PROGRAMS[name]

    def branched(x, y):
        if x > 50.0:
            return x * y
        return f(x, y)

    rows = [row for row in ROWS if not isinstance(plain(value_and_grad(f, (0, 1)), row), type)]
    compiled = vmap(value_and_grad(branched, (0, 1)))
    value, (a, b) = compiled(*np.array(rows).T)
    if not (name == "break_mid" and sys.version_info >= (3, 12)):  # sum() corrects its rounding there, for floats alone
        assert len(list(compiled.variants)) == 1
    for k, row in enumerate(rows):
        want = numbers(value_and_grad(branched, (0, 1))(*row))
        assert all(programs.equal(float(x), y, False) for x, y in zip((value[k], a[k], b[k]), want)), row


def test_a_list_of_the_caller_is_changed_as_in_eager_code():
    """The change is an effect that the caller sees, so the loop is not rolled, and jit refuses or does the same."""

    def f(x):
        for i in range(1, 40):
            seen[i] = seen[i - 1] + x
        return seen[39]

    seen: list = [0.0] * 40
    with pytest.raises(Unsupported):
        stage(f, flat(("tuple", (NUMBER,))), [0.5])


@pytest.mark.parametrize("kind", ["pairwise", "chain", "islice", "generator expression"])
def test_a_list_that_is_changed_while_an_iterator_takes_items_from_it(kind, recwarn):
    """Python takes the items one by one, and sees the change. Such paths are kept apart, and nothing is found wrong later."""
    over = {
        "pairwise": lambda u: (a + b for a, b in itertools.pairwise(u)),
        "chain": lambda u: itertools.chain(u, u),
        "islice": lambda u: itertools.islice(u, 2, 15),
        "generator expression": lambda u: (2.0 * v for v in u),
    }[kind]

    def f(x, y):
        u = [x * i for i in range(20)]
        total = 0.0
        if x > 50.0:
            return x
        for a in over(u):
            u[14] = u[14] + y * a
            total = total + a
        return total

    g = value_and_grad(f, (0, 1))
    value, (a, b) = vmap(g)(np.array([0.5, 2.0, 60.0]), np.array([0.1, -0.4, 0.3]))
    for k, row in enumerate([(0.5, 0.1), (2.0, -0.4), (60.0, 0.3)]):
        assert numbers(g(*row)) == pytest.approx([value[k], a[k], b[k]])
    assert not [w for w in recwarn if "please report" in str(w.message)]
