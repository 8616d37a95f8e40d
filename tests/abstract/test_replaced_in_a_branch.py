"""Lists and objects that a branch of a loop replaces: their contents are carried, where nobody can tell."""

from __future__ import annotations

import math
import random

import pytest
import running

from micrograd import grad, jit
from micrograd.abstract import Refused
from random_programs import needs_llvm


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def squared(self):
        return self.x * self.x + self.y * self.y


class Same(Point):
    def __eq__(self, other):
        return self is other


class Segment:
    def __init__(self, a, b, name):
        self.a, self.b, self.name = a, b, name

    def moved(self, by):
        return Segment(Point(self.a.x + by, self.a.y), Point(self.b.x, self.b.y - by), self.name)


def a_list(x, y, n):
    at, best = [x, y], x * x + y * y
    for k in range(n):
        trial = [v * 0.9 - 0.1 * math.sin(k * v) for v in at]
        value = trial[0] * trial[0] + trial[1] * trial[1]
        if value < best:
            at, best = trial, value
    return at[0] + 2.0 * at[1]


def an_alias_that_is_read(x, y, n):
    start = [x, y]
    at = start
    for k in range(n):
        if math.sin(k + x) > 0.3:
            at = [at[1] * 0.9, at[0] + y]
    return at[0] * start[1] + at[1]


def two_names(x, y, n):
    a, b = [x, y], [y, x]
    for k in range(n):
        trial = [a[0] * 0.5 + k, b[1] * 0.25 - x]
        if trial[0] > 2.0:
            a = trial
        if trial[1] < 0.0:
            b = trial
    return a[0] + 3.0 * b[0] + a[1] * b[1]


def best_and_last(x, y, n):
    last, best, low = Point(x, y), Point(x, y), 1e9
    for k in range(n):
        last = Point(last.y * 0.9, last.x + 0.1 * k * y)
        if last.squared() < low:
            best, low = last, last.squared()
    return best.x * last.y + best.y


def nested(x, y, n):
    s = Segment(Point(x, y), Point(y, 1.0), "s")
    for k in range(n):
        new = s.moved(0.1 * k * x)
        if new.a.x * new.b.y < 4.0:
            s = new
    return s.a.x + s.b.y * s.a.y


def of_other_lengths(x, y, n):
    at = [x]
    for k in range(n):
        if math.sin(k * y) > 0.0:
            at = [v * 0.9 for v in at] if len(at) > 3 else [*at, y]
    return sum(at) + at[0] * len(at)


def as_long_as_n(x, y, n):
    at = [x + k * y for k in range(n)]
    low = sum(v * v for v in at)
    for k in range(n):
        trial = [v - 0.1 * v * v / (k + 1.0) for v in at]
        value = sum(v * v for v in trial)
        if value < low:
            at, low = trial, value
    return sum(at)


def none_at_first(x, y, n):
    best, at = None, [x, y]
    for k in range(n):
        at = [at[1] * 0.9, at[0] + 0.1 * k]
        if best is None or at[0] < best[0]:
            best = at
    return at[0] if best is None else best[0] + best[1]


def in_an_attribute(x, y, n):
    s = Segment([x, y], [y, x], "s")
    for k in range(n):
        if s.a[0] < 5.0:
            s.a = [s.a[0] + 0.5 + x * x, s.b[0]]
        else:
            s.b = [s.a[1] * 0.5, x]
            s.a = [x, y + k]
    return s.a[0] * s.b[1] + s.b[0]


def in_two_loops(x, y, n):
    at = [x, y]
    for k in range(n):
        new = [at[0] * 0.5, at[1]]
        for j in range(k):
            if new[0] < j:
                new = [new[0] + 0.25, new[1] + y]
        if new[1] < 8.0:
            at = new
    return at[0] + at[1]


def in_nested_lists(x, y, n):
    m = [[x, 0.0], [y, x]]
    for _ in range(n):
        if m[0][0] < 3.0:
            m = [[m[1][0] + 1.0, m[0][1]], [m[1][1] * y, m[0][0]]]
    return m[0][0] + m[1][1]


# those in which a copy could be told from the object


def changed_in_place(x, y, n):
    at = [x, y]
    for _ in range(n):
        if at[0] > 1.0:
            at = [at[0] * 0.5, at[1] + 1.0]
        at[0] += 0.3
    return at[0] + at[1]


def an_alias_that_is_changed(x, y, n):
    start = [x, y]
    at = start
    for k in range(n):
        start[0] += 0.1
        if k > 3 and at[0] > y:
            at = [at[0] * 0.5, at[1] + 1.0]
    return at[0] + at[1] + start[0]


