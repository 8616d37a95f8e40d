"""exp, erfc and log over rows with exact=True: the bits of the C library, in vectors where its steps are those that we know."""

from __future__ import annotations

import math as python

import numpy as np
import pytest

from micrograd import Value, math, vmap
from micrograd.compile.elementary import functions
from micrograd.compile.llvm import build, vector_math
from random_programs import needs_llvm, same

pytestmark = needs_llvm

SPECIAL = [0.0, -0.0, 5e-324, 1e-300, 2.0**-54, 511.99999999999994, 512.0, -512.0, 709.782712893384, 709.7827128933841,
           -708.4, -745.13, -745.2, 1e308, -1e308, python.inf, -python.inf, python.nan,
           0.25, 0.84375, 1.25, 2.857142857142857, 2.8571414947509766, 6.0, 26.0, 26.5, 27.3, 28.0]  # fmt: skip
NEAR = [python.nextafter(x, to) for x in SPECIAL[18:] for to in (-99.0, 99.0)]


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("reach", [1e-15, 0.01, 1.0, 3.0, 30.0, 511.0, 745.0])
@pytest.mark.parametrize("name", ["exp", "erfc", "log"])
def test_rows_have_the_bits_of_eager_code(name, width, reach):
    function = getattr(math, name)
    spread = np.random.default_rng(int(reach)).uniform(-reach, reach, 3000)
    xs = np.concatenate([spread, SPECIAL, NEAR, np.negative(SPECIAL), np.negative(NEAR)])
    got = vmap(lambda x: function(x), exact=True, width=width)(xs)
    assert all(same(float(y), function(Value(float(x))).data) for x, y in zip(xs, got))


@pytest.mark.parametrize("name", ["exp", "erfc", "log"])
def test_a_vector_with_a_lane_beyond_the_fast_steps(name):
    """One lane that must be called by itself does not change the others."""
    function = getattr(math, name)
    xs = np.linspace(-1.0, 1.0, 64)
    xs[[3, 20, 41]] = [python.nan, 800.0, -python.inf]
    got = vmap(lambda x: function(x), exact=True)(xs)
    assert all(same(float(y), function(Value(float(x))).data) for x, y in zip(xs, got))


@pytest.mark.parametrize("name", ["exp", "erfc", "log"])
def test_another_library_is_called_lane_by_lane(monkeypatch, name):
    monkeypatch.setattr(vector_math, "of_the_library", lambda name: False)
    function, plain = getattr(math, name), getattr(python, name)
    f = vmap(lambda x: function(x) + 1.25, exact=True)
    xs = np.linspace(0.1, 3.0, 37)
    assert f"mg_{name}" not in f.source(xs)
    assert f(xs).tolist() == [plain(x) + 1.25 for x in xs]


@pytest.fixture
def changed(monkeypatch):
    """Change constants of the functions, and ask anew whether they have the bits of the library."""

    def agrees(name, constants, values):
        if not vector_math.of_the_library(name):
            pytest.skip(f"this machine's {name} takes other steps anyway")
        monkeypatch.setattr(functions, constants, values)
        forget()
        return vector_math.of_the_library.__wrapped__(name)

    def forget():
        functions._written.cache_clear()
        functions.needed.cache_clear()
        build._functions.clear()

    yield agrees
    forget()


def test_exp_with_other_bits_is_not_used(changed):
    """The trial notices a polynomial that is off in the last place here and there."""
    assert not changed("exp", "E4", functions.E4 * (1 + 1e-4))


@pytest.mark.parametrize("interval", range(4))
def test_erfc_with_other_bits_is_not_used(changed, interval):
    rows = [list(row) for row in functions.DENOMINATORS]
    rows[interval][3] *= 1 + 1e-12
    assert not changed("erfc", "DENOMINATORS", tuple(map(tuple, rows)))


@pytest.mark.parametrize(
    ("name", "constants", "number"),
    [("log", "L", 0), ("log", "L", 3), ("log", "NEAR_1", 1), ("log", "NEAR_1", 9), ("log", "LOGARITHMS", 40),
     ("pow", "P", 1), ("pow", "P", 3), ("pow", "LONG_LOGARITHMS", 0), ("pow", "LONG_LOGARITHMS", 56),
     ("pow", "LONG_LOGARITHMS", 58), ("exp", "POWERS_OF_TWO", 101), ("square", "CLEAR", None)],
)  # fmt: skip
def test_other_constants_are_noticed(changed, name, constants, number):
    if number is None:
        assert not changed(name, constants, 0.5)
        return
    numbers = list(getattr(functions, constants))
    numbers[number] = numbers[number] + 8 if isinstance(numbers[number], int) else numbers[number] * (1 + 1e-4)
    assert not changed(name, constants, tuple(numbers))


def test_log_of_many_numbers():
    """Around 1, at the edges of the intervals of the table, and over the whole range of doubles."""
    rng = np.random.default_rng(3)
    xs = np.concatenate(
        [
            1.0 + rng.uniform(-0.1, 0.1, 20_000),
            np.ldexp(rng.uniform(0.5, 1.0, 20_000), rng.integers(-1073, 1024, 20_000)),
            (0.6875 + np.arange(128) / 128)[:, None].repeat(3, 1).ravel() + np.tile([-1e-16, 0.0, 2e-16], 128),
            np.array(
                [0.0, -0.0, -1.0, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308]
            ),
        ]
    )
    got = vmap(lambda x: math.log(x), exact=True)(xs)
    assert all(same(float(y), math.log(Value(float(x))).data) for x, y in zip(xs, got))
