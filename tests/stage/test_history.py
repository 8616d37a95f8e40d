"""Results depend on the row alone, not on earlier calls, on the order of rows or on the rows beside it; and what rows raise."""

import numpy as np
import pytest

from micrograd import Value, jit, math, value_and_grad, vmap
from stage.unbounded import deep, grows

XS = np.array([0.02, 3.0, 0.5, 45.0, 0.011, 7.0, 60.0, 1.1, 0.005, 22.0])


@pytest.mark.parametrize("f", [grows, deep])
@pytest.mark.filterwarnings("error")
def test_bits_do_not_depend_on_what_was_called_before(f):
    g = value_and_grad(f)
    together = np.stack(vmap(g)(XS))
    np.testing.assert_allclose(together.T, [g(x) for x in XS.tolist()], rtol=1e-12)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(XS))
        h = vmap(g)
        one_by_one = np.stack([np.ravel(h(XS[k : k + 1])) for k in order], axis=1)
        np.testing.assert_array_equal(one_by_one, together[:, order])
        np.testing.assert_array_equal(np.stack(h(XS)), together)


@pytest.mark.filterwarnings("error")
def test_rows_kept_apart_have_the_same_bits_before_and_after_others_were_merged():
    seen = []

    def f(x):
        if x > 40:
            seen.append(None)  # an effect: kept apart, and never merged
            seen.pop()
        return math.sin(x) * x + x * 0.3 if x > 1 else x * x + x * 0.7

    g = value_and_grad(f)
    expected = np.stack(vmap(g)(XS))
    for first in ([3], [0], [6, 0], [0, 6]):
        h = vmap(g)
        h(XS[first])
        np.testing.assert_array_equal(np.stack(h(XS)), expected)


def raises(x):
    if x > 40:
        raise ValueError(f"too large: {1.0}")
    if x < 0.01:
        return [1.0, x][5] * x
    total = x
    for _ in range(20):
        if total > 30:
            return 1 / 0 if x > 21 else total
        total = total * 1.3
    return total


@pytest.mark.parametrize("options", [{}, {"exact": True}, {"reduce": "sum"}, {"threads": 2}])
def test_the_exception_is_that_of_the_first_row_that_raises(options):
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(XS))
        rows = XS[order]
        for k, x in enumerate(rows.tolist()):
            try:
                raises(x)
            except Exception as error:
                expected = type(error), k
                break
        h = vmap(raises, **options)
        for _ in range(2):  # the second time, variants are known
            with pytest.raises(expected[0]) as caught:
                h(rows)
            assert any(f"row {expected[1]} " in note for note in caught.value.__notes__)
        h(XS[[0, 1, 2]])
        with pytest.raises(expected[0]) as caught:
            h(rows)
        assert any(f"row {expected[1]} " in note for note in caught.value.__notes__)


def test_captured_values_and_values_as_arguments_keep_their_gradients_in_each_arm():
    w, v = Value(1.5), Value(-0.5)

    def f(x):
        if x > 1:
            return w * x * x
        if x < 0:
            return v * w + x
        return x * 3.0

    compiled, rows = jit(f, wait=True), vmap(f)
    for x in (2.0, -1.0, 0.5, 3.0, -2.0):
        for g in (compiled, lambda x: rows(np.array([x]))[0], f):
            for argument in (x, Value(x)) if g is compiled else (x,):
                w.grad = v.grad = 0.0
                y = g(argument)
                if not isinstance(y, Value):
                    assert y == x * 3.0
                    continue
                y.backward()
                expected = (x * x, 0.0) if x > 1 else (v.data, w.data) if x < 0 else (0.0, 0.0)
                assert (w.grad, v.grad) == expected
                if isinstance(argument, Value):
                    assert argument.grad == (2 * w.data * x if x > 1 else 1.0 if x < 0 else 3.0)


def test_float32_with_branches_is_computed_in_double_precision():
    """A comparison of rounded numbers would send rows down another path: 0.1 + 0.2 and 0.3 are the same in single precision."""

    def f(x, y):
        if x + y == 0.3:
            return x
        return (x * 1e8 + y) - x * 1e8

    h = vmap(f, float32=True)
    xs, ys = np.array([0.1, 1.0]), np.array([0.2, 0.25])
    found = h(xs, ys)
    assert found.dtype == np.float32
    assert found.tolist() == [float(np.float32(f(x, y))) for x, y in zip(xs.tolist(), ys.tolist())]
    assert found[1] == np.float32(0.25)  # and not 0.0, which single precision gives
    straight = vmap(lambda x, y: (x * 1e8 + y) - x * 1e8, float32=True)(xs, ys)
    assert straight[1] == 0.0
