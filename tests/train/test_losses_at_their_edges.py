"""Losses where few programs go: targets that make no sense, one class, infinite logits, ignored rows, one formula for all."""

from __future__ import annotations

import math

import pytest

from micrograd import Value, grad, losses
from micrograd.math import logsumexp


@pytest.mark.parametrize("target", [1.5, 2.0, -0.5, 1.0000001])
def test_a_share_outside_of_0_to_1_is_refused_or_nan(target):
    with pytest.raises(ValueError, match="from 0 to 1"):
        losses.binary_cross_entropy([0.3], [target])
    assert math.isnan(losses.binary_cross_entropy([Value(0.3)], [Value(target)]).data)


@pytest.mark.parametrize("target", [0.0, 1.0, 0.25])
def test_a_share_that_is_a_value_gives_the_loss_of_the_number(target):
    assert losses.binary_cross_entropy([0.3], [Value(target)]).data == losses.binary_cross_entropy([0.3], [target])


@pytest.mark.parametrize("target", [-1.0, 3.0, 0.5, math.nan])
def test_a_class_that_is_a_value_and_none_of_the_row_gives_nan(target):
    row = [Value(0.1), Value(0.2), Value(0.3)]
    assert math.isnan(losses.cross_entropy([row], [Value(target)]).data)


def test_an_ignored_row_counts_for_nothing_whatever_is_in_it():
    for strange in (math.inf, -math.inf, math.nan):
        row, other = [Value(strange), Value(1.0)], [Value(0.5), Value(2.0)]
        loss = losses.cross_entropy([row, other], [Value(-100.0), Value(1.0)], ignore_index=-100)
        loss.backward()
        want = [Value(0.5), Value(2.0)]
        alone = losses.cross_entropy([want], [1])
        alone.backward()
        assert [x.grad for x in row] == [0.0, 0.0]
        assert loss.data == pytest.approx(alone.data, rel=1e-15)
        assert [x.grad for x in other] == pytest.approx([x.grad for x in want], rel=1e-15)


def test_one_class_has_no_loss():
    assert losses.cross_entropy([3.0], 0) == 0.0
    assert losses.cross_entropy([[3.0], [-7.0]], [0, 0]) == 0.0
    x = Value(3.0)
    loss = losses.cross_entropy([[x]], [Value(0.0)])
    loss.backward()
    assert (loss.data, x.grad) == (0.0, 0.0)


def test_rows_and_targets_are_counted():
    with pytest.raises(ValueError, match="2 predictions and 1 targets"):
        losses.cross_entropy([[1.0, 2.0], [3.0, 4.0]], [0])
    with pytest.raises(ValueError, match="2 predictions and 3 targets"):
        losses.cross_entropy([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="not a one-hot list"):
        losses.cross_entropy([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [0, 1]])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_one_formula_is_the_plain_one_and_ends_with_its_block(smoothing):
    row, target = [0.4, -1.0, 2.5], 1

    def plain(*xs):
        whole = logsumexp(list(xs))
        spread = sum(whole - x for x in xs) / 3
        return (1 - smoothing) * (whole - xs[target]) + smoothing * spread

    with losses.one_formula():
        xs = [Value(x) for x in row]
        loss = losses.cross_entropy([xs], [target], label_smoothing=smoothing)
    loss.backward()
    assert loss.data == pytest.approx(plain(*row), rel=1e-14)
    assert [x.grad for x in xs] == pytest.approx(list(grad(plain, (0, 1, 2))(*row)), rel=1e-13)
    # A small loss has all its digits outside of the block, and loses them within it.
    sure = [50.0, 0.0]
    with losses.one_formula():
        assert losses.cross_entropy(sure, 0) == 0.0
    assert losses.cross_entropy(sure, 0) == pytest.approx(math.exp(-50.0), rel=1e-14, abs=0.0)


def test_a_series_of_pandas_is_taken_by_position():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([1.0, 0.0], index=[7, 3])
    assert losses.mse([1.0, 2.0], labels) == 2.0
    frame = pandas.DataFrame([[2.0, 0.0], [0.0, 0.0]], index=[5, 2], columns=["no", "yes"])
    assert losses.cross_entropy(frame, labels) == losses.cross_entropy([[2.0, 0.0], [0.0, 0.0]], [1, 0])


def test_anything_with_to_numpy_is_taken_by_position():
    np = pytest.importorskip("numpy")

    class Frame:
        """As pandas has it: going through it gives the names of its columns."""

        def to_numpy(self):
            return np.array([[2.0, 0.0], [0.0, 0.0]])

        def __iter__(self):
            return iter(["no", "yes"])

    assert losses.cross_entropy(Frame(), [1, 0]) == losses.cross_entropy([[2.0, 0.0], [0.0, 0.0]], [1, 0])
    assert losses.mse(Frame(), [[1.0, 0.0], [0.0, 0.0]]) == 0.25
