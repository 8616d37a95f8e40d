"""Slots: what an optimizer does with its parameters, in Python and in C, each compared with what its name says."""

from __future__ import annotations

import math
import random
from array import array

import pytest

from micrograd import Value
from micrograd.optim.slots import PythonSlots, Slots

KINDS = [PythonSlots] if Slots is PythonSlots else [Slots, PythonSlots]
RULE = "sgd_none_false_false"  # its constants are the learning rate and a sign
both = pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)


def parameters(grads):
    """Parameters with the numbers 1, 2, ... and these gradients."""
    found = [Value(float(i)) for i in range(1, len(grads) + 1)]
    for p, g in zip(found, grads):
        p.grad = g
    return found


@both
def test_no_parameter_is_frozen_at_first(make):
    ps = parameters([3.0, 4.0])
    slots = make(ps)
    assert len(slots) == 2 and slots.norm() == 5.0
    slots.copy("write", array("d", [7.0, 8.0]))
    assert [p.data for p in ps] == [7.0, 8.0]


@both
def test_zero_clears_frozen_gradients_too(make):
    ps = parameters([3.0, -4.0, math.nan])
    slots = make(ps)
    slots.freeze(b"\1\0\1")
    slots.zero()
    assert [p.grad for p in ps] == [0.0, 0.0, 0.0]


@both
@pytest.mark.parametrize("count", range(10))
def test_a_norm_and_a_product_add_every_number_once(make, count):
    rng = random.Random(count)
    a, b = ([float(rng.randrange(-9, 10)) for _ in range(count)] for _ in range(2))
    assert make.dot(array("d", a), array("d", b)) == sum(
        x * y for x, y in zip(a, b)
    )  # integers: every order gives the same
    assert make(parameters(a)).norm() == math.sqrt(sum(x * x for x in a))


@both
def test_a_norm_leaves_out_frozen_parameters(make):
    for grads in (
        [3.0, 1e9, 4.0],
        [3e200, 1e308, 4e200],
        [3e-200, 1.0, 4e-200],
        [3.0, math.nan, 4.0],
        [3.0, math.inf, 4.0],
    ):
        slots = make(parameters(grads))
        slots.freeze(b"\0\1\0")
        assert slots.norm() == pytest.approx(math.hypot(grads[0], grads[2]), rel=1e-15)
    slots.freeze(b"\1\1\1")
    assert slots.norm() == 0.0
    assert make([]).norm() == 0.0


@both
def test_a_norm_of_a_nan_is_nan_and_that_of_an_infinity_is_infinite(make):
    assert math.isnan(make(parameters([1.0, math.nan, math.inf])).norm())
    assert make(parameters([1.0, -math.inf])).norm() == math.inf
    assert make(parameters([1e-170, 0.0])).norm() == 1e-170  # its square is below what is added up as it is


@both
def test_gradients_within_the_limit_are_not_scaled(make):
    for limit, expected in ((10.0, [3.0, -4.0]), (2.5, [1.5, -2.0]), (7.0, [3.0, -4.0])):
        ps = parameters([3.0, -4.0])
        assert make(ps).clip_norm(limit) == 5.0
        assert [p.grad for p in ps] == pytest.approx(expected, rel=1e-6)
    ps = parameters([3.0, math.nan])
    assert math.isnan(make(ps).clip_norm(10.0)) and all(math.isnan(p.grad) for p in ps)


@both
def test_clipping_adds_what_pytorch_adds_to_a_norm(make):
    ps = parameters([3.0, -4.0])
    make(ps).clip_norm(1.0)
    assert [p.grad for p in ps] == [3.0 * (1.0 / (5.0 + 1e-6)), -4.0 * (1.0 / (5.0 + 1e-6))]


@both
def test_each_gradient_is_moved_into_the_limits(make):
    ps = parameters([3.0, -4.0, 0.5, -0.5, 2.0, math.inf, -math.inf, math.nan])
    make(ps).clip_value(2.0)
    assert [p.grad for p in ps[:-1]] == [2.0, -2.0, 0.5, -0.5, 2.0, 2.0, -2.0] and math.isnan(ps[-1].grad)


@both
def test_numbers_are_copied_out_and_back(make):
    ps = parameters([5.0, 6.0, 7.0])
    slots, buffer = make(ps), array("d", [0.0] * 3)
    slots.freeze(b"\0\1\0")
    slots.copy("read", buffer)
    assert list(buffer) == [1.0, 2.0, 3.0]
    slots.copy("gradients", buffer)
    assert list(buffer) == [5.0, 0.0, 7.0]
    slots.copy("write", array("d", [-1.0, -2.0, -3.0]))
    assert [p.data for p in ps] == [-1.0, 2.0, -3.0]
    assert [p.grad for p in ps] == [5.0, 6.0, 7.0]


@both
def test_a_multiple_is_added(make):
    x, y = array("d", [1.0, -2.0, 4.0]), array("d", [10.0, 20.0, 30.0])
    make.add(0.5, x, y)
    assert list(x) == [1.0, -2.0, 4.0] and list(y) == [10.5, 19.0, 32.0]


@both
def test_counts_that_do_not_fit_are_refused(make):
    slots, two = make(parameters([1.0])), array("d", [1.0, 2.0])
    with pytest.raises(ValueError):
        make.dot(array("d", [1.0]), two)
    for constants, kept in (((0.5,), ()), ((0.5, 1.0, 1.0), ()), ((0.5, 1.0), (two,))):
        with pytest.raises((TypeError, ValueError)):
            slots.update(make.rule(RULE), constants, kept)


@both
@pytest.mark.parametrize("limit", [math.inf, 100.0, 0.5])
def test_a_step_clears_sweeps_clips_and_updates(make, limit):
    a, b, _ = ps = parameters([9.0, 9.0, 9.0])
    slots = make(ps)
    assert slots.descend(a * 3.0 + b * 4.0, limit, ((slots, make.rule(RULE), (0.5, 1.0), ()),))
    factor = 1.0 if limit > 5.0 else limit / (5.0 + 1e-6)
    assert [p.grad for p in ps] == [3.0 * factor, 4.0 * factor, 0.0]
    assert [p.data for p in ps] == [1.0 - 0.5 * (3.0 * factor), 2.0 - 0.5 * (4.0 * factor), 3.0]


@both
@pytest.mark.parametrize("limit", [math.inf, 0.5])
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_step_with_a_gradient_that_is_not_finite_moves_nothing(make, limit, bad):
    ps = parameters([0.0, 0.0])
    slots = make(ps)
    assert not slots.descend(ps[0] * bad + ps[1], limit, ((slots, make.rule(RULE), (0.5, 1.0), ()),))
    assert [p.data for p in ps] == [1.0, 2.0]
