"""Rows of functions that the stage does not merge: the abstract interpreter gives one tape for all of them."""

import numpy as np
import pytest

from micrograd import Value, grad, math, value_and_grad, vmap
from random_programs import needs_llvm

pytestmark = needs_llvm
XS, YS = np.array([0.5, 2.25, -1.5, 7.0, 3.5]), np.array([1.5, -0.5, 0.25, 2.0, -3.0])


def histogram(x, y):
    counts = [0.0] * 8
    for i in range(20):
        counts[int(abs(x * i + y)) % 8] += math.sin(y + 0.1 * i)
    return max(counts) + counts[3]


@pytest.mark.filterwarnings("error")
def test_one_tape_has_the_results_and_the_gradients_of_all_rows():
    batch = vmap(value_and_grad(histogram, (0, 1)))
    values, slopes = batch(XS, YS)
    assert len(list(batch.variants)) == 1
    for k, (x, y) in enumerate(zip(XS.tolist(), YS.tolist())):
        want, by = value_and_grad(histogram, (0, 1))(x, y)
        assert values[k] == pytest.approx(want, rel=1e-12)
        assert [s[k] for s in slopes] == pytest.approx(by, rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_captured_values_keep_their_gradients():
    w = Value(0.75)
    total = vmap(lambda x, y: histogram(x, y * w), reduce="sum")(XS, YS)
    total.backward()
    by_w = grad(lambda w: sum(histogram(x, y * w) for x, y in zip(XS.tolist(), YS.tolist())))(0.75)
    assert w.grad == pytest.approx(by_w, rel=1e-9)
