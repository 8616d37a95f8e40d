"""filter, bisect and the functions of itertools that ask about items: merged, with the results of eager code."""

import bisect
import itertools

import numpy as np
import pytest

from micrograd import vmap
from micrograd.stage.errors import Unsupported
from micrograd.stage.staged import flat, stage
from micrograd.tree import NUMBER
from stage.programs import check_rows

ROWS = [[x, y] for x in (-1.5, -0.2, 0.0, 0.7, 2.5) for y in (-2.0, 0.3, 1.1)]
KNOTS, HEIGHTS = [0.0, 0.5, 1.0, 2.0, 4.0], [1.0, 2.0, 0.5, 3.0, 1.5]


def interpolation(x, y):
    i = min(max(bisect.bisect_right(KNOTS, x), 1), len(KNOTS) - 1)
    t = (x - KNOTS[i - 1]) / (KNOTS[i] - KNOTS[i - 1])
    return HEIGHTS[i - 1] * (1.0 - t) + HEIGHTS[i] * t + y


def bisection_of_values(x, y):
    return bisect.bisect_left([x, y, y + 1.0], 0.4) * x + bisect.bisect([0.0, 1.0], x, key=lambda k: k * y) + y


def filtered(x, y):
    total = 0.0
    for v in filter(lambda q: q > 0.0, [x, y, x * y]):
        total = total + v * v
    return total + sum(itertools.filterfalse(lambda q: q > 1.0, [x, y])) + len(list(filter(None, [x, 0.0, y])))


def dropped(x, y):
    return sum(itertools.dropwhile(lambda q: q < 0.5, [x, y, x + y, -1.0 * x]))


def taken_while(x, y):
    n = 0
    for v in itertools.takewhile(lambda q: q < 1.2, itertools.accumulate([abs(x), abs(y), 0.3 * x * x, 0.1])):
        n, y = n + 1, y + 0.1 * v
    return n * x + y


def list_of_taken(x, y):
    some = list(itertools.takewhile(lambda q: q < 1.2, [x, y, x * y, 0.2 * x]))
    return len(some) * y + sum(some)


def accumulated(x, y):
    falling = itertools.accumulate([x, y], lambda a, b: a * 0.5 + b, initial=1.0)
    return sum(itertools.accumulate([x, y, -x, 2.0 * y], max)) + list(falling)[-1]


def mapped(x, y):
    pairs = itertools.starmap(lambda a, b: a * b if a > b else b, [(x, y), (y, 1.0), (0.5, x)])
    return sum(pairs) + sum(a * b for a, b in zip(itertools.repeat(x, 3), [1.0, 2.0, y]))


def taken_in_one_arm(x, y):
    it = itertools.takewhile(lambda q: q < 1.0, [x, y, 0.1, 0.2])
    a = next(it, 5.0)
    b = next(it, 7.0) if x > y else 2.0
    return a + 2.0 * b + 3.0 * next(it, 9.0) * x


def accumulated_in_one_arm(x, y):
    it = itertools.accumulate([x, y, 1.0])
    if x > 0:
        next(it)
    return next(it) * 2.0 + y


def filtered_in_one_arm(x, y):
    it = filter(lambda q: q > 0.0, [x, y, 1.0, 2.0])
    if x > y:
        next(it)
    return next(it) * 2.0 + y


def zip_of_zip_in_one_arm(x, y):
    it = zip(zip([x, y, 1.0], [y, x, 2.0]), [1.0, 2.0, 3.0])
    if x > 0:
        next(it)
    (a, b), c = next(it)
    return a + 2.0 * b + 3.0 * c


MERGED = [interpolation, bisection_of_values, filtered, dropped, taken_while, list_of_taken, accumulated, mapped,
          taken_in_one_arm, accumulated_in_one_arm, filtered_in_one_arm, zip_of_zip_in_one_arm]  # fmt: skip


@pytest.mark.parametrize("derived", ["value", "gradient"])
@pytest.mark.parametrize("f", MERGED, ids=lambda f: f.__name__)
def test_each_row_is_that_of_eager_code(f, derived):
    check_rows(f, derived, ROWS)


def effect_of_a_predicate(x, y):
    seen = []

    def positive(q):
        seen.append(q)
        return q > 0.0

    total = 0.0
    for v in filter(positive, [x, y, 1.0]):
        total = total + v * len(seen)
    return total


def left_by_takewhile(x, y):
    it = iter([x, y, 1.0, 2.0])
    total = sum(itertools.takewhile(lambda q: q < 1.0, it))
    return total + 3.0 * sum(it)


@pytest.mark.parametrize("f", [effect_of_a_predicate, left_by_takewhile], ids=lambda f: f.__name__)
def test_what_is_not_the_same_when_merged_is_kept_apart(f):
    with pytest.raises(Unsupported):
        stage(f, flat(("tuple", (NUMBER, NUMBER))), ROWS[0])
    xs, ys = np.array(ROWS).T
    assert vmap(f)(xs, ys).tolist() == [f(x, y) for x, y in ROWS]


def test_a_function_that_is_called_until_it_returns_an_object_is_merged():
    def until(x):
        total = 0.0
        items = [x, 2.0 * x, None]
        for v in iter(lambda: items.pop(0), None):
            total = total + v if v > 0 else total - v
        return total

    h = vmap(until)
    assert h(np.array([-1.0, 2.0])).tolist() == [3.0, 6.0]
    (variant,) = h.variants
    assert variant.trace.merged
