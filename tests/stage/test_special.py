"""Code that CPython calls by itself (special methods, descriptors): what it changes is changed in its own rows alone."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from micrograd import Value, jit, value_and_grad, vmap
from random_programs import needs_llvm
from stage.special_methods import ASKED, FUNCTIONS, MERGED, counting

pytestmark = needs_llvm

XS = [-2.0, -1.0, 0.0, 0.5, 3.0]


def eager(f, x):
    v = Value(x)
    y = f(v)
    if not isinstance(y, Value):
        return float(y), 0.0
    y.backward()
    return y.data, v.grad


def compare(f):
    """A first call that takes one arm does not decide what the other one gives."""
    want = [eager(f, x) for x in XS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a merged tape that is wrong would warn
        for first in (-1.0, 0.5):
            point, rows = jit(value_and_grad(f), wait=True), vmap(value_and_grad(f))
            point(first)
            rows(np.array([first]))
            assert [point(x) for x in XS] == want
            values, slopes = rows(np.array(XS))
            assert list(zip(values.tolist(), slopes.tolist())) == want


@pytest.mark.parametrize("name", ASKED)
def test_a_special_method_has_no_effect_on_rows_that_do_not_call_it(name):
    compare(counting(ASKED[name]))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_an_arm_does_behind_the_scenes_stays_in_its_rows(f):
    compare(f)


@pytest.mark.parametrize("f", MERGED, ids=lambda f: f.__name__)
def test_special_methods_and_dataclasses_are_merged(f):
    compare(f)
    rows = vmap(value_and_grad(f))
    rows(np.array(XS))
    assert [v.trace.merged for v in rows.variants] == [True]


def test_assertions_are_left_out_where_python_leaves_them_out():
    program = (
        "import numpy as np, special_methods as s; from micrograd import vmap;"
        "print(vmap(s.message_of_an_assertion)(np.array([-1.0, 2.0])).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", program],
        capture_output=True,
        text=True,
        cwd=__file__.rpartition("/")[0],
        check=True,
    )
    assert done.stdout.strip() == "[-1.0, 2.0]"
