"""Loops that make an object in each iteration: they stay loops where that is right, and always give what eager code gives."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from micrograd import grad, jit, value_and_grad, vmap
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from random_programs import needs_llvm
from stage import objects_made_anew, objects_with_other_names, user_classes
from stage.test_changed_lists import PAIR, ROWS, compare, size, slope

ROLLED = {f.__name__: f for f in [*objects_made_anew.ROLLED, *user_classes.PROGRAMS]}
TRAPS = {f.__name__: f for f in objects_with_other_names.TRAPS}
APART = {"effect_of_init", "class_attribute", "as_a_key", "identity_by_id", "weak_reference"}  # one tape for each path
SHORT = Limits(iterations=3)


@pytest.mark.parametrize("name", [*ROLLED, *TRAPS])
@pytest.mark.parametrize("order", ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)])
def test_a_loop_that_makes_objects_gives_what_eager_code_gives(name, order):
    f = (ROLLED | TRAPS)[name]
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    assert (compare(g, order == "value", limits=SHORT) is None) == (name in APART)


@pytest.mark.parametrize("name", ROLLED)
def test_the_tape_does_not_grow_with_the_iterations(name, monkeypatch):
    sizes = []
    for n in (20, 30):
        monkeypatch.setattr(sys.modules[ROLLED[name].__module__], "N", n)
        sizes.append(size(stage(ROLLED[name], PAIR, ROWS[0], limits=SHORT).tape))
    assert sizes[0] == sizes[1]


@needs_llvm
@pytest.mark.parametrize("f", [objects_made_anew.nested, objects_made_anew.escapes, objects_made_anew.best_so_far])
def test_compiled_code_gives_what_eager_code_gives(f, monkeypatch):
    monkeypatch.setattr(objects_made_anew, "N", 300)
    x, y = np.random.default_rng(3).normal(size=(2, 3))
    batch = vmap(value_and_grad(f, (0, 1)))
    values, slopes = batch(x, y)
    assert "a loop in the tape" in batch.explain(x, y) and len(list(batch.variants)) == 1
    one = jit(value_and_grad(f, (0, 1)))
    for k in range(3):
        want, by = value_and_grad(f, (0, 1))(float(x[k]), float(y[k]))
        np.testing.assert_allclose([values[k], slopes[0][k], slopes[1][k]], [want, *by], rtol=1e-9, atol=1e-12)
        got, by_one = one(float(x[k]), float(y[k]))
        np.testing.assert_allclose([got, *by_one], [want, *by], rtol=1e-9, atol=1e-12)


def test_the_reason_is_given_where_a_loop_is_unrolled_for_what_is_behind_it():
    found = stage(TRAPS["held_by_an_object"], PAIR, ROWS[0], limits=SHORT)
    assert any("a Vec is changed that a loop has made" in note for note in found.notes.values())