def an_alias_that_is_changed_afterwards(x, y, n):
    start = [x, y]
    at = start
    for k in range(n):
        if k > 100 * y:
            at = [at[0] * 0.5, at[1] + 1.0]
    start[0] += 1.0
    return at[0] + at[1] + start[0]


def a_source_that_goes_on(x, y, n):
    at, last = [x, y], [y, x]
    for k in range(n):
        last[0] += 0.5
        last = [last[1] * 0.9, last[0]]
        if math.sin(k) > 0.4:
            at = last
    return at[0] + last[1] * at[1]


def a_source_that_is_changed_afterwards(x, y, n):
    at, last = [x, y], [y, x]
    for k in range(n):
        last = [last[1] * 0.9, last[0] + k]
        if math.sin(k * x) > 0.4:
            at = last
    last[0] += 10.0
    return at[0] + last[1] * at[1]


def asked(x, y, n):
    start = [x, y]
    at, same = start, 0
    for k in range(n):
        if math.sin(k * x) > 0.9:
            at = [at[0] * 0.5, at[1] + 1.0]
        if at is start:
            same += 1
    return at[0] + at[1] + same


def asked_afterwards(x, y, n):
    start = [x, y]
    at = start
    for k in range(n):
        if math.sin(k * x) > 0.9:
            at = [at[0] * 0.5, at[1] + 1.0]
    return at[0] + (1.0 if at is start else 2.0)


def equal_by_identity(x, y, n):
    start = at = Same(x, y)
    for k in range(n):
        if math.sin(k * x) > 0.9:
            at = Same(at.x * 0.5, at.y)
    return at.x + (1.0 if at == start else 2.0)


def an_inner_object_that_is_changed(x, y, n):
    inner = Point(x, y)
    s = Segment(inner, Point(1.0, y), "s")
    for k in range(n):
        inner.x += 0.5
        if math.sin(k) > 0.5:
            s = Segment(inner, Point(s.a.x, s.b.y + 1.0), "s")
    return s.a.x + s.b.x * s.b.y


def kept_in_a_list(x, y, n):
    at, seen = [x, y], []
    for k in range(n):
        new = [at[0] * 0.5 + k, at[1] - x]
        seen.append(new)
        if math.sin(k) > 0.2:
            at = new
        seen[0][0] += 1.0
    return at[0] + seen[0][0] if seen else at[0]


def appended_to(x, y, n):
    at = [x]
    for k in range(n):
        if math.sin(k * y) > 0.5:
            at = [at[-1] * 0.5]
        at.append(at[-1] + 0.1)
    return sum(at)


LOOPS = [a_list, an_alias_that_is_read, two_names, best_and_last, nested, of_other_lengths, as_long_as_n, in_an_attribute,
         in_two_loops, in_nested_lists]  # fmt: skip
OTHERS = [none_at_first, changed_in_place, an_alias_that_is_changed, an_alias_that_is_changed_afterwards,
          a_source_that_goes_on, a_source_that_is_changed_afterwards, asked, asked_afterwards, equal_by_identity,
          an_inner_object_that_is_changed, kept_in_a_list, appended_to]  # fmt: skip


def rows(most):
    r = random.Random(1)
    return [(r.uniform(0.1, 2.0), r.uniform(0.1, 2.0), n) for n in (0, 1, 2, most, most - 1)]


@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_that_replaces_an_object_stays_a_loop(program):
    found = running.staged(program, (0.5, 0.75, 30))
    assert found.loops
    assert len(str(found.tape).splitlines()) < 200
    for row in rows(30):
        assert running.equal(running.run(found, row), program(*row)), row


@pytest.mark.parametrize("program", OTHERS, ids=lambda f: f.__name__)
def test_a_copy_that_could_be_told_is_not_made(program):
    for row in rows(6):
        try:
            found = running.staged(program, row)  # a loop that is unrolled is that of one n
        except Refused:
            continue
        assert running.equal(running.run(found, row), program(*row)), row


@needs_llvm
@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_compiled_and_differentiated(program):
    pytest.importorskip("numpy", reason="typed tapes need NumPy")
    compiled, slope = jit(program), jit(grad(program))
    for x, y, n in rows(9)[2:]:
        assert compiled(x, y, n) == program(x, y, n)
        assert slope(x, y, n) == pytest.approx(grad(program)(x, y, n), rel=1e-12, abs=1e-12)
