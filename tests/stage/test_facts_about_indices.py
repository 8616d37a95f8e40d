"""What follows from comparisons of loop counters, beside every iteration of small loops: nothing wrong, and what is needed."""

from __future__ import annotations

import itertools
import operator
import random
from types import SimpleNamespace

import pytest

from micrograd.engine import Value
from micrograd.stage import bounds
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import Lane, less
from micrograd.stage.masks import FALSE, TRUE, Masks

HOW = ["lt", "le", "gt", "ge", "eq", "ne"]


class Counted:
    """A loop that is being rolled, as far as its counter matters."""

    def __init__(self, iterations, outer=None, limit=None):
        self.items = SimpleNamespace(iterations=iterations, limit=limit) if iterations is not None else None
        self.outer, self.depth = outer, 0 if outer is None else outer.depth + 1
        self.going = self.context = TRUE
        self.iteration = Value(0.0)


def machine(rolling=None):
    return SimpleNamespace(masks=Masks(), here=TRUE, facts={}, rolling=rolling, by_iteration=0)


def lane(terms, offset, **how):
    return Lane(int, Value(0.0), terms, offset, **how)


def at(x, numbers):
    """An affine number in an iteration of each loop."""
    terms, offset = x if type(x) is tuple else (x.terms, x.offset) if type(x) is Lane else ({}, x)
    return sum([n * numbers[loop] for loop, n in terms.items()]) + offset


def nested(kind):
    """Two loops, and all pairs of their iteration numbers."""
    outer = Counted(5)
    if kind == "a square":
        inner = Counted(4, outer)
        return outer, inner, [{outer: i, inner: j} for i in range(5) for j in range(4)]
    inner = Counted(lane({outer: 1}, 1), outer)  # for j in range(i + 1)
    return outer, inner, [{outer: i, inner: j} for i in range(5) for j in range(i + 1)]


def affine_numbers(r, outer, inner):
    found = r.choice([{}, {outer: 0}, {inner: 0}, {outer: 0, inner: 0}])
    terms = {loop: r.choice([-2, -1, 1, 2, 3]) for loop in found}
    return lane(terms, r.randint(-4, 4)) if terms else r.randint(-4, 4)


@pytest.mark.parametrize("kind", ["a square", "a triangle"])
@pytest.mark.parametrize("how", HOW)
def test_a_comparison_is_decided_where_it_is_the_same_in_all_iterations(kind, how):
    r = random.Random(how + kind)
    outer, inner, iterations = nested(kind)
    known = 0
    for _ in range(400):
        a, b = (affine_numbers(r, outer, inner) for _ in "ab")
        outcomes = {getattr(operator, how)(at(a, i), at(b, i)) for i in iterations}
        found = bounds.decided(how, a, b)
        if found is not None:
            assert outcomes == {found}
            known += 1
        elif how not in ("eq", "ne"):  # these may never meet, and have both signs
            assert len(outcomes) == 2
    assert known > 60


@pytest.mark.parametrize("how", HOW)
def test_a_comparison_is_decided_by_where_numbers_lie(how):
    """Of numbers that are not affine, such as i % n; nothing is known of one that differs by row."""
    ranges = [(p, q) for p in range(-2, 3) for q in range(p, 3)]
    for (a, b), (c, d) in itertools.product(ranges, ranges):
        outcomes = {getattr(operator, how)(x, y) for x in range(a, b + 1) for y in range(c, d + 1)}
        expected = outcomes.pop() if len(outcomes) == 1 else None
        left, right = (Lane(int, Value(0.0), within=ends) for ends in ((a, b), (c, d)))
        assert bounds.decided(how, left, right) is expected
        if c == d:
            assert bounds.decided(how, left, c) is expected
    anything = Lane(int, Value(0.0), most=7)
    assert bounds.decided(how, anything, 9) is None and bounds.decided(how, 1, anything) is None


@pytest.mark.parametrize("kind", ["a square", "a triangle"])
@pytest.mark.parametrize("how", HOW)
def test_facts_say_what_a_comparison_says(kind, how):
    """Where it holds, all of its facts do; and elsewhere not, except for `!=` of numbers of which either may be more."""
    r = random.Random(kind + how)
    outer, inner, iterations = nested(kind)
    for _ in range(60):
        a, b = lane({inner: r.choice([-2, 1, 3])}, r.randint(-3, 3)), affine_numbers(r, outer, inner)
        m = machine(inner)
        mask = m.masks.compare(how, Value(1.0), Value(2.0))
        bounds.remember(m, mask, how, a, b)
        for rows, expected in ((mask, True), (m.masks.negate(mask), False)):
            kept, facts = m.facts[id(rows)]
            assert kept is rows
            unequal = (how == "ne") is expected and how in ("eq", "ne")
            for i in iterations:
                if getattr(operator, how)(at(a, i), at(b, i)) is expected:
                    assert all(at(fact, i) >= 0 for fact in facts)
                elif not unequal:
                    assert any(at(fact, i) < 0 for fact in facts)


