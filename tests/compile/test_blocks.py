"""Blocks of rows that are summed in several places, as the workers of a cluster do, add up to the bits of one."""

from __future__ import annotations

import pickle

import pytest

from micrograd import Value, math, vmap
from micrograd.compile.backend import BLOCK
from micrograd.compile.batch import add_blocks, sum_blocks
from micrograd.compile.kernel import Kernel
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.rows import Rows
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm


def test_blocks_summed_by_several_processes_give_the_bits_of_one():
    w = Value(0.7)
    f = vmap(lambda x, y: math.tanh(w * x) * y, reduce="sum")
    x, y = np.random.default_rng(0).normal(size=(2, 3 * BLOCK + 100))
    whole = f(x, y)
    whole.backward()
    goal = Goal(Options(wait=True), (), (0,), rows=True, reduced=True)
    program = pickle.dumps((f.tape(x, y), goal))
    parts = []
    for start in (0, BLOCK, 2 * BLOCK, 3 * BLOCK):
        kernel = Kernel(*pickle.loads(program), "a test", True)
        rows = Rows((x[start : start + BLOCK], y[start : start + BLOCK]), {}, 0)
        sums, failed = sum_blocks(kernel, rows, [w], threads=1)
        assert failed is None
        parts.append(sums)
    assert add_blocks(np.concatenate(parts)) == [whole.data, w.grad]
