"""Losses beside mpmath: within 4 ulp over the whole range, and right at infinity."""

import math
import random

import pytest

from micrograd import Value, jit, losses

mpmath = pytest.importorskip("mpmath", reason="mpmath is the oracle here: pip install mpmath")


def ulps(got, exact):
    """The error in units of the last place of the exact result."""
    if math.isinf(float(exact)):
        return 0.0 if got == float(exact) else math.inf
    return float(abs(mpmath.mpf(got) - exact) / mpmath.mpf(math.ulp(float(exact)) or 5e-324))


def exact_cross_entropy(row, target):
    with mpmath.workdps(60):
        shifted = [mpmath.mpf(x) - mpmath.mpf(row[target]) for x in row]
        return mpmath.log1p(sum(mpmath.exp(d) for i, d in enumerate(shifted) if i != target))


def exact_binary(x, t):
    with mpmath.workdps(60):
        x, t = mpmath.mpf(x), mpmath.mpf(t)
        return t * mpmath.log1p(mpmath.exp(-x)) + (1 - t) * mpmath.log1p(mpmath.exp(x))


ROWS = [
    [30.0, 0.0],
    [0.0, 30.0],
    [30.7, 0.1],
    [1e6, 1e6 - 5.0, 1e6 - 20.0],
    [1e6 + 0.3, 1e6 - 19.1, 1e6 - 30.7],
    [700.3, 0.1, -0.7],
    [-0.1, -600.7, 13.3],
    [0.0, 0.0, 0.0, 0.0],
    [1e-9, -1e-9],
    [1e300, -1e300, 0.0],
    [-12.695053564202588, -29.41103341023683],
    [-1.7253267287681537, -34.03641624882733],
    [3.0645489415249756, -8.413440858990205, -4.6e140],
    *([random.Random(seed).gauss(0, 10.0 ** (seed % 4)) for _ in range(2 + seed % 6)] for seed in range(60)),
]


@pytest.mark.parametrize("kind", ["number", "value"])
def test_cross_entropy_is_within_4_ulp(kind):
    for row in ROWS:
        for target in range(len(row)):
            label = target if kind == "number" else Value(target)
            got = losses.cross_entropy([Value(x) for x in row], label).data
            assert ulps(got, exact_cross_entropy(row, target)) <= 4.0, (row, target)


def test_compiled_cross_entropy_is_within_4_ulp():
    for count in (2, 3):
        f = jit(lambda row, target: losses.cross_entropy(row, target), wait=True)
        for row in ROWS:
            if len(row) == count:
                for target in range(count):
                    assert ulps(f(row, target), exact_cross_entropy(row, target)) <= 4.0, (row, target)


@pytest.mark.parametrize("x", [0.0, -0.0, 1e-300, 1e-9, 0.3, 1.0, 30.0, 36.7, 40.0, 700.0, 745.0, 1e5, 1e300])
@pytest.mark.parametrize("t", [0.0, 1.0, 0.5, 0.001, 0.999])
def test_binary_cross_entropy_is_within_4_ulp(x, t):
    for sign in (x, -x):
        for label in (t, Value(t)):
            got = losses.binary_cross_entropy(Value(sign), label).data
            assert ulps(got, exact_binary(sign, t)) <= 4.0, sign


def test_binary_cross_entropy_is_smooth_at_zero():
    for t in (0.0, 0.25, 1.0):
        x = Value(0.0)
        losses.binary_cross_entropy(x, t).backward()
        assert x.grad == 0.5 - t


@pytest.mark.parametrize("name", ["mse", "mae", "huber"])
def test_errors_are_within_4_ulp(name):
    rng = random.Random(1)
    exact = {
        "mse": lambda e: e * e,
        "mae": abs,
        "huber": lambda e: e * e / 2 if abs(e) <= 1 else abs(e) - mpmath.mpf(0.5),
    }[name]
    for _ in range(500):
        p, t = (rng.gauss(0, 1) * 10.0 ** rng.randint(-8, 8) for _ in range(2))
        with mpmath.workdps(60):
            assert ulps(getattr(losses, name)(p, t), exact(mpmath.mpf(p) - mpmath.mpf(t))) <= 4.0


# ---- infinities


def slopes(f, *xs):
    values = [Value(x) for x in xs]
    loss = f(*values)
    loss.backward()
    return loss.data, [v.grad for v in values]


@pytest.mark.parametrize("label", [1, Value(1)])
def test_a_masked_logit_counts_for_nothing(label):
    loss, grads = slopes(lambda *row: losses.cross_entropy(list(row), label), -math.inf, 0.3, 0.1)
    alone, expected = slopes(lambda *row: losses.cross_entropy(list(row), 0), 0.3, 0.1)
    assert loss == pytest.approx(alone, rel=1e-15)
    assert grads == pytest.approx([0.0, *expected], rel=1e-14)


def test_a_masked_logit_counts_for_nothing_in_compiled_code():
    row = [Value(-math.inf), Value(0.3), Value(0.1)]
    f = jit(lambda label: losses.cross_entropy(row, label), wait=True)
    loss = f(1.0)
    loss.backward()
    assert loss.data == pytest.approx(losses.cross_entropy([0.3, 0.1], 0), rel=1e-14)
    assert row[0].grad == 0.0 and row[1].grad == pytest.approx(-row[2].grad, rel=1e-14)


@pytest.mark.parametrize("x", [math.inf, -math.inf])
def test_huber_has_a_bounded_slope_at_infinity(x):
    assert slopes(lambda p: losses.huber(p, 0.0, delta=2.0), x) == (math.inf, [math.copysign(2.0, x)])


@pytest.mark.parametrize("x, t, loss", [(math.inf, 1, 0.0), (-math.inf, 0, 0.0), (math.inf, 0, math.inf)])
def test_binary_cross_entropy_of_a_certain_prediction(x, t, loss):
    got, [slope] = slopes(lambda v: losses.binary_cross_entropy(v, t), x)
    assert got == loss and slope == (0.0 if loss == 0.0 else 1.0)