def test_a_number_that_is_not_below_another_is_above_it_where_they_differ():
    i = Counted(9)
    for a, b in ((lane({i: 1}, 2), 2), (2, lane({i: 1}, 2))):
        m = machine(i)
        mask = m.masks.compare("ne", Value(1.0), 0.0)
        bounds.remember(m, mask, "ne", a, b)
        assert m.facts[id(mask)][1] == [({i: 1}, -1)]


def test_nothing_is_remembered_of_constants_and_of_numbers_that_differ_by_row():
    i, anything = Counted(9), Lane(int, Value(0.0), most=7)
    for a, b in ((1, 2), (lane({i: 1}, 0), anything), (anything, lane({i: 1}, 0)), (anything, 1)):
        m = machine(i)
        bounds.remember(m, m.masks.compare("lt", Value(1.0), 0.0), "lt", a, b)
        assert m.facts == {}


def known(m, how, a, b, holds=True):
    """Compare, and remember it; the rows in which the comparison holds (or does not) are here then."""
    mask = m.masks.compare(how, Value(1.0), 0.0)
    bounds.remember(m, mask, how, a, b)
    return mask if holds else m.masks.negate(mask)


def test_an_index_follows_from_a_condition_around_it():
    i = Counted(9)
    m = machine(i)
    counter = lane({i: 1}, 0)
    before = less(counter, 1)  # i - 1
    assert not bounds.holds(m, before)
    above = known(m, "gt", counter, 0)
    assert not bounds.holds(m, before)  # the condition was asked, and does not hold here
    m.here = above
    assert bounds.holds(m, before)
    assert bounds.holds(m, ({i: 2}, -2)) and bounds.holds(m, ({i: 3}, -1))  # 2·(i - 1), 3·i - 1
    assert not bounds.holds(m, ({i: 1}, -2)) and not bounds.holds(m, ({i: 2}, -3)) and not bounds.holds(m, ({i: -1}, 0))
    m.here = m.masks.negate(above)
    assert not bounds.holds(m, before) and bounds.holds(m, ({i: -1}, 0))  # i <= 0


def test_conditions_of_loops_around_count_and_those_of_other_loops_do_not():
    outer = Counted(9)
    inner = Counted(9, outer)
    other = Counted(9)
    m = machine(inner)
    masks = [known(m, "gt", lane({loop: 1}, 0), 2) for loop in (outer, inner, other)]
    asked = [({loop: 1}, -3) for loop in (outer, inner, other)]
    assert [bounds.holds(m, x) for x in asked] == [False, False, False]
    outer.context = masks[0]
    assert [bounds.holds(m, x) for x in asked] == [True, False, False]
    inner.going = masks[1]
    assert [bounds.holds(m, x) for x in asked] == [True, True, False]
    m.here = masks[2]
    assert [bounds.holds(m, x) for x in asked] == [True, True, False]  # its iterations are over


def test_two_facts_together_and_no_more():
    a, b, c = (Counted(9) for _ in "abc")
    b.outer, c.outer, b.depth, c.depth = a, b, 1, 2
    m = machine(c)
    here = TRUE
    for loop in (a, b, c):
        here = m.masks.both_of(here, known(m, "gt", lane({loop: 1}, 0), 1))
    m.here = here
    assert bounds.holds(m, ({a: 1, b: 1}, -4)) and not bounds.holds(m, ({a: 1, b: 1}, -5))
    assert not bounds.holds(m, ({a: 1, b: 1, c: 1}, -6))  # it is so, and is not looked for
    m.facts.clear()
    m.here = known(m, "ge", lane({a: 1}, 0), lane({b: 1}, 1))  # a > b
    assert bounds.holds(m, ({a: 1, b: -1}, -1)) and bounds.holds(m, ({a: 2, b: -2}, -2))
    assert not bounds.holds(m, ({a: 1, b: -1}, -2)) and not bounds.holds(m, ({b: 1, a: -1}, 0))
    m.facts.clear()
    m.here = known(m, "le", lane({a: 2}, 0), 7)
    assert bounds.holds(m, ({a: -1}, 7))  # 7 - a = (7 - 2·a) + a


@pytest.mark.parametrize("seed", range(6))
def test_what_follows_is_so_in_all_iterations_in_which_the_facts_hold(seed):
    r = random.Random(seed)
    followed = 0
    for _ in range(150):
        outer, inner, iterations = nested(r.choice(["a square", "a triangle"]))
        m, asked = machine(inner), []
        for _ in range(r.randint(1, 3)):
            how, holds = r.choice(HOW), r.random() < 0.5
            a, b = (
                lane({r.choice([outer, inner]): r.choice([-1, 1, 2])}, r.randint(-3, 3)),
                affine_numbers(r, outer, inner),
            )
            asked.append((how, a, b, holds))
            m.here = m.masks.both_of(m.here, known(m, how, a, b, holds))
        here = [i for i in iterations if all(getattr(operator, how)(at(a, i), at(b, i)) is h for how, a, b, h in asked)]
        x = affine_numbers(r, outer, inner)
        if bounds.holds(m, less(x, 0)):
            followed += 1
            assert all(at(x, i) >= 0 for i in here)
    assert followed > 20


