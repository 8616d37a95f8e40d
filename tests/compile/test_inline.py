"""exp as it is written into batch kernels: against mpmath, and at the ends of the range."""

import math as standard

import pytest

np = pytest.importorskip("numpy", reason="batches are NumPy arrays")
pytest.importorskip("llvmlite", reason="kernels are compiled")
mpmath = pytest.importorskip("mpmath", reason="the oracle")

from micrograd import engine, math, vmap  # noqa: E402

pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="machine code runs on the C engine")
WIDTHS = (2, 4, 8, 16)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-40.0, 40.0), (-707.0, 709.7)])
def test_exp_is_close_to_the_truth(width, low, high):
    xs = np.random.default_rng(width).uniform(low, high, 2000)
    ys = vmap(lambda x: math.exp(x), width=width)(xs)
    limit = 1.2 if width >= 4 else 4.0  # vectors of two go to the platform's library
    with mpmath.workdps(40):
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            assert abs(mpmath.exp(x) - y) <= limit * standard.ulp(y), x


@pytest.mark.parametrize("width", WIDTHS)
def test_exp_at_the_ends(width):
    inf, nan = standard.inf, standard.nan
    xs = np.array([inf, -inf, nan, 0.0, -0.0, 709.79, 710.0, 1e308, -745.2, -800.0, -1e308, 5e-324])
    ys = vmap(lambda x: math.exp(x), width=width)(xs)
    assert ys[:2].tolist() == [inf, 0.0] and standard.isnan(ys[2])
    assert ys[3:].tolist() == [1.0, 1.0, inf, inf, inf, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("width", WIDTHS)
def test_exp_falls_gradually_to_zero(width):
    xs = np.linspace(-745.1, -708.0, 500)
    ys = vmap(lambda x: math.exp(x), width=width)(xs)
    assert np.all(np.diff(ys) >= 0.0) and ys[0] == 5e-324
    assert ys == pytest.approx(np.exp(xs), rel=1e-12, abs=1e-323)
