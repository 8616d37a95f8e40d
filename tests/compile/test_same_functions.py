"""exp, erfc and log over rows with exact=True: the bits of the C library, in vectors where its steps are those that we know."""

from __future__ import annotations

import math as python

import numpy as np
import pytest

from micrograd import Value, math, vmap
from micrograd.compile.llvm import build, library, same_erfc, same_exp, same_log, same_pow, vector_function
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
    monkeypatch.setattr(library.SAME[name], "usable", lambda bits: False)
    function, plain = getattr(math, name), getattr(python, name)
    f = vmap(lambda x: function(x) + 1.25, exact=True)
    xs = np.linspace(0.1, 3.0, 37)
    assert f"mg_{name}" not in f.source(xs)
    assert f(xs).tolist() == [plain(x) + 1.25 for x in xs]


def test_exp_with_other_bits_is_not_used(monkeypatch):
    """The trial notices a polynomial that is off in the last place here and there."""
    if not same_exp.usable(build.vector_bits()):
        pytest.skip("this machine's exp takes other steps anyway")
    monkeypatch.setattr(same_exp, "C4", same_exp.C4 * (1 + 1e-4))
    assert not same_exp.usable.__wrapped__(build.vector_bits())


@pytest.mark.parametrize("interval", range(4))
def test_erfc_with_other_bits_is_not_used(monkeypatch, interval):
    if not same_erfc.usable(build.vector_bits()):
        pytest.skip("this machine's erfc takes other steps anyway")
    rows = [list(row) for row in same_erfc.DENOMINATORS]
    rows[interval][3] *= 1 + 1e-12
    monkeypatch.setattr(same_erfc, "DENOMINATORS", tuple(map(tuple, rows)))
    assert not same_erfc.usable.__wrapped__(build.vector_bits())


LOG = [0, 3, same_log.SHORT + 1, same_log.SHORT + 9, same_log.SHORT + same_log.LONG + 40]
POW = [1, 3, same_pow.TERMS, same_pow.TERMS + 42, same_pow.TERMS + 43]


@pytest.mark.parametrize("module, number", [*((same_log, k) for k in LOG), *((same_pow, k) for k in POW)])
def test_log_and_pow_with_other_bits_are_not_used(monkeypatch, module, number):
    if not module.usable(build.vector_bits()):
        pytest.skip("this machine's library takes other steps anyway")
    numbers = list(module.constants())
    numbers[number] *= 1 + 1e-4
    monkeypatch.setattr(module, "constants", lambda: tuple(numbers))
    assert not module.usable.__wrapped__(build.vector_bits())


@pytest.mark.parametrize("module", [same_log, same_pow])
@pytest.mark.parametrize("text", ["", "7f00-7f01 r--p 0 0:0 0 /no/such/place/libm.so.6\n"])
def test_a_library_whose_table_is_not_found(monkeypatch, module, text):
    monkeypatch.setattr(vector_function.Path, "read_text", lambda path: text)
    assert module.constants.__wrapped__() == ()
    monkeypatch.setattr(module, "constants", tuple)
    assert not module.usable.__wrapped__(build.vector_bits())


@pytest.mark.parametrize("module", [same_log, same_pow])
def test_a_file_without_the_table(monkeypatch, module):
    begins = np.array([module.LN2_HIGH, module.LN2_LOW]).tobytes()
    for rest in (b"", bytes(100), bytes(10_000), np.arange(600.0).tobytes()):
        monkeypatch.setattr(vector_function.Path, "read_text", lambda path: "7f00-7f01 r--p 0 0:0 0 /lib/libm.so.6\n")
        monkeypatch.setattr(vector_function.Path, "read_bytes", lambda path, rest=rest: b"xyz" + begins + rest)
        assert module.constants.__wrapped__() == ()


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