def test_no_more_facts_are_tried_than_eight():
    i = Counted(99)
    m = machine(i)
    for k in range(9):
        m.here = m.masks.both_of(m.here, known(m, "ge", lane({i: 1}, 0), 9 - k))
    assert bounds.holds(m, ({i: 1}, -9)) and bounds.MAX_FACTS == 8
    m.facts = dict(reversed(m.facts.items()))
    assert not bounds.holds(m, ({i: 1}, -9)) and bounds.holds(m, ({i: 1}, -8))


def test_a_constant_index_is_counted_from_the_first_item():
    m = machine()
    assert [bounds.inside(m, k, 3) for k in range(-4, 4)] == [None, 0, 1, 2, 0, 1, 2, None]


@pytest.mark.parametrize(
    ("by", "offset", "first", "last"),
    [(1, 0, 0, 4), (1, 1, 1, 5), (1, 2, None, None), (-1, 4, 4, 0), (1, -6, 0, 4), (1, -5, 1, 5), (1, -7, None, None),
     (-1, -1, 5, 1), (2, -3, 3, 5), (1, -1, 5, 3)],
)  # fmt: skip
def test_an_index_by_a_counter_is_counted_from_the_first_item(by, offset, first, last):
    """Of a list of six items, in the first and in the last of five iterations; None where it may be outside."""
    i = Counted(5)
    numbers = []
    for iteration in (0, 4):
        index = Lane(int, Value(float(by * iteration + offset)), {i: by}, offset)
        found = bounds.inside(machine(i), index, 6)
        numbers.append(None if found is None else float(getattr(found.value, "data", found.value)))
        if found is not None:
            assert 0 <= found.ends()[0] <= numbers[-1] <= found.ends()[1] < 6
            wraps = by * 4 + offset >= 0 > offset  # negative in some iterations alone
            assert (found.terms is None) == wraps and (wraps or at(found, {i: iteration}) == numbers[-1])
    assert numbers == [first, last]


def test_an_index_that_is_a_remainder_may_be_negative_too():
    m = machine(Counted(5))
    for ends, number, expected in (
        ((0, 5), 2.0, 2.0),
        ((-6, -1), -2.0, 4.0),
        ((-3, 3), -3.0, 3.0),
        ((-3, 3), 3.0, 3.0),
        ((-3, 3), 0.0, 0.0),
    ):
        index = Lane(int, Value(number), within=ends)
        found = bounds.inside(m, index, 6)
        assert (found is index) == (ends[0] == 0)
        assert found.value.data == expected
        assert 0 <= found.within[0] <= expected <= found.within[1] < 6 and found.terms is None
    assert bounds.inside(m, Lane(int, Value(0.0), within=(0, 6)), 6) is None
    assert bounds.inside(m, Lane(int, Value(0.0), within=(-7, 0)), 6) is None


def test_an_index_into_a_list_whose_length_changes():
    i = Counted(5)
    m = machine(i)
    length = lane({i: 1}, 2)  # it has i + 2 items
    counter, remainder = lane({i: 1}, 1), Lane(int, Value(0.0), within=(0, 1))
    assert bounds.inside(m, counter, length) is counter
    assert bounds.inside(m, 1, length) == 1
    for outside in (2, -1, lane({i: 1}, 2), lane({i: -1}, 0), remainder):
        assert bounds.inside(m, outside, length) is None


@pytest.mark.parametrize("index", [Lane(float, Value(1.0), most=1), Lane(int, Value(1.0), most=1), 1.5])
def test_an_index_of_which_nothing_is_known_is_refused(index):
    with pytest.raises(Unsupported, match="an index that changes"):
        bounds.inside(machine(Counted(5)), index, 6)


def test_an_index_into_a_loop_without_a_known_end_is_not_inside():
    i = Counted(None)
    m = machine(i)
    assert bounds.inside(m, lane({i: 1}, 0), 6) is None
    m.here = known(m, "lt", lane({i: 1}, 0), 6)
    found = bounds.inside(m, counter := lane({i: 1}, 0), 6)
    assert found is counter


def test_the_truth_of_a_counter():
    i = Counted(5)
    m = machine(i)
    assert bounds.truth(m, lane({i: 1}, 1)) is TRUE and bounds.truth(m, lane({i: 0}, 0)) is FALSE
    assert m.by_iteration == 0 and m.facts == {}
    for number in (0.0, 1.0, 3.0):
        counter = Lane(int, Value(number), {i: 1}, 0)
        mask = bounds.truth(m, counter)
        assert m.masks.value(mask).data == float(number != 0.0)
    assert m.by_iteration == 3
    m.here = mask
    assert bounds.holds(m, ({i: 1}, -1))
    m.here = m.masks.negate(mask)
    assert bounds.truth(m, counter) is FALSE  # only rows that are here
