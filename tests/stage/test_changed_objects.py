"""Loops that assign attributes of objects: they stay loops where that is right, and give what eager code gives in any case."""

from __future__ import annotations

import pytest

from micrograd import grad, value_and_grad
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from stage import changed_objects
from stage.test_changed_lists import PAIR, ROWS, compare, size, slope

PROGRAMS = {f.__name__: f for f in changed_objects.PROGRAMS}
SHORT = Limits(iterations=3)
ROLLED = [
    "stepped",
    "two_names",
    "two_objects",
    "nested_loops",
    "in_an_arm",
    "leaves_early",
    "inside_of_box",
    "list_in_object",
]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)])
def test_a_loop_that_changes_an_object_gives_what_eager_code_gives(name, order):
    f = PROGRAMS[name]
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    assert compare(g, order == "value", limits=SHORT) is not None or name in ("is_asked", "same_value")


@pytest.mark.parametrize("name", ROLLED)
def test_the_tape_does_not_grow_with_the_iterations(name, monkeypatch):
    sizes = []
    for n in (20, 30):
        monkeypatch.setattr(changed_objects, "N", n)
        sizes.append(size(stage(PROGRAMS[name], PAIR, ROWS[0], limits=SHORT).tape))
    assert sizes[0] == sizes[1]
