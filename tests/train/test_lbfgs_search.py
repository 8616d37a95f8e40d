"""The parts of L-BFGS beside their definitions: the cubic, the line search, the direction, the limits of a step."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest

from micrograd import Value, optim
from micrograd.optim import lbfgs
from micrograd.optim.lbfgs import CURVATURE, DECREASE


def ends(p, *places):
    """(place, value, gradient, slope) of a polynomial, as the search keeps them."""
    d = np.polyder(p)
    return [(x, float(np.polyval(p, x)), None, float(np.polyval(d, x))) for x in places]


CUBICS = [([1.0, -3.0, 0.5, 2.0], 0.5, 3.0), ([0.25, -1.0, -2.0, 0.0], 0.0, 5.5), ([-1.0, 4.0, -1.0, 0.0], -1.0, 0.75),
          ([0.0, 2.0, -3.0, 1.0], -0.5, 3.0), ([2.0, 1.0, -8.0, 4.0], 0.1, 2.0)]  # fmt: skip


@pytest.mark.parametrize(("p", "x", "y"), CUBICS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_between_two_points_is_the_minimum_of_their_cubic(p, x, y, turned, scale):
    """Kept a tenth of the width away from both."""
    p = [scale * c for c in p]
    lowest = [
        r.real for r in np.roots(np.polyder(p)) if abs(r.imag) < 1e-12 and np.polyval(np.polyder(p, 2), r.real) > 0
    ]
    a, b = ends(p, y, x) if turned else ends(p, x, y)
    nearest, farthest = x + 0.1 * (y - x), x + 0.9 * (y - x)
    assert len(lowest) == 1
    assert lbfgs._between(a, b) == pytest.approx(min(max(lowest[0], nearest), farthest), rel=1e-12)


@pytest.mark.parametrize(("p", "x", "y"), CUBICS[:1])
@pytest.mark.parametrize("turned", [False, True])
def test_a_minimum_outside_is_moved_a_tenth_inside(p, x, y, turned):
    for left, right, expected in ((2.5, 6.5, 2.9), (-0.5, 1.5, 1.3)):
        a, b = ends(p, right, left) if turned else ends(p, left, right)
        assert lbfgs._between(a, b) == pytest.approx(expected, rel=1e-12)


def test_without_a_cubic_it_is_the_middle():
    nan = math.nan
    for end in ((3.0, math.inf, None, 1.0), (3.0, 1.0, None, nan), (3.0, nan, None, nan)):
        assert lbfgs._between((1.0, 0.0, None, -1.0), end) == 2.0
    assert lbfgs._between((1.0, 0.0, None, 1.0), (3.0, 2.0, None, 1.0)) == 2.0  # a line


class OnALine:
    """A function of one number in place of a point of many; it counts."""

    def __init__(self, f, slope):
        self.f, self.d, self.lengths, self.moves = f, slope, [], []

    def look(self, start, direction, length):
        self.lengths.append(length)
        return self.f(length), ("gradient at", length), self.d(length)

    def move(self, start, direction, length):
        self.moves.append(length)


SLOPED = {
    "a parabola": (lambda t: (t - 3.0) ** 2, lambda t: 2.0 * (t - 3.0)),
    "a steep one": (lambda t: 50.0 * (t - 0.02) ** 2, lambda t: 100.0 * (t - 0.02)),
    "a quartic": (lambda t: (t - 2.0) ** 4 - t, lambda t: 4.0 * (t - 2.0) ** 3 - 1.0),
    "with a wall": (lambda t: -t + (math.inf if t > 5.0 else 0.05 * t * t), lambda t: -1.0 + 0.1 * t if t <= 5.0 else math.nan),
    "waves": (lambda t: math.cos(2.0 * t) - 0.3 * t, lambda t: -2.0 * math.sin(2.0 * t) - 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPED)
@pytest.mark.parametrize("first", [1e-3, 0.3, 1.0, 40.0])
def test_a_length_fulfils_the_strong_wolfe_conditions(name, first):
    f, d = SLOPED[name]
    point = OnALine(f, d)
    length, loss, gradient = lbfgs._search(point, None, None, first, f(0.0), "start", d(0.0), 40)
    assert length > 0.0 and loss == f(length) and gradient == ("gradient at", length)
    assert loss <= f(0.0) + DECREASE * length * d(0.0)
    assert abs(d(length)) <= CURVATURE * abs(d(0.0))
    assert point.lengths[0] == first and point.lengths[-1] == length and not point.moves
    assert len(point.lengths) <= 14


def test_a_length_grows_fourfold_as_long_as_it_goes_down():
    f, d = (lambda t: -t), (lambda t: -1.0)
    point = OnALine(f, d)
    assert lbfgs._search(point, None, None, 0.5, 0.0, "start", -1.0, 4) == (32.0, -32.0, ("gradient at", 32.0))
    assert point.lengths == [0.5, 2.0, 8.0, 32.0] and point.moves == [32.0]


def test_where_evaluations_do_not_suffice_the_best_length_is_taken():
    f, d = SLOPED["a steep one"]
    point = OnALine(f, d)
    assert lbfgs._search(point, None, None, 1000.0, f(0.0), "start", d(0.0), 1) == (0.0, f(0.0), "start")
    assert point.moves == [0.0]


def test_a_function_that_only_rises_is_left_alone():
    point = OnALine(lambda t: t, lambda t: 1.0)
    assert lbfgs._search(point, None, None, 1.0, 0.0, "start", -1.0, 300) == (0.0, 0.0, "start") and point.moves == [
        0.0
    ]
    assert 20 < len(point.lengths) < 200  # the bracket has become a point


def test_the_direction_is_that_of_the_inverse_hessian_of_all_pairs():
    """BFGS by its matrices: H becomes (I - r·s·yᵀ)·H·(I - r·y·sᵀ) + r·s·sᵀ, from sᵀy / yᵀy · I on."""
    r = np.random.default_rng(0)
    n = 5
    hessian = np.diag([1.0, 2.0, 3.0, 5.0, 8.0]) + 0.1
    optimizer = optim.LBFGS([Value(0.0) for _ in range(n)])
    for count in range(4):
        steps = [r.normal(size=n) for _ in range(count)]
        optimizer._pairs = [(array("d", s), array("d", hessian @ s)) for s in steps]
        g = r.normal(size=n)
        inverse = np.eye(n)
        if steps:
            s, y = steps[-1], hessian @ steps[-1]
            inverse = np.eye(n) * (s @ y) / (y @ y)
        for s in steps:
            y = hessian @ s
            left = np.eye(n) - np.outer(s, y) / (s @ y)
            inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
        assert list(optimizer._direction(array("d", g))) == pytest.approx(list(-inverse @ g), rel=1e-12)


def quadratic(ps, scales):
    def closure():
        total = Value(0.0)
        for p, s in zip(ps, scales):
            total = total + s * (p - 1.0) * (p - 1.0)
        return total

    return closure


def test_a_quadratic_is_solved_and_the_state_goes_on():
    ps = [Value(0.0) for _ in range(4)]
    optimizer = optim.LBFGS(ps, max_iter=3)
    closure = quadratic(ps, [1.0, 2.0, 5.0, 9.0])
    losses = [optimizer.step(closure)]
    assert optimizer.steps == 3 and len(optimizer._pairs) == 3
    qs = [Value(p.data) for p in ps]
    other = optim.LBFGS(qs, max_iter=3)
    other.load_state_dict(optimizer.state_dict())
    losses.append(optimizer.step(closure))
    assert other.step(quadratic(qs, [1.0, 2.0, 5.0, 9.0])) == losses[1] < 2e-3 * losses[0]
    assert [q.data for q in qs] == [p.data for p in ps] and other.steps == optimizer.steps
    for _ in range(3):
        optimizer.step(closure)
    assert [p.data for p in ps] == pytest.approx([1.0] * 4, abs=1e-7)
    with pytest.raises(ValueError, match="no curvature of 3 parameters"):
        optim.LBFGS([Value(0.0) for _ in range(3)]).load_state_dict(other.state_dict())


def test_no_more_pairs_are_kept_than_history_size():
    ps = [Value(0.0) for _ in range(4)]
    optimizer = optim.LBFGS(ps, max_iter=4, history_size=2)
    optimizer.step(quadratic(ps, [1.0, 2.0, 5.0, 9.0]))
    assert optimizer.steps == 4 and len(optimizer._pairs) == 2


def test_a_step_ends_where_gradients_or_changes_are_small():
    ps = [Value(1.0 + 1e-9), Value(1.0)]
    optimizer = optim.LBFGS(ps)
    optimizer.step(quadratic(ps, [1.0, 1.0]))
    assert optimizer.evaluations == 1 and optimizer.steps == 0
    ps = [Value(3.0), Value(-2.0)]
    optimizer = optim.LBFGS(ps, max_iter=100, tolerance_grad=0.0)
    optimizer.step(quadratic(ps, [1.0, 1.0]))
    assert optimizer.steps < 20


def test_the_first_step_is_no_longer_than_the_learning_rate():
    ps = [Value(5.0)]
    seen = []

    def closure():
        seen.append(ps[0].data)
        return ps[0] * ps[0] * 10.0

    optim.LBFGS(ps, lr=0.5, max_iter=1).step(closure)
    assert seen[:2] == [5.0, pytest.approx(5.0 - 0.5)]  # along the gradient of 100, by 0.5 / 100 of it
    small = [Value(0.01)]
    seen_small = []

    def other():
        seen_small.append(small[0].data)
        return small[0] * small[0]

    optim.LBFGS(small, lr=0.5, max_iter=1).step(other)
    assert seen_small[1] == pytest.approx(0.01 - 0.5 * 0.02)


@pytest.mark.parametrize("setting", ["max_iter", "history_size", "max_evaluations"])
def test_counts_are_whole_and_positive(setting):
    for bad in (0, -1, 1.5, math.nan):
        with pytest.raises(ValueError, match=setting):
            optim.LBFGS([Value(1.0)], **{setting: bad})
    optim.LBFGS([Value(1.0)], **{setting: 1})


@pytest.mark.parametrize("setting", ["tolerance_grad", "tolerance_change"])
def test_tolerances_are_not_negative(setting):
    for bad in (-1e-9, math.inf, math.nan):
        with pytest.raises(ValueError, match=setting):
            optim.LBFGS([Value(1.0)], **{setting: bad})
    optim.LBFGS([Value(1.0)], **{setting: 0.0})


def scripted(*seen):
    """A point at whose n-th look the function and its slope are these; then it is a steep wall."""
    looks = iter(seen)
    point = OnALine(None, None)

    def look(start, direction, length):
        point.lengths.append(length)
        f, d = next(looks, (1e9, 1e9))
        return f, None, d

    point.look = look
    return point


def test_a_length_that_is_no_better_than_a_shorter_one_ends_the_bracket():
    """Though it decreases enough, and still goes down there."""
    point = scripted((-0.5, -2.0), (-0.4, -2.0))
    lbfgs._search(point, None, None, 0.1, 0.0, None, -1.0, 3)
    assert point.lengths[:2] == [0.1, 0.4] and 0.1 < point.lengths[2] < 0.4


@pytest.mark.parametrize("there", [5.0, -1e-5])
def test_behind_a_minimum_the_bracket_is_on_the_near_side(there):
    point = scripted((there, 10.0), (-0.05, 0.95))
    lbfgs._search(point, None, None, 1.0, 0.0, None, -1.0, 3)
    assert 0.0 < point.lengths[2] < point.lengths[1] < point.lengths[0] == 1.0


def test_a_length_that_decreases_too_little_is_not_taken():
    for there in (5e-5, -5e-5):
        point = scripted((there, 0.0))
        assert lbfgs._search(point, None, None, 1.0, 0.0, "start", -1.0, 1) == (0.0, 0.0, "start")
    point = scripted((-2e-4, 0.0))
    assert lbfgs._search(point, None, None, 1.0, 0.0, "start", -1.0, 1)[0] == 1.0


def test_several_groups_are_refused():
    with pytest.raises(ValueError, match="group"):
        optim.LBFGS([{"params": [Value(1.0)]}, {"params": [Value(2.0)]}])


def test_a_direction_that_goes_uphill_is_forgotten():
    """A pair of negative curvature gives one; then the step is that of an optimizer without any pair."""
    ends = []
    for pairs in ([(array("d", [1.0]), array("d", [-1.0]))], []):
        p, seen = Value(0.5), []

        def closure(p=p, seen=seen):
            seen.append(p.data)
            return p * p * 0.5

        optimizer = optim.LBFGS([p], max_iter=1, lr=0.5)
        optimizer._pairs = list(pairs)
        if pairs:
            assert list(optimizer._direction(array("d", [0.5]))) == [0.5]
        loss = optimizer.step(closure)
        ends.append((p.data, loss, seen, optimizer._pairs))
    assert ends[0] == ends[1] and ends[0][1] < 0.125


@pytest.mark.parametrize(
    ("length", "before", "after", "ends"),
    [
        (1.0, 0.5, 0.5, False), (1e-4, 0.5, 1.5, False), (1e-4, 0.5, 0.5001, True), (1e-4, 0.5, 0.5015, False),
        (1e-4, 1000.0, 999.5, True), (1e-4, 1000.0, 998.5, False), (1e-4, -0.5, 0.5, False), (0.0, 0.5, 9.0, True),
        (2e-3, 0.5, 0.5, False),
    ],
)  # fmt: skip
def test_a_step_goes_on_until_loss_and_parameters_are_still(monkeypatch, length, before, after, ends):
    losses = [after, before] * 5
    monkeypatch.setattr(lbfgs, "_search", lambda *args: (length, losses.pop(0), args[5]))
    p = Value(1.0)
    optimizer = optim.LBFGS([p], max_iter=4, tolerance_change=1e-3)
    optimizer.step(lambda: p + (before - 1.0))
    assert optimizer.steps == (1 if ends else 4)


def test_the_loss_is_not_evaluated_more_often_than_needed():
    for most, expected in ((25, 2), (1, 3)):
        p, seen = Value(1.0), []

        def closure(p=p, seen=seen, most=most):
            seen.append(p.data)
            return p * p * (1.0 if most == 25 else 100.0)

        optimizer = optim.LBFGS([p], max_iter=1, max_evaluations=most, lr=1.0 if most == 25 else 1000.0)
        optimizer.step(closure)
        assert optimizer.evaluations == len(seen) == expected
        assert seen[-1] == p.data == (0.0 if most == 25 else 1.0)
