"""Masks beside truth tables: every operation, on random diagrams over a few comparisons, for every row of a table."""

from __future__ import annotations

import itertools
import random

import pytest

from micrograd.engine import Value
from micrograd.stage import masks as module
from micrograd.stage.errors import Unsupported
from micrograd.stage.masks import FALSE, TRUE, Masks

ATOMS = 4
ROWS = list(itertools.product((False, True), repeat=ATOMS))


def holds(mask, row):
    """Whether a mask holds where the atoms are these, by walking through it."""
    while mask is not TRUE and mask is not FALSE:
        mask = mask.yes if row[mask.atom] else mask.no
    return mask is TRUE


def table(mask):
    return tuple(holds(mask, row) for row in ROWS)


def atoms(m, numbers=(0.0,) * ATOMS):
    """So many comparisons `x > 0.5`; they are atoms 0, 1, 2, ... in this order."""
    values = [Value(x) for x in numbers]
    return [m.compare("gt", v, 0.5) for v in values]


def diagrams(m, seed, count=60):
    """Random masks with their truth tables, by Python's own and, or and not."""
    r = random.Random(seed)
    found = [(TRUE, tuple(True for _ in ROWS)), (FALSE, tuple(False for _ in ROWS))]
    found += [(a, tuple(row[k] for row in ROWS)) for k, a in enumerate(atoms(m))]
    rules = {
        "both_of": lambda x, y: x and y,
        "either": lambda x, y: x or y,
        "without": lambda x, y: x and not y,
        "negate": lambda x: not x,
    }
    for _ in range(count):
        name = r.choice(list(rules))
        operands = r.choices(found, k=1 if name == "negate" else 2)
        rows = zip(*[column for _, column in operands])
        made = getattr(m, name)(*[mask for mask, _ in operands])
        found.append((made, tuple(rules[name](*row) for row in rows)))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_operations_are_those_of_truth_tables_and_equal_masks_are_one_object(seed):
    m = Masks()
    found = diagrams(m, seed)
    by_table = {}
    for mask, expected in found:
        assert table(mask) == expected
        assert by_table.setdefault(expected, mask) is mask
        assert m.negate(m.negate(mask)) is mask
        assert (mask is TRUE) == all(expected) and (mask is FALSE) == (not any(expected))


@pytest.mark.parametrize("seed", range(8))
def test_a_restricted_mask_is_the_same_where_it_matters_and_here_not_larger(seed):
    m = Masks()
    found = diagrams(m, seed)
    r = random.Random(seed)
    for _ in range(200):
        (a, s), (care, t) = r.choice(found), r.choice(found)
        got = table(m.restrict(a, care))
        assert all(x == y for x, y, matters in zip(got, s, t) if matters)
        assert _size(m.restrict(a, care)) <= _size(a)
    for a, _ in found:
        assert m.restrict(a, a) is (TRUE if a is not FALSE else FALSE)
        assert m.restrict(a, TRUE) is a
        assert m.restrict(a, FALSE) is (TRUE if a is not FALSE else FALSE)  # where nothing matters, the simplest


def _size(mask, seen=None):
    """How many nodes a mask has."""
    seen = set() if seen is None else seen
    if mask is TRUE or mask is FALSE or id(mask) in seen:
        return 0
    seen.add(id(mask))
    return 1 + _size(mask.yes, seen) + _size(mask.no, seen)


@pytest.mark.parametrize("row", ROWS)
def test_the_value_of_a_mask_is_1_where_it_holds_and_0_elsewhere(row):
    m = Masks()
    kept = [Value(float(x)) for x in row]
    given = [m.compare("gt", v, 0.5) for v in kept]
    a, b, c, d = given
    for mask in (a, m.negate(b), m.both_of(a, m.negate(c)), m.either(m.both_of(a, d), m.without(b, c)), TRUE, FALSE):
        value = m.value(mask)
        assert float(getattr(value, "data", value)) == float(holds(mask, row))
        assert m.value(mask) is value or mask in (TRUE, FALSE)  # made once


@pytest.mark.parametrize("how, test", [("lt", float.__lt__), ("le", float.__le__), ("gt", float.__gt__),
                                       ("ge", float.__ge__), ("eq", float.__eq__), ("ne", float.__ne__)])  # fmt: skip
def test_comparisons_are_those_of_floats_nan_included(how, test):
    for a, b in itertools.product((0.0, 1.0, -1.0, float("nan"), float("inf")), repeat=2):
        m = Masks()
        x, y = Value(a), Value(b)
        for left, right in ((x, y), (x, b), (a, y)):
            mask = m.compare(how, left, right)
            value = m.value(mask)
            assert value.data == float(test(a, b)), (how, a, b)


def test_a_comparison_is_one_atom_however_it_is_written():
    m = Masks()
    x, y = Value(1.0), Value(2.0)
    first = m.compare("lt", x, y)
    assert m.compare("gt", y, x) is first and m.compare("lt", x, y) is first
    assert m.compare("ne", x, y) is m.negate(m.compare("eq", x, y))
    assert m.compare("le", x, y) is m.compare("ge", y, x) is not first
    assert m.compare("lt", x, 1.0) is m.compare("lt", x, 1) is not m.compare("lt", x, 1.5)
    assert len(m.atoms) == 5


def test_the_newest_atom_is_on_top():
    m = Masks()
    a, b, c, _ = atoms(m)
    mask = m.both_of(m.both_of(c, a), b)
    assert (mask.atom, mask.yes.atom, mask.yes.yes.atom) == (2, 1, 0)


def test_work_is_counted_and_limited(monkeypatch):
    m = Masks()
    diagrams(m, 0)
    assert 20 < m.work < 2000
    monkeypatch.setattr(module, "MAX_WORK", m.work)
    with pytest.raises(Unsupported, match="too many ways"):
        diagrams(m, 1)


def test_a_choice_of_an_inner_function_is_not_used_outside_of_it():
    m = Masks()
    x = Value(1.0)
    m.stack.append(1)
    m.values.append({})
    inside = m.compare("gt", x, 0.5)
    assert m.value(inside).data == 1.0
    m.values.pop()
    m.stack.pop()
    with pytest.raises(Unsupported, match="outside of it"):
        m.value(inside)
    again = m.compare("gt", x, 0.5)  # a comparison of this level, and an atom of its own
    assert again is not inside and m.value(again).data == 1.0
