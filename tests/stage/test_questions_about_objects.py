"""type, isinstance, getattr and hasattr in functions that are merged: the answers are those of plain Python, or none."""

from __future__ import annotations

import pytest

from micrograd.stage.errors import Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from stage import programs
from stage.test_changed_lists import PAIR

ROWS = [[1.5, 2.0], [-1.5, 0.5], [0.25, -3.0], [-0.5, -0.25]]


class Plain:
    k = 2.5


class Child(Plain):
    c = 4.0


class Unrelated:
    pass


class Numbered:
    pass


class NumberedFloat(Numbered, float):
    """A number that is an object of a class of the user's."""


def one_of_two(x):
    return Plain() if x > 0 else Child()


def by_default(x, y):
    p = one_of_two(x)
    return getattr(p, "missing", 3.0) * x + getattr(p, "k", 9.0) * y + getattr(p, "c", x)


def without_a_default(x, y):
    p = one_of_two(x)
    try:
        return p.k * x + getattr(p, "c") * y  # noqa: B009
    except AttributeError:
        return y * 0.5


def asked_for(x, y):
    p = one_of_two(x)
    if hasattr(p, "c"):
        return x * y
    return y if hasattr(p, "missing") or not hasattr(p, "k") else x


def of_a_number(x, y):
    if x > 0 and hasattr(x, "is_integer") and not hasattr(x, "append"):
        return getattr(x, "real", 9.0) * y + getattr(y, "imag", 7.0)
    return getattr(x, "append", y)


def of_counters(x, y):
    total = x
    for i in range(60):
        if hasattr(i, "bit_length") and not hasattr(i, "is_a_float"):
            total = total + y * i
        if hasattr(i * 0.5, "bit_length") or not hasattr(i * 0.5, "hex"):
            total = total * 2.0
        if type(i) is int and type(i * 0.5) is float and isinstance(i, int) and not isinstance(i, float):
            total = total - x
        if isinstance(i * 0.5, int):
            total = total * 3.0
    return total


def classes_of_objects(x, y):
    p = one_of_two(x)
    if type(p) is Child:
        return x * y
    return x if isinstance(p, Child) or not isinstance(p, (Unrelated, Plain)) else y


def no_object_is_a_number(x, y):
    if isinstance(x, Plain):
        return y
    return x * y if x > 0 and not isinstance(y, (Plain, (Child, Unrelated))) else x


def a_class_with_numbers(x, y):
    if isinstance(x, (Unrelated, Numbered)):
        return y
    return x * y if x > 0 else x


def a_number_or_an_object(x, y):
    p = x if y > 0 else Plain()
    return x * 2.0 if isinstance(p, Plain) else p * y


def class_of_either(x, y):
    p = Child() if y > 0 else Plain()
    kind = type(p)
    return kind.k * x if kind is Plain else kind.c * y


MERGED = [by_default, without_a_default, asked_for, of_a_number, of_counters, classes_of_objects, no_object_is_a_number,
          a_class_with_numbers, a_number_or_an_object, class_of_either]  # fmt: skip


@pytest.mark.filterwarnings("ignore:type\\(\\) of a number")
@pytest.mark.parametrize("f", MERGED)
@pytest.mark.parametrize("derived", ["value", "gradient"])
def test_one_tape_gives_what_eager_code_gives(f, derived):
    if f in (of_a_number, without_a_default):  # an attribute that is not there ends the paths of some rows
        rows = [row for row in ROWS if not isinstance(programs.eager(f, row), str)]
        assert rows
        programs.check_rows(f, derived, rows)
        return
    programs.check_rows(f, derived, ROWS)


def test_counters_of_a_loop_in_the_tape_are_asked():
    notes = stage(of_counters, PAIR, ROWS[0], limits=Limits(iterations=3)).notes
    assert any("a loop in the tape" in note for note in notes.values())


def made_by_type(x, y):
    made = type("Made", (), {"k": 2.0})
    return made.k * x if x > 0 else y


@pytest.mark.parametrize(
    "f",
    [
        made_by_type,
        lambda x, y: x if type(x) is float else y,
        lambda x, y: x if hasattr(x, "backward") else y,
        lambda x, y: x if hasattr(x, "data") else y,
        lambda x, y: getattr(x, "grad", 2.0) * y,
    ],
)
def test_what_a_value_answers_otherwise_than_its_number_is_refused(f):
    with pytest.raises(Unsupported):
        stage(f, PAIR, ROWS[0])


def test_no_class_is_asked_for_where_no_number_is_of_it():
    """A trace that has asked for the class of a number holds for that class alone."""
    assert not stage(no_object_is_a_number, PAIR, ROWS[0], origins=ROWS[0]).asked

    def asks(x, y):
        return x * y if isinstance(x, int) else x

    assert stage(asks, PAIR, ROWS[0], origins=ROWS[0]).asked == {(float, float)}


@pytest.mark.parametrize(
    "ask",
    [type, lambda z: isinstance(z, float), lambda z: hasattr(z, "real"), lambda z: getattr(z, "real", None) is None],
    ids=["type", "isinstance", "hasattr", "getattr"],
)
def test_nothing_is_asked_of_a_value_that_may_be_a_plain_number(ask):
    """Where numbers and Values behind a choice become one Value (see mixed.py), it cannot answer for both."""

    def f(x, y):
        z = x * y if x > 0 else 0.0
        return x if ask(z) else y * 2.0

    with pytest.raises(Unsupported, match="may be a plain one"):
        stage(f, PAIR, ROWS[0], limits=Limits(coarse=True))
