"""micrograd.random: a draw is a pure function of key, row and number, with the same bits however it is computed."""

from __future__ import annotations

import math as stdlib
import statistics

import pytest

from random_programs import needs_llvm

VECTORS = [  # counter, key, words: the known answers that the authors of Philox publish for 4×32 with 10 rounds
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.fixture
def random(twin):
    import importlib

    return importlib.import_module("micrograd.random")


@pytest.mark.parametrize(("counter", "key", "words"), VECTORS)
def test_philox_gives_the_published_words(counter, key, words):
    from micrograd import philox

    assert " ".join(f"{word:08x}" for word in philox.words(counter, key)) == words


def test_a_uniform_number_is_the_first_53_bits_of_two_words(random):
    from micrograd import philox

    key, row, pair = 0x1F_2B3C_4D5E_6F70, 0x0A_BCDE_F012_3456, 0x0B_0000_0001
    words = philox.words((pair & 0xFFFFFFFF, pair >> 32, row & 0xFFFFFFFF, row >> 32), (key & 0xFFFFFFFF, key >> 32))
    for odd in (0, 1):
        bits = (words[2 * odd] << 32 | words[2 * odd + 1]) >> 11
        assert random.uniform(random.key(key), draw=2 * pair + odd, row=row) == bits / 2**53


def test_both_engines_draw_the_same_bits(twins):
    rows = [(k, r, d) for k in (0.0, 7.0, 2.0**53 - 1) for r in (0.0, 5.0, 2.0**40) for d in (-1.0, 0.0, 1.0, 2.0**35)]
    for name in ("philox", "normal"):
        found = [[t.engine.apply(t.ops.OPS[name], *map(t.Value, row)).data for row in rows] for t in twins]
        assert found[0] == found[1] and all(x == x for x in found[0])


def test_uniform_numbers_stay_below_one_and_normal_ones_finite(random, monkeypatch):
    from micrograd.ops import HALF_STEP, OPS

    for u in (0.0, 1.0 - 2**-53):  # the smallest and the largest
        assert stdlib.isfinite(OPS["probit"].value((u - 0.5) + HALF_STEP))


def test_quantiles_are_those_of_the_standard_library(random):
    from micrograd.ops import OPS

    for p in (0.001, 0.05, 0.075, 0.3, 0.5, 0.77, 0.925, 0.9999):
        assert OPS["probit"].value(p - 0.5) == pytest.approx(statistics.NormalDist().inv_cdf(p), rel=1e-12, abs=1e-15)
    assert OPS["probit"].value(0.5) == stdlib.inf and OPS["probit"].value(-0.5) == -stdlib.inf
    assert stdlib.isnan(OPS["probit"].value(0.6))


@pytest.mark.parametrize("power", range(2, 54))
def test_quantiles_have_their_digits_in_every_octave_of_a_tail(random, power):
    mpmath = pytest.importorskip("mpmath")
    from micrograd.ops import OPS

    for mantissa in (1.0, 1.3, 1.41, 1.42, 1.9):
        q = mantissa * 2.0**-power - 0.5
        if -0.5 < q < 0.0:
            with mpmath.workdps(50):
                want = float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(q)))
            assert OPS["probit"].value(q) == pytest.approx(want, rel=2e-15, abs=0.0)


def test_the_derivatives_of_a_normal_number_are_those_of_mean_plus_std_times_z(random, Value):
    mean, std = Value(3.0), Value(2.0)
    x = random.normal(random.key(1), mean, std, draw=4)
    x.backward()
    z = random.normal(random.key(1), draw=4)
    assert (x.data, mean.grad, std.grad) == (3.0 + 2.0 * z, 1.0, z)


def test_the_derivatives_of_a_uniform_number_are_those_of_its_ends(random, Value):
    low, high = Value(-1.0), Value(5.0)
    x = random.uniform(random.key(1), low, high, draw=4)
    x.backward()
    u = random.uniform(random.key(1), draw=4)
    assert (x.data, low.grad, high.grad) == (-1.0 + 6.0 * u, 1.0 - u, u)


def test_the_order_of_calls_changes_nothing(random):
    key = random.key(9)
    forward = [random.normal(key, draw=d) for d in range(20)]
    assert [random.normal(key, draw=d) for d in reversed(range(20))] == forward[::-1]


