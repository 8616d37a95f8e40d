"""Learning rates, step by step, compared with their formulas."""

from __future__ import annotations

import math

import pytest

from micrograd import optim
from micrograd.optim.schedules import is_constant


def wave(start, end, done):
    """Half a cosine from start to end."""
    return end + (start - end) * (1.0 + math.cos(math.pi * done)) / 2.0


def test_a_constant_is_known():
    assert optim.constant(0.5)(3) == 0.5 and optim.constant(0.0)(0) == 0.0
    assert is_constant(optim.constant(0.5))
    assert not is_constant(optim.linear(0.5, 0.5, 3)) and not is_constant(lambda k: 0.5)


def test_a_cosine_stays_at_its_end():
    rate = optim.cosine(0.5, 0.1, 20)
    assert [rate(k) for k in range(60)] == [wave(0.5, 0.1, min(k / 20, 1.0)) for k in range(60)]
    rate = optim.cosine(0.5, 0.1, 20, warmup=4)
    assert [rate(k) for k in range(5)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert [rate(k) for k in range(4, 60)] == [wave(0.5, 0.1, min(k / 20, 1.0)) for k in range(56)]


def test_steps_and_powers():
    rate = optim.step(0.5, 7)
    assert [rate(k) for k in range(30)] == [0.5 * 0.1 ** (k // 7) for k in range(30)]
    rate = optim.exponential(0.5, 0.9)
    assert [rate(k) for k in range(30)] == [0.5 * 0.9**k for k in range(30)]
    assert type(optim.step(1, 2, 2)(4)) is float


def test_restarts_of_one_length():
    for rate in (optim.warm_restarts(0.5, 0.1, 7), optim.warm_restarts(0.5, 0.1, 7, 1)):
        assert [rate(k) for k in range(40)] == [wave(0.5, 0.1, k % 7 / 7) for k in range(40)]


def test_restarts_that_grow():
    rate = optim.warm_restarts(0.5, 0.1, 5, 2)
    lengths = [(k / n) for n in (5, 10, 20) for k in range(n)]
    assert [rate(k) for k in range(35)] == pytest.approx([wave(0.5, 0.1, done) for done in lengths], rel=1e-15)


def test_a_far_step_of_restarts_is_found_at_once():
    assert optim.warm_restarts(1.0, 0.0, 4)(4 * 10**15 + 1) == wave(1.0, 0.0, 0.25)


def test_one_cycle_rises_and_falls():
    rate = optim.one_cycle(0.5, 100)
    first, last = 0.5 / 25.0, 0.5 / 25.0 / 1e4
    assert [rate(k) for k in range(30)] == pytest.approx([wave(first, 0.5, k / 29) for k in range(30)])
    assert [rate(k) for k in range(30, 100)] == pytest.approx([wave(0.5, last, (k - 29) / 70) for k in range(30, 100)])
    assert rate(29) == 0.5 and rate(99) == rate(100) == rate(1000) == pytest.approx(last)
    rate = optim.one_cycle(0.6, 11, rise=0.5, start_divisor=3.0, end_divisor=2.0)
    assert [rate(0), rate(10)] == pytest.approx([0.2, 0.1])


def test_one_cycle_of_few_steps():
    for steps in (1, 2, 3, 4):
        rates = [optim.one_cycle(0.5, steps, rise=0.4)(k) for k in range(6)]
        assert rates[steps - 1 :] == pytest.approx([0.5 / 25.0 / 1e4] * (7 - steps)), (steps, rates)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: optim.linear(1.0, 0.0, n),
        lambda n: optim.cosine(1.0, 0.0, n),
        lambda n: optim.step(1.0, n),
        lambda n: optim.warm_restarts(1.0, 0.0, n),
        lambda n: optim.warm_restarts(1.0, 0.0, 3, n),
        lambda n: optim.one_cycle(1.0, n),
        lambda n: optim.warmup(1.0, n),
    ],
)
def test_a_count_is_one_or_more(make):
    make(1)
    for n in (0, -1):
        with pytest.raises(ValueError, match="1 or more"):
            make(n)


def test_a_warmup_of_no_steps_is_none():
    assert optim.cosine(1.0, 0.0, 4, warmup=0)(0) == 1.0
    with pytest.raises(ValueError, match="warmup counts steps"):
        optim.cosine(1.0, 0.0, 4, warmup=-1)


@pytest.mark.parametrize("bad", [-1e-300, math.inf, math.nan])
@pytest.mark.parametrize(
    "make",
    [
        optim.constant,
        lambda x: optim.linear(x, 0.0, 3),
        lambda x: optim.linear(0.0, x, 3),
        lambda x: optim.cosine(x, 0.0, 3),
        lambda x: optim.cosine(0.0, x, 3),
        lambda x: optim.step(x, 3),
        lambda x: optim.exponential(x, 0.5),
        lambda x: optim.warm_restarts(x, 0.0, 3),
        lambda x: optim.warm_restarts(0.0, x, 3),
        lambda x: optim.one_cycle(x, 3),
        lambda x: optim.warmup(x, 3),
    ],
)
def test_a_rate_is_finite_and_not_negative(make, bad):
    make(0.0)
    with pytest.raises(ValueError, match="To climb"):
        make(bad)


@pytest.mark.parametrize("make", [lambda x: optim.step(1.0, 3, x), lambda x: optim.exponential(1.0, x)])
def test_a_factor_is_finite_and_not_negative(make):
    make(0.0)
    for bad in (-0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="is multiplied by it"):
            make(bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_divisors_and_shares_have_their_bounds(bad):
    optim.one_cycle(1.0, 9, 0.5, 1e-3, 1e-3)
    with pytest.raises(ValueError, match="start_divisor"):
        optim.one_cycle(1.0, 9, start_divisor=bad)
    with pytest.raises(ValueError, match="end_divisor"):
        optim.one_cycle(1.0, 9, end_divisor=bad)
    for rise in (bad, 1.0):
        with pytest.raises(ValueError, match="rise is a share"):
            optim.one_cycle(1.0, 9, rise=rise)
