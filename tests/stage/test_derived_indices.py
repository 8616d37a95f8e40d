"""Loops that compute their indices, ask about them or count them: they stay loops, and give what eager code gives."""

from __future__ import annotations

import numpy as np
import pytest

from micrograd import grad, jit, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from random_programs import needs_llvm
from stage import derived_indices
from stage.test_changed_lists import PAIR, ROWS, compare, plain, slope

LOOPS = {f.__name__: f for f in derived_indices.LOOPS}
PROGRAMS = LOOPS | {f.__name__: f for f in derived_indices.OTHERS}
SHORT = Limits(iterations=3)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)])
def test_an_index_that_is_computed_gives_what_eager_code_gives(name, order):
    f = PROGRAMS[name]
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    found = compare(g, order == "value", limits=SHORT)
    assert found is not None or name.startswith("outside")


@pytest.mark.parametrize("name", LOOPS)
def test_it_stays_a_loop(name):
    notes = stage(LOOPS[name], PAIR, ROWS[0], limits=SHORT).notes
    assert any("a loop in the tape" in note for note in notes.values())
    assert not any("unrolled" in note or "on their own" in note for note in notes.values()), notes


@needs_llvm
@pytest.mark.parametrize("name", [n for n in PROGRAMS if not n.startswith("outside")])
def test_machine_code_gives_what_eager_code_gives(name, monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)
    g = value_and_grad(PROGRAMS[name], (0, 1))
    rows = [row for row in ROWS if np.isfinite(row).all() and not isinstance(plain(g, row), type)]
    value, (a, b) = vmap(g)(*np.array(rows).T)
    for k, row in enumerate(rows):
        np.testing.assert_allclose([value[k], a[k], b[k]], plain(g, row), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["outside_in_an_arm", "outside_by_a_count"])
def test_an_index_outside_of_a_list_raises_as_in_eager_code(name):
    with pytest.raises(IndexError) as want:
        PROGRAMS[name](0.5, 0.5)
    for f, args in ((jit(PROGRAMS[name]), (0.5, 0.5)), (vmap(PROGRAMS[name]), np.array([[0.5], [0.5]]))):
        with pytest.raises(IndexError, match=str(want.value)):
            f(*args)


def test_nothing_is_told_of_a_loop_that_was_tried_in_vain():
    def f(x, y):
        s = x
        for _ in range(3000):
            for i in range(5):  # few instructions, which are written one after the other
                if i > 2:
                    s = s * y + 0.1
        return s

    notes = stage(f, PAIR, ROWS[0], limits=Limits(2, 4000)).notes
    assert sorted(what.split(",")[0] for what in notes.values()) == ["a loop in the tape", "a loop of 5 iterations"]
