"""How often a function with many choices is run to compile it: a few times, and not once for each combination."""

import sys

import numpy as np
import pytest

from micrograd import Value, jit, math, value_and_grad, vmap
from random_programs import needs_llvm


def many_choices(x, y):
    for k in range(32):
        x = 0.9 * x + 0.1 * y * k if math.sin(x + k) > 0.1 * y else 0.5 * x - math.tanh(y)
    return x


@needs_llvm
def test_32_choices_take_at_most_40_traces_and_one_kernel():
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        here = event == "call" and frame.f_code is many_choices.__code__
        calls += here and isinstance(frame.f_locals["x"], Value)  # and not a run on plain numbers, to compare with

    r = np.random.default_rng(0)
    rows = r.standard_normal(1000), r.standard_normal(1000)
    g = vmap(value_and_grad(many_choices, (0, 1)))
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        value, _ = g(*rows)
    finally:
        sys.setprofile(before)
    assert 0 < calls <= 40
    assert sum(len(variant.kernels) for variant in g.variants) == 1
    assert abs(value[7] - many_choices(rows[0][7], rows[1][7])) < 1e-9


@needs_llvm
def test_jit_merges_a_variable_that_is_a_plain_float_in_some_arm():
    def f(x):
        s = 0.0
        for _ in range(50):
            x = x * 0.9
            if x < 1e-3:
                x = 0.5
            s += x
        return s

    g = jit(value_and_grad(f), wait=True)
    for x in (0.7, 0.0001, 3.0, 0.5):
        assert g(x) == pytest.approx(value_and_grad(f)(x), rel=1e-12)
    assert len(list(g.variants)) == 1