def test_keys_that_were_split_are_apart(random):
    first = random.split(random.key(3), 50)
    second = random.split(first[0], 50)
    assert len({*first, *second, 3.0}) == 101
    assert all(k == stdlib.floor(k) and 0 <= k < 2**53 for k in first + second)
    assert random.fold_in(random.key(3), 7) == first[7]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda r: r.key(-1), ValueError, "from 0 to"),
        (lambda r: r.key(2**53), ValueError, "from 0 to"),
        (lambda r: r.key(1.5), TypeError, "whole number"),
        (lambda r: r.key("a"), TypeError, "whole number"),
        (lambda r: r.normal(0.5), ValueError, r"key=0.5.*random\.key\(seed\)"),
        (lambda r: r.normal(1.0, draw=-1), ValueError, "draw=-1.*counts from 0"),
        (lambda r: r.uniform(1.0, row=0.5), ValueError, "row=0.5"),
        (lambda r: r.split(1.0, 0), ValueError, "at least 1"),
    ],
)
def test_bad_arguments_are_told(random, call, error, says):
    with pytest.raises(error, match=says):
        call(random)


def test_numbers_of_numpy_are_looked_at_as_those_of_python_are(random):
    np = pytest.importorskip("numpy", reason="for its numbers")
    for bad in (np.int64(-1), np.float64(1.5), np.float64("nan"), np.float32(2.0**60)):
        for call in (
            lambda x: random.normal(x),
            lambda x: random.uniform(1.0, row=x),
            lambda x: random.uniform(1.0, draw=x),
            lambda x: random.fold_in(1.0, x),
        ):
            with pytest.raises(ValueError, match="a whole number from 0 to"):
                call(bad)
    assert random.uniform(np.uint8(3), draw=np.float64(2)) == random.uniform(3.0, draw=2)
    assert random.split(1.0, np.int64(2)) == random.split(1.0, 2)
    with pytest.raises(ValueError, match="at least 1"):
        random.split(1.0, np.int64(0))


BAD = (-1.0, -2.0, -3.0, -(2.0**40), 0.5, -0.5, 2.0**53, -(2.0**53), stdlib.inf, -stdlib.inf, stdlib.nan)
PLACES = ("key", "row", "draw")


def draw(random, name, place, count):
    """A draw with one count in place of 3.0."""
    counts = {"key": 3.0, "row": 3.0, "draw": 3.0, place: count}
    return getattr(random, name)(counts.pop("key"), **counts)


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("place", PLACES)
def test_a_value_that_is_no_whole_number_from_0_on_gives_nan_and_not_another_draw(random, Value, name, place):
    for bad in BAD:
        assert stdlib.isnan(draw(random, name, place, Value(bad)).data), bad
    for good in (-0.0, 0.0, 1.0, 2.0**53 - 1):
        assert draw(random, name, place, Value(good)).data == draw(random, name, place, good)


def test_a_key_made_from_a_negative_value_is_nan(random, Value):
    for bad in BAD:
        assert stdlib.isnan(random.fold_in(Value(bad), 1).data) and stdlib.isnan(random.fold_in(1.0, Value(bad)).data)
        assert all(stdlib.isnan(key.data) for key in random.split(Value(bad)))
    assert random.fold_in(Value(4.0), Value(7.0)).data == random.fold_in(4.0, 7)


def test_the_number_of_a_draw_that_is_a_value_has_the_slope_0(random, Value):
    number, spread = Value(2.0), Value(3.0)
    random.normal(1.0, 0.0, spread, draw=number).backward()
    assert (number.grad, spread.grad) == (0.0, random.normal(1.0, draw=2))


class TestQuality:
    """Moments, tails, and correlations between draws, rows and keys, with limits at five standard errors."""

    N = 20_000

    def columns(self, random):
        key = random.key(2024)
        others = random.split(key, self.N)
        return {
            "draws": [random.normal(key, draw=i) for i in range(self.N)],
            "rows": [random.normal(key, row=i) for i in range(self.N)],
            "keys": [random.normal(k) for k in others],
            "seeds": [random.normal(float(i)) for i in range(self.N)],
        }

    @pytest.fixture
    def found(self):
        from micrograd import random

        return self.columns(random)

    def test_moments_and_tails(self, found):
        normal = statistics.NormalDist()
        for z in found.values():
            moments = [sum(x**k for x in z) / self.N for k in (1, 2, 3, 4)]
            spread = [1.0, 2.0, 15.0, 96.0]  # the variances of x, x², x³, x⁴
            for got, want, v in zip(moments, (0.0, 1.0, 0.0, 3.0), spread):
                assert abs(got - want) < 5 * stdlib.sqrt(v / self.N)
            for limit in (-3.0, -1.0, 0.5, 2.5):
                p = normal.cdf(limit)
                assert abs(sum(x < limit for x in z) / self.N - p) < 5 * stdlib.sqrt(p * (1 - p) / self.N)

    def test_neighbours_and_streams_are_not_correlated(self, found):
        names = list(found)
        for a in names:
            for lag in (1, 2, 4):
                pairs = zip(found[a], found[a][lag:])
                assert abs(sum(x * y for x, y in pairs)) / self.N < 5 / stdlib.sqrt(self.N)
            for b in names:
                if a < b:
                    pairs = zip(found[a], found[b])
                    assert abs(sum(x * y for x, y in list(pairs)[1:])) / self.N < 5 / stdlib.sqrt(self.N)


