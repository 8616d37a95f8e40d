"""Loops that change lists of lists: they stay loops where that is right, and give what eager code gives in any case."""

from __future__ import annotations

import numpy as np
import pytest

from micrograd import grad, jit, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from micrograd.stage.limits import Limits
from micrograd.stage.staged import stage
from stage import programs, tables
from stage.test_changed_lists import PAIR, ROWS, compare, numbers, plain, single, size, slope

PROGRAMS = {f.__name__: f for f in tables.PROGRAMS}
SHORT = Limits(iterations=3)
UNROLLED = {
    "same_row": "a list of lists has one list twice",
    "ragged_rows": "the lists in a list of lists have different lengths",
    "changed_while_read": "the list that the loop runs over is changed",
    "grows_inside": "a list that was made outside is changed",
    "rows_swapped": "belong to another one",
    "row_replaced": "belong to another one",
    "pure": "a list of other things than numbers",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("order", ["value", "gradient", pytest.param("second", marks=pytest.mark.slow)])
def test_a_loop_that_changes_a_table_gives_what_eager_code_gives(name, order):
    f = single(PROGRAMS[name])
    g = {"value": f, "gradient": value_and_grad(f, (0, 1)), "second": grad(slope(f), (0, 1))}[order]
    assert compare(g, order == "value", limits=SHORT) is not None or name == "outside"


@pytest.mark.parametrize("name", UNROLLED)
def test_a_loop_over_a_table_that_cannot_be_rolled_says_why(name):
    notes = stage(PROGRAMS[name], PAIR, ROWS[0], limits=SHORT).notes
    assert any("unrolled" in note and UNROLLED[name] in note for note in notes.values()), notes


def test_the_tape_of_a_full_table_does_not_grow_with_it():
    sizes = []
    for n in (20, 40):
        found = stage(value_and_grad(tables.distances(n), (0, 1)), PAIR, [0.7, 0.3])
        assert not any("unrolled" in note for note in found.notes.values()), found.notes
        sizes.append(size(found.tape))
    assert sizes[0] == sizes[1]


def test_a_table_is_not_kept_whole_in_each_iteration_of_a_gradient():
    """Of 20 rows, each iteration keeps three numbers for each of its 20 items, and not 441 numbers."""
    tape = stage(value_and_grad(tables.distances(20), (0, 1)), PAIR, [0.7, 0.3]).tape
    assert "carry" in str(tape)
    stacked = [op.results - op.carried for op in tape.ops if getattr(op, "name", "") == "loop" and not op.reverse]
    assert max(stacked) == 3, str(tape)


MORE = ["exact", "float32", "named_row", "alias_before", "with_break", "triangle", "two_tables"]


@pytest.mark.parametrize(
    "name", ["edit_distance", "in_an_arm", *(pytest.param(n, marks=pytest.mark.slow) for n in MORE)]
)
def test_machine_code_of_a_loop_that_changes_a_table(name, monkeypatch):
    monkeypatch.setattr(tables, "R", 13)
    monkeypatch.setattr(tables, "C", 12)
    monkeypatch.setattr(TUNING, "rolled_work", 20)
    f = PROGRAMS.get(name, tables.edit_distance)
    rows = [row for row in ROWS if not isinstance(plain(value_and_grad(f, (0, 1)), row), type)]
    want = [numbers(value_and_grad(f, (0, 1))(*row)) for row in rows]
    for options in [{name: True} if name in ("exact", "float32") else {}]:
        compiled = vmap(value_and_grad(f, (0, 1)), **options)
        for order in (list(range(len(rows))), list(range(len(rows)))[::-1]):
            value, (a, b) = compiled(*np.array([rows[k] for k in order]).T)
            for at, k in enumerate(order):
                got = [float(x) for x in (value[at], a[at], b[at])]
                if "float32" in options:
                    assert got == pytest.approx(want[k], rel=1e-5, nan_ok=True)
                else:
                    assert all(programs.equal(x, y, "exact" in options) for x, y in zip(got, want[k])), (
                        rows[k],
                        got,
                        want[k],
                    )


def test_an_index_outside_of_a_table_raises_as_in_eager_code():
    with pytest.raises(IndexError) as want:
        tables.outside(0.5, 0.5)
    for f, args in ((jit(tables.outside), (0.5, 0.5)), (vmap(tables.outside), np.array([[0.5], [0.5]]))):
        with pytest.raises(IndexError, match=str(want.value)):
            f(*args)
