"""round(x, digits) in compiled code: the bits that Python's round() gives, and no derivative."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from micrograd import Value, grad, jit, math, value_and_grad, vmap
from micrograd.errors import TraceError
from micrograd.values.decimals import MOST, rounded
from random_programs import needs_llvm

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53,
           2.0**52 + 0.5, 0.5, -0.5, 1.5, 2.5, 2.675, 1.005, -0.001, 5e22, 1.5e22, 0.15, 0.25, 0.35]  # fmt: skip


def numbers_around(digits: int, count: int) -> np.ndarray:
    """Numbers of all sizes, and ties with their neighbours."""
    rng = np.random.default_rng(digits + 50)
    ties = rng.integers(-(10**7), 10**7, size=count) + 0.5
    large = rng.integers(2**50, 2**54, size=count).astype(float)
    ties, large = (x / 10.0**digits if digits >= 0 else x * 10.0**-digits for x in (ties, large))
    sizes = rng.normal(size=count) * 10.0 ** rng.integers(-25, 25, size=count)
    bits = np.frombuffer(rng.bytes(8 * count), dtype=float)
    return np.concatenate([SPECIAL, sizes, bits, large, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])


@needs_llvm
@pytest.mark.parametrize("digits", range(-MOST, MOST + 1, 4))
def test_it_has_the_bits_of_python_s_round(digits):
    near = [d for d in range(digits, digits + 4) if d <= MOST]
    x = np.concatenate([numbers_around(d, 300) for d in near])
    found = vmap(lambda x: [rounded(x, d) for d in near])(x)
    for d, got in zip(near, found):
        want = np.array([round(v, d) for v in x.tolist()])
        assert np.array_equal(got, want, equal_nan=True) and np.array_equal(np.signbit(got), np.signbit(want)), d


@pytest.mark.parametrize("digits", [-3, 0, 1, 2, 15, 22])
def test_it_is_the_float_nearest_to_the_decimal_nearest_to_the_exact_number(digits):
    for v in numbers_around(digits, 20)[len(SPECIAL) :].tolist():
        if np.isfinite(v):
            exact = Fraction(round(Fraction(v) * Fraction(10) ** digits)) / Fraction(10) ** digits
            assert rounded(Value(v), digits).data == float(exact) == round(v, digits)


def invoice(x, y):
    total = 0.0
    for _ in range(4):
        total = round(total + round(x * y, 2) * 1.07, 2)
        if total > 3.0:
            total = total - round(y, ndigits=1)
    return total * x + y


def near_a_pole(x, y):
    step = round(x, 1)
    return math.log(step) * y if step > 0.0 else step * y


@pytest.mark.parametrize("f", [invoice, near_a_pole])
@pytest.mark.parametrize("options", [{}, {"exact": True}])
def test_functions_that_round_give_what_eager_code_gives(f, options):
    x, y = np.linspace(-3.0, 9.0, 25), np.cos(np.arange(25.0))
    batch, one = vmap(value_and_grad(f, (0, 1)), **options), jit(value_and_grad(f, (0, 1)), **options)
    values, slopes = batch(x, y)
    assert options or len(list(batch.variants)) <= 1
    for k in range(25):
        want, by = value_and_grad(f, (0, 1))(float(x[k]), float(y[k]))
        found = [[values[k], slopes[0][k], slopes[1][k]]]
        if k % 8 == 0:
            found.append(np.hstack(one(x[k], y[k])))
        for got in found:
            np.testing.assert_allclose(got, [want, *by], rtol=0 if options else 1e-14)


def test_paths_that_are_kept_apart_tell_zeros_by_their_sign():
    f = jit(lambda x: math.copysign(1.0, round(x, 2)) * x, exact=True)
    assert [f(x) for x in (0.001, -0.001, 0.002, -0.002)] == [0.001, 0.001, 0.002, 0.002]


def test_nothing_depends_on_a_number_that_was_rounded():
    assert vmap(grad(lambda x: round(x, 2) * x))(np.array([2.675, -0.004])).tolist() == [2.67, -0.0]
    assert vmap(grad(grad(lambda x: round(x, 2) * x * x)))(np.array([2.675])).tolist() == [5.34]
    assert vmap(grad(lambda x: math.sqrt(round(x, 1)) + x))(np.array([0.01])).tolist() == [1.0]  # √0 has no slope


@pytest.mark.parametrize("digits", [23, -23, 400])
def test_digits_for_which_there_is_no_exact_rule_are_refused(digits):
    with pytest.raises(TraceError, match="-22 to 22 digits"):
        jit(lambda x: round(x, digits) * x)(2.5)
