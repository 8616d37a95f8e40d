"""Comprehensions in comprehensions: two loops in the tape that fill a table, where its rows are of one length."""

from __future__ import annotations

import pytest

from micrograd import grad, value_and_grad
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from stage import nested_comprehensions
from stage.test_changed_lists import PAIR, compare, size, slope

PROGRAMS = {f.__name__: f for f in nested_comprehensions.PROGRAMS}
WRITTEN_OUT = ["triangular", "filtered", "plain_numbers", "raising", "assigning", "three"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)])
def test_a_nested_comprehension_gives_what_eager_code_gives(name, order):
    f = PROGRAMS[name]
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    assert compare(g, order == "value", limits=Limits(iterations=3)) is not None or name == "raising"


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - set(WRITTEN_OUT)))
def test_the_tape_does_not_grow_with_a_nested_comprehension(name, monkeypatch):
    sizes = []
    for n in (30, 40):
        monkeypatch.setattr(nested_comprehensions, "R", n)
        monkeypatch.setattr(nested_comprehensions, "C", n)
        sizes.append(size(stage(PROGRAMS[name], PAIR, [0.7, 0.3], limits=Limits(work=4000)).tape))
    assert sizes[1] - sizes[0] < 200, sizes