@needs_llvm
class TestCompiled:
    """The same bits in machine code."""

    @staticmethod
    def draws(key, row):
        from micrograd import random

        return [random.normal(key, row=row, draw=d) for d in (0, 1, 2, 7)] + [
            random.uniform(key, row=row, draw=row + 3)
        ]

    @pytest.mark.parametrize("exact", [False, True])
    def test_at_one_point(self, exact):
        from micrograd import jit, random

        f = jit(self.draws, wait=True, exact=exact)
        for row in (0.0, 1.0, 17.0, 2.0**40):
            assert f(random.key(5), row) == self.draws(random.key(5), row)

    @pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
    def test_in_lanes_of_any_width_and_rows_in_any_order(self, width):
        import numpy as np

        from micrograd import random, vmap

        rows = np.random.default_rng(0).permutation(203)
        found = vmap(self.draws, in_axes=(None, 0), width=width)(random.key(5), rows)
        want = np.array([self.draws(random.key(5), float(row)) for row in rows]).T
        assert (np.array(found) == want).all()

    def test_with_threads_and_slices(self):
        import numpy as np

        from micrograd import random, vmap

        rows = np.arange(5000)
        found = {
            tuple(np.array(vmap(self.draws, in_axes=(None, 0), **how)(random.key(5), rows)).ravel())
            for how in ({"threads": 1}, {"threads": 2}, {"threads": 7, "batch_size": 700})
        }
        assert len(found) == 1

    @pytest.mark.parametrize("name", ["uniform", "normal"])
    @pytest.mark.parametrize("place", PLACES)
    def test_a_column_with_negative_counts_gives_nan_there(self, name, place):
        import numpy as np

        from micrograd import jit, random, vmap

        def f(count):
            return draw(random, name, place, count)

        good = [0.0, 5.0, 4.0, 77.0, 1.0, -0.0, 6.0, 3.0]
        column = np.array([x for pair in zip(BAD, good * 2, strict=False) for x in pair])
        want = np.array([f(x) if x in good else stdlib.nan for x in column])
        point = jit(f, wait=True)
        assert np.array_equal([point(float(x)) for x in column], want, equal_nan=True)
        for how in ({"width": 1}, {"width": 4}, {"exact": True}):
            assert np.array_equal(vmap(f, **how)(column), want, equal_nan=True), how
        assert np.array_equal(np.isnan(vmap(f, float32=True)(column)), np.isnan(want))

    def test_the_number_of_a_draw_may_be_counted_in_a_loop(self):
        import numpy as np

        from micrograd import random, vmap

        def f(start, steps):
            total, i = 0.0, start
            while i < steps:
                total = total + random.uniform(9.0, draw=i)
                i = i + 1.0
            return total

        found = vmap(f)(np.array([0.0, 2.0, -1.0, 3.0]), np.array([5.0, 4.0, 3.0, 3.0]))
        u = [random.uniform(9.0, draw=i) for i in range(5)]
        assert np.array_equal(
            found, [0.0 + u[0] + u[1] + u[2] + u[3] + u[4], u[2] + u[3], stdlib.nan, 0.0], equal_nan=True
        )

    def test_inside_nested_transforms(self):
        import numpy as np

        from micrograd import grad, random, vmap

        def f(vol, key, row):
            return (random.normal(key, 0.0, vol, row=row) + 1.0) ** 3

        second = vmap(grad(grad(f)), in_axes=(None, None, 0))(0.3, random.key(1), np.arange(64))
        z = np.array([random.normal(random.key(1), row=r) for r in range(64)])
        assert np.allclose(second, 6 * z * z * (0.3 * z + 1), rtol=1e-12)

    def test_in_32_bits_draws_are_the_same_numbers_rounded(self):
        import numpy as np

        from micrograd import random, vmap

        found = np.array(vmap(self.draws, in_axes=(None, 0), float32=True)(random.key(5), np.arange(999)))
        want = np.array([self.draws(random.key(5), float(row)) for row in range(999)]).T
        assert np.allclose(found, want, rtol=2e-7, atol=0) and (found[4] < 1).all()

    def test_in_32_bits_a_count_that_is_rounded_gives_nan(self):
        import numpy as np

        from micrograd import random, vmap

        found = vmap(lambda row: random.normal(1.0, row=row), float32=True)(np.array([2.0**24 - 1, 2.0**24 + 1]))
        assert np.isfinite(found[0]) and np.isnan(found[1])


@needs_llvm
def test_pythons_random_inside_a_compiled_function_names_this_module():
    import random

    from micrograd import TraceError, jit

    with pytest.raises(TraceError, match=r"micrograd\.random"):
        jit(lambda x: x * random.random())(1.0)
