"""exp over rows with exact=True: the bits of math.exp, in vectors where this machine's library takes the steps that we know."""

from __future__ import annotations

import math as python

import numpy as np
import pytest

from micrograd import Value, math, vmap
from micrograd.compile.llvm import build, same_exp
from random_programs import needs_llvm, same

pytestmark = needs_llvm

SPECIAL = [0.0, -0.0, 5e-324, 1e-300, 2.0**-54, 511.99999999999994, 512.0, -512.0, 709.782712893384, 709.7827128933841,
           -708.4, -745.13, -745.2, 1e308, -1e308, python.inf, -python.inf, python.nan]  # fmt: skip


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("reach", [1e-15, 0.01, 1.0, 30.0, 511.0, 745.0])
def test_exp_of_rows_has_the_bits_of_eager_code(width, reach):
    xs = np.concatenate([np.random.default_rng(int(reach)).uniform(-reach, reach, 3000), SPECIAL])
    got = vmap(lambda x: math.exp(x), exact=True, width=width)(xs)
    assert all(same(float(y), math.exp(Value(float(x))).data) for x, y in zip(xs, got))


def test_another_library_is_called_lane_by_lane(monkeypatch):
    monkeypatch.setattr(same_exp, "usable", lambda bits: False)
    f = vmap(lambda x: math.exp(x) + 1.25, exact=True)
    xs = np.linspace(-3.0, 3.0, 37)
    assert "mg_exp" not in f.source(xs)
    assert f(xs).tolist() == [python.exp(x) + 1.25 for x in xs]


def test_steps_that_give_other_bits_are_not_used(monkeypatch):
    """The trial notices a polynomial that is off in the last place here and there."""
    if not same_exp.usable(build.vector_bits()):
        pytest.skip("this machine's exp takes other steps anyway")
    same_exp.usable.cache_clear()
    monkeypatch.setattr(same_exp, "C4", same_exp.C4 * (1 + 1e-4))
    assert not same_exp.usable(build.vector_bits())
    same_exp.usable.cache_clear()
